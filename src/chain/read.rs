//! Reading a chain: blocks, states, transactions, logs.

use std::sync::Arc;

use alloy_primitives::B256;

use super::{
    Chain,
    block::{Block, TransactionIndex},
    error::ChainError,
    executed_block::ExecutedBlock,
    header::expected_base_fee,
    pool::PoolContext,
    rules::Ancestors,
    version::Version,
};
use crate::{
    primitives::{Gas, Height},
    state::{StateError, StateView},
    system::ValidatorUpdates,
};

/// Where a canonical transaction is.
#[derive(Clone, Debug)]
pub struct TransactionLocation {
    /// Its block.
    pub block: ExecutedBlock,
    /// Its place in it.
    pub index: TransactionIndex,
}

/// Heads.
impl Chain {
    /// The newest canonical block.
    pub const fn head(&self) -> &ExecutedBlock {
        &self.head
    }

    /// The newest block that the protocol calls safe; genesis at first.
    pub const fn safe(&self) -> &ExecutedBlock {
        &self.safe
    }

    /// The newest block that never reverts; genesis at first.
    pub const fn finalized(&self) -> &ExecutedBlock {
        &self.finalized
    }
}

/// Blocks and states.
impl Chain {
    /// Whether the block is in the tree, canonical or not.
    pub fn contains(&self, hash: B256) -> bool {
        self.tree.get(&hash).is_some() || self.shared.has_stored(hash)
    }

    /// What executing a block of the tree changed in the set of validators; nothing for an unknown one.
    pub fn updates_of(&self, hash: B256) -> ValidatorUpdates {
        self.block(hash).map(|block| block.updates().clone()).unwrap_or_default()
    }

    /// A block of the tree, canonical or not.
    ///
    /// # Errors
    /// [`ChainError::UnknownBlock`], [`ChainError::Store`].
    pub fn block(&self, hash: B256) -> Result<ExecutedBlock, ChainError> {
        if hash == self.head.hash() {
            return Ok(self.head.clone());
        }
        match self.tree.get(&hash) {
            Some(block) => Ok(block.clone()),
            None => self.shared.load(hash)?.ok_or(ChainError::UnknownBlock { hash }),
        }
    }

    /// The same for a block that should be at `height`, which is found at once then.
    pub(super) fn block_near(&self, height: Height, hash: B256) -> Result<ExecutedBlock, ChainError> {
        if hash == self.head.hash() {
            return Ok(self.head.clone());
        }
        self.tree.get_at(height, hash).map_or_else(|| self.block(hash), |block| Ok(block.clone()))
    }

    /// Whether the block, whose height this is, is in the tree.
    pub(super) fn contains_at(&self, height: Height, hash: B256) -> bool {
        self.tree.get_at(height, hash).is_some() || self.shared.has_stored(hash)
    }

    /// The canonical block at a height.
    ///
    /// # Errors
    /// [`ChainError::UnknownHeight`], [`ChainError::Pruned`], [`ChainError::Store`].
    pub fn block_at(&self, height: Height) -> Result<ExecutedBlock, ChainError> {
        self.block(self.hash_at(height)?)
    }

    /// Hash of the canonical block at a height.
    ///
    /// # Errors
    /// As [`Chain::block_at`].
    pub fn hash_at(&self, height: Height) -> Result<B256, ChainError> {
        let head = self.head.height();
        if height > head {
            return Err(ChainError::UnknownHeight { height, head });
        }
        let known = match self.tree.canonical(height) {
            Some(hash) => Some(hash),
            None => self.shared.stored_canonical(height)?,
        };
        known.ok_or_else(|| ChainError::Pruned { what: "block", height, oldest: self.oldest_block() })
    }

    /// The lowest height above genesis whose block can be read; the head's when there is none.
    pub fn oldest_block(&self) -> Height {
        let head = self.head.height();
        match self.shared.retention.blocks {
            _ if !self.shared.is_durable => self.tree.oldest(head),
            None => Height::new(head.get().min(1)),
            Some(kept) => Height::new(head.get().saturating_sub(kept).min(self.irreversible.get()).max(1)),
        }
    }

