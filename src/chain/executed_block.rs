//! Blocks with the result of their execution.

use core::fmt;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use alloy_primitives::{B256, Bytes, U256};
use alloy_sol_types::SolEvent;

use super::{block::Block, error::ReadError, memory, receipt::Receipt, version::Version};
use crate::{
    primitives::{Height, Timestamp, Transaction},
    state::{Commit, CommitId},
    system::BlockUpdates,
};

/// The result of executing a block.
#[derive(Clone, Debug)]
pub(super) struct Execution {
    pub(super) receipts: Arc<[Receipt]>,
    pub(super) version: Arc<Version>,
    /// The parent's version that it was executed on; two replicas may have equal states under different ids.
    pub(super) parent: CommitId,
    /// What it changed for the protocol.
    pub(super) updates: BlockUpdates,
    /// Memory of the block without its seal, of its receipts and indices, in bytes.
    block_bytes: u64,
    /// Memory that the parent's state takes beside the block's, in bytes.
    state_bytes: u64,
}

impl Execution {
    /// Returns the result of executing `block` on the version `parent`; measures the memory that both take, once.
    pub(super) fn new(
        block: &Block,
        receipts: impl Into<Arc<[Receipt]>>,
        version: Arc<Version>,
        parent: CommitId,
        updates: BlockUpdates,
    ) -> Self {
        let receipts = receipts.into();
        let block_bytes = memory::block_bytes(block, &receipts) as u64;
        // An empty block shares its parent's version.
        let state_bytes = if version.commit().id == parent { 0 } else { version.superseded_bytes() };
        Self { receipts, version, parent, updates, block_bytes, state_bytes }
    }

    /// Memory of the block, its receipts, indices and state, in bytes.
    pub(super) const fn bytes(&self) -> u64 {
        self.block_bytes + self.state_bytes
    }
}

/// A block with the result of its execution. Cloning is O(1).
#[derive(Clone)]
pub struct ExecutedBlock {
    inner: Arc<Inner>,
    /// `None` once the state is pruned. Not in `inner`, so that pruning copies nothing.
    version: Option<Arc<Version>>,
}

struct Inner {
    block: Arc<Block>,
    receipts: Arc<[Receipt]>,
    updates: BlockUpdates,
    commit: Commit,
    total_difficulty: U256,
    /// Memory of block, receipts and indices, in bytes.
    block_bytes: u64,
    /// Memory that the parent's state takes beside the block's, in bytes.
    state_bytes: u64,
    /// Whether the block is in the store.
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
            block_bytes: self.block_bytes,
            state_bytes: self.state_bytes,
            is_stored: AtomicBool::new(self.is_stored.load(Ordering::Relaxed)),
        }
    }
}

impl ExecutedBlock {
    pub(super) fn new(block: Arc<Block>, execution: Execution, total_difficulty: U256) -> Self {
        Self::with_state(block, execution, total_difficulty, false)
    }

    /// Returns a block read from the store.
    pub(super) fn stored(block: Block, execution: Execution, total_difficulty: U256) -> Self {
        Self::with_state(Arc::new(block), execution, total_difficulty, true)
    }

    fn with_state(block: Arc<Block>, execution: Execution, total_difficulty: U256, is_stored: bool) -> Self {
        let Execution { receipts, version, updates, block_bytes, state_bytes, .. } = execution;
        let (commit, is_stored) = (version.commit(), AtomicBool::new(is_stored));
        let block_bytes = block_bytes + block.seal().len() as u64;
        let inner = Inner { block, receipts, updates, commit, total_difficulty, block_bytes, state_bytes, is_stored };
        let inner = Arc::new(inner);
        Self { inner, version: Some(version) }
    }

    /// Returns a block whose state is not kept.
    pub(super) fn without_state(
        block: Arc<Block>,
        receipts: Arc<[Receipt]>,
        updates: BlockUpdates,
        total_difficulty: U256,
        is_stored: bool,
    ) -> Self {
        let commit = Commit { id: CommitId::EMPTY, root: block.header().state_root };
        let is_stored = AtomicBool::new(is_stored);
        let block_bytes = (memory::block_bytes(&block, &receipts) + block.seal().len()) as u64;
        let inner =
            Inner { block, receipts, updates, commit, total_difficulty, block_bytes, state_bytes: 0, is_stored };
        Self { inner: Arc::new(inner), version: None }
    }

