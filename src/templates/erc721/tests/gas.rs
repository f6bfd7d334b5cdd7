//! Gas of functions inside their transactions, and what is left when it runs out.

use super::*;
use crate::vm::HaltReason;

const GAS: u64 = 1_000_000;

/// Calls that change much, each on a token whose ids 1, 2, 3 belong to owner, Bob, Bob.
fn changes() -> Vec<(&'static str, Address, Vec<u8>)> {
    let (one, two) = (U256::ONE, U256::from(2));
    let royalty = sol::setTokenRoyaltyCall { tokenId: one, receiver: BOB, feeNumerator: U96::from(5) };
    vec![
        ("safeMint", OWNER, mint(BOB, 9, "a URI of more than thirty-one bytes, in two words of its own").abi_encode()),
        ("transferFrom", BOB, transfer(BOB, CAROL, 2).abi_encode()),
        ("burn", BOB, sol::burnCall { tokenId: two }.abi_encode()),
        ("approve", OWNER, sol::approveCall { to: BOB, tokenId: one }.abi_encode()),
        ("setApprovalForAll", BOB, sol::setApprovalForAllCall { operator: CAROL, approved: true }.abi_encode()),
        ("pause", OWNER, sol::pauseCall {}.abi_encode()),
        ("setTokenRoyalty", OWNER, royalty.abi_encode()),
        ("grantRole", OWNER, sol::grantRoleCall { role: MINTER_ROLE, account: BOB }.abi_encode()),
        ("delegate", BOB, sol::delegateCall { delegatee: CAROL }.abi_encode()),
    ]
}

/// Returns a token whose owner and Bob have delegates, so that a transfer moves votes.
fn deploy_to_change() -> Deployed {
    let mut token = deploy_with_tokens(&params());
    token.ok(OWNER, &sol::delegateCall { delegatee: OWNER });
    token.ok(BOB, &sol::delegateCall { delegatee: BOB });
    token
}

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

/// Runs a call with so much gas from the state `before`.
fn run_from(token: &mut Deployed, before: &Journal, (caller, input): (Address, &[u8]), gas: u64) -> FrameResult {
    token.journal = before.clone();
    token.call_raw(caller, 0, input, gas)
}

/// Returns the least gas with which a call succeeds: what it costs, or up to 2,300 more, which a write of a slot asks for.
fn least_gas(token: &mut Deployed, before: &Journal, call: (Address, &[u8])) -> u64 {
    let used = GAS - run_from(token, before, call, GAS).gas_left.get();
    let (mut low, mut high) = (used, used + 2_300);
    while low < high {
        let middle = low.midpoint(high);
        if run_from(token, before, call, middle).is_success() {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Wherever the gas of a call runs out, nothing has changed.
#[test]
fn exact_gas_suffices_and_any_less_undoes_everything() {
    for (name, caller, input) in changes() {
        let (mut token, call) = (deploy_to_change(), (caller, input.as_slice()));
        let before = token.journal.clone();
        let unchanged = before.clone().take_changes();
        let least = least_gas(&mut token, &before, call);
        assert!(run_from(&mut token, &before, call, least).is_success(), "{name}");
        assert_ne!(token.journal.take_changes(), unchanged, "{name}");
        let step = usize::try_from(least / 97).unwrap().max(1);
        for gas in (0..least).step_by(step).chain([least - 1]) {
            let result = run_from(&mut token, &before, call, gas);
            assert_eq!(result.outcome, FrameOutcome::Halt(HaltReason::OutOfGas), "{name}, {gas}");
            assert_eq!((result.gas_left, token.journal.logs().len()), (Gas::ZERO, 0), "{name}, {gas}");
            assert_eq!(token.journal.take_changes(), unchanged, "{name}, {gas}");
        }
    }
}
