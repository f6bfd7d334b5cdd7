//! Executed blocks and how the head moves along them.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use alloy_primitives::{B256, Bytes, U256};

use super::{block::Block, receipt::Receipt, version::Version};
use crate::{
    primitives::Height,
    state::{Commit, CommitId},
    system::ValidatorUpdates,
};

/// What executing a block gave.
#[derive(Clone, Debug)]
pub(super) struct Execution {
    pub(super) receipts: Arc<[Receipt]>,
    pub(super) version: Arc<Version>,
    /// The version that it was made on: two replicas may have made the same state twice.
    pub(super) parent: CommitId,
    /// What it changed in the set of validators.
    pub(super) updates: ValidatorUpdates,
}

/// A block with what its execution gave. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ExecutedBlock {
    inner: Arc<Inner>,
    /// `None` once the retention policy let go of the state. Beside the rest, so that letting go copies nothing.
    version: Option<Arc<Version>>,
}

#[derive(Debug)]
struct Inner {
    block: Arc<Block>,
    receipts: Arc<[Receipt]>,
    updates: ValidatorUpdates,
    commit: Commit,
    total_difficulty: U256,
    /// Whether the store has the block.
    is_stored: AtomicBool,
}

impl Inner {
    fn copied(&self) -> Self {
        Self {
            block: self.block.clone(),
            receipts: self.receipts.clone(),
            updates: self.updates.clone(),
            commit: self.commit,
            total_difficulty: self.total_difficulty,
            is_stored: AtomicBool::new(self.is_stored.load(Ordering::Relaxed)),
        }
    }
}

impl ExecutedBlock {
    pub(super) fn new(block: Arc<Block>, execution: Execution, total_difficulty: U256) -> Self {
        Self::with_state(block, execution, total_difficulty, false)
    }

    /// A block read back from the store.
    pub(super) fn stored(block: Block, execution: Execution, total_difficulty: U256) -> Self {
        Self::with_state(Arc::new(block), execution, total_difficulty, true)
    }

    fn with_state(block: Arc<Block>, execution: Execution, total_difficulty: U256, is_stored: bool) -> Self {
        let Execution { receipts, version, updates, .. } = execution;
        let (commit, is_stored) = (version.commit(), AtomicBool::new(is_stored));
        let inner = Arc::new(Inner { block, receipts, updates, commit, total_difficulty, is_stored });
        Self { inner, version: Some(version) }
    }

    /// A block whose state is not kept.
    pub(super) fn without_state(
        block: Arc<Block>,
        receipts: Arc<[Receipt]>,
        updates: ValidatorUpdates,
        total_difficulty: U256,
        is_stored: bool,
    ) -> Self {
        let commit = Commit { id: CommitId::EMPTY, root: block.header().state_root };
        let is_stored = AtomicBool::new(is_stored);
        let inner = Arc::new(Inner { block, receipts, updates, commit, total_difficulty, is_stored });
        Self { inner, version: None }
    }

    /// The block.
    pub fn block(&self) -> &Arc<Block> {
        &self.inner.block
    }

    /// Its hash.
    pub fn hash(&self) -> B256 {
        self.inner.block.hash()
    }

    /// Its height.
    pub fn height(&self) -> Height {
        self.inner.block.height()
    }

    /// One receipt a transaction, in order.
    pub fn receipts(&self) -> &[Receipt] {
        &self.inner.receipts
    }

    /// The state after it.
    pub fn commit(&self) -> Commit {
        self.inner.commit
    }

    /// Sum of the difficulties from genesis up to and with this block.
    pub fn total_difficulty(&self) -> U256 {
        self.inner.total_difficulty
    }

    /// Whether its state can still be read.
    pub fn has_state(&self) -> bool {
        self.version.is_some()
    }

    pub(super) fn version(&self) -> Option<&Arc<Version>> {
        self.version.as_ref()
    }

    /// Lets go of the state.
    pub(super) fn prune(&mut self) {
        self.version = None;
    }

    /// The same block with another seal.
    pub(super) fn resealed(&self, seal: Bytes) -> Self {
        let block = Arc::new(self.inner.block.as_ref().clone().with_seal(seal));
        Self { inner: Arc::new(Inner { block, ..self.inner.copied() }), version: self.version.clone() }
    }

    /// What executing it changed in the set of validators.
    pub fn updates(&self) -> &ValidatorUpdates {
        &self.inner.updates
    }

    pub(super) fn is_stored(&self) -> bool {
        self.inner.is_stored.load(Ordering::Relaxed)
    }

    /// Notes that the batch with this block and its state was written.
    pub(super) fn set_stored(&self) {
        self.inner.is_stored.store(true, Ordering::Relaxed);
        if let Some(version) = &self.version {
            version.set_durable();
        }
    }
}
