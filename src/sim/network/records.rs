//! Durable records of all replicas' protocols.
//!
//! All replicas of a network are one process over one store and restart together. Records are therefore buffered here and
//! written with the next head of the primary, in its one batch; the rest is written when the network comes to rest, before the
//! driver's call returns. A process killed in between restarts as if all replicas had stopped at the last batch: later safety
//! records were only ever sent to replicas that lost them too.

use core::ops::ControlFlow;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::error::{NetworkError, StoredRecordsError};
use crate::{
    chain::{CommitHook, HeadChange},
    consensus::{ConsensusKind, Record, RecordValue, Records, ReplicaId, check_record, checked_record},
    primitives::{Bytes, Height},
    store::{Batch, KeyValue, Order, StoreError, Table},
};

/// Bytes buffered before a write without a head.
const WAITING_BYTES_MAX: usize = 32 << 20;

/// The records of all replicas of a network, on a durable store.
///
/// Keys: the chain id (8 bytes), the protocol's number (1 byte), the replica's (4 bytes), the protocol's own key; numbers are
/// big-endian. Values: a checksum (8 bytes), then the protocol's own value. Protocols never read each other's records, even
/// where their own keys are equal.
#[derive(Debug)]
pub(crate) struct RecordStore {
    store: Arc<dyn KeyValue>,
    chain_id: [u8; 8],
    kind: ConsensusKind,
    /// The replica whose chain is stored.
    primary: ReplicaId,
    waiting: Mutex<Waiting>,
}

/// Contents of the next batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    /// Values by replica and key; `None` deletes the record.
    records: BTreeMap<(ReplicaId, Bytes), Option<RecordValue>>,
    bytes: usize,
    /// Records to delete once the stored chain is final at these heights.
    useless: BTreeMap<Height, Vec<(ReplicaId, Bytes)>>,
    /// Final height of the stored chain.
    finalized: Height,
}

impl RecordStore {
    pub(crate) fn of_chain(chain_id: u64, kind: ConsensusKind, store: Arc<dyn KeyValue>, primary: ReplicaId) -> Self {
        Self { store, chain_id: chain_id.to_be_bytes(), kind, primary, waiting: Mutex::default() }
    }

    /// Returns the replica whose chain is stored.
    pub(super) const fn primary(&self) -> ReplicaId {
        self.primary
    }

