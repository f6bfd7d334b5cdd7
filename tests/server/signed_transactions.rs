//! Every route that signs for the caller takes a transaction that the caller has signed itself, against the real binary: by a key that the
//! service has never seen. It does on the chain what the route says, in the name of that key. One that does something else is 422.

use std::time::Duration;

use alloy_sol_types::{SolCall, SolEvent};
use chainbox::{
    primitives::{Address, Bytes, Gas, KeyPair, TransactionRequest, U256, ether},
    server::openapi_json,
    system::{
        governance::{GOVERNANCE_ADDRESS, VALIDATORS_ADDRESS, interface as governance},
        staking::{self, STAKING_ADDRESS, interface as stake},
        validators::{self, interface as registry},
    },
    templates::{BATCH_ADDRESS, Batch, Erc20Params, erc20::interface as erc20},
};
use serde_json::{Value, json};

use crate::{
    binary::{Dev, now},
    serving::{Answer, send},
};

/// Who gets what is given.
const BOB: Address = Address::repeat_byte(0x42);
/// Polls of a condition may take so long on a loaded machine.
const LIMIT: Duration = Duration::from_secs(90);
/// States of a validator whose operator has left.
const OUT: [&str; 3] = ["exiting", "unbonding", "left"];

/// A running `chainbox dev`.
struct World {
    dev: Dev,
    api_key: String,
    _folder: tempfile::TempDir,
}

/// A chain of the service.
struct Chain<'w> {
    world: &'w World,
    id: String,
    chain_id: u64,
    treasury: String,
}

/// Polls until there is what is looked for.
fn until<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let deadline = now() + LIMIT;
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(now() < deadline, "not within {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

fn amount(value: &Value) -> U256 {
    text(value).parse().unwrap()
}

fn address(value: &Value) -> Address {
    text(value).parse().unwrap()
}

impl World {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dev = Dev::start(folder.path(), &["--quiet"]);
        let api_key = text(&dev.config["apiKey"]).to_owned();
        Self { dev, api_key, _folder: folder }
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let headers = format!("x-api-key: {}\r\ncontent-type: application/json\r\n", self.api_key);
        send(&self.dev.address(), method, path, &headers, &body).unwrap()
    }

    fn ok(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.call(method, path, body);
        assert!(answer.is_success(), "{method} {path} {body}: {}", answer.body);
        answer.data()
    }

    fn get(&self, path: &str) -> Value {
        self.ok("GET", path, &Value::Null)
    }

    /// Sends a transaction that is not what the route is for.
    fn refuses(&self, method: &str, path: &str, body: &Value) {
        let answer = self.call(method, path, body);
        assert_eq!(answer.status, 422, "{method} {path} {body}: {}", answer.body);
        let fields = answer.json()["error"]["details"]["fields"].take();
        assert_eq!(fields[0]["path"], "signedTransaction", "{method} {path}: {fields}");
    }

    /// Sends a transaction that would fail: it is not sent.
    fn would_fail(&self, path: &str, body: &Value, words: &str) {
        let answer = self.call("POST", path, body);
        assert_eq!(answer.status, 409, "{path} {body}: {}", answer.body);
        let error = answer.json()["error"].take();
        let message = text(&error["message"]);
        assert!(error["code"] == "CONFLICT" && message.starts_with("the call fails: "), "{path}: {error}");
        assert!(message.contains(words), "{path}: {error}");
    }

    fn rpc(&self, method: &str, params: &Value) -> Value {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = self.call("POST", "/v1/rpc", &call).json();
        assert!(answer["result"].is_object(), "{method} {params}: {answer}");
        answer["result"].clone()
    }

    fn chain(&self, shown: &Value) -> Chain<'_> {
        let (id, treasury) = (text(&shown["id"]).to_owned(), text(&shown["treasury"]).to_owned());
        Chain { world: self, id, chain_id: shown["chainId"].as_u64().unwrap(), treasury }
    }

    /// A chain of a block a second, and its four validators, whose operators' keys the test has.
    fn network(&self, consensus: &str) -> (Chain<'_>, Vec<KeyPair>) {
        let operators: Vec<_> = (0..4).map(|index| KeyPair::from_seed(21, &format!("{consensus} {index}"))).collect();
        let listed = operators.iter().map(|key| json!({ "address": key.address().to_string() })).collect::<Vec<_>>();
        let body = json!({
            "name": consensus, "consensus": consensus, "config": { "blockTime": "1s" }, "validators": listed,
        });
        (self.chain(&self.ok("POST", "/v1/blockchains", &body)), operators)
    }
}

