//! Log-in with an outside OpenID provider, which the test is itself: what it answers is signed by a key that it publishes.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use base64ct::{Base64UrlUnpadded, Encoding as _};
use chainbox::{
    node::{Clock as _, Node},
    server::{
        LogInProvider, WallClock,
        openid::{OpenIdConfig, OpenIdProvider},
        outbound::{OutboundClient, OutboundPolicy, SystemResolver, TlsRoots},
    },
};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::{
    http::{Reply, Service},
    serving::{Serving, send},
};

const CLIENT_ID: &str = "chainbox";
const EMAIL: &str = "ann@example.org";

/// A provider on this machine. It lives as long as the process.
struct Provider {
    issuer: String,
    key: Ed25519KeyPair,
    /// Claims of the ID token that the next code is exchanged for.
    claims: Mutex<Value>,
}

impl Provider {
    fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let provider = Arc::new(Self { issuer, key, claims: Mutex::default() });
        let serving = provider.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (provider, stream) = (serving.clone(), stream.unwrap());
                // A connection that ends without a request is none.
                std::thread::spawn(move || provider.serve(stream).is_ok());
            }
        });
        provider
    }

    /// The service's client of it, whose paths are below `/oauth/openid/corp`.
    async fn discovered(&self) -> LogInProvider {
        let (policy, resolver) = (OutboundPolicy::default().with_loopback(), Arc::new(SystemResolver::default()));
        let client = OutboundClient::new(policy, resolver, &TlsRoots::none()).unwrap();
        let config = OpenIdConfig::new(&*self.issuer, CLIENT_ID, "http://127.0.0.1/oauth/openid/corp/callback");
        let provider = OpenIdProvider::discover(config, client, Arc::new(WallClock)).await.unwrap();
        LogInProvider::new("Corp", "corp", provider)
    }

    /// Lets the next code be that of a person; `nonce` ties the token to the log-in.
    fn vouch(&self, subject: &str, is_verified: bool, nonce: &str) {
        let now = WallClock.now_ms() / 1000;
        *self.claims.lock().unwrap() = json!({
            "iss": self.issuer, "aud": CLIENT_ID, "sub": subject, "iat": now, "exp": now + 300, "nonce": nonce,
            "email": EMAIL, "email_verified": is_verified,
        });
    }

    fn answer(&self, path: &str) -> Option<Value> {
        let issuer = &self.issuer;
        match path {
            "/.well-known/openid-configuration" => Some(json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{issuer}/auth"),
                "token_endpoint": format!("{issuer}/token"),
                "jwks_uri": format!("{issuer}/keys"),
                "response_types_supported": ["code"],
                "id_token_signing_alg_values_supported": ["RS256", "EdDSA"],
                "code_challenge_methods_supported": ["S256"],
            })),
            "/keys" => {
                let x = encoded(self.key.public_key().as_ref());
                Some(json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "one", "x": x }] }))
            }
            "/token" => Some(json!({ "access_token": "x", "token_type": "Bearer", "id_token": self.token() })),
            _ => None,
        }
    }

    /// The signed claims (RFC 7515, 7.1).
    fn token(&self) -> String {
        let header = json!({ "alg": "EdDSA", "kid": "one", "typ": "JWT" }).to_string();
        let claims = self.claims.lock().unwrap().to_string();
        let message = format!("{}.{}", encoded(header.as_bytes()), encoded(claims.as_bytes()));
        format!("{message}.{}", encoded(self.key.sign(message.as_bytes()).as_ref()))
    }

    /// Answers one request by its path.
    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        let (mut first, mut length) = (String::new(), 0);
        stream.read_line(&mut first)?;
        loop {
            let mut line = String::new();
            stream.read_line(&mut line)?;
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        let found = self.answer(first.split(' ').nth(1).unwrap_or_default());
        let status = if found.is_some() { "200 OK" } else { "404 Not Found" };
        let body = found.unwrap_or_default().to_string();
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n");
        write!(stream.get_mut(), "{head}content-length: {}\r\n\r\n{body}", body.len())
    }
}

fn encoded(bytes: &[u8]) -> String {
    Base64UrlUnpadded::encode_string(bytes)
}

/// A browser with its one cookie, at the pages of a service.
struct Browser<'a> {
    service: &'a Service,
    cookie: String,
}

impl<'a> Browser<'a> {
    const fn at(service: &'a Service) -> Self {
        Self { service, cookie: String::new() }
    }

    async fn get(&mut self, path: &str) -> Reply {
        let reply = self.service.send("GET", path, &[("accept", "text/html"), ("cookie", &self.cookie)], "").await;
        if let Some(cookie) = reply.header("set-cookie") {
            cookie.split(';').next().unwrap().clone_into(&mut self.cookie);
        }
        reply
    }

