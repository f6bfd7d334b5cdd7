//! `kill -9` at any instant leaves the last acknowledged block.
//!
//! A child process is a node over RocksDB that makes block after block, each one batch: block, state, receipts, indices, the
//! protocol's record, pruning. It says on its standard output when a block's write begins and when the block is acknowledged.
//! The parent kills it, again and again, at seeded instants, then opens the database and compares.
//!
//! Proof of authority with one validator is killed most often; the other protocols, and it, with four validators some times
//! each: every validator's records must be there, too, and none of them may have gone back on what it promised.
//!
//! Three hundred processes start, open a database, make a few blocks and die, and each time the database is opened again and
//! looked through: a tenth of a second of processor time each, and as long for the disk. Several databases are worked on at
//! once, so that they wait together; twenty seconds in all on two cores, thirty when others use them, too.
#![cfg(all(feature = "rocksdb", feature = "testing"))]

#[path = "crash/process.rs"]
mod process;

use core::ops::ControlFlow;
use std::{path::Path, sync::Arc};

use chainbox::{
    chain::{CallRequest, Retention},
    consensus::ConsensusKind,
    node::{BlockRef, Database, Mining, Node},
    primitives::{Bytes, Gas, Height, U256},
    state::model,
    store::{KeyValue, Order, Table},
    templates::{Erc20Params, erc20::interface as erc20},
};

use process::{Random, run_and_kill, say, store, told_by_parent};

/// States that the node retains, so that it prunes in every batch.
const RETAINED: u64 = 3;
/// Calls in a block and bytes that go with each, so that a write takes its time.
const CALLS: u64 = 12;
const CALL_BYTES: usize = 16_000;

/// What is killed on one database, and how often.
struct Plan {
    protocol: ConsensusKind,
    validators: u32,
    kills: u64,
    /// Of them, at least so many inside a write.
    inside: u64,
    seed: u64,
}

#[test]
fn a_killed_process_leaves_its_last_acknowledged_block() {
    // 220 kills.
    at_once((0..4).map(|seed| Plan { protocol: ConsensusKind::Poa, validators: 1, kills: 55, inside: 20, seed }));
}

#[test]
fn a_killed_process_of_four_validators_leaves_what_each_of_them_promised() {
    at_once(ConsensusKind::ALL.map(|protocol| Plan { protocol, validators: 4, kills: 16, inside: 4, seed: 0 }));
}

fn at_once(plans: impl IntoIterator<Item = Plan>) {
    std::thread::scope(|scope| {
        plans.into_iter().for_each(|plan| drop(scope.spawn(move || kill_again_and_again(&plan))));
    });
}

fn kill_again_and_again(plan: &Plan) {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(0x00c0_ffee ^ plan.seed);
    let mut known = Known { promised: vec![0; plan.validators as usize], ..Known::default() };
    let (mut acknowledged, mut kills, mut inside, mut early) = (0, 0, 0, 0);
    // More rounds than this mean that the kills miss what they aim at.
    for _ in 0..3 * plan.kills {
        if kills >= plan.kills && inside >= plan.inside {
            break;
        }
        let seen = run_and_kill(folder.path(), plan.protocol, plan.validators, &mut random);
        kills += 1;
        inside += u64::from(seen.begun > seen.acknowledged);
        early += u64::from(seen.begun == 0);
        acknowledged = acknowledged.max(seen.acknowledged);

        let head = check_database(folder.path(), plan, &mut known);
        assert!(head >= acknowledged, "block {acknowledged} was acknowledged, the database has {head}");
        assert!(head <= acknowledged.max(seen.begun), "block {head} was never begun");
        // What was begun and is there counts as acknowledged from now on.
        acknowledged = head;
    }
    let name = plan.protocol.name();
    println!("{name}: {kills} kills, {inside} inside a commit, {early} before the first; {acknowledged} blocks");
    assert!(kills >= plan.kills && inside >= plan.inside, "{name}: {kills} kills, {inside} of them inside a commit");
    assert!(acknowledged > plan.kills / 2, "{name}: only {acknowledged} blocks were made");
    assert!(known.promised.iter().all(|mark| *mark > 0) || plan.validators == 1, "{name}: {:?}", known.promised);
    // And it goes on.
    let node = open(store(folder.path()), plan);
    let height = node.view().head().height().get();
    assert_eq!(node.mine(3).unwrap().height().get(), height + 3, "{name}");
}

