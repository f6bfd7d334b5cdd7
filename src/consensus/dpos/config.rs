//! Parameters of delegated proof of stake.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    consensus::{EvidenceWindow, in_force::InForce, slot_clock::SlotClock},
    primitives::{Timestamp, secs_rounded_up},
    system::{parameters::Parameter, staking::StakingParams},
};

/// Largest number of producers of a schedule, as in EOSIO.
pub const PRODUCERS_MAX: u32 = 125;
/// Largest number of consecutive slots of one producer.
pub const BLOCKS_PER_TURN_MAX: u32 = 1_000;

/// Parameters of delegated proof of stake, the same for every validator of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DposConfig {
    /// Length of a slot, in seconds; with 0, blocks are made on demand only, each in the next slot, and no timer runs.
    pub(crate) period: u64,
    /// Largest number of producers to elect: the candidates of greatest weight.
    pub(crate) producers: u32,
    /// Number of consecutive slots of one producer.
    pub(crate) blocks_per_turn: u32,
    /// Period after which the order of the producers changes.
    pub(crate) shuffle: Shuffle,
    /// Rule by which blocks become irreversible.
    pub(crate) finality: FinalityRule,
    /// Age up to which evidence counts; from the parameters of stake, whatever genesis says here.
    #[serde(skip_serializing_if = "EvidenceWindow::is_default")]
    pub(crate) evidence: EvidenceWindow,
    /// The clock of slots once the chain's block time has changed; by this configuration the next block is made and judged.
    #[serde(skip)]
    pub(super) clock: Option<SlotClock>,
}

/// Period after which the order of the producers changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shuffle {
    /// The schedule: all its rounds have the same order.
    #[default]
    Schedule,
    /// A round, in which every producer has one turn.
    Round,
}

/// Rule by which blocks become irreversible, with the fork choice that belongs to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FinalityRule {
    /// Confirmations with a lock: safe while less than a third of the producers break the rules, whatever the network does.
    /// `docs/protocols/dpos.md` has the argument.
    #[default]
    Locked,
    /// EOSIO's DPOS 3, for comparison. **Unsafe**: what a producer implied counts on a branch for ever, though it has left the branch
    /// since, and nothing keeps it from confirming another one. Honest producers on a slow network can make two
    /// conflicting blocks irreversible.
    Classic,
}

/// Invalid parameters or records of delegated proof of stake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DposError {
    /// The number of producers is 0 or too high.
    #[error("delegated proof of stake: producers is {got}; give 1 to {PRODUCERS_MAX}, such as 21")]
    Producers {
        /// Value configured.
        got: u32,
    },
    /// The number of blocks in a turn is 0 or too high.
    #[error("delegated proof of stake: blocksPerTurn is {got}; give 1 to {BLOCKS_PER_TURN_MAX}")]
    BlocksPerTurn {
        /// Value configured.
        got: u32,
    },
    /// A stored record does not decode.
    #[error("delegated proof of stake: stored record {key:?} does not decode")]
    Record {
        /// Key of the record.
        key: &'static str,
    },
}

impl Default for DposConfig {
    fn default() -> Self {
        Self {
            period: 1,
            producers: 21,
            blocks_per_turn: 1,
            shuffle: Shuffle::Schedule,
            finality: FinalityRule::Locked,
            evidence: EvidenceWindow::default(),
            clock: None,
        }
    }
}

impl DposConfig {
    /// Returns the configuration with slots of `period`, rounded up to whole seconds, the unit of block times; with zero, blocks
    /// are made on demand only.
    #[must_use]
    pub const fn with_period(mut self, period: Duration) -> Self {
        self.period = secs_rounded_up(period);
        self
    }

    /// Returns the configuration with at most `producers` elected.
    #[must_use]
    pub const fn with_producers(mut self, producers: u32) -> Self {
        self.producers = producers;
        self
    }

    /// Returns the configuration with turns of `blocks` blocks.
    #[must_use]
    pub const fn with_blocks_per_turn(mut self, blocks: u32) -> Self {
        self.blocks_per_turn = blocks;
        self
    }

    /// Returns the configuration with the order of producers shuffled per `shuffle`.
    #[must_use]
    pub const fn with_shuffle(mut self, shuffle: Shuffle) -> Self {
        self.shuffle = shuffle;
        self
    }

    /// Returns the configuration of a chain with these parameters of stake, which decide how long evidence counts. A network takes
    /// them from its genesis.
    #[must_use]
    pub fn with_staking(mut self, params: &StakingParams) -> Self {
        self.evidence = EvidenceWindow::of_staking(params);
        self
    }

