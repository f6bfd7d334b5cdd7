//! Shares, unbonding, withdrawing.

use super::*;

fn delegate(validator: Address) -> sol::delegateCall {
    sol::delegateCall { validator }
}

fn undelegate(validator: Address, amount: U256) -> sol::undelegateCall {
    sol::undelegateCall { validator, amount }
}

#[test]
fn stake_goes_in_and_comes_out_after_the_unbonding_period() {
    let mut lab = Lab::new(at_once());
    lab.pay(ALICE, eth(50), &delegate(V1));
    assert_eq!(lab.validator(V1).weight, 150_000_000_000);
    lab.pass(10);
    lab.ok(ALICE, &undelegate(V1, eth(20)));
    assert_eq!(lab.updates().as_slice()[0].weight, 130_000_000_000);
    assert_eq!((lab.totals().bonded, lab.totals().unbonding), (eth(430), eth(20)));
    lab.fails(
        ALICE,
        U256::ZERO,
        &sol::withdrawCall {},
        &sol::NothingToWithdraw { completesAt: 1_000 + 10 + 1_814_400 },
    );
    lab.pass_time(1, 1_814_399);
    lab.fails(ALICE, U256::ZERO, &sol::withdrawCall {}, &sol::NothingToWithdraw { completesAt: 1_815_410 });
    lab.pass_time(1, 1);
    assert_eq!(lab.ok(ALICE, &sol::withdrawCall {}), eth(20));
    lab.fails(ALICE, U256::ZERO, &sol::withdrawCall {}, &sol::NothingToWithdraw { completesAt: 0 });
    assert_eq!(lab.delegation(ALICE, V1), (eth(30), eth(30), U256::ZERO));
    lab.check_supply();
}

/// After a slash of a tenth, a share is worth nine tenths: 9 tokens buy 10 shares.
#[test]
fn shares_follow_the_pool() {
    let mut lab = Lab::new(at_once());
    lab.system(&penalize(&[(V1, eth(10))]));
    lab.pay(ALICE, eth(9), &delegate(V1));
    assert_eq!(lab.delegation(ALICE, V1), (eth(10), eth(9), U256::ZERO));
    assert_eq!(lab.delegation(V1, V1).1, eth(90));
    lab.check_supply();
}

#[test]
fn rounding_stays_in_the_pool() {
    let mut lab = Lab::new(StakingParams { min_delegation: U256::from(1), ..at_once() });
    lab.system(&penalize(&[(V1, eth(100) / U256::from(3))]));
    lab.pay(ALICE, U256::from(1_000), &delegate(V1));
    let (shares, worth, _) = lab.delegation(ALICE, V1);
    assert_eq!((shares, worth), (U256::from(1_499), U256::from(999)));
    lab.ok(ALICE, &undelegate(V1, U256::from(1)));
    assert_eq!(lab.delegation(ALICE, V1).0, U256::from(1_497), "two shares for one unit: rounded up");
    lab.ok(ALICE, &undelegate(V1, U256::MAX));
    assert_eq!(lab.delegation(ALICE, V1), (U256::ZERO, U256::ZERO, U256::ZERO));
    lab.check_supply();
}

#[test]
fn all_is_undelegated_by_the_maximum_or_by_its_worth() {
    let mut lab = Lab::new(at_once());
    for amount in [U256::MAX, eth(5)] {
        lab.pay(ALICE, eth(5), &delegate(V1));
        lab.ok(ALICE, &undelegate(V1, amount));
        assert_eq!(lab.delegation(ALICE, V1).0, U256::ZERO);
    }
    let error = sol::InsufficientDelegation { worth: U256::ZERO, wanted: eth(1) };
    lab.fails(ALICE, U256::ZERO, &undelegate(V1, eth(1)), &error);
    lab.fails(ALICE, U256::ZERO, &undelegate(V1, U256::ZERO), &sol::ZeroAmount {});
    lab.pay(BOB, eth(5), &delegate(V1));
    let error = sol::InsufficientDelegation { worth: eth(5), wanted: eth(6) };
    lab.fails(BOB, U256::ZERO, &undelegate(V1, eth(6)), &error);
}

#[test]
fn unbondings_are_bounded_and_partly_withdrawn() {
    let mut lab = Lab::new(at_once());
    lab.pay(ALICE, eth(50), &delegate(V1));
    for _ in 0..UNBONDINGS_MAX {
        lab.ok(ALICE, &undelegate(V1, eth(1)));
        lab.pass(1);
    }
    let error = sol::TooManyUnbondings { maximum: U256::from(UNBONDINGS_MAX) };
    lab.fails(ALICE, U256::ZERO, &undelegate(V1, eth(1)), &error);
    lab.pass_time(1, 1_814_400 - 32 + 9);
    assert_eq!(lab.ok(ALICE, &sol::withdrawCall {}), eth(10));
    let left = lab.ok(BOB, &sol::unbondingsCall { delegator: ALICE });
    assert_eq!(left.len(), 22);
    assert!(left.iter().all(|unbonding| unbonding.amount == eth(1)));
    lab.ok(ALICE, &undelegate(V1, eth(1)));
    lab.check_supply();
}

#[test]
fn a_pool_slashed_to_nothing_sells_no_shares() {
    let mut lab = Lab::new(at_once());
    lab.system(&penalize(&[(V1, U256::MAX)]));
    assert_eq!((lab.validator(V1).weight, lab.totals().burned), (0, eth(100)));
    lab.fails(ALICE, eth(1), &delegate(V1), &sol::PoolEmpty { validator: V1 });
    lab.check_supply();
}
