//! Faults of links in plans.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    consensus::ReplicaId,
    sim::{
        millis::{is_whole_millis, millis_serde, whole_millis},
        network::links::Latency,
    },
};

/// Longest delay of one message, in milliseconds: a day.
const DELAY_MAX_MS: u64 = 24 * 3_600 * 1_000;

/// A fault of some links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkFault {
    /// Senders; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<ReplicaId>,
    /// Receivers; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<ReplicaId>,
    /// Labels of messages, such as `prepare`, or prefixes that end in `*`; empty for all messages, and for
    /// transactions, block requests and responses, whose labels are `transaction`, `block-request`, `block-response`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Effect on these messages.
    pub effect: LinkEffect,
}

/// Effect of a link fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum LinkEffect {
    /// Some messages are lost.
    Loss {
        /// Probability, in thousandths.
        per_mille: u16,
    },
    /// Some messages arrive twice.
    Duplicate {
        /// Probability, in thousandths.
        per_mille: u16,
    },
    /// Some messages are delayed, so that later ones overtake them.
    Reorder {
        /// Probability, in thousandths.
        per_mille: u16,
        /// Longest additional delay, in whole milliseconds.
        #[serde(rename = "up_to_ms", with = "millis_serde")]
        up_to: Duration,
    },
    /// Some messages arrive again, much later.
    Replay {
        /// Probability, in thousandths.
        per_mille: u16,
        /// Longest delay of the copy, in whole milliseconds.
        #[serde(rename = "up_to_ms", with = "millis_serde")]
        up_to: Duration,
    },
    /// All messages have another latency.
    Latency(Delay),
    /// The link has limited bandwidth; further messages queue.
    Bandwidth {
        /// Bytes per second; at least 1.
        bytes_per_second: u64,
    },
    /// The link holds a limited number of messages; further ones are lost.
    Capacity {
        /// Number of messages; at least 1.
        messages: u32,
    },
    /// Messages are held until the fault ends.
    Clog,
}

/// Distribution of a delay. The durations are whole milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Delay {
    /// Constant.
    Constant {
        /// Delay.
        #[serde(rename = "ms", with = "millis_serde")]
        delay: Duration,
    },
    /// Uniform between two delays.
    Uniform {
        /// Shortest delay.
        #[serde(rename = "min_ms", with = "millis_serde")]
        min: Duration,
        /// Longest delay.
        #[serde(rename = "max_ms", with = "millis_serde")]
        max: Duration,
    },
    /// A floor plus an exponentially distributed part.
    Exponential {
        /// Shortest delay.
        #[serde(rename = "floor_ms", with = "millis_serde")]
        floor: Duration,
        /// Mean of the exponential part.
        #[serde(rename = "mean_ms", with = "millis_serde")]
        mean: Duration,
    },
}

impl LinkFault {
    /// Returns a fault with `effect` on every link and message.
    pub const fn everywhere(effect: LinkEffect) -> Self {
        Self { from: Vec::new(), to: Vec::new(), labels: Vec::new(), effect }
    }

    /// Returns whether it applies to messages of this label on this link.
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
    /// Returns the kind, as traces and digests name it.
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
            Self::Reorder { per_mille, up_to } | Self::Replay { per_mille, up_to } => {
                check_per_mille(*per_mille)?;
                check_delay("up_to_ms", *up_to)
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
            Self::Constant { delay } => check_delay("ms", *delay),
            Self::Uniform { min, max } if min > max => {
                Err(format!("min_ms is {} and max_ms is {}; swap them", whole_millis(*min), whole_millis(*max)))
            }
            Self::Uniform { min, max } => {
                check_delay("min_ms", *min)?;
                check_delay("max_ms", *max)
            }
            Self::Exponential { floor, mean } => {
                check_delay("floor_ms", *floor)?;
                check_delay("mean_ms", *mean)
            }
        }
    }
}

impl From<Delay> for Latency {
    fn from(delay: Delay) -> Self {
        match delay {
            Delay::Constant { delay } => Self::Constant(delay),
            Delay::Uniform { min, max } => Self::Uniform { min, max },
            Delay::Exponential { floor, mean } => Self::Exponential { floor, mean },
        }
    }
}

pub(super) fn check_per_mille(per_mille: u16) -> Result<(), String> {
    match per_mille {
        0..=1_000 => Ok(()),
        _ => Err(format!("per_mille is {per_mille}; thousandths go from 0 to 1000")),
    }
}

pub(super) fn check_delay(field: &str, delay: Duration) -> Result<(), String> {
    match whole_millis(delay) {
        0..=DELAY_MAX_MS if is_whole_millis(delay) => Ok(()),
        0..=DELAY_MAX_MS => Err(format!("{field} is {delay:?}; give whole milliseconds")),
        millis => Err(format!("{field} is {millis}; at most {DELAY_MAX_MS}, a day")),
    }
}
