//! From a code to tokens.

use super::*;

#[test]
fn a_code_becomes_tokens_that_act_for_the_user() {
    let server = Server::new();
    let oauth = server.world.platform.oauth();
    let request = oauth.read_authorization(&Parameters::read(server.public_query().as_bytes()), &url()).unwrap();
    assert_eq!((request.client().id(), request.redirect_uri()), (server.public.id(), REDIRECT));
    let address = "192.0.2.7".parse().unwrap();
    let there = oauth.of_address(Some(address));
    let location = there.authorize(&request, server.ann.id(), &server.home(), &url()).ok().unwrap().location;
    assert!(location.starts_with("https://app.example/cb?code=cbc_"));
    let lines = server.world.platform.records().of::<AuditLine>();
    let lines = lines.all(&Index::CREATED, &server.owner.owner(), &SortKey::new()).unwrap();
    let granted: Vec<_> = lines.iter().filter(|line| line.value.action == "oauth.grant").collect();
    assert_eq!(granted.iter().map(|line| line.value.client).collect::<Vec<_>>(), [Some(address)]);
    assert_eq!(parameter(&location, "state").unwrap(), "s");
    assert_eq!(parameter(&location, "iss").unwrap(), "https://chain.example");
    let code = parameter(&location, "code").unwrap();
    let response = server.exchange(&code).unwrap();
    assert_eq!(response.expires_in_secs, 3600);
    assert_eq!(response.scopes, scopes(&[Scope::BlockchainRead, Scope::BlockchainWrite]));
    let principal = server.principal(response.access_token.text()).unwrap();
    assert_eq!((principal.subject(), principal.workspace()), (server.owner.subject(), server.owner.workspace()));
    assert_eq!(*principal.scopes(), response.scopes);
    let bytes = server.world.bytes();
    for secret in [&code, response.access_token.text(), &refresh_text(&response), &server.secret] {
        assert!(!bytes.windows(20).any(|window| window == &secret.as_bytes()[4..24]), "{}", &secret[..4]);
    }
    let text = response.access_token.text();
    let mistyped = format!("{}{}", &text[..59], if text.ends_with('0') { '1' } else { '0' });
    assert_eq!((server.principal(&mistyped), server.principal("cbt_"), server.principal("")), (None, None, None));
    server.world.clock.advance(Duration::from_secs(3_599));
    assert!(server.principal(response.access_token.text()).is_some());
    server.world.clock.advance(Duration::from_secs(1));
    assert!(server.principal(response.access_token.text()).is_none());
}

#[test]
fn a_code_is_for_ten_minutes_and_once() {
    let server = Server::new();
    let late = server.code(&server.public_query());
    server.world.clock.advance(Duration::from_secs(600));
    assert_eq!(code_of(server.exchange(&late)), OAuthErrorCode::InvalidGrant);
    assert_eq!(server.world.platform.oauth().forget_expired(&many()).unwrap(), 1);
    let code = server.code(&server.public_query());
    server.world.clock.advance(Duration::from_secs(599));
    let wrong = format!(
        "grant_type=authorization_code&code={code}&redirect_uri={REDIRECT}&code_verifier={}",
        VERIFIER.replace('a', "b")
    );
    assert_eq!(code_of(server.token(&server.public, &wrong)), OAuthErrorCode::InvalidGrant);
    let response = server.exchange(&code).unwrap();
    let refreshed = server.refresh(&refresh_text(&response)).unwrap();
    // A second use revokes all that the first has given, also later.
    server.world.clock.advance(Duration::from_secs(3_000));
    assert!(server.principal(refreshed.access_token.text()).is_some());
    assert_eq!(code_of(server.exchange(&code)), OAuthErrorCode::InvalidGrant);
    assert_eq!(server.principal(refreshed.access_token.text()), None);
    assert_eq!(code_of(server.refresh(&refresh_text(&refreshed))), OAuthErrorCode::InvalidGrant);
    assert_eq!(server.kept(), (0, 0));
    for (form, want) in [
        ("", OAuthErrorCode::InvalidRequest),
        ("grant_type=password", OAuthErrorCode::UnsupportedGrantType),
        ("grant_type=authorization_code", OAuthErrorCode::InvalidRequest),
        ("grant_type=authorization_code&code=cbc_x", OAuthErrorCode::InvalidGrant),
        ("grant_type=authorization_code&code=a&code=b", OAuthErrorCode::InvalidRequest),
        ("grant_type=refresh_token", OAuthErrorCode::InvalidRequest),
        ("grant_type=refresh_token&refresh_token=cbr_x", OAuthErrorCode::InvalidGrant),
        ("grant_type=refresh_token&refresh_token=x&scope=magic", OAuthErrorCode::InvalidScope),
    ] {
        assert_eq!(code_of(server.token(&server.public, form)), want, "{form}");
    }
}

#[test]
fn a_left_out_redirect_uri_is_the_only_one() {
    let server = Server::new();
    let metadata = json!({ "client_name": "One", "redirect_uris": [REDIRECT], "grant_types": ["authorization_code"] });
    let (client, _) = register(&server.world.platform, &server.owner, metadata).unwrap();
    let query = format!("client_id={}&response_type=code&scope=blockchain:read", client.id());
    let code = server.code(&query);
    let form = format!("grant_type=authorization_code&code={code}");
    assert_eq!(
        code_of(server.token(&client, &format!("{form}&redirect_uri={REDIRECT}"))),
        OAuthErrorCode::InvalidGrant
    );
    let response = server.token(&client, &form).unwrap();
    assert!(response.refresh_token.is_none(), "it has not registered for any");
    server.world.clock.advance(Duration::from_secs(3_600));
    assert_eq!(server.world.platform.oauth().forget_expired(&many()).unwrap(), 2);
}
