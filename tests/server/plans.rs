//! Quotas of plans: each at its bound, and one past it.

use chainbox::{
    node::Node,
    platform::{ApiKeySpec, ClientRegistration, INVITATIONS_MAX, Plan, PlatformError, Principal, Role, Scope, Subject},
};
use serde_json::{Value, json};

use crate::{
    endpoints::check_answer,
    http::{Reply, Service},
};

fn refused(reply: &Reply, says: &str) {
    let body = reply.json();
    assert_eq!((reply.status, &body["error"]["code"]), (409, &json!("CONFLICT")), "{body}");
    assert!(body["error"]["message"].as_str().unwrap().contains(says), "{body}");
}

async fn bearer(service: &Service, path: &str, body: Value) -> Reply {
    let authorization = format!("Bearer {}", service.api_key);
    let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
    service.send("POST", path, &headers, &body.to_string()).await
}

/// Sends a request with a key.
async fn with_key(service: &Service, key: &str, (method, path): (&str, &str), body: Value) -> Reply {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    service.send(method, path, &[("x-api-key", key), ("content-type", "application/json")], &body).await
}

/// A user in a workspace of its own, with a key that may do everything there.
fn ann(service: &Service) -> (Principal, String) {
    let platform = &service.platform;
    let user = platform.users().by_identity("https://id.example", "ann", Some("ann@example.org")).unwrap();
    let ann = platform.workspaces().principal(user.id(), user.value.home.as_ref().unwrap()).unwrap().unwrap();
    let scopes = [Scope::Admin].into_iter().collect();
    let spec = ApiKeySpec { name: "ann".to_owned(), scopes, lifetime_ms: None };
    let key = platform.unit(|unit| platform.api_keys().create(unit, &ann, spec)).unwrap().0.text().to_owned();
    (ann, key)
}

#[tokio::test]
async fn a_workspace_has_what_its_plan_allows_and_no_more() {
    let plan = Plan {
        blockchains_max: 2,
        validators_max: 2,
        oauth_clients_max: 1,
        api_keys_max: 2,
        members_max: 2,
        ..Plan::UNLIMITED
    };
    let service = Service::planned(plan).await;
    // The default chain and the key of the tests are there already.
    let of_validators = |count: u8| {
        let validator = |byte: u8| json!({ "address": format!("0x{}", format!("{byte:02x}").repeat(20)), "name": "v" });
        json!({ "name": "x", "validators": (1..=count).map(validator).collect::<Vec<_>>() })
    };
    let create = async |count| service.rest("POST", "/v1/blockchains", of_validators(count)).await;
    refused(&create(3).await, "allows 2 validators of a blockchain, and 3 are asked for");
    assert_eq!(create(2).await.status, 201);
    refused(&create(1).await, "allows 2 blockchains");

    let key = json!({ "name": "k", "scopes": ["blockchain:read"] });
    assert_eq!(bearer(&service, "/v1/auth/api-keys", key.clone()).await.status, 201);
    refused(&bearer(&service, "/v1/auth/api-keys", key).await, "allows 2 live API keys");

    for (number, status) in [(1, 201), (2, 201), (3, 409)] {
        let invitee = json!({ "email": format!("u{number}@example.org"), "role": "viewer" });
        let reply = service.rest("POST", "/v1/workspaces/ws_default/invitations", invitee).await;
        assert_eq!(reply.status, status, "{}", reply.body);
    }

    let client = json!({ "client_name": "c", "redirect_uris": ["https://app.example/back"], "token_endpoint_auth_method": "none" });
    let first = bearer(&service, "/oauth/register", client.clone()).await;
    assert_eq!(first.status, 201, "{}", first.body);
    let second = bearer(&service, "/oauth/register", client).await;
    assert!(second.status == 400 && second.body.contains("1 OAuth clients"), "{} {}", second.status, second.body);
}

