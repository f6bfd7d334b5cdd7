//! `multisig`: a wallet of several owners, equivalent to Gnosis' MultiSigWallet.
//!
//! An owner submits a transaction: a destination, ether and call data. Once as many owners as the wallet requires confirm it, the wallet
//! executes it, with the confirmation that makes them enough; submission is the first one. A transaction that fails stays and may be executed
//! again. Confirmations count while their owner is one, and may be revoked until the execution.
//!
//! The wallet alone changes its owners and how many it requires: by transactions to itself.
//!
//! Whatever is no call of a function is a deposit, as in Solidity 0.4, in which the original is written: also unknown functions, and
//! call data that is too short for an argument is read as if zeros followed. Refusals have no reasons, as there. It answers ERC-165, which the
//! original takes for a deposit of nothing.
//!
//! The storage layout is solc's for that contract, and there is nothing else in storage:
//!
//! | slot | what |
//! |---|---|
//! | 0 | `mapping(uint256 => Transaction)` transactions: destination, value, data, whether it was executed, a slot each |
//! | 1 | `mapping(uint256 => mapping(address => bool))` confirmations |
//! | 2 | `mapping(address => bool)` whether an account is an owner |
//! | 3 | `address[]` owners |
//! | 4 | number of confirmations that a transaction needs |
//! | 5 | number of transactions |

mod call_data;
mod execution;
pub mod interface;
mod listing;
mod owners;
mod state;
#[cfg(test)]
mod tests;

use alloy_json_abi::JsonAbi;

use self::{
    interface::Multisig::{self as sol, MultisigCalls as Calls},
    state::WALLET,
};
use super::common::erc165::supports;
use crate::vm::{Marker, ParameterNote, Template, TemplateId, abi, contract::*};

pub use owners::MAX_OWNER_COUNT;

/// Constructor parameters of the template.
///
/// Encoded as Solidity's `(address[] owners, uint32 threshold)`, which for every valid threshold is the encoding of MultiSigWallet's.
///
/// ```
/// use chainbox::{primitives::Address, templates::MultisigParams};
/// let params = MultisigParams::new([1, 2, 3].map(Address::repeat_byte).to_vec(), 2);
/// assert_eq!(params.init_code()[..6], [0xef, 0xcb, 0, 20, 0, 1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MultisigParams {
    /// Accounts that submit and confirm transactions, at most [`MAX_OWNER_COUNT`], none twice.
    pub owners: Vec<Address>,
    /// Number of confirmations that a transaction needs, at least 1 and at most the number of owners.
    pub threshold: u32,
}

impl MultisigParams {
    /// Creates parameters.
    pub const fn new(owners: Vec<Address>, threshold: u32) -> Self {
        Self { owners, threshold }
    }

    /// Returns the ABI encoding of the parameters.
    pub fn encode(&self) -> Vec<u8> {
        sol::constructorCall { owners: self.owners.clone(), threshold: self.threshold }.abi_encode()
    }

    /// Returns the input of a creation transaction: the template's marker and the encoded parameters.
    pub fn init_code(&self) -> Bytes {
        Marker(Multisig::ID).init_code(&self.encode())
    }
}

/// The template `multisig`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct Multisig;

impl Multisig {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(20, 1);
    /// Name of the template.
    pub const NAME: &'static str = "multisig";
}

impl Template for Multisig {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "Gnosis' wallet of several owners"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        vec![
            ParameterNote::of("owners", "Accounts that submit and confirm transactions, at most 50, none twice."),
            ParameterNote::of(
                "threshold",
                "Number of owners who have to confirm a transaction; at least 1, at most all.",
            ),
        ]
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<state::WalletStorage>()
    }

    fn gas_table(&self) -> &str {
        include_str!("multisig/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params = host.decode_constructor(params)?;
        owners::construct(host, params)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        host.compute(abi::DISPATCH_UNITS)?;
        let Some(call) = call_data::decode(host, input)? else { return deposit(host) };
        match call {
            Calls::MAX_OWNER_COUNT(call) => call.returns(U256::from(MAX_OWNER_COUNT)),
            Calls::transactions(call) => call.returns(listing::transaction(host, call.0)?),
            Calls::confirmations(call) => call.returns(WALLET.confirmations.at(host, call.transactionId)?.get(host, call.owner)?),
            Calls::isOwner(call) => call.returns(WALLET.is_owner.get(host, call.owner)?),
            Calls::owners(call) => call.returns(owners::at(host, call.index)?),
            Calls::required(call) => call.returns(WALLET.required.get(host)?),
            Calls::transactionCount(call) => call.returns(WALLET.transaction_count.get(host)?),
            Calls::addOwner(call) => call.returns(owners::add(host, call.owner)?),
            Calls::removeOwner(call) => call.returns(owners::remove(host, call.owner)?),
            Calls::replaceOwner(call) => call.returns(owners::replace(host, call.owner, call.newOwner)?),
            Calls::changeRequirement(call) => call.returns(owners::change_requirement(host, call._required)?),
            Calls::submitTransaction(call) => execution::submit(host, call).map(|id| abi::encode_output(&id)),
            Calls::confirmTransaction(call) => call.returns(execution::confirm(host, call.transactionId)?),
            Calls::revokeConfirmation(call) => call.returns(execution::revoke(host, call.transactionId)?),
            Calls::executeTransaction(call) => call.returns(execution::execute(host, call.transactionId)?),
            Calls::isConfirmed(call) => call.returns(execution::is_confirmed(host, call.transactionId)?),
            Calls::getConfirmationCount(call) => call.returns(U256::from(execution::confirmations(host, call.transactionId)?.len())),
            Calls::getTransactionCount(call) => call.returns(listing::count(host, call.pending, call.executed)?),
            Calls::getOwners(call) => call.returns(WALLET.owners.to_vec(host)?),
            Calls::getConfirmations(call) => call.returns(execution::confirmations(host, call.transactionId)?),
            Calls::getTransactionIds(call) => listing::ids(host, &call),
            Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &[])),
        }
    }
}

/// Takes ether (`fallback`).
fn deposit(host: &mut Host<'_>) -> Result<Bytes, Stop> {
    let (sender, value) = (host.caller(), host.value());
    if !value.is_zero() {
        host.emit(&sol::Deposit { sender, value })?;
    }
    Ok(Bytes::new())
}
