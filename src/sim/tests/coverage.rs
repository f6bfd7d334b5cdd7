//! Coverage marks and what must reach them: the default campaign, or a test by name. A mark without an entry, or an entry without
//! a mark, fails here.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use super::*;
use crate::consensus::ConsensusKind;

/// Seeds of each protocol that must pass every mark of the campaign together.
const SEEDS: u64 = 60;

/// What must pass a mark.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// The default campaign, within [`SEEDS`].
    Campaign,
    /// The test of this name in this file below `src/`, which asserts it.
    Test(&'static str, &'static str),
    /// Nothing: a guard that is not reached while what it guards is right, for this reason. The campaign must not pass it.
    Guard(&'static str),
}

use By::{Campaign, Guard, Test};

type Marks = &'static [(&'static str, By)];

const PBFT: Marks = &[
    (
        "pbft/another-link",
        Test("consensus/pbft/tests/relays.rs", "a_relay_can_not_take_the_place_of_those_whose_messages_it_passes_on"),
    ),
    ("pbft/ask-who-is-ahead", Campaign),
    ("pbft/behind", Campaign),
    (
        "pbft/checkpoint-shown",
        Test("consensus/pbft/tests/leavers.rs", "a_leaver_that_is_behind_is_told_when_it_asks_for_a_view"),
    ),
    ("pbft/conflicting-certificate", Guard("two certificates of one height take f + 1 Byzantine replicas")),
    ("pbft/conflicting-checkpoint", Guard("two quorums of one height take f + 1 Byzantine replicas")),
    ("pbft/conflicting-new-view", Guard("what is committed is chosen by every new view")),
    (
        "pbft/departure-announced",
        Test("consensus/pbft/tests/leavers.rs", "a_block_that_its_leaver_alone_committed_is_found_again"),
    ),
    (
        "pbft/equivocating-primary",
        Test("consensus/pbft/tests/byzantine.rs", "a_backup_with_both_proposals_starts_a_view_change_at_once"),
    ),
    // A campaign passes it in one of some twenty seeds, but not in the first ones.
    ("pbft/evidence", Test("sim/tests/faults/behaviours.rs", "an_equivocating_replica_sends_each_half_another_block")),
    ("pbft/fetch-chosen", Campaign),
    ("pbft/join-view-change", Campaign),
    (
        "pbft/joined",
        Test(
            "consensus/pbft/tests/committee_transition.rs",
            "joiners_vote_and_leavers_follow_from_the_next_checkpoint_on",
        ),
    ),
    (
        "pbft/left",
        Test(
            "consensus/pbft/tests/committee_transition.rs",
            "joiners_vote_and_leavers_follow_from_the_next_checkpoint_on",
        ),
    ),
    (
        "pbft/log-full",
        Test("consensus/pbft/tests/normal.rs", "a_log_full_without_checkpoint_votes_continues_with_them"),
    ),
    ("pbft/new-view", Campaign),
    ("pbft/new-view-resent", Campaign),
    // A campaign passes it, and the next one of the kind below, in one of some three hundred seeds.
    (
        "pbft/overdue",
        Test("sim/tests/pbft_censorship.rs", "a_primary_that_censors_a_transaction_that_is_never_first_is_replaced"),
    ),
    (
        "pbft/primary-behind",
        Test("consensus/pbft/tests/random.rs", "random_schedules_are_safe_and_live_once_faults_end"),
    ),
    ("pbft/refuse-double-proposal", Guard("a primary that restarts knows its proposal by its records")),
    ("pbft/shown-other-proposal", Campaign),
    ("pbft/stable-checkpoint", Campaign),
    ("pbft/stale-answer", Test("consensus/pbft/tests/invalid.rs", "unrequested_events_leave_the_state_unchanged")),
    ("pbft/stale-build", Test("consensus/pbft/tests/invalid.rs", "unrequested_events_leave_the_state_unchanged")),
    (
        "pbft/suspected",
        Test("sim/tests/pbft_censorship.rs", "a_primary_that_censors_a_transaction_that_is_never_first_is_replaced"),
    ),
    ("pbft/synced", Campaign),
    ("pbft/timeout", Campaign),
    (
        "pbft/undecided-view",
        Test("consensus/pbft/tests/random.rs", "random_schedules_are_safe_and_live_once_faults_end"),
    ),
    (
        "pbft/unsigned-copy",
        Test("consensus/pbft/tests/relays.rs", "a_relayed_proposal_with_another_body_has_no_effect"),
    ),
    ("pbft/useless-early-proposal", Guard("an honest primary proposes what its own new view allows")),
    (
        "pbft/validators-changed",
        Test(
            "consensus/pbft/tests/committee_transition.rs",
            "joiners_vote_and_leavers_follow_from_the_next_checkpoint_on",
        ),
    ),
    ("pbft/view-change", Campaign),
    ("pbft/views-begin", Test("consensus/pbft/tests/leavers.rs", "joiners_and_those_in_a_later_view_begin_together")),
    ("pbft/view-missed", Test("consensus/pbft/tests/faults.rs", "a_silent_primary_is_replaced_and_catches_up")),
    (
        "pbft/wrong-absence",
        Test("consensus/pbft/tests/attendance.rs", "a_primary_that_reports_the_present_loses_its_view"),
    ),
];

