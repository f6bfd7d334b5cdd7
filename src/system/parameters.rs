//! The parameters of the chain as a contract at [`PARAMETERS_ADDRESS`], deployed in genesis where the specification has `parameters`.
//!
//! Its owner, an account or the governance contract, schedules new values by transactions. Each emits `ParameterScheduled`, from which
//! [`scheduled_changes`] collects a block's [`ParameterUpdates`]. A consensus protocol takes them over at a boundary of
//! its own: the block there carries them in front of its payload, so that its header commits to them and a verifier of headers learns them. Before
//! that block's transactions the system call [`activate`] puts them in force: block, header rules and contracts go by the new values from there on.
//! (The Cosmos SDK's consensus parameters, returned by `FinalizeBlock` beside the validators', are the model.)
//!
//! | protocol | boundary |
//! |---|---|
//! | proof of authority, Raft | the next block |
//! | PBFT | the next checkpoint |
//! | delegated proof of stake | the next round of the schedule |
//! | proof of stake | the next epoch |

pub mod interface;
mod layout;
mod spec;
#[cfg(test)]
mod tests;

use alloy_json_abi::JsonAbi;
use alloy_primitives::{Address, Bytes, Log, U256};
use alloy_sol_types::{SolCall, SolConstructor, SolEvent};

use self::{
    interface::ChainParameters::{self, ChainParametersCalls as Calls},
    layout::{PARAMETERS, Values},
};
use super::{
    address::STAKING_ADDRESS,
    call::SystemCall,
    staking::interface::setParameterCall,
    update::{ParameterUpdate, ParameterUpdates},
};
use crate::{
    state::{StateError, StateView},
    templates::common::external,
    vm::{
        Host, Marker, Stop, Template, TemplateId,
        abi::{NONE_PAYABLE, Returns, require},
        storage::StorageLayout,
    },
};

pub use super::{
    address::PARAMETERS_ADDRESS,
    parameter::{Parameter, VALIDATORS_MAX},
};
pub use spec::ParametersSpec;

/// The template `chain-parameters`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct ParametersTemplate;

impl ParametersTemplate {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(0x7002, 1);
    /// Name of the template.
    pub const NAME: &'static str = "chain-parameters";

    /// Returns the init code of the contract with these values in force; a parameter without one is not there.
    pub fn init_code(owner: Address, values: &ParameterUpdates) -> Bytes {
        Marker(Self::ID).init_code(&ChainParameters::constructorCall { owner, values: changes(values) }.abi_encode())
    }
}

impl Template for ParametersTemplate {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn abi(&self) -> JsonAbi {
        ChainParameters::abi::contract()
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<layout::ParametersStorage>()
    }

