//! Double signing, downtime, unbondings under a slash, age of evidence.

use super::*;
use crate::primitives::{
    Height, Timestamp,
    mutation::{self, Mutation},
};

fn double_sign(lab: &Lab, validator: Address) -> crate::system::SystemCall {
    slash(validator, Offence::DoubleSign, lab.block.height, lab.block.timestamp)
}

#[test]
fn double_signing_slashes_a_twentieth_and_tombstones() {
    let mut lab = Lab::new(at_once());
    lab.pay(ALICE, eth(100), &sol::delegateCall { validator: V1 });
    lab.pass(5);
    let updates = lab.system(&double_sign(&lab, V1));
    assert_eq!(updates.as_slice()[0].weight, 0);
    let info = lab.validator(V1);
    assert_eq!((info.status, info.tokens, info.weight), (6, eth(190), 0));
    assert_eq!((lab.totals().burned, lab.totals().bonded), (eth(10), eth(490)));
    assert_eq!(lab.delegation(ALICE, V1).1, eth(95));
    lab.fails(V1, U256::ZERO, &sol::unjailCall {}, &sol::IsTombstoned { validator: V1 });
    let join = sol::joinCall { commissionBps: 0, maxCommissionBps: 0, maxCommissionChangeBps: 0 };
    lab.fails(V1, eth(9), &join, &sol::IsTombstoned { validator: V1 });
    assert!(lab.system(&double_sign(&lab, V1)).is_empty());
    assert!(matches!(lab.events()[..], [sol::StakingContractEvents::EvidenceIgnored(_)]));
    assert_eq!(lab.totals().burned, eth(10), "once");
    lab.ok(V1, &sol::unstakeCall { amount: U256::MAX });
    lab.pass_time(1, 1_814_400);
    assert_eq!(lab.ok(V1, &sol::withdrawCall {}), eth(95));
    lab.check_supply();
}

/// Unbondings begun before the infraction are untouched, those at its height or later are slashed.
#[test]
fn unbondings_begun_since_the_infraction_are_slashed() {
    let mut lab = Lab::new(at_once());
    let undelegate = |amount| sol::undelegateCall { validator: V1, amount: eth(amount) };
    lab.pay(ALICE, eth(100), &sol::delegateCall { validator: V1 });
    lab.pass(10);
    lab.ok(ALICE, &undelegate(20));
    lab.pass(1);
    let (height, time) = (lab.block.height, lab.block.timestamp);
    lab.ok(ALICE, &undelegate(40));
    lab.pass(1);
    lab.system(&slash(V1, Offence::SurroundVote, height, time));
    assert_eq!(lab.totals().burned, eth(7), "of the pool's 140");
    let amounts: Vec<_> =
        lab.ok(BOB, &sol::unbondingsCall { delegator: ALICE }).iter().map(|entry| entry.amount).collect();
    assert_eq!(amounts, [eth(20), eth(38)]);
    lab.pass_time(1, 1_814_400);
    assert_eq!(lab.ok(ALICE, &sol::withdrawCall {}), eth(58));
    assert_eq!((lab.totals().burned, lab.totals().unbonding), (eth(9), U256::ZERO));
    lab.check_supply();
}

#[test]
fn a_slash_after_the_end_of_an_unbonding_takes_nothing() {
    let mut lab = Lab::new(at_once());
    lab.pay(ALICE, eth(100), &sol::delegateCall { validator: V1 });
    lab.ok(ALICE, &sol::undelegateCall { validator: V1, amount: eth(100) });
    lab.pass_time(1, 1_814_400);
    lab.system(&slash(V1, Offence::DoubleSign, Height::GENESIS, lab.block.timestamp));
    assert_eq!(lab.ok(ALICE, &sol::withdrawCall {}), eth(100));
}

#[test]
fn evidence_is_too_old_only_when_both_ages_are_past() {
    let params =
        StakingParams { evidence_max_age_blocks: 10, evidence_max_age_secs: 100, unbonding_secs: 90, ..at_once() };
    for (blocks, secs, counts) in [(11, 100, true), (10, 101, true), (11, 101, false)] {
        let mut lab = Lab::new(params);
        lab.pass_time(blocks, secs);
        lab.system(&slash(V1, Offence::DoubleVote, Height::GENESIS, Timestamp::from_secs(1_000)));
        assert_eq!(lab.validator(V1).status == 6, counts, "{blocks} blocks, {secs} s");
    }
    let params = StakingParams { unbonding_secs: 200, ..params };
    assert_eq!(params.evidence_age_secs(), 200, "evidence counts as long as stake is locked");
}

