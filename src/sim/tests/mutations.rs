//! Tests of the checkers: every deliberate bug of [`Mutation`] is found by the default campaign of its protocol, by a
//! named invariant, and without bugs it finds nothing.
//!
//! `scripts/mutations` runs the whole table and writes `docs/mutations.md`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
    thread,
};

use super::*;
use crate::consensus::{
    ConsensusKind,
    mutation::{self, Mutation},
};
use crate::sim::faults::profile::{Profile, Weights};

/// Seeds that a campaign may take to find a bug.
const SEEDS_MAX: u64 = 1_000;

/// Every bug that a campaign finds, with the most seeds that continuous integration looks at, of [`quick_setup`]; 0: the whole table only.
const TABLE: &[(Mutation, u64)] = &[
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
    (Mutation::PosSkipsPenalties, 10),
];

/// Bugs that no campaign finds: the test that finds them, and why random faults do not.
const BY_TEST: &[(Mutation, &str, &str)] = &[
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
        "a campaign does, at seed 362",
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
        "needs an election on one of two branches only; campaigns of five minutes do",
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
        "consensus::dpos::tests::leavers::who_left_the_schedule_is_slashed_until_its_stake_is_withdrawable",
        "the long profile does, once in some 400 seeds",
    ),
    (
        Mutation::DposReportsProducersOnly,
        "consensus::dpos::tests::leavers::who_left_the_schedule_is_reported_by_whoever_learns_of_it_later",
        "the long profile does, once in some 400 seeds",
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
        "consensus::dpos::tests::faults::of_an_offender_one_block_of_a_slot_is_kept",
        "memory is no invariant",
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
const BY_PROFILE: &[(Mutation, &str, u64)] = &[
    (Mutation::PbftLeaverFallsSilent, "turnover", 946),
    (Mutation::PbftAsksOnceInPatience, "turnover", 1_674),
    (Mutation::PbftAsksNoStranger, "turnover", 1_522),
    (Mutation::DposElectorsFallSilent, "turnover", 1_191),
    (Mutation::DposCatchUpStartsAnew, "turnover", 4),
    (Mutation::DposAsksFirstSenderAlone, "short", 70_442_981_518_291_977),
    (Mutation::PbftTakesAnyBody, "short", 362),
    (Mutation::PosForgetsRearSet, "turnover", 1),
    (Mutation::DposForgetsLeavers, "long", 436),
    (Mutation::DposReportsProducersOnly, "long", 436),
    (Mutation::GovernanceEndsEarly, "governance", 0),
    (Mutation::GovernanceSkipsExecution, "governance", 1),
    (Mutation::GovernanceKeepsFormerVotes, "governance", 1),
    (Mutation::PermissionsIgnoreSenders, "governance", 0),
];

/// Bugs of [`BY_TEST`] that a kept plan finds, in `tests/regressions`, with the invariant. The plan passes without them.
const BY_PLAN: &[(Mutation, &str, &str)] = &[
    (Mutation::PbftForgetsLeavers, "pbft-double-voter-leaves", "punishment"),
    (Mutation::PosForgetsLeavers, "pos-double-voter-leaves", "punishment"),
];

/// The protocol that a bug is of, as `chainbox campaign` runs it.
fn setup(protocol: &str) -> CampaignSetup {
    // What every chain has is looked for with the simplest protocol.
    let kind = ConsensusKind::from_name(&protocol.to_lowercase()).unwrap_or(ConsensusKind::Poa);
    CampaignSetup::of(default_sim_config(kind))
}

/// The setup in which continuous integration looks for a bug: the default one, or for a rare bug one with the faults that it needs.
fn quick_setup(mutation: Mutation) -> CampaignSetup {
    let mut setup = setup(&names(mutation).0);
    if mutation == Mutation::PbftForgetsPromises {
        // A primary that is back before its view is over.
        let none = Weights {
            link: 0,
            partition: 0,
            crash: 0,
            pause: 0,
            clock: 0,
            disk: 0,
            execution: 0,
            byzantine: 0,
            twins: 0,
            amnesia: 0,
        };
        let profile = Profile {
            weights: Weights { crash: 1, ..none },
            faults_max: 24,
            fault_max: Duration::from_secs(1),
            ..setup.profile
        };
        setup.profile = profile;
    }
    setup
}

/// The protocol and the bug's own name.
fn names(mutation: Mutation) -> (String, String) {
    let name = format!("{mutation:?}");
    let end = name.char_indices().skip(1).find(|(_, letter)| letter.is_uppercase()).map_or(name.len(), |(at, _)| at);
    (name[..end].to_owned(), name[end..].to_owned())
}

/// The first of these seeds that something is found with, and by which invariant.
fn first_finding(setup: &CampaignSetup, seeds: core::ops::Range<u64>) -> Option<(u64, String)> {
    seeds.into_iter().find_map(|seed| match run_seed(setup, seed).outcome {
        RunOutcome::Passed => None,
        RunOutcome::Violated(violation) => Some((seed, violation.invariant.into_owned())),
        RunOutcome::Failed { error } => Some((seed, format!("no invariant: {error}"))),
    })
}

fn finding_of(mutation: Mutation, setup: &CampaignSetup, seeds: u64) -> Option<(u64, String)> {
    mutation::with(mutation, || first_finding(setup, 0..seeds))
}

/// Does `work` for every item, on as many threads as there are cores.
fn in_parallel<T: Sync>(items: &[T], work: impl Fn(&T) + Sync) {
    let next = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let taken = {
                        let mut next = next.lock().unwrap();
                        *next += 1;
                        *next - 1
                    };
                    let Some(item) = items.get(taken) else { return };
                    work(item);
                }
            });
        }
    });
}

