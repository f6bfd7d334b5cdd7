//! Reading and writing files; errors have the path and all causes.

use std::{
    error::Error,
    fs,
    io::{self, Write},
    path::Path,
};

type Failure = Box<dyn Error>;

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
