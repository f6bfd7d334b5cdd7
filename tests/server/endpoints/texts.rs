//! Texts that would do something where they are pasted into a query, a page, a path or a template: each is kept and answered as it came.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use chainbox::{
    platform::{DEFAULT_WORKSPACE_ID, Workspace},
    primitives::Address,
    store::testing::MemoryDisk,
};
use serde_json::{Value, json};

use super::{
    Operation,
    filled::{ok, send},
    negation::Schemas,
};
use crate::http::Service;

/// Where a text goes in a body.
const SLOT: &str = "SLOT";

const TEXTS: [&str; 14] = [
    "'; DROP TABLE workspaces; --",
    "\" OR \"1\"=\"1",
    "<script>alert('x')</script>",
    "\"><img src=x onerror=\"alert(1)\">",
    "&lt;b&gt; &amp; &#x27;",
    "\u{202e}live\u{202c} \u{200f}\u{2066}x\u{2069}",
    "${jndi:ldap://evil.example/a} {{7*7}} <%= 7*7 %>",
    "../../etc/passwd %2e%2e%2f ..\\",
    "\u{1f469}\u{1f3fd}\u{200d}\u{1f52c} e\u{301}\u{327}",
    "a\u{0}b",
    "line\nbreak\ttab\r\n",
    "  blanks around  ",
    "\u{feff}mark \u{fffd} \u{85}",
    "null",
];

