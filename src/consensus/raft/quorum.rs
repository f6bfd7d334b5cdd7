//! Majorities, simple and joint: committed index and election result.
//!
//! A joint configuration decides only what both of its majorities decide (Ongaro's dissertation, section 4.3).

use std::collections::BTreeSet;

use smallvec::SmallVec;

use crate::consensus::{
    ReplicaId,
    mutation::{self, Mutation},
};

/// Result of an election so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VoteResult {
    /// A majority granted its vote.
    Won,
    /// A majority is no longer possible.
    Lost,
    /// Missing votes decide.
    Pending,
}

/// Returns the largest index that a majority of `voters` stores; `matched` returns each one's match index (0: unknown).
///
/// Without voters it is `u64::MAX`, so that the empty half of a configuration that is not joint decides nothing.
pub fn majority_committed(voters: &BTreeSet<ReplicaId>, matched: impl Fn(ReplicaId) -> u64) -> u64 {
    let mut indexes: SmallVec<[u64; 8]> = voters.iter().map(|voter| matched(*voter)).collect();
    indexes.sort_unstable();
    // Of n sorted indexes, the one at (n - 1) / 2 is reached by n / 2 + 1 voters.
    let median = indexes.len().saturating_sub(1) / 2;
    let median = if mutation::active(Mutation::RaftCommitsByMinority) { median + 1 } else { median };
    indexes.get(median).copied().unwrap_or(u64::MAX)
}

/// Returns the largest index that both majorities store.
pub fn joint_committed(
    incoming: &BTreeSet<ReplicaId>,
    outgoing: &BTreeSet<ReplicaId>,
    matched: impl Fn(ReplicaId) -> u64,
) -> u64 {
    majority_committed(incoming, &matched).min(majority_committed(outgoing, &matched))
}

/// Returns the result of an election among `voters`; `vote` returns each one's vote. Without voters it is won.
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

/// Returns the result of an election in a joint configuration: lost if either half is lost, won if both are won.
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
