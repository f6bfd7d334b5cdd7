//! Lists of delegations: what they read, and what they show whatever was read before.

use super::*;
use crate::platform::{DelegationOrder, DelegationSpec, ValidatorId};

const TOKEN: u64 = 1_000_000_000_000_000_000;

fn delegate(world: &World, validator: &ValidatorId, request: &str) {
    let order = DelegationOrder::Amount { amount: U256::from(TOKEN), from: None };
    let spec = DelegationSpec { order, takes_back: false };
    world.platform.validators().delegate(&world.me(), validator, request, &spec).unwrap();
}

/// The delegators of a validator beside its operator.
fn others(world: &World, validator: &ValidatorId) -> Vec<Address> {
    let all = world.platform.validators().delegations(&world.me(), validator).unwrap();
    all.into_iter().map(|one| one.delegator).filter(|delegator| *delegator != validator.operator).collect()
}

/// Lets the chain run until its present head is final.
fn finalise(world: &World, chain: &Blockchain) {
    let head = height(chain);
    let is_final = (0..60).any(|_| {
        world.run(chain, 10);
        chain.node().view().finalized().height().get() >= head
    });
    assert!(is_final, "block {head} is final within ten minutes");
}

#[test]
fn a_list_of_delegations_reads_a_final_block_once() {
    let world = World::new();
    let chain = world.create(of_four("proof-of-stake"));
    world.run(&chain, 3);
    let [first, second] = [1, 2].map(|byte| ValidatorId::new(chain.id(), Address::repeat_byte(byte)));
    assert!(others(&world, &first).is_empty(), "before anybody has delegated");
    delegate(&world, &first, "tx_1");
    world.run(&chain, 5);
    let [delegator] = others(&world, &first)[..] else { panic!("{:?}", others(&world, &first)) };
    finalise(&world, &chain);
    assert_eq!((others(&world, &first), others(&world, &second)), (vec![delegator], vec![]));

    // What is kept of final blocks counts, not the blocks.
    let delegators = &world.platform.hosted.delegators;
    delegators.change(chain.id(), |known| known.delegators.clear());
    assert!(others(&world, &first).is_empty());
    // A newer block is read by each list, until it is final and after.
    delegate(&world, &second, "tx_2");
    world.run(&chain, 5);
    assert_eq!(others(&world, &second), [delegator]);
    finalise(&world, &chain);
    assert_eq!(others(&world, &second), [delegator]);
    // Where the chain has another block than the one that was read, all are read anew.
    delegators.change(chain.id(), |known| known.newest = known.newest.map(|(height, _)| (height, B256::ZERO)));
    assert_eq!((others(&world, &first), others(&world, &second)), (vec![delegator], vec![delegator]));
    drop(chain);

    let world = world.restarted(Duration::from_secs(1));
    assert_eq!((others(&world, &first), others(&world, &second)), (vec![delegator], vec![delegator]));
}