/// The height in evidence is what the offender signed: it may be later than the truth.
#[test]
fn own_stake_answers_for_equivocations_whenever_they_were() {
    let mut lab = Lab::new(at_once());
    lab.pay(ALICE, eth(100), &sol::delegateCall { validator: V1 });
    lab.ok(V1, &sol::exitCall {});
    lab.ok(V1, &sol::unstakeCall { amount: U256::MAX });
    lab.ok(ALICE, &sol::undelegateCall { validator: V1, amount: U256::MAX });
    lab.pass(5);
    lab.system(&slash(V1, Offence::DoubleVote, lab.block.height, lab.block.timestamp));
    let owed = |lab: &mut Lab, delegator| lab.ok(ALICE, &sol::unbondingsCall { delegator })[0].amount;
    assert_eq!((owed(&mut lab, V1), owed(&mut lab, ALICE)), (eth(95), eth(100)));
}

#[test]
fn who_equivocated_never_validates_again_though_its_stake_is_free() {
    let shown_late = |offence| {
        let mut lab = Lab::new(at_once());
        lab.ok(V1, &sol::exitCall {});
        lab.pass_time(5, 1_814_400);
        lab.system(&slash(V1, offence, Height::GENESIS, Timestamp::from_secs(1_000)));
        lab.ok(V1, &sol::unstakeCall { amount: U256::MAX });
        assert_eq!(lab.ok(V1, &sol::withdrawCall {}), eth(100), "nothing is slashed");
        assert_eq!(lab.totals().burned, U256::ZERO);
        let join = sol::joinCall { commissionBps: 0, maxCommissionBps: 0, maxCommissionChangeBps: 0 };
        lab.call(V1, eth(100), &join).is_success()
    };
    assert!(!shown_late(Offence::DoubleSign));
    assert!(shown_late(Offence::Downtime), "of absence there is nothing left to punish");
    assert!(mutation::with(Mutation::StakingWastesEvidence, || shown_late(Offence::DoubleSign)));
}

/// A validator left, or is in jail, and the protocol counts on it for another 1,000 seconds. Returns whether it is slashed by evidence, half an unbonding
/// period after the end of the first.
fn slashed_after_its_last_duty(is_jailed: bool, is_absent: bool) -> bool {
    let params = at_once();
    let mut lab = Lab::new(params);
    if is_jailed {
        lab.system(&slash(V1, Offence::Downtime, lab.block.height, lab.block.timestamp));
    } else {
        lab.ok(V1, &sol::exitCall {});
    }
    let left = lab.block.timestamp.as_secs();
    lab.pass_time(5, params.unbonding_secs / 2);
    let duty = if is_absent { begin_block(V2, &[V1]) } else { begin_block(V1, &[]) };
    lab.system(&duty);
    let until = lab.ok(ALICE, &sol::stakeLockedUntilCall { validator: V1 });
    lab.pass_time(5, params.unbonding_secs * 3 / 4);
    assert!(lab.block.timestamp.as_secs() > left + params.unbonding_secs);
    let is_locked = until > lab.block.timestamp.as_secs();
    let before = lab.totals().burned;
    lab.system(&slash(V1, Offence::DoubleSign, lab.block.height, lab.block.timestamp));
    let is_slashed = lab.totals().burned > before;
    assert_eq!(is_locked, is_slashed, "it is slashed where its stake is locked");
    is_slashed
}

#[test]
fn stake_is_locked_for_the_unbonding_period_after_the_last_duty() {
    for is_jailed in [true, false] {
        for is_absent in [false, true] {
            assert!(slashed_after_its_last_duty(is_jailed, is_absent), "it is in office");
            let slashed =
                mutation::with(Mutation::StakingFreesOnDuty, || slashed_after_its_last_duty(is_jailed, is_absent));
            assert!(!slashed, "by the time of its exit alone it is free");
        }
    }
}

