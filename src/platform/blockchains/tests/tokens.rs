//! The index of tokens of a chain on a disk: kept with its blocks, over a crash, and built for a chain of a former version.

use alloy_sol_types::SolCall;

use super::*;
use crate::{
    platform::{Holder, HolderOrder, ListWindow, TokenSpec, TokenStandard, TokenTransfer},
    store::{Batch, Order, Table},
    templates::erc20::interface as erc20,
};

const ALL: ListWindow = ListWindow { skipped: 0, limit: u64::MAX, order: Order::Ascending };

/// Transfers and holders of the token.
fn read(world: &World, chain: &Blockchain) -> (Vec<TokenTransfer>, Vec<Holder>) {
    let tokens = world.platform.tokens();
    let stored = tokens.require(&world.me(), "tok_1").unwrap();
    let transfers = tokens.transfers(chain, &stored.value, ALL).unwrap();
    let holders = tokens.holders(chain, &stored.value, HolderOrder::Balance, ALL).unwrap();
    assert_eq!((transfers.0.len() as u64, holders.0.len() as u64), (transfers.1, holders.1));
    (transfers.0, holders.0)
}

fn give(world: &World, chain: &Blockchain, to: u8) {
    let stored = world.platform.tokens().require(&world.me(), "tok_1").unwrap();
    let contract = stored.value.contract_address(chain).unwrap();
    let call = erc20::transferCall { to: Address::repeat_byte(to), value: U256::from(to) }.abi_encode();
    let request = CallRequest::call(contract, call).with_from(stored.value.from);
    world.platform.blockchains().send(&world.me(), chain.id(), request).unwrap();
    world.run(chain, 3);
}

#[test]
fn the_index_of_tokens_is_kept_with_the_blocks_and_built_where_there_is_none() {
    let world = World::new();
    let chain = world.create(of_four("proof-of-authority"));
    world.run(&chain, 3);
    let supply = U256::from(100);
    let spec = TokenSpec { total_supply: supply, ..TokenSpec::new(chain.id(), TokenStandard::Erc20, "Gold", "GLD") };
    world.platform.tokens().create(&world.me(), "tok_1", spec).unwrap();
    assert_eq!(read(&world, &chain), (Vec::new(), Vec::new()), "it waits for a block");
    world.run(&chain, 3);
    give(&world, &chain, 3);
    give(&world, &chain, 4);
    let before = read(&world, &chain);
    let balances: Vec<u64> = before.1.iter().map(|holder| holder.balance.to()).collect();
    assert_eq!((before.0.len(), balances), (3, vec![3, 4, 93]));

    // After a crash it is as it was, and goes on.
    let id = chain.id().to_owned();
    drop(chain);
    let world = world.restarted(Duration::from_secs(5));
    let chain = world.platform.running_blockchain(&id).unwrap();
    assert_eq!(read(&world, &chain), before);
    world.run(&chain, 5);
    give(&world, &chain, 5);
    let later = read(&world, &chain);
    assert_eq!((&later.0[..3], later.0[3].to), (&before.0[..], Address::repeat_byte(5)));

    // A store of a former version has no rows.
    let part = world.platform.blockchains().hosted.part_of(&id);
    let mut batch = Batch::new();
    let mut rows = 0;
    part.scan(Table::Platform, b"tokens/", Order::Ascending, &mut |key, _| {
        batch.delete(Table::Platform, key);
        rows += 1;
        core::ops::ControlFlow::Continue(())
    })
    .unwrap();
    assert!(rows > 10, "{rows}");
    part.write(batch).unwrap();
    drop((chain, part));
    let world = world.restarted(Duration::from_secs(5));
    let chain = world.platform.running_blockchain(&id).unwrap();
    assert_eq!(read(&world, &chain), later);
}
