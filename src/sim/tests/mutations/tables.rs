//! Which deliberate bugs are found, and by what: a campaign of the default profile, a named test, a campaign of another profile, a kept plan.

use crate::consensus::mutation::Mutation;

/// Every bug that a campaign finds, with the most seeds that continuous integration looks at, of [`quick_setup`](super::quick_setup); 0: the whole table only.
pub(super) const TABLE: &[(Mutation, u64)] = &[
    (Mutation::PbftQuorumOneShort, 40),
    (Mutation::PbftTwoProposals, 0),
    (Mutation::PbftCommitsUnprepared, 0),
    (Mutation::PbftForgetsPrepared, 20),
    (Mutation::PbftForgetsPromises, 20),
    (Mutation::PbftSkipsNewView, 10),
    (Mutation::PbftNeverSuspects, 10),
    (Mutation::PbftRepeatsPeer, 0),
    (Mutation::RaftVotesTwice, 10),
    (Mutation::RaftVotesForAnyLog, 12),
    (Mutation::RaftElectsByMinority, 10),
    (Mutation::RaftCommitsByMinority, 10),
    (Mutation::RaftHeartbeatCommitsAll, 20),
    (Mutation::RaftForgetsEntries, 18),
    (Mutation::RaftKeepsConflicts, 10),
    (Mutation::PoaSignerLimitOneShort, 10),
    (Mutation::PoaTurnOfParent, 10),
    (Mutation::PoaAlwaysInTurn, 10),
    (Mutation::PoaVotePassesAtHalf, 10),
    (Mutation::PoaRemovedVotesStay, 0),
    (Mutation::PoaPassedVotesStay, 10),
    (Mutation::PoaCheckpointForgetsSigners, 10),
    (Mutation::PoaCheckpointKeepsVotes, 10),
    (Mutation::PoaNoPeriod, 10),
    (Mutation::PoaLongestWins, 10),
    (Mutation::DposQuorumOneShort, 10),
    (Mutation::DposIrreversibleIndex, 10),
    (Mutation::DposConfirmsTwice, 10),
    (Mutation::DposPromiseForgotten, 0),
    (Mutation::DposSlotTwice, 10),
    (Mutation::DposWrongProducer, 10),
    (Mutation::DposScheduleEarly, 10),
    (Mutation::PosJustifiesAtHalf, 12),
    (Mutation::PosFinalizesWithoutSource, 10),
    (Mutation::PosFinalizesJustified, 10),
    (Mutation::PosCountsAnyTarget, 18),
    (Mutation::PosCountsEquivocators, 10),
    (Mutation::PosBoostStays, 10),
    (Mutation::PosIgnoresViability, 0),
    (Mutation::PosVotesEachSlot, 10),
    (Mutation::PosForgetsVote, 10),
    (Mutation::PosRewardsInLeak, 0),
    (Mutation::DposBoundsGaps, 40),
    (Mutation::PosBoundsGaps, 40),
    (Mutation::PosTakesSleepForAbsence, 40),
    (Mutation::PosSkipsPenalties, 10),
];

