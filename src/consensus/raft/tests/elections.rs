//! Elections: split votes, rejoining replicas, one-way links, leadership transfers, durability of votes.

use super::{super::*, cluster::*};
use crate::consensus::testing::Envelope;

#[test]
fn a_single_voter_becomes_leader() {
    let mut cluster = Cluster::new(1, 0);
    cluster.elect(0);
    let block = cluster.produce(0);
    assert_eq!(cluster.replica(0).head(), block);
    assert_eq!(cluster.replica(0).finality(), Finality::both(block, FinalityKind::LogCommit));
}

#[test]
fn a_leader_is_elected_and_the_others_follow() {
    let mut cluster = Cluster::new(5, 0);
    cluster.elect(2);
    assert!(cluster.replica(2).is_leader());
    let block = cluster.produce(2);
    for number in 0..5 {
        assert_eq!((cluster.replica(number).leader(), cluster.replica(number).head()), (Some(id(2)), block));
    }
}

#[test]
fn duelling_candidates_split_the_vote_and_one_wins_later() {
    let mut cluster = Cluster::new(4, 0);
    (0..4).for_each(|number| cluster.lose_lease(number));
    // Both win the pre-vote of all before either becomes a candidate.
    cluster.stand(0);
    cluster.stand(3);
    let is_pre_vote = |envelope: &Envelope| {
        let body = &raft_message(envelope).unwrap().body;
        matches!(body, Body::RequestVote { pre: true, .. } | Body::Vote { pre: true, .. })
    };
    while let Some(place) = cluster.queue.iter().position(is_pre_vote) {
        cluster.deliver_at(place);
    }
    assert!(cluster.replica(0).term() == 1 && cluster.replica(3).term() == 1, "both stand");
    // 1 receives from 0 first, 2 from 3 first.
    cluster.queue.make_contiguous().sort_by_key(|envelope| (envelope.from.get() == 0) != (envelope.to.get() <= 1));
    cluster.settle();
    assert!((0..4).all(|number| !cluster.replica(number).is_leader()), "the vote is split");
    cluster.elect(3);
    assert!(cluster.replica(3).is_leader() && cluster.replica(3).term() == 2);
    cluster.produce(3);
}

#[test]
fn a_rejoining_replica_causes_no_election() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    cluster.isolate(2);
    for _ in 0..10 {
        cluster.stand(2);
        cluster.settle();
    }
    assert_eq!(cluster.replica(2).term(), 1, "pre-vote keeps its term");
    cluster.produce(0);
    cluster.heal();
    cluster.stand(2);
    cluster.settle();
    assert!(cluster.replica(0).is_leader() && cluster.replica(0).term() == 1);
    assert!(cluster.nodes[1].marks["raft/lease-kept"] > 0);
    cluster.beat(0);
    assert_eq!(cluster.replica(2).head(), cluster.replica(0).head());
}

#[test]
fn an_isolated_leader_steps_down() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    // Its messages arrive and it receives none: without check-quorum the others would never elect another leader.
    cluster.cut.extend([(1, 0), (2, 0)]);
    cluster.beat(0);
    cluster.deliver(0, Event::Timer(ELECTION_TIMER));
    assert!(cluster.replica(0).is_leader(), "it heard them in the period that ended");
    cluster.beat(0);
    cluster.deliver(0, Event::Timer(ELECTION_TIMER));
    assert!(!cluster.replica(0).is_leader());
    assert_eq!(cluster.nodes[0].marks["raft/quorum-lost"], 1);
    assert!(cluster.nodes[0].wanted.is_none(), "it builds no more");
    cluster.elect(1);
    assert!(cluster.replica(1).is_leader());
    cluster.produce(1);
}

#[test]
fn an_outdated_log_wins_no_election() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    cluster.isolate(2);
    cluster.produce(0);
    cluster.heal();
    cluster.isolate(0);
    cluster.elect(2);
    assert!(!cluster.replica(2).is_leader());
    cluster.elect(1);
    assert!(cluster.replica(1).is_leader());
    assert_eq!(cluster.replica(2).head(), cluster.replica(1).head());
}

#[test]
fn a_leadership_transfer_overrides_the_lease() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    cluster.isolate(2);
    cluster.produce(0);
    cluster.heal();
    cluster.deliver(0, Event::Admin(Admin::TransferLeader { to: id(2) }));
    assert!(cluster.nodes[0].wanted.is_none(), "no block is built meanwhile");
    cluster.settle();
    cluster.beat(0);
    assert!(cluster.replica(2).is_leader(), "it was brought up to date first");
    assert_eq!(cluster.replica(0).leader(), Some(id(2)));
    assert_eq!(cluster.nodes[0].marks["raft/transfer"], 1);
    cluster.produce(2);
}

#[test]
fn a_transfer_to_an_unreachable_replica_is_aborted() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    cluster.isolate(2);
    cluster.deliver(0, Event::Admin(Admin::TransferLeader { to: id(2) }));
    cluster.beat(0);
    cluster.deliver(0, Event::Timer(ELECTION_TIMER));
    assert_eq!(cluster.nodes[0].marks["raft/transfer-given-up"], 1);
    cluster.produce(0);
    assert_eq!(cluster.replica(1).head(), cluster.replica(0).head());
}

#[test]
fn a_vote_survives_a_crash() {
    let mut cluster = Cluster::new(3, 0);
    (0..3).for_each(|number| cluster.lose_lease(number));
    cluster.isolate(2);
    cluster.stand(0);
    cluster.settle();
    assert!(cluster.replica(0).is_leader());
    cluster.stop(1);
    cluster.restart(1);
    assert_eq!((cluster.replica(1).term(), cluster.replica(1).vote), (1, Some(id(0))));
    // Another candidate of the same term gets no vote.
    let body = Body::RequestVote { pre: false, transfer: true, last_index: 9, last_term: 1 };
    cluster.queue.clear();
    cluster.deliver(1, Event::Message { from: id(2), message: ConsensusMessage::Raft(RaftMessage { term: 1, body }) });
    assert!(matches!(raft_message(&cluster.queue[0]).unwrap().body, Body::Vote { pre: false, granted: false }));
}

#[test]
fn responses_are_sent_once_their_records_are_durable() {
    let mut cluster = Cluster::new(3, 0);
    cluster.isolate(2);
    cluster.nodes[1].has_slow_disk = true;
    cluster.elect(0);
    assert!(!cluster.replica(0).is_leader(), "the vote is not durable");
    // Lost with the crash: it may vote again.
    cluster.stop(1);
    cluster.nodes[1].has_slow_disk = false;
    cluster.restart(1);
    assert_eq!((cluster.replica(1).term(), cluster.replica(1).vote), (0, None));
    cluster.elect(0);
    assert!(cluster.replica(0).is_leader());
    // A leader's own copy counts only when it is durable.
    cluster.nodes[0].has_slow_disk = true;
    cluster.isolate(1);
    let head = cluster.replica(0).head();
    cluster.produce(0);
    assert_eq!(cluster.replica(0).head(), head);
}
