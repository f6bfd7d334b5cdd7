//! Both state stores against the shared suite, the model, and published genesis roots.

use core::{
    ops::ControlFlow,
    sync::atomic::{AtomicU64, Ordering},
};
use std::{collections::VecDeque, sync::Arc};

use alloy_primitives::{Address, B256, Bytes, U256, b256};
use proptest::prelude::*;

use super::{
    suite::{self, Bench, Operation},
    *,
};
use crate::store::{
    Batch, KeyValue, MemoryStore, Order, PrefixedStore, StoreError, Table,
    testing::{FailingStore, WriteFault},
};

fn open_paged(keys: &Arc<dyn KeyValue>) -> Arc<dyn StateStore> {
    // A cache so small that most reads decode stored pages.
    Arc::new(PagedState::open_with_cache(Arc::clone(keys), 64).unwrap())
}

fn memory_keys() -> Arc<dyn KeyValue> {
    Arc::new(PrefixedStore::new(Arc::new(MemoryStore::new()), *b"chain 01"))
}

fn stores() -> Vec<(Arc<dyn StateStore>, Arc<dyn KeyValue>)> {
    let keys = memory_keys();
    vec![(Arc::new(MemoryState::new()), memory_keys()), (open_paged(&keys), keys)]
}

#[test]
fn both_stores_pass_the_suite() {
    for (store, keys) in stores() {
        suite::run(&*store, &*keys);
    }
}

#[cfg(feature = "rocksdb")]
#[test]
fn the_store_on_rocksdb_passes_the_suite() {
    let folder = tempfile::tempdir().unwrap();
    let keys: Arc<dyn KeyValue> =
        Arc::new(crate::store::RocksStore::open(folder.path(), crate::store::RocksOptions::default()).unwrap());
    let chain: Arc<dyn KeyValue> = Arc::new(PrefixedStore::new(keys, *b"chain 01"));
    suite::run(&*open_paged(&chain), &*chain);
}

/// Published genesis roots.
#[test]
fn genesis_roots_are_the_published_ones() {
    let mainnet = include_str!("../../tests/vectors/mainnet_alloc.txt");
    let sepolia = include_str!("../../tests/vectors/sepolia_alloc.txt");
    for (alloc, count, root) in [
        (mainnet, 8893, b256!("d7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544")),
        (sepolia, 15, b256!("5eb6e371a698b8d68f665192350ffcecbbbf322916f4b51bd79bb6887da3f494")),
    ] {
        let mut changes = StateChanges::default();
        for line in alloc.lines().filter(|line| !line.starts_with('#')) {
            let (address, balance) = line.split_once(' ').unwrap();
            let balance = U256::from_str_radix(balance, 16).unwrap();
            let info = AccountInfo { nonce: 0, balance, code_hash: EMPTY_CODE_HASH };
            let change = AccountChange { info: Some(info), ..AccountChange::default() };
            changes.accounts.insert(address.parse::<Address>().unwrap(), change);
        }
        assert_eq!(changes.accounts.len(), count);
        for (store, _) in stores() {
            let commit = store.commit(CommitId::EMPTY, &changes, &mut Batch::new()).unwrap();
            assert_eq!(commit.root, root);
        }
    }
}

/// A chain of blocks over 2,000 accounts of which `window` versions are retained, as nodes make it.
fn chain(keys: &Arc<dyn KeyValue>, window: usize) -> Vec<CommitId> {
    let store = open_paged(keys);
    let address = |number: u64| Address::left_padding_from(&number.to_be_bytes());
    let mut retained = Vec::new();
    let mut parent = CommitId::EMPTY;
    for block in 0..300_u64 {
        let touched = if block == 0 {
            (0..2000).collect()
        } else {
            (0..20).map(|n| (block * 7919 + n * 91) % 2000).collect::<Vec<_>>()
        };
        let change = |number| suite::set(address(number), block * 10, &[(number % 5, block)]);
        let mut batch = Batch::new();
        let commit = store.commit(parent, &suite::changes(touched.into_iter().map(change)), &mut batch).unwrap();
        retained.push(commit.id);
        parent = commit.id;
        if retained.len() > window {
            store.prune(&[retained.remove(0)], &mut batch).unwrap();
        }
        keys.write(batch).unwrap();
    }
    let view = store.view(parent).unwrap();
    assert_eq!(model::rebuilt_root(&*view), view.commit().root);
    retained
}

fn bytes(keys: &dyn KeyValue, table: Table) -> usize {
    let mut bytes = 0;
    let mut add = |key: &[u8], value: &[u8]| {
        bytes += key.len() + value.len();
        ControlFlow::Continue(())
    };
    keys.scan(table, b"", Order::Ascending, &mut add).unwrap();
    bytes
}