#[tokio::test]
async fn validators_are_added_up_to_the_plan_and_not_one_more() {
    let service = Service::planned(Plan { validators_max: 3, ..Plan::UNLIMITED }).await;
    let body = json!({ "name": "x", "consensus": "pbft", "config": { "blockTime": "1s" } });
    let chain = service.rest("POST", "/v1/blockchains", body).await.json()["data"]["id"].clone();
    let path = format!("/v1/blockchains/{}/validators", chain.as_str().unwrap());
    let add = async |byte: u8| {
        let address = format!("0x{}", format!("{byte:02x}").repeat(20));
        service.rest("POST", &path, json!({ "address": address, "name": "v" })).await
    };
    for byte in [2, 3] {
        let added = add(byte).await;
        assert_eq!(added.status, 201, "{}", added.body);
    }
    refused(&add(4).await, "allows 3 validators of a blockchain, and 4 are asked for");
    let listed = service.rest("GET", &path, Value::Null).await.json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 3, "nothing is left of the fourth: {listed}");
}

#[tokio::test]
async fn a_user_takes_no_plan_above_the_default_one() {
    let service = Service::start().await;
    let platform = &service.platform;
    let (ann, key) = ann(&service);
    let headers = [("x-api-key", key.as_str()), ("content-type", "application/json")];
    let path = format!("/v1/workspaces/{}", ann.workspace());
    for plan in ["team", "unlimited"] {
        let body = json!({ "name": "x", "settings": { "billingPlan": plan } }).to_string();
        for (method, path, operation) in
            [("PATCH", path.as_str(), "updateWorkspace"), ("POST", "/v1/workspaces", "createWorkspace")]
        {
            let refused = service.send(method, path, &headers, &body).await;
            assert_eq!(refused.status, 403, "{method} {plan}: {}", refused.body);
            assert!(refused.body.contains("an operator of the service gives it"), "{}", refused.body);
            check_answer(operation, &refused);
        }
        let given = service.rest("POST", "/v1/workspaces", serde_json::from_str(&body).unwrap()).await;
        assert_eq!(given.status, 201, "the key of the default workspace is an operator's: {}", given.body);
    }
    let own = service.send("GET", &path, &headers, "").await.json()["data"].clone();
    let wallet = platform.wallets().managed(&ann.owner()).unwrap().unwrap().value.address;
    assert_eq!((&own["settings"]["billingPlan"], &own["wallet"]), (&json!("free"), &json!(wallet.to_string())));
    let listed = service.send("GET", "/v1/workspaces", &headers, "").await.json()["data"].clone();
    assert_eq!(listed[0], own);
    let renamed = service.send("PATCH", &path, &headers, &json!({ "name": "y" }).to_string()).await.json();
    assert_eq!(renamed["data"]["wallet"], own["wallet"]);
}

#[tokio::test]
async fn a_vault_with_a_token_of_its_own_takes_two_transactions_or_leaves_nothing() {
    async fn tokens(service: &Service) -> Value {
        service.rest("GET", "/v1/tokens", Value::Null).await.json()["pagination"]["total"].clone()
    }
    let of =
        |standard: &str| json!({ "blockchainId": "bc_default", "standard": standard, "name": "Gold", "symbol": "GLD" });
    let service = Service::planned(Plan { transactions_max: 2, ..Plan::UNLIMITED }).await;
    assert_eq!(service.rest("POST", "/v1/tokens", of("ERC20")).await.status, 201);
    for _ in 0..2 {
        let reply = service.rest("POST", "/v1/tokens", of("ERC4626")).await;
        refused(&reply, "allows 2 transactions in 30 days, and it has 1");
        check_answer("createToken", &reply);
        assert_eq!(tokens(&service).await, 1, "no asset is left of it");
    }
    // The last transaction is still there.
    assert_eq!(service.rest("POST", "/v1/tokens", of("ERC20")).await.status, 201);
    refused(&service.rest("POST", "/v1/tokens", of("ERC4626")).await, "allows 2 transactions in 30 days, and it has 2");
    assert_eq!(tokens(&service).await, 2);

    let service = Service::planned(Plan { transactions_max: 2, ..Plan::UNLIMITED }).await;
    let made = service.rest("POST", "/v1/tokens", of("ERC4626")).await;
    assert_eq!((made.status, tokens(&service).await), (201, json!(2)), "{}", made.body);
}

