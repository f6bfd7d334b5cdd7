//! Stake that the quorum needs, and what waits for a block, by rule, without HTTP: networks in real time, by a clock that the test moves.

use core::time::Duration;
use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use alloy_sol_types::SolCall;
use serde_json::json;

use super::{super::*, *};
use crate::{
    chain::CallRequest,
    node::{BlockRef, Database, ManualClock, Node, testing::run_for},
    platform::entropy::testing::SeededEntropy,
    primitives::{Bytes, KeyPair, Timestamp},
    store::{KeyValue, testing::MemoryDisk},
    system::{
        governance::{GOVERNANCE_ADDRESS, ProposalAction, interface as governance},
        staking::{STAKING_ADDRESS, WEIGHT_UNIT, interface as stake},
    },
};

/// A platform with a chain of validators.
struct World {
    clock: Arc<ManualClock>,
    platform: Platform,
    chain: Arc<Blockchain>,
}

impl World {
    fn new(consensus: &str) -> Self {
        Self::with(consensus, &[1, 2, 3, 4], Plan::UNLIMITED)
    }

    /// Operators are these bytes; without any the one validator is the treasury's.
    fn with(consensus: &str, operators: &[u8], plan: Plan) -> Self {
        let operators: Vec<Address> = operators.iter().map(|byte| Address::repeat_byte(*byte)).collect();
        Self::configured(consensus, &operators, json!({ "blockTime": "1s" }), plan)
    }

    /// Operators have these keys. Without stake governance administers the validators.
    fn governed(consensus: &str, operators: &[KeyPair]) -> Self {
        let config = match consensus {
            "proof-of-stake" => json!({ "blockTime": "1s" }),
            _ => json!({ "blockTime": "1s", "membership": "governance" }),
        };
        let operators: Vec<Address> = operators.iter().map(KeyPair::address).collect();
        Self::configured(consensus, &operators, config, Plan::UNLIMITED)
    }

    fn configured(consensus: &str, operators: &[Address], config: serde_json::Value, plan: Plan) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_750_000_000)));
        let store: Arc<dyn KeyValue> = Arc::new(MemoryDisk::new());
        let node = Node::builder().with_database(Database::Store(store.clone())).build().unwrap();
        let default = BlockchainSpec::read(json!({ "name": "default" })).unwrap();
        let default = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), default, node, 0);
        let builder =
            Platform::builder(clock.clone()).with_store(store).with_entropy(Arc::new(SeededEntropy::of_thread()));
        let builder = builder.with_plans(Plans::default().with(Plans::UNLIMITED, plan));
        let platform = builder.open(default).unwrap();
        let operators: Vec<_> = operators.iter().map(|operator| json!({ "address": operator.to_string() })).collect();
        let body = json!({ "name": "x", "consensus": consensus, "config": config, "validators": operators });
        let spec = BlockchainSpec::read(body).unwrap();
        let chain = platform.blockchains().create(&platform.service_principal(), spec).unwrap();
        Self { clock, platform, chain }
    }

    fn me(&self) -> Principal {
        self.platform.service_principal()
    }

    fn id(&self, byte: u8) -> ValidatorId {
        ValidatorId::new(self.chain.id(), Address::repeat_byte(byte))
    }

    fn stop_two(&self) {
        for byte in [3, 4] {
            self.platform.validators().stop(&self.me(), &self.id(byte)).unwrap();
        }
    }

    fn run(&self, secs: u64) {
        run_for(self.chain.network().unwrap(), &self.clock, Duration::from_secs(secs));
    }

    /// Own stake of the first validator, as of each other.
    fn stake(&self) -> U256 {
        self.platform.validators().get(&self.me(), &self.id(1)).unwrap().1.stake.unwrap().self_stake
    }

    /// Signs a call of a contract of the system.
    fn signed(&self, key: &KeyPair, contract: Address, value: U256, call: Vec<u8>) -> Bytes {
        let request = CallRequest::call(contract, call).with_from(key.address()).with_value(value);
        self.chain.node().unsigned(request).unwrap().sign(key).unwrap().encoded()
    }

    /// Submits a proposal that an operator signs.
    fn propose(&self, request: &str, key: &KeyPair, call: Vec<u8>) -> Result<ProposalId, PlatformError> {
        let spec = ProposalSpec {
            blockchain_id: self.chain.id().to_owned(),
            action: ProposalAction::Text,
            module_config: None,
            title: String::new(),
            description: String::new(),
            voting_period_secs: None,
            quorum_permille: None,
            threshold_permille: None,
            from: None,
            signed_transaction: Some(self.signed(key, GOVERNANCE_ADDRESS, U256::ZERO, call)),
        };
        self.platform.proposals().submit(&self.me(), request, &spec)
    }

    /// Delegates to the first validator, or takes that back.
    fn delegate(&self, request: &str, takes_back: bool, amount: U256) -> Result<B256, PlatformError> {
        let order = DelegationOrder::Amount { amount, from: None };
        let spec = DelegationSpec { order, takes_back };
        self.platform.validators().delegate(&self.me(), &self.id(1), request, &spec)
    }
}

