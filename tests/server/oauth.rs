//! The authorization server beside the service: an access token of the code flow is a credential of every endpoint.

use std::sync::Arc;

use chainbox::{
    node::Node,
    platform::{
        ApiKeySpec, ClientRegistration, Mailbox, OAuthClient, Parameters, PublicUrl, Role, Scope, TokenResponse, User,
        Workspace, records::Stored,
    },
};
use serde_json::{Value, json};

use crate::{endpoints::check_answer, http::Service};

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

#[tokio::test]
async fn its_paths_are_served_with_and_without_version() {
    let service = Service::with(Node::new(), |config| config.with_mailbox(Arc::new(Mailbox::default()))).await;
    let metadata = service.send("GET", "/.well-known/oauth-authorization-server", &[], "").await;
    assert_eq!(metadata.status, 200, "{}", metadata.body);
    assert_eq!(metadata.json()["issuer"], format!("http://{}", service.address));
    for prefix in ["/oauth", "/v1/oauth"] {
        let page = service.send("GET", &format!("{prefix}/login"), &[], "").await;
        assert_eq!(page.status, 200, "{prefix}");
        assert!(page.header("content-security-policy").is_some());
        let refused = service.send("POST", &format!("{prefix}/token"), &[FORM], "grant_type=authorization_code").await;
        assert_eq!(
            (refused.status, refused.json()["error"].as_str()),
            (401, Some("invalid_client")),
            "{}",
            refused.body
        );
        assert_eq!(refused.header("cache-control"), Some("no-store"));
    }
}

#[tokio::test]
async fn another_method_than_post_is_refused_in_the_form_of_the_standard() {
    let service = Service::start().await;
    for path in ["/oauth/token", "/v1/oauth/token", "/oauth/revoke", "/oauth/introspect", "/oauth/register"] {
        for method in ["GET", "PUT", "DELETE"] {
            let refused = service.send(method, path, &[], "").await;
            assert_eq!((refused.status, refused.header("allow")), (405, Some("POST")), "{method} {path}");
            let body = refused.json();
            assert_eq!(body["error"], "invalid_request", "{method} {path}: {body}");
            assert!(
                body["error_description"].as_str().unwrap().contains(&format!("{method} is not allowed")),
                "{body}"
            );
            assert_eq!(refused.header("cache-control"), Some("no-store"));
        }
    }
}

