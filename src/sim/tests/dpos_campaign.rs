//! The campaign against delegated proof of stake: nothing is found in it, and every deliberate bug is.

use super::*;
use crate::consensus::{
    ConsensusConfig,
    dpos::DposConfig,
    mutation::{self, Mutation},
};

/// Four producers of four to six candidates, so that votes change who produces.
fn setup() -> CampaignSetup {
    CampaignSetup::of(ConsensusConfig::Dpos(DposConfig::default().with_producers(4)))
}

#[test]
fn nothing_is_found_and_the_faults_reach_their_marks() {
    let setup = setup();
    let mut marks = std::collections::BTreeMap::new();
    for seed in 0..40 {
        let report = run_seed(&setup, seed);
        assert!(report.is_passed(), "{report:?}");
        marks.extend(report.marks);
    }
    let must = ["double-production", "fetch-parent", "irreversible", "late", "reorg", "schedule-proposed"];
    for name in must.map(|name| format!("dpos/{name}")) {
        assert!(marks.contains_key(&name), "{name} is not among {:?}", marks.keys());
    }
}

/// Few seeds are enough for each; a thousand are allowed.
#[test]
fn every_deliberate_bug_is_found_by_a_named_invariant() {
    let setup = setup();
    for (bug, want) in [
        (Mutation::DposQuorumOneShort, "dpos-prepared-by-quorum"),
        (Mutation::DposIrreversibleIndex, "dpos-irreversible-by-two-thirds"),
        (Mutation::DposConfirmsTwice, "honesty-unblamed"),
        (Mutation::DposPromiseForgotten, "honesty-unblamed"),
        (Mutation::DposSlotTwice, "honesty-unblamed"),
        (Mutation::DposWrongProducer, "dpos-slot-owner"),
        (Mutation::DposScheduleEarly, "dpos-schedule-due"),
    ] {
        let first = || (0..1_000).find_map(|seed| run_seed(&setup, seed).violation().cloned());
        let found = mutation::with(bug, first);
        assert_eq!(found.map(|violation| violation.invariant), Some(want.into()), "{bug:?}");
    }
}