impl Chain<'_> {
    fn path(&self, rest: &str) -> String {
        format!("/v1/blockchains/{}{rest}", self.id)
    }

    fn eth(&self, method: &str, params: &Value) -> Value {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = self.world.call("POST", &self.path("/eth"), &call).json();
        assert!(answer.get("error").is_none(), "{method} {params}: {answer}");
        answer["result"].clone()
    }

    /// The next nonce of an account.
    fn nonce(&self, key: &KeyPair) -> u64 {
        let count = self.eth("eth_getTransactionCount", &json!([key.address(), "pending"]));
        u64::from_str_radix(text(&count).trim_start_matches("0x"), 16).unwrap()
    }

    /// A transaction with the next nonce of a key, signed by it.
    fn signed(&self, key: &KeyPair, to: Option<Address>, value: U256, input: impl Into<Bytes>) -> String {
        self.signed_within(Gas::new(10_000_000), key, to, value, input)
    }

    /// As [`Chain::signed`], with so much gas.
    fn signed_within(
        &self,
        gas_limit: Gas,
        key: &KeyPair,
        to: Option<Address>,
        value: U256,
        input: impl Into<Bytes>,
    ) -> String {
        let request = TransactionRequest {
            chain_id: Some(self.chain_id),
            nonce: self.nonce(key),
            to,
            value,
            gas_limit,
            max_fee_per_gas: 100_000_000_000,
            max_priority_fee_per_gas: 1_000_000_000,
            input: input.into(),
            ..Default::default()
        };
        request.sign(key).unwrap().encoded().to_string()
    }

    fn call_of(&self, key: &KeyPair, to: Address, value: U256, call: &impl SolCall) -> String {
        self.signed(key, Some(to), value, call.abi_encode())
    }

    /// A payment, which is what no other route is for.
    fn payment(&self, key: &KeyPair) -> String {
        self.signed(key, Some(BOB), U256::from(1), Bytes::new())
    }

    /// The receipt of a transaction that a block has, with success, of this sender.
    fn done(&self, sender: Address, hash: &Value) -> Value {
        let receipt = until(&format!("a block has {hash}"), || {
            Some(self.eth("eth_getTransactionReceipt", &json!([hash]))).filter(Value::is_object)
        });
        assert_eq!((&receipt["status"], address(&receipt["from"])), (&json!("0x1"), sender), "{receipt}");
        receipt
    }

    /// Lets the treasury call a contract, or pay somebody, which the service signs.
    fn treasury_sends(&self, to: Address, value: U256, data: Vec<u8>) {
        let params = json!({
            "blockchainId": self.id, "contractAddress": to.to_string(), "value": value.to_string(),
            "data": Bytes::from(data).to_string(), "from": self.treasury,
        });
        let sent = self.world.rpc("contract.execute", &params);
        self.done(self.treasury.parse().unwrap(), &sent["transactionHash"]);
    }

    /// A key that the treasury has paid.
    fn funded(&self, name: &str, tokens: u64) -> KeyPair {
        let key = KeyPair::from_seed(22, name);
        self.treasury_sends(key.address(), ether(tokens), Vec::new());
        key
    }

    /// What an account has of a token.
    fn tokens_of(&self, token: &Value, account: Address) -> U256 {
        let data = Bytes::from(erc20::balanceOfCall { account }.abi_encode());
        amount(&self.eth("eth_call", &json!([{ "to": token, "data": data }, "latest"])))
    }

    /// What an account has of the native token.
    fn balance(&self, account: Address) -> U256 {
        amount(&self.world.get(&self.path(&format!("/accounts/{account}")))["balance"])
    }

    /// Path of the validator of an operator.
    fn validator(&self, operator: &KeyPair) -> String {
        let listed = self.world.get(&self.path("/validators?limit=100"));
        let name = operator.address().to_string();
        let found = listed.as_array().unwrap().iter().find(|one| one["address"] == name.as_str());
        format!("/v1/validators/{}", text(&found.unwrap_or_else(|| panic!("{name}: {listed}"))["id"]))
    }

    /// Waits until a validator has one of these states.
    fn until_status(&self, validator: &str, states: &[&str]) {
        until(&format!("{validator} is in {states:?}"), || {
            let found = self.world.get(validator)["status"].take();
            states.iter().any(|state| found == *state).then_some(())
        });
    }
}

