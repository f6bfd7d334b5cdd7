//! `kill -9` of the real binary in the middle of what validators and governance do, on each protocol, by routes alone.
//!
//! What was acknowledged is there after the restart, and goes on: stake that was added, a penalty, a removal, the process of a validator
//! that was stopped and the figures of its absence, one that joins, a proposal and its votes. The block time that it changes is that of the
//! blocks after a second kill. Five networks run beside each other by the machine's clock. Most of the test's two minutes is the time of the
//! vote, and that in which the protocols with stake take others into their sets and proof of stake another length of its slots.

use std::{path::Path, sync::Arc, time::Duration};

use alloy_sol_types::SolCall;
use chainbox::{
    consensus::{Authenticator, BlockId, Purpose, dpos},
    node::BlockRef,
    platform::{Blockchain, OsEntropy, Platform, vault::MasterKey},
    primitives::{Address, B256, Bytes, Gas, Header, Height, KeyPair, TransactionRequest, U256, ether},
    server::WallClock,
    store::{RocksOptions, RocksStore},
    system::{
        governance::{GOVERNANCE_ADDRESS, interface as governance},
        staking,
    },
};
use serde_json::{Value, json};

use crate::{
    binary::now,
    network::{consent_until, duties_in, votes_for_two_heads},
    serving::{Serving, database},
};

const PROTOCOLS: [&str; 5] = ["proof-of-authority", "proof-of-stake", "delegated-proof-of-stake", "pbft", "raft"];
const VOTING_SECS: u32 = 20;
/// Seconds from block to block that are voted for.
const SLOWER_SECS: u64 = 2;
/// Distances of blocks that are looked at.
const DISTANCES: u64 = 6;
/// End of what operators consent to, in seconds since 1970: in this century.
const CONSENT_END: u64 = 4_000_000_000;
/// States of a validator with stake that was removed. One that left the queue before it validated has its stake at once.
const OUT: [&str; 3] = ["exiting", "unbonding", "left"];
/// Polls of a condition may take so long on a loaded machine.
const LIMIT: Duration = Duration::from_secs(90);

/// A chain of four validators, whose operators' keys the test has.
struct Chain {
    consensus: &'static str,
    id: String,
    chain_id: u64,
    treasury: String,
    validators: Vec<String>,
    operators: Vec<KeyPair>,
    nonces: [u64; 4],
}

/// Validators that were added and then changed, and what blocks had of it before the kill.
struct Changed {
    /// On a chain with stake, its own stake grew from 32 to 40 tokens.
    staked: String,
    /// With stake it had two tokens, and evidence was given against it. Without stake the administrator slashed it.
    slashed: String,
    /// Removed by its operator, a wallet of the workspace, or by the administrator.
    removed: String,
    /// Own stake of the slashed one after the penalty. `None` without stake, and where the evidence is in no block.
    left: Option<U256>,
}

/// What was acknowledged before the kill.
struct Acknowledged {
    height: u64,
    block: Value,
    joined: String,
    proposal: String,
}

/// What the service says at one block of the validator that is stopped.
struct Figures {
    height: u64,
    hash: Value,
    /// Its sealing key.
    key: Address,
    /// The sealing keys of all that validate, ascending.
    signers: Vec<Address>,
    status: Value,
}

struct Client<'a> {
    service: &'a Serving,
    key: &'a str,
}

