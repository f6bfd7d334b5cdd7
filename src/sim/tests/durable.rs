//! Every replica's records on a durable store: the process may stop after any write, and all replicas recover.

use core::{ops::ControlFlow, time::Duration};
use std::sync::Arc;

use super::*;
use crate::{
    chain::GenesisSpec,
    consensus::{ConsensusConfig, ConsensusKind, Protocol, Record, Records, ReplicaId, pbft::PbftConfig},
    primitives::{Bytes, Height},
    sim::{faults::plan::Fault, network::records::RecordStore},
    state::{PagedState, model},
    store::{Batch, KeyValue, Order, Table, testing::MemoryDisk as Disk},
};

mod growth;
mod lagging;
mod observed;

fn consensus(disk: &Disk) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut found = Vec::new();
    let mut visit = |key: &[u8], value: &[u8]| {
        found.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    };
    disk.scan(Table::Consensus, &[], Order::Ascending, &mut visit).unwrap();
    found
}

fn on(disk: &Arc<Disk>, config: ConsensusConfig, validators: u32) -> NetworkBuilder {
    let state = Arc::new(PagedState::open(disk.clone()).unwrap());
    Network::builder()
        .with_genesis(GenesisSpec::new(1_337))
        .with_consensus(config)
        .with_validators(validators)
        .with_seed(3)
        .with_stores(state, disk.clone())
}

fn on_demand(disk: &Arc<Disk>, kind: ConsensusKind, validators: u32) -> Network {
    on(disk, kind.on_demand(), validators).with_production(Production::OnDemand).build().unwrap()
}

fn produce(network: &mut Network, blocks: u64) {
    for _ in 0..blocks {
        network.produce_block(&BlockOrder::default()).unwrap();
    }
}

/// Returns the values of a replica's records that may only grow.
fn watermark(kind: ConsensusKind, records: &Records) -> u64 {
    let number = |key: &[u8], from: usize| {
        let bytes = records.get(key).and_then(|record| record.get(from..from + 8));
        bytes.map_or(0, |bytes| u64::from_be_bytes(bytes.try_into().unwrap()))
    };
    match kind {
        ConsensusKind::Poa => number(b"signed", 8),
        ConsensusKind::Pos => {
            // The newest slot that it sealed a block for, if it did.
            let record = records.get(&b"promises"[..]);
            let slot = record.and_then(|record| record.split_last_chunk::<9>()).map(|(_, slot)| slot);
            slot.filter(|slot| slot[0] == 1).map_or(0, |slot| u64::from_be_bytes(slot[1..].try_into().unwrap()))
        }
        ConsensusKind::Dpos => number(b"promise", 16),
        ConsensusKind::Raft => number(b"hard-state", 8),
        ConsensusKind::Pbft => {
            let heights = records.keys().filter(|key| key.starts_with(b"q/")).map(|key| key[2..10].try_into().unwrap());
            heights.map(u64::from_be_bytes).max().unwrap_or_default()
        }
    }
}

#[test]
fn every_replica_recovers_from_its_own_records() {
    for kind in ConsensusKind::ALL {
        let disk = Arc::new(Disk::default());
        let mut first = on_demand(&disk, kind, 4);
        produce(&mut first, 9);
        let disk = disk.crashed();
        let second = on_demand(&disk, kind, 4);
        for (before, after) in first.replicas().iter().zip(second.replicas()) {
            assert_eq!(after.head(), before.head(), "{kind:?}");
            let [before_final, after_final] = [before, after].map(|replica| replica.protocol().finality().finalized);
            assert_eq!(after_final, before_final, "{kind:?}");
            let protocol = after.protocol();
            let (before, after) = (before.records(), after.records());
            let kept = before.iter().filter(|(key, _)| kind.is_safety_record(key) && protocol.needs(key));
            assert!(kept.clone().count() > 0, "{kind:?}");
            for (key, value) in kept {
                assert_eq!(after.get(key), Some(value), "{kind:?}: {}", key.escape_ascii());
            }
        }
        let own: std::collections::BTreeSet<_> = second.replicas().iter().map(Replica::records).collect();
        // Followers of one leader have the same term and vote.
        let is_same = matches!(kind, ConsensusKind::Pbft | ConsensusKind::Raft);
        assert!(own.len() > 1 || is_same, "{kind:?}: not those of one of them");
    }
}

