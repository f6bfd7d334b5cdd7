//! What goes wrong between two replicas.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{consensus::ReplicaId, sim::network::links::Latency};

/// Longest delay of one message, in milliseconds: a day.
const DELAY_MAX_MS: u64 = 24 * 3_600 * 1_000;

/// Messages on some links fare badly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkFault {
    /// Whose messages; empty for everybody's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<ReplicaId>,
    /// To whom; empty for anybody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<ReplicaId>,
    /// Messages with one of these labels, such as `prepare`, or (ending in `*`) with this beginning; empty for all, and for
    /// transactions and block requests and answers too, whose labels are `transaction`, `block-request`, `block-response`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// How they fare.
    pub effect: LinkEffect,
}

/// How messages fare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum LinkEffect {
    /// Some are lost.
    Loss {
        /// Thousandths.
        per_mille: u16,
    },
    /// Some arrive twice.
    Duplicate {
        /// Thousandths.
        per_mille: u16,
    },
    /// Some are held up, so that later ones overtake them.
    Reorder {
        /// Thousandths.
        per_mille: u16,
        /// By how much at most.
        up_to_ms: u64,
    },
    /// Some arrive again, much later.
    Replay {
        /// Thousandths.
        per_mille: u16,
        /// How much later at most.
        up_to_ms: u64,
    },
    /// All take another time than usual.
    Latency(Delay),
    /// A link passes so many bytes a second; what does not fit waits in line.
    Bandwidth {
        /// At least 1.
        bytes_per_second: u64,
    },
    /// A link holds so many messages at a time; further ones are lost.
    Capacity {
        /// At least 1.
        messages: u32,
    },
    /// Nothing arrives while it lasts, and everything afterwards.
    Clog,
}

/// How long something takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Delay {
    /// Always the same.
    Constant {
        /// Milliseconds.
        ms: u64,
    },
    /// Anything between two times, each equally likely.
    Uniform {
        /// The shortest.
        min_ms: u64,
        /// The longest.
        max_ms: u64,
    },
    /// Mostly little more than the floor, seldom much more.
    Exponential {
        /// The shortest.
        floor_ms: u64,
        /// Mean of what comes on top.
        mean_ms: u64,
    },
}

impl LinkFault {
    /// `effect` on every link and every message.
    pub const fn everywhere(effect: LinkEffect) -> Self {
        Self { from: Vec::new(), to: Vec::new(), labels: Vec::new(), effect }
    }

    /// Whether it concerns a message of this label on this link.
    pub fn concerns(&self, from: ReplicaId, to: ReplicaId, label: &str) -> bool {
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(beginning) => label.starts_with(beginning),
            None => label == pattern,
        };
        (self.from.is_empty() || self.from.contains(&from))
            && (self.to.is_empty() || self.to.contains(&to))
            && (self.labels.is_empty() || self.labels.iter().any(fits))
    }
}

impl LinkEffect {
    /// The kind, as traces and digests name it.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Loss { .. } => "loss",
            Self::Duplicate { .. } => "duplicate",
            Self::Reorder { .. } => "reorder",
            Self::Replay { .. } => "replay-on-link",
            Self::Latency(_) => "latency",
            Self::Bandwidth { .. } => "bandwidth",
            Self::Capacity { .. } => "capacity",
            Self::Clog => "clog",
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::Loss { per_mille } | Self::Duplicate { per_mille } => check_per_mille(*per_mille),
            Self::Reorder { per_mille, up_to_ms } | Self::Replay { per_mille, up_to_ms } => {
                check_per_mille(*per_mille)?;
                check_millis("up_to_ms", *up_to_ms)
            }
            Self::Latency(delay) => delay.check(),
            Self::Bandwidth { bytes_per_second: 0 } => {
                Err("bytes_per_second is 0; give at least 1, or use `clog`".to_owned())
            }
            Self::Capacity { messages: 0 } => {
                Err("messages is 0; give at least 1, or lose all: `loss` of 1000".to_owned())
            }
            Self::Bandwidth { .. } | Self::Capacity { .. } | Self::Clog => Ok(()),
        }
    }
}

impl Delay {
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::Constant { ms } => check_millis("ms", *ms),
            Self::Uniform { min_ms, max_ms } if min_ms > max_ms => {
                Err(format!("min_ms is {min_ms} and max_ms is {max_ms}; swap them"))
            }
            Self::Uniform { max_ms, .. } => check_millis("max_ms", *max_ms),
            Self::Exponential { floor_ms, mean_ms } => {
                check_millis("floor_ms", *floor_ms)?;
                check_millis("mean_ms", *mean_ms)
            }
        }
    }
}

impl From<Delay> for Latency {
    fn from(delay: Delay) -> Self {
        let millis = Duration::from_millis;
        match delay {
            Delay::Constant { ms } => Self::Constant(millis(ms)),
            Delay::Uniform { min_ms, max_ms } => Self::Uniform { min: millis(min_ms), max: millis(max_ms) },
            Delay::Exponential { floor_ms, mean_ms } => {
                Self::Exponential { floor: millis(floor_ms), mean: millis(mean_ms) }
            }
        }
    }
}

pub(super) fn check_per_mille(per_mille: u16) -> Result<(), String> {
    match per_mille {
        0..=1_000 => Ok(()),
        _ => Err(format!("per_mille is {per_mille}; thousandths go from 0 to 1000")),
    }
}

pub(super) fn check_millis(field: &str, millis: u64) -> Result<(), String> {
    match millis {
        0..=DELAY_MAX_MS => Ok(()),
        _ => Err(format!("{field} is {millis}; at most {DELAY_MAX_MS}, a day")),
    }
}
