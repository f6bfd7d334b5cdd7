//! Validators and governance by routes alone, on each protocol: networks in real time, by a clock that the test moves.
//!
//! No test waits: a second of the chain's time takes as long as its blocks need.

use core::time::Duration;
use std::sync::Arc;

use alloy_sol_types::SolCall;
use chainbox::{
    chain::{Block, CallRequest},
    consensus::{Authenticator, BlockId, dpos, pbft, pos, raft},
    node::{BlockRef, Clock, ManualClock},
    platform::Blockchain,
    primitives::{Address, B256, Bytes, Gas, Height, KeyPair, Timestamp, U256},
    system::{
        governance::{GOVERNANCE_ADDRESS, interface as governance},
        staking,
    },
};
use serde_json::{Value, json};

use crate::{
    http::{Reply, Service},
    metrics::figures_that_agree,
};

pub(crate) const START: Timestamp = Timestamp::from_secs(1_750_000_000);
/// Validators of genesis.
const COUNT: usize = 4;

/// A service with one chain of four validators, whose operators' keys the test has.
pub(crate) struct World {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) service: Service,
    pub(crate) operators: Vec<KeyPair>,
    pub(crate) chain: Arc<Blockchain>,
}

impl World {
    pub(crate) async fn new(consensus: &str) -> Self {
        Self::with(consensus, Self::four()).await
    }

    pub(crate) fn four() -> Vec<KeyPair> {
        let mut operators: Vec<_> =
            (0..COUNT).map(|index| KeyPair::from_seed(7, &format!("operator {index}"))).collect();
        // As the list of validators is sorted.
        operators.sort_by_key(KeyPair::address);
        operators
    }

    /// Without operators the one validator is the treasury's.
    pub(crate) async fn with(consensus: &str, operators: Vec<KeyPair>) -> Self {
        Self::configured(consensus, operators, json!({ "blockTime": "1s" })).await
    }

    pub(crate) async fn configured(consensus: &str, operators: Vec<KeyPair>, config: Value) -> Self {
        let clock = Arc::new(ManualClock::new(START));
        let service = Service::timed(clock.clone()).await;
        let listed = operators.iter().map(|key| json!({ "address": key.address().to_string() }));
        let body = json!({
            "name": consensus, "consensus": consensus, "config": config,
            "validators": listed.collect::<Vec<_>>(),
        });
        let made = service.rest("POST", "/v1/blockchains", body).await;
        assert_eq!(made.status, 201, "{}", made.body);
        let chain = service.platform.running_blockchain(made.json()["data"]["id"].as_str().unwrap()).unwrap();
        Self { clock, service, operators, chain }
    }

    /// Lets time pass, and the network run in it as a punctual pool would let it.
    pub(crate) fn run(&self, secs: u64) {
        let network = self.chain.network().unwrap();
        let end = self.clock.now_ms() + secs * 1000;
        while let Some(wake) = network.next_wake().map(|at| u64::try_from(at.as_millis()).unwrap()) {
            let wake = wake.max(self.clock.now_ms());
            if wake > end {
                break;
            }
            self.clock.advance_to(Duration::from_millis(wake));
            network.advance(Duration::from_millis(wake)).unwrap();
        }
        self.clock.advance_to(Duration::from_millis(end));
        network.advance(Duration::from_millis(end)).unwrap();
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: Value) -> Reply {
        self.service.rest(method, path, body).await
    }

    pub(crate) async fn ok(&self, method: &str, path: &str, body: Value) -> Value {
        let reply = self.call(method, path, body).await;
        assert!(matches!(reply.status, 200 | 201), "{method} {path}: {}", reply.body);
        reply.json()["data"].clone()
    }

    pub(crate) async fn conflict(&self, method: &str, path: &str, body: Value) -> String {
        let reply = self.call(method, path, body).await;
        assert_eq!(reply.status, 409, "{method} {path}: {}", reply.body);
        reply.json()["error"]["message"].as_str().unwrap().to_owned()
    }

