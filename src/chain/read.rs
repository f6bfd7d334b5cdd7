//! Reading a chain: heads, blocks, states, transactions, receipts.

use std::sync::Arc;

use alloy_primitives::{B256, Bytes};

use super::{
    Chain,
    base_fee::BaseFeeParams,
    block::{Block, TransactionIndex},
    error::ReadError,
    executed_block::ExecutedBlock,
    execution::taken_over,
    fee_rules::FeeRules,
    header::expected_base_fee,
    hook::Finality,
    permissions::permission_lists,
    persist::{self, Pruned},
    pool::PoolContext,
    receipt::Receipt,
    rules::Ancestors,
    version::Version,
};
use crate::{
    primitives::{Gas, Height, Timestamp, Transaction},
    state::{StateError, StateView},
    system::{BlockUpdates, ParameterUpdates, ValidatorUpdates},
};

/// The block and the index of a canonical transaction.
#[derive(Clone, Debug)]
pub struct TransactionLocation {
    /// The block that contains it.
    pub block: ExecutedBlock,
    /// Its index in the block, from 0.
    pub index: TransactionIndex,
}

impl TransactionLocation {
    /// The transaction; `None` only for an index that the block doesn't have.
    pub fn transaction(&self) -> Option<&Arc<Transaction>> {
        self.block.block().transaction(self.index)
    }

    /// Its receipt; `None` only for an index that the block doesn't have.
    pub fn receipt(&self) -> Option<&Receipt> {
        self.block.receipts().get(self.index as usize)
    }
}

/// Heads.
impl Chain {
    /// The newest canonical block.
    pub const fn head(&self) -> &ExecutedBlock {
        &self.head
    }

    /// Returns the safe and the finalized block, and the height up to which no block is ever reverted.
    pub(crate) const fn finality(&self) -> &Finality {
        &self.finality
    }

    /// The newest block that the protocol calls safe; genesis at first.
    pub const fn safe(&self) -> &ExecutedBlock {
        &self.finality.safe
    }

    /// The newest block that the protocol calls finalized; genesis at first. It is never reverted unless finality is
    /// advisory.
    pub const fn finalized(&self) -> &ExecutedBlock {
        &self.finality.finalized
    }
}

/// Blocks and states.
impl Chain {
    /// Returns whether the block is in the tree or in the store, canonical or not.
    pub fn contains(&self, hash: B256) -> bool {
        self.tree.get(&hash).is_some() || self.context.has_stored(hash)
    }

    /// Returns the changes of the validator set made by executing a block; none for an unknown block.
    pub fn updates_of(&self, hash: B256) -> BlockUpdates {
        self.block(hash).map(|block| block.updates().clone()).unwrap_or_default()
    }

    /// Returns a block of the tree or the store, canonical or not.
    ///
    /// # Errors
    /// [`ReadError::UnknownBlock`], [`ReadError::Store`].
    pub fn block(&self, hash: B256) -> Result<ExecutedBlock, ReadError> {
        if hash == self.head.hash() {
            return Ok(self.head.clone());
        }
        match self.tree.get(&hash) {
            Some(block) => Ok(block.clone()),
            None => self.context.load(hash)?.ok_or(ReadError::UnknownBlock { hash }),
        }
    }

    /// Returns a block by hash, without a search when it is at `height`.
    pub(super) fn block_near(&self, height: Height, hash: B256) -> Result<ExecutedBlock, ReadError> {
        if hash == self.head.hash() {
            return Ok(self.head.clone());
        }
        self.tree.get_at(height, hash).map_or_else(|| self.block(hash), |block| Ok(block.clone()))
    }

    /// Returns whether the block with this height and hash is in the tree or in the store.
    pub(super) fn contains_at(&self, height: Height, hash: B256) -> bool {
        self.tree.get_at(height, hash).is_some() || self.context.has_stored(hash)
    }

    /// Returns the canonical block at a height.
    ///
    /// # Errors
    /// [`ReadError::UnknownHeight`], [`ReadError::Pruned`], [`ReadError::Store`].
    pub fn block_at(&self, height: Height) -> Result<ExecutedBlock, ReadError> {
        self.block(self.hash_at(height)?)
    }

