//! Shrinking of a failing plan to the faults that the failure needs.

use core::time::Duration;

use super::two_phase::{CampaignSetup, RunOutcome, RunReport, run_plan};
use crate::sim::{
    faults::plan::{Behaviour, Delay, Fault, FaultKind, FaultPlan, LinkEffect, LinkFault, Trigger},
    millis::whole_millis,
};

/// Result of shrinking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrunk {
    /// Report of the smallest plan that still fails in the same way.
    pub report: RunReport,
    /// Faults of the original plan.
    pub faults_before: usize,
    /// Number of runs.
    pub runs: u32,
}

/// Searches for a smaller plan with which the same seed violates the same invariant: removes faults, in halves and one by one,
/// then shortens and weakens them. Makes at most `runs_max` runs; a passing report is returned unchanged.
pub fn shrink(setup: &CampaignSetup, failing: &RunReport, runs_max: u32) -> Shrunk {
    let mut search = Search { setup, best: failing.clone(), runs: 0, runs_max };
    if !failing.is_passed() {
        search.leave_out();
        search.weaken();
        // A fault that was needed beside a stronger one may be superfluous beside a weaker one.
        search.leave_out();
    }
    Shrunk { report: search.best, faults_before: failing.plan.faults.len(), runs: search.runs }
}

/// Duration tried in place of one until the network is healed.
const LASTING: Duration = Duration::from_secs(16);

struct Search<'a> {
    setup: &'a CampaignSetup,
    best: RunReport,
    runs: u32,
    runs_max: u32,
}

impl Search<'_> {
    /// Returns whether a plan fails in the same way; it becomes the best so far if it does.
    fn try_plan(&mut self, faults: Vec<Fault>) -> bool {
        if self.runs >= self.runs_max {
            return false;
        }
        self.runs += 1;
        let report = run_plan(self.setup, self.best.seed, &FaultPlan::new(faults));
        let is_same = kind(&report.outcome).is_some() && kind(&report.outcome) == kind(&self.best.outcome);
        if is_same {
            self.best = report;
        }
        is_same
    }

    /// Removes faults: halves, quarters, ... single ones (Zeller and Hildebrandt, "Simplifying and Isolating
    /// Failure-Inducing Input", 2002).
    fn leave_out(&mut self) {
        let mut size = self.best.plan.faults.len();
        while size > 0 {
            let mut start = 0;
            while start < self.best.plan.faults.len() {
                let mut rest = self.best.plan.faults.clone();
                rest.drain(start..(start + size).min(rest.len()));
                if !self.try_plan(rest) {
                    start += size;
                }
            }
            size /= 2;
        }
    }

    fn weaken(&mut self) {
        for place in 0..self.best.plan.faults.len() {
            // Each weaker form is applied as often as the failure persists.
            let mut form = 0;
            while let Some(fault) = self.best.plan.faults.get(place) {
                let Some(weaker) = weaker_forms(fault).into_iter().nth(form) else { break };
                let mut faults = self.best.plan.faults.clone();
                faults[place] = weaker;
                if !self.try_plan(faults) {
                    form += 1;
                }
                if self.runs >= self.runs_max {
                    return;
                }
            }
        }
    }
}

/// Returns the identity of a failure: the invariant, or the failure of the simulator.
fn kind(outcome: &RunOutcome) -> Option<&str> {
    match outcome {
        RunOutcome::Passed => None,
        RunOutcome::Violated(violation) => Some(violation.invariant.as_ref()),
        RunOutcome::Failed { .. } => Some("failed"),
    }
}