#[test]
fn a_stop_after_any_write_stops_no_replica_and_causes_no_equivocation() {
    for (kind, validators) in ConsensusKind::ALL.into_iter().flat_map(|kind| [(kind, 1), (kind, 4)]) {
        let disk = Arc::new(Disk::default());
        let mut network = on_demand(&disk, kind, validators);
        // When each block was acknowledged, in writes.
        let mut acknowledged = vec![disk.writes()];
        for _ in 0..7 {
            produce(&mut network, 1);
            acknowledged.push(disk.writes());
        }
        let whole = network.primary().chain().clone();
        let mut before = vec![0; validators as usize];
        let mut finalized = Height::GENESIS;
        let past = disk.crashes();
        for (write, store) in past.iter().enumerate() {
            let died = store.crashed();
            let mut again = on_demand(&died, kind, validators);
            let at = format!("{kind:?} of {validators} after write {write}");
            let head = again.primary().head();
            let least = acknowledged.iter().filter(|written| **written <= write + 1).count() as u64 - 1;
            assert!(head.height.get() >= least, "{at}: {head} of {least}");
            assert_eq!(whole.hash_at(head.height).unwrap(), head.hash, "{at}");
            let chain = again.primary().chain();
            assert!(chain.finalized().height() >= finalized, "{at}");
            finalized = chain.finalized().height();
            let state = chain.state_of(head.hash).unwrap();
            assert_eq!(model::rebuilt_root(&*state), chain.head().block().header().state_root, "{at}");
            for (replica, before) in again.replicas().iter().zip(&mut before) {
                let now = watermark(kind, &replica.records());
                assert!(now >= *before, "{at}: {} reverted from {before} to {now}", replica.id());
                *before = now;
            }
            produce(&mut again, 3);
            assert_eq!(again.lowest_height().get(), head.height.get() + 3, "{at}");
            let newest = watermark(kind, &again.primary().records());
            assert!(newest >= before[0], "{at}: {newest} after {}", before[0]);
        }
        let signs = before.iter().filter(|mark| **mark > 0).count();
        assert!(signs > 0, "{kind:?} of {validators}: {before:?}");
    }
}

#[test]
fn a_restored_network_is_reopened_at_its_snapshot() {
    for (kind, validators) in ConsensusKind::ALL.into_iter().flat_map(|kind| [(kind, 1), (kind, 4)]) {
        let disk = Arc::new(Disk::default());
        let mut network = on_demand(&disk, kind, validators);
        produce(&mut network, 7);
        let snapshot = network.clone();
        produce(&mut network, 3);
        network.restore(&snapshot).unwrap();
        let (head, finality) = (network.primary().head(), network.primary().protocol().finality());
        drop((network, snapshot));
        let mut again = on_demand(&disk, kind, validators);
        assert_eq!((again.primary().head(), again.primary().protocol().finality()), (head, finality), "{kind:?}");
        produce(&mut again, 3);
        assert!(again.is_agreed() && again.primary().head().height.get() == 10, "{kind:?}");
    }
}

#[test]
fn a_validator_alone_writes_one_batch_a_block() {
    for kind in ConsensusKind::ALL {
        let disk = Arc::new(Disk::default());
        let mut network = on_demand(&disk, kind, 1);
        produce(&mut network, 8);
        let (heads, before) = (network.primary().counters().heads, disk.writes());
        produce(&mut network, 16);
        assert_eq!(network.primary().counters().heads - heads, 16);
        // One more write when finality moves.
        assert!(disk.writes() - before <= 32, "{kind:?}: {}", disk.writes() - before);
    }
}

#[test]
fn a_checkpoint_whose_votes_were_lost_is_voted_for_again() {
    let config = PbftConfig { period: 0, ..PbftConfig::default().with_checkpoints(4, 8) };
    let mut disk = Arc::new(Disk::default());
    for height in 1..=24_u64 {
        let builder = on(&disk, ConsensusConfig::Pbft(config), 4).with_production(Production::OnDemand);
        let mut network = builder.build().unwrap();
        produce(&mut network, 1);
        assert_eq!(network.lowest_height().get(), height);
        // They stop with the block in the chain, before the votes for its checkpoint arrived.
        let has_block = |store: &&Arc<Disk>| store.get(Table::Canonical, &height.to_be_bytes()).unwrap().is_some();
        disk = disk.crashes().iter().find(has_block).unwrap().clone();
    }
}

