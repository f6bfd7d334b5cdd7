//! The workspaces that a caller makes and reaches.

use super::*;
use crate::platform::workspace::take_over_orphans;

#[test]
fn a_user_makes_workspaces_up_to_the_bound_and_not_one_more() {
    let world = World::new();
    let (user, workspaces) = (world.workspace(), world.platform.workspaces());
    let (value, _) = world.key(&user, &[Scope::Admin]);
    let key = world.authenticated(&value).unwrap();
    let make = |by: &Principal| world.unit(|unit| workspaces.create_by(unit, by, Workspace::named("more")));
    let (_, second) = make(&user).unwrap();
    for number in 3..=10 {
        make(if number % 2 == 0 { &user } else { &key }).unwrap();
    }
    // One past it, by the user, by its key, and where the service makes one for it.
    for by in [&user, &key] {
        let refusal = make(by).map(drop).unwrap_err().to_string();
        assert!(refusal.contains("a member of 10 workspaces, and the service allows 10"), "{refusal}");
    }
    let own = |unit: &mut Unit<'_>| workspaces.create(unit, owner_id(&user), Workspace::named("more")).map(drop);
    assert_eq!(refused(world.unit(own)), "conflict");
    world.unit(|unit| workspaces.delete(unit, &second)).unwrap();
    make(&user).unwrap();
    for _ in 0..12 {
        make(&world.platform.service_principal()).unwrap();
    }
}

/// A key acts in a workspace that it made by what its maker is there now, and sees it for as long.
#[test]
fn a_key_has_in_a_workspace_that_it_made_what_its_maker_has_there() {
    let world = World::new();
    let owner = world.workspace();
    let (workspaces, members) = (world.platform.workspaces(), world.platform.workspaces().members());
    let (value, _) = world.key(&owner, &[Scope::Admin]);
    let key = world.authenticated(&value).unwrap();
    let (made, there) = world.unit(|unit| workspaces.create_by(unit, &key, Workspace::named("made"))).unwrap();
    let acting = || workspaces.acting_in(&key, made.id());
    let listed = || -> Vec<String> {
        let request = PageRequest::first(NonZeroUsize::new(9).unwrap());
        let (page, total) = workspaces.page_of_caller(&key, &request).unwrap();
        assert_eq!((&page, total), (&workspaces.of_caller(&key).unwrap(), page.len() as u64));
        page.iter().map(|found| found.value.name.clone()).collect()
    };
    let names = || {
        let mut names = listed();
        names.sort_unstable();
        names
    };
    assert!(acting().unwrap().may(Scope::Admin));
    assert_eq!(names(), ["made", "team"]);
    let (_, second) = world.member(&there, "second", Role::Owner);
    let first = owner_id(&owner);
    world.unit(|unit| members.change_role(unit, &second, first, Role::Viewer)).unwrap();
    let lowered = acting().unwrap();
    assert!(lowered.may(Scope::WorkspaceRead) && !lowered.may(Scope::WorkspaceWrite));
    assert_eq!(names(), ["made", "team"]);
    world.unit(|unit| members.remove(unit, &second, first)).unwrap();
    assert_eq!(refused(acting()), "not found");
    assert_eq!(names(), ["team"]);
    assert!(world.authenticated(&value).unwrap().may(Scope::Admin), "in its own workspace nothing changed");
    // Nobody's membership is behind a key that the service made.
    let own = world.platform.create_api_key("own", &[Scope::Admin]).unwrap();
    let own = world.authenticated(own.text()).unwrap();
    let (made, _) = world.unit(|unit| workspaces.create_by(unit, &own, Workspace::named("of the service"))).unwrap();
    assert!(workspaces.acting_in(&own, made.id()).unwrap().may(Scope::Admin));
    assert_eq!(refused(workspaces.acting_in(&key, made.id())), "not found");
}

#[test]
fn pages_of_a_callers_workspaces_are_parts_of_the_whole_list() {
    let world = World::new();
    let (users, _) = world.key(&world.workspace(), &[Scope::Admin]);
    pages_are_parts_of_the_whole_list(&world, &users);
    let services = world.platform.create_api_key("own", &[Scope::Admin]).unwrap();
    pages_are_parts_of_the_whole_list(&world, services.text());
}

