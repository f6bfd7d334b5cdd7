//! Copies of a database: a backup, written while it is used, and its restoration.
//!
//! A backup is a checkpoint of RocksDB (rocksdb.org, "Checkpoints"): its sorted files are links to those of the database where both are on one
//! file system, and copies otherwise. A backup is a database of its own. No key is in it: the master key's file is the command line's.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use rocksdb::checkpoint::Checkpoint;

use super::{
    RocksOptions, RocksStore, failed as rocks_failed, family_name,
    folder::{check_format, failed, foreign, sync_folder, write_format},
    opened,
};
use crate::store::{StoreError, Table};

impl RocksStore {
    /// Opens a database that is there.
    ///
    /// # Errors
    /// [`StoreError::Foreign`] when the folder has none, and as [`RocksStore::open`].
    pub fn open_existing(path: impl AsRef<Path>, options: RocksOptions) -> Result<Self, StoreError> {
        let path = path.as_ref();
        if check_format(path)? { Self::open(path, options) } else { Err(foreign(path, "there is no database in it")) }
    }

    /// Copies a backup into a folder that is empty or does not exist, which is then a database. The backup stays as it is, and is not
    /// linked with the copy. `check` looks at the copy, and where it refuses, nothing is left of it.
    ///
    /// # Errors
    /// [`StoreError::Foreign`] for a folder that is not empty, and for one without a backup; [`StoreError::NewerFormat`] and
    /// [`StoreError::OlderFormat`] for a backup of another chainbox; [`StoreError::Io`]; those of `check`.
    pub fn restore<E: From<StoreError>>(
        backup: &Path,
        folder: &Path,
        options: RocksOptions,
        check: impl FnOnce(Self) -> Result<(), E>,
    ) -> Result<(), E> {
        if !check_format(backup)? {
            return Err(foreign(backup, "there is no backup in it").into());
        }
        let failed = failed("restore", folder);
        match fs::read_dir(folder) {
            Ok(mut entries) => {
                if entries.next().is_some() {
                    return Err(foreign(folder, "it is not empty: a backup is restored into a new folder").into());
                }
                fs::remove_dir(folder).map_err(&failed)?;
            }
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => return Err(failed(cause).into()),
        }
        let draft = Draft::new(folder);
        copy_files(backup, draft.path()).map_err(&failed)?;
        check(Self::open_existing(draft.path(), options)?)?;
        Ok(draft.finish(folder).map_err(&failed)?)
    }

    /// Writes a copy of the database into a new folder.
    pub(super) fn write_backup(&self, folder: &Path) -> Result<(), StoreError> {
        let failed = failed("back up", folder);
        if folder.exists() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).map_err(&failed)?;
        }
        let draft = Draft::new(folder);
        {
            // A full disk stops before it, as before every write: what RocksDB itself finds full stops the database.
            self.check_writable()?;
            let db = self.read();
            let checkpoint = Checkpoint::new(opened(&db)?).map_err(|cause| rocks_failed("back up")(&cause))?;
            checkpoint.create_checkpoint(draft.path()).map_err(|cause| rocks_failed("back up")(&cause))?;
        }
        write_format(draft.path()).map_err(&failed)?;
        draft.finish(folder).map_err(&failed)
    }

    /// Rewrites the sorted files without what was deleted, so that its space is free again.
    ///
    /// # Errors
    /// [`StoreError::Full`], [`StoreError::Io`].
    pub fn compact(&self) -> Result<(), StoreError> {
        self.check_writable()?;
        let db = self.read();
        let db = opened(&db)?;
        for table in Table::ALL {
            let family = super::family(db, table)?;
            db.flush_cf(family).map_err(|cause| StoreError::Io {
                operation: "compact",
                reason: format!("{}: {cause}", family_name(table)),
            })?;
            db.compact_range_cf(family, None::<&[u8]>, None::<&[u8]>);
        }
        Ok(())
    }
}

/// A folder in the making beside the one that it becomes, so that a copy is there whole or not at all.
struct Draft {
    path: PathBuf,
    is_done: bool,
}

impl Draft {
    fn new(folder: &Path) -> Self {
        let mut name = folder.file_name().map_or_else(OsString::new, OsString::from);
        name.push(".draft");
        let path = folder.with_file_name(name);
        // What an interrupted copy left.
        let _ = fs::remove_dir_all(&path);
        Self { path, is_done: false }
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn finish(mut self, folder: &Path) -> io::Result<()> {
        fs::rename(&self.path, folder)?;
        self.is_done = true;
        folder.parent().filter(|parent| !parent.as_os_str().is_empty()).map_or(Ok(()), sync_folder)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_done {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Copies the files of a folder, which has no folders in it.
fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let copy = to.join(entry.file_name());
            fs::copy(entry.path(), &copy)?;
            fs::File::open(&copy)?.sync_all()?;
        }
    }
    sync_folder(to)
}

#[cfg(test)]
mod tests {
    use super::{super::folder::FORMAT_FILE, *};
    use crate::store::{Batch, KeyValue, suite};

