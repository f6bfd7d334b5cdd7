//! Command lines that are refused before anything runs.

/// Invalid flags: nothing was run. The exit status is [`USAGE`](crate::USAGE).
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refused(pub(crate) String);
