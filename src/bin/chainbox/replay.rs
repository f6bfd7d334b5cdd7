//! `chainbox replay`: replays a recorded run, step by step.

mod filter;
mod words;

use std::{error::Error, path::Path};

use chainbox::sim::{
    Expected, RunOutcome, SimTime,
    diagram::{DiagramOptions, draw},
    trace::{Incident, Replay, Trace, TraceContent, TraceEntry, TraceOutcome},
};

use self::{filter::Filter, words::Words};
use crate::{
    campaign::demo,
    files,
    refused::Refused,
    sim::check_window,
    sim_args::ReplayOptions,
    sim_report::part_shown,
    styles::{ERROR, FAINT, GOOD, HEADING},
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
    let given = options.svg.as_deref().map(|svg| [("the run to replay", options.file.as_path()), ("--svg", svg)]);
    if let Some(text) = given.and_then(|given| files::same_file(&given)) {
        return Err(Refused(text).into());
    }
    let bytes = files::read(&options.file)?;
    let in_file = |error: &(dyn Error + 'static)| format!("{}: {}", options.file.display(), files::with_causes(error));
    if options.file.extension().is_some_and(|extension| extension == "toml") {
        return run_regression(options, &bytes);
    }
    let trace = Trace::read(&bytes).map_err(|error| in_file(&error))?;
    let filter = Filter::new(options, &trace)?;
    say!(options, "{HEADING}{}{HEADING:#} {FAINT}(seed {}){FAINT:#}", trace.header.title, trace.header.seed);

    let words = Words::of(&trace);
    let mut replay = Replay::new(&trace).map_err(|error| in_file(&error))?;
    let (mut steps, mut violations, mut shown) = (0_u64, Vec::new(), 0_u64);
    // Entries after the end of the replay are excluded by their time.
    let end = filter.end_in(&trace);
    for entry in &trace.entries[..end] {
        replay.step().map_err(|error| in_file(&error))?;
        steps += u64::from(matches!(entry.content, TraceContent::Step { .. }));
        if let TraceContent::Incident(Incident::Violation { invariant, detail, step }) = &entry.content {
            let at = SimTime::from_nanos(entry.at_ns);
            violations.push(format!("invariant `{invariant}` is broken at {at}, step {step}: {detail}"));
        }
        if filter.shows(entry, &words) {
            shown += 1;
            say!(options, "{}", words.entry(entry, &replay));
        }
    }
    tell_if_empty(options, shown);
    if let Some(path) = &options.svg {
        write_picture(options, path, &trace)?;
    }
    say!(
        options,
        "\n{GOOD}replayed{GOOD:#} {steps} steps of {} replicas without the seed: every output is as it was recorded",
        trace.header.replicas.len()
    );
    for replica in (0..).take(trace.header.replicas.len()) {
        match replay.head_of(replica) {
            Some(head) => say!(options, "  replica {replica}: head {head}"),
            None => say!(options, "  replica {replica}: changed by hand, not followed"),
        }
    }
    for text in &violations {
        say!(options, "{ERROR}{text}{ERROR:#}");
    }
    let is_whole = end == trace.entries.len();
    if let Some(TraceContent::Full { entries }) = trace.entries.last().map(|entry| &entry.content) {
        say!(options, "the recording is full: it ends after {entries} entries, before the run did");
    }
    let is_later = |entry: &TraceEntry| matches!(entry.content, TraceContent::Incident(Incident::Violation { .. }));
    if let Some(later) = trace.entries[end..].iter().find(|entry| violations.is_empty() && is_later(entry)) {
        let at = SimTime::from_nanos(later.at_ns);
        say!(options, "{HEADING}note:{HEADING:#} an invariant is broken later, at {at}: raise --until to see it");
    } else if let TraceOutcome::Failed { reason } = &trace.outcome
        && !is_whole
        && violations.is_empty()
    {
        say!(options, "{HEADING}note:{HEADING:#} the run fails later, after --until: {reason}");
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

/// Runs a regression file again.
fn run_regression(options: &ReplayOptions, bytes: &[u8]) -> Result<bool, Failure> {
    let text = core::str::from_utf8(bytes).map_err(|error| format!("{}: {error}", options.file.display()))?;
    let regression = demo::read_regression(text)
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

/// Draws the run in the chosen window, or in the default one, which is told.
fn write_picture(options: &ReplayOptions, path: &Path, trace: &Trace) -> Result<(), Failure> {
    let mut diagram = DiagramOptions::default();
    diagram.window = options.window.map(|(from, until)| (SimTime::ZERO.plus(from), SimTime::ZERO.plus(until)));
    if let Some(window) = diagram.window {
        check_window(window, trace)?;
    }
    files::write(path, draw(trace, &diagram).as_bytes())?;
    if !files::is_stdout(path) {
        let part = if diagram.window.is_none() { part_shown(trace) } else { None };
        let part = part.map_or_else(String::new, |part| format!(": the picture {part}"));
        say!(options, "{FAINT}wrote {}{part}{FAINT:#}", path.display());
    }
    Ok(())
}

/// Says that the flags select nothing of the run.
fn tell_if_empty(options: &ReplayOptions, shown: u64) {
    if options.step && shown == 0 {
        say!(options, "no entry of the run is selected: change --from, --until, --replica or --kind");
    }
}

/// Prints the recorded run of a regression, with both phases and the clients' transactions, up to the violation.
fn show_run(options: &ReplayOptions, trace: &Trace) -> Result<(), Failure> {
    let filter = Filter::new(options, trace)?;
    if options.step {
        let words = Words::of(trace);
        // For the contents of messages; a planted bug's protocol is not replayed, and its messages have their kinds alone.
        let mut replay = Replay::new(trace).ok();
        let mut shown = 0;
        for entry in &trace.entries[..filter.end_in(trace)] {
            replay = replay.and_then(|mut replay| replay.step().is_ok().then_some(replay));
            if filter.shows(entry, &words) {
                shown += 1;
                let text = match &replay {
                    Some(replay) => words.entry(entry, replay),
                    None => words.entry(entry, &()),
                };
                say!(options, "{text}");
            }
        }
        tell_if_empty(options, shown);
    }
    if let Some(path) = &options.svg {
        write_picture(options, path, trace)?;
    }
    Ok(())
}
