//! Chain ids of chains that name none.

use core::{
    ops::ControlFlow,
    sync::atomic::{AtomicU64, Ordering},
};

use super::*;
use crate::{
    primitives::Bytes,
    store::{Batch, Order, StoreError, Table},
};

/// A store that counts how often a chain id is looked for.
#[derive(Debug)]
struct Watched {
    inner: MemoryDisk,
    looks: AtomicU64,
}

impl KeyValue for Watched {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let index = b"unique-chain-id";
        let is_look = key.windows(index.len()).any(|window| window == index);
        self.looks.fetch_add(u64::from(is_look), Ordering::Relaxed);
        self.inner.get(table, key)
    }

    fn scan_from(
        &self,
        table: Table,
        prefix: &[u8],
        from: Option<&[u8]>,
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.inner.scan_from(table, prefix, from, order, visit)
    }

    fn write(&self, batch: Batch) -> Result<(), StoreError> {
        self.inner.write(batch)
    }

    fn is_durable(&self) -> bool {
        true
    }
}

fn platform(store: &Arc<Watched>) -> Platform {
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_750_000_000)));
    let builder = Platform::builder(clock).with_store(store.clone());
    let builder = builder.with_entropy(Arc::new(SeededEntropy::of_thread()));
    builder.open_with(None, MasterKey::new([7; 32].into()), Vec::new()).unwrap()
}

/// Makes a chain that does not start; returns its id and its chain id.
fn make(platform: &Platform, chain_id: Option<u64>) -> (String, u64) {
    let (chains, me) = (platform.blockchains(), platform.service_principal());
    let id = chains.new_id().unwrap();
    let spec = BlockchainSpec::read(json!({ "name": "x", "start": false, "chainId": chain_id })).unwrap();
    let stored = platform.unit(|unit| chains.provision(unit, &me, &id, spec)).unwrap();
    assert!(chains.bring_up(&me, &id).unwrap().is_none(), "it has not started");
    (id, stored.value.chain_id)
}

#[test]
fn the_next_chain_id_is_found_without_looking_for_those_that_are_taken() {
    let store = Arc::new(Watched { inner: MemoryDisk::new(), looks: AtomicU64::new(0) });
    let looks = |platform: &Platform| {
        let before = store.looks.load(Ordering::Relaxed);
        let (_, chain_id) = make(platform, None);
        (chain_id, store.looks.load(Ordering::Relaxed) - before)
    };
    let first = platform(&store);
    let (lowest, least) = looks(&first);
    assert!(least > 0, "a look is counted");
    for expected in lowest + 1..lowest + 20 {
        assert_eq!(make(&first, None).1, expected);
    }
    // Somebody has named the next ones, and one far away: they are passed over, and the rest goes on from there.
    for chain_id in [lowest + 20, lowest + 21, lowest + 1_000] {
        make(&first, Some(chain_id));
    }
    assert_eq!(make(&first, None).1, lowest + 22);
    assert_eq!(looks(&first), (lowest + 23, least));
    drop(first);

    // Nothing of it is in memory.
    let second = platform(&store);
    assert_eq!(looks(&second), (lowest + 24, least));
}

#[test]
fn a_chain_id_is_not_given_again_while_the_process_runs_but_may_be_named() {
    let store = Arc::new(Watched { inner: MemoryDisk::new(), looks: AtomicU64::new(0) });
    let platform = platform(&store);
    let (id, chain_id) = make(&platform, None);
    let deleted = platform.blockchains().carry_out(&platform.service_principal(), &id, ChainCommand::Delete);
    assert!(deleted.unwrap().is_none());
    assert_eq!(make(&platform, None).1, chain_id + 1);
    assert_eq!(make(&platform, Some(chain_id)).1, chain_id);
}
