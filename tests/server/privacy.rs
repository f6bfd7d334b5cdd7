//! A chain with the feature privacy, served by the real binary, against a member of its workspace who is none of its participants: by every
//! method of JSON-RPC, by every route that changes something or reads by a body, and by what was begun before the member left the list.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use chainbox::{
    node::Node,
    server::{EthRpc, openapi_json},
};
use serde_json::{Value, json};

use crate::{
    participants::{key_of_a_member, user_of},
    serving::{Answer, Serving, database},
    websocket::Socket,
};

const BOB: &str = "0x1111111111111111111111111111111111111111";
/// Where nobody takes deliveries.
const NOBODY: &str = "127.0.0.1:1";

/// The service with a private chain, on which there is something of every kind.
struct Hidden {
    service: Serving,
    /// Key of the chain's maker.
    owner: String,
    /// Key of a member of the workspace who is no participant, and may do everything else.
    member: String,
    /// What paths and bodies name, by the names of their variables.
    ids: BTreeMap<&'static str, String>,
    /// Words that only a participant may see, in lower case.
    secrets: BTreeSet<String>,
    _folder: tempfile::TempDir,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

impl Hidden {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let (mut member, mut user) = (String::new(), String::new());
        let owner = database(&data, |platform| {
            member = key_of_a_member(platform);
            user = user_of(platform);
        });
        let flags =
            ["--db-path", data.to_str().unwrap(), "--requests-per-minute", "1000000", "--allow-outbound", NOBODY];
        let service = Serving::start(&flags);
        let make = |path: &str, body: Value| service.request(&owner, "POST", path, &body).data();
        let features = json!(["smart-contracts", "privacy"]);
        let chain = make("/v1/blockchains", json!({ "name": "hidden", "features": features }));
        let id = text(&chain["id"]);
        let of_chain = |rest: &str| format!("/v1/blockchains/{id}{rest}");
        let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000" });
        let deployment =
            make("/v1/contracts/deploy", json!({ "blockchainId": id, "template": "erc20-token", "params": params }));
        let token = json!({
            "blockchainId": id, "standard": "ERC20", "name": "Obsidian", "symbol": "OBSD", "totalSupply": "77",
        });
        let token = make("/v1/tokens", token);
        let component = json!({ "type": "token", "config": { "name": "Tin", "symbol": "TIN", "totalSupply": "5" } });
        let dapp = make("/v1/dapps", json!({ "name": "Shop", "blockchainId": id, "components": [component] }));
        make(&of_chain("/modules"), json!({ "module": "dao" }));
        let project = json!({ "name": "p", "type": "token", "config": { "blockchain": id } });
        let project = make("/v1/workspaces/ws_default/projects", project);
        let proposal = json!({ "blockchainId": id, "title": "Rhodonite", "type": "text" });
        let proposal = make("/v1/governance/proposals", proposal);
        let webhook = json!({
            "url": format!("https://{NOBODY}/hook"), "events": ["contract.deployed"], "blockchainId": id,
        });
        let webhook = make("/v1/webhooks", webhook);
        let validators = service.get(&owner, &of_chain("/validators"));
        let block = service.get(&owner, &of_chain("/blocks/latest"));
        let (hash, contract) = (text(&deployment["transactionHash"]), text(&deployment["contractAddress"]));
        let secrets = [&text(&block["hash"]), &hash, &contract].map(|word| word.to_lowercase()).into();
        let ids = [
            ("blockchainId", id.clone()),
            ("workspaceId", "ws_default".to_owned()),
            ("userId", user),
            ("participantId", "service".to_owned()),
            ("module", "dao".to_owned()),
            ("block", text(&block["hash"])),
            ("hash", hash),
            ("contract", contract),
            ("treasury", text(&chain["treasury"])),
            ("validatorId", text(&validators[0]["id"])),
            ("proposalId", text(&proposal["id"])),
            ("deploymentId", text(&deployment["id"])),
            ("tokenId", text(&token["id"])),
            ("dappId", text(&dapp["id"])),
            ("projectId", text(&project["id"])),
            ("webhookId", text(&webhook["id"])),
        ];
        Self { service, owner, member, ids: ids.into_iter().collect(), secrets, _folder: folder }
    }

