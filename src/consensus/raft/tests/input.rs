//! Input that no correct replica sends: it is rejected and counted, and the state is unchanged (asserted on every step).

use core::time::Duration;

use super::{super::*, cluster::*};
use crate::{
    chain::Block,
    consensus::{ApplyRecords, Purpose, Verdict, testing::Fixture},
    primitives::{Bytes, Height},
};

/// Steps and asserts that the input was refused.
fn refuse(cluster: &mut Cluster, number: usize, event: Event, why: &str) {
    let before = cluster.replica(number).clone();
    let rejections = cluster.rejections_of(number).count();
    cluster.deliver(number, event);
    assert_eq!(cluster.rejections_of(number).count(), rejections + 1, "not refused: {why}");
    let reason = cluster.rejections_of(number).last().unwrap().to_string();
    assert!(reason.contains(why), "{reason} does not say {why}");
    assert_eq!(&before, cluster.replica(number), "{why}");
}

fn message(from: usize, term: u64, body: Body) -> Event {
    Event::Message { from: id(from), message: ConsensusMessage::Raft(RaftMessage { term, body }) }
}

#[test]
fn malformed_messages_change_nothing() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    cluster.produce(0);
    let (last, term) = (cluster.replica(1).last_index(), 1);
    let append =
        |entries: Vec<Entry>| Body::Append { prev_index: last, prev_term: 1, entries: entries.into(), commit: 0 };
    let entry = |term, index| Entry::new(term, index, None);
    let heartbeat = || Body::Heartbeat { commit: 0, round: 1 };
    for (name, event) in [
        ("term 0", message(0, 0, heartbeat())),
        ("far from", message(0, u64::MAX, heartbeat())),
        ("another leader", message(2, term, heartbeat())),
        ("can't follow", message(0, term, append(vec![entry(1, last + 2)]))),
        ("can't follow", message(0, term, append(vec![entry(2, last + 1)]))),
        ("can't follow", message(0, term + 1, append(vec![entry(2, last + 1), entry(1, last + 2)]))),
        (
            "above the head",
            message(0, term, Body::Snapshot { index: 99, entry_term: 1, block: cluster.replica(1).head() }),
        ),
    ] {
        refuse(&mut cluster, 1, event, name);
    }
    for (name, event) in [
        ("another leader", message(1, term, heartbeat())),
        ("acknowledges", message(1, term, Body::Appended { index: 99 })),
        ("round", message(1, term, Body::HeartbeatResponse { round: 99 })),
    ] {
        refuse(&mut cluster, 0, event, name);
    }
}

#[test]
fn blocks_not_sealed_by_their_leader_change_nothing() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    cluster.isolate(1);
    cluster.produce(0);
    let good = cluster.replica(0).entry(2).unwrap().block.clone().unwrap();
    let prev = cluster.replica(1).last_index();
    assert_eq!(prev, 1);
    let with = |index: u64, block: Block| {
        let entry = Entry::new(1, index, Some(Arc::new(block)));
        let body = Body::Append { prev_index: 1, prev_term: 1, entries: Arc::new([entry]), commit: 0 };
        message(0, 1, body)
    };
    let stranger = Authenticator::symbolic(7).signer(&key(2)).sign(Purpose::Block, good.hash());
    let mut header = good.header().clone();
    header.parent_hash.0[0] ^= 1;
    let elsewhere = Block::new(header, Vec::new(), good.payload().clone(), Vec::new());
    let elsewhere_seal = Authenticator::symbolic(7).signer(&key(0)).sign(Purpose::Block, elsewhere.hash());
    for (why, block) in [
        ("seal", good.as_ref().clone().with_seal(Bytes::from_static(&[1, 2]))),
        ("not by its author", good.as_ref().clone().with_seal(stranger)),
        ("not a child of the one before", elsewhere.with_seal(elsewhere_seal)),
        ("invalid raft payload", Block::new(good.header().clone(), Vec::new(), Bytes::new(), Vec::new())),
    ] {
        refuse(&mut cluster, 1, with(2, block), why);
    }
    refuse(&mut cluster, 1, with(3, good.as_ref().clone()), "can't follow");
    cluster.deliver(1, with(2, good.as_ref().clone()));
    assert_eq!(cluster.replica(1).last_index(), 2);
}

