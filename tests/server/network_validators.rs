//! What operators do with keys of their own, offences, rewards: by `/v1/validators` alone, on networks in real time.

use alloy_sol_types::{SolCall, SolEvent};
use chainbox::{
    chain::CallRequest,
    consensus::{Authenticator, BlockId, Purpose, dpos, pbft},
    node::{BlockRef, Located},
    primitives::{Address, B256, Bytes, Gas, Height, KeyPair, U256},
    system::{
        governance::{VALIDATORS_ADDRESS, interface as governance},
        parameters::Parameter,
        staking::{self, STAKING_ADDRESS, WEIGHT_UNIT, interface as stake},
        validators::{self, interface as registry},
    },
};
use serde_json::{Value, json};

use crate::{
    network::{World, consent},
    network_world::weight_of,
};

/// 32 tokens.
const STAKE: &str = "32000000000000000000";

fn ether(count: u64) -> U256 {
    U256::from(count) * U256::from(10).pow(U256::from(18))
}

/// Whether an amount is that of so many tokens, but for the penalties of who votes nowhere.
fn is_near(amount: &Value, tokens: u64) -> bool {
    let amount: U256 = amount.as_str().unwrap().parse().unwrap();
    amount <= ether(tokens) && amount > ether(tokens) * U256::from(99) / U256::from(100)
}

impl World {
    fn has_stake(&self) -> bool {
        self.chain.node().view().chain().has_stake()
    }

    /// A validator whose sealing key is held elsewhere, of an operator that the test has.
    fn elsewhere(&self, number: u64, stake: Option<&str>) -> (KeyPair, KeyPair, Value) {
        let (operator, key) = (KeyPair::from_seed(number, "operator"), KeyPair::from_seed(number, "sealing key"));
        let chain_id = self.chain.chain_id();
        let mut body =
            json!({ "address": operator.address().to_string(), "sealingAddress": key.address().to_string() });
        let proof = if self.has_stake() {
            body["consent"] = consent(self, &operator, key.address());
            body["commission"] = 5.into();
            staking::prove_sealing_key(chain_id, operator.address(), &key)
        } else {
            validators::prove_sealing_key(chain_id, operator.address(), &key)
        };
        body["sealingProof"] = proof.to_string().into();
        if let Some(stake) = stake {
            body["stake"] = stake.into();
        }
        (operator, key, body)
    }

    /// Lets the treasury call a contract, or pay somebody.
    async fn treasury_sends(&self, to: Address, value: U256, data: Vec<u8>) -> Value {
        let params = json!({
            "blockchainId": self.chain.id(), "contractAddress": to.to_string(), "value": value.to_string(),
            "data": Bytes::from(data).to_string(), "from": self.chain.treasury().unwrap().to_string(),
        });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "contract.execute", "params": params });
        let answer = self.call("POST", "/v1/rpc", call).await.json();
        assert!(answer["result"]["transactionHash"].is_string(), "{answer}");
        answer["result"].clone()
    }

    /// A call that a key of the test signs.
    fn call_of(&self, key: &KeyPair, to: Address, value: U256, call: &impl SolCall) -> String {
        let request = CallRequest::call(to, call.abi_encode()).with_from(key.address()).with_value(value);
        self.chain.node().unsigned(request).unwrap().sign(key).unwrap().encoded().to_string()
    }

    async fn balance(&self, account: Address) -> U256 {
        let found = self.ok("GET", &self.path(&format!("/accounts/{account}")), Value::Null).await;
        found["balance"].as_str().unwrap().parse().unwrap()
    }

    /// Expects 422 that names the field.
    async fn wrong_field(&self, method: &str, path: &str, body: Value) -> String {
        let reply = self.call(method, path, body).await;
        assert_eq!(reply.status, 422, "{method} {path}: {}", reply.body);
        reply.json()["error"]["details"]["fields"][0]["path"].as_str().unwrap().to_owned()
    }

    /// Three of the four operators vote a shorter unbonding period through.
    async fn shortens_the_unbonding_period(&self, secs: u64) {
        let terms = governance::Terms { title: "Sooner".to_owned(), votingPeriodSecs: 20, ..Default::default() };
        let parameter = Parameter::UnbondingPeriod.code();
        let changes = vec![governance::Change { parameter, value: U256::from(secs) }];
        let call = governance::proposeParameterChangeCall { terms, changes };
        self.carried("parameter-change", json!({ "signedTransaction": self.signed(0, &call) })).await;
        for _ in 0..30 {
            self.run(10);
            let view = self.chain.node().view();
            if view.chain().staking_view(view.head(), &stake::paramsCall {}).unwrap().unbondingSecs == secs {
                return;
            }
        }
        panic!("the unbonding period never changed");
    }

    /// What a validator's list of delegations has of an account; null without.
    async fn delegation(&self, id: &str, delegator: Address) -> Value {
        let listed = self.ok("GET", &format!("/v1/validators/{id}/delegations?limit=100"), Value::Null).await;
        let name = delegator.to_string();
        let found = listed.as_array().unwrap().iter().find(|one| one["delegator"] == name.as_str());
        found.cloned().unwrap_or_default()
    }

    /// The id of an operator's validator.
    async fn id_of(&self, operator: usize) -> String {
        let address = self.operators[operator].address().to_string();
        let listed = self.ok("GET", &self.path("/validators?limit=100"), Value::Null).await;
        let found = listed.as_array().unwrap().iter().find(|one| one["address"] == address.as_str());
        found.unwrap_or_else(|| panic!("{address}: {listed}"))["id"].as_str().unwrap().to_owned()
    }

    /// The path by which an operator's validator leaves: with stake by a transaction that the operator signs.
    fn leaving(&self, operator: usize, id: &str) -> String {
        if !self.has_stake() {
            return format!("/v1/validators/{id}");
        }
        let raw = self.call_of(&self.operators[operator], STAKING_ADDRESS, U256::ZERO, &stake::exitCall {});
        format!("/v1/validators/{id}?signedTransaction={raw}")
    }

    /// Expects that an operator's validator can neither be removed nor slashed, because of these sums.
    async fn is_needed(&self, operator: usize, sums: &str) {
        let id = self.id_of(operator).await;
        let mut requests = vec![("DELETE", self.leaving(operator, &id), Value::Null)];
        if !self.has_stake() {
            let penalty = json!({ "percentage": 10, "reason": "downtime" });
            requests.push(("POST", format!("/v1/validators/{id}/slash"), penalty));
        }
        for (method, path, body) in requests {
            let refused = self.conflict(method, &path, body).await;
            assert!(refused.contains(sums) && refused.contains("the protocol needs"), "{method}: {refused}");
        }
        assert_eq!(self.validator(&id).await["status"], "active");
    }

    /// The treasury's stake that was taken back from a validator.
    async fn unbondings(&self, id: &str) -> Value {
        let treasury = self.chain.treasury().unwrap();
        self.ok("GET", &format!("/v1/validators/{id}/unbondings?delegator={treasury}"), Value::Null).await
    }

    /// Targets of an action in the audit log.
    async fn audited(&self, action: &str) -> Vec<String> {
        let workspaces = self.ok("GET", "/v1/workspaces", Value::Null).await;
        let path = format!("/v1/workspaces/{}/audit?limit=100", workspaces[0]["id"].as_str().unwrap());
        let lines = self.ok("GET", &path, Value::Null).await;
        let of_action = lines.as_array().unwrap().iter().filter(|line| line["action"] == action);
        of_action.map(|line| line["target"].as_str().unwrap().to_owned()).collect()
    }
}