    /// Begins a log-in; returns the state and the nonce with which the browser is sent to the provider.
    async fn begin(&mut self, provider: &Provider) -> (String, String) {
        let sent = self.get("/oauth/openid/corp?return_to=/oauth/account").await;
        let location = sent.header("location").unwrap_or_else(|| panic!("{}: {}", sent.status, sent.body));
        let (place, query) = location.split_once('?').unwrap();
        assert_eq!(place, format!("{}/auth", provider.issuer));
        let parameter = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).unwrap_or_else(|| panic!("no {name}: {query}")).1.to_owned()
        };
        assert_eq!((parameter("client_id").as_str(), parameter("response_type").as_str()), (CLIENT_ID, "code"));
        (parameter("state"), parameter("nonce"))
    }

    /// Comes back from the provider.
    async fn come_back(&mut self, state: &str) -> Reply {
        self.get(&format!("/oauth/openid/corp/callback?code=c0de&state={state}")).await
    }
}

#[tokio::test]
async fn a_person_logs_in_with_an_outside_provider() {
    let provider = Provider::start();
    let corp = provider.discovered().await;
    let service = Service::with(Node::new(), |config| config.with_providers(vec![corp])).await;
    let mut ann = Browser::at(&service);
    let page = ann.get("/oauth/login").await;
    assert!(page.body.contains("/oauth/openid/corp") && page.body.contains("Log in with Corp"), "{}", page.body);

    let (state, nonce) = ann.begin(&provider).await;
    provider.vouch("1", true, &nonce);
    let entered = ann.come_back(&state).await;
    assert_eq!(entered.header("location"), Some("/oauth/account"), "{}: {}", entered.status, entered.body);
    let account = ann.get("/oauth/account").await;
    assert!(account.status == 200 && account.body.contains(EMAIL), "{}: {}", account.status, account.body);
    assert_eq!(ann.come_back(&state).await.status, 403, "an answer is taken once");

    // Another person, of whose address the provider is not sure; and a token of another log-in.
    let mut eve = Browser::at(&service);
    let (state, nonce) = eve.begin(&provider).await;
    provider.vouch("2", false, &nonce);
    assert_eq!(eve.come_back(&state).await.status, 403);
    let (state, _) = eve.begin(&provider).await;
    provider.vouch("1", true, &nonce);
    let refused = eve.come_back(&state).await;
    assert!(
        refused.status == 502 && refused.body.contains("Corp did not confirm"),
        "{}: {}",
        refused.status,
        refused.body
    );
    assert!(eve.get("/oauth/account").await.header("location").unwrap().starts_with("/oauth/login"));
}

/// What the person or the browser did is 403; what the provider did is 502.
#[tokio::test]
async fn a_log_in_that_was_refused_or_came_back_with_another_answer_is_403() {
    let provider = Provider::start();
    let corp = provider.discovered().await;
    let service = Service::with(Node::new(), |config| config.with_providers(vec![corp])).await;
    let mut ann = Browser::at(&service);
    for (query, status, words) in [
        ("error=access_denied&state=STATE", 403, "refused: access_denied"),
        ("error=access_denied&error_description=not+now&state=STATE", 403, "refused: access_denied (not now)"),
        ("code=c0de&state=x", 403, "belongs to another login"),
        ("code=c0de", 403, "belongs to another login"),
        ("state=STATE", 403, "has no code"),
        ("code=c0de&iss=http%3A%2F%2Fop.example&state=STATE", 403, "the answer came from"),
        ("error=server_error&state=STATE", 502, "refused: server_error"),
        ("error=temporarily_unavailable&state=STATE", 502, "refused: temporarily_unavailable"),
    ] {
        let (state, _) = ann.begin(&provider).await;
        let reply = ann.get(&format!("/oauth/openid/corp/callback?{}", query.replace("STATE", &state))).await;
        assert_eq!(reply.status, status, "{query}: {}", reply.body);
        assert!(reply.body.contains("Corp did not confirm") && reply.body.contains(words), "{query}: {}", reply.body);
    }
    // A token for several others beside this service, which does not say to whom it was given.
    let (state, nonce) = ann.begin(&provider).await;
    provider.vouch("1", true, &nonce);
    provider.claims.lock().unwrap()["aud"] = json!([CLIENT_ID, "other"]);
    let reply = ann.come_back(&state).await;
    assert_eq!(reply.status, 502, "{}", reply.body);
    assert!(reply.body.contains("it does not say to whom it was given"), "{}", reply.body);
    assert!(!reply.body.contains("None") && !reply.body.contains("Some("), "{}", reply.body);
}

/// By the real binary: a provider that is down ends neither its start nor other log-ins.
#[test]
fn the_service_starts_while_the_provider_is_down() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    // Nobody listens there any more.
    drop(listener);
    let site = ["--in-memory", "--public-url", "http://127.0.0.1:8545", "--openid-name", "Corp"];
    let provider = ["--openid-issuer", &issuer, "--openid-client-id", CLIENT_ID, "--allow-outbound", &issuer];
    let service = Serving::start(&[&site[..], &provider].concat());
    let page = send(&service.address, "GET", "/oauth/login", "", "").unwrap();
    assert!(page.status == 200 && page.body.contains("Log in with Corp"), "{}: {}", page.status, page.body);
    let failed = send(&service.address, "GET", "/oauth/openid/provider", "", "").unwrap();
    assert_eq!(failed.status, 502, "{}", failed.body);
    assert!(failed.body.contains("Corp did not confirm who you are"), "{}", failed.body);
    service.stop();
}