#[tokio::test]
async fn requests_past_the_plan_are_429_until_the_period_ends() {
    let service = Service::planned(Plan { requests_max: 3, ..Plan::UNLIMITED }).await;
    let key = service.platform.create_api_key("reader", &[Scope::BlockchainRead]).unwrap();
    let send = async |method: &str, path: &str, body: Value| with_key(&service, key.text(), (method, path), body).await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "blockchain.getBlock", "params": {} });
    assert_eq!(send("GET", "/v1/blockchains", Value::Null).await.status, 200);
    assert_eq!(send("POST", "/v1/rpc", call.clone()).await.status, 200);
    let eth = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": [] });
    assert_eq!(send("POST", "/v1/blockchains/bc_default/eth", eth.clone()).await.status, 200);
    let over = send("GET", "/v1/blockchains", Value::Null).await;
    check_answer("listBlockchains", &over);
    let error = over.json()["error"].clone();
    assert_eq!((over.status, &error["code"]), (429, &json!("RATE_LIMITED")), "{error}");
    assert_eq!((&error["details"]["usage"], &error["details"]["limit"]), (&json!("requests"), &json!(3)));
    assert_eq!(over.header("retry-after"), Some(error["details"]["retryAfter"].to_string().as_str()));
    let over = send("POST", "/v1/rpc", call).await;
    assert_eq!((over.status, &over.json()["error"]["data"]["code"]), (429, &json!("RATE_LIMITED")));
    assert!(over.header("retry-after").is_some());
    assert_eq!(send("POST", "/v1/blockchains/bc_default/eth", eth).await.status, 429);
    assert_eq!(service.send("GET", "/v1/health", &[], "").await.status, 200, "what needs no credentials is nobody's");
}

/// Method and path, of each thing that a workspace can get rid of, and of each list of them.
fn ways_out(service: &Service, ann: &Principal) -> Vec<(&'static str, String)> {
    let (platform, members) = (&service.platform, service.platform.workspaces().members());
    let home = format!("/v1/workspaces/{}", ann.workspace());
    let spec = ApiKeySpec { name: "lost".to_owned(), scopes: [Scope::Admin].into_iter().collect(), lifetime_ms: None };
    let (_, lost) = platform.unit(|unit| platform.api_keys().create(unit, ann, spec)).unwrap();
    let app = json!({ "client_name": "App", "redirect_uris": ["https://app.example/back"] });
    let app = ClientRegistration::read(&app).unwrap();
    let (client, _) = platform.unit(|unit| platform.oauth().register(unit, ann, app)).unwrap();
    let bob = platform.users().by_identity("https://id.example", "bob", Some("bob@example.org")).unwrap();
    let invite = |email: &str| platform.unit(|unit| members.invite(unit, ann, email, Role::Viewer)).unwrap();
    let (_, token) = invite("bob@example.org");
    platform.unit(|unit| members.accept(unit, bob.id(), token.text())).unwrap();
    let (invitation, _) = invite("eve@example.org");
    let (keys, clients) = ("/v1/auth/api-keys".to_owned(), "/v1/oauth-clients".to_owned());
    vec![
        ("GET", home.clone()),
        ("GET", format!("{home}/members")),
        ("GET", format!("{home}/invitations")),
        ("DELETE", format!("{keys}/{}", lost.id())),
        ("DELETE", format!("{clients}/{}", client.id())),
        ("DELETE", format!("{home}/members/{}", bob.id())),
        ("DELETE", format!("{home}/invitations/{}", invitation.id())),
        ("GET", keys),
        ("GET", clients),
    ]
}

#[tokio::test]
async fn what_gets_a_workspace_out_of_a_used_up_plan_is_answered_and_counted() {
    for (plan, usage) in
        [(Plan { requests_max: 1, ..Plan::UNLIMITED }, "requests"), (Plan { bytes_max: 1, ..Plan::UNLIMITED }, "bytes")]
    {
        let service = Service::planned(plan).await;
        let (ann, key) = ann(&service);
        let send = async |method: &str, path: &str, body: Value| with_key(&service, &key, (method, path), body).await;
        let home = format!("/v1/workspaces/{}", ann.workspace());
        let ways = ways_out(&service, &ann);
        let small = json!({ "billingPlan": "unlimited" });
        assert_eq!(service.rest("PUT", &format!("{home}/plan"), small).await.status, 200);
        assert_eq!(send("GET", "/v1/blockchains", Value::Null).await.status, 200);
        let is_over = async |method: &str, path: &str, body: Value| {
            let over = send(method, path, body).await;
            assert_eq!(over.status, 429, "{method} {path}: {}", over.body);
            assert_eq!(over.json()["error"]["details"]["usage"], usage, "{}", over.body);
        };
        is_over("GET", "/v1/blockchains", Value::Null).await;
        for (method, path) in &ways {
            let reply = send(method, path, Value::Null).await;
            assert_eq!(reply.status, 200, "{usage}: {method} {path}: {}", reply.body);
        }
        is_over("POST", "/v1/workspaces", json!({ "name": "another" })).await;
        is_over("POST", &format!("{home}/invitations"), json!({ "email": "eve@example.org" })).await;
        is_over("GET", &format!("{home}/audit"), Value::Null).await;
        let used = send("GET", &format!("{home}/usage"), Value::Null).await;
        check_answer("getUsage", &used);
        let used = used.json()["data"].as_array().unwrap().iter().find(|one| one["id"] == "requests").unwrap().clone();
        // The first one, those that are answered, and this one.
        assert_eq!(used["used"], json!(ways.len() + 2), "{usage}");
        let changed = send("PATCH", &home, json!({ "settings": { "billingPlan": "free" } })).await;
        assert_eq!(changed.status, 200, "{usage}: {}", changed.body);
        check_answer("updateWorkspace", &changed);
        service.platform.metering().flush().unwrap();
        assert_eq!(send("GET", "/v1/blockchains", Value::Null).await.status, 200, "{usage}");
    }
}