#[tokio::test]
async fn a_registration_is_made_once_under_its_idempotency_key() {
    let service = Service::start().await;
    let send = async |path: &str, key: &str, body: &str| {
        let bearer = format!("Bearer {}", service.api_key);
        let json = ("content-type", "application/json");
        let headers = [("authorization", bearer.as_str()), json, ("idempotency-key", key)];
        service.send("POST", path, &headers, body).await
    };
    let client = |name: &str| format!(r#"{{"client_name":"{name}","redirect_uris":["https://app.example/back"]}}"#);
    for path in ["/oauth/register", "/v1/oauth/register"] {
        let first = send(path, path, &client("App")).await;
        assert_eq!((first.status, first.header("idempotent-replayed")), (201, None), "{}", first.body);
        let again = send(path, path, &client("App")).await;
        assert_eq!((again.status, &again.body, again.header("idempotent-replayed")), (201, &first.body, Some("true")));
        assert_eq!(again.header("cache-control"), Some("no-store"));
        let other = send(path, path, &client("Other")).await;
        assert_eq!((other.status, other.json()["error"].as_str()), (422, Some("invalid_request")), "{}", other.body);
        let malformed = send(path, "a b", &client("App")).await;
        assert_eq!((malformed.status, malformed.json()["error"].as_str()), (400, Some("invalid_request")));
    }
    assert_eq!(send("/oauth/register", "new", "{}").await.status, 400);
    assert_eq!(send("/oauth/register", "new", &client("New")).await.status, 201, "what was refused is not kept");
}

#[tokio::test]
async fn nothing_outside_the_document_is_simulated_either() {
    let service = Service::start().await;
    let client = r#"{"client_name":"App","redirect_uris":["https://app.example/back"]}"#;
    let bearer = format!("Bearer {}", service.api_key);
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    for (method, path) in [
        ("POST", "/oauth/register"),
        ("POST", "/v1/oauth/register"),
        ("POST", "/oauth/token"),
        ("POST", "/v1/oauth/revoke"),
        ("POST", "/oauth/introspect"),
        ("GET", "/oauth/authorize"),
        ("GET", "/v1/openapi.json"),
        ("GET", "/v1/docs"),
    ] {
        for query in ["simulate=true", "a=b&simulate=false"] {
            let reply = service.send(method, &format!("{path}?{query}"), &headers, client).await;
            assert!(reply.status == 400 && reply.body.contains("simulate"), "{method} {path}: {}", reply.body);
        }
    }
    let clients = service.rest("GET", "/v1/oauth-clients", serde_json::Value::Null).await.json();
    assert_eq!(clients["pagination"]["total"], 0, "{clients}");
}

fn ann(service: &Service) -> Stored<User> {
    service.platform.users().by_identity("https://id.example", "ann", Some("ann@example.org")).unwrap()
}

/// A client that somebody else has registered.
fn strangers_client(service: &Service) -> Stored<OAuthClient> {
    let (platform, oauth) = (&service.platform, service.platform.oauth());
    let registration = ClientRegistration::read(&json!({
        "client_name": "Somebody's", "redirect_uris": ["https://app.example/cb"],
        "scope": "workspace:read workspace:write blockchain:read blockchain:deploy",
    }));
    let stranger = platform.service_principal();
    platform.unit(|unit| oauth.register(unit, &stranger, registration.unwrap())).unwrap().0
}

/// What a client gets when a user consents in its first workspace.
fn granted(service: &Service, client: &Stored<OAuthClient>, user: &Stored<User>) -> TokenResponse {
    let oauth = service.platform.oauth();
    let url = PublicUrl::new("https://chain.example").unwrap();
    let query = format!("client_id={}&response_type=code&state=s", client.id());
    let request = oauth.read_authorization(&Parameters::read(query.as_bytes()), &url).unwrap();
    let home = user.value.home.as_ref().unwrap();
    let location = oauth.authorize(&request, user.id(), home, &url).ok().unwrap().location;
    let code = location.split("code=").nth(1).unwrap().split('&').next().unwrap();
    let form = format!("grant_type=authorization_code&code={code}");
    oauth.token(client, &Parameters::read(form.as_bytes())).unwrap()
}

/// An access token of a user who consented in its first workspace, the id of that, and of another of which the user is the owner.
fn token_and_workspaces(service: &Service) -> (String, String, String) {
    let (platform, user) = (&service.platform, ann(service));
    let home = user.value.home.clone().unwrap();
    let other = platform.unit(|unit| platform.workspaces().create(unit, user.id(), Workspace::named("other"))).unwrap();
    let tokens = granted(service, &strangers_client(service), &user);
    (tokens.access_token.text().to_owned(), home.as_str().to_owned(), other.id().to_owned())
}

/// A key that one client was shown is shown again to the same grant as long as it may do as much, and to no other client of the user.
#[tokio::test]
async fn a_repetition_shows_nothing_to_another_client_of_the_user() {
    let service = Service::start().await;
    let (oauth, user) = (service.platform.oauth(), ann(&service));
    let [client, other] = [(); 2].map(|()| strangers_client(&service));
    let create = async |tokens: &TokenResponse| {
        let bearer = format!("Bearer {}", tokens.access_token.text());
        let json = ("content-type", "application/json");
        let headers = [("authorization", bearer.as_str()), json, ("idempotency-key", "once")];
        let body = r#"{"name":"ci","scopes":["blockchain:deploy"]}"#;
        service.send("POST", "/v1/auth/api-keys", &headers, body).await
    };
    let refresh = |tokens: &TokenResponse, scope: &str| {
        let token = tokens.refresh_token.as_ref().unwrap().text();
        let form = format!("grant_type=refresh_token&refresh_token={token}{scope}");
        oauth.token(&client, &Parameters::read(form.as_bytes())).unwrap()
    };
    let tokens = granted(&service, &client, &user);
    let made = create(&tokens).await;
    assert_eq!((made.status, made.header("idempotent-replayed")), (201, None), "{}", made.body);
    let key = made.json()["data"]["key"].as_str().unwrap().to_owned();
    let others = create(&granted(&service, &other, &user)).await;
    assert_eq!((others.status, others.header("idempotent-replayed")), (201, None), "{}", others.body);
    assert!(!others.body.contains(&key), "it has made a key of its own");
    let refreshed = refresh(&tokens, "");
    let again = create(&refreshed).await;
    assert_eq!((again.status, &again.body, again.header("idempotent-replayed")), (201, &made.body, Some("true")));
    let narrowed = create(&refresh(&refreshed, "&scope=workspace:write")).await;
    assert_eq!((narrowed.status, narrowed.json()["error"]["code"].as_str()), (403, Some("FORBIDDEN")));
    assert!(narrowed.body.contains("was permitted") && !narrowed.body.contains(&key), "{}", narrowed.body);
}

/// A token that is gone with its grant by what it asked for is told so again, and is refused in all else.
#[tokio::test]
async fn a_token_that_ends_its_own_grant_has_its_request_repeated_like_any_other() {
    let service = Service::start().await;
    let (platform, client) = (&service.platform, strangers_client(&service));
    let [ann, bob] = ["ann", "bob"].map(|name| {
        let email = format!("{name}@example.org");
        platform.users().by_identity("https://id.example", name, Some(&email)).unwrap()
    });
    let home = |user: &Stored<User>| user.value.home.clone().unwrap();
    let owner = platform.workspaces().principal(ann.id(), &home(&ann)).unwrap().unwrap();
    let members = platform.workspaces().members();
    let (_, invitation) = platform.unit(|unit| members.invite(unit, &owner, "bob@example.org", Role::Owner)).unwrap();
    platform.unit(|unit| members.accept(unit, bob.id(), invitation.text())).unwrap();
    let leaving = format!("/v1/workspaces/{}/members/{}", home(&ann).as_str(), ann.id());
    let deletion = format!("/v1/workspaces/{}", home(&bob).as_str());
    for (operation, user, path) in [("removeMember", &ann, leaving), ("deleteWorkspace", &bob, deletion)] {
        let tokens = granted(&service, &client, user);
        let bearer = format!("Bearer {}", tokens.access_token.text());
        let send = async |key: &str, path: &str| {
            let headers = [("authorization", bearer.as_str()), ("idempotency-key", key)];
            let reply = service.send("DELETE", path, &headers, "").await;
            check_answer(operation, &reply);
            reply
        };
        let first = send("last", &path).await;
        assert_eq!((first.status, first.header("idempotent-replayed")), (200, None), "{operation}: {}", first.body);
        let again = send("last", &path).await;
        assert_eq!((again.status, &again.body), (200, &first.body), "{operation}: {}", again.body);
        assert_eq!(again.header("idempotent-replayed"), Some("true"), "{operation}");
        assert_eq!(send("another", &path).await.status, 401, "{operation}");
        assert_eq!(send("last", &format!("{path}0")).await.status, 401, "{operation}");
        let listed = service.send("GET", "/v1/workspaces", &[("authorization", bearer.as_str())], "").await;
        assert_eq!(listed.status, 401, "{operation}: {}", listed.body);
    }
}

/// A client that is to have lost its access has no key left, either.
#[tokio::test]
async fn a_key_that_a_client_made_is_refused_once_the_grant_is_revoked() {
    let service = Service::start().await;
    let (oauth, client) = (service.platform.oauth(), strangers_client(&service));
    let tokens = granted(&service, &client, &ann(&service));
    let bearer = format!("Bearer {}", tokens.access_token.text());
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let body = r#"{"name":"ci","scopes":["workspace:read"]}"#;
    let made = service.send("POST", "/v1/auth/api-keys", &headers, body).await;
    let key = made.json()["data"]["key"].as_str().unwrap_or_else(|| panic!("{}", made.body)).to_owned();
    let status = async || service.send("GET", "/v1/workspaces", &[("x-api-key", key.as_str())], "").await.status;
    assert_eq!(status().await, 200);
    oauth.revoke(&client, tokens.refresh_token.as_ref().unwrap().text()).unwrap();
    assert_eq!(status().await, 401);
}

#[tokio::test]
async fn a_key_tells_the_client_that_it_was_made_for_and_is_revoked_with_it() {
    let service = Service::start().await;
    let (platform, client, user) = (&service.platform, strangers_client(&service), ann(&service));
    let bearer = format!("Bearer {}", granted(&service, &client, &user).access_token.text());
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let body = r#"{"name":"ci","scopes":["workspace:read"]}"#;
    let made = service.send("POST", "/v1/auth/api-keys", &headers, body).await;
    let id = made.json()["data"]["id"].as_str().unwrap_or_else(|| panic!("{}", made.body)).to_owned();
    let owner = platform.workspaces().principal(user.id(), user.value.home.as_ref().unwrap()).unwrap().unwrap();
    let scopes = [Scope::WorkspaceRead].into_iter().collect();
    let spec = ApiKeySpec { name: "own".to_owned(), scopes, lifetime_ms: None };
    let (own, kept) = platform.unit(|unit| platform.api_keys().create(unit, &owner, spec)).unwrap();
    let get = async |operation: &str, path: &str| {
        let reply = service.send("GET", path, &[("x-api-key", own.text())], "").await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        check_answer(operation, &reply);
        reply.json()["data"].clone()
    };
    let (one, other) = (format!("/v1/auth/api-keys/{id}"), format!("/v1/auth/api-keys/{}", kept.id()));
    let shown = get("getApiKey", &one).await;
    assert_eq!((&shown["status"], &shown["oauthClientId"]), (&json!("active"), &json!(client.id())));
    assert_eq!(get("getApiKey", &other).await["oauthClientId"], Value::Null);
    let stranger = platform.service_principal();
    platform.unit(|unit| platform.oauth().delete_client(unit, &stranger, client.id())).unwrap();
    let shown = get("getApiKey", &one).await;
    assert_eq!((&shown["status"], &shown["oauthClientId"]), (&json!("revoked"), &json!(client.id())));
    assert!(shown["revokedAt"].is_string(), "{shown}");
    let listed = get("listApiKeys", "/v1/auth/api-keys").await;
    assert!(listed.as_array().unwrap().contains(&shown), "{listed}");
    assert_eq!(get("getApiKey", &other).await["status"], "active");
}

/// Whoever's client it is, by no path does it read or change a workspace for which there was no consent.
#[tokio::test]
async fn a_token_acts_in_the_workspace_that_was_consented_to_alone() {
    let service = Service::start().await;
    let (token, home, other) = token_and_workspaces(&service);
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let send = async |method: &str, path: &str, body: &Value| {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        service.send(method, path, &headers, &body).await
    };
    let ids = async || -> Vec<String> {
        let listed = send("GET", "/v1/workspaces", &Value::Null).await.json();
        listed["data"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    let path = |id: &str| format!("/v1/workspaces/{id}");
    let changed = json!({ "description": "changed" });
    let invited = json!({ "email": "eve@example.org", "role": "owner" });
    for (method, path, body) in [
        ("GET", path(&other), Value::Null),
        ("PATCH", path(&other), changed.clone()),
        ("DELETE", path(&other), Value::Null),
        ("GET", path(&other) + "/members", Value::Null),
        ("POST", path(&other) + "/invitations", invited),
        ("POST", "/v1/dapps".to_owned(), json!({ "name": "x", "workspaceId": other.as_str() })),
    ] {
        let reply = send(method, &path, &body).await;
        assert_eq!(reply.status, 404, "{method} {path}: {}", reply.body);
        assert!(reply.body.contains(&other), "{method} {path}: {}", reply.body);
    }
    assert_eq!(ids().await, [home.as_str()]);
    assert_eq!(send("PATCH", &path(&home), &changed).await.status, 200);
    let made = send("POST", "/v1/workspaces", &json!({ "name": "made" })).await.json();
    let made = made["data"]["id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
    assert_eq!(send("PATCH", &path(&made), &changed).await.status, 200, "what it made is within its reach");
    let mut wanted = [home, made];
    wanted.sort_unstable();
    let mut listed = ids().await;
    listed.sort_unstable();
    assert_eq!(listed, wanted);
}

#[tokio::test]
async fn an_unknown_bearer_is_401_on_endpoints() {
    let service = Service::start().await;
    for token in ["cbt_unknown", "anything"] {
        let bearer = format!("Bearer {token}");
        let reply = service.send("GET", "/v1/workspaces", &[("authorization", &bearer)], "").await;
        assert_eq!((reply.status, reply.json()["error"]["code"].as_str()), (401, Some("UNAUTHORIZED")));
    }
}

/// A form of a page under the public URL is taken although the server listens elsewhere.
#[tokio::test]
async fn the_public_urls_name_and_origin_are_accepted() {
    let url = chainbox::platform::PublicUrl::new("https://chains.example.com").unwrap();
    let service = Service::with(Node::new(), |config| config.with_public_url(url)).await;
    let headers = [("host", "chains.example.com"), ("origin", "https://chains.example.com"), FORM];
    let refused = service.send("POST", "/oauth/token", &headers, "grant_type=authorization_code").await;
    assert_eq!(refused.status, 401, "{}", refused.body);
    let foreign = [("host", "evil.example.com"), FORM];
    assert_eq!(service.send("POST", "/oauth/token", &foreign, "").await.status, 403);
}

/// What reads the document finds the authorization server at either spelling of its paths.
#[tokio::test]
async fn the_document_tells_both_spellings_of_its_paths() {
    let service = Service::start().await;
    let document = service.send("GET", "/v1/openapi.json", &[], "").await.json();
    let schemes = document["components"]["securitySchemes"].as_object().unwrap();
    let flows: Vec<_> = schemes.iter().filter(|(_, scheme)| scheme["type"] == "oauth2").collect();
    let tokens: Vec<_> = flows.iter().map(|(_, scheme)| &scheme["flows"]["authorizationCode"]["tokenUrl"]).collect();
    assert_eq!(tokens, ["/v1/oauth/token", "/oauth/token"]);
    for (name, scheme) in &flows {
        let flow = &scheme["flows"]["authorizationCode"];
        assert_eq!(flow["scopes"], flows[0].1["flows"]["authorizationCode"]["scopes"], "{name}");
        let url = |name: &str| flow[name].as_str().unwrap().to_owned();
        assert_eq!(url("refreshUrl"), url("tokenUrl"));
        let token = service.send("POST", &url("tokenUrl"), &[FORM], "grant_type=authorization_code").await;
        assert_eq!((token.status, token.json()["error"].as_str()), (401, Some("invalid_client")), "{}", token.body);
        let page = service.send("GET", &url("authorizationUrl"), &[], "").await;
        assert!(page.status == 400 && page.header("content-type").unwrap().starts_with("text/html"), "{}", page.status);
    }
    let operations =
        document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
    let mut secured = 0;
    for security in operations.map(|operation| operation["security"].as_array().unwrap()) {
        let scopes: Vec<_> =
            flows.iter().map(|(name, _)| security.iter().find_map(|way| way.get(name.as_str()))).collect();
        assert_eq!(scopes[0], scopes[1], "a token of either is taken: {security:?}");
        secured += usize::from(scopes[0].is_some());
    }
    assert!(secured > 50, "{secured}");
}
