//! Immutable views of the node, which are read without the writer's lock.

mod pending;

use core::fmt;
use std::{collections::BTreeSet, sync::Arc};

use self::pending::PendingBlock;
use super::{
    Clock, ClockOffset, MinedTransaction, Mining, QueryError,
    clock::{BlockTime, TimestampRule},
    head_switches::HeadSwitches,
};
use crate::{
    chain::{
        BlockAttributes, Chain, ExecutedBlock, LocatedLog, LogFilter, Pool, PoolContext, PooledTransaction,
        TransactionIndex,
    },
    consensus::ValidatorSet,
    primitives::{Address, B256, Bytes, Height, Timestamp, Transaction, U256, secs_rounded_up},
    sim::validator_records,
    state::{Account, AccountProof, StateView},
    system::{parameters::Parameter, staking::ValidatorRecord},
    vm::SYSTEM_ADDRESS,
};

/// Names a block (Ethereum execution APIs, block number or tag).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BlockRef {
    /// The head; its state has the interventions since, its proofs have not.
    #[default]
    Latest,
    /// The block that would be mined now, executed: see [`NodeView::pending_block`].
    Pending,
    /// Genesis.
    Earliest,
    /// The newest block that is safe by the protocol's rules.
    Safe,
    /// The newest block that is final by the protocol's rules.
    Finalized,
    /// The canonical block at this height.
    Number(Height),
    /// The block with this hash, canonical or not.
    Hash(B256),
}

impl From<Height> for BlockRef {
    fn from(height: Height) -> Self {
        Self::Number(height)
    }
}

/// Location of a transaction.
#[derive(Clone, Debug)]
pub enum Located {
    /// In a canonical block.
    Mined {
        /// The block.
        block: ExecutedBlock,
        /// Position in the block, from 0.
        index: TransactionIndex,
    },
    /// In the pool.
    Pooled(Arc<Transaction>),
}

/// The node at one moment: chain, pool, validators and settings. Reads take no lock of the node and never wait for a block
/// that is being made. Except for [`NodeView::now`], which follows the clock, a view never changes.
///
/// ```
/// use chainbox::node::{Mining, Node};
/// let node = Node::builder().with_validators(4).build()?;
/// let view = node.view();
/// assert_eq!(view.validators()?.len(), 4);
/// assert_eq!(view.mining(), Mining::EachTransaction);
/// assert_eq!(view.finalized().height(), view.head().height());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct NodeView {
    chain: Chain,
    pool: Pool,
    context: PoolContext,
    validators: ValidatorSet,
    /// What the next block's producer chooses, at the earliest time that the protocol allows.
    next: BlockAttributes,
    pending: PendingBlock,
    settings: Settings,
    switches: HeadSwitches,
    clock: Arc<dyn Clock>,
}

/// The settings of a node that are not part of its chain.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub(super) mining: Mining,
    pub(super) time: BlockTime,
    pub(super) timestamps: TimestampRule,
    /// Addresses that send without their key.
    pub(super) impersonated: Arc<BTreeSet<Address>>,
    /// Whether every address sends without its key.
    pub(super) impersonates_all: bool,
}

impl Settings {
    /// The timestamp of a block made now on a parent with this one.
    pub(super) fn next_timestamp(&self, clock: &dyn Clock, parent: Timestamp) -> Timestamp {
        self.time.next_timestamp(clock, parent, self.timestamps)
    }

    /// Whether transactions of `address` are sent without its key.
    pub(super) fn impersonates(&self, address: Address) -> bool {
        let is_on = self.impersonates_all || self.impersonated.contains(&address);
        is_on && address != SYSTEM_ADDRESS
    }
}

impl NodeView {
    pub(super) fn new(
        chain: Chain,
        pool: Pool,
        context: PoolContext,
        validators: ValidatorSet,
        settings: Settings,
        switches: HeadSwitches,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (next, pending) = (BlockAttributes::default(), PendingBlock::default());
        Self { chain, pool, context, validators, next, pending, settings, switches, clock }
    }

    /// Sets what the next block's producer chooses.
    pub(super) fn with_next(self, next: BlockAttributes) -> Self {
        Self { next, ..self }
    }

    /// The head's moves to blocks that do not descend from it.
    pub(super) const fn switches(&self) -> &HeadSwitches {
        &self.switches
    }

    pub(super) fn with_settings(&self, settings: Settings) -> Self {
        Self { settings, ..self.clone() }
    }

    pub(super) fn with_pool(&self, pool: Pool) -> Self {
        Self { pool, pending: self.pending.followed(&self.pool), ..self.clone() }
    }

    /// Continues the pending block of an earlier view where both differ in the pool alone.
    pub(super) fn following(self, before: &Self) -> Self {
        if self.next != before.next || !self.chain.has_same_next_block(&before.chain) {
            return self;
        }
        Self { pending: before.pending.followed(&before.pool), ..self }
    }

