//! The node through its public interface.

mod pool;

use core::time::Duration;
use std::sync::{Arc, Mutex, mpsc};

use proptest::prelude::*;

use super::{
    BlockRef, BuildError, ContractError, EstimateError, InterventionError, LoadError, Mining, Node, NodeBuilder,
    NodeEvent, NodeView, SendError, SubscriptionError,
    testing::{expect_balance_changes, expect_event, expect_revert},
};
use crate::{
    chain::{CallRequest, CommitHook, GenesisSpec, HeadChange, PoolError},
    consensus::ConsensusKind,
    primitives::{Address, B256, Bytes, Gas, Timestamp, Transaction, TransactionRequest, U256, ether},
    sim::ChainOptionsError,
    store::{Batch, MemoryStore, StoreError},
    templates::{Erc20Params, erc20::interface as erc20},
};

fn plain_transfer(node: &Node, from: usize, nonce: u64, value: u64) -> Transaction {
    let request = TransactionRequest {
        chain_id: Some(node.view().chain_id()),
        nonce,
        to: Some(Address::repeat_byte(0x77)),
        value: U256::from(value),
        gas_limit: 21_000,
        max_fee_per_gas: 10_000_000_000,
        ..Default::default()
    };
    request.sign(&node.keys()[from]).unwrap()
}

#[test]
fn each_transaction_gets_a_block() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    for height in 1..=3 {
        let mined = node.transfer(alice, bob, U256::from(height)).unwrap();
        assert_eq!(mined.block().height().get(), height);
        assert_eq!(mined.transaction().nonce(), height - 1);
    }
    let view = node.view();
    assert_eq!(view.balance(bob, BlockRef::Latest).unwrap(), ether(10_000) + U256::from(6));
    for (height, moved) in [(0, 0), (1, 1), (2, 3), (3, 6)] {
        let at = BlockRef::Number(crate::primitives::Height::new(height));
        assert_eq!(view.balance(bob, at).unwrap(), ether(10_000) + U256::from(moved), "height {height}");
    }
}

#[test]
fn thirty_shuffled_nonces_are_all_mined() {
    let node = Node::new();
    let mut nonces: Vec<u64> = (0..30).collect();
    // A fixed shuffle: 7 generates the numbers below 31 without zero.
    nonces.sort_by_key(|nonce| (nonce * 7 + 3) % 31);
    assert_ne!(nonces[0], 0);
    let raws: Vec<Bytes> = nonces.iter().map(|nonce| plain_transfer(&node, 0, *nonce, 1).encoded()).collect();
    for result in node.send_raw_batch(&raws) {
        result.unwrap();
    }
    assert_eq!(node.view().nonce(node.accounts()[0], BlockRef::Latest).unwrap(), 30);
    assert!(node.view().pool().is_empty());
}

#[test]
fn thirty_shuffled_nonces_sent_one_by_one_are_all_mined() {
    let node = Node::new();
    for index in 0..30_u64 {
        let nonce = (index * 7 + 3) % 30;
        node.send(plain_transfer(&node, 0, nonce, 1)).unwrap();
    }
    assert_eq!(node.view().nonce(node.accounts()[0], BlockRef::Latest).unwrap(), 30);
}

#[test]
fn concurrent_callers_never_get_the_same_nonce() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..25).for_each(|_| drop(node.transfer(alice, bob, U256::from(1)).unwrap())));
        }
    });
    assert_eq!(node.view().nonce(alice, BlockRef::Latest).unwrap(), 100);
    assert_eq!(node.view().balance(bob, BlockRef::Latest).unwrap(), ether(10_000) + U256::from(100));
}

#[test]
fn a_batch_shares_a_block() {
    let node = Node::new();
    let raws: Vec<Bytes> = (0..20).map(|nonce| plain_transfer(&node, 0, nonce, 1).encoded()).collect();
    let hashes: Vec<B256> = node.send_raw_batch(&raws).into_iter().map(Result::unwrap).collect();
    for hash in hashes {
        assert_eq!(node.receipt(hash).unwrap().unwrap().block().height().get(), 1);
    }
    let hold = node.hold_mining();
    let second = node.send(plain_transfer(&node, 0, 20, 1)).unwrap();
    node.send(plain_transfer(&node, 0, 21, 1)).unwrap();
    assert!(node.receipt(second).unwrap().is_none());
    drop(hold);
    assert_eq!(node.view().head().block().transactions().len(), 2);
}

