//! Scenarios in which the membership changes.

use super::{ScenarioError, ScenarioRunner, begin, id, leader_of, leads, ms, raft};
use crate::{
    consensus::{
        Admin,
        raft::{Assignment, Change, Raft, Role},
    },
    primitives::{Address, Height},
    sim::faults::plan::{Delay, LinkEffect},
};

/// Lets the leader propose a change once no other is in progress.
fn change(runner: &mut ScenarioRunner<'_>, leader: u32, change: Change) -> Result<(), ScenarioError> {
    runner.run_until(ms(10_000), "everything committed", |runner| {
        raft(runner, leader)
            .is_some_and(|raft| raft.committed_index() == raft.last_index() && raft.head_context().term == raft.term())
    })?;
    runner.admin(leader, Admin::ChangeMembers(change))
}

fn assign(runner: &ScenarioRunner<'_>, number: u32, role: Role) -> Assignment {
    Assignment { replica: id(number), address: runner.replica(number).address().unwrap_or_default(), role }
}

pub(super) fn removed_while_joint(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let (leader, others) = begin(runner, 3)?;
    let also = others.first().copied().unwrap_or_default();
    let staying: Vec<u32> = others.iter().copied().filter(|number| *number != also).collect();
    let leave = |number: u32| Assignment { replica: id(number), address: Address::ZERO, role: Role::Removed };
    let both = Change::EnterJoint { assignments: vec![leave(leader), leave(also)], auto_leave: true };
    change(runner, leader, both)?;
    runner.run_until(ms(20_000), "a joint configuration", |runner| {
        raft(runner, leader).is_some_and(|raft| raft.membership().is_joint())
    })?;
    runner.ensure(leads(runner, leader), "it leads while the configuration is joint")?;
    runner.run_until(ms(30_000), "the joint configuration is left", |runner| {
        staying.iter().all(|number| {
            raft(runner, *number).is_some_and(|raft| {
                !raft.membership().is_joint() && raft.membership().incoming().len() == staying.len()
            })
        })
    })?;
    runner.run_until(ms(30_000), "another leader", |runner| {
        !leads(runner, leader) && leader_of(runner, &staying).is_some()
    })?;
    let goal = runner.highest().get() + 3;
    runner.run_some_to_height(&staying, ms(60_000), Height::new(goal))?;
    Ok(format!(
        "replica {leader} led to the end of the joint configuration; {} voters go on at height {goal}",
        staying.len()
    ))
}

pub(super) fn learner_must_vote(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let (leader, others) = begin(runner, 2)?;
    let [voter, learner] = others[..] else { return runner.ensure(false, "three replicas").map(|()| String::new()) };
    let votes = |runner: &ScenarioRunner<'_>, of: u32| {
        raft(runner, of).is_some_and(|raft| raft.membership().is_voter(id(learner)))
    };
    let demoted = assign(runner, learner, Role::Learner);
    change(runner, leader, Change::Simple(vec![demoted]))?;
    runner.run_until(ms(20_000), "a learner", |runner| (0..3).all(|number| !votes(runner, number)))?;
    runner.begin_window();
    // The learner has the entry that promotes it before the other voter does, and receives nothing after that.
    let slow =
        runner.link(&["raft-append"], &[leader], &[voter], LinkEffect::Latency(Delay::Constant { delay: ms(90) }))?;
    let last = |runner: &ScenarioRunner<'_>, of: u32| raft(runner, of).map_or(0, Raft::last_index);
    let promoted = assign(runner, learner, Role::Voter);
    change(runner, leader, Change::Simple(vec![promoted]))?;
    let before = last(runner, leader);
    runner.run_until(ms(5_000), "the promotion in the learner's log", |runner| last(runner, learner) > before)?;
    let deaf = runner.one_way(&[leader], &[learner])?;
    runner.run_until(ms(5_000), "the promotion in force at the other voter", |runner| votes(runner, voter))?;
    runner.ensure(votes(runner, leader) && !votes(runner, learner), "a learner that does not know of its promotion")?;
    runner.note("promoted, and does not know it");
    runner.crash(leader)?;
    runner.end(slow)?;
    runner.end(deaf)?;
    runner.run_until(ms(20_000), "a leader by the learner's vote", |runner| leads(runner, voter))?;
    runner.run_until(ms(5_000), "the learner hears of its promotion", |runner| votes(runner, learner))?;
    runner.run_for(ms(60))?;
    runner.end_window();
    let goal = runner.highest().get() + 2;
    runner.run_some_to_height(&[voter, learner], ms(30_000), Height::new(goal))?;
    runner.restart(leader)?;
    runner.run_to_height(ms(30_000), Height::new(goal + 1))?;
    let (term, height) = (super::term(runner, voter), goal + 1);
    Ok(format!("replica {voter} leads term {term} by the vote of replica {learner}; all are at height {height}"))
}