/// Keys of four operators, in ascending order of the addresses.
fn operators() -> Vec<KeyPair> {
    let mut operators: Vec<KeyPair> = (0..4).map(|index| KeyPair::from_seed(7, &format!("operator {index}"))).collect();
    operators.sort_by_key(KeyPair::address);
    operators
}

fn terms() -> governance::Terms {
    governance::Terms { title: "x".to_owned(), votingPeriodSecs: 60, ..Default::default() }
}

fn addition(byte: u8) -> Vec<u8> {
    let validator = Address::repeat_byte(byte);
    governance::proposeValidatorAddCall { terms: terms(), validator, weight: 1 }.abi_encode()
}

fn removal(validator: Address) -> Vec<u8> {
    governance::proposeValidatorRemoveCall { terms: terms(), validator }.abi_encode()
}

fn tokens(count: u64) -> U256 {
    U256::from(count) * U256::from(10).pow(U256::from(18))
}

fn conflict<T>(result: Result<T, PlatformError>) -> String {
    match result.map(drop) {
        Err(PlatformError::Conflict { message }) => message,
        other => panic!("{other:?}"),
    }
}

/// Of six stakes and a rest four and the rest are up, which are enough while there is a rest.
#[test]
fn stake_that_the_quorum_needs_is_not_taken_back() {
    let world = World::new("proof-of-stake");
    world.run(3);
    let stake = world.stake();
    world.delegate("tx_1", false, stake * U256::from(2) + tokens(4)).unwrap();
    world.run(3);
    world.stop_two();
    let refused = conflict(world.delegate("tx_2", true, tokens(8)));
    let weight = |stakes: u64| (stake * U256::from(stakes) - tokens(4)) / WEIGHT_UNIT;
    let sums = format!("{} of a weight of {} would be up", weight(4), weight(6));
    assert!(refused.contains(&sums) && refused.contains("more than two thirds"), "{sums}: {refused}");
    world.delegate("tx_3", true, tokens(1)).unwrap();
    // What waits for a block counts.
    world.delegate("tx_4", true, tokens(2)).unwrap();
    assert!(conflict(world.delegate("tx_5", true, tokens(2))).contains("more than two thirds"));
    // The contract's word for all of a delegation.
    let all = conflict(world.delegate("tx_6", true, U256::MAX));
    assert!(all.contains(&format!("with {} less staked", stake * U256::from(2) + tokens(1))), "{all}");
    world.platform.validators().start(&world.me(), &world.id(3)).unwrap();
    world.delegate("tx_7", true, tokens(2)).unwrap();
}

/// Four of five and of six are a quorum of PBFT, of seven they are none: the third waits until one of the two has ended.
#[test]
fn open_proposals_to_add_validators_are_judged_together() {
    let operators = operators();
    let world = World::governed("pbft", &operators);
    world.run(3);
    let first = world.propose("tx_1", &operators[0], addition(0x51)).unwrap();
    world.run(3);
    let second = world.propose("tx_2", &operators[1], addition(0x52)).unwrap();
    // The pool counts, and the block then; one that is proposed twice joins once.
    for request in ["tx_3", "tx_4"] {
        let refused = conflict(world.propose(request, &operators[2], addition(0x53)));
        let second = second.text();
        let said = ["held elsewhere", "4 of a weight of 7 would be up", "a quorum of 5", "is open", second.as_str()];
        assert!(said.iter().all(|said| refused.contains(said)), "{refused}");
        assert!(!refused.contains(&first.text()), "{refused}");
        world.run(3);
    }
    world.propose("tx_5", &operators[2], addition(0x52)).unwrap();
}

