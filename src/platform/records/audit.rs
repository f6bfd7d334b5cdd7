//! The audit log: who did what to what, in the batch that did it.

use std::net::IpAddr;

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
    /// Address of the client that asked for it; `None` of what the service does by itself.
    pub client: Option<IpAddr>,
}

impl Record for AuditLine {
    const KIND: &'static str = "audit";
    const VERSION: u16 = 2;

    /// Version 1 had no address.
    fn upgrade(version: u16, bytes: &[u8]) -> Option<Self> {
        let (subject, action, target) = (version == 1).then(|| postcard::from_bytes(bytes).ok()).flatten()?;
        Some(Self { subject, action, target, client: None })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_version_1_has_no_address() {
        let bytes = postcard::to_allocvec(&("user:u", "test", "note n1")).unwrap();
        let line = AuditLine::upgrade(1, &bytes).unwrap();
        assert_eq!((line.subject.as_str(), line.target.as_str(), line.client), ("user:u", "note n1", None));
        assert_eq!(AuditLine::upgrade(0, &bytes), None);
    }
}