    /// Loads every replica's records.
    ///
    /// # Errors
    /// [`NetworkError::StoredRecords`] for one that is damaged or of an unknown format: without it a replica could contradict
    /// its safety records; [`NetworkError::OtherProtocol`].
    pub(crate) fn load(&self) -> Result<BTreeMap<ReplicaId, Records>, NetworkError> {
        let mut replicas = BTreeMap::<ReplicaId, Records>::new();
        let mut refused = None;
        self.store.scan(Table::Consensus, &self.chain_id, Order::Ascending, &mut |key, value| {
            let key = &key[self.chain_id.len()..];
            match self.read(key, value) {
                Ok((replica, key, content)) => {
                    replicas
                        .entry(replica)
                        .or_default()
                        .insert(Bytes::copy_from_slice(key), Bytes::copy_from_slice(content));
                    ControlFlow::Continue(())
                }
                Err(error) => {
                    refused = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        refused.map_or(Ok(replicas), Err)
    }

    /// Buffers a replica's records, to be written with the next head or when the network comes to rest.
    pub(crate) fn put(&self, replica: ReplicaId, records: &[Record]) {
        let mut waiting = self.waiting();
        for record in records {
            if record.value.is_none()
                && let Some(height) = self.kind.attested_height(&record.key)
                && height > waiting.finalized
            {
                // If all stopped now, the block would be lost.
                waiting.useless.entry(height).or_default().push((replica, record.key.clone()));
            } else {
                waiting.put(replica, &record.key, record.value.clone());
            }
        }
    }

    /// Replaces all records of a replica.
    pub(crate) fn replace<'a>(
        &self,
        replica: ReplicaId,
        records: impl Iterator<Item = (&'a Bytes, &'a Bytes)>,
    ) -> Result<(), StoreError> {
        let stored = self.stored_keys(replica)?;
        let mut waiting = self.waiting();
        waiting.records.retain(|(other, _), _| *other != replica);
        waiting.useless.values_mut().for_each(|keys| keys.retain(|(other, _)| *other != replica));
        stored.iter().for_each(|key| waiting.put(replica, key, None));
        records.for_each(|(key, value)| waiting.put(replica, key, Some(RecordValue::read(value))));
        Ok(())
    }

    /// Sets the records of a restarted replica: those that its disk lost are deleted, except those that attest heights above
    /// the stored chain.
    pub(super) fn follow_restart(&self, replica: ReplicaId, records: &Records) -> Result<(), StoreError> {
        let mut known = self.stored_keys(replica)?;
        let of_replica = (replica, Bytes::new())..(ReplicaId::new(replica.get() + 1), Bytes::new());
        known.extend(self.waiting().records.range(of_replica).map(|((_, key), _)| key.clone()));
        let lost = known.into_iter().filter(|key| !records.contains_key(key));
        let lost = lost.map(Record::forgotten);
        let kept = records.iter().map(|(key, value)| Record::stored(key.clone(), value));
        self.put(replica, &lost.chain(kept).collect::<Vec<_>>());
        Ok(())
    }

    /// Notes that the buffer was written, with a chain that is final up to `finalized`.
    pub(crate) fn written(&self, finalized: Height) {
        let mut waiting = self.waiting();
        (waiting.records, waiting.bytes, waiting.finalized) = (BTreeMap::new(), 0, finalized);
        let above = waiting.useless.split_off(&finalized.next());
        for (replica, key) in core::mem::replace(&mut waiting.useless, above).into_values().flatten() {
            waiting.put(replica, &key, None);
        }
    }

    /// Writes the buffer without a head.
    pub(crate) fn flush(&self) -> Result<(), StoreError> {
        let (mut batch, finalized) = (Batch::new(), self.waiting().finalized);
        // Deletions alone can wait for the next head.
        if !self.is_full() && self.waiting().records.values().all(Option::is_none) {
            return Ok(());
        }
        self.write_to(&mut batch);
        self.store.write(batch)?;
        self.written(finalized);
        Ok(())
    }

    /// Returns whether the buffer is too large to wait for a head.
    pub(super) fn is_full(&self) -> bool {
        self.waiting().bytes > WAITING_BYTES_MAX
    }

    /// Returns the buffer, to restore it when a change fails.
    pub(super) fn waiting_now(&self) -> Waiting {
        self.waiting().clone()
    }

    /// Restores the buffer after a failed change.
    pub(super) fn roll_back(&self, waiting: Waiting) {
        *self.waiting() = waiting;
    }

    fn write_to(&self, batch: &mut Batch) {
        for ((replica, key), value) in &self.waiting().records {
            let key = self.key(*replica, key);
            match value {
                Some(value) => batch.put(Table::Consensus, key, checked_record(&value.bytes())),
                None => batch.delete(Table::Consensus, key),
            }
        }
    }

    /// Returns the replica, the protocol's key and the value; `key` is the stored key after the chain id.
    fn read<'a>(&self, key: &'a [u8], value: &'a [u8]) -> Result<(ReplicaId, &'a [u8], &'a [u8]), NetworkError> {
        let parsed = key.split_first().and_then(|(protocol, rest)| {
            let (replica, own_key) = rest.split_first_chunk()?;
            Some((ConsensusKind::from_number(*protocol)?, ReplicaId::new(u32::from_be_bytes(*replica)), own_key))
        });
        let Some((protocol, replica, own_key)) = parsed else {
            return Err(StoredRecordsError::UnknownFormat { key: key.escape_ascii().to_string() }.into());
        };
        if protocol != self.kind {
            return Err(NetworkError::OtherProtocol { stored: protocol.name(), asked: self.kind.name() });
        }
        match check_record(value) {
            Some(content) => Ok((replica, own_key, content)),
            None => Err(StoredRecordsError::Damaged { replica, key: own_key.escape_ascii().to_string() }.into()),
        }
    }

    fn stored_keys(&self, replica: ReplicaId) -> Result<Vec<Bytes>, StoreError> {
        let (mut stored, prefix) = (Vec::new(), self.key(replica, &[]));
        self.store.scan(Table::Consensus, &prefix, Order::Ascending, &mut |key, _| {
            stored.push(Bytes::copy_from_slice(&key[prefix.len()..]));
            ControlFlow::Continue(())
        })?;
        Ok(stored)
    }

    fn key(&self, replica: ReplicaId, key: &[u8]) -> Vec<u8> {
        [self.chain_id.as_slice(), &[self.kind.number()], &replica.get().to_be_bytes(), key].concat()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn put(&mut self, replica: ReplicaId, key: &Bytes, value: Option<RecordValue>) {
        self.bytes += key.len() + value.as_ref().map_or(0, RecordValue::len);
        let earlier = self.records.insert((replica, key.clone()), value);
        if let Some(earlier) = earlier {
            self.bytes = self.bytes.saturating_sub(key.len() + earlier.map_or(0, |value| value.len()));
        }
    }
}

impl CommitHook for RecordStore {
    fn on_head(&self, _change: &HeadChange, batch: &mut Batch) -> Result<(), StoreError> {
        // They stay buffered until they are known to be written: a failed write is tried again.
        self.write_to(batch);
        Ok(())
    }
}
