//! The gas of an operation grows with its changes, not with the number of validators or delegators.

use super::*;
use crate::vm::FrameResult;

/// Gas of a delegation, a block with one absent validator, a slash and an undelegation, among so many others.
fn gas(others: u8) -> [u64; 4] {
    let strangers = (0..others).map(|byte| (Address::repeat_byte(0x20 + byte), eth(1)));
    let stakes: Vec<_> = [(V1, eth(100)), (V2, eth(300))].into_iter().chain(strangers).collect();
    let mut lab = Lab::with_stakes(at_once(), &stakes).unwrap();
    for byte in 0..others {
        lab.pay(BOB, eth(1), &sol::delegateCall { validator: Address::repeat_byte(0x20 + byte) });
        lab.pay(BOB, eth(1), &sol::delegateCall { validator: V1 });
    }
    lab.pay(BOB, eth(1), &sol::delegateCall { validator: V1 });
    let mut used = |call: &dyn Fn(&mut Lab) -> FrameResult| {
        lab.pass(1);
        let result = call(&mut lab);
        assert!(result.is_success(), "{}", result.output);
        10_000_000 - result.gas_left.get()
    };
    let (none, validator) = (U256::ZERO, V1);
    let (height, time) = (crate::primitives::Height::GENESIS, crate::primitives::Timestamp::from_secs(1_000));
    [
        used(&|lab| lab.call(ALICE, eth(5), &sol::delegateCall { validator })),
        used(&|lab| lab.system_raw(&begin_block(V2, &[V1]).input)),
        used(&|lab| lab.system_raw(&slash(V1, Offence::Downtime, height, time).input)),
        used(&|lab| lab.call(ALICE, none, &sol::undelegateCall { validator, amount: eth(1) })),
    ]
}

#[test]
fn gas_does_not_grow_with_validators_or_delegators() {
    let few = gas(0);
    assert_eq!(gas(90), few);
    assert!(few.iter().all(|gas| *gas < 250_000), "{few:?}");
}

/// Gas of the end of an epoch that names so many validators, of 60.
fn epoch_gas(named: u8) -> u64 {
    let address = |byte: u8| Address::repeat_byte(0x20 + byte);
    let stakes: Vec<_> = (0..60).map(|byte| (address(byte), eth(1))).collect();
    let mut lab = Lab::with_stakes(StakingParams::default(), &stakes).unwrap();
    lab.pass(1);
    let amounts = |range: core::ops::Range<u8>| range.map(|byte| (address(byte), gwei(1))).collect();
    let half = named / 2;
    let deltas = EpochDeltas { rewards: amounts(0..half), penalties: amounts(half..named), ejection_percent: 50 };
    let result = lab.system_raw(&end_epoch(1, &deltas).input);
    assert!(result.is_success(), "{}", result.output);
    10_000_000 - result.gas_left.get()
}

/// The end of an epoch grows with the validators whose stake changes, and is nothing much without one. 4,096 validators stay far
/// below the limit of a system call, 1,000,000,000.
#[test]
fn an_epoch_costs_in_proportion_to_the_validators_that_it_names() {
    let [none, twenty, sixty] = [0, 20, 60].map(epoch_gas);
    assert!(none < 25_000, "{none}");
    let each = (sixty - none) / 60;
    assert!(each.abs_diff((twenty - none) / 20) < each / 4, "{none}, {twenty}, {sixty}");
    assert!(each * 4_096 < 500_000_000, "{each} for each");
}
