//! Each rule for each operation, against each kind of caller.

use super::*;

/// Who may, by a rule, of: the owner of the record, a writer, an administrator, a stranger.
const ALLOWED: [(Access, [bool; 4]); 5] = [
    (Access::Anyone, [true, true, true, true]),
    (Access::RecordOwner, [true, false, false, false]),
    (Access::Writers, [false, true, false, false]),
    (Access::OwnerOrWriters, [true, true, false, false]),
    (Access::Admin, [false, false, true, false]),
];

const CALLERS: [Address; 4] = [ALICE, WRITER, OWNER, BOB];

/// A collection with a record of `ALICE`, whose administrator is no writer.
fn world() -> World {
    let mut world = library(&owners_rules());
    world.ok(OWNER, &sol::revokeRoleCall { role: WRITER_ROLE, account: OWNER });
    world.ok(ALICE, &create(1, b"one"));
    world
}

/// Runs an operation on `number` under each rule, by each caller.
fn follows_its_rule<C: SolCall>(
    number: u8,
    rules: impl Fn(Access) -> sol::Rules,
    call: &C,
    allowed: &[(Access, [bool; 4])],
) {
    let world = world();
    for (needed, callers) in allowed {
        let mut world = world.clone();
        world.ok(OWNER, &sol::setRulesCall { collection: BOOKS, rules: rules(*needed) });
        for (account, may) in CALLERS.into_iter().zip(*callers) {
            let mut world = world.clone();
            if may {
                world.ok(account, call);
            } else {
                let (collection, id, needed) = (BOOKS, id(number), *needed);
                world.fails(account, call, &sol::RecordUnauthorizedAccount { collection, id, account, needed });
            }
        }
    }
}

#[test]
fn update_remove_and_transfer_follow_their_rules_alone() {
    // The other rules are the opposite, so that a mix-up shows.
    let other = |needed| if needed == Access::Anyone { Access::Admin } else { Access::Anyone };
    let updating = |needed| rules(other(needed), needed, other(needed), other(needed));
    follows_its_rule(1, updating, &update(1, 1, b"two"), &ALLOWED);
    let removing = |needed| rules(other(needed), other(needed), needed, other(needed));
    follows_its_rule(1, removing, &remove(1, 1), &ALLOWED);
    let transferring = |needed| rules(other(needed), other(needed), other(needed), needed);
    follows_its_rule(1, transferring, &transfer(1, 1, BOB), &ALLOWED);
}

#[test]
fn who_creates_counts_as_the_owner() {
    let other = |needed| if needed == Access::Anyone { Access::Admin } else { Access::Anyone };
    let creating = |needed| rules(needed, other(needed), other(needed), other(needed));
    let allowed = ALLOWED.map(|(needed, callers)| match needed {
        Access::RecordOwner | Access::OwnerOrWriters => (needed, [true; 4]),
        _ => (needed, callers),
    });
    follows_its_rule(2, creating, &create(2, b"two"), &allowed);
}

#[test]
fn a_change_is_refused_for_the_caller_before_the_version_or_the_record_is_told() {
    let mut world = world();
    let (collection, id, account) = (BOOKS, id(1), BOB);
    let refused = |needed| sol::RecordUnauthorizedAccount { collection, id, account, needed };
    world.fails(BOB, &update(1, 9, b""), &refused(Access::RecordOwner));
    world.fails(BOB, &transfer(1, 9, Address::ZERO), &refused(Access::RecordOwner));
    let writers = rules(Access::Writers, Access::Writers, Access::Writers, Access::Writers);
    world.ok(OWNER, &sol::setRulesCall { collection, rules: writers });
    world.fails(BOB, &create(1, b""), &refused(Access::Writers));
}