#[tokio::test]
async fn no_plan_refuses_what_an_operator_asks_for() {
    let service = Service::planned(Plan { requests_max: 1, ..Plan::UNLIMITED }).await;
    for _ in 0..3 {
        assert_eq!(service.rest("GET", "/v1/blockchains", Value::Null).await.status, 200);
    }
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "blockchain.getBlock", "params": {} });
    let batch = service.rest("POST", "/v1/rpc", json!([call, call, call])).await;
    assert_eq!((batch.status, batch.json().as_array().map(Vec::len)), (200, Some(3)), "{}", batch.body);
    let used = service.rest("GET", "/v1/workspaces/ws_default/usage", Value::Null).await.json()["data"].clone();
    let requests = used.as_array().unwrap().iter().find(|one| one["id"] == "requests").unwrap();
    assert_eq!((&requests["used"], &requests["limit"]), (&json!(7), &json!(1)), "each call counts, and this one");
    let reader = service.platform.create_api_key("reader", &[Scope::BlockchainRead]).unwrap();
    let refused = with_key(&service, reader.text(), ("GET", "/v1/blockchains"), Value::Null).await;
    assert_eq!(refused.status, 429, "without the scope admin it is no operator's: {}", refused.body);
}

#[tokio::test]
async fn operators_give_a_plan_to_a_workspace_that_a_user_made() {
    let service = Service::start().await;
    let (ann, key) = ann(&service);
    let home = format!("/v1/workspaces/{}", ann.workspace());
    let plan = format!("{home}/plan");
    let team = || json!({ "billingPlan": "team" });
    let shown = async || {
        let shown = with_key(&service, &key, ("GET", &home), Value::Null).await;
        shown.json()["data"]["settings"]["billingPlan"].clone()
    };
    let theirs = with_key(&service, &key, ("PUT", &plan), team()).await;
    check_answer("setWorkspacePlan", &theirs);
    assert_eq!(theirs.status, 403, "{}", theirs.body);
    assert!(theirs.body.contains("an operator of the service gives plans"), "{}", theirs.body);
    for path in ["/v1/workspaces/ws_default/plan", "/v1/workspaces/ws_fedcba9876543210/plan"] {
        let neighbour = with_key(&service, &key, ("PUT", path), team()).await;
        check_answer("setWorkspacePlan", &neighbour);
        assert_eq!(neighbour.status, 404, "{}", neighbour.body);
    }
    let writer = service.platform.create_api_key("writer", &[Scope::WorkspaceRead, Scope::WorkspaceWrite]).unwrap();
    for (path, status) in [(plan.as_str(), 404), ("/v1/workspaces/ws_default/plan", 403)] {
        let refused = with_key(&service, writer.text(), ("PUT", path), team()).await;
        assert_eq!(refused.status, status, "{path}: {}", refused.body);
    }
    let golden = service.rest("PUT", &plan, json!({ "billingPlan": "golden" })).await;
    check_answer("setWorkspacePlan", &golden);
    assert_eq!((golden.status, &golden.json()["error"]["details"]["fields"][0]["path"]), (422, &json!("billingPlan")));
    assert_eq!(shown().await, "free");
    let given = service.rest("PUT", &plan, team()).await;
    check_answer("setWorkspacePlan", &given);
    let wanted = json!({ "id": ann.workspace().to_string(), "billingPlan": "team" });
    assert_eq!((given.status, &given.json()["data"]), (200, &wanted));
    assert_eq!(shown().await, "team");
    // It is read by nobody else for that.
    assert_eq!(service.rest("GET", &home, Value::Null).await.status, 404);
    for (sender, path, client) in [
        (
            service.api_key.as_str(),
            "/v1/workspaces/ws_default/audit?sort=createdAt:desc".to_owned(),
            json!("127.0.0.1"),
        ),
        (key.as_str(), format!("{home}/audit?sort=createdAt:desc"), Value::Null),
    ] {
        let log = with_key(&service, sender, ("GET", &path), Value::Null).await.json();
        let line = &log["data"][0];
        let target = format!("workspace {}: plan team, before free", ann.workspace());
        assert_eq!(
            (&line["action"], &line["target"], &line["client"]),
            (&json!("workspace.plan"), &json!(target), &client)
        );
    }
}

