//! A provider that is behind: every replica of a network is a node of its own, and one of them is cut off.
//!
//! `cargo run --example behind`; with the feature `server`, `server::serve(&node)` gives such a node a URL.

use std::time::Duration;

use chainbox::{
    consensus::{ConsensusConfig, PbftConfig, ReplicaId},
    node::BlockRef,
    primitives::U256,
    sim::Network,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pbft = ConsensusConfig::Pbft(PbftConfig::default());
    let network = Network::builder().with_consensus(pbft).with_validators(4).with_dev_accounts(2).build()?.share()?;
    let (near, cut_off) = (network.node(ReplicaId::new(0))?, network.node(ReplicaId::new(3))?);
    let (alice, bob) = (near.accounts()[0], near.accounts()[1]);
    let before = near.view().balance(bob, BlockRef::Latest)?;

    // The network is behind a lock: what is done to it is published when the guard is dropped.
    network.lock().isolate(ReplicaId::new(3))?;
    near.transfer(alice, bob, U256::from(5))?;
    assert_eq!(near.view().balance(bob, BlockRef::Latest)?, before + U256::from(5));
    assert_eq!(cut_off.view().balance(bob, BlockRef::Latest)?, before, "replica 3 does not know of it");

    network.lock().heal()?;
    network.lock().run_for(Duration::from_secs(20))?;
    assert_eq!(cut_off.view().balance(bob, BlockRef::Latest)?, before + U256::from(5));
    println!("replica 3 caught up at height {}", cut_off.view().head().height());
    Ok(())
}
