//! `chainbox sim`: runs a scenario, or a network without a script.

use std::{
    error::Error,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use chainbox::{
    primitives::Height,
    sim::{
        FaultPlan, Latency, Network, NetworkError, RUN_TO_HEIGHT_MAX, SimTime, default_sim_config,
        diagram::{DiagramOptions, draw},
        invariant,
        scenario::{self, Scenario, ScenarioOptions},
        trace::{Trace, TraceOutcome},
    },
};
use indicatif::ProgressBar;
use serde_json::json;

use crate::{
    banner::FAINT,
    files, progress,
    sim_args::SimOptions,
    sim_report::{self as report, Ran},
};

type Failure = Box<dyn Error>;

/// Invalid options: nothing was run.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refused(String);

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
    let plan = options.plan.as_deref().map(read_plan).transpose()?;
    let bar = progress::spinner(options.quiet || options.json);
    // The run alone, without reading the plan, drawing or writing.
    let started = progress::wall_clock();
    let ran = match &options.scenario {
        Some(name) => play(name, options, plan.clone(), &bar)?,
        None => run_freely(options, plan.clone(), &bar)?,
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
        write_picture(path, trace, chosen.or(ran.window), &ran)?;
    }
    let again = report::command(options, &ran);
    if options.json {
        print_json(&report::as_json(&ran, plan.as_ref(), &again));
    } else {
        let mut text = report::report(&ran, wall);
        for path in [&options.trace, &options.svg].into_iter().flatten().filter(|path| !files::is_stdout(path)) {
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
    match (is_stdout(&options.trace), is_stdout(&options.svg)) {
        (true, true) => Err(Refused("--trace - and --svg - both write to standard output: give one a file".to_owned())),
        (true, false) | (false, true) if options.json => {
            Err(Refused("--json prints to standard output: give --trace and --svg a file".to_owned()))
        }
        (trace, svg) => Ok(trace || svg),
    }
}

/// Refuses a window in which nothing of the run is.
fn check_window((from, until): (SimTime, SimTime), trace: &Trace) -> Result<(), Refused> {
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
    let played = scenario.play(&chosen, &mut |network| progress::show(bar, network));
    let played = played.map_err(|error| match error.is_refusal() {
        true => Failure::from(Refused(error.to_string())),
        false => files::with_causes(&error).into(),
    })?;
    Ok(Ran {
        name: scenario.name.to_owned(),
        summary: scenario.summary.to_owned(),
        must: scenario.outcome.to_owned(),
        is_scripted: true,
        outcome: played.outcome.map_err(|error| files::with_causes(&error)),
        network: played.network,
        seed: played.seed,
        window: played.window,
    })
}

fn find(name: &str) -> Result<&'static Scenario, Failure> {
    scenario::find(name).map_err(|near| {
        let near = near.join(", ");
        Refused(format!("no scenario is called {name:?}; the nearest are {near}. `chainbox sim --list` shows all"))
            .into()
    })
}

/// Runs a network without a script to a height or for a time, with all invariants.
fn run_freely(options: &SimOptions, plan: Option<FaultPlan>, bar: &ProgressBar) -> Result<Ran, Failure> {
    let kind = options
        .protocol
        .ok_or("give a scenario, or --protocol to run freely; `chainbox sim --list` shows the scenarios")
        .map_err(|text| Refused(text.to_owned()))?;
    let consensus = default_sim_config(kind);
    let validators = options.validators.unwrap_or(4);
    let seed = options.seed.unwrap_or(0);
    let faults = plan.as_ref().map_or(0, |plan| plan.faults.len());
    let summary = format!("{validators} validators of {}, {faults} planned faults", kind.name());
    let mut builder = Network::builder()
        .with_invariants(invariant::of_protocol(&consensus))
        .with_consensus(consensus)
        .with_validators(validators)
        .with_seed(seed)
        .with_latency(Latency::Uniform { min: Duration::from_millis(8), max: Duration::from_millis(30) });
    if options.trace.is_some() || options.svg.is_some() {
        builder = builder.with_trace(summary.clone());
    }
    if let Some(plan) = plan {
        builder = builder.with_faults(plan);
    }
    let mut network = builder.build().map_err(|error| files::with_causes(&error))?;
    let limit =
        options.duration.unwrap_or(if options.height.is_some() { RUN_TO_HEIGHT_MAX } else { Duration::from_secs(30) });
    let must = match options.height {
        Some(height) => format!("every head at height {height} within {} s of virtual time", limit.as_secs()),
        None => format!("every invariant holds for {} ms of virtual time", limit.as_millis()),
    };
    let until = SimTime::ZERO.plus(limit);
    let wanted = options.height.map(Height::new);
    let outcome = loop {
        if wanted.is_some_and(|wanted| network.lowest_height() >= wanted) {
            break Ok(());
        }
        if network.next_at().is_none_or(|next| next > until) {
            break match wanted {
                Some(_) => Err(NetworkError::TimedOut { at: until, progress: network.progress() }),
                None => network.run_to(until),
            };
        }
        if let Err(error) = network.step() {
            break Err(error);
        }
        if network.steps().is_multiple_of(512) {
            progress::show(bar, &network);
        }
    };
    let outcome = match outcome {
        Ok(()) => Ok(format!("all invariants held; the lowest head is at height {}", network.lowest_height())),
        Err(error) => Err(files::with_causes(&error)),
    };
    Ok(Ran {
        name: kind.short_name().to_owned(),
        summary,
        must,
        is_scripted: false,
        outcome,
        network: Some(network),
        seed,
        window: None,
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

fn write_picture(path: &Path, trace: &Trace, window: Option<(SimTime, SimTime)>, ran: &Ran) -> Result<(), Failure> {
    let mut diagram = DiagramOptions::default();
    diagram.window = window;
    // A run without a script, or one that failed, is told by what occurred.
    diagram.caption = Some(match &ran.outcome {
        Ok(_) if ran.is_scripted => ran.must.clone(),
        Ok(seen) => seen.clone(),
        Err(reason) => format!("failed: {reason}"),
    });
    files::write(path, draw(trace, &diagram).as_bytes())
}
