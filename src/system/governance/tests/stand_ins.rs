//! A contract in the place of the registry of modules.

use alloy_json_abi::JsonAbi;
use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall;

use super::sol;
use crate::{
    system::{address::GOVERNANCE_ADDRESS, modules::interface::ModulesCalls as ModuleCalls, parameters},
    vm::{
        Host, Stop, Template, TemplateId,
        abi::{self, NONE_PAYABLE, Returns},
    },
};

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