    /// What the protocol lacks is 409 with a code of its own.
    pub(crate) async fn unsupported(&self, method: &str, path: &str, body: Value) -> String {
        let reply = self.call(method, path, body).await;
        let error = &reply.json()["error"];
        assert_eq!(
            (reply.status, &error["code"]),
            (409, &json!("UNSUPPORTED_BY_CONSENSUS")),
            "{method} {path}: {error}"
        );
        error["message"].as_str().unwrap().to_owned()
    }

    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/v1/blockchains/{}{rest}", self.chain.id())
    }

    pub(crate) async fn validator(&self, id: &str) -> Value {
        self.ok("GET", &format!("/v1/validators/{id}"), Value::Null).await
    }

    pub(crate) async fn status(&self, id: &str) -> Value {
        self.ok("GET", &format!("/v1/validators/{id}/status"), Value::Null).await
    }

    /// Runs until a validator has a state.
    pub(crate) async fn until(&self, id: &str, states: &[&str]) -> Value {
        for _ in 0..60 {
            let found = self.validator(id).await;
            if states.iter().any(|state| found["status"] == *state) {
                return found;
            }
            self.run(10);
        }
        panic!("{id} never came to {states:?}: {}", self.validator(id).await);
    }

    /// A call of the governance contract, signed by an operator.
    pub(crate) fn signed(&self, operator: usize, call: &impl SolCall) -> String {
        let key = &self.operators[operator];
        let request = CallRequest::call(GOVERNANCE_ADDRESS, call.abi_encode()).with_from(key.address());
        let unsigned = self.chain.node().unsigned(request).unwrap();
        unsigned.sign(key).unwrap().encoded().to_string()
    }

    /// Proposes something that the treasury, the one validator, votes through.
    pub(crate) async fn voted_through(&self, kind: &str, changes: Value) -> Value {
        let body = json!({
            "blockchainId": self.chain.id(), "title": kind, "type": kind, "changes": changes, "votingPeriod": "10s",
        });
        let made = self.ok("POST", "/v1/governance/proposals", body).await;
        assert_eq!((&made["type"], &made["status"]), (&json!(kind), &json!("pending")), "{made}");
        let path = format!("/v1/governance/proposals/{}", made["id"].as_str().unwrap());
        self.run(3);
        self.ok("POST", &format!("{path}/vote"), json!({ "vote": "yes" })).await;
        self.ended(&path).await
    }

    /// Submits a proposal for which three of four operators vote, so that it is executed.
    pub(crate) async fn carried(&self, kind: &str, mut body: Value) {
        body["blockchainId"] = json!(self.chain.id());
        let made = self.ok("POST", "/v1/governance/proposals", body).await;
        assert_eq!((&made["type"], &made["status"]), (&json!(kind), &json!("pending")), "{made}");
        let path = format!("/v1/governance/proposals/{}", made["id"].as_str().unwrap());
        self.run(4);
        let number = self.ok("GET", &path, Value::Null).await["number"].as_u64().unwrap();
        for operator in 0..3 {
            let (id, weight) = (U256::from(number), U256::ZERO);
            let call = governance::voteCall { id, option: 1, weight, reason: String::new() };
            let body = json!({ "signedTransaction": self.signed(operator, &call) });
            self.ok("POST", &format!("{path}/vote"), body).await;
        }
        let ended = self.ended(&path).await;
        assert_eq!(ended["status"], "executed", "{ended}");
    }

    /// Runs until a proposal is not open any more.
    pub(crate) async fn ended(&self, path: &str) -> Value {
        for _ in 0..10 {
            self.run(5);
            let found = self.ok("GET", path, Value::Null).await;
            if found["status"] != "active" {
                return found;
            }
        }
        panic!("{path} never ended");
    }

    pub(crate) fn height(&self) -> u64 {
        self.chain.node().view().head().height().get()
    }

    pub(crate) fn block_time(&self, height: u64) -> u64 {
        self.block(height).header().timestamp - self.block(height - 1).header().timestamp
    }

    pub(crate) fn block(&self, height: u64) -> Arc<Block> {
        block_at(&self.chain, height)
    }

    /// What a validator of genesis had to do in the newest blocks, and what it missed.
    fn duties(&self, consensus: &str, key: Address, blocks: u64) -> (u64, u64) {
        let view = self.chain.node().view();
        let mut keys: Vec<Address> = view.chain().spec().validators.iter().map(|validator| validator.address).collect();
        keys.sort_unstable();
        duties_in(&self.chain, consensus, (self.height(), blocks), (&keys, key))
    }

    /// The duties of all validators in a block, and those done, counted by the test itself. `members` are those of PBFT's committee.
    fn duties_of_block(&self, consensus: &str, height: u64, members: u64) -> (u64, u64) {
        let (block, parent) = (self.block(height), self.block(height - 1));
        let absent = absent_in(consensus, &block).len() as u64;
        match consensus {
            "proof-of-authority" => (1, u64::from(block.header().difficulty == U256::from(2))),
            "proof-of-stake" if height > 1 => {
                let slot = |block: &Block| pos::Payload::decode(block.protocol_payload()).unwrap().slot;
                (slot(&block) - slot(&parent), 1)
            }
            "delegated-proof-of-stake" if height > 1 => (1 + absent, 1),
            "pbft" => (members, members - absent),
            "raft" if height > 1 => {
                let term = |block: &Block| raft::Payload::decode(block.protocol_payload()).unwrap().term;
                (1 + term(&block) - term(&parent), 1)
            }
            _ => (1, 1),
        }
    }

    /// The route of metrics and `/metrics` say of the last 100 blocks what those blocks say.
    async fn figures_are_those_of_the_blocks(&self, consensus: &str) {
        let figures = figures_that_agree(&self.service, self.chain.id()).await;
        let head = self.height();
        let first = head.saturating_sub(100).max(1);
        let time = |height| self.block(height).header().timestamp;
        let secs = (time(head) - time(first)) as f64;
        let (mut all, mut in_window, mut prices, mut duties, mut done) = (0, 0, 0, 0, 0);
        let mut members = COUNT as u64;
        for height in 1..=head {
            let block = self.block(height);
            let count = block.transactions().len() as u64;
            all += count;
            // While the window begins with the chain, its first block counts.
            if height > first || first == 1 {
                in_window += count;
                let base_fee = block.base_fee().unwrap_or(0);
                prices += block.transactions().iter().map(|one| one.effective_gas_price(base_fee)).sum::<u128>();
                let (had, did) = self.duties_of_block(consensus, height, members);
                (duties, done) = (duties + had, done + did);
            }
            if consensus == "pbft" {
                let next = pbft::Payload::decode(block.protocol_payload()).unwrap().successor;
                members = next.map_or(members, |set| set.len() as u64);
            }
        }
        assert_eq!((&figures["currentBlock"], &figures["totalTransactions"]), (&json!(head), &json!(all)));
        assert_eq!(figures["blockTime"], json!(secs / (head - first) as f64), "{figures}");
        assert_eq!(figures["transactionsPerSecond"], json!(in_window as f64 / secs), "{figures}");
        assert_eq!(figures["validatorUptime"], json!(100.0 * done as f64 / duties as f64), "{consensus}: {figures}");
        if let Some(price) = prices.checked_div(u128::from(in_window)) {
            let gwei: f64 = figures["averageGasPrice"].as_str().unwrap().trim_end_matches(" gwei").parse().unwrap();
            assert_eq!((gwei * 1e9).round(), price as f64, "{figures}");
        }
        let validators = self.ok("GET", &self.path("/validators?limit=100"), Value::Null).await;
        let active = validators.as_array().unwrap().iter().filter(|one| one["validates"] == true).count();
        assert_eq!(figures["activeValidators"], json!(active), "{validators}");
    }
}

fn block_at(chain: &Blockchain, height: u64) -> Arc<Block> {
    chain.node().view().block(BlockRef::Number(Height::new(height))).unwrap().block().clone()
}

/// Whom a block reports as absent.
fn absent_in(consensus: &str, block: &Block) -> Vec<Address> {
    let payload = block.protocol_payload();
    match consensus {
        "proof-of-stake" => pos::Payload::decode(payload).unwrap().absent,
        "delegated-proof-of-stake" => dpos::Payload::decode(payload).unwrap().absent,
        "pbft" => pbft::Payload::decode(payload).unwrap().absent,
        _ => Vec::new(),
    }
}

/// What the validator with a key had to do in as many blocks, of which the newest has this height, and what it missed: counted by the tests
/// themselves. `signers` are the keys of all that validate, ascending.
pub(crate) fn duties_in(
    chain: &Blockchain,
    consensus: &str,
    (newest, blocks): (u64, u64),
    (signers, key): (&[Address], Address),
) -> (u64, u64) {
    let mut found = (0, 0);
    for height in newest + 1 - blocks..=newest {
        let block = block_at(chain, height);
        let is_own = block.header().beneficiary == key;
        let is_turn = signers[(height % signers.len() as u64) as usize] == key;
        let is_missed = match consensus {
            "proof-of-authority" => is_turn && !is_own,
            _ => absent_in(consensus, &block).contains(&key),
        };
        let has_duty = match consensus {
            "proof-of-authority" => is_turn,
            "pbft" => true,
            "raft" => false,
            _ => is_own || is_missed,
        };
        found = (found.0 + u64::from(has_duty), found.1 + u64::from(is_missed));
    }
    found
}