#[test]
fn every_bug_is_in_the_table_or_has_a_reason() {
    let source = include_str!("../../primitives/mutation.rs");
    let variants = source.lines().filter_map(|line| line.strip_prefix("    ")?.strip_suffix(','));
    let variants: BTreeSet<_> =
        variants.filter(|name| name.chars().all(char::is_alphanumeric)).map(str::to_owned).collect();
    let listed = TABLE.iter().map(|(mutation, _)| mutation).chain(BY_TEST.iter().map(|(mutation, ..)| mutation));
    let listed: Vec<_> = listed.map(|mutation| format!("{mutation:?}")).collect();
    assert_eq!(variants, listed.iter().cloned().collect());
    assert_eq!(variants.len(), listed.len(), "each once");
    for (mutation, test, why) in BY_TEST {
        let (module, name) = test.rsplit_once("::").unwrap();
        let file = format!("{}/src/{}.rs", env!("CARGO_MANIFEST_DIR"), module.replace("::", "/"));
        let tests = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{mutation:?}: {file}: {error}"));
        assert!(tests.contains(&format!("fn {name}(")) && !why.is_empty(), "{mutation:?}: {test}");
        assert!(tests.contains(&format!("Mutation::{mutation:?}")), "{mutation:?}: {file} does not switch it on");
    }
    let table = include_str!("../../../docs/mutations.md");
    for (mutation, ..) in BY_TEST {
        let (protocol, bug) = names(*mutation);
        assert!(table.contains(&format!("| {protocol} | {bug} | ")), "{mutation:?}");
    }
}

/// Half a minute in an unoptimised build: a hundred whole runs of networks, a part of them until they are known to be stuck. Those of
/// [`quick_setup`] find nothing without their bug.
#[test]
fn quick_bugs_are_found_by_named_invariants() {
    println!("\n| protocol | mutation | seeds until found | invariant |");
    for (mutation, seeds) in TABLE.iter().filter(|(_, seeds)| *seeds > 0) {
        let found = finding_of(*mutation, &quick_setup(*mutation), *seeds);
        let (protocol, bug) = names(*mutation);
        match found {
            Some((seed, invariant)) if !invariant.starts_with("no invariant") => {
                println!("| {protocol} | {bug} | {} | {invariant} |", seed + 1);
            }
            other => panic!("{mutation:?} in {seeds} seeds: {other:?}"),
        }
        let setup = quick_setup(*mutation);
        assert!(setup == self::setup(&protocol) || first_finding(&setup, 0..*seeds).is_none(), "{mutation:?}");
    }
}

/// Returns the invariant that finds a bug at its seed of [`BY_PROFILE`].
fn finding_at((mutation, profile, seed): (Mutation, &str, u64)) -> String {
    let setup = setup_of_profile(mutation, profile);
    let seeds = seed..seed + 1;
    assert_eq!(
        first_finding(&setup, seeds.clone()),
        None,
        "{mutation:?}, {profile}: seed {seed} finds something without the bug"
    );
    let found = mutation::with(mutation, || first_finding(&setup, seeds));
    let invariant = found.map(|(_, invariant)| invariant).filter(|invariant| !invariant.starts_with("no invariant"));
    invariant.unwrap_or_else(|| panic!("{mutation:?}, {profile}: seed {seed} does not find it any more"))
}

