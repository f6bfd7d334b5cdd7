//! Parameters of PBFT and the sizes of its quorums.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::DowntimeWindow;
use crate::{
    consensus::{
        BlockId, Encoder, EvidenceWindow, ValidatorSet,
        mutation::{self, Mutation},
    },
    primitives::{Height, Timestamp, millis_rounded_up, secs_rounded_up},
    system::{ParameterUpdates, parameters::Parameter, staking::StakingParams},
};

/// Parameters of PBFT, the same for every validator of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PbftConfig {
    /// Least time between two blocks, in seconds; with 0, blocks are made on demand only and no timer runs, so that a
    /// primary is not suspected while its driver requests no block.
    pub(crate) period: u64,
    /// Time that a backup waits for a block beyond the period, and for a new view, before it suspects the primary, in
    /// milliseconds. Doubles with every view that commits no block.
    pub(crate) timeout_ms: u64,
    /// Bound of the doubled timeout, in milliseconds.
    pub(crate) timeout_ms_max: u64,
    /// Blocks between two checkpoints (the paper's K).
    pub(crate) checkpoint_every: u64,
    /// Greatest height of a proposal above the stable checkpoint (the paper's L); at least K.
    pub(crate) log_window: u64,
    /// Faulty validators to tolerate (f); by default as many as `n >= 3f + 1` allows.
    pub(crate) faulty: Option<u32>,
    /// Whether blocks report the validators whose commit for their parent did not arrive within the period, for the staking contract
    /// to count; not on demand.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub(crate) report_absences: bool,
    /// Window in which absences count; from the parameters of stake, whatever genesis says here.
    #[serde(skip_serializing_if = "DowntimeWindow::is_default")]
    pub(crate) downtime: DowntimeWindow,
    /// Age up to which evidence counts; from the parameters of stake, whatever genesis says here.
    #[serde(skip_serializing_if = "EvidenceWindow::is_default")]
    pub(crate) evidence: EvidenceWindow,
}

/// Invalid parameters, validators or records of PBFT.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PbftError {
    /// Fewer than `3f + 1` validators.
    #[error("pbft: {faulty} faulty of {validators} validators can break the chain: take at least {want} validators")]
    TooFewValidators {
        /// Number of validators.
        validators: usize,
        /// Faulty validators to tolerate (f).
        faulty: u32,
        /// Number of validators needed.
        want: u64,
    },
    /// A checkpoint interval of 0, or one longer than the log window.
    #[error("pbft: checkpointEvery is {every} and logWindow {window}; give at least 1, and a window of at least that")]
    Checkpoints {
        /// Blocks between two checkpoints (K).
        every: u64,
        /// Blocks in the log (L).
        window: u64,
    },
    /// A timeout of 0, or one above its bound.
    #[error(
        "pbft: timeoutMs is {} and timeoutMsMax {}; give at least 1, and a maximum of at least that",
        timeout.as_millis(), max.as_millis()
    )]
    Timeout {
        /// First timeout.
        timeout: Duration,
        /// Bound of the doubled timeout.
        max: Duration,
    },
    /// Every validator would leave.
    #[error("pbft: no validator would be left; let another one join before the last one leaves")]
    NoValidators,
    /// A stored record does not decode.
    #[error("pbft: stored record {key:?} does not decode")]
    Record {
        /// Its key.
        key: &'static str,
    },
}

/// Sizes of quorums among `n` validators of which `f` may be faulty.
///
/// With `n = 3f + 1` a quorum is the paper's `2f + 1`. Between `3f + 1` and `3f + 4` it is the smallest number of which
/// any two sets share `f + 1` members: `floor((n + f) / 2) + 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quorums {
    validators: usize,
    faulty: usize,
}

impl Default for PbftConfig {
    fn default() -> Self {
        Self {
            period: 1,
            timeout_ms: 2_000,
            timeout_ms_max: 60_000,
            checkpoint_every: 16,
            log_window: 32,
            faulty: None,
            report_absences: false,
            downtime: DowntimeWindow::default(),
            evidence: EvidenceWindow::default(),
        }
    }
}

impl PbftConfig {
    /// Returns the configuration with another bound of the timeout, rounded up to whole milliseconds.
    #[must_use]
    pub const fn with_timeout_max(mut self, timeout_max: Duration) -> Self {
        self.timeout_ms_max = millis_rounded_up(timeout_max);
        self
    }

