//! A network in real time for tests by routes alone: a service with one chain, by a clock that the test moves.

use core::time::Duration;
use std::sync::Arc;

use alloy_sol_types::SolCall;
use chainbox::{
    chain::{Block, CallRequest},
    node::{ManualClock, testing::run_for},
    platform::Blockchain,
    primitives::{KeyPair, Timestamp, U256},
    system::governance::{GOVERNANCE_ADDRESS, interface as governance},
};
use serde_json::{Value, json};

use crate::{
    http::{Reply, Service},
    network_figures::block_at,
};

pub(crate) const START: Timestamp = Timestamp::from_secs(1_750_000_000);
/// Validators of genesis.
pub(crate) const COUNT: usize = 4;

/// The weight of a validator, which is in decimal digits, as amounts are.
pub(crate) fn weight_of(validator: &Value) -> u64 {
    validator["weight"].as_str().unwrap().parse().unwrap()
}

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
        run_for(self.chain.network().unwrap(), &self.clock, Duration::from_secs(secs));
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
}
