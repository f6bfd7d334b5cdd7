//! The master key of a database's secrets, and former ones.

use std::path::{Path, PathBuf};

use chainbox::platform::{OsEntropy, vault::MasterKey};

use crate::files;

/// Environment variable with the master key.
const MASTER_KEY: &str = "CHAINBOX_MASTER_KEY";
/// File with the master key of a database for which none is given, in its folder.
const MASTER_KEY_FILE: &str = "CHAINBOX.key";

/// Returns the master key that is given, or that of the database's folder; `None` where there is none.
///
/// # Errors
/// A file can't be read, or holds no key.
#[cfg(feature = "rocksdb")]
pub(crate) fn find(file: Option<&Path>, folder: &Path) -> Result<Option<MasterKey>, Box<dyn std::error::Error>> {
    let own = folder.join(MASTER_KEY_FILE);
    let found = match (file, MasterKey::from_env(MASTER_KEY)) {
        (Some(path), _) => MasterKey::from_file(path).map(Some),
        (None, Ok(None)) if own.exists() => MasterKey::from_file(&own).map(Some),
        (None, from_env) => from_env,
    };
    found.map_err(|cause| files::with_causes(&cause).into())
}

/// Returns the master key that is given, or that of the database's folder, which is made at its first use; and the former ones.
///
/// # Errors
/// A file can't be read or written, or holds no key.
pub(crate) fn read(
    file: Option<&Path>,
    former: &[PathBuf],
    folder: &Path,
) -> Result<(MasterKey, Vec<MasterKey>), Box<dyn std::error::Error>> {
    let present = match file {
        Some(path) => MasterKey::from_file(path),
        None => match MasterKey::from_env(MASTER_KEY) {
            Ok(Some(key)) => Ok(key),
            Ok(None) => MasterKey::from_file_or_new(&folder.join(MASTER_KEY_FILE), &OsEntropy),
            Err(cause) => Err(cause),
        },
    };
    let present = present.map_err(|cause| files::with_causes(&cause))?;
    let former = former.iter().map(|path| MasterKey::from_file(path)).collect::<Result<_, _>>();
    Ok((present, former.map_err(|cause| files::with_causes(&cause))?))
}
