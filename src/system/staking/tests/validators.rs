//! Joining, commission, jail, leaving, the exit queue.

use super::*;
use crate::{
    primitives::mutation::{self, Mutation},
    system::ValidatorUpdate,
};

fn weight(address: Address, weight: u64) -> [ValidatorUpdate; 1] {
    [ValidatorUpdate { address, weight }]
}

fn join() -> sol::joinCall {
    sol::joinCall { commissionBps: 500, maxCommissionBps: 2_000, maxCommissionChangeBps: 100 }
}

#[test]
fn genesis_validators_are_bonded_with_their_stakes() {
    let mut lab = Lab::new(at_once());
    assert_eq!(lab.ok(ALICE, &sol::validatorCountCall {}), U256::from(2));
    let page = lab.ok(ALICE, &sol::validatorsCall { from: U256::ZERO, count: U256::from(9) });
    assert_eq!(page.iter().map(|info| info.validator).collect::<Vec<_>>(), [V1, V2]);
    let info = lab.validator(V1);
    assert_eq!((info.status, info.weight, info.tokens, info.shares), (1, 100_000_000_000, eth(100), eth(100)));
    assert_eq!((info.selfStake, info.commissionBps), (eth(100), 1_000));
    assert_eq!(lab.totals().bonded, eth(400));
    assert_eq!(lab.balance(STAKING_ADDRESS), eth(400));
    assert_eq!(StakingParams::from(lab.ok(ALICE, &sol::paramsCall {})), at_once());
    lab.check_supply();
}

#[test]
fn a_joined_validator_has_the_weight_of_its_stake() {
    let mut lab = Lab::new(at_once());
    lab.pay(V3, eth(5) + U256::from(999_999_999), &join());
    assert_eq!(lab.updates().as_slice(), weight(V3, 5_000_000_000));
    let info = lab.validator(V3);
    assert_eq!((info.status, info.weight, info.commissionBps), (1, 5_000_000_000, 500));
    lab.fails(V3, eth(5), &join(), &sol::AlreadyValidator { validator: V3 });
    lab.pay(V3, gwei(1), &sol::stakeCall {});
    assert_eq!(lab.updates().as_slice(), weight(V3, 5_000_000_001));
    lab.check_supply();
}

#[test]
fn a_commission_changes_within_bounds_and_once_a_day() {
    let mut lab = Lab::new(at_once());
    lab.pay(V3, eth(1), &join());
    let set = |bps| sol::setCommissionCall { commissionBps: bps };
    lab.fails(V3, U256::ZERO, &set(2_001), &sol::CommissionTooHigh { commissionBps: 2_001, maximum: 2_000 });
    lab.fails(V3, U256::ZERO, &set(601), &sol::CommissionChangeTooLarge { changeBps: 101, maximum: 100 });
    lab.fails(V3, U256::ZERO, &set(600), &sol::CommissionChangedRecently { earliest: 87_400 });
    lab.pass_time(1, 86_400);
    lab.ok(V3, &set(600));
    lab.pass_time(1, 86_400);
    lab.ok(V3, &set(0));
    assert_eq!(lab.validator(V3).commissionBps, 0, "down by more than the bound, which is for rises");
    lab.fails(ALICE, U256::ZERO, &set(0), &sol::UnknownValidator { validator: ALICE });
}

#[test]
fn leaving_without_a_queue_is_at_once_and_rejoining_possible() {
    let mut lab = Lab::new(at_once());
    lab.fails(
        V1,
        U256::ZERO,
        &sol::unstakeCall { amount: U256::MAX },
        &sol::SelfStakeTooLow { selfStake: U256::ZERO, minimum: eth(1) },
    );
    lab.ok(V1, &sol::exitCall {});
    assert_eq!(lab.updates().as_slice(), weight(V1, 0));
    assert_eq!(lab.validator(V1).status, 4);
    lab.fails(V1, U256::ZERO, &sol::exitCall {}, &sol::AlreadyExiting { validator: V1 });
    lab.fails(ALICE, eth(1), &sol::delegateCall { validator: V1 }, &sol::NotAccepting { validator: V1 });
    lab.pass_time(10, 1_814_399);
    assert_eq!(lab.validator(V1).status, 4);
    lab.pass_time(1, 1);
    assert_eq!(lab.validator(V1).status, 5);
    lab.ok(V1, &sol::unstakeCall { amount: U256::MAX });
    assert_eq!(lab.ok(ALICE, &sol::validatorCountCall {}), U256::from(1), "nobody has a share: off the list");
    assert_eq!(lab.ok(V1, &sol::withdrawCall {}), eth(100), "its waiting began when it left");
    lab.pay(V1, eth(7), &join());
    assert_eq!(lab.updates().as_slice(), weight(V1, 7_000_000_000));
    assert_eq!(lab.ok(ALICE, &sol::validatorCountCall {}), U256::from(2));
    lab.check_supply();
}