/// The process that is killed.
#[test]
#[ignore = "runs as the child of the test above"]
fn child() {
    let (store, protocol, validators) = told_by_parent();
    let node = open(store, &Plan { protocol, validators, kills: 0, inside: 0, seed: 0 });
    let [alice, bob] = [node.accounts()[0], node.accounts()[1]];
    let token = if node.view().head().height() == Height::GENESIS {
        let params = Erc20Params::new("Gold", "GLD", U256::from(1_000_000_000), alice);
        let sent = CallRequest::create(params.init_code()).with_from(alice);
        let hash = node.send_request(sent).unwrap();
        node.mine(1).unwrap();
        node.receipt(hash).unwrap().unwrap().receipt().contract_address.unwrap()
    } else {
        alice.create(0)
    };
    loop {
        let height = node.view().head().height().next();
        let mut random = Random(height.get());
        let transfer = erc20::transferCall { to: bob, value: U256::from(height.get()) };
        let transfer = alloy_sol_types::SolCall::abi_encode(&transfer);
        for _ in 0..CALLS {
            let noise = (0..CALL_BYTES / 8).flat_map(|_| random.next().to_be_bytes());
            let input: Bytes = transfer.iter().copied().chain(noise).collect::<Vec<u8>>().into();
            let gas = Gas::new(1_000_000);
            node.send_request(CallRequest::call(token, input).with_from(alice).with_gas(gas)).unwrap();
        }
        node.mine(1).unwrap();
        say(&format!("done {height}"));
    }
}

/// What earlier looks into the database found.
#[derive(Default)]
struct Known {
    finalized: u64,
    /// What each validator's promises may not go below.
    promised: Vec<u64>,
}

/// Checks that the database is whole at its head and gives the head's number.
fn check_database(path: &Path, plan: &Plan, known: &mut Known) -> u64 {
    let store = store(path);
    check_promises(&*store, plan, known);
    let node = open(store, plan);
    let view = node.view();
    let finalized = view.block(BlockRef::Finalized).unwrap().height().get();
    assert!(finalized >= known.finalized, "block {} was final, now {finalized} is", known.finalized);
    known.finalized = finalized;
    let head = view.head().clone();
    let height = head.height().get();
    let state = view.state(BlockRef::Latest).unwrap();
    let root = head.block().header().state_root;
    assert_eq!(state.commit().root, root, "root of block {height}");
    assert_eq!(model::rebuilt_root(&*state), root, "root rebuilt from the leaves of block {height}");
    if height < 2 {
        return height;
    }
    let [alice, bob] = [node.accounts()[0], node.accounts()[1]];
    let token = node.contract(alice.create(0), alice);
    let moved = |to: u64| U256::from(CALLS) * (2..=to).map(U256::from).sum::<U256>();
    for at in height.saturating_sub(RETAINED - 1).max(1)..=height {
        let at = Height::new(at);
        let block = view.block(at.into()).unwrap();
        let calls = if at.get() == 1 { 1 } else { CALLS as usize };
        assert_eq!((block.block().transactions().len(), block.receipts().len()), (calls, calls), "block {at}");
        let balance = token.call_at(erc20::balanceOfCall { account: bob }, at.into()).unwrap();
        assert_eq!(balance, moved(at.get()), "version of block {at}");
    }
    let first = head.block().transactions()[0].hash();
    assert_eq!(node.receipt(first).unwrap().unwrap().block().hash(), head.hash(), "the index finds it");
    height
}

/// Reads every validator's records as they lie in the database: no term, view, watermark or signed height goes back.
fn check_promises(store: &dyn KeyValue, plan: &Plan, known: &mut Known) {
    let mut found = vec![0; plan.validators as usize];
    let mut visit = |key: &[u8], value: &[u8]| {
        // Chain id, the protocol, the validator's number, the protocol's key; its checksum and ours are before the value.
        let (number, key) = key[9..].split_first_chunk::<4>().unwrap();
        let mark = &mut found[u32::from_be_bytes(*number) as usize];
        let read = |bytes: &[u8], at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap());
        let promised = match (plan.protocol, key) {
            (ConsensusKind::Poa, b"signed") => read(value, 16),
            // The newest slot that it sealed a block for, if it did.
            (ConsensusKind::Pos, b"promises") if value[value.len() - 9] == 1 => read(value, value.len() - 8),
            // Its watermark: the newest height that it confirmed.
            (ConsensusKind::Dpos, b"promise") => read(value, 24),
            // The highest that it said `prepare` to, or `commit`, or that is stable: what is below is forgotten.
            (ConsensusKind::Pbft, [b'q' | b'p' | b'c' | b's', b'/', height @ ..]) => read(height, 0),
            (ConsensusKind::Raft, b"hard-state") => read(value, 16),
            _ => 0,
        };
        *mark = promised.max(*mark);
        ControlFlow::Continue(())
    };
    store.scan(Table::Consensus, &[], Order::Ascending, &mut visit).unwrap();
    for (validator, (before, now)) in known.promised.iter_mut().zip(found).enumerate() {
        let name = plan.protocol.name();
        assert!(now >= *before, "{name}: validator {validator} went back from {before} to {now}");
        *before = now;
    }
}

fn open(store: Arc<dyn KeyValue>, plan: &Plan) -> Node {
    Node::builder()
        .with_validators(plan.validators)
        .with_consensus(plan.protocol.on_demand())
        .with_database(Database::Store(store))
        .with_mining(Mining::Manual)
        .with_retention(Retention::new(Some(RETAINED), None))
        .build()
        .unwrap()
}