/// A validator leaves, and undelegates all of its stake in the same block, as does one of its delegators; it has duties until it could withdraw, and then signs
/// twice. Returns what both can withdraw in the end.
fn withdrawn_after_duties() -> (U256, U256) {
    let params = at_once();
    let mut lab = Lab::new(params);
    lab.pay(ALICE, eth(100), &sol::delegateCall { validator: V1 });
    lab.ok(V1, &sol::exitCall {});
    lab.ok(V1, &sol::unstakeCall { amount: U256::MAX });
    lab.ok(ALICE, &sol::undelegateCall { validator: V1, amount: U256::MAX });
    for _ in 0..4 {
        lab.pass_time(5, params.unbonding_secs / 4);
        lab.system(&begin_block(V1, &[]));
    }
    let paid = |lab: &mut Lab, who| -> U256 {
        let result = lab.call(who, U256::ZERO, &sol::withdrawCall {});
        if result.is_success() { U256::from_be_slice(&result.output) } else { U256::ZERO }
    };
    let (mut own, delegated) = (paid(&mut lab, V1), paid(&mut lab, ALICE));
    lab.system(&slash(V1, Offence::DoubleSign, lab.block.height, lab.block.timestamp));
    lab.pass_time(5, params.unbonding_secs);
    own += paid(&mut lab, V1);
    (own, delegated)
}

#[test]
fn what_a_validator_undelegates_of_its_own_stake_answers_until_its_last_duty_is_past() {
    assert_eq!(withdrawn_after_duties(), (eth(95), eth(100)));
    assert_eq!(mutation::with(Mutation::StakingFreesOnDuty, withdrawn_after_duties), (eth(100), eth(100)));
}

fn replace_set(lab: &mut Lab, members: &[Address]) {
    lab.system(&elect_set(members));
    lab.system(&begin_set());
}

/// A validator leaves, or is in jail, while the protocol's set has it for twice the unbonding period more, or for good; returns whether its stake
/// is free then, and whether it gets all of it though it signed twice.
fn member_for_long(is_jailed: bool, is_replaced: bool) -> (bool, bool) {
    let params = at_once();
    let mut lab = Lab::new(params);
    lab.pass(1);
    replace_set(&mut lab, &[V1, V2, V3]);
    if is_jailed {
        lab.system(&slash(V1, Offence::Downtime, lab.block.height, lab.block.timestamp));
    } else {
        lab.ok(V1, &sol::exitCall {});
        lab.ok(V1, &sol::unstakeCall { amount: U256::MAX });
    }
    lab.pass_time(5, params.unbonding_secs * 2);
    lab.system(&begin_block(V2, &[]));
    if is_replaced {
        replace_set(&mut lab, &[V2, V3]);
        lab.pass_time(5, params.unbonding_secs - 1);
    }
    let is_free = lab.ok(ALICE, &sol::stakeLockedUntilCall { validator: V1 }) <= lab.block.timestamp.as_secs();
    lab.system(&slash(V1, Offence::DoubleSign, lab.block.height, lab.block.timestamp));
    let withdrawn = lab.call(V1, U256::ZERO, &sol::withdrawCall {});
    let whole = withdrawn.is_success() && U256::from_be_slice(&withdrawn.output) == eth(100);
    (is_free, whole)
}

#[test]
fn stake_is_locked_while_the_protocols_set_has_the_validator_and_for_the_unbonding_period_after() {
    for (is_jailed, is_replaced) in [(false, false), (false, true), (true, false), (true, true)] {
        let locked = || member_for_long(is_jailed, is_replaced);
        assert_eq!(locked(), (false, false));
        assert_eq!(mutation::with(Mutation::StakingFreesMembers, locked), (true, !is_jailed));
    }
}

#[test]
fn each_set_ends_the_duties_of_those_before_it_alone() {
    let params = at_once();
    let mut lab = Lab::new(params);
    let locked = |lab: &mut Lab, validator| lab.ok(ALICE, &sol::stakeLockedUntilCall { validator });
    // A protocol that names no sets: the time of exit counts.
    let mut other = Lab::new(params);
    other.pass(1);
    other.ok(V1, &sol::exitCall {});
    assert_eq!(locked(&mut other, V1), other.block.timestamp.as_secs() + params.unbonding_secs);
    lab.pass(1);
    replace_set(&mut lab, &[V1, V2, V3]);
    lab.ok(V1, &sol::exitCall {});
    assert_eq!(locked(&mut lab, V1), u64::MAX);
    lab.pass(7);
    replace_set(&mut lab, &[V2]);
    let released = lab.block.timestamp.as_secs() + params.unbonding_secs;
    assert_eq!(locked(&mut lab, V1), released);
    // Later sets don't move that.
    lab.pass(7);
    replace_set(&mut lab, &[V2, V3]);
    assert_eq!(locked(&mut lab, V1), released);
    // Who joined and left before any set had it waits from its exit on.
    lab.pay(BOB, eth(50), &sol::joinCall { commissionBps: 0, maxCommissionBps: 0, maxCommissionChangeBps: 0 });
    lab.ok(BOB, &sol::exitCall {});
    assert_eq!(locked(&mut lab, BOB), lab.block.timestamp.as_secs() + params.unbonding_secs);
}

