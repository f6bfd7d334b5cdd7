//! The campaign against proof of authority, with operators who vote: nothing is found in it, and every deliberate bug is.

use super::*;
use crate::consensus::{
    ConsensusKind,
    mutation::{self, Mutation},
};

fn setup() -> CampaignSetup {
    CampaignSetup::of(default_sim_config(ConsensusKind::Poa))
}

#[test]
fn nothing_is_found() {
    let setup = setup();
    for seed in 0..20 {
        let report = run_seed(&setup, seed);
        assert!(report.is_passed(), "seed {seed}: {:?}\n{}", report.outcome, report.plan.to_toml());
    }
}

/// Few seeds are enough for each; a thousand are allowed.
#[test]
fn every_deliberate_bug_is_found_by_a_named_invariant() {
    let setup = setup();
    let mut missed = Vec::new();
    for bug in [
        Mutation::PoaSignerLimitOneShort,
        Mutation::PoaTurnOfParent,
        Mutation::PoaAlwaysInTurn,
        Mutation::PoaVotePassesAtHalf,
        Mutation::PoaRemovedVotesStay,
        Mutation::PoaPassedVotesStay,
        Mutation::PoaCheckpointForgetsSigners,
        Mutation::PoaCheckpointKeepsVotes,
        Mutation::PoaNoPeriod,
        Mutation::PoaLongestWins,
    ] {
        let first = || (0..1_000).find_map(|seed| Some((seed, run_seed(&setup, seed).violation()?.invariant.clone())));
        match mutation::with(bug, first) {
            Some((seed, invariant)) => println!("{bug:?}: {invariant}, after {} seeds", seed + 1),
            None => missed.push(bug),
        }
    }
    assert_eq!(missed, []);
}

/// Finality by depth promises a block once no more blocks than these may be reverted: the default run is shorter.
#[test]
fn a_run_longer_than_what_may_be_reverted_asks_durability() {
    let short = run_seed(&setup(), 1);
    assert_eq!((short.is_passed(), short.counters.acknowledged), (true, 0));
    let long = CampaignSetup { fault_phase: Duration::from_secs(200), ..setup() };
    for seed in 0..2 {
        let report = run_seed(&long, seed);
        assert!(report.is_passed(), "seed {seed}: {:?}", report.outcome);
        assert!(report.counters.acknowledged > 0, "seed {seed}: {:?}", report.counters);
    }
}

/// In both plans a split ends with a head that only signers of the losing branch may extend, who have sealed its next height
/// there. Clique's signers seal it again.
#[test]
fn a_signer_that_never_seals_a_height_again_halts_the_chain() {
    for file in [
        include_str!("../../../tests/regressions/poa-7008743-liveness.toml"),
        include_str!("../../../tests/regressions/poa-7018737-liveness.toml"),
    ] {
        let regression = Regression::from_toml(file).unwrap();
        let (report, _) = mutation::with(Mutation::PoaNeverSealsHeightAgain, || regression.replay());
        let found = report.violation().map(|violation| violation.invariant.to_string());
        assert_eq!(found.as_deref(), Some("liveness"), "{:?}", report.outcome);
        assert!(regression.replay().1);
    }
}
