//! The end of an epoch: rewards, penalties, ejection.

use super::*;

fn ended(lab: &mut Lab, deltas: &EpochDeltas) -> Vec<(Address, u64)> {
    let updates = lab.system(&end_epoch(7, deltas));
    updates.iter().map(|update| (update.address, update.weight)).collect()
}

fn penalty(validator: Address, amount: U256) -> EpochDeltas {
    EpochDeltas { penalties: vec![(validator, amount)], ejection_percent: 50, ..EpochDeltas::default() }
}

#[test]
fn rewards_are_shared_as_a_block_reward_is_and_penalties_by_the_pool() {
    let mut lab = Lab::new(at_once());
    lab.pay(ALICE, eth(300), &sol::delegateCall { validator: V1 });
    let before = lab.totals();
    let deltas = EpochDeltas {
        rewards: vec![(V1, eth(4)), (V2, eth(1))],
        penalties: vec![(V2, eth(30))],
        ..EpochDeltas::default()
    };
    assert_eq!(ended(&mut lab, &deltas), [(V2, 270_000_000_000)], "rewards are no stake");
    let info = lab.validator(V1);
    assert_eq!((info.commission, info.tokens), (gwei(400_000_000), eth(400)));
    let owed = (info.selfRewards, lab.delegation(ALICE, V1).2);
    assert_eq!(owed, (gwei(900_000_000) - U256::from(1), gwei(2_700_000_000) - U256::from(1)), "rounded down");
    let info = lab.validator(V2);
    assert_eq!((info.tokens, info.commission), (eth(270), gwei(100_000_000)));
    let after = lab.totals();
    assert_eq!((after.minted - before.minted, after.burned, after.rewards - before.rewards), (eth(5), eth(30), eth(5)));
    lab.check_supply();
}

#[test]
fn who_is_tombstoned_or_unknown_earns_nothing_and_nothing_is_minted_for_it() {
    let mut lab = Lab::new(at_once());
    lab.system(&slash(V1, Offence::DoubleVote, lab.block.height, lab.block.timestamp));
    let minted = lab.totals().minted;
    let rewards = vec![(V1, eth(1)), (ALICE, eth(1)), (V2, U256::ZERO)];
    let deltas = EpochDeltas { rewards, penalties: vec![(BOB, eth(1)), (V1, eth(5))], ejection_percent: 100 };
    assert_eq!(ended(&mut lab, &deltas), []);
    assert_eq!((lab.totals().minted, lab.validator(V1).tokens), (minted, eth(90)), "offenders lose, too");
    lab.check_supply();
}

/// The floor is half of the minimum stake of 32.
#[test]
fn a_penalty_to_the_floor_ejects_by_the_exit_queue() {
    let params = StakingParams { min_self_stake: eth(32), ..StakingParams::default() };
    let mut lab = Lab::with_stakes(params, &[(V1, eth(32)), (V2, eth(32)), (V3, eth(32))]).unwrap();
    assert_eq!(ended(&mut lab, &penalty(V1, eth(16) - U256::from(1))), [(V1, 16_000_000_000)]);
    assert_eq!(lab.validator(V1).status, 1, "a wei above the floor");
    // Two others reach the floor before it does. One leaves an epoch, in order.
    lab.ok(V3, &sol::exitCall {});
    let all = EpochDeltas { penalties: vec![(V2, eth(20)), (V1, U256::from(1))], ..penalty(V1, U256::ZERO) };
    assert_eq!(ended(&mut lab, &all), [(V2, 12_000_000_000), (V3, 0)]);
    assert!(lab.events().iter().any(|event| matches!(event, sol::StakingContractEvents::Ejected(ejected)
        if ejected.validator == V1 && ejected.tokens == eth(16))));
    assert_eq!([V1, V2, V3].map(|who| lab.validator(who).status), [2, 2, 4], "they wait in the exit queue, bonded");
    assert_eq!(lab.ok(ALICE, &sol::exitQueueLengthCall {}), U256::from(2));
    lab.fails(V2, U256::ZERO, &sol::exitCall {}, &sol::AlreadyExiting { validator: V2 });
    // Who waits is penalised further, and queued once.
    assert_eq!(ended(&mut lab, &penalty(V1, eth(1))), [(V1, 15_000_000_000), (V2, 0)]);
    assert_eq!(ended(&mut lab, &penalty(V1, eth(1))), [(V1, 0)]);
    assert_eq!(ended(&mut lab, &penalty(V1, eth(1))), []);
    assert_eq!(lab.ok(ALICE, &sol::exitQueueLengthCall {}), U256::ZERO);
    assert_eq!((lab.validator(V1).status, lab.validator(V1).tokens), (4, eth(13)));
    // It may come back with the minimum stake.
    let join = sol::joinCall { commissionBps: 0, maxCommissionBps: 0, maxCommissionChangeBps: 0 };
    lab.pay(V1, eth(20), &join);
    assert_eq!(lab.validator(V1).status, 7);
    lab.check_supply();
}

#[test]
fn only_penalties_eject_and_without_a_queue_at_once() {
    // Validators of genesis may have less than the minimum.
    let params = StakingParams { min_self_stake: eth(32), ..at_once() };
    let mut lab = Lab::with_stakes(params, &[(V1, eth(1)), (V2, eth(40))]).unwrap();
    let rewards = vec![(V1, eth(1)), (V2, eth(1))];
    assert_eq!(ended(&mut lab, &EpochDeltas { rewards, ejection_percent: 50, ..EpochDeltas::default() }), []);
    assert_eq!(ended(&mut lab, &EpochDeltas { ejection_percent: 0, ..penalty(V2, eth(30)) }), [(V2, 10_000_000_000)]);
    assert_eq!(lab.validator(V2).status, 1, "0 percent ejects nobody");
    assert_eq!(ended(&mut lab, &penalty(V2, eth(1))), [(V2, 0)]);
    assert_eq!((lab.validator(V2).status, lab.validator(V1).status), (4, 1));
    // Who is in jail is out of consensus already.
    lab.system(&slash(V1, Offence::Downtime, lab.block.height, lab.block.timestamp));
    assert_eq!(ended(&mut lab, &penalty(V1, gwei(1))), []);
    assert_eq!(lab.validator(V1).status, 3);
    lab.check_supply();
}
