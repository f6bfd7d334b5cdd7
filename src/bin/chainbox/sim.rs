//! `chainbox sim`: runs a scenario, or a network without a script.

mod free_run;
mod plan_notes;

use std::{
    error::Error,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use chainbox::sim::{
    FaultPlan, Network, SimTime,
    diagram::{DiagramOptions, draw},
    scenario::{self, Scenario, ScenarioOptions},
    trace::{Trace, TraceOutcome},
};
use indicatif::ProgressBar;
use serde_json::json;

use crate::{
    files, progress,
    refused::Refused,
    sim_args::SimOptions,
    sim_report::{self as report, Ran},
    styles::FAINT,
};

type Failure = Box<dyn Error>;

/// Runs the command and prints failures, as JSON on request; the exit status gives the kind of failure.
pub(crate) fn run(options: &SimOptions) -> ExitCode {
    let failure = match try_run(options) {
        Ok(true) => return ExitCode::SUCCESS,
        // The failure is already printed.
        Ok(false) => return ExitCode::from(crate::UNEXPECTED_OUTCOME),
        Err(failure) => failure,
    };
    if options.json {
        print_json(&json!({ "error": failure.to_string() }));
    } else {
        crate::print_error(failure.as_ref());
    }
    if failure.is::<Refused>() { ExitCode::from(crate::USAGE) } else { ExitCode::FAILURE }
}

/// Returns whether the reader closed the pipe, as `head` does, which is no failure.
fn print_json(value: &serde_json::Value) {
    let _ = writeln!(std::io::stdout(), "{value:#}");
}

/// Runs the command; returns `false` when the expected outcome does not occur.
fn try_run(options: &SimOptions) -> Result<bool, Failure> {
    if options.list {
        if options.json {
            print_json(&report::list_as_json(options.protocol));
        } else {
            anstream::print!("{}", report::list(options.protocol));
        }
        return Ok(true);
    }
    if options.plan_example {
        files::report(false, FaultPlan::EXAMPLE);
        return Ok(true);
    }
    let is_stdout_taken = stdout_is_taken(options)?;
    refuse_shared_paths(options)?;
    let plan = options.plan.as_deref().map(read_plan).transpose()?;
    let bar = progress::spinner(options.quiet || options.json);
    // The run alone, without reading the plan, drawing or writing.
    let started = progress::wall_clock();
    let mut ran = match &options.scenario {
        Some(name) => play(name, options, plan.clone(), &bar)?,
        None => free_run::run(options, plan.clone(), &bar)?,
    };
    let wall = started.elapsed();
    bar.finish_and_clear();

    let trace = ran.network.as_ref().and_then(Network::trace).map(|trace| {
        trace.with_outcome(match &ran.outcome {
            Ok(_) => TraceOutcome::Passed,
            Err(reason) => TraceOutcome::Failed { reason: reason.clone() },
        })
    });
    let chosen = options.window.map(|(from, until)| (SimTime::ZERO.plus(from), SimTime::ZERO.plus(until)));
    if let (Some(window), Some(trace)) = (chosen, &trace) {
        check_window(window, trace)?;
    }
    if let (Some(path), Some(trace)) = (&options.trace, &trace) {
        write_trace(path, trace)?;
    }
    if let (Some(path), Some(trace)) = (&options.svg, &trace) {
        let window = chosen.or(ran.window);
        let part = if window.is_none() { report::part_shown(trace) } else { None };
        write_picture(path, trace, window, part.as_deref(), &ran)?;
        ran.notes.extend(part.map(|part| format!("the picture {part}")));
    }
    let again = report::command(options, &ran);
    if options.json {
        print_json(&report::as_json(&ran, plan.as_ref(), &again));
    } else {
        let mut text = report::report(&ran, wall);
        for path in [&options.trace, &options.svg, &options.history]
            .into_iter()
            .flatten()
            .filter(|path| !files::is_stdout(path))
        {
            text.push_str(&format!("{FAINT}wrote {}{FAINT:#}\n", path.display()));
        }
        if ran.outcome.is_err() {
            text.push_str(&format!("\nseed = {}\n", ran.seed));
            if let Some(plan) = &plan {
                text.push_str(&format!("{}\n", plan.to_toml()));
            }
            text.push_str(&format!("shows it again: {again}\n"));
        }
        files::report(is_stdout_taken, &text);
    }
    Ok(ran.outcome.is_ok())
}

/// Returns whether the trace or the picture goes to standard output, where only one can go, and no JSON beside it.
fn stdout_is_taken(options: &SimOptions) -> Result<bool, Refused> {
    let is_stdout = |path: &Option<PathBuf>| path.as_deref().is_some_and(files::is_stdout);
    if is_stdout(&options.history) {
        return Err(Refused("--history - is not supported: give it a file".to_owned()));
    }
    match (is_stdout(&options.trace), is_stdout(&options.svg)) {
        (true, true) => Err(Refused("--trace - and --svg - both write to standard output: give one a file".to_owned())),
        (true, false) | (false, true) if options.json => {
            Err(Refused("--json prints to standard output: give --trace and --svg a file".to_owned()))
        }
        (trace, svg) => Ok(trace || svg),
    }
}

/// Refuses one file for two of the command's files: the later one would replace the other.
fn refuse_shared_paths(options: &SimOptions) -> Result<(), Refused> {
    let named = [
        ("--plan", &options.plan),
        ("--trace", &options.trace),
        ("--history", &options.history),
        ("--svg", &options.svg),
    ];
    let given: Vec<_> = named.iter().filter_map(|(flag, path)| Some((*flag, path.as_deref()?))).collect();
    files::same_file(&given).map_or(Ok(()), |text| Err(Refused(text)))
}

/// Refuses a window in which nothing of the run is.
pub(crate) fn check_window((from, until): (SimTime, SimTime), trace: &Trace) -> Result<(), Refused> {
    let end = trace.ends_at();
    if from < end {
        return Ok(());
    }
    let reason = format!("--window {from}..{until} is outside of the run, which is from {} to {end}", SimTime::ZERO);
    Err(Refused(reason))
}

fn play(name: &str, options: &SimOptions, plan: Option<FaultPlan>, bar: &ProgressBar) -> Result<Ran, Failure> {
    let scenario = find(name)?;
    if let Some(kind) = options.protocol.filter(|kind| kind.short_name() != scenario.protocol) {
        let reason = format!("{name} is a scenario of {}, not of {}", scenario.protocol, kind.short_name());
        return Err(Refused(reason).into());
    }
    if let (Some(_), None) = (options.trace.as_ref().or(options.svg.as_ref()), scenario.sizes()) {
        let reason = format!("{name} asks the protocol's rules without a network: there is nothing to record or draw");
        return Err(Refused(reason).into());
    }
    let mut chosen = ScenarioOptions::default();
    (chosen.seed, chosen.validators, chosen.plan) = (options.seed, options.validators, plan);
    let given = chosen.plan.clone();
    let played = scenario.play(&chosen, &mut |network| progress::show(bar, network));
    let played = played.map_err(|error| match error.is_refusal() {
        true => Failure::from(Refused(error.to_string())),
        false => files::with_causes(&error).into(),
    })?;
    let validators = options.validators.or(scenario.sizes().map(|sizes| sizes.default));
    let notes = match (&given, validators, &played.network) {
        (Some(plan), Some(validators), Some(network)) => plan_notes::notes(plan, validators, network),
        _ => Vec::new(),
    };
    Ok(Ran {
        name: scenario.name.to_owned(),
        summary: scenario.summary.to_owned(),
        must: scenario.outcome.to_owned(),
        is_scripted: true,
        outcome: played.outcome.map_err(|error| files::with_causes(&error)),
        network: played.network,
        seed: played.seed,
        window: played.window,
        facts: Vec::new(),
        notes,
    })
}

fn find(name: &str) -> Result<&'static Scenario, Failure> {
    scenario::find(name).map_err(|near| {
        let near = match near.join(", ") {
            near if near.is_empty() => String::new(),
            near => format!(" did you mean {near}?"),
        };
        Refused(format!("no scenario is called {name:?};{near} `chainbox sim --list` shows all")).into()
    })
}

