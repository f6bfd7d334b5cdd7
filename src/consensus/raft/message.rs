//! What members say to each other.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Entry;
use crate::consensus::{BlockId, Encoder};

/// A message and the term that its sender is in (or, before an election, would be in). Cloning is O(1).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RaftMessage {
    /// The term.
    pub term: u64,
    /// What is said.
    pub body: Body,
}

/// What is said.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Body {
    /// "Vote for me."
    RequestVote {
        /// Only asked whether it would: nothing changes.
        pre: bool,
        /// The leader wants this election, so that its lease does not count.
        transfer: bool,
        /// Where the candidate's log ends.
        last_index: u64,
        /// The term of its last entry.
        last_term: u64,
    },
    /// The answer to it.
    Vote {
        /// Of which kind the question was.
        pre: bool,
        /// Yes or no.
        granted: bool,
    },
    /// "Add these."
    Append {
        /// Of the entry before them.
        prev_index: u64,
        /// Of the entry before them.
        prev_term: u64,
        /// In order; none only moves the committed mark.
        entries: Arc<[Entry]>,
        /// How far the leader knows its log to be committed.
        commit: u64,
    },
    /// "I have it all up to here."
    Appended {
        /// The last index that is durable and agrees.
        index: u64,
    },
    /// "I don't have the entry before them."
    AppendRejected {
        /// The index of that entry.
        rejected: u64,
        /// The last index at which the logs may agree.
        hint_index: u64,
        /// The term of the entry there.
        hint_term: u64,
    },
    /// "I still lead."
    Heartbeat {
        /// How far the follower's log is known to be committed.
        commit: u64,
        /// Which round of heartbeats, for reads.
        round: u64,
    },
    /// The answer to it.
    HeartbeatAnswer {
        /// Of which round.
        round: u64,
    },
    /// "My log no longer has what you need: fetch this block and those before it." It is committed.
    Snapshot {
        /// The entry that the block is.
        index: u64,
        /// That entry's term.
        entry_term: u64,
        /// The block.
        block: BlockId,
    },
    /// "Stand for election now."
    TimeoutNow,
}

impl RaftMessage {
    /// The kind, for filters, traces and digests.
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
            Body::HeartbeatAnswer { .. } => "raft-heartbeat-answer",
            Body::Snapshot { .. } => "raft-snapshot",
            Body::TimeoutNow => "raft-timeout-now",
        }
    }

    /// Length of the content in bytes: 32 for the fixed fields, 16 and the block for each entry.
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
            Body::HeartbeatAnswer { round } => {
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
