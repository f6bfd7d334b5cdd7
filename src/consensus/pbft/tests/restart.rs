//! Recovery after a crash at any moment, including in the middle of a write.

use std::collections::BTreeSet;

use super::lab::{Lab, PbftFixture, config};
use crate::consensus::{
    ApplyRecords, Protocol, Record, Records,
    mutation::{self, Mutation},
    pbft::{InView, Pbft, RESEND_TIMER, SUSPECT_TIMER, record::HEAD_KEY},
    testing::Fixture,
};

/// Returns the safety records of a replica: the blocks that it prepared and pre-prepared.
fn promises(replica: &Pbft) -> [Vec<InView>; 2] {
    [replica.log.prepared(), replica.log.pre_prepared()]
}

/// Returns whether `after` has all of `before`, in the same view or a later one.
fn keeps(after: &Pbft, before: &[Vec<InView>; 2]) -> bool {
    let has = |after: &[InView], entry: &InView| after.iter().any(|a| a.block == entry.block && a.view >= entry.view);
    before.iter().zip(promises(after)).all(|(before, after)| before.iter().all(|entry| has(&after, entry)))
}

/// Ten blocks with a view change in the middle, and a replica that misses one and fetches it.
fn eventful() -> Lab {
    let mut lab = Lab::new(4);
    (0..3).for_each(|_| lab.produce());
    lab.lose(&["commit"]);
    lab.produce();
    lab.lose_nothing();
    lab.suspect();
    (0..3).for_each(|_| lab.produce());
    lab.isolate(3);
    (0..2).for_each(|_| lab.produce());
    lab.reconnect(3);
    (0..3).for_each(|_| lab.produce());
    assert_eq!(lab.violations, []);
    assert!(lab.heights().iter().all(|height| *height >= 9), "{:?}", lab.heights());
    lab
}

#[test]
fn a_torn_write_loses_no_earlier_vote() {
    let lab = eventful();
    for index in 0..4 {
        let mut durable = Records::new();
        for records in &lab.nodes[index].writes {
            let before = PbftFixture::recover(&lab, index, &durable);
            let (stable, kept) = (before.stable_checkpoint().height, promises(&before));
            let mut written = durable.clone();
            for record in records {
                // This write is torn, and the later ones are lost.
                let value = record.value().unwrap_or_default();
                for length in [0, 3, value.len().saturating_sub(1)] {
                    let mut torn = written.clone();
                    if !value.is_empty() {
                        torn.insert(record.key.clone(), value.slice(..length.min(value.len())));
                    }
                    let after = PbftFixture::recover(&lab, index, &torn);
                    assert!(after.head().height >= before.head().height, "{record:?}");
                    assert!((after.view(), !after.is_changing()) >= (before.view(), !before.is_changing()));
                    assert!(after.stable_checkpoint().height >= stable);
                    if after.stable_checkpoint().height == stable {
                        assert!(keeps(&after, &kept), "{record:?}: {kept:?}, {:?}", promises(&after));
                    }
                }
                written.apply([record.clone()]);
            }
            durable = written;
        }
        let after = PbftFixture::recover(&lab, index, &durable);
        assert_eq!((after.head(), after.view()), (lab.replica(index).head(), lab.replica(index).view()));
        // The newest stable checkpoint is noted with the next write.
        assert!(keeps(&after, &promises(lab.replica(index))));
    }
}

/// A part of the second write would take back the first, on which sent messages depend.
#[test]
fn no_record_but_the_newest_heads_is_written_twice() {
    let mut lab = eventful();
    // It asks for a view, and again once it is back.
    lab.isolate(3);
    lab.suspect();
    lab.fire(3, SUSPECT_TIMER);
    let asked = lab.replica(3).view();
    lab.restart(3);
    assert_eq!((lab.replica(3).view(), lab.replica(3).is_changing()), (asked, true));
    for node in &lab.nodes {
        let mut kept = BTreeSet::new();
        for record in node.writes.iter().flatten().filter(|record| *record.key != *HEAD_KEY) {
            let is_new = match record.value() {
                Some(_) => kept.insert(record.key.clone()),
                None => kept.remove(&record.key),
            };
            assert!(is_new, "{record:?}");
        }
    }
}

#[test]
fn records_are_bounded() {
    let mut lab = Lab::new(4);
    (0..200).for_each(|_| lab.produce());
    for index in 0..4 {
        assert!(lab.nodes[index].records.len() < 40, "{}", lab.nodes[index].records.len());
        let bytes = |record: &Record| record.key.len() + record.value().map_or(0, |value| value.len());
        let largest = lab.nodes[index].writes.iter().flatten().map(bytes).max().unwrap();
        assert!(largest < 1_000, "{largest}");
    }
}

