//! An operation, simulated and then mined: everything that both tell has to agree.

use alloy_dyn_abi::{DynSolValue, ErrorExt as _, EventExt as _};
use alloy_json_abi::JsonAbi;
use alloy_primitives::{Log, U64};
use alloy_sol_types::{Panic, Revert, SolError};

use super::world::{World, apply};
use crate::{
    chain::{CallRequest, Simulation},
    node::{BlockRef, MinedTransaction},
    primitives::{Address, Gas, U256},
    templates::{self, erc20::interface as erc20, erc721::interface as erc721},
    vm::{CallTracer, Decoded},
};

/// Simulates an operation, mines it, and compares: success, gas, return or revert data, logs, created contract, frames; the decoded error and
/// events with what the contracts' own ABIs say; balances, nonces, codes and slots of all accounts, and the named variables with what views
/// return.
///
/// # Panics
/// At the first difference.
pub(super) fn check(world: &World, operation: &CallRequest) -> Simulation {
    let simulation = world.simulate(operation, BlockRef::Pending).unwrap();
    let mut want = world.state(BlockRef::Latest);
    apply(&mut want, &simulation.changes);

    let hash = world.node.send_request(operation.clone()).unwrap();
    let mined = world.node.receipt(hash).unwrap().unwrap();
    compare_receipt(&simulation, &mined);

    let mut tracer = CallTracer::new().with_logs(true);
    let replayed = world.node.view().replay(hash, &mut tracer).unwrap();
    assert_eq!(replayed.outcome, simulation.outcome.outcome, "{operation:?}");
    assert_eq!(replayed.output, simulation.outcome.output, "{operation:?}");
    let mut trace = tracer.into_trace().unwrap();
    (trace.gas, trace.gas_used) = (U64::from(operation.gas.unwrap().get()), U64::from(mined.receipt().gas_used.get()));
    assert_eq!(trace, simulation.trace, "{operation:?}");

    compare_error(world, &simulation);
    compare_events(world, &simulation, &mined);
    assert_eq!(world.state(BlockRef::Latest), want, "{simulation:?}");
    compare_variables(world, &simulation);
    assert_eq!(simulation.gas_estimate.is_some(), simulation.outcome.is_success());
    simulation
}

fn compare_receipt(simulation: &Simulation, mined: &MinedTransaction) {
    let outcome = &simulation.outcome;
    assert_eq!(mined.is_success(), outcome.is_success(), "{simulation:?}");
    assert_eq!(mined.logs(), &outcome.logs[..]);
    assert_eq!(mined.receipt().gas_used, outcome.gas_used, "{simulation:?}");
    assert_eq!(mined.receipt().contract_address, outcome.created, "{simulation:?}");
}

/// The error's name and values by the ABIs of all contracts, for it may be one that another contract reverted with.
fn compare_error(world: &World, simulation: &Simulation) {
    let data = simulation.outcome.revert_data();
    let known = data.and_then(|data| {
        if let Ok(revert) = Revert::abi_decode(data) {
            return Some(("Error".to_owned(), vec![DynSolValue::String(revert.reason)]));
        }
        if let Ok(panic) = Panic::abi_decode(data) {
            return Some(("Panic".to_owned(), vec![DynSolValue::Uint(panic.code, 256)]));
        }
        let mut errors = world.contracts.iter().flat_map(|contract| contract.abi.errors());
        let error = errors.find(|error| data.starts_with(error.selector().as_slice()))?;
        Some((error.name.clone(), error.decode_error(data).unwrap().body))
    });
    assert_eq!(simulation.error.as_ref().map(name_and_values), known, "{simulation:?}");
    // A revert is decoded, or it has no data.
    assert!(known.is_some() || data.is_none_or(|data| data.is_empty()), "{data:?} is no error of an ABI");
}

fn compare_events(world: &World, simulation: &Simulation, mined: &MinedTransaction) {
    assert_eq!(simulation.events.len(), mined.logs().len());
    for (event, log) in simulation.events.iter().zip(mined.logs()) {
        let abi = world.abi_at(log.address).unwrap_or_else(|| panic!("{log:?} is of no contract"));
        let event = event.as_ref().unwrap_or_else(|| panic!("{log:?} is not decoded"));
        assert_eq!(name_and_values(event), decoded(&abi, log), "{log:?}");
    }
}

