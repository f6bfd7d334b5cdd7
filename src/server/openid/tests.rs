//! Tests of logins at a provider on this machine.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use url::Url;
use zeroize::Zeroizing;

use super::{
    Callback, DISCOVERY_AGE_MIN, IdTokenError, Identity, KEYS_AGE_MAX, KEYS_AGE_MIN, OpenIdConfig, OpenIdError,
    OpenIdLogin, OpenIdProvider,
    id_token::access_token_hash,
    jws::Algorithm,
    testing::{DISCOVERY, FakeProvider, KEYS, NOW, SigningKey, TOKEN, USER_INFO},
};
use crate::{platform::OsEntropy, server::outbound::OutboundError};

fn login() -> OpenIdLogin {
    OpenIdLogin::draw(&OsEntropy).unwrap()
}

/// The browser's return, as the provider would have it.
fn callback(login: &OpenIdLogin) -> Callback {
    Callback {
        state: Some(login.state.to_string()),
        code: Some(Zeroizing::new("c0de".to_owned())),
        ..Callback::default()
    }
}

fn claims(provider: &FakeProvider, login: &OpenIdLogin) -> Value {
    json!({
        "iss": provider.issuer(), "sub": "alice", "aud": "chainbox", "exp": NOW + 600, "iat": NOW, "nonce": *login.nonce,
        "email": "alice@example.org", "email_verified": true, "name": "Alice",
    })
}

fn with(claims: Value, changes: Value) -> Value {
    let (Value::Object(mut claims), Value::Object(changes)) = (claims, changes) else { panic!("objects") };
    claims.extend(changes);
    Value::Object(claims)
}

/// A provider with one key, found.
async fn world(key: &SigningKey) -> (FakeProvider, OpenIdProvider) {
    let provider = FakeProvider::start().await;
    provider.publish(&[key]);
    let found = provider.discover(provider.config()).await.unwrap();
    (provider, found)
}

fn give(provider: &FakeProvider, id_token: &str) {
    provider.answer(TOKEN, 200, &json!({ "access_token": "acce55", "token_type": "Bearer", "id_token": id_token }));
}

/// A whole login with these changes of the claims.
async fn log_in(
    provider: &FakeProvider,
    found: &OpenIdProvider,
    key: &SigningKey,
    changes: Value,
) -> Result<Identity, OpenIdError> {
    let login = login();
    give(provider, &key.token(&with(claims(provider, &login), changes)));
    found.exchange(&login, &callback(&login)).await
}

fn form(body: &str) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(body.as_bytes()).into_owned().collect()
}

#[tokio::test]
async fn a_login_ends_with_who_it_was() {
    for key in [SigningKey::rsa(Some("k1")), SigningKey::p256(Some("k1")), SigningKey::ed25519(None)] {
        let (provider, found) = world(&key).await;
        let login = login();

        let url = Url::parse(&found.authorization_url(&login).unwrap()).unwrap();
        let query: BTreeMap<_, _> = url.query_pairs().into_owned().collect();
        let wanted = [
            ("tenant", "1"),
            ("response_type", "code"),
            ("client_id", "chainbox"),
            ("redirect_uri", "https://chainbox.test/callback"),
            ("scope", "openid email profile"),
            ("state", &login.state),
            ("nonce", &login.nonce),
            ("code_challenge", &login.challenge()),
            ("code_challenge_method", "S256"),
        ];
        assert_eq!(query, wanted.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect());

        give(&provider, &key.token(&claims(&provider, &login)));
        let identity = found.exchange(&login, &callback(&login)).await.unwrap();
        let expected = Identity {
            issuer: provider.issuer(),
            subject: "alice".to_owned(),
            email: Some("alice@example.org".to_owned()),
            email_verified: true,
            name: Some("Alice".to_owned()),
        };
        assert_eq!(identity, expected);

        let [request] = &provider.requests(TOKEN)[..] else { panic!("one request") };
        let wanted = [
            ("grant_type", "authorization_code"),
            ("code", "c0de"),
            ("redirect_uri", "https://chainbox.test/callback"),
            ("code_verifier", &login.verifier),
            ("client_id", "chainbox"),
        ];
        assert_eq!(
            form(&request.body),
            wanted.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        );
        assert!(!request.headers.contains_key("authorization"), "a public client shows no secret");
        assert!(provider.requests(USER_INFO).is_empty(), "the token says all");
    }
}