/// Returns for how long the stake is locked of one who is elected and leaves: after an unbonding period, once its set is in force, and once another is.
fn elected_and_gone() -> [u64; 3] {
    let params = at_once();
    let mut lab = Lab::new(params);
    let left_until_free = |lab: &mut Lab| {
        let until = lab.ok(ALICE, &sol::stakeLockedUntilCall { validator: V2 });
        until.saturating_sub(lab.block.timestamp.as_secs())
    };
    lab.pass(1);
    replace_set(&mut lab, &[V1]);
    lab.system(&elect_set(&[V1, V2]));
    lab.ok(V2, &sol::exitCall {});
    lab.pass_time(5, params.unbonding_secs);
    let waiting = left_until_free(&mut lab);
    lab.system(&begin_set());
    lab.pass_time(5, params.unbonding_secs);
    let in_force = left_until_free(&mut lab);
    replace_set(&mut lab, &[V1]);
    [waiting, in_force, left_until_free(&mut lab)]
}

#[test]
fn who_is_elected_is_locked_before_its_set_is_in_force() {
    let params = at_once();
    let [waiting, in_force, released] = elected_and_gone();
    assert!(waiting > params.unbonding_secs && in_force > params.unbonding_secs, "{waiting}, {in_force}");
    assert_eq!(released, params.unbonding_secs);
    let [waiting, in_force, _] = mutation::with(Mutation::StakingFreesElected, elected_and_gone);
    assert!(waiting == 0 && in_force > params.unbonding_secs, "{waiting}, {in_force}");
}

#[test]
fn who_is_named_at_the_end_of_an_epoch_had_duties_in_it_even_for_nothing() {
    let params = at_once();
    for is_rewarded in [true, false] {
        let mut lab = Lab::new(params);
        lab.ok(V1, &sol::exitCall {});
        lab.pass_time(5, params.unbonding_secs - 1);
        let named = vec![(V1, U256::ZERO)];
        let (rewards, penalties) = if is_rewarded { (named, Vec::new()) } else { (Vec::new(), named) };
        lab.system(&end_epoch(1, &EpochDeltas { rewards, penalties, ejection_percent: 50 }));
        let until = lab.ok(ALICE, &sol::stakeLockedUntilCall { validator: V1 });
        assert_eq!(until, lab.block.timestamp.as_secs() + params.unbonding_secs);
    }
}

#[test]
fn duties_change_nothing_for_who_is_in_consensus_unknown_or_tombstoned() {
    let mut lab = Lab::new(at_once());
    let locked = |lab: &mut Lab, validator| lab.ok(ALICE, &sol::stakeLockedUntilCall { validator });
    assert_eq!((locked(&mut lab, V1), locked(&mut lab, ALICE)), (u64::MAX, 0));
    lab.system(&slash(V1, Offence::DoubleSign, lab.block.height, lab.block.timestamp));
    let until = locked(&mut lab, V1);
    lab.pass_time(5, 1_000);
    lab.system(&begin_block(V1, &[V1, ALICE, V2]));
    assert_eq!((locked(&mut lab, V1), locked(&mut lab, ALICE), locked(&mut lab, V2)), (until, 0, u64::MAX));
}

