//! What a role permits.

use super::*;

#[test]
fn a_role_permits_what_it_says() {
    let world = World::new();
    let (owner, members) = (world.workspace(), world.platform.workspaces().members());
    let (_, admin) = world.member(&owner, "admin", Role::Admin);
    let (developer_id, developer) = world.member(&owner, "developer", Role::Developer);
    let (viewer_id, viewer) = world.member(&owner, "viewer", Role::Viewer);
    for low in [&developer, &viewer] {
        assert_eq!(refused(world.unit(|unit| members.invite(unit, low, "x@example.org", Role::Viewer))), "forbidden");
        assert_eq!(refused(world.unit(|unit| members.change_role(unit, low, &viewer_id, Role::Owner))), "forbidden");
        assert_eq!(refused(world.unit(|unit| members.remove(unit, low, owner_id(&owner)))), "forbidden");
        let stored = world.platform.workspaces().get(low).unwrap();
        assert_eq!(refused(world.unit(|unit| world.platform.workspaces().update(unit, low, &stored))), "forbidden");
    }
    assert_eq!(refused(world.unit(|unit| members.invite(unit, &admin, "x@example.org", Role::Owner))), "forbidden");
    assert_eq!(
        refused(world.unit(|unit| members.change_role(unit, &admin, owner_id(&owner), Role::Viewer))),
        "forbidden"
    );
    assert_eq!(refused(world.unit(|unit| members.change_role(unit, &admin, &viewer_id, Role::Owner))), "forbidden");
    assert_eq!(refused(world.unit(|unit| world.platform.workspaces().delete(unit, &admin))), "forbidden");
    world.unit(|unit| members.change_role(unit, &admin, &viewer_id, Role::Developer)).unwrap();
    let mut workspace = world.platform.workspaces().get(&admin).unwrap();
    workspace.value.description = "changed".to_owned();
    let mut workspace = world.unit(|unit| world.platform.workspaces().update(unit, &admin, &workspace)).unwrap();
    workspace.value.billing_plan = "unlimited".to_owned();
    assert_eq!(
        refused(world.unit(|unit| world.platform.workspaces().update(unit, &admin, &workspace))),
        "forbidden",
        "the plan is an owner's"
    );
    workspace.value.billing_plan = "none".to_owned();
    assert_eq!(refused(world.unit(|unit| world.platform.workspaces().update(unit, &owner, &workspace))), "invalid");
    for (plan, outcome) in [("team", "forbidden"), ("unlimited", "forbidden"), ("small", "yes"), ("free", "yes")] {
        workspace.value.billing_plan = plan.to_owned();
        match world.unit(|unit| world.platform.workspaces().update(unit, &owner, &workspace)) {
            Ok(_) if plan == "free" => assert_eq!(outcome, "yes"),
            Ok(changed) => workspace = changed,
            refusal => {
                assert_eq!(refused(refusal), outcome, "{plan}: what allows more than the default is an operator's")
            }
        }
    }
    assert_eq!(
        refused(world.unit(|unit| world.platform.workspaces().update(unit, &owner, &workspace))),
        "conflict",
        "it was read before"
    );
    // A member may leave by itself.
    assert!(!developer.may(Scope::WorkspaceWrite));
    world.unit(|unit| members.remove(unit, &developer, &developer_id)).unwrap();
    assert!(world.platform.workspaces().principal(&developer_id, owner.workspace()).unwrap().is_none());
}

#[test]
fn who_may_change_the_workspace_does_not_leave_it_by_credentials_that_may_not() {
    let world = World::new();
    let (owner, members) = (world.workspace(), world.platform.workspaces().members());
    let (id, admin) = world.member(&owner, "admin", Role::Admin);
    let reader = Principal::new(admin.subject().clone(), admin.workspace().clone(), Role::Viewer.cap());
    let lacking = world.unit(|unit| members.remove(unit, &reader, &id)).unwrap_err();
    assert!(matches!(lacking, PlatformError::MissingScope { scope: Scope::WorkspaceWrite }), "{lacking}");
    world.unit(|unit| members.remove(unit, &admin, &id)).unwrap();
}

