//! Votes: the bytes that a validator signs for a block in a view.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::consensus::{BlockId, Encoder};

/// Length of a vote's encoding, in bytes.
pub(super) const VOTE_LEN: usize = 1 + 8 + 8 + 32;

/// A view's number, from 0. Its primary is `view mod n`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct View(u64);

impl View {
    /// The view with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The plain number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The view after it; the largest is its own successor.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Position, in the ascending order of addresses, of the validator that leads it among `validators` (at least 1).
    pub const fn primary(self, validators: usize) -> usize {
        (self.0 % validators as u64) as usize
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "view {}", self.0)
    }
}

/// A block in the view in which it was agreed upon so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InView {
    /// Which block.
    pub block: BlockId,
    /// The latest view.
    pub view: View,
}

/// What a validator said twice in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Phase {
    /// It proposed.
    PrePrepare,
    /// It prepared.
    Prepare,
    /// It committed.
    Commit,
}

impl Phase {
    pub(super) const ALL: [Self; 3] = [Self::PrePrepare, Self::Prepare, Self::Commit];

    /// The kind in signed messages.
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

/// What the primary of `view` signs the keccak of, to propose `block`.
pub(super) fn pre_prepare(view: View, block: &BlockId) -> [u8; VOTE_LEN] {
    vote(Phase::PrePrepare, view, block)
}

/// Kind, view, height and block hash.
pub(super) fn vote(phase: Phase, view: View, block: &BlockId) -> [u8; VOTE_LEN] {
    let mut bytes = [0; VOTE_LEN];
    bytes[0] = phase.code();
    bytes[1..9].copy_from_slice(&view.get().to_be_bytes());
    bytes[9..17].copy_from_slice(&block.height.get().to_be_bytes());
    bytes[17..].copy_from_slice(block.hash.as_slice());
    bytes
}
