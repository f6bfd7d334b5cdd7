//! Contracts as typed handles.

use alloy_sol_types::{SolCall, SolError, SolEvent};

use super::{BlockRef, MinedTransaction, Node, QueryError, SendError};
use crate::{
    chain::{CallOutcome, CallRequest},
    primitives::{Address, B256, Bytes, U256},
    vm::abi,
};

/// Why a contract's function has no result, or a transaction did not succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContractError {
    /// The contract reverted.
    #[error("execution reverted: {}", abi::reason(data).unwrap_or_else(|| data.to_string()))]
    Reverted {
        /// Revert data: an ABI-encoded error, or empty.
        data: Bytes,
    },
    /// Execution halted for another reason than a revert.
    #[error("{reason}")]
    Halted {
        /// The reason, such as out of gas.
        reason: String,
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
    /// The transaction waits in the pool: the mining mode is not [`Mining::EachTransaction`](super::Mining::EachTransaction).
    #[error("transaction {hash} was sent and is not mined yet; mine a block, then get it by Node::receipt")]
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
            Self::Reverted { data } => E::abi_decode(data).ok(),
            _ => None,
        }
    }

    fn from_outcome(outcome: CallOutcome) -> Self {
        match outcome.revert_data() {
            Some(data) => Self::Reverted { data: data.clone() },
            None => Self::Halted { reason: outcome.describe() },
        }
    }
}

impl From<SendError> for ContractError {
    fn from(error: SendError) -> Self {
        match error {
            SendError::WouldFail { outcome } => Self::from_outcome(*outcome),
            other => Self::Send(other),
        }
    }
}

/// A contract and the account that calls it.
///
/// ```
/// use chainbox::{node::Node, primitives::U256, templates::{Erc20Params, erc20::interface::Erc20Token}};
/// let node = Node::new();
/// let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
/// let token = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(1_000), alice).init_code())?;
/// token.send(Erc20Token::transferCall { to: bob, value: U256::from(10) })?;
/// assert_eq!(token.call(Erc20Token::balanceOfCall { account: bob })?, U256::from(10));
/// # Ok::<(), chainbox::node::ContractError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Contract {
    node: Node,
    address: Address,
    sender: Address,
}

impl Contract {
    pub(super) const fn new(node: Node, address: Address, sender: Address) -> Self {
        Self { node, address, sender }
    }

    /// The contract's address.
    pub const fn address(&self) -> Address {
        self.address
    }

    /// The same contract, called by `sender`.
    #[must_use]
    pub fn from(&self, sender: Address) -> Self {
        Self { sender, ..self.clone() }
    }

    /// Calls a function without a transaction, at the head.
    ///
    /// # Errors
    /// [`ContractError::Reverted`], [`ContractError::Halted`], [`ContractError::Decode`].
    pub fn call<C: SolCall>(&self, call: C) -> Result<C::Return, ContractError> {
        self.call_at(call, BlockRef::Latest)
    }

    /// Calls a function without a transaction, on the state after a block.
    ///
    /// # Errors
    /// As [`Contract::call`]; [`ContractError::Query`] for an unknown block or a pruned state.
    pub fn call_at<C: SolCall>(&self, call: C, block: BlockRef) -> Result<C::Return, ContractError> {
        let request = self.request(&call, U256::ZERO);
        let outcome = self.node.call(&request, block)?;
        let data = outcome.success_output().cloned().ok_or_else(|| ContractError::from_outcome(outcome))?;
        C::abi_decode_returns(&data).map_err(|error| ContractError::Decode {
            signature: C::SIGNATURE,
            data,
            reason: error.to_string(),
        })
    }

    /// Calls a function by a transaction, which is mined at once.
    ///
    /// # Errors
    /// [`ContractError::Reverted`] when it would revert (nothing is sent then) or did;
    /// [`ContractError::NotMined`] with manual or interval mining.
    pub fn send<C: SolCall>(&self, call: C) -> Result<MinedTransaction, ContractError> {
        self.send_value(call, U256::ZERO)
    }

    /// As [`Contract::send`], with `value` of the native token, in its smallest unit.
    ///
    /// # Errors
    /// As [`Contract::send`].
    pub fn send_value<C: SolCall>(&self, call: C, value: U256) -> Result<MinedTransaction, ContractError> {
        self.node.send_and_mine(self.request(&call, value))
    }

    /// All events of kind `E` that it emitted, oldest first.
    ///
    /// # Errors
    /// [`ContractError::Query`] when early blocks are pruned.
    pub fn events<E: SolEvent>(&self) -> Result<Vec<E>, ContractError> {
        let view = self.node.view();
        let filter = crate::chain::LogFilter {
            to: view.head().height(),
            addresses: vec![self.address],
            topics: vec![vec![E::SIGNATURE_HASH]],
            ..Default::default()
        };
        let found = view.logs(&filter, usize::MAX)?;
        Ok(found.iter().filter_map(|located| E::decode_log(&located.log).ok()).map(|log| log.data).collect())
    }

    fn request<C: SolCall>(&self, call: &C, value: U256) -> CallRequest {
        CallRequest {
            from: Some(self.sender),
            to: Some(self.address),
            input: call.abi_encode().into(),
            value,
            ..Default::default()
        }
    }
}
