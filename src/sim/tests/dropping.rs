//! Transactions that are dropped while they are under way.

use super::{faults::id, *};
use crate::{
    consensus::ConsensusKind,
    primitives::Height,
    sim::{LinkEffect, LinkFault},
};

fn assert_gone(network: &Network, kind: ConsensusKind) {
    for replica in network.replicas() {
        assert!(replica.pool().is_empty(), "{kind:?}: {}", replica.id());
        let chain = replica.chain();
        for height in 1..=chain.head().height().get() {
            let hash = chain.hash_at(crate::primitives::Height::new(height)).unwrap();
            assert!(chain.block(hash).unwrap().block().transactions().is_empty(), "{kind:?}, block {height}");
        }
    }
}

#[test]
fn a_dropped_transaction_leaves_the_links() {
    for kind in ConsensusKind::ALL {
        let mut network = network_of(default_sim_config(kind), 4, 3).build().unwrap();
        for replica in (0..4).map(id) {
            let transaction = transfer(0);
            network.submit(transaction.clone(), replica).unwrap();
            network.drop_transaction(&transaction.hash());
        }
        network.submit(transfer(0), id(1)).unwrap();
        network.submit(transfer(1), id(1)).unwrap();
        network.drop_all_transactions();
        network.run_to_height(Height::new(6)).unwrap();
        assert_gone(&network, kind);
    }
}

#[test]
fn a_dropped_transaction_leaves_clogged_links_and_paused_processes() {
    for kind in ConsensusKind::ALL {
        let mut network = network_of(default_sim_config(kind), 4, 3).build().unwrap();
        let clog = LinkFault { to: vec![id(1)], ..LinkFault::everywhere(LinkEffect::Clog) };
        let clog = network.set_link(clog).unwrap();
        network.pause(id(2)).unwrap();
        let dropped = transfer(0);
        network.submit(dropped.clone(), id(0)).unwrap();
        network.run_for(Duration::from_millis(100)).unwrap();
        network.drop_transaction(&dropped.hash());
        network.end_fault(clog).unwrap();
        network.resume(id(2)).unwrap();
        network.run_until(Duration::from_secs(120), |network| network.lowest_height().get() >= 6).unwrap();
        assert_gone(&network, kind);
    }
}
