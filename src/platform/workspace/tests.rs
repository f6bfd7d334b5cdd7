//! Tests of the rules of workspaces, members, invitations and API keys.

use core::{num::NonZeroUsize, time::Duration};
use std::sync::Arc;

use serde_json::json;

use crate::{
    node::{ManualClock, Node},
    platform::{
        ApiKey, ApiKeySpec, Blockchain, BlockchainSpec, ClientRegistration, DEFAULT_BLOCKCHAIN_ID,
        DEFAULT_WORKSPACE_ID, INVITATIONS_MAX, Invitation, Member, Plans, Platform, PlatformError, Principal, Role,
        Scope, Subject, User, Webhook, Workspace,
        records::{AuditLine, Index, OutboxEntry, PageRequest, Record, SortKey, Unit},
        vault::SealedSecret,
        workspace::SentInvitations,
    },
    primitives::Timestamp,
    store::{KeyValue, MemoryStore, Order, suite},
};

const DAY: Duration = Duration::from_secs(86_400);

struct World {
    clock: Arc<ManualClock>,
    store: Arc<MemoryStore>,
    platform: Platform,
}

impl World {
    fn new() -> Self {
        Self::inviting(INVITATIONS_MAX)
    }

    /// A platform with a bound on invitations.
    fn inviting(invitations_max: u64) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_000)));
        let store = Arc::new(MemoryStore::new());
        let spec = BlockchainSpec::read(json!({ "name": "test" })).unwrap();
        let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, Node::new(), 0);
        let kept: Arc<dyn KeyValue> = store.clone();
        let mut small = Plans::default().named(Plans::DEFAULT).unwrap();
        small.blockchains_max = 1;
        let builder = Platform::builder(clock.clone()).with_store(kept).with_workspaces_max(10);
        let builder = builder.with_invitations_max(invitations_max);
        let platform = builder.with_plans(Plans::default().with("small", small)).open(chain).unwrap();
        Self { clock, store, platform }
    }

    fn unit<T>(&self, work: impl FnOnce(&mut Unit<'_>) -> Result<T, PlatformError>) -> Result<T, PlatformError> {
        self.platform.unit(work)
    }

    fn user(&self, name: &str) -> String {
        self.unit(|unit| self.platform.workspaces().add_user(unit, &format!("{name}@example.org")))
            .unwrap()
            .id()
            .to_owned()
    }

    /// A workspace and its owner.
    fn workspace(&self) -> Principal {
        let user = self.user("owner");
        let stored =
            self.unit(|unit| self.platform.workspaces().create(unit, &user, Workspace::named("team"))).unwrap();
        let id = stored.owner().workspace().unwrap();
        self.platform.workspaces().principal(&user, id).unwrap().unwrap()
    }

    /// A user as a principal of the workspace of another, as it is now.
    fn principal(&self, user: &str, other: &Principal) -> Principal {
        self.platform.workspaces().principal(user, other.workspace()).unwrap().unwrap()
    }

    /// A new member of a workspace, by invitation.
    fn member(&self, owner: &Principal, name: &str, role: Role) -> (String, Principal) {
        let members = self.platform.workspaces().members();
        let (_, token) = self.unit(|unit| members.invite(unit, owner, &format!("{name}@example.org"), role)).unwrap();
        let user = self.user(name);
        assert_eq!(self.unit(|unit| members.accept(unit, &user, token.text())).unwrap(), *owner.workspace());
        let principal = self.principal(&user, owner);
        (user, principal)
    }

    fn key(&self, principal: &Principal, scopes: &[Scope]) -> (String, String) {
        let spec = ApiKeySpec { name: "ci".to_owned(), scopes: scopes.iter().copied().collect(), lifetime_ms: None };
        let (value, stored) = self.unit(|unit| self.platform.api_keys().create(unit, principal, spec)).unwrap();
        (value.text().to_owned(), stored.id().to_owned())
    }

    fn authenticated(&self, value: &str) -> Option<Principal> {
        self.platform.api_keys().authenticate(value).unwrap()
    }
}

