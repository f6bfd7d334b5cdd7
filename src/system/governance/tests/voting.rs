//! Votes: weights, parts, changes, refusals.

use alloy_primitives::Address;

use super::{lab::vote_call, *};
use crate::{
    primitives::{ether, gwei},
    system::{address::STAKING_ADDRESS, modules::MODULES_ADDRESS},
};

const GWEI: u128 = 1_000_000_000;

#[test]
fn a_vote_has_the_weight_of_stake_before_the_proposal() {
    let mut lab = Lab::staked();
    lab.delegate(V1, ether(50));
    let id = lab.text(V1);
    assert_eq!(lab.proposal(id).total_weight, 1_000 * GWEI, "the delegation is of the same block");
    lab.pass(1);
    lab.delegate(V2, ether(5_000));
    lab.vote(V1, id, VoteOption::Yes);
    lab.vote(V2, id, VoteOption::No);
    lab.pass(1);
    lab.vote(V2, id, VoteOption::No);
    assert_eq!(lab.tally(id), Tally { yes: 100 * GWEI, no: 200 * GWEI, ..Tally::default() });
    let late = lab.text(V1);
    assert_eq!(lab.proposal(late).total_weight, 6_050 * GWEI);
    assert_eq!(lab.ok(ALICE, &sol::powerOfCall { id: late, voter: V2 }), 5_200 * GWEI);
    assert_eq!(lab.ok(ALICE, &sol::powerOfCall { id, voter: V2 }), 200 * GWEI);
}

/// Stake that comes in after the proposal, or in its block before it, has no vote: neither of a new validator nor of one that grows.
#[test]
fn stake_for_a_moment_has_no_vote() {
    let mut lab = Lab::staked();
    let join = staking::joinCall { commissionBps: 0, maxCommissionBps: 0, maxCommissionChangeBps: 0 };
    let joined = lab.raw(ALICE, STAKING_ADDRESS, ether(9_000), &alloy_sol_types::SolCall::abi_encode(&join));
    assert!(joined.is_success());
    let none = sol::NotEnoughWeight { weight: U256::ZERO, minimum: U256::ONE };
    lab.fails(ALICE, &sol::proposeTextCall { terms: terms() }, &none);
    let id = lab.text(V1);
    lab.fails(ALICE, &vote_call(id, VoteOption::Veto, U256::ZERO), &sol::NoVotingPower { voter: ALICE, height: 0 });
    lab.pass(1);
    lab.fails(ALICE, &vote_call(id, VoteOption::Veto, U256::ZERO), &sol::NoVotingPower { voter: ALICE, height: 0 });
    lab.text(ALICE);
}

#[test]
fn a_vote_uses_a_part_and_replaces_the_one_before() {
    let mut lab = Lab::staked();
    let id = lab.text(V1);
    lab.ok(V3, &vote_call(id, VoteOption::Yes, gwei(300) / U256::from(GWEI)));
    assert_eq!(lab.tally(id), Tally { yes: 300, ..Tally::default() });
    lab.ok(V3, &vote_call(id, VoteOption::Abstain, U256::from(7)));
    lab.vote(V2, id, VoteOption::Abstain);
    assert_eq!(lab.tally(id), Tally { abstain: 7 + 200 * GWEI, ..Tally::default() });
    let power = U256::from(700 * GWEI);
    let above = power + U256::ONE;
    lab.fails(V3, &vote_call(id, VoteOption::No, above), &sol::WeightAbovePower { weight: above, power });
    for all in [U256::ZERO, U256::MAX, power] {
        lab.ok(V3, &vote_call(id, VoteOption::Veto, all));
        assert_eq!(lab.tally(id), Tally { abstain: 200 * GWEI, veto: 700 * GWEI, ..Tally::default() });
    }
    let vote = lab.ok(ALICE, &sol::voteOfCall { id, voter: V3 });
    let record = VoteRecord::from_answer(&vote).unwrap();
    assert_eq!((record.option, record.weight, record.height.get()), (VoteOption::Veto, 700 * GWEI, 1));
    assert_eq!(VoteRecord::from_answer(&lab.ok(ALICE, &sol::voteOfCall { id, voter: V1 })), None);
}

#[test]
fn votes_are_told_with_what_they_replace() {
    let mut lab = Lab::staked();
    let id = lab.text(V1);
    lab.vote(V1, id, VoteOption::No);
    let reason = "I thought again".to_owned();
    lab.ok(V1, &sol::voteCall { id, option: 1, weight: U256::from(5), reason: reason.clone() });
    let want =
        sol::VoteCast { id, voter: V1, option: 1, weight: 5, previousOption: 3, previousWeight: 100 * GWEI, reason };
    assert_eq!(lab.events(), [sol::GovernanceEvents::VoteCast(want)]);
}