/// Each page of what a key sees is the part of the whole list, in both directions: its own workspace, and those that it made.
fn pages_are_parts_of_the_whole_list(world: &World, key: &str) {
    let caller = world.authenticated(key).unwrap();
    let workspaces = world.platform.workspaces();
    for made in 0..5 {
        let whole = workspaces.of_caller(&caller).unwrap();
        assert_eq!(whole.len(), made + 1);
        for order in [Order::Ascending, Order::Descending] {
            let mut ids: Vec<&str> = whole.iter().map(|stored| stored.id()).collect();
            if order == Order::Descending {
                ids.reverse();
            }
            for (limit, number) in (1..=7).flat_map(|limit| (1..=7).map(move |number| (limit, number))) {
                let place = |number: usize| NonZeroUsize::new(number).unwrap();
                let request = PageRequest::first(place(limit)).with_number(place(number)).in_order(order);
                let (page, total) = workspaces.page_of_caller(&caller, &request).unwrap();
                let page: Vec<&str> = page.iter().map(|stored| stored.id()).collect();
                let wanted: Vec<&str> = ids.iter().copied().skip((number - 1) * limit).take(limit).collect();
                assert_eq!((page, total), (wanted, ids.len() as u64), "{order:?} {limit} {number}");
            }
        }
        world.clock.advance(Duration::from_secs(1));
        world.unit(|unit| workspaces.create_by(unit, &caller, Workspace::named("more")).map(drop)).unwrap();
    }
}

