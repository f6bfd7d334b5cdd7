//! What ends tokens, and who looks into them.

use super::*;
use crate::platform::oauth::EndedToken;

#[test]
fn a_reset_password_and_a_deleted_client_end_all_tokens() {
    let server = Server::new();
    let (platform, tokens) = (&server.world.platform, server.tokens());
    let (key, own) = (server.key_by(&tokens), server.key_of(&server.owner));
    platform.users().request_reset("ann@example.org").unwrap();
    let mailbox = crate::platform::Mailbox::default();
    let mails = platform.mails().deliver_to(&mailbox, &url(), &many()).unwrap();
    let token = mails[0].body.split_once("?token=").unwrap().1.split_whitespace().next().unwrap().to_owned();
    platform.users().reset(&token, &Password::new("another long password")).unwrap();
    assert!(!server.is_key(&key) && server.is_key(&own), "a key that a token has made ends, too");
    let own = server.key_principal(&own).unwrap().subject().to_string().replace("key:", "");
    platform.unit(|unit| platform.api_keys().revoke(unit, &server.owner, &own)).unwrap();
    assert_eq!(server.principal(tokens.access_token.text()), None);
    assert_eq!(code_of(server.refresh(&refresh_text(&tokens))), OAuthErrorCode::InvalidGrant);
    assert_eq!(server.kept(), (0, 0));

    let tokens = server.tokens();
    let viewer = Principal::new(server.owner.subject().clone(), server.home(), Role::Viewer.cap());
    let delete = |who: &Principal| platform.unit(|unit| platform.oauth().delete_client(unit, who, server.public.id()));
    assert!(matches!(delete(&viewer), Err(PlatformError::MissingScope { .. })));
    assert!(matches!(delete(&platform.service_principal()), Err(PlatformError::NotFound { .. })), "it is another's");
    delete(&server.owner).unwrap();
    assert_eq!(server.principal(tokens.access_token.text()), None);
    assert_eq!(code_of(server.refresh(&refresh_text(&tokens))), OAuthErrorCode::InvalidGrant);
    let refused = platform.unit(|unit| platform.workspaces().delete(unit, &server.owner)).unwrap_err();
    assert!(refused.to_string().contains("still has 1 OAuth client: "), "{refused}");
    platform.unit(|unit| platform.oauth().delete_client(unit, &server.owner, server.confidential.id())).unwrap();
    platform.unit(|unit| platform.workspaces().delete(unit, &server.owner)).unwrap();
    assert_eq!(server.kept(), (0, 0));
    assert_eq!(platform.records().verify::<OAuthClient>().unwrap(), 0);
}

#[test]
fn a_client_looks_into_and_revokes_its_own_tokens_alone() {
    let server = Server::new();
    let (oauth, tokens) = (server.world.platform.oauth(), server.tokens());
    let (access, refresh) = (tokens.access_token.text().to_owned(), refresh_text(&tokens));
    let found = oauth.introspect(&server.public, &access).unwrap().unwrap();
    assert_eq!((found.client.as_str(), found.user.as_str()), (server.public.id(), server.ann.id()));
    assert_eq!((found.email.as_str(), &found.workspace), ("ann@example.org", &server.home()));
    assert_eq!((found.scopes, found.is_access_token), (tokens.scopes.clone(), true));
    assert_eq!(found.expires_at_ms - found.issued_at_ms, 3_600_000);
    let found = oauth.introspect(&server.public, &refresh).unwrap().unwrap();
    assert!(!found.is_access_token && found.expires_at_ms - found.issued_at_ms == 30 * 86_400_000);
    for token in [&access, &refresh] {
        assert_eq!(oauth.introspect(&server.confidential, token).unwrap(), None);
        oauth.revoke(&server.confidential, token).unwrap();
    }
    assert!(server.principal(&access).is_some(), "another client revokes nothing");
    oauth.revoke(&server.public, "unknown").unwrap();
    oauth.revoke(&server.public, &access).unwrap();
    oauth.revoke(&server.public, &access).unwrap();
    assert_eq!((server.principal(&access), oauth.introspect(&server.public, &access).unwrap()), (None, None));
    let next = server.refresh(&refresh).unwrap();
    oauth.revoke(&server.public, &refresh_text(&next)).unwrap();
    assert_eq!(server.principal(next.access_token.text()), None, "the refresh token's whole grant ends");
    assert_eq!(server.kept(), (0, 0));
}

/// Tokens of a grant that one of them has ended stay known for a while, and are good for nothing, also when the user comes back.
#[test]
fn tokens_of_who_left_by_one_of_them_are_known_and_worth_nothing() {
    let server = Server::new();
    let (platform, owner) = (&server.world.platform, &server.owner);
    let (oauth, members) = (platform.oauth(), platform.workspaces().members());
    let bob = server.world.user("bob@example.org");
    let join = || {
        let (_, token) = platform.unit(|unit| members.invite(unit, owner, "bob@example.org", Role::Developer)).unwrap();
        platform.unit(|unit| members.accept(unit, bob.id(), token.text())).unwrap();
    };
    let consent = || {
        let query = server.public_query();
        let request = oauth.read_authorization(&Parameters::read(query.as_bytes()), &url()).unwrap();
        let location = oauth.authorize(&request, bob.id(), owner.workspace(), &url()).ok().unwrap().location;
        server.exchange(&parameter(&location, "code").unwrap()).unwrap()
    };
    let kept = || platform.records().verify::<EndedToken>().unwrap();
    join();
    let tokens = consent();
    let access = tokens.access_token.text();
    let own = server.principal(access).unwrap();
    platform.unit(|unit| members.remove(unit, &own, bob.id())).unwrap();
    join();
    assert_eq!((server.principal(access), oauth.introspect(&server.public, access).unwrap()), (None, None));
    assert_eq!(code_of(server.refresh(&refresh_text(&tokens))), OAuthErrorCode::InvalidGrant);
    assert_eq!((server.kept(), kept()), ((0, 0), 1));
    let known = oauth.identify(access).unwrap().unwrap();
    assert_eq!((known.subject(), known.workspace()), (own.subject(), own.workspace()));
    assert!(known.scopes().is_empty());

    // Whom another one removes ends nothing by itself.
    let other = consent();
    platform.unit(|unit| members.remove(unit, owner, bob.id())).unwrap();
    assert_eq!((oauth.identify(other.access_token.text()).unwrap(), kept()), (None, 1));
    server.world.clock.advance(Duration::from_secs(3_600));
    assert_eq!(oauth.identify(access).unwrap(), None);
    assert_eq!((oauth.forget_expired(&many()).unwrap(), kept()), (1, 0));
}