/// The whole life of validators and a proposal.
async fn lives(consensus: &str) {
    let world = World::new(consensus).await;
    let has_stake = consensus.ends_with("stake");
    world.run(5);
    let listed = world.ok("GET", &world.path("/validators"), Value::Null).await;
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), COUNT, "{listed:?}");
    assert!(listed.iter().all(|one| one["status"] == "active" && one["process"] == "up"), "{listed:?}");
    assert_eq!(listed[0]["stake"].is_null(), !has_stake);
    let ids: Vec<String> = listed.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect();

    if ["pbft", "raft"].contains(&consensus) {
        leader_changes(&world, &ids).await;
    }
    stopped_and_started(&world, consensus, &ids[3]).await;
    let new = added(&world, has_stake, consensus).await;
    staked(&world, has_stake, &new, &ids).await;
    slashed_and_removed(&world, has_stake, consensus, &new, &ids).await;
    block_time_changed(&world, has_stake, &ids[3]).await;
    if has_stake {
        voted_out(&world, &ids[3]).await;
    }
    resources_are_those_of_the_chain(&world).await;
    world.figures_are_those_of_the_blocks(consensus).await;
}

/// The list of all resources has what is on the chain, as the chain's own lists tell it.
async fn resources_are_those_of_the_chain(world: &World) {
    for (kind, list, name) in
        [("validator", "/validators?limit=100", "name"), ("proposal", "/proposals?limit=100", "title")]
    {
        let own = world.ok("GET", &world.path(list), Value::Null).await;
        let mut all = world.ok("GET", &format!("/v1/resources?type={kind}&limit=100"), Value::Null).await;
        all.as_array_mut().unwrap().retain(|one| one["blockchainId"] == *world.chain.id());
        let shown = |list: &Value, name: &str| {
            let of =
                |one: &Value| [&one["id"], &one[name], &one["status"]].map(|field| field.as_str().unwrap().to_owned());
            let mut shown: Vec<[String; 3]> = list.as_array().unwrap().iter().map(of).collect();
            shown.sort();
            shown
        };
        assert!(!own.as_array().unwrap().is_empty(), "{kind}");
        assert_eq!(shown(&all, "name"), shown(&own, name));
    }
}

/// The leader is stopped: the others choose another one in a later round, and all routes say so.
async fn leader_changes(world: &World, ids: &[String]) {
    let path = |id: &str| format!("/v1/validators/{id}");
    let mut shown = Vec::new();
    for id in ids {
        shown.push(world.ok("GET", &path(id), Value::Null).await);
    }
    let leader = shown.iter().find(|one| one["round"]["role"] == "leads").expect("one leads").clone();
    let led = leader["round"]["number"].as_u64().unwrap();
    assert_eq!(leader["round"]["leader"], leader["sealingAddress"], "{leader}");
    let down = world.ok("POST", &format!("{}/stop", path(leader["id"].as_str().unwrap())), Value::Null).await;
    assert!(down["round"].is_null(), "{down}");
    world.run(60);
    let mut leaders = 0;
    for id in ids.iter().filter(|id| leader["id"] != id.as_str()) {
        let round = world.ok("GET", &path(id), Value::Null).await["round"].clone();
        assert!(round["number"].as_u64().unwrap() > led, "{round}");
        leaders += usize::from(round["role"] == "leads");
    }
    assert_eq!(leaders, 1);
    world.ok("POST", &format!("{}/start", path(leader["id"].as_str().unwrap())), Value::Null).await;
    world.run(20);
}

/// One validator is down for a while, and the blocks say so.
async fn stopped_and_started(world: &World, consensus: &str, id: &str) {
    let path = |rest: &str| format!("/v1/validators/{id}{rest}");
    let down = world.ok("POST", &path("/stop"), Value::Null).await;
    assert_eq!(down["process"], "down");
    assert!(world.conflict("POST", &path("/stop"), Value::Null).await.contains("stopped already"));
    let before = world.height();
    // Two epochs of proof of stake, for a vote is missing only once it can't come any more.
    world.run(if consensus == "proof-of-stake" { 110 } else { 30 });
    assert!(world.height() > before + 8, "the others go on: {} after {before}", world.height());
    let status = world.status(id).await;
    assert_eq!(status["process"], "down");
    assert!(status["currentBlock"].as_u64().unwrap() <= before + 1, "{status}");
    let key: Address = down["sealingAddress"].as_str().unwrap().parse().unwrap();
    let (duties, missed) = world.duties(consensus, key, status["windowBlocks"].as_u64().unwrap());
    assert_eq!(status["missedBlocks"], missed, "{status}");
    if consensus == "raft" {
        assert!(status["uptime"].is_null(), "{status}");
    } else {
        assert_eq!(status["uptime"], json!(100.0 * (duties - missed) as f64 / duties as f64), "{status}");
        assert!(missed > 0, "{status}");
    }
    world.figures_are_those_of_the_blocks(consensus).await;
    assert_eq!(world.ok("POST", &path("/start"), Value::Null).await["process"], "up");
    assert!(world.conflict("POST", &path("/start"), Value::Null).await.contains("not stopped"));
    world.run(20);
    let status = world.status(id).await;
    assert!(status["currentBlock"].as_u64().unwrap() + 2 >= world.height(), "it has caught up: {status}");
}

