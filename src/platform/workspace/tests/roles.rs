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
    world.unit(|unit| members.remove(unit, &developer, &developer_id)).unwrap();
    assert!(world.platform.workspaces().principal(&developer_id, owner.workspace()).unwrap().is_none());
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