/// Bugs that no campaign finds: the test that finds them, and why random faults do not.
pub(super) const BY_TEST: &[(Mutation, &str, &str)] = &[
    (
        Mutation::PoaKeepsRemovedMembers,
        "sim::tests::registry::a_member_that_stays_is_found",
        "the default campaign has no validators' contract; the registry profile does",
    ),
    (
        Mutation::RaftKeepsRemovedMembers,
        "sim::tests::registry::a_member_that_stays_is_found",
        "the default campaign has no validators' contract; the registry profile does",
    ),
    (
        Mutation::PbftKeepsRemovedMembers,
        "sim::tests::registry::a_member_that_stays_is_found",
        "the default campaign has no validators' contract; the registry profile does",
    ),
    (
        Mutation::RaftForgetsCommit,
        "consensus::raft::tests::model::a_replica_that_forgets_its_commit_index_leads_without_committed_entries",
        "needs two changes of members, a crash between two writes, and a vote of one who missed both",
    ),
    (
        Mutation::PoaNeverSealsHeightAgain,
        "sim::tests::poa_campaign::a_signer_that_never_seals_a_height_again_halts_the_chain",
        "needs a split that leaves a winning head which only signers of the losing branch may extend",
    ),
    (
        Mutation::PoaAnswersAskAgain,
        "consensus::poa::tests::intake::answers_that_come_twice_do_not_multiply_requests",
        "costs messages and violates nothing; campaigns of five minutes never end",
    ),
    (
        Mutation::PoaFullOrphansAskNobody,
        "consensus::poa::tests::intake::a_lost_answer_is_requested_again_though_no_more_blocks_may_wait",
        "needs a signer two hundred blocks behind, and a lost answer",
    ),
    (
        Mutation::PbftTakesAnyBody,
        "consensus::pbft::tests::relays::a_relayed_proposal_with_another_body_has_no_effect",
        "a campaign does, seldom: none of 6,000 seeds of the default profile now",
    ),
    (
        Mutation::PbftTrustsPayload,
        "consensus::pbft::tests::relays::no_certificate_puts_a_committee_in_force_that_the_pending_changes_do_not_give",
        "the chain's header rules refuse such a block before the protocol sees its verdict",
    ),
    (
        Mutation::PbftLeaverFallsSilent,
        "consensus::pbft::tests::leavers::a_block_that_its_leaver_alone_committed_is_found_again",
        "the turnover profile does, once in some 200 seeds",
    ),
    (
        Mutation::PbftAsksClaimantsOnly,
        "consensus::pbft::tests::leavers::whoever_missed_the_replacement_of_all_validators_asks_those_it_knew",
        "the campaign replaces one candidate, not all validators",
    ),
    (
        Mutation::PbftAsksOnceInPatience,
        "consensus::pbft::tests::leavers::whoever_is_many_blocks_behind_a_replaced_committee_catches_up",
        "the turnover profile does, once in some 2,000 seeds",
    ),
    (
        Mutation::PbftAsksNoStranger,
        "consensus::pbft::tests::leavers::whoever_restarts_after_the_replacement_of_all_validators_asks_strangers",
        "the turnover profile does, once in some 2,000 seeds",
    ),
    (
        Mutation::PbftViewOutlivesCommittee,
        "consensus::pbft::tests::leavers::whoever_left_in_a_view_change_votes_in_the_view_of_the_others_when_it_is_back",
        "costs a vote until the next view change, which the timeouts of the campaign bring",
    ),
    (
        Mutation::PbftAccusesWithoutProof,
        "consensus::pbft::tests::leavers::a_stale_proposal_of_a_former_primary_accuses_nobody",
        "needs a Byzantine primary that proposes above the block that removes it",
    ),
    (
        Mutation::PbftLeavesViewAlone,
        "consensus::pbft::tests::suspicion::whoever_suspects_alone_stays_in_the_view",
        "costs a vote until the next view change, which the timeouts of the campaign bring",
    ),
    (
        Mutation::PbftWatchesFirstTransaction,
        "sim::tests::pbft_censorship::a_primary_that_censors_a_transaction_that_is_never_first_is_replaced",
        "the clients of the campaign are too few for a transaction that is never the first",
    ),
    (
        Mutation::PbftRebindsPeers,
        "consensus::pbft::tests::relays::a_relay_can_not_take_the_place_of_those_whose_messages_it_passes_on",
        "the campaign's relays alter what they pass on, which is refused before its link is learnt; none passes it on as it is",
    ),
    (
        Mutation::PbftForgetsProvenCheckpoint,
        "consensus::pbft::tests::restart::whoever_synced_a_block_above_a_checkpoint_votes_at_once_after_a_crash",
        "needs the checkpoint votes of eight blocks lost, and a crash between the write of a synced block and the next one",
    ),
    (
        Mutation::DposLengthAlone,
        "consensus::dpos::tests::faults::by_length_alone_locked_producers_stop_irreversibility",
        "violates no safety, as producers' locks hold; it stops irreversibility where most are locked on a shorter branch",
    ),
    (
        Mutation::DposLockIgnored,
        "consensus::dpos::tests::two_branches::ignored_locks_disagree_without_a_fork_choice",
        "violates nothing alone: the fork choice keeps a producer on a branch that has prepared as much",
    ),
    (
        Mutation::DposVotesAcrossGaps,
        "consensus::dpos::tests::two_branches::votes_across_gaps_disagree",
        "needs producers that leave a branch and return to it in one particular order of slots",
    ),
    (
        Mutation::DposVotesOutliveSchedule,
        "consensus::dpos::tests::model::votes_that_outlive_their_schedule_settle_what_the_next_one_has_not",
        "needs two branches on which one election takes effect at different heights",
    ),
    (
        Mutation::DposImpliedForEver,
        "consensus::dpos::tests::interleavings::implied_heights_that_count_for_ever_make_two_blocks_irreversible",
        "needs four producers that wake, hear and sleep in one particular order of 39 slots",
    ),
    (
        Mutation::DposElectorsFallSilent,
        "consensus::dpos::tests::away::whoever_was_away_when_elected_hears_of_it",
        "the turnover profile does, once in some 1,000 seeds",
    ),
    (
        Mutation::DposRefusesStrangers,
        "consensus::dpos::tests::catch_up::whoever_was_away_while_all_producers_were_replaced_catches_up",
        "needs an election on one of two branches only: none of 8,000 seeds of the long and the turnover profile has it",
    ),
    (
        Mutation::DposCatchUpStartsAnew,
        "consensus::dpos::tests::catch_up::a_chain_of_which_nothing_is_irreversible_is_reached_whoever_announces_it",
        "twenty seconds of faults leave too few blocks that are not irreversible; the turnover profile does, once in some 100 seeds",
    ),
    (
        Mutation::DposAsksFirstSenderAlone,
        "consensus::dpos::tests::catch_up::what_a_waiting_block_lacks_is_requested_from_each_peer_that_announces_it",
        "needs a liar that alone produces on the better branch: a campaign has one, once in some 700,000 seeds",
    ),
    (
        Mutation::DposLateByNumber,
        "sim::tests::slot_lengths::a_producer_that_was_late_by_an_old_clock_produces_by_the_new_one",
        "needs a longer block time while a producer is away; the profile in which parameters change does",
    ),
    (
        Mutation::PosUnfinalSlotLength,
        "sim::tests::slot_lengths::slots_of_proof_of_stake_keep_their_length_until_the_change_is_final",
        "violates nothing alone: it takes a partition until the new length counts on one of two branches for long",
    ),
    (
        Mutation::DposCountsOthersTurns,
        "sim::tests::long_profile::turnovers_jail_who_is_away_and_let_it_return",
        "violates nothing: who is away keeps its place among the producers",
    ),
    (
        Mutation::PosChargesForGaps,
        "consensus::pos::tests::gaps::epochs_that_no_block_could_have_votes_of_cost_nothing",
        "violates nothing: a night costs most of the stake, alike of all",
    ),
    (
        Mutation::PosForgetsElected,
        "consensus::pos::tests::gaps::who_is_elected_and_who_has_duties_is_named_in_a_gap",
        "needs a leaver, and a sleep longer than its stake is locked: a kept plan of a long run does",
    ),
    (
        Mutation::PosKeepsMessages,
        "sim::tests::pos::votes_that_one_side_alone_has_leave_two_heads",
        "a campaign does, once in some 4,500 seeds",
    ),
    (
        Mutation::PosAnyReveal,
        "consensus::pos::tests::reveals::a_proposer_can_not_choose_its_reveal",
        "no Byzantine replica of a campaign grinds, and biased duties break no invariant",
    ),
    (
        Mutation::PosForgetsLeavers,
        "consensus::pos::tests::reveals::who_left_is_slashed_until_its_stake_is_withdrawable",
        "the long profile did at one of 54 seeds, and at none of 2,097 since heads are shown; a kept plan does",
    ),
    (
        Mutation::DposForgetsLeavers,
        "consensus::dpos::tests::leavers::who_left_the_schedule_answers_for_what_it_did_there",
        "the long profile does, once in some 700 seeds",
    ),
    (
        Mutation::DposReportsProducersOnly,
        "consensus::dpos::tests::leavers::who_left_the_schedule_is_reported_by_whoever_learns_of_it_later",
        "the long profile does, once in some 700 seeds",
    ),
    (
        Mutation::PosIgnoresLeaversVotes,
        "consensus::pos::tests::reveals::a_vote_of_who_left_is_evidence_with_its_earlier_one",
        "members of a campaign that leave stop; none votes once more",
    ),
    (
        Mutation::DposTakesReportsForDone,
        "consensus::dpos::tests::faults::evidence_is_kept_until_its_report_is_irreversible",
        "needs a witness that is alone with both blocks, and whose report loses",
    ),
    (
        Mutation::DposForgetsEvidence,
        "consensus::dpos::tests::faults::evidence_of_stored_blocks_outlives_a_restart",
        "needs a witness that is alone with both blocks, and that restarts before its turn",
    ),
    (
        Mutation::PbftForgetsLeavers,
        "consensus::pbft::tests::evidence::who_left_is_convicted_until_its_stake_is_withdrawable",
        "who has evidence tells of it as long as the offender is a member; in a kept plan nobody hears it",
    ),
    (
        Mutation::PosTakesEveryTwin,
        "consensus::pos::tests::attacks::one_proposer_can_not_fill_the_tree",
        "memory is no invariant, and twins of a campaign are two",
    ),
    (
        Mutation::PosForgetsRearSet,
        "consensus::pos::tests::dynasties::branches_that_change_the_set_an_epoch_apart_do_not_both_become_final",
        "finality-is-earned tells in the turnover profile; that two branches are final, the long one once in some 1,600 seeds",
    ),
    (
        Mutation::PosTrustsLeakedBranches,
        "consensus::pos::tests::attacks::who_was_away_while_all_others_leaked_on_a_branch_does_not_trust_it",
        "needs a replica that is away for as long as a leak takes; the long profile's leak is slower than that",
    ),
    (
        Mutation::PosShutsOutStrangers,
        "consensus::pos::tests::away::whoever_missed_the_replacement_of_all_validators_follows_the_new_ones",
        "the campaign replaces two candidates, not all validators",
    ),
    (
        Mutation::PosTakesAnyBody,
        "consensus::pos::tests::attacks::altered_copies_keep_out_no_block",
        "a block that is missing is needed by the next one, and then asked for again",
    ),
    (
        Mutation::PosSharesEarlyBlocks,
        "consensus::pos::tests::attacks::early_blocks_of_one_validator_keep_out_no_other",
        "no Byzantine replica of a campaign fills the bound",
    ),
    (
        Mutation::PosAsksNoVoterForAncestors,
        "consensus::pos::tests::attacks::what_a_voted_block_lacks_is_requested_from_its_voters_whoever_fills_the_requests",
        "no Byzantine replica of a campaign fills the bound of requests",
    ),
    (
        Mutation::PosShowsNoHead,
        "consensus::pos::tests::withheld::whoever_alone_has_what_justifies_shows_it",
        "a liar has to justify for one replica alone that does not vote, while the others can't: once in some 20,000 long seeds",
    ),
    (
        Mutation::PbftAnswersEveryViewChange,
        "consensus::pbft::tests::leavers::an_outdated_view_change_is_answered_once_between_two_ticks",
        "costs messages and violates nothing",
    ),
    (
        Mutation::RaftSharesAddresses,
        "consensus::raft::membership::each_voter_has_an_address_of_its_own_and_keeps_it",
        "operators of a campaign give each replica its own address",
    ),
    (
        Mutation::RaftDropsReads,
        "consensus::raft::tests::replication::a_read_waits_for_a_majority_and_a_stale_leader_serves_none",
        "no client of a campaign asks for a read of the leader (`Admin::Read`)",
    ),
    (
        Mutation::RaftSyncsAtOnce,
        "consensus::raft::tests::replication::a_follower_that_is_far_behind_fetches_blocks_in_parts",
        "no run has so many blocks",
    ),
    (
        Mutation::PoaKeepsEverySibling,
        "consensus::poa::tests::intake::one_author_has_few_blocks_beside_each_other",
        "memory is no invariant, and no signer of a campaign makes more than two blocks of a height",
    ),
    (
        Mutation::PoaSharesOrphans,
        "consensus::poa::tests::intake::each_author_has_a_share_of_the_orphans_and_its_lowest_are_kept",
        "no signer of a campaign fills the bound",
    ),
    (
        Mutation::PoaJudgesEarlyBlocks,
        "sim::tests::poa::a_block_from_the_future_is_not_judged_before_its_time_and_delays_no_other_block",
        "signers of a campaign follow their clocks, which are wrong by less than a second",
    ),
    (
        Mutation::DposSharesSideBlocks,
        "consensus::dpos::tests::faults::side_blocks_of_one_producer_are_bounded_and_keep_out_no_others",
        "no producer of a campaign makes so many blocks",
    ),
    (
        Mutation::DposSharesEvidence,
        "consensus::dpos::tests::faults::evidence_against_one_producer_keeps_out_none_against_others",
        "no producer of a campaign makes two blocks in so many slots",
    ),
    (
        Mutation::DposKeepsOffendersTwins,
        "consensus::dpos::tests::twins::of_an_offender_one_block_of_a_slot_is_kept",
        "memory is no invariant",
    ),
    (
        Mutation::DposRefusesBetterTwins,
        "consensus::dpos::tests::twins::a_better_block_of_an_offender_is_kept_beside_the_first_of_its_slot",
        "a branch that is shown again is taken as a whole: a kept plan needs this rule or the next one",
    ),
    (
        Mutation::DposShowsToLaterAlone,
        "consensus::dpos::tests::faults::a_replica_that_extends_a_worse_branch_earlier_in_a_round_is_sent_the_better_head",
        "needs two branches that go on in the same slots, one of them by twins that the other branch's replicas do not take",
    ),
    (
        Mutation::DposForgetsCandidates,
        "consensus::dpos::tests::leavers::who_stands_by_with_its_stake_is_slashed_however_long_ago_it_left_the_schedule",
        "the long profile does, once in some 10,000 seeds",
    ),
    (
        Mutation::StakingFreesOnDuty,
        "system::staking::tests::slashing::stake_is_locked_for_the_unbonding_period_after_the_last_duty",
        "no campaign of the default profile lasts for an unbonding period; where protocols tell their sets, those lock as well",
    ),
    (
        Mutation::StakingFreesMembers,
        "sim::tests::locked::who_can_not_be_replaced_has_its_stake_locked",
        "no campaign of the default profile lasts for an unbonding period",
    ),
    (
        Mutation::StakingFreesElected,
        "sim::tests::locked::who_is_elected_and_leaves_has_its_stake_locked_before_its_first_turn",
        "no campaign of the default profile lasts for an unbonding period",
    ),
    (
        Mutation::StakingWastesEvidence,
        "system::staking::tests::slashing::who_equivocated_never_validates_again_though_its_stake_is_free",
        "needs evidence that is shown after the unbonding period, and an offender that comes back",
    ),
    (
        Mutation::PosNamesEarnersOnly,
        "sim::tests::locked::who_votes_on_while_nothing_becomes_final_has_its_stake_locked",
        "needs a validator that leaves while nothing is final for longer than the unbonding period, and that proposes nothing meanwhile",
    ),
    (
        Mutation::DposReportsSlotsAlone,
        "consensus::dpos::tests::faults::votes_that_contradict_each_other_are_evidence_and_are_reported",
        "what no replica takes for evidence, none holds unpunished",
    ),
    (
        Mutation::StakingHasNoQueues,
        "sim::tests::pos::by_default_one_validator_an_epoch_joins",
        "validators that all join at once break no rule; they void what an old set answers for",
    ),
    (
        Mutation::PbftReportsUnsigned,
        "sim::tests::witnesses::every_witness_violates_its_invariant",
        "blocks of the default profile report no absences; those of the long and the governance profile do",
    ),
    (
        Mutation::PbftBelievesReports,
        "sim::tests::witnesses::every_witness_violates_its_invariant",
        "blocks of the default profile report no absences; in those of others a view has to last for half a window",
    ),
    (
        Mutation::PbftIgnoresSuspicions,
        "sim::tests::pbft_absences::who_stays_with_a_primary_that_a_weak_quorum_suspects_is_told",
        "blocks of the default profile report no absences, and only of those that do an invariant watches it",
    ),
    (
        Mutation::GovernanceKeepsFormerVotes,
        "sim::tests::witnesses::every_witness_violates_its_invariant",
        "nobody votes in the default profile; the governance profile finds it",
    ),
    (
        Mutation::GovernanceEndsEarly,
        "sim::tests::witnesses::every_witness_violates_its_invariant",
        "nobody proposes in the default profile; the governance profile finds it",
    ),
    (
        Mutation::GovernanceSkipsExecution,
        "sim::tests::witnesses::every_witness_violates_its_invariant",
        "nobody proposes in the default profile; the governance profile finds it",
    ),
    (
        Mutation::PermissionsIgnoreSenders,
        "sim::tests::witnesses::every_witness_violates_its_invariant",
        "the default profile lists no senders; the governance profile finds it",
    ),
    (
        Mutation::SignaturesOfAnyChain,
        "sim::tests::two_chains::votes_and_proposals_of_two_chains_are_no_slashing_evidence",
        "a campaign has one chain",
    ),
];