/// A validator joins, with a key that the service drew, and seals.
async fn added(world: &World, has_stake: bool, consensus: &str) -> String {
    let treasury = world.chain.treasury().unwrap().to_string();
    let stranger = "0x5555555555555555555555555555555555555555";
    let operator = if has_stake { treasury.as_str() } else { stranger };
    let all = world.path("/validators");
    if has_stake {
        let refused = world.conflict("POST", &all, json!({ "address": stranger })).await;
        assert!(refused.contains("JoinConsent"), "{refused}");
    }
    let body = json!({
        "address": operator, "name": "five", "stake": "32000000000000000000", "commission": 5, "metadata": { "location": "Bern" },
    });
    let made = world.ok("POST", &all, body.clone()).await;
    assert_eq!((&made["name"], &made["metadata"]["location"]), (&json!("five"), &json!("Bern")));
    assert_eq!((&made["status"], &made["process"]), (&json!("joining"), &json!("up")), "{made}");
    let id = made["id"].as_str().unwrap().to_owned();
    let active = world.until(&id, &["active"]).await;
    assert_eq!(active["commission"].as_f64(), has_stake.then_some(5.0), "{active}");
    let again = world.conflict("POST", &all, body).await;
    assert!(again.contains("already"), "{again}");
    world.run(40);
    let status = world.status(&id).await;
    assert!(status["currentBlock"].as_u64().unwrap() + 2 >= world.height(), "{status}");
    // A primary of PBFT and a leader of Raft stay while they do their work.
    if !matches!(consensus, "raft" | "pbft") {
        assert!(status["sealedBlocks"].as_u64().unwrap() > 0, "{status}");
    }
    id
}

async fn staked(world: &World, has_stake: bool, new: &str, ids: &[String]) {
    let path = format!("/v1/validators/{new}/stake");
    let more = json!({ "stake": "40000000000000000000" });
    let delegations = format!("/v1/validators/{}/delegations", ids[0]);
    if !has_stake {
        let amount = json!({ "amount": "1000000000" });
        for (method, path, body) in [
            ("PUT", &path, more),
            ("GET", &delegations, Value::Null),
            ("POST", &delegations, amount.clone()),
            ("POST", &format!("/v1/validators/{}/undelegations", ids[0]), amount),
            ("GET", &format!("/v1/validators/{}/unbondings", ids[0]), Value::Null),
            ("POST", &format!("/v1/validators/{}/withdrawals", ids[0]), json!({})),
            ("POST", &format!("/v1/validators/{}/rewards/claim", ids[0]), json!({})),
            ("POST", &format!("/v1/validators/{}/unjail", ids[0]), json!({})),
        ] {
            assert!(world.unsupported(method, path, body).await.contains("without stake"));
        }
        return;
    }
    world.ok("PUT", &path, more.clone()).await;
    world.ok("POST", &delegations, json!({ "amount": "2000000000000000000" })).await;
    world.run(10);
    assert_eq!(world.validator(new).await["selfStake"], "40000000000000000000");
    assert!(world.conflict("PUT", &path, more).await.contains("already"));
    // Its operator is a wallet of the workspace, and takes stake out.
    world.ok("PUT", &path, json!({ "stake": "35000000000000000000" })).await;
    world.run(10);
    assert_eq!(world.validator(new).await["selfStake"], "35000000000000000000");
    let less = world.conflict("PUT", &format!("/v1/validators/{}/stake", ids[0]), json!({ "stake": "1000" })).await;
    assert!(less.contains("its operator"), "{less}");
    let listed = world.ok("GET", &delegations, Value::Null).await;
    let treasury = world.chain.treasury().unwrap().to_string();
    let own = listed.as_array().unwrap().iter().find(|one| one["delegator"] == treasury).unwrap();
    assert_eq!(own["amount"], "2000000000000000000", "{listed}");
    let back = format!("/v1/validators/{}/undelegations", ids[0]);
    world.ok("POST", &back, json!({ "amount": "500000000000000000" })).await;
    world.run(10);
    let listed = world.ok("GET", &delegations, Value::Null).await;
    let own = listed.as_array().unwrap().iter().find(|one| one["delegator"] == treasury).unwrap();
    assert_eq!(own["amount"], "1500000000000000000", "{listed}");
}

async fn slashed_and_removed(world: &World, has_stake: bool, consensus: &str, new: &str, ids: &[String]) {
    let slash = |id: &str| format!("/v1/validators/{id}/slash");
    let penalty = json!({ "percentage": 10, "reason": "downtime" });
    let one = |id: &str| format!("/v1/validators/{id}");
    if has_stake {
        for penalty in [penalty, json!({ "amount": "1000000000000000000", "reason": "downtime" })] {
            assert!(world.unsupported("POST", &slash(new), penalty).await.contains("evidence"));
        }
        assert!(world.conflict("DELETE", &one(&ids[0]), Value::Null).await.contains("validator-remove"));
        world.ok("DELETE", &one(new), Value::Null).await;
        world.until(new, &["exiting", "unbonding"]).await;
        return;
    }
    let by_amount = json!({ "amount": "1", "reason": "downtime" });
    let too_much = world.conflict("POST", &slash(new), json!({ "amount": "2", "reason": "x" })).await;
    assert!(too_much.contains("weighs 1") && too_much.contains("percentage"), "{too_much}");
    for penalty in [&penalty, &by_amount] {
        let sent = world.ok("POST", &slash(new), penalty.clone()).await;
        assert_eq!(sent["authority"], "validators-administrator");
        // Who weighs 1 is out by any penalty; and may be added again, with the key that it has.
        let out = world.until(new, &["removed"]).await;
        let nothing = world.conflict("POST", &slash(new), by_amount.clone()).await;
        assert!(nothing.contains("has no weight"), "{nothing}");
        let mut again = json!({ "address": out["address"], "name": "five again" });
        let mut another = again.clone();
        another["sealingAddress"] = Address::repeat_byte(0x77).to_string().into();
        another["sealingProof"] = "0x00".into();
        let refused = world.call("POST", &world.path("/validators"), another).await;
        assert_eq!(refused.status, 422, "{}", refused.body);
        let fields = &refused.json()["error"]["details"]["fields"];
        assert_eq!(fields[0]["path"], "sealingAddress", "{fields}");
        assert!(fields[0]["expected"].as_str().unwrap().contains(out["sealingAddress"].as_str().unwrap()), "{fields}");
        // The same key needs no other proof.
        again["sealingAddress"] = out["sealingAddress"].clone();
        again["sealingProof"] = "0x00".into();
        world.ok("POST", &world.path("/validators"), again).await;
        let back = world.until(new, &["active"]).await;
        assert_eq!(back["sealingAddress"], out["sealingAddress"]);
    }
    world.ok("DELETE", &one(new), Value::Null).await;
    world.until(new, &["removed"]).await;
    if consensus == "pbft" {
        for (method, path, body) in [("DELETE", one(&ids[0]), Value::Null), ("POST", slash(&ids[0]), penalty)] {
            let refused = world.conflict(method, &path, body).await;
            assert!(refused.contains("TooFewValidators"), "{refused}");
        }
    }
    let elsewhere = KeyPair::from_seed(8, "a key held elsewhere");
    let proof =
        chainbox::system::validators::prove_sealing_key(world.chain.chain_id(), Address::repeat_byte(0x66), &elsewhere);
    let body = json!({
        "address": Address::repeat_byte(0x66).to_string(), "sealingAddress": elsewhere.address().to_string(),
        "sealingProof": proof.to_string(),
    });
    for id in &ids[..2] {
        world.ok("POST", &format!("/v1/validators/{id}/stop"), Value::Null).await;
    }
    let refused = world.conflict("POST", &world.path("/validators"), body).await;
    assert!(refused.contains("held elsewhere"), "{refused}");
    for id in &ids[..2] {
        world.ok("POST", &format!("/v1/validators/{id}/start"), Value::Null).await;
    }
    world.run(40);
}

