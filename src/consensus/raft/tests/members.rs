//! Members: learners, single steps, joint configurations, removal.

use super::{super::*, cluster::*};

fn change(cluster: &mut Cluster, leader: usize, change: Change) {
    let rejections = cluster.rejections_of(leader).count();
    cluster.deliver(leader, Event::Admin(Admin::ChangeMembers(change)));
    assert_eq!(cluster.rejections_of(leader).count(), rejections, "{:?}", cluster.rejections);
    cluster.produce(leader);
}

#[test]
fn a_learner_catches_up_becomes_a_voter_and_leads() {
    let mut cluster = Cluster::new(3, 1);
    cluster.elect(0);
    cluster.produce(0);
    let learner = cluster.assign(3, Role::Learner);
    change(&mut cluster, 0, Change::Simple(vec![learner]));
    cluster.beat(0);
    assert_eq!(cluster.replica(3).head(), cluster.replica(0).head());
    assert_eq!(cluster.replica(3).validators().len(), 3, "a learner is no validator");
    cluster.elect(3);
    assert!(!cluster.replica(3).is_leader(), "a learner does not stand");
    cluster.beat(0);
    let voter = cluster.assign(3, Role::Voter);
    change(&mut cluster, 0, Change::Simple(vec![voter]));
    cluster.beat(0);
    assert_eq!(cluster.replica(3).validators().len(), 4);
    cluster.elect(3);
    assert!(cluster.replica(3).is_leader());
    let block = cluster.produce(3);
    assert!((0..4).all(|number| cluster.replica(number).head() == block));
}

#[test]
fn a_learner_votes_when_it_does_not_know_of_its_promotion() {
    let mut cluster = Cluster::new(2, 1);
    cluster.elect(0);
    let learner = cluster.assign(2, Role::Learner);
    change(&mut cluster, 0, Change::Simple(vec![learner]));
    cluster.beat(0);
    // The promotion is committed by 0 and 1; 2 has the entry but not its commitment.
    let voter = cluster.assign(2, Role::Voter);
    cluster.deliver(0, Event::Admin(Admin::ChangeMembers(Change::Simple(vec![voter]))));
    cluster.build(0);
    while let Some(envelope) = cluster.queue.pop_front() {
        let body = &raft_message(&envelope).unwrap().body;
        let names_commit = matches!(body, Body::Append { commit, .. } if *commit >= cluster.replica(0).last_index());
        if !(envelope.to == id(2) && names_commit) {
            cluster.transmit(envelope);
        }
    }
    assert!(cluster.replica(1).membership().is_voter(id(2)) && !cluster.replica(2).membership().is_voter(id(2)));
    // Without 0, replica 1 needs the vote of 2.
    cluster.stop(0);
    cluster.elect(1);
    assert!(cluster.replica(1).is_leader());
    cluster.beat(1);
    assert!(cluster.replica(2).membership().is_voter(id(2)));
}

#[test]
fn a_removed_leader_leads_until_the_joint_configuration_is_left() {
    let mut cluster = Cluster::new(3, 2);
    cluster.elect(0);
    cluster.produce(0);
    let assignments = vec![
        cluster.assign(0, Role::Removed),
        cluster.assign(1, Role::Removed),
        cluster.assign(3, Role::Voter),
        cluster.assign(4, Role::Voter),
    ];
    change(&mut cluster, 0, Change::EnterJoint { assignments, auto_leave: true });
    assert!(cluster.replica(0).is_leader() && cluster.replica(0).membership().is_joint());
    assert_eq!(cluster.nodes[0].marks["raft/joint"], 1);
    cluster.beat(0);
    assert_eq!(cluster.replica(0).validators().len(), 5, "both majorities may author");
    // Half of the new majority is not enough.
    let head = cluster.replica(0).head();
    cluster.only(&[0, 1, 2]);
    cluster.produce(0);
    assert_eq!(cluster.replica(0).head(), head);
    cluster.heal();
    // The next block leaves the joint configuration, and the leader steps down with it.
    cluster.beat(0);
    cluster.beat(0);
    assert!(!cluster.replica(0).is_leader());
    assert!(cluster.nodes[0].marks["raft/members-changed"] > 0);
    assert_eq!(cluster.nodes[0].marks["raft/leader-removed"], 1);
    assert!(!cluster.replica(0).membership().is_joint());
    cluster.elect(0);
    assert!(!cluster.replica(0).is_leader(), "it does not stand any more");
    cluster.elect(3);
    assert!(cluster.replica(3).is_leader());
    let block = cluster.produce(3);
    assert!([2, 3, 4].iter().all(|number| cluster.replica(*number).head() == block));
    assert_eq!(cluster.replica(3).validators().len(), 3);
    // Replica 1 has the last block and may never receive its commitment; no other replica is affected.
    cluster.stand(1);
    cluster.settle();
    assert!(cluster.replica(3).is_leader() && !cluster.replica(1).is_leader());
}

#[test]
fn a_leader_that_removes_itself_at_once_steps_down() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    let gone = cluster.assign(0, Role::Removed);
    change(&mut cluster, 0, Change::Simple(vec![gone]));
    assert!(!cluster.replica(0).is_leader() && cluster.nodes[0].wanted.is_none());
    assert_eq!(cluster.replica(1).validators().len(), 2);
    cluster.elect(1);
    cluster.produce(1);
}

#[test]
fn invalid_and_concurrent_changes_are_refused() {
    let mut cluster = Cluster::new(3, 2);
    cluster.elect(0);
    let [three, four] = [3, 4].map(|number| cluster.assign(number, Role::Voter));
    let refused = |cluster: &mut Cluster, number: usize, change: Change, why: &str| {
        cluster.deliver(number, Event::Admin(Admin::ChangeMembers(change)));
        let reason = cluster.rejections_of(number).last().map(ToString::to_string).unwrap_or_default();
        assert!(reason.contains(why), "{reason}");
    };
    refused(&mut cluster, 1, Change::LeaveJoint, "only the leader");
    refused(&mut cluster, 0, Change::Simple(vec![three, four]), "more than one voter");
    refused(&mut cluster, 0, Change::LeaveJoint, "non-joint");
    let all = (0..3).map(|number| cluster.assign(number, Role::Removed)).collect();
    refused(&mut cluster, 0, Change::EnterJoint { assignments: all, auto_leave: true }, "removed all voters");
    cluster.deliver(0, Event::Admin(Admin::ChangeMembers(Change::Simple(vec![three]))));
    refused(&mut cluster, 0, Change::Simple(vec![four]), "earlier");
    refused(&mut cluster, 0, Change::LeaveJoint, "earlier");
    cluster.produce(0);
    assert!(cluster.replica(0).membership().is_voter(id(3)) && !cluster.replica(0).membership().is_voter(id(4)));
}

#[test]
fn a_joint_configuration_survives_a_crash_and_a_new_leader_leaves_it() {
    let mut cluster = Cluster::new(3, 1);
    cluster.elect(0);
    let assignments = vec![cluster.assign(2, Role::Learner), cluster.assign(3, Role::Voter)];
    change(&mut cluster, 0, Change::EnterJoint { assignments, auto_leave: true });
    cluster.beat(0);
    (0..4).for_each(|number| cluster.stop(number));
    (0..4).for_each(|number| cluster.restart(number));
    assert!(cluster.replica(1).membership().is_joint());
    cluster.elect(1);
    assert!(cluster.replica(1).is_leader());
    cluster.produce(1);
    let members = cluster.replica(1).membership();
    assert!(!members.is_joint() && members.learners().contains(&id(2)) && members.incoming().contains(&id(3)));
}
