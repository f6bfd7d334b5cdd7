//! Gas of each function and refusal, and what it returns and emits. A changed number is a changed chain: raise the template's version
//! with it.

use super::*;
use crate::templates::test_chain::golden::assert_golden;

const LONG: &[u8] = &[7; 100];

fn history() -> String {
    let mut world = deploy();
    let registry = world.registry;
    let (collection, unknown) = (BOOKS, B256::repeat_byte(0xee));
    let all = (U256::ZERO, U256::MAX);
    let steps = [
        ("createCollection by a writer", WRITER, create_collection(BOOKS, "books", &owners_rules()).abi_encode()),
        ("createCollection", OWNER, create_collection(BOOKS, "books", &owners_rules()).abi_encode()),
        ("createCollection again", OWNER, create_collection(BOOKS, "books", &owners_rules()).abi_encode()),
        ("setRules by a writer", WRITER, sol::setRulesCall { collection, rules: owners_rules() }.abi_encode()),
        ("setRules", OWNER, sol::setRulesCall { collection, rules: owners_rules() }.abi_encode()),
        (
            "setRules of no collection",
            OWNER,
            sol::setRulesCall { collection: unknown, rules: owners_rules() }.abi_encode(),
        ),
        ("collectionCount", BOB, sol::collectionCountCall {}.abi_encode()),
        ("collections", BOB, sol::collectionsCall { from: all.0, count: all.1 }.abi_encode()),
        ("name", BOB, sol::nameCall { collection }.abi_encode()),
        ("rules", BOB, sol::rulesCall { collection }.abi_encode()),
        ("create", ALICE, create(1, b"one").abi_encode()),
        ("create of long data", ALICE, create(2, LONG).abi_encode()),
        ("create of nothing", BOB, create(3, b"").abi_encode()),
        ("create again", BOB, create(1, b"one").abi_encode()),
        ("update", ALICE, update(1, 1, b"two").abi_encode()),
        ("update to long data", ALICE, update(1, 0, LONG).abi_encode()),
        ("update of another version", ALICE, update(1, 1, b"four").abi_encode()),
        ("update by a stranger", BOB, update(1, 3, b"four").abi_encode()),
        ("update of no record", ALICE, update(9, 0, b"four").abi_encode()),
        ("transferRecord", ALICE, transfer(1, 3, BOB).abi_encode()),
        ("transferRecord by a stranger", ALICE, transfer(1, 4, ALICE).abi_encode()),
        ("transferRecord to nobody", BOB, transfer(1, 4, Address::ZERO).abi_encode()),
        ("exists", BOB, sol::existsCall { collection, id: id(1) }.abi_encode()),
        ("get", BOB, get(1).abi_encode()),
        ("get of no record", BOB, get(9).abi_encode()),
        ("versions", BOB, sol::versionsCall { collection, id: id(1) }.abi_encode()),
        ("versionAt", BOB, sol::versionAtCall { collection, id: id(1), version: 2 }.abi_encode()),
        ("versionAt of a transfer", BOB, sol::versionAtCall { collection, id: id(1), version: 4 }.abi_encode()),
        ("versionAt of no version", BOB, sol::versionAtCall { collection, id: id(1), version: 5 }.abi_encode()),
        ("count", BOB, sol::countCall { collection }.abi_encode()),
        ("idAt", BOB, sol::idAtCall { collection, index: U256::ONE }.abi_encode()),
        ("idAt beyond the end", BOB, sol::idAtCall { collection, index: U256::from(3) }.abi_encode()),
        ("ids", BOB, sol::idsCall { collection, from: all.0, count: all.1 }.abi_encode()),
        ("records", BOB, sol::recordsCall { collection, from: all.0, count: all.1 }.abi_encode()),
        ("remove by a stranger", ALICE, remove(1, 0).abi_encode()),
        ("remove", BOB, remove(1, 4).abi_encode()),
        ("remove again", BOB, remove(1, 0).abi_encode()),
        ("remove of the last id", ALICE, remove(2, 0).abi_encode()),
        ("versionAt of a removal", BOB, sol::versionAtCall { collection, id: id(1), version: 5 }.abi_encode()),
        ("create of a removed record", ALICE, create(1, b"five").abi_encode()),
        ("DEFAULT_ADMIN_ROLE", BOB, sol::DEFAULT_ADMIN_ROLECall {}.abi_encode()),
        ("WRITER_ROLE", BOB, sol::WRITER_ROLECall {}.abi_encode()),
        ("hasRole", BOB, sol::hasRoleCall { role: WRITER_ROLE, account: WRITER }.abi_encode()),
        ("getRoleAdmin", BOB, sol::getRoleAdminCall { role: WRITER_ROLE }.abi_encode()),
        ("grantRole by a stranger", BOB, sol::grantRoleCall { role: WRITER_ROLE, account: BOB }.abi_encode()),
        ("grantRole", OWNER, sol::grantRoleCall { role: WRITER_ROLE, account: BOB }.abi_encode()),
        ("revokeRole", OWNER, sol::revokeRoleCall { role: WRITER_ROLE, account: BOB }.abi_encode()),
        ("renounceRole", WRITER, sol::renounceRoleCall { role: WRITER_ROLE, callerConfirmation: WRITER }.abi_encode()),
        (
            "renounceRole of another",
            BOB,
            sol::renounceRoleCall { role: WRITER_ROLE, callerConfirmation: WRITER }.abi_encode(),
        ),
        ("supportsInterface", BOB, sol::supportsInterfaceCall { interfaceId: INTERFACE_ID.into() }.abi_encode()),
        ("a function that is not there", BOB, vec![1, 2, 3, 4]),
    ];
    let mut lines: String =
        steps.into_iter().map(|(name, from, input)| world.chain.line(name, from, registry, 0, &input)).collect();
    // Rules that ask for a role.
    for needed in [Access::Writers, Access::OwnerOrWriters, Access::Admin] {
        let rules = rules(Access::Anyone, needed, Access::Anyone, Access::Anyone);
        world.ok(OWNER, &sol::setRulesCall { collection, rules });
        let mut line = |who, from| {
            let name = format!("update by {who} under {needed:?}");
            world.chain.line(&name, from, registry, 0, &update(1, 0, b"six").abi_encode())
        };
        lines += &[line("a stranger", BOB), line("the registry's owner", OWNER)].concat();
    }
    lines + &world.chain.line("value to a function", BOB, registry, 1, &get(1).abi_encode())
}

#[test]
fn gas_and_effects_stay_as_they_are() {
    let mut got = String::new();
    for (name, owner) in [("an owner", OWNER), ("no owner", Address::ZERO)] {
        let init_code = RecordRegistryParams::new(owner).init_code();
        got += &TestChain::new(&[BOB]).creation_line(BOB, name, &init_code).1;
    }
    got += &history();
    assert_golden(&got, include_str!("golden.txt"));
}