/// Two of three are more than half, one of two is not. One that is down may go.
#[test]
fn open_proposals_to_remove_validators_are_judged_together() {
    let operators = operators();
    let world = World::governed("proof-of-authority", &operators);
    world.run(3);
    let down = ValidatorId::new(world.chain.id(), operators[3].address());
    world.platform.validators().stop(&world.me(), &down).unwrap();
    let first = world.propose("tx_1", &operators[0], removal(operators[0].address())).unwrap();
    let refused = conflict(world.propose("tx_2", &operators[1], removal(operators[1].address())));
    assert!(refused.contains("1 of a weight of 2 would be up") && refused.contains(&first.text()), "{refused}");
    world.propose("tx_3", &operators[1], removal(operators[3].address())).unwrap();
    let add = conflict(world.propose("tx_4", &operators[2], addition(0x51)));
    assert!(add.contains("2 of a weight of 4 would be up") && add.contains(&first.text()), "{add}");
}

/// Of four stakes and a rest three and the rest are up: without one of them the rest is what makes them enough.
#[test]
fn changes_of_stake_count_open_proposals() {
    let operators = operators();
    let world = World::governed("proof-of-stake", &operators);
    world.run(3);
    let (me, validators) = (world.me(), world.platform.validators());
    let ids: Vec<_> = operators.iter().map(|key| ValidatorId::new(world.chain.id(), key.address())).collect();
    let delegate = |request, id, takes_back, count| {
        let order = DelegationOrder::Amount { amount: tokens(count), from: None };
        validators.delegate(&me, id, request, &DelegationSpec { order, takes_back })
    };
    delegate("tx_1", &ids[0], false, 4).unwrap();
    world.run(3);
    validators.stop(&me, &ids[3]).unwrap();
    let open = world.propose("tx_2", &operators[0], removal(operators[1].address())).unwrap();
    let less = conflict(delegate("tx_3", &ids[0], true, 4));
    assert!(less.contains("less staked on") && less.contains(&open.text()), "{less}");
    let more = conflict(delegate("tx_4", &ids[3], false, 3));
    assert!(more.contains("more staked on") && more.contains(&open.text()), "{more}");
    delegate("tx_5", &ids[3], false, 1).unwrap();
    delegate("tx_6", &ids[0], false, 3).unwrap();
}

/// With one of four down, less than half a stake more of it is borne. What somebody else has signed is judged as what the service signs.
#[test]
fn stake_of_a_validator_that_is_down_takes_no_quorum() {
    let operators = operators();
    let world = World::governed("proof-of-stake", &operators);
    world.run(3);
    let (me, validators) = (world.me(), world.platform.validators());
    let id = ValidatorId::new(world.chain.id(), operators[3].address());
    let up = ValidatorId::new(world.chain.id(), operators[0].address());
    let stake = validators.get(&me, &id).unwrap().1.stake.unwrap().self_stake;
    validators.stop(&me, &id).unwrap();
    let amount = |amount| DelegationOrder::Amount { amount, from: None };
    let delegate =
        |request, id, order| validators.delegate(&me, id, request, &DelegationSpec { order, takes_back: false });
    let set = |request, spec: StakeSpec| validators.set_stake(&me, &id, request, &spec);
    let whole = |stake| StakeSpec::Whole { stake, from: None };
    let refused = conflict(set("tx_1", whole(stake * U256::from(2))));
    assert!(refused.contains("more staked on") && refused.contains("more than two thirds"), "{refused}");
    conflict(delegate("tx_2", &id, amount(stake)));
    delegate("tx_3", &id, amount(stake / U256::from(2) - tokens(1))).unwrap();
    let (validator, two) = (operators[3].address(), tokens(2));
    let sign = |key: &KeyPair, call| world.signed(key, STAKING_ADDRESS, two, call);
    let gift = sign(&operators[1], stake::stakeForCall { validator }.abi_encode());
    let own = sign(&operators[3], stake::stakeCall {}.abi_encode());
    for (request, raw) in [("tx_4", gift), ("tx_5", own)] {
        assert!(conflict(set(request, StakeSpec::Signed(raw))).contains("more staked on"), "{request}");
    }
    let delegation = sign(&operators[1], stake::delegateCall { validator }.abi_encode());
    assert!(conflict(delegate("tx_6", &id, DelegationOrder::Signed(delegation))).contains("more staked on"));
    // Those that are up take any.
    delegate("tx_7", &up, amount(stake)).unwrap();
    set("tx_8", whole(stake + tokens(2))).unwrap();
}