/// A body with texts in it, and where they are shown.
struct Case {
    operation: &'static str,
    /// The fields of the body that are the text.
    fields: &'static [&'static str],
    /// Bound of the text's length, in bytes where `is_bytes`, else in characters.
    length_max: usize,
    is_bytes: bool,
    method: &'static str,
    path: String,
    body: Value,
    /// Paths, with `{id}` for the new id, and pointers into their data.
    shown: Vec<(String, &'static [&'static str])>,
    /// A list that has it, and pointers into its item.
    list: Option<(&'static str, &'static [&'static str])>,
}

/// Fields for names of what must be there, and those whose text no route shows.
const ELSEWHERE: [(&str, &str, &str); 66] = [
    ("createWorkspace", "settings.billingPlan", "names a plan"),
    ("updateWorkspace", "settings.billingPlan", "names a plan"),
    ("setWorkspacePlan", "billingPlan", "names a plan"),
    ("createWorkspace", "settings.defaultNetwork", "names a network"),
    ("updateWorkspace", "settings.defaultNetwork", "names a network or a chain"),
    ("createProject", "config.blockchain", "names a protocol or a chain"),
    ("createProject", "config.network", "names a network"),
    ("createProject", "config.features[0]", "names a feature"),
    ("planProject", "name", "is kept nowhere"),
    ("planProject", "config.blockchain", "names a chain"),
    ("planProject", "config.features[0]", "names a feature"),
    ("createProposal", "blockchainId", "names a chain"),
    ("deployContract", "blockchainId", "names a chain"),
    ("deployContract", "template", "names a template"),
    ("callContract", "method", "names a function"),
    ("executeContract", "method", "names a function"),
    ("callContract", "args[0]", "is of the function's types"),
    ("executeContract", "args[0]", "is of the function's types"),
    ("createToken", "blockchainId", "names a chain"),
    ("createDapp", "workspaceId", "names a workspace"),
    ("createDapp", "template", "names a template"),
    ("createDapp", "blockchainId", "names a chain"),
    ("createDapp", "frontend.customDomain", "is a domain"),
    ("updateDapp", "frontend.customDomain", "is a domain"),
    ("planDapp", "workspaceId", "names a workspace"),
    ("planDapp", "template", "names a template"),
    ("planDapp", "components[0].name", "is kept nowhere"),
    ("planDapp", "blockchainId", "names a chain"),
    ("createWebhook", "url", "is a URL"),
    ("createWebhook", "filters.blockchainId", "names a chain"),
    ("createWebhook", "blockchainId", "names a chain"),
    ("updateWebhook", "url", "is a URL"),
    ("updateWebhook", "blockchainId", "names a chain"),
    ("slashValidator", "reason", "is in the transaction alone"),
    ("importBlockchain", "blockchain.validators[0].name", "as createBlockchain's"),
    ("importBlockchain", "blockchain.config.nativeToken.name", "as createBlockchain's"),
    ("importBlockchain", "blockchain.config.nativeToken.symbol", "as createBlockchain's"),
    ("createWorkspace", "members[0].email", "is an address of e-mail"),
    ("inviteMember", "email", "is an address of e-mail"),
    ("importBlockchain", "state", "is an export"),
    ("createWebhook", "secret", "is checked beside: it is shown once"),
    ("enableModule", "config.token.name", "is in the configuration, which `modules` compares"),
    ("enableModule", "config.token.symbol", "is in the configuration, which `modules` compares"),
    ("enableModule", "config.collection.name", "is in the configuration, which `modules` compares"),
    ("enableModule", "config.collection.symbol", "is in the configuration, which `modules` compares"),
    ("enableModule", "config.collection.uri", "is in the configuration, which `modules` compares"),
    ("enableModule", "config.name", "is in the configuration, which `modules` compares"),
    ("enableModule", "config.chains[0]", "is in the configuration, which `modules` compares"),
    ("enableModule", "config.feeds[0]", "is in the configuration, which `modules` compares"),
    ("enableModule", "config.credentials[0]", "is in the configuration, which `modules` compares"),
    ("enableModule", "config.circuits[0]", "is in the configuration, which `modules` compares"),
    ("enableModule", "config.gateway", "is in the configuration, which `modules` compares"),
    ("createProposal", "changes.module", "names a module"),
    ("createProposal", "changes.name", "is in the call, which the chain keeps"),
    ("createProposal", "changes.info", "is in the call, which the chain keeps"),
    ("createProposal", "changes.config.token.name", "is kept as a hash alone"),
    ("createProposal", "changes.config.token.symbol", "is kept as a hash alone"),
    ("createProposal", "changes.config.collection.name", "is kept as a hash alone"),
    ("createProposal", "changes.config.collection.symbol", "is kept as a hash alone"),
    ("createProposal", "changes.config.collection.uri", "is kept as a hash alone"),
    ("createProposal", "changes.config.name", "is kept as a hash alone"),
    ("createProposal", "changes.config.chains[0]", "is kept as a hash alone"),
    ("createProposal", "changes.config.feeds[0]", "is kept as a hash alone"),
    ("createProposal", "changes.config.credentials[0]", "is kept as a hash alone"),
    ("createProposal", "changes.config.circuits[0]", "is kept as a hash alone"),
    ("createProposal", "changes.config.gateway", "is kept as a hash alone"),
];

/// Texts of a schema that no list and no pattern but "something beside white space" bounds, by their paths.
fn free_texts<'a>(schemas: &Schemas<'a>, schema: &'a Value, path: &str, found: &mut Vec<String>) {
    for form in schemas.resolved(schema) {
        let is_text = form["type"] == "string"
            || form["type"].as_array().is_some_and(|types| types.iter().any(|one| one == "string"));
        let is_free =
            form["pattern"].is_null() || form["pattern"] == r"\S" || path.ends_with("email") || path == "state";
        if is_text && is_free && form["enum"].is_null() {
            found.push(path.to_owned());
        }
        for (name, member) in form["properties"].as_object().into_iter().flatten() {
            let at = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            free_texts(schemas, member, &at, found);
        }
        // A list in a list is there in a value of any of Solidity's types alone, which has itself in it.
        if form["items"].is_object() && !path.ends_with(']') {
            free_texts(schemas, &form["items"], &format!("{path}[0]"), found);
        }
    }
}

/// Puts a text where the slots of a body are.
fn with_text(body: &Value, text: &str) -> Value {
    match body {
        Value::String(slot) if slot == SLOT => text.into(),
        Value::Array(items) => items.iter().map(|item| with_text(item, text)).collect(),
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), with_text(value, text))).collect(),
        other => other.clone(),
    }
}

