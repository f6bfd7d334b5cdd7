//! The contract by itself: functions, refusals, weights by height, storage, gas.

mod golden;
mod keys;
mod lab;
mod model;

use alloy_primitives::U256;

use self::lab::*;
use super::{interface as sol, state::VALIDATORS, *};

#[test]
fn the_administrator_alone_changes_validators() {
    let mut lab = Lab::new(equal(), &[V1, V2]);
    let refused = sol::OwnableUnauthorizedAccount { account: V1 };
    lab.fails(V1, &set(V3, 1), &refused);
    lab.fails(V1, &set(V2, 0), &refused);
    lab.fails(V1, &slash(V2, 1), &refused);
    lab.fails(V1, &offer(V1), &refused);
    lab.fails(V1, &sol::acceptOwnershipCall {}, &refused);
    lab.fails(ADMIN, &sol::convictCall { sealingKey: V2 }, &sol::OnlySystem { caller: ADMIN });
    lab.ok(ADMIN, &offer(BOB));
    assert_eq!((lab.ok(V1, &sol::ownerCall {}), lab.ok(V1, &sol::pendingOwnerCall {})), (ADMIN, BOB));
    lab.ok(BOB, &sol::acceptOwnershipCall {});
    lab.fails(ADMIN, &set(V3, 1), &sol::OwnableUnauthorizedAccount { account: ADMIN });
    lab.ok(BOB, &set(V3, 1));
    assert_eq!(lab.listed(), [(V1, 1), (V2, 1), (V3, 1)]);
}

#[test]
fn a_change_is_among_the_updates_and_what_changes_nothing_is_not() {
    let mut lab = Lab::new(weighted(), &[V1, V2]);
    lab.ok(ADMIN, &set(V3, 7));
    assert_eq!(lab.updates(), [(V3, 7)]);
    lab.ok(ADMIN, &set(V3, 7));
    assert_eq!((lab.updates(), lab.journal.logs().len()), (vec![], 0));
    lab.ok(ADMIN, &set(V1, 1_000));
    assert_eq!(lab.updates(), [(V1, 1_000)]);
    lab.ok(ADMIN, &set(V1, 0));
    assert_eq!(lab.updates(), [(V1, 0)]);
    assert_eq!(lab.listed(), [(V3, 7), (V2, 1)], "the last moves into the gap");
    lab.ok(ADMIN, &set(V1, 2));
    assert_eq!(lab.listed(), [(V3, 7), (V2, 1), (V1, 2)], "who was removed may come back");
    assert_eq!(lab.ok(BOB, &sol::validatorCountCall {}), U256::from(3));
}

#[test]
fn refusals_name_the_bound() {
    let mut lab = Lab::new(equal().with_validators_min(2), &[V1, V2]);
    lab.fails(ADMIN, &set(V3, 2), &sol::WeightTooHigh { weight: 2, maximum: 1 });
    lab.fails(ADMIN, &set(V3, 0), &sol::UnknownValidator { validator: V3 });
    lab.fails(ADMIN, &set(Address::ZERO, 1), &sol::InvalidValidator { validator: Address::ZERO });
    let too_few = sol::TooFewValidators { minimum: U256::from(2) };
    lab.fails(ADMIN, &set(V1, 0), &too_few);
    lab.fails(ADMIN, &slash(V1, 1), &too_few);
    lab.fails(ADMIN, &slash(V3, 1), &sol::UnknownValidator { validator: V3 });
    for part in [0, PART_PPM_MAX + 1] {
        lab.fails(ADMIN, &slash(V1, part), &sol::InvalidPart { partPpm: part });
    }
    let long = |length: usize| sol::slashCall { reason: "x".repeat(length), ..slash(V1, 1) };
    let [length, maximum] = [REASON_BYTES_MAX + 1, REASON_BYTES_MAX].map(U256::from);
    lab.fails(ADMIN, &long(REASON_BYTES_MAX + 1), &sol::ReasonTooLong { length, maximum });
    lab.ok(ADMIN, &set(V3, 1));
    lab.ok(ADMIN, &long(REASON_BYTES_MAX));
    assert_eq!(lab.listed(), [(V3, 1), (V2, 1)]);
    lab.ok(ADMIN, &set(V1, 1));
    lab.ok(ADMIN, &set(V2, 0));
}

