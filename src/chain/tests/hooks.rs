//! Commit hooks: writes in the batch of a head change.

use std::sync::Arc;

use super::{
    fixture::*,
    reopening::{Disk, on},
};
use crate::{
    chain::{CommitHook, HeadChange},
    store::{Batch, FailingStore, KeyValue, StoreError, Table},
};

/// Stores each head under its height.
#[derive(Debug)]
struct Outbox;

impl CommitHook for Outbox {
    fn on_head(&self, change: &HeadChange, batch: &mut Batch) -> Result<(), StoreError> {
        batch.put(Table::Platform, change.new.height().get().to_be_bytes(), change.new.hash().to_vec());
        Ok(())
    }
}

fn stored(disk: &Disk, key: &[u8]) -> Option<Vec<u8>> {
    disk.get(Table::Platform, key).unwrap().map(|value| value.to_vec())
}

#[test]
fn a_head_hook_writes_with_the_block_or_not_at_all() {
    let disk = Arc::new(Disk::default());
    let failing = Arc::new(FailingStore::new(disk.clone(), 2));
    let mut chain = on(failing).with_hook(Arc::new(Outbox)).open().unwrap();
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
