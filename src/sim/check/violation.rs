//! A broken invariant.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::sim::engine::clock::SimTime;

/// An invariant that does not hold, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(deny_unknown_fields)]
#[error("invariant `{invariant}` is broken at {at}, step {step}: {detail}")]
pub struct Violation {
    /// Its name.
    pub invariant: Cow<'static, str>,
    /// When, in virtual time.
    pub at: SimTime,
    /// After how many steps of the run.
    pub step: u64,
    /// By whom and how.
    pub detail: String,
}