#[test]
fn a_transaction_behind_a_nonce_gap_waits_with_the_reason() {
    let node = Node::new();
    let hash = node.send(plain_transfer(&node, 0, 5, 1)).unwrap();
    assert!(node.receipt(hash).unwrap().is_none());
    let waiting = node.view().pooled();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].excluded.as_ref().unwrap().to_string(), "nonce gap: waits for nonce 0");
    assert_eq!(node.view().nonce(node.accounts()[0], BlockRef::Pending).unwrap(), 0);
}

#[test]
fn refused_transactions_leave_everything_as_it_was() {
    let node = Node::new();
    node.send(plain_transfer(&node, 0, 0, 1)).unwrap();
    let before = node.view().head().hash();
    let again = node.send(plain_transfer(&node, 0, 0, 1)).unwrap_err();
    assert!(again.to_string().starts_with("nonce too low"), "{again}");
    let poor = TransactionRequest { value: ether(20_000), ..request(&node, 1) }.sign(&node.keys()[0]).unwrap();
    let poor = node.send(poor).unwrap_err();
    assert!(poor.to_string().starts_with("insufficient funds for gas * price + value"), "{poor}");
    let other_chain = TransactionRequest { chain_id: Some(1), ..request(&node, 1) }.sign(&node.keys()[0]).unwrap();
    assert!(matches!(node.send(other_chain), Err(SendError::Pool(PoolError::Invalid(_)))));
    assert!(matches!(node.send_raw(&[0xc0]), Err(SendError::Transaction(_))));
    assert_eq!(node.view().head().hash(), before);
    assert!(node.view().pool().is_empty());
}

fn request(node: &Node, nonce: u64) -> TransactionRequest {
    TransactionRequest {
        chain_id: Some(node.view().chain_id()),
        nonce,
        to: Some(Address::repeat_byte(0x77)),
        gas_limit: 21_000,
        max_fee_per_gas: 10_000_000_000,
        ..Default::default()
    }
}

#[test]
fn a_token_from_a_template() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let token = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(1_000), alice).init_code()).unwrap();
    let mined = token.send(erc20::transferCall { to: bob, value: U256::from(10) }).unwrap();
    let event: erc20::Transfer = expect_event(&mined);
    assert_eq!((event.from, event.to, event.value), (alice, bob, U256::from(10)));
    assert_eq!(token.call(erc20::balanceOfCall { account: bob }).unwrap(), U256::from(10));
    let refused: erc20::ERC20InsufficientBalance =
        expect_revert(token.from(bob).send(erc20::transferCall { to: alice, value: U256::from(11) }));
    assert_eq!(refused.needed, U256::from(11));
    assert_eq!(token.events::<erc20::Transfer>().unwrap().len(), 2, "the supply's and bob's");
    let before = BlockRef::Number(crate::primitives::Height::new(1));
    assert_eq!(token.call_at(erc20::balanceOfCall { account: bob }, before).unwrap(), U256::ZERO);
}

#[test]
fn a_reverting_transaction_is_mined_and_its_reason_recovered() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let token = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(1), alice).init_code()).unwrap();
    let call = erc20::transferCall { to: alice, value: U256::from(5) };
    let request = CallRequest {
        from: Some(bob),
        to: Some(token.address()),
        input: alloy_sol_types::SolCall::abi_encode(&call).into(),
        gas: Some(Gas::new(100_000)),
        ..Default::default()
    };
    let head = node.view().head().height();
    let error = node.send_and_mine(request).unwrap_err();
    assert!(error.decode::<erc20::ERC20InsufficientBalance>().is_some(), "{error}");
    let view = node.view();
    assert_eq!(view.head().height(), head.next());
    assert!(!view.head().receipts()[0].is_success());
}