/// A proposal that changes the block time is voted through, and the blocks follow.
async fn block_time_changed(world: &World, has_stake: bool, last: &str) {
    let change = json!({
        "blockchainId": world.chain.id(), "title": "Slower blocks", "type": "parameter-change", "changes": { "blockTime": "2s" },
    });
    let no_voter = world.call("POST", "/v1/governance/proposals", change).await;
    // The treasury may be a validator still, on its way out.
    assert!(no_voter.status == 409 || has_stake, "{}", no_voter.body);
    let terms = governance::Terms {
        title: "Slower blocks".to_owned(),
        description: "Every two seconds.".to_owned(),
        votingPeriodSecs: 20,
        ..Default::default()
    };
    let changes = vec![governance::Change { parameter: 1, value: U256::from(2) }];
    let raw = world.signed(0, &governance::proposeParameterChangeCall { terms, changes });
    let body = json!({ "blockchainId": world.chain.id(), "signedTransaction": raw });
    let made = world.ok("POST", "/v1/governance/proposals", body).await;
    assert_eq!((&made["status"], &made["changes"]["blockTime"]), (&json!("pending"), &json!("2")), "{made}");
    let path = format!("/v1/governance/proposals/{}", made["id"].as_str().unwrap());
    world.run(3);
    let active = world.ok("GET", &path, Value::Null).await;
    assert_eq!(active["status"], "active", "{active}");
    let number: u64 = active["number"].as_u64().unwrap();
    let vote = |operator: usize, option: u8, weight: u64| {
        let (id, weight) = (U256::from(number), U256::from(weight));
        let call = governance::voteCall { id, option, weight, reason: "why not".to_owned() };
        json!({ "signedTransaction": world.signed(operator, &call) })
    };
    let ballot = format!("{path}/vote");
    // The third changes its mind; the fourth vetoes with a part of its weight, where that has parts.
    // The one that was down for long is in jail with proof of stake, and without weight.
    let last = world.validator(last).await;
    let is_in_jail = last["status"] == "jailed";
    assert_eq!(is_in_jail, !last["jailedUntil"].is_null(), "{last}");
    let voters = if is_in_jail { COUNT - 1 } else { COUNT };
    for (operator, option, weight) in [(0, 1, 0), (1, 1, 0), (2, 3, 0), (3, 4, 1)].into_iter().take(voters) {
        world.ok("POST", &ballot, vote(operator, option, weight)).await;
    }
    world.run(4);
    world.ok("POST", &ballot, vote(2, 1, 0)).await;
    let call =
        governance::voteCall { id: U256::from(number), option: 1, weight: U256::from(u64::MAX), reason: String::new() };
    let key = &world.operators[1];
    let gas = Gas::new(500_000);
    let request = CallRequest::call(GOVERNANCE_ADDRESS, call.abi_encode()).with_from(key.address()).with_gas(gas);
    let raw = world.chain.node().unsigned(request).unwrap().sign(key).unwrap().encoded().to_string();
    let refused = world.conflict("POST", &ballot, json!({ "signedTransaction": raw })).await;
    assert!(refused.contains("WeightAbovePower"), "{refused}");
    world.run(3);
    let votes = world.ok("GET", &format!("{path}/votes"), Value::Null).await;
    let votes = votes.as_array().unwrap();
    assert_eq!(votes.len(), voters, "{votes:?}");
    assert_eq!(votes.iter().filter(|one| one["vote"] == "yes").count(), 3, "{votes:?}");
    let veto = votes.iter().find(|one| one["vote"] == "veto");
    assert_eq!(veto.is_none(), is_in_jail);
    assert!(veto.is_none_or(|veto| veto["weight"] == "1" && veto["reason"] == "why not"), "{veto:?}");
    let ended = world.ended(&path).await;
    assert_eq!(ended["status"], "executed", "{ended}");
    let listed = world.ok("GET", &world.path("/proposals?sort=number:desc&limit=1"), Value::Null).await;
    assert_eq!(listed[0]["id"], made["id"], "{listed}");
    for _ in 0..60 {
        world.run(10);
        if world.block_time(world.height()) == 2 {
            break;
        }
    }
    let head = world.height();
    world.run(20);
    let newest = world.height();
    assert!(newest > head + 5, "{newest} after {head}");
    assert!((head + 1..=newest).all(|height| world.block_time(height) == 2), "blocks come every two seconds");
}

/// A proposal that removes a validator with stake.
async fn voted_out(world: &World, id: &str) {
    let validator = world.validator(id).await["address"].as_str().unwrap().parse().unwrap();
    let terms = governance::Terms { title: "One less".to_owned(), votingPeriodSecs: 20, ..Default::default() };
    let raw = world.signed(0, &governance::proposeValidatorRemoveCall { terms, validator });
    world.carried("validator-remove", json!({ "signedTransaction": raw })).await;
    world.until(id, &["exiting", "unbonding", "removed"]).await;
}

