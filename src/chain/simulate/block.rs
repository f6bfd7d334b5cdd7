//! The next block, built and executed without being kept.

use core::ops::ControlFlow;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};

use crate::{
    chain::{
        BlockExecutionError, Candidates, Chain, ExecutedBlock,
        execution::{self, Built, Purpose, total_difficulty},
        rules::BlockAttributes,
        version::Version,
    },
    state::{Account, AccountProof, Commit, StateError, StateView},
};

/// A child of the head that no chain contains, with the state after it.
#[derive(Clone, Debug)]
pub struct SimulatedBlock {
    /// The unsealed block with the result of its execution.
    pub block: ExecutedBlock,
    /// The state after it.
    pub state: Arc<dyn StateView>,
}

impl Chain {
    /// Builds the block that [`Chain::build`] would build on the head, and returns it with its receipts and state instead of
    /// keeping it for [`Chain::insert`].
    ///
    /// It records the pending interventions; those of `attributes` are left out.
    ///
    /// # Errors
    /// As [`Chain::build`].
    pub fn simulate_block(
        &self,
        attributes: &BlockAttributes,
        candidates: &mut dyn Candidates,
    ) -> Result<SimulatedBlock, BlockExecutionError> {
        let (parent, over) = (&self.head, self.latest_version()?);
        let interventions = self.pending_interventions().cloned().collect();
        let purpose = Purpose::Simulate { over };
        let built = execution::build(&self.context, parent, attributes, interventions, candidates, purpose)?;
        let Built { block, execution, .. } = built;
        let total = total_difficulty(parent, block.header());
        let version = Arc::clone(&execution.version);
        let state = Arc::new(HeldState { view: version.view()?, _version: version });
        Ok(SimulatedBlock { block: ExecutedBlock::new(Arc::new(block), execution, total), state })
    }
}

/// A state that keeps its version: that of a block in no chain is discarded with the last reference to it.
#[derive(Debug)]
struct HeldState {
    view: Arc<dyn StateView>,
    _version: Arc<Version>,
}

impl StateView for HeldState {
    fn commit(&self) -> Commit {
        self.view.commit()
    }

    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        self.view.account(address)
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        self.view.storage(address, slot)
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        self.view.code(hash)
    }

    fn proof(&self, address: &Address, slots: &[B256]) -> Result<AccountProof, StateError> {
        self.view.proof(address, slots)
    }

    fn for_each_account(&self, visit: &mut dyn FnMut(Address, Account) -> ControlFlow<()>) -> Result<(), StateError> {
        self.view.for_each_account(visit)
    }

    fn for_each_slot(
        &self,
        address: &Address,
        visit: &mut dyn FnMut(U256, U256) -> ControlFlow<()>,
    ) -> Result<(), StateError> {
        self.view.for_each_slot(address, visit)
    }
}
