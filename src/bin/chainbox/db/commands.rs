//! The commands on a database, in binaries that are built with RocksDB.

use core::fmt::Write as _;
use std::{error::Error, path::Path, sync::Arc};

use chainbox::{
    platform::{CheckReport, Pruned, check, prune, records::Records, vault::MasterKey},
    server::WallClock,
    store::{KeyValue, RocksOptions, RocksStore},
};

use super::args::{Database, DbCommand, DbOptions};
use crate::{files, master_key};

type Failure = Box<dyn Error>;

pub(super) fn run(options: &DbOptions) -> Result<bool, Failure> {
    match &options.command {
        DbCommand::Check(database) => check_database(database),
        DbCommand::Backup { database, to } => {
            open(&database.db_path)?.back_up(to).map_err(|cause| files::with_causes(&cause))?;
            files::report(false, &format!("backed up to {}\n{WITHOUT_KEY}", to.display()));
            Ok(true)
        }
        DbCommand::Restore { from, db_path } => restore(from, db_path),
        DbCommand::Prune { database, keep_states } => prune_database(database, *keep_states),
    }
}

const WITHOUT_KEY: &str = "the master key is not in it: keep CHAINBOX.key, or what --master-key-file or CHAINBOX_MASTER_KEY names, elsewhere\n";

fn open(folder: &Path) -> Result<RocksStore, Failure> {
    let opened = RocksStore::open_existing(folder, RocksOptions::default());
    opened.map_err(|cause| files::with_causes(&cause).into())
}

fn check_database(database: &Database) -> Result<bool, Failure> {
    let key = master_key::find(database.master_key_file.as_deref(), &database.db_path)?;
    let store: Arc<dyn KeyValue> = Arc::new(open(&database.db_path)?);
    // What a newer version wrote is not judged by this one.
    Records::check_format(&*store).map_err(|cause| files::with_causes(&cause))?;
    let report = check(&store, Arc::new(WallClock), key);
    files::report(false, &described(&report));
    Ok(report.faults.is_empty())
}

fn restore(from: &Path, folder: &Path) -> Result<bool, Failure> {
    RocksStore::restore(from, folder, RocksOptions::default(), |copy| {
        Records::check_format(&copy).map_err(|cause| Failure::from(files::with_causes(&cause)))
    })
    .map_err(|cause: Failure| cause)?;
    let text = format!(
        "restored to {}\nserve it with the master key of the database that was backed up: CHAINBOX.key in the folder, or --master-key-file\n",
        folder.display()
    );
    files::report(false, &text);
    Ok(true)
}

fn prune_database(database: &Database, states: Option<u64>) -> Result<bool, Failure> {
    let folder = &database.db_path;
    let key = master_key::find(database.master_key_file.as_deref(), folder)?;
    let key: MasterKey = key.ok_or_else(|| {
        format!("there is no master key in {}: name it with --master-key-file or CHAINBOX_MASTER_KEY", folder.display())
    })?;
    let rocks = Arc::new(open(folder)?);
    let store: Arc<dyn KeyValue> = Arc::clone(&rocks) as _;
    let pruned = prune(&store, Arc::new(WallClock), key, states).map_err(|cause| files::with_causes(&cause))?;
    rocks.compact().map_err(|cause| files::with_causes(&cause))?;
    files::report(false, &described_pruning(&pruned));
    Ok(pruned.skipped.is_empty())
}

fn described(report: &CheckReport) -> String {
    let mut text = String::new();
    let format = report.format.map_or_else(|| "none yet".to_owned(), |format| format.to_string());
    let _ = writeln!(text, "format of the records  {format}");
    for (kind, count) in report.records.iter().filter(|(_, count)| *count > 0) {
        let _ = writeln!(text, "  {kind:<20} {count}");
    }
    let secrets = report.secrets.map_or_else(
        || "not opened: there is no master key in the folder, and none is named".to_owned(),
        |count| format!("{count} open under the master key"),
    );
    let _ = writeln!(text, "secrets                {secrets}");
    for chain in &report.chains {
        let head = chain.height.map_or_else(
            || "not built yet".to_owned(),
            |height| format!("{}, at height {height}, {} accounts", chain.state, chain.accounts),
        );
        let _ = writeln!(text, "blockchain {:<20} {head}", chain.id);
    }
    for fault in &report.faults {
        let _ = writeln!(text, "FAULT {fault}");
    }
    let _ = match report.faults.len() {
        0 => writeln!(text, "nothing is wrong"),
        count => writeln!(text, "{count} faults: restore a backup, or keep a copy of the folder before anything else"),
    };
    text
}

fn described_pruning(pruned: &Pruned) -> String {
    let mut text = format!("{} expired records, {} interrupted imports\n", pruned.records, pruned.orphans);
    for (id, heights) in &pruned.states {
        let _ = writeln!(text, "blockchain {id}: states of {heights} heights");
    }
    for (id, reason) in &pruned.skipped {
        let _ = writeln!(text, "blockchain {id} is left as it is: {reason}");
    }
    text
}
