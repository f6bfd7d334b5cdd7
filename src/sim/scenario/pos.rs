//! Scenarios of proof of stake.

use core::time::Duration;

mod attacks;
mod duties;
mod finality;

use super::{Scenario, ScenarioError, ScenarioRunner, Script, Sizes, runner::ms};
use crate::{
    consensus::{
        AnyProtocol, ConsensusConfig,
        pos::{Pos, PosConfig},
    },
    primitives::Height,
    sim::{
        faults::plan::{Behaviour, Delay, LinkEffect},
        network::builder::NetworkBuilder,
    },
    system::staking::StakingParams,
};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "pos-late-block",
        protocol: "pos",
        summary: "a proposer's blocks travel so long that the next slot does not build on them",
        outcome: "a late block is left behind in a reorg, and finality goes on",
        script: Script::Network { validators: FOUR_UP, seed: 8, consensus, setup, play: late_block },
    },
    Scenario {
        name: "pos-partition",
        protocol: "pos",
        summary: "validators cut in halves, neither of which has two thirds",
        outcome: "nothing becomes final while they are cut; healed, one branch wins by a reorg and becomes final",
        script: Script::Network { validators: HALVES, seed: 8, consensus, setup, play: partition },
    },
    Scenario {
        name: "pos-double-proposal",
        protocol: "pos",
        summary: "a proposer makes two blocks in its slots and shows each half of the others another",
        outcome: "the honest find it out, name nobody else, and finality goes on",
        script: Script::Network {
            validators: FOUR_UP.with_default(5),
            seed: 8,
            consensus,
            setup,
            play: double_proposal,
        },
    },
    Scenario {
        name: "pos-ex-ante-reorg",
        protocol: "pos",
        summary: "a proposer keeps its block and a vote for it back until the next block is there; a timely block has its boost",
        outcome: "the boost outweighs the vote kept back: the timely block stays and becomes final",
        script: Script::Network { validators: SIXTEEN, seed: 8, consensus, setup, play: attacks::ex_ante },
    },
    Scenario {
        name: "pos-ex-ante-reorg-without-boost",
        protocol: "pos",
        summary: "the same with a proposer boost of nothing",
        outcome: "the vote kept back reorganises the timely block away, for good",
        script: Script::Network {
            validators: SIXTEEN,
            seed: 8,
            consensus: without_boost,
            setup,
            play: attacks::ex_ante,
        },
    },
    Scenario {
        name: "pos-balancing",
        protocol: "pos",
        summary: "a proposer of two blocks and one who votes for both keep two halves of the others apart",
        outcome: "the next timely block gathers both halves; the two offenders are named, and nobody else",
        script: Script::Network { validators: SIXTEEN, seed: 8, consensus, setup, play: attacks::balancing },
    },
    Scenario {
        name: "pos-justification-withholding",
        protocol: "pos",
        summary: "the last block of an epoch, which would justify it, is kept back and shown in the middle of the next",
        outcome: "it moves no head and no finality back, and the chain goes on without it",
        script: Script::Network { validators: FOUR, seed: 9, consensus, setup, play: attacks::withheld_justification },
    },
    Scenario {
        name: "pos-long-range",
        protocol: "pos",
        summary: "a history made with keys whose stake left long ago, shown to one who was here and to a beginner",
        outcome: "the one refuses it; the other refuses both histories, and takes the true one with a trusted checkpoint",
        script: Script::Network {
            validators: FOUR_UP,
            seed: 8,
            consensus,
            setup: short_unbonding,
            play: finality::long_range,
        },
    },
    Scenario {
        name: "pos-nothing-at-stake",
        protocol: "pos",
        summary: "a proposer makes two blocks and a voter votes for both, which costs nothing to compute",
        outcome: "they are named, slashed and out of the set, nobody else is, and finality goes on",
        script: Script::Network { validators: SEVEN_UP, seed: 8, consensus, setup, play: attacks::nothing_at_stake },
    },
    Scenario {
        name: "pos-third-plus-one",
        protocol: "pos",
        summary: "three of seven run with one key on two machines, one beside each half of the honest",
        outcome: "two conflicting checkpoints become final, and exactly those three are named",
        script: Script::Network { validators: SEVEN, seed: 8, consensus, setup, play: finality::third_plus_one },
    },
    Scenario {
        name: "pos-less-than-third",
        protocol: "pos",
        summary: "the same with two of seven, which is less than a third",
        outcome: "nothing in conflict becomes final",
        script: Script::Network { validators: SEVEN, seed: 8, consensus, setup, play: finality::less_than_third },
    },
];

const FOUR_UP: Sizes =
    Sizes::from_default(4, "three quarters or more must be left to finalise without one").at_least(4).at_most(16);
const HALVES: Sizes = Sizes::from_default(4, "neither half may have two thirds").at_least(4).at_most(16);

const FOUR: Sizes = Sizes::exactly(4, "the block must hold the third of three votes that justify");
const SIXTEEN: Sizes =
    Sizes::exactly(16, "a slot's committee of four makes a vote a quarter, less than the boost of 40 %");
