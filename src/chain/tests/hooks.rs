//! Commit hooks: called once a change of head or finality, with writes in the batch of the change.

use std::sync::{Arc, Mutex};

use super::{fixture::*, reopening::on};
use crate::{
    chain::{Chain, CommitHook, Finality, FinalityChange, HeadChange, HeadError},
    primitives::Height,
    store::{
        Batch, KeyValue, StoreError, Table,
        testing::{FailingStore, MemoryDisk, WriteFault},
    },
};

const SAFE: &[u8] = b"safe";
const FINALIZED: &[u8] = b"finalized";

/// Heights of a finality: safe, finalized, irreversible.
type Heights = (u64, u64, u64);

/// Stores each head under its height and the newest finality under fixed keys; records the finality changes.
#[derive(Debug, Default)]
struct Outbox {
    changes: Mutex<Vec<(Heights, Heights)>>,
}

impl Outbox {
    fn take(&self) -> Vec<(Heights, Heights)> {
        core::mem::take(&mut self.changes.lock().unwrap())
    }
}

impl CommitHook for Outbox {
    fn on_head(&self, change: &HeadChange, batch: &mut Batch) -> Result<(), StoreError> {
        batch.put(Table::Platform, change.new.height().get().to_be_bytes(), change.new.hash().to_vec());
        Ok(())
    }

    fn on_finality(&self, change: &FinalityChange, batch: &mut Batch) -> Result<(), StoreError> {
        batch.put(Table::Platform, SAFE, change.new.safe.hash().to_vec());
        batch.put(Table::Platform, FINALIZED, change.new.finalized.hash().to_vec());
        self.changes.lock().unwrap().push((heights(&change.old), heights(&change.new)));
        Ok(())
    }
}

fn heights(finality: &Finality) -> Heights {
    (finality.safe.height().get(), finality.finalized.height().get(), finality.irreversible.get())
}

fn opened(store: Arc<dyn KeyValue>) -> (Chain, Arc<Outbox>) {
    let outbox = Arc::new(Outbox::default());
    (on(store).with_hook(outbox.clone()).open().unwrap(), outbox)
}

fn stored(disk: &MemoryDisk, key: &[u8]) -> Option<Vec<u8>> {
    disk.get(Table::Platform, key).unwrap().map(|value| value.to_vec())
}

#[test]
fn a_head_hook_writes_with_the_block_or_not_at_all() {
    let disk = Arc::new(MemoryDisk::new());
    let (mut chain, _) = opened(Arc::new(FailingStore::new(disk.clone()).with_fault(WriteFault::every(2))));
    let mut detached = chain.detached();
    let block = build_on(&chain, chain.head().hash(), 1, vec![]).block;
    chain.insert(Arc::new(block.clone())).unwrap();
    assert!(chain.set_head(block.hash()).is_err());
    let key = 1_u64.to_be_bytes();
    assert_eq!(stored(&disk, &key), None);
    adopt(&mut detached, block.clone());
    assert_eq!(stored(&disk, &key), None, "only the writer calls hooks");
    chain.set_head(block.hash()).unwrap();
    assert_eq!(stored(&disk, &key).unwrap(), block.hash().to_vec());
}

#[test]
fn a_finality_hook_is_called_once_a_change_with_both_finalities() {
    let (mut chain, outbox) = opened(Arc::new(MemoryDisk::new()));
    let hashes: Vec<_> = (0..4).map(|_| extend(&mut chain, vec![]).new.hash()).collect();
    assert_eq!(outbox.take(), [], "a new head alone moves no finality");
    chain.set_finality(hashes[1], hashes[0]).unwrap();
    assert_eq!(outbox.take(), [((0, 0, 0), (2, 1, 1))]);
    chain.set_finality(hashes[1], hashes[0]).unwrap();
    assert_eq!(outbox.take(), [], "nothing moved");
    chain.set_finality(hashes[3], hashes[0]).unwrap();
    assert_eq!(outbox.take(), [((2, 1, 1), (4, 1, 1))], "only the safe block moved");
    assert!(matches!(chain.set_finality(hashes[3], chain.genesis().hash()), Err(HeadError::BelowFinality { .. })));
    assert_eq!(outbox.take(), [], "a rejected change");
    let mut detached = chain.detached();
    detached.set_finality(hashes[3], hashes[3]).unwrap();
    assert_eq!(outbox.take(), [], "only the writer calls hooks");
}

