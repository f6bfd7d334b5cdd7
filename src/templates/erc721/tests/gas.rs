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

/// The first line of the table, from the schedule: dispatch, owner and the operators, event.
#[test]
fn the_gas_of_an_approval_is_the_sum_of_its_operations() {
    let mut token = deploy_with_tokens(&params());
    let input = sol::approveCall { to: BOB, tokenId: U256::ONE }.abi_encode();
    let (dispatch, hash, cold, warm) = (100, 30 + 2 * 6, 2_100, 100);
    let event = 375 + 4 * 375;
    // Its place is read before it is written, as it has twenty bytes of its slot.
    let want = dispatch + (hash + cold) + event + (hash + cold + 20_000);
    let result = token.call_raw(OWNER, 0, &input, GAS);
    assert_eq!((GAS - result.gas_left.get(), token.journal.refund().get()), (want, 0), "warm {warm}");
}

/// With any less than the gas that it needs, a call changes nothing.
#[test]
fn exact_gas_suffices_and_any_less_undoes_everything() {
    for (name, caller, input) in changes() {
        let mut token = deploy_to_change();
        let before = token.journal.clone();
        let used = GAS - token.call_raw(caller, 0, &input, GAS).gas_left.get();
        let mut needed = used;
        // A write needs more than it costs: the rest is left.
        while !{
            token.journal = before.clone();
            token.call_raw(caller, 0, &input, needed).is_success()
        } {
            needed += 1;
            assert!(needed <= used + 2_300, "{name}");
        }
        let step = usize::try_from(needed / 97).unwrap().max(1);
        let fewer = (0..needed).step_by(step).chain([needed - 1]);
        token.journal = before.clone();
        token.journal.begin_transaction();
        let want = token.journal.take_changes();
        for gas in fewer {
            token.journal = before.clone();
            let result = token.call_raw(caller, 0, &input, gas);
            assert_eq!(result.outcome, FrameOutcome::Halt(HaltReason::OutOfGas), "{name}, {gas}");
            assert_eq!((result.gas_left, token.journal.logs().len()), (Gas::ZERO, 0), "{name}, {gas}");
            assert_eq!(token.journal.take_changes(), want, "{name}, {gas}");
        }
    }
}

#[test]
fn deployment_needs_exactly_its_gas() {
    let init_code = params().init_code();
    let (_, result) = create(&mut empty_journal(), &init_code, 0, 10_000_000);
    let exact = 10_000_000 - result.gas_left.get();
    assert!(create(&mut empty_journal(), &init_code, 0, exact).1.is_success());
    assert!(!create(&mut empty_journal(), &init_code, 0, exact - 1).1.is_success());
}
