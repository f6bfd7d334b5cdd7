//! Faults of processes, disks and clocks.

use super::*;
use crate::consensus::{AnyProtocol, ConsensusConfig, ConsensusKind, Protocol};

#[test]
fn a_crashed_replica_restarts_with_its_records() {
    for config in [pbft(), raft(), poa()] {
        let kind = config.kind();
        let mut network = network(config, 5);
        run_ms(&mut network, 5_500);
        let before = network.replica(id(1)).unwrap().head();
        network.crash(id(1)).unwrap();
        assert_eq!(network.replica(id(1)).unwrap().process(), ProcessState::Down);
        run_ms(&mut network, 6_000);
        assert_eq!(network.replica(id(1)).unwrap().head(), before, "{kind:?}");
        assert!(height(&network, 0) > before.height.get(), "{kind:?}: {:?}", heights(&network));
        network.restart(id(1)).unwrap();
        let back = network.replica(id(1)).unwrap();
        assert_eq!((back.process(), back.counters().restarts), (ProcessState::Running, 1));
        // A disk without delay loses nothing.
        assert_eq!((back.head(), back.chain().head().hash()), (before, before.hash), "{kind:?}");
        assert_progress(&mut network, 4);
    }
}

#[test]
fn finality_survives_a_crash_of_all_replicas() {
    for config in [pbft(), raft()] {
        let mut network = network(config, 4);
        run_ms(&mut network, 6_300);
        let finalized = network.primary().protocol().finality().finalized;
        for replica in 0..4 {
            network.crash(id(replica)).unwrap();
        }
        let before = heights(&network);
        run_ms(&mut network, 20_000);
        assert_eq!(heights(&network), before);
        network.heal_all().unwrap();
        assert_progress(&mut network, 3);
        for replica in network.replicas() {
            assert!(replica.chain().is_canonical(finalized.hash));
        }
    }
}

#[test]
fn unfinished_writes_are_lost_or_torn_by_a_crash() {
    let (mut lost, mut torn) = (0, 0);
    for seed in 0..12 {
        let mut network = builder(raft(), 3).with_seed(seed).build().unwrap();
        run_ms(&mut network, 2_000);
        for replica in 0..3 {
            let delay = Delay::Constant { delay: Duration::from_millis(700) };
            network.begin_fault(FaultKind::Disk { replica: id(replica), delay }).unwrap();
        }
        run_ms(&mut network, 4_000);
        for replica in 0..3 {
            network.crash(id(replica)).unwrap();
            network.restart(id(replica)).unwrap();
        }
        let of_all =
            |of: fn(&ReplicaCounters) -> u64| network.replicas().iter().map(|r| of(&r.counters())).sum::<u64>();
        lost += of_all(|counters| counters.writes_lost);
        torn += of_all(|counters| counters.writes_torn);
        network.heal_all().unwrap();
        assert_progress(&mut network, 2);
    }
    assert!(lost > 10 && torn > 3 && torn < lost, "{lost} lost, {torn} torn");
}

#[test]
fn a_paused_replica_processes_its_deferred_events() {
    let mut network = network(pbft(), 4);
    run_ms(&mut network, 2_500);
    network.pause(id(2)).unwrap();
    let before = height(&network, 2);
    run_ms(&mut network, 8_000);
    assert_eq!((height(&network, 2), network.replica(id(2)).unwrap().process()), (before, ProcessState::Paused));
    assert!(height(&network, 0) > before + 3);
    let transaction = campaign::workload::Workload::new(1, 1, Duration::from_millis(1), 1).next().unwrap().1;
    assert!(matches!(network.submit(transaction, id(2)), Err(NetworkError::Down { .. })));
    assert!(matches!(network.admin(crate::consensus::Admin::Overdue, id(2)), Err(NetworkError::Down { .. })));
    network.resume(id(2)).unwrap();
    run_ms(&mut network, 500);
    assert!(height(&network, 2) > before + 3, "immediately, from the deferred events");
}

#[test]
fn a_crash_during_a_pause_and_two_crashes_at_once_end_with_the_last() {
    let mut network = network(pbft(), 4);
    run_ms(&mut network, 1_500);
    let first = network.crash(id(1)).unwrap();
    let second = network.crash(id(1)).unwrap();
    network.pause(id(1)).unwrap();
    network.end_fault(first).unwrap();
    assert_eq!(network.replica(id(1)).unwrap().process(), ProcessState::Down);
    network.end_fault(second).unwrap();
    assert_eq!(network.replica(id(1)).unwrap().process(), ProcessState::Paused);
    network.resume(id(1)).unwrap();
    assert_eq!(network.replica(id(1)).unwrap().process(), ProcessState::Running);
    assert_progress(&mut network, 3);
}

