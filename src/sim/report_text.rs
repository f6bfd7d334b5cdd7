//! Reports of runs in words.

use core::fmt;

use super::campaign::two_phase::{RunOutcome, RunReport};

/// `passed`, the violation, or why the simulator failed.
impl fmt::Display for RunOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::Violated(violation) => fmt::Display::fmt(violation, f),
            Self::Failed { error } => write!(f, "the simulator failed: {error}"),
        }
    }
}

/// Two lines: seed, size and outcome; what happened in the run, with its faults by kind. Its seed and plan show it again.
impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, outcome, validators, counters, plan, .. } = self;
        writeln!(f, "seed {seed}, validators {validators}: {outcome}")?;
        write!(
            f,
            "height {}, {} ms of virtual time, steps {}, reorgs {}, restarts {}, transactions acknowledged {} of {}",
            counters.height,
            counters.virtual_time.as_millis(),
            counters.steps,
            counters.reorgs,
            counters.restarts,
            counters.acknowledged,
            counters.submitted,
        )?;
        let kinds: Vec<&str> = plan.faults.iter().map(|fault| fault.kind.label()).collect();
        match kinds.len() {
            0 => f.write_str(", no faults"),
            count => write!(f, ", faults {count} ({})", kinds.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        consensus::ReplicaId,
        primitives::{B256, Height},
        sim::{
            RunCounters, Violation,
            engine::clock::SimTime,
            faults::plan::{FaultKind, FaultPlan},
        },
    };

    #[test]
    fn a_report_says_what_happened() {
        let counters = RunCounters {
            steps: 900,
            virtual_time: Duration::from_secs(6),
            height: Height::new(5),
            restarts: 1,
            submitted: 3,
            acknowledged: 2,
            ..RunCounters::default()
        };
        let mut report = RunReport {
            seed: 7,
            outcome: RunOutcome::Passed,
            validators: 4,
            digest: B256::ZERO,
            counters,
            marks: BTreeMap::new(),
            plan: FaultPlan::default(),
        };
        let text = "seed 7, validators 4: passed\nheight 5, 6000 ms of virtual time, steps 900, reorgs 0, restarts 1, \
                    transactions acknowledged 2 of 3, no faults";
        assert_eq!(report.to_string(), text);
        report.outcome = RunOutcome::Violated(Violation {
            invariant: "agreement".into(),
            at: SimTime::ZERO,
            step: 12,
            detail: "two blocks at height 3".to_owned(),
        });
        report.plan = FaultPlan::default().with(
            Duration::ZERO,
            Duration::from_secs(1),
            FaultKind::Crash { replica: ReplicaId::new(1) },
        );
        let text = report.to_string();
        assert!(text.contains("`agreement` is broken at") && text.contains("two blocks at height 3"), "{text}");
        assert!(text.ends_with("faults 1 (crash)"), "{text}");
        let failed = RunOutcome::Failed { error: "disk full".to_owned() };
        assert_eq!(failed.to_string(), "the simulator failed: disk full");
    }
}