/// Several that are added before one boundary count together, and with the stake that they really have.
#[tokio::test]
async fn keys_that_are_held_elsewhere_never_cost_the_quorum() {
    for consensus in ["pbft", "proof-of-authority", "proof-of-stake"] {
        let world = World::new(consensus).await;
        world.run(5);
        let all = world.path("/validators");
        let (weight, added) = if world.has_stake() {
            let view = world.chain.node().view();
            let params = view.chain().staking_view(view.head(), &stake::paramsCall {}).unwrap();
            let listed = world.ok("GET", &all, Value::Null).await;
            let weight = listed.as_array().unwrap().iter().map(weight_of).sum::<u64>();
            (weight, (params.minSelfStake / WEIGHT_UNIT).to::<u64>())
        } else {
            (4, 1)
        };
        // Without the stake the least counts, which is far from enough to matter on a chain with stake; there the last has much.
        let (numerator, denominator) = if consensus == "proof-of-authority" { (1, 2) } else { (2, 3) };
        let mut reached = weight;
        for number in 0..4 {
            let (_, _, body) = world.elsewhere(number, None);
            reached += added;
            // Four of five and of six are a quorum of PBFT, and of seven none.
            let is_enough = match consensus {
                "pbft" => reached <= 6,
                _ => weight * denominator > reached * numerator,
            };
            if is_enough {
                let made = world.ok("POST", &all, body).await;
                assert_eq!((&made["status"], &made["process"]), (&json!("joining"), &json!("elsewhere")), "{made}");
            } else {
                let refused = world.conflict("POST", &all, body).await;
                assert!(
                    refused.contains("held elsewhere") && refused.contains("wait to join"),
                    "{consensus}: {refused}"
                );
                reached -= added;
            }
        }
        if world.has_stake() {
            // The last one before the bound, by all that the ones before it have.
            let over = U256::from((weight * denominator).div_ceil(numerator) - reached) * WEIGHT_UNIT;
            let (_, _, body) = world.elsewhere(9, Some(&over.to_string()));
            let refused = world.conflict("POST", &all, body).await;
            assert!(refused.contains("wait to join"), "{refused}");
        }
        if consensus == "proof-of-authority" {
            // Three of six would be up.
            world.is_needed(0, "3 of a weight of 6").await;
        }
        let before = world.height();
        world.run(120);
        assert!(world.height() > before + 20, "{consensus} goes on: {} after {before}", world.height());
        if consensus == "proof-of-authority" {
            world.is_needed(0, "3 of a weight of 6").await;
            let before = world.height();
            world.run(30);
            assert!(world.height() > before + 5, "{consensus} goes on: {} after {before}", world.height());
        }
    }
}

/// With one of four down, those whose protocol needs more than half lose one more and not two; the others none. Once all are up again
/// they may leave.
#[tokio::test]
async fn nobody_leaves_or_is_slashed_whom_the_quorum_needs() {
    for consensus in ["proof-of-authority", "raft", "pbft", "proof-of-stake", "delegated-proof-of-stake"] {
        let world = World::new(consensus).await;
        world.run(5);
        let down = world.id_of(3).await;
        world.ok("POST", &format!("/v1/validators/{down}/stop"), Value::Null).await;
        let is_majority = matches!(consensus, "proof-of-authority" | "raft");
        let next = if is_majority {
            let first = world.id_of(0).await;
            world.ok("DELETE", &format!("/v1/validators/{first}"), Value::Null).await;
            world.until(&first, &["removed"]).await;
            1
        } else {
            0
        };
        // Producers of delegated proof of stake count once each.
        let counts_stake = consensus == "proof-of-stake";
        let unit = if counts_stake { weight_of(&world.validator(&down).await) } else { 1 };
        let (reached, all) = if is_majority { (1, 2) } else { (2 * unit, 3 * unit) };
        let sums = format!("{reached} of a weight of {all} would be up");
        world.is_needed(next, &sums).await;
        let before = world.height();
        world.run(40);
        assert!(world.height() > before + 8, "{consensus} goes on: {} after {before}", world.height());

        world.ok("POST", &format!("/v1/validators/{down}/start"), Value::Null).await;
        world.run(20);
        let id = world.id_of(next).await;
        let leaving = world.leaving(next, &id);
        if consensus == "pbft" {
            // Three are too few whoever is up.
            let refused = world.conflict("DELETE", &leaving, Value::Null).await;
            assert!(refused.contains("TooFewValidators"), "{refused}");
            continue;
        }
        world.ok("DELETE", &leaving, Value::Null).await;
        world.until(&id, &["exiting", "unbonding", "removed"]).await;
        let before = world.height();
        world.run(60);
        assert!(world.height() > before + 10, "{consensus} goes on: {} after {before}", world.height());
    }
}

