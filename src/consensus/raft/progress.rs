//! Replication progress of each follower, and flow control.
//!
//! A follower is probed with one message at a time until the leader knows where the logs match; then entries are
//! pipelined within a window of in-flight messages; a follower that needs compacted entries fetches blocks first.

use imbl::{OrdMap, Vector};

use super::Membership;
use crate::consensus::{Encoder, ReplicaId};

/// A follower's progress in the view of its leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    matched: u64,
    next: u64,
    state: ProgressState,
    /// Whether a message arrived from it since the last check of the quorum.
    pub(super) active: bool,
    /// The newest heartbeat round that it responded to.
    pub(super) round: u64,
}

/// Mode of replication to a follower.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ProgressState {
    /// One message, then a pause until its response or a heartbeat's.
    Probe { sent: bool },
    /// Pipelined; `inflight` is the last index of each in-flight message.
    Replicate { inflight: Vector<u64> },
    /// Paused until it has caught up to this index by fetching blocks.
    Snapshot { index: u64 },
}

impl Progress {
    /// Creates the progress of a follower about which nothing is known, for a leader whose log ends at `last_index`.
    pub(super) fn new(last_index: u64) -> Self {
        Self {
            matched: 0,
            next: last_index.max(1),
            state: ProgressState::Probe { sent: false },
            active: true,
            round: 0,
        }
    }

    /// Returns the match index: the largest index known to be durable at the follower.
    pub(super) const fn matched(&self) -> u64 {
        self.matched
    }

    /// Returns the next index to send.
    pub(super) const fn next_index(&self) -> u64 {
        self.next
    }

    /// Returns whether no entries may be sent now.
    pub(super) fn is_paused(&self, inflight_max: usize) -> bool {
        match &self.state {
            ProgressState::Probe { sent } => *sent,
            ProgressState::Replicate { inflight } => inflight.len() >= inflight_max,
            ProgressState::Snapshot { .. } => true,
        }
    }

    /// Returns whether entries are pipelined.
    pub(super) const fn is_replicating(&self) -> bool {
        matches!(self.state, ProgressState::Replicate { .. })
    }

    /// Returns the index that the follower is catching up to by fetching blocks.
    pub(super) const fn snapshot(&self) -> Option<u64> {
        match self.state {
            ProgressState::Snapshot { index } => Some(index),
            _ => None,
        }
    }

    /// Records a sent message with entries up to `last` (or none).
    pub(super) fn sent(&mut self, last: Option<u64>) {
        match (&mut self.state, last) {
            (ProgressState::Probe { sent }, _) => *sent = true,
            (ProgressState::Replicate { inflight }, Some(last)) => {
                inflight.push_back(last);
                self.next = last + 1;
            }
            (ProgressState::Replicate { .. } | ProgressState::Snapshot { .. }, _) => {}
        }
    }

    /// Records that everything up to `index` is durable at the follower. Returns whether the match index advanced.
    pub(super) fn acknowledge(&mut self, index: u64) -> bool {
        let advanced = index > self.matched;
        self.matched = self.matched.max(index);
        self.next = self.next.max(index + 1);
        match &mut self.state {
            ProgressState::Probe { .. } => self.state = ProgressState::Replicate { inflight: Vector::new() },
            ProgressState::Replicate { inflight } => {
                while inflight.front().is_some_and(|last| *last <= index) {
                    inflight.pop_front();
                }
            }
            ProgressState::Snapshot { index: target } if *target <= self.matched => {
                self.state = ProgressState::Replicate { inflight: Vector::new() };
                self.next = self.matched + 1;
            }
            ProgressState::Snapshot { .. } => {}
        }
        advanced
    }

