//! Unauthorised callers and invalid input.

use alloy_sol_types::SolInterface;
use proptest::prelude::*;

use super::*;
use crate::{
    primitives::Height,
    vm::{FrameOutcome, HaltReason, SYSTEM_ADDRESS, abi},
};

#[test]
fn only_the_chain_makes_system_calls() {
    let mut lab = Lab::new(at_once());
    let calls = [
        begin_block(V1, &[]),
        slash(V1, Offence::DoubleSign, Height::GENESIS, lab.block.timestamp),
        penalize(&[(V1, eth(1))]),
        end_epoch(1, &EpochDeltas::default()),
    ];
    // The address that contracts see in a system call confers nothing.
    for (call, caller) in calls.iter().flat_map(|call| [(call, V2), (call, SYSTEM_ADDRESS)]) {
        let result = lab.call_raw(caller, U256::ZERO, &call.input);
        assert_eq!(result.outcome, FrameOutcome::Revert);
        let error = abi::revert(&sol::OnlySystem { caller });
        assert_eq!(crate::vm::Stop::Revert(result.output), error);
    }
    lab.check_supply();
}

#[test]
fn value_is_refused_by_functions_that_are_not_payable() {
    let mut lab = Lab::new(at_once());
    for input in [sol::exitCall {}.abi_encode(), sol::totalsCall {}.abi_encode(), vec![1, 2, 3]] {
        assert_eq!(lab.call_raw(V1, eth(1), &input).outcome, FrameOutcome::Revert);
    }
    let join = sol::joinCall { commissionBps: 1, maxCommissionBps: 10_001, maxCommissionChangeBps: 0 };
    lab.fails(V3, eth(1), &join, &sol::CommissionTooHigh { commissionBps: 10_001, maximum: 10_000 });
    let join = sol::joinCall { commissionBps: 11, maxCommissionBps: 10, maxCommissionChangeBps: 0 };
    lab.fails(V3, eth(1), &join, &sol::CommissionTooHigh { commissionBps: 11, maximum: 10 });
    let join = sol::joinCall { commissionBps: 0, maxCommissionBps: 0, maxCommissionChangeBps: 0 };
    let error = sol::SelfStakeTooLow { selfStake: gwei(1), minimum: eth(1) };
    lab.fails(V3, gwei(1), &join, &error);
    let error = sol::DelegationTooLow { amount: U256::from(1), minimum: gwei(1) };
    lab.fails(ALICE, U256::from(1), &sol::delegateCall { validator: V1 }, &error);
    let error = sol::UnknownValidator { validator: ALICE };
    lab.fails(ALICE, eth(1), &sol::delegateCall { validator: ALICE }, &error);
    lab.fails(ALICE, eth(1), &sol::stakeCall {}, &error);
}

#[test]
fn an_unknown_offence_and_uneven_lists_are_refused() {
    let mut lab = Lab::new(at_once());
    let unknown = sol::slashCall { validator: V1, offence: 9, infractionHeight: 0, infractionTime: 0 };
    let uneven = sol::penalizeCall { validators: vec![V1], amounts: vec![] };
    for input in [unknown.abi_encode(), uneven.abi_encode()] {
        assert_eq!(lab.system_raw(&input).outcome, FrameOutcome::Revert);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..30, tail: Vec<u8>, value in 0_u64..2, is_system: bool) {
        let mut lab = Lab::new(at_once());
        let known = sol::StakingContractCalls::selectors().nth(selector).unwrap_or([1; 4]);
        let input = [known.as_slice(), &tail].concat();
        let result = if is_system { lab.system_raw(&input) } else { lab.call_raw(V1, U256::from(value), &input) };
        prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
        lab.check_supply();
    }
}
