//! Log replication: the paper's figures 7 and 8, the append race, compaction, crashes, reads, flow control.

use super::{super::*, cluster::*};

/// Gives a replica a log with entries of these terms, without blocks, and the current term `term`.
fn set_log(cluster: &mut Cluster, number: u32, term: u64, terms: &[u64]) {
    let raft = &mut cluster.nodes[number as usize].raft;
    for (index, term) in (1..).zip(terms) {
        raft.log.append(Entry::new(*term, index, None));
    }
    raft.log.mark_all_durable();
    raft.term = term;
}

#[test]
fn figure_7_every_log_comes_to_agree_with_the_leader() {
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
    assert!(cluster.raft(0).is_leader(), "a, b, e and f are behind it: a majority with itself");
    cluster.beat(0);
    let want = [leader, &[8]].concat();
    for number in 0..7 {
        assert_eq!(cluster.terms(number), want, "replica {number}");
        assert_eq!(cluster.raft(number).committed_index(), 11);
    }
    // The worst log, with 11 conflicting entries of two terms, took one message per term and not one per entry.
    let rejections: usize = cluster.nodes[0].marks.get("raft/fast-reject").copied().unwrap_or_default();
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
    // (c) S1 leads term 4 and replicates entry 2 to S3, a majority; its own entry of term 4 reaches no other replica.
    cluster.only(&[0, 1, 2]);
    for number in 0..5 {
        cluster.end_lease(number);
    }
    cluster.nodes[0].raft.term = 3;
    cluster.end_election_timeout(0);
    let is_tail = |message: &RaftMessage| match &message.body {
        Body::Append { entries, .. } => entries.iter().any(|entry| entry.term == 4),
        _ => false,
    };
    let mut kept_back = Vec::new();
    while let Some((from, to, message)) = cluster.wire.pop_front() {
        if is_tail(&message) {
            // Of what it sends, only the old entry arrives.
            let Body::Append { prev_index, prev_term, entries, commit } = &message.body else { unreachable!() };
            let old: Arc<[Entry]> = entries.iter().filter(|entry| entry.term < 4).cloned().collect();
            kept_back.push((from, to));
            let body = Body::Append { prev_index: *prev_index, prev_term: *prev_term, entries: old, commit: *commit };
            cluster.deliver(from, to, RaftMessage { term: message.term, body });
        } else {
            cluster.deliver(from, to, message);
        }
        if kept_back.len() > 20 {
            break;
        }
    }
    cluster.wire.clear();
    assert!(cluster.raft(0).is_leader() && cluster.raft(0).term() == 4);
    assert_eq!(cluster.terms(2)[..2], [1, 2], "a majority has entry 2 of term 2");
    assert_eq!(cluster.raft(0).committed_index(), 0, "and it is not committed");
    // (d) S1 fails; S5 can still win with S3 and S4 and overwrite entry 2.
    cluster.crash(0);
    cluster.only(&[2, 3, 4]);
    cluster.nodes[4].raft.term = 4;
    cluster.elect(4);
    assert!(cluster.raft(4).is_leader());
    cluster.beat(4);
    assert_eq!(cluster.terms(2)[..2], [1, 3]);
    assert_eq!(cluster.raft(4).committed_index(), 3);
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
    assert_eq!((cluster.raft(0).committed_index(), cluster.terms(2)), (3, vec![1, 2, 4]));
    cluster.crash(0);
    cluster.only(&[1, 2, 3, 4]);
    cluster.elect(4);
    assert!(!cluster.raft(4).is_leader());
    cluster.elect(2);
    cluster.beat(2);
    assert_eq!(cluster.terms(4)[..3], [1, 2, 4]);
}

#[test]
fn an_old_write_does_not_make_a_rewritten_entry_durable() {
    // Append, truncate, append again at one index (A, B, A), with the first write still pending.
    let mut cluster = Cluster::new(3, 0);
    let append = |term: u64, entry_term: u64| {
        let entries: Arc<[Entry]> = Arc::new([Entry::new(entry_term, 1, None)]);
        let body = Body::Append { prev_index: 0, prev_term: 0, entries, commit: 0 };
        Message::Raft(RaftMessage { term, body })
    };
    cluster.nodes[1].slow_disk = true;
    cluster.step(1, Event::Message { from: id(0), message: append(1, 1) });
    cluster.step(1, Event::Message { from: id(2), message: append(2, 2) });
    cluster.step(1, Event::Message { from: id(0), message: append(3, 1) });
    assert_eq!(cluster.terms(1), [1]);
    assert!(cluster.wire.is_empty(), "nothing was acknowledged");
    let first = Ticket::default();
    cluster.step(1, Event::Persisted(first));
    assert_eq!(cluster.raft(1).log.durable(), 0, "the first write was of the entry that was dropped");
    // As leader it would not count its own copy of the entry now.
    cluster.flush(1);
    assert_eq!(cluster.raft(1).log.durable(), 1);
    assert!(cluster.wire.iter().any(|(_, to, message)| {
        *to == id(0) && message.term == 3 && matches!(message.body, Body::Appended { index: 1 })
    }));
}

