//! Scenarios of Raft.

mod logs;
mod members;

use super::{
    Scenario, ScenarioError, ScenarioRunner, Script, Sizes,
    runner::{id, ms},
};
use crate::{
    consensus::{
        AnyProtocol, ConsensusConfig,
        raft::{Raft, RaftConfig},
    },
    primitives::Height,
    sim::network::{builder::NetworkBuilder, links::Latency},
};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "raft-leader-crash",
        protocol: "raft",
        summary: "the leader crashes, comes back later",
        outcome: "another one is elected in a later term; the old leader follows; nothing committed is lost",
        script: Script::Network { validators: MAJORITY, seed: 4, consensus, setup, play: leader_crash },
    },
    Scenario {
        name: "raft-figure-7",
        protocol: "raft",
        summary: "the logs of figure 7 of the Raft paper under a new leader",
        outcome: "every follower's log comes to agree with the leader's",
        script: Script::Network { validators: FIGURE_7, seed: 4, consensus, setup, play: logs::figure_7 },
    },
    Scenario {
        name: "raft-figure-8",
        protocol: "raft",
        summary: "figure 8 of the Raft paper, (a) to (d): an entry of an old term on a majority, under a leader of a new one",
        outcome: "it is not committed by counting, for a later leader without it may be elected, and overwrites it",
        script: Script::Network { validators: FIGURE_8, seed: 4, consensus, setup, play: logs::figure_8 },
    },
    Scenario {
        name: "raft-figure-8-own-entry",
        protocol: "raft",
        summary: "figure 8 of the Raft paper, (e): the same leader gets an entry of its own term to a majority",
        outcome: "that is committed and the old entry with it; who lacks them is not elected, nobody overwrites them",
        script: Script::Network { validators: FIGURE_8, seed: 4, consensus, setup, play: logs::figure_8_own_entry },
    },
    Scenario {
        name: "raft-duelling-candidates",
        protocol: "raft",
        summary: "links are as slow as the voters are impatient, so that several stand at once",
        outcome: "two or more ask for votes before anybody leads, and in the end one leader is elected and blocks go on",
        script: Script::Network { validators: DUEL, seed: 3, consensus, setup: slow_links, play: duel },
    },
    Scenario {
        name: "raft-disruptive-rejoiner",
        protocol: "raft",
        summary: "a follower is cut off for long, then comes back",
        outcome: "it catches up and follows: leader and term are the same as before (pre-vote)",
        script: Script::Network { validators: MAJORITY, seed: 4, consensus, setup, play: rejoiner },
    },
    Scenario {
        name: "raft-one-way-isolation",
        protocol: "raft",
        summary: "the leader is heard by all and hears nobody",
        outcome: "it steps down because no majority answers (check-quorum), and another one leads",
        script: Script::Network { validators: MAJORITY, seed: 4, consensus, setup, play: one_way },
    },
    Scenario {
        name: "raft-leader-removed-while-joint",
        protocol: "raft",
        summary: "the leader and one more leave together through a joint configuration",
        outcome: "it leads until the joint configuration is left, then steps down, and the others go on",
        script: Script::Network { validators: JOINT, seed: 4, consensus, setup, play: members::removed_while_joint },
    },
    Scenario {
        name: "raft-learner-must-vote",
        protocol: "raft",
        summary: "a learner was made a voter and does not know it yet; its vote is needed",
        outcome: "it votes, and a leader is elected",
        script: Script::Network { validators: LEARNER, seed: 4, consensus, setup, play: members::learner_must_vote },
    },
    Scenario {
        name: "raft-append-aba",
        protocol: "raft",
        summary: "a slow write of an entry ends after another leader has rewritten that entry",
        outcome: "the rewritten entry does not count as durable",
        script: Script::Network { validators: ABA, seed: 4, consensus, setup, play: logs::append_aba },
    },
    Scenario {
        name: "raft-compacted-log",
        protocol: "raft",
        summary: "a follower is cut off until the leader's log no longer has what it needs",
        outcome: "it is told so, fetches the blocks instead, and follows again",
        script: Script::Network {
            validators: MAJORITY.with_default(3),
            seed: 4,
            consensus: short_log,
            setup,
            play: compacted,
        },
    },
];

const MAJORITY: Sizes = Sizes::from_default(5, "a majority must be left without one").at_least(3).at_most(15);
const DUEL: Sizes = Sizes::from_default(4, "several must stand at once").at_least(3).at_most(9);
const JOINT: Sizes = Sizes::from_default(5, "two leave, and voters must be left").at_least(4).at_most(15);
const LEARNER: Sizes = Sizes::exactly(3, "a leader, a voter and a learner whose vote is needed");
const ABA: Sizes = Sizes::from_default(3, "two lead one after the other, and a third follows").at_least(3).at_most(15);
const FIGURE_7: Sizes = Sizes::exactly(7, "the leader and followers (a) to (f) of the figure");
const FIGURE_8: Sizes = Sizes::exactly(5, "S1 to S5 of the figure");

fn consensus() -> ConsensusConfig {
    ConsensusConfig::Raft(RaftConfig::default())
}

fn short_log() -> ConsensusConfig {
    ConsensusConfig::Raft(RaftConfig { log_keep: 4, ..RaftConfig::default() })
}

const fn setup(builder: NetworkBuilder) -> NetworkBuilder {
    builder
}

const fn slow_links(builder: NetworkBuilder) -> NetworkBuilder {
    use core::time::Duration;
    builder.with_latency(Latency::Uniform { min: Duration::from_millis(150), max: Duration::from_millis(420) })
}

