//! Output of `chainbox sim`.

use std::time::Duration;

use chainbox::{
    consensus::{ConsensusKind, ReplicaId},
    primitives::Height,
    sim::{
        FaultPlan, Network, SimTime, diagram,
        scenario::{self, Scenario, Script},
        trace::Trace,
    },
};
use serde_json::{Value, json};

use crate::{
    sim_args::SimOptions,
    styles::{ERROR, FAINT, GOOD, HEADING},
    table::Table,
};

/// Result of a run with or without a scenario.
pub(crate) struct Ran {
    pub(crate) name: String,
    pub(crate) summary: String,
    pub(crate) must: String,
    /// Whether a scenario's script ran.
    pub(crate) is_scripted: bool,
    /// The observed outcome, or the failure.
    pub(crate) outcome: Result<String, String>,
    /// `None` for a scenario without a network.
    pub(crate) network: Option<Network>,
    pub(crate) seed: u64,
    /// Excerpt that a diagram shows by default, as its first and last moment.
    pub(crate) window: Option<(SimTime, SimTime)>,
    /// What was checked, and who led, of a run without a script.
    pub(crate) facts: Vec<String>,
    /// Faults of the plan without effect, or beyond what the protocol tolerates.
    pub(crate) notes: Vec<String>,
}

/// Tells who leads before the first event; nothing for a protocol without leaders of whole rounds.
pub(crate) fn leader(network: &Network) -> Option<String> {
    let status = network.round_status(ReplicaId::new(0))?;
    status.leader.map(|leader| format!("at the start {leader} leads"))
}

/// Tells which replica made the first block that replica 0 has.
pub(crate) fn first_author(network: &Network) -> Option<String> {
    let first = network.primary().chain().block_at(Height::new(1)).ok()?;
    let author = first.block().header().beneficiary;
    let replica = network.replicas().iter().find(|replica| replica.address() == Some(author))?;
    Some(format!("block 1 is by {}", replica.id()))
}

/// Iterates over the scenarios of a protocol, or all.
fn chosen(protocol: Option<ConsensusKind>) -> impl Iterator<Item = (ConsensusKind, &'static Scenario)> {
    let kinds = ConsensusKind::ALL.into_iter().filter(move |kind| protocol.is_none_or(|wanted| wanted == *kind));
    kinds.flat_map(|kind| {
        scenario::all().filter(move |scenario| scenario.protocol == kind.short_name()).map(move |found| (kind, found))
    })
}

/// Formats every scenario with its expected outcome.
pub(crate) fn list(protocol: Option<ConsensusKind>) -> String {
    let mut out = String::new();
    let mut last = None;
    for (kind, scenario) in chosen(protocol) {
        if last.replace(kind) != Some(kind) {
            let gap = if out.is_empty() { "" } else { "\n" };
            out.push_str(&format!("{gap}{HEADING}{}{HEADING:#}\n", kind.name()));
        }
        out.push_str(&format!("  {GOOD}{}{GOOD:#}\n      {}\n", scenario.name, scenario.summary));
        out.push_str(&format!("      shows: {}\n", scenario.outcome));
        match scenario.sizes() {
            Some(sizes) if sizes.min == sizes.max => {
                out.push_str(&format!("      {FAINT}validators: {sizes}: {}{FAINT:#}\n", sizes.reason));
            }
            Some(sizes) => {
                let default = sizes.default;
                out.push_str(&format!("      {FAINT}validators: {default} ({sizes}): {}{FAINT:#}\n", sizes.reason));
            }
            None => out.push_str(&format!("      {FAINT}without a network: the protocol's rules alone{FAINT:#}\n")),
        }
    }
    out
}

/// Formats them as JSON.
pub(crate) fn list_as_json(protocol: Option<ConsensusKind>) -> Value {
    let scenarios = chosen(protocol).map(|(_, scenario)| {
        let sizes = scenario.sizes().map(|sizes| {
            json!({
                "usual": sizes.default,
                "min": sizes.min,
                "max": sizes.max,
                "reason": sizes.reason,
            })
        });
        let seed = match scenario.script {
            Script::Network { seed, .. } => Some(seed),
            Script::Rules { .. } => None,
        };
        json!({
            "name": scenario.name,
            "protocol": scenario.protocol,
            "summary": scenario.summary,
            "mustShow": scenario.outcome,
            "validators": sizes,
            "seed": seed,
        })
    });
    Value::Array(scenarios.collect())
}