/// What somebody else has signed is judged as what the service signs. Producers of delegated proof of stake count once each.
#[tokio::test]
async fn nobody_takes_back_stake_that_the_quorum_needs() {
    for consensus in ["proof-of-stake", "delegated-proof-of-stake"] {
        let world = World::new(consensus).await;
        world.run(5);
        let (id, operator) = (world.id_of(0).await, world.operators[0].clone());
        let path = |rest: &str| format!("/v1/validators/{id}{rest}");
        let own: U256 = world.validator(&id).await["selfStake"].as_str().unwrap().parse().unwrap();
        let amount = own * U256::from(2) + ether(2);
        world.ok("POST", &path("/delegations"), json!({ "amount": amount.to_string() })).await;
        world.run(5);
        for other in [2, 3] {
            let other = world.id_of(other).await;
            world.ok("POST", &format!("/v1/validators/{other}/stop"), Value::Null).await;
        }
        let signed = |call: &[u8]| {
            let request = CallRequest::call(STAKING_ADDRESS, call.to_vec()).with_from(operator.address());
            let raw = world.chain.node().unsigned(request).unwrap().sign(&operator).unwrap().encoded();
            json!({ "signedTransaction": raw.to_string() })
        };
        let unstake = |tokens: u64| signed(&stake::unstakeCall { amount: ether(tokens) }.abi_encode());
        let (validator, amount) = (operator.address(), ether(4));
        let undelegate = signed(&stake::undelegateCall { validator, amount }.abi_encode());
        if consensus == "proof-of-stake" {
            for (method, path, body) in
                [("PUT", path("/stake"), unstake(4)), ("POST", path("/undelegations"), undelegate)]
            {
                let refused = world.conflict(method, &path, body).await;
                assert!(refused.contains("would be up") && refused.contains("more than two thirds"), "{refused}");
            }
            world.ok("PUT", &path("/stake"), unstake(1)).await;
        } else {
            world.ok("PUT", &path("/stake"), unstake(4)).await;
        }
    }
}

/// Where governance removes validators, nobody proposes what would end the chain.
#[tokio::test]
async fn a_proposal_to_remove_whom_the_quorum_needs_is_refused() {
    for (consensus, config) in [
        ("pbft", json!({ "blockTime": "1s", "membership": "governance" })),
        ("proof-of-stake", json!({ "blockTime": "1s" })),
    ] {
        let world = World::configured(consensus, World::four(), config).await;
        world.run(5);
        let down = world.id_of(3).await;
        world.ok("POST", &format!("/v1/validators/{down}/stop"), Value::Null).await;
        let remove = |validator: Address| {
            let terms = governance::Terms { title: "One less".to_owned(), votingPeriodSecs: 20, ..Default::default() };
            let call = governance::proposeValidatorRemoveCall { terms, validator };
            json!({ "blockchainId": world.chain.id(), "signedTransaction": world.signed(1, &call) })
        };
        let needed = remove(world.operators[0].address());
        let refused = world.conflict("POST", "/v1/governance/proposals", needed).await;
        let rule = if world.has_stake() { "more than two thirds" } else { "a quorum of 3" };
        assert!(refused.contains("would be up") && refused.contains(rule), "{consensus}: {refused}");
        // The one that is down costs nothing; PBFT's contract has a bound of its own, which it looks at when the proposal is executed.
        if world.has_stake() {
            let made = world.ok("POST", "/v1/governance/proposals", remove(world.operators[3].address())).await;
            assert_eq!(made["status"], "pending", "{made}");
        }
    }
}

/// Without stake, the administrator's own transaction: the key and the weight are the call's.
#[tokio::test]
async fn a_signed_transaction_adds_and_slashes_a_validator_without_stake() {
    let world = World::new("proof-of-authority").await;
    world.run(5);
    let administrator = world.operators[0].clone();
    let hand_over = registry::transferOwnershipCall { newOwner: administrator.address() };
    world.treasury_sends(VALIDATORS_ADDRESS, U256::ZERO, hand_over.abi_encode()).await;
    world.run(3);
    let raw = world.call_of(&administrator, VALIDATORS_ADDRESS, U256::ZERO, &registry::acceptOwnershipCall {});
    let params = json!({ "blockchainId": world.chain.id(), "signedTransaction": raw });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "transaction.send", "params": params });
    let answer = world.call("POST", "/v1/rpc", call).await.json();
    assert!(answer["result"].is_object(), "{answer}");
    world.run(3);

    let all = world.path("/validators");
    let (operator, key, elsewhere) = world.elsewhere(1, None);
    let proof: Bytes = elsewhere["sealingProof"].as_str().unwrap().parse().unwrap();
    let call =
        registry::addValidatorCall { validator: operator.address(), sealingKey: key.address(), weight: 1, proof };
    let raw = world.call_of(&administrator, VALIDATORS_ADDRESS, U256::ZERO, &call);
    let mut body = json!({ "address": operator.address().to_string(), "signedTransaction": raw });
    let listed = world.ok("GET", &all, Value::Null).await;
    let ids: Vec<String> = (0..2_usize).map(|index| listed[index]["id"].as_str().unwrap().to_owned()).collect();
    for id in &ids {
        world.ok("POST", &format!("/v1/validators/{id}/stop"), Value::Null).await;
    }
    let refused = world.conflict("POST", &all, body.clone()).await;
    assert!(refused.contains("held elsewhere"), "{refused}");
    for id in &ids {
        world.ok("POST", &format!("/v1/validators/{id}/start"), Value::Null).await;
    }
    body["sealingAddress"] = Address::repeat_byte(0x77).to_string().into();
    assert_eq!(world.wrong_field("POST", &all, body.clone()).await, "sealingAddress");
    body.as_object_mut().unwrap().remove("sealingAddress");
    let made = world.ok("POST", &all, body).await;
    assert_eq!(made["sealingAddress"], key.address().to_string(), "the key of the call: {made}");
    assert_eq!((&made["status"], &made["process"]), (&json!("joining"), &json!("elsewhere")), "{made}");
    let id = made["id"].as_str().unwrap();
    world.until(id, &["active"]).await;

    let slash = format!("/v1/validators/{id}/slash");
    let unsigned = world.conflict("POST", &slash, json!({ "percentage": 10, "reason": "it was away" })).await;
    let who = format!("{} administers the validators", administrator.address());
    assert!(unsigned.contains(&who) && unsigned.contains("send its signedTransaction"), "{unsigned}");
    let (validator, reason) = (operator.address(), "it was away".to_owned());
    let call = registry::slashCall { validator, partPpm: 1_000_000, reason: reason.clone() };
    let raw = world.call_of(&administrator, VALIDATORS_ADDRESS, U256::ZERO, &call);
    let mut body = json!({ "reason": reason, "signedTransaction": raw, "percentage": 5 });
    assert_eq!(world.wrong_field("POST", &slash, body.clone()).await, "percentage");
    body.as_object_mut().unwrap().remove("percentage");
    let other = format!("/v1/validators/{}/slash", ids[0]);
    assert_eq!(world.wrong_field("POST", &other, body.clone()).await, "signedTransaction");
    let sent = world.ok("POST", &slash, body).await;
    assert_eq!(sent["authority"], "validators-administrator", "{sent}");
    world.until(id, &["removed"]).await;
    let lines = world.audited("validator.slash").await;
    assert!(lines.iter().any(|line| line.contains(id) && line.contains("it was away")), "{lines:?}");

    let first = &world.operators[0];
    let listed = world.ok("GET", &all, Value::Null).await;
    let of_first = listed.as_array().unwrap().iter().find(|one| one["address"] == first.address().to_string()).unwrap();
    let leaving = |validator: Address, weight: u64| {
        let call = registry::setValidatorCall { validator, weight };
        let raw = world.call_of(&administrator, VALIDATORS_ADDRESS, U256::ZERO, &call);
        format!("/v1/validators/{}?signedTransaction={raw}", of_first["id"].as_str().unwrap())
    };
    for (validator, weight) in [(first.address(), 1), (world.operators[1].address(), 0)] {
        assert_eq!(world.wrong_field("DELETE", &leaving(validator, weight), Value::Null).await, "signedTransaction");
    }
    world.ok("DELETE", &leaving(first.address(), 0), Value::Null).await;
    world.until(of_first["id"].as_str().unwrap(), &["removed"]).await;
}

