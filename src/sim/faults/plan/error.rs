//! Why a plan can't be.

/// Why a fault plan was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Not TOML, or not a plan.
    #[error("fault plan: {0}")]
    Toml(#[from] toml::de::Error),
    /// Not JSON, or not a plan.
    #[error("fault plan: {0}")]
    Json(#[from] serde_json::Error),
    /// Of another version of the format.
    #[error("fault plan has version {got}; this build reads version {want}")]
    Version {
        /// The plan's.
        got: u64,
        /// The one that is read.
        want: u32,
    },
    /// More faults than a plan may have.
    #[error("fault plan has {got} faults; at most {limit}")]
    TooMany {
        /// How many.
        got: usize,
        /// The bound.
        limit: usize,
    },
    /// A time beyond every run.
    #[error("fault {index}: {field} is more than {limit}, a year in milliseconds")]
    TooLong {
        /// Place in the list, from 0.
        index: usize,
        /// Which field.
        field: &'static str,
        /// The bound.
        limit: u64,
    },
    /// A fault that this network can't have.
    #[error("fault {index} ({kind}): {reason}")]
    Fault {
        /// Place in the list, from 0.
        index: usize,
        /// Its kind.
        kind: &'static str,
        /// What is wrong and what to change.
        reason: String,
    },
}