impl Client<'_> {
    fn get(&self, path: &str) -> Value {
        self.service.get(self.key, path)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.service.request(self.key, "POST", path, body).data()
    }

    /// Asks for what is refused as things are; returns the error.
    fn refused(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.service.request(self.key, method, path, body);
        assert_eq!(answer.status, 409, "{method} {path}: {}", answer.body);
        answer.json()["error"].take()
    }

    fn height(&self, chain: &Chain) -> u64 {
        self.get(&chain.path("/metrics"))["currentBlock"].as_u64().unwrap()
    }

    /// The height of a chain once it runs.
    fn height_at_start(&self, chain: &Chain) -> u64 {
        let path = chain.path("");
        until(&format!("the chain of {} runs", chain.consensus), || self.get(&path)["status"] == "running");
        self.height(chain)
    }

    fn create(&self, consensus: &'static str) -> Chain {
        let mut operators: Vec<_> =
            (0..4).map(|index| KeyPair::from_seed(11, &format!("{consensus} {index}"))).collect();
        operators.sort_by_key(KeyPair::address);
        let listed = operators.iter().map(|key| json!({ "address": key.address().to_string() })).collect::<Vec<_>>();
        let body = json!({
            "name": consensus, "consensus": consensus, "config": { "blockTime": "1s" }, "validators": listed,
        });
        let made = self.post("/v1/blockchains", &body);
        let id = made["id"].as_str().unwrap().to_owned();
        let validators = self.get(&format!("/v1/blockchains/{id}/validators"));
        Chain {
            consensus,
            chain_id: made["chainId"].as_u64().unwrap(),
            treasury: made["treasury"].as_str().unwrap().to_owned(),
            validators: validators
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["id"].as_str().unwrap().to_owned())
                .collect(),
            id,
            operators,
            nonces: [0; 4],
        }
    }

    fn vote(&self, chain: &mut Chain, operator: usize, proposal: &str) {
        let number = self.get(&format!("/v1/governance/proposals/{proposal}"))["number"].as_u64().unwrap();
        let call =
            governance::voteCall { id: U256::from(number), option: 1, weight: U256::ZERO, reason: String::new() };
        let body = json!({ "signedTransaction": chain.signed(operator, &call) });
        self.post(&format!("/v1/governance/proposals/{proposal}/vote"), &body);
    }

    /// Stops a validator, adds one, proposes a change and votes for it.
    fn begin(&self, chain: &mut Chain) -> Acknowledged {
        assert_eq!(self.post(&format!("/v1/validators/{}/stop", chain.validators[3]), &Value::Null)["process"], "down");
        let stranger = "0x5555555555555555555555555555555555555555";
        let operator = if chain.has_stake() { chain.treasury.as_str() } else { stranger };
        let joined = self.add(chain, &json!({ "address": operator, "name": "five", "stake": ether(32).to_string() }));
        let terms =
            governance::Terms { title: "Slower".to_owned(), votingPeriodSecs: VOTING_SECS, ..Default::default() };
        let changes = vec![governance::Change { parameter: 1, value: U256::from(SLOWER_SECS) }];
        let raw = chain.signed(0, &governance::proposeParameterChangeCall { terms, changes });
        let body = json!({ "blockchainId": chain.id, "signedTransaction": raw });
        let proposal = self.post("/v1/governance/proposals", &body)["id"].as_str().unwrap().to_owned();
        let height = self.height(chain);
        Acknowledged {
            height,
            block: self.get(&chain.path(&format!("/blocks/{}", height.saturating_sub(2)))),
            joined,
            proposal,
        }
    }

    fn status_of(&self, proposal: &str) -> String {
        self.get(&format!("/v1/governance/proposals/{proposal}"))["status"].as_str().unwrap().to_owned()
    }

    fn votes(&self, proposal: &str) -> usize {
        self.get(&format!("/v1/governance/proposals/{proposal}/votes")).as_array().unwrap().len()
    }
}