    /// Records that the follower lacks the entry `rejected`; `hint` is the last index that may match. Returns whether
    /// the progress changed.
    ///
    /// A learner that lost its disk lacks entries that it acknowledged, and the match index goes back: no commit counted
    /// it. A voter's never does; one that lost its disk has to be removed and added again.
    pub(super) fn reject(&mut self, rejected: u64, hint: u64, is_learner: bool) -> bool {
        if rejected <= self.matched {
            if !is_learner || hint >= self.matched {
                return false;
            }
            (self.matched, self.next, self.state) = (hint, hint + 1, ProgressState::Probe { sent: false });
            return true;
        }
        match &self.state {
            ProgressState::Replicate { .. } => self.next = self.matched + 1,
            // Only the response to the current probe counts.
            ProgressState::Probe { .. } if self.next == rejected + 1 => {
                self.next = rejected.min(hint + 1).max(self.matched + 1)
            }
            _ => return false,
        }
        self.state = ProgressState::Probe { sent: false };
        true
    }

    /// Allows one more message after a heartbeat response.
    pub(super) fn resume(&mut self, inflight_max: usize) {
        match &mut self.state {
            ProgressState::Probe { sent } => *sent = false,
            ProgressState::Replicate { inflight } if inflight.len() >= inflight_max => {
                inflight.pop_front();
            }
            ProgressState::Replicate { .. } | ProgressState::Snapshot { .. } => {}
        }
    }

    /// Pauses replication until the follower has fetched the block at `index`.
    pub(super) fn become_snapshot(&mut self, index: u64) {
        self.state = ProgressState::Snapshot { index };
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { matched, next, state, active, round } = self;
        out.u64(*matched);
        out.u64(*next);
        match state {
            ProgressState::Probe { sent } => {
                out.u8(0);
                out.bool(*sent);
            }
            ProgressState::Replicate { inflight } => {
                out.u8(1);
                out.list(inflight.iter(), |out, last| out.u64(*last));
            }
            ProgressState::Snapshot { index } => {
                out.u8(2);
                out.u64(*index);
            }
        }
        out.bool(*active);
        out.u64(*round);
    }
}

/// Adds the progress of new members, and drops that of removed ones.
pub(super) fn track_members(progress: &mut OrdMap<ReplicaId, Progress>, membership: &Membership, last_index: u64) {
    let members = membership.members();
    let gone: Vec<_> = progress.keys().filter(|replica| !members.contains(*replica)).copied().collect();
    for replica in gone {
        progress.remove(&replica);
    }
    for replica in members {
        if !progress.contains_key(&replica) {
            progress.insert(replica, Progress::new(last_index));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_fills_and_empties_and_a_probe_is_one_message() {
        let mut progress = Progress::new(10);
        progress.sent(Some(10));
        assert!(progress.is_paused(2));
        assert!(progress.reject(9, 4, false));
        assert_eq!((progress.next_index(), progress.is_paused(2)), (5, false));
        assert!(!progress.reject(9, 3, false), "a response to the earlier probe");
        assert!(progress.acknowledge(4));
        for last in [5, 6] {
            progress.sent(Some(last));
        }
        assert!(progress.is_paused(2) && progress.is_replicating());
        assert!(progress.acknowledge(5) && !progress.acknowledge(5));
        assert_eq!((progress.next_index(), progress.is_paused(2)), (7, false));
        progress.become_snapshot(20);
        assert!(progress.is_paused(2) && progress.acknowledge(7) && progress.is_paused(2));
        assert!(progress.acknowledge(20) && progress.is_replicating());
    }

    #[test]
    fn only_a_learner_may_lack_what_it_acknowledged() {
        let mut progress = Progress::new(10);
        assert!(progress.acknowledge(10));
        assert!(!progress.reject(10, 0, false) && !progress.reject(10, 10, true));
        assert_eq!((progress.matched(), progress.next_index()), (10, 11));
        assert!(progress.reject(10, 0, true));
        assert_eq!((progress.matched(), progress.next_index(), progress.is_replicating()), (0, 1, false));
        progress.sent(Some(4));
        assert!(progress.acknowledge(4) && progress.is_replicating());
    }
}
