//! Watching a message run.

use alloy_primitives::Log;

use super::{FrameResult, Message};

/// Told of every frame and log, in order. Object-safe, and stays so.
///
/// It cannot change what happens. Running without one costs one test of a pointer a frame and log.
pub trait Inspector {
    /// Returns a frame begins.
    fn enter(&mut self, message: &Message<'_>) {
        let _ = message;
    }

    /// Returns the innermost open frame emitted a log.
    fn log(&mut self, log: &Log) {
        let _ = log;
    }

    /// Returns the innermost open frame ended.
    fn exit(&mut self, result: &FrameResult) {
        let _ = result;
    }
}
