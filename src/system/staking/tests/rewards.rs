//! Block rewards, commission, fees.

use super::*;

/// Reward of 1 token, commission 10 %.
fn lab() -> Lab {
    Lab::new(StakingParams { block_reward: eth(1), ..at_once() })
}

fn claim(validator: Address) -> sol::claimRewardsCall {
    sol::claimRewardsCall { validator }
}

#[test]
fn a_block_pays_commission_and_the_pool_pro_rata() {
    let mut lab = lab();
    lab.pay(ALICE, eth(200), &sol::delegateCall { validator: V1 });
    assert!(lab.system(&begin_block(V1, &[])).is_empty());
    let info = lab.validator(V1);
    assert_eq!((info.commission, info.selfRewards), (eth(1) / U256::from(10), gwei(300_000_000) - U256::from(1)));
    let alice = gwei(600_000_000) - U256::from(1);
    assert_eq!(lab.delegation(ALICE, V1).2, alice, "two thirds of what is left, rounded down");
    assert_eq!(lab.ok(ALICE, &claim(V1)), alice);
    lab.fails(ALICE, U256::ZERO, &claim(V1), &sol::NothingToClaim {});
    assert_eq!(lab.ok(V1, &sol::claimCommissionCall {}), gwei(100_000_000));
    lab.fails(V1, U256::ZERO, &sol::claimCommissionCall {}, &sol::NothingToClaim {});
    lab.ok(V1, &claim(V1));
    let totals = lab.totals();
    assert_eq!((totals.minted, totals.rewards), (eth(1), U256::from(2)), "rounding's dust stays");
    lab.check_supply();
}

#[test]
fn a_later_delegation_has_no_part_in_earlier_rewards() {
    let mut lab = lab();
    lab.system(&begin_block(V1, &[]));
    lab.pay(ALICE, eth(100), &sol::delegateCall { validator: V1 });
    assert_eq!(lab.delegation(ALICE, V1).2, U256::ZERO);
    lab.system(&begin_block(V1, &[]));
    let half = gwei(450_000_000) - U256::from(1);
    assert_eq!(lab.delegation(ALICE, V1).2, half);
    lab.ok(ALICE, &sol::undelegateCall { validator: V1, amount: U256::MAX });
    lab.system(&begin_block(V1, &[]));
    assert_eq!(lab.delegation(ALICE, V1).2, half, "settled when it left, and kept");
    assert_eq!(lab.ok(ALICE, &claim(V1)), half);
    lab.check_supply();
}

#[test]
fn slashing_leaves_rewards_alone() {
    let mut lab = lab();
    lab.system(&begin_block(V1, &[]));
    lab.system(&penalize(&[(V1, eth(50))]));
    assert_eq!(lab.delegation(V1, V1).2, gwei(900_000_000) - U256::from(1));
}

#[test]
fn fees_of_the_contract_go_to_the_previous_proposer() {
    let mut lab = lab();
    lab.system(&begin_block(V1, &[]));
    let before = lab.totals().rewards;
    assert!(lab.call_raw(ALICE, eth(3), &[]).is_success());
    lab.system(&begin_block(V2, &[]));
    assert_eq!(lab.validator(V1).commission, gwei(400_000_000));
    assert_eq!(lab.totals().rewards - before, eth(4));
    assert_eq!(lab.totals().minted, eth(2));
    lab.check_supply();
}

#[test]
fn a_block_of_an_unknown_proposer_pays_no_reward() {
    let mut lab = lab();
    lab.system(&begin_block(ALICE, &[BOB]));
    lab.system(&slash(V1, Offence::DoubleSign, lab.block.height, lab.block.timestamp));
    lab.system(&begin_block(V1, &[]));
    assert_eq!(lab.totals().minted, U256::ZERO);
    lab.check_supply();
}