/// The words of a refusal, by kind.
fn refused<T>(result: Result<T, PlatformError>) -> &'static str {
    match result.err().expect("must be refused") {
        PlatformError::Forbidden { .. } | PlatformError::MissingScope { .. } => "forbidden",
        PlatformError::Conflict { .. } => "conflict",
        PlatformError::NotFound { .. } => "not found",
        PlatformError::Validation { .. } => "invalid",
        PlatformError::TooManyAttempts { .. } => "too many",
        other => panic!("{other}"),
    }
}

#[test]
fn members_and_invitations_share_the_plans_places() {
    let world = World::new();
    let (owner, members) = (world.workspace(), world.platform.workspaces().members());
    let invite = |name: &str| {
        world.unit(|unit| members.invite(unit, &owner, &format!("{name}@example.org"), Role::Viewer)).map(drop)
    };
    let places = Plans::default().named(Plans::DEFAULT).unwrap().members_max;
    // The owner has one, and an accepted invitation keeps its own.
    let (first, _) = world.member(&owner, "first", Role::Viewer);
    for number in 2..places {
        invite(&format!("guest{number}")).unwrap();
    }
    let Err(PlatformError::Conflict { message }) = invite("one-more") else { panic!("must be refused") };
    assert!(message.contains(&format!("allows {places} members")), "{message}");
    world.unit(|unit| members.remove(unit, &owner, &first)).unwrap();
    invite("one-more").unwrap();
    assert!(invite("another").is_err());
}

#[test]
fn members_come_by_invitation_once() {
    let world = World::new();
    let (owner, members) = (world.workspace(), world.platform.workspaces().members());
    let (invitation, token) =
        world.unit(|unit| members.invite(unit, &owner, "New.Member@Example.org", Role::Developer)).unwrap();
    assert_eq!(invitation.value.email, "new.member@example.org");
    assert_eq!(
        refused(world.unit(|unit| members.invite(unit, &owner, "new.member@example.org", Role::Viewer))),
        "conflict"
    );
    for email in ["", "no at", "a@b@c", "a @b", &format!("{}@b", "a".repeat(260))] {
        assert_eq!(refused(world.unit(|unit| members.invite(unit, &owner, email, Role::Viewer))), "invalid", "{email}");
    }
    // The mail waits in the outbox; its token is nowhere in the store in clear.
    let mail =
        world.platform.records().due_messages(&PageRequest::first(9_usize.try_into().unwrap())).unwrap().remove(0);
    assert_eq!((mail.value.topic.as_str(), &mail.value.payload[..]), ("mail.invitation", invitation.id().as_bytes()));
    let bytes: Vec<u8> =
        suite::dump(&*world.store).into_iter().flat_map(|(_, key, value)| [key, value].concat()).collect();
    assert!(!bytes.windows(16).any(|window| window == &token.text().as_bytes()[..16]));

    let user = world.user("new.member");
    assert_eq!(refused(world.unit(|unit| members.accept(unit, &user, "guessed"))), "not found");
    assert_eq!(refused(world.unit(|unit| members.accept(unit, "usr_none", token.text()))), "not found");
    world.unit(|unit| members.accept(unit, &user, token.text())).unwrap();
    assert_eq!(refused(world.unit(|unit| members.accept(unit, &user, token.text()))), "not found", "it is used up");
    assert_eq!(
        refused(world.unit(|unit| members.invite(unit, &owner, "new.member@example.org", Role::Viewer))),
        "conflict"
    );
    assert_eq!(
        world.platform.records().verify::<SealedSecret>().unwrap(),
        3,
        "the token is gone, the service's own and two wallets' stay"
    );

    let (_, late) = world.unit(|unit| members.invite(unit, &owner, "late@example.org", Role::Viewer)).unwrap();
    let (withdrawn, gone) = world.unit(|unit| members.invite(unit, &owner, "gone@example.org", Role::Viewer)).unwrap();
    world.unit(|unit| members.withdraw(unit, &owner, withdrawn.id())).unwrap();
    let (left_out, too_late) = (world.user("gone"), world.user("late"));
    assert_eq!(refused(world.unit(|unit| members.accept(unit, &left_out, gone.text()))), "not found");
    world.clock.advance(7 * DAY);
    assert_eq!(refused(world.unit(|unit| members.accept(unit, &too_late, late.text()))), "not found");
}

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