#[test]
fn pruning_a_chain_bounds_it_and_leaves_nothing_behind() {
    let keys = memory_keys();
    chain(&keys, usize::MAX);
    let unpruned = bytes(&*keys, Table::StateNodes);
    let keys = memory_keys();
    let retained = chain(&keys, 8);
    let pruned = bytes(&*keys, Table::StateNodes);
    assert!(pruned * 2 < unpruned, "{pruned} bytes of nodes, {unpruned} without pruning");

    let store = open_paged(&keys);
    let mut batch = Batch::new();
    store.prune(&retained, &mut batch).unwrap();
    keys.write(batch).unwrap();
    assert_eq!(bytes(&*keys, Table::StateNodes), 0);
    assert_eq!(bytes(&*keys, Table::StateCommits), 0);
    // Its ids stay used, in another process too.
    let next = open_paged(&keys).commit(CommitId::EMPTY, &StateChanges::default(), &mut Batch::new()).unwrap();
    assert!(next.id > retained[7]);
}

/// Reads and writes of a store, in operations and bytes.
#[derive(Debug, Default)]
struct CountedStore {
    inner: MemoryStore,
    operations: AtomicU64,
    bytes: AtomicU64,
}

impl CountedStore {
    fn count(&self, operations: usize, bytes: usize) {
        self.operations.fetch_add(operations as u64, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn take(&self) -> (u64, u64) {
        (self.operations.swap(0, Ordering::Relaxed), self.bytes.swap(0, Ordering::Relaxed))
    }
}

impl KeyValue for CountedStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let found = self.inner.get(table, key)?;
        self.count(1, found.as_ref().map_or(0, |value| value.len()));
        Ok(found)
    }

    fn scan_from(
        &self,
        table: Table,
        prefix: &[u8],
        from: Option<&[u8]>,
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.inner.scan_from(table, prefix, from, order, &mut |key, value| {
            self.count(1, key.len() + value.len());
            visit(key, value)
        })
    }

    fn write(&self, batch: Batch) -> Result<(), StoreError> {
        self.count(batch.writes().len(), batch.writes().iter().flat_map(|write| &write.value).map(Vec::len).sum());
        self.inner.write(batch)
    }

    fn is_durable(&self) -> bool {
        true
    }
}

/// Genesis is never pruned, so every pruned version lies above a kept one.
#[test]
fn pruning_above_a_kept_version_costs_the_same_at_any_height() {
    let counted = Arc::new(CountedStore::default());
    let keys: Arc<dyn KeyValue> = counted.clone();
    let store = PagedState::open(Arc::clone(&keys)).unwrap();
    let address = |number: u64| Address::left_padding_from(&number.to_be_bytes());
    let commit = |parent, touched: &[u64], balance: u64| {
        let mut batch = Batch::new();
        let changes = touched.iter().map(|number| suite::set(address(*number), balance, &[]));
        (store.commit(parent, &suite::changes(changes), &mut batch).unwrap().id, batch)
    };
    let (genesis, batch) = commit(CommitId::EMPTY, &(0..500).collect::<Vec<_>>(), 1);
    keys.write(batch).unwrap();
    let mut retained = VecDeque::new();
    let mut costs = Vec::new();
    for block in 1..=10_000_u64 {
        // An old account and a new one: some nodes of nearly every version live on.
        let (id, mut batch) =
            commit(retained.back().copied().unwrap_or(genesis), &[block * 7919 % 500, 1_000 + block], block + 1);
        retained.push_back(id);
        keys.write(core::mem::take(&mut batch)).unwrap();
        counted.take();
        if retained.len() > 8 {
            store.prune(&[retained.pop_front().unwrap()], &mut batch).unwrap();
        }
        keys.write(batch).unwrap();
        costs.push(counted.take());
    }
    let mean = |range: core::ops::Range<usize>| {
        let sum = costs[range].iter().fold((0, 0), |sum, cost| (sum.0 + cost.0, sum.1 + cost.1));
        (sum.0 / 100, sum.1 / 100)
    };
    let (early, late) = (mean(900..1_000), mean(9_900..10_000));
    assert!(late.0 <= early.0 + early.0 / 5, "operations at 1,000 and 10,000 blocks: {} and {}", early.0, late.0);
    // Branches have more children in a larger state, hence more nodes are superseded.
    assert!(late.1 <= early.1 * 3 / 2, "bytes at 1,000 and 10,000 blocks: {} and {}", early.1, late.1);

    // All versions go: what was inherited is found and deleted.
    let mut batch = Batch::new();
    store.prune(&retained.iter().copied().collect::<Vec<_>>(), &mut batch).unwrap();
    keys.write(batch).unwrap();
    let view = store.view(genesis).unwrap();
    assert_eq!(model::rebuilt_root(&*view), view.commit().root);
    let left = bytes(&*keys, Table::StateNodes);
    drop(view);
    let mut batch = Batch::new();
    store.prune(&[genesis], &mut batch).unwrap();
    keys.write(batch).unwrap();
    assert!(left > 0 && bytes(&*keys, Table::StateNodes) == 0, "{left} bytes of genesis");
    assert_eq!(bytes(&*keys, Table::StateCommits), 0);
}

