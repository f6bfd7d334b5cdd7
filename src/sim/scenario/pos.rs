//! Scenarios of proof of stake.

use super::{Scenario, ScenarioError, Script, Sizes, Stage};
use crate::{
    consensus::{ConsensusConfig, pos::PosConfig},
    sim::{Behaviour, Delay, LinkEffect, NetworkBuilder},
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
        script: Script::Network { validators: FOUR_UP.usually(5), seed: 8, consensus, setup, play: double_proposal },
    },
    Scenario {
        name: "pos-ex-ante-reorg",
        protocol: "pos",
        summary: "a proposer keeps its block and a vote for it back until the next block is there",
        outcome: "it reorganises the next block away without proposer boost, and fails with it",
        script: Script::Protocol {
            tests: &["consensus::pos::tests::attacks::an_ex_ante_reorg_works_without_the_boost_and_not_with_it"],
        },
    },
    Scenario {
        name: "pos-balancing",
        protocol: "pos",
        summary: "an equivocating proposer keeps two halves of the votes in balance",
        outcome: "the next timely block tips the balance",
        script: Script::Protocol {
            tests: &["consensus::pos::tests::attacks::a_balance_of_equivocations_tips_with_the_next_timely_block"],
        },
    },
    Scenario {
        name: "pos-justification-withholding",
        protocol: "pos",
        summary: "a block that would justify a checkpoint is kept back and shown late",
        outcome: "it moves nobody back",
        script: Script::Protocol {
            tests: &["consensus::pos::tests::attacks::a_withheld_justification_moves_nobody_back"],
        },
    },
    Scenario {
        name: "pos-long-range",
        protocol: "pos",
        summary: "a history made with keys whose stake left long ago, shown to one who was away past unbonding",
        outcome: "it is refused without a trusted checkpoint",
        script: Script::Protocol {
            tests: &["consensus::pos::tests::attacks::a_history_from_keys_whose_stake_has_left_is_refused"],
        },
    },
    Scenario {
        name: "pos-nothing-at-stake",
        protocol: "pos",
        summary: "validators vote on both sides of a fork, which costs nothing to compute",
        outcome: "they are named and slashed",
        script: Script::Protocol { tests: &["consensus::pos::tests::attacks::nothing_at_stake_is_not_free"] },
    },
    Scenario {
        name: "pos-third-plus-one",
        protocol: "pos",
        summary: "more than a third of the stake votes for two checkpoints",
        outcome: "two conflicting checkpoints become final, and the offenders are named",
        script: Script::Protocol {
            tests: &["consensus::pos::tests::attacks::more_than_a_third_break_finality_and_are_named"],
        },
    },
];

const FOUR_UP: Sizes =
    Sizes::usual(4, "three quarters or more must be left to finalise without one").at_least(4).at_most(16);
const HALVES: Sizes = Sizes::usual(4, "neither half may have two thirds").at_least(4).at_most(16);

fn consensus() -> ConsensusConfig {
    ConsensusConfig::Pos(PosConfig::default().with_period(2).with_slots_per_epoch(4))
}

const fn setup(builder: NetworkBuilder) -> NetworkBuilder {
    builder
}

fn all(stage: &Stage<'_>) -> Vec<u32> {
    (0..stage.count()).collect()
}

fn finalized(stage: &Stage<'_>, number: u32) -> u64 {
    stage.finalized(number).height.get()
}

fn reorgs(stage: &Stage<'_>) -> u64 {
    stage.network().replicas().iter().map(|replica| replica.counters().reorgs).sum()
}

fn until_final(stage: &mut Stage<'_>, replicas: &[u32], height: u64) -> Result<(), ScenarioError> {
    let replicas = replicas.to_vec();
    stage.run_until(300_000, &format!("height {height} final"), move |stage| {
        replicas.iter().all(|number| finalized(stage, *number) >= height)
    })
}

fn late_block(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    let everybody = all(stage);
    until_final(stage, &everybody, 4)?;
    stage.run_ms(600)?;
    let before = reorgs(stage);
    let slow = stage.link(&["block"], &[0], &[], LinkEffect::Latency(Delay::Constant { ms: 2_600 }))?;
    stage.show_from_here();
    stage.run_until(120_000, "a reorg", |stage| reorgs(stage) > before)?;
    stage.run_ms(400)?;
    stage.end(slow)?;
    stage.run_ms(6_000)?;
    stage.show_until_here();
    let goal = stage.highest();
    until_final(stage, &everybody, goal)?;
    for height in 1..=goal {
        stage.must(stage.agree_at(&everybody, height), format!("one block at height {height}"))?;
    }
    Ok(format!("{} reorgs; final up to height {}", reorgs(stage) - before, finalized(stage, 0)))
}

fn partition(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    let everybody = all(stage);
    until_final(stage, &everybody, 4)?;
    let (one, other) = everybody.split_at(everybody.len() / 2);
    let cut = stage.partition(&[one, other])?;
    stage.run_ms(16_000)?;
    let before: Vec<_> = everybody.iter().map(|number| finalized(stage, *number)).collect();
    stage.run_ms(24_000)?;
    let after: Vec<_> = everybody.iter().map(|number| finalized(stage, *number)).collect();
    stage.must(before == after, "nothing becomes final")?;
    stage.must(stage.head(one[0]).hash != stage.head(other[0]).hash, "two branches")?;
    let goal = stage.highest();
    stage.end(cut)?;
    until_final(stage, &everybody, goal)?;
    stage.must(reorgs(stage) > 0, "a reorg")?;
    for height in 1..=goal {
        stage.must(stage.agree_at(&everybody, height), format!("one block at height {height}"))?;
    }
    Ok(format!(
        "final stood at {after:?} with heads up to {goal}; healed: {} reorgs, final up to {}",
        reorgs(stage),
        finalized(stage, 0)
    ))
}

fn double_proposal(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    let everybody = all(stage);
    until_final(stage, &everybody, 4)?;
    stage.misbehave(0, Behaviour::Equivocate)?;
    let honest = &everybody[1..];
    stage.run_until(300_000, "evidence", |stage| honest.iter().all(|number| stage.evidence(*number) > 0))?;
    let goal = stage.highest();
    until_final(stage, honest, goal)?;
    let offender = stage.replica(0).address();
    let named = stage.replica(1).evidence().map(crate::consensus::Evidence::offender);
    stage.must(named.into_iter().all(|named| Some(named) == offender), "nobody else is named")?;
    Ok(format!("{} pieces of evidence against one; final up to height {}", stage.evidence(1), finalized(stage, 1)))
}