    /// Returns the hash of the canonical block at a height.
    ///
    /// # Errors
    /// As [`Chain::block_at`].
    pub fn hash_at(&self, height: Height) -> Result<B256, ReadError> {
        let head = self.head.height();
        if height > head {
            return Err(ReadError::UnknownHeight { height, head });
        }
        let known = match self.tree.canonical(height) {
            Some(hash) => Some(hash),
            None => {
                let stored = self.context.stored_canonical(height)?;
                // The store has gone over to another branch since this chain was cloned.
                match self.lease.as_ref().is_some_and(|lease| lease.is_stale_at(height.get())) {
                    true => self.ancestor_at(height)?,
                    false => stored,
                }
            }
        };
        known.ok_or_else(|| ReadError::Pruned { what: "block", height, oldest: self.oldest_block() })
    }

    /// Returns the hash of the head's ancestor at a height by way of parent hashes, from the lowest canonical block in memory on.
    fn ancestor_at(&self, height: Height) -> Result<Option<B256>, ReadError> {
        let lowest = self.tree.oldest(self.head.height());
        let Some(mut hash) = self.tree.canonical(lowest) else { return Ok(None) };
        let Some(mut block) = self.tree.get_at(lowest, hash).cloned() else { return Ok(None) };
        while block.height() > height {
            hash = block.block().parent_hash();
            let Some(parent) = self.context.load(hash)? else { return Ok(None) };
            block = parent;
        }
        Ok(Some(hash))
    }

    /// Returns the lowest height above genesis whose block is kept; the head's when there is none.
    pub fn oldest_block(&self) -> Height {
        let head = self.head.height();
        match self.context.retention.blocks {
            _ if !self.context.is_durable => self.tree.oldest(head),
            kept => Height::new(self.lowest_stored(Pruned::Blocks, kept)),
        }
    }

    /// The lowest height above genesis that the store has by the retention policy and by what an earlier one has pruned; the
    /// head's when there is none.
    fn lowest_stored(&self, what: Pruned, kept: Option<u64>) -> u64 {
        let head = self.head.height().get();
        let by_policy = kept.map_or(1, |kept| head.saturating_sub(kept).min(self.finality.irreversible.get()));
        // Where the store can't be read, whatever is asked next says so.
        let pruned = persist::pruned_below(&*self.context.store, what).ok().flatten().unwrap_or(1);
        by_policy.max(pruned).max(1).min(head)
    }

    /// Returns whether the block is the head or one of its ancestors.
    pub fn is_canonical(&self, hash: B256) -> bool {
        self.block(hash).is_ok_and(|block| self.is_canonical_block(&block))
    }

    pub(super) fn is_canonical_block(&self, block: &ExecutedBlock) -> bool {
        block.hash() == self.head.hash()
            || self.hash_at(block.height()).is_ok_and(|canonical| canonical == block.hash())
    }

    /// Returns the state after a block.
    ///
    /// # Errors
    /// [`ReadError::UnknownBlock`], [`ReadError::Pruned`], [`ReadError::State`].
    pub fn state_of(&self, hash: B256) -> Result<Arc<dyn StateView>, ReadError> {
        let block = self.block(hash)?;
        match self.version_of(&block)?.view() {
            Err(StateError::Pruned { .. }) => Err(self.pruned_state(&block)),
            view => Ok(view?),
        }
    }

    /// Returns the newest state: the head's, with pending interventions applied.
    ///
    /// # Errors
    /// [`ReadError::State`].
    pub fn latest_state(&self) -> Result<Arc<dyn StateView>, ReadError> {
        Ok(self.latest_version()?.view()?)
    }

    pub(super) fn latest_version(&self) -> Result<&Arc<Version>, ReadError> {
        match &self.pending.version {
            Some(version) => Ok(version),
            None => self.version_of(&self.head),
        }
    }

    pub(super) fn version_of<'a>(&self, block: &'a ExecutedBlock) -> Result<&'a Arc<Version>, ReadError> {
        block.version().ok_or_else(|| self.pruned_state(block))
    }

    fn pruned_state(&self, block: &ExecutedBlock) -> ReadError {
        let head = self.head.height();
        let oldest = if self.context.is_durable {
            Height::new(self.lowest_stored(Pruned::States, self.context.retention.states_kept()))
        } else {
            self.tree.oldest_state(head)
        };
        ReadError::Pruned { what: "state", height: block.height(), oldest }
    }
}