    fn id(&self, name: &str) -> &str {
        self.ids.get(name).unwrap_or_else(|| panic!("say here where the ids of {name} come from"))
    }

    fn path(&self, template: &str) -> String {
        let segment = |segment: &str| match segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(variable) => self.id(variable).to_owned(),
            None => segment.to_owned(),
        };
        template.split('/').map(segment).collect::<Vec<_>>().join("/")
    }

    fn eth(&self, key: &str, method: &str, params: Value) -> Answer {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.service.request(key, "POST", &self.path("/v1/blockchains/{blockchainId}/eth"), &call)
    }

    /// Lets something happen on the chain: a token is given.
    fn goes_on(&self) {
        let body = json!({ "to": BOB, "amount": "1" });
        let given = self.service.request(&self.owner, "POST", &self.path("/v1/tokens/{tokenId}/transfers"), &body);
        assert_eq!(given.status, 200, "{}", given.body);
    }

    /// Checks that an answer to the member has nothing that is secret.
    fn tells_nothing(&self, what: &str, answer: &Answer) {
        let body = answer.body.to_lowercase();
        let told = self.secrets.iter().find(|secret| body.contains(*secret));
        assert_eq!(told, None, "{what}: {}", answer.body);
    }

    /// Checks that the member is refused because of the list of participants.
    fn is_refused(&self, what: &str, answer: &Answer) {
        assert_eq!(answer.status, 403, "{what}: {}", answer.body);
        let error = answer.json()["error"].clone();
        let code = error["data"].get("code").unwrap_or(&error["code"]);
        assert_eq!(code, "FORBIDDEN", "{what}: {}", answer.body);
        assert!(text(&error["message"]).contains("its participants alone"), "{what}: {}", answer.body);
        self.tells_nothing(what, answer);
    }

    /// Checks that what was shown to a participant has every secret, so that its absence shows something.
    fn all_is_seen(&self, shown: &str) {
        let shown = shown.to_lowercase();
        for secret in &self.secrets {
            assert!(shown.contains(secret), "{secret} is seen nowhere");
        }
    }
}

