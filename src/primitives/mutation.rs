//! Seeded bugs for mutation tests of the simulator's invariants.
//!
//! Each is one line of production code that depends on [`active`]. Outside of this crate's own tests that is `false` at
//! compile time, so that no mutation is part of a library or binary.

/// A seeded bug of a protocol, or of what every chain has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(dead_code, reason = "named by tests only")]
pub(crate) enum Mutation {
    /// PBFT: a quorum is `2f` replicas.
    PbftQuorumOneShort,
    /// PBFT: a second proposal of a primary in the same view replaces the first.
    PbftTwoProposals,
    /// PBFT: a replica commits a proposal that it accepted without a prepare quorum.
    PbftCommitsUnprepared,
    /// PBFT: a view-change omits the prepared certificate.
    PbftForgetsPrepared,
    /// PBFT: a replica that restarts forgets its pre-prepares and prepares.
    PbftForgetsPromises,
    /// PBFT: a replica in a view change takes part in the new view without a new-view message.
    PbftSkipsNewView,
    /// PBFT: no replica starts a view change because of a silent primary.
    PbftNeverSuspects,
    /// PBFT: a proposal or a synced block is taken whatever its body, and any body is valid under a hash that is known.
    PbftTakesAnyBody,
    /// PBFT: the committee that a certified block's payload names is adopted, whatever changes are pending.
    PbftTrustsPayload,
    /// PBFT: a replica that leaves with its head announces it once.
    PbftLeaverFallsSilent,
    /// PBFT: a replica without progress requests blocks from none but those who say that they have them.
    PbftAsksClaimantsOnly,
    /// PBFT: whoever has to ask for blocks without enough claims waits anew for each.
    PbftAsksOnceInPatience,
    /// PBFT: a replica requests blocks from none but present and former validators.
    PbftAsksNoStranger,
    /// PBFT: the view goes on when the committee changes, also for members that leave or join in the middle of a view change.
    PbftViewOutlivesCommittee,
    /// PBFT: a second proposal is reported as equivocation without a proof, also when the first is of a former primary.
    PbftAccusesWithoutProof,
    /// PBFT: a replica whose transaction is overdue leaves the view alone.
    PbftLeavesViewAlone,
    /// PBFT: of the transactions in a replica's pool the first alone is watched for inclusion.
    PbftWatchesFirstTransaction,
    /// PBFT: whoever relays a validator's message first is taken for the validator.
    PbftRebindsPeers,
    /// PBFT: a request that is not answered goes to the same peer again.
    PbftRepeatsPeer,
    /// PBFT: a synced block is written before the checkpoint that it proves is stable, and no recovered head proves one.
    PbftForgetsProvenCheckpoint,
    /// PBFT: whom the validators' contract removes remains in the committee.
    PbftKeepsRemovedMembers,
    /// PBFT: a primary reports the members beyond a quorum as absent, whoever's commits it has.
    PbftReportsUnsigned,
    /// PBFT: backups compare no report of absences with the commits that they have.
    PbftBelievesReports,
    /// PBFT: a replica stays in its view though `f + 1` validators suspect the primary.
    PbftIgnoresSuspicions,
    /// PBFT: each view-change of an earlier view is answered with the whole new-view.
    PbftAnswersEveryViewChange,
    /// PBFT: who left the committee is no longer accountable.
    PbftForgetsLeavers,
    /// Raft: a replica votes for a second candidate in one term.
    RaftVotesTwice,
    /// Raft: a replica votes for a candidate whose log is less up-to-date than its own.
    RaftVotesForAnyLog,
    /// Raft: one voter fewer than a majority elects a leader.
    RaftElectsByMinority,
    /// Raft: one voter fewer than a majority commits an entry.
    RaftCommitsByMinority,
    /// Raft: a heartbeat's commit index may exceed the follower's match index.
    RaftHeartbeatCommitsAll,
    /// Raft: a replica that restarts forgets the entries that are not applied.
    RaftForgetsEntries,
    /// Raft: a replica that restarts forgets which of its entries it knew to be committed.
    RaftForgetsCommit,
    /// Raft: entries that conflict with the leader's are not truncated.
    RaftKeepsConflicts,
    /// Raft: two voters may have one sealing address.
    RaftSharesAddresses,
    /// Raft: a leader that steps down forgets the reads that wait, and tells nobody.
    RaftDropsReads,
    /// Raft: a follower refuses a snapshot that is further ahead than one sync may hold.
    RaftSyncsAtOnce,
    /// Raft: whom the validators' contract removes remains a voter.
    RaftKeepsRemovedMembers,
    /// Proof of authority: a signer may sign one block earlier than the limit allows.
    PoaSignerLimitOneShort,
    /// Proof of authority: the signer in turn is derived from the parent's height.
    PoaTurnOfParent,
    /// Proof of authority: every block has the difficulty of one in turn.
    PoaAlwaysInTurn,
    /// Proof of authority: half of the signers pass a vote.
    PoaVotePassesAtHalf,
    /// Proof of authority: votes of a removed signer still count.
    PoaRemovedVotesStay,
    /// Proof of authority: the votes of a passed proposal still count.
    PoaPassedVotesStay,
    /// Proof of authority: a checkpoint clears the recent signers, so that any may sign again.
    PoaCheckpointForgetsSigners,
    /// Proof of authority: a checkpoint keeps pending votes.
    PoaCheckpointKeepsVotes,
    /// Proof of authority: a block's timestamp may be less than a period after its parent's.
    PoaNoPeriod,
    /// Proof of authority: the longest branch wins, not the heaviest.
    PoaLongestWins,
    /// Proof of authority: a signer never seals a height again, not on another branch either.
    PoaNeverSealsHeightAgain,
    /// Proof of authority: an answer that is known already requests what is missing once more.
    PoaAnswersAskAgain,
    /// Proof of authority: whom the validators' contract removes goes on signing.
    PoaKeepsRemovedMembers,
    /// Proof of authority: an announced block that has no room to wait requests nothing.
    PoaFullOrphansAskNobody,
    /// Proof of authority: any number of blocks of one signer is kept at a height.
    PoaKeepsEverySibling,
    /// Proof of authority: blocks that wait for their parents share one bound, whoever's they are.
    PoaSharesOrphans,
    /// Proof of authority: a block is judged up to 15 seconds before its time, and waits however far ahead it is.
    PoaJudgesEarlyBlocks,
    /// Delegated proof of stake: `2n/3` confirmations prepare a block.
    DposQuorumOneShort,
    /// Delegated proof of stake: half of the producers' votes make a block irreversible.
    DposIrreversibleIndex,
    /// Delegated proof of stake: a producer confirms heights of a branch that it has confirmed on another branch.
    DposConfirmsTwice,
    /// Delegated proof of stake: a producer that restarts forgets its confirmations and its last slot.
    DposPromiseForgotten,
    /// Delegated proof of stake: a producer that changed its branch produces in the same slot again.
    DposSlotTwice,
    /// Delegated proof of stake: the producer of the next slot may also produce in a slot.
    DposWrongProducer,
    /// Delegated proof of stake: a schedule is active at once, not when it is irreversible.
    DposScheduleEarly,
    /// Delegated proof of stake: the longest branch wins, whatever is prepared.
    DposLengthAlone,
    /// Delegated proof of stake: a producer confirms branches that have prepared less than it implied.
    DposLockIgnored,
    /// Delegated proof of stake: a vote reaches below the start of its producer's run of confirmations.
    DposVotesAcrossGaps,
    /// Delegated proof of stake: votes under a schedule count under the next one.
    DposVotesOutliveSchedule,
    /// Delegated proof of stake: what a producer implied counts for ever; its lock is on that block and released by anything prepared
    /// above the producer's newest vote; the higher irreversible height comes first in the fork choice.
    DposImpliedForEver,
    /// Delegated proof of stake: blocks of authors that are no candidates on the head's branch are refused without a look at their branch.
    DposRefusesStrangers,
    /// Delegated proof of stake: a replica that catches up follows the chain of the newest peer alone, from the last irreversible block on.
    DposCatchUpStartsAnew,
    /// Delegated proof of stake: what an orphan lacks is requested from its first sender alone.
    DposAsksFirstSenderAlone,
    /// Delegated proof of stake: a producer that built too late takes the slot's number for that of every branch.
    DposLateByNumber,
    /// Delegated proof of stake: blocks outside the head's branch share one bound, whoever's they are.
    DposSharesSideBlocks,
    /// Delegated proof of stake: evidence shares one bound, whoever's it is.
    DposSharesEvidence,
    /// Delegated proof of stake: of a producer with evidence against it two blocks of a slot are kept, as of any other.
    DposKeepsOffendersTwins,
    /// Delegated proof of stake: of a producer with evidence against it a second block of a slot is refused, though it is better than the head.
    DposRefusesBetterTwins,
    /// Delegated proof of stake: a replica shows its head only to who extends a worse branch later than its own.
    DposShowsToLaterAlone,
    /// Delegated proof of stake: two blocks in one slot are evidence, contradicting votes are not.
    DposReportsSlotsAlone,
    /// Delegated proof of stake: who left the schedule is no longer accountable.
    DposForgetsLeavers,
    /// Delegated proof of stake: who left the schedule is accountable for the unbonding period, though it stands by with its stake.
    DposForgetsCandidates,
    /// Delegated proof of stake: a producer reports the infractions of producers in office alone.
    DposReportsProducersOnly,
    /// Delegated proof of stake: evidence is dropped once the head's branch reports it, though that branch may lose.
    DposTakesReportsForDone,
    /// Delegated proof of stake: a replica that restarts forgets the evidence that its stored blocks are.
    DposForgetsEvidence,
    /// Delegated proof of stake: nobody shows its head when no block comes.
    DposElectorsFallSilent,
    /// Delegated proof of stake: turns of others count as a producer's own, in which it was not absent.
    DposCountsOthersTurns,
    /// Delegated proof of stake: a block 2^20 slots after the head is none to come.
    DposBoundsGaps,
    /// Proof of stake: what a block that is voted for and waits for an ancestor lacks is not requested from its voters.
    PosAsksNoVoterForAncestors,
    /// Proof of stake: who announces a block far above the head is not asked for what is below it while another one is.
    PosForgetsAnnouncers,
    /// Proof of stake: nobody shows its head to those who propose on a branch that has justified less.
    PosShowsNoHead,
    /// Proof of stake: a block is taken whatever its body, and counts as its author's.
    PosTakesAnyBody,
    /// Proof of stake: more than half of the stake justifies.
    PosJustifiesAtHalf,
    /// Proof of stake: two justified epochs in a row finalise the first, whatever the source of the second.
    PosFinalizesWithoutSource,
    /// Proof of stake: a justified checkpoint counts as final.
    PosFinalizesJustified,
    /// Proof of stake: a vote for the checkpoint of another branch counts on this one.
    PosCountsAnyTarget,
    /// Proof of stake: after a change of the set only the validators after it decide what is final.
    PosForgetsRearSet,
    /// Proof of stake: slots have a new length though the block that commits to it is not final.
    PosUnfinalSlotLength,
    /// Proof of stake: a replica that was away takes a branch that a few made final after the stake of all others had leaked.
    PosTrustsLeakedBranches,
    /// Proof of stake: blocks of unknown proposers never wait for their parents.
    PosShutsOutStrangers,
    /// Proof of stake: votes of equivocators count in fork choice.
    PosCountsEquivocators,
    /// Proof of stake: the proposer boost does not end with its slot.
    PosBoostStays,
    /// Proof of stake: fork choice does not filter branches without the justified checkpoint.
    PosIgnoresViability,
    /// Proof of stake: a validator votes in its assigned slot and in each one after it.
    PosVotesEachSlot,
    /// Proof of stake: a validator forgets its vote when it restarts.
    PosForgetsVote,
    /// Proof of stake: votes that not every replica gets count in fork choice as long as no newer one comes: those that no
    /// block carries, and those of the proposer of two blocks.
    PosKeepsMessages,
    /// Proof of stake: a proposer may reveal anything as its part of the randomness.
    PosAnyReveal,
    /// Proof of stake: who left the set is no longer accountable.
    PosForgetsLeavers,
    /// Proof of stake: votes of who left are refused unread, also where they contradict earlier ones.
    PosIgnoresLeaversVotes,
    /// Proof of stake: votes earn rewards also while finality stalls.
    PosRewardsInLeak,
    /// Proof of stake: missed votes cost nothing.
    PosSkipsPenalties,
    /// Proof of stake: every block of a proposer for a slot is taken, however many there are.
    PosTakesEveryTwin,
    /// Proof of stake: early blocks of all validators share one bound.
    PosSharesEarlyBlocks,
    /// Proof of stake: at most 65,536 slots in a row may be empty.
    PosBoundsGaps,
    /// Proof of stake: epochs that no block could have votes of cost stake, too.
    PosChargesForGaps,
    /// Proof of stake: who is elected, or has duties in epochs that no block could have votes of, may have its stake when it has left.
    PosForgetsElected,
    /// Proof of stake: who slept as all others did was away from them.
    PosTakesSleepForAbsence,
    /// Proof of stake: the end of an epoch names those alone who earn or lose, so that who votes in a leak may have its stake.
    PosNamesEarnersOnly,
    /// Staking: by default validators join and leave at once, any number of them.
    StakingHasNoQueues,
    /// Staking contract: the unbonding period runs from jail or exit on, though the protocol gives the validator duties still.
    StakingFreesOnDuty,
    /// Staking contract: stake is free an unbonding period after exit or jail, though the validator is in a set that can't change.
    StakingFreesMembers,
    /// Staking contract: who is in the protocol's next set has its stake free until that is in force.
    StakingFreesElected,
    /// Staking contract: evidence against whose stake is free does nothing, so that it may validate again.
    StakingWastesEvidence,
    /// Governance: a vote that is replaced stays in the tally.
    GovernanceKeepsFormerVotes,
    /// Governance: a proposal ends with the first block after it.
    GovernanceEndsEarly,
    /// Governance: what passed is noted as executed, and nothing is called.
    GovernanceSkipsExecution,
    /// Permissions: neither pool nor block asks who may send.
    PermissionsIgnoreSenders,
    /// Signatures: what is signed on one chain is valid on every chain whose validators have the same keys.
    SignaturesOfAnyChain,
}

/// Returns whether `mutation` is switched on in this thread.
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

    /// Returns whether `mutation` is switched on in this thread.
    pub(crate) fn active(mutation: Mutation) -> bool {
        ACTIVE.get() == Some(mutation)
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
