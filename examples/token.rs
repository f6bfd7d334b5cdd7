//! A token in ten lines: deploy the `erc20-token` template, transfer, read an event and a custom error.
//!
//! `cargo run --example token`

use chainbox::{
    node::{
        Node,
        testing::{expect_event, expect_revert},
    },
    primitives::U256,
    templates::{Erc20Params, erc20::interface as erc20},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let gold = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(1_000), alice).init_code())?;

    let mined = gold.send(erc20::transferCall { to: bob, value: U256::from(250) })?;
    let transfer: erc20::Transfer = expect_event(&mined);
    assert_eq!((transfer.from, transfer.to, transfer.value), (alice, bob, U256::from(250)));
    assert_eq!(gold.call(erc20::balanceOfCall { account: bob })?, U256::from(250));

    let too_much = gold.from(bob).send(erc20::transferCall { to: alice, value: U256::from(251) });
    let error: erc20::ERC20InsufficientBalance = expect_revert(too_much);
    assert_eq!((error.balance, error.needed), (U256::from(250), U256::from(251)));
    println!("{} holds 250 GLD of {}", bob, gold.address());
    Ok(())
}
