//! The chains of a store that is not served, opened for reading or pruning, without their keys and without running them.

use std::sync::Arc;

use crate::{
    chain::Chain,
    platform::{
        DEFAULT_BLOCKCHAIN_ID,
        blockchain::{BlockchainRecord, ChainState},
        blockchains::part_of,
        records::{RecordError, Records, Stored},
    },
    state::PagedState,
    store::KeyValue,
};

/// A chain of a store.
pub(super) struct StoredChain {
    pub(super) id: String,
    /// Name of its state; the chain of a development node has none where its record was never written.
    pub(super) state: &'static str,
    /// Whether its record says that it was built.
    pub(super) was_built: bool,
    part: Arc<dyn KeyValue>,
}

impl StoredChain {
    fn of_record(store: &Arc<dyn KeyValue>, stored: &Stored<BlockchainRecord>) -> Self {
        let state = &stored.value.state;
        let was_built = matches!(state, ChainState::Running | ChainState::Paused | ChainState::Stopped);
        let part = match stored.id() {
            DEFAULT_BLOCKCHAIN_ID => Arc::clone(store),
            id => Arc::new(part_of(store, id)),
        };
        Self { id: stored.id().to_owned(), state: state.name(), was_built, part }
    }

    /// Opens it at its head; `None` when it has no genesis yet.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn open(&self) -> Result<Option<Chain>, String> {
        let spec = Chain::stored_spec(&*self.part).map_err(|cause| cause.to_string())?;
        let Some(spec) = spec else { return Ok(None) };
        let state = PagedState::open(Arc::clone(&self.part)).map_err(|cause| cause.to_string())?;
        let chain = Chain::builder(spec, Arc::new(state), Arc::clone(&self.part)).open();
        chain.map(Some).map_err(|cause| cause.to_string())
    }
}

/// Returns every chain of a store: those with records, and that of a development node.
///
/// # Errors
/// [`RecordError`] of reading the records.
pub(super) fn stored_chains(store: &Arc<dyn KeyValue>, records: &Records) -> Result<Vec<StoredChain>, RecordError> {
    let mut chains = Vec::new();
    records.for_every::<BlockchainRecord, RecordError>(|stored| {
        chains.push(StoredChain::of_record(store, &stored));
        Ok(())
    })?;
    let has_default = chains.iter().any(|chain| chain.id == DEFAULT_BLOCKCHAIN_ID);
    if !has_default && Chain::stored_spec(&**store)?.is_some() {
        let (id, part) = (DEFAULT_BLOCKCHAIN_ID.to_owned(), Arc::clone(store));
        chains.push(StoredChain { id, state: "running", was_built: true, part });
    }
    Ok(chains)
}
