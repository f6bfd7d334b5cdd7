//! Gas of each call inside its transaction, and what a history of calls leaves in storage and logs. A changed number is a changed
//! chain: raise the template's version with it.

use alloy_primitives::Bytes;

use super::*;
use crate::{
    primitives::Gas,
    templates::test_chain::golden::{Place, assert_golden, storage_line},
    vm::Message,
};

/// Calls of a history: name, caller, value, input.
type Step = (&'static str, Address, u64, Bytes);

fn of<C: SolCall>(name: &'static str, caller: Address, call: C) -> Step {
    (name, caller, 0, call.abi_encode().into())
}

/// Every function, its refusals too.
fn steps() -> Vec<Step> {
    let entry =
        |account, is_account, is_deployer| sol::Entry { account, isAccount: is_account, isDeployer: is_deployer };
    let many = vec![entry(ALICE, true, false), entry(CAROL, true, true), entry(BOB, false, false)];
    let too_many = vec![entry(ALICE, true, true); BATCH_MAX + 1];
    let all = || sol::entriesCall { from: U256::ZERO, count: U256::MAX };
    vec![
        of("setPermissions by a stranger", BOB, set(BOB, true, true)),
        of("setPermissions, first", ADMIN, set(BOB, true, false)),
        of("setPermissions, second", ADMIN, set(ALICE, false, true)),
        of("setPermissions, the same", ADMIN, set(ALICE, false, true)),
        of("setPermissions, another list", ADMIN, set(ALICE, true, false)),
        of("setPermissions, removed, the last moves", ADMIN, set(BOB, false, false)),
        of("setPermissions, removed twice", ADMIN, set(BOB, false, false)),
        of("setPermissionsOfMany", ADMIN, sol::setPermissionsOfManyCall { entries: many }),
        of("setPermissionsOfMany, none", ADMIN, sol::setPermissionsOfManyCall { entries: vec![] }),
        of("setPermissionsOfMany, too many", ADMIN, sol::setPermissionsOfManyCall { entries: too_many }),
        of("setPermissions, removed, the last", ADMIN, set(CAROL, false, false)),
        of("permissionsOf, lists off", BOB, sol::permissionsOfCall { account: ALICE }),
        of("switchAccountList", ADMIN, sol::switchAccountListCall { isOn: true }),
        of("switchAccountList, the same", ADMIN, sol::switchAccountListCall { isOn: true }),
        of("switchDeployerList", ADMIN, sol::switchDeployerListCall { isOn: true }),
        of("switchDeployerList by a stranger", ALICE, sol::switchDeployerListCall { isOn: false }),
        of("permissionsOf, listed", BOB, sol::permissionsOfCall { account: ALICE }),
        of("permissionsOf, not listed", BOB, sol::permissionsOfCall { account: BOB }),
        of("permissionsOf, administrator", BOB, sol::permissionsOfCall { account: ADMIN }),
        of("accountListOn", BOB, sol::accountListOnCall {}),
        of("deployerListOn", BOB, sol::deployerListOnCall {}),
        of("entryCount", BOB, sol::entryCountCall {}),
        of("entries", BOB, all()),
        of("transferOwnership", ADMIN, sol::transferOwnershipCall { newOwner: CAROL }),
        of("transferOwnership by a stranger", BOB, sol::transferOwnershipCall { newOwner: BOB }),
        of("owner", BOB, sol::ownerCall {}),
        of("pendingOwner", BOB, sol::pendingOwnerCall {}),
        of("acceptOwnership by a stranger", BOB, sol::acceptOwnershipCall {}),
        of("acceptOwnership", CAROL, sol::acceptOwnershipCall {}),
        of("setPermissions, empties the lists", CAROL, set(ALICE, false, false)),
        of("entries, none", BOB, all()),
        ("a function that is not there", BOB, 0, Bytes::from_static(&[1, 2, 3, 4])),
        ("half a selector", BOB, 0, Bytes::from_static(&[1, 2])),
        ("half an argument", BOB, 0, sol::permissionsOfCall::SELECTOR.to_vec().into()),
        ("no call data", BOB, 0, Bytes::new()),
        ("value", ADMIN, 1, sol::entryCountCall {}.abi_encode().into()),
    ]
}

/// Runs a history and tells each call's outcome, gas and refund, with keccak of its output and logs; last, keccak of the storage.
fn history() -> String {
    let mut lab = Lab::new(&open());
    lab.journal.set_balance(&ADMIN, U256::from(10)).unwrap();
    let lab = &mut lab.0;
    let place = Place { block: &lab.block, registry: &lab.registry };
    let mut text = String::new();
    for (name, caller, value, input) in steps() {
        let message = Message::call(caller, PERMISSIONS_ADDRESS, U256::from(value), &input, Gas::new(10_000_000));
        text += &place.line(name, &mut lab.journal, &message);
    }
    text + &storage_line(&mut lab.journal, &PERMISSIONS_ADDRESS)
}

#[test]
fn gas_effects_and_storage_stay_as_they_are() {
    assert_golden(&history(), include_str!("golden.txt"));
}