#[test]
fn another_protocol_than_the_stores_is_refused_with_what_to_do() {
    for stored in ConsensusKind::ALL {
        let disk = Arc::new(Disk::default());
        produce(&mut on_demand(&disk, stored, 4), 3);
        let writes = disk.writes();
        for asked in ConsensusKind::ALL.into_iter().filter(|asked| *asked != stored) {
            let builder = on(&disk, asked.on_demand(), 4).with_production(Production::OnDemand);
            let error = builder.build().unwrap_err();
            assert!(matches!(error, NetworkError::OtherProtocol { .. }), "{stored:?} {asked:?}: {error}");
            let text = error.to_string();
            assert!(text.contains(&format!("ask for {}", stored.name())) && text.contains(asked.name()), "{text}");
        }
        assert_eq!(disk.writes(), writes, "nothing was written");
        produce(&mut on_demand(&disk, stored, 4), 1);
    }
}

#[test]
fn no_protocol_reads_records_of_another() {
    let disks = ConsensusKind::ALL.map(|kind| {
        let disk = Arc::new(Disk::default());
        produce(&mut on_demand(&disk, kind, 4), 2);
        disk
    });
    for (stored, from) in ConsensusKind::ALL.into_iter().zip(&disks) {
        for (asked, onto) in ConsensusKind::ALL.into_iter().zip(&disks) {
            // The chain has the requested protocol: only the records differ.
            let disk = onto.crashed();
            let mut batch = Batch::new();
            consensus(onto).into_iter().for_each(|(key, _)| batch.delete(Table::Consensus, key));
            consensus(from).into_iter().for_each(|(key, value)| batch.put(Table::Consensus, key, value));
            disk.write(batch).unwrap();
            let writes = disk.writes();
            let built = on(&disk, asked.on_demand(), 4).with_production(Production::OnDemand).build();
            if asked == stored {
                produce(&mut built.unwrap(), 1);
                continue;
            }
            let error = built.unwrap_err();
            assert!(matches!(error, NetworkError::OtherProtocol { .. }), "{stored:?} {asked:?}: {error}");
            let text = error.to_string();
            assert!(text.contains(stored.name()) && text.contains(asked.name()), "{text}");
            assert_eq!(disk.writes(), writes, "nothing was written");
        }
    }
}

#[test]
fn a_damaged_record_is_reported_by_name() {
    for kind in ConsensusKind::ALL {
        let disk = Arc::new(Disk::default());
        produce(&mut on_demand(&disk, kind, 4), 5);
        let records = consensus(&disk);
        assert!(records.len() >= 8, "{kind:?}");
        for (key, value) in records {
            let places = [0, 7, 8, value.len() / 2, value.len() - 1];
            let flipped = places.into_iter().map(|at| {
                let mut damaged = value.clone();
                damaged[at] ^= 1 << (at % 8);
                damaged
            });
            for damaged in flipped.chain([value[..value.len() - 1].to_vec(), value[..8].to_vec(), Vec::new()]) {
                let store = disk.crashed();
                let mut batch = Batch::new();
                batch.put(Table::Consensus, key.clone(), damaged);
                store.write(batch).unwrap();
                let builder = on(&store, kind.on_demand(), 4).with_production(Production::OnDemand);
                let Err(NetworkError::StoredRecords(StoredRecordsError::Damaged { replica, key: named })) =
                    builder.build()
                else {
                    panic!("{kind:?}: {}", key.escape_ascii());
                };
                assert_eq!((replica.get(), named), (u32::from(key[12]), key[13..].escape_ascii().to_string()));
            }
        }
    }
}

#[test]
fn records_of_another_format_are_refused_by_name() {
    // Keys of earlier formats: without a replica, without the protocol's number; of an unknown protocol; one whose
    // replica number is truncated.
    for key in ["head", "r\0\0\0\0head", "\x06\0\0\0\0head", "\x01\0\0"] {
        let disk = Arc::new(Disk::default());
        produce(&mut on_demand(&disk, ConsensusKind::Poa, 4), 2);
        let mut batch = Batch::new();
        let (stored, value) = consensus(&disk).swap_remove(0);
        batch.put(Table::Consensus, [&stored[..8], key.as_bytes()].concat(), value);
        disk.write(batch).unwrap();
        let writes = disk.writes();
        let builder = on(&disk, ConsensusKind::Poa.on_demand(), 4).with_production(Production::OnDemand);
        let error = builder.build().unwrap_err();
        let wanted = key.as_bytes().escape_ascii().to_string();
        let NetworkError::StoredRecords(StoredRecordsError::UnknownFormat { key: named }) = error else {
            panic!("{error}");
        };
        assert_eq!(named, wanted);
        assert_eq!(disk.writes(), writes, "nothing was written");
    }
}
