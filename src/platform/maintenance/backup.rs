//! A backup of the store of a running service.

use std::{
    fs,
    path::Path,
    sync::{Mutex, PoisonError},
};

use crate::platform::{
    Platform, PlatformError, Principal, Scope, context::audit, default_workspace, records::RecordError,
};

/// A copy of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// Its id, the name of its folder in that of the backups.
    pub id: String,
    /// Length of its files, in bytes.
    pub bytes: u64,
    /// Time at which it was written, in milliseconds since the Unix epoch.
    pub created_at_ms: u64,
}

/// Where backups go, and that one is written at a time.
#[derive(Debug, Default)]
pub(in crate::platform) struct Backups {
    pub(in crate::platform) folder: Option<std::path::PathBuf>,
    writing: Mutex<()>,
}

impl Backups {
    pub(in crate::platform) fn new(folder: Option<std::path::PathBuf>) -> Self {
        Self { folder, writing: Mutex::default() }
    }
}

impl Platform {
    /// Writes a backup of the whole store, as it is at one moment, into a new folder with this id in the folder of the backups. With the id of
    /// a backup that is there it returns that one. The master key is not in it.
    ///
    /// # Errors
    /// [`PlatformError::MissingScope`] without `admin`; [`PlatformError::Forbidden`] for principals of other workspaces than the default
    /// one: a backup has the data of all; [`PlatformError::Conflict`] without a folder or a durable store, and while another backup is
    /// written; [`PlatformError::StorageFull`].
    pub fn back_up(&self, principal: &Principal, id: &str) -> Result<Backup, PlatformError> {
        principal.require(Scope::Admin)?;
        if *principal.workspace() != default_workspace() {
            let message = "a backup has the data of all workspaces: it takes credentials of the default workspace";
            return Err(PlatformError::Forbidden { message: message.to_owned() });
        }
        let Some(folder) = &self.backups.folder else {
            let message = "no folder for backups is configured: start the service with --backup-path";
            return Err(PlatformError::Conflict { message: message.to_owned() });
        };
        let Ok(_writing) = self.backups.writing.try_lock().or_else(|busy| match busy {
            std::sync::TryLockError::Poisoned(poisoned) => Ok(PoisonError::into_inner(poisoned)),
            std::sync::TryLockError::WouldBlock => Err(()),
        }) else {
            let message = "another backup is being written: try again when it is done".to_owned();
            return Err(PlatformError::Conflict { message });
        };
        let path = folder.join(id);
        if !path.exists() {
            // In the backup itself, too, one finds who took it.
            self.unit(|unit| audit(unit, principal, "backup.create", format!("backup {id}")))?;
            self.store.back_up(&path).map_err(RecordError::from)?;
        }
        let bytes = length(&path).map_err(PlatformError::internal)?;
        Ok(Backup { id: id.to_owned(), bytes, created_at_ms: self.context.records.clock().now_ms() })
    }
}

/// Returns the length of the files of a folder, which has no folders in it.
fn length(folder: &Path) -> std::io::Result<u64> {
    let mut bytes = 0_u64;
    for entry in fs::read_dir(folder)? {
        bytes = bytes.saturating_add(entry?.metadata()?.len());
    }
    Ok(bytes)
}
