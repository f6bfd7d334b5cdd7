//! A replica that crashes between two writes knows what it knew to be committed: it never stands for election with
//! members that are two changes old, whose majority need not meet that of the present ones.

use super::{super::*, cluster::*};
use crate::consensus::{ApplyRecords, testing::Fixture};

/// The changes by which replica 0 of three comes to be alone, one block after the other. The last one may happen without a
/// command.
enum Shrink {
    OneByOne,
    ThroughJoint,
}

impl Shrink {
    fn first(&self, cluster: &Cluster) -> Change {
        let [one, two] = [1, 2].map(|number| cluster.assign(number, Role::Removed));
        match self {
            Self::OneByOne => Change::Simple(vec![two]),
            Self::ThroughJoint => Change::EnterJoint { assignments: vec![one, two], auto_leave: true },
        }
    }

    fn second(&self, cluster: &Cluster) -> Option<Change> {
        match self {
            Self::OneByOne => Some(Change::Simple(vec![cluster.assign(1, Role::Removed)])),
            Self::ThroughJoint => None,
        }
    }
}

/// Lets leader 0 change the members in a block of its own; nothing is delivered.
fn build_change(cluster: &mut Cluster, change: Option<Change>) -> u64 {
    if let Some(change) = change {
        cluster.deliver(0, Event::Admin(Admin::ChangeMembers(change)));
    }
    cluster.build(0);
    cluster.replica(0).last_index()
}

/// Delivers everything but what would tell `uninformed` that the entry `index` is committed.
fn settle_without_notice(cluster: &mut Cluster, uninformed: usize, index: u64) {
    while let Some(envelope) = cluster.queue.pop_front() {
        let body = raft_message(&envelope).map(|message| &message.body);
        let is_notice =
            matches!(body, Some(Body::Append { commit, .. } | Body::Heartbeat { commit, .. }) if *commit >= index);
        if !(envelope.to == id(uninformed) && is_notice) {
            cluster.transmit(envelope);
        }
    }
}

/// Replica `number` takes what is under way to it; its first write becomes durable, and it crashes before the second.
fn crash_after_one_write(cluster: &mut Cluster, number: usize) {
    cluster.nodes[number].has_slow_disk = true;
    let (to_it, rest): (Vec<_>, Vec<_>) = cluster.queue.drain(..).partition(|envelope| envelope.to == id(number));
    cluster.queue.extend(rest);
    to_it.into_iter().for_each(|envelope| cluster.transmit(envelope));
    cluster.flush_one(number);
    cluster.nodes[number].has_slow_disk = false;
    cluster.restart(number);
}

fn a_crash_keeps_the_commit_index(shrink: &Shrink) {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    // Replica 2 hears nothing of what follows; replica 1 does not hear that the first change is committed.
    cluster.isolate(2);
    let first = shrink.first(&cluster);
    let first = build_change(&mut cluster, Some(first));
    settle_without_notice(&mut cluster, 1, first);
    assert_eq!((cluster.replica(0).committed_index(), cluster.replica(1).committed_index()), (first, first - 1));
    // It learns that with the second change, and acknowledges: its entry is durable, the head after the first is not.
    let second = shrink.second(&cluster);
    let second = build_change(&mut cluster, second);
    crash_after_one_write(&mut cluster, 1);
    assert_eq!(cluster.replica(1).last_index(), second);
    cluster.isolate(1);
    cluster.reconnect(1);
    let answers = cluster.queue.iter().filter(|envelope| envelope.from == id(1)).count();
    assert!(answers > 0, "it acknowledged before it crashed");
    settle_without_notice(&mut cluster, 1, second);
    assert_eq!(cluster.replica(0).membership().incoming().len(), 1);
    // Replica 0 is alone, and commits alone.
    cluster.only(&[0]);
    let block = cluster.produce(0);
    assert_eq!(cluster.replica(0).head(), block);
    // Replicas 1 and 2 are a majority of the first members, and of no members since.
    cluster.only(&[1, 2]);
    for number in [1, 2, 1] {
        cluster.elect(number);
        assert!(!cluster.replica(number).is_leader(), "replica {number} leads without the committed {block}");
    }
    assert_eq!(cluster.replica(1).committed_index(), first, "what it knew, it knows");
    cluster.heal();
    let next = cluster.produce(0);
    assert_eq!(cluster.replica(0).head(), next);
}