#[tokio::test]
async fn operators_alone_read_the_audit_log_of_the_service() {
    let service = Service::start().await;
    let (ann, key) = ann(&service);
    let Subject::User(user) = ann.subject() else { panic!("ann is a user") };
    service.platform.users().start_session(user).unwrap();
    let read = async |key: &str, query: &str| {
        let reply = with_key(&service, key, ("GET", &format!("/v1/admin/audit{query}")), Value::Null).await;
        check_answer("listServiceAuditLines", &reply);
        reply
    };
    let first = read(&service.api_key, "?limit=1").await;
    let (last, page) =
        (read(&service.api_key, "?limit=1&sort=createdAt:desc").await, first.json()["pagination"].clone());
    assert_eq!((first.status, &page["total"], &page["hasNext"]), (200, &json!(2), &json!(true)), "{}", first.body);
    let line = last.json()["data"][0].clone();
    assert_eq!((&line["action"], &line["subject"]), (&json!("user.log-in"), &json!(format!("user:{user}"))), "{line}");
    // Neither who administers another workspace nor who has less in the operators' own.
    let theirs = read(&key, "").await;
    assert_eq!((theirs.status, &theirs.json()["error"]["code"]), (403, &json!("FORBIDDEN")), "{}", theirs.body);
    assert!(theirs.body.contains("credentials of the default workspace"), "{}", theirs.body);
    let reader = service.platform.create_api_key("reader", &[Scope::WorkspaceRead]).unwrap();
    let refused = read(reader.text(), "").await;
    assert_eq!((refused.status, &refused.json()["error"]["details"]["requiredScope"]), (403, &json!("admin")));
}

#[tokio::test]
async fn invitations_past_the_bound_are_429_with_the_time_to_wait() {
    let service = Service::start().await;
    let (ann, key) = ann(&service);
    let members = service.platform.workspaces().members();
    let path = format!("/v1/workspaces/{}/invitations", ann.workspace());
    let headers = [("x-api-key", key.as_str()), ("content-type", "application/json")];
    let body = json!({ "email": "grace@example.org" }).to_string();
    let invite = async || service.send("POST", &path, &headers, &body).await;
    // The plan has few places: each is withdrawn.
    for _ in 1..INVITATIONS_MAX {
        let sent = service.platform.unit(|unit| {
            let (stored, _) = members.invite(unit, &ann, "grace@example.org", Role::Viewer)?;
            Ok::<_, PlatformError>(stored)
        });
        let id = sent.unwrap().id().to_owned();
        service.platform.unit(|unit| members.withdraw(unit, &ann, &id)).unwrap();
    }
    let last = invite().await;
    assert_eq!(last.status, 201, "{}", last.body);
    let withdrawn = format!("{path}/{}", last.json()["data"]["id"].as_str().unwrap());
    assert_eq!(service.send("DELETE", &withdrawn, &headers, "").await.status, 200);
    let over = invite().await;
    check_answer("inviteMember", &over);
    let error = over.json()["error"].clone();
    assert_eq!((over.status, &error["code"]), (429, &json!("RATE_LIMITED")), "{error}");
    let wait = error["details"]["retryAfter"].as_u64().unwrap();
    assert!((3_000..=3_600).contains(&wait), "{wait}");
    assert_eq!(over.header("retry-after"), Some(wait.to_string().as_str()));
    let members = json!({ "name": "more", "members": [{ "email": "alan@example.org" }] }).to_string();
    let over = service.send("POST", "/v1/workspaces", &headers, &members).await;
    assert_eq!(over.status, 429, "no way round it: {}", over.body);
    for list in [path.as_str(), "/v1/workspaces"] {
        let listed = service.send("GET", list, &headers, "").await.json();
        assert_eq!(listed["pagination"]["total"], u64::from(list == "/v1/workspaces"), "nothing is stored: {listed}");
    }
}

