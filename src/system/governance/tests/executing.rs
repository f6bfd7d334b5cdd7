//! The end of voting: what passes is executed, what fails is recorded, and work is bounded.

use alloy_primitives::Bytes;
use alloy_sol_types::{Revert, SolCall, SolError};

use super::{lab::PERIOD, *};
use crate::{
    system::{
        ParameterUpdate, ParameterUpdates, ValidatorUpdates,
        address::{PARAMETERS_ADDRESS, STAKING_ADDRESS},
        modules::MODULES_ADDRESS,
        parameters::{self, Parameter},
        staking::weight_changes,
    },
    vm::{FrameOutcome, Message},
};

fn enable(lab: &mut Lab, name: &str, version: u32) -> U256 {
    let name = name.to_owned();
    lab.ok(V1, &sol::proposeModuleEnableCall { terms: terms(), name, version, configHash: B256::ZERO })
}

fn upgrade(lab: &mut Lab, name: &str, height: u64) -> U256 {
    let (name, info) = (name.to_owned(), "where".to_owned());
    lab.ok(V1, &sol::proposeUpgradeCall { terms: terms(), name, height, info })
}

fn moved(id: U256, path: [ProposalState; 3]) -> [sol::GovernanceEvents; 2] {
    let [first, second, third] = path.map(ProposalState::code);
    [(first, second), (second, third)]
        .map(|(from, to)| sol::GovernanceEvents::ProposalStateChanged(sol::ProposalStateChanged { id, from, to }))
}

const DONE: [ProposalState; 3] = [ProposalState::Active, ProposalState::Passed, ProposalState::Executed];

#[test]
fn parameters_are_scheduled_by_the_call_after_the_period() {
    let mut lab = Lab::staked();
    let changes = vec![change(Parameter::GasLimit, 2_000_000), change(Parameter::ValidatorsMax, 9)];
    let id = lab.ok(V1, &sol::proposeParameterChangeCall { terms: terms(), changes });
    lab.vote(V3, id, VoteOption::Yes);
    assert!(lab.next_block(PERIOD - 1).is_empty(), "a second too early");
    assert_eq!(lab.state(id), ProposalState::Active);
    assert_eq!(lab.next_block(1), moved(id, DONE));
    let update = |parameter, value| ParameterUpdate { parameter, value };
    let want = [update(Parameter::GasLimit, 2_000_000), update(Parameter::ValidatorsMax, 9)];
    assert_eq!(lab.scheduled(), ParameterUpdates::new(want));
    let record = lab.proposal(id);
    let (height, time) = record.finalized.unwrap();
    assert_eq!((height.get(), time.as_secs()), (3, 1_101));
    assert!(lab.next_block(1).is_empty(), "once");
}

#[test]
fn a_removed_validator_leaves_with_its_stake() {
    let mut lab = Lab::staked();
    let id = lab.ok(V1, &sol::proposeValidatorRemoveCall { terms: terms(), validator: V2 });
    lab.vote(V3, id, VoteOption::Yes);
    assert_eq!(lab.next_block(PERIOD), moved(id, DONE));
    let updates = ValidatorUpdates::new(weight_changes(lab.journal.logs()));
    let [update] = updates.as_slice() else { panic!("{updates:?}") };
    assert_eq!((update.address, update.weight), (V2, 0));
}

/// The set changed meanwhile: the staking contract refuses, and says why.
#[test]
fn a_failure_is_recorded_with_its_revert_data() {
    let mut lab = Lab::staked();
    let id = lab.ok(V1, &sol::proposeValidatorRemoveCall { terms: terms(), validator: V2 });
    lab.vote(V3, id, VoteOption::Yes);
    let left = lab.raw(V2, STAKING_ADDRESS, U256::ZERO, &staking::exitCall {}.abi_encode());
    assert!(left.is_success());
    let events = lab.next_block(PERIOD);
    let data: Bytes = staking::AlreadyExiting { validator: V2 }.abi_encode().into();
    let failed = sol::GovernanceEvents::ExecutionFailed(sol::ExecutionFailed { id, data: data.clone() });
    let path = [ProposalState::Active, ProposalState::Passed, ProposalState::Failed];
    let [first, last] = moved(id, path);
    assert_eq!(events, [first, failed, last]);
    assert_eq!(lab.proposal(id).failure, Some(data));
}

