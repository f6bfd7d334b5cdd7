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
