//! All replicas stop while some are ahead of the primary, whose chain is the stored one.

use super::*;

#[test]
fn a_lagging_primary_delays_no_replica_after_a_stop_of_all() {
    for kind in ConsensusKind::ALL {
        // By less than PBFT's log, by more, and while the others stop one after the other.
        let crashes = (1..4).map(|replica| (9_000 + 2_000 * u64::from(replica), replica)).collect::<Vec<_>>();
        for (pause_ms, crashes) in [(4_000, [].as_slice()), (12_000, &[]), (12_000, &crashes)] {
            all_die_while_the_primary_lags(kind, pause_ms, crashes, Duration::ZERO);
        }
    }
    // The clock restarts with the stored chain: the blocks that are recovered are ahead of it. A primary that judges them all the same
    // seals no branch of its own meanwhile.
    all_die_while_the_primary_lags(ConsensusKind::Poa, 12_000, &[], Duration::from_secs(15));
}

fn all_die_while_the_primary_lags(kind: ConsensusKind, pause_ms: u64, crashes: &[(u64, u32)], allowance: Duration) {
    let disk = Arc::new(Disk::default());
    let config = match CampaignSetup::of(default_sim_config(kind)).consensus {
        ConsensusConfig::Poa(poa) => ConsensusConfig::Poa(poa.with_future_allowance(allowance)),
        config => config,
    };
    let pause = FaultKind::Pause { replica: ReplicaId::new(0) };
    let mut faults =
        vec![Fault { at: Duration::from_secs(6), duration: Some(Duration::from_millis(pause_ms)), kind: pause }];
    faults.extend(crashes.iter().map(|(at_ms, replica)| {
        let what = FaultKind::Crash { replica: ReplicaId::new(*replica) };
        Fault { at: Duration::from_millis(*at_ms), duration: Some(Duration::from_millis(900)), kind: what }
    }));
    let plan = FaultPlan { faults, ..FaultPlan::default() };
    let mut network = on(&disk, config.clone(), 4).with_faults(plan).build().unwrap();
    network.run_for(Duration::from_millis(5_000 + pause_ms)).unwrap();
    let [behind, ahead] = [0, 1].map(|replica| network.replicas()[replica].head().height.get());
    assert!(behind < ahead, "{kind:?}: {behind} and {ahead}");
    network.run_for(Duration::from_secs(10)).unwrap();
    let whole = network.primary().chain().clone();
    let past = disk.crashes();
    let mut lost_blocks = 0;
    let is_straight = !allowance.is_zero();
    let losses = if kind == ConsensusKind::Poa { [0, 200].as_slice() } else { &[0] };
    for ((write, store), loss) in past.iter().enumerate().flat_map(|cut| losses.iter().map(move |loss| (cut, *loss))) {
        let at = format!("{kind:?}, {pause_ms} ms, after write {write} of {}, losing {loss}", past.len());
        let mut again = on(&store.crashed(), config.clone(), 4).with_loss(loss).build().unwrap();
        // A signer may recover its own lost block immediately, also of a branch of its own, and a member of Raft what it knows to be
        // committed, which is above what all have.
        assert!(again.is_agreed() || matches!(kind, ConsensusKind::Poa | ConsensusKind::Raft), "{at}");
        let common = again.lowest_height();
        let blocks = again.replicas().iter().map(|replica| replica.chain().hash_at(common).unwrap());
        let branches = blocks.collect::<std::collections::BTreeSet<_>>().len();
        assert!(branches == 1 || kind == ConsensusKind::Poa, "{at}: {branches} branches at {common}");
        let head = again.primary().head().height.get();
        let promised = again.replicas().iter().map(|replica| watermark(kind, &replica.records())).max();
        let to = ahead.max(head) + 5;
        let reached = again.run_until(Duration::from_secs(600), |network| network.lowest_height().get() >= to);
        reached.unwrap_or_else(|error| panic!("{at}: {error}"));
        assert!(again.replicas().iter().all(|replica| replica.evidence().next().is_none()), "{at}");
        if is_straight && loss == 0 {
            // A signer seals no other block at a height, so that the same blocks must be recovered.
            for height in (1..=promised.unwrap_or_default()).map(Height::new) {
                let chain = again.primary().chain();
                assert_eq!(chain.hash_at(height).unwrap(), whole.hash_at(height).unwrap(), "{at}: {height}");
                lost_blocks += u64::from(height.get() > head);
            }
        }
    }
    assert!(lost_blocks > 0 || !is_straight);
}

