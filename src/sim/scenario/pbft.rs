//! Scenarios of PBFT.

use std::sync::Arc;

use super::{Scenario, ScenarioError, ScenarioRunner, Script, Sizes, runner::ms};
use crate::{
    consensus::{
        AnyProtocol, BlockId, ConsensusConfig, ConsensusMessage, Purpose,
        pbft::{Body, Pbft, PbftConfig, PbftMessage, View},
    },
    primitives::Height,
    sim::{
        faults::plan::Behaviour,
        network::builder::NetworkBuilder,
        trace::{TraceContent, TracedEvent},
    },
};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "pbft-primary-crash",
        protocol: "pbft",
        summary: "the primary crashes, comes back later",
        outcome: "the others change the view and go on; the old primary catches up; nothing committed is lost",
        script: Script::Network { validators: CRASH, seed: 7, consensus, setup, play: primary_crash },
    },
    Scenario {
        name: "pbft-equivocating-primary",
        protocol: "pbft",
        summary: "the primary of seven proposes two blocks in one place, each to half of the others",
        outcome: "neither gets a quorum; those who see both change the view and prove it, and the primary is excluded",
        script: Script::Network { validators: HALVES, seed: 7, consensus, setup, play: equivocating_primary },
    },
    Scenario {
        name: "pbft-f-plus-1-byzantine",
        protocol: "pbft",
        summary: "f + 1 = 2 of 4 are Byzantine: the primary proposes two blocks, and a backup votes for both",
        outcome: "two honest replicas commit different blocks, and the invariant agreement reports it",
        script: Script::Network { validators: F_PLUS_1, seed: 7, consensus, setup, play: f_plus_1 },
    },
    Scenario {
        name: "pbft-lost-view-changes",
        protocol: "pbft",
        summary: "the primary crashes, and for a while all view-changes are lost",
        outcome: "they are sent again, and the next view begins once they get through",
        script: Script::Network { validators: CRASH, seed: 7, consensus, setup, play: lost_view_changes },
    },
];

const CRASH: Sizes =
    Sizes::from_default(4, "one may fail only where there are 3f + 1, f of at least 1").at_least(4).at_most(16);
const HALVES: Sizes =
    Sizes::from_default(7, "half of the backups with the primary must be less than a quorum").at_least(7).at_most(13);
const F_PLUS_1: Sizes = Sizes::exactly(4, "f + 1 Byzantine replicas are the primary and one backup");

fn consensus() -> ConsensusConfig {
    ConsensusConfig::Pbft(PbftConfig::default())
}

const fn setup(builder: NetworkBuilder) -> NetworkBuilder {
    builder
}

fn pbft<'a>(runner: &'a ScenarioRunner<'_>, number: u32) -> Option<&'a Pbft> {
    match runner.protocol(number) {
        AnyProtocol::Pbft(pbft) => Some(pbft),
        _ => None,
    }
}

fn view(runner: &ScenarioRunner<'_>, number: u32) -> u64 {
    pbft(runner, number).map_or(0, |pbft| pbft.view().get())
}

/// Returns the primary, as known to replica 0, and all others.
fn primary(runner: &ScenarioRunner<'_>) -> (u32, Vec<u32>) {
    let address = pbft(runner, 0).map(Pbft::primary);
    let replicas = runner.network().replicas();
    let found = replicas.iter().find(|replica| replica.address().is_some() && replica.address() == address);
    let primary = found.map_or(0, |replica| replica.id().get());
    (primary, (0..runner.count()).filter(|number| *number != primary).collect())
}

fn primary_crash(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    runner.run_to_height(ms(10_000), Height::new(2))?;
    runner.run_for(ms(600))?;
    runner.begin_window();
    let (primary, others) = primary(runner);
    let committed = runner.highest().get();
    runner.run_some_to_height(&others, ms(5_000), Height::new(committed + 1))?;
    runner.run_for(ms(100))?;
    runner.crash(primary)?;
    let crashed_at = runner.network().now();
    runner.run_until(ms(20_000), "a new view", |runner| others.iter().all(|number| view(runner, *number) > 0))?;
    let waited = runner.network().now().as_nanos() - crashed_at.as_nanos();
    runner.run_some_to_height(&others, ms(20_000), Height::new(committed + 3))?;
    runner.run_for(ms(100))?;
    runner.restart(primary)?;
    let goal = runner.highest().get() + 1;
    runner.run_to_height(ms(30_000), Height::new(goal))?;
    runner.run_for(ms(80))?;
    runner.end_window();
    let everybody: Vec<u32> = (0..runner.count()).collect();
    runner.ensure_agreement(&everybody, Height::new(goal))?;
    let (view, millis) = (view(runner, others[0]), waited / 1_000_000);
    Ok(format!("view {view} began {millis} ms after the crash; all agree up to height {goal}"))
}

