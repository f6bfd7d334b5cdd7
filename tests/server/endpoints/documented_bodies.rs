//! Every example of a body that the document shows, with all fields and with the required ones only, succeeds on its route; sent again under
//! its idempotency key it gets the first response and does nothing more.

use core::time::Duration;
use std::{collections::BTreeSet, sync::Arc};

use chainbox::{
    node::{Clock as _, ManualClock},
    platform::{DEFAULT_WORKSPACE_ID, Role},
    primitives::{Address, Timestamp},
};
use serde_json::{Value, json};

use super::{
    JSON, Operation, check,
    filled::{fill, ok, send},
};
use crate::http::{Reply, Service};

/// Examples that succeed nowhere: operation, name, why. They are conflicts, which the document says of the operation.
const REFUSED: [(&str, &str, &str); 4] = [
    (
        "unjailValidator",
        "by the service",
        "nobody is in jail here, which takes a window of missed blocks: `network_validators` has one",
    ),
    (
        "updateValidator",
        "all fields",
        "a commission is changed a day after it was set at the earliest: `network_validators` waits for that",
    ),
    ("withdrawStake", "by default", UNBONDING),
    ("withdrawStake", "of a wallet", UNBONDING),
];
const UNBONDING: &str = "the unbonding period is three weeks: `network_validators` shortens it";

/// What the routes with an id need.
struct World {
    service: Service,
    clock: Arc<ManualClock>,
    /// A network of proof of authority.
    network: String,
    /// A network with stake, whose fifth validator is the treasury.
    staked: String,
    /// A chain with governance whose one validator is the treasury.
    governed: String,
    private: String,
    user: String,
    project: String,
    deployment: String,
    token: String,
    proposal: String,
    dapp: String,
    webhook: String,
}

fn id(value: &Value) -> String {
    value["id"].as_str().unwrap_or_else(|| panic!("no id: {value}")).to_owned()
}

