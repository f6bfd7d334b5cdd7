//! Figures, compared with what the blocks say.

use core::time::Duration;

use serde_json::json;

use super::{World, height, of_four};
use crate::{
    consensus::{ConsensusKind, ReplicaId},
    node::BlockRef,
    platform::{Blockchain, ChainMetrics},
    primitives::{Height, U256},
};

fn measured(world: &World, chain: &Blockchain) -> ChainMetrics {
    world.platform.blockchains().metrics(chain).unwrap()
}

/// The same from all blocks, one by one.
fn recounted(chain: &Blockchain) -> (u64, f64, u128) {
    let view = chain.node().view();
    let head = height(chain);
    let block = |number: u64| view.block(BlockRef::Number(Height::new(number))).unwrap();
    let all: u64 = (1..=head).map(|number| block(number).transactions().len() as u64).sum();
    let first = head.saturating_sub(100).max(1);
    let secs = block(head).timestamp().as_secs() - block(first).timestamp().as_secs();
    let in_window = if first == 1 { 1..=head } else { first + 1..=head };
    let prices: Vec<u128> = in_window
        .flat_map(|number| {
            let block = block(number);
            let fee = block.block().base_fee().unwrap();
            block.transactions().iter().map(|transaction| transaction.effective_gas_price(fee)).collect::<Vec<_>>()
        })
        .collect();
    let mean = prices.iter().sum::<u128>().checked_div(prices.len() as u128);
    (all, secs as f64 / (head - first) as f64, mean.unwrap_or_else(|| u128::from(view.next_base_fee())))
}

#[test]
fn figures_are_those_of_the_blocks_also_after_a_restart() {
    let mut world = World::new();
    let chain = world.create(json!({ "name": "x", "config": { "blockTime": "2s" } }));
    let id = chain.id().to_owned();
    assert_eq!(measured(&world, &chain).validator_uptime, None, "nobody had to do anything yet");
    for _ in 0..8 {
        world.pay(&chain).unwrap();
        world.pay(&chain).unwrap();
        world.run(&chain, 6);
    }
    world.run(&chain, 150);
    for _ in 0..2 {
        let chain = world.platform.blockchains().writable(&world.me(), &id).unwrap();
        world.pay(&chain).unwrap();
        let found = measured(&world, &chain);
        let (all, block_time, price) = recounted(&chain);
        assert_eq!((found.current_block, found.total_transactions, found.mempool_size), (height(&chain), all, 1));
        assert_eq!((found.block_time_secs, found.average_gas_price), (block_time, price));
        assert_eq!((found.active_validators, found.validator_uptime), (1, Some(100.0)));
        world.run(&chain, 60);
        world = world.restarted(Duration::from_secs(1));
    }
    let chain = world.platform.blockchains().writable(&world.me(), &id).unwrap();
    assert_eq!(measured(&world, &chain).total_transactions, recounted(&chain).0);
}

#[test]
fn a_stopped_validator_is_missed_in_the_duties() {
    let world = World::new();
    for kind in ConsensusKind::ALL {
        let chain = world.create(of_four(kind.name()));
        world.run(&chain, 30);
        let before = measured(&world, &chain).validator_uptime.unwrap();
        assert!(before >= 90.0, "{kind:?}: {before}");
        // Of a leader that nobody misses, nothing is missed: each is away once.
        for replica in 0..4 {
            chain.network().unwrap().stop(ReplicaId::new(replica)).unwrap();
            world.run(&chain, 25);
            chain.network().unwrap().start(ReplicaId::new(replica)).unwrap();
            world.run(&chain, 2);
        }
        let after = measured(&world, &chain).validator_uptime.unwrap();
        assert!(after < before && after > 20.0, "{kind:?}: {after} after {before}");
    }
}

#[test]
fn the_default_chain_is_measured_by_its_blocks() {
    let world = World::new();
    let node = world.platform.default_blockchain().node();
    for _ in 0..3 {
        node.transfer(node.accounts()[0], node.accounts()[1], U256::from(1)).unwrap();
    }
    let found = measured(&world, world.platform.default_blockchain());
    assert_eq!((found.current_block, found.total_transactions), (3, 3));
    let snapshot = node.snapshot();
    node.transfer(node.accounts()[0], node.accounts()[1], U256::from(1)).unwrap();
    assert_eq!(measured(&world, world.platform.default_blockchain()).total_transactions, 4);
    assert!(node.revert(snapshot).unwrap());
    node.mine(2).unwrap();
    assert_eq!(measured(&world, world.platform.default_blockchain()).total_transactions, 3);
}