    /// Returns the same block without its state, as it is stored when its state is not.
    pub(super) fn forgetting_state(&self) -> Self {
        let Inner { block, receipts, updates, total_difficulty, .. } = &*self.inner;
        Self::without_state(block.clone(), receipts.clone(), updates.clone(), *total_difficulty, false)
    }

    /// The block.
    pub fn block(&self) -> &Arc<Block> {
        &self.inner.block
    }

    /// Hash of the block.
    pub fn hash(&self) -> B256 {
        self.inner.block.hash()
    }

    /// Height of the block.
    pub fn height(&self) -> Height {
        self.inner.block.height()
    }

    /// Hash of the parent.
    pub fn parent_hash(&self) -> B256 {
        self.inner.block.parent_hash()
    }

    /// Time of the block.
    pub fn timestamp(&self) -> Timestamp {
        self.inner.block.timestamp()
    }

    /// The transactions, in order of execution.
    pub fn transactions(&self) -> &[Arc<Transaction>] {
        self.inner.block.transactions()
    }

    /// Returns the events of kind `E` of all its transactions, in order, of all contracts.
    ///
    /// ```
    /// use chainbox::{prelude::*, templates::{Erc20Params, erc20::interface::Transfer}};
    /// let node = Node::new();
    /// let alice = node.accounts()[0];
    /// node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(9), alice).init_code())?;
    /// let events = node.view().head().events::<Transfer>();
    /// assert_eq!((events.len(), events[0].value), (1, U256::from(9)));
    /// # Ok::<(), chainbox::node::ContractError>(())
    /// ```
    pub fn events<E: SolEvent>(&self) -> Vec<E> {
        self.receipts().iter().flat_map(Receipt::events).collect()
    }

    /// Receipts of its transactions, in order.
    pub fn receipts(&self) -> &[Receipt] {
        &self.inner.receipts
    }

    /// Commit of the state after the block.
    pub fn commit(&self) -> Commit {
        self.inner.commit
    }

    /// Sum of the difficulties from genesis up to and including this block.
    pub fn total_difficulty(&self) -> U256 {
        self.inner.total_difficulty
    }

    /// Returns whether its state is kept.
    pub fn has_state(&self) -> bool {
        self.version.is_some()
    }

    pub(super) fn version(&self) -> Option<&Arc<Version>> {
        self.version.as_ref()
    }

    /// Returns the state after the block.
    pub(super) fn retained_version(&self) -> Result<&Arc<Version>, ReadError> {
        let pruned = || ReadError::Pruned { what: "state", height: self.height(), oldest: self.height().next() };
        self.version.as_ref().ok_or_else(pruned)
    }

    /// Memory of block, receipts and indices, in bytes.
    pub(super) fn block_bytes(&self) -> u64 {
        self.inner.block_bytes
    }

    /// Memory that the parent's state takes beside this block's, in bytes; zero once this block's is dropped.
    pub(super) fn state_bytes(&self) -> u64 {
        if self.has_state() { self.inner.state_bytes } else { 0 }
    }

    /// Drops the state, which this value then does not keep alive.
    pub fn drop_state(&mut self) {
        self.version = None;
    }

    /// Returns the block with another seal.
    pub(super) fn resealed(&self, seal: Bytes) -> Self {
        let block_bytes = self.inner.block_bytes - self.inner.block.seal().len() as u64 + seal.len() as u64;
        let block = Arc::new(self.inner.block.as_ref().clone().with_seal(seal));
        Self { inner: Arc::new(Inner { block, block_bytes, ..self.inner.copied() }), version: self.version.clone() }
    }

    /// Changes of the validator set made by the block.
    pub fn updates(&self) -> &BlockUpdates {
        &self.inner.updates
    }

    pub(super) fn is_stored(&self) -> bool {
        self.inner.is_stored.load(Ordering::Relaxed)
    }

    /// Marks block and state as written to the store.
    pub(super) fn set_stored(&self) {
        self.inner.is_stored.store(true, Ordering::Relaxed);
        if let Some(version) = &self.version {
            version.set_durable();
        }
    }
}

/// A line: the block's hashes and counts, and how many of its transactions failed.
impl fmt::Debug for ExecutedBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("ExecutedBlock");
        self.block().add_debug_fields(&mut fields);
        let failed = self.receipts().iter().filter(|receipt| !receipt.is_success()).count();
        fields.field("failed", &failed).field("state_root", &self.commit().root).field("has_state", &self.has_state());
        fields.finish()
    }
}