#[tokio::test]
async fn a_confidential_client_shows_its_secret_as_the_provider_wants_it() {
    let key = SigningKey::p256(None);
    let provider = FakeProvider::start().await;
    provider.publish(&[&key]);
    let config = || provider.config().with_client_secret(Zeroizing::new("s&cret:1".to_owned()));
    for (methods, basic) in [
        (Value::Null, true),
        (json!(["client_secret_post", "client_secret_basic"]), true),
        (json!(["client_secret_post", "private_key_jwt"]), false),
    ] {
        provider.answer(
            DISCOVERY,
            200,
            &with(provider.description(), json!({ "token_endpoint_auth_methods_supported": methods })),
        );
        let found = provider.discover(config()).await.unwrap();
        assert!(!format!("{found:?}").contains("s&cret"));
        log_in(&provider, &found, &key, json!({})).await.unwrap();
        let request = provider.requests(TOKEN).pop().unwrap();
        let secret = form(&request.body).remove("client_secret");
        if basic {
            // "chainbox:s%26cret%3A1" in base64.
            assert_eq!(request.headers["authorization"], "Basic Y2hhaW5ib3g6cyUyNmNyZXQlM0Ex");
            assert_eq!(secret, None);
        } else {
            assert_eq!(secret.as_deref(), Some("s&cret:1"));
        }
    }
    provider.answer(
        DISCOVERY,
        200,
        &with(provider.description(), json!({ "token_endpoint_auth_methods_supported": ["private_key_jwt"] })),
    );
    let error = provider.discover(config()).await.unwrap_err();
    assert!(matches!(&error, OpenIdError::Unsupported { offered, .. } if offered == "private_key_jwt"), "{error}");
}

#[tokio::test]
async fn a_provider_that_cannot_be_relied_on_is_refused_at_discovery() {
    let provider = FakeProvider::start().await;
    for (changes, says) in [
        (json!({ "issuer": format!("{}/", provider.issuer()) }), "calls itself"),
        (json!({ "issuer": "https://other.test" }), "calls itself"),
        (json!({ "response_types_supported": ["id_token"] }), "code flow"),
        (
            json!({ "id_token_signing_alg_values_supported": ["HS256", "none"] }),
            "RS256, ES256 or EdDSA; it offers HS256, none",
        ),
        (json!({ "code_challenge_methods_supported": ["plain"] }), "PKCE"),
        (json!({ "token_endpoint": "http://example.com/token" }), ""),
        (json!({ "token_endpoint": "https://169.254.169.254/latest" }), "link-local"),
        (json!({ "jwks_uri": "file:///etc/passwd" }), "scheme"),
        (json!({ "userinfo_endpoint": "https://10.0.0.1/" }), "private"),
        (json!({ "authorization_endpoint": "javascript:alert(1)" }), "scheme"),
        (json!({ "jwks_uri": null }), "JSON"),
    ] {
        provider.answer(DISCOVERY, 200, &with(provider.description(), changes.clone()));
        match provider.discover(provider.config()).await {
            // A name in clear is refused when it is resolved, not before: only loopback addresses are exempt.
            Ok(_) => assert!(says.is_empty(), "{changes}"),
            Err(error) => assert!(!says.is_empty() && full(&error).contains(says), "{changes}: {}", full(&error)),
        }
    }
    provider.answer(DISCOVERY, 500, &json!({}));
    let error = provider.discover(provider.config()).await.unwrap_err();
    assert!(matches!(&error, OpenIdError::Request { source: OutboundError::Status { .. }, .. }), "{error}");
    provider.answer(DISCOVERY, 302, &json!({}));
    let error = provider.discover(provider.config()).await.unwrap_err();
    assert!(matches!(&error, OpenIdError::Request { source: OutboundError::Redirect { .. }, .. }), "{error}");
}

