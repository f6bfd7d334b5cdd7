//! Execution results shared by the replicas of a process.

/// From block hash to post-state and receipts. Clones share one cache.
///
/// A replica uses a result only for a body equal to the one that gave it, on a parent that it holds; results die at
/// finality.
#[derive(Clone, Debug, Default)]
pub struct ExecutionCache {}

impl ExecutionCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }
}