fn raft<'a>(runner: &'a ScenarioRunner<'_>, number: u32) -> Option<&'a Raft> {
    match runner.protocol(number) {
        AnyProtocol::Raft(raft) => Some(raft),
        _ => None,
    }
}

fn term(runner: &ScenarioRunner<'_>, number: u32) -> u64 {
    raft(runner, number).map_or(0, Raft::term)
}

fn leads(runner: &ScenarioRunner<'_>, number: u32) -> bool {
    raft(runner, number).is_some_and(Raft::is_leader)
}

/// Returns the leader among these replicas in the highest term.
fn leader_of(runner: &ScenarioRunner<'_>, among: &[u32]) -> Option<u32> {
    among.iter().copied().filter(|number| leads(runner, *number)).max_by_key(|number| term(runner, *number))
}

/// Returns the leader and all others, after `height` blocks.
fn begin(runner: &mut ScenarioRunner<'_>, height: u64) -> Result<(u32, Vec<u32>), ScenarioError> {
    runner.run_to_height(ms(60_000), Height::new(height))?;
    let everybody: Vec<u32> = (0..runner.count()).collect();
    let leader = leader_of(runner, &everybody);
    runner.ensure(leader.is_some(), "a leader")?;
    let leader = leader.unwrap_or_default();
    Ok((leader, everybody.into_iter().filter(|number| *number != leader).collect()))
}

fn leader_crash(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let (leader, others) = begin(runner, 2)?;
    let before = term(runner, leader);
    runner.run_for(ms(500))?;
    runner.begin_window();
    let committed = runner.highest().get();
    runner.run_some_to_height(&others, ms(5_000), Height::new(committed + 1))?;
    runner.run_for(ms(60))?;
    runner.crash(leader)?;
    let crashed_at = runner.network().now();
    runner.run_until(ms(20_000), "another leader", |runner| leader_of(runner, &others).is_some())?;
    let waited = runner.network().now().as_nanos() - crashed_at.as_nanos();
    runner.run_some_to_height(&others, ms(20_000), Height::new(committed + 3))?;
    runner.run_for(ms(60))?;
    runner.restart(leader)?;
    let goal = runner.highest().get() + 1;
    runner.run_to_height(ms(20_000), Height::new(goal))?;
    runner.run_for(ms(60))?;
    runner.end_window();
    let everybody: Vec<u32> = (0..runner.count()).collect();
    runner.ensure_agreement(&everybody, Height::new(goal))?;
    runner.ensure(!leads(runner, leader) && term(runner, leader) > before, "the old leader follows in a later term")?;
    let next = leader_of(runner, &others).unwrap_or_default();
    let (millis, term) = (waited / 1_000_000, term(runner, leader));
    Ok(format!("replica {next} leads term {term} from {millis} ms after the crash on; all agree up to height {goal}"))
}

fn duel(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let everybody: Vec<u32> = (0..runner.count()).collect();
    runner.run_until(ms(120_000), "a leader", |runner| leader_of(runner, &everybody).is_some())?;
    let (asked, candidates) = runner.sent("raft-pre-vote-request");
    runner.ensure(candidates >= 2, "two candidates or more")?;
    runner.run_to_height(ms(120_000), Height::new(3))?;
    Ok(format!("{candidates} asked for votes ({asked} times) before one led; blocks go on at height 3"))
}

fn rejoiner(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let (leader, others) = begin(runner, 3)?;
    let term_before = term(runner, leader);
    let away = others.first().copied().unwrap_or_default();
    let cut = runner.isolate(away)?;
    runner.run_for(ms(20_000))?;
    runner.ensure(runner.head(away).height.get() < runner.highest().get(), "the one cut off falls behind")?;
    runner.end(cut)?;
    let goal = runner.highest().get() + 5;
    runner.run_to_height(ms(30_000), Height::new(goal))?;
    runner.ensure(leads(runner, leader) && term(runner, leader) == term_before, "the same leader in the same term")?;
    Ok(format!("replica {leader} still leads term {term_before} at height {goal}"))
}

fn one_way(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let (leader, others) = begin(runner, 3)?;
    let before = term(runner, leader);
    runner.one_way(&others, &[leader])?;
    runner.run_until(ms(30_000), "the leader steps down", |runner| !leads(runner, leader))?;
    runner.run_until(ms(30_000), "another leader", |runner| leader_of(runner, &others).is_some())?;
    let goal = runner.highest().get() + 3;
    runner.run_some_to_height(&others, ms(60_000), Height::new(goal))?;
    let next = leader_of(runner, &others).unwrap_or_default();
    runner.ensure(term(runner, next) > before, "a later term")?;
    runner.ensure(runner.marks("raft/quorum-lost") > 0, "that it noticed by itself (raft/quorum-lost)")?;
    Ok(format!("replica {leader} stepped down from term {before}; replica {next} leads term {}", term(runner, next)))
}

fn compacted(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let (leader, others) = begin(runner, 2)?;
    let behind = others.first().copied().unwrap_or_default();
    let cut = runner.isolate(behind)?;
    let needed = runner.head(behind).height.get() + 1;
    let goal = needed + 12;
    runner.run_some_to_height(&[leader], ms(120_000), Height::new(goal))?;
    runner.ensure(raft(runner, leader).is_some_and(|raft| raft.compacted_index() > needed), "a compacted log")?;
    runner.end(cut)?;
    runner.run_to_height(ms(60_000), Height::new(goal))?;
    runner.ensure(runner.marks("raft/snapshot") > 0, "that it was told to fetch (raft/snapshot)")?;
    runner.ensure(runner.sent("block-request").0 > 0, "that it asked for blocks")?;
    let (asked, _) = runner.sent("block-request");
    Ok(format!("replica {behind} fetched {asked} blocks and is at height {}", runner.head(behind).height))
}