#[test]
fn unrequested_responses_change_nothing() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    let block = cluster.produce(0);
    refuse(&mut cluster, 1, Event::Persisted(Ticket::new(9_999)), "write");
    refuse(&mut cluster, 1, Event::BlockJudged { block, verdict: Verdict::VALID }, "verdict");
    let foreign = Admin::Vote { target: address(1), authorize: true };
    refuse(&mut cluster, 0, Event::Admin(foreign), "members change by");
    refuse(&mut cluster, 1, Event::Admin(Admin::TransferLeader { to: id(2) }), "is not the leader");
    refuse(&mut cluster, 0, Event::Admin(Admin::TransferLeader { to: id(0) }), "another voter");
    let before = cluster.replica(0).clone();
    let block = cluster.replica(0).entry(2).unwrap().block.clone().unwrap();
    for (mark, event) in [
        ("raft/stale-draw", Event::Random { ticket: Ticket::new(9_999), value: 1 }),
        ("raft/stale-build", Event::BlockBuilt { ticket: Ticket::new(9_999), block }),
        ("raft/stale-timer", Event::Timer(TimerId::new(9))),
    ] {
        assert!(!cluster.nodes[0].marks.contains_key(mark));
        cluster.deliver(0, event);
        assert_eq!(cluster.nodes[0].marks[mark], 1);
        assert_eq!(&before, cluster.replica(0), "{mark}");
    }
}

#[test]
fn responses_of_non_members_are_refused() {
    let mut cluster = Cluster::new(3, 1);
    cluster.elect(0);
    cluster.produce(0);
    // Replica 3 exists and is no member. It may have joined by an entry that this replica lacks, but it got no request.
    for term in [1, 2] {
        for body in [
            Body::Vote { pre: false, granted: true },
            Body::Vote { pre: true, granted: true },
            Body::Appended { index: 1 },
            Body::AppendRejected { rejected: 1, hint_index: 0, hint_term: 0 },
            Body::HeartbeatResponse { round: 0 },
        ] {
            refuse(&mut cluster, 0, message(3, term, body), "not a member");
        }
    }
    refuse(&mut cluster, 1, message(2, 1, Body::TimeoutNow), "another leader");
}

#[test]
fn messages_of_unknown_replicas_are_refused() {
    let roster: Vec<_> = (0..3).map(address).collect();
    let mut cluster =
        Cluster::with_config(3, 0, RaftConfig::default().with_period(Duration::ZERO).with_roster(roster, vec![id(3)]));
    cluster.elect(0);
    let block = cluster.produce(0);
    for body in [
        Body::RequestVote { pre: false, last_index: 99, last_term: 9, transfer: true },
        Body::RequestVote { pre: true, last_index: 99, last_term: 9, transfer: false },
        Body::Append { prev_index: 1, prev_term: 1, entries: Arc::new([]), commit: 9 },
        Body::Heartbeat { commit: 9, round: 9 },
        Body::Snapshot { index: 2, entry_term: 1, block },
        Body::TimeoutNow,
    ] {
        refuse(&mut cluster, 1, message(9, 2, body), "not a replica");
    }
    // An observer is a known replica.
    cluster.deliver(1, message(3, 2, Body::RequestVote { pre: true, last_index: 0, last_term: 0, transfer: false }));
    assert_eq!(cluster.rejections_of(1).count(), 6);
}