    /// Returns the configuration with a least time between two blocks, rounded up to whole seconds, the unit of block times; with zero, blocks
    /// are made on demand only.
    #[must_use]
    pub const fn with_period(mut self, period: Duration) -> Self {
        self.period = secs_rounded_up(period);
        self
    }

    /// Returns the configuration with another first timeout, rounded up to whole milliseconds.
    #[must_use]
    pub const fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout_ms = millis_rounded_up(timeout);
        self
    }

    /// Returns the configuration with checkpoints every `every` blocks and a log of `window` blocks.
    #[must_use]
    pub const fn with_checkpoints(mut self, every: u64, window: u64) -> Self {
        (self.checkpoint_every, self.log_window) = (every, window);
        self
    }

    /// Returns the configuration that requires enough validators for `faulty` faulty ones.
    #[must_use]
    pub const fn with_faulty(mut self, faulty: u32) -> Self {
        self.faulty = Some(faulty);
        self
    }

    /// Returns the configuration in which blocks report absent validators, whom the staking contract counts and punishes for downtime.
    #[must_use]
    pub const fn with_reported_absences(mut self) -> Self {
        self.report_absences = true;
        self
    }

    /// Returns the configuration of a chain with these parameters of stake, which decide how long evidence and absences count. A network
    /// takes them from its genesis.
    #[must_use]
    pub fn with_staking(mut self, params: &StakingParams) -> Self {
        self.evidence = EvidenceWindow::of_staking(params);
        if self.report_absences {
            self.downtime = DowntimeWindow::of_staking(params);
        }
        self
    }

    /// Returns the least number of validators of which removals leave a committee: `3f + 1`.
    pub(in crate::consensus) const fn validators_min(&self) -> u32 {
        match self.faulty {
            Some(faulty) => faulty.saturating_mul(3).saturating_add(1),
            None => 4,
        }
    }

    /// Returns the configuration after changes of the chain's parameters.
    pub(super) fn with_parameters(mut self, changed: &ParameterUpdates) -> Self {
        if let Some(secs) = changed.value(Parameter::BlockTime) {
            self.period = secs as u64;
        }
        self.evidence = self.evidence.with(changed);
        self
    }

    /// Returns the number of blocks in `secs`, at most: a block takes at least a period, on demand it counts as a second.
    pub(super) fn blocks_in(&self, secs: u64) -> u64 {
        secs / self.period.max(1)
    }

    /// Returns the earliest timestamp of a block whose parent has timestamp `parent`.
    pub const fn earliest_after(&self, parent: Timestamp) -> Timestamp {
        parent.saturating_add_secs(self.period)
    }

    /// Returns whether `block` is at a checkpoint height.
    pub const fn is_checkpoint(&self, block: &BlockId) -> bool {
        self.is_checkpoint_height(block.height)
    }

    pub(super) const fn is_checkpoint_height(&self, height: Height) -> bool {
        height.get().is_multiple_of(self.checkpoint_every)
    }

    /// Returns the timeout after `doublings` views without a block, in nanoseconds.
    pub(super) const fn timeout_nanos(&self, doublings: u32) -> u64 {
        let factor = if doublings < 63 { 1_u64 << doublings } else { u64::MAX };
        let doubled = self.timeout_ms.saturating_mul(factor);
        let capped = if doubled < self.timeout_ms_max { doubled } else { self.timeout_ms_max };
        capped.saturating_mul(1_000_000)
    }

    /// Returns for how long blocks may omit a transaction: as long as four primaries may take for a block.
    pub(super) const fn inclusion_timeout(&self) -> Duration {
        let block_ms = self.period.saturating_mul(1_000).saturating_add(self.timeout_ms);
        Duration::from_millis(block_ms.saturating_mul(4))
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        // What follows from the parameters of stake is the same in every replica of a chain.
        let Self {
            period,
            timeout_ms,
            timeout_ms_max,
            checkpoint_every,
            log_window,
            faulty,
            report_absences,
            downtime: _,
            evidence: _,
        } = self;
        out.u64(*period);
        out.u64(*timeout_ms);
        out.u64(*timeout_ms_max);
        out.u64(*checkpoint_every);
        out.u64(*log_window);
        out.option(*faulty, Encoder::u32);
        // Written where it is on alone: the digests of other chains stay.
        if *report_absences {
            out.bool(true);
        }
    }

    /// Returns the quorums of this set; each member counts once, whatever its weight.
    ///
    /// # Errors
    /// [`PbftError`]. A single validator is valid, for development, and tolerates no fault. Two or three tolerate none
    /// either and are refused unless `faulty` is 0.
    pub fn quorums(&self, validators: &ValidatorSet) -> Result<Quorums, PbftError> {
        if self.checkpoint_every == 0 || self.log_window < self.checkpoint_every {
            return Err(PbftError::Checkpoints { every: self.checkpoint_every, window: self.log_window });
        }
        if self.timeout_ms == 0 || self.timeout_ms_max < self.timeout_ms {
            let [timeout, max] = [self.timeout_ms, self.timeout_ms_max].map(Duration::from_millis);
            return Err(PbftError::Timeout { timeout, max });
        }
        let count = validators.len();
        let faulty = self.faulty_of(count);
        let want = 3 * u64::from(faulty) + 1;
        if (count as u64) < want {
            return Err(PbftError::TooFewValidators { validators: count, faulty, want });
        }
        Ok(Quorums { validators: count, faulty: faulty as usize })
    }

    /// Returns the faulty validators to tolerate among so many.
    fn faulty_of(&self, count: usize) -> u32 {
        let most = count.saturating_sub(1) / 3;
        self.faulty.unwrap_or(if count == 1 { 0 } else { u32::try_from(most).unwrap_or(u32::MAX).max(1) })
    }

    /// Returns the strong quorum of so many validators, as [`Quorums::strong`]; also of fewer than a committee has.
    #[cfg(any(test, feature = "platform"))]
    pub(crate) fn strong_of(&self, count: usize) -> usize {
        Quorums { validators: count, faulty: self.faulty_of(count) as usize }.strong()
    }
}