#[test]
fn a_finality_hook_writes_in_the_batch_of_the_change_or_not_at_all() {
    let disk = Arc::new(MemoryDisk::new());
    drop(on(disk.clone()).open().unwrap());
    let failing = Arc::new(FailingStore::new(disk.clone()).with_fault(WriteFault::every(2)));
    let (mut chain, outbox) = opened(failing.clone());
    let head = extend(&mut chain, vec![]).new.hash();
    assert_eq!(failing.writes(), 1);
    let failed = chain.set_finality(head, head);
    assert!(matches!(failed, Err(HeadError::Write(_))), "{failed:?}");
    assert_eq!((stored(&disk, SAFE), stored(&disk, FINALIZED)), (None, None));
    assert_eq!(chain.finalized().height(), Height::GENESIS);
    assert_eq!(on(disk.crashed()).open().unwrap().finalized().height(), Height::GENESIS);
    chain.set_finality(head, head).unwrap();
    assert_eq!(failing.writes(), 3, "one write a change");
    assert_eq!((stored(&disk, SAFE), stored(&disk, FINALIZED)), (Some(head.to_vec()), Some(head.to_vec())));
    assert_eq!(on(disk.crashed()).open().unwrap().finalized().hash(), head);
    assert_eq!(outbox.take(), [((0, 0, 0), (1, 1, 1)); 2], "the same change, tried twice");
}

#[test]
fn a_finality_hook_continues_from_the_stored_finality_after_a_restart() {
    let disk = Arc::new(MemoryDisk::new());
    let (mut chain, _) = opened(disk.clone());
    let hashes: Vec<_> = (0..3).map(|_| extend(&mut chain, vec![]).new.hash()).collect();
    chain.set_finality(hashes[1], hashes[0]).unwrap();
    let (mut reopened, outbox) = opened(disk.crashed());
    assert_eq!(outbox.take(), [], "opening moves no finality");
    reopened.set_finality(hashes[1], hashes[0]).unwrap();
    assert_eq!(outbox.take(), [], "finality is the stored one");
    reopened.set_finality(hashes[2], hashes[2]).unwrap();
    assert_eq!(outbox.take(), [((2, 1, 1), (3, 3, 3))]);
}

#[test]
fn a_head_change_that_moves_finality_calls_both_hooks_in_one_batch() {
    let disk = Arc::new(MemoryDisk::new());
    let failing = Arc::new(FailingStore::new(disk.clone()));
    let (mut chain, outbox) = opened(failing.clone());
    let snapshot = chain.clone();
    let hashes: Vec<_> = (0..4).map(|_| extend(&mut chain, vec![]).new.hash()).collect();
    chain.set_advisory_finality(hashes[3], hashes[2], Height::new(1)).unwrap();
    assert_eq!(outbox.take(), [((0, 0, 0), (4, 3, 1))]);
    let side = build_on(&chain, hashes[0], 50, vec![]).block;
    let writes = failing.writes();
    adopt(&mut chain, side.clone());
    assert_eq!(failing.writes(), writes + 1);
    assert_eq!(outbox.take(), [((4, 3, 1), (1, 1, 1))], "advisory finality moves back to the fork");
    assert_eq!(stored(&disk, &2_u64.to_be_bytes()).unwrap(), side.hash().to_vec());
    assert_eq!(stored(&disk, FINALIZED).unwrap(), hashes[0].to_vec());
    chain.restore(&snapshot).unwrap();
    assert_eq!(failing.writes(), writes + 2);
    assert_eq!(outbox.take(), [((1, 1, 1), (0, 0, 0))], "a restored snapshot");
    assert_eq!(stored(&disk, FINALIZED).unwrap(), chain.genesis().hash().to_vec());
}

/// Without a durable store the hook's writes are the only ones.
#[test]
fn a_finality_hook_is_called_in_memory_too() {
    let store = Arc::new(crate::store::MemoryStore::new());
    let state = Arc::new(crate::state::MemoryState::new());
    let outbox = Arc::new(Outbox::default());
    let mut chain = Chain::builder(spec(), state, store.clone()).with_hook(outbox.clone()).open().unwrap();
    let head = extend(&mut chain, vec![]).new.hash();
    chain.set_finality(head, head).unwrap();
    assert_eq!(outbox.take(), [((0, 0, 0), (1, 1, 1))]);
    assert_eq!(store.get(Table::Platform, FINALIZED).unwrap().unwrap(), head.to_vec());
}
