//! Observation of a message's frames and logs.

use alloy_primitives::Log;

use super::{FrameResult, Message};

/// Observer of every frame and log, in order. It stays object-safe.
///
/// It cannot change the execution. Without an inspector, the cost is one pointer comparison per frame and log.
pub trait Inspector {
    /// Called when a frame begins.
    fn enter(&mut self, message: &Message<'_>) {
        let _ = message;
    }

    /// Called when the innermost open frame emits a log.
    fn log(&mut self, log: &Log) {
        let _ = log;
    }

    /// Called when the innermost open frame ends.
    fn exit(&mut self, result: &FrameResult) {
        let _ = result;
    }
}