fn read_plan(path: &Path) -> Result<FaultPlan, Failure> {
    let text = files::read_text(path)?;
    let is_json = text.trim_start().starts_with('{');
    let plan = if is_json { FaultPlan::from_json(&text) } else { FaultPlan::from_toml(&text) };
    plan.map_err(|error| format!("{}: {}", path.display(), files::with_causes(&error)).into())
}

/// Writes NDJSON, or the binary form for a name that ends in `.bin`.
fn write_trace(path: &Path, trace: &Trace) -> Result<(), Failure> {
    let is_binary = path.extension().is_some_and(|extension| extension == "bin");
    let bytes = if is_binary { trace.to_binary() } else { trace.to_ndjson().into_bytes() };
    files::write(path, &bytes)
}

/// Draws the run; `part` tells what a picture of a part shows.
fn write_picture(
    path: &Path,
    trace: &Trace,
    window: Option<(SimTime, SimTime)>,
    part: Option<&str>,
    ran: &Ran,
) -> Result<(), Failure> {
    let mut diagram = DiagramOptions::default();
    diagram.window = window;
    // A run without a script, or one that failed, is told by what occurred.
    let told = match &ran.outcome {
        Ok(_) if ran.is_scripted => ran.must.clone(),
        Ok(seen) => seen.clone(),
        Err(reason) => format!("failed: {reason}"),
    };
    diagram.caption = Some(match part {
        Some(part) => format!("{told}; {part}"),
        None => told,
    });
    files::write(path, draw(trace, &diagram).as_bytes())
}