/// Of 22 candidates 21 are elected: the one with a delegation, and of those with the same stake all but the one with the highest key. Fifteen of
/// them are up, which are enough.
#[test]
fn no_stake_has_a_producer_elected_that_is_down_in_place_of_one_that_is_needed() {
    let world = World::with("delegated-proof-of-stake", &(1..=22).collect::<Vec<u8>>(), Plan::UNLIMITED);
    world.run(3);
    let (me, validators) = (world.me(), world.platform.validators());
    let mut candidates = validators.list(&me, world.chain.id()).unwrap();
    candidates.sort_by_key(|one| one.sealing_key);
    assert_eq!(candidates.iter().position(|one| !one.validates), Some(21), "the highest key stands by");
    let ids: Vec<ValidatorId> = candidates.into_iter().map(|one| one.id).collect();
    let (loses, last, highest) = (&ids[19], &ids[20], &ids[21]);
    let delegate = |request, id, takes_back| {
        let order = DelegationOrder::Amount { amount: tokens(1), from: None };
        validators.delegate(&me, id, request, &DelegationSpec { order, takes_back })
    };
    delegate("tx_1", highest, false).unwrap();
    world.run(3);
    for down in ids[..6].iter().chain([last]) {
        validators.stop(&me, down).unwrap();
    }
    let sums = "14 of a weight of 21 would be up, and the protocol needs more than two thirds of the producers";
    let less = conflict(delegate("tx_2", highest, true));
    assert!(less.contains("less staked on") && less.contains(sums), "{less}");
    let more = conflict(delegate("tx_3", last, false));
    assert!(more.contains("more staked on") && more.contains(sums), "{more}");
    // It is elected already, and up.
    delegate("tx_4", loses, false).unwrap();
    conflict(delegate("tx_5", last, false));
    validators.start(&me, &ids[0]).unwrap();
    delegate("tx_6", last, false).unwrap();
}

/// A producer counts once, whatever its votes.
#[test]
fn less_stake_takes_no_producer_out() {
    let world = World::new("delegated-proof-of-stake");
    world.run(3);
    let all = world.stake() * U256::from(2) + tokens(4);
    world.delegate("tx_1", false, all).unwrap();
    world.run(3);
    world.platform.validators().stop(&world.me(), &world.id(4)).unwrap();
    world.delegate("tx_2", true, all).unwrap();
}

#[test]
fn an_operator_keeps_own_stake_that_the_quorum_needs() {
    let world = World::new("proof-of-stake");
    world.run(3);
    let (me, validators, twice) = (world.me(), world.platform.validators(), world.stake() * U256::from(2));
    let operator = world.chain.treasury().unwrap();
    let new =
        NewValidator { operator, metadata: "{}".to_owned(), stake: Some(twice + tokens(4)), ..NewValidator::default() };
    let id = validators.add(&me, world.chain.id(), "tx_1", &new).unwrap().0;
    let is_active = (0..60).any(|_| {
        world.run(10);
        validators.get(&me, &id).unwrap().1.state == ValidatorState::Active
    });
    assert!(is_active, "{:?}", validators.get(&me, &id).unwrap().1.state);
    world.stop_two();
    let set = |request, stake| validators.set_stake(&me, &id, request, &StakeSpec::Whole { stake, from: None });
    let refused = conflict(set("tx_2", twice - tokens(4)));
    assert!(refused.contains("less staked on") && refused.contains("would be up"), "{refused}");
    set("tx_3", twice + tokens(3)).unwrap();
}

