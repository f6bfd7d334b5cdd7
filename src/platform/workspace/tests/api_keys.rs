//! API keys: their scopes, their end, the places that they take.

use super::*;

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
