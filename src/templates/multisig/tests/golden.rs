//! Gas of each function and refusal, and what it returns and emits. A changed number is a changed chain: raise the template's version
//! with it.

use super::*;
use crate::templates::test_chain::golden::assert_golden;

fn history(mut world: World) -> String {
    let wallet = world.wallet;
    let number = U256::from::<u64>;
    let own = |call: Vec<u8>| submit(wallet, 0, call).abi_encode();
    let steps: Vec<(&str, Address, u64, Vec<u8>)> = vec![
        ("deposit", DAVE, 5, vec![]),
        ("deposit of nothing", DAVE, 0, vec![]),
        ("an unknown function", DAVE, 0, vec![1, 2, 3, 4]),
        ("submitTransaction", ALICE, 0, submit(DAVE, 10, vec![]).abi_encode()),
        ("submitTransaction with data", ALICE, 0, submit(DAVE, 0, vec![7; 100]).abi_encode()),
        ("submitTransaction of too much", ALICE, 0, submit(DAVE, 1_000_000, vec![]).abi_encode()),
        ("submitTransaction by a stranger", DAVE, 0, submit(DAVE, 10, vec![]).abi_encode()),
        ("submitTransaction to nobody", ALICE, 0, submit(Address::ZERO, 10, vec![]).abi_encode()),
        ("confirmTransaction", BOB, 0, confirm(number(0)).abi_encode()),
        ("confirmTransaction again", BOB, 0, confirm(number(0)).abi_encode()),
        ("confirmTransaction by a stranger", DAVE, 0, confirm(number(1)).abi_encode()),
        ("confirmTransaction of none", BOB, 0, confirm(number(9)).abi_encode()),
        ("confirmTransaction that fails", BOB, 0, confirm(number(2)).abi_encode()),
        ("revokeConfirmation", ALICE, 0, revoke(number(1)).abi_encode()),
        ("revokeConfirmation again", ALICE, 0, revoke(number(1)).abi_encode()),
        ("revokeConfirmation too late", ALICE, 0, revoke(number(0)).abi_encode()),
        ("executeTransaction again", ALICE, 0, execute(number(0)).abi_encode()),
        ("executeTransaction that fails", ALICE, 0, execute(number(2)).abi_encode()),
        ("addOwner by an owner", ALICE, 0, sol::addOwnerCall { owner: DAVE }.abi_encode()),
        ("addOwner", ALICE, 0, own(sol::addOwnerCall { owner: DAVE }.abi_encode())),
        ("addOwner, confirmed", BOB, 0, confirm(number(3)).abi_encode()),
        ("replaceOwner", ALICE, 0, own(sol::replaceOwnerCall { owner: CAROL, newOwner: DAVE }.abi_encode())),
        ("replaceOwner, confirmed", BOB, 0, confirm(number(4)).abi_encode()),
        ("removeOwner", ALICE, 0, own(sol::removeOwnerCall { owner: CAROL }.abi_encode())),
        ("removeOwner, confirmed", BOB, 0, confirm(number(5)).abi_encode()),
        ("changeRequirement", ALICE, 0, own(sol::changeRequirementCall { _required: number(1) }.abi_encode())),
        ("changeRequirement, confirmed", BOB, 0, confirm(number(6)).abi_encode()),
        ("value to a function", ALICE, 1, confirm(number(1)).abi_encode()),
        ("call data that is cut", ALICE, 0, confirm(number(1)).abi_encode()[..20].to_vec()),
        ("transactions", DAVE, 0, sol::transactionsCall(number(1)).abi_encode()),
        ("confirmations", DAVE, 0, sol::confirmationsCall { transactionId: number(0), owner: BOB }.abi_encode()),
        ("isOwner", DAVE, 0, sol::isOwnerCall { owner: BOB }.abi_encode()),
        ("owners", DAVE, 0, sol::ownersCall { index: number(0) }.abi_encode()),
        ("required", DAVE, 0, sol::requiredCall {}.abi_encode()),
        ("transactionCount", DAVE, 0, sol::transactionCountCall {}.abi_encode()),
        ("MAX_OWNER_COUNT", DAVE, 0, sol::MAX_OWNER_COUNTCall {}.abi_encode()),
        ("isConfirmed", DAVE, 0, sol::isConfirmedCall { transactionId: number(0) }.abi_encode()),
        ("getConfirmationCount", DAVE, 0, sol::getConfirmationCountCall { transactionId: number(0) }.abi_encode()),
        ("getTransactionCount", DAVE, 0, sol::getTransactionCountCall { pending: true, executed: true }.abi_encode()),
        ("getOwners", DAVE, 0, sol::getOwnersCall {}.abi_encode()),
        ("getConfirmations", DAVE, 0, sol::getConfirmationsCall { transactionId: number(0) }.abi_encode()),
        (
            "getTransactionIds",
            DAVE,
            0,
            sol::getTransactionIdsCall { from: number(0), to: number(3), pending: true, executed: true }.abi_encode(),
        ),
        ("supportsInterface", DAVE, 0, sol::supportsInterfaceCall { interfaceId: [1, 2, 3, 4].into() }.abi_encode()),
    ];
    steps.into_iter().map(|(name, from, value, input)| world.chain.line(name, from, wallet, value, &input)).collect()
}

#[test]
fn gas_and_effects_stay_as_they_are() {
    let kinds = [
        ("three owners", vec![ALICE, BOB, CAROL], 2),
        ("one owner", vec![ALICE], 1),
        ("an owner twice", vec![ALICE, ALICE], 1),
        ("nobody", vec![], 0),
    ];
    let mut got = String::new();
    for (name, owners, threshold) in kinds {
        let init_code = MultisigParams::new(owners, threshold).init_code();
        got += &TestChain::new(&[ALICE]).creation_line(ALICE, name, &init_code).1;
    }
    got += &history(World::new());
    got += &history(World::of(vec![ALICE], 1));
    assert_golden(&got, include_str!("golden.txt"));
}
