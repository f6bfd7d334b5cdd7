//! A property of a token under scripts of random calls: the supply is what the holders have, and a call that reverts changes nothing.
//! proptest shrinks a script that fails to the shortest one that does.
//!
//! `cargo run --example properties --features testing`

use chainbox::{
    chain::CallRequest,
    node::Node,
    primitives::{Address, U256},
    templates::{Erc20Params, erc20::interface as erc20},
    testing::{erc20_call, script},
};
use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};

/// Runs a script against a new token.
fn run(calls: Vec<CallRequest>) -> Result<(), TestCaseError> {
    let fail = |error: &dyn std::error::Error| TestCaseError::fail(error.to_string());
    let node = Node::new();
    let owner = node.accounts()[0];
    let init_code = Erc20Params::new("Gold", "GLD", U256::from(1_000), owner).init_code();
    let token = node.deploy(owner, init_code).map_err(|error| fail(&error))?;

    for mut call in calls {
        call.to = Some(token.address());
        let supply = token.call(erc20::totalSupplyCall {}).map_err(|error| fail(&error))?;
        let mined = node.send_and_mine(call);
        let after = token.call(erc20::totalSupplyCall {}).map_err(|error| fail(&error))?;
        prop_assert!(
            mined.is_ok_and(|mined| mined.is_success()) || after == supply,
            "a call that failed changed the supply"
        );

        let mut held = U256::ZERO;
        for account in node.accounts() {
            held += token.call(erc20::balanceOfCall { account: *account }).map_err(|error| fail(&error))?;
        }
        prop_assert_eq!(held, after);
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The accounts are those of every development node; the contract's address is set when it is there.
    let node = Node::new();
    let calls = script(&node, Address::ZERO, erc20_call(&node, U256::from(2_000)), 1..10);
    TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() }).run(&calls, run)?;
    println!("24 scripts: the supply is what the holders have");
    Ok(())
}
