//! The call tracer: every frame of a message as a tree, in the form of geth's `callTracer`.

use alloy_primitives::{Address, B256, Bytes, Log, U64, U256};
use serde::Serialize;

use super::{FrameResult, Inspector, Message, MessageKind, Outcome, abi};

/// One frame and those that it called, as `debug_traceTransaction` with `callTracer` answers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallTrace {
    /// `CALL`, `STATICCALL`, `CREATE`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Who called.
    pub from: Address,
    /// Whom; the new contract of a creation.
    pub to: Address,
    /// Amount moved, in the smallest unit; absent for a static call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<U256>,
    /// Gas that it was given. For a whole transaction, set it to the gas limit.
    pub gas: U64,
    /// Gas that it used. For a whole transaction, set it to the receipt's.
    pub gas_used: U64,
    /// Call data or init code.
    pub input: Bytes,
    /// Return data, revert data or deployed code; absent when empty.
    #[serde(skip_serializing_if = "is_empty")]
    pub output: Bytes,
    /// Why it failed, in geth's words where geth has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the revert data says, when it is `Error(string)` or `Panic(uint256)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revert_reason: Option<String>,
    /// Frames inside, in order.
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
    /// Who emitted it.
    pub address: Address,
    /// Its topics.
    pub topics: Vec<B256>,
    /// Its data.
    pub data: Bytes,
    /// How many calls of the same frame came before it.
    pub position: U64,
}

/// Builds a [`CallTrace`].
#[derive(Clone, Debug, Default)]
pub struct CallTracer {
    open: Vec<CallTrace>,
    root: Option<CallTrace>,
    keeps_logs: bool,
    only_outermost: bool,
    /// Frames not recorded because only the outermost is.
    skipped: usize,
}

impl CallTracer {
    /// Returns a tracer of all frames, without logs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records logs too (`withLog`).
    #[must_use]
    pub const fn with_logs(mut self, keeps_logs: bool) -> Self {
        self.keeps_logs = keeps_logs;
        self
    }

    /// Records the outermost frame only (`onlyTopCall`).
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
            Outcome::Success => {}
            Outcome::Revert => {
                frame.error = Some("execution reverted".to_owned());
                frame.revert_reason = abi::reason(&result.output);
            }
            Outcome::Halt(reason) => frame.error = Some(reason.to_string()),
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

/// What failed emitted nothing, nor did what it called. At most as deep as frames nest.
fn drop_logs(frame: &mut CallTrace) {
    frame.logs.clear();
    frame.calls.iter_mut().for_each(drop_logs);
}
