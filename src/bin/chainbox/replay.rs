//! `chainbox replay`: replays a recorded run, step by step.

use std::{error::Error, fmt::Write as _};

use chainbox::consensus::BlockId;
use chainbox::sim::{
    Expected, Regression, RunOutcome, SimTime,
    diagram::{DiagramOptions, draw},
    trace::{
        Incident, Replay, ReplicaStatus, RoundRole, Trace, TraceContent, TraceEntry, TraceOutcome, TracedEffect,
        TracedEvent,
    },
};

use crate::{
    banner::{ERROR, FAINT, GOOD, HEADING},
    files,
    sim_args::ReplayOptions,
};

type Failure = Box<dyn Error>;

/// Prints a line of the report: to standard error when the picture goes to standard output.
macro_rules! say {
    ($options:expr, $($text:tt)*) => {
        files::report($options.svg.as_deref().is_some_and(files::is_stdout), &format!("{}\n", format_args!($($text)*)))
    };
}

/// Replays the file; returns `false` when its run has a violation or failed otherwise.
pub(crate) fn run(options: &ReplayOptions) -> Result<bool, Failure> {
    let bytes = files::read(&options.file)?;
    let in_file = |error: &(dyn Error + 'static)| format!("{}: {}", options.file.display(), files::with_causes(error));
    if options.file.extension().is_some_and(|extension| extension == "toml") {
        return run_regression(options, &bytes);
    }
    let trace = Trace::read(&bytes).map_err(|error| in_file(&error))?;
    check_replica(options, &trace)?;
    let until = options.until.map_or(SimTime::from_nanos(u64::MAX), |until| SimTime::ZERO.plus(until));
    say!(options, "{HEADING}{}{HEADING:#} {FAINT}(seed {}){FAINT:#}", trace.header.title, trace.header.seed);

    let names = Names::of(&trace);
    let mut replay = Replay::new(&trace).map_err(|error| in_file(&error))?;
    let (mut steps, mut violations) = (0_u64, Vec::new());
    // Entries after the end of the replay are excluded by their time.
    let end = trace.entries.partition_point(|entry| entry.at_ns <= until.as_nanos());
    for entry in &trace.entries[..end] {
        replay.step().map_err(|error| in_file(&error))?;
        steps += u64::from(matches!(entry.content, TraceContent::Step { .. }));
        if let TraceContent::Incident(Incident::Violation { invariant, detail, step }) = &entry.content {
            let at = SimTime::from_nanos(entry.at_ns);
            violations.push(format!("invariant `{invariant}` is broken at {at}, step {step}: {detail}"));
        }
        if is_shown(entry, options) {
            say!(options, "{}", describe(&names, entry));
        }
    }
    if let Some(path) = &options.svg {
        files::write(path, draw(&trace, &DiagramOptions::default()).as_bytes())?;
        if !files::is_stdout(path) {
            say!(options, "{FAINT}wrote {}{FAINT:#}", path.display());
        }
    }
    say!(
        options,
        "\n{GOOD}replayed{GOOD:#} {steps} steps of {} replicas without the seed: every output is as it was recorded",
        trace.header.replicas.len()
    );
    for (replica, name) in trace.header.replicas.iter().enumerate() {
        match replay.head_of(replica as u32) {
            Some(head) => say!(options, "  {}: head {}", name.name, head),
            None => say!(options, "  {}: changed by hand, not followed", name.name),
        }
    }
    for text in &violations {
        say!(options, "{ERROR}{text}{ERROR:#}");
    }
    let is_whole = end == trace.entries.len();
    if let Some(TraceContent::Full { entries }) = trace.entries.last().map(|entry| &entry.content) {
        say!(options, "the recording is full: it ends after {entries} entries, before the run did");
    }
    match &trace.outcome {
        TraceOutcome::Failed { reason } if is_whole => {
            if violations.is_empty() {
                say!(options, "{ERROR}the run failed:{ERROR:#} {reason}");
            }
            Ok(false)
        }
        _ => Ok(violations.is_empty()),
    }
}

/// Refuses `--replica` with a number that no replica of the trace has.
fn check_replica(options: &ReplayOptions, trace: &Trace) -> Result<(), String> {
    let count = trace.header.replicas.len();
    match options.replica.filter(|replica| *replica as usize >= count) {
        None => Ok(()),
        Some(replica) => Err(format!(
            "--replica {replica}: there is no such replica; the trace has {count}, numbered from 0 to {}",
            count.saturating_sub(1)
        )),
    }
}

/// Runs a regression file again.
fn run_regression(options: &ReplayOptions, bytes: &[u8]) -> Result<bool, Failure> {
    let text = core::str::from_utf8(bytes).map_err(|error| format!("{}: {error}", options.file.display()))?;
    let regression = Regression::from_toml(text)
        .map_err(|error| format!("{}: {}", options.file.display(), files::with_causes(&error)))?;
    say!(options, "{HEADING}{}{HEADING:#} {FAINT}(seed {}){FAINT:#}", regression.about, regression.seed);
    say!(options, "{}", regression.plan.to_toml());
    let (report, is_as_expected, trace) = if options.step || options.svg.is_some() {
        regression.record()
    } else {
        let (report, is_as_expected) = regression.replay();
        (report, is_as_expected, None)
    };
    if let Some(trace) = trace {
        check_replica(options, &trace)?;
        show_run(options, &trace)?;
    }
    let counters = report.counters;
    say!(
        options,
        "{} validators, {} ms of virtual time, {} steps, height {}, {} restarts, digest {}",
        report.validators,
        counters.virtual_time.as_millis(),
        counters.steps,
        counters.height,
        counters.restarts,
        report.digest
    );
    match &report.outcome {
        RunOutcome::Passed => say!(options, "{GOOD}everything holds{GOOD:#}"),
        RunOutcome::Violated(violation) => say!(options, "{ERROR}{violation}{ERROR:#}"),
        RunOutcome::Failed { error } => say!(options, "{ERROR}{error}{ERROR:#}"),
    }
    let expected = match &regression.expected {
        Expected::Passes => "that everything holds".to_owned(),
        Expected::Breaks(invariant) => format!("a violation of `{invariant}`"),
    };
    if is_as_expected {
        say!(options, "as the file expects: {expected}");
    } else {
        say!(options, "{ERROR}the file expects {expected}{ERROR:#}");
    }
    Ok(is_as_expected)
}

/// Prints the recorded run of a regression, with both phases and the clients' transactions, up to the violation.
fn show_run(options: &ReplayOptions, trace: &Trace) -> Result<(), Failure> {
    if options.step {
        let names = Names::of(trace);
        let until = options.until.map_or(SimTime::from_nanos(u64::MAX), |until| SimTime::ZERO.plus(until));
        let end = trace.entries.partition_point(|entry| entry.at_ns <= until.as_nanos());
        for entry in trace.entries[..end].iter().filter(|entry| is_shown(entry, options)) {
            say!(options, "{}", describe(&names, entry));
        }
    }
    if let Some(path) = &options.svg {
        files::write(path, draw(trace, &DiagramOptions::default()).as_bytes())?;
        if !files::is_stdout(path) {
            say!(options, "{FAINT}wrote {}{FAINT:#}", path.display());
        }
    }
    Ok(())
}

/// Returns whether an entry is printed.
fn is_shown(entry: &TraceEntry, options: &ReplayOptions) -> bool {
    match (&entry.content, options.replica) {
        (TraceContent::Message { .. } | TraceContent::Block { .. } | TraceContent::State { .. }, _) => false,
        (TraceContent::Incident(_), _) => true,
        (TraceContent::Step { replica, .. } | TraceContent::Status { replica, .. }, Some(wanted)) => {
            options.step && *replica == wanted
        }
        (TraceContent::Sent { from, to, .. }, Some(wanted)) => options.step && (*from == wanted || *to == wanted),
        _ => options.step,
    }
}

/// What the numbers of a trace mean to a reader.
struct Names<'a> {
    trace: &'a Trace,
    /// Kinds of messages, by number.
    labels: Vec<&'a str>,
    /// By number.
    blocks: Vec<BlockId>,
    /// The protocol's word for a round.
    round: &'static str,
}

