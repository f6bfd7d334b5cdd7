//! Elections: split votes, rejoining replicas, one-way links, leadership transfers, voting learners.

use super::{super::*, cluster::*};

#[test]
fn one_voter_leads_alone() {
    let mut cluster = Cluster::new(1, 0);
    cluster.elect(0);
    let block = cluster.produce(0);
    assert_eq!(cluster.raft(0).head(), block);
    assert_eq!(cluster.raft(0).finality(), Finality::both(block, FinalityKind::LogCommit));
}

#[test]
fn a_leader_is_elected_and_the_rest_follows() {
    let mut cluster = Cluster::new(5, 0);
    cluster.elect(2);
    assert!(cluster.raft(2).is_leader());
    let block = cluster.produce(2);
    for number in 0..5 {
        assert_eq!((cluster.raft(number).leader(), cluster.raft(number).head()), (Some(id(2)), block));
    }
}

#[test]
fn two_candidates_split_the_vote_and_one_wins_later() {
    let mut cluster = Cluster::new(4, 0);
    (0..4).for_each(|number| cluster.end_lease(number));
    // Both win the pre-votes of all replicas before either is a candidate.
    cluster.end_election_timeout(0);
    cluster.end_election_timeout(3);
    while let Some(place) = cluster.wire.iter().position(|(.., message)| {
        matches!(message.body, Body::RequestVote { pre: true, .. } | Body::Vote { pre: true, .. })
    }) {
        let (from, to, message) = cluster.wire.remove(place).unwrap();
        cluster.deliver(from, to, message);
    }
    assert!(cluster.raft(0).term() == 1 && cluster.raft(3).term() == 1, "both are candidates");
    // 1 receives the request of 0 first, 2 that of 3.
    cluster.wire.make_contiguous().sort_by_key(|(from, to, _)| (from.get() == 0) != (to.get() <= 1));
    cluster.run();
    assert!((0..4).all(|number| !cluster.raft(number).is_leader()), "the vote is split");
    cluster.elect(3);
    assert!(cluster.raft(3).is_leader() && cluster.raft(3).term() == 2);
    cluster.produce(3);
}

#[test]
fn a_rejoining_replica_does_not_disrupt_the_leader() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    cluster.isolate(2);
    for _ in 0..10 {
        cluster.end_election_timeout(2);
        cluster.run();
    }
    assert_eq!(cluster.raft(2).term(), 1, "pre-vote keeps its term");
    cluster.produce(0);
    cluster.cut.clear();
    cluster.end_election_timeout(2);
    cluster.run();
    assert!(cluster.raft(0).is_leader() && cluster.raft(0).term() == 1);
    assert!(cluster.nodes[1].marks["raft/lease-kept"] > 0);
    cluster.beat(0);
    assert_eq!(cluster.raft(2).head(), cluster.raft(0).head());
}

#[test]
fn a_leader_without_contact_to_a_quorum_steps_down() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    // It sends and receives nothing: without check-quorum the others would follow it for ever.
    cluster.cut.extend([(1, 0), (2, 0)]);
    cluster.beat(0);
    cluster.step(0, Event::Timer(ELECTION_TIMER));
    assert!(cluster.raft(0).is_leader(), "messages arrived in the period that ended");
    cluster.beat(0);
    cluster.step(0, Event::Timer(ELECTION_TIMER));
    assert!(!cluster.raft(0).is_leader());
    assert_eq!(cluster.nodes[0].marks["raft/quorum-lost"], 1);
    assert!(cluster.nodes[0].wanted.is_none(), "it builds no more");
    cluster.elect(1);
    assert!(cluster.raft(1).is_leader());
    cluster.produce(1);
}

#[test]
fn an_outdated_log_wins_no_election() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    cluster.isolate(2);
    cluster.produce(0);
    cluster.cut.clear();
    cluster.isolate(0);
    cluster.elect(2);
    assert!(!cluster.raft(2).is_leader());
    cluster.elect(1);
    assert!(cluster.raft(1).is_leader());
    assert_eq!(cluster.raft(2).head(), cluster.raft(1).head());
}

#[test]
fn leadership_is_transferred_even_under_a_lease() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    cluster.isolate(2);
    cluster.produce(0);
    cluster.cut.clear();
    cluster.step(0, Event::Admin(Admin::TransferLeader { to: id(2) }));
    assert!(cluster.nodes[0].wanted.is_none(), "no block is built meanwhile");
    cluster.run();
    cluster.beat(0);
    assert!(cluster.raft(2).is_leader(), "it was brought up to date first");
    assert_eq!(cluster.raft(0).leader(), Some(id(2)));
    assert_eq!(cluster.nodes[0].marks["raft/transfer"], 1);
    cluster.produce(2);
}

#[test]
fn a_transfer_to_a_crashed_replica_is_aborted() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    cluster.isolate(2);
    cluster.step(0, Event::Admin(Admin::TransferLeader { to: id(2) }));
    cluster.beat(0);
    cluster.step(0, Event::Timer(ELECTION_TIMER));
    assert_eq!(cluster.nodes[0].marks["raft/transfer-given-up"], 1);
    cluster.produce(0);
    assert_eq!(cluster.raft(1).head(), cluster.raft(0).head());
}

#[test]
fn a_vote_survives_a_crash() {
    let mut cluster = Cluster::new(3, 0);
    (0..3).for_each(|number| cluster.end_lease(number));
    cluster.isolate(2);
    cluster.end_election_timeout(0);
    cluster.run();
    assert!(cluster.raft(0).is_leader());
    cluster.crash(1);
    cluster.restart(1);
    assert_eq!((cluster.raft(1).term(), cluster.raft(1).vote), (1, Some(id(0))));
    // Another candidate of the same term gets no vote.
    let body = Body::RequestVote { pre: false, transfer: true, last_index: 9, last_term: 1 };
    cluster.wire.clear();
    cluster.step(1, Event::Message { from: id(2), message: Message::Raft(RaftMessage { term: 1, body }) });
    assert!(matches!(cluster.wire[0].2.body, Body::Vote { pre: false, granted: false }));
}

#[test]
fn no_message_is_sent_before_what_it_depends_on_is_durable() {
    let mut cluster = Cluster::new(3, 0);
    cluster.isolate(2);
    cluster.nodes[1].slow_disk = true;
    cluster.elect(0);
    assert!(!cluster.raft(0).is_leader(), "the vote is not durable");
    // Lost with the crash: it may vote again.
    cluster.crash(1);
    cluster.nodes[1].slow_disk = false;
    cluster.restart(1);
    assert_eq!((cluster.raft(1).term(), cluster.raft(1).vote), (0, None));
    cluster.elect(0);
    assert!(cluster.raft(0).is_leader());
    // A leader's own copy counts only when it is durable.
    cluster.nodes[0].slow_disk = true;
    cluster.isolate(1);
    let head = cluster.raft(0).head();
    cluster.produce(0);
    assert_eq!(cluster.raft(0).head(), head);
}
