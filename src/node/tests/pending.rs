//! The pending block, and which states show what was set by hand.

use core::time::Duration;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use alloy_json_abi::JsonAbi;
use proptest::prelude::*;

use super::fixture::{node_of, protocols, request};
use crate::{
    chain::{CallRequest, StateOverrides},
    node::{BlockRef, Database, ManualClock, Mining, Node, NodeView, SnapshotId},
    primitives::{Address, Bytes, Gas, Height, Timestamp, Transaction, TransactionRequest, U256, ether},
    state::{AccountProof, verify_proof},
    store::testing::MemoryDisk,
    templates::{Erc20Params, erc20::interface as erc20},
    vm::{Host, Marker, Stop, Template, TemplateId},
};

/// A transfer of one wei with a tip.
fn tipped(node: &Node, from: usize, nonce: u64, tip: u128) -> Transaction {
    let request = TransactionRequest { max_priority_fee_per_gas: tip, value: U256::from(1), ..request(node, nonce) };
    request.sign(&node.keys()[from]).unwrap()
}

fn estimate(node: &Node, request: &CallRequest, at: BlockRef) -> Result<u64, String> {
    let estimate = node.view().estimate_gas(request, at, &StateOverrides::new());
    estimate.map(|gas| gas.get()).map_err(|error| error.to_string())
}

#[test]
fn the_pending_block_is_the_one_that_is_mined() {
    for chain in protocols() {
        for database in [Database::Memory, Database::Store(Arc::new(MemoryDisk::new()))] {
            let node = node_of(chain).with_mining(Mining::Manual).with_database(database).build().unwrap();
            node.mine(2).unwrap();
            for (from, nonce, tip) in [(0, 0, 5), (1, 0, 9), (0, 1, 7), (2, 0, 9), (3, 1, 99)] {
                node.send(tipped(&node, from, nonce, tip)).unwrap();
            }
            node.set_balance(Address::repeat_byte(5), ether(3)).unwrap();
            node.set_next_block_base_fee(77).unwrap();
            node.increase_time(Duration::from_secs(3_600));
            let view = node.view();
            let (pending, state) = (view.pending_block().unwrap(), view.state(BlockRef::Pending).unwrap());
            assert_eq!(view.block(BlockRef::Pending).unwrap().hash(), pending.hash());
            assert!(view.block(BlockRef::Hash(pending.hash())).is_err(), "{chain:?}: no chain contains it");

            let mined = node.mine(1).unwrap();
            let hashes = |block: &crate::chain::ExecutedBlock| -> Vec<_> {
                block.block().transactions().iter().map(|transaction| transaction.hash()).collect()
            };
            assert_eq!(hashes(&pending), hashes(&mined), "{chain:?}: the order");
            assert_eq!(mined.block().transactions().len(), 4, "{chain:?}: one waits behind a gap");
            assert_eq!(pending.receipts(), mined.receipts(), "{chain:?}");
            let (got, want) = (pending.block().header(), mined.block().header());
            assert_eq!((got.state_root, got.receipts_root), (want.state_root, want.receipts_root), "{chain:?}");
            assert_eq!((got.timestamp, got.beneficiary), (want.timestamp, want.beneficiary), "{chain:?}");
            assert_eq!((got.base_fee_per_gas, got.difficulty), (want.base_fee_per_gas, want.difficulty), "{chain:?}");
            assert_eq!((got.number, got.parent_hash), (want.number, want.parent_hash), "{chain:?}");
            assert_eq!(pending.block().interventions(), mined.block().interventions(), "{chain:?}");

            // A state stays readable when its view and its block are gone.
            drop((view, pending));
            assert_eq!(state.commit().root, mined.block().header().state_root);
            assert_eq!(state.account(&Address::repeat_byte(0x77)).unwrap().unwrap().balance, U256::from(4));
        }
    }
}

