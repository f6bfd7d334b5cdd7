//! Logs: the papers' figures 7 and 8, the append race, compaction, crashes, reads, flow control.

use core::time::Duration;

use super::{super::*, cluster::*};
use crate::consensus::mutation::{self, Mutation};

/// A replica whose log has entries of these terms, without blocks, and whose current term is the last of them.
fn set_log(cluster: &mut Cluster, number: usize, term: u64, terms: &[u64]) {
    let raft = &mut cluster.nodes[number].protocol;
    for (index, term) in (1..).zip(terms) {
        raft.log.append(Entry::new(*term, index, None));
    }
    raft.log.mark_all_durable();
    raft.term = term;
}

#[test]
fn figure_7_every_log_converges_to_the_leaders() {
    let leader: &[u64] = &[1, 1, 1, 4, 4, 5, 5, 6, 6, 6];
    let followers: [(u64, &[u64]); 6] = [
        (6, &[1, 1, 1, 4, 4, 5, 5, 6, 6]),
        (4, &[1, 1, 1, 4]),
        (6, &[1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 6]),
        (7, &[1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 7, 7]),
        (4, &[1, 1, 1, 4, 4, 4, 4]),
        (3, &[1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3]),
    ];
    let mut cluster = Cluster::new(7, 0);
    set_log(&mut cluster, 0, 7, leader);
    for (number, (term, terms)) in (1..).zip(followers) {
        set_log(&mut cluster, number, term, terms);
    }
    cluster.elect(0);
    assert!(cluster.replica(0).is_leader(), "a, b, e and f are behind it: a majority with itself");
    cluster.beat(0);
    let want = [leader, &[8]].concat();
    for number in 0..7 {
        assert_eq!(cluster.terms(number), want, "replica {number}");
        assert_eq!(cluster.replica(number).committed_index(), 11);
    }
    // The worst log, whose tail has 11 entries in two terms, took one message a term, not one an entry.
    let rejections = cluster.nodes[0].marks.get("raft/fast-reject").copied().unwrap_or_default();
    assert!(rejections <= 8, "{rejections} rejections for six followers");
}

#[test]
fn figure_8_an_older_entry_is_not_committed_by_count() {
    let mut cluster = Cluster::new(5, 0);
    // (a) S1 leads term 2 and gives entry 2 to S2 alone; (b) S5 leads term 3 and keeps another entry 2.
    set_log(&mut cluster, 0, 2, &[1, 2]);
    set_log(&mut cluster, 1, 2, &[1, 2]);
    set_log(&mut cluster, 2, 3, &[1]);
    set_log(&mut cluster, 3, 3, &[1]);
    set_log(&mut cluster, 4, 3, &[1, 3]);
    // (c) S1 leads term 4 and brings entry 2 to S3, a majority; its own entry of term 4 reaches no other.
    cluster.only(&[0, 1, 2]);
    for number in 0..5 {
        cluster.lose_lease(number);
    }
    cluster.nodes[0].protocol.term = 3;
    cluster.stand(0);
    let is_tail = |message: &RaftMessage| match &message.body {
        Body::Append { entries, .. } => entries.iter().any(|entry| entry.term == 4),
        _ => false,
    };
    let mut kept_back = Vec::new();
    while let Some(next) = cluster.queue.pop_front() {
        let (from, to, message) = (next.from, next.to, raft_message(&next).unwrap());
        if is_tail(message) {
            // Of what it sends, only the old entry arrives.
            let Body::Append { prev_index, prev_term, entries, commit } = &message.body else { unreachable!() };
            let old: Arc<[Entry]> = entries.iter().filter(|entry| entry.term < 4).cloned().collect();
            kept_back.push((from, to));
            let body = Body::Append { prev_index: *prev_index, prev_term: *prev_term, entries: old, commit: *commit };
            cluster.transmit(envelope(from, to, RaftMessage { term: message.term, body }));
        } else {
            cluster.transmit(next);
        }
        if kept_back.len() > 20 {
            break;
        }
    }
    cluster.queue.clear();
    assert!(cluster.replica(0).is_leader() && cluster.replica(0).term() == 4);
    assert_eq!(cluster.terms(2)[..2], [1, 2], "a majority has entry 2 of term 2");
    assert_eq!(cluster.replica(0).committed_index(), 0, "and it is not committed");
    // (d) S1 fails; S5 can still win with S3 and S4 and overwrite entry 2.
    cluster.stop(0);
    cluster.only(&[2, 3, 4]);
    cluster.nodes[4].protocol.term = 4;
    cluster.elect(4);
    assert!(cluster.replica(4).is_leader());
    cluster.beat(4);
    assert_eq!(cluster.terms(2)[..2], [1, 3]);
    assert_eq!(cluster.replica(4).committed_index(), 3);
}