#[test]
fn interventions_are_visible_at_once_and_recorded_by_the_next_block() {
    let node = Node::new();
    let account = Address::repeat_byte(0x42);
    node.set_balance(account, ether(3)).unwrap();
    node.set_nonce(account, 9).unwrap();
    node.set_storage(account, U256::from(1), U256::from(2)).unwrap();
    let check = || {
        let view = node.view();
        assert_eq!(view.balance(account, BlockRef::Latest).unwrap(), ether(3));
        assert_eq!(view.nonce(account, BlockRef::Latest).unwrap(), 9);
        assert_eq!(view.storage(account, U256::from(1), BlockRef::Latest).unwrap(), U256::from(2));
    };
    check();
    node.mine(2).unwrap();
    check();
    assert!(matches!(
        node.send_request(CallRequest { from: Some(account), to: Some(account), ..Default::default() }),
        Err(SendError::UnknownAccount { address }) if address == account
    ));
    node.impersonate(account);
    let mined = node.transfer(account, Address::ZERO, ether(1)).unwrap();
    assert_eq!(mined.transaction().nonce(), 9);
    node.stop_impersonating(account);
    assert!(node.transfer(account, Address::ZERO, ether(1)).is_err());
}

#[cfg(feature = "rocksdb")]
#[test]
fn interventions_on_a_durable_store_survive_reopening_before_any_block() {
    use crate::store::{RocksOptions, RocksStore};

    let folder = tempfile::tempdir().unwrap();
    let open = || {
        let store = RocksStore::open(folder.path().join("database"), RocksOptions::default()).unwrap();
        let database = super::Database::Store(Arc::new(store));
        Node::builder().with_validators(3).with_database(database).build().unwrap()
    };
    let node = open();
    for n in 1..=40_u8 {
        node.set_balance(Address::repeat_byte(n), U256::from(n)).unwrap();
    }
    let root = node.view().state(BlockRef::Latest).unwrap().commit().root;
    drop(node);
    let node = open();
    assert_eq!(node.view().state(BlockRef::Latest).unwrap().commit().root, root);
    node.mine(1).unwrap();
    assert_eq!(node.view().head().block().header().state_root, root);
    assert_eq!(node.view().head().block().interventions().len(), 40);
}

#[test]
fn manual_and_interval_mining() {
    let node = Node::builder().with_mining(Mining::Manual).build().unwrap();
    let hash = node.send(plain_transfer(&node, 0, 0, 1)).unwrap();
    assert!(node.receipt(hash).unwrap().is_none());
    assert_eq!(node.view().nonce(node.accounts()[0], BlockRef::Pending).unwrap(), 1);
    assert_eq!(node.mine(3).unwrap().len(), 3);
    assert_eq!(node.receipt(hash).unwrap().unwrap().block().height().get(), 1);

    node.set_mining(Mining::Interval(Duration::from_secs(12))).unwrap();
    let start = node.now();
    let blocks = node.pass_time(Duration::from_secs(30)).unwrap();
    let times: Vec<u64> = blocks.iter().map(|block| block.block().timestamp().as_secs() - start.as_secs()).collect();
    assert_eq!(times, [12, 24]);
    assert_eq!(node.now().as_secs(), start.as_secs() + 30);
}

#[test]
fn automining_does_not_advance_time() {
    let node = Node::new();
    let start = node.now();
    for nonce in 0..50 {
        node.send(plain_transfer(&node, 0, nonce, 1)).unwrap();
    }
    assert_eq!(node.view().head().height().get(), 50);
    assert_eq!(node.view().head().block().timestamp(), start);
    let early = Timestamp::from_secs(start.as_secs() - 1);
    assert!(node.set_next_block_timestamp(early).is_err());
    node.set_next_block_timestamp(start).unwrap();
}