#[test]
fn a_pause_and_its_end_are_of_the_twin_too() {
    let mut network = network(pbft(), 4);
    network.begin_fault(FaultKind::Twins { replica: id(1), group: vec![id(2)] }).unwrap();
    run_ms(&mut network, 1_500);
    let both = |network: &mut Network| -> Vec<ProcessState> {
        network.slots_of(id(1)).map(|slot| network.slot_mut(slot).unwrap().0.process()).collect()
    };
    network.pause(id(1)).unwrap();
    assert_eq!(both(&mut network), [ProcessState::Paused; 2]);
    network.resume(id(1)).unwrap();
    assert_eq!(both(&mut network), [ProcessState::Running; 2]);

    let crash = network.crash(id(1)).unwrap();
    network.pause(id(1)).unwrap();
    network.end_fault(crash).unwrap();
    assert_eq!(both(&mut network), [ProcessState::Paused; 2], "it restarted within the pause");
    network.resume(id(1)).unwrap();
    assert_eq!(both(&mut network), [ProcessState::Running; 2]);
}

#[test]
fn a_wiped_replica_starts_at_genesis_and_catches_up() {
    let mut network = network(pbft(), 4);
    run_ms(&mut network, 10_000);
    network.wipe(id(3)).unwrap();
    assert!(!network.is_honest(id(3)), "it may equivocate");
    network.restart(id(3)).unwrap();
    let wiped = network.replica(id(3)).unwrap();
    assert_eq!((wiped.head().height, wiped.counters().wipes), (Height::GENESIS, 1));
    assert!(wiped.records().is_empty());
    assert_progress(&mut network, 3);
}

#[test]
fn flipped_bits_are_detected_by_checksums_in_every_protocol() {
    for kind in crate::consensus::ConsensusKind::ALL {
        let mut network = builder(default_sim_config(kind), 4).build().unwrap();
        run_ms(&mut network, 9_000);
        for replica in network.replicas() {
            assert!(!replica.records().is_empty());
            for (key, record) in replica.records() {
                let key = String::from_utf8_lossy(&key).into_owned();
                assert!(crate::consensus::check_record(&record).is_some(), "{kind:?}: record {key} has no checksum");
            }
        }
        let decay = network.begin_fault(FaultKind::Corrupt { replica: id(3) }).unwrap();
        assert!(!network.is_honest(id(3)), "it may equivocate");
        run_ms(&mut network, 1_000);
        assert_eq!(network.replica(id(3)).unwrap().counters().restarts, 0, "the records are read at a restart only");
        network.end_fault(decay).unwrap();
        let back = network.replica(id(3)).unwrap();
        let counters = back.counters();
        assert_eq!((counters.restarts, counters.wipes, back.head().height), (1, 1, Height::GENESIS), "{kind:?}");
        assert!(counters.records_damaged > 0);
        if let Some(leader) = leader_of(&network) {
            // A leader assumes that acknowledged entries are kept; only the next leader queries the length of the log again.
            network.crash(leader).unwrap();
            run_ms(&mut network, 5_000);
            network.restart(leader).unwrap();
        }
        assert_progress(&mut network, 3);
        // A crash during the corruption is a restart too, and the bits are flipped once.
        let decay = network.begin_fault(FaultKind::Corrupt { replica: id(3) }).unwrap();
        network.crash(id(3)).unwrap();
        network.restart(id(3)).unwrap();
        assert_eq!(network.replica(id(3)).unwrap().counters().wipes, 2);
        network.end_fault(decay).unwrap();
        assert_eq!(network.replica(id(3)).unwrap().counters().wipes, 2);
    }
}

/// Returns the leader, in Raft.
fn leader_of(network: &Network) -> Option<ReplicaId> {
    let leads = |replica: &&Replica| matches!(replica.protocol(), AnyProtocol::Raft(raft) if raft.is_leader());
    network.replicas().iter().find(leads).map(Replica::id)
}

#[test]
fn amnesia_reverts_durable_records() {
    let mut network = network(pbft(), 4);
    run_ms(&mut network, 4_500);
    let then = height(&network, 1);
    let amnesia = network.begin_fault(FaultKind::Amnesia { replica: id(1) }).unwrap();
    run_ms(&mut network, 6_000);
    assert!(height(&network, 1) > then + 2);
    network.end_fault(amnesia).unwrap();
    assert_eq!(height(&network, 1), then);
    assert_progress(&mut network, 3);
}

