//! Gas of each call inside its transaction, and what a history of calls leaves in storage and logs. A changed number is a changed
//! chain: raise the template's version with it.

use alloy_primitives::{Address, Bytes};
use alloy_sol_types::SolCall;

use super::{lab::PERIOD, *};
use crate::{
    primitives::Gas,
    system::parameters::Parameter,
    templates::test_chain::golden::{Place, assert_golden, storage_line},
    vm::Message,
};

/// Gas of a call, in gas units: ample.
const GAS: Gas = Gas::new(200_000_000);

/// A call of a history: name, caller (`None`: the chain), input, and seconds to the block that has it (0: the same block).
type Step = (&'static str, Option<Address>, Bytes, u64);

fn by<C: SolCall>(name: &'static str, caller: Address, call: C) -> Step {
    (name, Some(caller), call.abi_encode().into(), 1)
}

fn by_chain(name: &'static str, secs: u64) -> Step {
    (name, None, end_voting().input, secs)
}

fn yes(id: u64, part: u64) -> sol::voteCall {
    sol::voteCall { id: U256::from(id), option: 1, weight: U256::from(part), reason: "because".to_owned() }
}

/// Every function, its refusals too.
fn steps() -> Vec<Step> {
    let text = |terms| sol::proposeTextCall { terms };
    let changes = |value| sol::proposeParameterChangeCall {
        terms: terms(),
        changes: vec![change(Parameter::GasLimit, value), change(Parameter::ValidatorsMax, 9)],
    };
    let enable = |name: &str| sol::proposeModuleEnableCall {
        terms: terms(),
        name: name.to_owned(),
        version: 1,
        configHash: B256::repeat_byte(1),
    };
    let upgrade = |height| sol::proposeUpgradeCall {
        terms: terms(),
        name: "v2".to_owned(),
        height,
        info: "where it is".to_owned(),
    };
    let id = U256::from;
    vec![
        by_chain("block before any proposal", 1),
        by("text", V1, text(terms())),
        by("text by who has no weight", ALICE, text(terms())),
        by("text without a title", V1, text(sol::Terms::default())),
        by("text that is long", V1, text(sol::Terms { description: "x".repeat(1_000), ..terms() })),
        by("parameter change", V2, changes(2_000_000)),
        by("parameter change out of range", V2, changes(1)),
        by("validator in", V1, sol::proposeValidatorAddCall { terms: terms(), validator: ALICE, weight: 1 }),
        by("validator out", V1, sol::proposeValidatorRemoveCall { terms: terms(), validator: V2 }),
        by("validator out that is none", V1, sol::proposeValidatorRemoveCall { terms: terms(), validator: ALICE }),
        by("module on", V1, enable("defi")),
        by("module on that fails", V1, enable("reverts")),
        by("module off", V1, sol::proposeModuleDisableCall { terms: terms(), name: "defi".to_owned() }),
        by("upgrade", V1, upgrade(39)),
        by("another upgrade", V1, upgrade(90)),
        by("upgrade in the past", V1, upgrade(1)),
        by_chain("block with nothing due", 1),
        by("vote", V1, yes(1, 0)),
        by("vote of another", V3, yes(1, 0)),
        by("vote with a part", V3, yes(3, 350_000_000_000)),
        by("vote changed", V3, yes(3, 690_000_000_000)),
        by("vote with too much", V1, yes(3, 100_000_000_001)),
        by("vote by who has no weight", ALICE, yes(3, 0)),
        by("vote on nothing", V1, yes(99, 0)),
        by("withdrawal by another", V1, sol::cancelCall { id: id(3) }),
        by("withdrawal after a vote", V1, sol::cancelCall { id: id(1) }),
        by("withdrawal", V1, sol::cancelCall { id: id(2) }),
        by("vote on what was withdrawn", V1, yes(2, 0)),
        by("vote for a validator out", V3, yes(4, 0)),
        by("vote for a module on", V3, yes(5, 0)),
        by("vote for a module on that fails", V3, yes(6, 0)),
        by("vote for an upgrade", V3, yes(8, 0)),
        by("vote for another upgrade", V3, yes(9, 0)),
        by("end of voting by an account", V1, sol::endVotingCall {}),
        by_chain("block with one due: a text", PERIOD - 32),
        by_chain("block with all due", PERIOD),
        by_chain("block before the upgrade's", 1),
        by_chain("block at the upgrade's height", 1),
        by_chain("block after it", 1),
        by("proposalCount", ALICE, sol::proposalCountCall {}),
        by("proposal", ALICE, sol::proposalCall { id: id(3) }),
        by("proposal that is not there", ALICE, sol::proposalCall { id: id(99) }),
        by("proposals", ALICE, sol::proposalsCall { from: U256::ZERO, count: id(100) }),
        by("openProposals", ALICE, sol::openProposalsCall {}),
        by("state", ALICE, sol::stateCall { id: id(3) }),
        by("tally", ALICE, sol::tallyCall { id: id(3) }),
        by("voteOf", ALICE, sol::voteOfCall { id: id(3), voter: V3 }),
        by("powerOf", ALICE, sol::powerOfCall { id: id(3), voter: V3 }),
        by("settings", ALICE, sol::settingsCall {}),
        by("upgradePlan", ALICE, sol::upgradePlanCall {}),
    ]
}

/// Runs the history and tells each call's outcome, gas and refund, with keccak of its output and logs; last, keccak of the storage.
fn history() -> String {
    let mut lab = Lab::staked();
    let mut text = String::new();
    for (name, caller, input, secs) in steps() {
        lab.pass(secs);
        let message = match caller {
            Some(caller) => Message::call(caller, GOVERNANCE_ADDRESS, U256::ZERO, &input, GAS),
            None => Message::system_call(GOVERNANCE_ADDRESS, &input, GAS),
        };
        let (block, registry) = (lab.block, lab.registry.clone());
        text += &Place { block: &block, registry: &registry }.line(name, &mut lab.journal, &message);
    }
    text + &storage_line(&mut lab.journal, &GOVERNANCE_ADDRESS)
}

#[test]
fn gas_effects_and_storage_stay_as_they_are() {
    assert_golden(&history(), include_str!("golden.txt"));
}
