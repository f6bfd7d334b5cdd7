//! What the protocol keeps, written into the batch of the block that it belongs to.

use std::sync::{Mutex, PoisonError};

use crate::{
    chain::{CommitHook, HeadChange},
    store::{Batch, KeyValue, StoreError, Table},
};

/// Carries the newest head record of a replica into the batch that makes the head durable, so that both survive or
/// neither does.
///
/// Key: the chain id, 8 bytes big-endian, then `head`.
#[derive(Debug)]
pub(super) struct HeadRecord {
    key: Vec<u8>,
    value: Mutex<Option<Vec<u8>>>,
}

impl HeadRecord {
    pub(super) fn of_chain(chain_id: u64) -> Self {
        Self { key: [chain_id.to_be_bytes().as_slice(), b"head"].concat(), value: Mutex::new(None) }
    }

    /// What was stored when the chain was last open.
    pub(super) fn load(&self, store: &dyn KeyValue) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(store.get(Table::Consensus, &self.key)?.map(|bytes| bytes.to_vec()))
    }

    /// The record that belongs to the next head.
    pub(super) fn set(&self, value: Option<Vec<u8>>) {
        *self.value.lock().unwrap_or_else(PoisonError::into_inner) = value;
    }
}

impl CommitHook for HeadRecord {
    fn on_head(&self, _change: &HeadChange, batch: &mut Batch) -> Result<(), StoreError> {
        match &*self.value.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(value) => batch.put(Table::Consensus, self.key.clone(), value.clone()),
            None => batch.delete(Table::Consensus, self.key.clone()),
        }
        Ok(())
    }
}
