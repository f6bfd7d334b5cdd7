//! Requests of validators and governance that a crash interrupts: run again, each sends one transaction.

use super::*;
use crate::{
    node::{BlockRef, Clock, Located},
    platform::{
        DelegationOrder, DelegationSpec, NewValidator, ProposalId, ProposalSpec, SlashOrder, SlashPart, SlashSpec,
        StakeSpec, TransactionRecord, ValidatorId, VoteSpec,
    },
    primitives::Transaction,
    system::governance::{ProposalAction, VoteOption},
};

/// A token in its smallest unit.
const TOKEN: u64 = 1_000_000_000_000_000_000;
/// A day in milliseconds.
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// A request under one id, as it is run for the first time and again.
type Request<'a> = &'a dyn Fn(&Platform, &Principal) -> Result<B256, PlatformError>;

/// Runs a request; then for each write that it made it lets the process die after it, and runs the request again.
fn sends_once(world: &World, chain: &Blockchain, name: &str, request: Request<'_>) -> B256 {
    let (id, me) = (chain.id(), world.me());
    let sender = chain.treasury().unwrap();
    let nonce = |chain: &Blockchain| chain.node().view().nonce(sender, BlockRef::Latest).unwrap();
    let (before, sent_before) = (world.disk.writes(), nonce(chain));
    let kept_before = world.platform.records().verify::<TransactionRecord>().unwrap();
    let hash = request(&world.platform, &me).unwrap();
    let crashes = world.disk.crashes();
    let mut kept = 0;
    for (number, crashed) in crashes.into_iter().enumerate().skip(before.saturating_sub(1)) {
        let clock = Arc::new(ManualClock::default());
        clock.advance_to(Duration::from_millis(world.clock.now_ms()));
        let world = World::on(crashed, clock);
        let chain = world.platform.running_blockchain(id).unwrap();
        let was_kept = world.platform.records().verify::<TransactionRecord>().unwrap() > kept_before;
        kept += usize::from(was_kept);
        // At once, and when a block has it: its own effect is no reason to refuse it.
        let again = request(&world.platform, &me).unwrap();
        assert!(!was_kept || again == hash, "{name}, crash {number}");
        world.run(&chain, 6);
        assert_eq!(request(&world.platform, &me), Ok(again), "{name}, crash {number}");
        world.run(&chain, 6);
        assert!(chain.node().receipt(again).unwrap().unwrap().is_success(), "{name}, crash {number}");
        assert_eq!(nonce(&chain), sent_before + 1, "{name}, crash {number}");
        let records = world.platform.records().verify::<TransactionRecord>().unwrap();
        assert_eq!(records, kept_before + 1, "{name}, crash {number}");
    }
    assert!(kept > 0, "{name}: no crash came between the record and the transaction");
    world.run(chain, 6);
    hash
}

#[test]
fn stake_delegations_proposals_and_votes_are_sent_once_over_every_crash() {
    let world = World::new();
    let chain = world.create(json!({ "name": "x", "consensus": "proof-of-stake", "config": { "blockTime": "1s" } }));
    world.run(&chain, 3);
    let operator = chain.treasury().unwrap();
    let validator = ValidatorId::new(chain.id(), operator);
    let present = world.platform.validators().get(&world.me(), &validator).unwrap().1.stake.unwrap().self_stake;
    let spec = StakeSpec::Whole { stake: present + U256::from(5 * TOKEN), from: None };
    sends_once(&world, &chain, "stake", &|platform, me| platform.validators().set_stake(me, &validator, "tx_1", &spec));
    for (takes_back, id) in [(false, "tx_2"), (true, "tx_3")] {
        let order = DelegationOrder::Amount { amount: U256::from(TOKEN), from: None };
        let spec = DelegationSpec { order, takes_back };
        sends_once(&world, &chain, "delegate", &|platform, me| {
            platform.validators().delegate(me, &validator, id, &spec)
        });
    }
    let spec = ProposalSpec {
        blockchain_id: chain.id().to_owned(),
        action: ProposalAction::Text,
        module_config: None,
        title: "one".to_owned(),
        description: String::new(),
        voting_period_secs: None,
        quorum_permille: None,
        threshold_permille: None,
        from: None,
        signed_transaction: None,
    };
    let hash = sends_once(&world, &chain, "propose", &|platform, me| {
        Ok(platform.proposals().submit(me, "tx_4", &spec)?.transaction)
    });
    let (proposal, yes) = (ProposalId::new(chain.id(), hash), VoteOption::Yes);
    let spec = VoteSpec::Cast { option: yes, weight: None, reason: String::new(), from: None };
    sends_once(&world, &chain, "vote", &|platform, me| {
        let (voter, hash) = platform.proposals().vote(me, &proposal, "tx_5", &spec)?;
        assert_eq!(voter, operator);
        Ok(hash)
    });
}

