//! API keys that were made under grants.

use super::*;

/// A client keeps a key that its token has made as it keeps its tokens: whoever ends its grant ends the key, and what the key was replaced by.
#[test]
fn a_key_ends_with_the_grant_that_it_was_made_under() {
    let server = Server::new();
    let (platform, oauth) = (&server.world.platform, server.world.platform.oauth());
    let bystander = server.tokens();
    let (others, own) = (server.key_by(&bystander), server.key_of(&server.owner));
    let made = || {
        let code = server.code(&server.public_query());
        let tokens = server.exchange(&code).unwrap();
        let key = server.key_by(&tokens);
        (code, tokens, key)
    };
    let ended = |key: &str| {
        assert!(server.is_key(&others) && server.is_key(&own), "other keys of the user are not concerned");
        !server.is_key(key)
    };
    let (_, tokens, key) = made();
    let rotating = server.key_principal(&key).unwrap();
    let id = rotating.subject().to_string().replace("key:", "");
    let successor = platform.unit(|unit| platform.api_keys().rotate(unit, &rotating, &id, 60_000)).unwrap().0;
    oauth.revoke(&server.public, tokens.access_token.text()).unwrap();
    assert!(!ended(&key) && !ended(successor.text()), "the access token alone was revoked");
    oauth.revoke(&server.public, &refresh_text(&tokens)).unwrap();
    assert!(ended(&key) && ended(successor.text()));
    let lines = platform.records().of::<AuditLine>();
    let lines = lines.all(&Index::CREATED, &server.owner.owner(), &SortKey::new()).unwrap();
    let revoked: Vec<_> = lines.iter().filter(|line| line.value.action == "key.revoke").collect();
    assert_eq!(revoked.len(), 2);
    assert!(revoked.iter().any(|line| line.value.target == format!("key {id}")));
    // A refresh token that comes again.
    let (_, tokens, key) = made();
    server.refresh(&refresh_text(&tokens)).unwrap();
    assert!(!ended(&key));
    assert_eq!(code_of(server.refresh(&refresh_text(&tokens))), OAuthErrorCode::InvalidGrant);
    assert!(ended(&key));
    // A code that comes again.
    let (code, _, key) = made();
    assert!(!ended(&key));
    assert_eq!(code_of(server.exchange(&code)), OAuthErrorCode::InvalidGrant);
    assert!(ended(&key));
    platform.unit(|unit| oauth.delete_client(unit, &server.owner, server.public.id())).unwrap();
    assert!(!server.is_key(&others) && server.is_key(&own), "the client is deleted");
    platform.records().verify::<ApiKey>().unwrap();
}

/// A key may be meant to live longer than any token; another password still ends it.
#[test]
fn a_key_outlives_a_grant_that_expires_and_ends_with_the_password() {
    let server = Server::new();
    let users = server.world.platform.users();
    let key = server.key_by(&server.tokens());
    server.world.clock.advance(Duration::from_secs(31 * 86_400));
    while server.world.platform.oauth().forget_expired(&many()).unwrap() > 0 {}
    assert_eq!(server.kept(), (0, 0));
    let (tokens, own) = (server.tokens(), server.key_of(&server.owner));
    let second = server.key_by(&tokens);
    assert!(server.is_key(&key) && server.is_key(&second));
    let session = users.start_session(server.ann.id()).unwrap();
    let session = users.session(session.text()).unwrap().unwrap();
    users.change_password(&session, &Password::new(PASSWORD), &Password::new("another long password")).unwrap();
    assert!(!server.is_key(&key) && !server.is_key(&second), "they were made with access tokens");
    assert!(server.is_key(&own), "it was not");
    assert_eq!(server.principal(tokens.access_token.text()), None);
    assert_eq!(code_of(server.refresh(&refresh_text(&tokens))), OAuthErrorCode::InvalidGrant);
    assert_eq!(server.kept(), (0, 0));
}

/// Token and key were let in, and the grant ended before the new key was written.
#[test]
fn no_key_is_made_under_a_grant_that_has_ended() {
    let server = Server::new();
    let (platform, tokens) = (&server.world.platform, server.tokens());
    let token = server.principal(tokens.access_token.text()).unwrap();
    let key = server.key_principal(&server.key_by(&tokens)).unwrap();
    platform.oauth().revoke(&server.public, &refresh_text(&tokens)).unwrap();
    for principal in [token, key] {
        let spec = ApiKeySpec { name: "ci".to_owned(), scopes: scopes(&[Scope::BlockchainRead]), lifetime_ms: None };
        let refused = platform.unit(|unit| platform.api_keys().create(unit, &principal, spec)).err().unwrap();
        assert!(
            matches!(&refused, PlatformError::Forbidden { message } if message.contains("revoked meanwhile")),
            "{refused}"
        );
    }
}
