//! A replica's observations of its run: counters, evidence, coverage marks, rejections.

use imbl::{OrdMap, Vector};

use crate::consensus::{ConsensusMessage, Event, Evidence, Rejection};

/// Pieces of evidence stored; later ones are only counted.
const EVIDENCE_MAX: usize = 256;

/// Counters of a replica since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReplicaCounters {
    /// Blocks built here.
    pub blocks_built: u64,
    /// Head changes.
    pub heads: u64,
    /// Head changes that removed blocks.
    pub reorgs: u64,
    /// Inputs rejected by the protocol.
    pub rejected: u64,
    /// Transactions from peers that the pool refused.
    pub transactions_refused: u64,
    /// Pieces of evidence found.
    pub evidence: u64,
    /// Restarts after a crash.
    pub restarts: u64,
    /// Writes lost in crashes.
    pub writes_lost: u64,
    /// Lost writes that were torn.
    pub writes_torn: u64,
    /// Losses of the disk, and discarded damaged disks.
    pub wipes: u64,
    /// Damaged records, detected by their checksums.
    pub records_damaged: u64,
}

/// What the protocol reported, for tests, invariants and reports; it has no effect on the run. Cloning is O(1).
#[derive(Clone, Debug, Default)]
pub(super) struct Observations {
    pub(super) counters: ReplicaCounters,
    pub(super) evidence: Vector<Evidence>,
    /// Named coverage points, with counts.
    pub(super) marks: OrdMap<&'static str, u64>,
    pub(super) last_rejection: Option<Rejection>,
    /// Messages of other replicas that reached its protocol.
    pub(super) messages: u64,
    /// The newest of them since the process started.
    pub(super) last_message: Option<ConsensusMessage>,
}

impl Observations {
    /// Records a piece of evidence.
    pub(super) fn add_evidence(&mut self, evidence: Evidence) {
        self.counters.evidence += 1;
        if self.evidence.len() < EVIDENCE_MAX {
            self.evidence.push_back(evidence);
        }
    }

    /// Records what reaches the protocol.
    pub(super) fn note_input(&mut self, event: &Event) {
        match event {
            Event::Start => self.last_message = None,
            Event::Message { message, .. } => {
                self.messages += 1;
                self.last_message = Some(message.clone());
            }
            _ => {}
        }
    }

    /// Records a rejection.
    pub(super) fn add_rejection(&mut self, rejection: Rejection) {
        self.counters.rejected += 1;
        self.last_rejection = Some(rejection);
    }

    /// Counts a passed coverage point.
    pub(super) fn add_mark(&mut self, name: &'static str) {
        *self.marks.entry(name).or_default() += 1;
    }
}
