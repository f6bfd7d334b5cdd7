//! Observation of a message's frames, logs and hashes.

use alloy_primitives::{B256, Log};

use super::{FrameResult, Message};

/// Observer of every frame, log and hash, in order. It stays object-safe.
///
/// It cannot change the execution. Without an inspector, the cost is one pointer comparison for each of them.
pub trait Inspector {
    /// Called when a frame begins.
    fn enter(&mut self, message: &Message<'_>) {
        let _ = message;
    }

    /// Called when the innermost open frame emits a log.
    fn log(&mut self, log: &Log) {
        let _ = log;
    }

    /// Called when the innermost open frame hashes `preimage`: data, or the place of an element of a mapping (its key and the
    /// mapping's slot, as 64 bytes) or of an array (its slot, as 32 bytes).
    fn hash(&mut self, preimage: &[u8], hash: B256) {
        let _ = (preimage, hash);
    }

    /// Called when the innermost open frame ends.
    fn exit(&mut self, result: &FrameResult) {
        let _ = result;
    }
}