/// Where governance administers the validators, the operator's own transaction registers its key, and a proposal makes it a validator.
#[tokio::test]
async fn a_signed_transaction_registers_a_key_where_governance_adds_validators() {
    let config = json!({ "blockTime": "1s", "membership": "governance" });
    let world = World::configured("proof-of-authority", World::four(), config).await;
    world.run(5);
    let (all, chain_id) = (world.path("/validators"), world.chain.chain_id());
    let (operator, key) = (KeyPair::from_seed(1, "operator"), KeyPair::from_seed(1, "sealing key"));
    world.treasury_sends(operator.address(), ether(1), Vec::new()).await;
    world.run(3);
    let proof = validators::prove_sealing_key(chain_id, operator.address(), &key);
    let register = registry::setSealingKeyCall { key: key.address(), proof };
    let raw = world.call_of(&operator, VALIDATORS_ADDRESS, U256::ZERO, &register);
    let mut body = json!({ "address": Address::repeat_byte(0x66).to_string(), "signedTransaction": raw });
    assert_eq!(world.wrong_field("POST", &all, body.clone()).await, "signedTransaction");
    body["address"] = operator.address().to_string().into();
    body["sealingAddress"] = Address::repeat_byte(0x77).to_string().into();
    assert_eq!(world.wrong_field("POST", &all, body.clone()).await, "sealingAddress");
    body["sealingAddress"] = key.address().to_string().into();
    let made = world.ok("POST", &all, body).await;
    assert_eq!(made["sealingAddress"], key.address().to_string(), "the key of the call: {made}");
    assert_eq!((&made["status"], &made["process"]), (&json!("joining"), &json!("elsewhere")), "{made}");
    let id = made["id"].as_str().unwrap();
    world.run(30);
    let waiting = world.validator(id).await;
    assert_eq!(
        (&waiting["status"], &waiting["weight"]),
        (&json!("joining"), &json!("0")),
        "nobody has voted: {waiting}"
    );

    let terms = governance::Terms { title: "One more".to_owned(), votingPeriodSecs: 20, ..Default::default() };
    let add = governance::proposeValidatorAddCall { terms, validator: operator.address(), weight: 1 };
    world.carried("validator-add", json!({ "signedTransaction": world.signed(0, &add) })).await;
    let active = world.until(id, &["active"]).await;
    assert_eq!(active["sealingAddress"], key.address().to_string(), "{active}");
}

/// With stake, operators' and delegators' own transactions.
#[tokio::test]
async fn signed_transactions_join_stake_delegate_and_claim() {
    for consensus in ["proof-of-stake", "delegated-proof-of-stake"] {
        let world = World::new(consensus).await;
        world.run(5);
        let (all, chain_id) = (world.path("/validators"), world.chain.chain_id());
        let (operator, key) = (KeyPair::from_seed(1, "operator"), KeyPair::from_seed(1, "sealing key"));
        world.treasury_sends(operator.address(), ether(60), Vec::new()).await;
        world.run(3);
        let join = stake::joinWithKeyCall {
            commissionBps: 500,
            maxCommissionBps: 10_000,
            maxCommissionChangeBps: 10_000,
            sealingKey: key.address(),
            proof: staking::prove_sealing_key(chain_id, operator.address(), &key),
        };
        let raw = world.call_of(&operator, STAKING_ADDRESS, ether(32), &join);
        let mut body = json!({ "address": operator.address().to_string(), "signedTransaction": raw, "stake": "1" });
        assert_eq!(world.wrong_field("POST", &all, body.clone()).await, "stake");
        body["stake"] = STAKE.into();
        let made = world.ok("POST", &all, body).await;
        assert_eq!(made["sealingAddress"], key.address().to_string(), "the key of the call: {made}");
        assert_eq!((&made["status"], &made["process"]), (&json!("joining"), &json!("elsewhere")), "{made}");
        let id = made["id"].as_str().unwrap();
        let active = world.until(id, &["active"]).await;
        assert!(is_near(&active["selfStake"], 32), "{active}");

        let path = |rest: &str| format!("/v1/validators/{id}{rest}");
        let raw = world.call_of(&operator, STAKING_ADDRESS, ether(2), &stake::stakeCall {});
        world.ok("PUT", &path("/stake"), json!({ "signedTransaction": raw })).await;
        // Its gas is estimated on what is in blocks.
        world.run(5);
        let (delegator, validator) = (world.operators[1].clone(), operator.address());
        let raw = world.call_of(&delegator, STAKING_ADDRESS, ether(3), &stake::delegateCall { validator });
        let delegation = json!({ "signedTransaction": raw });
        let listed = world.ok("GET", &all, Value::Null).await;
        let other = listed.as_array().unwrap().iter().find(|one| one["id"] != id).unwrap();
        let others = format!("/v1/validators/{}", other["id"].as_str().unwrap());
        assert_eq!(
            world.wrong_field("POST", &format!("{others}/delegations"), delegation.clone()).await,
            "signedTransaction"
        );
        let sent = world.ok("POST", &path("/delegations"), delegation).await;
        world.run(10);
        let hash: B256 = sent["transactionHash"].as_str().unwrap().parse().unwrap();
        let found = world.chain.node().view().transaction(hash).unwrap();
        let Some(Located::Mined { block, index }) = found else { panic!("{consensus}: {hash} waits") };
        assert!(block.receipts()[index as usize].is_success(), "{consensus}: {hash} failed");
        let held = world.validator(id).await;
        assert!(is_near(&held["selfStake"], 34) && is_near(&held["stake"], 37), "{held}");
        let delegations = world.ok("GET", &path("/delegations"), Value::Null).await;
        let name = delegator.address().to_string();
        let found = delegations.as_array().unwrap().iter().find(|one| one["delegator"] == name.as_str());
        assert!(is_near(&found.unwrap()["amount"], 3), "{delegations}");

        let raw = world.call_of(&operator, STAKING_ADDRESS, U256::ZERO, &stake::unstakeCall { amount: ether(4) });
        let less = json!({ "signedTransaction": raw });
        let field = world.wrong_field("PUT", &format!("{others}/stake"), less.clone()).await;
        assert_eq!(field, "signedTransaction");
        world.ok("PUT", &path("/stake"), less).await;
        world.run(5);
        let held = world.validator(id).await;
        assert!(is_near(&held["selfStake"], 30) && is_near(&held["stake"], 33), "{held}");

        // An operator of genesis claims what it has earned.
        let owner = world.operators.iter().find(|key| other["address"] == key.address().to_string()).unwrap().clone();
        let call = stake::claimRewardsCall { validator: owner.address() };
        let claim = format!("{others}/rewards/claim");
        let own = world.conflict("POST", &claim, json!({})).await;
        assert!(own.contains("signedTransaction"), "{own}");
        let raw = world.call_of(&owner, STAKING_ADDRESS, U256::ZERO, &call);
        let both = json!({ "signedTransaction": raw, "from": owner.address().to_string() });
        assert_eq!(world.wrong_field("POST", &claim, both).await, "from");
        let before = world.balance(owner.address()).await;
        world.ok("POST", &claim, json!({ "signedTransaction": raw })).await;
        world.run(5);
        let between = world.balance(owner.address()).await;
        assert!(between > before, "{consensus}");
        let raw = world.call_of(&owner, STAKING_ADDRESS, U256::ZERO, &stake::claimCommissionCall {});
        let commission = json!({ "signedTransaction": raw });
        let field = world.wrong_field("POST", &path("/rewards/claim"), commission.clone()).await;
        assert_eq!(field, "signedTransaction");
        world.ok("POST", &claim, commission).await;
        world.run(5);
        assert!(world.balance(owner.address()).await > between, "{consensus}");

        // Nobody leaves but by its operator.
        let exit = |key: &KeyPair| world.call_of(key, STAKING_ADDRESS, U256::ZERO, &stake::exitCall {});
        let leaving = |raw: String| path(&format!("?signedTransaction={raw}"));
        assert_eq!(world.wrong_field("DELETE", &leaving(exit(&owner)), Value::Null).await, "signedTransaction");
        let refused = world.conflict("DELETE", &path(""), Value::Null).await;
        assert!(refused.contains("signedTransaction"), "{refused}");
        world.ok("DELETE", &leaving(exit(&operator)), Value::Null).await;
        world.until(id, &["exiting", "unbonding"]).await;
        for action in ["validator.stake", "validator.delegate", "validator.claim", "validator.add", "validator.remove"]
        {
            let lines = world.audited(action).await;
            assert!(!lines.is_empty(), "{action}");
        }
    }
}