#[test]
fn figure_8_with_an_own_entry_committed_nobody_can_overwrite() {
    let mut cluster = Cluster::new(5, 0);
    set_log(&mut cluster, 0, 3, &[1, 2]);
    set_log(&mut cluster, 1, 2, &[1, 2]);
    set_log(&mut cluster, 2, 3, &[1]);
    set_log(&mut cluster, 3, 3, &[1]);
    set_log(&mut cluster, 4, 3, &[1, 3]);
    // (e) The entry of term 4 reaches S2 and S3: committed, with everything before it.
    cluster.only(&[0, 1, 2]);
    cluster.elect(0);
    assert_eq!((cluster.replica(0).committed_index(), cluster.terms(2)), (3, vec![1, 2, 4]));
    cluster.stop(0);
    cluster.only(&[1, 2, 3, 4]);
    cluster.elect(4);
    assert!(!cluster.replica(4).is_leader());
    cluster.elect(2);
    cluster.beat(2);
    assert_eq!(cluster.terms(4)[..3], [1, 2, 4]);
}

#[test]
fn an_old_write_does_not_make_a_rewritten_entry_durable() {
    // Append, truncate, append again at one index (A, B, A), with the first write unfinished.
    let mut cluster = Cluster::new(3, 0);
    let append = |term: u64, entry_term: u64| {
        let entries: Arc<[Entry]> = Arc::new([Entry::new(entry_term, 1, None)]);
        let body = Body::Append { prev_index: 0, prev_term: 0, entries, commit: 0 };
        ConsensusMessage::Raft(RaftMessage { term, body })
    };
    cluster.nodes[1].has_slow_disk = true;
    cluster.deliver(1, Event::Message { from: id(0), message: append(1, 1) });
    cluster.deliver(1, Event::Message { from: id(2), message: append(2, 2) });
    cluster.deliver(1, Event::Message { from: id(0), message: append(3, 1) });
    assert_eq!(cluster.terms(1), [1]);
    assert!(cluster.queue.is_empty(), "nothing was acknowledged");
    let first = Ticket::default();
    cluster.deliver(1, Event::Persisted(first));
    assert_eq!(cluster.replica(1).log.durable(), 0, "the first write was of the entry that was dropped");
    // Its own count, if it led now, would be without the entry.
    cluster.flush(1);
    assert_eq!(cluster.replica(1).log.durable(), 1);
    assert!(cluster.queue.iter().any(|envelope| {
        let message = raft_message(envelope).unwrap();
        envelope.to == id(0) && message.term == 3 && matches!(message.body, Body::Appended { index: 1 })
    }));
}

#[test]
fn a_follower_behind_a_compacted_log_fetches_blocks() {
    let config = RaftConfig::default().with_period(Duration::ZERO).with_log_keep(4);
    let mut cluster = Cluster::with_config(3, 0, config);
    cluster.elect(0);
    cluster.produce(0);
    cluster.isolate(2);
    for _ in 0..30 {
        cluster.produce(0);
    }
    assert!(cluster.replica(0).compacted_index() > cluster.replica(2).last_index());
    cluster.heal();
    // The response to the first heartbeat leads to the block's id; later heartbeats repeat lost requests.
    for _ in 0..3 {
        cluster.beat(0);
    }
    assert_eq!(cluster.replica(2).head(), cluster.replica(0).head());
    assert_eq!(cluster.nodes[2].marks["raft/block-sync"], 1);
    assert!(cluster.nodes[0].marks["raft/snapshot"] > 0);
    let block = cluster.produce(0);
    assert_eq!(cluster.replica(2).head(), block, "entries again");
    // The fetched blocks are durable: it recovers from them after a crash.
    cluster.stop(2);
    cluster.restart(2);
    assert_eq!(cluster.replica(2).head(), block);
    let block = cluster.produce(0);
    cluster.beat(0);
    assert_eq!(cluster.replica(2).head(), block);
}

/// Heights of a learner that is added 1,100 blocks late, at each heartbeat until it has the head, or twenty; and how many syncs it began.
fn heights_of_a_late_learner() -> (Vec<u64>, u64) {
    let config = RaftConfig::default().with_period(Duration::ZERO).with_log_keep(4);
    let mut cluster = Cluster::with_config(1, 1, config);
    cluster.elect(0);
    for _ in 0..1_100 {
        cluster.produce(0);
    }
    let learner = cluster.assign(1, Role::Learner);
    cluster.deliver(0, Event::Admin(Admin::ChangeMembers(Change::Simple(vec![learner]))));
    let head = cluster.produce(0);
    let mut heights = Vec::new();
    while cluster.replica(1).head() != head && heights.len() < 20 {
        cluster.beat(0);
        heights.push(cluster.replica(1).head().height.get());
    }
    heights.dedup();
    (heights, cluster.nodes[1].marks.get("raft/block-sync").copied().unwrap_or_default())
}

