//! Reading and writing files; errors have the path and all causes.

use std::{
    error::Error,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

type Failure = Box<dyn Error>;

/// Names tried for a temporary file; those before are taken, by somebody or by a process that was killed.
const TEMPORARY_NAMES_MAX: u32 = 16;

/// Writes a file atomically, by a rename, readable by its owner only.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (mut file, temporary) = create_temporary(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let moved = written.and_then(|()| fs::rename(&temporary, path));
    if moved.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    moved
}

/// Tries whether [`write_atomically`] can write a file, without writing it; creates its folder when needed.
///
/// # Errors
/// The folder can't be created or written to, or the path is that of something else than a file.
pub(crate) fn try_atomic_write(path: &Path) -> io::Result<()> {
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

/// Reads a whole file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|cause| format!("cannot read {}: {cause}", path.display()).into())
}

/// Reads a text file in UTF-8.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(read(path)?).map_err(|cause| format!("{}: {cause}", path.display()).into())
}

/// Returns whether a path means standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns the complaint about the first two flags that name one file; standard output is none.
pub(crate) fn same_file(given: &[(&str, &Path)]) -> Option<String> {
    let whole = |path: &Path| fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or(path.to_owned());
    given.iter().enumerate().find_map(|(place, (flag, path))| {
        let is_other = |(_, other): &&(&str, &Path)| !is_stdout(path) && whole(other) == whole(path);
        let (earlier, _) = given[..place].iter().find(is_other)?;
        Some(format!("{earlier} and {flag} both name {}: give each its own file", path.display()))
    })
}

/// Writes a file, and creates its folder when needed; `-` is standard output, whose reader may close it early.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if is_stdout(path) {
        return match io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()) {
            Err(cause) if cause.kind() != io::ErrorKind::BrokenPipe => {
                Err(format!("cannot write to standard output: {cause}").into())
            }
            _ => Ok(()),
        };
    }
    let failed = |cause: io::Error| format!("cannot write {}: {cause}", path.display());
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(path, bytes).map_err(|cause| failed(cause).into())
}

/// Prints a report: to standard output, or to standard error when a file is written to the former.
pub(crate) fn report(is_stdout_taken: bool, text: &str) {
    if is_stdout_taken { anstream::eprint!("{text}") } else { anstream::print!("{text}") }
}

/// Returns an error with its chain of causes, in one line.
pub(crate) fn with_causes(failure: &(dyn Error + 'static)) -> String {
    let mut text = failure.to_string();
    let mut source = failure.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        for text in ["a long first text", "short"] {
            write_atomically(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn trying_a_path_creates_folders_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new").join("state.dump");
        try_atomic_write(&path).unwrap();
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
        fs::write(&path, "kept").unwrap();
        try_atomic_write(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "kept");
        for invalid in [folder.path().to_owned(), path.join("below")] {
            assert!(try_atomic_write(&invalid).is_err(), "{}", invalid.display());
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
        write_atomically(&path, b"secret").unwrap();
        assert_eq!(
            (fs::read_to_string(&victim).unwrap(), fs::read_to_string(&path).unwrap()),
            ("kept".into(), "secret".into())
        );
    }
}