/// Rows of the table of [`BY_PROFILE`].
fn rows_by_profile() -> Vec<String> {
    let rows = Mutex::new(BTreeMap::new());
    in_parallel(BY_PROFILE, |(mutation, profile, seed)| {
        let (protocol, bug) = names(*mutation);
        let invariant = finding_at((*mutation, profile, *seed));
        rows.lock().unwrap().insert(*mutation, format!("| {protocol} | {bug} | {profile} | {seed} | {invariant} |"));
    });
    rows.into_inner().unwrap().into_values().collect()
}

/// Whole runs of networks whose validators are all replaced, most of them until they are known to be stuck: some 20 s in an unoptimised build.
#[test]
fn bugs_are_found_at_their_seeds_of_other_profiles() {
    let table = include_str!("../../../docs/mutations.md");
    for row in rows_by_profile() {
        assert!(table.contains(&row), "not in docs/mutations.md: {row}");
    }
    let is_by_test = |mutation: &Mutation| BY_TEST.iter().any(|(other, ..)| other == mutation);
    assert!(BY_PROFILE.iter().all(|(mutation, ..)| is_by_test(mutation)));
}

/// Whole runs in which a validator votes twice where one other sees it, and leaves before that one is heard.
#[test]
fn bugs_are_found_by_kept_plans() {
    let table = include_str!("../../../docs/mutations.md");
    for (mutation, plan, invariant) in BY_PLAN {
        let file = format!("{}/tests/regressions/{plan}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{mutation:?}: {file}: {error}"));
        let regression = Regression::from_toml(&text).unwrap();
        assert_eq!(regression.replay().0.outcome, RunOutcome::Passed, "{plan}");
        let outcome = mutation::with(*mutation, || regression.replay().0.outcome);
        let RunOutcome::Violated(violation) = outcome else { panic!("{mutation:?}, {plan}: {outcome:?}") };
        assert_eq!(violation.invariant, *invariant, "{mutation:?}, {plan}");
        let (protocol, bug) = names(*mutation);
        let row = format!("| {protocol} | {bug} | `{plan}` | {invariant} |");
        assert!(table.contains(&row), "not in docs/mutations.md: {row}");
        assert!(BY_TEST.iter().any(|(other, ..)| other == mutation), "{mutation:?}");
    }
}

