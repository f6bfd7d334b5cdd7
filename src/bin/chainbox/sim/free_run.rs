//! A network without a script: to a height, or for a time, with all invariants; perhaps with clients.

use std::{error::Error, path::Path, time::Duration};

use chainbox::{
    primitives::Height,
    sim::{
        FaultPlan, Latency, Network, NetworkError, RUN_TO_HEIGHT_MAX, SimTime, default_sim_config,
        history::{self, HistoryOptions},
        invariant,
    },
};
use indicatif::ProgressBar;

use super::plan_notes;
use crate::{
    files, progress,
    refused::Refused,
    sim_args::SimOptions,
    sim_report::{self as report, Ran},
};

type Failure = Box<dyn Error>;

/// Runs a network without a script to a height or for a time, with all invariants.
pub(super) fn run(options: &SimOptions, plan: Option<FaultPlan>, bar: &ProgressBar) -> Result<Ran, Failure> {
    let kind = options
        .protocol
        .ok_or("give a scenario, or --protocol to run freely; `chainbox sim --list` shows the scenarios")
        .map_err(|text| Refused(text.to_owned()))?;
    let consensus = default_sim_config(kind);
    let validators = options.validators.unwrap_or(4);
    let seed = options.seed.unwrap_or(0);
    let faults = plan.as_ref().map_or(0, |plan| plan.faults.len());
    let summary = format!("{validators} validators of {}, {faults} planned faults", kind.name());
    let invariants = invariant::of_protocol(&consensus);
    let names: Vec<_> = invariants.iter().flat_map(|invariant| invariant.names()).collect();
    let mut facts = vec![format!("checked after every step: {}", names.join(", "))];
    let mut builder = Network::builder()
        .with_invariants(invariants)
        .with_consensus(consensus)
        .with_validators(validators)
        .with_seed(seed)
        .with_latency(Latency::Uniform { min: Duration::from_millis(8), max: Duration::from_millis(30) });
    if options.history.is_some() {
        builder = builder.with_genesis(history::genesis());
    }
    if options.trace.is_some() || options.svg.is_some() {
        builder = builder.with_trace(summary.clone());
    }
    if let Some(plan) = &plan {
        builder = builder.with_faults(plan.clone());
    }
    let mut network = builder.build().map_err(|error| match error {
        // The number of validators is the flags' alone.
        NetworkError::Consensus(_) | NetworkError::Options(_) => Failure::from(Refused(files::with_causes(&error))),
        error => files::with_causes(&error).into(),
    })?;
    facts.extend(report::leader(&network));
    let limit =
        options.duration.unwrap_or(if options.height.is_some() { RUN_TO_HEIGHT_MAX } else { Duration::from_secs(30) });
    let must = match options.height {
        Some(height) => format!("every head at height {height} within {} s of virtual time", limit.as_secs()),
        None => format!("every invariant holds for {} of virtual time", report::spaced(limit)),
    };
    let outcome = match &options.history {
        Some(path) => run_with_clients(&mut network, seed, limit, path)?,
        None => run_to_end(&mut network, options, limit, bar).map(|()| None),
    };
    facts.extend(report::first_author(&network));
    let notes = plan.as_ref().map_or_else(Vec::new, |plan| plan_notes::notes(plan, validators, &network));
    let outcome = match outcome {
        Ok(checked) => {
            facts.extend(checked);
            Ok(format!("all invariants held; the lowest head is at height {}", network.lowest_height()))
        }
        Err(error) => Err(files::with_causes(error.as_ref())),
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
        facts,
        notes,
    })
}

/// Runs to the height, or to the end.
fn run_to_end(network: &mut Network, options: &SimOptions, limit: Duration, bar: &ProgressBar) -> Result<(), Failure> {
    let until = SimTime::ZERO.plus(limit);
    let wanted = options.height.map(Height::new);
    loop {
        if wanted.is_some_and(|wanted| network.lowest_height() >= wanted) {
            return Ok(());
        }
        if network.next_at().is_none_or(|next| next > until) {
            return match wanted {
                Some(_) => Err(NetworkError::TimedOut { at: until, progress: network.progress() }.into()),
                None => Ok(network.run_to(until)?),
            };
        }
        network.step()?;
        if network.steps().is_multiple_of(512) {
            progress::show(bar, network);
        }
    }
}

/// Runs with clients, writes their history and checks it; returns what was checked. The outer error is that of the file.
fn run_with_clients(
    network: &mut Network,
    seed: u64,
    limit: Duration,
    path: &Path,
) -> Result<Result<Option<String>, Failure>, Failure> {
    let options = HistoryOptions { seed, span: limit * 2 / 3, rest: limit / 3, ..HistoryOptions::default() };
    let (history, run) = history::record(network, &options);
    files::write(path, history.to_ndjson().as_bytes())?;
    if let Err(error) = run {
        return Ok(Err(error.into()));
    }
    Ok(match history.check() {
        Err(anomaly) => Err(anomaly.to_string().into()),
        Ok(checked) => {
            let (acknowledged, sent) = (checked.acknowledged, options.transactions);
            let undecided = match checked.undecided.len() {
                0 => String::new(),
                count => format!("; {count} accounts took too many configurations and are undecided"),
            };
            Ok(Some(format!(
                "history: {acknowledged} of {sent} transfers were acknowledged, {} reads were answered; reads by a quorum are \
                 linearizable, those of single replicas sequentially consistent{undecided}",
                checked.reads
            )))
        }
    })
}