/// What is taken back is listed until it is withdrawn, which it is when its time has come, by a wallet of the workspace and by a transaction of
/// the delegator's own.
#[tokio::test]
async fn stake_that_was_taken_back_is_listed_and_withdrawn() {
    for consensus in ["proof-of-stake", "delegated-proof-of-stake"] {
        let world = World::new(consensus).await;
        world.run(5);
        world.shortens_the_unbonding_period(300).await;
        let (id, treasury) = (world.id_of(0).await, world.chain.treasury().unwrap());
        let path = |rest: &str| format!("/v1/validators/{id}{rest}");
        let withdrawals = path("/withdrawals");
        let nothing = world.conflict("POST", &withdrawals, json!({})).await;
        assert!(nothing.contains("undelegate first"), "{nothing}");
        assert_eq!(world.unbondings(&id).await, json!([]));

        world.ok("POST", &path("/delegations"), json!({ "amount": ether(3).to_string() })).await;
        world.run(10);
        world.ok("POST", &path("/undelegations"), json!({ "amount": ether(1).to_string() })).await;
        world.run(10);
        let listed = world.unbondings(&id).await;
        assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
        let shown = &listed[0];
        assert_eq!(shown["delegator"], treasury.to_string(), "{shown}");
        assert_eq!(shown["amount"], ether(1).to_string(), "{shown}");
        assert!(shown["completesAt"].as_str().unwrap().ends_with(".000Z"), "{shown}");
        let view = world.chain.node().view();
        let kept = view.chain().staking_view(view.head(), &stake::unbondingsCall { delegator: treasury }).unwrap();
        let completes_at = kept[0].completesAt;
        assert!(completes_at > view.now().as_secs(), "{completes_at}");
        // Of all delegators, of another one, of another validator.
        assert_eq!(world.ok("GET", &path("/unbondings"), Value::Null).await, listed);
        let other = world.operators[1].address();
        assert_eq!(world.ok("GET", &path(&format!("/unbondings?delegator={other}")), Value::Null).await, json!([]));
        assert_eq!(world.unbondings(&world.id_of(1).await).await, json!([]));
        assert_eq!(world.call("GET", &path("/unbondings?delegator=0x12"), Value::Null).await.status, 400);

        let early = world.conflict("POST", &withdrawals, json!({})).await;
        assert!(early.contains(&completes_at.to_string()) && early.contains("seconds since 1970"), "{early}");
        let strangers = world.conflict("POST", &withdrawals, json!({ "from": other })).await;
        assert!(strangers.contains("signedTransaction"), "{strangers}");
        world.run(completes_at - view.now().as_secs() + 10);
        let before = world.balance(treasury).await;
        let sent = world.ok("POST", &withdrawals, json!({ "from": treasury })).await;
        assert_eq!(sent["amount"], ether(1).to_string(), "{sent}");
        assert_eq!(sent["transactionHashes"].as_array().map(Vec::len), Some(1), "{sent}");
        assert_eq!(sent["validator"]["id"], id.as_str(), "{sent}");
        world.run(10);
        let after = world.balance(treasury).await;
        // But for the gas.
        assert!(after > before && after > before + ether(1) - ether(1) / U256::from(100), "{after} after {before}");
        assert_eq!(world.unbondings(&id).await, json!([]));
        world.conflict("POST", &withdrawals, json!({})).await;
        assert!(world.audited("validator.withdraw").await.iter().any(|line| line.contains(&id)));

        let (key, validator) = (world.operators[1].clone(), world.operators[0].address());
        let raw = world.call_of(&key, STAKING_ADDRESS, ether(2), &stake::delegateCall { validator });
        world.ok("POST", &path("/delegations"), json!({ "signedTransaction": raw })).await;
        world.run(10);
        let undelegate = stake::undelegateCall { validator, amount: ether(1) };
        let raw = world.call_of(&key, STAKING_ADDRESS, U256::ZERO, &undelegate);
        world.ok("POST", &path("/undelegations"), json!({ "signedTransaction": raw })).await;
        let of_another_function = json!({ "signedTransaction": raw });
        assert_eq!(world.wrong_field("POST", &withdrawals, of_another_function).await, "signedTransaction");
        world.run(330);
        let raw = world.call_of(&key, STAKING_ADDRESS, U256::ZERO, &stake::withdrawCall {});
        let both = json!({ "signedTransaction": raw, "from": treasury });
        assert_eq!(world.wrong_field("POST", &withdrawals, both).await, "from");
        let before = world.balance(key.address()).await;
        let sent = world.ok("POST", &withdrawals, json!({ "signedTransaction": raw })).await;
        assert!(is_near(&sent["amount"], 1), "{sent}");
        world.run(10);
        assert!(world.balance(key.address()).await > before, "{consensus}");

        // Rewards outlive the stake that earned them, until they are claimed.
        let undelegate = stake::undelegateCall { validator, amount: U256::MAX };
        let raw = world.call_of(&key, STAKING_ADDRESS, U256::ZERO, &undelegate);
        world.ok("POST", &path("/undelegations"), json!({ "signedTransaction": raw })).await;
        world.run(10);
        let left = world.delegation(&id, key.address()).await;
        assert_eq!((&left["shares"], &left["amount"]), (&json!("0"), &json!("0")), "{consensus}: {left}");
        assert_ne!(left["rewards"], "0", "{consensus}: {left}");
        let raw = world.call_of(&key, STAKING_ADDRESS, U256::ZERO, &stake::claimRewardsCall { validator });
        world.ok("POST", &path("/rewards/claim"), json!({ "signedTransaction": raw })).await;
        world.run(10);
        assert_eq!(world.delegation(&id, key.address()).await, Value::Null, "{consensus}");
    }
}

