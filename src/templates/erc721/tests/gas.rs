//! Gas of functions inside their transactions, from the schedule.

use super::*;

const GAS: u64 = 1_000_000;

/// From the schedule: dispatch, the owner's slot, the event, the approval's slot.
#[test]
fn the_gas_of_an_approval_is_the_sum_of_its_operations() {
    let mut token = deploy_with_tokens(&params());
    let input = sol::approveCall { to: BOB, tokenId: U256::ONE }.abi_encode();
    let (dispatch, hash, cold) = (100, 30 + 2 * 6, 2_100);
    let event = 375 + 4 * 375;
    // An address has not all of its slot, which therefore is read before it is written.
    let want = dispatch + (hash + cold) + event + (hash + cold + 20_000);
    let result = token.call_raw(OWNER, 0, &input, GAS);
    assert_eq!((GAS - result.gas_left.get(), token.journal.refund().get()), (want, 0));
}