/// Parameters with which a method of a chain's Ethereum JSON-RPC answers those who may read the chain.
fn ethereum_params(hidden: &Hidden, method: &str, filter: &Value) -> Value {
    let (block, hash, treasury) = (hidden.id("block"), hidden.id("hash"), hidden.id("treasury"));
    let contract = hidden.id("contract");
    let call = json!({ "to": contract, "data": "0x18160ddd" });
    match method {
        "eth_accounts"
        | "eth_blobBaseFee"
        | "eth_blockNumber"
        | "eth_chainId"
        | "eth_coinbase"
        | "eth_gasPrice"
        | "eth_hashrate"
        | "eth_maxPriorityFeePerGas"
        | "eth_mining"
        | "eth_newBlockFilter"
        | "eth_newPendingTransactionFilter"
        | "eth_protocolVersion"
        | "eth_syncing"
        | "net_listening"
        | "net_peerCount"
        | "net_version"
        | "rpc_modules"
        | "txpool_content"
        | "txpool_inspect"
        | "txpool_status"
        | "web3_clientVersion" => json!([]),
        "debug_getRawTransaction"
        | "eth_getRawTransactionByHash"
        | "eth_getTransactionByHash"
        | "eth_getTransactionReceipt" => json!([hash]),
        "debug_traceTransaction" => json!([hash, { "tracer": "callTracer" }]),
        "debug_traceCall" => json!([call, "latest", { "tracer": "callTracer" }]),
        "eth_call" | "eth_createAccessList" | "eth_estimateGas" => json!([call, "latest"]),
        "eth_feeHistory" => json!(["0x1", "latest", []]),
        "eth_getBalance" | "eth_getTransactionCount" => json!([treasury, "latest"]),
        "eth_getCode" => json!([contract, "latest"]),
        "eth_getStorageAt" => json!([contract, "0x0", "latest"]),
        "eth_getProof" => json!([contract, [], "latest"]),
        "eth_getBlockByHash" => json!([block, true]),
        "eth_getBlockByNumber" => json!(["latest", true]),
        "eth_getHeaderByHash" | "eth_getBlockTransactionCountByHash" | "eth_getUncleCountByBlockHash" => {
            json!([block])
        }
        "eth_getBlockReceipts"
        | "eth_getHeaderByNumber"
        | "eth_getBlockTransactionCountByNumber"
        | "eth_getUncleCountByBlockNumber" => json!(["latest"]),
        "eth_getTransactionByBlockHashAndIndex" | "eth_getUncleByBlockHashAndIndex" => json!([block, "0x0"]),
        "eth_getTransactionByBlockNumberAndIndex" | "eth_getUncleByBlockNumberAndIndex" => json!(["latest", "0x0"]),
        "eth_getLogs" | "eth_newFilter" => json!([{ "fromBlock": "earliest" }]),
        "eth_getFilterChanges" | "eth_getFilterLogs" => json!([filter]),
        "eth_uninstallFilter" => json!(["0x1"]),
        "eth_sendRawTransaction" => json!(["0x"]),
        "txpool_contentFrom" => json!([treasury]),
        "web3_sha3" => json!(["0x00"]),
        other => panic!("say here what the parameters of {other} are"),
    }
}

