//! Why work that waits in a queue was not done.

use std::time::Duration;

/// Why work was not done. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QueueError {
    #[error("the chain is busy: {max} calls wait already; try again later")]
    Full { max: usize },
    #[error("the chain is busy: the call waited {} s for its turn; try again later", waited.as_secs())]
    TimedOut { waited: Duration },
    #[error("the server is stopping")]
    Stopping,
}
