//! A broken invariant.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::sim::engine::clock::SimTime;

/// Violation of an invariant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(deny_unknown_fields)]
#[error("invariant `{invariant}` is broken at {at}, step {step}: {detail}")]
pub struct Violation {
    /// Name of the invariant.
    pub invariant: Cow<'static, str>,
    /// Virtual time.
    pub at: SimTime,
    /// Steps of the run before it.
    pub step: u64,
    /// Replicas and values involved.
    pub detail: String,
}