const RAFT: Marks = &[
    (
        "raft/block-sync",
        Test("consensus/raft/tests/replication.rs", "a_follower_behind_a_compacted_log_fetches_blocks"),
    ),
    ("raft/change-first", Guard("a change of the members is applied in the step that commits it")),
    ("raft/election", Campaign),
    ("raft/fast-reject", Campaign),
    (
        "raft/joint",
        Test("consensus/raft/tests/members.rs", "a_removed_leader_leads_until_the_joint_configuration_is_left"),
    ),
    ("raft/leader", Campaign),
    (
        "raft/leader-removed",
        Test("consensus/raft/tests/members.rs", "a_removed_leader_leads_until_the_joint_configuration_is_left"),
    ),
    ("raft/leads-already", Guard("only its leader tells a member to stand for election")),
    ("raft/lease-kept", Campaign),
    (
        "raft/members-changed",
        Test("consensus/raft/tests/members.rs", "a_removed_leader_leads_until_the_joint_configuration_is_left"),
    ),
    ("raft/old-term", Campaign),
    ("raft/pre-vote", Campaign),
    ("raft/quorum-lost", Test("consensus/raft/tests/elections.rs", "an_isolated_leader_steps_down")),
    ("raft/snapshot", Test("consensus/raft/tests/replication.rs", "a_follower_behind_a_compacted_log_fetches_blocks")),
    ("raft/stale-answer", Campaign),
    ("raft/stale-build", Test("consensus/raft/tests/input.rs", "unrequested_responses_change_nothing")),
    ("raft/stale-draw", Test("consensus/raft/tests/input.rs", "unrequested_responses_change_nothing")),
    ("raft/stale-timer", Test("consensus/raft/tests/input.rs", "unrequested_responses_change_nothing")),
    ("raft/stale-vote", Campaign),
    ("raft/stepped-down", Campaign),
    ("raft/transfer", Test("consensus/raft/tests/elections.rs", "a_leadership_transfer_overrides_the_lease")),
    (
        "raft/transfer-given-up",
        Test("consensus/raft/tests/elections.rs", "a_transfer_to_an_unreachable_replica_is_aborted"),
    ),
];

const POS: Marks = &[
    ("pos/fetch-parent", Campaign),
    ("pos/fetch-voted", Campaign),
    ("pos/finalized", Campaign),
    ("pos/justified", Campaign),
    ("pos/late-build", Campaign),
    ("pos/left-behind", Guard("finality would have to leave a branch between a question and its answer")),
    ("pos/offence", Campaign),
    ("pos/other-clock", Test("sim/tests/slot_lengths.rs", "a_validator_that_was_away_counts_slots_as_the_others_do")),
    ("pos/refuse-double-proposal", Guard("a slot is asked for once, and after a restart the next one is")),
    ("pos/refuse-surround", Guard("the justified checkpoint of a head goes back only where epochs are lost")),
    ("pos/reorg", Campaign),
    ("pos/resend", Campaign),
    ("pos/reveals-renewed", Campaign),
    ("pos/reveals-used-up", Campaign),
    ("pos/show-head", Test("consensus/pos/tests/withheld.rs", "whoever_alone_has_what_justifies_shows_it")),
    ("pos/stale-answer", Test("consensus/pos/tests/invalid.rs", "unrequested_responses_change_nothing")),
    ("pos/stale-build", Test("consensus/pos/tests/invalid.rs", "unrequested_responses_change_nothing")),
    ("pos/sync", Test("consensus/pos/tests/life.rs", "a_quarter_absent_does_not_stop_finality_and_is_reported")),
];

