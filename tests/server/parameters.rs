//! Parameters that governance changes by routes, and what the blocks after the vote make of them.

use std::collections::BTreeSet;

use chainbox::{
    chain::Block,
    primitives::{Address, U256},
    system::{governance::interface as governance, parameters::Parameter},
};
use serde_json::{Value, json};

use crate::network::World;

/// EIP-1559's parameters.
#[derive(Clone, Copy, Debug)]
struct FeeRules {
    elasticity: u64,
    denominator: u64,
    floor: u64,
}

impl FeeRules {
    /// The base fee of a block's child, by the formula of the EIP.
    fn after(self, parent: &Block) -> u64 {
        let (used, target) = (parent.header().gas_used, parent.header().gas_limit / self.elasticity);
        let base_fee = parent.base_fee().unwrap();
        let change = base_fee * used.abs_diff(target) / target / self.denominator;
        let next = if used > target { base_fee + change.max(1) } else { base_fee - change };
        next.max(self.floor)
    }
}

/// What is in force, what is allowed, and in which unit; where there is stake its rules are among them.
#[tokio::test]
async fn a_chain_lists_its_parameters_with_their_bounds_and_units() {
    for (consensus, has_stake) in [("proof-of-authority", false), ("delegated-proof-of-stake", true)] {
        let world = World::with(consensus, Vec::new()).await;
        world.run(5);
        let listed = world.ok("GET", &world.path("/parameters?limit=100"), Value::Null).await;
        let listed = listed.as_array().unwrap();
        let names: Vec<&str> = listed.iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert!(names.is_sorted(), "{names:?}");
        let of = |name: &str| listed.iter().find(|one| one["name"] == name);
        assert_eq!(of("minSelfStake").is_some(), has_stake, "{consensus}: {names:?}");
        let block_time = json!({
            "name": "blockTime", "value": "1", "scheduled": null, "minimum": "1", "maximum": "31536000", "unit": "seconds",
        });
        assert_eq!(of("blockTime"), Some(&block_time), "{consensus}");
        let head = world.block(world.height());
        assert_eq!(of("gasLimit").unwrap()["value"], head.header().gas_limit.to_string(), "{consensus}");
        for one in listed {
            let number = |field: &str| one[field].as_str().unwrap().parse::<u128>().unwrap();
            let range = number("minimum")..=number("maximum");
            assert!(range.contains(&number("value")), "{one}");
            // One more than the largest value is none that may be proposed.
            let above = range.end() + 1;
            let name = one["name"].as_str().unwrap();
            let changes = json!({ name: above.to_string() });
            let body = json!({ "blockchainId": world.chain.id(), "title": "x", "type": "parameter-change", "changes": changes });
            let refused = world.call("POST", "/v1/governance/proposals", body).await;
            assert_eq!(refused.status, 422, "{one}: {}", refused.body);
        }
    }
    let world = World::with("proof-of-authority", Vec::new()).await;
    world.run(5);
    change(&world, json!({ "baseFeeFloor": "2000000000" })).await;
    let newest = world.ok("GET", &world.path("/parameters?limit=1"), Value::Null).await;
    assert_eq!((&newest[0]["name"], newest.as_array().unwrap().len()), (&json!("baseFeeChangeDenominator"), 1));
    let listed = world.ok("GET", &world.path("/parameters?sort=name:desc"), Value::Null).await;
    let floor = listed.as_array().unwrap().iter().find(|one| one["name"] == "baseFeeFloor").unwrap();
    assert_eq!((&floor["value"], &floor["unit"]), (&json!("2000000000"), &json!("wei")), "{floor}");
    let message = world.conflict("GET", "/v1/blockchains/bc_default/parameters", Value::Null).await;
    assert!(message.contains("without a contract of parameters"), "{message}");
}

/// The treasury votes changes through. They are in force in the newest block then.
async fn change(world: &World, changes: Value) {
    let ended = world.voted_through("parameter-change", changes).await;
    assert_eq!(ended["status"], "executed", "{ended}");
    world.run(3);
}

/// Brings a transaction into a block while all others are empty, and returns the base fee after it. All blocks meanwhile have the base fee of
/// the rules.
async fn fee_after_a_transaction(world: &World, rules: FeeRules) -> u64 {
    world.run(60);
    let first = world.height();
    assert_eq!(world.block(first).base_fee(), Some(rules.floor), "empty blocks fall to the floor");
    let note = json!({ "blockchainId": world.chain.id(), "title": "A note", "type": "text", "votingPeriod": "10s" });
    world.ok("POST", "/v1/governance/proposals", note).await;
    world.run(4);
    let mut fees = Vec::new();
    for height in first + 1..=world.height() {
        let (parent, block) = (world.block(height - 1), world.block(height));
        let used = parent.header().gas_used;
        assert_eq!(block.base_fee(), Some(rules.after(&parent)), "block {height} after {used} of gas by {rules:?}");
        if !parent.transactions().is_empty() {
            fees.push(block.base_fee().unwrap());
        }
    }
    assert_eq!(fees.len(), 1, "one block has the transaction, and one follows it");
    fees[0]
}