#[test]
fn all_replicas_restart_at_once_and_continue() {
    let mut lab = eventful();
    let heights = lab.heights();
    // The block above is prepared everywhere and committed nowhere.
    lab.lose(&["commit"]);
    lab.produce();
    let prepared = lab.replica(1).prepared(lab.replica(1).head().height.next()).unwrap();
    lab.queue.clear();
    lab.lose_nothing();
    // No replica has more of that block than its records.
    lab.nodes.iter_mut().for_each(|node| drop(node.blocks.remove(&prepared.block.hash)));
    (0..4).for_each(|index| lab.restart(index));
    lab.settle();
    assert_eq!(lab.heights(), [prepared.block.height.get(); 4], "the commits are resent");
    lab.suspect();
    (0..3).for_each(|_| lab.produce());
    assert_eq!(lab.violations, []);
    assert!(lab.heights().iter().zip(&heights).all(|(now, before)| now > before), "{:?}", lab.heights());
    assert_eq!(lab.canonical(1, prepared.block.height.get()).hash(), prepared.block.hash, "the new view chose it");
}

#[test]
fn a_single_validator_continues_with_its_prepared_block() {
    let mut lab = Lab::new(1);
    (0..3).for_each(|_| lab.produce());
    for cut in 0..lab.nodes[0].writes.len() {
        let mut lab = Lab::new(1);
        (0..3).for_each(|_| lab.produce());
        let mut records = Records::new();
        lab.nodes[0].writes[..cut].iter().for_each(|write| records.apply(write.clone()));
        let height = PbftFixture::recover(&lab, 0, &records).head().height;
        lab.nodes[0].records = records;
        lab.nodes[0].blocks.retain(|_, block| block.height() <= height);
        lab.forget_decided();
        lab.restart(0);
        (0..3).for_each(|_| lab.produce());
        assert!(lab.heights()[0] >= 3, "after {cut} writes: {:?}", lab.heights());
    }
}

#[test]
fn a_wiped_replica_catches_up_by_certified_blocks() {
    let mut lab = eventful();
    lab.nodes[2].records = Records::new();
    lab.restart(2);
    assert_eq!(lab.replica(2).head().height.get(), 0);
    (0..5).for_each(|_| lab.produce());
    assert_eq!(lab.violations, []);
    // It follows by certified blocks, one block behind, until it requests the new-view of the current view.
    assert!(lab.heights()[2] + 1 >= lab.heights()[1] && lab.heights()[1] >= 14, "{:?}", lab.heights());
    assert!(lab.mark("pbft/synced") >= 9);
}

/// Replica 3 heard of no stable checkpoint for eight blocks, which fill its log, and synced the ninth.
fn synced_above_the_log() -> Lab {
    let mut lab = Lab::new(4);
    lab.lost_labels[3] = vec!["checkpoint"];
    (0..9).for_each(|_| lab.produce());
    assert_eq!((lab.heights(), watermarks(lab.replica(3))), (vec![9, 9, 9, 8], (0, 8)));
    lab.lose_nothing();
    (0..10).for_each(|_| lab.fire(3, RESEND_TIMER));
    lab.settle();
    assert_eq!((lab.heights()[3], watermarks(lab.replica(3))), (9, (8, 16)));
    lab
}

fn watermarks(replica: &Pbft) -> (u64, u64) {
    let (low, high) = replica.watermarks();
    (low.get(), high.get())
}

/// Everything that may be durable after a crash: the records before each write, after each of its records, and with a part of one.
fn durable_after_a_crash(lab: &Lab, index: usize) -> Vec<Records> {
    let (mut durable, mut all) = (Records::new(), vec![Records::new()]);
    for record in lab.nodes[index].writes.iter().flatten() {
        if let Some(value) = record.value() {
            let mut torn = durable.clone();
            torn.insert(record.key.clone(), value.slice(..value.len() / 2));
            all.push(torn);
        }
        durable.apply([record.clone()]);
        all.push(durable.clone());
    }
    all
}

/// Whether replica 3, which crashed with these records, is needed for a tenth block and votes for it.
fn votes_after_a_crash(mut lab: Lab, records: Records) -> bool {
    let height = PbftFixture::recover(&lab, 3, &records).head().height;
    let node = &mut lab.nodes[3];
    node.records = records;
    node.blocks.retain(|_, block| block.height() <= height);
    let synced = lab.mark("pbft/synced");
    let other = (0..3).find(|index| *index != lab.primary_of(0)).unwrap();
    lab.isolate(other);
    lab.restart(3);
    lab.produce();
    lab.heights()[3] == 10 && lab.mark("pbft/synced") == synced
}