const DPOS: Marks = &[
    (
        "dpos/below-watermark",
        Test("consensus/dpos/tests/faults.rs", "restarted_producers_return_to_the_block_they_implied"),
    ),
    (
        "dpos/conflicting-votes",
        Test("consensus/dpos/tests/faults.rs", "votes_that_contradict_each_other_are_evidence_and_are_reported"),
    ),
    ("dpos/double-production", Campaign),
    (
        "dpos/fetch-from-below",
        Test(
            "consensus/dpos/tests/normal.rs",
            "a_replica_that_was_away_catches_up_from_below_however_far_it_is_behind",
        ),
    ),
    ("dpos/fetch-parent", Campaign),
    ("dpos/irreversible", Campaign),
    ("dpos/judged-too-late", Guard("a branch would have to be left between a question and its answer")),
    ("dpos/late", Campaign),
    (
        "dpos/locked-out",
        Test("consensus/dpos/tests/faults.rs", "by_length_alone_locked_producers_stop_irreversibility"),
    ),
    ("dpos/no-room", Guard("eight years of slots without a prepared block, or sixteen million schedules")),
    ("dpos/nothing-to-say", Guard("what a producer drafts on its head always follows on it")),
    ("dpos/reorg", Campaign),
    ("dpos/schedule-proposed", Campaign),
    ("dpos/show-head", Campaign),
    ("dpos/stale-answer", Test("consensus/dpos/tests/invalid.rs", "unrequested_responses_leave_the_state_unchanged")),
    ("dpos/stale-build", Test("consensus/dpos/tests/invalid.rs", "unrequested_responses_leave_the_state_unchanged")),
];

const POA: Marks = &[
    ("poa/announce-again", Campaign),
    ("poa/fetch-parent", Campaign),
    (
        "poa/left-settled",
        Test("consensus/poa/tests/fork_choice.rs", "a_heavier_branch_wins_even_over_the_settled_block"),
    ),
    (
        "poa/refuse-double-sign",
        Test("consensus/poa/tests/sealing.rs", "a_restarted_signer_seals_no_second_block_on_a_parent"),
    ),
    ("poa/reorg", Campaign),
    (
        "poa/say-sealed-again",
        Test(
            "consensus/poa/tests/sealing.rs",
            "lost_sealed_blocks_are_rebroadcast_and_no_others_are_sealed_in_their_place",
        ),
    ),
    ("poa/seal-height-again", Test("sim/tests/poa.rs", "many_seeds_converge_after_latencies_longer_than_the_period")),
    ("poa/stale-answer", Test("consensus/poa/tests/rules.rs", "invalid_blocks_leave_the_state_unchanged")),
    (
        "poa/stale-build",
        Test("consensus/poa/tests/sealing.rs", "a_replica_seals_once_a_height_and_announces_after_its_record"),
    ),
];

const fn registry(kind: ConsensusKind) -> Marks {
    match kind {
        ConsensusKind::Pbft => PBFT,
        ConsensusKind::Raft => RAFT,
        ConsensusKind::Pos => POS,
        ConsensusKind::Dpos => DPOS,
        ConsensusKind::Poa => POA,
    }
}

/// Marks of a protocol that must be passed in such a way.
fn wanted(kind: ConsensusKind, is_such: impl Fn(By) -> bool) -> impl Iterator<Item = &'static str> {
    registry(kind).iter().filter(move |(_, by)| is_such(*by)).map(|(mark, _)| *mark)
}