impl World {
    async fn new() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_750_000_000)));
        let service = Service::timed(clock.clone()).await;
        let make = async |path: &str, body: Value| ok(&service, "POST", path, body).await;
        // In block 1, of which the example of a call asks.
        let account = service.platform.default_blockchain().unwrap().node().accounts()[0].to_string();
        let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000000" });
        let deploy =
            json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": params, "from": account });
        let deployment = id(&make("/v1/contracts/deploy", deploy).await);
        let token = json!({
            "blockchainId": "bc_default", "standard": "ERC20", "name": "Silver", "symbol": "SLV", "totalSupply": "1000",
        });
        let token = id(&make("/v1/tokens", token).await);
        let operators =
            |first: u8| (first..first + 4).map(|byte| json!({ "address": Address::repeat_byte(byte).to_string() }));
        let network = json!({
            "name": "network", "config": { "blockTime": "1s" }, "validators": operators(0x11).collect::<Vec<_>>(),
        });
        let network = id(&make("/v1/blockchains", network).await);
        let staked = json!({
            "name": "staked", "consensus": "delegated-proof-of-stake", "config": { "blockTime": "1s" },
            "validators": operators(0x21).collect::<Vec<_>>(),
        });
        let staked = id(&make("/v1/blockchains", staked).await);
        let governed = id(&make("/v1/blockchains", json!({ "name": "governed" })).await);
        let private = id(&make("/v1/blockchains", json!({ "name": "private", "features": ["privacy"] })).await);
        let note = json!({ "blockchainId": governed, "title": "A note", "type": "text" });
        let proposal = id(&make("/v1/governance/proposals", note).await);
        let project = id(&make("/v1/workspaces/ws_default/projects", json!({ "name": "first" })).await);
        let dapp = id(&make("/v1/dapps", json!({ "name": "Page" })).await);
        let hook = json!({ "url": "https://93.184.215.14/hook", "events": ["contract.deployed"] });
        let webhook = id(&make("/v1/webhooks", hook).await);
        let platform = &service.platform;
        let user = platform.users().by_identity("https://id.example", "ann", Some("ann@example.org")).unwrap();
        let (members, me) = (platform.workspaces().members(), platform.service_principal());
        let (_, invitation) = platform.unit(|unit| members.invite(unit, &me, "ann@example.org", Role::Viewer)).unwrap();
        platform.unit(|unit| members.accept(unit, user.id(), invitation.text())).unwrap();
        let user = user.id().to_owned();
        let world = Self {
            service,
            clock,
            network,
            staked,
            governed,
            private,
            user,
            project,
            deployment,
            token,
            proposal,
            dapp,
            webhook,
        };
        world.run(&world.network, 3);
        world.run(&world.staked, 3);
        world
    }

    /// Lets time pass on a network, whose blocks come as they are due.
    fn run(&self, chain: &str, secs: u64) {
        let chain = self.service.platform.running_blockchain(chain).unwrap();
        let network = chain.network().unwrap();
        let end = Duration::from_millis(self.clock.now_ms() + secs * 1_000);
        while let Some(wake) = network.next_wake().filter(|wake| *wake <= end) {
            self.clock.advance_to(wake);
            network.advance(wake).unwrap();
        }
        self.clock.advance_to(end);
        network.advance(end).unwrap();
    }

    /// The id of a validator by its place in the list.
    async fn validator(&self, chain: &str, place: usize) -> String {
        let listed = ok(&self.service, "GET", &format!("/v1/blockchains/{chain}/validators"), Value::Null).await;
        id(&listed[place])
    }

    async fn treasury(&self, chain: &str) -> Value {
        ok(&self.service, "GET", &format!("/v1/blockchains/{chain}"), Value::Null).await["treasury"].clone()
    }

    /// Makes the treasury of the chain with stake its validator, by a body with the required fields only.
    async fn join(&self) -> String {
        let all = format!("/v1/blockchains/{}/validators", self.staked);
        let body = json!({ "address": self.treasury(&self.staked).await });
        let joined = id(&ok(&self.service, "POST", &all, body).await);
        for _ in 0..60 {
            let found = ok(&self.service, "GET", &format!("/v1/validators/{joined}"), Value::Null).await;
            if found["status"] == "active" {
                return joined;
            }
            self.run(&self.staked, 10);
        }
        panic!("{joined} never became active");
    }

    /// What requests leave behind: lines of the audit log, resources, workspaces, transactions that were sent, blocks of the default chain.
    async fn effects(&self) -> Value {
        let get = async |path: &str| {
            let reply = send(&self.service, &self.service.api_key, "GET", path, "").await;
            assert_eq!(reply.status, 200, "{path}: {}", reply.body);
            reply.json()
        };
        let total = async |path: &str| get(path).await["pagination"]["total"].clone();
        let usage = get("/v1/workspaces/ws_default/usage").await;
        let transactions = usage["data"].as_array().unwrap().iter().find(|line| line["id"] == "transactions").unwrap();
        let chain = self.service.platform.default_blockchain().unwrap();
        json!({
            "audit": total("/v1/workspaces/ws_default/audit").await,
            "resources": total("/v1/resources").await,
            "workspaces": total("/v1/workspaces").await,
            "transactions": transactions["used"],
            "blocks": chain.node().view().head().height().get(),
        })
    }

    /// Sends a request under an idempotency key, and once more: the first response comes again, and nothing else happens.
    async fn send_twice(&self, operation: &Operation, path: &str, body: &Value, key: &str) -> Reply {
        let bearer = format!("Bearer {}", self.service.api_key);
        let headers = [("authorization", bearer.as_str()), JSON, ("idempotency-key", key)];
        let text = body.to_string();
        let first = self.service.send(&operation.method, path, &headers, &text).await;
        let told = || format!("{} {path} {text}: {}", operation.name(), first.body);
        // What other refusals say is not kept.
        assert!(matches!(first.status, 200 | 201 | 409), "{}", told());
        assert_eq!(first.header("idempotent-replayed"), None, "{}", told());
        let before = self.effects().await;
        let again = self.service.send(&operation.method, path, &headers, &text).await;
        assert_eq!((again.status, &again.body), (first.status, &first.body), "{}", told());
        assert_eq!(again.header("idempotent-replayed"), Some("true"), "{}", told());
        for header in ["content-type", "location", "x-request-id"] {
            assert_eq!(again.header(header), first.header(header), "{header}: {}", told());
        }
        assert_eq!(self.effects().await, before, "{}", told());
        first
    }

    /// Returns where an example fits; the few values in it that only this world knows are filled in.
    async fn place(&self, operation: &Operation, joined: &str, body: &mut Value) -> String {
        let of = |variable: &str, value: &str| {
            fill(&operation.path, |name| match name {
                "workspaceId" => DEFAULT_WORKSPACE_ID.to_owned(),
                name if name == variable => value.to_owned(),
                "blockchainId" => "bc_default".to_owned(),
                other => panic!("say here what {} is sent to: its {other}", operation.name()),
            })
        };
        match operation.name() {
            "changeMemberRole" => of("userId", &self.user),
            "setWorkspacePlan" => {
                // The plan of the default workspace has room for all that is made here.
                let other = id(&ok(&self.service, "POST", "/v1/workspaces", json!({ "name": "theirs" })).await);
                fill(&operation.path, |_| other.clone())
            }
            "rotateApiKey" => {
                let spec = json!({ "name": "ci", "scopes": ["workspace:read"] });
                of("apiKeyId", &id(&ok(&self.service, "POST", "/v1/auth/api-keys", spec).await))
            }
            "updateProject" => of("projectId", &self.project),
            "addParticipant" => {
                body["participant"] = format!("user:{}", self.user).into();
                of("blockchainId", &self.private)
            }
            "enableModule" => {
                of("blockchainId", &id(&ok(&self.service, "POST", "/v1/blockchains", json!({ "name": "bare" })).await))
            }
            "addValidator" => of("blockchainId", &self.network),
            "slashValidator" => {
                // Whose whole weight is taken has none left for another.
                let place = if body["amount"].is_null() { 1 } else { 2 };
                of("validatorId", &self.validator(&self.network, place).await)
            }
            "setValidatorStake" | "unjailValidator" | "updateValidator" => of("validatorId", joined),
            "claimRewards" => {
                // Until there are some again.
                self.run(&self.staked, 80);
                if body["from"].is_string() {
                    body["from"] = self.treasury(&self.staked).await;
                }
                of("validatorId", joined)
            }
            "delegate" | "undelegate" => of("validatorId", &self.validator(&self.staked, 0).await),
            "withdrawStake" => {
                if body["from"].is_string() {
                    body["from"] = self.treasury(&self.staked).await;
                }
                of("validatorId", joined)
            }
            "createProposal" => {
                body["blockchainId"] = json!(self.governed);
                of("", "")
            }
            "voteOnProposal" => of("proposalId", &self.proposal),
            "cancelProposal" => {
                // With votes none is withdrawn.
                let note = json!({ "blockchainId": self.governed, "title": "Not now", "type": "text" });
                of("proposalId", &id(&ok(&self.service, "POST", "/v1/governance/proposals", note).await))
            }
            "callContract" | "executeContract" => of("deploymentId", &self.deployment),
            "transferToken" => of("tokenId", &self.token),
            "updateDapp" => of("dappId", &self.dapp),
            "updateWebhook" => of("webhookId", &self.webhook),
            _ => of("", ""),
        }
    }
}