#[test]
fn a_replica_between_two_changes_does_not_lead_by_the_members_before_both() {
    a_crash_keeps_the_commit_index(&Shrink::OneByOne);
}

#[test]
fn a_replica_in_a_joint_configuration_does_not_lead_by_the_members_before_it() {
    a_crash_keeps_the_commit_index(&Shrink::ThroughJoint);
}

/// The old behaviour, by which the two tests above failed.
#[test]
#[should_panic(expected = "leader completeness: entry 4, term 2")]
fn a_replica_that_forgets_its_commit_index_leads_without_committed_entries() {
    mutation::with(Mutation::RaftForgetsCommit, || a_crash_keeps_the_commit_index(&Shrink::OneByOne));
}

/// Two members are added to three, so that `{1, 2}` and `{0, 3, 4}` are majorities before and after.
#[test]
fn additions_one_by_one_lose_no_committed_block() {
    let mut cluster = Cluster::new(3, 2);
    cluster.elect(0);
    cluster.isolate(2);
    let three = cluster.assign(3, Role::Voter);
    let first = build_change(&mut cluster, Some(Change::Simple(vec![three])));
    settle_without_notice(&mut cluster, 1, first);
    cluster.only(&[0, 3]);
    (0..3).for_each(|_| cluster.beat(0));
    cluster.only(&[0, 1, 3]);
    let four = cluster.assign(4, Role::Voter);
    let second = build_change(&mut cluster, Some(Change::Simple(vec![four])));
    crash_after_one_write(&mut cluster, 1);
    settle_without_notice(&mut cluster, 1, second);
    cluster.only(&[0, 3, 4]);
    (0..3).for_each(|_| cluster.beat(0));
    assert_eq!(cluster.replica(0).membership().incoming().len(), 5);
    // Committed by 0, 3 and 4; 4 is not told.
    cluster.build(0);
    let last = cluster.replica(0).last_index();
    settle_without_notice(&mut cluster, 4, last);
    let block = cluster.replica(0).head();
    assert_eq!(cluster.replica(0).committed_index(), last);
    cluster.only(&[1, 2]);
    cluster.elect(1);
    assert!(!cluster.replica(1).is_leader(), "two of five lead");
    cluster.only(&[1, 2, 4]);
    for number in [1, 2, 4] {
        cluster.elect(number);
    }
    let heads: Vec<_> = [1, 2, 4].map(|number| cluster.replica(number).head()).to_vec();
    assert!(heads.contains(&block) && cluster.replica(4).is_leader(), "{heads:?}");
    cluster.heal();
    (0..3).for_each(|_| cluster.beat(4));
    let next = cluster.produce(4);
    assert!((0..5).all(|number| cluster.replica(number).head() == next));
}

/// The commit index is in the entry's record and names nothing beyond the entry.
#[test]
fn a_torn_write_never_makes_another_entry_committed() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    for _ in 0..3 {
        cluster.produce(0);
    }
    for number in 0..3 {
        let mut records = Records::new();
        for record in cluster.nodes[number].writes.clone().into_iter().flatten() {
            records.apply([record]);
            let after = RaftFixture::recover(&cluster, number, &records);
            assert!(after.committed_index() <= cluster.replica(number).committed_index());
            for index in after.compacted_index() + 1..=after.committed_index() {
                let (recovered, now) = (after.entry(index).unwrap(), cluster.replica(number).entry(index).unwrap());
                assert_eq!(recovered.term, now.term);
            }
        }
    }
}
