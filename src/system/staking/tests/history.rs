//! Weights by height, and what they cost.

use super::*;
use crate::system::address::GOVERNANCE_ADDRESS;

fn weight_at(lab: &mut Lab, validator: Address, height: u64) -> u128 {
    lab.ok(BOB, &sol::weightAtCall { validator, height })
}

fn total_at(lab: &mut Lab, height: u64) -> u128 {
    lab.ok(BOB, &sol::totalWeightAtCall { height })
}

fn governed() -> Lab {
    Lab::with_governance(at_once(), &[(V1, eth(100)), (V2, eth(300))])
}

const TOKEN: u128 = 1_000_000_000;

#[test]
fn weights_are_those_at_the_end_of_a_block() {
    let mut lab = governed();
    lab.pass(1);
    lab.pay(ALICE, eth(1), &sol::delegateCall { validator: V1 });
    lab.pay(ALICE, eth(1), &sol::delegateCall { validator: V1 });
    lab.pass(4);
    lab.ok(V2, &sol::exitCall {});
    let error = sol::HeightNotPast { height: 5, current: 5 };
    lab.fails(BOB, U256::ZERO, &sol::weightAtCall { validator: V1, height: 5 }, &error);
    lab.fails(BOB, U256::ZERO, &sol::totalWeightAtCall { height: 5 }, &error);
    lab.pass(1);
    let v1 = [0, 1, 4, 5].map(|height| weight_at(&mut lab, V1, height) / TOKEN);
    let v2 = [0, 1, 4, 5].map(|height| weight_at(&mut lab, V2, height) / TOKEN);
    let all = [0, 1, 4, 5].map(|height| total_at(&mut lab, height) / TOKEN);
    assert_eq!((v1, v2, all), ([100, 102, 102, 102], [300, 300, 300, 0], [400, 402, 402, 102]));
    assert_eq!(weight_at(&mut lab, ALICE, 5), 0);
}

#[test]
fn a_chain_without_governance_keeps_none() {
    let mut lab = Lab::new(at_once());
    lab.pass(1);
    lab.fails(BOB, U256::ZERO, &sol::weightAtCall { validator: V1, height: 0 }, &sol::NoHistory {});
    lab.fails(BOB, U256::ZERO, &sol::totalWeightAtCall { height: 0 }, &sol::NoHistory {});
    lab.pay(ALICE, eth(1), &sol::delegateCall { validator: V1 });
    let slots = |lab: &Lab| lab.journal.clone().take_changes().accounts[&STAKING_ADDRESS].storage.len();
    let mut kept = governed();
    kept.pass(1);
    kept.pay(ALICE, eth(1), &sol::delegateCall { validator: V1 });
    // Length and two checkpoints of V1 and of the sum, length and one of V2.
    assert_eq!(slots(&kept), slots(&lab) + 3 + 3 + 2);
}

/// A block whose weights could not be kept would be invalid.
#[test]
fn heights_that_begin_anew_stop_nothing() {
    let mut lab = governed();
    lab.pass(9);
    lab.pay(ALICE, eth(1), &sol::delegateCall { validator: V1 });
    lab.block.height = crate::primitives::Height::new(2);
    lab.pay(ALICE, eth(1), &sol::delegateCall { validator: V1 });
    lab.system(&penalize(&[(V2, eth(1))]));
    lab.pass(9);
    assert_eq!((weight_at(&mut lab, V1, 9), total_at(&mut lab, 9)), (102 * TOKEN, 401 * TOKEN));
}

/// Changes of parameters and a validator that joins later keep the flag.
#[test]
fn weights_of_those_that_join_later_are_kept() {
    let mut lab = governed();
    lab.pass(1);
    let call = sol::setParameterCall { parameter: 6, value: U256::from(9) };
    lab.ok(crate::system::address::PARAMETERS_ADDRESS, &call);
    assert_eq!(lab.ok(BOB, &sol::paramsCall {}).genesisCommissionBps, 1_000);
    lab.pay(V3, eth(5), &sol::joinCall { commissionBps: 0, maxCommissionBps: 0, maxCommissionChangeBps: 0 });
    lab.pass(1);
    assert_eq!((weight_at(&mut lab, V3, 0), weight_at(&mut lab, V3, 1)), (0, 5 * TOKEN));
    assert_eq!(total_at(&mut lab, 1), 405 * TOKEN);
}

#[test]
fn governance_alone_removes_a_validator_that_is_not_the_last() {
    let mut lab = governed();
    lab.pass(1);
    let remove = |validator| sol::removeValidatorCall { validator };
    for caller in [V2, BOB, STAKING_ADDRESS] {
        lab.fails(caller, U256::ZERO, &remove(V1), &sol::OnlyGovernance { caller });
    }
    lab.fails(GOVERNANCE_ADDRESS, U256::ZERO, &remove(V3), &sol::UnknownValidator { validator: V3 });
    lab.ok(GOVERNANCE_ADDRESS, &remove(V1));
    assert_eq!(lab.updates().as_slice().len(), 1);
    assert_eq!((lab.validator(V1).weight, lab.validator(V1).status), (0, 4));
    lab.fails(GOVERNANCE_ADDRESS, U256::ZERO, &remove(V1), &sol::AlreadyExiting { validator: V1 });
    lab.fails(GOVERNANCE_ADDRESS, U256::ZERO, &remove(V2), &sol::LastValidator { validator: V2 });
    lab.check_supply();
}

#[test]
fn with_queues_a_removed_validator_leaves_through_the_exit_queue() {
    let mut lab = Lab::with_governance(StakingParams::default(), &[(V1, eth(100)), (V2, eth(300))]);
    lab.pass(1);
    lab.ok(GOVERNANCE_ADDRESS, &sol::removeValidatorCall { validator: V1 });
    assert_eq!(lab.validator(V1).status, 2);
    lab.pass(1);
    lab.system(&end_epoch(1, &EpochDeltas::default()));
    assert_eq!(lab.validator(V1).status, 4);
}

/// What a change of weight costs more on a chain with governance: two checkpoints.
#[test]
fn a_checkpoint_costs_when_a_weight_changes_and_nothing_otherwise() {
    let gas = |mut lab: Lab| {
        lab.pass(1);
        lab.pay(ALICE, eth(1), &sol::delegateCall { validator: V1 });
        lab.pass(1);
        let changes = lab.call(ALICE, eth(1), &sol::delegateCall { validator: V1 });
        lab.pass(1);
        let same = lab.call(ALICE, gwei(1) / U256::from(2), &sol::delegateCall { validator: V1 });
        let small = lab.call(ALICE, gwei(1), &sol::delegateCall { validator: V1 });
        assert!(changes.is_success() && small.is_success());
        assert!(!same.is_success(), "below the minimum");
        lab.pass(1);
        let commission = lab.call(V1, U256::ZERO, &sol::setCommissionCall { commissionBps: 900 });
        [changes, commission].map(|result| 10_000_000 - result.gas_left.get())
    };
    let stakes = [(V1, eth(100)), (V2, eth(300))];
    let [plain, plain_other] = gas(Lab::with_stakes(at_once(), &stakes).unwrap());
    let [kept, kept_other] = gas(Lab::with_governance(at_once(), &stakes));
    assert_eq!(plain_other, kept_other);
    let more = kept - plain;
    assert!((50_000..70_000).contains(&more), "{more}");
}