/// Where governance administers the validators, an operator registers its key, and a proposal makes it a validator; another one ends that.
#[tokio::test]
async fn governance_adds_and_removes_validators() {
    for consensus in ["proof-of-authority", "raft", "pbft"] {
        let config = json!({ "blockTime": "1s", "membership": "governance" });
        let world = World::configured(consensus, World::four(), config).await;
        assert_eq!(world.ok("GET", &world.path(""), Value::Null).await["config"]["membership"], "governance");
        world.run(5);
        let (all, operator) = (world.path("/validators"), world.chain.treasury().unwrap());
        let outside = world.conflict("POST", &all, json!({ "address": Address::repeat_byte(0x55) })).await;
        assert!(outside.contains("setSealingKey(address key, bytes proof)"), "{outside}");
        let body = json!({ "address": operator, "name": "five" });
        let made = world.ok("POST", &all, body.clone()).await;
        assert_eq!((&made["status"], &made["process"]), (&json!("joining"), &json!("up")), "{made}");
        let id = made["id"].as_str().unwrap();
        world.run(30);
        assert_eq!(world.validator(id).await["status"], "joining", "nobody has voted");
        let again = world.conflict("POST", &all, body).await;
        assert!(again.contains("validator-add"), "{again}");

        let terms =
            |title: &str| governance::Terms { title: title.to_owned(), votingPeriodSecs: 20, ..Default::default() };
        let add = governance::proposeValidatorAddCall { terms: terms("One more"), validator: operator, weight: 1 };
        world.carried("validator-add", json!({ "signedTransaction": world.signed(0, &add) })).await;
        let active = world.until(id, &["active"]).await;
        assert_eq!(
            (&active["process"], &active["sealingAddress"]),
            (&json!("up"), &made["sealingAddress"]),
            "{active}"
        );
        world.run(40);
        let status = world.status(id).await;
        assert!(status["currentBlock"].as_u64().unwrap() + 2 >= world.height(), "{status}");
        let again = json!({
            "blockchainId": world.chain.id(), "title": "Once more", "type": "validator-add", "changes": { "address": operator },
        });
        let again = world.conflict("POST", "/v1/governance/proposals", again).await;
        assert!(again.contains("is a validator"), "{again}");

        let refused = world.conflict("DELETE", &format!("/v1/validators/{id}"), Value::Null).await;
        assert!(refused.contains("make a proposal"), "{refused}");
        let penalty = json!({ "percentage": 10, "reason": "downtime" });
        let refused = world.conflict("POST", &format!("/v1/validators/{id}/slash"), penalty).await;
        assert!(refused.contains("administers the validators") && refused.contains("make a proposal"), "{refused}");
        // The new one proposes that it be removed; what the service signs for it needs no transaction of the caller.
        let less = json!({
            "title": "One less", "type": "validator-remove", "changes": { "address": operator }, "votingPeriod": "20s", "from": operator,
        });
        world.carried("validator-remove", less).await;
        let removed = world.until(id, &["removed"]).await;
        assert_eq!(removed["validates"], false, "{removed}");
    }
}

/// With a key that nobody registered the operator's own address is the validator's, and is sealed for elsewhere.
#[tokio::test]
async fn a_proposal_that_would_cost_the_quorum_is_refused() {
    let config = json!({ "blockTime": "1s", "membership": "governance" });
    let world = World::configured("raft", Vec::new(), config).await;
    world.run(5);
    let add = json!({
        "blockchainId": world.chain.id(), "title": "One more", "type": "validator-add",
        "changes": { "address": "0x5555555555555555555555555555555555555555" },
    });
    let refused = world.conflict("POST", "/v1/governance/proposals", add).await;
    assert!(refused.contains("held elsewhere") && refused.contains("more than half"), "{refused}");
}

/// Its blocks are missing here, and the service neither starts nor stops it.
async fn is_held_elsewhere(world: &World, made: &Value) {
    assert_eq!((&made["status"], &made["process"]), (&json!("joining"), &json!("elsewhere")), "{made}");
    let id = made["id"].as_str().unwrap();
    world.until(id, &["active"]).await;
    let before = world.height();
    world.run(60);
    assert!(world.height() > before + 10, "the others go on: {} after {before}", world.height());
    let status = world.status(id).await;
    assert_eq!((&status["sealedBlocks"], &status["process"]), (&json!(0), &json!("elsewhere")), "{status}");
    assert!(status["missedBlocks"].as_u64().unwrap() > 0, "{status}");
    assert!(status["currentBlock"].is_null(), "it has no replica here: {status}");
    for command in ["stop", "start"] {
        let refused = world.conflict("POST", &format!("/v1/validators/{id}/{command}"), Value::Null).await;
        assert!(refused.contains("held elsewhere"), "{refused}");
    }
}

#[tokio::test]
async fn a_validator_joins_with_a_key_that_is_held_elsewhere() {
    let world = World::new("proof-of-authority").await;
    world.run(5);
    let (operator, key) = (Address::repeat_byte(0x66), KeyPair::from_seed(8, "a key held elsewhere"));
    let proof = chainbox::system::validators::prove_sealing_key(world.chain.chain_id(), operator, &key);
    let mut body = json!({
        "address": operator.to_string(), "sealingAddress": key.address().to_string(), "sealingProof": proof.to_string(),
    });
    let made = world.ok("POST", &world.path("/validators"), body.clone()).await;
    assert_eq!(made["sealingAddress"], key.address().to_string(), "{made}");
    is_held_elsewhere(&world, &made).await;
    // One key seals for one operator.
    body["address"] = Address::repeat_byte(0x67).to_string().into();
    let refused = world.conflict("POST", &world.path("/validators"), body).await;
    assert!(refused.contains("SealingKeyTaken"), "{refused}");
}

/// Consents to the treasury's paying the stake, with a sealing key.
pub(crate) fn consent(world: &World, operator: &KeyPair, sealing_key: Address) -> Value {
    let payer = world.chain.treasury().unwrap();
    consent_until(START.as_secs() + 100_000, (world.chain.chain_id(), payer), operator, sealing_key)
}

/// Consents to a payer's paying the stake on a chain up to a time, with a sealing key.
pub(crate) fn consent_until(
    deadline: u64,
    (chain_id, payer): (u64, Address),
    operator: &KeyPair,
    sealing_key: Address,
) -> Value {
    let terms = staking::interface::JoinTerms {
        operator: operator.address(),
        sealingKey: sealing_key,
        commissionBps: 500,
        maxCommissionBps: 10_000,
        maxCommissionChangeBps: 10_000,
        deadline: U256::from(deadline),
    };
    let consent = staking::JoinConsent { terms, payer, nonce: U256::ZERO };
    let signature = operator.sign_hash(staking::consent_digest(chain_id, &consent));
    json!({ "deadline": deadline, "signature": Bytes::from(signature.as_bytes()).to_string() })
}

