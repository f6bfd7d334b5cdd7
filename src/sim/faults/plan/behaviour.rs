//! How a replica misbehaves, above its protocol, and when.

use serde::{Deserialize, Serialize};

use super::link::{check_millis, check_per_mille};
use crate::{consensus::ReplicaId, primitives::Address};

/// How a replica misbehaves. Its protocol runs as always; what it says and does is changed on the way out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Behaviour {
    /// Says nothing.
    Silent,
    /// Speaks to some only.
    SelectiveSend {
        /// To whom.
        to: Vec<ReplicaId>,
    },
    /// Makes two blocks where it makes one, and shows each half of the others another.
    Equivocate,
    /// Sends garbled messages in place of its own: fields changed and signed anew, or signatures broken.
    Invalid,
    /// Says again what it said long ago.
    Replay,
    /// Sends what belongs to heights, views or slots of a far future, besides its own messages.
    FutureSpam,
    /// Says everything late.
    Withhold {
        /// By how much, in milliseconds.
        ms: u64,
    },
    /// Leaves transactions out of its blocks.
    Censor {
        /// Of whom; empty for all.
        #[serde(default)]
        senders: Vec<Address>,
    },
}

/// On which occasions a replica misbehaves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Trigger {
    /// On none.
    Never,
    /// On every one.
    #[default]
    Always,
    /// On some, each drawn alone.
    Chance {
        /// Thousandths.
        per_mille: u16,
    },
    /// While the block after its head has one of these heights.
    Heights {
        /// Which.
        heights: Vec<u64>,
    },
    /// While its protocol is in one of these rounds: views of PBFT, terms of Raft, slots of proof of stake, rounds of delegated
    /// proof of stake, epochs of proof of authority ([`Machine::round`](crate::consensus::Machine::round)).
    Rounds {
        /// Which.
        rounds: Vec<u64>,
    },
}

impl Behaviour {
    /// The kind, as traces and digests name it.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Silent => "silent",
            Self::SelectiveSend { .. } => "selective-send",
            Self::Equivocate => "equivocate",
            Self::Invalid => "invalid",
            Self::Replay => "replay",
            Self::FutureSpam => "future-spam",
            Self::Withhold { .. } => "withhold",
            Self::Censor { .. } => "censor",
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::Withhold { ms } => check_millis("ms", *ms),
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
