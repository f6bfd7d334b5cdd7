//! Proposals by routes alone, on networks in real time: terms of their own, the weight of a vote, withdrawal, an execution that fails.

use alloy_sol_types::{SolCall, SolError};
use chainbox::{
    primitives::{Bytes, U256},
    system::{governance::interface as governance, staking::interface as stake, validators::interface as registry},
};
use serde_json::{Value, json};

use crate::network::World;

/// Codes of votes.
const YES: u8 = 1;
const NO: u8 = 3;

fn terms(title: &str) -> governance::Terms {
    governance::Terms { title: title.to_owned(), votingPeriodSecs: 30, ..Default::default() }
}

impl World {
    /// Runs until a block has a proposal that was sent. Returns its path, and its number in the contract.
    async fn included(&self, sent: &Value) -> (String, u64) {
        let path = format!("/v1/governance/proposals/{}", sent["id"].as_str().unwrap());
        self.run(4);
        let number = self.ok("GET", &path, Value::Null).await["number"].as_u64().unwrap();
        (path, number)
    }

    /// Submits a proposal that an operator signs, as [`World::included`].
    async fn proposed(&self, operator: usize, call: &impl SolCall) -> (String, u64) {
        let body = json!({ "blockchainId": self.chain.id(), "signedTransaction": self.signed(operator, call) });
        let sent = self.ok("POST", "/v1/governance/proposals", body).await;
        self.included(&sent).await
    }

    /// Lets an operator vote with all of its weight.
    async fn votes(&self, (path, number): &(String, u64), operator: usize, option: u8) {
        let (id, weight) = (U256::from(*number), U256::ZERO);
        let call = governance::voteCall { id, option, weight, reason: String::new() };
        let body = json!({ "signedTransaction": self.signed(operator, &call) });
        self.ok("POST", &format!("{path}/vote"), body).await;
    }
}

/// Four with equal weights; the treasury, which is one of them, proposes and votes yes.
#[tokio::test]
async fn a_proposal_has_a_stricter_quorum_and_threshold_of_its_own() {
    let mut operators = World::four();
    operators.pop();
    let world = World::with("proof-of-authority", operators).await;
    world.run(5);
    let treasury = world.chain.treasury().unwrap();
    let added = world.ok("POST", &world.path("/validators"), json!({ "address": treasury })).await;
    world.until(added["id"].as_str().unwrap(), &["active"]).await;
    let proposal = |quorum: f64, threshold: f64| {
        json!({
            "blockchainId": world.chain.id(), "title": "Stricter", "type": "text", "votingPeriod": "20s",
            "quorum": quorum, "threshold": threshold, "from": treasury,
        })
    };
    for (quorum, threshold, error) in [(33.3, 50.0, "QuorumOutOfRange"), (33.4, 49.9, "ThresholdOutOfRange")] {
        let laxer = world.conflict("POST", "/v1/governance/proposals", proposal(quorum, threshold)).await;
        assert!(laxer.contains(error), "{laxer}");
    }
    // Two of four are 50 %; two of three are more than 66.6 % and less than 66.7 %.
    let cases: [(f64, f64, &[u8], &str); 6] = [
        (60.0, 50.0, &[YES], "expired"),
        (50.0, 50.0, &[YES], "executed"),
        (33.4, 70.0, &[YES, NO], "rejected"),
        (33.4, 66.7, &[YES, NO], "rejected"),
        (33.4, 66.6, &[YES, NO], "executed"),
        (75.0, 70.0, &[YES, YES], "executed"),
    ];
    for (quorum, threshold, others, state) in cases {
        let sent = world.ok("POST", "/v1/governance/proposals", proposal(quorum, threshold)).await;
        let made = world.included(&sent).await;
        let shown = world.ok("GET", &made.0, Value::Null).await;
        assert_eq!((&shown["quorum"], &shown["threshold"]), (&json!(quorum), &json!(threshold)), "{shown}");
        world.ok("POST", &format!("{}/vote", made.0), json!({ "vote": "yes", "from": treasury })).await;
        for (operator, option) in others.iter().enumerate() {
            world.votes(&made, operator, *option).await;
        }
        let ended = world.ended(&made.0).await;
        assert_eq!(ended["status"], state, "quorum {quorum}, threshold {threshold}, then {others:?}: {ended}");
    }
}