    /// Forgets the pending block, so that it is built from the start.
    #[cfg(test)]
    pub(super) fn without_pending(&self) -> Self {
        Self { pending: PendingBlock::default(), ..self.clone() }
    }

    pub(super) fn with_switches(&self, switches: HeadSwitches) -> Self {
        Self { switches, ..self.clone() }
    }

    /// The primary replica's chain.
    pub const fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The primary replica's pool.
    pub const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The chain's id (EIP-155).
    pub fn chain_id(&self) -> u64 {
        self.chain.spec().chain_id
    }

    /// Hash of the genesis block: the identity of this chain instance.
    pub fn genesis_hash(&self) -> B256 {
        self.chain.genesis().hash()
    }

    /// The newest canonical block.
    pub fn head(&self) -> &ExecutedBlock {
        self.chain.head()
    }

    /// The newest block that is safe by the protocol's rules.
    pub fn safe(&self) -> &ExecutedBlock {
        self.chain.safe()
    }

    /// The newest block that is final by the protocol's rules.
    pub fn finalized(&self) -> &ExecutedBlock {
        self.chain.finalized()
    }

    /// The validators at the head, in ascending order of address: those that the protocol counts, and on chains with stake also
    /// those that are pending, jailed or exited.
    ///
    /// # Errors
    /// [`QueryError`] when the state can't be read.
    pub fn validators(&self) -> Result<Vec<ValidatorRecord>, QueryError> {
        Ok(validator_records(&self.chain, &self.validators)?)
    }

    /// The mining mode.
    pub const fn mining(&self) -> Mining {
        self.settings.mining
    }

    /// Seconds from a block to the next, by which durations of contracts that count blocks are converted: the chain's parameter in force
    /// where transactions may change it, else the interval of mining, rounded up. `None` where blocks are made on demand.
    ///
    /// # Errors
    /// [`QueryError`] when the state can't be read.
    pub fn block_time_secs(&self) -> Result<Option<u64>, QueryError> {
        if self.chain.spec().parameters.is_some_and(|section| section.block_time.is_some()) {
            let parameters = self.chain.parameters(self.chain.head())?;
            let found = parameters.iter().find(|record| record.parameter == Parameter::BlockTime);
            return Ok(found.map(|record| record.value as u64));
        }
        Ok(match self.mining() {
            Mining::Interval(interval) => Some(secs_rounded_up(interval).max(1)),
            Mining::EachTransaction | Mining::Manual => None,
        })
    }

    /// The clock's time with this view's offset: the timestamp that a block made now gets, unless one is set for it, or an interval,
    /// or the head's is not earlier.
    pub fn now(&self) -> Timestamp {
        self.settings.time.now(&*self.clock)
    }

    /// Offset of blocks' time from the clock.
    pub const fn clock_offset(&self) -> ClockOffset {
        self.settings.time.offset()
    }

    /// Addresses that send without their key, in ascending order.
    pub fn impersonated(&self) -> impl ExactSizeIterator<Item = Address> {
        self.settings.impersonated.iter().copied()
    }

    /// Whether transactions of `address` are sent without its key.
    pub fn impersonates(&self, address: Address) -> bool {
        self.settings.impersonates(address)
    }

    /// The block that `id` names.
    ///
    /// # Errors
    /// [`QueryError::UnknownHeight`], [`QueryError::UnknownBlock`], [`QueryError::Pruned`].
    pub fn block(&self, id: BlockRef) -> Result<ExecutedBlock, QueryError> {
        Ok(match id {
            BlockRef::Latest => self.chain.head().clone(),
            BlockRef::Pending => self.pending_block()?,
            BlockRef::Earliest => self.chain.genesis().clone(),
            BlockRef::Safe => self.chain.safe().clone(),
            BlockRef::Finalized => self.chain.finalized().clone(),
            BlockRef::Number(height) => self.chain.block_at(height)?,
            BlockRef::Hash(hash) => self.chain.block(hash)?,
        })
    }

    /// The state after the block that `id` names.
    ///
    /// [`BlockRef::Latest`] and [`BlockRef::Pending`] show the interventions since the head. Any other names a block, whose state
    /// never changes, also when the block is the head: its root is in the header.
    ///
    /// # Errors
    /// As [`NodeView::block`]; a state may be pruned while its block is kept.
    pub fn state(&self, id: BlockRef) -> Result<Arc<dyn StateView>, QueryError> {
        match id {
            BlockRef::Latest => Ok(Arc::clone(&self.context.state)),
            other => self.own_state(other),
        }
    }

    /// The state whose root is in the header of the block that `id` names.
    fn own_state(&self, id: BlockRef) -> Result<Arc<dyn StateView>, QueryError> {
        match id {
            BlockRef::Pending => Ok(self.pending()?.state()),
            other => Ok(self.chain.state_of(self.block(other)?.hash())?),
        }
    }