fn signed_body(raw: String) -> Value {
    Value::from_iter([("signedTransaction", raw)])
}

/// `POST /v1/contracts/deploy`; returns the deployment.
fn contract_is_deployed(chain: &Chain<'_>, key: &KeyPair) -> Value {
    let (world, route, nonce) = (chain.world, "/v1/contracts/deploy", chain.nonce(key));
    let body = |raw: String| json!({ "blockchainId": chain.id, "signedTransaction": raw });
    world.refuses("POST", route, &body(chain.payment(key)));
    let code = Erc20Params::new("Gold", "GLD", U256::from(1_000), key.address()).init_code();
    let made = world.ok("POST", route, &body(chain.signed(key, None, U256::ZERO, code)));
    assert_eq!((&made["template"], &made["status"]), (&json!("erc20-token"), &json!("deployed")), "{made}");
    assert_eq!(
        (address(&made["from"]), address(&made["contractAddress"])),
        (key.address(), key.address().create(nonce))
    );
    chain.done(key.address(), &made["transactionHash"]);
    assert_eq!(chain.tokens_of(&made["contractAddress"], key.address()), U256::from(1_000));
    made
}

/// `POST /v1/contracts/:id/execute`, and `contract.execute` and `transaction.send` of `POST /v1/rpc`.
fn contract_is_executed(chain: &Chain<'_>, key: &KeyPair, deployment: &Value) {
    let (world, gold) = (chain.world, &deployment["contractAddress"]);
    let route = format!("/v1/contracts/{}/execute", text(&deployment["id"]));
    let give = |value: u64| {
        let call = erc20::transferCall { to: BOB, value: U256::from(value) };
        chain.call_of(key, address(gold), U256::ZERO, &call)
    };
    world.refuses("POST", &route, &signed_body(chain.payment(key)));
    let sent = world.ok("POST", &route, &signed_body(give(5)));
    assert_eq!((&sent["blockchainId"], &sent["status"]), (&json!(chain.id), &json!("success")), "{sent}");
    chain.done(key.address(), &sent["transactionHash"]);
    assert_eq!(chain.tokens_of(gold, BOB), U256::from(5));

    let nonce = chain.nonce(key);
    world.would_fail(&route, &signed_body(give(1_000)), "ERC20InsufficientBalance");
    let call = erc20::transferCall { to: BOB, value: U256::from(1) }.abi_encode();
    let starved = chain.signed_within(Gas::new(30_000), key, Some(address(gold)), U256::ZERO, call);
    world.would_fail(&route, &signed_body(starved), "gas");
    assert_eq!(chain.nonce(key), nonce, "neither was sent");

    let params = json!({ "blockchainId": chain.id, "contractAddress": gold, "signedTransaction": give(6) });
    let sent = world.rpc("contract.execute", &params);
    chain.done(key.address(), &sent["transactionHash"]);
    assert_eq!(chain.tokens_of(gold, BOB), U256::from(11));

    let before = chain.balance(BOB);
    let params = json!({ "blockchainId": chain.id, "signedTransaction": chain.payment(key) });
    let sent = world.rpc("transaction.send", &params);
    chain.done(key.address(), &sent["transactionHash"]);
    assert_eq!(chain.balance(BOB), before + U256::from(1));
}

