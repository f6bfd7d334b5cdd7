//! Last record of a trace: counts and a digest of all before it, and the outcome of the run.

use serde::{Deserialize, Serialize};

use super::{Trace, TraceContent, TraceEntry, TraceError, TraceHeader, framing::push_record};
use crate::primitives::B256;

/// Outcome of a recorded run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum TraceOutcome {
    /// What was expected occurred; without an expectation, no invariant was violated.
    #[default]
    Passed,
    /// An invariant was violated, the expected outcome did not occur, or the run could not go on.
    Failed {
        /// The reason, for readers.
        reason: String,
    },
}

/// Last record of both written forms: what a reader must have found before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TraceEnd {
    /// Number of entries by kind.
    pub(super) counts: EntryCounts,
    /// BLAKE3 of the header's and the entries' records in the binary form, lengths included.
    pub(super) digest: B256,
    /// Outcome of the run.
    pub(super) outcome: TraceOutcome,
}

/// Number of entries by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EntryCounts {
    message: u64,
    block: u64,
    step: u64,
    sent: u64,
    status: u64,
    incident: u64,
    state: u64,
    full: u64,
}

impl EntryCounts {
    fn of(entries: &[TraceEntry]) -> Self {
        let mut counts = Self::default();
        for entry in entries {
            *match &entry.content {
                TraceContent::Message { .. } => &mut counts.message,
                TraceContent::Block { .. } => &mut counts.block,
                TraceContent::Step { .. } => &mut counts.step,
                TraceContent::Sent { .. } => &mut counts.sent,
                TraceContent::Status { .. } => &mut counts.status,
                TraceContent::Incident(_) => &mut counts.incident,
                TraceContent::State { .. } => &mut counts.state,
                TraceContent::Full { .. } => &mut counts.full,
            } += 1;
        }
        counts
    }

    const fn named(&self) -> [(&'static str, u64); 8] {
        [
            ("message", self.message),
            ("block", self.block),
            ("step", self.step),
            ("sent", self.sent),
            ("status", self.status),
            ("incident", self.incident),
            ("state", self.state),
            ("full", self.full),
        ]
    }
}

impl Trace {
    /// Takes the outcome from the last record, which must be there and fit all before it.
    pub(super) fn ended_by(mut self, end: Option<TraceEnd>) -> Result<Self, TraceError> {
        let end = end.ok_or(TraceError::NoEnd { entries: self.entries.len() })?;
        end.check(&self)?;
        self.outcome = end.outcome;
        Ok(self)
    }
}

impl TraceEnd {
    pub(super) fn of(trace: &Trace) -> Self {
        Self {
            counts: EntryCounts::of(&trace.entries),
            digest: digest(&trace.header, &trace.entries),
            outcome: trace.outcome.clone(),
        }
    }

    /// Checks what was read before this record.
    pub(super) fn check(&self, trace: &Trace) -> Result<(), TraceError> {
        let read = EntryCounts::of(&trace.entries);
        let differences = self.counts.named().into_iter().zip(read.named()).filter(|((_, want), (_, got))| want != got);
        let differences: Vec<_> =
            differences.map(|((kind, want), (_, got))| format!("{got} of {want} entries `{kind}`")).collect();
        if !differences.is_empty() {
            return Err(TraceError::Incomplete { found: differences.join(", ") });
        }
        let got = digest(&trace.header, &trace.entries);
        if got == self.digest { Ok(()) } else { Err(TraceError::Changed { got, want: self.digest }) }
    }
}

fn digest(header: &TraceHeader, entries: &[TraceEntry]) -> B256 {
    let (mut hasher, mut record) = (blake3::Hasher::new(), Vec::new());
    push_record(&mut record, header);
    hasher.update(&record);
    for entry in entries {
        record.clear();
        push_record(&mut record, entry);
        hasher.update(&record);
    }
    B256::new(*hasher.finalize().as_bytes())
}
