//! The service's specification, row by row, against the real binary: each row of its table of endpoints with a body as it shows it, each
//! row of its table of errors.

use std::time::Duration;

use chainbox::primitives::{Gas, KeyPair, TransactionRequest, U256};
use serde_json::{Value, json};

use crate::{
    binary::{Dev, LIMIT, now},
    person::{Person, encoded},
    serving::{Answer, send},
};

const REDIRECT: &str = "https://app.example/cb";

/// A running `chainbox dev`, by its REST interface.
pub(crate) struct Site {
    dev: Dev,
    pub(crate) address: String,
    key: String,
    _folder: tempfile::TempDir,
}

impl Site {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dev = Dev::start(folder.path(), &["--quiet"]);
        let (address, key) = (dev.address(), dev.config["apiKey"].as_str().unwrap().to_owned());
        Self { dev, address, key, _folder: folder }
    }

    pub(crate) fn call(&self, method: &str, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let headers = format!("x-api-key: {}\r\ncontent-type: application/json\r\n", self.key);
        send(&self.address, method, path, &headers, &body).unwrap()
    }

    fn get(&self, path: &str) -> Value {
        self.call("GET", path, &Value::Null).data()
    }

    /// Makes something by the route; the answer has the envelope.
    pub(crate) fn make(&self, path: &str, body: Value) -> Value {
        let answer = self.call("POST", path, &body);
        assert!(answer.is_success(), "POST {path} {body}: {}", answer.body);
        has_envelope(&answer);
        answer.data()
    }

    fn rpc(&self, method: &str, params: Value) -> Value {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = self.call("POST", "/v1/rpc", &call).json();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(1)), "{answer}");
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Waits until what a path shows is as it shall be.
    fn until(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let deadline = now() + LIMIT;
        loop {
            let found = self.get(path);
            if is_so(&found) {
                return found;
            }
            assert!(now() < deadline, "{path} stays {found}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn has_envelope(answer: &Answer) {
    let json = answer.json();
    assert_eq!(json["success"], true, "{json}");
    assert!(json["meta"]["requestId"].is_string(), "{json}");
    let timestamp = json["meta"]["timestamp"].as_str().unwrap();
    assert!(timestamp.len() >= 20 && timestamp.ends_with('Z'), "{timestamp}");
}

fn id(value: &Value) -> String {
    value["id"].as_str().unwrap_or_else(|| panic!("no id: {value}")).to_owned()
}

fn address(byte: u8) -> String {
    alloy_primitives::Address::repeat_byte(byte).to_string()
}

/// `GET /oauth/authorize` and `POST /oauth/token`: returns an access token of a person who is logged in, and the form of the application's
/// credentials.
pub(crate) fn access_token(site: &Site, person: &mut Person) -> (String, String) {
    let metadata = json!({
        "client_name": "App", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "client_secret_post",
        "scope": "workspace:read workspace:write",
    });
    let client = site.call("POST", "/oauth/register", &metadata).json();
    let client_id = client["client_id"].as_str().unwrap_or_else(|| panic!("{client}"));
    let query = format!(
        "client_id={client_id}&redirect_uri={}&response_type=code&scope=workspace:read%20workspace:write&state=random",
        encoded(REDIRECT)
    );
    let consent = person.get(&format!("/v1/oauth/authorize?{query}"));
    assert_eq!(consent.status, 200, "{}", consent.body);
    let allowed = person.submit(&consent, "/oauth/authorize", &[("decision", "allow")]);
    let location = allowed.location().unwrap_or_else(|| panic!("{} {}", allowed.status, allowed.body));
    assert!(location.starts_with(REDIRECT) && location.contains("state=random"), "{location}");
    let (_, code) = location.split_once("code=").unwrap();
    let credentials = format!("client_id={client_id}&client_secret={}", client["client_secret"].as_str().unwrap());
    let form = format!(
        "grant_type=authorization_code&code={}&redirect_uri={}&{credentials}",
        code.split('&').next().unwrap(),
        encoded(REDIRECT)
    );
    let headers = "content-type: application/x-www-form-urlencoded\r\n";
    let answer = send(&site.address, "POST", "/v1/oauth/token", headers, &form).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.json()["scope"], "workspace:read workspace:write");
    (answer.json()["access_token"].as_str().unwrap().to_owned(), credentials)
}

/// Every row of the table of endpoints, once, in the order in which one needs another. The paths are `/v1/` and those of the rows.
#[test]
fn every_endpoint_answers_a_request_as_it_is_specified() {
    let site = Site::start();
    let mut person = Person::at(&site.address);
    person.signs_up("ann@example.org");
    let (token, _) = access_token(&site, &mut person);
    let headers = format!("authorization: Bearer {token}\r\ncontent-type: application/json\r\n");
    let body = json!({ "name": "ci", "scopes": ["workspace:read"], "expiresIn": "90d" }).to_string();
    let key = send(&site.address, "POST", "/v1/auth/api-keys", &headers, &body).unwrap();
    has_envelope(&key);
    let value = key.data()["key"].as_str().unwrap().to_owned();
    let with_key = format!("x-api-key: {value}\r\n");
    assert_eq!(send(&site.address, "GET", "/v1/workspaces", &with_key, "").unwrap().status, 200);

    let health = send(&site.address, "GET", "/v1/health", "", "").unwrap();
    has_envelope(&health);
    let health = health.data();
    assert_eq!((&health["status"], health["version"].is_string()), (&json!("operational"), true), "{health}");
    assert!(health["uptime"].as_f64().is_some_and(|uptime| uptime <= 100.0), "{health}");
    for service in ["database", "blockchain", "storage"] {
        assert_eq!(health["services"][service], "healthy", "{health}");
    }

    let workspace = site.make(
        "/v1/workspaces",
        json!({
            "name": "research", "description": "Experiments", "settings": { "defaultNetwork": "development", "billingPlan": "free" },
            "members": [{ "email": "ben@example.org", "role": "developer" }],
        }),
    );
    let projects = format!("/v1/workspaces/{}/projects", id(&workspace));
    let project = site.make(
        &projects,
        json!({
            "name": "exchange", "type": "dapp", "template": "defi-exchange",
            "config": { "blockchain": "proof-of-authority", "network": "development", "features": ["smart-contracts"] },
        }),
    );
    assert_eq!(project["status"], "active", "{project}");
    let dapp = site.make(
        "/v1/dapps",
        json!({
            "name": "Gold exchange", "workspaceId": "ws_default", "template": "defi",
            "components": [
                { "type": "token", "config": {
                    "name": "Gold", "symbol": "GLD", "totalSupply": "1000000", "decimals": 18, "features": ["burnable", "mintable", "pausable"] } },
                { "type": "staking", "config": { "stakingToken": "GLD", "rewardRate": "100", "lockPeriod": "30d" } },
            ],
            "frontend": { "theme": "dark", "customDomain": "gold.example.com" },
        }),
    );
    assert_eq!(dapp["status"], "deployed", "{dapp}");

    let (network, governed, staked) = blockchains(&site);
    validators(&site, &network, &staked);
    let module = json!({
        "module": "defi", "config": { "features": ["dex", "lending", "staking"], "swapFee": "0.3", "liquidationThreshold": "80" },
    });
    let module = site.make(&format!("/v1/blockchains/{governed}/modules"), module);
    assert_eq!(module["status"], "enabled", "{module}");
    governance(&site, &governed);
    let deployment = contracts(&site);
    figures(&site);
    json_rpc(&site, &deployment);

    let events = [
        "blockchain.block.created",
        "blockchain.transaction.confirmed",
        "contract.deployed",
        "contract.event.emitted",
        "validator.status.changed",
        "governance.proposal.created",
    ];
    let secret = "a secret of the receiver";
    for (name, value) in [("filters", json!({ "blockchainId": "bc_default" })), ("blockchainId", json!("bc_default"))] {
        let mut hook =
            json!({ "url": "https://93.184.215.14/hook", "events": events, "secret": secret, "enabled": true });
        hook[name] = value;
        let made = site.make("/v1/webhooks", hook);
        assert_eq!((&made["blockchainId"], &made["enabled"]), (&json!("bc_default"), &json!(true)), "{made}");
    }
    let list = site.call("GET", "/v1/resources?page=1&limit=3&sort=createdAt:desc", &Value::Null);
    has_envelope(&list);
    let pagination = &list.json()["pagination"];
    assert_eq!(
        (&pagination["page"], &pagination["limit"], &pagination["hasNext"]),
        (&json!(1), &json!(3), &json!(true))
    );
    assert_eq!((pagination["hasPrev"].clone(), list.data().as_array().unwrap().len()), (json!(false), 3));
    assert!(site.dev.stop("-TERM").status.success());
}

/// `POST /blockchains`: a network as it is specified, one on demand, one with stake.
fn blockchains(site: &Site) -> (String, String, String) {
    let validators: Vec<Value> =
        (1..5).map(|byte| json!({ "address": address(byte), "name": format!("node {byte}") })).collect();
    let network = site.make(
        "/v1/blockchains",
        json!({
            "name": "ledger", "type": "private", "consensus": "proof-of-authority", "chainId": 4_711,
            "config": {
                "blockTime": "1s", "blockGasLimit": "30000000",
                "nativeToken": { "name": "Coin", "symbol": "COIN", "premine": "1000000000000000000000000" },
            },
            "validators": validators, "features": ["smart-contracts", "permissions", "privacy"],
        }),
    );
    assert_eq!(network["chainId"], 4_711, "{network}");
    let governed = site.make("/v1/blockchains", json!({ "name": "governed" }));
    let staked = site.make("/v1/blockchains", json!({ "name": "staked", "consensus": "proof-of-stake" }));
    let names = ["delegated-proof-of-stake", "pbft", "raft"];
    for name in names {
        site.make("/v1/blockchains", json!({ "name": name, "consensus": name }));
    }
    let metrics = format!("/v1/blockchains/{}/metrics", id(&network));
    let long = site.get(&metrics);
    let short = site.get(&format!("{metrics}?shape=compact"));
    let both = ["activeValidators", "totalTransactions", "networkHashrate", "validatorUptime", "mempoolSize"];
    for (figures, own) in [
        (&long, ["currentBlock", "blockTime", "transactionsPerSecond", "averageGasPrice"]),
        (&short, ["blockHeight", "blockTime", "tps", "gasPrice"]),
    ] {
        assert!(own.iter().chain(&both).all(|name| !figures[*name].is_null()), "{figures}");
    }
    assert_eq!((&long["activeValidators"], short["blockTime"].is_string()), (&json!(4), true), "{long} {short}");
    (id(&network), id(&governed), id(&staked))
}

/// The five rows of validators.
fn validators(site: &Site, network: &str, staked: &str) {
    let all = format!("/v1/blockchains/{network}/validators");
    let place = json!({ "location": "Bern", "provider": "own" });
    let top = json!({ "address": address(0x55), "name": "five", "stake": "32000000000000000000", "commission": "5", "metadata": place });
    let mut nested =
        json!({ "address": address(0x66), "stake": 32_000_000_000_u64, "commission": 5, "metadata": place });
    nested["metadata"]["name"] = json!("six");
    let (five, six) = (site.make(&all, top), site.make(&all, nested));
    assert_eq!((&five["name"], &six["name"]), (&json!("five"), &json!("six")));
    let (five, six) = (format!("/v1/validators/{}", id(&five)), format!("/v1/validators/{}", id(&six)));
    site.until(&six, |found| found["status"] == "active");
    site.until(&five, |found| found["status"] == "active");
    let status = site.get(&format!("{five}/status"));
    assert!(status["process"] == "up" && status.get("uptime").is_some(), "{status}");
    let slashed = site.make(&format!("{five}/slash"), json!({ "percentage": 10, "reason": "downtime" }));
    assert!(slashed["transactionHash"].is_string(), "{slashed}");
    site.until(&five, |found| found["status"] == "removed");
    let removed = site.call("DELETE", &six, &Value::Null);
    assert_eq!(removed.status, 200, "{}", removed.body);
    site.until(&six, |found| found["status"] == "removed");

    let listed = site.get(&format!("/v1/blockchains/{staked}/validators"));
    let one = format!("/v1/validators/{}", id(&listed[0]));
    let stake = site.call("PUT", &format!("{one}/stake"), &json!({ "stake": "40000000000000000000" }));
    assert_eq!(stake.status, 200, "{}", stake.body);
    assert_eq!(site.get(&one)["selfStake"], "40000000000000000000");
}

/// The two rows of governance.
fn governance(site: &Site, chain: &str) {
    let proposal = json!({
        "blockchainId": chain, "title": "More gas", "description": "Blocks are full.", "type": "parameter-change",
        "changes": { "gasLimit": "40000000" }, "votingPeriod": "7d", "quorum": "40%", "threshold": "60%",
    });
    let proposal = site.make("/v1/governance/proposals", proposal);
    let path = format!("/v1/governance/proposals/{}", id(&proposal));
    let vote = site.make(&format!("{path}/vote"), json!({ "vote": "yes", "weight": "1", "reason": "they are" }));
    assert_eq!(vote["vote"], "yes", "{vote}");
    let votes = site.get(&format!("{path}/votes"));
    assert_eq!((&votes[0]["weight"], &votes[0]["reason"]), (&json!("1"), &json!("they are")), "{votes}");
}

/// `POST /contracts/deploy` and `POST /tokens`; returns the deployment.
fn contracts(site: &Site) -> Value {
    let account = &site.dev.config["accounts"][0];
    let deployment = site.make(
        "/v1/contracts/deploy",
        json!({
            "blockchainId": "bc_default", "template": "erc20-token", "from": account, "gasLimit": "3000000",
            "params": { "name": "Gold", "symbol": "GLD", "totalSupply": "1000000", "decimals": 18 },
        }),
    );
    assert_eq!(deployment["status"], "deployed", "{deployment}");
    for template in ["erc721-nft", "erc1155-multi"] {
        let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "10", "decimals": 0 });
        let body = json!({ "blockchainId": "bc_default", "template": template, "params": params });
        let token = site.make("/v1/contracts/deploy", body);
        assert_eq!(token["status"], "deployed", "{token}");
    }
    let wait = json!({ "duration": "12m", "cliff": "3m" });
    for (standard, decimals, supply) in
        [("ERC20", 18, "1000000"), ("ERC721", 0, "5"), ("ERC1155", 0, "1000"), ("ERC4626", 18, "0")]
    {
        let mut body = json!({
            "blockchainId": "bc_default", "standard": standard, "name": "Silver", "symbol": "SLV", "totalSupply": supply,
        });
        if standard == "ERC20" {
            body["decimals"] = decimals.into();
            body["features"] = json!({ "mintable": true, "burnable": true, "pausable": true });
            body["distribution"] = json!([{ "address": address(0x77), "amount": "1000", "vesting": wait }]);
        }
        let token = site.make("/v1/tokens", body);
        assert_eq!((&token["standard"], &token["status"]), (&json!(standard), &json!("deployed")), "{token}");
    }
    deployment
}