    fn gas_table(&self) -> &str {
        include_str!("parameters/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let call: ChainParameters::constructorCall = host.decode_constructor(params)?;
        let mut values = Values::default();
        for change in &call.values {
            let (parameter, value) = layout::checked(change)?;
            values.set(parameter, value);
        }
        PARAMETERS.owner.ownable.construct(host, call.owner)?;
        PARAMETERS.in_force.set(host, values)?;
        PARAMETERS.scheduled.set(host, values)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call::<Calls>(input, NONE_PAYABLE)? {
            Calls::schedule(call) => call.returns(schedule_all(host, &call.changes)?),
            Calls::activate(call) => call.returns(activate_all(host, &call.changes)?),
            Calls::parameter(call) => call.returns(layout::info(host, layout::known(call.parameter)?)?),
            Calls::parameters(call) => call.returns(layout::infos(host)?),
            Calls::owner(call) => call.returns(PARAMETERS.owner.ownable.owner.get(host)?),
            Calls::transferOwnership(call) => call.returns(PARAMETERS.owner.transfer_ownership(host, call.newOwner)?),
            Calls::pendingOwner(call) => call.returns(PARAMETERS.owner.pending_owner.get(host)?),
            Calls::acceptOwnership(call) => call.returns(PARAMETERS.owner.accept_ownership(host)?),
        }
    }
}

fn schedule_all(host: &mut Host<'_>, changes: &[interface::Change]) -> Result<(), Stop> {
    PARAMETERS.owner.ownable.only_owner(host)?;
    require(!changes.is_empty(), interface::NoChanges {})?;
    let mut values = PARAMETERS.scheduled.get(host)?;
    for change in changes {
        let (parameter, value) = layout::checked(change)?;
        require(values.has(parameter), interface::ParameterUnavailable { parameter: parameter.code() })?;
        values.set(parameter, value);
        host.emit(&interface::ParameterScheduled { parameter: parameter.code(), value: change.value })?;
    }
    PARAMETERS.scheduled.set(host, values)
}

fn activate_all(host: &mut Host<'_>, changes: &[interface::Change]) -> Result<(), Stop> {
    let caller = host.caller();
    require(host.is_system_call(), interface::OnlySystem { caller })?;
    let mut values = PARAMETERS.in_force.get(host)?;
    for change in changes {
        let (parameter, value) = layout::checked(change)?;
        let old_value = values.get(parameter);
        values.set(parameter, value);
        let (parameter, new_value) = (change.parameter, change.value);
        host.emit(&interface::ParameterChanged { parameter, oldValue: old_value, newValue: new_value })?;
    }
    PARAMETERS.in_force.set(host, values)?;
    tell_staking(host, changes)
}

/// Hands what is of stake on to the staking contract, where there is one.
fn tell_staking(host: &mut Host<'_>, changes: &[interface::Change]) -> Result<(), Stop> {
    if !host.has_code(&STAKING_ADDRESS)? {
        return Ok(());
    }
    for change in changes {
        let (parameter, value) = layout::checked(change)?;
        if !parameter.is_of_staking() {
            continue;
        }
        let call = setParameterCall { parameter: parameter.code(), value: U256::from(value) };
        external::call(host, STAKING_ADDRESS, U256::ZERO, &call)?;
    }
    Ok(())
}

fn changes(updates: &ParameterUpdates) -> Vec<interface::Change> {
    let change = |update: &ParameterUpdate| interface::Change {
        parameter: update.parameter.code(),
        value: U256::from(update.value),
    };
    updates.iter().map(change).collect()
}

/// Puts scheduled values in force, from the block on that begins with the call.
pub fn activate(updates: &ParameterUpdates) -> SystemCall {
    let call = ChainParameters::activateCall { changes: changes(updates) };
    SystemCall { to: PARAMETERS_ADDRESS, input: call.abi_encode().into() }
}

/// Returns the scheduled values in the contract's logs, in the order of emission; logs of other contracts are skipped.
pub fn scheduled_changes<'l>(logs: impl IntoIterator<Item = &'l Log>) -> impl Iterator<Item = ParameterUpdate> {
    logs.into_iter().filter(|log| log.address == PARAMETERS_ADDRESS).filter_map(|log| {
        let event = interface::ParameterScheduled::decode_log_data(&log.data).ok()?;
        let parameter = Parameter::from_code(event.parameter)?;
        Some(ParameterUpdate { parameter, value: event.value.saturating_to() })
    })
}

/// What the chain itself reads of the parameters in each block: its gas limit and how its base fee follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeeParameters {
    /// Gas limit of the block.
    pub gas_limit: u64,
    /// The least base fee, in wei per unit of gas.
    pub base_fee_floor: u64,
    /// Divisor of the base fee's largest change.
    pub base_fee_change_denominator: u64,
    /// Gas limit divided by gas target.
    pub elasticity_multiplier: u64,
}

impl FeeParameters {
    /// Reads what is in force after a block; `None` on a chain without the contract.
    ///
    /// # Errors
    /// [`StateError`] when the state can't be read.
    pub fn read(state: &dyn StateView) -> Result<Option<Self>, StateError> {
        // The first word of `Values`, its first field in the lowest bytes.
        let word = state.storage(&PARAMETERS_ADDRESS, &PARAMETERS.in_force.slot())?;
        let [gas_limit, base_fee_floor, base_fee_change_denominator, elasticity_multiplier] = word.into_limbs();
        let read = Self { gas_limit, base_fee_floor, base_fee_change_denominator, elasticity_multiplier };
        Ok((gas_limit > 0).then_some(read))
    }

    /// Returns the values with what a block puts in force.
    #[must_use]
    pub fn with(self, updates: &ParameterUpdates) -> Self {
        // All of their ranges end below 2^64.
        let value = |parameter, before| updates.value(parameter).map_or(before, |value| value as u64);
        Self {
            gas_limit: value(Parameter::GasLimit, self.gas_limit),
            base_fee_floor: value(Parameter::BaseFeeFloor, self.base_fee_floor),
            base_fee_change_denominator: value(Parameter::BaseFeeChangeDenominator, self.base_fee_change_denominator),
            elasticity_multiplier: value(Parameter::ElasticityMultiplier, self.elasticity_multiplier),
        }
    }
}
