//! Dumps: blocks, state, time and pool as bytes. The encoding is deterministic, and loading executes nothing.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{EngineError, LoadError, Node, clock::BlockTime};
use crate::{
    chain::ChainDump,
    primitives::{Address, Bytes, Transaction},
};

/// A dump of a node. Two dumps of the same state are equal, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump(Vec<u8>);

/// The dump's JSON document.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    chain: ChainDump,
    head_record: Option<Bytes>,
    time: BlockTime,
    pool: Vec<PooledTransaction>,
}

/// A pooled transaction; the list is in the order of arrival.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PooledTransaction {
    sender: Address,
    raw: Bytes,
}

impl Dump {
    /// A dump from the bytes of [`Dump::as_bytes`]; [`Node::load`] checks them.
    pub const fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The JSON text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn document(&self) -> Result<Document, LoadError> {
        serde_json::from_slice(&self.0).map_err(|error| LoadError::Malformed { reason: error.to_string() })
    }
}

impl Node {
    /// Dumps the node: retained blocks, the state after the head, time, and the pool.
    ///
    /// Snapshots, impersonations and the mining mode are not part of it.
    ///
    /// # Errors
    /// [`EngineError`] when the store fails.
    pub fn dump(&self) -> Result<Dump, EngineError> {
        let writer = self.write();
        let mut pooled = writer.pool().content();
        pooled.sort_by_key(|pooled| pooled.arrival);
        let document = Document {
            chain: writer.chain().dump()?,
            head_record: writer.network.head_record().map(Bytes::copy_from_slice),
            time: writer.settings.time,
            pool: pooled
                .iter()
                .map(|pooled| PooledTransaction {
                    sender: pooled.transaction.sender(),
                    raw: pooled.transaction.encoded(),
                })
                .collect(),
        };
        serde_json::to_vec(&document).map(Dump).map_err(|error| EngineError::Internal(error.into()))
    }

    /// Replaces chain, state, time and pool by those of a dump, and removes all snapshots.
    ///
    /// # Errors
    /// [`LoadError::Malformed`] for bytes that are no dump, and other variants for a dump of another genesis, of other
    /// validators, or one that contradicts itself; the node is then unchanged.
    pub fn load(&self, dump: &Dump) -> Result<(), LoadError> {
        let document = dump.document()?;
        let mut pooled = Vec::with_capacity(document.pool.len());
        for transaction in &document.pool {
            let decoded = Transaction::decode_with_sender(&transaction.raw, transaction.sender)
                .map_err(|error| LoadError::Malformed { reason: error.to_string() })?;
            pooled.push(Arc::new(decoded));
        }
        let mut writer = self.write();
        let head_record = document.head_record.as_ref().map(AsRef::as_ref);
        writer.network.load(&document.chain, head_record).map_err(LoadError::from_network)?;
        writer.settings.time = document.time;
        writer.snapshots.clear();
        let context = writer.chain().pool_context().map_err(EngineError::from)?;
        writer.network.for_each_pool(|pool| {
            pool.clear();
            pool.refill(pooled.clone(), &context);
        });
        writer.publish_head(&self.inner, &[], &[]).map_err(EngineError::from)?;
        Ok(())
    }
}