#[test]
fn votes_that_do_not_count_are_refused() {
    let mut lab = Lab::staked();
    let id = lab.text(V1);
    let yes = |id| vote_call(id, VoteOption::Yes, U256::ZERO);
    for unknown in [U256::ZERO, U256::from(2), U256::MAX] {
        lab.fails(V1, &yes(unknown), &sol::UnknownProposal { id: unknown });
    }
    lab.fails(ALICE, &yes(id), &sol::NoVotingPower { voter: ALICE, height: 0 });
    for option in [0, 5, 255] {
        let call = sol::voteCall { id, option, weight: U256::ZERO, reason: String::new() };
        lab.fails(V1, &call, &sol::UnknownOption { option });
    }
    let reason = |bytes: usize| sol::voteCall { id, option: 2, weight: U256::ZERO, reason: "x".repeat(bytes) };
    lab.ok(V1, &reason(REASON_BYTES_MAX));
    let maximum = U256::from(REASON_BYTES_MAX);
    let long = sol::TextTooLong { field: "reason".to_owned(), length: maximum + U256::ONE, maximum };
    lab.fails(V1, &reason(REASON_BYTES_MAX + 1), &long);
    lab.pass(lab::PERIOD - 1);
    lab.vote(V1, id, VoteOption::Yes);
    lab.pass(1);
    lab.fails(V1, &yes(id), &sol::VotingClosed { id, endsAt: 1_101 });
    lab.next_block(0);
    lab.fails(V1, &yes(id), &sol::NotActive { id, state: ProposalState::Expired.code() });
}

#[test]
fn where_there_is_no_stake_each_validator_of_genesis_has_one_vote() {
    let mut lab = Lab::without_stake();
    lab.fails(
        V3,
        &sol::proposeTextCall { terms: terms() },
        &sol::NotEnoughWeight { weight: U256::ZERO, minimum: U256::ONE },
    );
    let id = lab.text(V1);
    assert_eq!(lab.proposal(id).total_weight, 3);
    lab.fails(V3, &vote_call(id, VoteOption::Yes, U256::ZERO), &sol::NoVotingPower { voter: V3, height: 0 });
    let two = sol::WeightAbovePower { weight: U256::from(2), power: U256::ONE };
    lab.fails(V2, &vote_call(id, VoteOption::Yes, U256::from(2)), &two);
    assert_eq!(lab.carry(id, &[V1, V2]), ProposalState::Executed);
}

#[test]
fn with_a_contract_of_the_validators_their_weights_are_its() {
    let mut lab = Lab::with_validators_contract();
    let no = |weight: u64| sol::NotEnoughWeight { weight: U256::from(weight), minimum: U256::ONE };
    lab.fails(V3, &sol::proposeTextCall { terms: terms() }, &no(0));
    let id = lab.ok(V1, &sol::proposeValidatorAddCall { terms: terms(), validator: V3, weight: 2 });
    assert_eq!(lab.carry(id, &[V1, V2]), ProposalState::Executed);
    lab.pass(1);
    let id = lab.ok(V3, &sol::proposeValidatorRemoveCall { terms: terms(), validator: V1 });
    assert_eq!(lab.proposal(id).total_weight, 4);
    assert_eq!(lab.carry(id, &[V3, V2]), ProposalState::Executed);
    lab.pass(1);
    lab.fails(V1, &sol::proposeTextCall { terms: terms() }, &no(0));
}

#[test]
fn nothing_takes_value_and_unknown_functions_are_refused() {
    let mut lab = Lab::staked();
    let settings = alloy_sol_types::SolCall::abi_encode(&sol::settingsCall {});
    for (value, input) in [(1_u64, settings.as_slice()), (1, &[]), (0, &[]), (0, &[1, 2, 3, 4])] {
        let result = lab.raw(V1, GOVERNANCE_ADDRESS, U256::from(value), input);
        assert_eq!((result.is_success(), result.output.len()), (false, 0));
    }
}

#[test]
fn the_chain_alone_ends_voting() {
    let mut lab = Lab::staked();
    lab.text(V1);
    lab.pass(lab::PERIOD);
    for caller in [V1, Address::ZERO, crate::system::SYSTEM_ADDRESS, GOVERNANCE_ADDRESS, MODULES_ADDRESS] {
        lab.fails(caller, &sol::endVotingCall {}, &sol::OnlySystem { caller });
    }
}