/// The text as HTML has it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

async fn made(service: &Service, path: &str, body: Value) -> String {
    ok(service, "POST", path, body).await["id"].as_str().unwrap().to_owned()
}

/// The bodies that have free texts.
async fn cases(service: &Service) -> Vec<Case> {
    let workspace = made(service, "/v1/workspaces", json!({ "name": "changed" })).await;
    let projects = format!("/v1/workspaces/{DEFAULT_WORKSPACE_ID}/projects");
    let project = made(service, &projects, json!({ "name": "changed" })).await;
    let dapp = made(service, "/v1/dapps", json!({ "name": "changed" })).await;
    let governed = made(service, "/v1/blockchains", json!({ "name": "governed" })).await;
    let validators = ok(service, "GET", &format!("/v1/blockchains/{governed}/validators"), Value::Null).await;
    let validator = validators[0]["id"].as_str().unwrap();
    let note = json!({ "blockchainId": governed, "title": "A note", "type": "text" });
    let proposal = made(service, "/v1/governance/proposals", note).await;
    let one = |path: &str, pointers: &'static [&'static str]| vec![(path.to_owned(), pointers)];
    let base = || Case {
        operation: "",
        fields: &["name"],
        length_max: 256,
        is_bytes: false,
        method: "POST",
        path: String::new(),
        body: Value::Null,
        shown: Vec::new(),
        list: None,
    };
    let owners = json!({ "owners": [Address::repeat_byte(0x11).to_string()], "threshold": 1 });
    vec![
        Case {
            operation: "createWorkspace",
            fields: &["name", "description"],
            path: "/v1/workspaces".to_owned(),
            body: json!({ "name": SLOT, "description": SLOT }),
            shown: one("/v1/workspaces/{id}", &["/name", "/description"]),
            list: Some(("/v1/workspaces", &["/name", "/description"])),
            ..base()
        },
        Case {
            operation: "updateWorkspace",
            fields: &["name", "description"],
            method: "PATCH",
            path: format!("/v1/workspaces/{workspace}"),
            body: json!({ "name": SLOT, "description": SLOT }),
            shown: one("/v1/workspaces/{id}", &["/name", "/description"]),
            list: Some(("/v1/workspaces", &["/name"])),
            ..base()
        },
        Case {
            operation: "createApiKey",
            path: "/v1/auth/api-keys".to_owned(),
            body: json!({ "name": SLOT, "scopes": ["workspace:read"] }),
            shown: one("/v1/auth/api-keys/{id}", &["/name"]),
            list: Some(("/v1/resources", &["/name"])),
            ..base()
        },
        Case {
            operation: "createProject",
            fields: &["name", "description"],
            path: projects.clone(),
            body: json!({ "name": SLOT, "description": SLOT }),
            shown: one(&format!("{projects}/{{id}}"), &["/name", "/description"]),
            list: Some(("/v1/resources", &["/name"])),
            ..base()
        },
        Case {
            operation: "updateProject",
            fields: &["name", "description"],
            method: "PATCH",
            path: format!("{projects}/{project}"),
            body: json!({ "name": SLOT, "description": SLOT }),
            shown: one(&format!("{projects}/{{id}}"), &["/name", "/description"]),
            list: Some(("/v1/workspaces/ws_default/projects", &["/name", "/description"])),
            ..base()
        },
        Case {
            operation: "createBlockchain",
            fields: &["name", "config.nativeToken.name", "config.nativeToken.symbol", "validators[0].name"],
            path: "/v1/blockchains".to_owned(),
            body: json!({
                "name": SLOT, "config": { "nativeToken": { "name": SLOT, "symbol": SLOT } },
                "validators": [{ "address": Address::repeat_byte(0x11).to_string(), "name": SLOT }],
            }),
            shown: vec![
                (
                    "/v1/blockchains/{id}".to_owned(),
                    &["/name", "/config/nativeToken/name", "/config/nativeToken/symbol"],
                ),
                ("/v1/blockchains/{id}/validators".to_owned(), &["/0/name"]),
            ],
            list: Some(("/v1/blockchains", &["/name"])),
            ..base()
        },
        Case {
            operation: "importBlockchain",
            fields: &["blockchain.name"],
            path: "/v1/blockchains/import".to_owned(),
            body: json!({ "blockchain": { "name": SLOT }, "state": r#"{"chain":{"genesis":{"chainId":31338,"accounts":{}}}}"# }),
            shown: one("/v1/blockchains/{id}", &["/name"]),
            list: Some(("/v1/resources", &["/name"])),
            ..base()
        },
        Case {
            operation: "addValidator",
            path: "/v1/blockchains/NETWORK/validators".to_owned(),
            body: json!({ "address": Address::repeat_byte(0x22).to_string(), "name": SLOT, "metadata": { "location": SLOT } }),
            shown: one("/v1/validators/{id}", &["/name", "/metadata/location"]),
            ..base()
        },
        Case {
            operation: "updateValidator",
            method: "PATCH",
            path: format!("/v1/validators/{validator}"),
            body: json!({ "name": SLOT, "metadata": { "location": SLOT } }),
            shown: one("/v1/validators/{id}", &["/name", "/metadata/location"]),
            ..base()
        },
        Case {
            operation: "createProposal",
            fields: &["title", "description"],
            is_bytes: true,
            path: "/v1/governance/proposals".to_owned(),
            body: json!({ "blockchainId": governed, "title": SLOT, "description": SLOT, "type": "text" }),
            shown: one("/v1/governance/proposals/{id}", &["/title", "/description"]),
            ..base()
        },
        Case {
            operation: "voteOnProposal",
            fields: &["reason"],
            length_max: 1_024,
            is_bytes: true,
            path: format!("/v1/governance/proposals/{proposal}/vote"),
            body: json!({ "vote": "yes", "reason": SLOT }),
            shown: one(&format!("/v1/governance/proposals/{proposal}/votes"), &["/0/reason"]),
            ..base()
        },
        Case {
            operation: "createToken",
            fields: &["name", "symbol"],
            length_max: 64,
            path: "/v1/tokens".to_owned(),
            body: json!({ "blockchainId": "bc_default", "standard": "ERC721", "name": SLOT, "symbol": SLOT }),
            shown: one("/v1/tokens/{id}", &["/name", "/symbol"]),
            list: Some(("/v1/tokens", &["/name", "/symbol"])),
            ..base()
        },
        Case {
            operation: "createToken",
            fields: &["uri"],
            path: "/v1/tokens".to_owned(),
            body: json!({ "blockchainId": "bc_default", "standard": "ERC1155", "name": "Art", "symbol": "ART", "uri": SLOT }),
            ..base()
        },
        Case {
            operation: "deployContract",
            fields: &[],
            path: "/v1/contracts/deploy".to_owned(),
            body: json!({ "blockchainId": "bc_default", "template": "erc721-nft", "params": { "name": SLOT, "symbol": SLOT } }),
            ..base()
        },
        Case {
            operation: "createDapp",
            fields: &["name", "components[0].name"],
            path: "/v1/dapps".to_owned(),
            body: json!({
                "name": SLOT, "components": [{ "type": "multisig", "name": SLOT, "config": owners }],
                "blockchainId": "bc_default", "frontend": { "public": true },
            }),
            shown: one("/v1/dapps/{id}", &["/name", "/components/0/name"]),
            list: Some(("/v1/dapps", &["/name"])),
            ..base()
        },
        Case {
            operation: "updateDapp",
            method: "PATCH",
            path: format!("/v1/dapps/{dapp}"),
            body: json!({ "name": SLOT, "frontend": { "public": true } }),
            shown: one("/v1/dapps/{id}", &["/name"]),
            list: Some(("/v1/resources", &["/name"])),
            ..base()
        },
    ]
}

/// Every item of a list.
async fn all(service: &Service, path: &str) -> Vec<Value> {
    let mut items = Vec::new();
    for page in 1.. {
        let reply = send(service, &service.api_key, "GET", &format!("{path}?limit=100&page={page}"), "").await.json();
        items.extend(reply["data"].as_array().unwrap().iter().cloned());
        if reply["pagination"]["hasNext"] != true {
            break;
        }
    }
    items
}

/// What a contract's function without arguments returns.
async fn result(service: &Service, deployment: &str, method: &str, args: Value) -> Value {
    let path = format!("/v1/contracts/{deployment}/call");
    ok(service, "POST", &path, json!({ "method": method, "args": args })).await["result"].clone()
}

impl Case {
    /// The texts that fit, and the longest.
    fn texts(&self) -> Vec<String> {
        let length = |text: &str| if self.is_bytes { text.len() } else { text.chars().count() };
        let fitting = TEXTS.into_iter().filter(|text| length(text) <= self.length_max).map(str::to_owned);
        // Of the pattern alone: without blanks.
        let wide = if self.is_bytes { "x" } else { "\u{1f4a5}" };
        fitting.chain([wide.repeat(self.length_max)]).collect()
    }

    /// Sends a text, and adds what shows it to `kept`.
    async fn is_kept(&self, service: &Service, text: &str, kept: &mut BTreeMap<String, Vec<(&'static str, String)>>) {
        let (mut path, body) = (self.path.clone(), with_text(&self.body, text));
        if path.contains("NETWORK") {
            // No block comes while the test runs.
            let network = json!({ "name": "network", "config": { "blockTime": "365d" } });
            path = path.replace("NETWORK", &made(service, "/v1/blockchains", network).await);
        }
        let reply = send(service, &service.api_key, self.method, &path, &body.to_string()).await;
        assert!(matches!(reply.status, 200 | 201), "{} {text:?}: {}", self.operation, reply.body);
        let data = reply.json()["data"].clone();
        let id = data["id"].as_str().unwrap_or_default().to_owned();
        for (path, pointers) in &self.shown {
            let path = path.replace("{id}", &id);
            let found = ok(service, "GET", &path, Value::Null).await;
            // A change is the last that its resource shows.
            kept.retain(|known, _| *known != path);
            for pointer in *pointers {
                assert_eq!(found.pointer(pointer), Some(&json!(text)), "{} {path} {pointer}", self.operation);
                kept.entry(path.clone()).or_default().push((pointer, text.to_owned()));
            }
        }
        if let Some((path, pointers)) = self.list {
            let items = all(service, path).await;
            let item = items.iter().find(|item| item["id"] == id).unwrap_or_else(|| panic!("{path} lacks {id}"));
            for pointer in pointers {
                assert_eq!(item.pointer(pointer), Some(&json!(text)), "{} {path} {pointer}", self.operation);
            }
        }
        match self.operation {
            "deployContract" => {
                for method in ["name", "symbol"] {
                    assert_eq!(result(service, &id, method, json!([])).await, text, "{method}()");
                }
            }
            "createToken" if self.fields == ["uri"] => {
                assert_eq!(result(service, &id, "uri", json!(["1"])).await, text, "uri(1)");
            }
            "createDapp" | "updateDapp" => {
                let page = service.send("GET", &format!("/v1/dapps/{id}/site"), &[], "").await;
                assert!(page.body.contains(&format!("<h1>{}</h1>", escaped(text))), "{text:?}: {}", page.body);
                assert!(!page.body.contains("<script") && !page.body.contains("<img"), "{}", page.body);
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn texts_are_kept_as_they_came_by_every_route_and_after_a_restart() {
    let disk = Arc::new(MemoryDisk::new());
    let service = Service::stored(disk.clone()).await;
    let mut kept = BTreeMap::new();
    for case in cases(&service).await {
        for text in case.texts() {
            case.is_kept(&service, &text, &mut kept).await;
        }
    }
    assert!(kept.len() > 100, "{}", kept.len());
    let key = service.api_key.clone();
    drop(service);
    let service = Service::stored(disk).await;
    for (path, texts) in kept {
        let reply = send(&service, &key, "GET", &path, "").await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        let found = reply.json()["data"].clone();
        for (pointer, text) in texts {
            assert_eq!(found.pointer(pointer), Some(&json!(text)), "{path} {pointer} after a restart");
        }
    }
}

/// No free text of any body is left out above.
#[tokio::test]
async fn every_free_text_of_every_body_is_tried() {
    let service = Service::start().await;
    let (document, operations) = Operation::all();
    let schemas = Schemas::of(&document);
    let tried: BTreeSet<(String, String)> = cases(&service)
        .await
        .iter()
        .flat_map(|case| case.fields.iter().map(|field| (case.operation.to_owned(), (*field).to_owned())))
        .chain(ELSEWHERE.iter().map(|(operation, field, _)| ((*operation).to_owned(), (*field).to_owned())))
        .collect();
    let mut there = BTreeSet::new();
    for operation in operations.iter().filter(|operation| !operation.is_foreign()) {
        let schema = &operation.value["requestBody"]["content"]["application/json"]["schema"];
        let mut found = Vec::new();
        if schema.is_object() {
            free_texts(&schemas, schema, "", &mut found);
        }
        there.extend(found.into_iter().map(|field| (operation.name().to_owned(), field)));
    }
    let left: Vec<_> = there.difference(&tried).collect();
    assert!(left.is_empty(), "say here where these texts are shown: {left:?}");
    let gone: Vec<_> = tried.difference(&there).collect();
    assert!(gone.is_empty(), "no body has these texts: {gone:?}");
}

#[tokio::test]
async fn a_secret_of_a_subscription_is_any_text() {
    let service = Service::start().await;
    for text in TEXTS.into_iter().map(|text| format!("{text:-<16}")).chain(["\u{1f4a5}".repeat(256)]) {
        let body = json!({ "url": "https://93.184.215.14/hook", "events": ["contract.deployed"], "secret": text });
        assert_eq!(ok(&service, "POST", "/v1/webhooks", body).await["secret"], text);
    }
}

/// The page that asks for consent shows names of others: an application's, and a workspace's.
#[tokio::test]
async fn the_page_of_consent_shows_names_escaped() {
    let service = Service::start().await;
    let platform = &service.platform;
    let user = platform.users().by_identity("https://id.example", "ann", Some("ann@example.org")).unwrap();
    let session = platform.users().start_session(user.id()).unwrap();
    let cookie = format!("chainbox-session={}", session.text());
    for text in TEXTS.into_iter().filter(|text| !text.chars().any(char::is_control) && text.trim() == *text) {
        platform.unit(|unit| platform.workspaces().create(unit, user.id(), Workspace::named(text))).unwrap();
        let metadata = json!({
            "client_name": text, "redirect_uris": ["https://app.example/cb"], "scope": "workspace:read",
            "token_endpoint_auth_method": "client_secret_post",
        });
        let client = service.rest("POST", "/oauth/register", metadata).await;
        assert_eq!(client.status, 201, "{text:?}: {}", client.body);
        let query = format!(
            "client_id={}&redirect_uri=https://app.example/cb&response_type=code&scope=workspace:read&state=s",
            client.json()["client_id"].as_str().unwrap()
        );
        let page = service.send("GET", &format!("/oauth/authorize?{query}"), &[("cookie", &cookie)], "").await;
        assert_eq!(page.status, 200, "{}", page.body);
        let shown = escaped(text);
        assert!(page.body.contains(&format!("<strong>{shown}</strong>")), "{text:?}: {}", page.body);
        assert!(page.body.contains(&format!(">{shown} (you are owner)")), "{text:?}: {}", page.body);
        assert!(!page.body.contains("<script") && !page.body.contains("<img"), "{}", page.body);
    }
}