/// Returns the command that repeats the run.
pub(crate) fn command(options: &SimOptions, ran: &Ran) -> String {
    let mut command = "chainbox sim".to_owned();
    match &options.scenario {
        Some(name) => command.push_str(&format!(" {name}")),
        None => command.push_str(&format!(" --protocol {}", ran.name)),
    }
    if ran.network.is_some() {
        command.push_str(&format!(" --seed {}", ran.seed));
    }
    if let Some(validators) = options.validators {
        command.push_str(&format!(" --validators {validators}"));
    }
    if let Some(plan) = &options.plan {
        command.push_str(&format!(" --plan {}", plan.display()));
    }
    if let Some(duration) = options.duration {
        command.push_str(&format!(" --for {}", exact(duration)));
    }
    if let Some(height) = options.height {
        command.push_str(&format!(" --height {height}"));
    }
    command
}

/// Writes a duration without loss, as `--for` reads it.
pub(crate) fn exact(duration: Duration) -> String {
    match duration.subsec_nanos() % 1_000_000 {
        0 => format!("{}ms", duration.as_millis()),
        _ => format!("{}ns", duration.as_nanos()),
    }
}

/// Writes a duration without loss, with a space before the unit.
pub(crate) fn spaced(duration: Duration) -> String {
    let text = exact(duration);
    let (number, unit) = text.split_at(text.len() - 2);
    format!("{number} {unit}")
}

/// Tells which part of a long run a picture without a window shows; `None` where it shows the whole run.
pub(crate) fn part_shown(trace: &Trace) -> Option<String> {
    let (from, until) = diagram::default_window(trace)?;
    let [from, until, end] = [from, until, trace.ends_at()].map(seconds);
    Some(format!("shows {from} to {until} s of {end} s: --window shows others"))
}

/// Writes seconds with the milliseconds that there are.
fn seconds(time: SimTime) -> String {
    let millis = time.as_nanos() / 1_000_000;
    let text = format!("{}.{:03}", millis / 1_000, millis % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a report as text.
pub(crate) fn report(ran: &Ran, wall: Duration) -> String {
    let mut out = format!("{HEADING}{}{HEADING:#}: {}\n", ran.name, ran.summary);
    out.push_str(&format!("must show: {}\n", ran.must));
    match &ran.outcome {
        Ok(seen) => out.push_str(&format!("{GOOD}shown:{GOOD:#} {seen}\n\n")),
        Err(error) => out.push_str(&format!("{ERROR}failed:{ERROR:#} {error}\n\n")),
    }
    for note in &ran.notes {
        out.push_str(&format!("{HEADING}note:{HEADING:#} {note}\n"));
    }
    for fact in &ran.facts {
        out.push_str(&format!("{FAINT}{fact}{FAINT:#}\n"));
    }
    if !ran.facts.is_empty() || !ran.notes.is_empty() {
        out.push('\n');
    }
    let Some(network) = &ran.network else {
        out.push_str(&format!(
            "{FAINT}no network: the protocol's rules alone, in {:.3} s{FAINT:#}\n",
            wall.as_secs_f64()
        ));
        return out;
    };
    let columns = ["replica", "head", "final", "built", "reorgs", "restarts", "evidence", "rejected"];
    let mut table = Table::new(&columns);
    for (number, replica) in network.replicas().iter().enumerate() {
        let counters = replica.counters();
        let finalized = replica.finality().finalized.height;
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

/// Formats a report as JSON.
pub(crate) fn as_json(ran: &Ran, plan: Option<&FaultPlan>, again: &str) -> Value {
    let mut result = json!({
        "name": ran.name,
        "summary": ran.summary,
        "mustShow": ran.must,
        "shown": ran.outcome.is_ok(),
        "seen": ran.outcome.as_ref().ok(),
        "failure": ran.outcome.as_ref().err(),
        "facts": ran.facts,
        "notes": ran.notes,
        "command": again,
    });
    let of_network = ran.network.as_ref().map(|network| of_network(network, ran.seed, plan));
    if let (Some(result), Some(Value::Object(more))) = (result.as_object_mut(), of_network) {
        result.extend(more);
    }
    result
}

fn of_network(network: &Network, seed: u64, plan: Option<&FaultPlan>) -> Value {
    let replicas = network.replicas().iter().map(|replica| {
        let (head, finality, counters) = (replica.head(), replica.finality(), replica.counters());
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
        "seed": seed,
        "plan": plan,
        "virtualMs": network.now().as_nanos() / 1_000_000,
        "steps": network.steps(),
        "digest": network.digest(),
        "replicas": replicas.collect::<Vec<_>>(),
    })
}