#[test]
fn a_validator_is_added_slashed_and_removed_once_over_every_crash() {
    let world = World::new();
    let chain = world.create(of_four("proof-of-authority"));
    let id = chain.id().to_owned();
    world.run(&chain, 3);
    let new = |byte: u8| NewValidator {
        operator: Address::repeat_byte(byte),
        metadata: "{}".to_owned(),
        ..NewValidator::default()
    };
    let (fifth, sixth) = (new(5), new(6));
    for (new, request) in [(&fifth, "tx_1"), (&sixth, "tx_2")] {
        sends_once(&world, &chain, "add", &|platform, me| {
            let (added, hash) = platform.validators().add(me, &id, request, new)?;
            let process = platform.validators().get(me, &added)?.1.process;
            assert_eq!(process, crate::platform::ValidatorProcess::Up, "its replica runs");
            Ok(hash)
        });
    }
    let slash = SlashSpec { order: SlashOrder::Part(SlashPart::Ppm(500_000)), reason: "absent".to_owned() };
    let (fifth, sixth) = (ValidatorId::new(&id, fifth.operator), ValidatorId::new(&id, sixth.operator));
    sends_once(&world, &chain, "slash", &|platform, me| {
        Ok(platform.validators().slash(me, &fifth, "tx_3", &slash)?.transaction().unwrap())
    });
    sends_once(&world, &chain, "remove", &|platform, me| platform.validators().remove(me, &sixth, "tx_4", None));
}

#[test]
fn a_refused_join_keeps_no_validator() {
    let world = World::new();
    let chain = world.create(of_four("proof-of-authority"));
    world.run(&chain, 3);
    let (me, treasury) = (world.me(), chain.treasury().unwrap());
    let balance = || chain.node().view().balance(treasury, BlockRef::Latest).unwrap();
    let before = balance();
    world.pay(&chain).unwrap();
    world.run(&chain, 3);
    let cost = before - balance() - U256::from(5);
    // What is left pays for two transfers and for no join, while the call itself would succeed.
    let rest = balance() - cost * U256::from(3);
    let away = CallRequest::call(Address::repeat_byte(9), []).with_from(treasury).with_value(rest);
    world.platform.blockchains().send(&me, chain.id(), away).unwrap();
    world.run(&chain, 3);
    assert!(balance() < cost * U256::from(3) && balance() > U256::ZERO);
    let before = world.platform.validators().list(&me, chain.id()).unwrap();
    let new = NewValidator { operator: Address::repeat_byte(5), metadata: "{}".to_owned(), ..NewValidator::default() };
    let refused = world.platform.validators().add(&me, chain.id(), "tx_1", &new);
    assert!(matches!(refused, Err(PlatformError::InsufficientBalance { .. })), "{refused:?}");
    assert_eq!(world.platform.validators().list(&me, chain.id()).unwrap().len(), before.len());
    assert!(world.platform.blockchains().sent(&me, "tx_1").unwrap().is_none());
}

#[test]
fn settled_transactions_are_forgotten_after_a_day_unless_a_request_still_runs() {
    let world = World::new();
    let chain = world.create(json!({ "name": "x" }));
    let (platform, me) = (&world.platform, world.me());
    let forgotten = |after_ms: u64| {
        world.clock.advance(Duration::from_millis(after_ms));
        let before = platform.records().verify::<TransactionRecord>().unwrap();
        platform.forget_expired().unwrap();
        before - platform.records().verify::<TransactionRecord>().unwrap()
    };
    // The second finds the first in a block; nobody has looked for the second.
    for _ in 0..2 {
        world.pay(&chain).unwrap();
    }
    assert_eq!(forgotten(DAY_MS - 1), 0);
    let accepted = platform.unit(|unit| platform.idempotency().accept(unit, &me, "key", "op", b"request")).unwrap();
    let crate::platform::Begun::Run(accepted) = accepted else { panic!("it is the first") };
    assert_eq!(forgotten(1), 1, "it was sent before the request");
    for _ in 0..2 {
        world.pay(&chain).unwrap();
    }
    assert_eq!(forgotten(2 * DAY_MS), 1, "the one sent before the request, not the one after it");
    platform.unit(|unit| platform.idempotency().withdraw(unit, &accepted)).unwrap();
    assert_eq!(forgotten(0), 1);
    assert_eq!(forgotten(9 * DAY_MS), 0, "one that no block is known to have stays");
}

