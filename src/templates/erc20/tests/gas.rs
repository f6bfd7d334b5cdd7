//! Gas of each function inside its transaction: the golden table. A changed number is a changed chain.

use super::*;

/// Gas of the frame, without the transaction's intrinsic gas and refund, and the refund.
fn cost(token: &mut Deployed, caller: Address, input: &[u8]) -> (u64, u64) {
    let result = token.call_raw(caller, 0, input, 1_000_000);
    assert!(result.is_success(), "{result:?}");
    (1_000_000 - result.gas_left.get(), token.journal.refund().get())
}

/// Name, caller and input of a call; gas and refund.
type Step = (&'static str, Address, Vec<u8>, (u64, u64));

#[test]
fn golden_gas() {
    let mut token = deploy(&params());
    let value = |n: u64| U256::from(n);
    let steps: [Step; 22] = [
        ("transfer to a new holder", OWNER, transfer(BOB, 10).abi_encode(), (37_524, 0)),
        ("transfer to a holder", OWNER, transfer(BOB, 10).abi_encode(), (20_424, 0)),
        ("transfer of everything", BOB, transfer(OWNER, 20).abi_encode(), (20_424, 4_800)),
        ("transfer to oneself", OWNER, transfer(OWNER, 20).abi_encode(), (13_624, 2_800)),
        ("approve", OWNER, sol::approveCall { spender: BOB, value: value(50) }.abi_encode(), (24_040, 0)),
        (
            "transferFrom",
            BOB,
            sol::transferFromCall { from: OWNER, to: CAROL, value: value(20) }.abi_encode(),
            (42_692, 0),
        ),
        (
            "transferFrom of the rest",
            BOB,
            sol::transferFromCall { from: OWNER, to: CAROL, value: value(30) }.abi_encode(),
            (25_592, 4_800),
        ),
        ("mint", OWNER, sol::mintCall { to: BOB, amount: value(5) }.abi_encode(), (49_438, 0)),
        ("burn", BOB, sol::burnCall { value: value(5) }.abi_encode(), (27_854, 4_800)),
        ("pause", OWNER, sol::pauseCall {}.abi_encode(), (27_490, 0)),
        ("unpause", OWNER, sol::unpauseCall {}.abi_encode(), (10_390, 4_800)),
        ("delegate", OWNER, sol::delegateCall { delegatee: BOB }.abi_encode(), (74_574, 0)),
        ("transfer of votes", OWNER, transfer(BOB, 10).abi_encode(), (46_575, 0)),
        ("getVotes", OWNER, sol::getVotesCall { account: BOB }.abi_encode(), (6_478, 0)),
        ("grantRole", OWNER, sol::grantRoleCall { role: token::MINTER_ROLE, account: BOB }.abi_encode(), (28_669, 0)),
        ("balanceOf", OWNER, sol::balanceOfCall { account: OWNER }.abi_encode(), (2_242, 0)),
        ("allowance", OWNER, sol::allowanceCall { owner: OWNER, spender: BOB }.abi_encode(), (2_284, 0)),
        ("totalSupply", OWNER, sol::totalSupplyCall {}.abi_encode(), (2_200, 0)),
        ("name", OWNER, sol::nameCall {}.abi_encode(), (2_200, 0)),
        ("decimals", OWNER, sol::decimalsCall {}.abi_encode(), (2_200, 0)),
        ("DOMAIN_SEPARATOR", OWNER, sol::DOMAIN_SEPARATORCall {}.abi_encode(), (2_296, 0)),
        (
            "renounceRole",
            BOB,
            sol::renounceRoleCall { role: token::MINTER_ROLE, callerConfirmation: BOB }.abi_encode(),
            (7_243, 4_800),
        ),
    ];
    let mut wrong = Vec::new();
    for (name, caller, input, want) in steps {
        let got = cost(&mut token, caller, &input);
        if got != want {
            wrong.push(format!("{name}: {got:?}, golden {want:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A transfer of a token without votes, from the schedule: dispatch, the settings, the pause slot, two mapping slots, read and write
/// of both balances, the event.
#[test]
fn a_transfers_gas_is_the_sum_of_its_operations() {
    let (dispatch, hash, cold) = (100, 30 + 2 * 6, 2_100);
    let sender = hash + cold + 2_900;
    let new_holder = hash + cold + 20_000;
    let event = 375 + 3 * 375 + 32 * 8;
    let moved = dispatch + cold + sender + new_holder + event;
    let input = transfer(BOB, 10).abi_encode();
    let plain = Erc20Params::new("Plain", "PLN", SUPPLY, OWNER);
    assert_eq!(cost(&mut deploy(&plain), OWNER, &input), (moved, 0));
    let features = Erc20Features { pausable: true, ..Erc20Features::default() };
    assert_eq!(cost(&mut deploy(&Erc20Params { features, ..plain }), OWNER, &input), (moved + cold, 0));
}

#[test]
fn exact_gas_suffices_and_one_less_undoes_everything() {
    let input = transfer(BOB, 10).abi_encode();
    let (exact, _) = cost(&mut deploy(&params()), OWNER, &input);
    let mut token = deploy(&params());
    let result = token.call_raw(OWNER, 0, &input, exact - 1);
    assert_eq!(result.outcome, FrameOutcome::Halt(crate::vm::HaltReason::OutOfGas));
    assert_eq!(result.gas_left, Gas::ZERO);
    assert_eq!((token.balance(OWNER), token.balance(BOB)), (1_000, 0));
    let result = token.call_raw(OWNER, 0, &input, exact);
    assert!(result.is_success());
    assert_eq!(result.gas_left, Gas::ZERO);
}

#[test]
fn deployment_needs_exactly_its_gas() {
    let init_code = params().init_code();
    let (_, result) = create(&mut empty_journal(), &init_code, 0, 10_000_000);
    let exact = 10_000_000 - result.gas_left.get();
    assert!(create(&mut empty_journal(), &init_code, 0, exact).1.is_success());
    assert!(!create(&mut empty_journal(), &init_code, 0, exact - 1).1.is_success());
}