#[test]
fn the_chain_continues_after_faults_and_a_stop_of_all_replicas() {
    for kind in ConsensusKind::ALL {
        let config = CampaignSetup::of(default_sim_config(kind)).consensus;
        for seed in 34..40 {
            let disk = Arc::new(Disk::default());
            let plan = FaultPlan::random(seed, 4, &Profile::crash_only());
            let mut network = on(&disk, config.clone(), 4).with_faults(plan).build().unwrap();
            network.run_for(Duration::from_secs(30)).unwrap();
            let past = disk.crashes();
            for (write, store) in past.iter().enumerate().skip(2).step_by(7) {
                let at = format!("{kind:?}, seed {seed}, after write {write} of {}", past.len());
                let mut again = on(&store.crashed(), config.clone(), 4).build().unwrap();
                let highest = again.replicas().iter().map(|replica| replica.head().height.get()).max().unwrap();
                let reached =
                    again.run_until(Duration::from_secs(600), |network| network.lowest_height().get() >= highest + 12);
                reached.unwrap_or_else(|error| panic!("{at}: {error}"));
                assert!(again.replicas().iter().all(|replica| replica.evidence().next().is_none()), "{at}");
            }
        }
    }
}

#[test]
fn signers_recover_more_lost_blocks_than_the_orphan_limit() {
    let disk = Arc::new(Disk::default());
    let config = CampaignSetup::of(default_sim_config(ConsensusKind::Poa)).consensus;
    let pause = Fault {
        at: Duration::from_secs(6),
        duration: Some(Duration::from_secs(400)),
        kind: FaultKind::Pause { replica: ReplicaId::new(0) },
    };
    let plan = FaultPlan { faults: vec![pause], ..FaultPlan::default() };
    let mut network = on(&disk, config.clone(), 4).with_faults(plan).build().unwrap();
    network.run_for(Duration::from_secs(405)).unwrap();
    let (behind, ahead) = (network.primary().head().height.get(), network.replicas()[1].head().height.get());
    assert!(behind + 270 < ahead, "{behind} and {ahead}");
    let writes = disk.writes();
    network.run_until(Duration::from_secs(10), |_| disk.writes() > writes).unwrap();
    let mut again = on(&disk.crashed(), config, 4).build().unwrap();
    assert!(again.primary().head().height.get() < behind + 3);
    again.run_until(Duration::from_secs(600), |network| network.lowest_height().get() > ahead).unwrap();
    let hash_of = |network: &Network| network.replicas()[1].chain().hash_at(Height::new(ahead - 1)).unwrap();
    assert_eq!(hash_of(&again), hash_of(&network));
}

#[test]
fn attested_blocks_are_kept_until_the_stored_chain_finalizes_them() {
    for (kind, key) in [(ConsensusKind::Poa, "sealed/"), (ConsensusKind::Pbft, "b/"), (ConsensusKind::Pbft, "q/")] {
        let disk = Arc::new(Disk::default());
        let records = RecordStore::of_chain(1, kind, disk.clone(), ReplicaId::default());
        let rest: &[u8] = if kind == ConsensusKind::Pbft { &[0; 8] } else { &[] };
        let key = Bytes::from([key.as_bytes(), &9_u64.to_be_bytes(), rest].concat());
        let put = |record| {
            records.put(ReplicaId::new(2), &[record]);
            records.put(ReplicaId::new(3), &[Record::whole(b"other".as_slice(), &[1])]);
            records.flush().unwrap();
        };
        let is_kept = || consensus(&disk).iter().any(|(stored, _)| stored.ends_with(&key));
        put(Record::whole(key.clone(), &[7]));
        records.written(Height::new(8));
        put(Record::forgotten(key.clone()));
        assert!(is_kept(), "{kind:?}: deleted by its replica before the chain has it");
        records.written(Height::new(9));
        put(Record::forgotten(key.clone()));
        assert!(!is_kept(), "{kind:?}");
    }
}

#[test]
fn a_primary_that_lost_writes_reverts_together_with_its_chain() {
    for kind in ConsensusKind::ALL {
        let disk = Arc::new(Disk::default());
        let config = CampaignSetup::of(default_sim_config(kind)).consensus;
        let replica = ReplicaId::new(0);
        let slow = FaultKind::Disk { replica, delay: Delay::Constant { delay: Duration::from_millis(2_500) } };
        // A time at which the primary's disk has a write to lose: shortly after a slot of its own, with delegated stake.
        let crash_ms = if kind == ConsensusKind::Dpos { 10_250 } else { 9_500 };
        let faults = vec![
            Fault { at: Duration::from_secs(5), duration: Some(Duration::from_secs(8)), kind: slow },
            Fault {
                at: Duration::from_millis(crash_ms),
                duration: Some(Duration::from_millis(500)),
                kind: FaultKind::Crash { replica },
            },
        ];
        let plan = FaultPlan { faults, ..FaultPlan::default() };
        let mut network = on(&disk, config.clone(), 4).with_faults(plan).build().unwrap();
        network.run_for(Duration::from_secs(16)).unwrap();
        assert!(network.primary().counters().writes_lost > 0, "{kind:?}");
        for (write, store) in disk.crashes().iter().enumerate() {
            let again = on(&store.crashed(), config.clone(), 4).build();
            again.unwrap_or_else(|error| panic!("{kind:?} after write {write}: {error}"));
        }
    }
}
