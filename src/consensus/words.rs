//! Messages and timers in words, for readers of a replay.

use super::{
    BlockId, ConsensusKind, ConsensusMessage, TimerId, dpos, pbft, poa,
    pos::{self, PosMessage},
    raft,
};
use crate::primitives::B256;

impl ConsensusMessage {
    /// Returns what it is about, without its kind: views, terms, heights and short hashes, such as
    /// `view 0, height 3, 0x1f2e3d4c…`. Empty where its kind says all.
    pub fn in_words(&self) -> String {
        match self {
            Self::Block(block) => block_in_words(BlockId::of(block)),
            Self::Raft(message) => raft_in_words(message),
            Self::Pbft(message) => pbft_in_words(&message.body),
            Self::Pos(message) => match message.as_ref() {
                PosMessage::Vote(vote) => {
                    let (data, head) = (&vote.data, block_in_words(vote.data.head));
                    let (source, target) = (data.source.epoch, data.target.epoch);
                    format!("slot {}, head at {head}, epochs {source} to {target}", data.slot)
                }
                PosMessage::Offence(_) => String::new(),
            },
            Self::Own(message) => {
                let digest = B256::new(*blake3::hash(message.content()).as_bytes());
                format!("{} bytes, {}", message.content().len(), short(&digest))
            }
        }
    }
}

impl ConsensusKind {
    /// Returns the name of one of the protocol's timers; `None` for a number that it does not use.
    pub fn timer_name(self, timer: TimerId) -> Option<&'static str> {
        let names: &[(TimerId, &'static str)] = match self {
            Self::Poa => &[(poa::SEAL_TIMER, "seal"), (poa::ANNOUNCE_TIMER, "announce")],
            Self::Pos => &[(pos::SLOT_TIMER, "slot"), (pos::PROPOSE_TIMER, "propose"), (pos::ATTEST_TIMER, "attest")],
            Self::Dpos => &[(dpos::SLOT_TIMER, "slot"), (dpos::QUIET_TIMER, "quiet")],
            Self::Pbft => {
                &[(pbft::BUILD_TIMER, "build"), (pbft::SUSPECT_TIMER, "suspect"), (pbft::RESEND_TIMER, "resend")]
            }
            Self::Raft => &[
                (raft::ELECTION_TIMER, "election"),
                (raft::HEARTBEAT_TIMER, "heartbeat"),
                (raft::BUILD_TIMER, "build"),
            ],
        };
        names.iter().find(|(number, _)| *number == timer).map(|(_, name)| *name)
    }
}

fn pbft_in_words(body: &pbft::Body) -> String {
    match body {
        pbft::Body::PrePrepare { view, block } => format!("{view}, {}", block_in_words(BlockId::of(block))),
        pbft::Body::Prepare { view, block } | pbft::Body::Commit { view, block } => {
            format!("{view}, {}", block_in_words(*block))
        }
        pbft::Body::Checkpoint { block } => block_in_words(*block),
        pbft::Body::ViewChange(change) => {
            let (stable, prepared) = (change.stable.height, change.prepared.len());
            format!("to {}, stable at height {stable}, {prepared} prepared", change.view)
        }
        pbft::Body::NewView(new) => {
            format!("{}, {} view-changes, from height {}", new.view, new.view_changes.len(), new.checkpoint.height)
        }
        pbft::Body::Suspicion(suspicion) => suspicion.view.to_string(),
        pbft::Body::Evidence(_) => String::new(),
    }
}

fn raft_in_words(message: &raft::RaftMessage) -> String {
    let term = message.term;
    let rest = match &message.body {
        raft::Body::RequestVote { last_index, last_term, .. } => {
            format!(", last entry {last_index} of term {last_term}")
        }
        raft::Body::Vote { granted: true, .. } => ", granted".to_owned(),
        raft::Body::Vote { granted: false, .. } => ", refused".to_owned(),
        raft::Body::Append { prev_index, entries, commit, .. } => match entries.len() as u64 {
            0 => format!(", no entry after {prev_index}, commit {commit}"),
            count => format!(", entries {} to {}, commit {commit}", prev_index + 1, prev_index.saturating_add(count)),
        },
        raft::Body::Appended { index } => format!(", up to entry {index}"),
        raft::Body::AppendRejected { rejected, hint_index, .. } => {
            format!(", not after entry {rejected}, perhaps {hint_index}")
        }
        raft::Body::Heartbeat { commit, .. } => format!(", commit {commit}"),
        raft::Body::Snapshot { index, block, .. } => format!(", entry {index}, {}", block_in_words(*block)),
        raft::Body::HeartbeatResponse { .. } | raft::Body::TimeoutNow => String::new(),
    };
    format!("term {term}{rest}")
}

fn block_in_words(block: BlockId) -> String {
    format!("height {}, {}", block.height, short(&block.hash))
}

fn short(hash: &B256) -> String {
    let hash = hash.to_string();
    format!("{}…", hash.get(..10).unwrap_or(&hash))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::Height;

    #[test]
    fn a_vote_has_its_view_height_and_a_short_hash() {
        let block = BlockId { height: Height::new(3), hash: B256::repeat_byte(0x1f) };
        let body = pbft::Body::Prepare { view: pbft::View::new(2), block };
        assert_eq!(pbft_in_words(&body), "view 2, height 3, 0x1f1f1f1f…");
        let message = raft::RaftMessage { term: 4, body: raft::Body::Vote { pre: false, granted: false } };
        assert_eq!(raft_in_words(&message), "term 4, refused");
        let append = raft::Body::Append { prev_index: 6, prev_term: 4, entries: [].into(), commit: 5 };
        let message = ConsensusMessage::Raft(raft::RaftMessage { term: 4, body: append });
        assert_eq!(message.in_words(), "term 4, no entry after 6, commit 5");
    }

    #[test]
    fn timers_have_names() {
        assert_eq!(ConsensusKind::Pbft.timer_name(pbft::SUSPECT_TIMER), Some("suspect"));
        assert_eq!(ConsensusKind::Dpos.timer_name(TimerId::new(9)), None);
    }
}
