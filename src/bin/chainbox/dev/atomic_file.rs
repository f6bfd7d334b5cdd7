//! Writing a file at once: a reader sees the old one or the new one.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Names tried for a temporary file; those before are taken, by somebody or by a process that was killed.
const TEMPORARY_NAMES_MAX: u32 = 16;

/// Writes a file atomically, by a rename, readable by its owner only.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (mut file, temporary) = create_temporary(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let moved = written.and_then(|()| fs::rename(&temporary, path));
    if moved.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    moved
}

/// Tries whether [`write`] can write a file, without writing it; creates its folder when needed.
///
/// # Errors
/// The folder can't be created or written to, or the path is that of something else than a file.
pub(crate) fn try_write(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
    }
    let (file, temporary) = create_temporary(path)?;
    drop(file);
    fs::remove_file(&temporary)
}

/// Creates a new file beside `path`. A file or link that is there already, in a folder that others write to, is not followed.
fn create_temporary(path: &Path) -> io::Result<(File, PathBuf)> {
    let name =
        path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"))?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut number = 0;
    loop {
        let mut temporary = name.to_os_string();
        temporary.push(format!(".{}.{number}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        match options.open(&temporary) {
            Err(taken) if taken.kind() == io::ErrorKind::AlreadyExists && number < TEMPORARY_NAMES_MAX => number += 1,
            opened => return opened.map(|file| (file, temporary)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        for text in ["a long first text", "short"] {
            write(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn trying_a_path_creates_folders_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new").join("state.dump");
        try_write(&path).unwrap();
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
        fs::write(&path, "kept").unwrap();
        try_write(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "kept");
        for invalid in [folder.path().to_owned(), path.join("below")] {
            assert!(try_write(&invalid).is_err(), "{}", invalid.display());
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_under_the_temporary_name_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, victim) = (folder.path().join("config.json"), folder.path().join("victim"));
        fs::write(&victim, "kept").unwrap();
        let temporary = folder.path().join(format!("config.json.{}.0.tmp", std::process::id()));
        std::os::unix::fs::symlink(&victim, temporary).unwrap();
        write(&path, b"secret").unwrap();
        assert_eq!(
            (fs::read_to_string(&victim).unwrap(), fs::read_to_string(&path).unwrap()),
            ("kept".into(), "secret".into())
        );
    }
}