/// A transaction is far below half of a block's gas, and above a thousandth.
#[tokio::test]
async fn voted_rules_of_the_base_fee_move_it_in_the_next_blocks() {
    let world = World::with("proof-of-authority", Vec::new()).await;
    world.run(5);
    let mut rules = FeeRules { elasticity: 2, denominator: 8, floor: 1_000_000_000 };
    change(&world, json!({ "baseFeeFloor": rules.floor.to_string() })).await;
    assert_eq!(fee_after_a_transaction(&world, rules).await, rules.floor);

    rules.elasticity = 1_000;
    change(&world, json!({ "elasticityMultiplier": "1000" })).await;
    let gentle = fee_after_a_transaction(&world, rules).await;
    assert!(gentle > rules.floor, "{gentle}");

    rules.denominator = 4;
    change(&world, json!({ "baseFeeChangeDenominator": "4" })).await;
    let steep = fee_after_a_transaction(&world, rules).await;
    assert!(steep > gentle, "{steep} after {gentle}");

    (rules.elasticity, rules.denominator, rules.floor) = (2, 8, 3_000_000_000);
    let back = json!({ "elasticityMultiplier": 2, "baseFeeChangeDenominator": 8, "baseFeeFloor": rules.floor });
    change(&world, back).await;
    assert_eq!(fee_after_a_transaction(&world, rules).await, rules.floor);
}

/// Three of four operators vote for another bound of the validators.
async fn bound_validators(world: &World, most: u64) {
    let terms =
        governance::Terms { title: format!("At most {most}"), votingPeriodSecs: 20, ..governance::Terms::default() };
    let changes = vec![governance::Change { parameter: Parameter::ValidatorsMax.code(), value: U256::from(most) }];
    let raw = world.signed(0, &governance::proposeParameterChangeCall { terms, changes });
    world.carried("parameter-change", json!({ "signedTransaction": raw })).await;
    // Over the next boundary of the protocol: a round has a slot for each producer, an epoch eight.
    world.run(20);
}

/// Sealing keys of those that the protocol counts.
async fn counted(world: &World) -> BTreeSet<Address> {
    let listed = world.ok("GET", &world.path("/validators?limit=100"), Value::Null).await;
    let validating = listed.as_array().unwrap().iter().filter(|one| one["validates"] == true);
    validating.map(|one| one["sealingAddress"].as_str().unwrap().parse().unwrap()).collect()
}

/// Lets time pass until the protocol counts so many.
async fn until_counted(world: &World, count: usize) -> BTreeSet<Address> {
    for _ in 0..60 {
        let found = counted(world).await;
        if found.len() == count {
            return found;
        }
        world.run(10);
    }
    panic!("never {count} validators: {:?}", counted(world).await);
}

/// Who sealed the newest blocks.
fn sealers(world: &World, blocks: u64) -> BTreeSet<Address> {
    let head = world.height();
    (head + 1 - blocks..=head).map(|height| world.block(height).header().beneficiary).collect()
}

#[tokio::test]
async fn a_voted_bound_is_the_number_of_elected_producers() {
    let world = World::new("delegated-proof-of-stake").await;
    world.run(5);
    let genesis = counted(&world).await;
    assert_eq!(genesis.len(), 4);
    bound_validators(&world, 3).await;
    let three = until_counted(&world, 3).await;
    assert!(three.is_subset(&genesis));
    world.run(20);
    assert_eq!(sealers(&world, 12), three, "the one that is not elected seals no more");
    bound_validators(&world, 4).await;
    assert_eq!(until_counted(&world, 4).await, genesis);
    world.run(20);
    assert_eq!(sealers(&world, 12), genesis);
}

#[tokio::test]
async fn a_voted_bound_decides_who_joins_the_set_of_an_epoch() {
    let world = World::new("proof-of-stake").await;
    world.run(5);
    let all = world.path("/validators");
    let operator = world.chain.treasury().unwrap().to_string();
    let join = json!({ "address": operator, "stake": "32000000000000000000" });
    bound_validators(&world, 4).await;
    let refused = world.conflict("POST", &all, join.clone()).await;
    assert!(refused.contains("TooManyValidators"), "{refused}");
    world.run(60);
    assert_eq!(counted(&world).await.len(), 4);

    bound_validators(&world, 5).await;
    let made = world.ok("POST", &all, join).await;
    let id = made["id"].as_str().unwrap();
    world.until(id, &["active"]).await;
    let key: Address = made["sealingAddress"].as_str().unwrap().parse().unwrap();
    assert!(until_counted(&world, 5).await.contains(&key), "the set of the epoch has it");
    let joined = world.height();
    for _ in 0..30 {
        world.run(10);
        if sealers(&world, world.height() - joined).contains(&key) {
            return;
        }
    }
    panic!("{id} never proposes: {}", world.status(id).await);
}