/// Who waits to leave is no other that stays, also where blocks are made on demand.
#[test]
fn the_last_validator_that_stays_does_not_leave() {
    let operators = operators();
    let addresses: Vec<Address> = operators[..2].iter().map(KeyPair::address).collect();
    let world = World::configured("proof-of-stake", &addresses, json!({}), Plan::UNLIMITED);
    let leave = |request, key: &KeyPair| {
        let id = ValidatorId::new(world.chain.id(), key.address());
        let raw = world.signed(key, STAKING_ADDRESS, U256::ZERO, stake::exitCall {}.abi_encode());
        world.platform.validators().remove(&world.me(), &id, request, Some(&raw))
    };
    leave("tx_1", &operators[0]).unwrap();
    assert!(conflict(leave("tx_2", &operators[1])).contains("last one of its chain that stays"));
}

/// Where governance administers the validators, nobody else slashes: what is left to do is said.
#[test]
fn governance_slashes_nobody_and_removes_by_a_proposal() {
    let operators = operators();
    let world = World::governed("proof-of-authority", &operators);
    world.run(3);
    let id = ValidatorId::new(world.chain.id(), operators[3].address());
    let order = SlashOrder::Part(SlashPart::Ppm(100_000));
    let spec = SlashSpec { reason: "downtime".to_owned(), order };
    let refused = conflict(world.platform.validators().slash(&world.me(), &id, "tx_1", &spec));
    assert!(refused.contains("governance administers the validators"), "{refused}");
    assert!(refused.contains("make a proposal of type validator-remove"), "{refused}");
}

/// A chain without a contract of its validators has nobody who slashes, and says so.
#[test]
fn nobody_slashes_on_a_chain_without_an_authority_for_it() {
    let world = World::new("proof-of-authority");
    let (me, validators) = (world.me(), world.platform.validators());
    let of_default = validators.list(&me, DEFAULT_BLOCKCHAIN_ID).unwrap()[0].id.clone();
    let order = SlashOrder::Part(SlashPart::Ppm(100_000));
    let spec = SlashSpec { reason: "downtime".to_owned(), order };
    let refused = conflict(validators.slash(&me, &of_default, "tx_1", &spec));
    assert!(refused.contains("was made without a contract of its validators"), "{refused}");
}

#[test]
fn a_stake_that_waits_for_a_block_is_not_paid_again() {
    for consensus in ["proof-of-stake", "delegated-proof-of-stake"] {
        let world = World::new(consensus);
        world.run(3);
        let (me, validators, before) = (world.me(), world.platform.validators(), world.stake());
        let set = |request, more| {
            let spec = StakeSpec::Whole { stake: before + tokens(more), from: None };
            validators.set_stake(&me, &world.id(1), request, &spec)
        };
        let sent = set("tx_1", 8).unwrap();
        assert_eq!(world.stake(), before, "no block has it");
        assert!(conflict(set("tx_2", 8)).contains("already"), "{consensus}");
        assert_eq!(set("tx_1", 8), Ok(sent), "the request that is run again is done");
        // The difference from what waits.
        set("tx_3", 12).unwrap();
        let less = conflict(set("tx_4", 4));
        assert!(less.contains("its operator"), "{less}");
        world.run(3);
        assert_eq!(world.stake(), before + tokens(12), "{consensus}");
    }
}

#[test]
fn rewards_and_commission_are_claimed_both_or_not_at_all() {
    for transactions_max in [1, 2] {
        let world = World::with("proof-of-stake", &[], Plan { transactions_max, ..Plan::UNLIMITED });
        world.run(80);
        let (me, operator) = (world.me(), world.chain.treasury().unwrap());
        let id = ValidatorId::new(world.chain.id(), operator);
        let claim = |request| world.platform.validators().claim(&me, &id, request, &ClaimOrder::Of(None));
        let nonce = || world.chain.node().view().nonce(operator, BlockRef::Pending).unwrap();
        let before = nonce();
        if transactions_max == 1 {
            let refused = conflict(claim("tx_1"));
            assert!(refused.contains("allows 1 transactions in 30 days, and it has 0"), "{refused}");
            assert_eq!(nonce(), before, "nothing is sent");
            continue;
        }
        let sent = claim("tx_1").unwrap();
        assert_eq!((sent.len(), nonce()), (2, before + 2));
        assert_eq!(claim("tx_1"), Ok(sent), "the request that is run again is done");
        assert!(conflict(claim("tx_2")).contains("waits to be paid"));
    }
}

