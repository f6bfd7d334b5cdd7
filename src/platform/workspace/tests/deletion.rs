//! What keeps a workspace from being deleted, and what goes with it.

use super::*;

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