/// Blocks, and what is measured on them.
impl Client<'_> {
    /// A block as clients of Ethereum see it.
    fn eth_block(&self, chain: &Chain, height: u64) -> Value {
        let params = json!([format!("{height:#x}"), false]);
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_getBlockByNumber", "params": params });
        self.service.request(self.key, "POST", &chain.path("/eth"), &call).json()["result"].take()
    }

    fn timestamp(&self, chain: &Chain, height: u64) -> u64 {
        let block = self.eth_block(chain, height);
        let digits = block["timestamp"].as_str().unwrap().trim_start_matches("0x");
        u64::from_str_radix(digits, 16).unwrap()
    }

    fn hash(&self, chain: &Chain, height: u64) -> Value {
        self.get(&chain.path(&format!("/blocks/{height}")))["hash"].take()
    }

    /// Times of a block and of those after it.
    fn times(&self, chain: &Chain, first: u64) -> Vec<u64> {
        (first..=first + DISTANCES).map(|height| self.timestamp(chain, height)).collect()
    }

    /// The figures of the stopped validator at the newest block, once it has missed something; `None` where that block is another meanwhile.
    fn figures_now(&self, chain: &Chain) -> Option<Figures> {
        let height = self.height(chain);
        let hash = self.hash(chain, height);
        let stopped = self.validator(&chain.validators[3]);
        let status = self.get(&format!("/v1/validators/{}/status", chain.validators[3]));
        let listed = self.get(&chain.path("/validators?limit=100"));
        let is_newest = self.height(chain) == height && self.hash(chain, height) == hash;
        // Blocks of Raft say nothing of followers.
        let has_missed = chain.consensus == "raft" || status["missedBlocks"] != 0;
        let key_of = |one: &Value| one["sealingAddress"].as_str().unwrap().parse::<Address>().unwrap();
        let validating = listed.as_array().unwrap().iter().filter(|one| one["validates"] == true);
        let mut signers: Vec<Address> = validating.map(key_of).collect();
        signers.sort_unstable();
        let key = key_of(&stopped);
        (is_newest && has_missed).then_some(Figures { height, hash, key, signers, status })
    }

    /// The same, of a block that stays.
    fn figures(&self, chain: &Chain) -> Figures {
        let mut stable = None;
        until(&format!("figures of the stopped validator on {}", chain.consensus), || {
            stable = self.figures_now(chain).filter(|found| {
                until("three more blocks", || self.height(chain) >= found.height + 3);
                self.hash(chain, found.height) == found.hash
            });
            stable.is_some()
        });
        stable.unwrap()
    }
}

impl Figures {
    /// They are what the blocks say, which the test counts itself.
    fn assert_of_blocks(&self, consensus: &str, chain: &Blockchain) {
        let Self { height, hash, key, signers, status } = self;
        let block = chain.node().view().block(BlockRef::Number(Height::new(*height))).unwrap();
        assert_eq!(*hash, block.hash().to_string(), "{consensus}: block {height}");
        let window = status["windowBlocks"].as_u64().unwrap();
        let (duties, missed) = duties_in(chain, consensus, (*height, window), (signers, *key));
        assert_eq!(status["missedBlocks"], missed, "{consensus} at {height}: {status}");
        if consensus == "raft" {
            assert!(status["uptime"].is_null(), "{status}");
            return;
        }
        let uptime = 100.0 * (duties - missed) as f64 / duties as f64;
        let told = status["uptime"].as_f64().unwrap();
        assert!((told - uptime).abs() < 1e-9, "{consensus} at {height}: {uptime}, {status}");
    }
}

