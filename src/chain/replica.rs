//! The chain as one replica sees it.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Log};

use super::{
    Block, BlockAttributes, ChainError, CommitHook, ExecutedBlock, ExecutionCache, GenesisSpec, HeadChange,
    HeaderRules, Intervention, InvalidTransaction, PoolContext,
};
use crate::{
    primitives::{Height, Transaction},
    state::{StateStore, StateView},
    store::KeyValue,
};

/// A transaction's place in its block, from 0.
pub type TransactionIndex = u32;

/// Where a builder takes transactions from. Object-safe, and stays so.
pub trait Candidates {
    /// The next to try; `None` when there are no more.
    fn next(&mut self) -> Option<Arc<Transaction>>;

    /// The last one was left out; later nonces of its sender should not follow.
    fn refuse(&mut self, transaction: &Transaction, reason: &InvalidTransaction);
}

/// A block that was built, executed and not yet sealed.
#[derive(Clone, Debug)]
pub struct BuiltBlock {
    /// The block, without a seal.
    pub block: Block,
    /// Candidates that were left out, with why.
    pub left_out: Vec<(Arc<Transaction>, InvalidTransaction)>,
}

/// What inserting a block did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// It is stored now.
    New,
    /// It was there.
    Known,
}

/// How far back the past is kept, in blocks below the head. Genesis and what is not final are always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// States that can be read; `None` keeps all.
    pub states: Option<u64>,
    /// Blocks and receipts; `None` keeps all. At least as many as states.
    pub blocks: Option<u64>,
}

/// Where a canonical transaction is.
#[derive(Clone, Debug)]
pub struct TransactionLocation {
    /// Its block.
    pub block: ExecutedBlock,
    /// Its place in it.
    pub index: TransactionIndex,
}

/// Which logs to find (`eth_getLogs`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// First height.
    pub from: Height,
    /// Last height, inclusive; beyond the head it is the head.
    pub to: Height,
    /// Emitters; empty for any.
    pub addresses: Vec<Address>,
    /// For each topic position the values that match; empty for any.
    pub topics: Vec<Vec<B256>>,
}

/// A log and where it was emitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedLog {
    /// The log.
    pub log: Log,
    /// Height of its block.
    pub height: Height,
    /// Hash of its block.
    pub block_hash: B256,
    /// Time of its block, in seconds since the Unix epoch.
    pub timestamp: u64,
    /// Hash of its transaction.
    pub transaction_hash: B256,
    /// Its transaction's place in the block.
    pub transaction_index: TransactionIndex,
    /// Its place among the block's logs.
    pub log_index: u32,
}

/// Collects what a chain is opened with; see [`Chain::builder`].
#[derive(Clone, Debug)]
pub struct ChainBuilder {}

impl ChainBuilder {
    /// The protocol's header rules; any header is taken without them.
    #[must_use]
    pub fn with_rules(self, rules: Arc<dyn HeaderRules>) -> Self {
        todo!("{rules:?}")
    }

    /// A cache shared with other replicas.
    #[must_use]
    pub fn with_cache(self, cache: ExecutionCache) -> Self {
        todo!("{cache:?}")
    }

    /// A hook that writes into the batch of each head change; called in the order they were given.
    #[must_use]
    pub fn with_hook(self, hook: Arc<dyn CommitHook>) -> Self {
        todo!("{hook:?}")
    }

    /// How much of the past is kept; by default all on a durable store, a bounded part in memory.
    #[must_use]
    pub fn with_retention(self, retention: Retention) -> Self {
        todo!("{retention:?}")
    }

    /// Execute every block again and compare, even when another replica did.
    #[must_use]
    pub fn with_paranoid(self, paranoid: bool) -> Self {
        todo!("{paranoid}")
    }

    /// Opens the chain: at its stored head, or at genesis when the store is empty.
    ///
    /// # Errors
    /// [`ChainError`]: an unusable specification, a store with another chain, a failing store.
    pub fn open(self) -> Result<Chain, ChainError> {
        todo!()
    }
}

/// One replica's chain. Cloning it costs the same at any size; a clone is a snapshot.
#[derive(Clone, Debug)]
pub struct Chain {}

/// Opening and identity.
impl Chain {
    /// Starts to open the chain of `spec` over these stores.
    pub fn builder(spec: GenesisSpec, state: Arc<dyn StateStore>, store: Arc<dyn KeyValue>) -> ChainBuilder {
        todo!("{spec:?} {state:?} {store:?}")
    }

    /// A replica of the same chain that starts where this one stands and writes nothing durable of its own.
    #[must_use]
    pub fn replica(&self) -> Self {
        todo!()
    }

    /// What the chain started from.
    pub fn spec(&self) -> &Arc<GenesisSpec> {
        todo!()
    }

    /// The genesis block.
    pub fn genesis(&self) -> &ExecutedBlock {
        todo!()
    }
}

/// Reading.
impl Chain {
    /// The newest canonical block.
    pub fn head(&self) -> &ExecutedBlock {
        todo!()
    }

    /// The newest block that the protocol calls safe; genesis at first.
    pub fn safe(&self) -> &ExecutedBlock {
        todo!()
    }

    /// The newest block that never reverts; genesis at first.
    pub fn finalized(&self) -> &ExecutedBlock {
        todo!()
    }

