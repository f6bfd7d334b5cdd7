//! What several resources answer.

use serde::Serialize;
use utoipa::ToSchema;

pub(super) use crate::platform::beside_signed;
use crate::{
    platform::{Blockchain, Scope, TransactionOutcome, TransactionState},
    primitives::{B256, Height},
    server::{
        api_error::ApiError,
        rest::{
            endpoint::{Access, Draft, Endpoint, Tag},
            error_code::ErrorCode,
        },
    },
};

/// An endpoint that reads the blocks of a blockchain, or what is in them: the chain may be stopped, and may have forgotten them.
pub(super) fn chain_data(path: &'static str, operation: &'static str, summary: &'static str) -> Draft {
    Endpoint::get(path, operation, Tag::ChainData, Access::Scope(Scope::BlockchainRead), summary)
        .fails_with(&[ErrorCode::Conflict, ErrorCode::Pruned])
}

/// What was deleted.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Deleted {
    /// Id of what was deleted.
    id: String,
    /// Always true.
    deleted: bool,
}

impl Deleted {
    /// Names what was deleted.
    pub(super) fn of(id: &str) -> Self {
        Self { id: id.to_owned(), deleted: true }
    }
}

/// State of a deployment: `pending` leads to `deployed` or `failed`; `unavailable` while the chain is not in memory, and to those who may
/// not read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum DeploymentStatus {
    Pending,
    Deployed,
    Failed,
    Unavailable,
}

impl DeploymentStatus {
    /// The state of what a transaction deploys; `None` of one that can't be seen.
    pub(super) fn of(outcome: Option<&TransactionOutcome>) -> Self {
        outcome.map_or(Self::Unavailable, |outcome| outcome.state.into())
    }
}

impl From<TransactionState> for DeploymentStatus {
    fn from(state: TransactionState) -> Self {
        match state {
            TransactionState::Pending => Self::Pending,
            TransactionState::Success => Self::Deployed,
            TransactionState::Failed => Self::Failed,
        }
    }
}

/// State of a transaction: `pending` leads to `success` or `failed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum SentStatus {
    Pending,
    Success,
    Failed,
}

/// A transaction that was sent.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SentTransaction {
    /// Id of the chain.
    blockchain_id: String,
    /// Hash of the transaction.
    transaction_hash: String,
    /// State of the transaction.
    status: SentStatus,
    /// Height of the block with the transaction; null while it is pending.
    block_number: Option<u64>,
}

impl SentTransaction {
    /// Looks for a transaction.
    pub(super) fn of(chain: &Blockchain, hash: B256) -> Result<Self, ApiError> {
        let TransactionOutcome { state, height, .. } = TransactionOutcome::of(chain, hash)?;
        let status = match state {
            TransactionState::Pending => SentStatus::Pending,
            TransactionState::Success => SentStatus::Success,
            TransactionState::Failed => SentStatus::Failed,
        };
        let block_number = height.map(Height::get);
        Ok(Self { blockchain_id: chain.id().to_owned(), transaction_hash: hash.to_string(), status, block_number })
    }
}