#[test]
fn reads_at_pending_see_the_pool() {
    let node = Node::builder().with_mining(Mining::Manual).build().unwrap();
    let (alice, bob, carol) = (node.accounts()[0], node.accounts()[1], Address::repeat_byte(0xca));
    let init_code = Erc20Params::new("Gold", "GLD", U256::from(1_000), alice).init_code();
    let gold = alice.create(0);
    let send = |from, to, input: Vec<u8>| {
        node.send_request(CallRequest { from: Some(from), to, input: input.into(), ..Default::default() })
    };
    send(alice, None, init_code.to_vec()).unwrap();
    assert!(node.view().code(gold, BlockRef::Latest).unwrap().is_empty());
    assert!(!node.view().code(gold, BlockRef::Pending).unwrap().is_empty());

    use alloy_sol_types::SolCall;
    let spend = erc20::transferFromCall { from: alice, to: carol, value: U256::from(40) }.abi_encode();
    let spend = CallRequest { from: Some(bob), to: Some(gold), input: spend.into(), ..Default::default() };
    assert!(estimate(&node, &spend, BlockRef::Pending).unwrap_err().contains("revert"), "nothing is approved yet");
    let approval = erc20::approveCall { spender: bob, value: U256::from(40) }.abi_encode();
    send(alice, Some(gold), approval).unwrap();
    assert!(estimate(&node, &spend, BlockRef::Pending).unwrap() > 21_000);
    assert_eq!(node.view().nonce(alice, BlockRef::Pending).unwrap(), 2);
    assert_eq!(node.view().account(alice, BlockRef::Pending).unwrap().nonce, 2);
    node.send_request(spend).unwrap();
    let balance = CallRequest::call(gold, erc20::balanceOfCall { account: carol }.abi_encode());
    let held = node.call(&balance, BlockRef::Pending).unwrap();
    assert_eq!(U256::from_be_slice(held.success_output().unwrap()), U256::from(40));
    assert_eq!(node.view().head().height(), Height::default());
    let mined = node.mine(1).unwrap();
    assert!(mined.receipts().iter().all(|receipt| receipt.inner.status.coerce_status()));
}

#[test]
fn the_pending_block_is_built_once_for_a_head_a_pool_and_a_time() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(2_000_000_000)));
    let node = Node::builder().with_mining(Mining::Manual).with_clock(clock.clone()).build().unwrap();
    let pending = || node.view().pending_block().unwrap();
    let is_same = |one: &crate::chain::ExecutedBlock, other: &crate::chain::ExecutedBlock| {
        Arc::ptr_eq(one.block(), other.block())
    };
    let first = pending();
    assert!(is_same(&first, &pending()));
    node.impersonate(Address::repeat_byte(1)).unwrap();
    assert!(is_same(&first, &pending()), "another setting");
    clock.advance(Duration::from_secs(1));
    let later = pending();
    assert_eq!(later.block().timestamp().as_secs(), first.block().timestamp().as_secs() + 1);
    let sent = node.send(tipped(&node, 0, 0, 1)).unwrap();
    assert_eq!(pending().block().transactions()[0].hash(), sent);
    node.drop_transaction(sent);
    assert!(pending().block().transactions().is_empty());
    node.set_balance(Address::repeat_byte(1), ether(1)).unwrap();
    assert_ne!(pending().block().header().state_root, later.block().header().state_root);
    node.set_next_block_timestamp(Timestamp::from_secs(2_000_000_500)).unwrap();
    assert_eq!(pending().block().timestamp().as_secs(), 2_000_000_500);
    node.mine(1).unwrap();
    assert_eq!(pending().height(), Height::new(2));
}

/// A proof of a balance, and the root in the header of the block that it is of.
fn proof_at(view: &NodeView, address: Address, at: BlockRef) -> AccountProof {
    let proof = view.proof(address, &[], at).unwrap();
    verify_proof(view.block(at).unwrap().block().header().state_root, &proof).unwrap();
    proof
}

