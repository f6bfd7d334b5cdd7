//! A server for tests, and a browser that follows its forms.

use std::{net::IpAddr, sync::Arc};

use axum::{
    Extension, Router,
    body::{self, Body},
    http::{HeaderMap, Request, StatusCode, header},
};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::{
    node::{ManualClock, Node},
    platform::{Blockchain, BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, Mailbox, PasswordCost, Platform, PublicUrl, Scope},
    primitives::Timestamp,
    server::{AuthorizationServer, LogInProvider, rest::PeerAddress},
};

pub(super) const PASSWORD: &str = "correct horse battery";
pub(super) const REDIRECT: &str = "https://app.example/cb";
pub(super) const URL: &str = "https://chain.example";

pub(super) struct Site {
    pub(super) clock: Arc<ManualClock>,
    pub(super) platform: Arc<Platform>,
    router: Router,
}

/// A response that was read whole.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Reply {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(super) fn location(&self) -> &str {
        assert_eq!(self.status, StatusCode::SEE_OTHER, "{}", self.body);
        self.header("location")
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{}", self.body))
    }

    /// The value of a parameter of the redirect.
    pub(super) fn redirected(&self, name: &str) -> Option<String> {
        let (_, query) = self.location().split_once('?')?;
        url::form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }

    /// Names and values of the fields of the page's form to `action`, with what they are filled with.
    fn fields(&self, action: &str) -> Vec<(String, String)> {
        let start =
            self.body.find(&format!("action=\"{action}\"")).unwrap_or_else(|| panic!("{action}: {}", self.body));
        let form = &self.body[start..start + self.body[start..].find("</form>").unwrap()];
        let attribute = |tag: &str, name: &str| {
            let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
            Some(rest.split('"').next().unwrap().replace("&amp;", "&").replace("&quot;", "\"").replace("&lt;", "<"))
        };
        let inputs = form.split("<input").skip(1).map(|tag| tag.split('>').next().unwrap());
        inputs.filter_map(|tag| Some((attribute(tag, "name")?, attribute(tag, "value").unwrap_or_default()))).collect()
    }
}

impl Site {
    pub(super) fn new() -> Self {
        Self::at(URL, true)
    }

    pub(super) fn at(url: &str, is_development: bool) -> Self {
        Self::with(url, is_development, Vec::new())
    }

    pub(super) fn with(url: &str, is_development: bool, providers: Vec<LogInProvider>) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_000)));
        let spec = BlockchainSpec::read(json!({ "name": "test" })).unwrap();
        let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, Node::new(), 0);
        let cost = PasswordCost { memory_kib: 8, iterations: 1, lanes: 1 };
        let platform = Arc::new(Platform::builder(clock.clone()).with_password_cost(cost).open(chain).unwrap());
        let server =
            AuthorizationServer::new(Arc::clone(&platform), PublicUrl::new(url).unwrap()).with_providers(providers);
        let server = if is_development { server.with_mailbox(Arc::new(Mailbox::default())) } else { server };
        Self { clock, platform, router: server.router() }
    }

    /// The same, reached from one address of the network.
    pub(super) fn reached_from(self, address: IpAddr) -> Self {
        Self { router: self.router.layer(Extension(PeerAddress(address))), ..self }
    }

    pub(super) async fn send(&self, request: Request<Body>) -> Reply {
        let Ok(response) = self.router.clone().oneshot(request).await;
        let (parts, body) = response.into_parts();
        let body = body::to_bytes(body, usize::MAX).await.unwrap();
        Reply { status: parts.status, headers: parts.headers, body: String::from_utf8(body.to_vec()).unwrap() }
    }

    /// Sends a form of a client, as the specification shows it.
    pub(super) async fn form(&self, path: &str, authorization: Option<&str>, form: &str) -> Reply {
        let request = Request::post(path).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let request = match authorization {
            Some(value) => request.header(header::AUTHORIZATION, value),
            None => request,
        };
        self.send(request.body(Body::from(form.to_owned())).unwrap()).await
    }

    /// Registers a client with a key of the default workspace; returns the response.
    pub(super) async fn register(&self, metadata: &Value) -> Reply {
        let key = self.platform.create_api_key("test", &[Scope::Admin]).unwrap();
        let request = Request::post("/oauth/register").header("x-api-key", key.text());
        self.send(request.body(Body::from(metadata.to_string())).unwrap()).await
    }

    /// Registers a client with this authentication method; returns its id and secret.
    pub(super) async fn client(&self, method: &str) -> (String, Option<String>) {
        let metadata = json!({
            "client_name": "App <b>", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": method,
            "scope": "blockchain:read blockchain:write",
        });
        let reply = self.register(&metadata).await;
        assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.body);
        let text = |name: &str| reply.json().get(name).and_then(Value::as_str).map(str::to_owned);
        (text("client_id").unwrap(), text("client_secret"))
    }

    /// The newest mail's link, as a path.
    pub(super) async fn mailed_link(&self) -> String {
        let request = Request::get("/oauth/mailbox").header(header::ACCEPT, "application/json");
        let mails = self.send(request.body(Body::empty()).unwrap()).await.json();
        let body = mails["mails"][0]["body"].as_str().unwrap().to_owned();
        let link = body.lines().find(|line| line.contains("?token=")).expect("a link with a token");
        link.strip_prefix(URL).unwrap().to_owned()
    }
}

