//! API keys that were made under grants of a client that is deleted: revoked for everybody at once, in the records some at a time.

use super::*;
use crate::platform::{
    ApiKeyState, BlockchainSpec, Plans, ResourceKind, ResourceSort, Subject, oauth::DeletedClient, records::Unit,
};

/// The keys of the user's workspace.
fn keys(server: &Server) -> Vec<Stored<ApiKey>> {
    let keys = server.world.platform.records().of::<ApiKey>();
    keys.all(&Index::CREATED, &server.owner.owner(), &SortKey::new()).unwrap()
}

/// How many of them have a state.
fn count(server: &Server, state: ApiKeyState) -> usize {
    let records = server.world.platform.records();
    let (now_ms, clients) = (records.clock().now_ms(), records.of::<OAuthClient>());
    keys(server).iter().filter(|key| key.value.state(now_ms, &clients).unwrap() == state).count()
}

/// How many of them are revoked by their records.
fn revoked(server: &Server) -> usize {
    keys(server).iter().filter(|key| key.value.revoked_at_ms.is_some()).count()
}

fn try_key(server: &Server, principal: &Principal) -> Result<(), PlatformError> {
    let platform = &server.world.platform;
    let spec = ApiKeySpec { name: "ci".to_owned(), scopes: scopes(&[Scope::BlockchainRead]), lifetime_ms: None };
    platform.unit(|unit| platform.api_keys().create(unit, principal, spec).map(drop))
}

fn delete_client(server: &Server) {
    let platform = &server.world.platform;
    platform.unit(|unit| platform.oauth().delete_client(unit, &server.owner, server.public.id())).unwrap();
}

#[test]
fn keys_of_a_deleted_client_are_revoked_and_leave_their_places() {
    let server = Server::new();
    let (tokens, own) = (server.tokens(), server.key_of(&server.owner));
    let made: Vec<String> = (1..10).map(|_| server.key_by(&tokens)).collect();
    assert!(matches!(try_key(&server, &server.owner), Err(PlatformError::Conflict { .. })), "the plan is full");
    let of_client = |key: &&Stored<ApiKey>| key.value.oauth_client() == Some(server.public.id());
    assert_eq!((keys(&server).iter().filter(of_client).count(), count(&server, ApiKeyState::Active)), (9, 10));
    delete_client(&server);
    assert!(server.is_key(&own) && !made.iter().any(|key| server.is_key(key)));
    assert_eq!((count(&server, ApiKeyState::Active), count(&server, ApiKeyState::Revoked)), (1, 9));
    assert_eq!(revoked(&server), 9);
    let lines = server.world.platform.records().of::<AuditLine>();
    let lines = lines.all(&Index::CREATED, &server.owner.owner(), &SortKey::new()).unwrap();
    let revoking: Vec<_> = lines.iter().filter(|line| line.value.action == "key.revoke").collect();
    assert!(revoking.len() == 9 && revoking.iter().all(|line| line.value.subject == "service"), "{revoking:?}");
    for _ in 1..10 {
        try_key(&server, &server.owner).unwrap();
    }
    assert!(matches!(try_key(&server, &server.owner), Err(PlatformError::Conflict { .. })));
    server.world.platform.records().verify::<ApiKey>().unwrap();
}

/// What is not written with the deletion follows, and shows nowhere before.
#[test]
fn many_keys_of_a_deleted_client_are_revoked_some_at_a_time() {
    let server = Server::new();
    let (platform, tokens) = (&server.world.platform, server.tokens());
    let (operator, home) = (platform.service_principal(), server.home());
    let give = |unit: &mut Unit<'_>| {
        platform.workspaces().give_plan(unit, &operator, home.as_str(), Plans::UNLIMITED).map(drop)
    };
    platform.unit(give).unwrap();
    let made: Vec<String> = (0..70).map(|_| server.key_by(&tokens)).collect();
    delete_client(&server);
    assert_eq!((revoked(&server), count(&server, ApiKeyState::Revoked)), (64, 70));
    assert!(!made.iter().any(|key| server.is_key(key)));
    let refused = platform.unit(|unit| platform.workspaces().delete(unit, &server.owner)).unwrap_err();
    assert!(refused.to_string().contains("still has 1 OAuth client: "), "no key is in the way: {refused}");
    let some = PageRequest::first(NonZeroUsize::new(4).unwrap());
    let go_on = || platform.oauth().forget_expired(&some).unwrap();
    assert_eq!((go_on(), revoked(&server)), (4, 68));
    assert_eq!((go_on(), revoked(&server)), (3, 70), "the last two, and the record of the client");
    assert_eq!((go_on(), platform.records().verify::<DeletedClient>().unwrap()), (0, 0));
    platform.records().verify::<ApiKey>().unwrap();
}

#[test]
fn keys_count_as_revoked_without_their_client_before_their_records_say_so() {
    let server = Server::new();
    let (platform, tokens) = (&server.world.platform, server.tokens());
    let made: Vec<String> = (0..10).map(|_| server.key_by(&tokens)).collect();
    let token = server.principal(tokens.access_token.text()).unwrap();
    let key = server.key_principal(&made[0]).unwrap();
    // As former versions deleted it.
    platform.unit(|unit| Ok(unit.delete(&server.public)?)).unwrap();
    assert_eq!((revoked(&server), count(&server, ApiKeyState::Revoked)), (0, 10));
    let page = many();
    let (listed, _) =
        platform.resources(&server.owner, Some(ResourceKind::ApiKey), ResourceSort::CreatedAt, &page).unwrap();
    assert!(listed.len() == 10 && listed.iter().all(|one| one.status == "revoked"), "{listed:?}");
    // Who was let in before makes no key with them.
    for principal in [&token, &key] {
        let refused = try_key(&server, principal).unwrap_err();
        assert!(
            matches!(&refused, PlatformError::Forbidden { message } if message.contains("revoked meanwhile")),
            "{refused}"
        );
    }
    let id = keys(&server)[0].id().to_owned();
    let rotated = platform.unit(|unit| platform.api_keys().rotate(unit, &server.owner, &id, 0).map(drop));
    assert!(matches!(rotated, Err(PlatformError::Conflict { .. })), "{rotated:?}");
    let hidden = BlockchainSpec::read(json!({ "name": "hidden", "features": ["privacy"] })).unwrap();
    let hidden = platform.blockchains().create(&server.owner, hidden).unwrap();
    let add = |unit: &mut Unit<'_>| {
        let participant = Subject::ApiKey(id.clone());
        platform.blockchains().add_participant(unit, &server.owner, hidden.id(), &participant).map(drop)
    };
    assert!(matches!(platform.unit(add), Err(PlatformError::Validation { .. })), "it is no participant any more");
    try_key(&server, &server.owner).unwrap();
}
