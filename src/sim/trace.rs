//! Traces: recorded runs, which can be shown, and replayed without the seed.
//!
//! A [`Trace`] is a [`TraceHeader`] (parameters and keys of the replicas) and [`TraceEntry`]s in the order in which they
//! occurred. A network records one when it is built [`with_trace`](crate::sim::NetworkBuilder::with_trace); otherwise
//! recording costs one comparison a step. [`Replay`] passes the recorded events to new protocol instances, one by one, and
//! compares their effects.
//!
//! Two forms have the same contents:
//!
//! - **NDJSON** ([`Trace::to_ndjson`]): the header on the first line, then an entry a line, then the end.
//! - **Binary** ([`Trace::to_binary`]): the 8 bytes `CBXTRACE`, then the header, each entry and the end as a length (LEB128) and so
//!   many bytes in postcard's wire format, version 1: fields in the order of these types, integers as varints, byte strings and lists
//!   after their length, an enum's place before its content. An entry's record begins with a byte 0, the end's with a byte 1.
//!
//! The end has the number of entries by kind, the BLAKE3 of the binary records before it, and the run's [`TraceOutcome`]. A trace that
//! lost or changed anything is refused with what is missing.

mod binary;
mod end;
mod entry;
mod error;
mod framing;
mod ndjson;
mod record;
mod replay;
mod status;

#[cfg(test)]
mod tests;

use super::engine::clock::SimTime;

pub use crate::consensus::RoundRole;
pub use end::TraceOutcome;
pub use entry::{Incident, Participant, TraceContent, TraceEntry, TraceHeader, TracedEffect, TracedEvent, Written};
pub use error::{ReplayError, TraceError};
pub(super) use record::Recorder;
pub use replay::{Replay, ReplayStep};
pub use status::ReplicaStatus;

/// The version of both forms that this build writes and reads.
pub const TRACE_VERSION: u32 = 2;
/// Most entries of a trace; later ones are left out, which the trace notes.
pub const TRACE_ENTRIES_MAX: usize = 4_000_000;
/// Most bytes of one line or record that a reader accepts.
pub const TRACE_RECORD_BYTES_MAX: usize = 64 << 20;

/// A recorded run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Parameters and keys of the replicas.
    pub header: TraceHeader,
    /// Entries, in order.
    pub entries: Vec<TraceEntry>,
    /// Outcome of the run.
    pub outcome: TraceOutcome,
}

impl Trace {
    /// Returns the time of the last entry.
    pub fn ends_at(&self) -> SimTime {
        SimTime::from_nanos(self.entries.last().map_or(0, |entry| entry.at_ns))
    }

    /// Sets the outcome of the run.
    #[must_use]
    pub fn with_outcome(mut self, outcome: TraceOutcome) -> Self {
        self.outcome = outcome;
        self
    }

    /// Iterates over the incidents with their times.
    pub fn incidents(&self) -> impl Iterator<Item = (SimTime, &Incident)> {
        self.entries.iter().filter_map(|entry| match &entry.content {
            TraceContent::Incident(incident) => Some((SimTime::from_nanos(entry.at_ns), incident)),
            _ => None,
        })
    }

    /// Reads either form, detected by its first bytes.
    ///
    /// # Errors
    /// [`TraceError`], with the invalid line or record, or with what is missing.
    pub fn read(bytes: &[u8]) -> Result<Self, TraceError> {
        if bytes.starts_with(binary::MAGIC) { Self::from_binary(bytes) } else { Self::from_ndjson(bytes) }
    }

    /// Reads either form like [`Trace::read`], but takes one that lost lines, or its end, as far as it goes: every entry is checked
    /// by itself, and the outcome is that of the end, if there is one.
    ///
    /// # Errors
    /// [`TraceError`], with the invalid line or record.
    pub fn read_incomplete(bytes: &[u8]) -> Result<Self, TraceError> {
        let is_binary = bytes.starts_with(binary::MAGIC);
        let (trace, end) = if is_binary { Self::parse_binary(bytes)? } else { Self::parse_ndjson(bytes)? };
        Ok(trace.with_outcome(end.map(|end| end.outcome).unwrap_or_default()))
    }

    /// Checks the order of times, and that every number refers to an introduced message or block.
    fn checked(self) -> Result<Self, TraceError> {
        let replicas = self.header.replicas.len();
        let (mut messages, mut blocks, mut latest) = (0, 0, 0);
        for (place, entry) in self.entries.iter().enumerate() {
            // The header is the first record.
            let record = place + 2;
            let malformed = |reason: String| TraceError::Malformed { record, reason };
            if entry.at_ns < latest {
                return Err(malformed(format!(
                    "time {} ns is before {latest} ns, that of an earlier entry",
                    entry.at_ns
                )));
            }
            latest = entry.at_ns;
            match &entry.content {
                TraceContent::Message { message, .. } if *message != messages => {
                    return Err(malformed(format!("message {message} is out of order; expected {messages}")));
                }
                TraceContent::Message { .. } => messages += 1,
                TraceContent::Block { block, .. } if *block != blocks => {
                    return Err(malformed(format!("block {block} is out of order; expected {blocks}")));
                }
                TraceContent::Block { .. } => blocks += 1,
                _ => {}
            }
            if let Some(replica) = entry.content.replicas().find(|replica| *replica as usize >= replicas) {
                return Err(malformed(format!("replica {replica} is not one of the {replicas} in the header")));
            }
            if let Some(message) = entry.content.messages().find(|message| *message >= messages) {
                return Err(malformed(format!("message {message} is named before it is told")));
            }
            if let Some(block) = entry.content.block_number().filter(|block| *block >= blocks) {
                return Err(malformed(format!("block {block} is named before it is told")));
            }
        }
        Ok(self)
    }
}
