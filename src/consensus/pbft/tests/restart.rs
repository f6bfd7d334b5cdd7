//! Going on after a crash at any moment, also in the middle of a write.

use super::lab::{Lab, write};
use crate::consensus::{
    Protocol, Record, Records,
    pbft::{InView, Pbft},
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
    lab.deaf = vec![vec!["commit"]; 4];
    lab.produce();
    lab.deaf = vec![vec![]; 4];
    lab.suspect();
    (0..3).for_each(|_| lab.produce());
    lab.cut[3] = true;
    (0..2).for_each(|_| lab.produce());
    lab.cut[3] = false;
    (0..3).for_each(|_| lab.produce());
    assert_eq!(lab.disagreement, None);
    assert!(lab.heights().iter().all(|height| *height >= 9), "{:?}", lab.heights());
    lab
}

#[test]
fn a_write_cut_anywhere_takes_no_earlier_promise_away() {
    let lab = eventful();
    for index in 0..4 {
        let mut durable = Records::new();
        for records in &lab.writes[index] {
            let before = lab.recovered_from(index, &durable);
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
                    let after = lab.recovered_from(index, &torn);
                    assert!(after.head().height >= before.head().height, "{record:?}");
                    assert!((after.view(), !after.is_changing()) >= (before.view(), !before.is_changing()));
                    assert!(after.stable_checkpoint().height >= stable);
                    if after.stable_checkpoint().height == stable {
                        assert!(keeps(&after, &kept), "{record:?}: {kept:?}, {:?}", promises(&after));
                    }
                }
                write(&mut written, record);
            }
            durable = written;
        }
        let after = lab.recovered_from(index, &durable);
        assert_eq!((after.head(), after.view()), (lab.replicas[index].head(), lab.replicas[index].view()));
        // The newest stable checkpoint is noted with the next write.
        assert!(keeps(&after, &promises(&lab.replicas[index])));
    }
}

#[test]
fn records_stay_few_and_small() {
    let mut lab = Lab::new(4);
    (0..200).for_each(|_| lab.produce());
    for index in 0..4 {
        assert!(lab.records[index].len() < 40, "{}", lab.records[index].len());
        let bytes = |record: &Record| record.key.len() + record.value.len();
        let largest = lab.writes[index].iter().flatten().map(bytes).max().unwrap();
        assert!(largest < 1_000, "{largest}");
    }
}

#[test]
fn everybody_restarts_at_once_and_goes_on() {
    let mut lab = eventful();
    let heights = lab.heights();
    // The block above is prepared everywhere and committed nowhere.
    lab.deaf = vec![vec!["commit"]; 4];
    lab.produce();
    let prepared = lab.replicas[1].prepared(lab.replicas[1].head().height.next()).unwrap();
    lab.queue.clear();
    lab.deaf = vec![vec![]; 4];
    // Nobody has more of that block than its records.
    lab.blocks.iter_mut().for_each(|blocks| drop(blocks.remove(&prepared.block.hash)));
    (0..4).for_each(|index| lab.restart(index));
    lab.settle();
    assert_eq!(lab.heights(), [prepared.block.height.get(); 4], "they say again what they said");
    lab.suspect();
    (0..3).for_each(|_| lab.produce());
    assert_eq!(lab.disagreement, None);
    assert!(lab.heights().iter().zip(&heights).all(|(now, before)| now > before), "{:?}", lab.heights());
    assert_eq!(lab.canonical(1, prepared.block.height.get()).hash(), prepared.block.hash, "it was chosen again");
}

#[test]
fn the_only_validator_goes_on_with_what_it_had_prepared() {
    let mut lab = Lab::new(1);
    (0..3).for_each(|_| lab.produce());
    for cut in 0..lab.writes[0].len() {
        let mut lab = Lab::new(1);
        (0..3).for_each(|_| lab.produce());
        let mut records = Records::new();
        lab.writes[0][..cut].iter().flatten().for_each(|record| write(&mut records, record));
        let genesis = (lab.genesis.hash(), lab.genesis.clone());
        let height = lab.recovered_from(0, &records).head().height.get() as usize;
        lab.blocks[0].retain(|hash, _| lab.heads[0][..height].iter().any(|head| head.hash == *hash));
        lab.blocks[0].insert(genesis.0, genesis.1);
        (lab.records[0], lab.checker) = (records, Default::default());
        lab.heads[0].truncate(height);
        lab.restart(0);
        (0..3).for_each(|_| lab.produce());
        assert!(lab.heights()[0] >= 3, "after {cut} writes: {:?}", lab.heights());
    }
}

#[test]
fn a_wiped_replica_comes_back_by_blocks_with_proof() {
    let mut lab = eventful();
    (lab.records[2], lab.heads[2]) = (Records::new(), Vec::new());
    lab.restart(2);
    assert_eq!(lab.replicas[2].head().height.get(), 0);
    (0..5).for_each(|_| lab.produce());
    assert_eq!(lab.disagreement, None);
    // It follows by proofs, a block behind, until it asks how the present view began.
    assert!(lab.heights()[2] + 1 >= lab.heights()[1] && lab.heights()[1] >= 14, "{:?}", lab.heights());
    assert!(lab.mark("pbft/synced") >= 9);
}
