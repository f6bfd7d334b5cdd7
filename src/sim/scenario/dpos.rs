//! Scenarios of delegated proof of stake.

use super::{Scenario, ScenarioError, Script, Sizes, Stage};
use crate::{
    consensus::{ConsensusConfig, dpos::DposConfig},
    sim::NetworkBuilder,
};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "dpos-fork",
        protocol: "dpos",
        summary: "four producers cut in halves",
        outcome: "both halves go on in their own slots, neither makes a block irreversible; healed, one branch wins and becomes final",
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
        name: "dpos-two-forks",
        protocol: "dpos",
        summary: "four producers cross between two forks in every order",
        outcome: "the naive rule makes both forks irreversible; this one never does, unless watermarks are lost",
        script: Script::Protocol {
            tests: &[
                "consensus::dpos::tests::model::four_producers_on_two_forks_break_the_naive_rule_and_not_ours",
                "consensus::dpos::tests::model::no_interleaving_proposes_one_height_on_both_forks_unless_watermarks_are_lost",
            ],
        },
    },
    Scenario {
        name: "dpos-watermark-lost",
        protocol: "dpos",
        summary: "producers that lost their watermarks confirm again",
        outcome: "two blocks become irreversible, and the checker says so",
        script: Script::Protocol {
            tests: &["consensus::dpos::tests::faults::lost_promises_and_other_bugs_are_seen_by_the_checker"],
        },
    },
    Scenario {
        name: "dpos-confirmed-count-wrap",
        protocol: "dpos",
        summary: "a producer is elected again after more blocks than its count of confirmed ones holds",
        outcome: "the count stays at its largest and does not wrap",
        script: Script::Protocol {
            tests: &["consensus::dpos::tests::model::the_confirmed_count_does_not_wrap_after_a_long_absence"],
        },
    },
    Scenario {
        name: "dpos-vote-churn",
        protocol: "dpos",
        summary: "votes change in every block",
        outcome: "neither the chain nor irreversibility stops, and light verifiers follow",
        script: Script::Protocol {
            tests: &[
                "consensus::dpos::tests::elections::constant_churn_of_votes_stops_neither_the_chain_nor_irreversibility_and_light_verifiers_follow",
            ],
        },
    },
    Scenario {
        name: "dpos-schedule-jumps-line",
        protocol: "dpos",
        summary: "another schedule is elected while one is pending",
        outcome: "it waits until the pending one is in force; one that does not wait is found out",
        script: Script::Protocol {
            tests: &[
                "consensus::dpos::tests::elections::a_pending_schedule_does_not_jump_the_line",
                "consensus::dpos::tests::elections::schedules_that_come_into_force_early_are_seen_by_the_checker",
            ],
        },
    },
];

const FOUR: Sizes = Sizes::exactly(4, "of four producers three are needed, so that one may fail and not two");

fn consensus() -> ConsensusConfig {
    ConsensusConfig::Dpos(DposConfig::default())
}

const fn setup(builder: NetworkBuilder) -> NetworkBuilder {
    builder
}

fn irreversible(stage: &Stage<'_>, number: u32) -> u64 {
    stage.finalized(number).height.get()
}

fn all(stage: &Stage<'_>) -> Vec<u32> {
    (0..stage.count()).collect()
}

fn fork(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    stage.run_to_height(60_000, 7)?;
    stage.run_ms(500)?;
    stage.show_from_here();
    let everybody = all(stage);
    let (one, other) = everybody.split_at(everybody.len() / 2);
    stage.run_ms(1_000)?;
    let cut = stage.partition(&[one, other])?;
    stage.run_ms(5_000)?;
    let before = (irreversible(stage, 0), irreversible(stage, other[0]));
    let fork = stage.highest();
    let differ = stage.head(one[0]).hash != stage.head(other[0]).hash;
    stage.must(differ, "two branches")?;
    stage.end(cut)?;
    stage.run_until(30_000, "a reorg", |stage| {
        stage.network().replicas().iter().any(|replica| replica.counters().reorgs > 0)
    })?;
    stage.run_ms(2_500)?;
    stage.show_until_here();
    stage.run_until(60_000, "irreversibility beyond the cut", |stage| {
        everybody.iter().all(|number| irreversible(stage, *number) > fork)
    })?;
    let common = everybody.iter().map(|number| irreversible(stage, *number)).min().unwrap_or_default();
    for height in 1..=common {
        stage.must(stage.agree_at(&everybody, height), format!("one block at height {height}"))?;
    }
    let reorgs: u64 = stage.network().replicas().iter().map(|replica| replica.counters().reorgs).sum();
    Ok(format!(
        "irreversible stood at {before:?} with heads up to {fork}; healed: {reorgs} reorgs, irreversible up to {common}"
    ))
}

fn silent(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    stage.run_to_height(60_000, 8)?;
    stage.crash(3)?;
    let goal = stage.highest() + 8;
    stage.run_until(60_000, "irreversibility without one", |stage| irreversible(stage, 0) >= goal)?;
    stage.crash(2)?;
    stage.run_ms(10_000)?;
    let stopped = irreversible(stage, 0);
    let head = stage.head(0).height.get();
    stage.run_ms(15_000)?;
    stage.must(irreversible(stage, 0) == stopped, "irreversibility stops without two")?;
    stage.must(stage.head(0).height.get() > head, "blocks are made nevertheless")?;
    stage.restart(2)?;
    stage.restart(3)?;
    let goal = stage.highest();
    stage.run_until(60_000, "irreversibility goes on", |stage| irreversible(stage, 0) > goal)?;
    Ok(format!("stopped at {stopped} while heads went on to {goal}; goes on at {}", irreversible(stage, 0)))
}

fn watermark(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    stage.run_to_height(60_000, 8)?;
    let mut restarts = 0;
    for round in 0..6_u32 {
        let (a, b) = (round % 4, (round + 1) % 4);
        let (c, d) = ((round + 2) % 4, (round + 3) % 4);
        let cut = stage.partition(&[&[a, b], &[c, d]])?;
        stage.run_ms(3_300)?;
        stage.crash(b)?;
        stage.end(cut)?;
        // It comes back among the others.
        let cut = stage.partition(&[&[a], &[b, c, d]])?;
        stage.restart(b)?;
        restarts += 1;
        stage.run_ms(4_700)?;
        stage.end(cut)?;
        stage.run_ms(2_000)?;
    }
    let goal = stage.highest();
    let everybody = all(stage);
    stage.run_until(120_000, "irreversibility beyond it all", |stage| {
        everybody.iter().all(|number| irreversible(stage, *number) > goal)
    })?;
    for height in 1..=goal {
        stage.must(stage.agree_at(&everybody, height), format!("one block at height {height}"))?;
    }
    Ok(format!("{restarts} crashes between branches; all agree on every irreversible block up to {goal}"))
}
