//! A workspace with something of every kind in it, made by routes, and its ids by the variables of paths.

use std::collections::BTreeMap;

use chainbox::platform::{DEFAULT_WORKSPACE_ID, Role};
use serde_json::{Value, json};

use super::{JSON, Operation};
use crate::http::{Reply, Service};

/// What a path can name.
pub(super) struct Filled {
    /// Id of the chain that the others are of.
    pub(super) chain: String,
    ids: BTreeMap<&'static str, String>,
}

/// Sends a request with a key as a bearer.
pub(super) async fn send(service: &Service, key: &str, method: &str, path: &str, body: &str) -> Reply {
    let bearer = format!("Bearer {key}");
    service.send(method, path, &[("authorization", &bearer), JSON], body).await
}

/// Sends a request with the admin key, which must succeed.
pub(super) async fn ok(service: &Service, method: &str, path: &str, body: Value) -> Value {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let reply = send(service, &service.api_key, method, path, &body).await;
    assert!(matches!(reply.status, 200 | 201), "{method} {path} {body}: {}", reply.body);
    reply.json()["data"].clone()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

impl Filled {
    /// Fills the default workspace.
    pub(super) async fn of(service: &Service) -> Self {
        let platform = &service.platform;
        let user = platform.users().by_identity("https://id.example", "ann", Some("ann@example.org")).unwrap();
        let (members, me) = (platform.workspaces().members(), platform.service_principal());
        let (_, token) = platform.unit(|unit| members.invite(unit, &me, "ann@example.org", Role::Viewer)).unwrap();
        platform.unit(|unit| members.accept(unit, user.id(), token.text())).unwrap();
        let make = async |path: &str, body: Value| ok(service, "POST", path, body).await;
        let home = format!("/v1/workspaces/{DEFAULT_WORKSPACE_ID}");
        let chain =
            make("/v1/blockchains", json!({ "name": "ledger", "features": ["smart-contracts", "privacy"] })).await;
        let chain_id = text(&chain["id"]);
        let of_chain = |rest: &str| format!("/v1/blockchains/{chain_id}{rest}");
        let invitation = make(&format!("{home}/invitations"), json!({ "email": "ben@example.org" })).await;
        let key = make("/v1/auth/api-keys", json!({ "name": "reader", "scopes": ["workspace:read"] })).await;
        let project = make(&format!("{home}/projects"), json!({ "name": "first" })).await;
        let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000" });
        let deploy = json!({ "blockchainId": chain_id, "template": "erc20-token", "params": params });
        let deployment = make("/v1/contracts/deploy", deploy).await;
        let token = json!({ "blockchainId": chain_id, "standard": "ERC20", "name": "Silver", "symbol": "SLV", "totalSupply": "100" });
        let token = make("/v1/tokens", token).await;
        let shop = json!({
            "name": "Shop", "template": "nft", "blockchainId": chain_id, "frontend": { "customDomain": "shop.example" },
        });
        let dapp = make("/v1/dapps", shop).await;
        let hook = json!({ "url": "https://93.184.215.14/hook", "events": ["contract.deployed"] });
        let webhook = make("/v1/webhooks", hook).await;
        make(&of_chain("/modules"), json!({ "module": "dao" })).await;
        let proposal = json!({ "blockchainId": chain_id, "title": "A note", "type": "text" });
        let proposal = make("/v1/governance/proposals", proposal).await;
        let vote = format!("/v1/governance/proposals/{}/vote", text(&proposal["id"]));
        make(&vote, json!({ "vote": "yes", "reason": "why not" })).await;
        let validators = ok(service, "GET", &of_chain("/validators"), Value::Null).await;
        let participant = json!({ "participant": format!("user:{}", user.id()) });
        let participant = make(&of_chain("/participants"), participant).await;
        let block = ok(service, "GET", &of_chain("/blocks/latest"), Value::Null).await;
        let client = json!({ "client_name": "App", "redirect_uris": ["https://app.example/cb"] });
        let client = service.rest("POST", "/oauth/register", client).await;
        assert_eq!(client.status, 201, "{}", client.body);
        let ids = [
            ("clientId", text(&client.json()["client_id"])),
            ("workspaceId", DEFAULT_WORKSPACE_ID.to_owned()),
            ("userId", user.id().to_owned()),
            ("invitationId", text(&invitation["id"])),
            ("apiKeyId", text(&key["id"])),
            ("projectId", text(&project["id"])),
            ("blockchainId", chain_id.clone()),
            ("participantId", text(&participant["id"])),
            ("module", "dao".to_owned()),
            ("block", text(&block["hash"])),
            ("hash", text(&deployment["transactionHash"])),
            ("address", text(&chain["treasury"])),
            ("validatorId", text(&validators[0]["id"])),
            ("proposalId", text(&proposal["id"])),
            ("deploymentId", text(&deployment["id"])),
            ("tokenId", text(&token["id"])),
            ("dappId", text(&dapp["id"])),
            ("webhookId", text(&webhook["id"])),
        ];
        Self { chain: chain_id, ids: ids.into_iter().collect() }
    }

    /// The id that a variable of a path stands for.
    pub(super) fn id(&self, variable: &str) -> &str {
        self.ids.get(variable).unwrap_or_else(|| panic!("say here where the ids of {variable} come from"))
    }

    /// Every id that names something of this workspace alone.
    pub(super) fn own_ids(&self) -> impl Iterator<Item = &str> {
        self.ids.iter().filter(|(variable, _)| !matches!(**variable, "module" | "address")).map(|(_, id)| id.as_str())
    }

    /// The path of an operation, with these ids.
    pub(super) fn path(&self, operation: &Operation) -> String {
        fill(&operation.path, |variable| self.id(variable).to_owned())
    }

    /// What every reading operation shows of it to its owner, by path.
    pub(super) async fn shown(&self, service: &Service, operations: &[Operation]) -> BTreeMap<String, Value> {
        let mut shown = BTreeMap::new();
        for operation in operations.iter().filter(|operation| operation.method == "GET") {
            // Of the moment, or the same for all.
            if matches!(operation.name(), "getHealth" | "getTimeSeries" | "getUsage" | "listTemplates") {
                continue;
            }
            let path = self.path(operation);
            let reply = send(service, &service.api_key, "GET", &path, "").await;
            // Of what the chain's protocol lacks, such as delegations.
            assert!(matches!(reply.status, 200 | 409), "{path}: {}", reply.body);
            let json: Option<Value> = serde_json::from_str(&reply.body).ok();
            let data =
                json.map_or(Value::from(reply.body.clone()), |json| json.get("data").cloned().unwrap_or_default());
            shown.insert(path, data);
        }
        shown
    }
}

/// Fills the variables of a path.
pub(super) fn fill(path: &str, id: impl Fn(&str) -> String) -> String {
    let segment = |segment: &str| match segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        Some(variable) => id(variable),
        None => segment.to_owned(),
    };
    path.split('/').map(segment).collect::<Vec<_>>().join("/")
}

/// The variables of a path.
pub(super) fn variables(path: &str) -> Vec<&str> {
    path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}')).collect()
}
