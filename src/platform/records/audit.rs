//! The audit log: who did what to what, in the batch that did it.

use serde::{Deserialize, Serialize};

use super::{Owner, Record, RecordError, Unit};

/// A line of the audit log. Lines are only added. They hold names and ids, never secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditLine {
    /// Who acted, such as `user:usr_1` or `key:key_1`.
    pub subject: String,
    /// What was done, such as `workspace.create`.
    pub action: String,
    /// What it was done to: a type of record and an id.
    pub target: String,
}

impl Record for AuditLine {
    const KIND: &'static str = "audit";
}

/// Counter of an owner's lines: their ids follow it, so that lines of one millisecond keep their order.
const LINES: &str = "audit-lines";

impl Unit<'_> {
    /// Adds a line to an owner's audit log.
    ///
    /// # Errors
    /// [`RecordError`] of reading.
    pub fn audit(&mut self, owner: &Owner, line: AuditLine) -> Result<(), RecordError> {
        let number = self.add(owner, LINES, 1)?;
        self.insert(owner, &format!("aud_{number:016x}"), line).map(drop)
    }
}