fn full(error: &OpenIdError) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    format!("{error}: {}", cause.unwrap_or_default())
}

#[tokio::test]
async fn an_answer_of_another_login_or_issuer_is_refused() {
    let key = SigningKey::p256(None);
    let (provider, found) = world(&key).await;
    let login = login();
    let right = || callback(&login);
    let state = |state: Option<&str>| Callback { state: state.map(str::to_owned), ..right() };
    for other in [None, Some(""), Some("other"), Some(&login.nonce)] {
        assert_eq!(found.exchange(&login, &state(other)).await, Err(OpenIdError::State), "{other:?}");
    }
    let empty =
        OpenIdLogin { state: Zeroizing::default(), nonce: login.nonce.clone(), verifier: login.verifier.clone() };
    assert_eq!(found.exchange(&empty, &state(None)).await, Err(OpenIdError::State), "an empty state ties nothing");
    let from = |issuer: &str| Callback { issuer: Some(issuer.to_owned()), ..right() };
    let error = found.exchange(&login, &from("https://other.test")).await.unwrap_err();
    assert!(matches!(error, OpenIdError::CallbackIssuer { .. }), "{error}");
    assert_eq!(found.exchange(&login, &Callback { code: None, ..right() }).await, Err(OpenIdError::NoCode));
    let refused =
        Callback { error: Some("access_denied".to_owned()), error_description: Some("no".to_owned()), ..right() };
    let error = found.exchange(&login, &refused).await.unwrap_err();
    assert_eq!(error.to_string(), "the OpenID provider refused: access_denied (no)");
    assert!(provider.requests(TOKEN).is_empty(), "no code went anywhere");

    provider.answer(
        DISCOVERY,
        200,
        &with(provider.description(), json!({ "authorization_response_iss_parameter_supported": true })),
    );
    let found = provider.discover(provider.config()).await.unwrap();
    let error = found.exchange(&login, &right()).await.unwrap_err();
    assert!(matches!(error, OpenIdError::CallbackIssuer { .. }), "{error}");
    give(&provider, &key.token(&claims(&provider, &login)));
    assert!(found.exchange(&login, &from(&provider.issuer())).await.is_ok());
}

#[tokio::test]
async fn a_refused_code_says_why() {
    let (provider, found) = world(&SigningKey::p256(None)).await;
    let login = login();
    let refusal = json!({ "error": "invalid_grant", "error_description": "used\u{7} before" });
    provider.answer(TOKEN, 400, &refusal);
    let error = found.exchange(&login, &callback(&login)).await.unwrap_err();
    assert_eq!(error.to_string(), "the OpenID provider refused the code: invalid_grant (used before)");
    for (status, body) in [(400, json!({})), (500, json!({ "error": "server_error" }))] {
        provider.answer(TOKEN, status, &body);
        let error = found.exchange(&login, &callback(&login)).await.unwrap_err();
        assert!(matches!(error, OpenIdError::Request { source: OutboundError::Status { .. }, .. }), "{error}");
    }
    provider.answer(TOKEN, 200, &json!({ "access_token": "acce55" }));
    let error = found.exchange(&login, &callback(&login)).await.unwrap_err();
    assert!(error.to_string().contains("missing field `id_token`"), "{error}");
    assert!(!format!("{error:?}").contains("acce55"));
}

