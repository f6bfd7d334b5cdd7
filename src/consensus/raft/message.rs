//! Raft's messages.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Entry;
use crate::consensus::{BlockId, Encoder};

/// A message with its sender's term (in a pre-vote request, the next term). Cloning is O(1).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RaftMessage {
    /// The term.
    pub term: u64,
    /// The content.
    pub body: Body,
}

/// The content of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Body {
    /// RequestVote, or its pre-vote.
    RequestVote {
        /// Whether this is a pre-vote, which changes no state.
        pre: bool,
        /// Whether the leader transfers leadership, so that its lease does not count.
        transfer: bool,
        /// The candidate's last log index.
        last_index: u64,
        /// The term of its last entry.
        last_term: u64,
    },
    /// Response to [`Body::RequestVote`].
    Vote {
        /// Whether the request was a pre-vote.
        pre: bool,
        /// Whether the vote is granted.
        granted: bool,
    },
    /// AppendEntries.
    Append {
        /// Index of the entry before `entries`.
        prev_index: u64,
        /// Term of the entry before `entries`.
        prev_term: u64,
        /// Entries in order; if empty, the message only advances the commit index.
        entries: Arc<[Entry]>,
        /// The leader's commit index.
        commit: u64,
    },
    /// Successful response to [`Body::Append`] or [`Body::Snapshot`].
    Appended {
        /// The last matching index, durable at the follower.
        index: u64,
    },
    /// Response to an [`Body::Append`] whose preceding entry the follower lacks.
    AppendRejected {
        /// The index of that preceding entry.
        rejected: u64,
        /// The last index at which the logs may match.
        hint_index: u64,
        /// The term of the entry there.
        hint_term: u64,
    },
    /// Heartbeat of the leader.
    Heartbeat {
        /// Commit index, at most the follower's match index.
        commit: u64,
        /// Heartbeat round, for ReadIndex.
        round: u64,
    },
    /// Response to [`Body::Heartbeat`].
    HeartbeatResponse {
        /// Round of the heartbeat.
        round: u64,
    },
    /// In place of InstallSnapshot: names a committed block for the follower to fetch, with its ancestors.
    Snapshot {
        /// Log index of the block's entry.
        index: u64,
        /// Term of that entry.
        entry_term: u64,
        /// The block.
        block: BlockId,
    },
    /// TimeoutNow: start an election at once (leadership transfer).
    TimeoutNow,
}

impl RaftMessage {
    /// Returns the message kind, for filters, traces and digests.
    pub const fn label(&self) -> &'static str {
        match self.body {
            Body::RequestVote { pre: true, .. } => "raft-pre-vote-request",
            Body::RequestVote { pre: false, .. } => "raft-vote-request",
            Body::Vote { pre: true, .. } => "raft-pre-vote",
            Body::Vote { pre: false, .. } => "raft-vote",
            Body::Append { .. } => "raft-append",
            Body::Appended { .. } => "raft-appended",
            Body::AppendRejected { .. } => "raft-append-rejected",
            Body::Heartbeat { .. } => "raft-heartbeat",
            Body::HeartbeatResponse { .. } => "raft-heartbeat-answer",
            Body::Snapshot { .. } => "raft-snapshot",
            Body::TimeoutNow => "raft-timeout-now",
        }
    }

    /// Returns the content's length in bytes: 32 for the fixed fields, 16 and the block for each entry.
    pub fn size_bytes(&self) -> usize {
        let entries = match &self.body {
            Body::Append { entries, .. } => entries.as_ref(),
            _ => &[],
        };
        32 + entries.iter().map(|entry| 16 + entry.block.as_ref().map_or(0, |block| block.size())).sum::<usize>()
    }

    pub(crate) fn encode(&self, out: &mut Encoder) {
        out.u64(self.term);
        match &self.body {
            Body::RequestVote { pre, transfer, last_index, last_term } => {
                out.u8(1);
                out.bool(*pre);
                out.bool(*transfer);
                out.u64(*last_index);
                out.u64(*last_term);
            }
            Body::Vote { pre, granted } => {
                out.u8(2);
                out.bool(*pre);
                out.bool(*granted);
            }
            Body::Append { prev_index, prev_term, entries, commit } => {
                out.u8(3);
                out.u64(*prev_index);
                out.u64(*prev_term);
                out.list(entries.iter(), |out, entry| entry.encode(out));
                out.u64(*commit);
            }
            Body::Appended { index } => {
                out.u8(4);
                out.u64(*index);
            }
            Body::AppendRejected { rejected, hint_index, hint_term } => {
                out.u8(5);
                out.u64(*rejected);
                out.u64(*hint_index);
                out.u64(*hint_term);
            }
            Body::Heartbeat { commit, round } => {
                out.u8(6);
                out.u64(*commit);
                out.u64(*round);
            }
            Body::HeartbeatResponse { round } => {
                out.u8(7);
                out.u64(*round);
            }
            Body::Snapshot { index, entry_term, block } => {
                out.u8(8);
                out.u64(*index);
                out.u64(*entry_term);
                block.encode(out);
            }
            Body::TimeoutNow => out.u8(9),
        }
    }
}
