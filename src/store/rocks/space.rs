//! Free space of the file system that holds a database.

use core::fmt::Debug;
use std::{io, path::PathBuf};

/// A probe of free space, asked before every write: it must be cheap. It stays object-safe.
pub trait FreeSpace: Debug + Send + Sync {
    /// Returns the bytes that this process may still write; `None` where the system does not tell.
    ///
    /// # Errors
    /// [`io::Error`] when the file system can't be asked.
    fn free_bytes(&self) -> io::Result<Option<u64>>;
}

/// The file system of a folder.
#[derive(Debug)]
pub(super) struct FolderSpace(pub(super) PathBuf);

impl FreeSpace for FolderSpace {
    #[cfg(unix)]
    fn free_bytes(&self) -> io::Result<Option<u64>> {
        let status = rustix::fs::statvfs(&self.0)?;
        Ok(Some(status.f_bavail.saturating_mul(status.f_frsize)))
    }

    #[cfg(not(unix))]
    fn free_bytes(&self) -> io::Result<Option<u64>> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const _: fn(&dyn FreeSpace) = |_| {};

    #[cfg(unix)]
    #[test]
    fn a_folder_has_free_space_and_a_missing_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let space = FolderSpace(folder.path().to_owned());
        assert!(space.free_bytes().unwrap().is_some());
        assert!(FolderSpace(folder.path().join("missing")).free_bytes().is_err());
    }
}
