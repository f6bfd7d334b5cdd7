//! The master key of a database's secrets, and former ones.

use std::path::{Path, PathBuf};

use chainbox::{
    platform::{OsEntropy, records::Records, vault::MasterKey},
    store::KeyValue,
};

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

/// Returns the master key that is given, or that of the database's folder, which is made for a new database; and the former ones.
///
/// # Errors
/// A file can't be read or written, or holds no key; none is given for a database that has records, whose secrets a new key would not open.
pub(crate) fn read(
    file: Option<&Path>,
    former: &[PathBuf],
    folder: &Path,
    store: &dyn KeyValue,
) -> Result<(MasterKey, Vec<MasterKey>), Box<dyn std::error::Error>> {
    let present = match file {
        Some(path) => MasterKey::from_file(path),
        None => match MasterKey::from_env(MASTER_KEY) {
            Ok(Some(key)) => Ok(key),
            Ok(None) => {
                let own = folder.join(MASTER_KEY_FILE);
                refuse_new(&own, store)?;
                MasterKey::from_file_or_new(&own, &OsEntropy)
            }
            Err(cause) => Err(cause),
        },
    };
    let present = present.map_err(|cause| files::with_causes(&cause))?;
    let former = former.iter().map(|path| MasterKey::from_file(path)).collect::<Result<_, _>>();
    Ok((present, former.map_err(|cause| files::with_causes(&cause))?))
}

/// Refuses to make a key for a database that has had one: of a backup the key is kept elsewhere.
fn refuse_new(file: &Path, store: &dyn KeyValue) -> Result<(), Box<dyn std::error::Error>> {
    if file.exists() || Records::format_of(store).map_err(|cause| files::with_causes(&cause))?.is_none() {
        return Ok(());
    }
    let message = format!(
        "the database has secrets, and {}, the file with their master key, is not there: name the file that has it by --master-key-file, or set \
         {MASTER_KEY}; a new key would open none of them, so none was made",
        file.display()
    );
    Err(message.into())
}
