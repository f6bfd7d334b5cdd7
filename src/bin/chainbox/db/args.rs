//! Flags of `db`.

#[cfg(not(feature = "rocksdb"))]
use std::path::Path;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Flags of `db`.
#[derive(Args, Debug)]
pub(crate) struct DbOptions {
    #[command(subcommand)]
    pub(crate) command: DbCommand,
}

/// What is done with a database.
#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Check formats, records against their indices, secrets, and that every chain opens with its head's state; nothing is changed
    #[command(after_help = "\
Exit status:
  0  nothing is wrong
  1  the database can't be opened: another process has it, it is of another version
  3  something is wrong, as the report says")]
    Check(Database),
    /// Write a copy of a database that is not served into a new folder; a running service does so by POST /v1/admin/backups
    ///
    /// The master key is not in the copy. On the same file system the copy shares its files with the database until either changes: copy it to
    /// another disk to be safe from the loss of this one.
    Backup {
        #[command(flatten)]
        database: Database,
        /// Folder of the backup; it must not exist
        #[arg(long, value_name = "FOLDER")]
        to: PathBuf,
    },
    /// Copy a backup into a folder that is empty or does not exist; it is served with the master key of the database that was backed up
    Restore {
        /// Folder of the backup
        #[arg(long, value_name = "FOLDER")]
        from: PathBuf,
        /// Folder of the new database
        #[arg(long, env = "CHAINBOX_DB_PATH", value_name = "FOLDER")]
        db_path: PathBuf,
    },
    /// Delete what has expired, and old states of chains; blocks, receipts and live records stay
    Prune {
        #[command(flatten)]
        database: Database,
        /// States below the head that each chain keeps, at least 256; older blocks then have no balances and no calls
        #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(256..))]
        keep_states: Option<u64>,
    },
}

/// A database and its master key.
#[derive(Args, Debug)]
pub(crate) struct Database {
    /// Folder of the database
    #[arg(long, env = "CHAINBOX_DB_PATH", value_name = "FOLDER")]
    pub(crate) db_path: PathBuf,
    /// File with the master key of the secrets, 64 hex digits; also CHAINBOX_MASTER_KEY; by default CHAINBOX.key in the database's folder
    #[arg(long, env = "CHAINBOX_MASTER_KEY_FILE", value_name = "FILE")]
    pub(crate) master_key_file: Option<PathBuf>,
}

#[cfg(not(feature = "rocksdb"))]
impl DbCommand {
    /// Folder of the database.
    pub(crate) fn database(&self) -> &Path {
        match self {
            Self::Check(database) | Self::Backup { database, .. } | Self::Prune { database, .. } => &database.db_path,
            Self::Restore { db_path, .. } => db_path,
        }
    }
}