/// Decodes a log by the ABI of the contract that emitted it.
fn decoded(abi: &JsonAbi, log: &Log) -> (String, Vec<DynSolValue>) {
    let topics = log.topics().len();
    let event = abi.events().find(|event| {
        Some(&event.selector()) == log.topics().first()
            && event.inputs.iter().filter(|input| input.indexed).count() + 1 == topics
    });
    let event = event.unwrap_or_else(|| panic!("{log:?} is no event of its contract"));
    let decoded = event.decode_log(&log.data).unwrap();
    let (mut indexed, mut body) = (decoded.indexed.into_iter(), decoded.body.into_iter());
    let values = event.inputs.iter().map(|input| if input.indexed { indexed.next() } else { body.next() });
    (event.name.clone(), values.map(Option::unwrap).collect())
}

fn name_and_values(decoded: &Decoded) -> (String, Vec<DynSolValue>) {
    (decoded.name.clone(), decoded.arguments.iter().map(|argument| argument.value.clone()).collect())
}

/// Variables that a view returns as they are: after the operation it returns what the simulation said.
fn compare_variables(world: &World, simulation: &Simulation) {
    for change in &simulation.changes {
        let Some(template) = change.template.as_deref() else { continue };
        for value in change.storage.iter().flat_map(|slot| &slot.values) {
            let read = match (template, &parts_of(&value.name)[..]) {
                ("erc20-token" | "erc4626-vault", ["_balances", account]) => {
                    world.read(change.address, &erc20::balanceOfCall { account: account.parse().unwrap() })
                }
                ("erc20-token" | "erc4626-vault", ["_totalSupply"]) => {
                    world.read(change.address, &erc20::totalSupplyCall {})
                }
                ("erc20-token" | "erc4626-vault", ["_allowances", owner, spender]) => {
                    let (owner, spender) = (owner.parse().unwrap(), spender.parse().unwrap());
                    world.read(change.address, &erc20::allowanceCall { owner, spender })
                }
                ("liquidity-pool", ["balanceOf", account]) => {
                    world.read(change.address, &erc20::balanceOfCall { account: account.parse().unwrap() })
                }
                ("liquidity-pool", ["totalSupply"]) => world.read(change.address, &erc20::totalSupplyCall {}),
                ("erc721-nft", ["_owners", id]) => {
                    let token_id: U256 = id.parse().unwrap();
                    let owner = world.read(change.address, &erc721::ownerOfCall { tokenId: token_id });
                    let owner = owner.unwrap_or_default();
                    let told: Address = value.text.after.parse().unwrap();
                    assert_eq!(told, owner, "{value:?}");
                    continue;
                }
                _ => continue,
            };
            let read = read.unwrap_or_else(|| panic!("{value:?} can't be read"));
            assert_eq!(value.text.after, read.to_string(), "{value:?}");
        }
    }
}

/// Splits `_allowances[0x1][0x2]` into the variable's name and its keys.
fn parts_of(name: &str) -> Vec<&str> {
    name.split(['[', ']']).filter(|part| !part.is_empty()).collect()
}

/// One unit of gas less than the estimate is too little, or makes something else of a contract that goes on when a call of its own fails.
///
/// # Panics
/// When it suffices, or when the estimate does not.
pub(super) fn check_estimate(world: &World, operation: &CallRequest, gas: Gas) {
    let enough = world.simulate(&operation.clone().with_gas(gas), BlockRef::Pending).unwrap().outcome;
    assert!(enough.is_success(), "{operation:?} with {gas:?}");
    if let Ok(less) = world.simulate(&operation.clone().with_gas(Gas::new(gas.get() - 1)), BlockRef::Pending) {
        let is_same = less.outcome.output == enough.output && less.outcome.logs == enough.logs;
        assert!(!(less.outcome.is_success() && is_same), "{operation:?} with less than {gas:?}");
    }
}

/// Returns the name of the template that an operation calls or creates, with the function's signature.
pub(super) fn kind_of(world: &World, operation: &CallRequest) -> Option<(String, String)> {
    let Some(to) = operation.to else {
        let (marker, _) = crate::vm::Marker::split(&operation.input)?;
        return Some((templates::builtin().get(marker.0)?.name().to_owned(), "constructor".to_owned()));
    };
    let contract = world.contracts.iter().find(|contract| contract.address == to)?;
    let function =
        contract.abi.functions().find(|function| operation.input.starts_with(function.selector().as_slice()))?;
    Some((contract.name.clone(), function.signature()))
}
