//! Errors of reading and replaying traces.

use super::TRACE_VERSION;
use crate::{consensus::ConsensusError, primitives::B256};

/// Failure to read a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The input has no header.
    #[error("the trace has no header: {reason}")]
    Header {
        /// The cause.
        reason: String,
    },
    /// The trace has another version.
    #[error(
        "the trace has format {got}; this build reads format {TRACE_VERSION}: record the run again, or replay it with the build \
         that wrote it"
    )]
    Version {
        /// The version in the header.
        got: u32,
    },
    /// A line (NDJSON) or record (binary) is invalid.
    #[error("line {record} of the trace: {reason}")]
    Malformed {
        /// Its number, from 1; the header is the first.
        record: usize,
        /// The cause.
        reason: String,
    },
    /// The last line or record, which tells how many there are, is missing.
    #[error(
        "the end of the trace is missing: its last line, which has the counts, is not there after {entries} entries; record \
         or copy it again"
    )]
    NoEnd {
        /// Number of entries read.
        entries: usize,
    },
    /// There are more or fewer entries than the last line or record has counted.
    #[error("the trace is not whole: it has {found}; record or copy it again")]
    Incomplete {
        /// Number of entries found and expected, of every kind that differs.
        found: String,
    },
    /// The header or an entry is not as it was written.
    #[error("the trace was changed: the digest of its content is {got}, its last line has {want}")]
    Changed {
        /// Digest of the content read.
        got: B256,
        /// Digest in the last line or record.
        want: B256,
    },
    /// The last record is incomplete.
    #[error("the trace ends within record {record}")]
    Truncated {
        /// Its number, from 1.
        record: usize,
    },
}

/// Failure of a replay, or a difference from the recorded run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The header describes no replicas.
    #[error("header of the trace: {reason}")]
    Header {
        /// The cause.
        reason: String,
    },
    /// The protocol refuses the header or the records of a restart.
    #[error("line {record} of the trace")]
    Consensus {
        /// Line.
        record: usize,
        /// The cause.
        #[source]
        source: ConsensusError,
    },
    /// The trace lacks the content of an event.
    #[error("line {record} of the trace: {what} is told nowhere, so it can't be given again")]
    Missing {
        /// Line.
        record: usize,
        /// The missing item.
        what: String,
    },
    /// Content does not decode.
    #[error("line {record} of the trace: {reason}")]
    Content {
        /// Line.
        record: usize,
        /// The cause.
        reason: String,
    },
    /// The protocol returned other effects for the same event.
    #[error(
        "line {record} of the trace: replica {replica} answered otherwise: output {place} is {got}, recorded is {want}"
    )]
    Effect {
        /// Line.
        record: usize,
        /// Replica.
        replica: u32,
        /// Number of the effect, from 1.
        place: usize,
        /// The effect of the replay.
        got: String,
        /// The recorded effect.
        want: String,
    },
    /// A protocol ended in another state.
    #[error("line {record} of the trace: replica {replica} is in state {got}, recorded is {want}")]
    State {
        /// Line.
        record: usize,
        /// Replica.
        replica: u32,
        /// Digest of the replay.
        got: B256,
        /// Recorded digest.
        want: B256,
    },
}