impl<'a> Names<'a> {
    fn of(trace: &'a Trace) -> Self {
        let (mut labels, mut blocks) = (Vec::new(), Vec::new());
        for entry in &trace.entries {
            match &entry.content {
                TraceContent::Message { label, .. } => labels.push(label.as_str()),
                TraceContent::Block { id, .. } => blocks.push(*id),
                _ => {}
            }
        }
        let section: serde_json::Value = serde_json::from_str(&trace.header.consensus).unwrap_or_default();
        let round = match section["protocol"].as_str() {
            Some("raft") => "term",
            Some("pbft") => "view",
            Some("pos") => "epoch",
            _ => "round",
        };
        Self { trace, labels, blocks, round }
    }

    fn replica(&self, number: u32) -> &'a str {
        self.trace.header.replicas.get(number as usize).map_or("?", |replica| replica.name.as_str())
    }

    fn message(&self, number: u32) -> &'a str {
        self.labels.get(number as usize).copied().unwrap_or("a message")
    }

    fn block(&self, number: u32) -> String {
        self.blocks.get(number as usize).map_or_else(
            || "a block".to_owned(),
            |id| {
                let hash = id.hash.to_string();
                format!("block {} ({}…)", id.height, hash.get(..10).unwrap_or(&hash))
            },
        )
    }

    /// Returns a replica's status in words.
    fn status(&self, status: &ReplicaStatus) -> String {
        let round = format!("{} {}", self.round, status.round);
        match (status.role, status.leader) {
            (RoundRole::Leader, _) => format!("{round}, leads"),
            (RoundRole::Follower, Some(leader)) => format!("{round}, follows {}", self.replica(leader)),
            (RoundRole::Follower, None) => format!("{round}, follows nobody yet"),
            (RoundRole::Seeking, _) => format!("{round}, seeks a leader"),
        }
    }
}

