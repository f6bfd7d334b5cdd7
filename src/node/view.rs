//! One immutable picture of the node, for readers that must not wait for the writer.

use std::sync::Arc;

use super::QueryError;
use crate::{
    chain::{Chain, ExecutedBlock, LocatedLog, LogFilter, Pool, PoolContext, PooledTransaction, TransactionIndex},
    primitives::{Address, B256, Bytes, Height, Transaction, U256},
    state::{Account, AccountProof, StateView},
};

/// Which block a question is about (execution APIs, "block tags").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BlockRef {
    /// The head, with what was set by hand since.
    #[default]
    Latest,
    /// The head and, for nonces, the pool's ready transactions.
    Pending,
    /// Genesis.
    Earliest,
    /// The newest block that the protocol calls safe.
    Safe,
    /// The newest block that the protocol calls final.
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

/// Where a transaction is.
#[derive(Clone, Debug)]
pub enum Located {
    /// In a canonical block.
    Mined {
        /// The block.
        block: ExecutedBlock,
        /// Its place in it.
        index: TransactionIndex,
    },
    /// In the pool.
    Pooled(Arc<Transaction>),
}

/// The chain and the pool at one moment. Reading it never blocks anybody, and it never changes.
#[derive(Debug)]
pub struct NodeView {
    chain: Chain,
    pool: Pool,
    context: PoolContext,
}

impl NodeView {
    pub(super) const fn new(chain: Chain, pool: Pool, context: PoolContext) -> Self {
        Self { chain, pool, context }
    }

    /// The chain underneath.
    pub const fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The pool underneath.
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

    /// The block that `id` names; `Pending` names the head.
    ///
    /// # Errors
    /// [`QueryError::UnknownHeight`], [`QueryError::UnknownBlock`], [`QueryError::Pruned`].
    pub fn block(&self, id: BlockRef) -> Result<ExecutedBlock, QueryError> {
        Ok(match id {
            BlockRef::Latest | BlockRef::Pending => self.chain.head().clone(),
            BlockRef::Earliest => self.chain.genesis().clone(),
            BlockRef::Safe => self.chain.safe().clone(),
            BlockRef::Finalized => self.chain.finalized().clone(),
            BlockRef::Number(height) => self.chain.block_at(height)?,
            BlockRef::Hash(hash) => self.chain.block(hash)?,
        })
    }

    /// The state after the block that `id` names; for the head with what was set by hand since.
    ///
    /// # Errors
    /// As [`NodeView::block`]; a state may be pruned while its block is kept.
    pub fn state(&self, id: BlockRef) -> Result<Arc<dyn StateView>, QueryError> {
        match id {
            BlockRef::Latest | BlockRef::Pending => Ok(Arc::clone(&self.context.state)),
            other => {
                let hash = self.block(other)?.hash();
                if hash == self.chain.head().hash() {
                    return Ok(Arc::clone(&self.context.state));
                }
                Ok(self.chain.state_of(hash)?)
            }
        }
    }

    /// The account at `address`; an absent one is empty.
    ///
    /// # Errors
    /// As [`NodeView::state`].
    pub fn account(&self, address: Address, id: BlockRef) -> Result<Account, QueryError> {
        Ok(self.state(id)?.account(&address)?.unwrap_or_default())
    }

    /// Native token held, in the smallest unit.
    ///
    /// # Errors
    /// As [`NodeView::state`].
    pub fn balance(&self, address: Address, id: BlockRef) -> Result<U256, QueryError> {
        self.account(address, id).map(|account| account.balance)
    }

    /// Transactions sent; with [`BlockRef::Pending`] the pool's ready ones count too.
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

    /// The code at an address.
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

    /// Proof of an account and of `slots` under the state root (EIP-1186).
    ///
    /// # Errors
    /// As [`NodeView::state`].
    pub fn proof(&self, address: Address, slots: &[B256], id: BlockRef) -> Result<AccountProof, QueryError> {
        Ok(self.state(id)?.proof(&address, slots)?)
    }

    /// Where a transaction is, if it is anywhere.
    ///
    /// # Errors
    /// [`QueryError::Chain`] when the store fails.
    pub fn transaction(&self, hash: B256) -> Result<Option<Located>, QueryError> {
        if let Some(found) = self.chain.transaction(hash)? {
            return Ok(Some(Located::Mined { block: found.block, index: found.index }));
        }
        Ok(self.pool.get(&hash).map(Located::Pooled))
    }

    /// Canonical logs that match `filter`, in order, at most `max`.
    ///
    /// # Errors
    /// [`QueryError::Chain`] past `max`, [`QueryError::Pruned`] for a range that is no longer kept.
    pub fn logs(&self, filter: &LogFilter, max: usize) -> Result<Vec<LocatedLog>, QueryError> {
        Ok(self.chain.logs(filter, max)?)
    }

    /// What waits in the pool, with why it waits.
    pub fn pooled(&self) -> Vec<PooledTransaction> {
        self.pool.content(&self.context)
    }

    /// What the pool looks at when it takes a transaction: the newest state and the next block's bounds.
    pub const fn pool_context(&self) -> &PoolContext {
        &self.context
    }

    /// Base fee of the next block; 0 when the chain has none.
    pub const fn next_base_fee(&self) -> u64 {
        self.context.base_fee
    }
}
