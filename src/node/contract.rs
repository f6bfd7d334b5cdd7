//! Contracts as typed handles.

use alloy_sol_types::{SolCall, SolEvent};

use super::{BlockRef, ContractError, MinedTransaction, Node};
use crate::{
    chain::CallRequest,
    primitives::{Address, U256},
};

/// A contract and the account that calls it. Functions, events and errors are the types of an interface: each ready-made template has one, as
/// `templates::erc20::interface`, and `sol!` makes those of other contracts.
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
    /// [`ContractError::NoCode`], [`ContractError::Reverted`], [`ContractError::Halted`], [`ContractError::Decode`].
    pub fn call<C: SolCall>(&self, call: C) -> Result<C::Return, ContractError> {
        self.call_at(call, BlockRef::Latest)
    }

    /// Calls a function without a transaction, on the state after a block.
    ///
    /// # Errors
    /// As [`Contract::call`]; [`ContractError::Query`] for an unknown block or a pruned state.
    pub fn call_at<C: SolCall>(&self, call: C, block: BlockRef) -> Result<C::Return, ContractError> {
        let request = self.request(&call, U256::ZERO);
        let code = self.node.view().code(self.address, block)?;
        if code.is_empty() {
            return Err(ContractError::NoCode { address: self.address });
        }
        let outcome = self.node.call(&request, block)?;
        let data = outcome.success_output().cloned().ok_or_else(|| self.node.contract_error(&request, outcome))?;
        C::abi_decode_returns(&data).map_err(|error| ContractError::Decode {
            signature: C::SIGNATURE,
            data,
            reason: error.to_string(),
        })
    }

    /// Calls a function by a transaction, which is mined at once.
    ///
    /// # Errors
    /// [`ContractError::NoCode`] when nothing is deployed there, [`ContractError::Reverted`] when it would revert (nothing is sent
    /// then) or did;
    /// [`ContractError::NotMined`] with manual or interval mining.
    pub fn send<C: SolCall>(&self, call: C) -> Result<MinedTransaction, ContractError> {
        self.send_value(call, U256::ZERO)
    }

    /// As [`Contract::send`], with `value` of the native token, in its smallest unit.
    ///
    /// # Errors
    /// As [`Contract::send`].
    pub fn send_value<C: SolCall>(&self, call: C, value: U256) -> Result<MinedTransaction, ContractError> {
        if !self.has_code()? {
            return Err(ContractError::NoCode { address: self.address });
        }
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

    /// Whether it is deployed, or will be by a transaction that waits in the pool.
    fn has_code(&self) -> Result<bool, ContractError> {
        let view = self.node.view();
        let has_code = |block| view.code(self.address, block).map(|code| !code.is_empty());
        Ok(has_code(BlockRef::Latest)? || (view.pool().has_ready() && has_code(BlockRef::Pending)?))
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
