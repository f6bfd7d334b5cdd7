//! Plans: who gives them, and what they bound.

use super::*;

#[test]
fn an_operator_gives_a_workspace_a_plan_above_the_default_one() {
    let world = World::new();
    let (user, operator) = (world.workspace(), world.platform.service_principal());
    let workspaces = world.platform.workspaces();
    let team = |name: &str| Workspace { billing_plan: "team".to_owned(), ..Workspace::named(name) };
    assert_eq!(refused(world.unit(|unit| workspaces.create_by(unit, &user, team("mine")))), "forbidden");
    // A key with the scope admin of a workspace of its own is no operator's.
    let (value, _) = world.key(&user, &[Scope::Admin]);
    let key = world.authenticated(&value).unwrap();
    assert_eq!(refused(world.unit(|unit| workspaces.create_by(unit, &key, team("mine")))), "forbidden");
    let (stored, acting) = world.unit(|unit| workspaces.create_by(unit, &operator, team("theirs"))).unwrap();
    assert_eq!(stored.value.billing_plan, "team");
    let members = workspaces.members();
    let (_, token) = world.unit(|unit| members.invite(unit, &acting, "owner@example.org", Role::Owner)).unwrap();
    world.unit(|unit| members.accept(unit, owner_id(&user), token.text())).unwrap();
    let owner = world.principal(owner_id(&user), &acting);
    let mut stored = workspaces.get(&owner).unwrap();
    stored.value.name = "renamed".to_owned();
    let mut stored = world.unit(|unit| workspaces.update(unit, &owner, &stored)).unwrap();
    assert_eq!(stored.value.billing_plan, "team", "the owner keeps what was given");
    stored.value.billing_plan = "unlimited".to_owned();
    assert_eq!(refused(world.unit(|unit| workspaces.update(unit, &owner, &stored))), "forbidden");
    world.unit(|unit| workspaces.update(unit, &acting, &stored)).unwrap();
}

#[test]
fn an_operator_gives_any_workspace_a_plan_and_nobody_else_does() {
    let world = World::new();
    let (owner, operator) = (world.workspace(), world.platform.service_principal());
    let workspaces = world.platform.workspaces();
    let (_, admin) = world.member(&owner, "admin", Role::Admin);
    let (value, _) = world.key(&owner, &[Scope::Admin]);
    let key = world.authenticated(&value).unwrap();
    let id = owner.workspace().to_string();
    let give = |by: &Principal, workspace: &str, plan: &str| {
        world.unit(|unit| workspaces.give_plan(unit, by, workspace, plan)).map(|stored| stored.value.billing_plan)
    };
    let plan = || workspaces.get(&owner).unwrap().value.billing_plan;
    // A key of the operators without the scope admin is no operator's.
    let reader = world.platform.create_api_key("reader", &[Scope::WorkspaceRead, Scope::WorkspaceWrite]).unwrap();
    for by in [&owner, &admin, &key, &world.authenticated(reader.text()).unwrap()] {
        for plan in ["free", "team"] {
            assert_eq!(refused(give(by, &id, plan)), "forbidden", "{plan}");
        }
    }
    let nobodys = "ws_fedcba9876543210";
    assert_eq!([nobodys, "", "no id", "usr_none"].map(|id| refused(give(&operator, id, "team"))), ["not found"; 4]);
    match give(&operator, &id, "golden") {
        Err(PlatformError::Validation { fields }) => assert_eq!(fields[0].path, "billingPlan"),
        other => panic!("{other:?}"),
    }
    assert_eq!(plan(), "free", "nothing has changed");
    assert_eq!(give(&operator, &id, "team").unwrap(), "team");
    assert_eq!(plan(), "team");
    let own = world.platform.create_api_key("own", &[Scope::Admin]).unwrap();
    let own = world.authenticated(own.text()).unwrap().with_client(Some([203, 0, 113, 9].into()));
    assert_eq!(give(&own, &id, "unlimited").unwrap(), "unlimited");
    let lines = |of: &Principal| {
        let (log, mut lines) = (world.platform.records().of::<AuditLine>(), Vec::new());
        log.for_each(&Index::CREATED, &of.owner(), &SortKey::new(), |line| {
            lines.extend((line.value.action == "workspace.plan").then_some((line.value.target, line.value.client)));
            Ok::<_, PlatformError>(())
        })
        .unwrap();
        lines
    };
    let line = |plan: &str, before: &str| format!("workspace {id}: plan {plan}, before {before}");
    let (first, second) = (line("team", "free"), line("unlimited", "team"));
    assert_eq!(lines(&operator), [(first.clone(), None), (second.clone(), own.client())]);
    assert_eq!(lines(&owner), [(first, None), (second, None)], "not from where");
    // Its owner goes back by itself, and its operators' own workspace gets one line of each.
    let mut stored = workspaces.get(&owner).unwrap();
    stored.value.billing_plan = "free".to_owned();
    world.unit(|unit| workspaces.update(unit, &owner, &stored)).unwrap();
    give(&operator, DEFAULT_WORKSPACE_ID, "team").unwrap();
    assert_eq!((lines(&operator).len(), lines(&owner).len(), plan()), (3, 2, "free".to_owned()));
}

#[test]
fn a_plan_bounds_keys_and_members() {
    let world = World::new();
    let (owner, members) = (world.workspace(), world.platform.workspaces().members());
    let mut last = String::new();
    for _ in 0..10 {
        last = world.key(&owner, &[Scope::Admin]).1;
    }
    let spec = ApiKeySpec { name: "k".into(), scopes: [Scope::Admin].into_iter().collect(), lifetime_ms: None };
    assert_eq!(refused(world.unit(|unit| world.platform.api_keys().create(unit, &owner, spec))), "conflict");
    world.unit(|unit| world.platform.api_keys().revoke(unit, &owner, &last)).unwrap();
    world.key(&owner, &[Scope::Admin]);
    for number in 1..5 {
        world.unit(|unit| members.invite(unit, &owner, &format!("m{number}@example.org"), Role::Viewer)).unwrap();
    }
    assert_eq!(refused(world.unit(|unit| members.invite(unit, &owner, "m5@example.org", Role::Viewer))), "conflict");
}