#[test]
fn the_last_validator_is_never_removed() {
    let mut lab = Lab::new(equal(), &[V1, V2]);
    lab.ok(ADMIN, &set(V1, 0));
    lab.fails(ADMIN, &set(V2, 0), &sol::TooFewValidators { minimum: U256::ONE });
    lab.convict(V2);
    assert_eq!(lab.listed(), [(V2, 1)]);
    assert!(!lab.ok(BOB, &sol::validatorCall { validator: V2 }).isConvicted, "it has to go on");
}

#[test]
fn a_slash_takes_a_part_rounded_up() {
    let mut lab = Lab::of(weighted(), &[(V1, 1_000), (V2, 1), (V3, 5)]);
    lab.ok(ADMIN, &slash(V1, 1));
    assert_eq!(lab.updates(), [(V1, 999)]);
    let event =
        sol::Slashed { validator: V1, partPpm: 1, oldWeight: 1_000, newWeight: 999, reason: "fell asleep".to_owned() };
    assert_eq!(lab.journal.logs()[1].data, event.encode_log_data());
    lab.ok(ADMIN, &slash(V3, 500_000));
    lab.ok(ADMIN, &slash(V2, 1));
    assert_eq!(lab.listed(), [(V1, 999), (V3, 2)], "who weighs 1 is removed");
    lab.ok(ADMIN, &slash(V3, PART_PPM_MAX));
    assert_eq!(lab.listed(), [(V1, 999)]);
    let mut heavy = Lab::of(equal().with_weight_max(u64::MAX), &[(V1, u64::MAX), (V2, 1)]);
    heavy.ok(ADMIN, &slash(V1, PART_PPM_MAX - 1));
    assert_eq!(heavy.updates(), [(V1, u64::MAX / 1_000_000)]);
}

#[test]
fn no_more_join_than_the_parameter_allows() {
    let mut lab = Lab::new(equal(), &[V1, V2]);
    let limits = |lab: &mut Lab| lab.ok(BOB, &sol::limitsCall {}).validatorsMax;
    assert_eq!(limits(&mut lab), 4_096);
    lab.deploy_parameters(2);
    lab.fails(ADMIN, &set(V3, 1), &sol::TooManyValidators { maximum: U256::from(2) });
    lab.set_maximum(3);
    assert_eq!(limits(&mut lab), 3);
    lab.ok(ADMIN, &set(V3, 1));
    lab.set_maximum(1);
    lab.ok(ADMIN, &set(V3, 0));
    lab.fails(ADMIN, &set(V3, 1), &sol::TooManyValidators { maximum: U256::ONE });
    assert_eq!(lab.listed(), [(V1, 1), (V2, 1)], "those that are there when it falls stay");
}

#[test]
fn who_is_convicted_never_comes_back() {
    let mut lab = Lab::new(equal().with_validators_min(2), &[V1, V2]);
    lab.convict(V1);
    assert_eq!(lab.updates(), [(V1, 0)]);
    assert_eq!(lab.journal.logs()[0].data, sol::Convicted { validator: V1 }.encode_log_data());
    assert!(lab.ok(BOB, &sol::validatorCall { validator: V1 }).isConvicted);
    assert_eq!(lab.listed(), [(V2, 1)], "whatever the protocol needs: it keeps the convicted until others join");
    lab.fails(ADMIN, &set(V1, 1), &sol::IsConvicted { validator: V1 });
    lab.convict(V1);
    assert!(lab.journal.logs().is_empty(), "once");
    lab.convict(V3);
    assert!(lab.updates().is_empty());
    lab.fails(ADMIN, &set(V3, 1), &sol::IsConvicted { validator: V3 });
}

