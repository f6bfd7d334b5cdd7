//! Scenarios of delegated proof of stake.

mod elections;
mod rules;
mod two_irreversible;

use super::{
    Scenario, ScenarioError, ScenarioRunner, Script, Sizes,
    runner::{id, ms},
};
use crate::{
    consensus::{ConsensusConfig, dpos::DposConfig},
    primitives::Height,
    sim::network::builder::NetworkBuilder,
};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "dpos-fork",
        protocol: "dpos",
        summary: "four producers cut in halves",
        outcome: "both halves go on, and nothing after the cut becomes irreversible; healed, one branch wins and becomes final",
        script: Script::Network { validators: FOUR, seed: 6, consensus, setup, play: fork },
    },
    Scenario {
        name: "dpos-silent-producers",
        protocol: "dpos",
        summary: "one of four producers is down, then a second one too",
        outcome: "irreversibility goes on without one, stops without two though blocks are made, and goes on again",
        script: Script::Network { validators: FOUR, seed: 6, consensus, setup, play: silent },
    },
    Scenario {
        name: "dpos-watermark-crash",
        protocol: "dpos",
        summary: "producers crash on one side of a cut and come back on the other",
        outcome: "their watermarks outlive the crash: no two different blocks of one height become irreversible",
        script: Script::Network { validators: FOUR, seed: 6, consensus, setup, play: watermark },
    },
    Scenario {
        name: "dpos-watermark-lost",
        protocol: "dpos",
        summary: "two of four producers lose their watermarks between the two sides of a cut",
        outcome: "two blocks of one height become irreversible, and the invariant agreement reports it",
        script: Script::Network { validators: FOUR, seed: 6, consensus, setup, play: watermark_lost },
    },
    Scenario {
        name: "dpos-classic-disagrees",
        protocol: "dpos",
        summary: "by EOSIO's rule, two producers that were cut off from a block that they made irreversible return to another branch",
        outcome: "two blocks of one height become irreversible without any liar, and the invariant agreement reports it",
        script: Script::Network {
            validators: FOUR,
            seed: 6,
            consensus: two_irreversible::classic,
            setup,
            play: two_irreversible::disagree,
        },
    },
    Scenario {
        name: "dpos-locked-agrees",
        protocol: "dpos",
        summary: "the same cuts and crashes as in dpos-classic-disagrees, by the rule with locks",
        outcome: "the two return to the branch that has prepared most, and the irreversible block of the third stays the only one",
        script: Script::Network { validators: FOUR, seed: 6, consensus, setup, play: two_irreversible::agree },
    },
    Scenario {
        name: "dpos-two-forks",
        protocol: "dpos",
        summary: "four producers cross between two forks in every order of twelve slots",
        outcome: "the naive rule makes both forks irreversible in some; this one in none, unless safety states are lost",
        script: Script::Rules { play: rules::two_forks },
    },
    Scenario {
        name: "dpos-confirmed-count-wrap",
        protocol: "dpos",
        summary: "a producer is elected again after more blocks than its count of confirmed ones holds",
        outcome: "the count stays at its largest and does not wrap",
        script: Script::Rules { play: rules::count_wrap },
    },
    Scenario {
        name: "dpos-vote-churn",
        protocol: "dpos",
        summary: "seven candidates for four places, and votes that change in every block",
        outcome: "neither the chain nor irreversibility stops, and light verifiers follow",
        script: Script::Network {
            validators: SEVEN,
            seed: 6,
            consensus: elections::consensus,
            setup: elections::setup,
            play: elections::churn,
        },
    },
    Scenario {
        name: "dpos-schedule-jumps-line",
        protocol: "dpos",
        summary: "another schedule is elected while one is pending, and a producer proposes it at once",
        outcome: "the hasty block is refused; the schedule waits until the pending one is in force, then comes into force",
        script: Script::Network {
            validators: SEVEN,
            seed: 6,
            consensus: elections::consensus,
            setup: elections::setup,
            play: elections::jump,
        },
    },
];

const FOUR: Sizes = Sizes::exactly(4, "of four producers three are needed, so that one may fail and not two");

const SEVEN: Sizes = Sizes::from_default(7, "more candidates than the four that produce").at_least(7).at_most(12);

fn consensus() -> ConsensusConfig {
    ConsensusConfig::Dpos(DposConfig::default())
}

const fn setup(builder: NetworkBuilder) -> NetworkBuilder {
    builder
}

fn irreversible(runner: &ScenarioRunner<'_>, number: u32) -> u64 {
    runner.finalized(number).height.get()
}

fn all(runner: &ScenarioRunner<'_>) -> Vec<u32> {
    (0..runner.count()).collect()
}

