//! `--db-path`: the database of the development chain.

use std::{path::Path, sync::Arc};

use chainbox::{
    chain::{Chain, GenesisSpec},
    store::KeyValue,
};

use crate::{database, dev::args::DevOptions};

/// A database, with the genesis of the chain that it holds.
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn KeyValue>,
    /// Genesis of the stored chain, without accounts; `None` in a new database, and with `--genesis`.
    pub(crate) genesis: Option<GenesisSpec>,
}

/// Opens the database in a folder, or creates it.
///
/// # Errors
/// The folder can't be opened.
pub(crate) fn open(path: &Path, options: &DevOptions) -> Result<Opened, Box<dyn std::error::Error>> {
    let store = database::open(path, options.database.min_free_space)?;
    let stored = || Chain::stored_spec(&*store).map_err(|cause| crate::files::with_causes(&cause));
    let genesis = if options.genesis.is_some() { None } else { stored()? };
    Ok(Opened { store, genesis })
}
