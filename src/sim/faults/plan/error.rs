//! Errors of fault plans.

use core::time::Duration;

/// Refusal of a fault plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// No valid TOML plan.
    #[error("fault plan: {0}")]
    Toml(#[from] toml::de::Error),
    /// No valid JSON plan.
    #[error("fault plan: {0}")]
    Json(#[from] serde_json::Error),
    /// Another version of the format.
    #[error("fault plan has version {got}; this build reads version {want}")]
    Version {
        /// The plan's version.
        got: u64,
        /// The supported version.
        want: u32,
    },
    /// More faults than a plan may have.
    #[error("fault plan has {got} faults; at most {limit}")]
    TooMany {
        /// Number of faults.
        got: usize,
        /// The bound.
        limit: usize,
    },
    /// A time above the bound.
    #[error("fault {index}: {field} is more than {limit}, a year in milliseconds")]
    TooLong {
        /// Index in the list, from 0.
        index: usize,
        /// The field.
        field: &'static str,
        /// The bound.
        limit: u64,
    },
    /// A time with a fraction of a millisecond, which plans can't have.
    #[error("fault {index}: {field} is {got:?}; give whole milliseconds")]
    Fraction {
        /// Index in the list, from 0.
        index: usize,
        /// The field.
        field: &'static str,
        /// Its value.
        got: Duration,
    },
    /// A fault that does not fit this network.
    #[error("fault {index} ({kind}): {reason}")]
    Fault {
        /// Index in the list, from 0.
        index: usize,
        /// Its kind.
        kind: &'static str,
        /// The problem and its remedy.
        reason: String,
    },
}
