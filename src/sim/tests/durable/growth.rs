//! What the records of a network weigh that dies and comes back again and again.

use super::*;
use crate::sim::engine::rng::Streams;

/// Lives of a network, each ended by a kill after one of its last few writes.
const LIVES: usize = 200;

/// Lets a network of four live, up to some height, and die; gives the bytes of the records, keys included, that each life
/// began with.
fn weights(kind: ConsensusKind, live: impl Fn(&Arc<Disk>) -> Height) -> Vec<usize> {
    let mut random = Streams::new(9).stream("kills");
    let mut disk = Arc::new(Disk::default());
    let (mut found, mut height) = (Vec::new(), Height::GENESIS);
    for _ in 0..LIVES {
        found.push(consensus(&disk).iter().map(|(key, value)| key.len() + value.len()).sum());
        height = live(&disk);
        let past = disk.crashes();
        let killed_after = past.len().saturating_sub(1 + random.below(6) as usize);
        disk = past[killed_after].clone();
    }
    assert!(height.get() > LIVES as u64, "{kind:?} stands at {height}");
    found
}

fn assert_bounded(kind: ConsensusKind, weights: &[usize]) {
    // Checkpoints and epochs let them swing: the most of many is compared.
    let most = |lives: core::ops::Range<usize>| weights[lives].iter().max().copied().unwrap_or_default();
    let (early, late) = (most(50..100), most(LIVES - 50..LIVES));
    println!("{kind:?}: {early} bytes after 50 restarts, {late} up to {LIVES}");
    assert!(late <= early + early / 2, "{kind:?}: {early} bytes, then {late}");
}

/// It takes some seconds, as many lives as the next one.
#[test]
fn records_of_blocks_on_demand_weigh_no_more_after_many_restarts() {
    for kind in ConsensusKind::ALL {
        let live = |disk: &Arc<Disk>| {
            let mut network = on_demand(disk, kind, 4);
            produce(&mut network, 4);
            network.lowest_height()
        };
        assert_bounded(kind, &weights(kind, live));
    }
}

/// It takes ten seconds and more: a thousand lives, two hundred of each protocol.
#[test]
fn records_of_automatic_blocks_weigh_no_more_after_many_restarts() {
    for kind in ConsensusKind::ALL {
        // So slow that branches are abandoned, whose records are unused after a restart.
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