#[test]
fn by_default_queues_release_one_validator_an_epoch() {
    let churn = |params: StakingParams| [4, 63, 64, 1_000].map(|active| churn_limit(params.churn_limit, active));
    assert_eq!(churn(StakingParams::default()), [1, 1, 2, 31]);
    assert_eq!(mutation::with(Mutation::StakingHasNoQueues, || StakingParams::default().churn_limit), 0);
}

#[test]
fn the_exit_queue_releases_the_churn_limit_per_epoch() {
    let params = StakingParams { churn_limit: 1, ..StakingParams::default() };
    let mut lab = Lab::with_stakes(params, &[(V1, eth(1)), (V2, eth(2)), (V3, eth(3))]).unwrap();
    for validator in [V2, V1] {
        lab.ok(validator, &sol::exitCall {});
        assert!(lab.updates().is_empty());
        assert_eq!((lab.validator(validator).status, lab.validator(validator).weight > 0), (2, true));
    }
    lab.fails(V2, U256::ZERO, &sol::exitCall {}, &sol::AlreadyExiting { validator: V2 });
    assert_eq!(lab.ok(ALICE, &sol::exitQueueLengthCall {}), U256::from(2));
    assert_eq!(lab.system(&end_epoch(1, &EpochDeltas::default())).as_slice(), weight(V2, 0));
    assert_eq!(lab.system(&end_epoch(2, &EpochDeltas::default())).as_slice(), weight(V1, 0));
    assert!(lab.system(&end_epoch(3, &EpochDeltas::default())).is_empty());
    assert_eq!(lab.validator(V3).status, 1);
}

#[test]
fn the_activation_queue_admits_the_churn_limit_per_epoch() {
    let params = StakingParams { churn_limit: 1, downtime_jail_secs: 1, ..StakingParams::default() };
    let mut lab = Lab::with_stakes(params, &[(V1, eth(1))]).unwrap();
    for validator in [V3, V2] {
        lab.pay(validator, eth(2), &join());
        assert!(lab.updates().is_empty());
        assert_eq!((lab.validator(validator).status, lab.validator(validator).weight), (7, 0));
    }
    assert_eq!(lab.ok(ALICE, &sol::activationQueueLengthCall {}), U256::from(2));
    lab.fails(V2, eth(1), &join(), &sol::AlreadyValidator { validator: V2 });
    assert_eq!(lab.system(&end_epoch(1, &EpochDeltas::default())).as_slice(), weight(V3, 2_000_000_000));
    // Who leaves the queue is passed over.
    lab.ok(V2, &sol::exitCall {});
    assert!(lab.system(&end_epoch(2, &EpochDeltas::default())).is_empty());
    assert_eq!((lab.validator(V3).status, lab.validator(V2).status), (1, 4));
    // Who returns from jail waits like one that joins.
    lab.system(&slash(V3, Offence::Downtime, lab.block.height, lab.block.timestamp));
    lab.pass(2);
    lab.ok(V3, &sol::unjailCall {});
    assert!(lab.updates().is_empty());
    assert_eq!(lab.system(&end_epoch(3, &EpochDeltas::default())).as_slice().len(), 1);
    assert_eq!(lab.validator(V3).status, 1);
    lab.check_supply();
}

#[test]
fn the_churn_limit_grows_with_the_set() {
    for (least, active, want) in [(1, 4, 1), (1, 63, 1), (1, 64, 2), (1, 320, 10), (4, 100, 4), (4, 160, 5)] {
        assert_eq!(churn_limit(least, active), want, "{active} validators");
    }
}

#[test]
fn a_queued_validator_that_is_tombstoned_leaves_once() {
    let params = StakingParams { churn_limit: 4, ..StakingParams::default() };
    let mut lab = Lab::new(params);
    lab.ok(V1, &sol::exitCall {});
    lab.system(&slash(V1, Offence::DoubleSign, lab.block.height, lab.block.timestamp));
    assert!(lab.system(&end_epoch(1, &EpochDeltas::default())).is_empty());
    assert_eq!(lab.validator(V1).status, 6);
    lab.pay(V3, eth(1), &join());
}

#[test]
fn the_number_of_validators_is_bounded() {
    let mut lab = Lab::new(StakingParams { max_validators: 2, ..at_once() });
    lab.fails(V3, eth(1), &join(), &sol::TooManyValidators { maximum: U256::from(2) });
    lab.ok(V1, &sol::exitCall {});
    lab.pay(V3, eth(1), &join());
    let page = lab.ok(ALICE, &sol::validatorsCall { from: U256::ZERO, count: U256::from(9) });
    assert_eq!(page.len(), 3, "one that left is listed while there are shares in it");
}

#[test]
fn genesis_refuses_invalid_stakes() {
    for stakes in [vec![(V1, eth(1)), (V1, eth(1))], vec![(V1, U256::ZERO)], vec![(V1, gwei(1) - U256::from(1))]] {
        assert!(Lab::with_stakes(StakingParams::default(), &stakes).is_err(), "{stakes:?}");
    }
    assert!(Lab::with_stakes(StakingParams::default(), &[(V1, gwei(1))]).is_ok());
    let params = StakingParams { downtime_window: 300, ..StakingParams::default() };
    assert!(Lab::with_stakes(params, &[(V1, eth(1))]).is_err());
}
