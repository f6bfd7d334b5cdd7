//! Going on after a crash at any moment, also in the middle of a write.

use super::lab::{Lab, PbftFixture};
use crate::consensus::{
    ApplyRecords, Protocol, Record, Records,
    pbft::{InView, Pbft},
    testing::Fixture,
};

/// What a replica may never forget once it was durable: what it prepared and pre-prepared.
fn promises(replica: &Pbft) -> [Vec<InView>; 2] {
    [replica.log.prepared(), replica.log.pre_prepared()]
}

/// Whether `after` has all of `before`, in the same view or a later one.
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
fn a_write_cut_anywhere_takes_no_earlier_promise_away() {
    let lab = eventful();
    for index in 0..4 {
        let mut durable = Records::new();
        for records in &lab.nodes[index].writes {
            let before = PbftFixture::recover(&lab, index, &durable);
            let (stable, kept) = (before.stable_checkpoint().height, promises(&before));
            let mut written = durable.clone();
            for record in records {
                // This one torn, and the ones after it lost.
                for length in [0, 3, record.value.len().saturating_sub(1)] {
                    let mut torn = written.clone();
                    let value = record.value.slice(..length.min(record.value.len()));
                    if !record.value.is_empty() {
                        torn.insert(record.key.clone(), value);
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

#[test]
fn records_stay_few_and_small() {
    let mut lab = Lab::new(4);
    (0..200).for_each(|_| lab.produce());
    for index in 0..4 {
        assert!(lab.nodes[index].records.len() < 40, "{}", lab.nodes[index].records.len());
        let bytes = |record: &Record| record.key.len() + record.value.len();
        let largest = lab.nodes[index].writes.iter().flatten().map(bytes).max().unwrap();
        assert!(largest < 1_000, "{largest}");
    }
}

#[test]
fn everybody_restarts_at_once_and_goes_on() {
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
    assert_eq!(lab.heights(), [prepared.block.height.get(); 4], "they say again what they said");
    lab.suspect();
    (0..3).for_each(|_| lab.produce());
    assert_eq!(lab.violations, []);
    assert!(lab.heights().iter().zip(&heights).all(|(now, before)| now > before), "{:?}", lab.heights());
    assert_eq!(lab.canonical(1, prepared.block.height.get()).hash(), prepared.block.hash, "it was chosen again");
}

#[test]
fn the_only_validator_goes_on_with_what_it_had_prepared() {
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
fn a_wiped_replica_comes_back_by_blocks_with_proof() {
    let mut lab = eventful();
    lab.nodes[2].records = Records::new();
    lab.restart(2);
    assert_eq!(lab.replica(2).head().height.get(), 0);
    (0..5).for_each(|_| lab.produce());
    assert_eq!(lab.violations, []);
    // It follows by proofs, a block behind, until it asks how the present view began.
    assert!(lab.heights()[2] + 1 >= lab.heights()[1] && lab.heights()[1] >= 14, "{:?}", lab.heights());
    assert!(lab.mark("pbft/synced") >= 9);
}
