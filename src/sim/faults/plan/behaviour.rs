//! Misbehaviour of replicas, and its triggers.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::link::{check_delay, check_per_mille};
use crate::{
    consensus::ReplicaId,
    primitives::{Address, Height},
    sim::millis::millis_serde,
};

/// Misbehaviour of a replica. Its protocol runs unchanged; its effects are changed before they are carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Behaviour {
    /// Sends nothing.
    Silent,
    /// Sends to some replicas only.
    SelectiveSend {
        /// Receivers.
        to: Vec<ReplicaId>,
    },
    /// Makes two blocks in place of one, and sends each to one half of the other replicas.
    Equivocate,
    /// Beside each vote sends one for another block, which contradicts it, to some replicas only: prepares and commits of PBFT, votes of
    /// proof of stake.
    DoubleVote {
        /// Receivers.
        to: Vec<ReplicaId>,
    },
    /// Sends invalid messages: fields changed and signed again, or signatures broken.
    Invalid,
    /// Sends old messages again.
    Replay,
    /// Sends messages of heights, views or slots in the far future, beside its own.
    FutureSpam,
    /// Sends every message late.
    Withhold {
        /// Delay, in whole milliseconds.
        #[serde(rename = "ms", with = "millis_serde")]
        delay: Duration,
    },
    /// Answers requests for blocks with lies: another body under the right header, another block, a broken seal, or nothing.
    LyingAnswers,
    /// Passes messages of others on at once, altered: another body under the right header, or a field changed, with the author's
    /// signature as it was.
    AlteredRelays,
    /// Omits transactions from its blocks.
    Censor {
        /// Senders of these transactions; empty for all.
        #[serde(default)]
        senders: Vec<Address>,
    },
    /// Reports as many validators as it may as absent in its blocks, whoever's commits it has: of PBFT, where blocks report absences.
    FalseAbsences,
    /// Sends, in place of its own block, one with a transaction of a stranger who may not send: where the chain lists its senders.
    ForbiddenTransaction,
}

/// Occasions of misbehaviour.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Trigger {
    /// Never.
    Never,
    /// Always.
    #[default]
    Always,
    /// At random, drawn for each occasion.
    Chance {
        /// Probability, in thousandths.
        per_mille: u16,
    },
    /// While the block after its head has one of these heights.
    Heights {
        /// Heights.
        heights: Vec<Height>,
    },
    /// While its protocol is in one of these rounds: views of PBFT, terms of Raft, slots of proof of stake, rounds of delegated
    /// proof of stake, epochs of proof of authority.
    Rounds {
        /// Rounds.
        rounds: Vec<u64>,
    },
}

impl Behaviour {
    /// Returns the kind, as traces and digests name it.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Silent => "silent",
            Self::SelectiveSend { .. } => "selective-send",
            Self::Equivocate => "equivocate",
            Self::DoubleVote { .. } => "double-vote",
            Self::Invalid => "invalid",
            Self::Replay => "replay",
            Self::FutureSpam => "future-spam",
            Self::Withhold { .. } => "withhold",
            Self::LyingAnswers => "lying-answers",
            Self::AlteredRelays => "altered-relays",
            Self::Censor { .. } => "censor",
            Self::FalseAbsences => "false-absences",
            Self::ForbiddenTransaction => "forbidden-transaction",
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::Withhold { delay } => check_delay("ms", *delay),
            _ => Ok(()),
        }
    }
}

impl Trigger {
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::Chance { per_mille } => check_per_mille(*per_mille),
            _ => Ok(()),
        }
    }
}