fn fork(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    runner.run_to_height(ms(60_000), Height::new(7))?;
    runner.run_for(ms(500))?;
    runner.begin_window();
    let everybody = all(runner);
    let (one, other) = everybody.split_at(everybody.len() / 2);
    runner.run_for(ms(1_000))?;
    let last_common = runner.highest().get();
    let cut = runner.partition(&[one, other])?;
    let stands =
        |runner: &ScenarioRunner<'_>| everybody.iter().map(|number| irreversible(runner, *number)).collect::<Vec<_>>();
    // Confirmations from before the cut still count: wait for a round.
    runner.run_for(ms(everybody.len() as u64 * 1_000))?;
    let before = stands(runner);
    runner.ensure(before.iter().all(|height| *height <= last_common), "nothing after the cut irreversible")?;
    runner.note("what was confirmed before the cut is through: nothing more becomes final");
    let heads = [one[0], other[0]].map(|number| runner.head(number));
    runner.run_for(ms(4_000))?;
    runner.ensure(stands(runner) == before, "irreversibility that stands still on both sides")?;
    let grown = [one[0], other[0]].map(|number| runner.head(number));
    let go_on = heads.iter().zip(&grown).all(|(before, after)| after.height > before.height);
    runner.ensure(go_on && grown[0].hash != grown[1].hash, "two branches that go on")?;
    let fork = runner.highest().get();
    runner.end(cut)?;
    runner.run_until(ms(30_000), "a reorg", |runner| {
        runner.network().replicas().iter().any(|replica| replica.counters().reorgs > 0)
    })?;
    runner.run_for(ms(2_500))?;
    runner.end_window();
    runner.run_until(ms(60_000), "irreversibility beyond the cut", |runner| {
        everybody.iter().all(|number| irreversible(runner, *number) > fork)
    })?;
    let common = everybody.iter().map(|number| irreversible(runner, *number)).min().unwrap_or_default();
    runner.ensure_agreement(&everybody, Height::new(common))?;
    let reorgs: u64 = runner.network().replicas().iter().map(|replica| replica.counters().reorgs).sum();
    let (least, most) =
        (before.iter().min().copied().unwrap_or_default(), before.iter().max().copied().unwrap_or_default());
    Ok(format!(
        "cut after block {last_common}; irreversible stood still at {least} to {most} with heads up to {fork}; healed: {reorgs} \
         reorgs, irreversible up to {common}"
    ))
}

fn silent(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    runner.run_to_height(ms(60_000), Height::new(8))?;
    runner.crash(3)?;
    let goal = runner.highest().get() + 8;
    runner.run_until(ms(60_000), "irreversibility without one", |runner| irreversible(runner, 0) >= goal)?;
    runner.crash(2)?;
    runner.run_for(ms(10_000))?;
    let stopped = irreversible(runner, 0);
    let head = runner.head(0).height.get();
    runner.run_for(ms(15_000))?;
    runner.ensure(irreversible(runner, 0) == stopped, "irreversibility stops without two")?;
    runner.ensure(runner.head(0).height.get() > head, "blocks are made nevertheless")?;
    runner.restart(2)?;
    runner.restart(3)?;
    let goal = runner.highest().get();
    runner.run_until(ms(60_000), "irreversibility goes on", |runner| irreversible(runner, 0) > goal)?;
    Ok(format!("stopped at {stopped} while heads went on to {goal}; goes on at {}", irreversible(runner, 0)))
}

fn watermark(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    runner.run_to_height(ms(60_000), Height::new(8))?;
    let mut restarts = 0;
    for round in 0..6_u32 {
        let (a, b) = (round % 4, (round + 1) % 4);
        let (c, d) = ((round + 2) % 4, (round + 3) % 4);
        let cut = runner.partition(&[&[a, b], &[c, d]])?;
        runner.run_for(ms(3_300))?;
        runner.crash(b)?;
        runner.end(cut)?;
        // It rejoins the others.
        let cut = runner.partition(&[&[a], &[b, c, d]])?;
        runner.restart(b)?;
        restarts += 1;
        runner.run_for(ms(4_700))?;
        runner.end(cut)?;
        runner.run_for(ms(2_000))?;
    }
    let goal = runner.highest().get();
    let everybody = all(runner);
    runner.run_until(ms(120_000), "irreversibility beyond it all", |runner| {
        everybody.iter().all(|number| irreversible(runner, *number) > goal)
    })?;
    runner.ensure_agreement(&everybody, Height::new(goal))?;
    Ok(format!("{restarts} crashes between branches; all agree on every irreversible block up to {goal}"))
}

fn watermark_lost(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    runner.run_to_height(ms(60_000), Height::new(8))?;
    runner.begin_window();
    // With three of four, one side continues to irreversibility.
    let cut = runner.partition(&[&[0, 2, 3], &[1]])?;
    let fork = runner.highest().get();
    runner.run_until(ms(60_000), "irreversibility after the cut", |runner| irreversible(runner, 0) > fork + 1)?;
    for number in [2, 3] {
        runner.network_mut().wipe(id(number))?;
    }
    runner.note("2 and 3 forget what they confirmed, and change sides");
    runner.end(cut)?;
    runner.partition(&[&[1, 2, 3], &[0]])?;
    for number in [2, 3] {
        runner.restart(number)?;
    }
    let detail = runner.run_until_broken(ms(120_000), "agreement")?;
    runner.end_window();
    Ok(format!("agreement is broken: {detail}"))
}