/// A damaged page is an error, never a panic and never an endless descent.
#[test]
fn damaged_pages_are_errors() {
    let keys = memory_keys();
    let address = |number: u8| Address::repeat_byte(number);
    let slots: Vec<(u64, u64)> = (0..60).map(|slot| (slot, slot + 1)).collect();
    let accounts = (0..100).map(|number| suite::set(address(number), 1, if number < 5 { &slots } else { &[] }));
    let mut batch = Batch::new();
    let commit = open_paged(&keys).commit(CommitId::EMPTY, &suite::changes(accounts), &mut batch).unwrap();
    keys.write(batch).unwrap();
    let mut pages = Vec::new();
    let mut list = |key: &[u8], page: &[u8]| {
        pages.push((key.to_vec(), page.to_vec()));
        ControlFlow::Continue(())
    };
    keys.scan(Table::StateNodes, b"", Order::Ascending, &mut list).unwrap();

    let (mut errors, mut seed) = (0, 1_u64);
    let mut random = |bound: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % bound
    };
    for _ in 0..150 {
        let (key, page) = &pages[random(pages.len())];
        let mut damaged = page.clone();
        match random(4) {
            0 => damaged.truncate(random(page.len())),
            _ => {
                let at = random(page.len());
                damaged[at] ^= 1 << random(8);
            }
        }
        let put = |page: &[u8]| {
            let mut batch = Batch::new();
            batch.put(Table::StateNodes, key.as_slice(), page);
            keys.write(batch).unwrap();
        };
        put(&damaged);
        let store = open_paged(&keys);
        let view = store.view(commit.id).unwrap();
        for number in 0..100 {
            errors += usize::from(view.account(&address(number)).is_err());
            errors += usize::from(view.storage(&address(number), &U256::from(number)).is_err());
        }
        let _ = view.proof(&address(1), &[B256::ZERO]);
        let changes = (0..110).step_by(7).map(|number| suite::set(address(number), 2, &[(number.into(), 7)]));
        errors += usize::from(store.commit(commit.id, &suite::changes(changes), &mut Batch::new()).is_err());
        put(page);
    }
    assert!(errors > 100, "{errors} errors");
    assert_eq!(model::rebuilt_root(&*open_paged(&keys).view(commit.id).unwrap()), commit.root);
}

/// A failed write loses its version and nothing else.
#[test]
fn a_failed_write_loses_its_version_only() {
    let inner: Arc<dyn KeyValue> = Arc::new(MemoryStore::new());
    for period in 1..6 {
        let failing = FailingStore::new(Arc::clone(&inner)).with_fault(WriteFault::every(period));
        let keys: Arc<dyn KeyValue> = Arc::new(failing);
        let store = open_paged(&keys);
        let mut good = vec![(CommitId::EMPTY, EMPTY_ROOT)];
        for block in 0..24_u64 {
            let (parent, _) = good[good.len() - 1];
            let address = Address::left_padding_from(&(block % 5).to_be_bytes());
            let mut batch = Batch::new();
            let change = suite::changes([suite::set(address, block + 1, &[(block, block + 1)])]);
            let commit = store.commit(parent, &change, &mut batch).unwrap();
            let oldest = if good.len() > 4 { Some(good[1].0) } else { None };
            store.prune(oldest.as_slice(), &mut batch).unwrap();
            match keys.write(batch) {
                Ok(()) => {
                    good.push((commit.id, commit.root));
                    oldest.is_some().then(|| good.remove(1));
                }
                Err(_) => store.discard(commit.id),
            }
        }
        // What the last acknowledged writes left is whole, in this process and in the next one.
        drop(store);
        let reopened = open_paged(&inner);
        for (id, root) in good {
            let view = reopened.view(id).unwrap();
            assert_eq!(view.commit().root, root);
            assert_eq!(model::rebuilt_root(&*view), root);
        }
    }
}