/// `GET /analytics/timeseries`, in both spellings.
fn figures(site: &Site) {
    let path = "/v1/analytics/timeseries?blockchainId=bc_default&from=2026-01-01&to=2026-01-03";
    for metric in ["transactions", "tps"] {
        let both = ["granularity", "interval"].map(|name| site.get(&format!("{path}&metric={metric}&{name}=1h")));
        assert_eq!(both[0], both[1]);
        assert_eq!((&both[0]["metric"], &both[0]["granularity"]), (&json!(metric), &json!("3600s")), "{}", both[0]);
    }
}

/// `POST /rpc` with each of the seven methods.
fn json_rpc(site: &Site, deployment: &Value) {
    let key = KeyPair::from_bytes(&site.dev.config["privateKeys"][1].as_str().unwrap().parse().unwrap()).unwrap();
    let signed = TransactionRequest {
        chain_id: Some(31_337),
        to: Some(alloy_primitives::Address::repeat_byte(0x88)),
        value: U256::from(5),
        gas_limit: Gas::new(21_000),
        max_fee_per_gas: 100_000_000_000,
        ..Default::default()
    };
    let raw = signed.sign(&key).unwrap().encoded();
    let transaction = json!({ "blockchainId": "bc_default", "signedTransaction": raw });
    assert_eq!(site.rpc("transaction.simulate", transaction.clone())["success"], true);
    let sent = site.rpc("transaction.send", transaction);
    assert_eq!(sent["status"], "success", "{sent}");
    let params = json!({ "blockchainId": "bc_default", "transactionHash": sent["transactionHash"] });
    assert_eq!(site.rpc("blockchain.getTransaction", params)["value"], "5");
    let latest = site.rpc("blockchain.getBlock", json!({ "blockchainId": "bc_default", "blockNumber": "latest" }));
    for name in [&latest["number"], &latest["hash"]] {
        let found = site.rpc("blockchain.getBlock", json!({ "blockchainId": "bc_default", "blockNumber": name }));
        assert_eq!(found, latest);
    }
    let at = json!({ "blockchainId": "bc_default", "address": address(0x88), "blockNumber": "latest" });
    assert_eq!(site.rpc("blockchain.getBalance", at)["balance"], "5");
    let call = |method: &str, args: Value| json!({ "blockchainId": "bc_default", "contractAddress": deployment["contractAddress"], "method": method, "args": args });
    let supply = site.rpc("contract.call", call("totalSupply", json!([])));
    assert!(supply.to_string().contains("1000000"), "{supply}");
    let mut transfer = call("transfer", json!([address(0x88), "7"]));
    transfer["from"] = deployment["from"].clone();
    let executed = site.rpc("contract.execute", transfer);
    assert!(executed["transactionHash"].is_string(), "{executed}");
    let balance = site.rpc("contract.call", call("balanceOf", json!([address(0x88)])));
    assert!(balance.to_string().contains('7'), "{balance}");
}