/// Validators that join and are changed.
impl Client<'_> {
    /// Adds a validator; returns its id.
    fn add(&self, chain: &Chain, body: &Value) -> String {
        self.post(&chain.path("/validators"), body)["id"].as_str().unwrap().to_owned()
    }

    fn validator(&self, id: &str) -> Value {
        self.get(&format!("/v1/validators/{id}"))
    }

    fn has_status(&self, id: &str, states: &[&str]) -> bool {
        let found = self.validator(id)["status"].take();
        states.iter().any(|state| found == *state)
    }

    fn until_status(&self, chain: &Chain, id: &str, states: &[&str]) {
        let deadline = now() + LIMIT;
        while !self.has_status(id, states) {
            assert!(now() < deadline, "on {}, none of {states:?}: {}", chain.consensus, self.validator(id));
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn own_stake(&self, id: &str) -> U256 {
        self.validator(id)["selfStake"].as_str().unwrap().parse().unwrap()
    }

    /// Adds validators to all chains, gives one more stake, slashes another and removes the third. Returns once blocks have that.
    fn change_validators(&self, chains: &[Chain]) -> Vec<Changed> {
        let mut changed: Vec<Changed> = chains.iter().map(|chain| self.add_three(chain)).collect();
        for (chain, changed) in chains.iter().zip(&changed) {
            if chain.has_stake() { self.change_staked(chain, changed) } else { self.change_weighted(chain, changed) }
        }
        for (chain, changed) in chains.iter().zip(&mut changed) {
            self.wait_for_changes(chain, changed);
        }
        changed
    }

    fn add_three(&self, chain: &Chain) -> Changed {
        let [staked, slashed, removed] = if chain.has_stake() {
            // Validators leave the queue in this order.
            let (slashed, staked) = (self.add_with_own_key(chain), self.add_with_consent(chain));
            let wallet = self.fund_wallet(chain);
            [staked, slashed, self.add(chain, &json!({ "address": wallet, "stake": ether(32).to_string() }))]
        } else {
            [0x66, 0x77, 0x88]
                .map(|byte| self.add(chain, &json!({ "address": Address::repeat_byte(byte).to_string() })))
        };
        Changed { staked, slashed, removed, left: None }
    }

    /// Adds one whose stake the treasury pays. The service draws its sealing key.
    fn add_with_consent(&self, chain: &Chain) -> String {
        let operator = chain.key("operator");
        let mut body = json!({
            "address": operator.address().to_string(), "stake": ether(32).to_string(), "commission": 5, "from": chain.treasury,
        });
        // The refusal names the key that there is to consent to.
        let refused = self.refused("POST", &chain.path("/validators"), &body);
        let (_, named) = refused["message"].as_str().unwrap().split_once("the sealing key ").unwrap();
        let sealing_key = named.split(',').next().unwrap().parse().unwrap();
        body["consent"] = chain.consent(&operator, sealing_key);
        self.add(chain, &body)
    }

    /// Adds one whose stake the treasury pays, with a sealing key that the test has. It is down, and has too little stake to be missed.
    fn add_with_own_key(&self, chain: &Chain) -> String {
        let (operator, key) = (chain.key("offender"), chain.key("sealing key"));
        let proof = staking::prove_sealing_key(chain.chain_id, operator.address(), &key);
        let body = json!({
            "address": operator.address().to_string(), "stake": ether(2).to_string(), "commission": 5, "from": chain.treasury,
            "consent": chain.consent(&operator, key.address()),
            "sealingAddress": key.address().to_string(), "sealingProof": proof.to_string(),
        });
        self.add(chain, &body)
    }

    /// Lets the treasury pay 40 tokens to the wallet of the workspace, which can operate a validator then; returns its address.
    fn fund_wallet(&self, chain: &Chain) -> String {
        let wallet = self.get("/v1/workspaces/ws_default")["wallet"].as_str().unwrap().to_owned();
        let params = json!({
            "blockchainId": chain.id, "contractAddress": wallet, "value": ether(40).to_string(), "data": "0x",
            "from": chain.treasury,
        });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "contract.execute", "params": params });
        let answer = self.service.request(self.key, "POST", "/v1/rpc", &call).json();
        assert!(answer["result"]["transactionHash"].is_string(), "{answer}");
        let path = chain.path(&format!("/accounts/{wallet}"));
        until(&format!("the wallet has tokens on {}", chain.consensus), || {
            self.get(&path)["balance"] == ether(40).to_string()
        });
        wallet
    }

    /// With stake the treasury gives one more, the operator removes its own, and nobody slashes but the protocol, by evidence.
    fn change_staked(&self, chain: &Chain, changed: &Changed) {
        let name = chain.consensus;
        until(&format!("both have stake on {name}"), || {
            [&changed.staked, &changed.removed].iter().all(|id| self.own_stake(id) == ether(32))
        });
        let more = json!({ "stake": ether(40).to_string(), "from": chain.treasury });
        let answer = self.service.request(self.key, "PUT", &format!("/v1/validators/{}/stake", changed.staked), &more);
        assert_eq!(answer.status, 200, "{name}: {}", answer.body);
        self.remove(&changed.removed);

        let slash = format!("/v1/validators/{}/slash", changed.slashed);
        let refused = self.refused("POST", &slash, &json!({ "percentage": 10, "reason": "downtime" }));
        assert_eq!(refused["code"], "UNSUPPORTED_BY_CONSENSUS", "{name}: {refused}");
        let report = json!({ "reason": "it signed two", "evidence": self.offence(chain) });
        // It is refused until the protocol knows of the validator's stake.
        until(&format!("the evidence is taken on {name}"), || {
            self.service.request(self.key, "POST", &slash, &report).is_success()
        });
    }

    /// Without stake the administrator slashes and removes.
    fn change_weighted(&self, chain: &Chain, changed: &Changed) {
        let name = chain.consensus;
        let path = format!("/v1/validators/{}/stake", changed.staked);
        let refused = self.refused("PUT", &path, &json!({ "stake": ether(40).to_string() }));
        assert_eq!(refused["code"], "UNSUPPORTED_BY_CONSENSUS", "{name}: {refused}");
        until(&format!("three more validate on {name}"), || {
            [&changed.staked, &changed.slashed, &changed.removed].iter().all(|id| self.has_status(id, &["active"]))
        });
        let penalty = json!({ "percentage": 10, "reason": "downtime" });
        let sent = self.post(&format!("/v1/validators/{}/slash", changed.slashed), &penalty);
        assert_eq!(sent["authority"], "validators-administrator", "{name}: {sent}");
        self.remove(&changed.removed);
    }

    fn remove(&self, id: &str) {
        self.service.request(self.key, "DELETE", &format!("/v1/validators/{id}"), &Value::Null).data();
    }

    /// Makes evidence against the validator whose sealing key the test has: two votes for one target, or two headers for one slot.
    fn offence(&self, chain: &Chain) -> Value {
        let (key, height) = (chain.key("sealing key"), self.height(chain));
        let genesis: B256 = self.get(&chain.path("/blocks/0"))["hash"].as_str().unwrap().parse().unwrap();
        if chain.consensus == "proof-of-stake" {
            let heads = [1, 2].map(|byte| BlockId { hash: B256::repeat_byte(byte), height: Height::new(height) });
            // No block is in an earlier slot than its height says.
            return serde_json::to_value(votes_for_two_heads(genesis, height, heads, &key)).unwrap();
        }
        let timestamp = self.timestamp(chain, height);
        let signer = Authenticator::secp256k1().for_chain(genesis).signer(&key);
        let sealed = |extra: &'static [u8]| {
            let extra_data = Bytes::from_static(extra);
            let header = Header { number: height, timestamp, extra_data, ..Header::default() };
            let seal = signer.sign(Purpose::Block, header.hash_slow());
            (header, seal)
        };
        serde_json::to_value(dpos::ConflictingBlocks::new(sealed(b"one"), sealed(b"other"))).unwrap()
    }

    fn wait_for_changes(&self, chain: &Chain, changed: &mut Changed) {
        let name = chain.consensus;
        let out: &[&str] = if chain.has_stake() { &OUT } else { &["removed"] };
        self.until_status(chain, &changed.removed, out);
        if !chain.has_stake() {
            return self.until_status(chain, &changed.slashed, out);
        }
        until(&format!("more stake on {name}"), || self.own_stake(&changed.staked) > ether(39));
        // Proof of stake takes a validator into its set after finality. Evidence against it waits as long.
        if chain.consensus == "delegated-proof-of-stake" {
            until(&format!("the penalty on {name}"), || {
                let found = self.validator(&changed.slashed);
                // Out of the schedule, so that it is not missed beside the one that will be stopped.
                found["status"] == "tombstoned" && found["validates"] == false
            });
            changed.left = Some(self.own_stake(&changed.slashed));
        }
    }

    /// What blocks had before the kill is there.
    fn assert_kept(&self, chain: &Chain, changed: &Changed) {
        let name = chain.consensus;
        let status = |id: &str| self.validator(id)["status"].take();
        if !chain.has_stake() {
            let found = [&changed.staked, &changed.slashed, &changed.removed].map(|id| status(id));
            assert_eq!(found, ["active", "removed", "removed"], "{name}");
            return;
        }
        assert!(self.has_status(&changed.staked, &["joining", "active"]), "{name}: {}", status(&changed.staked));
        assert!(self.has_status(&changed.removed, &OUT), "{name}: {}", status(&changed.removed));
        // But for the penalties of who votes nowhere, as while the service was down.
        for (id, tokens) in [(&changed.staked, 40), (&changed.removed, 32)] {
            let stake = self.own_stake(id);
            assert!(stake > ether(tokens - 1) && stake <= ether(tokens), "{name}: {id} has {stake} of {tokens} tokens");
        }
        if let Some(left) = changed.left {
            assert_eq!(status(&changed.slashed), "tombstoned", "{name}");
            assert_eq!(self.own_stake(&changed.slashed), left, "{name}");
        }
    }

    /// Evidence that was taken convicts, and once.
    fn assert_convicted(&self, chain: &Chain, changed: &Changed) {
        let name = chain.consensus;
        until(&format!("the conviction on {name}"), || self.has_status(&changed.slashed, &["tombstoned"]));
        let stake = self.own_stake(&changed.slashed);
        assert!(!stake.is_zero() && stake < ether(2), "{name}: {stake}");
        if let Some(left) = changed.left {
            assert_eq!(stake, left, "{name}: slashed once");
        }
    }
}

