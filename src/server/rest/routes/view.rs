//! What several resources answer.

use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    node::Located as Found,
    platform::{Blockchain, DeploymentRecord, FieldError, PlatformError, Scope},
    primitives::B256,
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

/// State of a deployment: `pending` leads to `deployed` or `failed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum DeploymentStatus {
    Pending,
    Deployed,
    Failed,
}

/// What became of a deployment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deployed {
    pub(super) status: DeploymentStatus,
    pub(super) block_number: Option<u64>,
    pub(super) gas_used: Option<u64>,
}

impl Deployed {
    /// Looks for the transaction of a deployment.
    pub(super) fn of(chain: &Blockchain, deployment: &DeploymentRecord) -> Result<Self, ApiError> {
        Ok(Self::by(chain, deployment.transaction_hash)?)
    }

    /// That of what needs no transaction.
    pub(super) const NOTHING_LEFT: Self =
        Self { status: DeploymentStatus::Deployed, block_number: None, gas_used: None };

    /// Looks for a deploying transaction.
    pub(super) fn by(chain: &Blockchain, hash: B256) -> Result<Self, PlatformError> {
        let found = chain.node().view().transaction(hash).map_err(PlatformError::from_query)?;
        let Some(Found::Mined { block, index }) = found else {
            return Ok(Self { status: DeploymentStatus::Pending, block_number: None, gas_used: None });
        };
        let receipt = block.receipts().get(index as usize);
        let is_success = receipt.is_some_and(|receipt| receipt.is_success());
        Ok(Self {
            status: if is_success { DeploymentStatus::Deployed } else { DeploymentStatus::Failed },
            block_number: Some(block.height().get()),
            gas_used: receipt.map(|receipt| receipt.gas_used.get()),
        })
    }
}

/// Refuses the fields that a signed transaction says itself: their names, and whether they are there.
pub(super) fn beside_signed(fields: &[(&str, bool)]) -> Vec<FieldError> {
    let refused = |path: &str| FieldError {
        path: path.to_owned(),
        expected: "no value beside a signedTransaction, which says it all".to_owned(),
        got: "a value".to_owned(),
    };
    fields.iter().filter(|(_, is_there)| *is_there).map(|(path, _)| refused(path)).collect()
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
        let (status, block_number) = match chain.node().view().transaction(hash).map_err(PlatformError::from_query)? {
            Some(Found::Mined { block, index }) => {
                let is_success = block.receipts().get(index as usize).is_some_and(|receipt| receipt.is_success());
                let status = if is_success { SentStatus::Success } else { SentStatus::Failed };
                (status, Some(block.height().get()))
            }
            _ => (SentStatus::Pending, None),
        };
        Ok(Self { blockchain_id: chain.id().to_owned(), transaction_hash: hash.to_string(), status, block_number })
    }
}
