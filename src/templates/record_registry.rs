//! `record-registry`: collections of records on the chain, with owners, access rules, versions and histories.
//!
//! An administrator creates collections. Each has rules that say who may create, update, remove and transfer its records: anyone, the
//! record's owner, accounts with `WRITER_ROLE`, these or the owner, administrators ([`Access`](interface::Access)); nobody is above the
//! rules, but administrators change them. Who creates a record owns it and counts as its owner for the rule, too.
//!
//! Every change of a record makes a version, numbered from 1 on, that stays: what was done, by whom, when, and owner and data after it.
//! A change names the version that it expects, 0 for any, and is refused with `VersionMismatch` when the record is at another. A removed
//! record keeps its versions, and one created again under its id goes on with them.
//!
//! `ids` and `records` return pages of a collection; a page beyond the end is empty. A removal moves the collection's last id to the
//! place of the removed one: pages of one block fit together, those of different blocks may not.
//!
//! Names are UTF-8, others revert without data. The storage layout:
//!
//! | slot | what |
//! |---|---|
//! | 0 | `mapping(bytes32 => RoleData)` roles |
//! | 1 | `bytes32[]` ids of the collections |
//! | 2 | `mapping(bytes32 => Collection)` collections |
//!
//! | slot in a `Collection` | what |
//! |---|---|
//! | 0 | name |
//! | 1 | exists, and who may create, update, remove, transfer (a byte each, from the lowest on) |
//! | 2 | `bytes32[]` ids of the records that exist |
//! | 3 | `mapping(bytes32 => Record)` records that exist or are removed |
//!
//! | slot in a `Record` | what |
//! |---|---|
//! | 0 | last version, moment of the last creation, place among the ids from 1 on or 0 when it does not exist (64 bits each, from the lowest on) |
//! | 1 | `mapping(uint64 => Version)` versions |
//!
//! | slot in a `Version` | what |
//! |---|---|
//! | 0 | author (the lowest 20 bytes), moment (64 bits), what was done (a byte) |
//! | 1 | owner (the lowest 20 bytes), the version that wrote the data (64 bits): a transfer writes none |
//! | 2 | data, if this version wrote it |

mod access;
mod collections;
pub mod interface;
mod records;
mod state;
#[cfg(test)]
mod tests;

use alloy_json_abi::JsonAbi;

pub use self::state::WRITER_ROLE;
use self::{
    interface::RecordRegistry::{self as sol, RecordRegistryCalls as Calls},
    state::REGISTRY,
};
use super::common::{
    DEFAULT_ADMIN_ROLE, access_control,
    erc165::{interface_id, supports},
};
use crate::vm::{Marker, ParameterNote, Template, TemplateId, contract::*};

/// Constructor parameters of the template.
///
/// Encoded as Solidity's `(address owner)`.
///
/// ```
/// use chainbox::{primitives::Address, templates::RecordRegistryParams};
/// let params = RecordRegistryParams::new(Address::repeat_byte(1));
/// assert_eq!(params.init_code()[..6], [0xef, 0xcb, 0, 9, 0, 1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordRegistryParams {
    /// First administrator and writer.
    pub owner: Address,
}

impl RecordRegistryParams {
    /// Creates parameters.
    pub const fn new(owner: Address) -> Self {
        Self { owner }
    }

    /// Returns the ABI encoding of the parameters.
    pub fn encode(&self) -> Vec<u8> {
        sol::constructorCall { owner: self.owner }.abi_encode()
    }

    /// Returns the input of a creation transaction: the template's marker and the encoded parameters.
    pub fn init_code(&self) -> Bytes {
        Marker(RecordRegistry::ID).init_code(&self.encode())
    }
}

/// The template `record-registry`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct RecordRegistry;

impl RecordRegistry {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(9, 1);
    /// Name of the template.
    pub const NAME: &'static str = "record-registry";
}

impl Template for RecordRegistry {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "Versioned records with owners and a history"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        vec![ParameterNote::of("owner", "First administrator and writer.").with_default_deployer()]
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<state::RegistryStorage>()
    }

    fn gas_table(&self) -> &str {
        include_str!("record_registry/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params = host.decode_constructor(params)?;
        state::construct(host, params)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call::<Calls>(input, NONE_PAYABLE)? {
            Calls::createCollection(call) => collections::create(host, call).map(nothing),
            Calls::setRules(call) => call.returns(collections::set_rules(host, call.collection, call.rules.clone())?),
            Calls::collectionCount(call) => call.returns(REGISTRY.collection_ids.length().get(host)?),
            Calls::collections(call) => call.returns(collections::page(host, REGISTRY.collection_ids, call.from, call.count)?),
            Calls::name(call) => call.returns(collections::name(host, call.collection)?),
            Calls::rules(call) => call.returns(collections::rules(host, call.collection)?),
            Calls::create(call) => records::create(host, call).map(nothing),
            Calls::update(call) => records::update(host, call).map(nothing),
            Calls::remove(call) => call.returns(records::remove(host, &call)?),
            Calls::transferRecord(call) => call.returns(records::transfer(host, &call)?),
            Calls::exists(call) => call.returns(records::exists(host, call.collection, call.id)?),
            Calls::get(call) => call.returns(records::get(host, call.collection, call.id)?),
            Calls::versions(call) => call.returns(records::versions(host, call.collection, call.id)?),
            Calls::versionAt(call) => call.returns(records::version_at(host, &call)?),
            Calls::count(call) => call.returns(collections::count(host, call.collection)?),
            Calls::idAt(call) => call.returns(collections::id_at(host, call.collection, call.index)?),
            Calls::ids(call) => call.returns(collections::ids(host, call.collection, call.from, call.count)?),
            Calls::records(call) => call.returns(records::records(host, &call)?),
            Calls::DEFAULT_ADMIN_ROLE(call) => call.returns(DEFAULT_ADMIN_ROLE),
            Calls::WRITER_ROLE(call) => call.returns(WRITER_ROLE),
            Calls::hasRole(call) => call.returns(REGISTRY.access.has_role(host, call.role, call.account)?),
            Calls::getRoleAdmin(call) => call.returns(REGISTRY.access.get_role_admin(host, call.role)?),
            Calls::grantRole(call) => call.returns(REGISTRY.access.grant_role(host, call.role, call.account)?),
            Calls::revokeRole(call) => call.returns(REGISTRY.access.revoke_role(host, call.role, call.account)?),
            Calls::renounceRole(call) => call.returns(REGISTRY.access.renounce_role(host, call.role, call.callerConfirmation)?),
            Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &[INTERFACE_ID, access_control::INTERFACE_ID])),
        }
    }
}

/// Return data of a function that takes its arguments away.
fn nothing((): ()) -> Bytes {
    Bytes::new()
}

/// ERC-165 id of the registry's own functions: collections and records, neither roles nor ERC-165.
pub const INTERFACE_ID: [u8; 4] = {
    use interface::*;
    interface_id(&[
        createCollectionCall::SELECTOR,
        setRulesCall::SELECTOR,
        collectionCountCall::SELECTOR,
        collectionsCall::SELECTOR,
        nameCall::SELECTOR,
        rulesCall::SELECTOR,
        createCall::SELECTOR,
        updateCall::SELECTOR,
        removeCall::SELECTOR,
        transferRecordCall::SELECTOR,
        existsCall::SELECTOR,
        getCall::SELECTOR,
        versionsCall::SELECTOR,
        versionAtCall::SELECTOR,
        countCall::SELECTOR,
        idAtCall::SELECTOR,
        idsCall::SELECTOR,
        recordsCall::SELECTOR,
    ])
};