/// What an operator that leaves takes back of its own stake is listed with the contract's time: none while its validator has duties.
#[tokio::test]
async fn own_stake_of_who_leaves_is_listed_with_the_time_that_the_contract_knows() {
    for consensus in ["proof-of-stake", "delegated-proof-of-stake"] {
        let world = World::new(consensus).await;
        world.run(5);
        let (id, operator) = (world.id_of(0).await, world.operators[0].clone());
        let path = |rest: &str| format!("/v1/validators/{id}{rest}");
        world.ok("DELETE", &world.leaving(0, &id), Value::Null).await;
        let status = || {
            let (view, call) = (world.chain.node().view(), stake::validatorCall { validator: operator.address() });
            view.chain().staking_view(view.head(), &call).unwrap().status
        };
        // Out of the contract's set, and maybe still in the protocol's.
        let has_left = (0..300).any(|_| {
            world.run(2);
            status() == 4
        });
        assert!(has_left, "{consensus}: {}", status());
        let all = stake::unstakeCall { amount: U256::MAX };
        let raw = world.call_of(&operator, STAKING_ADDRESS, U256::ZERO, &all);
        world.ok("PUT", &path("/stake"), json!({ "signedTransaction": raw })).await;
        world.run(5);
        let list = path(&format!("/unbondings?delegator={}", operator.address()));
        for _ in 0..10 {
            let listed = world.ok("GET", &list, Value::Null).await;
            let view = world.chain.node().view();
            let call = stake::unbondingsCall { delegator: operator.address() };
            let [kept] = &view.chain().staking_view(view.head(), &call).unwrap()[..] else { panic!("{listed}") };
            let shown = &listed.as_array().unwrap()[0]["completesAt"];
            assert_eq!(shown.is_null(), kept.completesAt == u64::MAX, "{consensus}: {shown}");
            // It would fail, so that its gas can't be estimated.
            let withdraw = CallRequest::call(STAKING_ADDRESS, stake::withdrawCall {}.abi_encode());
            let withdraw = withdraw.with_from(operator.address()).with_gas(Gas::new(500_000));
            let raw = world.chain.node().unsigned(withdraw).unwrap().sign(&operator).unwrap().encoded().to_string();
            let early = world.conflict("POST", &path("/withdrawals"), json!({ "signedTransaction": raw })).await;
            assert!(early.contains("is free yet"), "{consensus}: {early}");
            world.run(10);
        }
    }
}