#[tokio::test]
async fn an_operator_consents_to_joining_at_anothers_expense() {
    let world = World::new("proof-of-stake").await;
    world.run(5);
    let operator = KeyPair::from_seed(9, "an operator that consents");
    let all = world.path("/validators");
    let mut body =
        json!({ "address": operator.address().to_string(), "stake": "32000000000000000000", "commission": 5 });
    // The refusal names what there is to sign.
    let refused = world.conflict("POST", &all, body.clone()).await;
    let (_, key) = refused.split_once("the sealing key ").expect(&refused);
    let key: Address = key.split([',', ' ']).next().unwrap().parse().unwrap();
    assert!(refused.contains("the nonce 0"), "{refused}");
    body["consent"] = consent(&world, &KeyPair::from_seed(9, "somebody else"), key);
    world.conflict("POST", &all, body.clone()).await;
    body["consent"] = consent(&world, &operator, key);
    let treasury = world.chain.treasury().unwrap();
    let balance = || world.chain.node().view().balance(treasury, BlockRef::Latest).unwrap();
    let before = balance();
    let made = world.ok("POST", &all, body).await;
    assert_eq!((&made["sealingAddress"], &made["process"]), (&json!(key.to_string()), &json!("up")), "{made}");
    let id = made["id"].as_str().unwrap();
    let active = world.until(id, &["active"]).await;
    assert_eq!(
        (&active["selfStake"], &active["commission"]),
        (&json!("32000000000000000000"), &json!(5.0)),
        "{active}"
    );
    assert!(before - balance() >= U256::from(32_000_000_000_000_000_000_u128), "the treasury paid");
    world.run(60);
    assert!(
        world.status(id).await["sealedBlocks"].as_u64().unwrap() > 0,
        "it seals with the key that the service drew"
    );

    // One more, whose key is held elsewhere.
    let (operator, key) = (KeyPair::from_seed(9, "another"), KeyPair::from_seed(8, "a key held elsewhere"));
    let proof = staking::prove_sealing_key(world.chain.chain_id(), operator.address(), &key);
    let body = json!({
        "address": operator.address().to_string(), "stake": "32000000000000000000", "commission": 5,
        "consent": consent(&world, &operator, key.address()),
        "sealingAddress": key.address().to_string(), "sealingProof": proof.to_string(),
    });
    let made = world.ok("POST", &all, body).await;
    is_held_elsewhere(&world, &made).await;
}

/// Two votes of a validator for one target.
fn double_vote(world: &World, key: &KeyPair) -> pos::SlashingEvidence {
    let view = world.chain.node().view();
    let id = |height: u64| {
        let block = view.block(BlockRef::Number(Height::new(height))).unwrap();
        BlockId { hash: block.hash(), height: Height::new(height) }
    };
    let head = view.head().height().get();
    let slot = pos::Payload::decode(world.block(head).protocol_payload()).unwrap().slot;
    votes_for_two_heads(id(0).hash, slot, [id(head), id(head - 1)], key)
}

/// Two votes of a slot for one target, with different heads.
pub(crate) fn votes_for_two_heads(
    genesis: B256,
    slot: u64,
    heads: [BlockId; 2],
    key: &KeyPair,
) -> pos::SlashingEvidence {
    let start = BlockId { hash: genesis, height: Height::GENESIS };
    let (source, target) = (pos::Checkpoint { epoch: 0, block: start }, pos::Checkpoint { epoch: 1, block: start });
    let signer = Authenticator::secp256k1().for_chain(genesis).signer(key);
    let [one, other] = heads.map(|head| pos::Vote::signed(pos::VoteData { slot, head, source, target }, &signer));
    pos::SlashingEvidence::of_votes(&one, &other).unwrap()
}

#[tokio::test]
async fn evidence_slashes_by_the_protocols_own_rule() {
    let world = World::new("proof-of-stake").await;
    world.run(5);
    let (operator, key) = (KeyPair::from_seed(9, "a liar"), KeyPair::from_seed(8, "a key held elsewhere"));
    let proof = staking::prove_sealing_key(world.chain.chain_id(), operator.address(), &key);
    let body = json!({
        "address": operator.address().to_string(), "stake": "32000000000000000000", "commission": 5,
        "consent": consent(&world, &operator, key.address()),
        "sealingAddress": key.address().to_string(), "sealingProof": proof.to_string(),
    });
    let id = world.ok("POST", &world.path("/validators"), body).await["id"].as_str().unwrap().to_owned();
    world.until(&id, &["active"]).await;
    let path = format!("/v1/validators/{id}/slash");
    let evidence = serde_json::to_value(double_vote(&world, &key)).unwrap();
    let report = json!({ "reason": "two votes", "evidence": evidence });

    let mut with_part = report.clone();
    with_part["percentage"] = 5.into();
    assert!(world.conflict("POST", &path, with_part).await.contains("its own rule"));
    let nonsense = world.call("POST", &path, json!({ "reason": "x", "evidence": { "Votes": 5 } })).await;
    assert_eq!(nonsense.status, 422, "{}", nonsense.body);
    assert_eq!(nonsense.json()["error"]["details"]["fields"][0]["path"], "evidence.Votes", "{}", nonsense.body);
    let listed = world.ok("GET", &world.path("/validators"), Value::Null).await;
    let honest = listed.as_array().unwrap().iter().find(|one| one["id"] != id.as_str()).unwrap();
    let accused = format!("/v1/validators/{}/slash", honest["id"].as_str().unwrap());
    assert!(world.conflict("POST", &accused, report.clone()).await.contains("is against"));
    let strangers = serde_json::to_value(double_vote(&world, &KeyPair::from_seed(8, "a stranger"))).unwrap();
    let refused = world.conflict("POST", &path, json!({ "reason": "two votes", "evidence": strangers })).await;
    assert!(refused.contains("no validator"), "{refused}");

    let sent = world.ok("POST", &path, report.clone()).await;
    assert_eq!((&sent["authority"], &sent["transactionHash"]), (&json!("protocol"), &Value::Null), "{sent}");
    let out = world.until(&id, &["tombstoned"]).await;
    let stake: u128 = out["selfStake"].as_str().unwrap().parse().unwrap();
    assert!(stake < 32_000_000_000_000_000_000, "{out}");
    world.conflict("POST", &path, report).await;
    assert_eq!(world.validator(honest["id"].as_str().unwrap()).await["status"], "active");
}

#[tokio::test]
async fn other_protocols_take_no_evidence() {
    for consensus in ["raft", "proof-of-authority"] {
        let world = World::with(consensus, Vec::new()).await;
        world.run(5);
        let listed = world.ok("GET", &world.path("/validators"), Value::Null).await;
        let path = format!("/v1/validators/{}/slash", listed[0]["id"].as_str().unwrap());
        let refused = world.unsupported("POST", &path, json!({ "reason": "two blocks", "evidence": {} })).await;
        assert!(refused.contains("leave evidence out"), "{refused}");
    }
}