    fn open(path: &Path) -> RocksStore {
        RocksStore::open(path, RocksOptions::default()).unwrap()
    }

    fn restore(backup: &Path, folder: &Path) -> Result<(), StoreError> {
        RocksStore::restore(backup, folder, RocksOptions::default(), |_| Ok(()))
    }

    #[test]
    fn a_backup_is_restored_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (database, backup, copy) =
            (folder.path().join("db"), folder.path().join("backups/one"), folder.path().join("copy"));
        let store = open(&database);
        suite::run(&store);
        let before = suite::dump(&store);
        store.back_up(&backup).unwrap();
        assert!(store.back_up(&backup).unwrap_err().to_string().contains("back up"), "it is never overwritten");
        let mut batch = Batch::new();
        batch.put(Table::Meta, *b"later", *b"");
        store.write(batch).unwrap();
        drop(store);

        restore(&backup, &copy).unwrap();
        let restored = open(&copy);
        assert_eq!(suite::dump(&restored), before);
        let mut batch = Batch::new();
        batch.put(Table::Meta, *b"in the copy", *b"");
        restored.write(batch).unwrap();
        restored.compact().unwrap();
        drop(restored);
        let again = folder.path().join("again");
        fs::create_dir(&again).unwrap();
        restore(&backup, &again).unwrap();
        assert_eq!(suite::dump(&open(&again)), before, "the first copy changed nothing of the backup");
    }

    /// Each batch sets a key in two tables: whatever moment the backup shows, they agree.
    #[test]
    fn a_backup_under_writes_is_of_one_moment() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder.path().join("db"));
        let stop = std::sync::atomic::AtomicBool::new(false);
        let backup = |number: u32| folder.path().join(format!("backup-{number}"));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut round = 0_u64;
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    round += 1;
                    let mut batch = Batch::new();
                    for table in [Table::Blocks, Table::Platform, Table::Meta] {
                        batch.put(table, *b"round", round.to_be_bytes());
                        batch.put(table, round.to_be_bytes(), [7; 256]);
                    }
                    store.write(batch).unwrap();
                }
            });
            (0..5).for_each(|number| store.back_up(&backup(number)).unwrap());
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        let mut last = 0;
        for number in 0..5 {
            let copy = open(&backup(number));
            let round = |table| {
                let value = copy
                    .get(table, b"round")
                    .unwrap()
                    .map_or(0, |value| u64::from_be_bytes(value[..].try_into().unwrap()));
                assert!(value == 0 || copy.get(table, &value.to_be_bytes()).unwrap().is_some());
                assert!(copy.get(table, &(value + 1).to_be_bytes()).unwrap().is_none());
                value
            };
            let rounds = [Table::Blocks, Table::Platform, Table::Meta].map(round);
            assert_eq!(rounds, [rounds[0]; 3], "backup {number}");
            assert!(rounds[0] >= last);
            last = rounds[0];
        }
        assert!(last > 0);
    }

    #[test]
    fn what_can_not_be_restored_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (backup, copy) = (folder.path().join("backup"), folder.path().join("copy"));
        let refused = restore(&backup, &copy).unwrap_err();
        assert!(refused.to_string().contains("no backup"), "{refused}");
        open(&folder.path().join("db")).back_up(&backup).unwrap();

        fs::create_dir(&copy).unwrap();
        fs::write(copy.join("letter.txt"), "dear diary").unwrap();
        let refused = restore(&backup, &copy).unwrap_err();
        assert!(matches!(refused, StoreError::Foreign { .. }), "{refused}");
        assert_eq!(fs::read_dir(&copy).unwrap().count(), 1);

        fs::write(backup.join(FORMAT_FILE), "chainbox database, format 4\n").unwrap();
        let refused = restore(&backup, &folder.path().join("new")).unwrap_err();
        assert!(matches!(refused, StoreError::NewerFormat { found: 4, supported: 3 }), "{refused}");
        write_format(&backup).unwrap();
        let refused: Result<(), StoreError> =
            RocksStore::restore(&backup, &folder.path().join("new"), RocksOptions::default(), |_| {
                Err(StoreError::NewerFormat { found: 9, supported: 1 })
            });
        assert!(matches!(refused, Err(StoreError::NewerFormat { found: 9, .. })));
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["backup", "copy", "db"]);
    }

    #[test]
    fn only_a_database_that_is_there_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let refused = RocksStore::open_existing(folder.path(), RocksOptions::default()).unwrap_err();
        assert!(refused.to_string().contains("no database"), "{refused}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        drop(open(folder.path()));
        let store = RocksStore::open_existing(folder.path(), RocksOptions::default()).unwrap();
        suite::run(&store);
        let before = suite::dump(&store);
        store.compact().unwrap();
        assert_eq!(suite::dump(&store), before);
    }
}