fn owner_id(owner: &Principal) -> &str {
    match owner.subject() {
        Subject::User(id) => id,
        other => panic!("{other}"),
    }
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

#[test]
fn a_workspace_is_deleted_when_nothing_of_value_is_left() {
    let world = World::new();
    let owner = world.workspace();
    world.member(&owner, "developer", Role::Developer);
    world
        .unit(|unit| world.platform.workspaces().members().invite(unit, &owner, "open@example.org", Role::Viewer))
        .unwrap();
    let (value, id) = world.key(&owner, &[Scope::Admin]);
    let Err(PlatformError::Conflict { message }) = world.unit(|unit| world.platform.workspaces().delete(unit, &owner))
    else {
        panic!("must be refused")
    };
    assert_eq!(message, "the workspace still has 1 live API key: delete or revoke them first");
    world.unit(|unit| world.platform.api_keys().revoke(unit, &owner, &id)).unwrap();
    let hook = Webhook { url: "https://a.example".into(), events: Vec::new(), is_enabled: true, blockchain_id: None };
    let (webhooks, oauth) = (world.platform.webhooks(), world.platform.oauth());
    world.unit(|unit| webhooks.create(unit, &owner, "wh_1", hook, "0123456789abcdef")).unwrap();
    let client = json!({ "client_name": "c", "redirect_uris": ["https://a.example/"] });
    let client = ClientRegistration::read(&client).unwrap();
    let (client, _) = world.unit(|unit| oauth.register(unit, &owner, client)).unwrap();
    let Err(PlatformError::Conflict { message }) = world.unit(|unit| world.platform.workspaces().delete(unit, &owner))
    else {
        panic!("must be refused")
    };
    assert_eq!(message, "the workspace still has 1 webhook, 1 OAuth client: delete or revoke them first");
    world.unit(|unit| webhooks.delete(unit, &owner, "wh_1")).unwrap();
    world.unit(|unit| oauth.delete_client(unit, &owner, client.id())).unwrap();
    world.unit(|unit| world.platform.workspaces().delete(unit, &owner)).unwrap();
    assert_eq!(refused(world.platform.workspaces().get(&owner)), "not found");
    assert_eq!(world.authenticated(&value), None);
    let records = world.platform.records();
    assert_eq!(records.verify::<Member>().unwrap() + records.verify::<Invitation>().unwrap(), 0);
    assert_eq!(records.verify::<ApiKey>().unwrap(), 0);
    let secrets = records.of::<SealedSecret>().count(&Index::CREATED, &owner.owner(), &SortKey::new());
    assert_eq!(secrets.unwrap(), 0, "nothing sealed is left without its record");
    assert_eq!(records.verify::<Workspace>().unwrap(), 1, "the default one");
    assert_eq!(records.verify::<User>().unwrap(), 2, "users are not the workspace's");
    records.verify::<OutboxEntry>().unwrap();
    let lines = records.of::<AuditLine>();
    let log =
        lines.page(&Index::CREATED, &owner.owner(), &SortKey::new(), &PageRequest::first(99_usize.try_into().unwrap()));
    assert_eq!(log.unwrap().items.last().unwrap().value.action, "workspace.delete", "the log stays");

    let (operator, workspaces) = (world.platform.service_principal(), world.platform.workspaces());
    let (_, owner) = world.unit(|unit| workspaces.create_by(unit, &operator, Workspace::named("second"))).unwrap();
    for name in ["x", "y"] {
        world.platform.blockchains().create(&owner, BlockchainSpec::read(json!({ "name": name })).unwrap()).unwrap();
    }
    let Err(PlatformError::Conflict { message }) = world.unit(|unit| workspaces.delete(unit, &owner)) else {
        panic!("must be refused")
    };
    assert!(message.contains("2 blockchains"), "{message}");
}

#[test]
fn the_default_workspace_is_not_deleted() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_000)));
    let platform = Platform::builder(clock).open(None).unwrap();
    let (operator, workspaces) = (platform.service_principal(), platform.workspaces());
    let Err(PlatformError::Conflict { message }) = platform.unit(|unit| workspaces.delete(unit, &operator)) else {
        panic!("must be refused, though nothing is in it")
    };
    assert!(message.starts_with("ws_default is the workspace of the service's operators"), "{message}");
    assert_eq!(workspaces.get(&operator).unwrap().value.name, "default");
}

