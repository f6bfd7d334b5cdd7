//! The whole node as bytes: blocks, state, time and pool. Written the same every time, read back without executing.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Node, NodeError, clock::BlockTime};
use crate::{
    chain::ChainDump,
    consensus::ReplicaId,
    primitives::{Address, Bytes, Transaction},
};

/// A node's dump. Two dumps of one state are equal, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump(Vec<u8>);

/// The JSON document inside.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    chain: ChainDump,
    head_record: Option<Bytes>,
    time: BlockTime,
    pool: Vec<PooledTransaction>,
}

/// A pooled transaction, in the order of arrival.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PooledTransaction {
    sender: Address,
    raw: Bytes,
}

impl Dump {
    /// A dump from bytes that [`Dump::as_bytes`] gave; they are checked when loaded.
    pub const fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The JSON text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn document(&self) -> Result<Document, NodeError> {
        serde_json::from_slice(&self.0).map_err(|error| NodeError::Dump { reason: error.to_string() })
    }
}

impl Node {
    /// Writes the node down: retained blocks, the state after the head, time, and what waits in the pool.
    ///
    /// Snapshots, impersonations and the mining mode are not part of it.
    ///
    /// # Errors
    /// [`NodeError::Chain`] when the store fails.
    pub fn dump(&self) -> Result<Dump, NodeError> {
        let writer = self.write();
        let mut pooled = writer.pool().content(&writer.chain().pool_context()?);
        pooled.sort_by_key(|pooled| pooled.arrival);
        let document = Document {
            chain: writer.chain().dump()?,
            head_record: writer.network.head_record().map(Bytes::copy_from_slice),
            time: writer.time,
            pool: pooled
                .iter()
                .map(|pooled| PooledTransaction {
                    sender: pooled.transaction.sender(),
                    raw: pooled.transaction.encoded(),
                })
                .collect(),
        };
        serde_json::to_vec(&document).map(Dump).map_err(|error| NodeError::Dump { reason: error.to_string() })
    }

    /// Takes a dump in place of everything: chain, state, time and pool. Snapshots are forgotten.
    ///
    /// # Errors
    /// [`NodeError::Dump`] for bytes that are no dump, [`NodeError::Network`] for a dump of another genesis, of other
    /// validators, or one that contradicts itself; nothing is changed then.
    pub fn load(&self, dump: &Dump) -> Result<(), NodeError> {
        let document = dump.document()?;
        let mut pooled = Vec::with_capacity(document.pool.len());
        for transaction in &document.pool {
            let decoded = Transaction::decode_with_sender(&transaction.raw, transaction.sender)
                .map_err(|error| NodeError::Dump { reason: error.to_string() })?;
            pooled.push(Arc::new(decoded));
        }
        let mut writer = self.write();
        writer.network.load(&document.chain, document.head_record.as_ref().map(AsRef::as_ref))?;
        writer.time = document.time;
        writer.snapshots.clear();
        writer.network.for_each_pool(crate::chain::Pool::clear);
        for transaction in pooled {
            // The dumped pool's order was taken once; what the pool would refuse now is left out.
            let _ = writer.network.submit(transaction, ReplicaId::new(0));
        }
        writer.tell_head(&self.shared, &[], &[])?;
        Ok(())
    }
}
