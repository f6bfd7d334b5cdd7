//! A network in real time: four validators that make a block a second by the machine's clock, one of them stopped and started.
//!
//! `cargo run --example real_time` takes some ten seconds.

use std::{num::NonZeroUsize, thread::sleep, time::Duration};

use chainbox::{
    consensus::{ConsensusConfig, PbftConfig, ReplicaId, SealScheme},
    node::NetworkPool,
    primitives::{Timestamp, ether},
    sim::Network,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Two threads for any number of networks.
    let pool = NetworkPool::new(NonZeroUsize::new(2).ok_or("two")?)?;
    let network = Network::builder()
        .with_consensus(ConsensusConfig::Pbft(PbftConfig::default().with_period(Duration::from_secs(1))))
        .with_validators(4)
        .with_seals(SealScheme::Secp256k1)
        .with_dev_accounts(2)
        .with_timestamp(Timestamp::from_secs(pool.now().as_secs()))
        .build()?;
    let network = pool.add(network.share()?)?;
    let (near, last) = (network.node(ReplicaId::new(0))?, ReplicaId::new(3));
    let (alice, bob) = (near.accounts()[0], near.accounts()[1]);

    // Returns when a block has it.
    let mined = near.transfer(alice, bob, ether(1))?;
    println!("paid in block {} at {}", mined.block().height(), mined.block().block().timestamp().as_secs());

    network.stop(last)?;
    let stopped_at = network.node(last)?.view().head().height();
    sleep(Duration::from_secs(4));
    println!("block {} while the last validator is at {stopped_at}", near.view().head().height());
    assert_eq!(network.node(last)?.view().head().height(), stopped_at);
    assert!(near.view().head().height() > stopped_at);

    // It goes on from its durable records, and catches up.
    network.start(last)?;
    sleep(Duration::from_secs(3));
    println!("the last validator is at block {}", network.node(last)?.view().head().height());
    assert!(network.node(last)?.view().head().height() > stopped_at);
    pool.shutdown(Duration::from_secs(5))?;
    Ok(())
}