impl Chain {
    fn has_stake(&self) -> bool {
        self.consensus.ends_with("stake")
    }

    fn path(&self, rest: &str) -> String {
        format!("/v1/blockchains/{}{rest}", self.id)
    }

    /// A key of the test, of who joins.
    fn key(&self, purpose: &str) -> KeyPair {
        KeyPair::from_seed(12, &format!("{} {purpose}", self.consensus))
    }

    /// Consents to the treasury's paying the stake.
    fn consent(&self, operator: &KeyPair, sealing_key: Address) -> Value {
        let payer = self.treasury.parse().unwrap();
        consent_until(CONSENT_END, (self.chain_id, payer), operator, sealing_key)
    }

    /// A call of the governance contract, signed by an operator, with its next nonce.
    fn signed(&mut self, operator: usize, call: &impl SolCall) -> String {
        let nonce = self.nonces[operator];
        self.nonces[operator] += 1;
        let request = TransactionRequest {
            chain_id: Some(self.chain_id),
            nonce,
            to: Some(GOVERNANCE_ADDRESS),
            gas_limit: Gas::new(1_000_000),
            max_fee_per_gas: 100_000_000_000,
            input: Bytes::from(call.abi_encode()),
            ..Default::default()
        };
        request.sign(&self.operators[operator]).unwrap().encoded().to_string()
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = now() + LIMIT;
    while !holds() {
        assert!(now() < deadline, "not within {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Whether blocks come as often as voted: no more often, but for one that is late in its slot, and not all of them more rarely.
fn is_slower(times: &[u64]) -> bool {
    let secs = times[times.len() - 1] - times[0];
    secs + 1 >= SLOWER_SECS * DISTANCES && times.windows(2).any(|pair| pair[1] - pair[0] == SLOWER_SECS)
}

/// The platform of a database that no service has open, with its chains.
fn reopened(data: &Path) -> Platform {
    let store = Arc::new(RocksStore::open(data, RocksOptions::default()).unwrap());
    let key = MasterKey::from_file_or_new(&data.join("CHAINBOX.key"), &OsEntropy).unwrap();
    Platform::builder(Arc::new(WallClock)).with_store(store).open_with(None, key, Vec::new()).unwrap()
}

#[test]
fn networks_go_on_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let key = database(&data, |_| {});
    let flags = ["--db-path", data.to_str().unwrap(), "--requests-per-minute", "1000000"];
    let service = Serving::start(&flags);
    let client = Client { service: &service, key: &key };
    let mut chains: Vec<Chain> = PROTOCOLS.into_iter().map(|consensus| client.create(consensus)).collect();
    for chain in &chains {
        until(&format!("blocks of {}", chain.consensus), || client.height(chain) >= 3);
    }
    let changed = client.change_validators(&chains);
    let acknowledged: Vec<Acknowledged> = chains.iter_mut().map(|chain| client.begin(chain)).collect();
    for (chain, told) in chains.iter_mut().zip(&acknowledged) {
        until(&format!("the vote on {}", chain.consensus), || client.status_of(&told.proposal) == "active");
        client.vote(chain, 0, &told.proposal);
    }
    // These votes are acknowledged, and the most of them in no block.
    for (chain, told) in chains.iter_mut().zip(&acknowledged) {
        client.vote(chain, 1, &told.proposal);
    }
    service.kill();

    let service = Serving::start(&flags);
    let client = Client { service: &service, key: &key };
    for ((chain, told), changed) in chains.iter_mut().zip(&acknowledged).zip(&changed) {
        let name = chain.consensus;
        until(&format!("the chain of {name} runs"), || client.get(&chain.path(""))["status"] == "running");
        let kept = client.get(&chain.path(&format!("/blocks/{}", told.height.saturating_sub(2))));
        assert_eq!(kept["hash"], told.block["hash"], "{name}");
        client.assert_kept(chain, changed);
        let stopped = client.get(&format!("/v1/validators/{}", chain.validators[3]));
        assert_eq!(stopped["process"], "down", "{name}");
        let joined = client.get(&format!("/v1/validators/{}", told.joined));
        assert_eq!((&joined["name"], &joined["process"]), (&json!("five"), &json!("up")), "{name}");
        until(&format!("both votes on {name}"), || client.votes(&told.proposal) == 2);
        client.vote(chain, 2, &told.proposal);
    }
    let mut figures = Vec::new();
    for ((chain, told), changed) in chains.iter().zip(&acknowledged).zip(&changed) {
        let name = chain.consensus;
        until(&format!("the end of the vote on {name}"), || client.status_of(&told.proposal) == "executed");
        assert_eq!(client.votes(&told.proposal), 3, "{name}");
        figures.push(client.figures(chain));
        let started = client.post(&format!("/v1/validators/{}/start", chain.validators[3]), &Value::Null);
        assert_eq!(started["process"], "up", "{name}");
        let status = |id: &str| client.get(&format!("/v1/validators/{id}/status"));
        for id in [&chain.validators[3], &told.joined] {
            until(&format!("{id} of {name} has caught up"), || {
                status(id)["currentBlock"].as_u64().unwrap() + 3 >= client.height(chain)
            });
        }
        if chain.has_stake() {
            client.assert_convicted(chain, changed);
        }
    }
    for chain in &chains {
        until(&format!("slower blocks on {}", chain.consensus), || {
            is_slower(&client.times(chain, client.height(chain) - DISTANCES))
        });
    }
    service.kill();

    let service = Serving::start(&flags);
    let client = Client { service: &service, key: &key };
    let heads: Vec<u64> = chains.iter().map(|chain| client.height_at_start(chain)).collect();
    for (chain, head) in chains.iter().zip(heads) {
        let name = chain.consensus;
        until(&format!("new blocks on {name}"), || client.height(chain) > head + DISTANCES);
        let times = client.times(chain, head + 1);
        assert!(is_slower(&times), "{name}: {times:?}");
        assert_eq!(client.validator(&chain.validators[3])["process"], "up", "{name}");
    }
    service.stop();
    let platform = reopened(&data);
    for (chain, figures) in chains.iter().zip(&figures) {
        figures.assert_of_blocks(chain.consensus, &platform.running_blockchain(&chain.id).unwrap());
    }
}
