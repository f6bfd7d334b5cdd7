//! Log-in with an outside provider.

use axum::{
    body::Body,
    http::{Request, StatusCode},
};
use serde_json::json;

use super::site::{Browser, PASSWORD, Site, URL};
use crate::{
    platform::PublicUrl,
    server::{
        LogInProvider,
        openid::{
            DISCOVERY_AGE_MIN, OpenIdConfig,
            testing::{DISCOVERY, FakeProvider, NOW, SigningKey, TOKEN},
        },
        rest::PeerAddress,
    },
};

struct World {
    provider: FakeProvider,
    key: SigningKey,
    site: Site,
}

impl World {
    async fn new() -> Self {
        let (provider, key) = (FakeProvider::start().await, SigningKey::p256(None));
        provider.publish(&[&key]);
        let redirect_uri = LogInProvider::redirect_uri(&PublicUrl::new(URL).unwrap(), "corp");
        let config = OpenIdConfig::new(provider.issuer(), "chainbox", redirect_uri);
        let found = provider.discover(config).await.unwrap();
        let site = Site::with(URL, true, vec![LogInProvider::new("Corp", "corp", found)]);
        Self { provider, key, site }
    }

    /// Goes to the provider and comes back as `subject` with an address.
    async fn log_in(&self, browser: &mut Browser, subject: &str, email: &str, is_verified: bool) -> super::site::Reply {
        let sent = browser.get(&self.site, "/oauth/openid/corp?return_to=/oauth/logout").await;
        assert!(sent.location().starts_with(&format!("{}/auth?", self.provider.issuer())), "{}", sent.location());
        assert_eq!(sent.redirected("redirect_uri").unwrap(), "https://chain.example/oauth/openid/corp/callback");
        let (state, nonce) = (sent.redirected("state").unwrap(), sent.redirected("nonce").unwrap());
        let claims = json!({
            "iss": self.provider.issuer(), "aud": "chainbox", "sub": subject, "iat": NOW, "exp": NOW + 300,
            "nonce": nonce, "email": email, "email_verified": is_verified,
        });
        let tokens = json!({ "access_token": "x", "token_type": "Bearer", "id_token": self.key.token(&claims) });
        self.provider.answer(TOKEN, 200, &tokens);
        browser.get(&self.site, &format!("/oauth/openid/corp/callback?code=c0de&state={state}")).await
    }
}

#[tokio::test]
async fn a_provider_names_the_user() {
    let world = World::new().await;
    let page = Browser::default().get(&world.site, "/oauth/login").await;
    assert!(page.body.contains("Log in with Corp"), "{}", page.body);
    let mut bob = Browser::default();
    let reply = world.log_in(&mut bob, "1", "bob@example.org", true).await;
    assert_eq!(reply.location(), "/oauth/logout", "where the log-in was begun for");
    assert!(bob.get(&world.site, "/oauth/account").await.body.contains("bob@example.org"));
    // Somebody with a password and the same verified address is the same user.
    Browser::sign_up(&world.site, "ann@example.org").await;
    let mut ann = Browser::default();
    world.log_in(&mut ann, "2", "Ann@example.org", true).await.location();
    let page = ann.get(&world.site, "/oauth/account").await;
    assert!(page.body.contains("ann@example.org") && page.body.contains("Change the password"), "{}", page.body);
    assert!(Browser::default().log_in(&world.site, "ann@example.org", PASSWORD).await.location().ends_with("account"));
}