/// Marks that seeds of the default campaign pass, with how often.
fn passed(kind: ConsensusKind, seeds: u64) -> BTreeMap<String, u64> {
    let setup = CampaignSetup::of(default_sim_config(kind));
    let mut marks = BTreeMap::new();
    for seed in 0..seeds {
        for (mark, count) in run_seed(&setup, seed).marks {
            *marks.entry(mark).or_default() += count;
        }
    }
    marks
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every `protocol/name` in the code of a protocol, its tests left out.
fn marks_in_source(kind: ConsensusKind) -> BTreeSet<String> {
    let protocol = kind.short_name();
    let folder = source().join("consensus");
    let mut files = vec![folder.join(format!("{protocol}.rs"))];
    let mut folders = vec![folder.join(protocol)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                None if !path.ends_with("tests") => folders.push(path),
                Some(_) if !path.ends_with("tests.rs") => files.push(path),
                _ => {}
            }
        }
    }
    let prefix = format!("\"{protocol}/");
    let mut marks = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(file).unwrap();
        let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let named = code.split(&prefix).skip(1).filter_map(|rest| rest.split('"').next());
        marks.extend(named.map(|name| format!("{protocol}/{name}")));
    }
    marks
}

/// The text of a test and of what it is in: from its name to the next `#[test]`.
fn body(file: &str, test: &str) -> String {
    let text = fs::read_to_string(source().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let start = text.find(&format!("fn {test}(")).unwrap_or_else(|| panic!("{file} has no {test}"));
    let rest = &text[start..];
    rest.find("\n#[test]").map_or(rest, |end| &rest[..end]).to_owned()
}

#[test]
fn every_mark_is_listed_and_its_test_asserts_it() {
    for kind in ConsensusKind::ALL {
        let listed: Vec<_> = registry(kind).iter().map(|(mark, _)| (*mark).to_owned()).collect();
        let set: BTreeSet<_> = listed.iter().cloned().collect();
        assert_eq!(set.len(), listed.len(), "{kind:?}: each once");
        assert_eq!(marks_in_source(kind), set, "{kind:?}: marks in the code, and in the list");
        let reachable: Vec<_> = wanted(kind, |by| !matches!(by, Guard(_))).collect();
        assert_eq!(kind.marks(), reachable, "{kind:?}: those that campaigns report");
        for (mark, by) in registry(kind) {
            match by {
                Campaign => {}
                Test(file, test) => {
                    let is_asserted = body(file, test).contains(&format!("\"{mark}\""));
                    assert!(is_asserted, "{file}: {test} does not assert {mark}");
                }
                Guard(why) => assert!(!why.is_empty(), "{mark}"),
            }
        }
    }
}

/// Half a minute in an unoptimised build: the first seeds of every protocol's default campaign.
#[test]
fn the_campaign_passes_its_marks() {
    for kind in ConsensusKind::ALL {
        let passed = passed(kind, SEEDS);
        let all: BTreeSet<_> = registry(kind).iter().map(|(mark, _)| *mark).collect();
        let unknown: Vec<_> = passed.keys().filter(|mark| !all.contains(mark.as_str())).collect();
        assert!(unknown.is_empty(), "{kind:?}: not listed: {unknown:?}");
        let missed: Vec<_> = wanted(kind, |by| by == Campaign).filter(|mark| !passed.contains_key(*mark)).collect();
        assert!(missed.is_empty(), "{kind:?}: not in {SEEDS} seeds: {missed:?}");
        let guards = wanted(kind, |by| matches!(by, Guard(_)));
        let reached: Vec<_> = guards.filter(|mark| passed.contains_key(*mark)).collect();
        assert!(reached.is_empty(), "{kind:?}: guards that are reached: {reached:?}");
    }
}

#[test]
#[ignore = "prints the marks of SEEDS seeds"]
fn print_marks() {
    let seeds = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(SEEDS);
    for kind in ConsensusKind::ALL {
        let passed = passed(kind, seeds);
        println!("{kind:?} {passed:?}");
        let never: Vec<_> = marks_in_source(kind).into_iter().filter(|mark| !passed.contains_key(mark)).collect();
        println!("{kind:?} never {never:?}");
    }
}
