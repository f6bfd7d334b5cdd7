//! Bounds of random fault plans, by what a protocol promises to tolerate.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    consensus::ConsensusConfig,
    primitives::{Address, Height},
    sim::{campaign::workload::Workload, millis::millis_serde},
};

/// Bounds of the plans that [`FaultPlan::random`](crate::sim::FaultPlan::random) draws, in whole milliseconds. A weight of 0
/// leaves a kind out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Time within which every fault begins and ends.
    #[serde(rename = "span_ms", with = "millis_serde")]
    pub span: Duration,
    /// Most faults of a plan.
    pub faults_max: u32,
    /// Longest fault.
    #[serde(rename = "fault_max_ms", with = "millis_serde")]
    pub fault_max: Duration,
    /// Number of replicas that may misbehave or lose their disk.
    pub byzantine: Budget,
    /// Longest latency of a faulty link.
    #[serde(rename = "latency_max_ms", with = "millis_serde")]
    pub latency_max: Duration,
    /// Longest delay of what a replica withholds.
    #[serde(rename = "withhold_max_ms", with = "millis_serde", default = "withhold_max")]
    pub withhold_max: Duration,
    /// Largest clock error, positive or negative.
    #[serde(rename = "clock_max_ms", with = "millis_serde")]
    pub clock_max: Duration,
    /// Labels of messages to which link faults may be limited; prefixes end in `*`.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Senders whose transactions a censor may omit, beside all senders.
    #[serde(default)]
    pub senders: Vec<Address>,
    /// Greatest height in triggers of misbehaviour; 0 for none.
    #[serde(default)]
    pub heights_max: Height,
    /// Greatest round in triggers of misbehaviour, as [`Trigger::Rounds`](crate::sim::Trigger::Rounds) counts them; 0 for none.
    #[serde(default)]
    pub rounds_max: u64,
    /// Share of crashes that last until the network is healed, in thousandths.
    #[serde(default)]
    pub outage_per_mille: u16,
    /// Share of plans in which all processes sleep at some time, in thousandths.
    #[serde(default)]
    pub sleep_per_mille: u16,
    /// Relative frequency of each kind.
    pub weights: Weights,
}

/// Shortest and, by default, longest delay of what a replica withholds.
pub(super) const WITHHOLD_MIN: Duration = Duration::from_millis(50);
const fn withhold_max() -> Duration {
    Duration::from_secs(3)
}

/// Labels of envelopes that every protocol has beside its own messages.
const LABELS: [&str; 3] = ["transaction", "block-request", "block-response"];

/// Relative frequency of each kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// Loss, duplication, reordering, replay, latency, bandwidth, capacity, clogging.
    pub link: u32,
    /// Partitions, one-way cuts, isolation, splits.
    pub partition: u32,
    /// Crashes.
    pub crash: u32,
    /// Pauses.
    pub pause: u32,
    /// Clock errors.
    pub clock: u32,
    /// Slow disks, which lose and tear writes in a crash.
    pub disk: u32,
    /// Slow processors: blocks take time to build and to execute.
    pub execution: u32,
    /// Misbehaviour, within the budget.
    pub byzantine: u32,
    /// Twins, within the budget.
    pub twins: u32,
    /// Amnesia, lost disks and flipped bits, within the budget.
    pub amnesia: u32,
}

/// Number of replicas out of `n` that may misbehave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Budget {
    /// None: only crashes are tolerated.
    None,
    /// Fewer than a third: `f` with `n >= 3f + 1`.
    Third,
    /// This number, regardless of tolerance; for negative controls.
    Exactly(u32),
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            link: 6,
            partition: 4,
            crash: 4,
            pause: 2,
            clock: 1,
            disk: 2,
            execution: 2,
            byzantine: 4,
            twins: 1,
            amnesia: 1,
        }
    }
}

impl Budget {
    /// Returns the number of replicas out of `n` that may misbehave.
    pub fn of(self, n: u32) -> u32 {
        match self {
            Self::None => 0,
            Self::Third => n.saturating_sub(1) / 3,
            Self::Exactly(count) => count.min(n),
        }
    }
}

impl Profile {
    /// Returns bounds with crashes, cuts, link faults, slow disks and clock errors, without misbehaviour.
    pub fn crash_only() -> Self {
        Self {
            span: Duration::from_secs(20),
            faults_max: 8,
            fault_max: Duration::from_secs(8),
            byzantine: Budget::None,
            latency_max: Duration::from_millis(1_500),
            withhold_max: withhold_max(),
            clock_max: Duration::from_millis(400),
            labels: Vec::new(),
            senders: Workload::senders(),
            heights_max: Height::new(20),
            rounds_max: 0,
            outage_per_mille: 100,
            sleep_per_mille: 60,
            weights: Weights::default(),
        }
    }

    /// Returns those bounds with fewer than a third of the replicas misbehaving.
    pub fn byzantine() -> Self {
        Self { byzantine: Budget::Third, ..Self::crash_only() }
    }

    /// Returns the profile for a run of `span`: as many faults in each minute, some of which last for a minute, and misbehaviour at any
    /// height. What is withheld comes after other validators were chosen.
    #[must_use]
    pub fn long(self, span: Duration) -> Self {
        let times = (span.as_secs() / self.span.as_secs().max(1)).max(1);
        Self {
            span,
            faults_max: u32::try_from(times / 2).unwrap_or(u32::MAX).max(1).saturating_mul(self.faults_max),
            fault_max: Duration::from_secs(60),
            withhold_max: Duration::from_secs(60),
            heights_max: Height::new(span.as_secs()),
            rounds_max: self.rounds_max.saturating_mul(times),
            ..self
        }
    }

    /// Returns the faults that a protocol promises to tolerate.
    pub fn of(config: &ConsensusConfig) -> Self {
        let info = config.info();
        let profile = if info.is_byzantine_tolerant { Self::byzantine() } else { Self::crash_only() };
        let labels = info.message_labels.iter().chain(&LABELS).map(|label| (*label).to_owned()).collect();
        Self { labels, rounds_max: info.campaign_rounds_max, ..profile }
    }
}
