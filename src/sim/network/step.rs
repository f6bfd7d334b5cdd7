//! Description of one processed event.

use crate::{consensus::ReplicaId, sim::engine::clock::SimTime};

/// One processed event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimStep {
    /// Virtual time.
    pub at: SimTime,
    /// Replica that it affected.
    pub replica: ReplicaId,
    /// Kind: `message`, `transaction`, `block-request`, `block-response`, `judgement`, `timer`, and under faults
    /// `departure`, `building`, `written`, `fault-begins` or `fault-ends`.
    pub label: &'static str,
}