/// Returns whether the document can read what is at the location.
fn has_get(document: &Value, location: &str) -> bool {
    document["paths"].as_object().unwrap().iter().any(|(path, methods)| {
        methods.get("get").is_some()
            && path.split('/').count() == location.split('/').count()
            && path.split('/').zip(location.split('/')).all(|(a, b)| a.starts_with('{') || a == b)
    })
}

#[tokio::test]
async fn every_example_of_every_body_succeeds_once_under_its_key() {
    let world = World::new().await;
    let service = &world.service;
    let (document, operations) = Operation::all();
    let joined = world.join().await;
    let (mut sent, mut refused, mut requests) = (BTreeSet::new(), BTreeSet::new(), 0);
    for operation in &operations {
        let content = &operation.value["requestBody"]["content"]["application/json"];
        let examples = content["examples"].as_object().cloned().unwrap_or_default();
        for (name, example) in examples {
            let mut body = example["value"].clone();
            let path = world.place(operation, &joined, &mut body).await;
            requests += 1;
            let reply = world.send_twice(operation, &path, &body, &format!("example-{requests}")).await;
            let told = || format!("{} {name:?} {path} {body}: {}", operation.name(), reply.body);
            if REFUSED.iter().any(|(of, example, _)| *of == operation.name() && *example == name) {
                assert!(matches!(reply.status, 200 | 409), "{}", told());
                refused.insert((operation.name().to_owned(), name));
                continue;
            }
            assert!(matches!(reply.status, 200 | 201), "{}", told());
            check(&document, operation, &reply);
            if reply.status == 201 {
                let location = reply.header("location").unwrap();
                let found = send(service, &service.api_key, "GET", location, "").await;
                assert_eq!(found.status == 200, has_get(&document, location), "{location}: {}", found.body);
            }
            for chain in [&world.network, &world.staked] {
                world.run(chain, 3);
            }
            sent.insert(operation.name().to_owned());
        }
    }
    let with_bodies =
        operations.iter().filter(|operation| operation.value["requestBody"].is_object() && !operation.is_foreign());
    for operation in with_bodies {
        let is_refused = || refused.iter().any(|(name, _)| name == operation.name());
        assert!(sent.contains(operation.name()) || is_refused(), "{} has no example that succeeds", operation.name());
    }
    assert_eq!(refused.len(), REFUSED.len(), "the list of refused examples names what there is");
}
