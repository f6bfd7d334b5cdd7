//! What a reader of a run under a plan should know: faults without effect, and more liars than the protocol tolerates.

use chainbox::sim::{Delay, Fault, FaultKind, FaultPlan, LinkEffect, Network, SimTime, Trigger};

/// Labels that every protocol has beside its own messages.
const LABELS: [&str; 4] = ["block", "transaction", "block-request", "block-response"];

/// Returns the notes about a plan, after its run.
pub(super) fn notes(plan: &FaultPlan, validators: u32, network: &Network) -> Vec<String> {
    let config = network.config();
    let mut notes = Vec::new();
    let (liars, tolerated) = (plan.byzantine(), config.liars_max(validators));
    if liars.len() > tolerated as usize {
        let names: Vec<_> = liars.iter().map(|liar| liar.get().to_string()).collect();
        let (count, names, name) = (liars.len(), names.join(", "), config.short_name());
        notes.push(format!(
            "the plan lets {count} of {validators} replicas misbehave or lose their disk ({names}), and {name} tolerates {tolerated}: \
             a violation is no bug of the protocol, and its absence proves little"
        ));
    }
    for (index, fault) in plan.faults.iter().enumerate() {
        notes.extend(
            without_effect(fault, network)
                .map(|why| format!("fault {index} ({}) hits nobody: {why}", fault.kind.label())),
        );
    }
    notes
}

/// Returns why a fault had no effect, if that is plain from the plan and the run's end.
fn without_effect(fault: &Fault, network: &Network) -> Option<String> {
    let (begins, end) = (SimTime::ZERO.plus(fault.at), network.now());
    if begins >= end {
        return Some(format!("it begins at {begins}, the run ended at {end}"));
    }
    match &fault.kind {
        FaultKind::Byzantine { when: Trigger::Never, .. } => Some("its trigger is `never`".to_owned()),
        FaultKind::Byzantine { replica, when: Trigger::Heights { heights }, .. } => {
            let head = network.replica(*replica).ok()?.head().height;
            let first = heights.iter().min().filter(|first| first.get() > head.get() + 1)?;
            Some(format!("it waits for height {first}, {replica} is at {head}"))
        }
        FaultKind::Clock { offset_ms: 0, drift_ppm: 0, .. } => Some("neither offset nor drift".to_owned()),
        FaultKind::Split { size: 0 } => Some("a part of size 0".to_owned()),
        FaultKind::Partition { groups } if groups.iter().all(Vec::is_empty) => {
            Some("no group has a replica".to_owned())
        }
        FaultKind::Link(link) => match &link.effect {
            LinkEffect::Loss { per_mille: 0 } | LinkEffect::Duplicate { per_mille: 0 } => {
                Some("its probability is 0".to_owned())
            }
            LinkEffect::Latency(Delay::Constant { delay }) if delay.is_zero() => Some("its delay is 0".to_owned()),
            _ => {
                let known = network.config().message_labels().iter().chain(&LABELS);
                let known: Vec<_> = known.copied().filter(|label| !label.ends_with('*')).collect();
                let is_known = |wanted: &String| match wanted.strip_suffix('*') {
                    Some(beginning) => known.iter().any(|label| label.starts_with(beginning)),
                    None => known.contains(&wanted.as_str()),
                };
                let are_unknown = !link.labels.is_empty() && !link.labels.iter().any(is_known);
                are_unknown.then(|| format!("no message is called so; there are {}", known.join(", ")))
            }
        },
        _ => None,
    }
}