#[test]
fn one_that_fails_undoes_itself_alone() {
    let mut lab = Lab::staked();
    let names = ["good", "reverts", "halts", "panics", "reverts at length", "as good"];
    let ids: Vec<_> = (1..).zip(names).map(|(version, name)| enable(&mut lab, name, version)).collect();
    for id in &ids {
        lab.vote(V3, *id, VoteOption::Yes);
    }
    lab.next_block(PERIOD);
    let states: Vec<_> = ids.iter().map(|id| lab.state(*id)).collect();
    let (done, failed) = (ProposalState::Executed, ProposalState::Failed);
    assert_eq!(states, [done, failed, failed, failed, failed, done]);
    let kept: Vec<_> =
        (1..=6_u64).map(|slot| lab.journal.storage(&MODULES_ADDRESS, &U256::from(slot)).unwrap().to::<u64>()).collect();
    assert_eq!(kept, [1, 0, 0, 0, 0, 1]);
    let failure = |lab: &mut Lab, index: usize| lab.proposal(ids[index]).failure.unwrap();
    assert_eq!(failure(&mut lab, 1), Bytes::from(Revert::from("no such module").abi_encode()));
    let halted = Revert::abi_decode(&failure(&mut lab, 2)).unwrap();
    assert_eq!(halted.reason, "out of gas");
    assert_eq!(failure(&mut lab, 4).len(), FAILURE_BYTES_MAX);
}

#[test]
fn an_execution_does_not_reenter_and_may_propose() {
    let mut lab = Lab::staked();
    let id = enable(&mut lab, "reenters", 1);
    assert_eq!(lab.carry(id, &[V3]), ProposalState::Executed, "all that it tried was refused");
    let mut lab = Lab::without_stake();
    let id = enable(&mut lab, "proposes", 1);
    let other = lab.text(V2);
    lab.vote(V2, other, VoteOption::Yes);
    lab.vote(V1, other, VoteOption::Yes);
    assert_eq!(lab.carry(id, &[V1, V2]), ProposalState::Executed);
    assert_eq!(lab.state(other), ProposalState::Executed);
    let new = U256::from(3);
    assert_eq!(lab.state(new), ProposalState::Active);
    assert_eq!(lab.proposal(new).proposer, MODULES_ADDRESS);
    lab.next_block(PERIOD);
    assert_eq!(lab.state(new), ProposalState::Expired);
}

#[test]
fn outcomes_follow_the_rules() {
    let mut lab = Lab::staked();
    let (yes, no) = (VoteOption::Yes, VoteOption::No);
    for (name, votes, want) in [
        ("nobody", &[][..], ProposalState::Expired),
        ("less than the quorum", &[(V1, yes), (V2, yes)], ProposalState::Expired),
        ("more against", &[(V2, yes), (V3, no)], ProposalState::Rejected),
        ("more in favour", &[(V2, no), (V3, yes)], ProposalState::Executed),
        ("vetoed", &[(V1, VoteOption::Yes), (V3, VoteOption::Veto)], ProposalState::Vetoed),
        ("abstained", &[(V3, VoteOption::Abstain)], ProposalState::Rejected),
        ("abstained but one", &[(V1, yes), (V3, VoteOption::Abstain)], ProposalState::Executed),
    ] {
        let id = lab.text(V1);
        votes.iter().for_each(|(voter, option)| lab.vote(*voter, id, *option));
        lab.next_block(PERIOD);
        assert_eq!(lab.state(id), want, "{name}");
    }
}

#[test]
fn later_ones_wait_for_the_next_block() {
    let mut lab = Lab::staked();
    let ids: Vec<_> = (0..20).map(|_| lab.text(V1)).collect();
    let long = sol::Terms { votingPeriodSecs: 1_000, ..terms() };
    lab.ok(V1, &sol::proposeTextCall { terms: long });
    assert_eq!(lab.next_block(PERIOD).len(), 16);
    let expired = |lab: &mut Lab| {
        let states: Vec<_> = ids.iter().map(|id| lab.state(*id)).collect();
        states.iter().take_while(|state| **state == ProposalState::Expired).count()
    };
    assert_eq!(expired(&mut lab), FINAL_PER_BLOCK as usize);
    let late = ids[19];
    let closed = sol::VotingClosed { id: late, endsAt: 1_101 };
    lab.fails(V1, &lab::vote_call(late, VoteOption::Yes, U256::ZERO), &closed);
    assert_eq!(lab.next_block(0).len(), 4);
    assert_eq!(expired(&mut lab), 20);
    assert!(lab.next_block(0).is_empty());
}

