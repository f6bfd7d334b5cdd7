//! What happened in a run, entry by entry: enough to show it, and to run it again without the seed.
//!
//! A [`Trace`] is a [`TraceHeader`] (what the replicas are made of) and [`TraceEntry`]s in the order in which they
//! happened. A network records one when it is built [`with_trace`](crate::sim::NetworkBuilder::with_trace); otherwise
//! recording costs one comparison a step. [`Replay`] gives the recorded inputs to fresh machines, one by one, and compares
//! what they answer.
//!
//! Two forms hold the same:
//!
//! - **NDJSON** ([`Trace::to_ndjson`]): the header on the first line, then an entry a line.
//! - **Binary** ([`Trace::to_binary`]): the 8 bytes `CBXTRACE`, then the header and each entry as a length (LEB128) and so many
//!   bytes in postcard's wire format, version 1: fields in the order of these types, integers as varints, byte strings and lists
//!   after their length, an enum's place before its content.

mod binary;
mod entry;
mod error;
mod ndjson;
mod record;
mod replay;
mod status;

#[cfg(test)]
mod tests;

use super::engine::clock::SimTime;

pub use entry::{Incident, Input, Output, Participant, TraceEntry, TraceHeader, What, Written};
pub use error::{ReplayError, TraceError};
pub(super) use record::Recorder;
pub use replay::{Replay, ReplayStep};
pub use status::{Part, Status};

/// The version of both forms that this build writes and reads.
pub const TRACE_VERSION: u32 = 1;
/// Entries that a network records at most; what comes later is left out, and the trace says so.
pub const TRACE_ENTRIES_MAX: usize = 4_000_000;
/// Bytes of one line or record that a reader takes at most.
pub const TRACE_RECORD_BYTES_MAX: usize = 64 << 20;

/// A recorded run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// What the replicas are made of.
    pub header: TraceHeader,
    /// What happened, in order.
    pub entries: Vec<TraceEntry>,
}

impl Trace {
    /// When the last entry was made.
    pub fn ends_at(&self) -> SimTime {
        SimTime::from_nanos(self.entries.last().map_or(0, |entry| entry.at_ns))
    }

    /// What was done to the network or seen to be wrong, with its time.
    pub fn incidents(&self) -> impl Iterator<Item = (SimTime, &Incident)> {
        self.entries.iter().filter_map(|entry| match &entry.what {
            What::Incident(incident) => Some((SimTime::from_nanos(entry.at_ns), incident)),
            _ => None,
        })
    }

    /// Reads either form, told by its first bytes.
    ///
    /// # Errors
    /// [`TraceError`], with the line or record that is wrong.
    pub fn read(bytes: &[u8]) -> Result<Self, TraceError> {
        if bytes.starts_with(binary::MAGIC) { Self::from_binary(bytes) } else { Self::from_ndjson(bytes) }
    }

    /// Checks what no single entry shows: times never go back, and numbers name what was there before.
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
            match &entry.what {
                What::Message { message, .. } if *message != messages => {
                    return Err(malformed(format!("message {message} is out of order; expected {messages}")));
                }
                What::Message { .. } => messages += 1,
                What::Block { block, .. } if *block != blocks => {
                    return Err(malformed(format!("block {block} is out of order; expected {blocks}")));
                }
                What::Block { .. } => blocks += 1,
                _ => {}
            }
            if let Some(replica) = entry.what.replicas().find(|replica| *replica as usize >= replicas) {
                return Err(malformed(format!("replica {replica} is not one of the {replicas} in the header")));
            }
            if let Some(message) = entry.what.messages().find(|message| *message >= messages) {
                return Err(malformed(format!("message {message} is named before it is told")));
            }
            if let Some(block) = entry.what.block_number().filter(|block| *block >= blocks) {
                return Err(malformed(format!("block {block} is named before it is told")));
            }
        }
        Ok(self)
    }
}
