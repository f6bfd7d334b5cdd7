//! A new contract, with the transaction that created it.

use core::ops::Deref;

use super::{Contract, MinedTransaction};

/// A new contract, with the transaction that created it: its gas, hash and events. It is used as the [`Contract`] itself.
///
/// ```
/// use chainbox::{prelude::*, templates::{Erc20Params, erc20::interface::{Erc20Token, Transfer}}};
/// let node = Node::new();
/// let alice = node.accounts()[0];
/// let gold = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(9), alice).init_code())?;
/// assert_eq!(gold.call(Erc20Token::totalSupplyCall {})?, U256::from(9));
/// assert_eq!(gold.mined().events::<Transfer>().len(), 1);
/// assert_eq!(gold.mined().receipt().contract_address, Some(gold.address()));
/// # Ok::<(), chainbox::node::ContractError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Deployed {
    contract: Contract,
    mined: MinedTransaction,
}

impl Deployed {
    pub(super) const fn new(contract: Contract, mined: MinedTransaction) -> Self {
        Self { contract, mined }
    }

    /// The contract, called by its deployer.
    pub const fn contract(&self) -> &Contract {
        &self.contract
    }

    /// The transaction that created it.
    pub const fn mined(&self) -> &MinedTransaction {
        &self.mined
    }

    /// Returns the contract alone, which keeps no block in memory.
    pub fn into_contract(self) -> Contract {
        self.contract
    }
}

impl Deref for Deployed {
    type Target = Contract;

    fn deref(&self) -> &Contract {
        &self.contract
    }
}

impl From<Deployed> for Contract {
    fn from(deployed: Deployed) -> Self {
        deployed.contract
    }
}
