//! Why a contract's function has no result, in words.

use alloy_sol_types::SolError;

use super::{BlockRef, Node, NodeView, QueryError, SendError};
use crate::{
    chain::{CallOutcome, CallRequest},
    primitives::{Address, B256, Bytes},
    templates,
};

/// Why a contract's function has no result, or a transaction did not succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContractError {
    /// The contract reverted.
    #[error("execution reverted{}", revert_text(data, reason.as_deref()))]
    Reverted {
        /// Revert data: an ABI-encoded error, or empty.
        data: Bytes,
        /// The error in words, such as `ERC20InsufficientBalance(0x..., 1, 2)`, where a template of the chain declares it; without data
        /// what is wrong with the call, such as an unknown selector.
        reason: Option<String>,
    },
    /// Execution halted for another reason than a revert.
    #[error("{reason}")]
    Halted {
        /// The reason, such as out of gas.
        reason: String,
    },
    /// The address has no code.
    #[error("no code at {address}: nothing was deployed there")]
    NoCode {
        /// The address.
        address: Address,
    },
    /// The return data does not match the function's signature.
    #[error("{signature} returned {data}, which does not decode: {reason}")]
    Decode {
        /// Signature of the function.
        signature: &'static str,
        /// Return data.
        data: Bytes,
        /// Reason of the decoder.
        reason: String,
    },
    /// The transaction waits in the pool: the mining mode is not [`Mining::EachTransaction`](super::Mining::EachTransaction), or the
    /// node's replica got no block with it in time.
    #[error(
        "transaction {hash} was sent and is not mined yet; mine a block (or let the network run), then get it by Node::receipt"
    )]
    NotMined {
        /// Hash of the transaction.
        hash: B256,
    },
    /// The transaction was not sent.
    #[error(transparent)]
    Send(SendError),
    /// The state could not be read.
    #[error(transparent)]
    Query(#[from] QueryError),
}

impl ContractError {
    /// Decodes the custom error that the contract reverted with; `None` when it is no `E`.
    pub fn decode<E: SolError>(&self) -> Option<E> {
        match self {
            Self::Reverted { data, .. } => E::abi_decode(data).ok(),
            _ => None,
        }
    }
}

/// Reverts are told in words by the ABIs of the ready-made templates; [`Node`]'s own methods know all of the chain's.
impl From<SendError> for ContractError {
    fn from(error: SendError) -> Self {
        match error {
            SendError::WouldFail { outcome } => match outcome.revert_data() {
                Some(data) => Self::Reverted { data: data.clone(), reason: templates::builtin().describe_error(data) },
                None => Self::Halted { reason: outcome.describe() },
            },
            other => Self::Send(other),
        }
    }
}

impl Node {
    /// The error of a request that failed with this outcome, in words.
    pub(super) fn contract_error(&self, request: &CallRequest, outcome: CallOutcome) -> ContractError {
        match outcome.revert_data() {
            Some(data) => self.reverted(request, data.clone()),
            None => ContractError::Halted { reason: outcome.describe() },
        }
    }

    /// The error of a request that reverted with this data, in words.
    pub(super) fn reverted(&self, request: &CallRequest, data: Bytes) -> ContractError {
        let reason = match data.is_empty() {
            true => self.call_problem(&self.view(), request),
            false => self.templates().describe_error(&data),
        };
        ContractError::Reverted { data, reason }
    }

    /// What is wrong with a request by the ABI of the template that it calls or creates.
    fn call_problem(&self, view: &NodeView, request: &CallRequest) -> Option<String> {
        let Some(to) = request.to else { return self.templates().describe_creation_problem(&request.input) };
        let code = view.code(to, BlockRef::Latest).ok()?;
        self.templates().describe_call_problem(&code, &request.input)
    }
}

fn revert_text(data: &Bytes, reason: Option<&str>) -> String {
    match (reason, data.is_empty()) {
        (Some(reason), false) => format!(": {reason}"),
        (Some(reason), true) => format!(" without data: {reason}"),
        (None, true) => " without data".to_owned(),
        (None, false) => format!(": {data}, which no template of the chain declares as an error"),
    }
}
