//! Why a trace can't be read or replayed.

use super::TRACE_VERSION;
use crate::{consensus::ConsensusError, primitives::B256};

/// Why bytes are no trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// Nothing to read, or not even a header.
    #[error("the trace has no header: {reason}")]
    Header {
        /// What is wrong with it.
        reason: String,
    },
    /// Written by another version.
    #[error("the trace has version {got}; this build reads version {TRACE_VERSION}")]
    Version {
        /// The version in the header.
        got: u32,
    },
    /// A line (NDJSON) or record (binary) that says nothing, or nothing that can be.
    #[error("line {record} of the trace: {reason}")]
    Malformed {
        /// Which, from 1; the header is the first.
        record: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The last record ends too early.
    #[error("the trace ends within record {record}")]
    Truncated {
        /// Which, from 1.
        record: usize,
    },
}

/// Why a replay is not the run that was recorded, or can't go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The header describes no replicas.
    #[error("header of the trace: {reason}")]
    Header {
        /// What is wrong with it.
        reason: String,
    },
    /// The protocol refuses what the header or a restart says.
    #[error("line {record} of the trace")]
    Consensus {
        /// Which line.
        record: usize,
        /// Why.
        #[source]
        source: ConsensusError,
    },
    /// An input whose content the trace does not hold.
    #[error("line {record} of the trace: {what} is told nowhere, so it can't be given again")]
    Missing {
        /// Which line.
        record: usize,
        /// What is missing.
        what: String,
    },
    /// Content that does not decode.
    #[error("line {record} of the trace: {reason}")]
    Content {
        /// Which line.
        record: usize,
        /// What is wrong.
        reason: String,
    },
    /// The same machine answered the same input in another way.
    #[error(
        "line {record} of the trace: replica {replica} answered otherwise: output {place} is {got}, recorded is {want}"
    )]
    Output {
        /// Which line.
        record: usize,
        /// Who.
        replica: u32,
        /// Of which output, from 1.
        place: usize,
        /// What it is now.
        got: String,
        /// What was recorded.
        want: String,
    },
    /// A machine ended in another state.
    #[error("line {record} of the trace: replica {replica} is in state {got}, recorded is {want}")]
    State {
        /// Which line.
        record: usize,
        /// Who.
        replica: u32,
        /// Digest now.
        got: B256,
        /// Digest recorded.
        want: B256,
    },
}
