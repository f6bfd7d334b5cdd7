//! The validators of a chain without stake, as a contract at [`VALIDATORS_ADDRESS`].
//!
//! Deployed in genesis where the specification has `validatorRegistry`, with the validators of genesis. Prior art: Besu's validator
//! selection by a contract for QBFT and IBFT, Polygon Edge's `ValidatorSet`.
//!
//! - A validator is an operator and its sealing key, by which consensus knows it: its own address, unless it registers a key
//!   ([`sealing_keys`](super::sealing_keys)). Weights are kept by operator; what comes from consensus and goes to it is named by keys.
//! - The administrator is the contract's owner (OpenZeppelin's `Ownable2Step`), an account or a contract such as the governance. It adds
//!   validators, changes their weights and removes them.
//! - Every change emits the event `WeightChanged`, from which [`weight_changes`] collects a block's
//!   [`ValidatorUpdates`](super::ValidatorUpdates). The protocol takes them over at a boundary of its own: proof of authority and Raft with the
//!   next block, PBFT with the next checkpoint. The header of that block commits to the new set, which is in force from the block after it on.
//! - A removal leaves at least as many validators as the protocol needs, and always one; no more join than the parameter `validatorsMax`
//!   allows.
//! - Proof of authority, Raft and PBFT count validators, not weights: there every weight is 1. A slash takes a part of a weight and rounds
//!   up, so that where weights are equal every slash removes.
//! - A protocol removes by a system call whom evidence convicts: [`convict`]. Who is convicted never validates again.
//! - Each validator's weight and the sum are kept by height from genesis on, so that votes of governance count by the weights of one
//!   block.

mod calls;
mod config;
mod history;
pub mod interface;
mod keys;
mod members;
mod record;
mod state;
#[cfg(test)]
mod tests;
mod views;

use std::sync::Arc;

use alloy_json_abi::JsonAbi;
use alloy_primitives::Bytes;

use self::{
    history::{total_weight_at, weight_at},
    interface::Validators::{self as sol, ValidatorsCalls as Calls},
    state::VALIDATORS,
};
use crate::vm::{Marker, Template, TemplateId, TemplateRegistry, contract::*};

pub use super::address::VALIDATORS_ADDRESS;
pub use calls::{convict, weight_changes};
pub use config::{ValidatorsConfig, ValidatorsConfigError};
pub use keys::{KEY_INTERVAL_BLOCKS, operator_in, prove_sealing_key};
pub use members::{PART_PPM_MAX, REASON_BYTES_MAX};
pub use record::RegisteredValidator;
pub use views::PAGE_MAX;

/// The template `validators`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct ValidatorsTemplate;

impl ValidatorsTemplate {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(0x7006, 1);
    /// Name of the template.
    pub const NAME: &'static str = "validators";

    /// Returns a registry with this template alone.
    pub fn registry() -> TemplateRegistry {
        let mut registry = TemplateRegistry::new();
        let taken = registry.register_own(Arc::new(Self));
        debug_assert!(taken.is_ok(), "it is the only one");
        registry
    }

    /// Returns the init code of the contract with these members and their weights.
    pub fn init_code(config: &ValidatorsConfig, members: impl IntoIterator<Item: Into<interface::Member>>) -> Bytes {
        let members = members.into_iter().map(Into::into);
        let call = sol::constructorCall {
            administrator: config.administrator,
            weightMax: config.heaviest(),
            validatorsMin: config.least(),
            members: members.collect(),
        };
        Marker(Self::ID).init_code(&call.abi_encode())
    }
}

/// A validator whose own address is its sealing key, with its weight.
impl From<(Address, u64)> for interface::Member {
    fn from((validator, weight): (Address, u64)) -> Self {
        Self { validator, sealingKey: Address::ZERO, weight }
    }
}

impl Template for ValidatorsTemplate {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "The validators of a chain without stake"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<state::ValidatorsStorage>()
    }

    fn gas_table(&self) -> &str {
        include_str!("validators/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let call: sol::constructorCall = host.decode_constructor(params)?;
        members::construct(host, &call)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call(input, NONE_PAYABLE)? {
            Calls::setValidator(call) => call.returns(members::set_validator(host, call.validator, call.weight)?),
            Calls::addValidator(call) => call.returns(members::add_validator(host, call.validator, call.sealingKey, call.weight, &call.proof)?),
            Calls::setSealingKey(call) => call.returns(keys::set_sealing_key(host, call.key, &call.proof)?),
            Calls::slash(call) => call.returns(members::slash(host, call.validator, call.partPpm, &call.reason)?),
            Calls::convict(call) => call.returns(members::convict(host, call.sealingKey)?),
            Calls::validator(call) => call.returns(views::validator(host, call.validator)?),
            Calls::wasValidator(call) => call.returns(VALIDATORS.members.get(host, call.validator)?.is_known),
            Calls::sealingKey(call) => call.returns(VALIDATORS.keys.key_of(host, call.operator)?),
            Calls::operatorOf(call) => call.returns(VALIDATORS.keys.operator_of(host, call.key)?),
            Calls::validatorCount(call) => call.returns(VALIDATORS.listed.length().get(host)?),
            Calls::validators(call) => call.returns(views::validators(host, call.from, call.count)?),
            Calls::limits(call) => call.returns(views::limits(host)?),
            Calls::weightAt(call) => call.returns(weight_at(host, call.validator, call.height)?),
            Calls::totalWeightAt(call) => call.returns(total_weight_at(host, call.height)?),
            Calls::owner(call) => call.returns(VALIDATORS.ownership.ownable.owner.get(host)?),
            Calls::pendingOwner(call) => call.returns(VALIDATORS.ownership.pending_owner.get(host)?),
            Calls::transferOwnership(call) => call.returns(VALIDATORS.ownership.transfer_ownership(host, call.newOwner)?),
            Calls::acceptOwnership(call) => call.returns(VALIDATORS.ownership.accept_ownership(host)?),
        }
    }
}