/// What is claimed is on the operator's balance, but for the gas.
#[tokio::test]
async fn rewards_and_commission_come_to_the_operators_balance() {
    for consensus in ["proof-of-stake", "delegated-proof-of-stake"] {
        let world = World::with(consensus, Vec::new()).await;
        world.run(80);
        let operator = world.chain.treasury().unwrap();
        let listed = world.ok("GET", &world.path("/validators"), Value::Null).await;
        let id = listed[0]["id"].as_str().unwrap();
        let owed: U256 = listed[0]["rewards"].as_str().unwrap().parse().unwrap();
        assert!(!owed.is_zero(), "{listed}");
        assert_eq!(world.status(id).await["rewards"], listed[0]["rewards"], "{consensus}");
        let claim = format!("/v1/validators/{id}/rewards/claim");
        let before = world.balance(operator).await;
        let sent = world.ok("POST", &claim, json!({})).await;
        let hashes: Vec<B256> = sent["transactionHashes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hash| hash.as_str().unwrap().parse().unwrap())
            .collect();
        assert_eq!(hashes.len(), 2, "rewards and commission: {sent}");
        // What waits to be paid is not claimed again.
        let again = world.conflict("POST", &claim, json!({})).await;
        assert!(again.contains("waits to be paid"), "{again}");
        world.run(10);
        let (mut claimed, mut burned) = (U256::ZERO, U256::ZERO);
        let view = world.chain.node().view();
        for hash in hashes {
            let Some(Located::Mined { block, index }) = view.transaction(hash).unwrap() else { panic!("{hash}") };
            let receipt = &block.receipts()[index as usize];
            assert!(receipt.is_success());
            burned += U256::from(receipt.gas_used.get()) * U256::from(block.block().base_fee().unwrap());
            for log in receipt.logs() {
                let rewards = stake::RewardsClaimed::decode_log(log).map(|event| event.amount);
                claimed +=
                    rewards.or_else(|_| stake::CommissionClaimed::decode_log(log).map(|event| event.amount)).unwrap();
            }
        }
        assert!(claimed >= owed, "{claimed} of {owed}");
        // The one validator gets the tips of its own transactions back.
        assert_eq!(world.balance(operator).await, before + claimed - burned, "{consensus}");
        let strangers = json!({ "from": operator.to_string(), "signedTransaction": "0x00" });
        assert_eq!(world.wrong_field("POST", &claim, strangers).await, "from");
    }
}

/// Fees are the operator's, whatever key seals.
#[tokio::test]
async fn fees_come_to_the_operator_of_the_sealing_key() {
    let world = World::new("proof-of-authority").await;
    world.run(5);
    let sent = world.treasury_sends(Address::repeat_byte(0x42), U256::ONE, Vec::new()).await;
    world.run(5);
    let hash: B256 = sent["transactionHash"].as_str().unwrap().parse().unwrap();
    let view = world.chain.node().view();
    let Some(Located::Mined { block, index }) = view.transaction(hash).unwrap() else { panic!("{hash}") };
    let (base_fee, gas) = (block.block().base_fee().unwrap(), block.receipts()[index as usize].gas_used.get());
    let price = block.transactions()[index as usize].effective_gas_price(base_fee);
    let tip = U256::from(price - u128::from(base_fee)) * U256::from(gas);
    assert!(!tip.is_zero());
    let listed = world.ok("GET", &world.path("/validators"), Value::Null).await;
    let key = block.block().header().beneficiary.to_string();
    let sealer = listed.as_array().unwrap().iter().find(|one| one["sealingAddress"] == key.as_str()).unwrap();
    assert_ne!(sealer["address"], sealer["sealingAddress"]);
    let height = block.height().get();
    let mut balances = Vec::new();
    for height in [height - 1, height] {
        let path = world.path(&format!("/accounts/{}?block={height}", sealer["address"].as_str().unwrap()));
        let found = world.ok("GET", &path, Value::Null).await;
        balances.push(found["balance"].as_str().unwrap().parse::<U256>().unwrap());
    }
    assert_eq!(balances[1] - balances[0], tip);
}

/// Runs until a validator is in jail. All the time its status says of absences and jail what the chain and the validator's own route say.
async fn until_jailed(world: &World, id: &str, validator: Address) -> Value {
    let mut counted = 0;
    for _ in 0..60 {
        world.run(10);
        let (found, status) = (world.validator(id).await, world.status(id).await);
        let view = world.chain.node().view();
        let kept = view.chain().staking_view(view.head(), &stake::validatorCall { validator }).unwrap();
        assert_eq!(status["downtimeBlocks"], kept.missedBlocks, "{status}");
        assert_eq!(status["jailedUntil"], found["jailedUntil"], "{status}");
        counted = counted.max(kept.missedBlocks);
        if found["status"] == "jailed" {
            assert!(counted > 0, "nobody comes into jail without absences");
            return found;
        }
    }
    panic!("{id} never came into jail, with {counted} absences");
}

#[tokio::test]
async fn a_jailed_validator_returns_by_its_operators_transaction() {
    for consensus in ["proof-of-stake", "delegated-proof-of-stake"] {
        jailed_and_back(consensus).await;
    }
}

async fn jailed_and_back(consensus: &str) {
    let world = World::new(consensus).await;
    world.run(5);
    let operator = world.operators[3].clone();
    let listed = world.ok("GET", &world.path("/validators"), Value::Null).await;
    let name = operator.address().to_string();
    let one = listed.as_array().unwrap().iter().find(|one| one["address"] == name.as_str()).unwrap();
    let id = one["id"].as_str().unwrap();
    let path = |rest: &str| format!("/v1/validators/{id}{rest}");
    let unjail = |world: &World| {
        let raw = world.call_of(&operator, STAKING_ADDRESS, U256::ZERO, &stake::unjailCall {});
        json!({ "signedTransaction": raw })
    };
    world.ok("POST", &path("/stop"), Value::Null).await;
    let jailed = until_jailed(&world, id, operator.address()).await;
    assert!(jailed["jailedUntil"].is_string(), "{jailed}");
    world.ok("POST", &path("/start"), Value::Null).await;
    let managed = world.conflict("POST", &path("/unjail"), json!({})).await;
    assert!(managed.contains("signedTransaction"), "{managed}");
    world.run(610);
    let other = listed.as_array().unwrap().iter().find(|one| one["id"] != id).unwrap();
    let others = format!("/v1/validators/{}/unjail", other["id"].as_str().unwrap());
    assert_eq!(world.wrong_field("POST", &others, unjail(&world)).await, "signedTransaction");
    world.ok("POST", &path("/unjail"), unjail(&world)).await;
    world.until(id, &["active"]).await;
    assert!(world.audited("validator.unjail").await.iter().any(|line| line.contains(id)));
}

/// Name and metadata at once, the commission by the operator's transaction, a day after the last change.
#[tokio::test]
async fn a_validators_name_metadata_and_commission_are_changed() {
    const DAY_SECS: u64 = 86_400;
    for consensus in ["proof-of-stake", "delegated-proof-of-stake"] {
        // Few blocks in a day.
        let world = World::configured(consensus, Vec::new(), json!({ "blockTime": "1h" })).await;
        world.run(3 * 3_600);
        let listed = world.ok("GET", &world.path("/validators"), Value::Null).await;
        let (id, path) =
            (listed[0]["id"].as_str().unwrap(), format!("/v1/validators/{}", listed[0]["id"].as_str().unwrap()));
        let place = json!({ "location": "Bern" });
        let named = world.ok("PATCH", &path, json!({ "name": "one", "metadata": place })).await;
        assert_eq!((&named["name"], &named["metadata"]), (&json!("one"), &place), "{named}");
        assert_eq!(named["transactionHash"], Value::Null, "{named}");
        let moved = json!({ "location": "Basel" });
        world.ok("PATCH", &path, json!({ "metadata": moved })).await;
        let early = world.conflict("PATCH", &path, json!({ "name": "two", "commission": 5 })).await;
        assert!(early.contains("CommissionChangedRecently"), "{early}");
        let kept = world.validator(id).await;
        assert_eq!(
            (&kept["name"], &kept["metadata"]),
            (&json!("one"), &moved),
            "nothing but what was asked for: {kept}"
        );

        world.run(DAY_SECS);
        let sent = world.ok("PATCH", &path, json!({ "name": "two", "commission": "7.25" })).await;
        assert!(sent["name"] == "two" && sent["transactionHash"].is_string(), "{sent}");
        let again = world.conflict("PATCH", &path, json!({ "commission": 8 })).await;
        assert!(again.contains("CommissionChangedRecently"), "it waits for a block: {again}");
        world.run(3 * 3_600);
        let changed = world.validator(id).await;
        assert_eq!((&changed["name"], &changed["commission"]), (&json!("two"), &json!(7.25)), "{changed}");
        for action in ["validator.update", "validator.commission"] {
            assert!(world.audited(action).await.iter().any(|line| line.contains(id)), "{action}");
        }
    }
    let world = World::new("proof-of-authority").await;
    let path = format!("/v1/validators/{}", world.id_of(0).await);
    world.unsupported("PATCH", &path, json!({ "commission": 5 })).await;
    assert_eq!(world.ok("PATCH", &path, json!({ "name": "one" })).await["name"], "one");
    assert_eq!(world.wrong_field("PATCH", &path, json!({ "metadata": { "name": "" } })).await, "metadata.name");
}

#[tokio::test]
async fn an_operator_signs_a_change_of_its_commission() {
    let world = World::configured("delegated-proof-of-stake", World::four(), json!({ "blockTime": "1h" })).await;
    world.run(27 * 3_600);
    let path = format!("/v1/validators/{}", world.id_of(0).await);
    let call = stake::setCommissionCall { commissionBps: 700 };
    let signed = |operator: usize| world.call_of(&world.operators[operator], STAKING_ADDRESS, U256::ZERO, &call);
    let managed = world.conflict("PATCH", &path, json!({ "commission": 7 })).await;
    assert!(managed.contains("signedTransaction"), "{managed}");
    let others = world.wrong_field("PATCH", &path, json!({ "signedTransaction": signed(1) })).await;
    assert_eq!(others, "signedTransaction");
    let both = json!({ "signedTransaction": signed(0), "commission": 7 });
    assert_eq!(world.wrong_field("PATCH", &path, both).await, "commission");
    world.ok("PATCH", &path, json!({ "signedTransaction": signed(0), "name": "one" })).await;
    world.run(3 * 3_600);
    let changed = world.ok("GET", &path, Value::Null).await;
    assert_eq!((&changed["name"], &changed["commission"]), (&json!("one"), &json!(7.0)), "{changed}");
}

/// Makes evidence against a key.
type Offence = fn(&World, &KeyPair) -> Value;

/// Two headers of one producer for one slot.
fn two_headers(world: &World, key: &KeyPair) -> Value {
    let view = world.chain.node().view();
    let genesis = view.block(BlockRef::Number(Height::GENESIS)).unwrap().hash();
    let signer = Authenticator::secp256k1().for_chain(genesis).signer(key);
    let sealed = |extra: &'static [u8]| {
        let mut header = world.block(world.height()).header().clone();
        header.extra_data = Bytes::from_static(extra);
        let seal = signer.sign(Purpose::Block, header.hash_slow());
        (header, seal)
    };
    serde_json::to_value(dpos::ConflictingBlocks::new(sealed(b"one"), sealed(b"other"))).unwrap()
}