/// A browser with its cookie.
#[derive(Clone, Default)]
pub(super) struct Browser {
    pub(super) cookie: Option<String>,
}

impl Browser {
    async fn send(&mut self, site: &Site, mut request: Request<Body>) -> Reply {
        if let Some(cookie) = &self.cookie {
            request.headers_mut().insert(header::COOKIE, cookie.parse().unwrap());
        }
        let reply = site.send(request).await;
        let set = reply.header("set-cookie");
        if !set.is_empty() {
            self.cookie = Some(set.split(';').next().unwrap().to_owned());
        }
        reply
    }

    pub(super) async fn get(&mut self, site: &Site, path: &str) -> Reply {
        self.send(site, Request::get(path).body(Body::empty()).unwrap()).await
    }

    /// Sends fields as they are.
    pub(super) async fn post(&mut self, site: &Site, path: &str, fields: &[(String, String)]) -> Reply {
        let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = Request::post(path).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(site, request.body(Body::from(form)).unwrap()).await
    }

    /// Fills in the form to `action` of a page and sends it.
    pub(super) async fn fill(&mut self, site: &Site, page: &Reply, action: &str, typed: &[(&str, &str)]) -> Reply {
        let mut fields = page.fields(action);
        for (name, value) in typed {
            match fields.iter_mut().find(|(field, _)| field == name) {
                Some(field) => (*value).clone_into(&mut field.1),
                None => fields.push(((*name).to_owned(), (*value).to_owned())),
            }
        }
        self.post(site, action, &fields).await
    }

    /// Loads the page at `path`, fills in its form to `action` and sends it.
    pub(super) async fn submit(&mut self, site: &Site, path: &str, action: &str, typed: &[(&str, &str)]) -> Reply {
        let page = self.get(site, path).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.body);
        self.fill(site, &page, action, typed).await
    }

    /// Signs up and confirms; the browser is then logged in.
    pub(super) async fn sign_up(site: &Site, email: &str) -> Self {
        let mut browser = Self::default();
        let typed = [("email", email), ("new_password", PASSWORD)];
        let sent = browser.submit(site, "/oauth/signup", "/oauth/signup", &typed).await;
        assert!(sent.body.contains("Look into your mailbox"), "{}", sent.body);
        let link = site.mailed_link().await;
        let confirmed = browser.submit(site, &link, "/oauth/confirm", &[("password", PASSWORD)]).await;
        assert_eq!(confirmed.location(), "/oauth/account");
        browser
    }

    pub(super) async fn log_in(&mut self, site: &Site, email: &str, password: &str) -> Reply {
        self.submit(site, "/oauth/login", "/oauth/login", &[("email", email), ("password", password)]).await
    }

    /// Consents to an authorization request; returns the redirect.
    pub(super) async fn consent(&mut self, site: &Site, query: &str, decision: &str) -> Reply {
        let page = self.get(site, &format!("/oauth/authorize?{query}")).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.body);
        let (_, option) = page.body.split_once("<option value=\"").expect("a workspace");
        let workspace = option.split('"').next().unwrap();
        self.fill(site, &page, "/oauth/authorize", &[("workspace", workspace), ("decision", decision)]).await
    }
}