#[test]
fn a_fast_clock_makes_blocks_from_the_future() {
    let timestamps = |offset_ms, drift_ppm| {
        let mut network = network(raft(), 1);
        network.begin_fault(FaultKind::Clock { replica: id(0), offset_ms, drift_ppm }).unwrap();
        run_ms(&mut network, 10_000);
        let head = network.primary().chain().head().block().timestamp().as_secs();
        (head - network.primary().chain().genesis().block().timestamp().as_secs(), heights(&network)[0])
    };
    let (right, ahead, fast) = (timestamps(0, 0), timestamps(5_000, 0), timestamps(0, 500_000));
    assert!(ahead.0 >= right.0 + 4, "{right:?} {ahead:?}");
    assert!(fast.1 >= right.1 + 3, "{right:?} {fast:?}");
    assert!(timestamps(0, -500_000).1 + 3 <= right.1);
}

#[test]
fn a_snapshot_under_faults_continues_as_the_original() {
    let plan = FaultPlan::random(3, 4, &Profile::byzantine());
    let mut live = builder(pbft(), 4).with_faults(plan).build().unwrap();
    run_ms(&mut live, 8_000);
    let snapshot = live.clone();
    let mut fork = live.fork();
    run_ms(&mut live, 12_000);
    run_ms(&mut fork, 12_000);
    assert_eq!(live.digest(), fork.digest());
    let digest = live.digest();
    live.restore(&snapshot).unwrap();
    run_ms(&mut live, 12_000);
    assert_eq!(live.digest(), digest);
}

#[test]
fn safety_records_survive_a_crash() {
    let mut network = network(raft(), 3);
    run_ms(&mut network, 4_000);
    let terms = |network: &Network| -> Vec<u64> {
        let term = |replica: &Replica| match replica.protocol() {
            AnyProtocol::Raft(raft) => raft.term(),
            other => panic!("not raft: {other:?}"),
        };
        network.replicas().iter().map(term).collect()
    };
    let before = terms(&network);
    for replica in 0..3 {
        network.crash(id(replica)).unwrap();
        network.restart(id(replica)).unwrap();
    }
    assert_eq!(terms(&network), before);
}

#[test]
fn a_replica_that_was_down_for_hundreds_of_blocks_catches_up() {
    for kind in ConsensusKind::ALL {
        let config = match default_sim_config(kind) {
            // With the leak of simulations, whoever is away for four minutes needs a trusted checkpoint.
            ConsensusConfig::Pos(config) => ConsensusConfig::Pos(config.with_leak_quotient(1 << 20)),
            other => other,
        };
        let mut network = network(config, 4);
        run_ms(&mut network, 6_000);
        network.crash(id(3)).unwrap();
        run_ms(&mut network, 600_000);
        assert!(height(&network, 3) + 400 < height(&network, 0), "{kind:?}: {:?}", heights(&network));
        network.restart(id(3)).unwrap();
        run_ms(&mut network, 60_000);
        assert!(height(&network, 3) + 3 > height(&network, 0), "{kind:?}: {:?}", heights(&network));
    }
}

#[test]
fn a_slow_processor_executes_one_block_after_the_other() {
    let mut network = network(raft(), 3);
    run_ms(&mut network, 4_000);
    let leader = leader_of(&network).unwrap();
    let slow = network.replicas().iter().map(Replica::id).find(|replica| *replica != leader).unwrap();
    let delay = Delay::Constant { delay: Duration::from_millis(700) };
    let fault = network.begin_fault(FaultKind::SlowExecution { replica: slow, delay }).unwrap();
    run_ms(&mut network, 10_000);
    let ahead = |network: &Network| {
        let height = |replica| network.replica(replica).unwrap().chain().head().block().height().get();
        height(leader) - height(slow)
    };
    assert!(ahead(&network) <= 3, "{}: one block of each second is done in time", ahead(&network));
    network.crash(slow).unwrap();
    run_ms(&mut network, 1_000);
    network.restart(slow).unwrap();
    network.end_fault(fault).unwrap();
    assert_progress(&mut network, 4);
    assert!(ahead(&network) <= 1);
}

#[test]
fn blocks_take_time_to_build_on_a_slow_processor_and_a_crash_loses_them() {
    let mut network = network(dpos(), 4);
    run_ms(&mut network, 8_000);
    let built = |network: &Network| network.replica(id(2)).unwrap().counters().blocks_built;
    let before = built(&network);
    let delay = Delay::Constant { delay: Duration::from_secs(30) };
    let fault = network.begin_fault(FaultKind::SlowExecution { replica: id(2), delay }).unwrap();
    run_ms(&mut network, 12_000);
    assert_eq!(built(&network), before, "none is finished");
    assert!(height(&network, 0) > 14, "the others go on without it: {:?}", heights(&network));
    network.crash(id(2)).unwrap();
    network.restart(id(2)).unwrap();
    network.end_fault(fault).unwrap();
    run_ms(&mut network, 40_000);
    assert!(built(&network) > before);
    assert_progress(&mut network, 4);
}