/// `POST /v1/tokens` and `POST /v1/tokens/:id/transfers`.
fn token_is_made_and_given(chain: &Chain<'_>, key: &KeyPair) {
    let (world, nonce) = (chain.world, chain.nonce(key));
    let body = |raw: String| {
        json!({
            "blockchainId": chain.id, "standard": "ERC20", "name": "Silver", "symbol": "SLV", "signedTransaction": raw,
        })
    };
    world.refuses("POST", "/v1/tokens", &body(chain.signed(key, None, U256::ZERO, Batch::init_code())));
    let code = Erc20Params::new("Silver", "SLV", U256::from(500), key.address()).init_code();
    let made = world.ok("POST", "/v1/tokens", &body(chain.signed(key, None, U256::ZERO, code)));
    assert_eq!((&made["standard"], &made["totalSupply"]), (&json!("ERC20"), &json!("500")), "{made}");
    assert_eq!(
        (address(&made["from"]), address(&made["contractAddress"])),
        (key.address(), key.address().create(nonce))
    );
    chain.done(key.address(), &made["transactionHash"]);
    let silver = &made["contractAddress"];

    let route = format!("/v1/tokens/{}/transfers", text(&made["id"]));
    world.refuses("POST", &route, &signed_body(chain.payment(key)));
    let call = erc20::transferCall { to: BOB, value: U256::from(7) };
    let raw = chain.call_of(key, address(silver), U256::ZERO, &call);
    let sent = world.ok("POST", &route, &signed_body(raw));
    assert_eq!(sent["status"], "success", "{sent}");
    chain.done(key.address(), &sent["transactionHash"]);
    let held = [BOB, key.address()].map(|holder| chain.tokens_of(silver, holder));
    assert_eq!(held, [U256::from(7), U256::from(493)]);

    // Of all that is left: a second one would fail, the same one is known.
    let give_all = || {
        let call = erc20::transferCall { to: BOB, value: U256::from(493) };
        chain.call_of(key, address(silver), U256::ZERO, &call)
    };
    let all = signed_body(give_all());
    let sent = world.ok("POST", &route, &all);
    chain.done(key.address(), &sent["transactionHash"]);
    assert_eq!(world.ok("POST", &route, &all), sent);
    world.would_fail(&route, &signed_body(give_all()), "ERC20InsufficientBalance");
    assert_eq!(chain.tokens_of(silver, BOB), U256::from(500));
}

/// Signs the transaction that a plan tells.
fn planned(chain: &Chain<'_>, key: &KeyPair, plan: &Value) -> String {
    assert_eq!((address(&plan["from"]), &plan["nonce"]), (key.address(), &json!(chain.nonce(key))), "{plan}");
    let data: Bytes = text(&plan["data"]).parse().unwrap();
    chain.signed(key, Some(address(&plan["to"])), amount(&plan["value"]), data)
}

/// A call of the contract that runs a list of operations, with none.
fn unplanned(chain: &Chain<'_>, key: &KeyPair) -> String {
    let call = chainbox::templates::batch::interface::Batch::executeCall { operations: Vec::new() };
    chain.call_of(key, BATCH_ADDRESS, U256::ZERO, &call)
}

