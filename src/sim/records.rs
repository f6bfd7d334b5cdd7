//! What the protocol keeps, written into the batch of the block that it belongs to, or before what it promises is said.

use core::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{
    chain::{CommitHook, HeadChange},
    consensus::{Record, Records},
    store::{Batch, KeyValue, Order, StoreError, Table},
};

/// Under this key every protocol keeps the record of its head.
const HEAD: &[u8] = b"head";

/// Carries the newest head record of a replica into the batch that makes the head durable, so that both survive or
/// neither does; and, of a replica that is alone, its other records: whoever is one of many in a process comes back with all
/// of them, and all have forgotten the same.
///
/// Keys: the chain id, 8 bytes big-endian, then `head`, or `/` and the protocol's own key.
#[derive(Debug)]
pub(super) struct HeadRecord {
    store: Arc<dyn KeyValue>,
    chain_id: [u8; 8],
    keeps_others: bool,
    waiting: Mutex<Waiting>,
}

/// For the next batch of a head.
#[derive(Debug, Default)]
struct Waiting {
    head: Option<Vec<u8>>,
    /// Records that were written together with the head's.
    others: Vec<Record>,
}

impl HeadRecord {
    pub(super) fn of_chain(chain_id: u64, store: Arc<dyn KeyValue>, keeps_others: bool) -> Self {
        Self { store, chain_id: chain_id.to_be_bytes(), keeps_others, waiting: Mutex::default() }
    }

    /// What was stored of the head when the chain was last open.
    pub(super) fn load(&self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.store.get(Table::Consensus, &self.key(HEAD))?.map(|bytes| bytes.to_vec()))
    }

    /// Everything that was stored, the head's record too; `None` when the others are not kept.
    pub(super) fn load_all(&self) -> Result<Option<Records>, StoreError> {
        if !self.keeps_others {
            return Ok(None);
        }
        let prefix = self.other_key(&[]);
        let mut records = Records::new();
        self.store.scan(Table::Consensus, &prefix, Order::Ascending, &mut |key, value| {
            records.insert(key[prefix.len()..].to_vec(), value.to_vec());
            ControlFlow::Continue(())
        })?;
        records.extend(self.load()?.map(|head| (HEAD.to_vec(), head)));
        Ok(Some(records))
    }

    /// The record that belongs to the next head.
    pub(super) fn set(&self, value: Option<Vec<u8>>) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).head = value;
    }

    /// Makes records durable: at once, or with the head that they belong to.
    pub(super) fn write(&self, records: &[Record]) -> Result<(), StoreError> {
        if !self.keeps_others {
            return Ok(());
        }
        if records.iter().any(|record| record.key == HEAD) {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.others = records.iter().filter(|record| record.key != HEAD).cloned().collect();
            return Ok(());
        }
        let mut batch = Batch::new();
        records.iter().for_each(|record| self.put(record, &mut batch));
        self.store.write(batch)
    }

    /// Puts these in the place of all others, after the chain went elsewhere.
    pub(super) fn replace<'a>(
        &self,
        records: impl Iterator<Item = (&'a Vec<u8>, &'a Vec<u8>)>,
    ) -> Result<(), StoreError> {
        let Some(earlier) = self.load_all()? else { return Ok(()) };
        let mut batch = Batch::new();
        earlier.into_keys().filter(|key| key != HEAD).for_each(|key| {
            self.put(&Record { key, value: Vec::new() }, &mut batch);
        });
        for (key, value) in records.filter(|(key, _)| *key != HEAD) {
            self.put(&Record { key: key.clone(), value: value.clone() }, &mut batch);
        }
        self.store.write(batch)
    }

    fn put(&self, record: &Record, batch: &mut Batch) {
        let key = self.other_key(&record.key);
        if record.value.is_empty() {
            batch.delete(Table::Consensus, key);
        } else {
            batch.put(Table::Consensus, key, record.value.clone());
        }
    }

    fn key(&self, key: &[u8]) -> Vec<u8> {
        [self.chain_id.as_slice(), key].concat()
    }

    fn other_key(&self, key: &[u8]) -> Vec<u8> {
        [self.chain_id.as_slice(), b"/", key].concat()
    }
}

impl CommitHook for HeadRecord {
    fn on_head(&self, _change: &HeadChange, batch: &mut Batch) -> Result<(), StoreError> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // They stay until others come: a failed write is tried again.
        waiting.others.iter().for_each(|record| self.put(record, batch));
        match &waiting.head {
            Some(value) => batch.put(Table::Consensus, self.key(HEAD), value.clone()),
            None => batch.delete(Table::Consensus, self.key(HEAD)),
        }
        Ok(())
    }
}