#[test]
fn subscribers_receive_transactions_blocks_finality_and_what_a_revert_removes() {
    let node = Node::new();
    let snapshot = node.snapshot();
    let mut events = node.subscribe();
    let hash = node.send(plain_transfer(&node, 0, 0, 1)).unwrap();
    assert!(matches!(events.try_next().unwrap(), NodeEvent::Pending(transaction) if transaction.hash() == hash));
    let NodeEvent::Head { added, removed, .. } = events.try_next().unwrap() else { panic!("expected a block") };
    assert_eq!((added.len(), removed.len()), (1, 0));
    let mined = added[0].hash();
    let NodeEvent::Finalized { safe, finalized } = events.try_next().unwrap() else { panic!("expected finality") };
    assert_eq!((safe.hash(), finalized.hash()), (mined, mined), "one validator's block is final at once");
    assert!(node.revert(snapshot).unwrap());
    let NodeEvent::Head { added, removed, view } = events.try_next().unwrap() else { panic!("expected a revert") };
    assert_eq!((added.len(), removed.len()), (0, 1));
    assert_eq!(removed[0].hash(), mined);
    assert_eq!(view.head().height().get(), 0);
    let NodeEvent::Finalized { safe, finalized } = events.try_next().unwrap() else { panic!("expected finality") };
    assert_eq!((safe.height().get(), finalized.height().get()), (0, 0));
    assert_eq!(events.try_next().unwrap_err(), SubscriptionError::Empty);
}

#[test]
fn finality_is_an_event_when_it_moves_and_only_then() {
    for chain in protocols() {
        let node = node_of(chain).build().unwrap();
        let mut events = node.subscribe();
        let marks = |view: &NodeView| (view.safe().hash(), view.finalized().hash());
        let mut last = marks(&node.view());
        for _ in 0..40 {
            node.mine(1).unwrap();
            let NodeEvent::Head { view, .. } = events.try_next().unwrap() else { panic!("{chain:?}: a block first") };
            let moved = marks(&view);
            if moved != last {
                let Ok(NodeEvent::Finalized { safe, finalized }) = events.try_next() else { panic!("{chain:?}") };
                assert_eq!((safe.hash(), finalized.hash()), moved, "{chain:?}");
                last = moved;
            }
            assert_eq!(events.try_next().unwrap_err(), SubscriptionError::Empty, "{chain:?}");
        }
        assert_ne!(last, (node.view().genesis_hash(), node.view().genesis_hash()), "{chain:?}");
    }
}

#[test]
fn a_set_mining_mode_is_an_event_before_the_blocks_it_causes() {
    let node = Node::builder().with_mining(Mining::Manual).build().unwrap();
    node.send(plain_transfer(&node, 0, 0, 1)).unwrap();
    let mut events = node.subscribe_to(|event| !matches!(event, NodeEvent::Finalized { .. }));
    let every = Mining::Interval(Duration::from_secs(12));
    for mining in [every, every, Mining::EachTransaction] {
        node.set_mining(mining).unwrap();
        let event = events.try_next().unwrap();
        assert!(matches!(event, NodeEvent::MiningChanged { mining: mode } if mode == mining), "{event:?}");
        assert_eq!((node.mining(), node.view().mining()), (mining, mining));
    }
    assert!(
        matches!(events.try_next(), Ok(NodeEvent::Head { added, .. }) if added[0].block().transactions().len() == 1)
    );
    assert_eq!(events.try_next().unwrap_err(), SubscriptionError::Empty);
}

/// A hook that stays in `on_head` until it is released, and with it the writer.
#[derive(Debug)]
struct BlockingHook {
    entered: Mutex<mpsc::Sender<()>>,
    release: Mutex<mpsc::Receiver<()>>,
}

impl CommitHook for BlockingHook {
    fn on_head(&self, _: &HeadChange, _: &mut Batch) -> Result<(), StoreError> {
        self.entered.lock().unwrap().send(()).unwrap();
        self.release.lock().unwrap().recv().unwrap();
        Ok(())
    }
}

