//! Whole networks under faults: invariants, two-phase runs, what each fault does.

use super::*;
use crate::consensus::{ConsensusConfig, pbft::PbftConfig, poa::PoaConfig, raft::RaftConfig};

fn protocols() -> [ConsensusConfig; 3] {
    [
        ConsensusConfig::Pbft(PbftConfig::default()),
        ConsensusConfig::Raft(RaftConfig::default()),
        ConsensusConfig::Poa(PoaConfig::default().with_period(1)),
    ]
}

#[test]
fn runs_pass_and_are_the_same_twice() {
    for config in protocols() {
        let setup = Setup::of(config);
        let report = run_seed(&setup, 1);
        assert!(report.is_passed(), "{report:?}");
        assert_eq!(run_seed(&setup, 1), report);
        assert_ne!(run_seed(&setup, 2).digest, report.digest);
        assert!(report.counters.height > 5 && report.counters.submitted == 12, "{report:?}");
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
    }
}

/// What does not pass among some seeds of each protocol, for a look.
#[test]
fn default_campaigns_find_nothing() {
    for config in protocols() {
        let setup = Setup::of(config);
        for seed in 0..20 {
            let report = run_seed(&setup, seed);
            assert!(report.is_passed(), "seed {seed}: {:?}\n{}", report.outcome, report.plan.to_toml());
            assert!(report.counters.height > 3, "{report:?}");
        }
    }
}

#[test]
#[ignore = "a look at many seeds"]
fn look() {
    for config in protocols() {
        let kind = config.kind();
        if std::env::var("KIND").is_ok_and(|wanted| wanted != format!("{kind:?}")) {
            continue;
        }
        let setup = Setup::of(config);
        let began = std::time::Instant::now();
        let (mut restarts, mut rejected, mut acknowledged, mut submitted, mut heights) = (0, 0, 0, 0, 0);
        let count = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(200);
        for seed in 0..count {
            let report = run_seed(&setup, seed);
            if !report.is_passed() {
                let shrunk = shrink(&setup, &report, 300);
                println!(
                    "{kind:?} seed {seed} n={} {} runs: {:?}\n{}",
                    report.validators,
                    shrunk.runs,
                    shrunk.report.outcome,
                    shrunk.report.plan.to_json()
                );
            }
            restarts += report.counters.restarts;
            rejected += report.counters.rejected;
            acknowledged += report.counters.acknowledged;
            submitted += report.counters.submitted;
            heights += report.counters.height;
        }
        println!(
            "{kind:?}: {:?} restarts {restarts} rejected {rejected} acknowledged {acknowledged} of {submitted}, heights {heights}",
            began.elapsed()
        );
    }
}
