//! Deliberate bugs, to show that the simulator's invariants would find real ones.
//!
//! Each is one line of production code that asks [`active`]. Outside of this crate's own tests that is `false` at compile
//! time, so nothing of a bug is left in a library or binary.

/// A deliberate bug of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(dead_code, reason = "named by tests only")]
pub(crate) enum Mutation {
    /// PBFT: `2f` replicas are taken for a quorum.
    PbftQuorumOneShort,
    /// PBFT: a second proposal of one primary in one view takes the place of the first.
    PbftTwoProposals,
    /// PBFT: a replica commits what it accepted, whoever else prepared it.
    PbftCommitsUnprepared,
    /// PBFT: a view-change does not tell what was prepared.
    PbftForgetsPrepared,
    /// PBFT: a replica that restarts forgets what it had pre-prepared and prepared.
    PbftForgetsPromises,
    /// PBFT: a replica that wants a new view takes part in it before it has begun.
    PbftSkipsNewView,
    /// PBFT: nobody suspects a silent primary.
    PbftNeverSuspects,
    /// Raft: a replica votes for a second candidate in one term.
    RaftVotesTwice,
    /// Raft: a replica votes for a candidate whose log lacks what its own has.
    RaftVotesForAnyLog,
    /// Raft: one voter fewer than a majority elects.
    RaftElectsByMinority,
    /// Raft: one voter fewer than a majority commits.
    RaftCommitsByMinority,
    /// Raft: a heartbeat commits what its follower may not have.
    RaftHeartbeatCommitsAll,
    /// Raft: a replica that restarts forgets the entries that are not applied.
    RaftForgetsEntries,
    /// Raft: entries that conflict with a leader's stay.
    RaftKeepsConflicts,
    /// Proof of authority: a signer may sign one block earlier than the limit allows.
    PoaSignerLimitOneShort,
    /// Proof of authority: turns go by the parent's height.
    PoaTurnOfParent,
    /// Proof of authority: every block weighs as one in turn.
    PoaAlwaysInTurn,
    /// Proof of authority: half of the signers pass a vote.
    PoaVotePassesAtHalf,
    /// Proof of authority: votes of a signer that was voted out stay.
    PoaRemovedVotesStay,
    /// Proof of authority: a vote that passed stays open.
    PoaPassedVotesStay,
    /// Proof of authority: a checkpoint lets everybody sign again.
    PoaCheckpointForgetsSigners,
    /// Proof of authority: a checkpoint keeps open votes.
    PoaCheckpointKeepsVotes,
    /// Proof of authority: the period is not waited for.
    PoaNoPeriod,
    /// Proof of authority: the longest branch wins, not the heaviest.
    PoaLongestWins,
    /// Delegated proof of stake: `2n/3` confirmations propose a block.
    DposQuorumOneShort,
    /// Delegated proof of stake: the last irreversible block is what half of the producers imply.
    DposIrreversibleIndex,
    /// Delegated proof of stake: a producer confirms what its branch does not show as confirmed, whatever it did elsewhere.
    DposConfirmsTwice,
    /// Delegated proof of stake: a producer forgets at a restart what it confirmed and when it produced.
    DposPromiseForgotten,
    /// Delegated proof of stake: a producer that changed its branch produces in a slot once more.
    DposSlotTwice,
    /// Delegated proof of stake: a slot may also be taken by the producer whose turn is next.
    DposWrongProducer,
    /// Delegated proof of stake: a schedule is in force at once, not when it is irreversible.
    DposScheduleEarly,
    /// Delegated proof of stake: of branches that made the same irreversible the longest wins, whatever they proposed.
    DposLengthAlone,
    /// Delegated proof of stake: a producer that implied a block confirms branches without it.
    DposLockIgnored,
    /// Delegated proof of stake: both of the last two, which is how EOSIO does it.
    DposClassic,
    /// Proof of stake: more than half of the stake justifies.
    PosJustifiesAtHalf,
    /// Proof of stake: two justified epochs in a row finalise the first, whatever the second came from.
    PosFinalizesWithoutSource,
    /// Proof of stake: what is justified counts as final.
    PosFinalizesJustified,
    /// Proof of stake: a vote for the checkpoint of another branch counts on this one.
    PosCountsAnyTarget,
    /// Proof of stake: votes of equivocators count in fork choice.
    PosCountsEquivocators,
    /// Proof of stake: the proposer boost stays with its block.
    PosBoostStays,
    /// Proof of stake: fork choice goes where the justified checkpoint is not known.
    PosIgnoresViability,
    /// Proof of stake: a validator votes in each slot from its duty on.
    PosVotesEachSlot,
    /// Proof of stake: a validator forgets its vote when it restarts.
    PosForgetsVote,
}

/// Whether `mutation` is switched on in this thread.
#[cfg(not(test))]
pub(crate) const fn active(_mutation: Mutation) -> bool {
    false
}

#[cfg(test)]
#[allow(unused_imports, reason = "a table of mutations asks for it")]
pub(crate) use switched::{active, with};

#[cfg(test)]
mod switched {
    use core::cell::Cell;

    use super::Mutation;

    thread_local! {
        static ACTIVE: Cell<Option<Mutation>> = const { Cell::new(None) };
    }

    /// Whether `mutation` is switched on in this thread.
    pub(crate) fn active(mutation: Mutation) -> bool {
        ACTIVE.get() == Some(mutation)
    }

    #[test]
    fn a_mutation_changes_the_code_and_goes_away() {
        use crate::consensus::{ValidatorSet, pbft::PbftConfig};
        let strong = || {
            let set = ValidatorSet::equal((1..=4).map(crate::primitives::Address::repeat_byte)).unwrap();
            PbftConfig::default().quorums(&set).unwrap().strong()
        };
        assert_eq!((strong(), with(Mutation::PbftQuorumOneShort, strong), strong()), (3, 2, 3));
    }

    /// Runs `body` with one mutation switched on in this thread.
    pub(crate) fn with<T>(mutation: Mutation, body: impl FnOnce() -> T) -> T {
        struct Off;
        impl Drop for Off {
            fn drop(&mut self) {
                ACTIVE.set(None);
            }
        }
        ACTIVE.set(Some(mutation));
        let _off = Off;
        body()
    }
}
