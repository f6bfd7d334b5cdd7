//! Validators and governance by routes alone, on each protocol: networks in real time, by a clock that the test moves.
//!
//! The routes are `/v1/validators`, `/v1/governance/proposals` and a chain's own lists of both below `/v1/blockchains`. No test waits: a second
//! of the chain's time takes as long as its blocks need.

use alloy_sol_types::SolCall;
use chainbox::{
    consensus::{Authenticator, BlockId, pos},
    node::BlockRef,
    primitives::{Address, B256, Bytes, Height, KeyPair, U256},
    system::{
        governance::{GOVERNANCE_ADDRESS, interface as governance},
        staking,
    },
};
use serde_json::{Value, json};

pub(crate) use crate::{network_figures::duties_in, network_world::World};
use crate::{
    network_governance::{block_time_changed, voted_out},
    network_world::{COUNT, START},
};

impl World {
    /// What a validator of genesis had to do in the newest blocks, and what it missed.
    fn duties(&self, consensus: &str, key: Address, blocks: u64) -> (u64, u64) {
        let view = self.chain.node().view();
        let mut keys: Vec<Address> = view.chain().spec().validators.iter().map(|validator| validator.address).collect();
        keys.sort_unstable();
        duties_in(&self.chain, consensus, (self.height(), blocks), (&keys, key))
    }

    /// The status of a validator of genesis says of its duties what the blocks say. Returns those that it had and missed.
    async fn duties_are_those_of_the_blocks(&self, consensus: &str, id: &str) -> (u64, u64) {
        let (status, shown) = (self.status(id).await, self.validator(id).await);
        let key: Address = shown["sealingAddress"].as_str().unwrap().parse().unwrap();
        let (duties, missed) = self.duties(consensus, key, status["windowBlocks"].as_u64().unwrap());
        assert_eq!(status["missedBlocks"], missed, "{status}");
        if duties == 0 {
            assert!(status["uptime"].is_null(), "{consensus}: {status}");
        } else {
            assert_eq!(status["uptime"], json!(100.0 * (duties - missed) as f64 / duties as f64), "{status}");
        }
        (duties, missed)
    }
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
    stopped_and_started(&world, consensus, &ids).await;
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
async fn stopped_and_started(world: &World, consensus: &str, ids: &[String]) {
    let id = ids[3].as_str();
    let path = |rest: &str| format!("/v1/validators/{id}{rest}");
    let down = world.ok("POST", &path("/stop"), Value::Null).await;
    assert_eq!(down["process"], "down");
    assert!(world.conflict("POST", &path("/stop"), Value::Null).await.contains("stopped already"));
    let before = world.height();
    // Some epochs of proof of stake, for a vote is missing only once it can't come any more.
    world.run(if consensus == "proof-of-stake" { 110 } else { 30 });
    assert!(world.height() > before + 8, "the others go on: {} after {before}", world.height());
    let status = world.status(id).await;
    assert_eq!(status["process"], "down");
    assert!(status["currentBlock"].as_u64().unwrap() <= before + 1, "{status}");
    let (duties, missed) = world.duties_are_those_of_the_blocks(consensus, id).await;
    assert_eq!((duties > 0, missed > 0), (consensus != "raft", consensus != "raft"), "{status}");
    let (_, missed_by_another) = world.duties_are_those_of_the_blocks(consensus, &ids[0]).await;
    if consensus == "proof-of-stake" {
        assert!(missed_by_another < missed, "{missed_by_another} of one that is up, and {missed}");
        // Epochs of eight blocks, of which each asks for one vote.
        assert!(duties < 40, "{duties}: {status}");
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
    // Before a block has it.
    assert_eq!(world.validator(new).await["selfStake"], "32000000000000000000");
    assert!(world.conflict("PUT", &path, more.clone()).await.contains("already"));
    world.ok("POST", &delegations, json!({ "amount": "2000000000000000000" })).await;
    world.run(10);
    assert_eq!(world.validator(new).await["selfStake"], "40000000000000000000");
    assert!(world.conflict("PUT", &path, more).await.contains("already"));
    // Its operator is a wallet of the workspace, and takes stake out.
    let less = json!({ "stake": "35000000000000000000" });
    world.ok("PUT", &path, less.clone()).await;
    assert!(world.conflict("PUT", &path, less).await.contains("already"));
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
