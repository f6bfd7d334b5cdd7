//! Parameters of proof of authority.

use serde::{Deserialize, Serialize};

use crate::{
    consensus::mutation::{self, Mutation},
    primitives::Timestamp,
};

/// EIP-225's constants. Every validator of a chain has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PoaConfig {
    /// Seconds between two blocks at least (`BLOCK_PERIOD`). 0: blocks are made on demand only.
    pub period: u64,
    /// Blocks between two checkpoints (`EPOCH_LENGTH`), at least 1.
    pub epoch: u64,
    /// The longest that a signer out of turn waits, in milliseconds a signer.
    pub wiggle_ms: u64,
}

/// Why proof of authority could not be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoaError {
    /// A checkpoint every zero blocks.
    #[error("proof of authority: epoch is 0; give the number of blocks between checkpoints, such as 30000")]
    Epoch,
    /// A stored record does not decode.
    #[error("proof of authority: stored record {key:?} does not decode")]
    Record {
        /// Its key.
        key: &'static str,
    },
}

impl Default for PoaConfig {
    fn default() -> Self {
        Self { period: 15, epoch: 30_000, wiggle_ms: 500 }
    }
}

impl PoaConfig {
    /// The same with `period` seconds between blocks.
    #[must_use]
    pub const fn with_period(mut self, period: u64) -> Self {
        self.period = period;
        self
    }

    /// The same with checkpoints every `epoch` blocks.
    #[must_use]
    pub const fn with_epoch(mut self, epoch: u64) -> Self {
        self.epoch = epoch;
        self
    }

    /// The earliest time of a block after one at `parent`.
    pub fn earliest_after(&self, parent: Timestamp) -> Timestamp {
        let period = if mutation::active(Mutation::PoaNoPeriod) { 0 } else { self.period };
        parent.saturating_add_secs(period)
    }

    /// Exclusive bound of a wait out of turn among `signers`, in nanoseconds; at least 1.
    pub fn wiggle_nanos(&self, signers: usize) -> u64 {
        (signers as u64).saturating_mul(self.wiggle_ms).saturating_mul(1_000_000).max(1)
    }

    pub(super) const fn check(&self) -> Result<(), PoaError> {
        if self.epoch == 0 { Err(PoaError::Epoch) } else { Ok(()) }
    }
}