/// Returns shorter and weaker forms of a fault, each different from it.
fn weaker_forms(fault: &Fault) -> Vec<Fault> {
    let mut forms = Vec::new();
    let lasting = |duration| Fault { duration: Some(duration), ..fault.clone() };
    match fault.duration {
        Some(duration) if whole_millis(duration) > 1 => {
            forms.push(lasting(part(duration, 2)));
            forms.push(lasting(duration.saturating_sub(part(duration, 4))));
        }
        Some(_) => {}
        None => forms.push(lasting(LASTING)),
    }
    let weaker = |kind| Fault { kind, ..fault.clone() };
    match &fault.kind {
        FaultKind::Link(link) => {
            let effect = match link.effect {
                LinkEffect::Loss { per_mille } if per_mille > 1 => Some(LinkEffect::Loss { per_mille: per_mille / 2 }),
                LinkEffect::Duplicate { per_mille } if per_mille > 1 => {
                    Some(LinkEffect::Duplicate { per_mille: per_mille / 2 })
                }
                LinkEffect::Reorder { per_mille, up_to } if whole_millis(up_to) > 1 => {
                    Some(LinkEffect::Reorder { per_mille, up_to: part(up_to, 2) })
                }
                LinkEffect::Replay { per_mille, up_to } if per_mille > 1 => {
                    Some(LinkEffect::Replay { per_mille: per_mille / 2, up_to })
                }
                LinkEffect::Latency(delay) => shorter(delay).map(LinkEffect::Latency),
                _ => None,
            };
            forms.extend(effect.map(|effect| weaker(FaultKind::Link(LinkFault { effect, ..link.clone() }))));
            for place in 0..link.from.len() {
                // An empty list means all replicas, which is not weaker.
                if link.from.len() > 1 {
                    let mut link = link.clone();
                    link.from.remove(place);
                    forms.push(weaker(FaultKind::Link(link)));
                }
            }
            for place in 0..link.to.len() {
                if link.to.len() > 1 {
                    let mut link = link.clone();
                    link.to.remove(place);
                    forms.push(weaker(FaultKind::Link(link)));
                }
            }
        }
        FaultKind::Disk { replica, delay } => {
            let delay = shorter(*delay);
            forms.extend(delay.map(|delay| weaker(FaultKind::Disk { replica: *replica, delay })));
        }
        FaultKind::SlowExecution { replica, delay } => {
            let delay = shorter(*delay);
            forms.extend(delay.map(|delay| weaker(FaultKind::SlowExecution { replica: *replica, delay })));
        }
        FaultKind::Clock { replica, offset_ms, drift_ppm } => {
            for (offset_ms, drift_ppm) in [(0, *drift_ppm), (*offset_ms, 0), (offset_ms / 2, drift_ppm / 2)] {
                let kind = FaultKind::Clock { replica: *replica, offset_ms, drift_ppm };
                if kind != fault.kind && (offset_ms, drift_ppm) != (0, 0) {
                    forms.push(weaker(kind));
                }
            }
        }
        FaultKind::Byzantine { replica, behaviour, when } => {
            if let Behaviour::Withhold { delay } = behaviour
                && whole_millis(*delay) > 1
            {
                let behaviour = Behaviour::Withhold { delay: part(*delay, 2) };
                forms.push(weaker(FaultKind::Byzantine { replica: *replica, behaviour, when: when.clone() }));
            }
            if let Trigger::Chance { per_mille } = when
                && *per_mille > 1
            {
                let when = Trigger::Chance { per_mille: per_mille / 2 };
                forms.push(weaker(FaultKind::Byzantine { replica: *replica, behaviour: behaviour.clone(), when }));
            }
            let rarer: Vec<_> = match when {
                Trigger::Heights { heights } => {
                    each_left_out(heights).map(|heights| Trigger::Heights { heights }).collect()
                }
                Trigger::Rounds { rounds } => each_left_out(rounds).map(|rounds| Trigger::Rounds { rounds }).collect(),
                _ => Vec::new(),
            };
            forms.extend(
                rarer
                    .into_iter()
                    .map(|when| weaker(FaultKind::Byzantine { replica: *replica, behaviour: behaviour.clone(), when })),
            );
        }
        _ => {}
    }
    forms
}

fn shorter(delay: Delay) -> Option<Delay> {
    let half = match delay {
        Delay::Constant { delay } => Delay::Constant { delay: part(delay, 2) },
        Delay::Uniform { min, max } => Delay::Uniform { min: part(min, 2), max: part(max, 2) },
        Delay::Exponential { floor, mean } => Delay::Exponential { floor: part(floor, 2), mean: part(mean, 2) },
    };
    (half != delay).then_some(half)
}

/// Returns the duration divided by `divisor`, in whole milliseconds.
fn part(duration: Duration, divisor: u64) -> Duration {
    Duration::from_millis(whole_millis(duration) / divisor)
}

/// Returns the list without each of its items in turn; nothing for a list of one.
fn each_left_out<T: Copy>(items: &[T]) -> impl Iterator<Item = Vec<T>> {
    (0..items.len()).filter(|_| items.len() > 1).map(|place| {
        let mut rest = items.to_vec();
        rest.remove(place);
        rest
    })
}
