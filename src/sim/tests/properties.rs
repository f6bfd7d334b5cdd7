//! Fault plans by proptest: every protocol tolerates the plans of its profile, and a failing plan is shrunk.

use std::cell::RefCell;

use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner},
};

use super::*;
use crate::consensus::{
    ConsensusKind,
    mutation::{self, Mutation},
};

/// Replicas of each run.
const REPLICAS: u32 = 4;

fn setup(kind: ConsensusKind) -> CampaignSetup {
    CampaignSetup { validators: vec![REPLICAS], ..CampaignSetup::of(default_sim_config(kind)) }
}

fn passes(kind: ConsensusKind, seed: u64, plan: &FaultPlan) -> Result<(), TestCaseError> {
    let report = run_plan(&setup(kind), seed, plan);
    prop_assert!(report.is_passed(), "{kind:?} seed {seed}: {:?}\n{}", report.outcome, plan.to_toml());
    Ok(())
}

proptest! {
    // Each case is a whole run.
    #![proptest_config(Config { cases: 8, ..Config::default() })]

    #[test]
    fn poa_bears_its_profile(seed in 0..1_000_u64, plan in FaultPlan::strategy(REPLICAS, setup(ConsensusKind::Poa).profile)) {
        passes(ConsensusKind::Poa, seed, &plan)?;
    }

    #[test]
    fn pos_bears_its_profile(seed in 0..1_000_u64, plan in FaultPlan::strategy(REPLICAS, setup(ConsensusKind::Pos).profile)) {
        passes(ConsensusKind::Pos, seed, &plan)?;
    }

    #[test]
    fn dpos_bears_its_profile(seed in 0..1_000_u64, plan in FaultPlan::strategy(REPLICAS, setup(ConsensusKind::Dpos).profile)) {
        passes(ConsensusKind::Dpos, seed, &plan)?;
    }

    #[test]
    fn pbft_bears_its_profile(seed in 0..1_000_u64, plan in FaultPlan::strategy(REPLICAS, setup(ConsensusKind::Pbft).profile)) {
        passes(ConsensusKind::Pbft, seed, &plan)?;
    }

    #[test]
    fn raft_bears_its_profile(seed in 0..1_000_u64, plan in FaultPlan::strategy(REPLICAS, setup(ConsensusKind::Raft).profile)) {
        passes(ConsensusKind::Raft, seed, &plan)?;
    }
}

/// The minimal plan of a deliberate bug, and what the campaign's own shrinker makes of the first that failed.
#[test]
fn a_failing_plan_is_shrunk_as_far_as_by_the_campaign() {
    let (kind, seed) = (ConsensusKind::Raft, 3);
    let mut setup = setup(kind);
    setup.profile.sleep_per_mille = 0;
    mutation::with(Mutation::RaftKeepsConflicts, || {
        let config = Config { cases: 200, max_shrink_iters: 300, failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        let first = RefCell::new(None);
        let outcome = runner.run(&FaultPlan::strategy(REPLICAS, setup.profile.clone()), |plan| {
            let report = run_plan(&setup, seed, &plan);
            if !report.is_passed() {
                first.borrow_mut().get_or_insert(report.clone());
            }
            prop_assert!(report.is_passed());
            Ok(())
        });
        let Err(TestError::Fail(_, minimal)) = outcome else { panic!("not found: {outcome:?}") };
        let first = first.into_inner().unwrap();
        assert!(!minimal.is_empty() && minimal.faults.len() <= first.plan.faults.len());
        assert!(!run_plan(&setup, seed, &minimal).is_passed(), "the minimal plan still fails");
        let shrunk = shrink(&setup, &first, 200).report.plan;
        assert!(
            minimal.faults.len() <= shrunk.faults.len() + 1,
            "by proptest\n{}\nby the campaign\n{}",
            minimal.to_toml(),
            shrunk.to_toml()
        );
    });
    // The bug is disabled again.
    assert!(run_plan(&setup, seed, &setup.plan_of(seed)).is_passed());
}