/// Over a window of 100 blocks, 50 absences are few enough and 51 are not.
#[test]
fn downtime_jails_at_the_fifty_first_absence() {
    let mut lab = Lab::new(at_once());
    lab.pass(100);
    for _ in 0..50 {
        lab.pass(1);
        assert!(lab.system(&begin_block(V2, &[V1])).is_empty());
    }
    assert_eq!(lab.validator(V1).missedBlocks, 50);
    lab.pass(1);
    assert_eq!(lab.system(&begin_block(V2, &[V1])).as_slice()[0].weight, 0);
    let info = lab.validator(V1);
    assert_eq!((info.status, info.tokens, info.missedBlocks), (3, eth(99), 0));
    let until = lab.block.timestamp.as_secs() + 600;
    assert_eq!(info.jailedUntil, until);
    lab.fails(V1, U256::ZERO, &sol::unjailCall {}, &sol::JailedUntil { until });
    lab.pass(600);
    lab.ok(V1, &sol::unjailCall {});
    assert_eq!(lab.updates().as_slice()[0].weight, 99_000_000_000);
    lab.fails(V1, U256::ZERO, &sol::unjailCall {}, &sol::NotJailed { validator: V1 });
    lab.check_supply();
}

#[test]
fn no_validator_is_jailed_in_the_first_window_after_joining_or_jail() {
    let mut lab = Lab::new(at_once());
    for _ in 0..100 {
        lab.pass(1);
        assert!(lab.system(&begin_block(V2, &[V1])).is_empty());
    }
    assert_eq!(lab.validator(V1).missedBlocks, 100);
    lab.pass(1);
    assert!(!lab.system(&begin_block(V2, &[V1])).is_empty());
    lab.pass(600);
    lab.ok(V1, &sol::unjailCall {});
    for _ in 0..100 {
        lab.pass(1);
        assert!(lab.system(&begin_block(V2, &[V1])).is_empty());
    }
}

#[test]
fn absences_expire_and_duplicates_count_once() {
    let mut lab = Lab::new(StakingParams { downtime_window: 10, ..at_once() });
    lab.pass(1);
    lab.system(&begin_block(V2, &[V1, V1]));
    assert_eq!(lab.validator(V1).missedBlocks, 1);
    lab.pass(9);
    assert_eq!(lab.validator(V1).missedBlocks, 1);
    lab.pass(1);
    assert_eq!(lab.validator(V1).missedBlocks, 0);
    lab.pass(1_000);
    lab.system(&begin_block(V2, &[V1]));
    assert_eq!(lab.validator(V1).missedBlocks, 1);
}

/// However many blocks others make between them.
#[test]
fn where_validators_have_turns_the_window_is_of_their_own() {
    let mut lab = Lab::new(StakingParams { downtime_window: 4, ..at_once() });
    let turn = |lab: &mut Lab, proposer, absent: &[Address]| {
        lab.pass(1);
        lab.system(&begin_turn(proposer, absent)).as_slice().len()
    };
    let misses_one_of_ten = |lab: &mut Lab| (0..9).map(|_| turn(lab, V2, &[])).sum::<usize>() + turn(lab, V2, &[V1]);
    assert_eq!((misses_one_of_ten(&mut lab), misses_one_of_ten(&mut lab)), (0, 0));
    assert_eq!(lab.validator(V1).missedBlocks, 2);
    // Its own turns push them out of the window.
    for missed in [2, 2, 1, 0] {
        turn(&mut lab, V1, &[]);
        assert_eq!(lab.validator(V1).missedBlocks, missed);
    }
    assert_eq!((0..2).map(|_| misses_one_of_ten(&mut lab)).sum::<usize>(), 0);
    turn(&mut lab, V1, &[]);
    assert_eq!((lab.validator(V1).missedBlocks, misses_one_of_ten(&mut lab)), (2, 1));
    let info = lab.validator(V1);
    assert_eq!((info.status, info.tokens, info.missedBlocks), (3, eth(99), 0));
    lab.check_supply();
}

#[test]
fn penalties_reach_tombstoned_validators_and_are_capped_by_the_pool() {
    let mut lab = Lab::new(at_once());
    lab.system(&double_sign(&lab, V1));
    let updates = lab.system(&penalize(&[(V1, eth(5)), (V2, eth(1)), (ALICE, eth(1)), (V2, U256::MAX)]));
    assert_eq!(updates.as_slice().iter().map(|update| update.weight).collect::<Vec<_>>(), [0]);
    assert_eq!((lab.validator(V1).tokens, lab.validator(V2).tokens), (eth(90), U256::ZERO));
    assert_eq!(lab.totals().burned, eth(5 + 5 + 300));
    lab.check_supply();
}
