//! Votes: the bytes that a validator signs for a block in a view.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::consensus::{BlockId, Encoder};

/// Length of a vote's encoding, in bytes.
pub(super) const VOTE_LEN: usize = 1 + 8 + 8 + 32;

/// A view's number, from 0. The primary of a view is validator `view mod n`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct View(u64);

impl View {
    /// Returns the view with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the next view; the largest is its own successor.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Returns the index, in ascending order of addresses, of the view's primary among `validators` (at least 1).
    pub const fn primary(self, validators: usize) -> usize {
        (self.0 % validators as u64) as usize
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "view {}", self.0)
    }
}

/// A block with the latest view in which it was pre-prepared or prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InView {
    /// The block.
    pub block: BlockId,
    /// Latest view.
    pub view: View,
}

/// A phase of the agreement on a block, in which each validator votes once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Phase {
    /// The primary proposes the block.
    PrePrepare,
    /// Backups agree to the block's place.
    Prepare,
    /// Replicas that have the block prepared commit it.
    Commit,
}

impl Phase {
    pub(super) const ALL: [Self; 3] = [Self::PrePrepare, Self::Prepare, Self::Commit];

    /// Returns the first byte of the phase's signed messages.
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::PrePrepare => 1,
            Self::Prepare => 2,
            Self::Commit => 3,
        }
    }
}

impl InView {
    pub(super) fn encode(&self, out: &mut Encoder) {
        self.block.encode(out);
        out.u64(self.view.get());
    }
}

/// Returns the bytes whose keccak the primary of `view` signs to propose `block`.
pub(super) fn pre_prepare(view: View, block: &BlockId) -> [u8; VOTE_LEN] {
    vote(Phase::PrePrepare, view, block)
}

/// Returns a vote's encoding: phase, view, height and block hash.
pub(super) fn vote(phase: Phase, view: View, block: &BlockId) -> [u8; VOTE_LEN] {
    let mut bytes = [0; VOTE_LEN];
    bytes[0] = phase.code();
    bytes[1..9].copy_from_slice(&view.get().to_be_bytes());
    bytes[9..17].copy_from_slice(&block.height.get().to_be_bytes());
    bytes[17..].copy_from_slice(block.hash.as_slice());
    bytes
}