#[tokio::test]
async fn a_provider_that_is_down_fails_log_ins_until_it_is_up() {
    let provider = FakeProvider::start().await;
    provider.answer(DISCOVERY, 503, &json!({}));
    let on_demand = provider.on_demand(provider.config()).unwrap();
    let site = Site::with(URL, true, vec![LogInProvider::new("Corp", "corp", on_demand)]);
    let mut ann = Browser::default();
    assert!(ann.get(&site, "/oauth/login").await.body.contains("Log in with Corp"));
    let failed = ann.get(&site, "/oauth/openid/corp").await;
    assert_eq!(failed.status, StatusCode::BAD_GATEWAY);
    assert!(failed.body.contains("Corp did not confirm who you are"), "{}", failed.body);
    provider.answer(DISCOVERY, 200, &provider.description());
    provider.clock.advance(DISCOVERY_AGE_MIN);
    let sent = ann.get(&site, "/oauth/openid/corp").await;
    assert!(sent.location().starts_with(&format!("{}/auth?", provider.issuer())), "{}", sent.location());
}

#[tokio::test]
async fn an_answer_is_for_the_browser_that_was_sent_and_once() {
    let world = World::new().await;
    let refused = world.log_in(&mut Browser::default(), "1", "ann@example.org", false).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "the address is not verified");
    let mut eve = Browser::default();
    let sent = eve.get(&world.site, "/oauth/openid/corp").await;
    let callback = format!("/oauth/openid/corp/callback?code=c&state={}", sent.redirected("state").unwrap());
    let other = Browser::default().get(&world.site, &callback).await;
    assert_eq!(other.status, StatusCode::FORBIDDEN, "another browser's");
    let forged = eve.get(&world.site, "/oauth/openid/corp/callback?code=c&state=x").await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN);
    assert!(forged.body.contains("Corp did not confirm who you are"), "{}", forged.body);
    assert_eq!(eve.get(&world.site, &callback).await.status, StatusCode::FORBIDDEN, "it is used up");
    let sent = eve.get(&world.site, "/oauth/openid/corp").await;
    world.site.clock.advance(core::time::Duration::from_secs(600));
    let late = format!("/oauth/openid/corp/callback?code=c&state={}", sent.redirected("state").unwrap());
    assert_eq!(eve.get(&world.site, &late).await.status, StatusCode::FORBIDDEN);
    assert_eq!(eve.get(&world.site, "/oauth/openid/none").await.status, StatusCode::NOT_FOUND);
    assert!(eve.get(&world.site, "/oauth/account").await.location().starts_with("/oauth/login"));
}

/// Begins a log-in from an address, in a browser without a cookie.
async fn begun(site: &Site, address: &str) -> Browser {
    let mut request = Request::get("/oauth/openid/corp").body(Body::empty()).unwrap();
    request.extensions_mut().insert(PeerAddress(address.parse().unwrap()));
    let sent = site.send(request).await;
    assert!(sent.redirected("state").is_some());
    Browser { cookie: sent.header("set-cookie").split(';').next().map(str::to_owned) }
}

/// Comes back with an answer that is not the provider's; returns whether the log-in that the browser began was known.
async fn was_known(site: &Site, mut browser: Browser) -> bool {
    let reply = browser.get(site, "/oauth/openid/corp/callback?code=c&state=x").await;
    assert_eq!(reply.status, StatusCode::FORBIDDEN, "{}", reply.body);
    reply.body.contains("Corp did not confirm who you are")
}

#[tokio::test]
async fn a_network_that_begins_many_log_ins_ends_its_own_alone() {
    let world = World::new().await;
    let others = [begun(&world.site, "192.0.2.1").await, begun(&world.site, "2001:db8:1::1").await];
    let mut eves = Vec::new();
    for number in 1..=21 {
        // One network, whatever address of it is taken.
        eves.push(begun(&world.site, &format!("2001:db8:2::{number:x}")).await);
    }
    let newest = eves.split_off(1);
    for eve in eves {
        assert!(!was_known(&world.site, eve).await, "the first of 21");
    }
    for eve in newest {
        assert!(was_known(&world.site, eve).await, "one of the newest 20");
    }
    for browser in others {
        assert!(was_known(&world.site, browser.clone()).await, "another network's");
        assert!(!was_known(&world.site, browser).await, "it is used up");
    }
}
