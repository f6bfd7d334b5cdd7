//! `kill -9` of the real binary in the middle of what validators and governance do, on each protocol, by routes alone.
//!
//! What was acknowledged is there after the restart, and goes on: the process of a validator that was stopped, one that joins, a proposal and its
//! votes. Five networks run beside each other by the machine's clock; most of the test's half minute is the time of the vote.

use std::time::Duration;

use alloy_sol_types::SolCall;
use chainbox::{
    primitives::{Bytes, Gas, KeyPair, TransactionRequest, U256},
    system::governance::{GOVERNANCE_ADDRESS, interface as governance},
};
use serde_json::{Value, json};

use crate::{
    binary::now,
    serving::{Serving, database},
};

const PROTOCOLS: [&str; 5] = ["proof-of-authority", "proof-of-stake", "delegated-proof-of-stake", "pbft", "raft"];
const VOTING_SECS: u32 = 20;
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

/// What was acknowledged before the kill.
struct Acknowledged {
    height: u64,
    block: Value,
    joined: String,
    proposal: String,
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

    fn height(&self, chain: &Chain) -> u64 {
        self.get(&format!("/v1/blockchains/{}/metrics", chain.id))["currentBlock"].as_u64().unwrap()
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
        let has_stake = chain.consensus.ends_with("stake");
        let stranger = "0x5555555555555555555555555555555555555555";
        let operator = if has_stake { chain.treasury.as_str() } else { stranger };
        let body = json!({ "address": operator, "name": "five", "stake": "32000000000000000000" });
        let joined = self.post(&format!("/v1/blockchains/{}/validators", chain.id), &body);
        let terms =
            governance::Terms { title: "Slower".to_owned(), votingPeriodSecs: VOTING_SECS, ..Default::default() };
        let changes = vec![governance::Change { parameter: 1, value: U256::from(2) }];
        let raw = chain.signed(0, &governance::proposeParameterChangeCall { terms, changes });
        let body = json!({ "blockchainId": chain.id, "signedTransaction": raw });
        let proposal = self.post("/v1/governance/proposals", &body)["id"].as_str().unwrap().to_owned();
        let height = self.height(chain);
        Acknowledged {
            height,
            block: self.get(&format!("/v1/blockchains/{}/blocks/{}", chain.id, height.saturating_sub(2))),
            joined: joined["id"].as_str().unwrap().to_owned(),
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

impl Chain {
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
    for (chain, told) in chains.iter_mut().zip(&acknowledged) {
        let name = chain.consensus;
        until(&format!("the chain of {name} runs"), || {
            client.get(&format!("/v1/blockchains/{}", chain.id))["status"] == "running"
        });
        let kept = client.get(&format!("/v1/blockchains/{}/blocks/{}", chain.id, told.height.saturating_sub(2)));
        assert_eq!(kept["hash"], told.block["hash"], "{name}");
        let stopped = client.get(&format!("/v1/validators/{}", chain.validators[3]));
        assert_eq!(stopped["process"], "down", "{name}");
        let joined = client.get(&format!("/v1/validators/{}", told.joined));
        assert_eq!((&joined["name"], &joined["process"]), (&json!("five"), &json!("up")), "{name}");
        until(&format!("both votes on {name}"), || client.votes(&told.proposal) == 2);
        client.vote(chain, 2, &told.proposal);
        let started = client.post(&format!("/v1/validators/{}/start", chain.validators[3]), &Value::Null);
        assert_eq!(started["process"], "up", "{name}");
    }
    for (chain, told) in chains.iter().zip(&acknowledged) {
        let name = chain.consensus;
        until(&format!("the end of the vote on {name}"), || client.status_of(&told.proposal) == "executed");
        assert_eq!(client.votes(&told.proposal), 3, "{name}");
        let status = |id: &str| client.get(&format!("/v1/validators/{id}/status"));
        for id in [&chain.validators[3], &told.joined] {
            until(&format!("{id} of {name} has caught up"), || {
                status(id)["currentBlock"].as_u64().unwrap() + 3 >= client.height(chain)
            });
        }
    }
    service.stop();
}
