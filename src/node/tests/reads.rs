//! Reads while a block is made.

use core::time::Duration;
use std::sync::{Arc, Mutex, mpsc};

use crate::{
    chain::{CallRequest, CommitHook, HeadChange},
    consensus::ConsensusKind,
    node::{BlockRef, Database, Mining, Node},
    primitives::{Address, B256, Height, ether},
    store::{Batch, MemoryStore, StoreError, testing::MemoryDisk},
};

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
fn a_view_keeps_its_chain_through_a_deep_revert() {
    const BLOCKS: u64 = 300;
    let database = Database::Store(Arc::new(MemoryDisk::new()));
    let node = Node::builder().with_mining(Mining::Manual).with_database(database).build().unwrap();
    node.mine(3).unwrap();
    let snapshot = node.snapshot();
    let own: Vec<B256> = node.mine_all(BLOCKS).iter().map(|block| block.hash()).collect();
    let view = node.view();
    let reads_own = || {
        for (hash, height) in own.iter().zip(4..) {
            assert_eq!(view.block(BlockRef::Number(Height::new(height))).unwrap().hash(), *hash, "height {height}");
        }
    };
    reads_own();
    assert!(node.revert(snapshot).unwrap());
    reads_own();
    node.increase_time(Duration::from_secs(9));
    let other = node.mine_all(BLOCKS + 9);
    reads_own();
    for block in &other {
        assert_eq!(node.view().block(BlockRef::Number(block.height())).unwrap().hash(), block.hash());
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
        .with_database(Database::Store(Arc::new(MemoryStore::new())))
        .with_hook(Arc::new(hook))
        .build()
        .unwrap();
    let (alice, stranger) = (node.accounts()[0], Address::repeat_byte(0x33));
    node.impersonate(stranger).unwrap();
    node.increase_time(Duration::from_secs(100));
    let start = node.now();

    let miner = node.clone();
    let mining = std::thread::spawn(move || miner.mine(1).map(drop));
    let timeout = Duration::from_secs(60);
    has_entered.recv_timeout(timeout).expect("the block reaches the hook");

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
        read("pending block", reader.view().pending_block().unwrap().height().get() == 1);
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
        "pending block",
        "impersonation",
        "filled transaction",
        "receipt",
    ] {
        assert_eq!(results.recv_timeout(timeout).expect(want), (want, true));
    }
    assert!(!mining.is_finished(), "the writer was at work throughout");
    release.send(()).unwrap();
    mining.join().unwrap().unwrap();
    assert_eq!(node.view().head().height().get(), 1);
}