/// Stake that comes after a proposal counts for the next one.
#[tokio::test]
async fn a_vote_weighs_what_its_voter_had_before_the_proposal() {
    for consensus in ["proof-of-stake", "delegated-proof-of-stake"] {
        let world = World::new(consensus).await;
        world.run(5);
        let voter = world.operators[1].address().to_string();
        let listed = world.ok("GET", &world.path("/validators"), Value::Null).await;
        let one = listed.as_array().unwrap().iter().find(|one| one["address"] == voter.as_str()).unwrap();
        let (id, before) = (one["id"].as_str().unwrap(), one["weight"].as_u64().unwrap());
        let earlier = world.proposed(0, &governance::proposeTextCall { terms: terms("Before") }).await;
        let delegation = json!({ "amount": "5000000000000000000" });
        world.ok("POST", &format!("/v1/validators/{id}/delegations"), delegation).await;
        world.run(5);
        let after = world.validator(id).await["weight"].as_u64().unwrap();
        assert!(after > before, "{consensus}: {after} after {before}");
        let later = world.proposed(0, &governance::proposeTextCall { terms: terms("After") }).await;
        for (proposal, weight) in [(&earlier, before.to_string()), (&later, after.to_string())] {
            world.votes(proposal, 1, YES).await;
            world.run(4);
            let votes = world.ok("GET", &format!("{}/votes", proposal.0), Value::Null).await;
            assert_eq!(votes.as_array().unwrap().len(), 1, "{consensus}: {votes}");
            assert_eq!((&votes[0]["voter"], &votes[0]["weight"]), (&json!(voter), &json!(weight)), "{consensus}");
            let shown = world.ok("GET", &proposal.0, Value::Null).await;
            assert_eq!(shown["tally"]["yes"], json!(weight), "{consensus}: {shown}");
        }
    }
}

#[tokio::test]
async fn its_proposer_cancels_a_proposal_by_a_signed_transaction() {
    for consensus in ["proof-of-authority", "delegated-proof-of-stake"] {
        let world = World::new(consensus).await;
        world.run(5);
        let (path, number) = world.proposed(0, &governance::proposeTextCall { terms: terms("Not now") }).await;
        assert_eq!(world.ok("GET", &path, Value::Null).await["status"], "active");
        let raw = world.signed(0, &governance::cancelCall { id: U256::from(number) });
        let params = json!({ "blockchainId": world.chain.id(), "signedTransaction": raw });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "transaction.send", "params": params });
        let answer = world.call("POST", "/v1/rpc", call).await.json();
        assert!(answer["result"]["transactionHash"].is_string(), "{answer}");
        world.run(4);
        let canceled = world.ok("GET", &path, Value::Null).await;
        assert_eq!(canceled["status"], "canceled", "{consensus}: {canceled}");
        assert!(canceled["finalizedBlock"].is_u64(), "{canceled}");
        let late = world.conflict("POST", &format!("{path}/vote"), json!({ "vote": "yes" })).await;
        assert!(late.contains("NotActive"), "{late}");
        world.run(40);
        let later = world.ok("GET", &path, Value::Null).await;
        assert_eq!(later, canceled, "{consensus}: the end of the period changes nothing");
    }
}

/// Two proposals take the same validator out: the second one has none to take, and says what the contract says of that.
#[tokio::test]
async fn a_proposal_that_cannot_be_executed_any_more_has_failed() {
    for consensus in ["proof-of-authority", "delegated-proof-of-stake"] {
        let has_stake = consensus.ends_with("stake");
        let mut config = json!({ "blockTime": "1s" });
        if !has_stake {
            config["membership"] = "governance".into();
        }
        let world = World::configured(consensus, World::four(), config).await;
        world.run(5);
        let validator = world.operators[3].address();
        let mut proposals = Vec::new();
        for proposer in 0..2 {
            let call = governance::proposeValidatorRemoveCall { terms: terms("One less"), validator };
            let proposal = world.proposed(proposer, &call).await;
            for voter in 0..3 {
                world.votes(&proposal, voter, YES).await;
            }
            proposals.push(proposal);
        }
        let first = world.ended(&proposals[0].0).await;
        assert_eq!((&first["status"], &first["failure"]), (&json!("executed"), &Value::Null), "{consensus}: {first}");
        let second = world.ended(&proposals[1].0).await;
        let reason = if has_stake {
            stake::AlreadyExiting { validator }.abi_encode()
        } else {
            registry::UnknownValidator { validator }.abi_encode()
        };
        let reason = Bytes::from(reason).to_string();
        assert_eq!(
            (&second["status"], &second["failure"]),
            (&json!("failed"), &json!(reason)),
            "{consensus}: {second}"
        );
    }
}
