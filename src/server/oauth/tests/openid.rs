//! Log-in with an outside provider.

use axum::http::StatusCode;
use serde_json::json;

use super::site::{Browser, PASSWORD, Site, URL};
use crate::{
    platform::PublicUrl,
    server::{
        LogInProvider,
        openid::{
            OpenIdConfig,
            testing::{FakeProvider, NOW, SigningKey, TOKEN},
        },
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
    assert_eq!(forged.status, StatusCode::BAD_GATEWAY);
    assert!(forged.body.contains("Corp did not confirm who you are"), "{}", forged.body);
    assert_eq!(eve.get(&world.site, &callback).await.status, StatusCode::FORBIDDEN, "it is used up");
    let sent = eve.get(&world.site, "/oauth/openid/corp").await;
    world.site.clock.advance(core::time::Duration::from_secs(600));
    let late = format!("/oauth/openid/corp/callback?code=c&state={}", sent.redirected("state").unwrap());
    assert_eq!(eve.get(&world.site, &late).await.status, StatusCode::FORBIDDEN);
    assert_eq!(eve.get(&world.site, "/oauth/openid/none").await.status, StatusCode::NOT_FOUND);
    assert!(eve.get(&world.site, "/oauth/account").await.location().starts_with("/oauth/login"));
}
