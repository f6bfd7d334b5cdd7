//! `chainbox sim`: a scenario, or a network that runs freely.

use std::{error::Error, path::Path, time::Duration};

use chainbox::{
    consensus::{ConsensusKind, Protocol},
    primitives::Height,
    sim::{
        FaultPlan, Latency, Network, NetworkError, SimTime,
        diagram::{DiagramOptions, draw},
        invariant,
        scenario::{self, Scenario, ScenarioOptions, Script},
        trace::Trace,
    },
};
use indicatif::ProgressBar;
use serde_json::json;

use crate::{
    banner::{ERROR, FAINT, GOOD, HEADING},
    files, progress,
    sim_args::SimOptions,
    table::Table,
};

type Failure = Box<dyn Error>;

/// What became of a run, whichever it was.
struct Ran {
    name: String,
    summary: String,
    must: String,
    /// What was seen, or what is wrong.
    outcome: Result<String, String>,
    network: Network,
    seed: u64,
    window: Option<(SimTime, SimTime)>,
}

/// Runs it; `false` when what must show does not.
pub(crate) fn run(options: &SimOptions) -> Result<bool, Failure> {
    if options.list {
        anstream::print!("{}", list(options.protocol));
        return Ok(true);
    }
    let plan = options.plan.as_deref().map(read_plan).transpose()?;
    let started = progress::wall_clock();
    let bar = progress::spinner(options.quiet || options.json);
    let ran = match &options.scenario {
        Some(name) => play(name, options, plan.clone(), &bar)?,
        None => run_freely(options, plan.clone(), &bar)?,
    };
    bar.finish_and_clear();
    let wall = started.elapsed();

    let trace = ran.network.trace();
    if let (Some(path), Some(trace)) = (&options.trace, &trace) {
        write_trace(path, trace)?;
    }
    if let (Some(path), Some(trace)) = (&options.svg, &trace) {
        let chosen = options.window.map(|(from, until)| (SimTime::ZERO.plus(from), SimTime::ZERO.plus(until)));
        write_picture(path, trace, chosen.or(ran.window), &ran)?;
    }
    let again = command(options, &ran);
    if options.json {
        println!("{}", serde_json::to_string_pretty(&as_json(&ran, plan.as_ref(), &again))?);
    } else {
        anstream::print!("{}", report(&ran, wall));
        for path in [&options.trace, &options.svg].into_iter().flatten() {
            anstream::println!("{FAINT}wrote {}{FAINT:#}", path.display());
        }
        if ran.outcome.is_err() {
            anstream::println!("\nseed = {}", ran.seed);
            if let Some(plan) = &plan {
                anstream::println!("{}", plan.to_toml());
            }
            anstream::println!("shows it again: {again}");
        }
    }
    Ok(ran.outcome.is_ok())
}

/// Every scenario with what it must show.
pub(crate) fn list(protocol: Option<ConsensusKind>) -> String {
    let mut out = String::new();
    for kind in ConsensusKind::ALL {
        let scenarios: Vec<_> = scenario::all().filter(|scenario| scenario.protocol == kind.short_name()).collect();
        if scenarios.is_empty() || protocol.is_some_and(|wanted| wanted != kind) {
            continue;
        }
        out.push_str(&format!("{HEADING}{}{HEADING:#}\n", kind.name()));
        for scenario in scenarios {
            out.push_str(&format!("  {GOOD}{}{GOOD:#}\n      {}\n", scenario.name, scenario.summary));
            out.push_str(&format!("      shows: {}\n", scenario.outcome));
            if let Script::Protocol { tests } = scenario.script {
                out.push_str(&format!("      {FAINT}played by tests of the protocol alone:{FAINT:#}\n"));
                for test in tests {
                    out.push_str(&format!("        {FAINT}cargo test --lib {test}{FAINT:#}\n"));
                }
            }
        }
        out.push('\n');
    }
    out
}

fn play(name: &str, options: &SimOptions, plan: Option<FaultPlan>, bar: &ProgressBar) -> Result<Ran, Failure> {
    let scenario = find(name)?;
    if let Some(kind) = options.protocol.filter(|kind| kind.short_name() != scenario.protocol) {
        return Err(format!("{name} is a scenario of {}, not of {}", scenario.protocol, kind.short_name()).into());
    }
    let mut chosen = ScenarioOptions::default();
    (chosen.seed, chosen.validators, chosen.plan) = (options.seed, options.validators, plan);
    let played = scenario.play(&chosen, &mut |network| progress::show(bar, network))?;
    Ok(Ran {
        name: scenario.name.to_owned(),
        summary: scenario.summary.to_owned(),
        must: scenario.outcome.to_owned(),
        outcome: played.outcome.map_err(|error| files::with_causes(&error)),
        network: played.network,
        seed: played.seed,
        window: played.window,
    })
}

fn find(name: &str) -> Result<&'static Scenario, Failure> {
    scenario::find(name).map_err(|near| {
        format!("no scenario is called {name:?}; the nearest are {}. `chainbox sim --list` shows all", near.join(", "))
            .into()
    })
}