    /// The account at `address`; an absent one is empty.
    ///
    /// # Errors
    /// As [`NodeView::state`].
    pub fn account(&self, address: Address, id: BlockRef) -> Result<Account, QueryError> {
        Ok(self.state(id)?.account(&address)?.unwrap_or_default())
    }

    /// Balance of the native token, in the smallest unit.
    ///
    /// # Errors
    /// As [`NodeView::state`].
    pub fn balance(&self, address: Address, id: BlockRef) -> Result<U256, QueryError> {
        self.account(address, id).map(|account| account.balance)
    }

    /// The account's nonce; with [`BlockRef::Pending`] all of the pool's ready transactions count, also those for which the
    /// pending block has no room.
    ///
    /// # Errors
    /// As [`NodeView::state`].
    pub fn nonce(&self, address: Address, id: BlockRef) -> Result<u64, QueryError> {
        let pooled = (id == BlockRef::Pending).then(|| self.pool.pending_nonce(&address)).flatten();
        match pooled {
            Some(nonce) => Ok(nonce),
            None => self.account(address, id).map(|account| account.nonce),
        }
    }

    /// The value of a storage slot.
    ///
    /// # Errors
    /// As [`NodeView::state`].
    pub fn storage(&self, address: Address, slot: U256, id: BlockRef) -> Result<U256, QueryError> {
        Ok(self.state(id)?.storage(&address, &slot)?)
    }

    /// The code of an account; empty without code.
    ///
    /// # Errors
    /// As [`NodeView::state`].
    pub fn code(&self, address: Address, id: BlockRef) -> Result<Bytes, QueryError> {
        let state = self.state(id)?;
        match state.account(&address)? {
            Some(account) => Ok(state.code(&account.code_hash)?),
            None => Ok(Bytes::new()),
        }
    }

    /// Proof of an account and of `slots` under the state root in the header of the block that `id` names (EIP-1186).
    ///
    /// It always is of the block's own state: with [`BlockRef::Latest`] it lacks the interventions since the head, which no block
    /// has a root of yet; with [`BlockRef::Pending`] it verifies under the pending block's root, and has them.
    ///
    /// # Errors
    /// As [`NodeView::state`].
    pub fn proof(&self, address: Address, slots: &[B256], id: BlockRef) -> Result<AccountProof, QueryError> {
        Ok(self.own_state(id)?.proof(&address, slots)?)
    }

    /// The location of a transaction; `None` when it is neither in a canonical block nor in the pool.
    ///
    /// # Errors
    /// [`QueryError::Chain`] when the store fails.
    pub fn transaction(&self, hash: B256) -> Result<Option<Located>, QueryError> {
        if let Some(found) = self.chain.transaction(hash)? {
            return Ok(Some(Located::Mined { block: found.block, index: found.index }));
        }
        Ok(self.pool.get(&hash).map(Located::Pooled))
    }

    /// The receipt of a transaction in a canonical block, with the block and the transaction's index in it; `None` when it is in
    /// none.
    ///
    /// ```
    /// use chainbox::prelude::*;
    /// let node = Node::new();
    /// let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    /// let hash = node.transfer(alice, bob, ether(1))?.transaction().hash();
    /// let mined = node.receipt(hash)?.ok_or("mined at once")?;
    /// assert_eq!((mined.block().height().get(), mined.index()), (1, 0));
    /// assert_eq!(mined.receipt().gas_used.get(), 21_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`QueryError::Chain`] when the store fails.
    pub fn receipt(&self, hash: B256) -> Result<Option<MinedTransaction>, QueryError> {
        let found = self.chain.transaction(hash)?;
        Ok(found.map(|found| MinedTransaction::new(found.block, found.index, Arc::clone(self.chain.registry()))))
    }

    /// Canonical logs that match `filter`, in order, at most `max`.
    ///
    /// # Errors
    /// [`QueryError::TooManyResults`] with more than `max`, [`QueryError::Pruned`] for a pruned range.
    pub fn logs(&self, filter: &LogFilter, max: usize) -> Result<Vec<LocatedLog>, QueryError> {
        Ok(self.chain.logs(filter, max)?)
    }

    /// The pool's transactions, each with the reason where it is not ready.
    pub fn pooled(&self) -> Vec<PooledTransaction> {
        self.pool.content()
    }

    /// The pool's input for validation: the newest state, and the next block's gas limit and base fee.
    pub const fn pool_context(&self) -> &PoolContext {
        &self.context
    }

    /// Base fee of the next block, in the smallest unit per unit of gas; 0 on a chain without base fee.
    pub const fn next_base_fee(&self) -> u64 {
        self.context.base_fee
    }
}

/// A line: the chain's head and finality, and the size of the pool.
impl fmt::Debug for NodeView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeView")
            .field("chain", &self.chain)
            .field("pool", &self.pool.len())
            .field("validators", &self.validators.len())
            .field("mining", &self.settings.mining)
            .finish_non_exhaustive()
    }
}
