//! The mining mode.

use core::time::Duration;

/// Longest interval that interfaces accept, in seconds: a year of 365 days. The shortest is one second.
pub const MINING_INTERVAL_SECS_MAX: u64 = 31_536_000;

/// When the node makes a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mining {
    /// As soon as a transaction is ready.
    #[default]
    EachTransaction,
    /// At a fixed interval, also an empty one. The interval passes by [`Node::pass_time`](super::Node::pass_time), or by a server's
    /// timer that calls [`Node::mine`](super::Node::mine).
    Interval(Duration),
    /// Only by [`Node::mine`](super::Node::mine).
    Manual,
}