/// Two votes of one validator in one phase.
fn two_votes(world: &World, key: &KeyPair) -> Value {
    let view = world.chain.node().view();
    let genesis = view.block(BlockRef::Number(Height::GENESIS)).unwrap().hash();
    let signer = Authenticator::secp256k1().for_chain(genesis).signer(key);
    let height = Height::new(world.height());
    let vote = |byte: u8| {
        let block = BlockId { hash: B256::repeat_byte(byte), height };
        let body = pbft::Body::Prepare { view: pbft::View::new(0), block };
        (block.hash, pbft::PbftMessage::signed(body, &signer).signature)
    };
    let proof = pbft::DoubleSigning::new(pbft::Phase::Prepare, pbft::View::new(0), height, vote(1), vote(2));
    let mut evidence = serde_json::to_value(proof).unwrap();
    // As the rest of the service spells its fields.
    for (field, name) in [("first_signature", "firstSignature"), ("second_signature", "secondSignature")] {
        let value = evidence.as_object_mut().unwrap().remove(field).unwrap();
        evidence[name] = value;
    }
    evidence
}

/// Headers, or votes, that a validator signed against the rules of its protocol cost it what that says.
#[tokio::test]
async fn evidence_of_two_headers_or_votes_convicts_by_the_protocols_own_rule() {
    let offences: [(&str, Offence); 2] = [("delegated-proof-of-stake", two_headers), ("pbft", two_votes)];
    for (consensus, offence) in offences {
        let world = World::new(consensus).await;
        world.run(5);
        let (_, key, body) = world.elsewhere(1, Some(STAKE));
        let id = world.ok("POST", &world.path("/validators"), body).await["id"].as_str().unwrap().to_owned();
        world.until(&id, &["active"]).await;
        let path = format!("/v1/validators/{id}/slash");
        let report = json!({ "reason": "it signed two", "evidence": offence(&world, &key) });

        let mut with_part = report.clone();
        with_part["percentage"] = 5.into();
        assert!(world.conflict("POST", &path, with_part).await.contains("its own rule"));
        let nonsense = json!({ "reason": "x", "evidence": { "Votes": 5 } });
        assert_eq!(world.wrong_field("POST", &path, nonsense).await, "evidence.Votes");
        let listed = world.ok("GET", &world.path("/validators"), Value::Null).await;
        let honest = listed.as_array().unwrap().iter().find(|one| one["id"] != id.as_str()).unwrap();
        let accused = format!("/v1/validators/{}/slash", honest["id"].as_str().unwrap());
        assert!(world.conflict("POST", &accused, report.clone()).await.contains("is against"));
        let strangers = offence(&world, &KeyPair::from_seed(8, "a stranger"));
        let refused = world.conflict("POST", &path, json!({ "reason": "x", "evidence": strangers })).await;
        assert!(refused.contains("no"), "{refused}");
        let mut garbled = report.clone();
        let seal = if consensus == "pbft" {
            &mut garbled["evidence"]["firstSignature"]
        } else {
            &mut garbled["evidence"]["first"]["seal"]
        };
        *seal = "0x00".into();
        world.conflict("POST", &path, garbled).await;
        assert!(world.audited("validator.slash").await.is_empty(), "nothing was taken yet");

        let sent = world.ok("POST", &path, report.clone()).await;
        assert_eq!((&sent["authority"], &sent["transactionHash"]), (&json!("protocol"), &Value::Null), "{sent}");
        let lines = world.audited("validator.slash").await;
        assert!(matches!(&lines[..], [line] if line.contains("it signed two; evidence 0x")), "{lines:?}");
        world.conflict("POST", &path, report.clone()).await;
        let out = world.until(&id, &["tombstoned"]).await;
        if world.has_stake() {
            let stake: U256 = out["selfStake"].as_str().unwrap().parse().unwrap();
            assert!(stake < ether(32), "{out}");
        }
        world.conflict("POST", &path, report).await;
        let before = world.height();
        world.run(30);
        assert!(world.height() > before + 10, "{consensus} goes on");
        assert_eq!(world.validator(honest["id"].as_str().unwrap()).await["status"], "active");
    }
}