#[test]
fn only_latest_and_pending_show_what_is_set_by_hand() {
    let (node, account) = (Node::new(), Address::repeat_byte(0x42));
    node.set_balance(account, ether(1)).unwrap();
    node.mine(1).unwrap();
    node.set_balance(account, ether(5)).unwrap();
    let view = node.view();
    let head = view.head();
    let named = [BlockRef::Hash(head.hash()), BlockRef::Number(head.height()), BlockRef::Safe, BlockRef::Finalized];
    for at in named {
        assert_eq!(view.block(at).unwrap().hash(), head.hash());
        assert_eq!(view.balance(account, at).unwrap(), ether(1), "{at:?}");
        assert_eq!(view.state(at).unwrap().commit().root, head.block().header().state_root, "{at:?}");
        assert_eq!(view.call_context(at).unwrap().state.account(&account).unwrap().unwrap().balance, ether(1));
        assert_eq!(proof_at(&view, account, at).account.balance, ether(1), "{at:?}");
    }
    for at in [BlockRef::Latest, BlockRef::Pending] {
        assert_eq!(view.balance(account, at).unwrap(), ether(5), "{at:?}");
        assert_eq!(view.call_context(at).unwrap().state.account(&account).unwrap().unwrap().balance, ether(5));
    }
    // A proof verifies under its block's root, so that at the head lacks what no block has recorded.
    assert_eq!(proof_at(&view, account, BlockRef::Latest).account.balance, ether(1));
    assert_eq!(proof_at(&view, account, BlockRef::Pending).account.balance, ether(5));
    assert_eq!(view.balance(account, BlockRef::Earliest).unwrap(), U256::ZERO);
}

/// Counts how often it is called.
#[derive(Debug, Default)]
struct CallCounter(AtomicUsize);

impl CallCounter {
    const ID: TemplateId = TemplateId::new(0x8002, 1);
}

impl Template for CallCounter {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        "call-counter"
    }

    fn abi(&self) -> JsonAbi {
        JsonAbi::new()
    }

    fn construct(&self, _: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
        Ok(())
    }

    fn call(&self, host: &mut Host<'_>, _: &[u8]) -> Result<Bytes, Stop> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let total = host.load(U256::ZERO)?;
        host.store(U256::ZERO, total + U256::from(1))?;
        Ok(Bytes::new())
    }
}

#[test]
fn requests_without_gas_execute_what_is_pending_once() {
    const REQUESTS: usize = 120;
    for together in [false, true] {
        for database in [Database::Memory, Database::Store(Arc::new(MemoryDisk::new()))] {
            let counter = Arc::new(CallCounter::default());
            let node = Node::builder().with_template(counter.clone()).with_database(database);
            let node = node.with_mining(Mining::Manual).build().unwrap();
            let contract = node.accounts()[0].create(0);
            let init_code = Marker(CallCounter::ID).init_code(&[]);
            node.send_request(CallRequest { from: Some(node.accounts()[0]), input: init_code, ..Default::default() })
                .unwrap();
            let requests = (0..REQUESTS).map(|index| {
                let from = node.accounts()[index % node.accounts().len()];
                CallRequest::call(contract, vec![1]).with_from(from)
            });
            if together {
                let sent = node.send_together(requests.map(Into::into).collect());
                assert!(sent.iter().all(Result::is_ok));
            } else {
                requests.for_each(|request| assert!(node.send_request(request).is_ok()));
            }
            let executions = counter.0.load(Ordering::Relaxed);
            assert!(executions <= 10 * REQUESTS, "{executions} calls for {REQUESTS} requests");
            let pending = node.view().pending_block().unwrap();
            assert_eq!(pending.receipts().len(), REQUESTS + 1);
            let storage = node.view().storage(contract, U256::ZERO, BlockRef::Pending).unwrap();
            assert_eq!(storage, U256::from(REQUESTS));
            let mined = node.mine(1).unwrap();
            assert_eq!(pending.block().header().state_root, mined.block().header().state_root);
            assert_eq!(pending.receipts(), mined.receipts());
        }
    }
}

/// A change of what the next block contains.
#[derive(Clone, Debug)]
enum Change {
    /// A transfer with a gap of nonces before it, a tip, and a gas limit.
    Send {
        from: usize,
        gap: u64,
        tip: u128,
        fee: u128,
        gas: u64,
    },
    /// A transaction of the pool with the same nonce and twice the fee.
    Replace {
        from: usize,
    },
    Drop {
        index: usize,
    },
    Intervene(u64),
    BaseFee(u64),
    Mine,
    TimePasses,
    Snapshot,
    Revert,
}