#[test]
fn a_key_has_at_most_its_makers_scopes_then_and_later() {
    let world = World::new();
    let (owner, members) = (world.workspace(), world.platform.workspaces().members());
    let (developer_id, developer) = world.member(&owner, "developer", Role::Developer);
    let keys = world.platform.api_keys();
    let spec =
        |scopes: &[Scope]| ApiKeySpec { name: "k".into(), scopes: scopes.iter().copied().collect(), lifetime_ms: None };
    let refusal =
        world.unit(|unit| keys.create(unit, &developer, spec(&[Scope::BlockchainRead, Scope::Admin]))).err().unwrap();
    assert_eq!(refusal.to_string(), "a key has at most its maker's scopes, without admin");
    let (value, _) = world.key(&developer, &[Scope::BlockchainWrite, Scope::BlockchainRead]);
    let by_key = world.authenticated(&value).unwrap();
    assert!(by_key.may(Scope::BlockchainWrite) && !by_key.may(Scope::WorkspaceRead));
    assert_eq!(by_key.workspace(), owner.workspace());
    assert!(by_key.require(Scope::BlockchainWrite).is_ok());
    assert_eq!(by_key.require(Scope::Admin), Err(PlatformError::MissingScope { scope: Scope::Admin }));
    // A key that a key made goes with the member too.
    let (second, _) = world.key(&by_key, &[Scope::BlockchainRead]);
    world.unit(|unit| members.change_role(unit, &owner, &developer_id, Role::Viewer)).unwrap();
    let lowered = world.authenticated(&value).unwrap();
    assert!(lowered.may(Scope::BlockchainRead) && !lowered.may(Scope::BlockchainWrite));
    world.unit(|unit| members.remove(unit, &owner, &developer_id)).unwrap();
    assert_eq!((world.authenticated(&value), world.authenticated(&second)), (None, None));
    let page = keys.all().page(
        &Index::CREATED,
        &owner.owner(),
        &SortKey::new(),
        &PageRequest::first(9_usize.try_into().unwrap()),
    );
    assert!(page.unwrap().items.iter().all(|key| key.value.revoked_at_ms.is_some()), "listed as revoked");
}

