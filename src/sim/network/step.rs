//! Description of one processed event.

use crate::{consensus::ReplicaId, sim::engine::clock::SimTime};

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When.
    pub at: SimTime,
    /// To whom.
    pub replica: ReplicaId,
    /// What: `message`, `transaction`, `block-request`, `block-response`, `judgement`, `timer`, and under faults
    /// `departure`, `written`, `fault-begins` or `fault-ends`.
    pub label: &'static str,
}