/// Formats an entry as one line, and one more for each relevant effect.
fn describe(names: &Names<'_>, entry: &TraceEntry) -> String {
    let name = |replica: u32| names.replica(replica);
    let mut out = format!("{FAINT}{}{FAINT:#}  ", SimTime::from_nanos(entry.at_ns));
    let _ = match &entry.content {
        TraceContent::Sent { from, to, label, arrives_ns, .. } => match arrives_ns {
            Some(at) => write!(
                out,
                "{} -> {}  {label}  {FAINT}arrives at {}{FAINT:#}",
                name(*from),
                name(*to),
                SimTime::from_nanos(*at)
            ),
            None => write!(out, "{} -> {}  {label}  {ERROR}lost{ERROR:#}", name(*from), name(*to)),
        },
        TraceContent::Status { replica, status } => {
            write!(out, "{}  {HEADING}{}{HEADING:#}", name(*replica), names.status(status))
        }
        TraceContent::Step { replica, event, effects } => {
            let _ = write!(out, "{}  {}", name(*replica), describe_event(event, names));
            effects.iter().filter_map(describe_effect).try_for_each(|line| write!(out, "\n                    {line}"))
        }
        TraceContent::Incident(incident) => write!(out, "{ERROR}{}{ERROR:#}", describe_incident(incident, &name)),
        other => write!(out, "{other:?}"),
    };
    out
}

fn describe_event(event: &TracedEvent, names: &Names<'_>) -> String {
    match event {
        TracedEvent::Message { from, message } => {
            format!("hears {} from {}", names.message(*message), names.replica(*from))
        }
        TracedEvent::Timer { timer } => format!("timer {timer} fires"),
        TracedEvent::Judged { id, invalid: None, .. } => format!("{id} is valid"),
        TracedEvent::Judged { id, invalid: Some(reason), .. } => format!("{id} is invalid: {reason}"),
        TracedEvent::Start => "starts".to_owned(),
        TracedEvent::Persisted { ticket } => format!("write {ticket} is durable"),
        TracedEvent::Built { block, .. } => format!("makes {}", names.block(*block)),
        TracedEvent::Random { value, .. } => format!("draws {value}"),
        TracedEvent::Synced { from, block } => {
            format!("gets {} from {}", names.block(*block), names.replica(*from))
        }
        other => format!("{other:?}"),
    }
}

fn describe_effect(effect: &TracedEffect) -> Option<String> {
    Some(match effect {
        TracedEffect::Head { new, reorg_depth: 0, .. } => format!("head moves to {new}"),
        TracedEffect::Head { new, reorg_depth, .. } => {
            format!("{ERROR}reorg of {reorg_depth}:{ERROR:#} head moves to {new}")
        }
        TracedEffect::Justified { id } => format!("justified: {id}"),
        TracedEffect::Final { finalized, .. } => format!("{GOOD}final:{GOOD:#} {finalized}"),
        TracedEffect::Evidence { text } => format!("{ERROR}evidence:{ERROR:#} {text}"),
        TracedEffect::Reject { reason } => format!("refuses it: {reason}"),
        TracedEffect::Mark { name } => format!("{FAINT}{name}{FAINT:#}"),
        TracedEffect::Other { text } => text.clone(),
        _ => return None,
    })
}

fn describe_incident<'a>(incident: &Incident, name: &impl Fn(u32) -> &'a str) -> String {
    match incident {
        Incident::Began { fault, kind, replicas, text } => {
            let who: Vec<_> = replicas.iter().map(|replica| name(*replica)).collect();
            format!("fault {fault} begins: {kind} {} {text}", who.join(", "))
        }
        Incident::Ended { fault } => format!("fault {fault} ends"),
        Incident::Crashed { replica } => format!("{} crashes", name(*replica)),
        Incident::Restarted { replica, records } => {
            format!("{} restarts with {} records", name(*replica), records.len())
        }
        Incident::Altered { replica, how } => format!("{} is changed by hand: {how}", name(*replica)),
        Incident::Note { text, .. } => text.clone(),
        Incident::Violation { invariant, step, detail } => {
            format!("invariant `{invariant}` is broken: at step {step}: {detail}")
        }
        other => format!("{other:?}"),
    }
}
