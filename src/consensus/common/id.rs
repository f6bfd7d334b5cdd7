//! Identifiers: replicas, blocks, requests and timers.

use core::{fmt, ops::RangeInclusive};

use serde::{Deserialize, Serialize};

use super::encoding::{Decoder, Encoder};
use crate::{
    chain::Block,
    primitives::{B256, Height},
};

/// A replica's number in its network, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReplicaId(u32);

impl ReplicaId {
    /// Returns the replica with this number.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Returns the number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns the number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ReplicaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "replica {}", self.0)
    }
}

/// A block's height and hash: enough to find it without a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BlockId {
    /// Height of the block.
    pub height: Height,
    /// Hash of the block.
    pub hash: B256,
}

impl BlockId {
    /// Returns the id of `block`.
    pub fn of(block: &Block) -> Self {
        Self { height: block.height(), hash: block.hash() }
    }

    /// Returns all ids of one height, in order.
    pub(crate) const fn range_at(height: Height) -> RangeInclusive<Self> {
        Self { height, hash: B256::ZERO }..=Self { height, hash: B256::repeat_byte(u8::MAX) }
    }

    /// Returns the id of `block`'s parent; for genesis, a zero hash at height 0.
    pub fn parent_of(block: &Block) -> Self {
        Self { height: block.height().parent().unwrap_or_default(), hash: block.parent_hash() }
    }

    pub(crate) fn encode(&self, out: &mut Encoder) {
        out.u64(self.height.get());
        out.hash(&self.hash);
    }

    pub(crate) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        Some(Self { height: Height::new(bytes.u64()?), hash: bytes.hash()? })
    }
}

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {} ({})", self.height, self.hash)
    }
}

/// Identifies one request of a protocol, and the response to it. Never reused by one replica.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

impl Ticket {
    /// Returns the ticket with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns this ticket and advances to the next.
    pub(crate) fn take_next(&mut self) -> Self {
        let taken = *self;
        self.0 += 1;
        taken
    }
}

/// One of a protocol's timers; arming it again replaces its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(u64);

impl TimerId {
    /// Returns the timer with this number, whose meaning is the protocol's.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0
    }
}
