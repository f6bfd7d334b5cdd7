//! One process for each file of `--state`: the second would overwrite what the first writes.

use std::{
    fs::{File, OpenOptions, TryLockError},
    path::{Path, PathBuf},
};

/// The lock of a file of `--state`, held until it is dropped: a file beside it, locked by the operating system, which unlocks it however the
/// process ends. The empty file stays, for another process may wait to lock it.
#[derive(Debug)]
pub(crate) struct StateLock {
    _file: File,
}

impl StateLock {
    /// Takes the lock of the file at `path`, whose folder exists.
    ///
    /// # Errors
    /// Another process holds it, or the lock's file can't be created.
    pub(crate) fn take(path: &Path) -> Result<Self, String> {
        // The file itself is replaced at every write, and a lock would stay with the old one.
        let lock = beside(path);
        let failed = |cause: std::io::Error| format!("--state: cannot lock {}: {cause}", lock.display());
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&lock).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(format!(
                "--state {}: another chainbox uses this file, and each would overwrite what the other writes: stop that one, or give \
                 this one another file",
                path.display()
            )),
            Err(TryLockError::Error(cause)) => Err(failed(cause)),
        }
    }
}

/// Returns the path of the lock: that of the file that a link leads to, with `.lock` added.
fn beside(path: &Path) -> PathBuf {
    let mut lock = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).into_os_string();
    lock.push(".lock");
    lock.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_is_refused_until_the_first_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chain.dump");
        let first = StateLock::take(&path).unwrap();
        let refused = StateLock::take(&path).unwrap_err();
        assert!(refused.contains("another chainbox uses this file"), "{refused}");
        StateLock::take(&folder.path().join("other.dump")).unwrap();
        drop(first);
        StateLock::take(&path).unwrap();
    }
}