/// Bugs of [`BY_TEST`] that a campaign of another profile, or of more seeds than a table can run, finds as well, with a seed at which it does.
pub(super) const BY_PROFILE: &[(Mutation, &str, u64)] = &[
    (Mutation::PbftLeaverFallsSilent, "turnover", 946),
    (Mutation::PbftAsksNoStranger, "turnover", 1_522),
    (Mutation::DposCatchUpStartsAnew, "turnover", 4),
    (Mutation::DposAsksFirstSenderAlone, "short", 70_442_981_518_291_977),
    (Mutation::DposForgetsLeavers, "long", 658),
    (Mutation::DposReportsProducersOnly, "long", 658),
    (Mutation::DposForgetsCandidates, "long", 2_690),
    (Mutation::DposElectorsFallSilent, "turnover", 1_010),
    (Mutation::DposLateByNumber, "parameters", 6),
    (Mutation::PosForgetsRearSet, "turnover", 0),
    (Mutation::GovernanceEndsEarly, "governance", 0),
    (Mutation::GovernanceSkipsExecution, "governance", 1),
    (Mutation::GovernanceKeepsFormerVotes, "governance", 1),
    (Mutation::PermissionsIgnoreSenders, "governance", 0),
];

/// Bugs of [`BY_TEST`] that a kept plan finds, in `tests/regressions`, with the invariant. The plan passes without them.
pub(super) const BY_PLAN: &[(Mutation, &str, &str)] = &[
    (Mutation::PbftForgetsLeavers, "pbft-double-voter-leaves", "punishment"),
    (Mutation::PbftAsksOnceInPatience, "pbft-1674-replaced-committee", "liveness"),
    (Mutation::PosForgetsLeavers, "pos-double-voter-leaves", "punishment"),
    (Mutation::PosForgetsElected, "pos-910009-members-are-locked", "members-are-locked"),
];