#[test]
fn keys_expire_are_rotated_and_revoked_at_once() {
    let world = World::new();
    let (owner, keys) = (world.workspace(), world.platform.api_keys());
    let body = json!({ "name": "ci", "scopes": ["blockchain:read", "blockchain:read"], "expiresIn": "90d" });
    let spec = ApiKeySpec::read(body).unwrap();
    let (first, stored) = world.unit(|unit| keys.create(unit, &owner, spec)).unwrap();
    assert!(stored.value.masked().starts_with("cbx_...") && first.text().ends_with(&stored.value.masked()[7..]));
    world.clock.advance(89 * DAY);
    let (second, next) = world.unit(|unit| keys.rotate(unit, &owner, stored.id(), 60_000)).unwrap();
    assert_eq!(next.value.scopes, stored.value.scopes);
    assert!(world.authenticated(first.text()).is_some() && world.authenticated(second.text()).is_some(), "both live");
    world.clock.advance(Duration::from_secs(60));
    assert!(world.authenticated(first.text()).is_none() && world.authenticated(second.text()).is_some());
    assert_eq!(refused(world.unit(|unit| keys.rotate(unit, &owner, stored.id(), 0))), "conflict");
    world.clock.advance(90 * DAY - Duration::from_secs(61));
    assert!(world.authenticated(second.text()).is_some());
    world.clock.advance(Duration::from_secs(1));
    assert!(world.authenticated(second.text()).is_none(), "expired to the second");

    let (third, id) = world.key(&owner, &[Scope::Admin]);
    let stranger = world.platform.service_principal();
    assert_eq!(refused(world.unit(|unit| keys.revoke(unit, &stranger, &id))), "not found");
    world.unit(|unit| keys.revoke(unit, &owner, &id)).unwrap();
    assert!(world.authenticated(&third).is_none());
    let again = world.unit(|unit| keys.revoke(unit, &owner, &id)).unwrap();
    assert_eq!(again.revision(), 2, "revoking again changes nothing");
    assert_eq!(refused(world.unit(|unit| keys.rotate(unit, &owner, &id, 0))), "conflict");
    for (body, path) in [
        (json!({ "name": "x", "scopes": ["magic"] }), "scopes"),
        (json!({ "name": "x", "scopes": [] }), "scopes"),
        (json!({ "name": "x" }), "scopes"),
        (json!({ "name": "x", "scopes": ["admin"], "expiresIn": "90m" }), "expiresIn"),
        (json!({ "name": "x", "scopes": ["admin"], "expiresIn": "3651d" }), "expiresIn"),
        (json!({ "name": "x", "scopes": ["admin"], "expiresIn": "0d" }), "expiresIn"),
        (json!({ "scopes": ["admin"] }), "name"),
    ] {
        let Err(PlatformError::Validation { fields }) = ApiKeySpec::read(body) else { panic!("{path}") };
        assert_eq!((fields.len(), fields[0].path.as_str()), (1, path));
    }
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
fn a_workspace_of_the_first_version_is_read() {
    let old = ("team", "", None::<String>, Plans::DEFAULT, Subject::User("usr_1".to_owned()));
    let old = postcard::to_allocvec(&old).unwrap();
    let read = <Workspace as Record>::upgrade(1, &old).unwrap();
    assert_eq!(read, Workspace { created_by: Subject::User("usr_1".to_owned()), ..Workspace::named("team") });
    assert_eq!(<Workspace as Record>::upgrade(0, &old), None);
}

#[test]
fn pages_of_a_callers_workspaces_are_parts_of_the_whole_list() {
    let world = World::new();
    let (users, _) = world.key(&world.workspace(), &[Scope::Admin]);
    pages_are_parts_of_the_whole_list(&world, &users);
    let services = world.platform.create_api_key("own", &[Scope::Admin]).unwrap();
    pages_are_parts_of_the_whole_list(&world, services.text());
}

#[test]
fn expired_keys_make_room() {
    let world = World::new();
    let (owner, keys) = (world.workspace(), world.platform.api_keys());
    let create = |principal: &Principal, lifetime_ms: Option<u64>| {
        let spec = ApiKeySpec { name: "k".into(), scopes: [Scope::Admin].into_iter().collect(), lifetime_ms };
        world.unit(|unit| keys.create(unit, principal, spec)).map(|(_, stored)| stored.id().to_owned())
    };
    for _ in 0..3 {
        for _ in 0..10 {
            create(&owner, Some(1_000)).unwrap();
        }
        assert_eq!(refused(create(&owner, None)), "conflict");
        world.clock.advance(Duration::from_secs(1));
    }
    let mut last = String::new();
    for _ in 0..10 {
        last = create(&owner, None).unwrap();
    }
    assert_eq!(refused(create(&owner, Some(1_000))), "conflict");
    let rotate = |overlap_ms| world.unit(|unit| keys.rotate(unit, &owner, &last, overlap_ms)).map(drop);
    assert_eq!(refused(rotate(1)), "conflict", "both would be live");
    rotate(0).unwrap();
    assert_eq!(world.platform.records().verify::<ApiKey>().unwrap(), 41);

    // More than are read at once.
    let team = Workspace { billing_plan: "team".to_owned(), ..Workspace::named("large") };
    let operator = world.platform.service_principal();
    let (_, large) = world.unit(|unit| world.platform.workspaces().create_by(unit, &operator, team)).unwrap();
    for _ in 0..5 {
        create(&large, Some(1_000)).unwrap();
    }
    world.clock.advance(Duration::from_secs(1));
    for _ in 0..100 {
        create(&large, None).unwrap();
    }
    let Err(PlatformError::Conflict { message }) = create(&large, None) else { panic!("must be refused") };
    assert!(message.contains("allows 100 live API keys, and it has 100"), "{message}");
}

#[test]
fn a_workspace_with_expired_keys_alone_is_deleted() {
    let world = World::new();
    let (owner, workspaces) = (world.workspace(), world.platform.workspaces());
    let spec = ApiKeySpec { name: "k".into(), scopes: [Scope::Admin].into_iter().collect(), lifetime_ms: Some(1_000) };
    world.unit(|unit| world.platform.api_keys().create(unit, &owner, spec)).unwrap();
    world.clock.advance(Duration::from_millis(999));
    assert_eq!(refused(world.unit(|unit| workspaces.delete(unit, &owner))), "conflict");
    world.clock.advance(Duration::from_millis(1));
    world.unit(|unit| workspaces.delete(unit, &owner)).unwrap();
    assert_eq!(world.platform.records().verify::<ApiKey>().unwrap(), 0);
}

#[test]
fn expired_invitations_make_room_and_are_forgotten() {
    let world = World::new();
    let (owner, members) = (world.workspace(), world.platform.workspaces().members());
    let invite = |number: u8| {
        let email = format!("m{number}@example.org");
        world.unit(|unit| members.invite(unit, &owner, &email, Role::Viewer)).map(|(stored, _)| stored.id().to_owned())
    };
    let kept = || world.platform.records().verify::<Invitation>().unwrap();
    let first = invite(1).unwrap();
    for number in 2..5 {
        invite(number).unwrap();
    }
    world.clock.advance(7 * DAY - Duration::from_millis(1));
    assert_eq!((refused(invite(5)), refused(invite(1))), ("conflict", "conflict"));
    world.clock.advance(Duration::from_millis(1));
    assert_ne!(invite(1).unwrap(), first, "it is repeated");
    assert_eq!(kept(), 4, "in place of the expired one");
    for number in 5..8 {
        invite(number).unwrap();
    }
    assert_eq!(refused(invite(8)), "conflict");
    assert_eq!(kept(), 7);

    let secrets = || world.platform.records().verify::<SealedSecret>().unwrap();
    let before = secrets();
    world.clock.advance(30 * DAY - Duration::from_millis(1));
    world.platform.forget_expired().unwrap();
    assert_eq!((kept(), secrets()), (7, before), "expired ones are listed for 30 days");
    world.clock.advance(Duration::from_millis(1));
    world.platform.forget_expired().unwrap();
    assert_eq!((kept(), secrets()), (4, before - 3), "each with its token");
}

/// Invites somebody, and withdraws the invitation, so that the plan has its place again.
fn invite_and_withdraw(world: &World, inviter: &Principal) -> Result<(), PlatformError> {
    let members = world.platform.workspaces().members();
    let (stored, _) = world.unit(|unit| members.invite(unit, inviter, "ann@example.org", Role::Viewer))?;
    world.unit(|unit| members.withdraw(unit, inviter, stored.id()))
}

fn too_many(retry_after_secs: u64) -> Result<(), PlatformError> {
    Err(PlatformError::TooManyAttempts { retry_after_secs })
}

#[test]
fn invitations_are_sent_up_to_the_bound_within_any_hour_and_not_once_more() {
    let world = World::inviting(3);
    let owner = world.workspace();
    let kept = || {
        let records = world.platform.records();
        [records.verify::<OutboxEntry>(), records.verify::<Invitation>(), records.verify::<AuditLine>()]
            .map(Result::unwrap)
    };
    for _ in 0..3 {
        invite_and_withdraw(&world, &owner).unwrap();
        world.clock.advance(Duration::from_secs(600));
    }
    let before = kept();
    assert_eq!((before[0], invite_and_withdraw(&world, &owner)), (3, too_many(1_800)));
    assert_eq!(kept(), before, "no mail, no record");
    world.clock.advance(Duration::from_millis(1_799_999));
    assert_eq!(invite_and_withdraw(&world, &owner), too_many(1));
    world.clock.advance(Duration::from_millis(1));
    invite_and_withdraw(&world, &owner).unwrap();
    assert_eq!(invite_and_withdraw(&world, &owner), too_many(600), "the hour of the first alone has passed");
    world.clock.advance(Duration::from_secs(3_600));
    for _ in 0..3 {
        invite_and_withdraw(&world, &owner).unwrap();
    }
    assert_eq!(invite_and_withdraw(&world, &owner), too_many(3_600));
    let counts = || world.platform.records().verify::<SentInvitations>().unwrap();
    world.clock.advance(Duration::from_millis(3_599_999));
    world.platform.forget_expired().unwrap();
    assert_eq!(counts(), 2, "the user's and the workspace's");
    world.clock.advance(Duration::from_millis(1));
    world.platform.forget_expired().unwrap();
    assert_eq!(counts(), 0);
}

#[test]
fn neither_another_workspace_nor_a_key_nor_another_member_sends_more_invitations() {
    let world = World::inviting(3);
    let (owner, workspaces) = (world.workspace(), world.platform.workspaces());
    let (_, admin) = world.member(&owner, "admin", Role::Admin);
    let (value, _) = world.key(&owner, &[Scope::Admin]);
    let key = world.authenticated(&value).unwrap();
    // Two of the user, and three of its workspace.
    invite_and_withdraw(&world, &owner).unwrap();
    invite_and_withdraw(&world, &admin).unwrap();
    for inviter in [&owner, &admin, &key] {
        assert_eq!(invite_and_withdraw(&world, inviter), too_many(3_600));
    }
    let (_, made) = world.unit(|unit| workspaces.create_by(unit, &key, Workspace::named("made"))).unwrap();
    invite_and_withdraw(&world, &made).unwrap();
    assert_eq!(invite_and_withdraw(&world, &made), too_many(3_600), "a key counts as its maker");
    world.unit(|unit| workspaces.delete(unit, &made)).unwrap();
    let (_, other) = world.unit(|unit| workspaces.create_by(unit, &owner, Workspace::named("other"))).unwrap();
    assert_eq!(invite_and_withdraw(&world, &other), too_many(3_600), "also when it deletes the workspace");
    let (_, others) = world.unit(|unit| workspaces.create_by(unit, &admin, Workspace::named("another's"))).unwrap();
    invite_and_withdraw(&world, &others).unwrap();
    let own = world.platform.create_api_key("own", &[Scope::Admin]).unwrap();
    let own = world.authenticated(own.text()).unwrap();
    for _ in 0..4 {
        invite_and_withdraw(&world, &own).unwrap();
    }
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