#[test]
fn a_revert_of_the_default_chain_takes_back_what_was_sent_on_it() {
    let world = World::new();
    let (platform, me) = (&world.platform, world.me());
    let (chain, other) = (platform.default_blockchain().unwrap(), world.create(json!({ "name": "other" })));
    let (chains, node) = (platform.blockchains(), chain.node());
    let gold = |chain: &Blockchain| crate::platform::DeploymentSpec::gold(chain.id());
    let to = Address::repeat_byte(7);
    let send = |chain: &Blockchain, id: &str| {
        let request = CallRequest::call(to, []).with_value(U256::from(5));
        chains.send_as(&me, chain.id(), id, request.into()).unwrap().value.hash
    };
    let first = send(chain, "tx_1");
    let deployed = chains.deploy(&me, gold(chain)).unwrap();
    let snapshot = node.snapshot();
    chains.keep_snapshot(snapshot.get()).unwrap();
    let second = send(chain, "tx_2");
    let elsewhere = send(&other, "tx_3");
    let gone = chains.deploy(&me, gold(chain)).unwrap();
    assert!(chains.sent(&me, "tx_1").unwrap().unwrap().value.is_settled, "it was found in its block");

    assert!(node.revert(snapshot).unwrap());
    chains.revert_to_snapshot(snapshot.get()).unwrap();
    let kept = chains.sent(&me, "tx_1").unwrap().unwrap();
    assert_eq!((kept.value.hash, kept.value.is_settled), (first, false), "nobody had looked for it at the snapshot");
    assert!(chains.sent(&me, "tx_2").unwrap().is_none());
    assert_eq!(chains.sent(&me, "tx_3").unwrap().unwrap().value.hash, elsewhere, "another chain's");
    assert!(chains.deployments().get(&me.owner(), deployed.id()).unwrap().is_some());
    assert!(chains.deployments().get(&me.owner(), gone.id()).unwrap().is_none());
    // The request that sent it is run again: the transaction is the same, and is sent.
    assert!(node.receipt(second).unwrap().is_none());
    assert_eq!(send(chain, "tx_2"), second);
    assert!(node.receipt(second).unwrap().unwrap().is_success());
    assert_eq!(platform.records().verify::<TransactionRecord>().unwrap(), 3);
}

#[test]
fn a_signed_transaction_that_somebody_else_has_sent_is_kept() {
    let world = World::new();
    let (me, chains) = (world.me(), world.platform.blockchains());
    let chain = world.create(json!({ "name": "x" }));
    let hash = world.pay(&chain).unwrap();
    let view = chain.node().view();
    let Some(Located::Mined { block, index }) = view.transaction(hash).unwrap() else { panic!("{hash}") };
    let signed = Transaction::clone(&block.transactions()[index as usize]);
    drop(view);
    let kept = chains.send_as(&me, chain.id(), "tx_1", signed.into()).unwrap();
    assert_eq!(kept.value.hash, hash);
    assert_eq!(chains.sent(&me, "tx_1").unwrap().unwrap().value.hash, hash);
}

/// A store remembers what was deleted for long: what walks there costs by what once was.
#[cfg(feature = "rocksdb")]
#[test]
fn a_transaction_passes_nothing_of_those_that_were_settled_before() {
    use crate::store::{RocksOptions, RocksStore, deleted_keys_passed};

    let folder = tempfile::tempdir().unwrap();
    let store = RocksStore::open(folder.path(), RocksOptions::default()).unwrap();
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_750_000_000)));
    let world = World { platform: World::platform_on(Arc::new(store), clock.clone()), ..World::new() };
    let chain = world.create(json!({ "name": "x" }));
    let passed_by = |count: usize| {
        let before = deleted_keys_passed();
        for _ in 0..count {
            clock.advance(Duration::from_millis(1));
            world.pay(&chain).unwrap();
        }
        deleted_keys_passed() - before
    };
    passed_by(50);
    let passed = passed_by(40);
    // One look of many is for the oldest, from the beginning.
    assert!(passed <= 40 * 5, "{passed} of 40 transactions");
}
