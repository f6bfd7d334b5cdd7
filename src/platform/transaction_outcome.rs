//! What became of a transaction that the service sent.

use alloy_primitives::B256;

use super::{Blockchain, PlatformError, sent::SentRecord};
use crate::{
    node::{BlockRef, Located, QueryError},
    primitives::{Gas, Height, Transaction},
};

/// State of a transaction, as its chain has it: `pending` leads to `success` or `failed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionState {
    /// It waits for a block.
    Pending,
    /// A block has it, and it had its effect.
    Success,
    /// A block has it, and it had none; or a final block has another transaction of its sender with its nonce.
    Failed,
}

impl TransactionState {
    /// Name of the state of what the transaction deploys.
    pub const fn of_deployment(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Success => "deployed",
            Self::Failed => "failed",
        }
    }
}

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionOutcome {
    /// Its state.
    pub state: TransactionState,
    /// Height of the block that has it; `None` where none has it.
    pub height: Option<Height>,
    /// Gas that it used; `None` where no block has it.
    pub gas_used: Option<Gas>,
}

impl TransactionOutcome {
    /// That of what needs no transaction.
    pub const NOTHING_LEFT: Self = Self::without_block(TransactionState::Success);

    /// Looks for a transaction.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the chain can't be read.
    pub fn of(chain: &Blockchain, hash: B256) -> Result<Self, PlatformError> {
        let found = chain.node().view().transaction(hash).map_err(PlatformError::from_query)?;
        Ok(found.map_or(Self::without_block(TransactionState::Pending), Self::located))
    }

    /// Looks for the transaction of a record. It has failed, too, where a final block has another transaction of its sender with its nonce,
    /// as far as the chain can tell: one that has forgotten blocks may have forgotten its block.
    pub(super) fn of_sent<T: SentRecord>(chain: &Blockchain, sent: &T) -> Result<Self, PlatformError> {
        let (hash, raw) = sent.transaction();
        let view = chain.node().view();
        if let Some(found) = view.transaction(hash).map_err(PlatformError::from_query)? {
            return Ok(Self::located(found));
        }
        let pending = Self::without_block(TransactionState::Pending);
        let has_every_block = view.chain().oldest_block() <= Height::new(1);
        let Some(sent) = raw.filter(|_| has_every_block).and_then(|raw| Transaction::decode(raw).ok()) else {
            return Ok(pending);
        };
        let next = match view.nonce(sent.sender(), BlockRef::Finalized) {
            Err(QueryError::Pruned { .. }) => return Ok(pending),
            next => next.map_err(PlatformError::from_query)?,
        };
        Ok(if sent.nonce() < next { Self::without_block(TransactionState::Failed) } else { pending })
    }

    fn located(found: Located) -> Self {
        let Located::Mined { block, index } = found else { return Self::without_block(TransactionState::Pending) };
        let receipt = block.receipts().get(index as usize);
        let is_success = receipt.is_some_and(|receipt| receipt.is_success());
        Self {
            state: if is_success { TransactionState::Success } else { TransactionState::Failed },
            height: Some(block.height()),
            gas_used: receipt.map(|receipt| receipt.gas_used),
        }
    }

    const fn without_block(state: TransactionState) -> Self {
        Self { state, height: None, gas_used: None }
    }
}