/// `POST /v1/dapps`, as `POST /v1/dapps/plan` tells it.
fn dapp_is_made(chain: &Chain<'_>, key: &KeyPair) {
    let world = chain.world;
    let components = json!([
        { "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "1000" } },
        { "type": "staking", "config": { "stakingToken": "GLD", "rewardRate": "10", "lockPeriod": "30d" } },
    ]);
    let mut plan = json!({ "blockchainId": chain.id, "components": components });
    plan["from"] = key.address().to_string().into();
    let plan = world.ok("POST", "/v1/dapps/plan", &plan);
    let body = |raw: String| json!({ "name": "Shop", "blockchainId": chain.id, "components": components, "signedTransaction": raw });
    world.refuses("POST", "/v1/dapps", &body(unplanned(chain, key)));
    let made = world.ok("POST", "/v1/dapps", &body(planned(chain, key, &plan)));
    assert_eq!((&made["status"], address(&made["from"])), (&json!("deployed"), key.address()), "{made}");
    chain.done(key.address(), &made["transactionHash"]);
    for index in 0..2_usize {
        assert_eq!(made["components"][index]["address"], plan["components"][index]["address"], "{made}");
    }
    assert!(!chain.tokens_of(&made["components"][0]["address"], key.address()).is_zero());
}

/// `POST /v1/workspaces/:id/projects`, as `POST /v1/workspaces/:id/projects/plan` tells it.
fn project_is_made(chain: &Chain<'_>, key: &KeyPair) {
    let (world, all) = (chain.world, "/v1/workspaces/ws_default/projects");
    let project = json!({
        "name": "Gold rush", "type": "defi", "template": "staking", "config": { "blockchain": chain.id },
    });
    let mut plan = project.clone();
    plan["from"] = key.address().to_string().into();
    let plan = world.ok("POST", &format!("{all}/plan"), &plan);
    let body = |raw: String| {
        let mut body = project.clone();
        body["signedTransaction"] = raw.into();
        body
    };
    world.refuses("POST", all, &body(unplanned(chain, key)));
    let mut renamed = body(planned(chain, key, &plan));
    renamed["name"] = "Silver rush".into();
    world.refuses("POST", all, &renamed);
    let mut elsewhere = body(planned(chain, key, &plan));
    elsewhere["config"]["blockchain"] = "proof-of-authority".into();
    world.refuses("POST", all, &elsewhere);
    assert_eq!(world.get(all), json!([]));

    let made = world.ok("POST", all, &body(planned(chain, key, &plan)));
    assert_eq!((&made["status"], &made["contracts"]), (&json!("active"), &plan["contracts"]), "{made}");
    assert_eq!((&made["blockchainId"], &made["network"]), (&json!(chain.id), &Value::Null), "{made}");
    chain.done(key.address(), &made["transactionHash"]);
    let token = made["contracts"].as_array().unwrap().iter().find(|one| one["name"] == "token").unwrap();
    assert_eq!(chain.tokens_of(&token["address"], key.address()), ether(1_000_000));
}

/// `POST /v1/blockchains/:id/validators` on a chain with stake.
fn operator_joins(chain: &Chain<'_>) {
    let (world, route) = (chain.world, chain.path("/validators"));
    let (operator, sealing) = (chain.funded("operator", 40), KeyPair::from_seed(22, "sealing key"));
    let body = |raw: String| json!({ "address": operator.address().to_string(), "signedTransaction": raw });
    let no_join = chain.call_of(&operator, STAKING_ADDRESS, ether(1), &stake::stakeCall {});
    world.refuses("POST", &route, &body(no_join));
    let join = stake::joinWithKeyCall {
        commissionBps: 500,
        maxCommissionBps: 10_000,
        maxCommissionChangeBps: 10_000,
        sealingKey: sealing.address(),
        proof: staking::prove_sealing_key(chain.chain_id, operator.address(), &sealing),
    };
    // Too little to be missed where its replica is nowhere.
    let raw = chain.call_of(&operator, STAKING_ADDRESS, ether(2), &join);
    let made = world.ok("POST", &route, &body(raw));
    assert_eq!((&made["status"], &made["process"]), (&json!("joining"), &json!("elsewhere")), "{made}");
    assert_eq!(address(&made["sealingAddress"]), sealing.address());
    chain.done(operator.address(), &made["transactionHash"]);
    assert_eq!(amount(&world.get(&chain.validator(&operator))["selfStake"]), ether(2));
}

/// `PUT /v1/validators/:id/stake`.
fn operator_stakes(chain: &Chain<'_>, operator: &KeyPair, other: &KeyPair) {
    let (world, validator) = (chain.world, chain.validator(operator));
    let more = |key: &KeyPair| signed_body(chain.call_of(key, STAKING_ADDRESS, ether(2), &stake::stakeCall {}));
    let route = format!("{validator}/stake");
    world.refuses("PUT", &route, &more(other));
    let before = amount(&world.get(&validator)["selfStake"]);
    let sent = world.ok("PUT", &route, &more(operator));
    chain.done(operator.address(), &sent["transactionHash"]);
    // But for the penalties of who votes too late.
    assert!(amount(&world.get(&validator)["selfStake"]) > before + ether(1), "{sent}");
}

/// `POST /v1/validators/:id/delegations` and `/undelegations`.
fn stake_is_delegated_and_taken_back(chain: &Chain<'_>, operator: &KeyPair, other: &KeyPair) {
    let (world, validator, key) = (chain.world, chain.validator(operator), chain.funded("delegator", 10));
    let delegated = |to: &KeyPair| {
        let call = stake::delegateCall { validator: to.address() };
        signed_body(chain.call_of(&key, STAKING_ADDRESS, ether(3), &call))
    };
    let taken_back = |from: &KeyPair| {
        let call = stake::undelegateCall { validator: from.address(), amount: ether(2) };
        signed_body(chain.call_of(&key, STAKING_ADDRESS, U256::ZERO, &call))
    };
    let held = || {
        let listed = world.get(&format!("{validator}/delegations"));
        let name = key.address().to_string();
        let found = listed.as_array().unwrap().iter().find(|one| one["delegator"] == name.as_str());
        amount(&found.unwrap_or_else(|| panic!("{name}: {listed}"))["amount"])
    };
    let route = format!("{validator}/delegations");
    world.refuses("POST", &route, &delegated(other));
    let sent = world.ok("POST", &route, &delegated(operator));
    chain.done(key.address(), &sent["transactionHash"]);
    assert!(held() > ether(2) && held() <= ether(3), "{}", held());

    let route = format!("{validator}/undelegations");
    world.refuses("POST", &route, &taken_back(other));
    world.refuses("POST", &route, &delegated(operator));
    let sent = world.ok("POST", &route, &taken_back(operator));
    chain.done(key.address(), &sent["transactionHash"]);
    assert!(!held().is_zero() && held() < ether(2), "{}", held());
}

/// `POST /v1/validators/:id/rewards/claim`.
fn rewards_are_claimed(chain: &Chain<'_>, operators: &[KeyPair]) {
    let world = chain.world;
    let (operator, validator) = until("an operator has rewards", || {
        operators.iter().find_map(|key| {
            let validator = chain.validator(key);
            (amount(&world.get(&validator)["rewards"]) > U256::ZERO).then_some((key, validator))
        })
    });
    let other = operators.iter().find(|key| key.address() != operator.address()).unwrap();
    let claim = |key: &KeyPair| {
        let call = stake::claimRewardsCall { validator: key.address() };
        signed_body(chain.call_of(operator, STAKING_ADDRESS, U256::ZERO, &call))
    };
    let route = format!("{validator}/rewards/claim");
    world.refuses("POST", &route, &claim(other));
    let sent = world.ok("POST", &route, &claim(operator));
    assert_eq!(sent["transactionHashes"].as_array().map(Vec::len), Some(1), "{sent}");
    let receipt = chain.done(operator.address(), &sent["transactionHashes"][0]);
    let claimed = stake::RewardsClaimed::SIGNATURE_HASH.to_string();
    let logs = receipt["logs"].as_array().unwrap();
    assert!(logs.iter().any(|log| log["topics"][0] == claimed.as_str()), "{receipt}");
}

/// `POST /v1/validators/:id/unjail`. Nobody is in jail, which would take hours: the chain refuses the right transaction, and the route no
/// other. That it lets one out is shown by `network_validators`, in a time that the test moves.
fn nobody_is_unjailed(chain: &Chain<'_>, operator: &KeyPair, other: &KeyPair) {
    let (world, route) = (chain.world, format!("{}/unjail", chain.validator(operator)));
    let unjail = |key: &KeyPair| signed_body(chain.call_of(key, STAKING_ADDRESS, U256::ZERO, &stake::unjailCall {}));
    world.refuses("POST", &route, &unjail(other));
    let refused = world.call("POST", &route, &unjail(operator));
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert!(refused.body.contains("the chain refuses it"), "{}", refused.body);
}

/// `POST /v1/governance/proposals` and `POST /v1/governance/proposals/:id/vote`.
fn operator_proposes_and_votes(chain: &Chain<'_>, operator: &KeyPair) {
    let (world, all) = (chain.world, "/v1/governance/proposals");
    let vote = |number: u64| {
        let (id, weight, reason) = (U256::from(number), U256::ZERO, "as agreed".to_owned());
        let call = governance::voteCall { id, option: 1, weight, reason };
        chain.call_of(operator, GOVERNANCE_ADDRESS, U256::ZERO, &call)
    };
    let body = |raw: String| json!({ "blockchainId": chain.id, "signedTransaction": raw });
    world.refuses("POST", all, &body(vote(1)));
    let terms = governance::Terms { title: "A note".to_owned(), votingPeriodSecs: 3_600, ..Default::default() };
    let propose = governance::proposeTextCall { terms };
    let raw = chain.call_of(operator, GOVERNANCE_ADDRESS, U256::ZERO, &propose);
    let made = world.ok("POST", all, &body(raw));
    assert_eq!((&made["type"], &made["title"]), (&json!("text"), &json!("A note")), "{made}");
    assert_eq!(address(&made["proposer"]), operator.address());
    chain.done(operator.address(), &made["transactionHash"]);

    let path = format!("{all}/{}", text(&made["id"]));
    let active = until("the proposal is active", || Some(world.get(&path)).filter(|one| one["status"] == "active"));
    let (number, route) = (active["number"].as_u64().unwrap(), format!("{path}/vote"));
    world.refuses("POST", &route, &signed_body(vote(number + 1)));
    let sent = world.ok("POST", &route, &signed_body(vote(number)));
    assert_eq!((address(&sent["voter"]), &sent["vote"]), (operator.address(), &Value::Null), "{sent}");
    chain.done(operator.address(), &sent["transactionHash"]);
    let votes = world.get(&format!("{path}/votes"));
    assert_eq!((&votes[0]["voter"], &votes[0]["vote"]), (&sent["voter"], &json!("yes")), "{votes}");
    assert_eq!((&votes[0]["reason"], &votes[0]["transactionHash"]), (&json!("as agreed"), &sent["transactionHash"]));
}

/// `DELETE /v1/validators/:id` on a chain with stake.
fn operator_leaves(chain: &Chain<'_>, operator: &KeyPair, other: &KeyPair) {
    let (world, validator) = (chain.world, chain.validator(operator));
    let leaving = |key: &KeyPair| {
        let raw = chain.call_of(key, STAKING_ADDRESS, U256::ZERO, &stake::exitCall {});
        format!("{validator}?signedTransaction={raw}")
    };
    world.refuses("DELETE", &leaving(other), &Value::Null);
    let sent = world.ok("DELETE", &leaving(operator), &Value::Null);
    chain.done(operator.address(), &sent["transactionHash"]);
    chain.until_status(&validator, &OUT);
}

/// Lets the treasury hand the validators' contract over to a key of the test.
fn administrator(chain: &Chain<'_>) -> KeyPair {
    let key = chain.funded("administrator", 10);
    let hand_over = registry::transferOwnershipCall { newOwner: key.address() };
    chain.treasury_sends(VALIDATORS_ADDRESS, U256::ZERO, hand_over.abi_encode());
    let raw = chain.call_of(&key, VALIDATORS_ADDRESS, U256::ZERO, &registry::acceptOwnershipCall {});
    let params = json!({ "blockchainId": chain.id, "signedTransaction": raw });
    let sent = chain.world.rpc("transaction.send", &params);
    chain.done(key.address(), &sent["transactionHash"]);
    key
}

/// `POST /v1/blockchains/:id/validators`, `POST /v1/validators/:id/slash` and `DELETE /v1/validators/:id` on a chain without stake.
fn administrator_adds_slashes_and_removes(chain: &Chain<'_>, operators: &[KeyPair]) {
    let (world, all, key) = (chain.world, chain.path("/validators"), administrator(chain));
    let signed = |call: Vec<u8>| chain.signed(&key, Some(VALIDATORS_ADDRESS), U256::ZERO, call);
    let (operator, sealing) = (KeyPair::from_seed(22, "fifth"), KeyPair::from_seed(22, "its sealing key"));
    let add = |operator: &KeyPair| {
        let proof = validators::prove_sealing_key(chain.chain_id, operator.address(), &sealing);
        let (validator, sealing_key) = (operator.address(), sealing.address());
        registry::addValidatorCall { validator, sealingKey: sealing_key, weight: 1, proof }.abi_encode()
    };
    let body = |raw: String| json!({ "address": operator.address().to_string(), "signedTransaction": raw });
    world.refuses("POST", &all, &body(signed(add(&sealing))));
    let made = world.ok("POST", &all, &body(signed(add(&operator))));
    assert_eq!((&made["status"], &made["process"]), (&json!("joining"), &json!("elsewhere")), "{made}");
    chain.done(key.address(), &made["transactionHash"]);
    let validator = chain.validator(&operator);
    chain.until_status(&validator, &["active"]);

    let slash = |validator: Address| {
        registry::slashCall { validator, partPpm: 1_000_000, reason: "it was away".to_owned() }.abi_encode()
    };
    let body = |raw: String| json!({ "reason": "it was away", "signedTransaction": raw });
    let route = format!("{validator}/slash");
    world.refuses("POST", &route, &body(signed(slash(operators[0].address()))));
    let sent = world.ok("POST", &route, &body(signed(slash(operator.address()))));
    assert_eq!(sent["authority"], "validators-administrator", "{sent}");
    chain.done(key.address(), &sent["transactionHash"]);
    chain.until_status(&validator, &["removed"]);

    let (operator, validator) = (operators[3].address(), chain.validator(&operators[3]));
    let leaving = |weight: u64| {
        let raw = signed(registry::setValidatorCall { validator: operator, weight }.abi_encode());
        format!("{validator}?signedTransaction={raw}")
    };
    world.refuses("DELETE", &leaving(2), &Value::Null);
    let sent = world.ok("DELETE", &leaving(0), &Value::Null);
    chain.done(key.address(), &sent["transactionHash"]);
    chain.until_status(&validator, &["removed"]);
}

/// Operations with a sender that send nothing.
const READ_ONLY: [&str; 3] = ["callContract", "planDapp", "planProject"];

/// By the document: who may say that the service signs for an account may sign himself.
#[test]
fn every_operation_with_a_sender_takes_a_signed_transaction() {
    let document: Value = serde_json::from_str(&openapi_json()).unwrap();
    let items = document["paths"].as_object().unwrap().values();
    let (mut sending, mut reading) = (0, Vec::new());
    for operation in items.flat_map(|item| item.as_object().unwrap().values()) {
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let named = schema["$ref"].as_str().and_then(|name| document.pointer(name.trim_start_matches('#')));
        let fields = &named.unwrap_or(schema)["properties"];
        let (name, is_signed) = (text(&operation["operationId"]), fields["signedTransaction"].is_object());
        if fields["from"].is_null() {
            continue;
        }
        if READ_ONLY.contains(&name) {
            reading.push(name);
            assert!(!is_signed, "{name} sends");
        } else {
            sending += 1;
            assert!(is_signed, "{name} has a sender and takes no signedTransaction");
        }
    }
    reading.sort_unstable();
    assert_eq!(reading, READ_ONLY);
    assert!(sending >= 12, "{sending}");
}

#[test]
fn every_route_that_signs_takes_what_the_caller_has_signed() {
    let world = World::start();
    let (staked, stakers) = world.network("proof-of-stake");
    let (plain, operators) = world.network("proof-of-authority");

    let default = world.chain(&world.get("/v1/blockchains/bc_default"));
    let key = default.funded("somebody", 100);
    let deployment = contract_is_deployed(&default, &key);
    contract_is_executed(&default, &key, &deployment);
    token_is_made_and_given(&default, &key);
    dapp_is_made(&default, &key);
    project_is_made(&default, &key);

    for key in &stakers {
        staked.treasury_sends(key.address(), ether(10), Vec::new());
    }
    operator_joins(&staked);
    operator_stakes(&staked, &stakers[0], &stakers[1]);
    stake_is_delegated_and_taken_back(&staked, &stakers[0], &stakers[1]);
    rewards_are_claimed(&staked, &stakers[..3]);
    nobody_is_unjailed(&staked, &stakers[0], &stakers[1]);
    operator_proposes_and_votes(&staked, &stakers[1]);
    operator_leaves(&staked, &stakers[3], &stakers[2]);

    administrator_adds_slashes_and_removes(&plain, &operators);
}
