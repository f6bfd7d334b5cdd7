//! Networks whose virtual time is paced by a clock, in place of which each test gives the readings.

use core::{cmp::Reverse, time::Duration};
use std::collections::BinaryHeap;

use super::*;
use crate::{
    consensus::{
        AnyProtocol, ConsensusKind, dpos::DposConfig, pbft::PbftConfig, poa::PoaConfig, pos::PosConfig,
        raft::RaftConfig,
    },
    primitives::{B256, Timestamp},
    sim::{Pacer, PacerError},
};

pub(super) const BEGAN: Duration = Duration::from_secs(1_750_000_000);
const SECOND: Duration = Duration::from_secs(1);
const NIGHT: Duration = Duration::from_secs(8 * 3_600);

const PROTOCOLS: [ConsensusKind; 5] =
    [ConsensusKind::Poa, ConsensusKind::Pos, ConsensusKind::Dpos, ConsensusKind::Pbft, ConsensusKind::Raft];

fn config(kind: ConsensusKind, period: u64) -> ConsensusConfig {
    let period = Duration::from_secs(period);
    match kind {
        ConsensusKind::Poa => ConsensusConfig::Poa(PoaConfig::default().with_period(period)),
        // The weak subjectivity period is 3,413 epochs, of 32 s here.
        ConsensusKind::Pos => ConsensusConfig::Pos(PosConfig::default().with_period(period).with_slots_per_epoch(16)),
        ConsensusKind::Dpos => ConsensusConfig::Dpos(DposConfig::default().with_period(period)),
        ConsensusKind::Pbft => ConsensusConfig::Pbft(PbftConfig::default().with_period(period)),
        ConsensusKind::Raft => ConsensusConfig::Raft(RaftConfig::default().with_period(period)),
    }
}

fn builder(kind: ConsensusKind, period: u64, validators: u32) -> NetworkBuilder {
    let consensus = config(kind, period);
    Network::builder()
        .with_invariants(invariant::of_protocol(&consensus))
        .with_consensus(consensus)
        .with_validators(validators)
        .with_timestamp(Timestamp::from_secs(BEGAN.as_secs()))
}

/// A network with its pacer and the time.
pub(super) struct Paced {
    pub(super) network: Network,
    pub(super) pacer: Pacer,
    pub(super) now: Duration,
    /// The readings that the pacer was given.
    readings: Vec<Duration>,
}

impl Paced {
    pub(super) fn new(builder: NetworkBuilder) -> Self {
        Self::since(builder, BEGAN)
    }

    fn since(builder: NetworkBuilder, now: Duration) -> Self {
        let network = builder.build().unwrap();
        let pacer = Pacer::new(&network, now).unwrap();
        Self { network, pacer, now: now.saturating_sub(BEGAN), readings: Vec::new() }
    }

    /// The time after the beginning at which the pacer wants to be told the time.
    fn next_wake(&self) -> Duration {
        self.pacer.next_wake(&self.network).unwrap().saturating_sub(BEGAN)
    }

    fn advance(&mut self, now: Duration) {
        self.now = now;
        self.readings.push(now);
        self.pacer.advance(&mut self.network, BEGAN + now).unwrap();
    }

    /// Is as punctual as it wants to be until `end`, but late by what `late` says of each wake.
    fn run_late(&mut self, end: Duration, mut late: impl FnMut(usize) -> Duration) {
        for wake in 0.. {
            let next = self.next_wake().max(self.now) + late(wake);
            if next > end {
                break;
            }
            self.advance(next);
        }
    }

    /// Is punctual until `end`.
    pub(super) fn run(&mut self, end: Duration) {
        self.run_late(end, |_| Duration::ZERO);
        self.advance(end.max(self.now));
    }

    pub(super) fn height(&self) -> u64 {
        self.network.lowest_height().get()
    }

    /// Timestamps of the blocks above `height`, in seconds after the beginning.
    fn times(&self, height: u64) -> Vec<u64> {
        let chain = self.network.primary().chain();
        let blocks =
            (height + 1..=chain.head().height().get()).map(|height| chain.block_at(Height::new(height)).unwrap());
        blocks.map(|block| block.block().timestamp().as_secs() - BEGAN.as_secs()).collect()
    }