#[tokio::test]
async fn a_token_with_a_violated_claim_is_refused() {
    let key = SigningKey::p256(None);
    let (provider, found) = world(&key).await;
    let hash = access_token_hash(Algorithm::Es256, "acce55");
    for (changes, want) in [
        (json!({ "at_hash": hash }), None),
        (json!({ "iss": "https://other.test" }), Some("(iss)")),
        (json!({ "aud": "other" }), Some("(aud)")),
        (json!({ "azp": "other" }), Some("(azp)")),
        (json!({ "exp": NOW - 60 }), Some("(exp")),
        (json!({ "iat": NOW + 61 }), Some("(iat")),
        (json!({ "nbf": NOW + 61 }), Some("(nbf")),
        (json!({ "nonce": "other" }), Some("(nonce)")),
        (json!({ "at_hash": "other" }), Some("(at_hash)")),
        (json!({ "sub": "" }), Some("(sub)")),
    ] {
        let outcome = log_in(&provider, &found, &key, changes.clone()).await;
        match (outcome, want) {
            (Ok(_), None) => {}
            (Err(OpenIdError::IdToken(error)), Some(says)) => {
                assert!(error.to_string().contains(says), "{changes}: {error}")
            }
            (other, _) => panic!("{changes}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_signature_that_is_not_the_providers_is_refused() {
    let (key, stranger) = (SigningKey::p256(Some("k1")), SigningKey::p256(Some("k1")));
    let (provider, found) = world(&key).await;
    let error = log_in(&provider, &found, &stranger, json!({})).await.unwrap_err();
    assert_eq!(error, OpenIdError::IdToken(IdTokenError::Signature));
    // An algorithm that the provider does not announce is none of its own, though it publishes a fitting key.
    let changes = json!({ "id_token_signing_alg_values_supported": ["RS256"] });
    provider.answer(DISCOVERY, 200, &with(provider.description(), changes));
    let found = provider.discover(provider.config()).await.unwrap();
    let error = log_in(&provider, &found, &key, json!({})).await.unwrap_err();
    assert!(matches!(error, OpenIdError::IdToken(IdTokenError::Algorithm { .. })), "{error}");
}

#[tokio::test]
async fn keys_are_kept_and_asked_for_anew_when_they_change() {
    let (first, second, third) =
        (SigningKey::p256(Some("k1")), SigningKey::rsa(Some("k2")), SigningKey::p256(Some("k3")));
    let (provider, found) = world(&first).await;
    let asked = || provider.requests(KEYS).len();
    let login = login();
    give(&provider, &first.token(&claims(&provider, &login)));
    let back = callback(&login);
    let at_once = (0..5).map(|_| found.exchange(&login, &back));
    for outcome in futures_util::future::join_all(at_once).await {
        outcome.unwrap();
    }
    log_in(&provider, &found, &first, json!({})).await.unwrap();
    assert_eq!(asked(), 1, "kept, and asked for once by many");
    // A key that is not among them, too early to ask again: made-up key ids cause no requests.
    provider.publish(&[&second]);
    let error = log_in(&provider, &found, &second, json!({})).await.unwrap_err();
    assert_eq!(error, OpenIdError::IdToken(IdTokenError::UnknownKey { key_id: Some("k2".to_owned()) }));
    assert_eq!(asked(), 1);
    provider.clock.advance(KEYS_AGE_MIN);
    log_in(&provider, &found, &second, json!({})).await.unwrap();
    assert_eq!(asked(), 2, "changed");
    let error = log_in(&provider, &found, &first, json!({})).await.unwrap_err();
    assert_eq!(error, OpenIdError::IdToken(IdTokenError::UnknownKey { key_id: Some("k1".to_owned()) }), "withdrawn");
    // A withdrawn key ends with the age of the kept ones.
    provider.publish(&[&third]);
    provider.clock.advance(KEYS_AGE_MAX - Duration::from_secs(1));
    let fresh = json!({ "iat": NOW + 3_600, "exp": NOW + 7_200 });
    log_in(&provider, &found, &second, fresh.clone()).await.unwrap();
    provider.clock.advance(Duration::from_secs(1));
    let error = log_in(&provider, &found, &second, fresh.clone()).await.unwrap_err();
    assert_eq!(error, OpenIdError::IdToken(IdTokenError::UnknownKey { key_id: Some("k2".to_owned()) }));
    assert_eq!(asked(), 3);
    // Another key under the same id, and one without an id: wrong signatures cause no more requests than unknown ids.
    for (key, number) in [(SigningKey::p256(Some("k3")), 4), (SigningKey::p256(None), 5)] {
        provider.publish(&[&key]);
        let error = log_in(&provider, &found, &key, fresh.clone()).await.unwrap_err();
        assert_eq!(error, OpenIdError::IdToken(IdTokenError::Signature));
        assert_eq!(asked(), number - 1, "too early to ask again");
        provider.clock.advance(KEYS_AGE_MIN);
        log_in(&provider, &found, &key, fresh.clone()).await.unwrap();
        assert_eq!(asked(), number, "changed");
    }
}

#[tokio::test]
async fn what_the_token_does_not_say_is_asked_for() {
    let key = SigningKey::p256(None);
    let (provider, found) = world(&key).await;
    let silent = || json!({ "email": null, "email_verified": null, "name": null });
    provider.answer(
        USER_INFO,
        200,
        &json!({ "sub": "alice", "email": "a@b.test", "email_verified": "true", "name": "A" }),
    );
    let identity = log_in(&provider, &found, &key, silent()).await.unwrap();
    assert_eq!(
        (identity.email.as_deref(), identity.email_verified, identity.name.as_deref()),
        (Some("a@b.test"), true, Some("A"))
    );
    assert_eq!(provider.requests(USER_INFO)[0].headers["authorization"], "Bearer acce55");

    provider.answer(USER_INFO, 200, &json!({ "sub": "mallory", "email": "a@b.test", "email_verified": true }));
    assert_eq!(log_in(&provider, &found, &key, silent()).await, Err(OpenIdError::Subject));

    // Neither an address without a word on it nor a word without an address is a verified address.
    for info in [json!({ "sub": "alice", "email": "a@b.test" }), json!({ "sub": "alice", "email_verified": true })] {
        provider.answer(USER_INFO, 200, &info);
        assert!(!log_in(&provider, &found, &key, silent()).await.unwrap().email_verified, "{info}");
    }
    let error = {
        provider.answer(USER_INFO, 401, &json!({}));
        log_in(&provider, &found, &key, silent()).await.unwrap_err()
    };
    assert!(matches!(error, OpenIdError::Request { what: "user information", .. }), "{error}");
}

#[tokio::test]
async fn a_provider_that_was_down_is_found_by_a_later_log_in_and_not_asked_by_each() {
    let provider = FakeProvider::start().await;
    let description = provider.description();
    provider.answer(DISCOVERY, 503, &json!({}));
    let on_demand = provider.on_demand(provider.config()).unwrap();
    for _ in 0..3 {
        let error = on_demand.provider().await.map(drop).unwrap_err();
        assert!(matches!(error, OpenIdError::Request { what: "discovery document", .. }), "{error}");
    }
    assert_eq!(provider.requests(DISCOVERY).len(), 1, "its failure is kept for a while");
    provider.answer(DISCOVERY, 200, &description);
    provider.clock.advance(DISCOVERY_AGE_MIN - Duration::from_millis(1));
    assert!(on_demand.provider().await.is_err());
    provider.clock.advance(Duration::from_millis(1));
    for _ in 0..3 {
        assert_eq!(on_demand.provider().await.unwrap().issuer(), provider.issuer());
    }
    assert_eq!(provider.requests(DISCOVERY).len(), 2, "and it is read once");
}

#[tokio::test]
async fn an_issuer_that_may_not_be_asked_is_refused_before_it_is() {
    let provider = FakeProvider::start().await;
    for issuer in ["no url", "ftp://127.0.0.1", "http://192.0.2.1"] {
        let error =
            provider.on_demand(OpenIdConfig::new(issuer, "chainbox", "https://chainbox.test/callback")).map(drop);
        assert!(matches!(error, Err(OpenIdError::Request { .. })), "{issuer}: {error:?}");
    }
    assert!(provider.requests(DISCOVERY).is_empty());
}
