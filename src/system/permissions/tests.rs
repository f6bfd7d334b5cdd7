//! The contract by itself: functions, refusals, storage, gas.

mod golden;
mod lab;
mod model;

use alloy_primitives::U256;

use self::lab::*;
use super::{interface as sol, state::PERMISSIONS, *};
use crate::vm::DeployerNotAllowed;

#[test]
fn the_administrator_alone_changes_lists() {
    let mut lab = Lab::new(&open());
    let refused = sol::OwnableUnauthorizedAccount { account: BOB };
    lab.fails(BOB, &set(ALICE, true, true), &refused);
    lab.fails(BOB, &sol::setPermissionsOfManyCall { entries: vec![] }, &refused);
    lab.fails(BOB, &sol::switchAccountListCall { isOn: true }, &refused);
    lab.fails(BOB, &sol::switchDeployerListCall { isOn: true }, &refused);
    lab.fails(BOB, &sol::transferOwnershipCall { newOwner: BOB }, &refused);
    lab.fails(BOB, &sol::acceptOwnershipCall {}, &refused);
    lab.ok(ADMIN, &set(ALICE, true, false));
    let event = sol::PermissionsChanged { account: ALICE, isAccount: true, isDeployer: false };
    assert_eq!(lab.journal.logs()[0].data, event.encode_log_data());
}

#[test]
fn a_list_refuses_only_while_it_is_on() {
    let mut lab = Lab::new(&open());
    let allowed = |lab: &mut Lab, account| {
        let info = lab.permissions(account);
        (info.maySend, info.mayDeploy)
    };
    assert_eq!(allowed(&mut lab, BOB), (true, true));
    lab.ok(ADMIN, &set(ALICE, true, true));
    lab.ok(ADMIN, &sol::switchAccountListCall { isOn: true });
    assert_eq!(lab.journal.logs()[0].data, sol::AccountListSwitched { isOn: true }.encode_log_data());
    assert_eq!([ALICE, BOB].map(|account| allowed(&mut lab, account)), [(true, true), (false, true)]);
    lab.ok(ADMIN, &sol::switchDeployerListCall { isOn: true });
    assert_eq!(lab.journal.logs()[0].data, sol::DeployerListSwitched { isOn: true }.encode_log_data());
    assert_eq!([ALICE, BOB].map(|account| allowed(&mut lab, account)), [(true, true), (false, false)]);
    assert_eq!(allowed(&mut lab, ADMIN), (true, false), "the administrator sends, and lists itself to deploy");
    assert!(lab.ok(BOB, &sol::accountListOnCall {}) && lab.ok(BOB, &sol::deployerListOnCall {}));
    lab.ok(ADMIN, &sol::switchAccountListCall { isOn: false });
    assert_eq!(allowed(&mut lab, BOB), (true, false));
}

#[test]
fn the_administration_is_handed_over_in_two_steps() {
    let mut lab = Lab::new(&open().with_accounts([]));
    lab.ok(ADMIN, &sol::transferOwnershipCall { newOwner: BOB });
    assert_eq!((lab.ok(BOB, &sol::ownerCall {}), lab.ok(BOB, &sol::pendingOwnerCall {})), (ADMIN, BOB));
    assert!(lab.permissions(ADMIN).maySend && !lab.permissions(BOB).maySend);
    lab.ok(BOB, &sol::acceptOwnershipCall {});
    assert_eq!((lab.ok(BOB, &sol::ownerCall {}), lab.ok(BOB, &sol::pendingOwnerCall {})), (BOB, Address::ZERO));
    assert!(!lab.permissions(ADMIN).maySend && lab.permissions(BOB).maySend);
    lab.fails(ADMIN, &set(ADMIN, true, true), &sol::OwnableUnauthorizedAccount { account: ADMIN });
}

#[test]
fn one_call_sets_so_many_entries_and_no_more() {
    let mut lab = Lab::new(&open());
    let entries = |count: usize| {
        let account = |number: usize| Address::left_padding_from(&number.to_be_bytes());
        let entry = |number| sol::Entry { account: account(number), isAccount: true, isDeployer: false };
        sol::setPermissionsOfManyCall { entries: (1..=count).map(entry).collect() }
    };
    let too_many = sol::TooManyEntries { count: U256::from(BATCH_MAX + 1), maximum: U256::from(BATCH_MAX) };
    lab.fails(ADMIN, &entries(BATCH_MAX + 1), &too_many);
    lab.ok(ADMIN, &entries(BATCH_MAX));
    assert_eq!(lab.ok(BOB, &sol::entryCountCall {}), U256::from(BATCH_MAX));
    let page = |from: u64, count: u64| sol::entriesCall { from: U256::from(from), count: U256::from(count) };
    assert_eq!(lab.ok(BOB, &page(0, u64::MAX)).len() as u64, PAGE_MAX);
    assert_eq!(lab.ok(BOB, &page(250, 100)).len(), 6);
    assert!(lab.ok(BOB, &page(256, 1)).is_empty());
    assert_eq!(lab.ok(BOB, &page(7, 1))[0].account, Address::left_padding_from(&8_u64.to_be_bytes()));
}

#[test]
fn a_genesis_has_the_largest_lists() {
    let accounts = (1..=GENESIS_ENTRIES_MAX as u64).map(|number| Address::left_padding_from(&number.to_be_bytes()));
    let mut lab = Lab::new(&open().with_accounts(accounts));
    assert_eq!(lab.ok(BOB, &sol::entryCountCall {}), U256::from(GENESIS_ENTRIES_MAX));
}

#[test]
fn variables_stay_in_their_slots() {
    let layout = PermissionsTemplate.storage_layout();
    let variable = |entry: &crate::vm::storage::StorageVariable| {
        format!("{} {} {} {}", entry.label, entry.slot, entry.offset, layout.types[&entry.ty].label)
    };
    let want = [
        "_owner 0 0 address",
        "_pendingOwner 1 0 address",
        "_lists 2 0 struct Switches",
        "_listed 3 0 address[]",
        "_entries 4 0 mapping(address => struct StoredEntry)",
    ];
    assert_eq!(layout.storage.iter().map(variable).collect::<Vec<_>>(), want);
    assert_eq!(PERMISSIONS.lists.slot(), PermissionWord::Lists.slot());
}

#[test]
fn the_page_has_every_function_and_error() {
    let page = include_str!("../../../docs/system-contracts.md");
    let abi = PermissionsTemplate.abi();
    for name in abi.functions.keys().chain(abi.errors.keys()).chain(abi.events.keys()) {
        // What is OpenZeppelin's is told of once.
        assert!(
            name == "OwnableInvalidOwner" || page.contains(name),
            "docs/system-contracts.md does not tell of {name}"
        );
    }
}

#[test]
fn the_abi_has_the_error_with_which_creations_revert() {
    assert_eq!(sol::DeployerNotAllowed::SELECTOR, DeployerNotAllowed::SELECTOR);
    assert!(PermissionsTemplate.abi().errors.contains_key("DeployerNotAllowed"));
}
