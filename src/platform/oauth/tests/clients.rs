//! Clients of each kind: native, confidential, with a secret.

use super::*;

#[test]
fn a_native_clients_port_may_change() {
    let server = Server::new();
    let query = server.public_query().replace(REDIRECT, "http://127.0.0.1:51234/cb");
    let code = server.code(&query);
    assert_eq!(code_of(server.exchange(&code)), OAuthErrorCode::InvalidGrant, "the token request's must be the same");
    let form = format!(
        "grant_type=authorization_code&code={code}&redirect_uri=http://127.0.0.1:51234/cb&code_verifier={VERIFIER}"
    );
    server.token(&server.public, &form).unwrap();
}

#[test]
fn a_confidential_client_works_with_the_specifications_parameters() {
    let server = Server::new();
    let id = server.confidential.id();
    let code = server.code(&format!("client_id={id}&redirect_uri={REDIRECT}&response_type=code&scope=blockchain:read"));
    let form = |code: &str| format!("grant_type=authorization_code&code={code}&redirect_uri={REDIRECT}");
    let with_verifier = format!("{}&code_verifier={VERIFIER}", form(&code));
    assert_eq!(
        code_of(server.token(&server.confidential, &with_verifier)),
        OAuthErrorCode::InvalidGrant,
        "a downgrade"
    );
    let other_client = server.token(&server.public, &form(&code));
    assert_eq!(code_of(other_client), OAuthErrorCode::InvalidGrant);
    let without_uri = format!("grant_type=authorization_code&code={code}");
    assert_eq!(code_of(server.token(&server.confidential, &without_uri)), OAuthErrorCode::InvalidGrant);
    let response = server.token(&server.confidential, &form(&code)).unwrap();
    assert_eq!(response.scopes, scopes(&[Scope::BlockchainRead]));
    // One that sends a challenge must show the verifier.
    let code = server.code(&server.public_query().replace(server.public.id(), id));
    assert_eq!(code_of(server.token(&server.confidential, &form(&code))), OAuthErrorCode::InvalidGrant);
    server.token(&server.confidential, &format!("{}&code_verifier={VERIFIER}", form(&code))).unwrap();
}

#[test]
fn clients_show_their_secret_if_they_have_one() {
    let server = Server::new();
    let (public, confidential, secret) = (server.public.id(), server.confidential.id(), server.secret.as_str());
    for (id, secret, known) in [
        (public, None, true),
        (public, Some("x"), false),
        (confidential, Some(secret), true),
        (confidential, None, false),
        (confidential, Some(&secret[1..]), false),
        ("cli_none", None, false),
        ("", Some(secret), false),
    ] {
        let found = server.world.platform.oauth().authenticate_client(ClientCredentials { id, secret });
        match found {
            Ok(client) => assert!(known && client.id() == id),
            Err(error) => assert!(!known && error.code == OAuthErrorCode::InvalidClient, "{id} {secret:?}"),
        }
    }
}

/// A token that deletes its own client is worth nothing, and still known as its sender's: what it did can be told to it again.
#[test]
fn whose_a_token_was_is_known_when_its_client_is_gone() {
    let server = Server::new();
    let (tokens, oauth) = (server.tokens(), server.world.platform.oauth());
    let token = tokens.access_token.text();
    let before = server.principal(token).unwrap();
    server.world.platform.unit(|unit| oauth.delete_client(unit, &server.owner, server.public.id())).unwrap();
    assert!(server.principal(token).is_none());
    let known = oauth.identify(token).unwrap().unwrap();
    assert_eq!((known.subject(), known.owner(), known.grant()), (before.subject(), before.owner(), before.grant()));
    assert!(known.scopes().is_empty(), "it may do nothing");
    assert!(oauth.identify("cbt_wrong").unwrap().is_none());
}