/// A network without a script: it must reach a height, or go on for some time, with all invariants.
fn run_freely(options: &SimOptions, plan: Option<FaultPlan>, bar: &ProgressBar) -> Result<Ran, Failure> {
    let kind = options
        .protocol
        .ok_or("give a scenario, or --protocol to run freely; `chainbox sim --list` shows the scenarios")?;
    let consensus = scenario::usual(kind);
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
    let limit = options.duration.unwrap_or(Duration::from_secs(if options.height.is_some() { 3_600 } else { 30 }));
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
                Some(_) => Err(NetworkError::TimedOut { at: until, height: network.lowest_height() }),
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
    Ok(Ran { name: kind.short_name().to_owned(), summary, must, outcome, network, seed, window: None })
}

fn read_plan(path: &Path) -> Result<FaultPlan, Failure> {
    let text = files::read_text(path)?;
    let is_json = text.trim_start().starts_with('{');
    let plan = if is_json { FaultPlan::from_json(&text) } else { FaultPlan::from_toml(&text) };
    plan.map_err(|error| format!("{}: {}", path.display(), files::with_causes(&error)).into())
}

/// NDJSON, or the compact form for a name that ends in `.bin`.
fn write_trace(path: &Path, trace: &Trace) -> Result<(), Failure> {
    let is_binary = path.extension().is_some_and(|extension| extension == "bin");
    let bytes = if is_binary { trace.to_binary() } else { trace.to_ndjson().into_bytes() };
    files::write(path, &bytes)
}

fn write_picture(path: &Path, trace: &Trace, window: Option<(SimTime, SimTime)>, ran: &Ran) -> Result<(), Failure> {
    let mut diagram = DiagramOptions::default();
    diagram.window = window;
    diagram.caption = Some(ran.must.clone());
    files::write(path, draw(trace, &diagram).as_bytes())
}

/// What shows the same run again.
fn command(options: &SimOptions, ran: &Ran) -> String {
    let mut command = "chainbox sim".to_owned();
    match &options.scenario {
        Some(name) => command.push_str(&format!(" {name}")),
        None => command.push_str(&format!(" --protocol {}", ran.name)),
    }
    command.push_str(&format!(" --seed {}", ran.seed));
    if let Some(validators) = options.validators {
        command.push_str(&format!(" --validators {validators}"));
    }
    if let Some(plan) = &options.plan {
        command.push_str(&format!(" --plan {}", plan.display()));
    }
    if let Some(duration) = options.duration {
        command.push_str(&format!(" --for {}ms", duration.as_millis()));
    }
    if let Some(height) = options.height {
        command.push_str(&format!(" --height {height}"));
    }
    command
}

fn report(ran: &Ran, wall: Duration) -> String {
    let network = &ran.network;
    let mut out = format!("{HEADING}{}{HEADING:#}: {}\n", ran.name, ran.summary);
    out.push_str(&format!("must show: {}\n", ran.must));
    match &ran.outcome {
        Ok(seen) => out.push_str(&format!("{GOOD}shown:{GOOD:#} {seen}\n\n")),
        Err(error) => out.push_str(&format!("{ERROR}failed:{ERROR:#} {error}\n\n")),
    }
    let columns = ["replica", "head", "final", "built", "reorgs", "restarts", "evidence", "rejected"];
    let mut table = Table::new(&columns);
    for (number, replica) in network.replicas().iter().enumerate() {
        let counters = replica.counters();
        let finalized = replica.machine().finality().finalized.height;
        let numbers = [counters.blocks_built, counters.reorgs, counters.restarts, counters.evidence, counters.rejected];
        let mut row = vec![number.to_string(), replica.head().height.to_string(), finalized.to_string()];
        row.extend(numbers.map(|number| number.to_string()));
        table.row(row);
    }
    out.push_str(&table.to_string());
    let virtual_secs = network.now().as_nanos() as f64 / 1e9;
    let speed = virtual_secs / wall.as_secs_f64().max(1e-6);
    out.push_str(&format!(
        "\n{FAINT}{virtual_secs:.3} s of virtual time in {:.3} s ({speed:.0} times as fast), {} steps, seed {}{FAINT:#}\n",
        wall.as_secs_f64(),
        network.steps(),
        ran.seed,
    ));
    out
}

fn as_json(ran: &Ran, plan: Option<&FaultPlan>, again: &str) -> serde_json::Value {
    let network = &ran.network;
    let replicas = network.replicas().iter().map(|replica| {
        let (head, finality, counters) = (replica.head(), replica.machine().finality(), replica.counters());
        json!({
            "replica": replica.id().get(),
            "address": replica.address(),
            "head": { "height": head.height.get(), "hash": head.hash },
            "finalized": { "height": finality.finalized.height.get(), "hash": finality.finalized.hash },
            "blocksBuilt": counters.blocks_built,
            "reorgs": counters.reorgs,
            "restarts": counters.restarts,
            "evidence": counters.evidence,
            "rejected": counters.rejected,
        })
    });
    json!({
        "name": ran.name,
        "summary": ran.summary,
        "mustShow": ran.must,
        "shown": ran.outcome.is_ok(),
        "seen": ran.outcome.as_ref().ok(),
        "failure": ran.outcome.as_ref().err(),
        "seed": ran.seed,
        "plan": plan,
        "virtualMs": network.now().as_nanos() / 1_000_000,
        "steps": network.steps(),
        "digest": network.digest(),
        "replicas": replicas.collect::<Vec<_>>(),
        "command": again,
    })
}