/// The printed key of a process is another one after each start; what it made is the service's.
#[test]
fn what_the_services_own_keys_make_is_reached_by_each_of_them_and_by_no_other() {
    let world = World::new();
    let workspaces = world.platform.workspaces();
    let renewed = || {
        let value = world.platform.renew_api_key("dev", &[Scope::Admin]).unwrap();
        world.authenticated(value.text()).unwrap()
    };
    let first = renewed();
    let (made, _) = world.unit(|unit| workspaces.create_by(unit, &first, Workspace::named("made"))).unwrap();
    assert_eq!(made.value.created_by, Subject::Service);
    let second = renewed();
    assert_eq!(refused(workspaces.acting_in(&first, made.id())), "not found", "it is gone");
    let there = workspaces.acting_in(&second, made.id()).unwrap();
    assert!(there.may(Scope::Admin));
    let listed = |caller: &Principal| -> Vec<String> {
        let mut names: Vec<String> =
            workspaces.of_caller(caller).unwrap().into_iter().map(|found| found.value.name).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(listed(&second), ["default", "made"]);
    let reader = world.platform.create_api_key("reader", &[Scope::WorkspaceRead]).unwrap();
    let reader = workspaces.acting_in(&world.authenticated(reader.text()).unwrap(), made.id()).unwrap();
    assert!(reader.may(Scope::WorkspaceRead) && !reader.may(Scope::WorkspaceWrite), "no more than its scopes");
    // The service answers for a key that one of its own makes in another workspace; that is for this workspace, and what it makes itself.
    let (inner, _) = world.key(&there, &[Scope::Admin]);
    let inner = world.authenticated(&inner).unwrap();
    let (own, _) = world.unit(|unit| workspaces.create_by(unit, &inner, Workspace::named("inner"))).unwrap();
    let (other, _) = world.unit(|unit| workspaces.create_by(unit, &second, Workspace::named("other"))).unwrap();
    assert!(workspaces.acting_in(&inner, own.id()).unwrap().may(Scope::Admin));
    for beyond in [DEFAULT_WORKSPACE_ID, other.id()] {
        assert_eq!(refused(workspaces.acting_in(&inner, beyond)), "not found");
    }
    assert_eq!(listed(&inner), ["inner", "made"]);
}

/// Former versions kept what a key of the service's own made as the key's.
#[test]
fn what_the_services_own_keys_made_before_is_theirs_still() {
    let world = World::new();
    let (workspaces, user) = (world.platform.workspaces(), world.workspace());
    let authenticated = |value: &str| world.authenticated(value).unwrap();
    let printed = authenticated(world.platform.renew_api_key("dev", &[Scope::Admin]).unwrap().text());
    let other = authenticated(world.platform.create_api_key("other", &[Scope::Admin]).unwrap().text());
    let (users, _) = world.key(&user, &[Scope::Admin]);
    let made_by = |creator: &Subject, by: &Principal| {
        let (mut made, _) = world.unit(|unit| workspaces.create_by(unit, by, Workspace::named("made"))).unwrap();
        made.value.created_by = creator.clone();
        world.unit(|unit| Ok(unit.replace(&made)?)).unwrap()
    };
    let gone = Subject::ApiKey("key_0123456789abcdef".to_owned());
    let (lost, kept) = (made_by(&gone, &printed), made_by(printed.subject(), &printed));
    let has_members = made_by(&gone, &authenticated(&users));
    for reached in [&lost, &kept] {
        assert!(workspaces.acting_in(&other, reached.id()).unwrap().may(Scope::Admin));
        assert_eq!(refused(workspaces.acting_in(&authenticated(&users), reached.id())), "not found");
    }
    assert_eq!(refused(workspaces.acting_in(&other, has_members.id())), "not found");
    let request = PageRequest::first(NonZeroUsize::new(9).unwrap());
    let names = |caller: &Principal| {
        let (page, total) = workspaces.page_of_caller(caller, &request).unwrap();
        assert_eq!((&page, total), (&workspaces.of_caller(caller).unwrap(), page.len() as u64));
        page.iter().map(|found| found.id().to_owned()).collect::<Vec<_>>()
    };
    assert!(names(&printed).contains(&kept.id().to_owned()));
    // The next start shows another key.
    let next = authenticated(world.platform.renew_api_key("dev", &[Scope::Admin]).unwrap().text());
    assert!(names(&next).contains(&kept.id().to_owned()));
    assert_eq!(
        workspaces.get(&workspaces.acting_in(&next, kept.id()).unwrap()).unwrap().value.created_by,
        Subject::Service
    );
}

/// Of keys that are gone for longer than since the last start, nobody's renewal tells any more.
#[test]
fn what_keys_of_the_services_own_left_behind_is_in_the_lists_of_its_present_ones() {
    let world = World::new();
    let (workspaces, user) = (world.platform.workspaces(), world.workspace());
    let key = world.platform.create_api_key("dev", &[Scope::Admin]).unwrap();
    let (key, (users, _)) = (world.authenticated(key.text()).unwrap(), world.key(&user, &[Scope::Admin]));
    let users = world.authenticated(&users).unwrap();
    let gone = Subject::ApiKey("key_0123456789abcdef".to_owned());
    let left_by = |by: &Principal, name: &str| {
        let (mut made, _) = world.unit(|unit| workspaces.create_by(unit, by, Workspace::named(name))).unwrap();
        made.value.created_by = gone.clone();
        world.unit(|unit| Ok(unit.replace(&made)?)).unwrap()
    };
    left_by(&key, "orphan");
    let has_members = left_by(&users, "with a member");
    let names = || {
        let found = workspaces.of_caller(&key).unwrap();
        let mut names: Vec<String> = found.into_iter().map(|found| found.value.name).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(names(), ["default"]);
    take_over_orphans(world.platform.records()).unwrap();
    assert_eq!(names(), ["default", "orphan"]);
    let page = PageRequest::first(NonZeroUsize::new(9).unwrap());
    assert_eq!(workspaces.page_of_caller(&key, &page).unwrap().1, 2);
    let kept = world.platform.records().of::<Workspace>().require(has_members.owner(), has_members.id()).unwrap();
    assert_eq!(kept, has_members, "it is its members'");
    world.platform.records().verify::<Workspace>().unwrap();
    take_over_orphans(world.platform.records()).unwrap();
    assert_eq!(names(), ["default", "orphan"]);
}

/// What becomes the service's is so in the records of its members too.
#[test]
fn members_of_what_is_taken_over_keep_its_present_origin() {
    let world = World::new();
    let (workspaces, user) = (world.platform.workspaces(), world.user("ann"));
    let printed = world.platform.renew_api_key("dev", &[Scope::Admin]).unwrap();
    let printed = world.authenticated(printed.text()).unwrap();
    let former = |name: &str| {
        let (mut made, _) = world.unit(|unit| workspaces.create_by(unit, &printed, Workspace::named(name))).unwrap();
        made.value.created_by = printed.subject().clone();
        let made = world.unit(|unit| Ok(unit.replace(&made)?)).unwrap();
        let member = Member::of(&made, Role::Developer);
        world.unit(|unit| Ok(unit.insert(made.owner(), &user, member)?)).unwrap();
        made.owner().clone()
    };
    let is_in_step = |owner: &Owner| {
        let records = world.platform.records();
        let workspace = records.of::<Workspace>().require(owner, owner.as_str()).unwrap();
        let member = records.of::<Member>().require(owner, &user).unwrap();
        assert_eq!(workspace.value.created_by, Subject::Service);
        assert_eq!(member.value, Member::of(&workspace, Role::Developer));
        records.verify::<Member>().unwrap();
    };
    let at_a_start = former("one");
    take_over_orphans(world.platform.records()).unwrap();
    is_in_step(&at_a_start);
    let with_the_key = former("two");
    world.platform.renew_api_key("dev", &[Scope::Admin]).unwrap();
    is_in_step(&with_the_key);
}

/// A key of another workspace for which the service answers goes with that workspace, and not what it made elsewhere.
#[test]
fn what_a_key_made_that_goes_with_its_workspace_is_the_services() {
    let world = World::new();
    let workspaces = world.platform.workspaces();
    let own = world.platform.create_api_key("own", &[Scope::Admin]).unwrap();
    let own = world.authenticated(own.text()).unwrap();
    let (_, there) = world.unit(|unit| workspaces.create_by(unit, &own, Workspace::named("outer"))).unwrap();
    let (inner, inner_id) = world.key(&there, &[Scope::Admin]);
    let inner = world.authenticated(&inner).unwrap();
    let (made, _) = world.unit(|unit| workspaces.create_by(unit, &inner, Workspace::named("inner"))).unwrap();
    world
        .unit(|unit| {
            world.platform.api_keys().revoke(unit, &there, &inner_id)?;
            workspaces.delete(unit, &there)
        })
        .unwrap();
    let found = workspaces.of_caller(&own).unwrap();
    assert!(found.iter().any(|found| found.id() == made.id() && found.value.created_by == Subject::Service));
}

#[test]
fn a_key_that_rotates_itself_keeps_its_workspaces_and_no_other_credentials_gain_them() {
    let world = World::new();
    let (user, workspaces, keys) = (world.workspace(), world.platform.workspaces(), world.platform.api_keys());
    let (value, first_id) = world.key(&user, &[Scope::Admin]);
    let first = world.authenticated(&value).unwrap();
    let (made, _) = world.unit(|unit| workspaces.create_by(unit, &first, Workspace::named("made"))).unwrap();
    let rotated = |by: &Principal, id: &str| {
        let (value, next) = world.unit(|unit| keys.rotate(unit, by, id, 60_000)).unwrap();
        (world.authenticated(value.text()).unwrap(), next.id().to_owned())
    };
    let (second, second_id) = rotated(&first, &first_id);
    let (third, third_id) = rotated(&second, &second_id);
    let (later, _) = world.unit(|unit| workspaces.create_by(unit, &third, Workspace::named("later"))).unwrap();
    // By its maker, who is present.
    let (fourth, fourth_id) = rotated(&user, &third_id);
    for key in [&first, &second, &third, &fourth] {
        for reached in [&made, &later] {
            assert!(workspaces.acting_in(key, reached.id()).unwrap().may(Scope::Admin));
        }
        let request = PageRequest::first(NonZeroUsize::new(9).unwrap());
        assert_eq!(workspaces.page_of_caller(key, &request).unwrap().1, 3);
    }
    // Another key of the same user does not reach them, and its successor of the key neither.
    let (other, _) = world.key(&user, &[Scope::Admin]);
    let other = world.authenticated(&other).unwrap();
    let (taken, _) = rotated(&other, &fourth_id);
    for key in [&other, &taken] {
        assert_eq!(refused(workspaces.acting_in(key, made.id())), "not found");
    }
}
