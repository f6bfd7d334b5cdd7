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
