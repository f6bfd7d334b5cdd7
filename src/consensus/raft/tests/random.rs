//! Random runs: loss, reordering, duplicates, partitions, crashes, slow disks, transfers and changes of members, with the
//! invariants checked on every step; then a healed network has to make progress.

use core::time::Duration;

use super::{super::*, cluster::*};

struct Dice(u64);

impl Dice {
    /// Returns a number below `bound` (SplitMix64).
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

#[test]
fn random_faults_violate_no_property_and_a_healed_network_continues() {
    let mut blocks = 0;
    for seed in 0..40 {
        blocks += run(seed);
    }
    assert!(blocks > 80, "only {blocks} blocks were committed in the chaos");
}

/// Runs one seed; returns the number of blocks committed before the network was healed.
fn run(seed: u64) -> u64 {
    let mut dice = Dice(seed);
    let config = RaftConfig::default().with_period(Duration::ZERO).with_log_keep(dice.below(6));
    let mut cluster = Cluster::with_config(3 + dice.below(3) as usize, 1, config);
    let count = cluster.nodes.len() as u64;
    cluster.elect(0);
    cluster.produce(0);
    for _ in 0..300 {
        let number = dice.below(count) as usize;
        let is_down = !cluster.nodes[number].is_up;
        match dice.below(20) {
            0..=7 => deliver_some(&mut cluster, &mut dice),
            8 if !is_down => cluster.deliver(number, Event::Timer(ELECTION_TIMER)),
            9..=11 if !is_down => cluster.deliver(number, Event::Timer(HEARTBEAT_TIMER)),
            12 | 13 => {
                let builder = (0..count as usize).find(|number| cluster.nodes[*number].wanted.is_some());
                builder.map(|number| cluster.build(number));
            }
            14 if !is_down => cluster.nodes[number].has_slow_disk = dice.below(4) == 0,
            15 if !is_down => cluster.flush(number),
            16 if is_down => cluster.restart(number),
            16 if dice.below(3) == 0 => cluster.stop(number),
            17 if dice.below(2) == 0 => cluster.heal(),
            17 => drop(cluster.cut.insert((number, dice.below(count) as usize))),
            18 if !is_down => {
                let to = id(dice.below(count) as usize);
                cluster.deliver(number, Event::Admin(Admin::TransferLeader { to }));
            }
            19 if !is_down => {
                let role = [Role::Voter, Role::Learner, Role::Removed][dice.below(3) as usize];
                let assignments = vec![cluster.assign(dice.below(count) as usize, role)];
                let change = Change::EnterJoint { assignments, auto_leave: true };
                cluster.deliver(number, Event::Admin(Admin::ChangeMembers(change)));
            }
            _ => {}
        }
    }
    let before = (0..count as usize).map(|number| cluster.replica(number).head().height.get()).max().unwrap();
    heal(&mut cluster, seed, before);
    before
}

fn deliver_some(cluster: &mut Cluster, dice: &mut Dice) {
    for _ in 0..dice.below(40) {
        if cluster.queue.is_empty() {
            return;
        }
        let place = dice.below(cluster.queue.len().min(4) as u64) as usize;
        let envelope = cluster.queue.remove(place).unwrap();
        match dice.below(24) {
            0 => {}
            1 => {
                cluster.queue.push_back(envelope.clone());
                cluster.transmit(envelope);
            }
            _ => cluster.transmit(envelope),
        }
    }
}

fn heal(cluster: &mut Cluster, seed: u64, before: u64) {
    let count = cluster.nodes.len();
    cluster.heal();
    for number in 0..count {
        cluster.nodes[number].has_slow_disk = false;
        if !cluster.nodes[number].is_up {
            cluster.restart(number);
        } else {
            cluster.flush(number);
        }
    }
    cluster.settle();
    for round in 0..40 {
        cluster.elect(round % count);
        for number in 0..count {
            cluster.beat(number);
            if cluster.nodes[number].wanted.is_some() {
                cluster.produce(number);
            }
        }
    }
    let newest = (0..count).map(|number| cluster.replica(number).head().height.get()).max().unwrap();
    assert!(newest > before, "seed {seed}: no progress after healing, still at {before}");
}
