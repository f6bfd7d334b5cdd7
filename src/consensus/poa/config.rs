//! Parameters of proof of authority.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    consensus::mutation::{self, Mutation},
    primitives::{Timestamp, millis_rounded_up, secs_rounded_up},
    system::{ParameterUpdates, parameters::Parameter},
};

/// Parameters of Clique (EIP-225), the same for every validator of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PoaConfig {
    /// Minimum time between two blocks, in seconds (`BLOCK_PERIOD`); with 0, blocks are made on demand only.
    pub(crate) period: u64,
    /// Blocks between two checkpoints (`EPOCH_LENGTH`), at least 1.
    pub(crate) epoch: u64,
    /// Longest delay of a signer out of turn, in milliseconds per signer of the set.
    pub(crate) wiggle_ms: u64,
    /// Furthest that a block's timestamp may be ahead of the clock of a replica that judges it, in seconds. 0, as in geth
    /// (`ErrFutureBlock`); Besu allows 10.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) future_secs: u64,
    /// Whether the validators' contract decides who signs, and votes in headers are refused; from genesis' `validatorRegistry`, whatever
    /// the section says here.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub(crate) by_contract: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_zero(secs: &u64) -> bool {
    *secs == 0
}

/// Invalid parameters or records of proof of authority.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoaError {
    /// The epoch is 0.
    #[error("proof of authority: epoch is 0; give the number of blocks between checkpoints, such as 30000")]
    Epoch,
    /// A stored record does not decode.
    #[error("proof of authority: stored record {key:?} does not decode")]
    Record {
        /// Key of the record.
        key: &'static str,
    },
}

impl Default for PoaConfig {
    fn default() -> Self {
        Self { period: 15, epoch: 30_000, wiggle_ms: 500, future_secs: 0, by_contract: false }
    }
}

impl PoaConfig {
    /// Returns the configuration with a minimum time between two blocks, rounded up to whole seconds, the unit of block times; with zero, blocks
    /// are made on demand only.
    #[must_use]
    pub const fn with_period(mut self, period: Duration) -> Self {
        self.period = secs_rounded_up(period);
        self
    }

    /// Returns the configuration with checkpoints every `epoch` blocks.
    #[must_use]
    pub const fn with_epoch(mut self, epoch: u64) -> Self {
        self.epoch = epoch;
        self
    }

    /// Returns the configuration with a longest delay out of turn of `wiggle` per signer of the set, rounded up to whole
    /// milliseconds.
    #[must_use]
    pub const fn with_wiggle(mut self, wiggle: Duration) -> Self {
        self.wiggle_ms = millis_rounded_up(wiggle);
        self
    }

    /// Returns the configuration with blocks judged up to `allowance` before their time, rounded up to whole seconds; by default not
    /// before.
    #[must_use]
    pub const fn with_future_allowance(mut self, allowance: Duration) -> Self {
        self.future_secs = secs_rounded_up(allowance);
        self
    }

    /// Returns the configuration of a chain whose signers the validators' contract decides.
    #[must_use]
    pub const fn with_validator_registry(mut self) -> Self {
        self.by_contract = true;
        self
    }

    /// Returns the configuration after changes of the chain's parameters.
    pub(super) fn with_parameters(mut self, changed: &ParameterUpdates) -> Self {
        if let Some(secs) = changed.value(Parameter::BlockTime) {
            self.period = secs as u64;
        }
        self
    }

    /// Returns the earliest timestamp of a block whose parent is at `parent`.
    pub fn earliest_after(&self, parent: Timestamp) -> Timestamp {
        let period = if mutation::active(Mutation::PoaNoPeriod) { 0 } else { self.period };
        parent.saturating_add_secs(period)
    }

    /// Returns the exclusive upper bound of the delay out of turn with `signers` signers, in nanoseconds; at least 1.
    pub(super) fn wiggle_nanos(&self, signers: usize) -> u64 {
        (signers as u64).saturating_mul(self.wiggle_ms).saturating_mul(1_000_000).max(1)
    }

    pub(super) const fn check(&self) -> Result<(), PoaError> {
        if self.epoch == 0 { Err(PoaError::Epoch) } else { Ok(()) }
    }
}