/// The memory that one sender can occupy does not grow with the number of its messages.
#[test]
fn memory_is_bounded_under_a_flood() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    let block = cluster.produce(0);
    let size = |cluster: &Cluster, number: usize| cluster.replica(number).encoding().len();
    let before = [size(&cluster, 0), size(&cluster, 1)];
    let entry = |index| Entry::new(2, index, None);
    for round in 1..5_000 {
        let far = BlockId { height: Height::new(round), ..block };
        for body in [
            Body::RequestVote { pre: round % 2 == 0, last_index: round, last_term: round, transfer: round % 3 == 0 },
            Body::Vote { pre: false, granted: true },
            Body::Append { prev_index: round, prev_term: 1, entries: Arc::new([entry(round + 1)]), commit: round },
            Body::Appended { index: round },
            Body::AppendRejected { rejected: round, hint_index: round, hint_term: round },
            Body::HeartbeatResponse { round },
            Body::Snapshot { index: round, entry_term: 1, block: far },
        ] {
            cluster.deliver(0, message(2, 1, body.clone()));
            cluster.deliver(1, message(2, 1, body));
        }
        cluster.deliver(0, Event::Admin(Admin::Read { request: round }));
        cluster.queue.clear();
        cluster.rejections.clear();
    }
    // At most a thousand reads are pending, 24 bytes each.
    let after = [size(&cluster, 0), size(&cluster, 1)];
    assert!(after[0] <= before[0] + 1_024 * 24 + 1_000, "{before:?} to {after:?}");
    assert!(after[1] <= before[1] + 1_000, "{before:?} to {after:?}");
}

#[test]
fn a_replayed_message_changes_no_log() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    cluster.build(0);
    let sent = cluster.queue.clone();
    cluster.settle();
    cluster.produce(0);
    let (heads, terms): (Vec<_>, Vec<_>) = (0..3).map(|n| (cluster.replica(n).head(), cluster.terms(n))).unzip();
    for envelope in sent {
        cluster.transmit(envelope);
    }
    cluster.settle();
    for number in 0..3 {
        assert_eq!((cluster.replica(number).head(), cluster.terms(number)), (heads[number], terms[number].clone()));
    }
}

#[test]
fn a_torn_write_loses_nothing_durable() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    for _ in 0..4 {
        cluster.produce(0);
    }
    cluster.elect(1);
    for _ in 0..4 {
        cluster.produce(1);
    }
    for number in 0..3 {
        let mut durable = Records::new();
        for records in cluster.nodes[number].writes.clone() {
            let before = RaftFixture::recover(&cluster, number, &durable);
            let mut written = durable.clone();
            for record in records {
                let value = record.value().unwrap_or_default();
                for length in [0, 9, value.len().saturating_sub(1)] {
                    let mut torn = written.clone();
                    if !value.is_empty() {
                        torn.insert(record.key.clone(), value.slice(..length.min(value.len())));
                    }
                    let after = RaftFixture::recover(&cluster, number, &torn);
                    assert!(after.head().height >= before.head().height, "{record:?}");
                    assert!((after.term(), after.vote) >= (before.term(), before.vote), "{record:?}");
                    assert!(after.log.is_up_to_date(after.last_index(), after.log.last_term()));
                    assert!(before.log.last_term() <= after.log.last_term(), "{record:?}");
                }
                written.apply([record]);
            }
            durable = written;
        }
        let (after, now) = (RaftFixture::recover(&cluster, number, &durable), cluster.replica(number));
        assert_eq!((after.head(), after.term(), after.vote), (now.head(), now.term(), now.vote));
        assert_eq!((after.last_index(), after.log.last_term()), (now.last_index(), now.log.last_term()));
    }
}

#[test]
fn entries_of_a_truncated_tail_are_not_recovered() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    cluster.produce(0);
    let records = cluster.nodes[1].records.clone();
    let log = RaftFixture::recover(&cluster, 1, &records);
    let last = log.last_index();
    // A later entry, written when another entry was before it.
    let stale = super::super::Entry::new(1, last + 1, None);
    let mut with_stale = records;
    with_stale.apply([super::super::record::entry(&stale, log.log.last_term() + 1, last)]);
    assert_eq!(RaftFixture::recover(&cluster, 1, &with_stale).last_index(), last);
}

#[test]
fn malformed_records_are_reported() {
    let mut cluster = Cluster::new(3, 0);
    cluster.elect(0);
    cluster.produce(0);
    let root = (BlockId::default(), crate::primitives::Timestamp::from_secs(0));
    for key in [HEAD_KEY, HARD_STATE_KEY] {
        let value = crate::consensus::checked_record(&[7]);
        let records = Records::from([(key.into(), value.into())]);
        let authenticator = Authenticator::symbolic(7);
        let refused = Raft::recover(RaftConfig::default(), root, Membership::default(), &records, authenticator, None);
        assert!(matches!(refused, Err(RaftError::Record { .. })));
    }
}