#[test]
fn no_method_of_ethereum_answers_who_is_no_participant() {
    let hidden = Hidden::start();
    let filter = hidden.eth(&hidden.owner, "eth_newFilter", json!([{ "fromBlock": "earliest" }])).json();
    let filter = filter["result"].clone();
    let rpc = EthRpc::without_development(Node::new());
    let (mut shown, mut walked) = (String::new(), 0);
    for method in rpc.methods().method_names() {
        let params = ethereum_params(&hidden, method, &filter);
        let own = hidden.eth(&hidden.owner, method, params.clone());
        // Neither unknown nor called wrongly.
        let code = own.json()["error"]["code"].clone();
        assert!(own.status == 200 && code != -32_601 && code != -32_602, "{method}: {}", own.body);
        assert_eq!(own.json().get("result").is_none(), method == "eth_sendRawTransaction", "{method}: {}", own.body);
        shown += &own.body;
        hidden.is_refused(method, &hidden.eth(&hidden.member, method, params));
        walked += 1;
    }
    assert!(walked > 50, "{walked}");
    hidden.all_is_seen(&shown);
    let path = hidden.path("/v1/blockchains/{blockchainId}/eth");
    let calls = ["eth_blockNumber", "eth_subscribe", "anvil_dumpState"]
        .map(|method| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": ["newHeads"] }));
    hidden.is_refused("a batch", &hidden.service.request(&hidden.member, "POST", &path, &json!(calls)));
}

/// Names of the methods that the document has.
fn service_methods() -> BTreeSet<String> {
    let document: Value = serde_json::from_str(&openapi_json()).unwrap();
    let calls = document["components"]["schemas"]["RpcCall"]["oneOf"].as_array().unwrap();
    calls.iter().map(|call| text(&call["properties"]["method"]["const"])).collect()
}

/// Parameters with which a method of the service answers those who may read the chain, and send to it.
fn service_params(hidden: &Hidden, method: &str) -> Value {
    let (contract, treasury) = (hidden.id("contract"), hidden.id("treasury"));
    match method {
        "blockchain.getBlock" => json!({ "blockNumber": hidden.id("block"), "fullTransactions": true }),
        "blockchain.getTransaction" => json!({ "transactionHash": hidden.id("hash") }),
        "blockchain.getBalance" => json!({ "address": treasury }),
        "transaction.send" => json!({ "signedTransaction": "0x00" }),
        "transaction.simulate" => json!({ "from": treasury, "to": contract, "data": "0x18160ddd" }),
        "contract.call" => json!({ "contractAddress": contract, "method": "totalSupply", "args": [] }),
        "contract.execute" => json!({ "contractAddress": contract, "method": "transfer", "args": [BOB, "1"] }),
        other => panic!("say here what the parameters of {other} are"),
    }
}

#[test]
fn no_method_of_the_service_answers_who_is_no_participant() {
    let hidden = Hidden::start();
    let methods = service_methods();
    assert!(methods.len() >= 7, "{methods:?}");
    let send = |key: &str, body: &Value| hidden.service.request(key, "POST", "/v1/rpc", body);
    let (mut shown, mut batch) = (String::new(), Vec::new());
    for method in &methods {
        let unnamed = service_params(&hidden, method);
        let mut params = unnamed.clone();
        params["blockchainId"] = json!(hidden.id("blockchainId"));
        let call = |params: &Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        // The calls of a participant come first, so that the chain is as they see it.
        let own = send(&hidden.owner, &call(&params));
        assert_eq!(own.json().get("result").is_none(), method == "transaction.send", "{method}: {}", own.body);
        shown += &own.body;
        let theirs = send(&hidden.member, &call(&params));
        let error = theirs.json()["error"].clone();
        assert_eq!((theirs.json().get("result"), &error["data"]["code"]), (None, &json!("FORBIDDEN")), "{method}");
        assert!(text(&error["message"]).contains("its participants alone"), "{method}: {error}");
        hidden.tells_nothing(method, &theirs);
        // Unnamed it is the only chain that one sees, and the member sees none.
        let theirs = send(&hidden.member, &call(&unnamed));
        let error = theirs.json()["error"].clone();
        assert_eq!(error["data"]["details"]["fields"][0]["path"], "blockchainId", "{method}: {}", theirs.body);
        hidden.tells_nothing(method, &theirs);
        batch.push(call(&params));
    }
    hidden.all_is_seen(&shown);
    let answers = send(&hidden.member, &json!(batch)).json();
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), methods.len());
    for answer in answers {
        assert_eq!((answer.get("result"), &answer["error"]["data"]["code"]), (None, &json!("FORBIDDEN")), "{answer}");
    }
}

/// What a route that is no `GET` does for a member who is no participant.
enum Rule {
    /// It refuses a request with this body, which would do otherwise.
    Refuses(Value),
    /// It is the workspace's, in the order of [`OF_THE_WORKSPACE`], and tells nothing of the chain.
    Works,
    /// It is of no chain.
    IsElsewhere,
}