#[test]
fn reads_do_not_wait_for_the_writer() {
    let (entered, has_entered) = mpsc::channel();
    let (release, released) = mpsc::channel();
    let hook = BlockingHook { entered: Mutex::new(entered), release: Mutex::new(released) };
    let node = Node::builder()
        .with_validators(4)
        .with_stakes([40, 30, 20, 10].map(ether))
        .with_consensus(ConsensusKind::Dpos.on_demand())
        .with_mining(Mining::Interval(Duration::from_secs(9)))
        .with_database(super::Database::Store(Arc::new(MemoryStore::new())))
        .with_hook(Arc::new(hook))
        .build()
        .unwrap();
    let (alice, stranger) = (node.accounts()[0], Address::repeat_byte(0x33));
    node.impersonate(stranger);
    node.increase_time(Duration::from_secs(100));
    let start = node.now();

    let miner = node.clone();
    let mining = std::thread::spawn(move || miner.mine(1).map(drop));
    let timeout = Duration::from_secs(60);
    has_entered.recv_timeout(timeout).expect("the block reaches the hook");
    assert!(node.is_busy());

    let reader = node.clone();
    let (done, results) = mpsc::channel();
    std::thread::spawn(move || {
        let read = |name: &'static str, holds: bool| done.send((name, holds)).unwrap();
        read("validators", reader.validators().unwrap().len() == 4);
        read("weights", reader.view().validators().unwrap().iter().all(|record| record.weight >= 10_000_000_000));
        read("mining mode", reader.mining() == Mining::Interval(Duration::from_secs(9)));
        read("time", reader.now() == start && reader.view().clock_offset().as_secs() == 100);
        read("finality", (reader.view().safe().height(), reader.view().finalized().height()) == Default::default());
        read("balance", reader.view().balance(alice, BlockRef::Latest).unwrap() == ether(10_000));
        read("impersonation", reader.impersonated() == [stranger]);
        let request = CallRequest { from: Some(stranger), to: Some(alice), ..Default::default() };
        read("filled transaction", reader.fill(request).unwrap().nonce() == 0);
        read("receipt", reader.receipt(B256::ZERO).unwrap().is_none());
    });
    for want in [
        "validators",
        "weights",
        "mining mode",
        "time",
        "finality",
        "balance",
        "impersonation",
        "filled transaction",
        "receipt",
    ] {
        assert_eq!(results.recv_timeout(timeout).expect(want), (want, true));
    }
    assert!(node.is_busy(), "the writer was at work throughout");
    drop(release);
    assert!(mining.join().is_err() || !node.is_busy());
}

#[test]
fn receipts_name_their_block_and_index() {
    let node = Node::builder().with_mining(Mining::Manual).build().unwrap();
    let hashes: Vec<B256> = (0..3).map(|nonce| node.send(plain_transfer(&node, 0, nonce, 1)).unwrap()).collect();
    assert!(node.receipt(hashes[0]).unwrap().is_none(), "in the pool");
    let snapshot = node.snapshot();
    let block = node.mine(1).unwrap().remove(0);
    for (index, hash) in (0..).zip(&hashes) {
        let mined = node.receipt(*hash).unwrap().unwrap();
        assert_eq!((mined.block().hash(), mined.index()), (block.hash(), index));
        assert_eq!(mined.transaction().hash(), *hash);
        assert_eq!(mined.receipt(), &block.receipts()[index as usize]);
    }
    assert!(node.receipt(B256::repeat_byte(1)).unwrap().is_none(), "unknown");
    assert!(node.revert(snapshot).unwrap());
    assert!(node.receipt(hashes[2]).unwrap().is_none(), "its block is not canonical any more");
}

#[test]
fn a_failing_request_has_no_estimate() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let estimate = |value| {
        let request = CallRequest { from: Some(alice), to: Some(bob), value, ..Default::default() };
        node.view().estimate_gas(&request, BlockRef::Latest, &Default::default())
    };
    assert_eq!(estimate(ether(1)).unwrap().get(), 21_000);
    assert!(matches!(estimate(ether(20_000)), Err(EstimateError::Query(_))));
    let init_code = Bytes::from_static(&[0x60, 0x80]);
    let request = CallRequest { from: Some(alice), input: init_code, ..Default::default() };
    let error = node.view().estimate_gas(&request, BlockRef::Latest, &Default::default()).unwrap_err();
    assert!(matches!(error, EstimateError::Failed(_)), "{error}");
    assert!(error.to_string().contains("EVM"), "{error}");
}

#[test]
fn interventions_need_a_genesis_that_allows_them() {
    let genesis = GenesisSpec { allow_interventions: false, ..GenesisSpec::new(5) };
    let node = Node::builder().with_genesis(genesis).build().unwrap();
    let error = node.set_balance(Address::ZERO, ether(1)).unwrap_err();
    assert!(matches!(error, InterventionError::NotAllowed), "{error}");
    assert!(node.view().balance(Address::ZERO, BlockRef::Latest).unwrap().is_zero());
}