fn change() -> impl Strategy<Value = Change> {
    let gas = prop_oneof![4 => Just(21_000_u64), 2 => Just(60_000), 1 => Just(400_000), 1 => Just(2_000_000)];
    let fee = prop_oneof![6 => Just(10_000_000_000_u128), 1 => Just(1_000)];
    prop_oneof![
        12 => (0..4_usize, prop_oneof![5 => Just(0_u64), 1 => 1..3_u64], 0..3_u128, fee, gas)
            .prop_map(|(from, gap, tip, fee, gas)| Change::Send { from, gap, tip, fee, gas }),
        1 => (0..4_usize).prop_map(|from| Change::Replace { from }),
        1 => (0..20_usize).prop_map(|index| Change::Drop { index }),
        1 => (1..9_u64).prop_map(Change::Intervene),
        1 => (1..2_000_000_000_u64).prop_map(Change::BaseFee),
        1 => Just(Change::Mine),
        1 => Just(Change::TimePasses),
        1 => Just(Change::Snapshot),
        1 => Just(Change::Revert),
    ]
}

fn sign(node: &Node, from: usize, nonce: u64, tip: u128, fee: u128, gas: u64) -> Transaction {
    let request = TransactionRequest {
        gas_limit: Gas::new(gas),
        max_fee_per_gas: fee,
        max_priority_fee_per_gas: tip.min(fee),
        value: U256::from(1),
        ..request(node, nonce)
    };
    request.sign(&node.keys()[from]).unwrap()
}

/// Makes a change; what the node refuses changes nothing.
fn make(node: &Node, change: &Change, snapshots: &mut Vec<SnapshotId>) {
    let view = node.view();
    let nonce = |from: usize| view.nonce(node.accounts()[from], BlockRef::Pending).unwrap();
    match *change {
        Change::Send { from, gap, tip, fee, gas } => {
            drop(node.send(sign(node, from, nonce(from) + gap, tip, fee, gas)))
        }
        Change::Replace { from } => {
            if let Some(last) = nonce(from).checked_sub(1) {
                drop(node.send(sign(node, from, last, 1_000_000_000, 20_000_000_000, 21_000)));
            }
        }
        Change::Drop { index } => {
            if let Some(pooled) = view.pooled().get(index) {
                node.drop_transaction(pooled.transaction.hash());
            }
        }
        Change::Intervene(wei) => node.set_balance(Address::repeat_byte(0x77), U256::from(wei)).unwrap(),
        Change::BaseFee(fee) => node.set_next_block_base_fee(fee).unwrap(),
        Change::Mine => drop(node.mine(1).unwrap()),
        Change::TimePasses => {
            node.increase_time(Duration::from_secs(1));
        }
        Change::Snapshot => snapshots.push(node.snapshot()),
        Change::Revert => {
            if let Some(id) = snapshots.pop() {
                assert!(node.revert(id).unwrap());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A pending block that continues an earlier one is the one that is built from the start, and that is mined.
    #[test]
    fn a_continued_pending_block_is_the_one_built_from_the_start(
        changes in prop::collection::vec((change(), any::<bool>()), 1..50),
        is_durable in any::<bool>(),
    ) {
        let database =
            if is_durable { Database::Store(Arc::new(MemoryDisk::new())) } else { Database::Memory };
        // So small that some transactions do not fit.
        let node = Node::builder().with_database(database).with_gas_limit(Gas::new(1_000_000));
        let node = node.with_mining(Mining::Manual).build().unwrap();
        let mut snapshots = Vec::new();
        for (change, is_read) in &changes {
            make(&node, change, &mut snapshots);
            if *is_read {
                let view = node.view();
                let (continued, whole) = (view.pending_block().unwrap(), view.without_pending().pending_block().unwrap());
                prop_assert_eq!(continued.block().header(), whole.block().header(), "after {:?}", change);
                prop_assert_eq!(continued.receipts(), whole.receipts());
                prop_assert_eq!(continued.updates(), whole.updates());
                let state = view.state(BlockRef::Pending).unwrap();
                prop_assert_eq!(state.commit().root, whole.block().header().state_root);
            }
        }
        let pending = node.view().pending_block().unwrap();
        let mined = node.mine(1).unwrap();
        prop_assert_eq!(pending.receipts(), mined.receipts());
    }
}
