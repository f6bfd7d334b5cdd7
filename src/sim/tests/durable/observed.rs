//! An observer has the stored chain, so that every validator may be stopped: what a network of a service does.

use super::*;
use crate::sim::{NetworkOptionsError, StopError};

const OBSERVER: ReplicaId = ReplicaId::new(4);

/// Four validators that make blocks by the clock, and the observer.
fn observed(disk: &Arc<Disk>, config: ConsensusConfig) -> Network {
    on(disk, config, 4).with_observers(1).with_primary(OBSERVER).build().unwrap()
}

/// Each validator is stopped for a while, one after the other.
fn stop_each_in_turn(network: &mut Network) {
    for validator in (0..4).map(ReplicaId::new) {
        network.stop_replica(validator).unwrap();
        network.run_for(Duration::from_secs(7)).unwrap();
        network.start_replica(validator).unwrap();
        network.run_for(Duration::from_secs(6)).unwrap();
    }
}

#[test]
fn no_validator_that_is_stopped_keeps_blocks_from_the_store() {
    for kind in ConsensusKind::ALL {
        let config = CampaignSetup::of(default_sim_config(kind)).consensus;
        let disk = Arc::new(Disk::default());
        let mut network = observed(&disk, config.clone());
        network.run_for(Duration::from_secs(5)).unwrap();
        stop_each_in_turn(&mut network);
        let head = network.primary().head();
        assert!(head.height.get() >= 12, "{kind:?}: {head}");
        let whole = network.primary().chain().clone();
        let past = disk.crashes();
        let is_final = matches!(kind, ConsensusKind::Pbft | ConsensusKind::Raft);
        let (mut earlier, mut final_height) = (0, Height::GENESIS);
        for (write, store) in past.iter().enumerate().step_by(3) {
            let at = format!("{kind:?}, after write {write} of {}", past.len());
            let mut again = observed(&store.crashed(), config.clone());
            let (stored, finalized) = (again.primary().head(), again.primary().chain().finalized().height());
            let is_earlier = kind == ConsensusKind::Poa || whole.hash_at(stored.height).unwrap() == stored.hash;
            assert!(is_earlier, "{at}: {stored} is not of the chain");
            assert!(stored.height.get() >= earlier || !is_final, "{at}: {stored} after {earlier}");
            assert!(finalized >= final_height, "{at}: final up to {finalized} after {final_height}");
            (earlier, final_height) = (stored.height.get(), finalized);
            let to = stored.height.get() + 8;
            let reached = again.run_until(Duration::from_secs(600), |network| network.lowest_height().get() >= to);
            reached.unwrap_or_else(|error| panic!("{at}: {error}"));
            assert!(again.replicas().iter().all(|replica| replica.evidence().next().is_none()), "{at}");
        }
        let newest = observed(&disk.crashed(), config).primary().head().height.get();
        assert!(newest + 1 >= head.height.get(), "{kind:?}: {newest} of {head}");
    }
}

#[test]
fn the_primary_of_a_durable_network_can_not_be_stopped() {
    let disk = Arc::new(Disk::default());
    let config = ConsensusKind::Pbft;
    let mut network = observed(&disk, CampaignSetup::of(default_sim_config(config)).consensus);
    let refused = network.stop_replica(OBSERVER).unwrap_err();
    assert!(matches!(refused, StopError::Primary { replica } if replica == OBSERVER), "{refused}");
    let told = "can't be stopped: make an observer the primary";
    assert!(refused.to_string().contains(told), "{refused}");
    network.run_to_height(Height::new(2)).unwrap();
    let mut in_memory = Network::builder().with_validators(4).build().unwrap();
    in_memory.stop_replica(ReplicaId::default()).unwrap();
}

#[test]
fn the_primary_is_one_of_the_replicas() {
    let refused = Network::builder().with_validators(4).with_primary(OBSERVER).build().unwrap_err();
    let NetworkError::Options(NetworkOptionsError::Primary { replica, count }) = refused else { panic!("{refused}") };
    assert_eq!((replica, count), (OBSERVER, 4));
}