#[test]
fn options_that_fit_no_node_are_refused_by_kind() {
    let build = |builder: NodeBuilder| builder.build().unwrap_err();
    let error = build(Node::builder().with_accounts(100_001));
    assert!(matches!(error, BuildError::TooManyAccounts { asked: 100_001, max: 100_000 }), "{error}");
    let error = build(Node::builder().with_mnemonic("not a phrase"));
    assert!(matches!(error, BuildError::Mnemonic(_)), "{error}");
    let malformed = GenesisSpec { consensus: serde_json::json!({ "type": "magic" }), ..GenesisSpec::new(5) };
    let error = build(Node::builder().with_genesis(malformed));
    assert!(matches!(error, BuildError::Chain(ChainOptionsError::GenesisConsensus { .. })), "{error}");
    let raft = GenesisSpec { consensus: ConsensusKind::Raft.on_demand().section(), ..GenesisSpec::new(5) };
    let error = build(Node::builder().with_genesis(raft).with_consensus(ConsensusKind::Poa.on_demand()));
    assert!(matches!(error, BuildError::GenesisProtocol { .. }), "{error}");
    let error = build(Node::builder().with_stakes([ether(1)]));
    assert!(matches!(error, BuildError::Chain(ChainOptionsError::NoStake { .. })), "{error}");
    let error = build(Node::builder().with_dump(super::Dump::from_bytes(b"nonsense".to_vec())));
    assert!(matches!(error, BuildError::Load(LoadError::Malformed { .. })), "{error}");
}

#[test]
fn a_revert_removes_newer_snapshots_and_an_unknown_id_is_false() {
    let node = Node::new();
    let first = node.snapshot();
    let second = node.snapshot();
    assert!(node.revert(first).unwrap());
    assert!(!node.revert(second).unwrap());
    assert!(!node.revert(first).unwrap());
    assert_ne!(node.snapshot(), first, "ids are never used twice");
}

#[test]
fn four_validators_take_turns_and_agree() {
    let node = Node::builder().with_validators(4).with_seed(3).build().unwrap();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let mut authors = std::collections::BTreeSet::new();
    for _ in 0..8 {
        let mined = node.transfer(alice, bob, U256::from(1)).unwrap();
        authors.insert(mined.block().block().header().beneficiary);
    }
    assert_eq!(authors.len(), 4);
}

/// Every protocol with one validator and with several.
fn protocols() -> impl Iterator<Item = (ConsensusKind, u32)> {
    ConsensusKind::ALL.into_iter().flat_map(|kind| [(kind, 1), (kind, 4)])
}

fn node_of((kind, validators): (ConsensusKind, u32)) -> NodeBuilder {
    Node::builder().with_validators(validators).with_consensus(kind.on_demand())
}

#[test]
fn every_protocol_makes_blocks_on_demand_and_reverts_with_the_node() {
    for chain in protocols() {
        let node = node_of(chain).build().unwrap();
        let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
        for height in 1..=5 {
            let mined = node.transfer(alice, bob, U256::from(1)).unwrap();
            assert_eq!(mined.block().height().get(), height, "{chain:?}");
        }
        let (snapshot, before) = (node.snapshot(), node.view().head().hash());
        node.mine(3).unwrap();
        assert!(node.revert(snapshot).unwrap());
        assert_eq!(node.view().head().hash(), before, "{chain:?}");
        assert_eq!(node.transfer(alice, bob, U256::from(1)).unwrap().block().height().get(), 6, "{chain:?}");
    }
}

/// At height 64, by each protocol's rule: a certificate or a log commit finalizes at once, DPoS within a slot or two of each
/// producer, a checkpoint takes two epochs, and proof of authority a depth bounded by the number of signers.
#[test]
fn finality_follows_the_protocol() {
    for chain in protocols() {
        let node = node_of(chain).build().unwrap();
        node.mine(64).unwrap();
        let view = node.view();
        let height = |block| view.block(block).unwrap().height().get();
        let lag = 64 - height(BlockRef::Finalized);
        let want = match chain {
            (ConsensusKind::Pbft | ConsensusKind::Raft, _) => 0..=0,
            (ConsensusKind::Dpos, 1) => 0..=1,
            (ConsensusKind::Dpos, _) => 1..=5,
            (ConsensusKind::Pos, _) => 8..=24,
            (ConsensusKind::Poa, _) => 0..=4,
        };
        assert!(want.contains(&lag), "{chain:?}: {lag} blocks behind");
        assert!((height(BlockRef::Finalized)..=64).contains(&height(BlockRef::Safe)), "{chain:?}");
    }
}