#[test]
fn an_upgrade_waits_for_its_height_and_one_at_most() {
    let mut lab = Lab::staked();
    let (id, other) = (upgrade(&mut lab, "v2", 5), upgrade(&mut lab, "v3", 9));
    let late = upgrade(&mut lab, "v1", 2);
    [id, other, late].into_iter().for_each(|id| lab.vote(V3, id, VoteOption::Yes));
    lab.next_block(PERIOD);
    assert_eq!(lab.state(id), ProposalState::Executed);
    let waiting = sol::UpgradeWaiting { name: "v2".to_owned(), height: 5 };
    assert_eq!(lab.proposal(other).failure.unwrap(), waiting.abi_encode());
    let passed = sol::HeightNotAhead { height: 2, current: 2 };
    assert_eq!(lab.proposal(late).failure.unwrap(), passed.abi_encode());
    let plan = UpgradePlan::from_answer(lab.ok(ALICE, &sol::upgradePlanCall {})).unwrap();
    assert_eq!((plan.proposal, plan.name.as_str(), plan.height.get(), plan.info.as_str()), (1, "v2", 5, "where"));
    assert!(lab.next_block(1).is_empty() && lab.next_block(1).is_empty());
    let reached = sol::UpgradeReached { id, name: "v2".to_owned(), height: 5, info: "where".to_owned() };
    assert_eq!(lab.next_block(1), [sol::GovernanceEvents::UpgradeReached(reached)]);
    assert_eq!(UpgradePlan::from_answer(lab.ok(ALICE, &sol::upgradePlanCall {})), None);
    assert!(lab.next_block(1).is_empty());
    let next = upgrade(&mut lab, "v3", 9);
    assert_eq!(lab.carry(next, &[V3]), ProposalState::Executed);
}

/// Whoever owns the parameters meanwhile.
#[test]
fn parameters_that_changed_hands_are_not_scheduled() {
    let mut lab = Lab::staked();
    let changes = vec![change(Parameter::GasLimit, 2_000_000)];
    let id = lab.ok(V1, &sol::proposeParameterChangeCall { terms: terms(), changes });
    lab.vote(V3, id, VoteOption::Yes);
    let offer = parameters::interface::transferOwnershipCall { newOwner: ALICE };
    assert!(lab.raw(GOVERNANCE_ADDRESS, PARAMETERS_ADDRESS, U256::ZERO, &offer.abi_encode()).is_success());
    let accept = parameters::interface::acceptOwnershipCall {}.abi_encode();
    assert!(lab.raw(ALICE, PARAMETERS_ADDRESS, U256::ZERO, &accept).is_success());
    lab.next_block(PERIOD);
    let error = parameters::interface::OwnableUnauthorizedAccount { account: GOVERNANCE_ADDRESS };
    assert_eq!(lab.proposal(id).failure.unwrap(), error.abi_encode());
    assert_eq!(lab.scheduled(), ParameterUpdates::NONE);
}

/// Gas of a block's call: with so many open proposals, of which so many are due.
fn gas(open: u64, due: u64) -> u64 {
    let mut lab = Lab::staked();
    for place in 0..open {
        let secs = if place < due { 0 } else { 10_000 };
        lab.ok(V1, &sol::proposeTextCall { terms: sol::Terms { votingPeriodSecs: secs, ..terms() } });
    }
    lab.pass(PERIOD);
    let input = end_voting().input;
    let message = Message::system_call(GOVERNANCE_ADDRESS, &input, crate::primitives::Gas::new(1_000_000_000));
    let result = lab.run(&message);
    assert_eq!(result.outcome, FrameOutcome::Success);
    1_000_000_000 - result.gas_left.get()
}

#[test]
fn a_block_with_nothing_due_reads_one_slot() {
    let nothing = 100 + 2_100;
    assert_eq!([gas(0, 0), gas(1, 0), gas(24, 0)], [nothing; 3]);
    let [one, sixteen] = [gas(24, 1), gas(24, 16)];
    assert!(one < 75_000 && sixteen < 16 * 40_000, "{one}, {sixteen}");
}
