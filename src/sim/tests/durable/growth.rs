//! Size of a network's records over many stops and restarts.

use super::*;
use crate::sim::engine::rng::Streams;

/// Runs of a network, each ended by a stop after one of its last few writes.
const RUNS: usize = 200;

/// Runs a network of four up to some height and stops it, repeatedly; returns the bytes of the records, keys included, that each run
/// started with.
fn weights(kind: ConsensusKind, live: impl Fn(&Arc<Disk>) -> Height) -> Vec<usize> {
    let mut random = Streams::new(9).stream("kills");
    let mut disk = Arc::new(Disk::default());
    let (mut found, mut height) = (Vec::new(), Height::GENESIS);
    for _ in 0..RUNS {
        found.push(consensus(&disk).iter().map(|(key, value)| key.len() + value.len()).sum());
        height = live(&disk);
        let past = disk.crashes();
        let killed_after = past.len().saturating_sub(1 + random.below(6) as usize);
        disk = past[killed_after].clone();
    }
    assert!(height.get() > RUNS as u64, "{kind:?} stopped at {height}");
    found
}

fn assert_bounded(kind: ConsensusKind, weights: &[usize]) {
    // The size varies with checkpoints and epochs.
    let sorted = |runs: core::ops::Range<usize>| {
        let mut weights = weights[runs].to_vec();
        weights.sort_unstable();
        weights
    };
    let (early, late) = (sorted(50..100), sorted(RUNS - 50..RUNS));
    println!("{kind:?}: {:?} early, {:?} late", (early[25], early[49]), (late[25], late[49]));
    let [early, late] = [early, late].map(|weights| weights[49]);
    assert!(late <= early + early / 2, "{kind:?}: {early} bytes, then {late}");
}

/// Takes some seconds, with as many runs as the next one.
#[test]
fn records_of_blocks_on_demand_do_not_grow_over_restarts() {
    for kind in ConsensusKind::ALL {
        let live = |disk: &Arc<Disk>| {
            let mut network = on_demand(disk, kind, 4);
            produce(&mut network, 4);
            network.lowest_height()
        };
        assert_bounded(kind, &weights(kind, live));
    }
}

/// Takes more than ten seconds: a thousand runs, two hundred of each protocol.
#[test]
fn records_of_automatic_blocks_do_not_grow_over_restarts() {
    for kind in ConsensusKind::ALL {
        // Links so slow that branches are abandoned, whose records are unused after a restart.
        let mean = Duration::from_millis(if kind == ConsensusKind::Raft { 100 } else { 400 });
        let latency = Latency::Exponential { floor: Duration::from_millis(50), mean };
        let live = |disk: &Arc<Disk>| {
            let network =
                on(disk, CampaignSetup::of(default_sim_config(kind)).consensus, 4).with_latency(latency).with_loss(50);
            let mut network = network.build().unwrap();
            network.run_for(Duration::from_secs(8)).unwrap();
            network.lowest_height()
        };
        assert_bounded(kind, &weights(kind, live));
    }
}
