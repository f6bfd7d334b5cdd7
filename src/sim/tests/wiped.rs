//! An observer whose disk is lost late: what each protocol promises it.
//!
//! | protocol | the observer |
//! |---|---|
//! | proof of authority, Raft, PBFT, delegated proof of stake | follows the chain from genesis again, however long that is |
//! | proof of stake | does so within the weak subjectivity period; later it takes no block unless it has a trusted checkpoint |

use super::*;
use crate::consensus::{AnyProtocol, BlockId, ConsensusKind};

/// The observer of a network of four validators.
const OBSERVER: usize = 4;
/// Blocks by which the disk is lost.
const LATE: u64 = 300;

fn network(consensus: ConsensusConfig) -> Network {
    network_of(consensus, 4, 3).with_observers(1).build().unwrap()
}

/// Wipes the observer for two seconds at `height`, and returns its head and that of the others at that time five minutes later, or as soon
/// as it has caught up.
fn wiped(network: &mut Network, height: u64) -> (BlockId, BlockId) {
    network.run_to_height(Height::new(height)).unwrap();
    let observer = ReplicaId::new(OBSERVER as u32);
    let fault = network.wipe(observer).unwrap();
    network.run_for(Duration::from_secs(2)).unwrap();
    network.end_fault(fault).unwrap();
    let top = network.primary().head();
    let of_observer = |network: &Network| network.replicas()[OBSERVER].head();
    drop(network.run_until(Duration::from_secs(300), |network| of_observer(network).height >= top.height));
    (of_observer(network), top)
}

#[test]
fn whoever_loses_its_disk_late_follows_the_chain_from_genesis() {
    for kind in [ConsensusKind::Poa, ConsensusKind::Raft, ConsensusKind::Pbft, ConsensusKind::Dpos] {
        let mut network = network(default_sim_config(kind));
        let (own, top) = wiped(&mut network, LATE);
        assert!(own.height >= top.height, "{kind:?}: at {own} of {top}");
        let settled = Height::new(top.height.get() - 12);
        let hashes = network.replicas().iter().map(|replica| replica.chain().hash_at(settled).unwrap());
        assert_eq!(hashes.collect::<std::collections::BTreeSet<_>>().len(), 1, "{kind:?}");
    }
}

/// 57 epochs of four slots are the period in which a leak could have made another branch final.
#[test]
fn whoever_loses_its_disk_past_the_weak_subjectivity_period_needs_a_trusted_checkpoint() {
    let ConsensusConfig::Pos(config) = default_sim_config(ConsensusKind::Pos) else { panic!("proof of stake") };
    let period = config.weak_subjectivity_epochs(4);
    assert!((40..LATE / 4).contains(&period), "{period} epochs");
    let (own, top) = wiped(&mut network(ConsensusConfig::Pos(config)), 4 * (period - 5));
    assert!(own.height >= top.height, "within the period: at {own} of {top}");

    let mut alone = network(ConsensusConfig::Pos(config));
    let (own, _) = wiped(&mut alone, LATE);
    let why = alone.replicas()[OBSERVER].last_rejection().map(ToString::to_string).unwrap_or_default();
    assert_eq!(own.height, Height::GENESIS);
    assert!(why.contains("give a trusted checkpoint"), "{why}");

    // The same network again, in which the checkpoint is trusted that was final then.
    let finalized = |network: &Network| {
        let AnyProtocol::Pos(pos) = network.primary().protocol() else { panic!("proof of stake") };
        pos.finalized()
    };
    let mut before = network(ConsensusConfig::Pos(config));
    before.run_to_height(Height::new(LATE)).unwrap();
    let checkpoint = finalized(&before);
    let mut told = network(ConsensusConfig::Pos(config.with_trusted(checkpoint.epoch, checkpoint.block.hash)));
    let (own, top) = wiped(&mut told, LATE);
    assert!(own.height >= top.height, "with a trusted checkpoint: at {own} of {top}");
    assert_eq!(told.replicas()[OBSERVER].chain().hash_at(checkpoint.block.height).unwrap(), checkpoint.block.hash);
}