/// Asserts that replica 3 has its head between the watermarks whatever it wrote last, and returns the records from which it has block 9.
fn crashes_of_the_synced(lab: &Lab) -> Vec<Records> {
    let recovered = |records: &Records| PbftFixture::recover(lab, 3, records);
    let mut crashes = durable_after_a_crash(lab, 3);
    for replica in crashes.iter().map(recovered) {
        let (head, (low, high)) = (replica.head().height.get(), watermarks(&replica));
        assert!(low <= head && head <= high, "head {head}, watermarks {low} and {high}");
    }
    crashes.retain(|records| recovered(records).head().height.get() == 9);
    assert!(crashes.len() > 2);
    crashes
}

#[test]
fn whoever_synced_a_block_above_a_checkpoint_votes_at_once_after_a_crash() {
    let lab = synced_above_the_log();
    for records in crashes_of_the_synced(&lab) {
        assert!(votes_after_a_crash(lab.clone(), records));
    }
    let forgetful = Mutation::PbftForgetsProvenCheckpoint;
    let lab = mutation::with(forgetful, synced_above_the_log);
    let stuck = lab.nodes[3].records.clone();
    assert!(!mutation::with(forgetful, || votes_after_a_crash(lab, stuck)), "it refuses votes above its watermarks");
}

#[test]
fn a_head_that_was_written_without_its_checkpoint_is_recovered_with_it() {
    let lab = mutation::with(Mutation::PbftForgetsProvenCheckpoint, synced_above_the_log);
    for records in crashes_of_the_synced(&lab) {
        assert!(votes_after_a_crash(lab.clone(), records));
    }
    let head = &lab.nodes[3].records[HEAD_KEY];
    let restored = Pbft::restore(config(), head, lab.authenticator.clone(), None).unwrap();
    assert_eq!((restored.head().height.get(), watermarks(&restored)), (9, (8, 16)));
}

#[test]
fn the_write_of_a_synced_block_has_its_checkpoint() {
    let lab = synced_above_the_log();
    // Without what recovery adds by itself.
    mutation::with(Mutation::PbftForgetsProvenCheckpoint, || crashes_of_the_synced(&lab));
}

#[test]
fn a_synced_block_of_a_later_view_takes_the_replica_there_also_after_a_crash() {
    let mut lab = Lab::new(4);
    lab.produce();
    lab.isolate(3);
    lab.suspect();
    lab.produce();
    assert_eq!((lab.heights(), lab.views()), (vec![2, 2, 2, 1], vec![1, 1, 1, 0]));
    lab.reconnect(3);
    // It does not hear of the view but by the block.
    lab.lost_labels[3] = vec!["new-view", "prepare", "commit"];
    (0..10).for_each(|_| lab.fire(3, RESEND_TIMER));
    lab.settle();
    assert_eq!((lab.heights()[3], lab.views()[3], lab.replica(3).is_changing()), (2, 1, true));
    for records in durable_after_a_crash(&lab, 3) {
        let replica = PbftFixture::recover(&lab, 3, &records);
        let has_synced = replica.head().height.get() == 2;
        assert!(!has_synced || (replica.view().get() == 1 && replica.is_changing()), "{records:?}");
    }
}

#[test]
fn a_head_that_changes_the_committee_is_stable_after_a_torn_write() {
    let mut lab = Lab::with_validators(5, 4, config());
    lab.suspect();
    lab.change(2, &[(4, 1)]);
    (0..5).for_each(|_| lab.produce());
    assert_eq!((lab.heights(), lab.views()), (vec![5; 5], vec![0; 5]));
    for index in 0..5 {
        let mut changes = 0;
        for records in durable_after_a_crash(&lab, index) {
            let replica = PbftFixture::recover(&lab, index, &records);
            if replica.transition.since().get() == 4 {
                // What the former committee prepared in its view 1 has no place in a view-change of this one.
                assert_eq!(replica.stable_checkpoint().height.get(), 4);
                assert!(promises(&replica).iter().flatten().all(|entry| entry.block.height.get() > 4));
                changes += 1;
            }
        }
        assert!(changes > 1);
    }
}

#[test]
fn whoever_restarts_counts_its_own_checkpoint() {
    let mut lab = Lab::new(4);
    lab.lose(&["checkpoint"]);
    lab.isolate(2);
    (0..20).for_each(|_| lab.produce());
    assert_eq!(lab.heights(), [8, 8, 0, 8]);
    lab.lose_nothing();
    lab.restart(3);
    lab.restart(1);
    [0, 1, 3].into_iter().for_each(|index| lab.fire(index, RESEND_TIMER));
    lab.settle();
    assert_eq!([0, 1, 3].map(|index| watermarks(lab.replica(index))), [(8, 16); 3], "three votes are a quorum");
}
