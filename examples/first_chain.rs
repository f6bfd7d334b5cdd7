//! A first chain: build a node, transfer the native token, read the block.
//!
//! `cargo run --example first_chain`

use chainbox::{
    node::{BlockRef, Node, testing::expect_balance_changes},
    primitives::{U256, ether},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let node = Node::builder().with_accounts(3).with_base_fee(None).build()?;
    let [alice, bob, _] = node.accounts()[..] else { return Err("three accounts are derived".into()) };

    let mined = expect_balance_changes(&node, &[(alice, -1_000_000), (bob, 1_000_000)], || {
        node.transfer(alice, bob, U256::from(1_000_000))
    })?;
    assert!(mined.is_success());
    assert_eq!(mined.receipt().gas_used.get(), 21_000);
    assert_eq!(mined.block().height().get(), 1);

    let view = node.view();
    assert_eq!(view.balance(bob, BlockRef::Earliest)?, ether(10_000));
    println!("block {} ({}) moved 1000000 from {alice} to {bob}", mined.block().height(), mined.block().hash());
    Ok(())
}
