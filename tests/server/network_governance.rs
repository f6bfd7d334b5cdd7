//! Proposals by routes alone, on networks in real time: terms of their own, the weight of a vote, withdrawal, an execution that fails, what
//! they change.

use alloy_sol_types::{SolCall, SolError};
use chainbox::{
    chain::CallRequest,
    node::{Component, DappDeployer},
    primitives::{Address, Bytes, Gas, U256},
    system::{
        governance::{GOVERNANCE_ADDRESS, interface as governance},
        staking::interface as stake,
        validators::interface as registry,
    },
};
use serde_json::{Value, json};

use crate::network_world::{COUNT, World, weight_of};

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
        let (id, before) = (one["id"].as_str().unwrap(), weight_of(one));
        let earlier = world.proposed(0, &governance::proposeTextCall { terms: terms("Before") }).await;
        let delegation = json!({ "amount": "5000000000000000000" });
        world.ok("POST", &format!("/v1/validators/{id}/delegations"), delegation).await;
        world.run(5);
        let after = weight_of(&world.validator(id).await);
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

/// By the service for a wallet of the workspace, else by the proposer's own transaction; with a vote by nobody.
#[tokio::test]
async fn a_proposal_is_canceled_by_its_route() {
    let mut operators = World::four();
    operators.pop();
    let world = World::with("proof-of-authority", operators).await;
    world.run(5);
    let first = world.proposed(0, &governance::proposeTextCall { terms: terms("Not now") }).await;
    let second = world.proposed(0, &governance::proposeTextCall { terms: terms("Later") }).await;
    let cancel = |proposal: &(String, u64)| format!("{}/cancel", proposal.0);
    let signed = |operator: usize, proposal: &(String, u64)| {
        let key = &world.operators[operator];
        let call = governance::cancelCall { id: U256::from(proposal.1) };
        let request = CallRequest::call(GOVERNANCE_ADDRESS, call.abi_encode()).with_from(key.address());
        // With its gas nothing of it is tried.
        let unsigned = world.chain.node().unsigned(request.with_gas(Gas::new(500_000))).unwrap();
        json!({ "signedTransaction": unsigned.sign(key).unwrap().encoded().to_string() })
    };
    let unsigned = world.conflict("POST", &cancel(&first), json!({})).await;
    assert!(unsigned.contains("is no wallet of the workspace"), "{unsigned}");
    // Of somebody else, and of another proposal.
    for (operator, proposal) in [(1, &first), (0, &second)] {
        let wrong = world.call("POST", &cancel(&first), signed(operator, proposal)).await;
        assert_eq!(wrong.status, 422, "{}", wrong.body);
        assert_eq!(wrong.json()["error"]["details"]["fields"][0]["path"], "signedTransaction", "{}", wrong.body);
    }
    let sent = world.ok("POST", &cancel(&first), signed(0, &first)).await;
    assert!(sent["transactionHash"].is_string(), "{sent}");
    assert_eq!(sent["proposal"]["status"], "active", "no block has it: {sent}");
    world.run(4);
    assert_eq!(world.ok("GET", &first.0, Value::Null).await["status"], "canceled");
    let again = world.conflict("POST", &cancel(&first), signed(0, &first)).await;
    assert!(again.contains("NotActive"), "{again}");
    world.votes(&second, 1, NO).await;
    world.run(4);
    let voted = world.conflict("POST", &cancel(&second), signed(0, &second)).await;
    assert!(voted.contains("HasVotes"), "{voted}");

    let world = World::with("proof-of-authority", Vec::new()).await;
    world.run(5);
    let note = json!({ "blockchainId": world.chain.id(), "title": "A note", "type": "text", "votingPeriod": "30s" });
    let sent = world.ok("POST", "/v1/governance/proposals", note).await;
    let path = format!("/v1/governance/proposals/{}", sent["id"].as_str().unwrap());
    let early = world.conflict("POST", &format!("{path}/cancel"), json!({})).await;
    assert!(early.contains("in no block yet"), "{early}");
    world.run(4);
    world.ok("POST", &format!("{path}/cancel"), json!({})).await;
    world.run(4);
    let canceled = world.ok("GET", &path, Value::Null).await;
    assert_eq!((&canceled["status"], &canceled["tally"]["yes"]), (&json!("canceled"), &json!("0")), "{canceled}");
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

/// A proposal that changes the block time is voted through, and the blocks follow.
pub(crate) async fn block_time_changed(world: &World, has_stake: bool, last: &str) {
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
    let shown = world.ok("GET", &world.path(""), Value::Null).await;
    assert_eq!(shown["config"]["blockTime"], "2s", "{shown}");
    dapp_counts_blocks_of(world, 2).await;
}

/// A dApp whose configuration has times counts them in blocks of so many seconds.
async fn dapp_counts_blocks_of(world: &World, secs: u64) {
    let components = json!([
        { "type": "governance", "config": { "name": "Council", "votingPeriod": "1d" } },
        { "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "9", "features": ["votes"] } },
    ]);
    let (node, from) = (world.chain.node(), world.operators[0].address());
    let wanted = |secs| {
        let components = Component::read_list(&components).unwrap();
        let plan = node.plan_dapp(DappDeployer::new(from).with_block_time(secs), &components);
        plan.unwrap().request().input.to_string()
    };
    let body = json!({ "blockchainId": world.chain.id(), "components": components, "from": from.to_string() });
    let plan = world.ok("POST", "/v1/dapps/plan", body).await;
    assert_eq!(plan["data"], wanted(secs), "{plan}");
    assert_ne!(wanted(1), wanted(secs));
}

/// A proposal that removes a validator with stake.
pub(crate) async fn voted_out(world: &World, id: &str) {
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

/// On demand, too, the keys of the validators of genesis alone are held here.
#[tokio::test]
async fn a_chain_on_demand_keeps_its_quorum_in_votes() {
    let config = || json!({ "membership": "governance" });
    let elsewhere = Address::repeat_byte(0x55);
    for consensus in ["proof-of-authority", "raft"] {
        let world = World::configured(consensus, Vec::new(), config()).await;
        let add = json!({
            "blockchainId": world.chain.id(), "title": "One more", "type": "validator-add", "changes": { "address": elsewhere },
        });
        let refused = world.conflict("POST", "/v1/governance/proposals", add).await;
        for said in ["held elsewhere", "1 of a weight of 2 would be up", "more than half", "blockTime"] {
            assert!(refused.contains(said), "{consensus}: {said}: {refused}");
        }
    }
    // Two of three are more than half, one of two is not.
    let mut operators = World::four();
    operators.truncate(2);
    let world = World::configured("proof-of-authority", operators, config()).await;
    let add = governance::proposeValidatorAddCall { terms: terms("One more"), validator: elsewhere, weight: 1 };
    let body = |raw: String| json!({ "blockchainId": world.chain.id(), "signedTransaction": raw });
    let open = world.ok("POST", "/v1/governance/proposals", body(world.signed(0, &add))).await;
    let validator = world.operators[1].address();
    let less = governance::proposeValidatorRemoveCall { terms: terms("One less"), validator };
    let refused = world.conflict("POST", "/v1/governance/proposals", body(world.signed(0, &less))).await;
    for said in ["1 of a weight of 2 would be up", open["id"].as_str().unwrap(), "held elsewhere first"] {
        assert!(refused.contains(said), "{said}: {refused}");
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

/// Parameters that an export covers: the gas limit of a block, and the rules of the base fee.
const OF_AN_EXPORT: [&str; 4] = ["gasLimit", "baseFeeFloor", "baseFeeChangeDenominator", "elasticityMultiplier"];

/// The value of a parameter in force.
async fn in_force(world: &World, name: &str) -> Value {
    let listed = world.ok("GET", &world.path("/parameters?limit=100"), Value::Null).await;
    let found = listed.as_array().unwrap().iter().find(|one| one["name"] == name);
    found.unwrap_or_else(|| panic!("{name} is not in {listed}"))["value"].clone()
}

/// What votes have made of the rules that an export covers is where its import begins, and votes change them on; of the others the new chain has
/// its own.
#[tokio::test]
async fn an_import_goes_on_with_the_voted_gas_limit_and_base_fee() {
    const FLOOR: u64 = 2_000_000_000;
    let world = World::with("proof-of-authority", Vec::new()).await;
    world.run(5);
    let changes = json!({
        "gasLimit": "12345678", "baseFeeFloor": FLOOR.to_string(), "baseFeeChangeDenominator": 4, "elasticityMultiplier": 5,
        "blockTime": "3s", "validatorsMax": 9,
    });
    let ended = world.voted_through("parameter-change", changes).await;
    assert_eq!(ended["status"], "executed", "{ended}");
    world.run(20);
    for (name, value) in OF_AN_EXPORT.into_iter().zip(["12345678", "2000000000", "4", "5"]) {
        assert_eq!(in_force(&world, name).await, value, "{name}");
    }
    for (name, value) in [("blockTime", "3"), ("validatorsMax", "9")] {
        assert_eq!(in_force(&world, name).await, value, "{name}");
    }
    let exported = world.call("GET", &world.path("/export"), Value::Null).await;
    assert_eq!(exported.status, 200, "{}", exported.body);

    let blockchain = json!({ "name": "copy", "consensus": "proof-of-authority", "config": { "blockTime": "1s" } });
    let body = json!({ "blockchain": blockchain, "state": exported.body });
    let made = world.ok("POST", "/v1/blockchains/import", body).await;
    let chain = world.service.platform.running_blockchain(made["id"].as_str().unwrap()).unwrap();
    let copy = World { chain, ..world };
    copy.run(5);
    for (name, value) in OF_AN_EXPORT.into_iter().zip(["12345678", "2000000000", "4", "5"]) {
        assert_eq!(in_force(&copy, name).await, value, "{name} of the import");
    }
    assert_eq!(in_force(&copy, "blockTime").await, "1", "an export has no time between blocks");
    assert_ne!(in_force(&copy, "validatorsMax").await, "9", "an export has no validators");
    let head = copy.height();
    assert!(head >= 3, "{head}");
    for height in 0..=head {
        let block = copy.block(height);
        assert_eq!((block.header().gas_limit, block.base_fee()), (12_345_678, Some(FLOOR)), "block {height}");
    }
    let ended = copy.voted_through("parameter-change", json!({ "gasLimit": "23456789" })).await;
    assert_eq!(ended["status"], "executed", "{ended}");
    copy.run(3);
    assert_eq!(copy.block(copy.height()).header().gas_limit, 23_456_789);
}
