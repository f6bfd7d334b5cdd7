//! Scenarios in which the members change.

use super::{ScenarioError, Stage, begin, id, leader_of, leads, raft};
use crate::{
    consensus::{
        Admin,
        raft::{Assignment, Change, Raft, Role},
    },
    primitives::Address,
    sim::faults::plan::{Delay, LinkEffect},
};

/// Lets the leader propose a change once nothing else is under way.
fn change(stage: &mut Stage<'_>, leader: u32, change: Change) -> Result<(), ScenarioError> {
    stage.run_until(10_000, "everything committed", |stage| {
        raft(stage, leader)
            .is_some_and(|raft| raft.committed_index() == raft.last_index() && raft.head_link().term == raft.term())
    })?;
    stage.admin(leader, Admin::ChangeMembers(change))
}

fn assign(stage: &Stage<'_>, number: u32, role: Role) -> Assignment {
    Assignment { replica: id(number), address: stage.replica(number).address().unwrap_or_default(), role }
}

pub(super) fn removed_while_joint(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    let (leader, others) = begin(stage, 3)?;
    let also = others.first().copied().unwrap_or_default();
    let staying: Vec<u32> = others.iter().copied().filter(|number| *number != also).collect();
    let leave = |number: u32| Assignment { replica: id(number), address: Address::ZERO, role: Role::Removed };
    let both = Change::EnterJoint { assignments: vec![leave(leader), leave(also)], auto_leave: true };
    change(stage, leader, both)?;
    stage.run_until(20_000, "a joint configuration", |stage| {
        raft(stage, leader).is_some_and(|raft| raft.membership().is_joint())
    })?;
    stage.must(leads(stage, leader), "it leads while the configuration is joint")?;
    stage.run_until(30_000, "the joint configuration is left", |stage| {
        staying.iter().all(|number| {
            raft(stage, *number).is_some_and(|raft| {
                !raft.membership().is_joint() && raft.membership().incoming().len() == staying.len()
            })
        })
    })?;
    stage.run_until(30_000, "another leader", |stage| !leads(stage, leader) && leader_of(stage, &staying).is_some())?;
    let goal = stage.highest() + 3;
    stage.run_some_to_height(&staying, 60_000, goal)?;
    Ok(format!(
        "replica {leader} led to the end of the joint configuration; {} voters go on at height {goal}",
        staying.len()
    ))
}

pub(super) fn learner_must_vote(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    let (leader, others) = begin(stage, 2)?;
    let [voter, learner] = others[..] else { return stage.must(false, "three replicas").map(|()| String::new()) };
    let votes =
        |stage: &Stage<'_>, of: u32| raft(stage, of).is_some_and(|raft| raft.membership().is_voter(id(learner)));
    let demoted = assign(stage, learner, Role::Learner);
    change(stage, leader, Change::Simple(vec![demoted]))?;
    stage.run_until(20_000, "a learner", |stage| (0..3).all(|number| !votes(stage, number)))?;
    stage.show_from_here();
    // The learner holds the entry that promotes it before the other voter does, and hears nothing after that.
    let slow = stage.link(&["raft-append"], &[leader], &[voter], LinkEffect::Latency(Delay::Constant { ms: 90 }))?;
    let last = |stage: &Stage<'_>, of: u32| raft(stage, of).map_or(0, Raft::last_index);
    let promoted = assign(stage, learner, Role::Voter);
    change(stage, leader, Change::Simple(vec![promoted]))?;
    let before = last(stage, leader);
    stage.run_until(5_000, "the promotion in the learner's log", |stage| last(stage, learner) > before)?;
    let deaf = stage.one_way(&[leader], &[learner])?;
    stage.run_until(5_000, "the promotion in force at the other voter", |stage| votes(stage, voter))?;
    stage.must(votes(stage, leader) && !votes(stage, learner), "a learner that does not know of its promotion")?;
    stage.note("promoted, and does not know it");
    stage.crash(leader)?;
    stage.end(slow)?;
    stage.end(deaf)?;
    stage.run_until(20_000, "a leader by the learner's vote", |stage| leads(stage, voter))?;
    stage.run_until(5_000, "the learner hears of its promotion", |stage| votes(stage, learner))?;
    stage.run_ms(60)?;
    stage.show_until_here();
    let goal = stage.highest() + 2;
    stage.run_some_to_height(&[voter, learner], 30_000, goal)?;
    stage.restart(leader)?;
    stage.run_to_height(30_000, goal + 1)?;
    let (term, height) = (super::term(stage, voter), goal + 1);
    Ok(format!("replica {voter} leads term {term} by the vote of replica {learner}; all are at height {height}"))
}
