//! A block with its decoded payload.

use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    chain::Block,
    consensus::{BlockId, Rejection, ReplicaId, branch_tree::BranchNode, common::codec::decode_value},
    primitives::{Address, Timestamp},
};

/// A block of a protocol of one's own, with its payload decoded. Its hash fixes all of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Proposal<T> {
    /// The block.
    pub id: BlockId,
    /// Its parent.
    pub parent: BlockId,
    /// The validator that sealed it; the zero address for genesis.
    pub author: Address,
    /// Its time.
    pub timestamp: Timestamp,
    /// Its payload.
    pub payload: T,
    /// `None` for the root, which is executed for good.
    pub(super) block: Option<Arc<Block>>,
    /// Replica over whose link it came; `None` for an own or restored block.
    pub(super) from: Option<ReplicaId>,
}

impl<T> Proposal<T> {
    /// Returns the rejection of this block, for a reason that completes "block 5 (0x..): ".
    pub fn rejected(&self, reason: impl Into<String>) -> Rejection {
        Rejection::Header { block: self.id, reason: reason.into() }
    }

    /// Decodes the payload of a block by `author`.
    pub(super) fn read(from: Option<ReplicaId>, block: Arc<Block>, author: Address) -> Result<Self, Rejection>
    where
        T: Serialize + DeserializeOwned,
    {
        let (id, parent) = (BlockId::of(&block), BlockId::parent_of(&block));
        let payload = decode_value(block.protocol_payload())
            .map_err(|error| Rejection::Header { block: id, reason: format!("its payload: {error}") })?;
        Ok(Self { id, parent, author, timestamp: block.timestamp(), payload, block: Some(block), from })
    }
}

/// Blocks of one hash are equal.
impl<T> PartialEq for Proposal<T> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl<T: Clone + core::fmt::Debug> BranchNode for Proposal<T> {
    type Key = BlockId;

    fn block(&self) -> BlockId {
        self.id
    }

    fn key(&self) -> BlockId {
        self.id
    }

    fn parent_key(&self) -> BlockId {
        self.parent
    }
}
