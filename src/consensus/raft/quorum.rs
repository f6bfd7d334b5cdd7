//! Majorities, simple and joint: which index they have committed and how their vote goes.
//!
//! A joint configuration decides only what both of its majorities decide (Ongaro's thesis, section 4.3).

use std::collections::BTreeSet;

use smallvec::SmallVec;

use crate::consensus::{
    ReplicaId,
    mutation::{self, Mutation},
};

/// How a vote stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VoteResult {
    /// A majority said yes.
    Won,
    /// A majority of yes is no longer possible.
    Lost,
    /// It hangs on votes that are missing.
    Pending,
}

/// The largest index that a majority of `voters` holds, with `matched` telling what each holds (0: nothing known).
///
/// Nobody to ask means no bound: `u64::MAX`, so that an absent half of a joint configuration decides nothing.
pub fn majority_committed(voters: &BTreeSet<ReplicaId>, matched: impl Fn(ReplicaId) -> u64) -> u64 {
    let mut indexes: SmallVec<[u64; 8]> = voters.iter().map(|voter| matched(*voter)).collect();
    indexes.sort_unstable();
    // Of n sorted indexes, the one at (n - 1) / 2 is reached by itself and all above: n / 2 + 1 voters.
    let median = indexes.len().saturating_sub(1) / 2;
    let median = if mutation::active(Mutation::RaftCommitsByMinority) { median + 1 } else { median };
    indexes.get(median).copied().unwrap_or(u64::MAX)
}

/// The largest index that both majorities hold.
pub fn joint_committed(
    incoming: &BTreeSet<ReplicaId>,
    outgoing: &BTreeSet<ReplicaId>,
    matched: impl Fn(ReplicaId) -> u64,
) -> u64 {
    majority_committed(incoming, &matched).min(majority_committed(outgoing, &matched))
}

/// How the vote of `voters` stands, with `vote` telling who said what; the empty set is for everything.
pub fn majority_vote(voters: &BTreeSet<ReplicaId>, vote: impl Fn(ReplicaId) -> Option<bool>) -> VoteResult {
    if voters.is_empty() {
        return VoteResult::Won;
    }
    let quorum = voters.len() / 2 + usize::from(!mutation::active(Mutation::RaftElectsByMinority));
    let yes = voters.iter().filter(|voter| vote(**voter) == Some(true)).count();
    let missing = voters.iter().filter(|voter| vote(**voter).is_none()).count();
    if yes >= quorum {
        VoteResult::Won
    } else if yes + missing >= quorum {
        VoteResult::Pending
    } else {
        VoteResult::Lost
    }
}

/// How the vote of both majorities stands: one that is lost loses it, and it is won when both are.
pub fn joint_vote(
    incoming: &BTreeSet<ReplicaId>,
    outgoing: &BTreeSet<ReplicaId>,
    vote: impl Fn(ReplicaId) -> Option<bool>,
) -> VoteResult {
    match (majority_vote(incoming, &vote), majority_vote(outgoing, &vote)) {
        (VoteResult::Lost, _) | (_, VoteResult::Lost) => VoteResult::Lost,
        (VoteResult::Won, VoteResult::Won) => VoteResult::Won,
        _ => VoteResult::Pending,
    }
}
