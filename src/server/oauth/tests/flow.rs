//! The code flow, as a person, a client and the service see it.

use axum::http::StatusCode;
use base64ct::{Base64, Base64UrlUnpadded, Encoding as _};
use sha2::{Digest, Sha256};

use super::site::{Browser, PASSWORD, REDIRECT, Site, URL};
use crate::platform::Scope;

const VERIFIER: &str = "a-verifier-of-43-characters-or-more-0123456789";

fn pkce() -> String {
    let challenge = Base64UrlUnpadded::encode_string(&Sha256::digest(VERIFIER));
    format!("code_challenge={challenge}&code_challenge_method=S256")
}

#[tokio::test]
async fn a_public_client_gets_tokens_with_pkce() {
    let site = Site::new();
    let mut browser = Browser::sign_up(&site, "ann@example.org").await;
    let logged_out = browser.submit(&site, "/oauth/logout", "/oauth/logout", &[]).await;
    assert_eq!(logged_out.location(), "/oauth/login");
    let (client, secret) = site.client("none").await;
    assert_eq!(secret, None);
    let query = format!(
        "response_type=code&client_id={client}&redirect_uri={REDIRECT}&scope=blockchain:read&state=a%26b%22&{}",
        pkce()
    );
    // Not logged in: the login page leads back to the consent.
    let to_log_in = browser.get(&site, &format!("/oauth/authorize?{query}")).await;
    let login = to_log_in.location().to_owned();
    assert!(login.starts_with("/oauth/login?return_to="), "{login}");
    let back = browser
        .submit(&site, &login, "/oauth/login", &[("email", "Ann@example.org"), ("password", PASSWORD)])
        .await
        .location()
        .to_owned();
    assert_eq!(back, format!("/oauth/authorize?{query}"));
    let page = browser.get(&site, &back).await;
    for shown in ["App &lt;b&gt; asks for access", "query blockchain data", "ann@example.org", "ann (you are owner)"] {
        assert!(page.body.contains(shown), "{shown}: {}", page.body);
    }
    assert!(page.header("content-security-policy").contains("form-action 'self' https://app.example;"));
    let redirect = browser.consent(&site, &query, "allow").await;
    assert!(redirect.location().starts_with("https://app.example/cb?code=cbc_"));
    assert_eq!(redirect.redirected("state").as_deref(), Some("a&b\""));
    assert_eq!(redirect.redirected("iss").as_deref(), Some(URL));
    assert_eq!(redirect.header("cache-control"), "no-store");
    let code = redirect.redirected("code").unwrap();

    let form = format!(
        "grant_type=authorization_code&code={code}&redirect_uri={REDIRECT}&client_id={client}&code_verifier={VERIFIER}"
    );
    let reply = site.form("/oauth/token", None, &form).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.body);
    assert_eq!((reply.header("cache-control"), reply.header("content-type")), ("no-store", "application/json"));
    let tokens = reply.json();
    assert_eq!((&tokens["token_type"], &tokens["expires_in"]), (&"Bearer".into(), &3600.into()));
    assert_eq!(tokens["scope"], "blockchain:read");
    let access = tokens["access_token"].as_str().unwrap();
    let principal = site.platform.oauth().authenticate(access).unwrap().unwrap();
    assert!(principal.may(Scope::BlockchainRead) && !principal.may(Scope::BlockchainWrite));

    // Rotation, below the other prefix; then the first refresh token again.
    let refresh = |token: &str| format!("grant_type=refresh_token&refresh_token={token}&client_id={client}");
    let first = tokens["refresh_token"].as_str().unwrap();
    let reply = site.form("/v1/oauth/token", None, &refresh(first)).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.body);
    let next = reply.json();
    let reused = site.form("/oauth/token", None, &refresh(first)).await;
    assert_eq!((reused.status, &reused.json()["error"]), (StatusCode::BAD_REQUEST, &"invalid_grant".into()));
    for token in [access, next["access_token"].as_str().unwrap()] {
        assert_eq!(site.platform.oauth().authenticate(token).unwrap(), None);
    }
    let reply = site.form("/oauth/token", None, &refresh(next["refresh_token"].as_str().unwrap())).await;
    assert_eq!(reply.json()["error"], "invalid_grant");
}