#[test]
fn a_follower_that_is_far_behind_fetches_blocks_in_parts() {
    // The first part came with the block that made it a learner.
    assert_eq!(heights_of_a_late_learner(), (vec![1_024, 1_101], 3));
    let refused = mutation::with(Mutation::RaftSyncsAtOnce, heights_of_a_late_learner);
    assert_eq!(refused, (vec![0], 0), "it never has the head");
}

#[test]
fn an_unrequested_block_changes_nothing() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    cluster.produce(0);
    let block = cluster.replica(0).entry(2).unwrap().block.clone().unwrap();
    cluster.deliver(1, Event::BlockSynced { from: id(0), block });
    assert!(matches!(cluster.rejections_of(1).last(), Some(Rejection::Unexpected { what: "block" })));
}

#[test]
fn committed_entries_survive_a_crash_of_all_replicas() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    for _ in 0..5 {
        cluster.produce(0);
    }
    let head = cluster.replica(0).head();
    (0..3).for_each(|number| cluster.stop(number));
    (0..3).for_each(|number| cluster.restart(number));
    for number in 0..3 {
        assert_eq!((cluster.replica(number).head(), cluster.replica(number).term()), (head, 1));
    }
    cluster.elect(1);
    let block = cluster.produce(1);
    assert!((0..3).all(|number| cluster.replica(number).head() == block));
}

#[test]
fn an_uncommitted_block_is_replaced_by_a_leader_without_it() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    cluster.produce(0);
    cluster.isolate(0);
    let lost = cluster.build(0);
    cluster.settle();
    cluster.elect(1);
    let block = cluster.produce(1);
    assert_eq!(block.height, lost.height);
    cluster.heal();
    cluster.beat(1);
    assert_eq!(cluster.replica(0).head(), block);
    assert!(cluster.nodes[0].records.len() > 1);
    cluster.stop(0);
    cluster.restart(0);
    assert_eq!(cluster.replica(0).head(), block);
}

#[test]
fn lost_messages_are_recovered_by_the_next_heartbeat() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    cluster.produce(0);
    cluster.build(0);
    cluster.queue.clear();
    assert_ne!(cluster.replica(0).head().height.get(), 2);
    cluster.beat(0);
    cluster.beat(0);
    assert!((0..3).all(|number| cluster.replica(number).head().height.get() == 2));
}

#[test]
fn a_window_bounds_the_entries_in_flight_to_a_follower() {
    let mut config = RaftConfig::default().with_period(Duration::ZERO);
    (config.entries_max, config.inflight_max) = (2, 3);
    let mut cluster = Cluster::with_config(3, 0, config);
    let terms = [1; 40];
    set_log(&mut cluster, 0, 1, &terms);
    set_log(&mut cluster, 1, 1, &terms);
    cluster.only(&[0, 1]);
    cluster.elect(0);
    assert_eq!(cluster.replica(0).committed_index(), 41);
    cluster.heal();
    let mut most = 0;
    cluster.deliver(0, Event::Timer(HEARTBEAT_TIMER));
    while !cluster.queue.is_empty() {
        cluster.deliver_at(0);
        let appends = cluster.queue.iter().filter(|envelope| match &raft_message(envelope).unwrap().body {
            Body::Append { entries, .. } => {
                assert!(entries.len() <= 2);
                envelope.to == id(2) && !entries.is_empty()
            }
            _ => false,
        });
        most = most.max(appends.count());
    }
    assert!((1..=3).contains(&most), "{most} messages with entries at once");
    assert_eq!(cluster.replica(2).committed_index(), 41);
}

/// A leader answers read 7; a read 8 waits when it hears of another leader.
fn reads_of_a_leader_that_steps_down() -> Cluster {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    let head = cluster.produce(0);
    cluster.deliver(0, Event::Admin(Admin::Read { request: 7 }));
    assert!(cluster.reads(0).is_empty());
    cluster.settle();
    assert_eq!(cluster.reads(0), [(7, head)]);
    cluster.isolate(0);
    cluster.elect(1);
    cluster.produce(1);
    cluster.deliver(0, Event::Admin(Admin::Read { request: 8 }));
    cluster.settle();
    cluster.heal();
    cluster.beat(0);
    cluster
}

#[test]
fn a_read_waits_for_a_majority_and_a_stale_leader_serves_none() {
    let mut cluster = reads_of_a_leader_that_steps_down();
    assert_eq!(cluster.reads(0).len(), 1, "it does not lead any more, and knows it now");
    assert_eq!(cluster.aborted_reads(0), [8], "who waits is told");
    assert!(!cluster.replica(0).is_leader());
    cluster.deliver(0, Event::Admin(Admin::Read { request: 9 }));
    assert!(matches!(cluster.rejections_of(0).last(), Some(Rejection::Admin { .. })));
    let dropped = mutation::with(Mutation::RaftDropsReads, reads_of_a_leader_that_steps_down);
    assert!(dropped.aborted_reads(0).is_empty(), "who waits waits for ever");
}
