//! The call tracer: all frames of a message as a tree, in the format of geth's `callTracer`.

use alloy_primitives::{Address, B256, Bytes, Log, U64, U256};
use serde::Serialize;

use super::{FrameOutcome, FrameResult, Inspector, Message, MessageKind, abi};

/// [`CallTrace::error`] of a frame that reverted.
pub(crate) const REVERTED: &str = "execution reverted";

/// One frame and the frames it called, as returned by `debug_traceTransaction` with `callTracer`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallTrace {
    /// `CALL`, `STATICCALL` or `CREATE`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Caller.
    pub from: Address,
    /// Callee; the new contract of a creation.
    pub to: Address,
    /// Amount transferred, in wei; absent for a static call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<U256>,
    /// Gas limit of the frame. For a whole transaction, set it to the gas limit.
    pub gas: U64,
    /// Gas used by the frame. For a whole transaction, set it to the receipt's.
    pub gas_used: U64,
    /// Call data or init code.
    pub input: Bytes,
    /// Return data, revert data or deployed code; absent when empty.
    #[serde(skip_serializing_if = "is_empty")]
    pub output: Bytes,
    /// Reason of failure, in geth's terms where geth has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Reason in the revert data, when it is `Error(string)` or `Panic(uint256)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revert_reason: Option<String>,
    /// Frames called by this one, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallTrace>,
    /// Logs of this frame; only with [`CallTracer::with_logs`], and none of a failed frame.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<CallTraceLog>,
}

/// A log inside a [`CallTrace`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallTraceLog {
    /// Emitting contract.
    pub address: Address,
    /// Topics.
    pub topics: Vec<B256>,
    /// Data bytes.
    pub data: Bytes,
    /// Number of calls in the same frame before it.
    pub position: U64,
}

/// Builds a [`CallTrace`].
#[derive(Clone, Debug, Default)]
pub struct CallTracer {
    open: Vec<CallTrace>,
    root: Option<CallTrace>,
    keeps_logs: bool,
    only_outermost: bool,
    /// Number of open frames not recorded because only the outermost is.
    skipped: usize,
}

impl CallTracer {
    /// Creates a tracer of all frames, without logs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether logs are recorded (`withLog`).
    #[must_use]
    pub const fn with_logs(mut self, keeps_logs: bool) -> Self {
        self.keeps_logs = keeps_logs;
        self
    }

    /// Sets whether only the outermost frame is recorded (`onlyTopCall`).
    #[must_use]
    pub const fn with_only_outermost(mut self, only_outermost: bool) -> Self {
        self.only_outermost = only_outermost;
        self
    }

    /// Returns the outermost frame, once it has ended.
    pub fn into_trace(self) -> Option<CallTrace> {
        self.root
    }
}

impl Inspector for CallTracer {
    fn enter(&mut self, message: &Message<'_>) {
        if self.only_outermost && !self.open.is_empty() {
            self.skipped += 1;
            return;
        }
        let (kind, value) = match message.kind {
            MessageKind::Call => ("CALL", Some(message.value)),
            MessageKind::StaticCall => ("STATICCALL", None),
            MessageKind::Create => ("CREATE", Some(message.value)),
        };
        self.open.push(CallTrace {
            kind,
            from: message.caller,
            to: message.to,
            value,
            gas: U64::from(message.gas.get()),
            gas_used: U64::ZERO,
            input: Bytes::copy_from_slice(message.input),
            output: Bytes::new(),
            error: None,
            revert_reason: None,
            calls: Vec::new(),
            logs: Vec::new(),
        });
    }

    fn log(&mut self, log: &Log) {
        if !self.keeps_logs || self.skipped > 0 {
            return;
        }
        if let Some(frame) = self.open.last_mut() {
            frame.logs.push(CallTraceLog {
                address: log.address,
                topics: log.topics().to_vec(),
                data: log.data.data.clone(),
                position: U64::from(frame.calls.len()),
            });
        }
    }

    fn exit(&mut self, result: &FrameResult) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        let Some(mut frame) = self.open.pop() else { return };
        frame.gas_used = frame.gas.saturating_sub(U64::from(result.gas_left.get()));
        frame.output = result.output.clone();
        match result.outcome {
            FrameOutcome::Success => {}
            FrameOutcome::Revert => {
                frame.error = Some(REVERTED.to_owned());
                frame.revert_reason = abi::reason(&result.output);
            }
            FrameOutcome::Halt(reason) => frame.error = Some(reason.to_string()),
        }
        if !result.is_success() {
            drop_logs(&mut frame);
        }
        match self.open.last_mut() {
            Some(parent) => parent.calls.push(frame),
            None => self.root = Some(frame),
        }
    }
}

fn is_empty(bytes: &Bytes) -> bool {
    bytes.is_empty()
}

/// Removes the logs of a failed frame and of the frames it called. The recursion is at most as deep as the frames.
fn drop_logs(frame: &mut CallTrace) {
    frame.logs.clear();
    frame.calls.iter_mut().for_each(drop_logs);
}
