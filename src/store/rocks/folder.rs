//! The folder of a database: a file in it says that chainbox made it, and in which format.

use std::{
    fs,
    io::{self, ErrorKind},
    path::Path,
};

use crate::store::StoreError;

/// Format that this build writes and reads. Format 1 had another checksum in the protocols' records; format 2 had impersonated
/// transactions as a form of signature.
const FORMAT: u32 = 3;
/// File with the format of a database, written before RocksDB opens the folder.
pub(super) const FORMAT_FILE: &str = "CHAINBOX";
/// Text before the format number in that file.
const FORMAT_WORDS: &str = "chainbox database, format ";

/// Creates the format file in a new folder, or checks the one that is there.
pub(super) fn claim_folder(path: &Path) -> Result<(), StoreError> {
    let failed = failed("open", path);
    fs::create_dir_all(path).map_err(&failed)?;
    if check_format(path)? {
        return Ok(());
    }
    for entry in fs::read_dir(path).map_err(&failed)? {
        if entry.map_err(&failed)?.path() != draft(path) {
            return Err(foreign(path, "the folder is not empty and chainbox did not make it"));
        }
    }
    write_format(path).map_err(&failed)
}

/// Checks the format file of a folder; returns whether there is one.
///
/// # Errors
/// [`StoreError::NewerFormat`], [`StoreError::OlderFormat`], [`StoreError::Foreign`] for a damaged one, [`StoreError::Io`].
pub(super) fn check_format(path: &Path) -> Result<bool, StoreError> {
    match fs::read_to_string(path.join(FORMAT_FILE)) {
        Ok(text) => {
            let number = text.trim_end().strip_prefix(FORMAT_WORDS).and_then(|number| number.parse().ok());
            match number.ok_or_else(|| foreign(path, "its CHAINBOX file is damaged"))? {
                found if found > FORMAT => Err(StoreError::NewerFormat { found, supported: FORMAT }),
                found if found < FORMAT => Err(StoreError::OlderFormat { found, supported: FORMAT }),
                _ => Ok(true),
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) if error.kind() == ErrorKind::InvalidData => Err(foreign(path, "its CHAINBOX file is damaged")),
        Err(error) => Err(failed("open", path)(error)),
    }
}

/// Writes the format file, which makes the folder a database.
pub(super) fn write_format(path: &Path) -> io::Result<()> {
    let draft = draft(path);
    // The rename is atomic, so a kill at any point leaves a folder that opens.
    fs::write(&draft, format!("{FORMAT_WORDS}{FORMAT}\n"))?;
    fs::File::open(&draft)?.sync_all()?;
    fs::rename(&draft, path.join(FORMAT_FILE))?;
    sync_folder(path)
}

/// Writes the entries of a folder to the disk: a new file outlives a power cut only once the folder is written too.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    fs::File::open(path)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

fn draft(path: &Path) -> std::path::PathBuf {
    path.join(format!("{FORMAT_FILE}.new"))
}

/// Returns the error of a folder that is no database of this format.
pub(super) fn foreign(path: &Path, reason: &str) -> StoreError {
    StoreError::Foreign { path: path.display().to_string(), reason: reason.to_owned() }
}

/// Returns the error of an operation on a folder.
pub(super) fn failed(operation: &'static str, path: &Path) -> impl Fn(io::Error) -> StoreError {
    move |error| StoreError::Io { operation, reason: format!("folder {}: {error}", path.display()) }
}