/// A changed byte anywhere in a proof is detected.
#[test]
fn a_proof_with_a_changed_byte_is_refused() {
    let store = MemoryState::new();
    let address = |number: u8| Address::repeat_byte(number);
    let slots: Vec<(u64, u64)> = (0..40).map(|slot| (slot, slot * slot + 1)).collect();
    let accounts =
        (0..120).map(|number| suite::set(address(number), number.into(), if number < 3 { &slots } else { &[] }));
    let commit = store.commit(CommitId::EMPTY, &suite::changes(accounts), &mut Batch::new()).unwrap();
    let view = store.view(commit.id).unwrap();
    for (address, slot) in [(address(2), 7_u64), (address(2), 99), (address(50), 0), (address(200), 0)] {
        let proof = view.proof(&address, &[B256::from(U256::from(slot))]).unwrap();
        verify_proof(commit.root, &proof).unwrap();
        assert!(verify_proof(B256::repeat_byte(1), &proof).is_err(), "another root");

        let nodes = proof.nodes.iter().enumerate().map(|(index, node)| (false, index, node.len()));
        let slot_nodes = proof.storage[0].nodes.iter().enumerate().map(|(index, node)| (true, index, node.len()));
        for (in_storage, index, len) in nodes.chain(slot_nodes) {
            for at in 0..len {
                let mut forged = proof.clone();
                let node = if in_storage { &mut forged.storage[0].nodes[index] } else { &mut forged.nodes[index] };
                let mut bytes = node.to_vec();
                bytes[at] ^= 1 << (at % 8);
                *node = bytes.into();
                assert!(verify_proof(commit.root, &forged).is_err(), "node {index}, byte {at}");
            }
        }
        let forgeries: [fn(&mut AccountProof); 9] = [
            |proof| proof.account.nonce += 1,
            |proof| proof.account.balance += U256::from(1),
            |proof| proof.account.storage_root.0[31] ^= 1,
            |proof| proof.account.code_hash.0[0] ^= 1,
            |proof| proof.storage[0].value += U256::from(1),
            |proof| drop(proof.nodes.pop()),
            |proof| proof.nodes.push(proof.nodes[0].clone()),
            |proof| proof.storage[0].nodes.push(proof.nodes[0].clone()),
            |proof| proof.nodes.reverse(),
        ];
        for (number, forge) in forgeries.iter().enumerate() {
            let mut forged = proof.clone();
            forge(&mut forged);
            assert!(forged == proof || verify_proof(commit.root, &forged).is_err(), "forgery {number}");
        }
    }
    // A proof of one account is none of another, present or absent.
    let mut moved = view.proof(&address(2), &[]).unwrap();
    moved.address = address(3);
    assert!(verify_proof(commit.root, &moved).is_err());
    // A present account cannot be claimed absent.
    let mut denied = view.proof(&address(2), &[]).unwrap();
    denied.account = Account::default();
    assert_eq!(verify_proof(commit.root, &denied), Err(ProofError::WrongAccount));
}

fn change() -> impl Strategy<Value = (Address, AccountChange)> {
    let storage =
        proptest::collection::btree_map((0..12_u64).prop_map(U256::from), (0..3_u64).prop_map(U256::from), 0..6);
    let info = proptest::option::weighted(
        0.8,
        (0..4_u64, 0..3_u64, 0..2_u8).prop_map(|(nonce, balance, code)| AccountInfo {
            nonce,
            balance: U256::from(balance),
            code_hash: if code == 0 { EMPTY_CODE_HASH } else { B256::repeat_byte(code) },
        }),
    );
    (0..24_u8, info, proptest::bool::weighted(0.1), storage).prop_map(|(number, info, clear_storage, storage)| {
        (Address::repeat_byte(number), AccountChange { info, clear_storage, storage: storage.into_iter().collect() })
    })
}

fn operation() -> impl Strategy<Value = Operation> {
    let changes = || proptest::collection::vec(change(), 0..12).prop_map(suite::changes);
    let indices = || proptest::collection::vec(any::<usize>(), 0..4);
    prop_oneof![
        8 => (any::<usize>(), changes()).prop_map(|(parent, changes)| Operation::Commit { parent, changes }),
        1 => (any::<usize>(), changes()).prop_map(|(parent, changes)| Operation::Discard { parent, changes }),
        3 => (any::<usize>(), changes(), indices())
            .prop_map(|(parent, changes, prune)| Operation::CommitAndPrune { parent, changes, prune }),
        3 => indices().prop_map(Operation::Prune),
        1 => any::<usize>().prop_map(Operation::Hold),
        1 => Just(Operation::Release),
        1 => Just(Operation::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_retained_version_is_as_the_model_says(operations in proptest::collection::vec(operation(), 1..24)) {
        let mut memory = Bench::volatile(Arc::new(MemoryState::new()));
        let mut paged = Bench::durable(memory_keys(), &open_paged);
        for operation in &operations {
            memory.run(operation);
            paged.run(operation);
        }
        memory.check();
        paged.check();
        paged.prune_all();
        let mut left = 0;
        paged.keys().scan(Table::StateNodes, b"", Order::Ascending, &mut |_, _| {
            left += 1;
            ControlFlow::Continue(())
        }).unwrap();
        prop_assert_eq!(left, 0, "pages are left after all versions are gone");
    }
}