    /// Returns the configuration after changes of the chain's parameters.
    pub(super) fn with_in_force(mut self, in_force: &InForce) -> Self {
        let changed = &in_force.parameters;
        if let Some(most) = changed.value(Parameter::ValidatorsMax) {
            self.producers = self.producers.min(most as u32);
        }
        self.period = in_force.clock.period();
        self.evidence = self.evidence.with(changed);
        self.clock = Some(in_force.clock);
        self
    }

    /// Returns the clock of slots, which begins with genesis; on demand a slot counts as a second.
    pub(super) fn slot_clock(&self) -> SlotClock {
        self.clock.unwrap_or(SlotClock::at_genesis(self.period))
    }

    /// Returns the configuration with blocks that become irreversible by `finality`.
    #[must_use]
    pub const fn with_finality(mut self, finality: FinalityRule) -> Self {
        self.finality = finality;
        self
    }

    /// Returns the rule by which blocks become irreversible.
    pub const fn finality(&self) -> FinalityRule {
        self.finality
    }

    /// Returns the start of `slot`, counted from a block at the slot and time of `from`; on demand, the time of that block.
    pub const fn time_of(&self, slot: u64, from: (u64, Timestamp)) -> Timestamp {
        from.1.saturating_add_secs(slot.saturating_sub(from.0).saturating_mul(self.period))
    }

    /// Returns the slot of a block at `time`, counted from a block at the slot and time of `from`; `None` when no slot starts then.
    pub const fn slot_at(&self, time: Timestamp, from: (u64, Timestamp)) -> Option<u64> {
        let Some(elapsed) = time.as_secs().checked_sub(from.1.as_secs()) else { return None };
        if self.period == 0 {
            return from.0.checked_add(1);
        }
        if elapsed == 0 || !elapsed.is_multiple_of(self.period) {
            None
        } else {
            from.0.checked_add(elapsed / self.period)
        }
    }

    /// Returns the newest slot that has begun at `time`, counted from a block at the slot and time of `from`; of an earlier time, that
    /// block's.
    pub(super) fn slot_begun(&self, time: Timestamp, from: (u64, Timestamp)) -> u64 {
        let elapsed = time.as_secs().saturating_sub(from.1.as_secs());
        from.0.saturating_add(elapsed.checked_div(self.period).unwrap_or_default())
    }

    /// Returns what identifies the slot of a block on every branch: its beginning in seconds, because branches may number slots unlike once
    /// the chain's block time has changed. On demand it is the number, which is the block's height.
    pub(super) const fn slot_id(&self, number: u64, begins: Timestamp) -> u64 {
        if self.period == 0 { number } else { begins.as_secs() }
    }

    pub(super) const fn check(&self) -> Result<(), DposError> {
        if self.producers == 0 || self.producers > PRODUCERS_MAX {
            return Err(DposError::Producers { got: self.producers });
        }
        if self.blocks_per_turn == 0 || self.blocks_per_turn > BLOCKS_PER_TURN_MAX {
            return Err(DposError::BlocksPerTurn { got: self.blocks_per_turn });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_begin_at_multiples_of_the_period() {
        let config = DposConfig::default().with_period(Duration::from_secs(3));
        let from = (10, Timestamp::from_secs(100));
        for (time, slot) in [(99, None), (100, None), (102, None), (103, Some(11)), (109, Some(13)), (110, None)] {
            assert_eq!(config.slot_at(Timestamp::from_secs(time), from), slot, "{time}");
        }
        assert_eq!(config.time_of(13, from), Timestamp::from_secs(109));
        let begun = [99, 102, 103, 105, 106].map(|secs| config.slot_begun(Timestamp::from_secs(secs), from));
        assert_eq!(begun, [10, 10, 11, 11, 12]);
        assert_eq!(config.slot_id(11, Timestamp::from_secs(103)), 103);
        let on_demand = config.with_period(Duration::ZERO);
        assert_eq!(on_demand.slot_at(Timestamp::from_secs(100), from), Some(11));
        assert_eq!(on_demand.slot_at(Timestamp::from_secs(99), from), None);
        assert_eq!(on_demand.slot_id(11, Timestamp::from_secs(103)), 11);
    }

    #[test]
    fn impossible_parameters_say_what_to_change() {
        assert_eq!(DposConfig::default().with_producers(0).check(), Err(DposError::Producers { got: 0 }));
        assert_eq!(DposConfig::default().with_producers(126).check(), Err(DposError::Producers { got: 126 }));
        let error = DposConfig::default().with_blocks_per_turn(0).check().unwrap_err();
        assert!(error.to_string().contains("give 1 to 1000"), "{error}");
    }
}