#[cfg(feature = "rocksdb")]
#[test]
fn every_protocol_continues_after_reopening() {
    use crate::store::{RocksOptions, RocksStore};

    for chain in protocols() {
        let folder = tempfile::tempdir().unwrap();
        let open = || {
            let store = RocksStore::open(folder.path().join("database"), RocksOptions::default()).unwrap();
            node_of(chain).with_database(super::Database::Store(Arc::new(store))).build().unwrap()
        };
        let mut head = open().view().head().hash();
        for _ in 0..3 {
            let node = open();
            assert_eq!(node.view().head().hash(), head, "{chain:?}");
            let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
            for _ in 0..11 {
                node.transfer(alice, bob, U256::from(1)).unwrap();
            }
            head = node.view().head().hash();
        }
    }
}

#[test]
fn every_protocol_continues_from_a_dump() {
    for chain in protocols() {
        let node = node_of(chain).build().unwrap();
        node.mine(33).unwrap();
        let other = node_of(chain).with_dump(node.dump().unwrap()).build().unwrap();
        assert_eq!(other.view().head().hash(), node.view().head().hash(), "{chain:?}");
        other.mine(20).unwrap();
        assert_eq!(other.view().head().height().get(), 53, "{chain:?}");
    }
}

#[test]
fn elected_producers_make_blocks_on_demand_and_finality_follows() {
    use crate::consensus::ConsensusKind;
    for validators in [1, 4] {
        let consensus = ConsensusKind::Dpos.on_demand();
        let node = Node::builder().with_validators(validators).with_consensus(consensus).build().unwrap();
        node.mine(12).unwrap();
        let (snapshot, before) = (node.snapshot(), node.view().head().hash());
        let finalized = |node: &Node| node.view().block(BlockRef::Finalized).unwrap().height().get();
        assert_eq!(finalized(&node), if validators == 1 { 11 } else { 7 });
        node.mine(3).unwrap();
        assert!(node.revert(snapshot).unwrap());
        assert_eq!(node.view().head().hash(), before);
        node.mine(5).unwrap();
        assert_eq!(finalized(&node), if validators == 1 { 16 } else { 12 });
    }
}

#[test]
fn two_nodes_with_the_same_options_make_the_same_bytes() {
    let run = || {
        let node = Node::builder().with_seed(5).with_validators(3).build().unwrap();
        for nonce in 0..5 {
            node.send(plain_transfer(&node, 1, nonce, nonce)).unwrap();
        }
        node.view().head().hash()
    };
    assert_eq!(run(), run());
}

#[test]
fn two_dumps_are_equal_and_load_into_another_node() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let token = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(100), alice).init_code()).unwrap();
    token.send(erc20::transferCall { to: bob, value: U256::from(7) }).unwrap();
    node.increase_time(Duration::from_secs(1_000));
    node.send(plain_transfer(&node, 2, 4, 1)).unwrap();
    let dump = node.dump().unwrap();
    assert_eq!(dump.as_bytes(), node.dump().unwrap().as_bytes());

    let other = Node::builder().with_dump(dump.clone()).build().unwrap();
    assert_eq!(other.view().head().hash(), node.view().head().hash());
    assert_eq!(other.now(), node.now());
    assert_eq!(other.view().pool().len(), 1);
    let same = other.contract(token.address(), alice);
    assert_eq!(same.call(erc20::balanceOfCall { account: bob }).unwrap(), U256::from(7));
    assert_eq!(other.dump().unwrap().as_bytes(), dump.as_bytes());
    same.send(erc20::transferCall { to: bob, value: U256::from(1) }).unwrap();
    assert!(Node::new().load(&super::Dump::from_bytes(b"nonsense".to_vec())).is_err());
}

#[test]
fn evm_bytecode_is_refused_clearly() {
    let node = Node::new();
    let alice = node.accounts()[0];
    let error = node.deploy(alice, Bytes::from_static(&[0x60, 0x80, 0x60, 0x40])).unwrap_err();
    assert!(error.to_string().contains("EVM"), "{error}");
    assert!(matches!(error, ContractError::Halted { .. }));
}

