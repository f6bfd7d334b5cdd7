//! Making a failing plan small: what is left is what the failure needs.

use super::two_phase::{CampaignSetup, RunOutcome, RunReport, run_plan};
use crate::sim::faults::plan::{Behaviour, Delay, Fault, FaultKind, FaultPlan, LinkEffect, Trigger};

/// How a failing plan became smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrunk {
    /// Of the smallest plan that still fails in the same way.
    pub report: RunReport,
    /// Faults of the plan at first.
    pub faults_before: usize,
    /// Runs that it took.
    pub runs: u32,
}

/// Looks for a smaller plan under which the same invariant of the same seed still fails: leaves faults out, in halves and
/// one by one, then makes them shorter and weaker. Makes at most `runs_max` runs; a report that passed comes back as it is.
pub fn shrink(setup: &CampaignSetup, failing: &RunReport, runs_max: u32) -> Shrunk {
    let mut search = Search { setup, best: failing.clone(), runs: 0, runs_max };
    if !failing.is_passed() {
        search.leave_out();
        search.weaken();
        // What was needed beside a stronger fault may not be beside a weaker one.
        search.leave_out();
    }
    Shrunk { report: search.best, faults_before: failing.plan.faults.len(), runs: search.runs }
}

/// What is tried in place of a fault that lasts until the network is healed, in milliseconds.
const LASTING_MS: u64 = 16_000;

struct Search<'a> {
    setup: &'a CampaignSetup,
    best: RunReport,
    runs: u32,
    runs_max: u32,
}

impl Search<'_> {
    /// Whether a plan fails in the same way; the best one so far if it does.
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

    /// Leaves faults out: halves, quarters, ... single ones (Zeller and Hildebrandt, "Simplifying and Isolating
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
            // Each weaker form is tried until it helps no more.
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

/// What makes two failures the same: the invariant, or that the simulator gave up.
fn kind(outcome: &RunOutcome) -> Option<&str> {
    match outcome {
        RunOutcome::Passed => None,
        RunOutcome::Violated(violation) => Some(violation.invariant.as_ref()),
        RunOutcome::Failed { .. } => Some("failed"),
    }
}

/// Shorter and weaker forms of a fault, each different from it and nearer to nothing.
fn weaker_forms(fault: &Fault) -> Vec<Fault> {
    let mut forms = Vec::new();
    if let Some(for_ms) = fault.for_ms.filter(|for_ms| *for_ms > 1) {
        forms.push(Fault { for_ms: Some(for_ms / 2), ..fault.clone() });
        forms.push(Fault { for_ms: Some(for_ms - for_ms / 4), ..fault.clone() });
    }
    if fault.for_ms.is_none() {
        forms.push(Fault { for_ms: Some(LASTING_MS), ..fault.clone() });
    }
    let weaker = |what| Fault { what, ..fault.clone() };
    match &fault.what {
        FaultKind::Link(link) => {
            let effect = match link.effect {
                LinkEffect::Loss { per_mille } if per_mille > 1 => Some(LinkEffect::Loss { per_mille: per_mille / 2 }),
                LinkEffect::Duplicate { per_mille } if per_mille > 1 => {
                    Some(LinkEffect::Duplicate { per_mille: per_mille / 2 })
                }
                LinkEffect::Reorder { per_mille, up_to_ms } if up_to_ms > 1 => {
                    Some(LinkEffect::Reorder { per_mille, up_to_ms: up_to_ms / 2 })
                }
                LinkEffect::Replay { per_mille, up_to_ms } if per_mille > 1 => {
                    Some(LinkEffect::Replay { per_mille: per_mille / 2, up_to_ms })
                }
                LinkEffect::Latency(delay) => shorter(delay).map(LinkEffect::Latency),
                _ => None,
            };
            forms.extend(
                effect.map(|effect| {
                    weaker(FaultKind::Link(crate::sim::faults::plan::LinkFault { effect, ..link.clone() }))
                }),
            );
            for place in 0..link.from.len() {
                // An empty list means everybody, which is not weaker.
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
        FaultKind::Clock { replica, offset_ms, drift_ppm } => {
            for (offset_ms, drift_ppm) in [(0, *drift_ppm), (*offset_ms, 0), (offset_ms / 2, drift_ppm / 2)] {
                let what = FaultKind::Clock { replica: *replica, offset_ms, drift_ppm };
                if what != fault.what && (offset_ms, drift_ppm) != (0, 0) {
                    forms.push(weaker(what));
                }
            }
        }
        FaultKind::Byzantine { replica, behaviour, when } => {
            if let Behaviour::Withhold { ms } = behaviour
                && *ms > 1
            {
                let behaviour = Behaviour::Withhold { ms: ms / 2 };
                forms.push(weaker(FaultKind::Byzantine { replica: *replica, behaviour, when: when.clone() }));
            }
            if let Trigger::Chance { per_mille } = when
                && *per_mille > 1
            {
                let when = Trigger::Chance { per_mille: per_mille / 2 };
                forms.push(weaker(FaultKind::Byzantine { replica: *replica, behaviour: behaviour.clone(), when }));
            }
            let (times, again): (_, fn(Vec<u64>) -> Trigger) = match when {
                Trigger::Heights { heights } => (heights.as_slice(), |heights| Trigger::Heights { heights }),
                Trigger::Rounds { rounds } => (rounds.as_slice(), |rounds| Trigger::Rounds { rounds }),
                _ => (&[], |_| Trigger::Never),
            };
            for place in (0..times.len()).filter(|_| times.len() > 1) {
                let fewer = times.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, time)| *time).collect();
                let (behaviour, when) = (behaviour.clone(), again(fewer));
                forms.push(weaker(FaultKind::Byzantine { replica: *replica, behaviour, when }));
            }
        }
        _ => {}
    }
    forms
}

fn shorter(delay: Delay) -> Option<Delay> {
    let half = match delay {
        Delay::Constant { ms } => Delay::Constant { ms: ms / 2 },
        Delay::Uniform { min_ms, max_ms } => Delay::Uniform { min_ms: min_ms / 2, max_ms: max_ms / 2 },
        Delay::Exponential { floor_ms, mean_ms } => Delay::Exponential { floor_ms: floor_ms / 2, mean_ms: mean_ms / 2 },
    };
    (half != delay).then_some(half)
}
