//! Which entries of a trace `replay --step` prints.

use std::collections::BTreeSet;

use chainbox::sim::{
    SimTime,
    trace::{Trace, TraceContent, TraceEntry, TracedEffect, TracedEvent},
};

use super::words::Words;
use crate::{refused::Refused, sim_args::ReplayOptions};

/// Kinds of entries, inputs and outputs that `--kind` takes beside the labels of messages.
const KINDS: [&str; 18] = [
    "sent",
    "step",
    "status",
    "incident",
    "start",
    "message",
    "timer",
    "persisted",
    "built",
    "judged",
    "random",
    "synced",
    "admin",
    "head",
    "final",
    "evidence",
    "reject",
    "mark",
];

/// The entries that are printed.
pub(super) struct Filter {
    is_step: bool,
    replica: Option<u32>,
    kinds: BTreeSet<String>,
    from: SimTime,
    until: SimTime,
}

impl Filter {
    /// Returns the filter of the flags; refuses what the trace does not have.
    pub(super) fn new(options: &ReplayOptions, trace: &Trace) -> Result<Self, Refused> {
        let count = trace.header.replicas.len();
        if let Some(replica) = options.replica.filter(|replica| *replica as usize >= count) {
            let last = count.saturating_sub(1);
            let have = format!("the trace has {count}, numbered from 0 to {last}");
            return Err(Refused(format!("--replica {replica}: there is no such replica; {have}")));
        }
        let labels: BTreeSet<&str> = trace.entries.iter().filter_map(label_of).collect();
        if let Some(kind) =
            options.kind.iter().find(|kind| !labels.contains(kind.as_str()) && !KINDS.contains(&kind.as_str()))
        {
            let labels: Vec<_> = labels.into_iter().collect();
            let (labels, kinds) = (labels.join(", "), KINDS.join(", "));
            return Err(Refused(format!("--kind {kind}: choose of this run's messages ({labels}) or of {kinds}")));
        }
        let from = options.from.map_or(SimTime::ZERO, |from| SimTime::ZERO.plus(from));
        let until = options.until.map_or(SimTime::from_nanos(u64::MAX), |until| SimTime::ZERO.plus(until));
        if from > until {
            return Err(Refused(format!("--from {from} is after --until {until}: nothing is between them")));
        }
        if from > trace.ends_at() {
            let end = trace.ends_at();
            return Err(Refused(format!("--from {from} is after the run, which is from {} to {end}", SimTime::ZERO)));
        }
        Ok(Self {
            is_step: options.step,
            replica: options.replica,
            kinds: options.kind.iter().cloned().collect(),
            from,
            until,
        })
    }

    /// Returns the number of entries up to the end.
    pub(super) fn end_in(&self, trace: &Trace) -> usize {
        trace.entries.partition_point(|entry| entry.at_ns <= self.until.as_nanos())
    }

    /// Returns whether an entry is printed. Incidents are, unless the flags choose other kinds.
    pub(super) fn shows(&self, entry: &TraceEntry, words: &Words<'_>) -> bool {
        let is_told = !matches!(
            entry.content,
            TraceContent::Message { .. } | TraceContent::Block { .. } | TraceContent::State { .. }
        );
        let is_incident = matches!(entry.content, TraceContent::Incident(_));
        is_told
            && entry.at_ns >= self.from.as_nanos()
            && (self.is_step || is_incident)
            && (is_incident || self.is_of_replica(entry))
            && (self.kinds.is_empty() || self.is_of_kind(entry, words))
    }

    fn is_of_replica(&self, entry: &TraceEntry) -> bool {
        let Some(wanted) = self.replica else { return true };
        match &entry.content {
            TraceContent::Step { replica, .. } | TraceContent::Status { replica, .. } => *replica == wanted,
            TraceContent::Sent { from, to, .. } => *from == wanted || *to == wanted,
            _ => true,
        }
    }

    fn is_of_kind(&self, entry: &TraceEntry, words: &Words<'_>) -> bool {
        let is_chosen = |kind: &str| self.kinds.contains(kind);
        match &entry.content {
            TraceContent::Sent { label, .. } => is_chosen("sent") || is_chosen(label),
            TraceContent::Status { .. } => is_chosen("status"),
            TraceContent::Incident(_) => is_chosen("incident"),
            TraceContent::Step { event, effects, .. } => {
                let is_label =
                    matches!(event, TracedEvent::Message { message, .. } if is_chosen(words.label(*message)));
                is_label
                    || is_chosen("step")
                    || is_chosen(input(event))
                    || effects.iter().any(|effect| is_chosen(output(effect)))
            }
            _ => true,
        }
    }
}

fn label_of(entry: &TraceEntry) -> Option<&str> {
    match &entry.content {
        TraceContent::Message { label, .. } | TraceContent::Sent { label, .. } => Some(label),
        _ => None,
    }
}

fn input(event: &TracedEvent) -> &'static str {
    match event {
        TracedEvent::Start => "start",
        TracedEvent::Message { .. } => "message",
        TracedEvent::Timer { .. } => "timer",
        TracedEvent::Persisted { .. } => "persisted",
        TracedEvent::Built { .. } => "built",
        TracedEvent::Judged { .. } => "judged",
        TracedEvent::Random { .. } => "random",
        TracedEvent::Synced { .. } => "synced",
        TracedEvent::Admin(_) => "admin",
        _ => "step",
    }
}

fn output(effect: &TracedEffect) -> &'static str {
    match effect {
        TracedEffect::Head { .. } => "head",
        TracedEffect::Final { .. } => "final",
        TracedEffect::Evidence { .. } => "evidence",
        TracedEffect::Reject { .. } => "reject",
        TracedEffect::Mark { .. } => "mark",
        _ => "step",
    }
}
