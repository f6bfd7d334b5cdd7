//! The permissions contract: who may send transactions and who may deploy contracts, at [`PERMISSIONS_ADDRESS`].
//!
//! Deployed in genesis where the specification has `permissions`. Prior art: Avalanche's `TxAllowList` and `ContractDeployerAllowList`
//! (subnet-evm), Besu's onchain permissioning of accounts.
//!
//! - There are two lists, of accounts and of deployers. Each is on or off: where it is off, everybody may.
//! - The administrator is the contract's owner (OpenZeppelin's `Ownable2Step`), an account or a contract. It changes the lists and
//!   switches them. It may send transactions whether it is listed or not, so that it can't lock itself out; to deploy it lists itself.
//! - The sender of every transaction must be on the list of accounts, and on that of deployers if the transaction creates a contract.
//!   A block with another transaction is invalid. Unsigned (impersonated) transactions are no exception.
//! - A contract creates others only where the signer of the transaction, its origin, may deploy: else the creation reverts with
//!   [`DeployerNotAllowed`](crate::vm::DeployerNotAllowed), and its gas comes back to the caller. So it is for batches and for relayed
//!   calls, whose origin is the relay. Avalanche's list asks for the origin, too.
//! - Permissions are those at the start of a transaction: a change takes effect for the next one of the same block.
//! - System calls are no transactions: nobody sends them, and they deploy nothing.
//!
//! A check reads one word of storage, the account's; the switches are read once a block ([`PermissionLists`]).

mod config;
mod entries;
pub mod interface;
mod reader;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use alloy_json_abi::JsonAbi;
use alloy_primitives::{Bytes, address};

use self::{
    entries::{construct, entries, entry_count, permissions_of, set_permissions, set_permissions_of_many, switch_list},
    interface::Permissions::{self as sol, PermissionsCalls as Calls},
    state::{List, PERMISSIONS},
};
use crate::vm::{Marker, Template, TemplateId, TemplateRegistry, contract::*};

pub use config::{GENESIS_ENTRIES_MAX, PermissionsConfig, PermissionsConfigError};
pub use entries::{BATCH_MAX, PAGE_MAX};
pub use reader::{AccountPermissions, PermissionChange, PermissionLists, PermissionWord, changes};

/// Address of the permissions contract.
pub const PERMISSIONS_ADDRESS: Address = address!("0000000000000000000000000000000000001002");

/// The template `permissions`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct PermissionsTemplate;

impl PermissionsTemplate {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(0x7003, 1);
    /// Name of the template.
    pub const NAME: &'static str = "permissions";

    /// Returns a registry with this template alone.
    pub fn registry() -> TemplateRegistry {
        let mut registry = TemplateRegistry::new();
        let taken = registry.register_own(Arc::new(Self));
        debug_assert!(taken.is_ok(), "it is the only one");
        registry
    }

    /// Returns the init code of the contract with these lists.
    pub fn init_code(config: &PermissionsConfig) -> Bytes {
        let call = sol::constructorCall {
            administrator: config.administrator,
            accountListOn: config.accounts.is_some(),
            deployerListOn: config.deployers.is_some(),
            entries: config.entries(),
        };
        Marker(Self::ID).init_code(&call.abi_encode())
    }
}

impl Template for PermissionsTemplate {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "Who may send transactions, and who may deploy"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<state::PermissionsStorage>()
    }

    fn gas_table(&self) -> &str {
        include_str!("permissions/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let call: sol::constructorCall = host.decode_constructor(params)?;
        construct(host, &call)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call(input, NONE_PAYABLE)? {
            Calls::setPermissions(call) => call.returns(set_permissions(host, call.account, call.isAccount, call.isDeployer)?),
            Calls::setPermissionsOfMany(call) => call.returns(set_permissions_of_many(host, &call.entries)?),
            Calls::switchAccountList(call) => call.returns(switch_list(host, List::Accounts, call.isOn)?),
            Calls::switchDeployerList(call) => call.returns(switch_list(host, List::Deployers, call.isOn)?),
            Calls::permissionsOf(call) => call.returns(permissions_of(host, call.account)?),
            Calls::accountListOn(call) => call.returns(PERMISSIONS.lists.get(host)?.accounts),
            Calls::deployerListOn(call) => call.returns(PERMISSIONS.lists.get(host)?.deployers),
            Calls::entryCount(call) => call.returns(entry_count(host)?),
            Calls::entries(call) => call.returns(entries(host, call.from, call.count)?),
            Calls::owner(call) => call.returns(PERMISSIONS.ownership.ownable.owner.get(host)?),
            Calls::pendingOwner(call) => call.returns(PERMISSIONS.ownership.pending_owner.get(host)?),
            Calls::transferOwnership(call) => call.returns(PERMISSIONS.ownership.transfer_ownership(host, call.newOwner)?),
            Calls::acceptOwnership(call) => call.returns(PERMISSIONS.ownership.accept_ownership(host)?),
        }
    }
}