#[tokio::test]
async fn proposals_of_the_other_types_are_executed() {
    for consensus in ["proof-of-authority", "delegated-proof-of-stake"] {
        let world = World::with(consensus, Vec::new()).await;
        world.run(5);
        let gas = world.voted_through("parameter-change", json!({ "gasLimit": "40000000" })).await;
        assert_eq!(gas["status"], "executed", "{gas}");
        world.run(30);
        assert_eq!(world.block(world.height()).header().gas_limit, 40_000_000, "{consensus}");
        let text = world.voted_through("text", json!({})).await;
        assert_eq!(text["status"], "executed", "{text}");
        let height = world.height() + 1_000;
        let plan = json!({ "name": "second", "height": height, "info": "a note" });
        let upgrade = world.voted_through("upgrade", plan).await;
        assert_eq!(upgrade["status"], "executed", "{upgrade}");
        let input = governance::upgradePlanCall {}.abi_encode();
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "eth_call",
            "params": [{ "to": GOVERNANCE_ADDRESS, "data": Bytes::from(input) }],
        });
        let answer = world.call("POST", &world.path("/eth"), call).await.json();
        let bytes: Bytes = answer["result"].as_str().unwrap().parse().unwrap();
        let kept = governance::upgradePlanCall::abi_decode_returns(&bytes).unwrap();
        assert_eq!((kept.name.as_str(), kept.height), ("second", height));
        let add = json!({
            "blockchainId": world.chain.id(), "title": "One more", "type": "validator-add",
            "changes": { "address": "0x5555555555555555555555555555555555555555" },
        });
        world.conflict("POST", "/v1/governance/proposals", add).await;
    }
}

/// A proposal of four with equal weights ends as their votes say: a quorum of 33.4 %, more than 33.4 % of vetoes, more than half in favour.
#[tokio::test]
async fn proposals_end_as_the_votes_say() {
    let (yes, abstain, no, veto) = ((1, "yes"), (2, "abstain"), (3, "no"), (4, "veto"));
    let cases = [
        (vec![yes, no, no], "rejected"),
        (vec![yes, yes, veto, veto], "vetoed"),
        (vec![yes], "expired"),
        (vec![yes, abstain, abstain], "executed"),
        (vec![abstain, abstain, abstain], "rejected"),
    ];
    for consensus in ["proof-of-authority", "delegated-proof-of-stake"] {
        let world = World::new(consensus).await;
        world.run(5);
        for (votes, state) in &cases {
            let terms = governance::Terms { title: (*state).to_owned(), votingPeriodSecs: 20, ..Default::default() };
            let raw = world.signed(0, &governance::proposeTextCall { terms });
            let body = json!({ "blockchainId": world.chain.id(), "signedTransaction": raw });
            let made = world.ok("POST", "/v1/governance/proposals", body).await;
            let path = format!("/v1/governance/proposals/{}", made["id"].as_str().unwrap());
            world.run(4);
            let number = world.ok("GET", &path, Value::Null).await["number"].as_u64().unwrap();
            for (operator, (option, _)) in votes.iter().enumerate() {
                let (id, weight) = (U256::from(number), U256::ZERO);
                let call = governance::voteCall { id, option: *option, weight, reason: String::new() };
                world
                    .ok("POST", &format!("{path}/vote"), json!({ "signedTransaction": world.signed(operator, &call) }))
                    .await;
            }
            world.run(4);
            let listed = world.ok("GET", &format!("{path}/votes"), Value::Null).await;
            let mut cast: Vec<&str> =
                listed.as_array().unwrap().iter().map(|one| one["vote"].as_str().unwrap()).collect();
            let mut wanted: Vec<&str> = votes.iter().map(|(_, name)| *name).collect();
            cast.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(cast, wanted, "{consensus}: {listed}");
            let ended = world.ended(&path).await;
            assert_eq!(ended["status"], *state, "{consensus}, {wanted:?}: {ended}");
        }
    }
}

/// Parameters of fees are in the next blocks, the bound of the set in who is taken into it.
#[tokio::test]
async fn voted_parameters_are_seen_in_blocks_and_in_the_set() {
    let world = World::with("proof-of-authority", Vec::new()).await;
    world.run(5);
    let base_fee = |world: &World| world.block(world.height()).base_fee().unwrap();
    assert!(base_fee(&world) < 2_000_000_000, "{}", base_fee(&world));
    let floor = world.voted_through("parameter-change", json!({ "baseFeeFloor": "2000000000" })).await;
    assert_eq!(floor["status"], "executed", "{floor}");
    world.run(10);
    assert_eq!(base_fee(&world), 2_000_000_000, "empty blocks fall to the floor");
    let most = world.voted_through("parameter-change", json!({ "validatorsMax": "2" })).await;
    assert_eq!(most["status"], "executed", "{most}");
    let add = |byte: u8| json!({ "address": Address::repeat_byte(byte).to_string() });
    let made = world.ok("POST", &world.path("/validators"), add(0x51)).await;
    world.until(made["id"].as_str().unwrap(), &["active"]).await;
    let refused = world.conflict("POST", &world.path("/validators"), add(0x52)).await;
    assert!(refused.contains("TooManyValidators"), "{refused}");
    let more = json!({ "blockchainId": world.chain.id(), "title": "x", "type": "parameter-change", "changes": { "validatorsMax": "3" }, "votingPeriod": "10s" });
    // Two vote now.
    assert_eq!(world.call("POST", "/v1/governance/proposals", more).await.status, 201);
}

#[tokio::test]
async fn validators_and_a_proposal_live_by_routes_on_proof_of_authority() {
    lives("proof-of-authority").await;
}

#[tokio::test]
async fn validators_and_a_proposal_live_by_routes_on_proof_of_stake() {
    lives("proof-of-stake").await;
}

#[tokio::test]
async fn validators_and_a_proposal_live_by_routes_on_delegated_proof_of_stake() {
    lives("delegated-proof-of-stake").await;
}

#[tokio::test]
async fn validators_and_a_proposal_live_by_routes_on_pbft() {
    lives("pbft").await;
}

#[tokio::test]
async fn validators_and_a_proposal_live_by_routes_on_raft() {
    lives("raft").await;
}
