//! What a leader knows of each follower, and how much it sends at once.
//!
//! A follower is probed with one message at a time until the leader knows where its log ends; then entries are sent
//! ahead of their acknowledgements, within a window; one that needs what the log no longer has fetches blocks first.

use imbl::{OrdMap, Vector};

use super::Membership;
use crate::consensus::{Encoder, ReplicaId};

/// One follower, as its leader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    matched: u64,
    next: u64,
    flow: Flow,
    /// Whether it was heard since the quorum was last checked.
    pub(super) active: bool,
    /// The newest round of heartbeats that it answered.
    pub(super) round: u64,
}

/// How entries are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Flow {
    /// One message, then wait for its answer or a heartbeat's.
    Probe { sent: bool },
    /// Ahead of acknowledgements: the last index of each message on its way.
    Replicate { inflight: Vector<u64> },
    /// Nothing until it has caught up to this index by fetching blocks.
    Snapshot { index: u64 },
}

impl Progress {
    /// A follower of whom nothing is known, by a leader whose log ends at `last_index`.
    pub(super) fn new(last_index: u64) -> Self {
        Self { matched: 0, next: last_index.max(1), flow: Flow::Probe { sent: false }, active: true, round: 0 }
    }

    /// The largest index known to be durable there.
    pub(super) const fn matched(&self) -> u64 {
        self.matched
    }

    /// The first index to send.
    pub(super) const fn next_index(&self) -> u64 {
        self.next
    }

    /// Whether nothing may be sent now.
    pub(super) fn is_paused(&self, inflight_max: usize) -> bool {
        match &self.flow {
            Flow::Probe { sent } => *sent,
            Flow::Replicate { inflight } => inflight.len() >= inflight_max,
            Flow::Snapshot { .. } => true,
        }
    }

    /// Whether entries are sent ahead.
    pub(super) const fn is_replicating(&self) -> bool {
        matches!(self.flow, Flow::Replicate { .. })
    }

    /// The block index that it is catching up to by fetching.
    pub(super) const fn snapshot(&self) -> Option<u64> {
        match self.flow {
            Flow::Snapshot { index } => Some(index),
            _ => None,
        }
    }

    /// A message with entries up to `last` (or none) went out.
    pub(super) fn sent(&mut self, last: Option<u64>) {
        match (&mut self.flow, last) {
            (Flow::Probe { sent }, _) => *sent = true,
            (Flow::Replicate { inflight }, Some(last)) => {
                inflight.push_back(last);
                self.next = last + 1;
            }
            (Flow::Replicate { .. } | Flow::Snapshot { .. }, _) => {}
        }
    }

    /// Everything up to `index` is durable there. Answers whether that is news.
    pub(super) fn acknowledge(&mut self, index: u64) -> bool {
        let news = index > self.matched;
        self.matched = self.matched.max(index);
        self.next = self.next.max(index + 1);
        match &mut self.flow {
            Flow::Probe { .. } => self.flow = Flow::Replicate { inflight: Vector::new() },
            Flow::Replicate { inflight } => {
                while inflight.front().is_some_and(|last| *last <= index) {
                    inflight.pop_front();
                }
            }
            Flow::Snapshot { index: target } if *target <= self.matched => {
                self.flow = Flow::Replicate { inflight: Vector::new() };
                self.next = self.matched + 1;
            }
            Flow::Snapshot { .. } => {}
        }
        news
    }

    /// It does not have the entry `rejected`; `hint` is the last that may agree. Answers whether that is news.
    ///
    /// A learner that lost its disk lacks what it acknowledged, and is followed back there: nobody counted on it. A voter never
    /// does; one that lost its disk has to be removed and to join anew.
    pub(super) fn reject(&mut self, rejected: u64, hint: u64, is_learner: bool) -> bool {
        if rejected <= self.matched {
            if !is_learner || hint >= self.matched {
                return false;
            }
            (self.matched, self.next, self.flow) = (hint, hint + 1, Flow::Probe { sent: false });
            return true;
        }
        match &self.flow {
            Flow::Replicate { .. } => self.next = self.matched + 1,
            // An answer to an earlier probe.
            Flow::Probe { .. } if self.next == rejected + 1 => self.next = rejected.min(hint + 1).max(self.matched + 1),
            _ => return false,
        }
        self.flow = Flow::Probe { sent: false };
        true
    }

    /// A heartbeat was answered: one more message may go out.
    pub(super) fn resume(&mut self, inflight_max: usize) {
        match &mut self.flow {
            Flow::Probe { sent } => *sent = false,
            Flow::Replicate { inflight } if inflight.len() >= inflight_max => {
                inflight.pop_front();
            }
            Flow::Replicate { .. } | Flow::Snapshot { .. } => {}
        }
    }

    /// It has to fetch blocks up to the one at `index`.
    pub(super) fn needs_snapshot(&mut self, index: u64) {
        self.flow = Flow::Snapshot { index };
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { matched, next, flow, active, round } = self;
        out.u64(*matched);
        out.u64(*next);
        match flow {
            Flow::Probe { sent } => {
                out.u8(0);
                out.bool(*sent);
            }
            Flow::Replicate { inflight } => {
                out.u8(1);
                out.list(inflight.iter(), |out, last| out.u64(*last));
            }
            Flow::Snapshot { index } => {
                out.u8(2);
                out.u64(*index);
            }
        }
        out.bool(*active);
        out.u64(*round);
    }
}

/// Begins to follow members that are new, and forgets those that left.
pub(super) fn follow_members(progress: &mut OrdMap<ReplicaId, Progress>, membership: &Membership, last_index: u64) {
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
        assert!(!progress.reject(9, 3, false), "an answer to the earlier probe");
        assert!(progress.acknowledge(4));
        for last in [5, 6] {
            progress.sent(Some(last));
        }
        assert!(progress.is_paused(2) && progress.is_replicating());
        assert!(progress.acknowledge(5) && !progress.acknowledge(5));
        assert_eq!((progress.next_index(), progress.is_paused(2)), (7, false));
        progress.needs_snapshot(20);
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