/// Transactions and receipts.
impl Chain {
    /// Finds a canonical transaction; `None` when it is in no canonical block or in a pruned one.
    ///
    /// # Errors
    /// [`ReadError::Store`].
    pub fn transaction(&self, hash: B256) -> Result<Option<TransactionLocation>, ReadError> {
        let place = match self.tree.transaction(&hash) {
            Some(place) => Some(place),
            None => self.context.stored_transaction(hash)?,
        };
        let Some((height, index)) = place else { return Ok(None) };
        let block = match self.block_at(height) {
            Ok(block) => block,
            // A reader's view may be older than the store.
            Err(ReadError::UnknownHeight { .. } | ReadError::Pruned { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let is_there = block.block().transaction(index).is_some_and(|transaction| transaction.hash() == hash);
        Ok(is_there.then_some(TransactionLocation { block, index }))
    }

    /// Returns the receipt of a canonical transaction; `None` when it is in no canonical block or in a pruned one.
    ///
    /// # Errors
    /// As [`Chain::transaction`].
    pub fn receipt(&self, hash: B256) -> Result<Option<Receipt>, ReadError> {
        Ok(self.transaction(hash)?.and_then(|location| location.receipt().cloned()))
    }
}

/// The next block.
impl Chain {
    /// Returns the base fee of a child of the head; `None` when the chain has none.
    pub fn next_base_fee(&self) -> Option<u64> {
        // Without the head's state, which is always there, the rules of genesis would hold.
        let rules =
            self.next_fee_rules().unwrap_or_else(|_| FeeRules::with(self.spec(), None, &ParameterUpdates::NONE));
        self.base_fee_by(&rules)
    }

    fn base_fee_by(&self, rules: &FeeRules) -> Option<u64> {
        expected_base_fee(&self.context.spec, rules, self.head.block().header(), self.pending.overrides)
    }

    /// Returns the parameters of the chain that a child of the head at this time, with this payload, would put in force.
    pub(super) fn next_parameters(&self, timestamp: Timestamp, payload: &Bytes) -> ParameterUpdates {
        taken_over(&self.context, &self.head, (timestamp, payload), self).unwrap_or_default()
    }

    fn next_fee_rules(&self) -> Result<FeeRules, ReadError> {
        self.context
            .fee_rules(&self.head, &self.next_parameters(self.head.timestamp().saturating_add_secs(1), &Bytes::new()))
    }

    /// Returns the parameters of the base fee in force after a block; `None` when the chain has none.
    ///
    /// # Errors
    /// [`ReadError::Pruned`] for a pruned state.
    pub fn base_fee_params(&self, block: &ExecutedBlock) -> Result<Option<BaseFeeParams>, ReadError> {
        Ok(self.context.fee_rules(block, &ParameterUpdates::NONE)?.base_fee)
    }

    /// Returns the gas limit of a child of the head whose builder leaves it as it is.
    fn gas_limit_by(&self, rules: &FeeRules) -> Gas {
        let stays = Gas::new(self.head.block().header().gas_limit);
        self.pending.overrides.gas_limit.or(rules.gas_limit).unwrap_or(stays)
    }

    /// Returns the [`Pool`](super::Pool)'s view of the head.
    ///
    /// # Errors
    /// [`ReadError::State`].
    pub fn pool_context(&self) -> Result<PoolContext, ReadError> {
        let (state, rules) = (self.latest_state()?, self.next_fee_rules()?);
        Ok(PoolContext {
            deployments: self.spec().deployments,
            permissions: self.spec().permissions.as_ref().map(|_| permission_lists(&*state)).transpose()?,
            state,
            gas_limit: self.gas_limit_by(&rules),
            base_fee: self.base_fee_by(&rules).unwrap_or(0),
            fork: self.context.spec.rules_at(self.head.height().next()),
            timestamp: self.head.block().timestamp(),
        })
    }
}

impl Ancestors for Chain {
    fn block(&self, hash: B256) -> Option<Arc<Block>> {
        Self::block(self, hash).ok().map(|executed| executed.block().clone())
    }

    fn updates(&self, hash: B256) -> ValidatorUpdates {
        self.updates_of(hash).validators
    }
}