#[test]
fn a_follower_behind_a_compacted_log_fetches_blocks() {
    let config = RaftConfig::default().with_period(0).with_log_keep(4);
    let mut cluster = Cluster::with_config(3, 0, config);
    cluster.elect(0);
    cluster.produce(0);
    cluster.isolate(2);
    for _ in 0..30 {
        cluster.produce(0);
    }
    assert!(cluster.raft(0).compacted_index() > cluster.raft(2).last_index());
    cluster.cut.clear();
    // The response to the first heartbeat causes the snapshot message; the following ones repeat lost fetches.
    for _ in 0..3 {
        cluster.beat(0);
    }
    assert_eq!(cluster.raft(2).head(), cluster.raft(0).head());
    assert_eq!(cluster.nodes[2].marks["raft/block-sync"], 1);
    assert!(cluster.nodes[0].marks["raft/snapshot"] > 0);
    let block = cluster.produce(0);
    assert_eq!(cluster.raft(2).head(), block, "entries again");
    // The fetched blocks are enough to recover from after a crash.
    cluster.crash(2);
    cluster.restart(2);
    assert_eq!(cluster.raft(2).head(), block);
    let block = cluster.produce(0);
    cluster.beat(0);
    assert_eq!(cluster.raft(2).head(), block);
}

#[test]
fn an_unrequested_block_changes_nothing() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    cluster.produce(0);
    let block = cluster.raft(0).entry(2).unwrap().block.clone().unwrap();
    cluster.step(1, Event::BlockSynced { from: id(0), block });
    assert!(matches!(cluster.nodes[1].rejections.last(), Some(Rejection::Unexpected { what: "block" })));
}

#[test]
fn committed_entries_survive_a_crash_of_all_replicas() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    for _ in 0..5 {
        cluster.produce(0);
    }
    let head = cluster.raft(0).head();
    (0..3).for_each(|number| cluster.crash(number));
    (0..3).for_each(|number| cluster.restart(number));
    for number in 0..3 {
        assert_eq!((cluster.raft(number).head(), cluster.raft(number).term()), (head, 1));
    }
    cluster.elect(1);
    let block = cluster.produce(1);
    assert!((0..3).all(|number| cluster.raft(number).head() == block));
}

#[test]
fn an_uncommitted_block_is_truncated_by_a_leader_without_it() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    cluster.produce(0);
    cluster.isolate(0);
    let lost = cluster.build(0);
    cluster.run();
    cluster.elect(1);
    let block = cluster.produce(1);
    assert_eq!(block.height, lost.height);
    cluster.cut.clear();
    cluster.beat(1);
    assert_eq!(cluster.raft(0).head(), block);
    assert!(cluster.nodes[0].records.len() > 1);
    cluster.crash(0);
    cluster.restart(0);
    assert_eq!(cluster.raft(0).head(), block);
}

#[test]
fn lost_messages_are_sent_again_after_the_next_heartbeat() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    cluster.produce(0);
    cluster.build(0);
    cluster.wire.clear();
    assert_ne!(cluster.raft(0).head().height.get(), 2);
    cluster.beat(0);
    cluster.beat(0);
    assert!((0..3).all(|number| cluster.raft(number).head().height.get() == 2));
}

#[test]
fn a_window_bounds_the_in_flight_messages_to_one_follower() {
    let mut config = RaftConfig::default().with_period(0);
    (config.entries_max, config.inflight_max) = (2, 3);
    let mut cluster = Cluster::with_config(3, 0, config);
    let terms = [1; 40];
    set_log(&mut cluster, 0, 1, &terms);
    set_log(&mut cluster, 1, 1, &terms);
    cluster.only(&[0, 1]);
    cluster.elect(0);
    assert_eq!(cluster.raft(0).committed_index(), 41);
    cluster.cut.clear();
    let mut most = 0;
    cluster.step(0, Event::Timer(HEARTBEAT_TIMER));
    while let Some((from, to, message)) = cluster.wire.pop_front() {
        cluster.deliver(from, to, message);
        let appends = cluster.wire.iter().filter(|(_, to, message)| match &message.body {
            Body::Append { entries, .. } => {
                assert!(entries.len() <= 2);
                *to == id(2) && !entries.is_empty()
            }
            _ => false,
        });
        most = most.max(appends.count());
    }
    assert!((1..=3).contains(&most), "{most} messages with entries at once");
    assert_eq!(cluster.raft(2).committed_index(), 41);
}

#[test]
fn a_read_waits_for_a_majority_and_a_stale_leader_serves_none() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    let head = cluster.produce(0);
    cluster.step(0, Event::Admin(Admin::Read { request: 7 }));
    assert!(cluster.nodes[0].reads.is_empty());
    cluster.run();
    assert_eq!(cluster.nodes[0].reads, [(7, head)]);
    cluster.isolate(0);
    cluster.elect(1);
    cluster.produce(1);
    cluster.step(0, Event::Admin(Admin::Read { request: 8 }));
    cluster.run();
    cluster.cut.clear();
    cluster.beat(0);
    assert_eq!(cluster.nodes[0].reads.len(), 1, "it is not the leader any more, and has stepped down");
    assert!(!cluster.raft(0).is_leader());
    cluster.step(0, Event::Admin(Admin::Read { request: 9 }));
    assert!(matches!(cluster.nodes[0].rejections.last(), Some(Rejection::Admin { .. })));
}