/// A wallet of the workspace without funds joins at another wallet's expense, to which the service lets it consent.
#[test]
fn a_wallet_joins_at_the_expense_of_another() {
    for consensus in ["proof-of-stake", "delegated-proof-of-stake"] {
        let world = World::new(consensus);
        world.run(3);
        let (me, validators) = (world.me(), world.platform.validators());
        let operator = world.platform.wallets().managed(&me.owner()).unwrap().unwrap().value.address;
        let (treasury, stranger) = (world.chain.treasury().unwrap(), Address::repeat_byte(9));
        let add = |request, from, consent| {
            let (stake, metadata) = (Some(tokens(40)), "{}".to_owned());
            let new = NewValidator { operator, metadata, stake, from, consent, ..NewValidator::default() };
            validators.add(&me, world.chain.id(), request, &new).map(|(id, _)| id)
        };
        // By itself it has nothing to pay with.
        for (request, from) in [("tx_1", None), ("tx_2", Some(operator))] {
            let refused = add(request, from, None);
            assert!(matches!(refused, Err(PlatformError::InsufficientBalance { .. })), "{consensus}: {refused:?}");
        }
        match add("tx_3", Some(stranger), None) {
            Err(PlatformError::Validation { fields }) => assert_eq!(fields[0].path, "from", "{consensus}"),
            other => panic!("{consensus}: {other:?}"),
        }
        // A consent that comes with the request is checked, and is not replaced by one of the service.
        let another = KeyPair::from_seed(9, "somebody else").sign_hash(B256::ZERO);
        let consent = Some((2_000_000_000, Bytes::from(another.as_bytes())));
        conflict(add("tx_4", Some(treasury), consent));

        let balance = |account| world.chain.node().view().balance(account, BlockRef::Latest).unwrap();
        let before = balance(treasury);
        let id = add("tx_5", Some(treasury), None).unwrap();
        let own = || validators.get(&me, &id).unwrap().1.stake.map(|stake| stake.self_stake);
        let has_joined = (0..10).any(|_| {
            world.run(1);
            own() == Some(tokens(40))
        });
        assert!(has_joined, "{consensus}: {:?}", own());
        assert!(before - balance(treasury) >= tokens(40), "{consensus}: the treasury paid");
        assert_eq!(balance(operator), U256::ZERO, "{consensus}");
    }
}

/// What the service keeps of a validator changes alone where the chain has nothing to say.
#[test]
fn a_name_is_kept_of_every_validator_but_those_of_the_default_chain() {
    let world = World::new("proof-of-authority");
    world.run(3);
    let (me, validators, one) = (world.me(), world.platform.validators(), world.id(1));
    let change = ValidatorChange { name: Some("one".to_owned()), ..ValidatorChange::default() };
    assert_eq!(validators.update(&me, &one, "tx_1", &change), Ok(None));
    let described = world.platform.unit(|unit| validators.describe(unit, &me, &one, &change)).unwrap();
    let kept = || validators.get(&me, &one).unwrap().1;
    assert_eq!((described.name.as_str(), kept().name.as_str(), kept().metadata.as_str()), ("one", "one", "{}"));
    validators.stop(&me, &one).unwrap();
    world.platform.unit(|unit| validators.note(unit, &me, &one, true)).unwrap();
    let metadata = ValidatorChange { metadata: Some(r#"{"a":1}"#.to_owned()), ..ValidatorChange::default() };
    world.platform.unit(|unit| validators.describe(unit, &me, &one, &metadata)).unwrap();
    assert_eq!((kept().name.as_str(), kept().metadata.as_str()), ("one", r#"{"a":1}"#));
    assert_eq!(kept().process, ValidatorProcess::Down, "one record has both");

    let commission = ValidatorChange { commission: Some(CommissionOrder::Bps(1)), ..change.clone() };
    let refused = validators.update(&me, &one, "tx_2", &commission);
    assert!(matches!(refused, Err(PlatformError::UnsupportedByConsensus { .. })), "{refused:?}");
    let of_default = validators.list(&me, DEFAULT_BLOCKCHAIN_ID).unwrap()[0].id.clone();
    assert!(conflict(validators.update(&me, &of_default, "tx_3", &change)).contains("default blockchain"));
}
