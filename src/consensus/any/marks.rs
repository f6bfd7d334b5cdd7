//! The names of the coverage points that each protocol can pass ([`Effect::Mark`](crate::consensus::Effect::Mark)).
//!
//! Guards are left out, which nothing reaches while what they guard is right; `sim/tests/coverage.rs` has those too, with what must
//! reach each.

use super::{ConsensusConfig, ConsensusKind};

impl ConsensusKind {
    /// Returns the names of the coverage points that a run can pass.
    pub const fn marks(self) -> &'static [&'static str] {
        match self {
            Self::Poa => POA,
            Self::Pos => POS,
            Self::Dpos => DPOS,
            Self::Pbft => PBFT,
            Self::Raft => RAFT,
        }
    }
}

impl ConsensusConfig {
    /// Returns the names of the coverage points that a run can pass.
    pub const fn marks(&self) -> &'static [&'static str] {
        match (self, self.kind()) {
            (Self::Own(own), _) => own.marks(),
            (_, Some(kind)) => kind.marks(),
            (_, None) => &[],
        }
    }
}

const POA: &[&str] = &[
    "poa/announce-again",
    "poa/fetch-parent",
    "poa/left-settled",
    "poa/refuse-double-sign",
    "poa/reorg",
    "poa/say-sealed-again",
    "poa/seal-height-again",
    "poa/stale-answer",
    "poa/stale-build",
];

const POS: &[&str] = &[
    "pos/fetch-parent",
    "pos/fetch-voted",
    "pos/finalized",
    "pos/justified",
    "pos/late-build",
    "pos/offence",
    "pos/other-clock",
    "pos/reorg",
    "pos/resend",
    "pos/reveals-renewed",
    "pos/reveals-used-up",
    "pos/show-head",
    "pos/stale-answer",
    "pos/stale-build",
    "pos/sync",
];

const DPOS: &[&str] = &[
    "dpos/below-watermark",
    "dpos/conflicting-votes",
    "dpos/double-production",
    "dpos/fetch-from-below",
    "dpos/fetch-parent",
    "dpos/irreversible",
    "dpos/late",
    "dpos/locked-out",
    "dpos/reorg",
    "dpos/schedule-proposed",
    "dpos/show-head",
    "dpos/stale-answer",
    "dpos/stale-build",
];

const PBFT: &[&str] = &[
    "pbft/another-link",
    "pbft/ask-who-is-ahead",
    "pbft/behind",
    "pbft/checkpoint-shown",
    "pbft/departure-announced",
    "pbft/equivocating-primary",
    "pbft/evidence",
    "pbft/fetch-chosen",
    "pbft/join-view-change",
    "pbft/joined",
    "pbft/left",
    "pbft/log-full",
    "pbft/new-view",
    "pbft/new-view-resent",
    "pbft/overdue",
    "pbft/primary-behind",
    "pbft/shown-other-proposal",
    "pbft/stable-checkpoint",
    "pbft/stale-answer",
    "pbft/stale-build",
    "pbft/suspected",
    "pbft/synced",
    "pbft/timeout",
    "pbft/undecided-view",
    "pbft/unsigned-copy",
    "pbft/validators-changed",
    "pbft/view-change",
    "pbft/views-begin",
    "pbft/view-missed",
    "pbft/wrong-absence",
];

const RAFT: &[&str] = &[
    "raft/block-sync",
    "raft/election",
    "raft/fast-reject",
    "raft/joint",
    "raft/leader",
    "raft/leader-removed",
    "raft/lease-kept",
    "raft/members-changed",
    "raft/old-term",
    "raft/pre-vote",
    "raft/quorum-lost",
    "raft/snapshot",
    "raft/stale-answer",
    "raft/stale-build",
    "raft/stale-draw",
    "raft/stale-timer",
    "raft/stale-vote",
    "raft/stepped-down",
    "raft/transfer",
    "raft/transfer-given-up",
];
