//! Authorization requests that are refused, and where the refusal is shown.

use super::*;

#[test]
fn a_bad_client_or_redirect_uri_is_shown_and_never_redirects() {
    let server = Server::new();
    let public = server.public.id();
    for (query, want) in [
        ("response_type=code".to_owned(), "the parameter client_id is missing"),
        ("client_id=cli_none&response_type=code".to_owned(), "no application"),
        (format!("client_id={public}&client_id={public}&redirect_uri={REDIRECT}"), "more than once"),
        (format!("client_id={public}&redirect_uri={REDIRECT}&redirect_uri={REDIRECT}"), "more than once"),
        (format!("client_id={public}&response_type=code"), "has registered several"),
        (format!("client_id={public}&redirect_uri={REDIRECT}/"), "has not registered"),
        (format!("client_id={public}&redirect_uri=https://evil.example/cb"), "has not registered"),
        (format!("client_id={}&redirect_uri=http://127.0.0.1:9/cb", server.confidential.id()), "has not registered"),
    ] {
        let refused =
            server.world.platform.oauth().read_authorization(&Parameters::read(query.as_bytes()), &url()).unwrap_err();
        let AuthorizationRefusal::Shown(refusal) = refused else { panic!("{query} redirects") };
        assert!(refusal.to_string().contains(want), "{query}: {refusal}");
    }
}

#[test]
fn every_other_error_goes_to_the_client() {
    use OAuthErrorCode::*;
    let server = Server::new();
    let start = |client: &Stored<OAuthClient>| format!("client_id={}&redirect_uri={REDIRECT}&state=a%26b", client.id());
    let (public, confidential) = (start(&server.public), start(&server.confidential));
    let pkce = format!("code_challenge={}&code_challenge_method=S256", challenge());
    for (query, want) in [
        (public.clone(), InvalidRequest),
        (format!("{public}&response_type=token&{pkce}"), UnsupportedResponseType),
        (format!("{public}&response_type=code&response_type=code&{pkce}"), InvalidRequest),
        (format!("{public}&response_type=code&scope=magic&{pkce}"), InvalidScope),
        (format!("{public}&response_type=code&scope=+&{pkce}"), InvalidScope),
        (format!("{public}&response_type=code&scope=admin&{pkce}"), InvalidScope),
        (format!("{public}&response_type=code&scope=workspace:write&{pkce}"), InvalidScope),
        (format!("{public}&response_type=code"), InvalidRequest),
        (format!("{public}&response_type=code&code_challenge={}", challenge()), InvalidRequest),
        (format!("{confidential}&response_type=code&code_challenge=x&code_challenge_method=plain"), InvalidRequest),
    ] {
        let oauth = server.world.platform.oauth();
        let refused = oauth.read_authorization(&Parameters::read(query.as_bytes()), &url()).unwrap_err();
        let AuthorizationRefusal::Redirected { location, error } = refused else { panic!("{query} is shown") };
        assert_eq!(error.code, want, "{query}");
        assert!(location.starts_with("https://app.example/cb?"));
        let found = ["error", "state", "iss"].map(|name| parameter(&location, name).unwrap());
        assert_eq!(found, [want.name(), "a&b", "https://chain.example"], "{query}");
    }
    // A state that came twice is not echoed.
    let query = format!("{public}&state=c&response_type=code&{pkce}");
    let refused = server.world.platform.oauth().read_authorization(&Parameters::read(query.as_bytes()), &url());
    let Err(AuthorizationRefusal::Redirected { location, error }) = refused else { panic!("must redirect") };
    assert_eq!((error.code, parameter(&location, "state")), (InvalidRequest, None));
    // The user refuses.
    let query = format!("{confidential}&response_type=code");
    let request = server.world.platform.oauth().read_authorization(&Parameters::read(query.as_bytes()), &url());
    let denied = request.unwrap().denied(&url());
    assert_eq!(parameter(&denied, "error").unwrap(), "access_denied");
    assert_eq!(parameter(&denied, "state").unwrap(), "a&b");
}
