//! Contracts in the place of the registry of modules and of the validators'.

use alloy_json_abi::JsonAbi;
use alloy_primitives::{
    Address, Bytes, U256,
    aliases::{U48, U208},
};
use alloy_sol_types::SolCall;

use super::{super::contracts, sol};
use crate::{
    system::{address::GOVERNANCE_ADDRESS, modules::interface::ModulesCalls as ModuleCalls, parameters},
    templates::common::Trace208,
    vm::{
        Host, Stop, Template, TemplateId,
        abi::{self, NONE_PAYABLE, Returns},
        storage::{Mapping, storage},
    },
};
use contracts::ValidatorsContract::ValidatorsContractCalls as ValidatorCalls;

/// Slot by which the registry has another authority.
pub(super) const OTHER_OWNER: U256 = U256::from_limbs([99, 0, 0, 0]);

/// A registry that does what the name of the module says.
#[derive(Debug)]
pub(super) struct Modules;

impl Modules {
    pub(super) const ID: TemplateId = TemplateId::new(0xfff1, 1);
}

impl Template for Modules {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        "modules stand-in"
    }

    fn abi(&self) -> JsonAbi {
        JsonAbi::new()
    }

    fn construct(&self, _: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
        Ok(())
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call(input, NONE_PAYABLE)? {
            ModuleCalls::enable(call) => call.returns(enable(host, &call.name, call.version)?),
            ModuleCalls::disable(call) => call.returns(enable(host, &call.name, 0)?),
            ModuleCalls::owner(call) => {
                let is_taken = host.load(OTHER_OWNER)? != U256::ZERO;
                call.returns(if is_taken { Address::ZERO } else { GOVERNANCE_ADDRESS })
            }
            _ => Err(abi::empty_revert()),
        }
    }
}

fn enable(host: &mut Host<'_>, name: &str, version: u32) -> Result<(), Stop> {
    // Left behind by whoever is not undone.
    host.store(U256::from(version), U256::ONE)?;
    match name {
        "reverts" => Err(abi::revert_with("no such module")),
        "reverts at length" => Err(abi::revert_with(&"no such module ".repeat(100))),
        "halts" => host.compute(u64::MAX),
        "panics" => panic!("as a template must not"),
        "reenters" => reenter(host),
        "proposes" => {
            let terms = sol::Terms { title: "from within".to_owned(), ..sol::Terms::default() };
            host.call(GOVERNANCE_ADDRESS, U256::ZERO, &sol::proposeTextCall { terms }.abi_encode())?.or_revert()?;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Tries what must not be while the first proposal is executed; reverts when anything of it is.
fn reenter(host: &mut Host<'_>) -> Result<(), Stop> {
    let id = U256::ONE;
    let change = parameters::interface::Change { parameter: 2, value: U256::from(2_000_000) };
    let calls = [
        (GOVERNANCE_ADDRESS, sol::endVotingCall {}.abi_encode()),
        (GOVERNANCE_ADDRESS, sol::voteCall { id, option: 1, weight: U256::ZERO, reason: String::new() }.abi_encode()),
        (GOVERNANCE_ADDRESS, sol::cancelCall { id }.abi_encode()),
        (parameters::PARAMETERS_ADDRESS, parameters::interface::scheduleCall { changes: vec![change] }.abi_encode()),
    ];
    for (to, input) in calls {
        if host.call(to, U256::ZERO, &input)?.is_success() {
            return Err(abi::revert_with("it went in again"));
        }
    }
    Ok(())
}

storage! {
    contract ValidatorsStorage {
        weights: Mapping<Address, Trace208>,
        total: Trace208,
    }
}

/// The validators of a chain without stake.
#[derive(Debug)]
pub(super) struct Validators;

impl Validators {
    pub(super) const ID: TemplateId = TemplateId::new(0xfff2, 1);
}

impl Template for Validators {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        "validators stand-in"
    }

    fn abi(&self) -> JsonAbi {
        JsonAbi::new()
    }

    fn construct(&self, _: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
        Ok(())
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        const STATE: ValidatorsStorage = ValidatorsStorage::STATE;
        let number = |weight: U208| -> u128 { weight.to() };
        match host.decode_call(input, NONE_PAYABLE)? {
            ValidatorCalls::setValidator(call) => {
                let caller = host.caller();
                abi::require(caller == GOVERNANCE_ADDRESS, sol::OnlyProposer { proposer: caller })?;
                let now = U48::from(host.block().height.get());
                let (old, new) = STATE.weights.at(host, call.validator)?.push(host, now, U208::from(call.weight))?;
                let total = STATE.total.latest(host)? + new - old;
                STATE.total.push(host, now, total)?;
                call.returns(())
            }
            ValidatorCalls::weightAt(call) => {
                let weights = STATE.weights.at(host, call.validator)?;
                call.returns(number(weights.upper_lookup(host, U48::from(call.height))?))
            }
            ValidatorCalls::totalWeightAt(call) => {
                call.returns(number(STATE.total.upper_lookup(host, U48::from(call.height))?))
            }
        }
    }
}