    /// Whether the block is on the way from genesis to the head.
    pub fn is_canonical(&self, hash: B256) -> bool {
        self.block(hash).is_ok_and(|block| self.is_canonical_block(&block))
    }

    pub(super) fn is_canonical_block(&self, block: &ExecutedBlock) -> bool {
        block.hash() == self.head.hash()
            || self.hash_at(block.height()).is_ok_and(|canonical| canonical == block.hash())
    }

    /// The state after a block.
    ///
    /// # Errors
    /// [`ChainError::UnknownBlock`], [`ChainError::Pruned`], [`ChainError::State`].
    pub fn state_of(&self, hash: B256) -> Result<Arc<dyn StateView>, ChainError> {
        let block = self.block(hash)?;
        match self.version_of(&block)?.view() {
            Err(StateError::Pruned { .. }) => Err(self.pruned_state(&block)),
            view => Ok(view?),
        }
    }

    /// The newest state: the head's, with interventions that no block records yet.
    ///
    /// # Errors
    /// [`ChainError::State`].
    pub fn latest_state(&self) -> Result<Arc<dyn StateView>, ChainError> {
        match &self.hand.version {
            Some(version) => Ok(version.view()?),
            None => Ok(self.version_of(&self.head)?.view()?),
        }
    }

    pub(super) fn version_of<'a>(&self, block: &'a ExecutedBlock) -> Result<&'a Arc<Version>, ChainError> {
        block.version().ok_or_else(|| self.pruned_state(block))
    }

    fn pruned_state(&self, block: &ExecutedBlock) -> ChainError {
        let head = self.head.height();
        let by_policy = self.shared.retention.states.map(|kept| head.get().saturating_sub(kept));
        let oldest = match by_policy {
            Some(height) if self.shared.is_durable => Height::new(height),
            _ => self.tree.oldest_state(head),
        };
        ChainError::Pruned { what: "state", height: block.height(), oldest }
    }
}

/// Transactions and logs.
impl Chain {
    /// Where a canonical transaction is; `None` when it is in no canonical block (or in a pruned one).
    ///
    /// # Errors
    /// [`ChainError::Store`].
    pub fn transaction(&self, hash: B256) -> Result<Option<TransactionLocation>, ChainError> {
        let place = match self.tree.transaction(&hash) {
            Some(place) => Some(place),
            None => self.shared.stored_transaction(hash)?,
        };
        let Some((height, index)) = place else { return Ok(None) };
        let block = match self.block_at(height) {
            Ok(block) => block,
            // A reader's view may be older than the store.
            Err(ChainError::UnknownHeight { .. } | ChainError::Pruned { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let is_there = block.block().transaction(index).is_some_and(|transaction| transaction.hash() == hash);
        Ok(is_there.then_some(TransactionLocation { block, index }))
    }
}

/// The next block.
impl Chain {
    /// Base fee of a child of the head; `None` when the chain has none.
    pub fn next_base_fee(&self) -> Option<u64> {
        expected_base_fee(&self.shared.spec, self.head.block().header(), self.hand.header)
    }

    /// What a [`Pool`](crate::chain::Pool) needs to know of the head.
    ///
    /// # Errors
    /// [`ChainError::State`].
    pub fn pool_context(&self) -> Result<PoolContext, ChainError> {
        Ok(PoolContext {
            state: self.latest_state()?,
            gas_limit: Gas::new(self.hand.header.gas_limit.unwrap_or(self.head.block().header().gas_limit)),
            base_fee: self.next_base_fee().unwrap_or(0),
            is_london: self.shared.spec.forks.is_london(self.head.height().next().get()),
        })
    }
}

impl Ancestors for Chain {
    fn block(&self, hash: B256) -> Option<Arc<Block>> {
        Self::block(self, hash).ok().map(|executed| executed.block().clone())
    }

    fn updates(&self, hash: B256) -> ValidatorUpdates {
        self.updates_of(hash)
    }
}
