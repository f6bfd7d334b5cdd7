//! Which faults a random plan may have, for a protocol that promises to bear them.

use serde::{Deserialize, Serialize};

use crate::{consensus::ConsensusConfig, primitives::Address, sim::campaign::workload::Workload};

/// Bounds of the plans that [`FaultPlan::random`](crate::sim::FaultPlan::random) draws. A weight of 0 leaves a kind out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Every fault begins and ends within so many milliseconds.
    pub span_ms: u64,
    /// Most faults of a plan.
    pub faults_max: u32,
    /// Longest fault, in milliseconds.
    pub fault_max_ms: u64,
    /// How many replicas may misbehave or lose their disk.
    pub byzantine: Budget,
    /// Longest latency of a bad link, in milliseconds.
    pub latency_max_ms: u64,
    /// Largest clock error, in milliseconds either way.
    pub clock_max_ms: u64,
    /// Labels of messages that bad links may be limited to, or beginnings of labels that end in `*`.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Whose transactions a censor may leave out, beside those of everybody.
    #[serde(default)]
    pub senders: Vec<Address>,
    /// The highest block that misbehaviour may wait for; 0 for none.
    #[serde(default)]
    pub heights_max: u64,
    /// The highest round that misbehaviour may wait for, as [`Trigger::Rounds`](crate::sim::Trigger::Rounds) counts them; 0 for none.
    #[serde(default)]
    pub rounds_max: u64,
    /// Thousandths of crashes that last until the network is healed.
    #[serde(default)]
    pub outage_per_mille: u16,
    /// How often each kind comes, against the others.
    pub weights: Weights,
}

/// What travels on the links of every protocol beside its own messages.
const LABELS: [&str; 3] = ["transaction", "block-request", "block-response"];
const LABELS_BLOCK: [&str; 1] = ["block"];
const LABELS_POS: [&str; 3] = ["block", "vote", "offence"];
const LABELS_PBFT: [&str; 6] = ["pre-prepare", "prepare", "commit", "checkpoint", "view-change", "new-view"];
const LABELS_RAFT: [&str; 14] = [
    "raft-pre-vote*",
    "raft-vote*",
    "raft-append*",
    "raft-pre-vote-request",
    "raft-vote-request",
    "raft-pre-vote",
    "raft-vote",
    "raft-append",
    "raft-appended",
    "raft-append-rejected",
    "raft-heartbeat",
    "raft-heartbeat-answer",
    "raft-snapshot",
    "raft-timeout-now",
];

/// How often each kind of fault comes, against the others.
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
    /// Wrong clocks.
    pub clock: u32,
    /// Slow disks, which lose and tear writes in a crash.
    pub disk: u32,
    /// Misbehaviour, within the budget.
    pub byzantine: u32,
    /// Twins, within the budget.
    pub twins: u32,
    /// Amnesia, lost disks and flipped bits, within the budget.
    pub amnesia: u32,
}

/// How many replicas of `n` may misbehave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Budget {
    /// None: crashes are all that is borne.
    None,
    /// Fewer than a third: `f` with `n >= 3f + 1`.
    Third,
    /// So many, whatever is borne; for negative controls.
    Exactly(u32),
}

impl Default for Weights {
    fn default() -> Self {
        Self { link: 6, partition: 4, crash: 4, pause: 2, clock: 1, disk: 2, byzantine: 3, twins: 1, amnesia: 1 }
    }
}

impl Budget {
    /// Replicas of `n` that may misbehave.
    pub fn of(self, n: u32) -> u32 {
        match self {
            Self::None => 0,
            Self::Third => n.saturating_sub(1) / 3,
            Self::Exactly(count) => count.min(n),
        }
    }
}

impl Profile {
    /// Crashes, cuts, bad links, slow disks and wrong clocks; nobody misbehaves.
    pub fn crash_only() -> Self {
        Self {
            span_ms: 20_000,
            faults_max: 8,
            fault_max_ms: 8_000,
            byzantine: Budget::None,
            latency_max_ms: 1_500,
            clock_max_ms: 400,
            labels: Vec::new(),
            senders: Workload::senders(),
            heights_max: 20,
            rounds_max: 0,
            outage_per_mille: 100,
            weights: Weights::default(),
        }
    }

    /// The same, and fewer than a third of the replicas misbehave.
    pub fn byzantine() -> Self {
        Self { byzantine: Budget::Third, ..Self::crash_only() }
    }

    /// What this protocol promises to bear.
    pub fn of(config: &ConsensusConfig) -> Self {
        let profile = match config {
            ConsensusConfig::Pbft(_) | ConsensusConfig::Dpos(_) | ConsensusConfig::Pos(_) => Self::byzantine(),
            _ => Self::crash_only(),
        };
        // Rounds up to about the last that a run comes to while things go wrong.
        let (labels, rounds_max): (&[&str], _) = match config {
            ConsensusConfig::Pbft(_) => (&LABELS_PBFT, 6),
            ConsensusConfig::Raft(_) => (&LABELS_RAFT, 6),
            ConsensusConfig::Pos(_) => (&LABELS_POS, 20),
            ConsensusConfig::Dpos(_) => (&LABELS_BLOCK, 5),
            ConsensusConfig::Poa(_) => (&LABELS_BLOCK, 3),
        };
        let labels = labels.iter().chain(&LABELS).map(|label| (*label).to_owned()).collect();
        Self { labels, rounds_max, ..profile }
    }
}