const SEVEN: Sizes = Sizes::exactly(7, "three are more than a third and two are less");
const SEVEN_UP: Sizes = Sizes::from_default(7, "two thirds must be left without two").at_least(7).at_most(16);

fn consensus() -> ConsensusConfig {
    ConsensusConfig::Pos(parameters())
}

fn without_boost() -> ConsensusConfig {
    ConsensusConfig::Pos(parameters().with_boost_percent(0))
}

fn parameters() -> PosConfig {
    PosConfig::default().with_period(Duration::from_secs(2)).with_slots_per_epoch(4)
}

fn config(runner: &ScenarioRunner<'_>) -> PosConfig {
    match runner.network().config() {
        ConsensusConfig::Pos(config) => *config,
        _ => parameters(),
    }
}

fn pos<'a>(runner: &'a ScenarioRunner<'_>, number: u32) -> Option<&'a Pos> {
    match runner.protocol(number) {
        AnyProtocol::Pos(pos) => Some(pos),
        _ => None,
    }
}

const fn setup(builder: NetworkBuilder) -> NetworkBuilder {
    builder
}

fn short_unbonding(builder: NetworkBuilder) -> NetworkBuilder {
    let epoch_secs = parameters().period * parameters().slots_per_epoch;
    let unbonding_secs = finality::UNBONDING_EPOCHS * epoch_secs;
    builder.with_staking(StakingParams { unbonding_secs, ..StakingParams::default() })
}

fn all(runner: &ScenarioRunner<'_>) -> Vec<u32> {
    (0..runner.count()).collect()
}

fn finalized(runner: &ScenarioRunner<'_>, number: u32) -> u64 {
    runner.finalized(number).height.get()
}

fn reorgs(runner: &ScenarioRunner<'_>) -> u64 {
    runner.network().replicas().iter().map(|replica| replica.counters().reorgs).sum()
}

fn until_final(runner: &mut ScenarioRunner<'_>, replicas: &[u32], height: u64) -> Result<(), ScenarioError> {
    let replicas = replicas.to_vec();
    runner.run_until(ms(300_000), &format!("height {height} final"), move |runner| {
        replicas.iter().all(|number| finalized(runner, *number) >= height)
    })
}

fn late_block(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let everybody = all(runner);
    until_final(runner, &everybody, 4)?;
    runner.run_for(ms(600))?;
    let before = reorgs(runner);
    let slow = runner.link(&["block"], &[0], &[], LinkEffect::Latency(Delay::Constant { delay: ms(2_600) }))?;
    runner.begin_window();
    runner.run_until(ms(120_000), "a reorg", |runner| reorgs(runner) > before)?;
    runner.run_for(ms(400))?;
    runner.end(slow)?;
    runner.run_for(ms(6_000))?;
    runner.end_window();
    let goal = runner.highest().get();
    until_final(runner, &everybody, goal)?;
    runner.ensure_agreement(&everybody, Height::new(goal))?;
    Ok(format!("{} reorgs; final up to height {}", reorgs(runner) - before, finalized(runner, 0)))
}

fn partition(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let everybody = all(runner);
    until_final(runner, &everybody, 4)?;
    let (one, other) = everybody.split_at(everybody.len() / 2);
    let cut = runner.partition(&[one, other])?;
    runner.run_for(ms(16_000))?;
    let before: Vec<_> = everybody.iter().map(|number| finalized(runner, *number)).collect();
    runner.run_for(ms(24_000))?;
    let after: Vec<_> = everybody.iter().map(|number| finalized(runner, *number)).collect();
    runner.ensure(before == after, "nothing becomes final")?;
    runner.ensure(runner.head(one[0]).hash != runner.head(other[0]).hash, "two branches")?;
    let goal = runner.highest().get();
    runner.end(cut)?;
    until_final(runner, &everybody, goal)?;
    runner.ensure(reorgs(runner) > 0, "a reorg")?;
    runner.ensure_agreement(&everybody, Height::new(goal))?;
    Ok(format!(
        "final stood at {after:?} with heads up to {goal}; healed: {} reorgs, final up to {}",
        reorgs(runner),
        finalized(runner, 0)
    ))
}

fn double_proposal(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let everybody = all(runner);
    until_final(runner, &everybody, 4)?;
    runner.misbehave(0, Behaviour::Equivocate)?;
    let honest = &everybody[1..];
    runner.run_until(ms(300_000), "evidence", |runner| honest.iter().all(|number| runner.evidence(*number) > 0))?;
    let goal = runner.highest().get();
    until_final(runner, honest, goal)?;
    let offender = runner.replica(0).address();
    let named = runner.replica(1).evidence().map(crate::consensus::Evidence::offender);
    runner.ensure(named.into_iter().all(|named| Some(named) == offender), "nobody else is named")?;
    Ok(format!("{} pieces of evidence against one; final up to height {}", runner.evidence(1), finalized(runner, 1)))
}