#[tokio::test]
async fn a_confidential_client_works_with_exactly_the_specifications_parameters() {
    let site = Site::new();
    let mut browser = Browser::sign_up(&site, "ann@example.org").await;
    let (client, secret) = site.client("client_secret_post").await;
    let secret = secret.unwrap();
    let query = format!(
        "client_id={client}&redirect_uri={REDIRECT}&response_type=code&scope=blockchain:read+blockchain:write&state=xyz"
    );
    let code = browser.consent(&site, &query, "allow").await.redirected("code").unwrap();
    let form = format!(
        "grant_type=authorization_code&code={code}&redirect_uri={REDIRECT}&client_id={client}&client_secret={secret}"
    );
    let reply = site.form("/v1/oauth/token", None, &form).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.body);
    let tokens = reply.json();
    assert_eq!(tokens["scope"], "blockchain:read blockchain:write");
    let access = tokens["access_token"].as_str().unwrap().to_owned();

    // What it may know of its token, by HTTP Basic.
    let basic = format!("Basic {}", Base64::encode_string(format!("{client}:{secret}").as_bytes()));
    let look = async |token: &str| site.form("/oauth/introspect", Some(&basic), &format!("token={token}")).await.json();
    let found = look(&access).await;
    let wanted = serde_json::json!({ "active": true, "username": "ann@example.org", "iss": URL });
    for (name, want) in wanted.as_object().unwrap() {
        assert_eq!(&found[name], want, "{found}");
    }
    assert_eq!(found["exp"].as_u64().unwrap() - found["iat"].as_u64().unwrap(), 3600);
    assert_eq!(look("unknown").await, serde_json::json!({ "active": false }));
    for token in ["unknown", &access, &access] {
        let reply = site.form("/oauth/revoke", Some(&basic), &format!("token={token}&token_type_hint=nonsense")).await;
        assert_eq!(reply.status, StatusCode::OK);
    }
    assert_eq!(look(&access).await, serde_json::json!({ "active": false }));

    // The code again: all that it gave is revoked.
    let refresh = tokens["refresh_token"].as_str().unwrap();
    assert_eq!(look(refresh).await["active"], true);
    let reused = site.form("/oauth/token", None, &form).await;
    assert_eq!((reused.status, &reused.json()["error"]), (StatusCode::BAD_REQUEST, &"invalid_grant".into()));
    assert_eq!(look(refresh).await["active"], false);
}

#[tokio::test]
async fn a_refusal_goes_to_the_client_and_a_bad_redirect_uri_nowhere() {
    let site = Site::new();
    let mut browser = Browser::sign_up(&site, "ann@example.org").await;
    let (client, _) = site.client("client_secret_basic").await;
    let query = format!("client_id={client}&redirect_uri={REDIRECT}&response_type=code&state=s");
    let denied = browser.consent(&site, &query, "refuse").await;
    let found = ["error", "state", "iss", "code"].map(|name| denied.redirected(name).unwrap_or_default());
    assert_eq!(found, ["access_denied", "s", URL, ""]);
    for (query, error) in [
        (query.replace("response_type=code", "response_type=token"), "unsupported_response_type"),
        (format!("{query}&scope=magic"), "invalid_scope"),
        (format!("{query}&scope=admin"), "invalid_scope"),
        (format!("{query}&scope=blockchain:read&scope=blockchain:read"), "invalid_request"),
        (format!("{query}&code_challenge=x"), "invalid_request"),
    ] {
        let reply = browser.get(&site, &format!("/oauth/authorize?{query}")).await;
        assert_eq!(reply.redirected("error").as_deref(), Some(error), "{query}");
    }
    for query in [
        query.replace(REDIRECT, "https://evil.example/cb"),
        query.replace(&client, "cli_none"),
        query.replace("client_id", "client"),
        format!("{query}&redirect_uri={REDIRECT}"),
        String::new(),
    ] {
        let reply = browser.get(&site, &format!("/oauth/authorize?{query}")).await;
        assert_eq!((reply.status, reply.header("location")), (StatusCode::BAD_REQUEST, ""), "{query}");
        assert!(reply.body.contains("request is wrong"), "{}", reply.body);
    }
    // The consent form is checked like the request: a changed field is no way around it.
    let page = browser.get(&site, &format!("/oauth/authorize?{query}")).await;
    let changed = [("redirect_uri", "https://evil.example/cb"), ("decision", "allow")];
    let reply = browser.fill(&site, &page, "/oauth/authorize", &changed).await;
    assert_eq!((reply.status, reply.header("location")), (StatusCode::BAD_REQUEST, ""));
    let foreign = [("workspace", "ws_default"), ("decision", "allow")];
    let reply = browser.fill(&site, &page, "/oauth/authorize", &foreign).await;
    assert_eq!(reply.status, StatusCode::NOT_FOUND, "the user is no member there");
}