/// Every row of the table of errors that a client can bring about.
#[cfg(feature = "rocksdb")]
#[test]
fn every_error_is_answered_as_it_is_specified() {
    use crate::serving::{Serving, database};

    let folder = tempfile::tempdir().unwrap();
    let (data, limits) = (folder.path().join("data"), folder.path().join("limits.toml"));
    std::fs::write(&limits, "[server]\nrate = { requests = 8, window_secs = 3600 }\n").unwrap();
    let key = database(&data, |platform| {
        let poor = json!({ "name": "poor", "config": { "nativeToken": { "premine": "1" } } });
        let spec = chainbox::platform::BlockchainSpec::read(poor).unwrap();
        platform.blockchains().create(&platform.service_principal(), spec).unwrap();
    });
    let reader = database_key(&data);
    let service = Serving::start(&["--db-path", data.to_str().unwrap(), "--limits", limits.to_str().unwrap()]);
    let chain = id(&service.get(&key, "/v1/blockchains")[0]);
    let deploy = json!({
        "blockchainId": chain, "template": "erc20-token", "params": { "name": "Gold", "symbol": "GLD", "totalSupply": "1" },
    });
    let cases = [
        (&key, "GET", "/v1/resources?limit=0", Value::Null, 400, "BAD_REQUEST"),
        (&"cbx_wrong".to_owned(), "GET", "/v1/resources", Value::Null, 401, "UNAUTHORIZED"),
        (&reader, "POST", "/v1/contracts/deploy", deploy.clone(), 403, "FORBIDDEN"),
        (&key, "GET", "/v1/validators/val_none/status", Value::Null, 404, "NOT_FOUND"),
        (&key, "POST", "/v1/workspaces", json!({ "name": 7 }), 422, "VALIDATION_ERROR"),
        (&key, "POST", "/v1/contracts/deploy", deploy, 409, "INSUFFICIENT_BALANCE"),
    ];
    let answered = |answer: &Answer, status: u16, code: &str| {
        let json = answer.json();
        assert_eq!((answer.status, &json["error"]["code"]), (status, &json!(code)), "{}", answer.body);
        assert_eq!((&json["success"], json.as_object().unwrap().len()), (&json!(false), 2), "{json}");
        let error = json["error"].as_object().unwrap();
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{json}");
        assert!(error["details"].is_object() && error["requestId"].is_string(), "{json}");
        assert!(error["timestamp"].as_str().is_some_and(|time| time.ends_with('Z')), "{json}");
        json["error"]["details"].clone()
    };
    for (key, method, path, body, status, code) in cases {
        let details = answered(&service.request(key, method, path, &body), status, code);
        if code == "INSUFFICIENT_BALANCE" {
            assert_eq!(details["available"], "1", "{details}");
            let required = details["required"].as_str().unwrap();
            assert!(required.len() > 5 && required.bytes().all(|digit| digit.is_ascii_digit()), "{details}");
        }
    }
    let told = loop {
        let answer = service.request(&key, "GET", "/v1/workspaces", &Value::Null);
        if answer.status != 200 {
            break answer;
        }
    };
    let details = answered(&told, 429, "RATE_LIMITED");
    assert!(details["retryAfter"].as_u64().is_some_and(|secs| (1..=3_600).contains(&secs)), "{details}");
    assert!(told.head.contains("\nretry-after: "), "{}", told.head);
    service.stop();
}

/// Makes a key that may only read workspaces.
#[cfg(feature = "rocksdb")]
fn database_key(data: &std::path::Path) -> String {
    let mut key = String::new();
    crate::serving::database(data, |platform| {
        let scopes = [chainbox::platform::Scope::WorkspaceRead];
        key = platform.create_api_key("reader", &scopes).unwrap().text().to_owned();
    });
    key
}