#[test]
fn a_workspace_always_has_an_owner() {
    let world = World::new();
    let (owner, members) = (world.workspace(), world.platform.workspaces().members());
    let first = owner_id(&owner).to_owned();
    assert_eq!(refused(world.unit(|unit| members.change_role(unit, &owner, &first, Role::Admin))), "conflict");
    assert_eq!(refused(world.unit(|unit| members.remove(unit, &owner, &first))), "conflict");
    let (second, _) = world.member(&owner, "second", Role::Owner);
    world.unit(|unit| members.change_role(unit, &owner, &first, Role::Admin)).unwrap();
    assert_eq!(
        refused(world.unit(|unit| members.change_role(unit, &owner, &second, Role::Viewer))),
        "forbidden",
        "no owner any more"
    );
    assert_eq!(world.platform.records().verify::<Member>().unwrap(), 2);
}

/// Credentials for a part of what a user may do neither give a role that permits more than they do, nor take it away.
#[test]
fn credentials_give_no_role_that_permits_more_than_they_do() {
    let world = World::new();
    let (owner, members) = (world.workspace(), world.platform.workspaces().members());
    let (viewer, _) = world.member(&owner, "viewer", Role::Viewer);
    let (admin, _) = world.member(&owner, "admin", Role::Admin);
    let missing = |result: Result<(), PlatformError>| match result {
        Err(PlatformError::MissingScope { scope }) => Some(scope),
        Ok(()) => None,
        Err(other) => panic!("{other}"),
    };
    let own = world.platform.create_api_key("writer", &[Scope::WorkspaceWrite]).unwrap();
    let users = world.key(&owner, &[Scope::WorkspaceWrite]).0;
    for writer in [own.text(), &users] {
        let writer = world.authenticated(writer).unwrap();
        let invited =
            |role: Role| missing(world.unit(|unit| members.invite(unit, &writer, "x@example.org", role)).map(drop));
        assert_eq!(invited(Role::Owner), Some(Scope::Admin));
        assert_eq!(invited(Role::Admin), Some(Scope::Admin));
        assert_eq!(invited(Role::Developer), Some(Scope::WorkspaceRead));
        assert_eq!(invited(Role::Viewer), Some(Scope::WorkspaceRead));
    }
    let with = |scopes: &[Scope]| world.authenticated(&world.key(&owner, scopes).0).unwrap();
    let changed = |by: &Principal, user: &str, role: Role| {
        missing(world.unit(|unit| members.change_role(unit, by, user, role)).map(drop))
    };
    let every_but_admin = with(&Scope::ALL[..9]);
    assert_eq!(changed(&every_but_admin, &viewer, Role::Owner), Some(Scope::Admin));
    assert_eq!(changed(&every_but_admin, &admin, Role::Viewer), Some(Scope::Admin), "it is not taken away either");
    assert_eq!(changed(&every_but_admin, &viewer, Role::Developer), None);
    let whole = with(&[Scope::Admin]);
    assert_eq!(changed(&whole, &viewer, Role::Owner), None);
    assert_eq!(changed(&whole, &admin, Role::Viewer), None);
}

/// Who makes a workspace invites to it whom it will, but administrators only with the scope admin.
#[test]
fn who_makes_a_workspace_invites_administrators_with_the_scope_admin_alone() {
    let world = World::new();
    let (workspaces, members) = (world.platform.workspaces(), world.platform.workspaces().members());
    let owner = world.workspace();
    for (scope, is_admin) in [(Scope::WorkspaceWrite, false), (Scope::Admin, true)] {
        let key = world.authenticated(&world.key(&owner, &[scope]).0).unwrap();
        for (role, is_invited) in
            [(Role::Viewer, true), (Role::Developer, true), (Role::Admin, is_admin), (Role::Owner, is_admin)]
        {
            let invited = world.unit(|unit| {
                let (_, there) = workspaces.create_by(unit, &key, Workspace::named("new"))?;
                members.invite_to_new(unit, &there, "x@example.org", role)
            });
            match invited {
                Ok(_) => assert!(is_invited, "{scope:?} {role:?}"),
                Err(PlatformError::MissingScope { scope: Scope::Admin }) => assert!(!is_invited, "{scope:?} {role:?}"),
                Err(other) => panic!("{other}"),
            }
        }
    }
}