    /// Whether the block is in the tree, canonical or not.
    pub fn contains(&self, hash: B256) -> bool {
        todo!("{hash}")
    }

    /// A block of the tree, canonical or not.
    ///
    /// # Errors
    /// [`ChainError::UnknownBlock`], [`ChainError::Store`].
    pub fn block(&self, hash: B256) -> Result<ExecutedBlock, ChainError> {
        todo!("{hash}")
    }

    /// The canonical block at a height.
    ///
    /// # Errors
    /// [`ChainError::UnknownHeight`], [`ChainError::Pruned`], [`ChainError::Store`].
    pub fn block_at(&self, height: Height) -> Result<ExecutedBlock, ChainError> {
        todo!("{height}")
    }

    /// Hash of the canonical block at a height.
    ///
    /// # Errors
    /// As [`Chain::block_at`].
    pub fn hash_at(&self, height: Height) -> Result<B256, ChainError> {
        todo!("{height}")
    }

    /// Whether the block is on the way from genesis to the head.
    pub fn is_canonical(&self, hash: B256) -> bool {
        todo!("{hash}")
    }

    /// The state after a block.
    ///
    /// # Errors
    /// [`ChainError::UnknownBlock`], [`ChainError::Pruned`], [`ChainError::State`].
    pub fn state_of(&self, hash: B256) -> Result<Arc<dyn StateView>, ChainError> {
        todo!("{hash}")
    }

    /// The newest state: the head's, with interventions that no block records yet.
    ///
    /// # Errors
    /// [`ChainError::State`].
    pub fn latest_state(&self) -> Result<Arc<dyn StateView>, ChainError> {
        todo!()
    }

    /// Where a canonical transaction is; `None` when it is in no canonical block (or in a pruned one).
    ///
    /// # Errors
    /// [`ChainError::Store`].
    pub fn transaction(&self, hash: B256) -> Result<Option<TransactionLocation>, ChainError> {
        todo!("{hash}")
    }

    /// Canonical logs that match, in order, at most `max`.
    ///
    /// # Errors
    /// [`ChainError::TooManyResults`] past `max`, [`ChainError::Pruned`] when the range starts before what is kept.
    pub fn logs(&self, filter: &LogFilter, max: usize) -> Result<Vec<LocatedLog>, ChainError> {
        todo!("{filter:?} {max}")
    }

    /// Base fee of a child of the head; `None` when the chain has none.
    pub fn next_base_fee(&self) -> Option<u64> {
        todo!()
    }

    /// What a [`Pool`](super::Pool) needs to know of the head.
    ///
    /// # Errors
    /// [`ChainError::State`].
    pub fn pool_context(&self) -> Result<PoolContext, ChainError> {
        todo!()
    }
}

/// Growing.
impl Chain {
    /// Executes candidates on top of `parent` until the block is full or there are no more.
    ///
    /// Nothing is stored; the result waits in the execution cache for [`Chain::insert`]. Interventions that wait here
    /// are put before those of `attributes` when `parent` is the head.
    ///
    /// # Errors
    /// [`ChainError`]; the chain is then unchanged.
    pub fn build(
        &self,
        parent: B256,
        attributes: &BlockAttributes,
        candidates: &mut dyn Candidates,
    ) -> Result<BuiltBlock, ChainError> {
        todo!("{parent} {attributes:?} {}", candidates.next().is_some())
    }

    /// Judges a block by its own execution and stores it. The head stays.
    ///
    /// # Errors
    /// [`ChainError::UnknownParent`], [`ChainError::InvalidBlock`] with the field that is wrong; a failing store. The
    /// chain is then unchanged.
    pub fn insert(&mut self, block: Arc<Block>) -> Result<Inserted, ChainError> {
        todo!("{block:?}")
    }

    /// Moves the head to a block of the tree.
    ///
    /// One batch makes durable: the blocks on the way, their state, receipts and indices, the head, and what hooks add.
    ///
    /// # Errors
    /// [`ChainError::UnknownBlock`], [`ChainError::BelowFinality`], [`ChainError::Store`]; nothing is changed then.
    pub fn set_head(&mut self, hash: B256) -> Result<HeadChange, ChainError> {
        todo!("{hash}")
    }

    /// Moves the safe and the finalized block, which are ancestors of the head (or the head).
    ///
    /// # Errors
    /// [`ChainError::UnknownBlock`], [`ChainError::BelowFinality`], [`ChainError::Store`]; nothing is changed then.
    pub fn set_finality(&mut self, safe: B256, finalized: B256) -> Result<(), ChainError> {
        todo!("{safe} {finalized}")
    }

    /// Changes the newest state by hand; the next block built here records it.
    ///
    /// # Errors
    /// [`ChainError::InvalidBlock`] with [`BlockError::Interventions`](super::BlockError::Interventions) when genesis
    /// does not allow it.
    pub fn intervene(&mut self, intervention: Intervention) -> Result<(), ChainError> {
        todo!("{intervention:?}")
    }

    /// Goes back (or over) to `snapshot`, an earlier clone of this chain, also past finality.
    ///
    /// # Errors
    /// [`ChainError::Store`]; nothing is changed then.
    pub fn restore(&mut self, snapshot: &Self) -> Result<HeadChange, ChainError> {
        todo!("{snapshot:?}")
    }
}
