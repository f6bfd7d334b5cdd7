//! What became of a transaction that the service sent.

use alloy_primitives::B256;

use super::{Blockchain, PlatformError};
use crate::{
    node::Located,
    primitives::{Gas, Height},
};

/// State of a transaction, as its chain has it: `pending` leads to `success` or `failed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionState {
    /// It waits for a block.
    Pending,
    /// A block has it, and it had its effect.
    Success,
    /// A block has it, and it had none.
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
    /// Height of the block that has it; `None` before.
    pub height: Option<Height>,
    /// Gas that it used; `None` before.
    pub gas_used: Option<Gas>,
}

impl TransactionOutcome {
    /// That of what needs no transaction.
    pub const NOTHING_LEFT: Self = Self { state: TransactionState::Success, height: None, gas_used: None };

    /// Looks for a transaction.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the chain can't be read.
    pub fn of(chain: &Blockchain, hash: B256) -> Result<Self, PlatformError> {
        let found = chain.node().view().transaction(hash).map_err(PlatformError::from_query)?;
        let Some(Located::Mined { block, index }) = found else {
            return Ok(Self { state: TransactionState::Pending, height: None, gas_used: None });
        };
        let receipt = block.receipts().get(index as usize);
        let is_success = receipt.is_some_and(|receipt| receipt.is_success());
        Ok(Self {
            state: if is_success { TransactionState::Success } else { TransactionState::Failed },
            height: Some(block.height()),
            gas_used: receipt.map(|receipt| receipt.gas_used),
        })
    }
}