    fn hashes(&self) -> Vec<B256> {
        let chain = self.network.primary().chain();
        (0..=chain.head().height().get()).map(|height| chain.hash_at(Height::new(height)).unwrap()).collect()
    }
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn a_little_late_is_as_punctual() {
    for kind in PROTOCOLS {
        let mut punctual = Paced::new(builder(kind, 2, 4));
        punctual.run(SECOND * 40);
        let mut late = Paced::new(builder(kind, 2, 4));
        late.run_late(SECOND * 40, |wake| millis((wake as u64 * 37) % 250));
        assert_eq!((late.pacer.counters().gaps, punctual.pacer.counters().gaps), (0, 0), "{kind:?}");
        let common = late.hashes().len().min(punctual.hashes().len());
        assert!(common >= 15, "{kind:?}: {common} blocks");
        assert_eq!(late.hashes()[..common], punctual.hashes()[..common], "{kind:?}");
    }
}

#[test]
fn seconds_late_make_one_block_at_the_present_time() {
    let mut paced = Paced::new(builder(ConsensusKind::Poa, 1, 1));
    paced.run(SECOND * 4 + millis(100));
    assert_eq!(paced.times(0), [1, 2, 3, 4]);
    paced.advance(millis(8_700));
    assert_eq!(paced.times(4), [8], "one block for 5, 6, 7 and 8");
    paced.run(SECOND * 11);
    assert_eq!(paced.times(4), [8, 9, 10, 11]);
    let counters = paced.pacer.counters();
    assert_eq!((counters.gaps, counters.skipped), (1, millis(3_700)));
}

#[test]
fn a_clock_that_goes_back_changes_nothing() {
    let mut paced = Paced::new(builder(ConsensusKind::Poa, 1, 1));
    paced.run(SECOND * 5);
    let before = paced.network.digest();
    paced.advance(SECOND * 2);
    paced.advance(Duration::ZERO);
    assert_eq!((paced.network.digest(), paced.pacer.now()), (before, BEGAN + SECOND * 5));
    paced.advance(SECOND * 6);
    assert_eq!(paced.times(0), [1, 2, 3, 4, 5, 6]);
}

/// Rounds or views of all replicas.
fn rounds(network: &Network) -> Vec<String> {
    let states = network.replicas().iter().map(|replica| match replica.protocol() {
        AnyProtocol::Pbft(pbft) => format!("view {}", pbft.view()),
        AnyProtocol::Raft(raft) => format!("term {}", raft.term()),
        _ => String::new(),
    });
    states.collect()
}

#[test]
fn a_night_asleep_owes_no_blocks() {
    for (kind, validators) in PROTOCOLS.into_iter().flat_map(|kind| [(kind, 1), (kind, 4)]) {
        let name = format!("{kind:?}, {validators} validators");
        let mut paced = Paced::new(builder(kind, 2, validators));
        paced.run(SECOND * 31);
        let (height, steps, rounds_before) = (paced.height(), paced.network.steps(), rounds(&paced.network));
        let wakes = SECOND * 32 + NIGHT;
        paced.advance(wakes);
        let taken = paced.network.steps() - steps;
        assert!(taken < 100, "{name}: {taken} steps at once");
        while paced.next_wake() <= wakes {
            paced.advance(wakes);
        }
        paced.run(wakes + SECOND);
        assert!(paced.height() <= height + 1, "{name}: {:?}", paced.times(height));
        paced.run(wakes + SECOND * 20);
        let times = paced.times(height);
        assert!((8..=11).contains(&times.len()), "{name}: {times:?}");
        assert!(times[0] >= wakes.as_secs(), "{name}: {times:?}");
        assert!(times.windows(2).all(|pair| pair[0] + 2 <= pair[1]), "{name}: {times:?}");
        assert!(*times.last().unwrap() <= wakes.as_secs() + 20, "{name}: {times:?}");
        assert_eq!(rounds(&paced.network), rounds_before, "{name}: nobody was suspected for the night");
        let head = paced.network.timestamp();
        assert_eq!(head.as_secs(), (BEGAN + paced.now).as_secs(), "{name}: the time is the clock's");
    }
}

#[test]
fn the_same_readings_make_the_same_bytes() {
    for kind in PROTOCOLS {
        let drive = |seed: u64| {
            let mut paced = Paced::new(builder(kind, 1, 4).with_seed(3));
            let mut draws = Streams::new(seed).stream("lateness");
            paced.run_late(SECOND * 30, |_| match draws.below(8) {
                0 => Duration::from_nanos(draws.below(4_000_000_000)),
                _ => Duration::from_nanos(draws.below(30_000_000)),
            });
            paced
        };
        let first = drive(7);
        let mut replayed = Paced::new(builder(kind, 1, 4).with_seed(3));
        first.readings.iter().for_each(|now| replayed.advance(*now));
        assert!(first.pacer.counters().gaps > 0, "{kind:?}");
        assert_eq!(replayed.network.digest(), first.network.digest(), "{kind:?}");
        assert_eq!(
            (replayed.hashes(), replayed.pacer.counters()),
            (first.hashes(), first.pacer.counters()),
            "{kind:?}"
        );
        assert_ne!(drive(8).network.digest(), first.network.digest(), "{kind:?}: other readings");
    }
}

#[test]
fn a_network_of_yesterday_goes_on_at_the_present() {
    for kind in PROTOCOLS {
        let mut paced = Paced::since(builder(kind, 2, 4), BEGAN + NIGHT * 3);
        paced.run(NIGHT * 3 + SECOND * 20);
        let times = paced.times(0);
        assert!((6..=11).contains(&times.len()), "{kind:?}: {times:?}");
        assert!(
            times[0] >= (NIGHT * 3).as_secs() && times.windows(2).all(|pair| pair[0] + 2 <= pair[1]),
            "{kind:?}: {times:?}"
        );
    }
}

/// More slots than blocks of some protocols could once be apart. A validator that was stopped meanwhile takes no step for each of them, either.
#[test]
fn a_network_that_nobody_was_there_for_in_years_goes_on_in_seconds() {
    const AWAY: Duration = Duration::from_secs(1_000 * 86_400);
    for kind in PROTOCOLS {
        let builder = || builder(kind, 1, 4).with_observers(1);
        let mut paused = Paced::new(builder());
        paused.run(SECOND * 10);
        let mut stopped = Paced::new(builder());
        stopped.run(SECOND * 10);
        stopped.network.stop_replica(ReplicaId::new(3)).unwrap();
        paused.advance(AWAY);
        stopped.advance(AWAY);
        stopped.network.start_replica(ReplicaId::new(3)).unwrap();
        let opened = Paced::since(builder(), BEGAN + AWAY);
        for (mut paced, name) in [(paused, "paused"), (stopped, "one stopped"), (opened, "opened")] {
            let (height, steps) = (paced.height(), paced.network.steps());
            paced.run(AWAY + SECOND * 40);
            // One block may have been under way, and who was stopped catches up.
            let times: Vec<_> = paced.times(height).into_iter().filter(|secs| *secs >= AWAY.as_secs()).collect();
            assert!(times.len() >= 30, "{kind:?}, {name}: {times:?}");
            let head = paced.network.primary().head().height.get();
            assert!(paced.height() + 3 > head, "{kind:?}, {name}: all are at the head: {:?}", paced.network.progress());
            assert!(paced.network.steps() - steps < 20_000, "{kind:?}, {name}: a slot that is over is no step");
        }
    }
}

#[test]
fn what_has_no_pace_is_refused() {
    let on_demand = Network::builder().with_consensus(ConsensusKind::Poa.on_demand());
    let on_demand = on_demand.with_production(Production::OnDemand).build().unwrap();
    assert_eq!(Pacer::new(&on_demand, BEGAN).unwrap_err(), PacerError::OnDemand);
}

#[test]
fn a_genesis_to_come_keeps_its_lead() {
    let network = builder(ConsensusKind::Poa, 1, 1);
    let network = network.with_timestamp(Timestamp::from_secs(BEGAN.as_secs() + 100));
    let mut paced = Paced::new(network);
    paced.run(SECOND * 3);
    assert_eq!(paced.times(0), [101, 102, 103]);
}

#[test]
fn one_call_processes_a_bounded_number_of_events() {
    let mut paced = Paced::new(builder(ConsensusKind::Pbft, 1, 100));
    paced.advance(SECOND);
    let before = paced.network.steps();
    paced.advance(SECOND + millis(200));
    assert_eq!(paced.network.steps() - before, STEPS_PER_ADVANCE_MAX);
    assert!(paced.next_wake() <= paced.now + millis(1), "the rest is due at once");
}

/// With a block in ten minutes, so that it takes seconds here; `benches/idle_networks.rs` has one in fifteen seconds.
#[test]
fn a_thousand_networks_take_the_steps_of_an_hour_in_the_order_of_their_times() {
    let hour = || {
        let consensus = ConsensusConfig::Poa(PoaConfig::default().with_period(SECOND * 600));
        let first = builder(ConsensusKind::Poa, 1, 1).with_consensus(consensus).build().unwrap();
        let mut networks: Vec<_> = (0..1_000_u64)
            .map(|number| {
                let began = BEGAN + millis(number * 300);
                (Pacer::new(&first, began).unwrap(), first.clone())
            })
            .collect();
        let mut due: BinaryHeap<_> = (0..networks.len()).map(|number| Reverse((BEGAN, number))).collect();
        let (mut wakes, mut steps) = (0_u64, 0);
        while let Some(Reverse((now, number))) = due.pop() {
            let (pacer, network) = &mut networks[number];
            pacer.advance(network, now).unwrap();
            wakes += 1;
            due.extend(
                pacer.next_wake(network).filter(|wake| *wake <= BEGAN + SECOND * 3_600).map(|at| Reverse((at, number))),
            );
        }
        let mut digest = crate::primitives::keccak256([]);
        for (pacer, network) in &networks {
            assert_eq!((network.lowest_height().get(), pacer.counters().gaps), (6, 0));
            digest = crate::primitives::keccak256([digest, network.digest().unwrap()].concat());
            steps += network.steps();
        }
        (wakes, steps, digest)
    };
    let (wakes, steps, digest) = hour();
    assert!((6_000..=12_000).contains(&steps), "{steps} steps");
    assert!(wakes <= steps + 1_000, "{wakes} wakes for {steps} steps");
    assert_eq!(hour(), (wakes, steps, digest));
}
