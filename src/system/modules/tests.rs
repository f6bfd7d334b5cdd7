//! The contract by itself: functions, refusals, storage, gas.

mod golden;
mod lab;
mod model;

use alloy_primitives::{B256, U256};

use self::lab::*;
use super::{interface as sol, *};

#[test]
fn the_authority_alone_changes_modules() {
    let mut lab = Lab::new(&config());
    let refused = sol::OwnableUnauthorizedAccount { account: BOB };
    lab.fails(BOB, &enabling("defi", 1, 7), &refused);
    lab.fails(BOB, &sol::disableCall { name: "dao".to_owned() }, &refused);
    lab.fails(BOB, &sol::transferOwnershipCall { newOwner: BOB }, &refused);
    lab.fails(BOB, &sol::acceptOwnershipCall {}, &refused);
    lab.ok(AUTHORITY, &sol::transferOwnershipCall { newOwner: BOB });
    assert_eq!((lab.ok(BOB, &sol::ownerCall {}), lab.ok(BOB, &sol::pendingOwnerCall {})), (AUTHORITY, BOB));
    lab.ok(BOB, &sol::acceptOwnershipCall {});
    lab.ok(BOB, &enabling("defi", 1, 7));
    lab.fails(AUTHORITY, &enabling("defi", 1, 7), &sol::OwnableUnauthorizedAccount { account: AUTHORITY });
}

#[test]
fn a_module_is_enabled_changed_and_disabled() {
    let mut lab = Lab::new(&config());
    assert_eq!(lab.module("dao"), info("dao", 2, 9, true, 0), "of genesis");
    lab.at_height(5).ok(AUTHORITY, &enabling("defi", 1, 7));
    let event = sol::ModuleEnabled { name: "defi".to_owned(), version: 1, configHash: hash(7) };
    assert_eq!(lab.journal.logs()[0].data, event.encode_log_data());
    assert_eq!(lab.module("defi"), info("defi", 1, 7, true, 5));
    lab.at_height(6).ok(AUTHORITY, &enabling("defi", 1, 7));
    assert!(lab.journal.logs().is_empty(), "nothing changes");
    assert_eq!(lab.module("defi").since, 5);
    lab.at_height(7).ok(AUTHORITY, &enabling("defi", 1, 8));
    assert_eq!(lab.module("defi"), info("defi", 1, 8, true, 7));
    lab.at_height(8).ok(AUTHORITY, &sol::disableCall { name: "defi".to_owned() });
    assert_eq!(lab.journal.logs()[0].data, sol::ModuleDisabled { name: "defi".to_owned() }.encode_log_data());
    lab.at_height(9).ok(AUTHORITY, &sol::disableCall { name: "defi".to_owned() });
    assert!(lab.journal.logs().is_empty());
    assert_eq!(lab.module("defi"), info("defi", 1, 8, false, 8));
    lab.at_height(10).ok(AUTHORITY, &enabling("defi", 1, 8));
    assert_eq!(lab.module("defi"), info("defi", 1, 8, true, 10), "the same again, and on");
    assert_eq!(lab.ok(BOB, &sol::moduleCountCall {}), U256::from(2));
}

#[test]
fn other_names_are_refused() {
    let mut lab = Lab::new(&config());
    for name in ["", "DeFi", "a b", &"a".repeat(33)] {
        let error = sol::InvalidModuleName { name: name.to_owned() };
        lab.fails(AUTHORITY, &enabling(name, 1, 7), &error);
        lab.fails(AUTHORITY, &sol::disableCall { name: name.to_owned() }, &error);
        lab.fails(BOB, &sol::moduleCall { name: name.to_owned() }, &error);
    }
    let unknown = sol::UnknownModule { name: "defi".to_owned() };
    lab.fails(AUTHORITY, &sol::disableCall { name: "defi".to_owned() }, &unknown);
    lab.fails(BOB, &sol::moduleCall { name: "defi".to_owned() }, &unknown);
}

#[test]
fn there_are_so_many_modules_and_no_more() {
    let name = |number: u64| format!("m{number}");
    let full = (0..MODULES_MAX)
        .fold(ModulesConfig::new(AUTHORITY), |config, number| config.with_module(&name(number), 1, B256::ZERO));
    let mut lab = Lab::new(&full);
    lab.fails(AUTHORITY, &enabling("one-more", 1, 1), &sol::TooManyModules { maximum: U256::from(MODULES_MAX) });
    lab.ok(AUTHORITY, &enabling("m7", 2, 1));
    let page = |from: u64, count: U256| sol::modulesCall { from: U256::from(from), count };
    assert_eq!(lab.ok(BOB, &page(0, U256::MAX)).len() as u64, PAGE_MAX);
    let last = lab.ok(BOB, &page(250, U256::MAX));
    assert_eq!((last.len(), last[5].name.as_str()), (6, "m255"));
    assert!(lab.ok(BOB, &page(256, U256::ONE)).is_empty());
    assert_eq!(lab.ok(BOB, &page(7, U256::ONE))[0].version, 2);
}

#[test]
fn variables_stay_in_their_slots() {
    let layout = ModulesTemplate.storage_layout();
    let variable = |entry: &crate::vm::storage::StorageVariable| {
        format!("{} {} {} {}", entry.label, entry.slot, entry.offset, layout.types[&entry.ty].label)
    };
    let want = [
        "_owner 0 0 address",
        "_pendingOwner 1 0 address",
        "_modules 2 0 struct StoredModule[]",
        "_places 3 0 mapping(bytes32 => uint64)",
    ];
    assert_eq!(layout.storage.iter().map(variable).collect::<Vec<_>>(), want);
}

#[test]
fn the_page_has_every_function_and_error() {
    let page = include_str!("../../../docs/system-contracts.md");
    let (_, page) = page.split_once("\n## Modules\n").expect("a section");
    let abi = ModulesTemplate.abi();
    for name in abi.functions.keys().chain(abi.errors.keys()).chain(abi.events.keys()) {
        assert!(
            name == "OwnableInvalidOwner" || page.contains(name),
            "docs/system-contracts.md does not tell of {name}"
        );
    }
}