#[test]
fn weights_are_those_at_the_end_of_a_block() {
    let mut lab = Lab::of(weighted(), &[(V1, 3), (V2, 4)]);
    lab.pass(1);
    lab.ok(ADMIN, &set(V1, 5));
    lab.ok(ADMIN, &set(V1, 6));
    lab.ok(ADMIN, &set(V3, 9));
    lab.pass(3);
    lab.ok(ADMIN, &set(V2, 0));
    let was = |lab: &mut Lab, validator| lab.ok(BOB, &sol::wasValidatorCall { validator });
    assert_eq!([V1, V2, BOB].map(|one| was(&mut lab, one)), [true, true, false]);
    let error = sol::HeightNotPast { height: 5, current: 5 };
    lab.fails(BOB, &sol::weightAtCall { validator: V1, height: 5 }, &error);
    lab.fails(BOB, &sol::totalWeightAtCall { height: 5 }, &error);
    lab.pass(1);
    let heights = [0, 1, 2, 4, 5];
    let of = |lab: &mut Lab, validator| heights.map(|height| lab.weight_at(validator, height));
    assert_eq!(of(&mut lab, V1), [3, 3, 6, 6, 6]);
    assert_eq!(of(&mut lab, V2), [4, 4, 4, 4, 0]);
    assert_eq!(of(&mut lab, V3), [0, 0, 9, 9, 9]);
    assert_eq!(heights.map(|height| lab.total_at(height)), [7, 7, 19, 19, 15]);
    assert_eq!(lab.weight_at(BOB, 5), 0);
}

/// A block whose weights could not be kept would be invalid.
#[test]
fn heights_that_begin_anew_stop_nothing() {
    let mut lab = Lab::of(weighted(), &[(V1, 3)]);
    lab.pass(8);
    lab.ok(ADMIN, &set(V1, 5));
    lab.block.height = crate::primitives::Height::new(2);
    lab.ok(ADMIN, &set(V1, 7));
    lab.pass(9);
    assert_eq!((lab.weight_at(V1, 9), lab.total_at(9)), (7, 7));
}

#[test]
fn genesis_lists_nobody_twice_and_none_too_heavy() {
    for (members, wrong) in [
        (vec![(V1, 1), (V1, 1)], (V1, 1)),
        (vec![(V1, 1), (V2, 0)], (V2, 0)),
        (vec![(V1, 2)], (V1, 2)),
        (vec![(Address::ZERO, 1)], (Address::ZERO, 1)),
    ] {
        let mut lab = Lab::empty();
        let result = lab.deploy(VALIDATORS_ADDRESS, &ValidatorsTemplate::init_code(&equal(), members));
        let error = sol::InvalidGenesisMember { validator: wrong.0, weight: wrong.1 };
        assert_eq!(result.output.as_ref(), error.abi_encode());
    }
}

#[test]
fn a_page_has_a_hundred_at_most() {
    let members: Vec<_> = (1..=103_u64).map(|number| Address::left_padding_from(&number.to_be_bytes())).collect();
    let mut lab = Lab::new(equal(), &members);
    let page = |from: u64, count: u64| sol::validatorsCall { from: U256::from(from), count: U256::from(count) };
    assert_eq!(lab.ok(BOB, &page(0, u64::MAX)).len() as u64, PAGE_MAX);
    assert_eq!(lab.ok(BOB, &page(100, 9)).len(), 3);
    assert_eq!(lab.ok(BOB, &page(7, 1))[0].validator, members[7]);
    assert!(lab.ok(BOB, &page(103, 1)).is_empty());
}

#[test]
fn variables_stay_in_their_slots() {
    let layout = ValidatorsTemplate.storage_layout();
    let variable = |entry: &crate::vm::storage::StorageVariable| {
        format!("{} {} {} {}", entry.label, entry.slot, entry.offset, layout.types[&entry.ty].label)
    };
    let want = [
        "_owner 0 0 address",
        "_pendingOwner 1 0 address",
        "_bounds 2 0 struct Bounds",
        "_listed 3 0 address[]",
        "_members 4 0 mapping(address => struct StoredMember)",
        "_weights 5 0 mapping(address => struct Trace208)",
        "_totalWeights 6 0 struct Trace208",
        "_sealingKeys 7 0 mapping(address => struct PresentKey)",
        "_operators 8 0 mapping(address => address)",
    ];
    assert_eq!(layout.storage.iter().map(variable).collect::<Vec<_>>(), want);
    assert_eq!(VALIDATORS.bounds.slot(), U256::from(2));
}

#[test]
fn the_page_has_every_function_and_error() {
    let page = include_str!("../../../docs/system-contracts.md");
    let abi = ValidatorsTemplate.abi();
    for name in abi.functions.keys().chain(abi.errors.keys()).chain(abi.events.keys()) {
        // What is OpenZeppelin's is told of once.
        assert!(
            name == "OwnableInvalidOwner" || page.contains(name),
            "docs/system-contracts.md does not tell of {name}"
        );
    }
}