#[test]
fn balances_are_checked_exactly() {
    let node = Node::builder().with_base_fee(None).build().unwrap();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    expect_balance_changes(&node, &[(alice, -5), (bob, 5)], || node.transfer(alice, bob, U256::from(5)).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn handles_cross_tasks() {
    let node = Node::new();
    let mut events = node.subscribe();
    let sender = node.clone();
    let sent = tokio::spawn(async move { sender.send(plain_transfer(&sender, 0, 0, 1)).unwrap() });
    let hash = sent.await.unwrap();
    let NodeEvent::Pending(pending) = events.next().await.unwrap() else { panic!("expected the transaction first") };
    assert_eq!(pending.hash(), hash);
}

/// An operation between a snapshot and its revert.
#[derive(Clone, Debug)]
enum Operation {
    Send { from: usize, gap: u64, value: u64 },
    Mine(u64),
    Travel(u64),
    NextTimestamp(u64),
    SetBalance(u8, u64),
    SetNonce(u8, u64),
    SetMining(bool),
    SnapshotAndRevert,
    Snapshot,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        (0..3_usize, 0..3_u64, any::<u64>()).prop_map(|(from, gap, value)| Operation::Send { from, gap, value }),
        (1..4_u64).prop_map(Operation::Mine),
        (1..100_000_u64).prop_map(Operation::Travel),
        (0..1_000_u64).prop_map(Operation::NextTimestamp),
        (any::<u8>(), any::<u64>()).prop_map(|(byte, balance)| Operation::SetBalance(byte, balance)),
        (any::<u8>(), 0..100_u64).prop_map(|(byte, nonce)| Operation::SetNonce(byte, nonce)),
        any::<bool>().prop_map(Operation::SetMining),
        Just(Operation::SnapshotAndRevert),
        Just(Operation::Snapshot),
    ]
}

fn apply(node: &Node, operation: &Operation) {
    match operation {
        Operation::Send { from, gap, value } => {
            let nonce = node.view().nonce(node.accounts()[*from], BlockRef::Pending).unwrap() + gap;
            let _ = node.send(plain_transfer(node, *from, nonce, *value));
        }
        Operation::Mine(count) => drop(node.mine(*count).unwrap()),
        Operation::Travel(seconds) => {
            node.increase_time(Duration::from_secs(*seconds));
        }
        Operation::NextTimestamp(ahead) => {
            let parent = node.view().head().block().timestamp();
            node.set_next_block_timestamp(parent.saturating_add_secs(*ahead)).unwrap();
        }
        Operation::SetBalance(byte, balance) => {
            node.set_balance(Address::repeat_byte(*byte), U256::from(*balance)).unwrap();
        }
        Operation::SetNonce(byte, nonce) => node.set_nonce(Address::repeat_byte(*byte), *nonce).unwrap(),
        Operation::SetMining(each) => {
            node.set_mining(if *each { Mining::EachTransaction } else { Mining::Manual }).unwrap();
        }
        Operation::SnapshotAndRevert => {
            let id = node.snapshot();
            assert!(node.revert(id).unwrap());
        }
        Operation::Snapshot => drop(node.snapshot()),
    }
}

/// What a revert restores: the dump, which has blocks, state, time and pool, and for diagnosis its parts.
fn fingerprint(node: &Node) -> (Arc<[u8]>, B256, Timestamp, usize) {
    let view = node.view();
    let root = view.state(BlockRef::Latest).unwrap().commit().root;
    (node.dump().unwrap().as_bytes().into(), root, node.now(), view.pool().len())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_revert_restores_root_pool_and_time(
        before in proptest::collection::vec(operation(), 0..8),
        after in proptest::collection::vec(operation(), 1..12),
    ) {
        let node = Node::builder().with_accounts(3).build().unwrap();
        for operation in &before {
            apply(&node, operation);
        }
        let id = node.snapshot();
        let expected = fingerprint(&node);
        for operation in &after {
            apply(&node, operation);
        }
        prop_assert!(node.revert(id).unwrap());
        prop_assert_eq!(fingerprint(&node), expected);
    }
}