#[tokio::test]
async fn usage_is_listed_with_the_bounds_of_the_plan() {
    let service = Service::planned(Plan { bytes_max: 1 << 20, ..Plan::UNLIMITED }).await;
    let body = json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": { "name": "Gold", "symbol": "GLD", "totalSupply": "1000" } });
    let sent = body.to_string().len() as u64;
    let reply = service.rest("POST", "/v1/contracts/deploy", body).await;
    assert_eq!(reply.status, 201, "{}", reply.body);
    service.platform.metering().flush().unwrap();
    let list = service.rest("GET", "/v1/workspaces/ws_default/usage", Value::Null).await.json()["data"].clone();
    let of = |id: &str| list.as_array().unwrap().iter().find(|usage| usage["id"] == id).unwrap().clone();
    assert_eq!((&of("requests")["used"], &of("requests")["limit"]), (&json!(2), &Value::Null), "this one counts");
    assert_eq!(of("transactions")["used"], 1);
    let node = service.platform.default_blockchain().unwrap().node();
    assert_eq!(of("gas")["used"], json!(node.view().head().block().header().gas_used));
    assert_eq!(
        (&of("bytes")["used"], &of("bytes")["limit"]),
        (&json!(sent + reply.body.len() as u64), &json!(1 << 20))
    );
}

#[tokio::test]
async fn bounds_of_the_server_hold_at_the_bound_and_one_past_it() {
    let service = Service::limited(Node::new(), |limits| {
        limits.rest_body_bytes_max = 300;
        limits.rpc_body_bytes_max = 400;
        limits.batch_calls_max = 2;
        limits.page_limit_max = 20;
    })
    .await;
    let body = |len: usize| {
        let text = json!({ "name": "" }).to_string();
        let name = "n".repeat(200);
        format!(r#"{{"name":"{name}"{}}}"#, " ".repeat(len - text.len() - name.len()))
    };
    let headers = [("x-api-key", service.api_key.as_str()), ("content-type", "application/json")];
    for (len, status) in [(300, 201), (301, 413)] {
        let reply = service.send("POST", "/v1/workspaces", &headers, &body(len)).await;
        assert_eq!(reply.status, status, "{len}: {}", reply.body);
        assert_eq!(reply.json()["success"], status == 201);
    }
    for (limit, status) in [(20, 200), (21, 400)] {
        let reply = service.rest("GET", &format!("/v1/workspaces?limit={limit}"), Value::Null).await;
        assert_eq!(reply.status, status, "{}", reply.body);
        assert!(status == 200 || reply.body.contains("between 1 and 20"), "{}", reply.body);
    }
    let document = service.send("GET", "/v1/openapi.json", &[], "").await.json();
    let parameters = document["paths"]["/v1/workspaces"]["get"]["parameters"].as_array().unwrap();
    let limit = parameters.iter().find(|parameter| parameter["name"] == "limit").unwrap();
    assert_eq!(limit["schema"]["maximum"], 20, "the document says it");

    let padded = |len: usize| {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}"#;
        format!("{call}{}", " ".repeat(len - call.len()))
    };
    for (len, status) in [(400, 200), (401, 413)] {
        assert_eq!(service.rpc_text(&padded(len)).await.status, status, "{len}");
    }
    for path in ["/", "/v1/rpc", "/v1/blockchains/bc_default/eth"] {
        let method = if path == "/v1/rpc" { "blockchain.getBlock" } else { "eth_chainId" };
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method });
        let two = service.send("POST", path, &headers, &json!([call, call]).to_string()).await.json();
        assert_eq!(two.as_array().map(Vec::len), Some(2), "{path}: {two}");
        let three = service.send("POST", path, &headers, &json!([call, call, call]).to_string()).await.json();
        assert_eq!(three["error"]["code"], -32005, "{path}: {three}");
    }
}