impl Quorums {
    /// Returns `2f + 1` of `3f + 1`: any two such sets share an honest member.
    pub fn strong(&self) -> usize {
        let shared = if mutation::active(Mutation::PbftQuorumOneShort) { 0 } else { 1 };
        (self.validators + self.faulty) / 2 + shared
    }

    /// Returns `f + 1`: at least one of them is honest.
    pub const fn weak(&self) -> usize {
        self.faulty + 1
    }

    /// Returns `f`.
    pub const fn faulty(&self) -> usize {
        self.faulty
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::Address;

    fn set(count: u8) -> ValidatorSet {
        ValidatorSet::equal((1..=count).map(Address::repeat_byte)).unwrap()
    }

    #[test]
    fn quorums_are_the_papers_and_intersect_in_an_honest_member() {
        for (count, faulty, strong) in
            [(1, 0, 1), (4, 1, 3), (5, 1, 4), (6, 1, 4), (7, 2, 5), (10, 3, 7), (100, 33, 67)]
        {
            let quorums = PbftConfig::default().quorums(&set(count)).unwrap();
            assert_eq!((quorums.faulty(), quorums.strong()), (faulty, strong), "{count}");
            assert_eq!(PbftConfig::default().strong_of(count.into()), strong, "{count}");
            assert!(2 * strong - usize::from(count) > faulty && usize::from(count) - faulty >= strong);
        }
    }

    #[test]
    fn a_mutation_changes_the_code_and_goes_away() {
        let strong = || PbftConfig::default().quorums(&set(4)).unwrap().strong();
        assert_eq!((strong(), mutation::with(Mutation::PbftQuorumOneShort, strong), strong()), (3, 2, 3));
    }

    #[test]
    fn invalid_configurations_are_refused() {
        let config = PbftConfig::default();
        for count in [2, 3] {
            let want = PbftError::TooFewValidators { validators: count.into(), faulty: 1, want: 4 };
            assert_eq!(config.quorums(&set(count)), Err(want));
        }
        let want = PbftError::TooFewValidators { validators: 6, faulty: 2, want: 7 };
        assert_eq!(config.with_faulty(2).quorums(&set(6)), Err(want));
        assert_eq!(config.with_faulty(0).quorums(&set(3)).map(|quorums| quorums.strong()), Ok(2));
        assert!(matches!(config.with_checkpoints(0, 4).quorums(&set(4)), Err(PbftError::Checkpoints { .. })));
        assert!(matches!(config.with_checkpoints(8, 7).quorums(&set(4)), Err(PbftError::Checkpoints { .. })));
        assert!(matches!(config.with_timeout(Duration::ZERO).quorums(&set(4)), Err(PbftError::Timeout { .. })));
    }

    #[test]
    fn timeouts_double_up_to_their_bound() {
        let config = PbftConfig::default();
        assert_eq!([0, 1, 4, 5, 200].map(|n| config.timeout_nanos(n) / 1_000_000_000), [2, 4, 32, 60, 60]);
    }
}