/// What a member may do with the chain, and with the records of what is on it: operation, body, and status of the answer.
const OF_THE_WORKSPACE: [(&str, &str, u16); 12] = [
    ("pauseBlockchain", "", 200),
    ("resumeBlockchain", "", 200),
    ("stopBlockchain", "", 200),
    ("startBlockchain", "", 200),
    ("updateDapp", r#"{"name":"Stall"}"#, 200),
    // As to everybody: there is no domain, and a page that is not public proves none.
    ("verifyDappDomain", "", 409),
    ("updateProject", r#"{"name":"q"}"#, 200),
    // What is delivered names the chain, and says nothing else of it.
    ("testWebhook", "", 200),
    ("deleteWebhook", "", 200),
    ("deleteDapp", "", 200),
    ("deleteProject", "", 200),
    ("deleteBlockchain", "", 200),
];

/// What a route does; the method of an operation that is not here says where it belongs.
fn rule(hidden: &Hidden, operation: &str) -> Rule {
    let (chain, account) = (hidden.id("blockchainId"), hidden.id("treasury"));
    let erc20 = json!({ "name": "G", "symbol": "G", "totalSupply": "1" });
    let body = match operation {
        "addParticipant" => json!({ "participant": format!("user:{}", hidden.id("userId")) }),
        "addValidator" => json!({ "address": BOB }),
        "callContract" => json!({ "method": "totalSupply", "args": [] }),
        "createDapp" => json!({ "name": "x", "template": "nft", "blockchainId": chain }),
        "createProject" => json!({ "name": "x", "type": "token", "config": { "blockchain": chain } }),
        "createProposal" => json!({ "blockchainId": chain, "title": "x", "type": "text" }),
        "createToken" => {
            json!({ "blockchainId": chain, "standard": "ERC20", "name": "G", "symbol": "G", "totalSupply": "1" })
        }
        "createWebhook" => {
            json!({ "url": "https://93.184.215.14/hook", "events": ["contract.deployed"], "blockchainId": chain })
        }
        "delegate" | "undelegate" => json!({ "amount": "1" }),
        "deployContract" => json!({ "blockchainId": chain, "template": "erc20-token", "params": erc20 }),
        "enableModule" => json!({ "module": "dao" }),
        "ethereumRpc" => json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": [] }),
        "executeContract" => json!({ "method": "transfer", "args": [BOB, "1"] }),
        "planDapp" => json!({ "template": "nft", "blockchainId": chain, "from": account }),
        "planProject" => {
            json!({ "name": "x", "template": "erc20-token", "config": { "blockchain": chain }, "from": account })
        }
        "setValidatorStake" => json!({ "stake": "1" }),
        "slashValidator" => json!({ "percentage": 10, "reason": "downtime" }),
        "transferToken" => json!({ "to": BOB, "amount": "1" }),
        "updateValidator" => json!({ "name": "x" }),
        "updateWebhook" => json!({ "url": "https://93.184.215.14/elsewhere" }),
        "voteOnProposal" => json!({ "vote": "yes" }),
        "cancelProposal" | "claimRewards" | "unjailValidator" | "withdrawStake" => json!({}),
        "disableModule"
        | "removeParticipant"
        | "removeValidator"
        | "rotateWebhookSecret"
        | "startValidator"
        | "stopValidator" => Value::Null,
        "changeMemberRole" | "createApiKey" | "createBackup" | "createBlockchain" | "createWorkspace"
        | "deleteOAuthClient" | "deleteWorkspace" | "importBlockchain" | "inviteMember" | "removeMember"
        | "revokeApiKey" | "rotateApiKey" | "rpc" | "setWorkspacePlan" | "updateWorkspace" | "withdrawInvitation" => {
            return Rule::IsElsewhere;
        }
        other if OF_THE_WORKSPACE.iter().any(|(operation, ..)| *operation == other) => return Rule::Works,
        other => panic!("say here what {other} does for a member who is no participant"),
    };
    Rule::Refuses(body)
}

#[test]
fn no_route_changes_a_private_chain_for_who_is_no_participant() {
    let hidden = Hidden::start();
    let document: Value = serde_json::from_str(&openapi_json()).unwrap();
    let head = || hidden.service.get(&hidden.owner, &hidden.path("/v1/blockchains/{blockchainId}/blocks/latest"));
    let (before, mut refused, mut own) = (head(), 0, BTreeMap::new());
    // The paths of the authorization server are of no chain.
    let paths = document["paths"].as_object().unwrap().iter().filter(|(template, _)| !template.contains("/oauth/"));
    for (template, methods) in paths {
        for (method, value) in methods.as_object().unwrap().iter().filter(|(method, _)| *method != "get") {
            let (operation, method) = (text(&value["operationId"]), method.to_uppercase());
            match rule(&hidden, &operation) {
                Rule::IsElsewhere => {}
                Rule::Works => drop(own.insert(operation, (method, template.clone()))),
                Rule::Refuses(body) => {
                    let path = hidden.path(template);
                    let answer = hidden.service.request(&hidden.member, &method, &path, &body);
                    hidden.is_refused(&operation, &answer);
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 25, "{refused}");
    assert_eq!(head(), before, "nothing has happened");
    // Nobody makes its page everybody's.
    let public = json!({ "frontend": { "public": true } });
    let answer = hidden.service.request(&hidden.member, "PATCH", &hidden.path("/v1/dapps/{dappId}"), &public);
    hidden.is_refused("a public page", &answer);
    for (operation, body, status) in OF_THE_WORKSPACE {
        let (method, template) = own.remove(operation).unwrap_or_else(|| panic!("there is no {operation}"));
        let body = if body.is_empty() { Value::Null } else { serde_json::from_str(body).unwrap() };
        let answer = hidden.service.request(&hidden.member, &method, &hidden.path(&template), &body);
        assert_eq!(answer.status, status, "{operation}: {}", answer.body);
        hidden.tells_nothing(operation, &answer);
    }
}

/// What happens on the chain is told where its participants have it sent, and signed by what they know.
#[test]
fn who_is_no_participant_turns_no_webhook_of_a_private_chain_elsewhere() {
    let hidden = Hidden::start();
    let one = hidden.path("/v1/webhooks/{webhookId}");
    let rotation = format!("{one}/rotate-secret");
    let send = |key: &str, method: &str, path: &str, body: &Value| hidden.service.request(key, method, path, body);
    let before = hidden.service.get(&hidden.owner, &one);
    for body in [
        json!({ "url": "https://93.184.215.14/elsewhere" }),
        json!({ "enabled": false }),
        json!({ "events": ["blockchain.block.created"] }),
        json!({ "blockchainId": null }),
    ] {
        hidden.is_refused(&body.to_string(), &send(&hidden.member, "PATCH", &one, &body));
    }
    hidden.is_refused("another secret", &send(&hidden.member, "POST", &rotation, &Value::Null));
    assert_eq!(hidden.service.get(&hidden.owner, &one), before, "nothing has changed");
    // Nor is one of all chains turned to this one.
    let own = json!({ "url": "https://93.184.215.14/own", "events": ["contract.deployed"] });
    let own = send(&hidden.member, "POST", "/v1/webhooks", &own).data();
    let own = format!("/v1/webhooks/{}", text(&own["id"]));
    let of_chain = json!({ "blockchainId": hidden.id("blockchainId") });
    hidden.is_refused("the chain", &send(&hidden.member, "PATCH", &own, &of_chain));

    let participant = json!({ "participant": format!("user:{}", hidden.id("userId")) });
    let list = hidden.path("/v1/blockchains/{blockchainId}/participants");
    assert_eq!(send(&hidden.owner, "POST", &list, &participant).status, 201);
    let mut secrets = BTreeSet::new();
    for (key, url) in [(&hidden.owner, "https://93.184.215.14/first"), (&hidden.member, "https://93.184.215.14/second")]
    {
        assert_eq!(send(key, "PATCH", &one, &json!({ "url": url })).data()["url"], url);
        let rotated = send(key, "POST", &rotation, &Value::Null).data();
        assert_eq!(rotated["url"], url);
        assert!(secrets.insert(text(&rotated["secret"])), "the former secret again");
    }
    assert_eq!(send(&hidden.member, "PATCH", &own, &of_chain).data()["blockchainId"], of_chain["blockchainId"]);
}

#[test]
fn a_private_chain_that_has_not_started_gets_modules_from_its_participants_alone() {
    let hidden = Hidden::start();
    let send = |key: &str, method: &str, path: &str, body: &Value| hidden.service.request(key, method, path, body);
    let body = json!({ "name": "later", "features": ["smart-contracts", "privacy"], "start": false });
    let chain = send(&hidden.owner, "POST", "/v1/blockchains", &body).data();
    assert_eq!(chain["status"], "created");
    let all = format!("/v1/blockchains/{}/modules", text(&chain["id"]));
    let (one, module) = (format!("{all}/nft"), json!({ "module": "nft" }));
    let listed = || hidden.service.get(&hidden.owner, &all);
    hidden.is_refused("to enable", &send(&hidden.member, "POST", &all, &module));
    assert_eq!(listed(), json!([]));
    let made = send(&hidden.owner, "POST", &all, &module).data();
    assert_eq!(made["status"], "pending");
    hidden.is_refused("to enable again", &send(&hidden.member, "POST", &all, &module));
    hidden.is_refused("to disable", &send(&hidden.member, "DELETE", &one, &Value::Null));
    for path in [&all, &one] {
        hidden.is_refused("to read", &send(&hidden.member, "GET", path, &Value::Null));
    }
    assert_eq!(listed(), json!([made]));
}

/// Filters and sessions that a participant began end with its place on the list.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_leaves_the_list_is_told_nothing_more_by_what_was_begun() {
    let hidden = Hidden::start();
    let (path, list) =
        (hidden.path("/v1/blockchains/{blockchainId}/eth"), hidden.path("/v1/blockchains/{blockchainId}/participants"));
    let address = &hidden.service.address;
    let upgrade = async || Socket::handshake_at(address, &path, &hidden.member).await.1;
    assert!(upgrade().await.starts_with("HTTP/1.1 403"), "before it is on the list");

    let participant = json!({ "participant": format!("user:{}", hidden.id("userId")) });
    assert_eq!(hidden.service.request(&hidden.owner, "POST", &list, &participant).status, 201);
    let result = |method: &str, params: Value| {
        let answer = hidden.eth(&hidden.member, method, params).json();
        answer.get("result").unwrap_or_else(|| panic!("{method}: {answer}")).clone()
    };
    let logs = result("eth_newFilter", json!([{}]));
    let blocks = result("eth_newBlockFilter", json!([]));
    let pending = result("eth_newPendingTransactionFilter", json!([]));
    let mut session = Socket::connect_at(address, &path, &hidden.member).await;
    let heads = session.call("eth_subscribe", json!(["newHeads"])).await["result"].clone();
    let events = session.call("eth_subscribe", json!(["logs", {}])).await["result"].clone();
    hidden.goes_on();
    for filter in [&logs, &blocks, &pending] {
        let changes = result("eth_getFilterChanges", json!([filter]));
        assert!(changes.as_array().is_some_and(|changes| !changes.is_empty()), "{filter}: {changes}");
    }
    assert!(session.next(&heads).await["hash"].is_string());
    assert!(session.next(&events).await["transactionHash"].is_string());
    // Whatever else was told comes before this response.
    assert!(session.call("eth_chainId", json!([])).await["result"].is_string());

    let place = format!("{list}/user:{}", hidden.id("userId"));
    assert_eq!(hidden.service.request(&hidden.owner, "DELETE", &place, &Value::Null).status, 200);
    // A session is looked at each second at least.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    hidden.goes_on();
    let (code, reason) = session.closed_untold().await;
    assert!(code == 1008 && reason.contains("its participants alone read it"), "{code} {reason}");
    assert!(upgrade().await.starts_with("HTTP/1.1 403"), "after it has left the list");
    for filter in [&logs, &blocks, &pending] {
        for method in ["eth_getFilterChanges", "eth_getFilterLogs", "eth_uninstallFilter"] {
            hidden.is_refused(method, &hidden.eth(&hidden.member, method, json!([filter])));
        }
    }
    let series = format!("/v1/analytics/timeseries?blockchainId={}&metric=tps", hidden.id("blockchainId"));
    let lists = ["blocks", "transactions", "events?fromBlock=0", "validators", "proposals", "parameters"];
    let of_chain = ["metrics", "export"].into_iter().chain(lists);
    let of_chain = of_chain.map(|rest| hidden.path(&format!("/v1/blockchains/{{blockchainId}}/{rest}")));
    for path in of_chain.chain([series, hidden.path("/v1/contracts/{deploymentId}/events")]) {
        hidden.is_refused(&path, &hidden.service.request(&hidden.member, "GET", &path, &Value::Null));
    }
}