/// Prints the table; `MUTATION` in the environment chooses those whose name has it.
#[test]
#[ignore = "minutes: scripts/mutations"]
fn table_of_mutations() {
    let wanted = std::env::var("MUTATION").unwrap_or_default();
    let chosen: Vec<_> = TABLE.iter().filter(|(mutation, _)| format!("{mutation:?}").starts_with(&wanted)).collect();
    let rows = Mutex::new(Vec::new());
    in_parallel(&chosen, |(mutation, _)| {
        let (protocol, bug) = names(*mutation);
        let row = match finding_of(*mutation, &setup(&protocol), SEEDS_MAX) {
            Some((seed, invariant)) => format!("| {protocol} | {bug} | {} | {invariant} |", seed + 1),
            None => format!("| {protocol} | {bug} | not in {SEEDS_MAX} | - |"),
        };
        eprintln!("{row}");
        let place = TABLE.iter().position(|(other, _)| other == mutation);
        rows.lock().unwrap().push((place, row));
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort();
    println!("\n| protocol | mutation | seeds until found | invariant |");
    rows.iter().for_each(|(_, row)| println!("{row}"));
    println!("\n| protocol | mutation | found by | why no campaign finds it |");
    for (mutation, test, why) in BY_TEST {
        let (protocol, bug) = names(*mutation);
        println!("| {protocol} | {bug} | `{test}` | {why} |");
    }
    println!("\n| protocol | mutation | plan in `tests/regressions` | invariant |");
    for (mutation, plan, invariant) in BY_PLAN {
        let (protocol, bug) = names(*mutation);
        println!("| {protocol} | {bug} | `{plan}` | {invariant} |");
    }
    println!("\n| protocol | mutation | profile | seed | invariant |");
    rows_by_profile().iter().for_each(|row| println!("{row}"));
    let missed = |row: &&(Option<usize>, String)| row.1.contains("not in") || row.1.contains("no invariant");
    assert_eq!(rows.iter().filter(missed).count(), 0);
}

/// Profiles of campaigns that find bugs of any protocol, and then those for what only some have: parameters that change, the validators' contract,
/// keys of validators that are replaced.
const PROFILES: [&str; 7] = ["short", "long", "turnover", "governance", "parameters", "registry", "rotation"];

/// Profiles of [`PROFILES`] that are searched unless one is named.
const SEARCHED: usize = 4;

/// Prints what campaigns find of some bugs, by profile and invariant: the first seed and how many. `MUTATION` in the environment is the
/// beginning of their names, `PROFILE` one of [`PROFILES`] (the first [`SEARCHED`] without it), `FROM` the first seed and `SEEDS` the number of seeds; with
/// `FIRST` each campaign ends with its first finding.
#[test]
#[ignore = "prints the findings of some mutations"]
fn print_findings_of_mutations() {
    let env = |name: &str| std::env::var(name).ok();
    let number = |name: &str, default: u64| env(name).and_then(|value| value.parse().ok()).unwrap_or(default);
    let (wanted, profile) = (env("MUTATION").unwrap_or_default(), env("PROFILE"));
    let (from, seeds) = (number("FROM", 0), number("SEEDS", SEEDS_MAX));
    let searched = PROFILES.into_iter().enumerate().filter(|(place, name)| match &profile {
        Some(wanted) => name == wanted,
        None => *place < SEARCHED,
    });
    let searched: Vec<_> = searched.map(|(_, name)| name).collect();
    assert!(!searched.is_empty(), "PROFILE is none of {PROFILES:?}");
    let all = TABLE.iter().map(|(mutation, _)| *mutation).chain(BY_TEST.iter().map(|(mutation, ..)| *mutation));
    let campaigns: Vec<_> = all
        .filter(|mutation| format!("{mutation:?}").starts_with(&wanted))
        .flat_map(|mutation| searched.iter().map(move |profile| (mutation, *profile)))
        .collect();
    in_parallel(&campaigns, |(mutation, profile)| {
        let setup = setup_of_profile(*mutation, profile);
        let mut found: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        let mut rest = from..from + seeds;
        while let Some((seed, invariant)) = mutation::with(*mutation, || first_finding(&setup, rest.clone())) {
            found.entry(invariant).or_insert((seed, 0)).1 += 1;
            rest.start = if env("FIRST").is_some() { rest.end } else { seed + 1 };
        }
        println!("{mutation:?}, {profile}, {seeds} seeds from {from}: {found:?}");
    });
}

fn setup_of_profile(mutation: Mutation, profile: &str) -> CampaignSetup {
    let setup = setup(&names(mutation).0);
    match profile {
        "short" => setup,
        "long" => CampaignSetup::long(setup.consensus),
        "turnover" => CampaignSetup::turnover(setup.consensus),
        "governance" => CampaignSetup::governance(setup.consensus),
        "parameters" => CampaignSetup::parameters(setup.consensus),
        "registry" => CampaignSetup::registry(setup.consensus),
        "rotation" => CampaignSetup::rotation(setup.consensus),
        other => panic!("no profile {other}"),
    }
}

/// Prints what the campaigns find without a bug; the environment variable `SEEDS` sets the number of seeds of each protocol.
#[test]
#[ignore = "minutes: scripts/mutations"]
fn table_without_mutations() {
    const CHUNK: u64 = 100;
    let seeds: u64 = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(SEEDS_MAX);
    println!("\n| protocol | seeds | findings |");
    let mut findings = 0;
    for protocol in ["Pbft", "Raft", "Pos", "Dpos", "Poa"] {
        let setup = setup(protocol);
        let found = Mutex::new(Vec::new());
        let chunks: Vec<u64> = (0..seeds.div_ceil(CHUNK)).collect();
        in_parallel(&chunks, |chunk| {
            let mut rest = chunk * CHUNK..seeds.min((chunk + 1) * CHUNK);
            while let Some((seed, invariant)) = first_finding(&setup, rest.clone()) {
                eprintln!("{protocol} seed {seed}: {invariant}");
                found.lock().unwrap().push(seed);
                rest.start = seed + 1;
            }
        });
        let found = found.into_inner().unwrap();
        findings += found.len();
        println!("| {protocol} | {seeds} | {} |", found.len());
    }
    assert_eq!(findings, 0);
}
