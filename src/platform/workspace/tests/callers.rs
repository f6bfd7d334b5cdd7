//! The workspaces that a caller makes and reaches.

use super::*;

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