fn equivocating_primary(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    runner.run_to_height(ms(10_000), Height::new(2))?;
    let (primary, others) = primary(runner);
    runner.misbehave(primary, Behaviour::Equivocate)?;
    runner.run_until(ms(30_000), "a new view", |runner| others.iter().all(|number| view(runner, *number) > 0))?;
    let goal = runner.highest().get() + 3;
    runner.run_some_to_height(&others, ms(60_000), Height::new(goal))?;
    runner.ensure_agreement(&others, Height::new(goal))?;
    for number in &others {
        runner.ensure(runner.evidence(*number) > 0, format!("evidence at replica {number}"))?;
    }
    let faulty = runner.replica(primary).address().unwrap_or_default();
    let is_out = |runner: &ScenarioRunner<'_>| {
        others.iter().all(|number| pbft(runner, *number).is_some_and(|pbft| !pbft.committee().contains(&faulty)))
    };
    runner.run_until(ms(120_000), "a committee without the faulty primary", is_out)?;
    let found: u64 = others.iter().map(|number| runner.evidence(*number)).sum();
    let view = others.iter().map(|number| view(runner, *number)).max().unwrap_or_default();
    let out = runner.highest().get();
    Ok(format!(
        "view {view}, {found} pieces of evidence at {} replicas; the faulty primary is out at height {out}, the others go on",
        others.len()
    ))
}

fn f_plus_1(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    runner.run_to_height(ms(10_000), Height::new(2))?;
    let (primary, others) = primary(runner);
    runner.misbehave(primary, Behaviour::Equivocate)?;
    // No replica votes before the attackers know which block each received.
    let lost = runner.lose(&["prepare", "commit"])?;
    let height = runner.highest().get() + 1;
    // Two of the others receive one block and the third another.
    let mut found = None;
    runner.run_until(ms(20_000), "two proposals for one height", |runner| {
        found = alone(runner, &others, height);
        found.is_some()
    })?;
    let Some([lonely, first, (helper, _)]) = found else { return Err(runner.not_shown("two proposals")) };
    // The helper's own protocol is honest; these are its additional messages.
    runner.mark_byzantine(helper)?;
    runner.end(lost)?;
    for (number, block) in [lonely, first] {
        let view = View::new(view(runner, number));
        vote(runner, helper, number, Body::Prepare { view, block })?;
        vote(runner, helper, number, Body::Commit { view, block })?;
        vote(runner, primary, number, Body::Commit { view, block })?;
    }
    // What leads there is reported first.
    let detail = runner.run_until_broken(ms(5_000), "agreement")?;
    Ok(format!("agreement is broken: {detail}"))
}

/// Returns the replica that validated another block of this height than the rest, with that block, and the two others with theirs.
fn alone(runner: &ScenarioRunner<'_>, others: &[u32], height: u64) -> Option<[(u32, BlockId); 3]> {
    let judged: Vec<_> =
        others.iter().filter_map(|number| Some((*number, proposed(runner, *number, height)?))).collect();
    let [one, two, three] = judged[..] else { return None };
    [[one, two, three], [two, one, three], [three, one, two]]
        .into_iter()
        .find(|[lonely, first, second]| lonely.1 != first.1 && first.1 == second.1)
}

/// Returns the block of this height that a replica has validated.
fn proposed(runner: &ScenarioRunner<'_>, number: u32, height: u64) -> Option<BlockId> {
    runner.network().recorded().rev().find_map(|entry| match &entry.content {
        TraceContent::Step { replica, event: TracedEvent::Judged { id, .. }, .. }
            if *replica == number && id.height.get() == height =>
        {
            Some(*id)
        }
        _ => None,
    })
}

/// Sends a message from one replica to another that its protocol would not send.
fn vote(runner: &mut ScenarioRunner<'_>, from: u32, to: u32, body: Body) -> Result<(), ScenarioError> {
    let signature = runner.signer(from).sign(Purpose::Message, body.signing_hash());
    runner.inject(from, &[to], &ConsensusMessage::Pbft(Arc::new(PbftMessage { body, signature })))
}

fn lost_view_changes(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    runner.run_to_height(ms(10_000), Height::new(2))?;
    let (primary, others) = primary(runner);
    let lost = runner.lose(&["view-change"])?;
    runner.crash(primary)?;
    runner.run_for(ms(12_000))?;
    let before = runner.highest().get();
    runner.ensure(runner.sent("view-change").0 > 0, "view-changes")?;
    runner.ensure(runner.sent("new-view").0 == 0, "no new view while they are lost")?;
    runner.end(lost)?;
    runner.run_until(ms(60_000), "a new view", |runner| runner.sent("new-view").0 > 0)?;
    runner.run_some_to_height(&others, ms(60_000), Height::new(before + 2))?;
    let (sent, _) = runner.sent("view-change");
    Ok(format!("{sent} view-changes were sent; blocks go on at height {}", before + 2))
}
