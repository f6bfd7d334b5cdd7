//! Contracts, their reverts, and the assertions about them.

use crate::{
    chain::CallRequest,
    node::{
        BlockRef, ContractError, Node,
        testing::{expect_balance_changes, expect_event, expect_revert},
    },
    primitives::{Bytes, Gas, Height, U256},
    templates::{Erc20Params, erc20::interface as erc20},
};

#[test]
fn a_token_from_a_template() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let token = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(1_000), alice).init_code()).unwrap();
    let mined = token.send(erc20::transferCall { to: bob, value: U256::from(10) }).unwrap();
    let event: erc20::Transfer = expect_event(&mined);
    assert_eq!((event.from, event.to, event.value), (alice, bob, U256::from(10)));
    assert_eq!(token.call(erc20::balanceOfCall { account: bob }).unwrap(), U256::from(10));
    let refused: erc20::ERC20InsufficientBalance =
        expect_revert(token.from(bob).send(erc20::transferCall { to: alice, value: U256::from(11) }));
    assert_eq!(refused.needed, U256::from(11));
    assert_eq!(token.events::<erc20::Transfer>().unwrap().len(), 2, "the supply's and bob's");
    let before = BlockRef::Number(Height::new(1));
    assert_eq!(token.call_at(erc20::balanceOfCall { account: bob }, before).unwrap(), U256::ZERO);
}

#[test]
fn a_reverting_transaction_is_mined_and_its_reason_recovered() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let token = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(1), alice).init_code()).unwrap();
    let call = erc20::transferCall { to: alice, value: U256::from(5) };
    let request = CallRequest {
        from: Some(bob),
        to: Some(token.address()),
        input: alloy_sol_types::SolCall::abi_encode(&call).into(),
        gas: Some(Gas::new(100_000)),
        ..Default::default()
    };
    let head = node.view().head().height();
    let error = node.send_and_mine(request).unwrap_err();
    assert!(error.decode::<erc20::ERC20InsufficientBalance>().is_some(), "{error}");
    let view = node.view();
    assert_eq!(view.head().height(), head.next());
    assert!(!view.head().receipts()[0].is_success());
}

#[test]
fn evm_bytecode_is_refused_clearly() {
    let node = Node::new();
    let alice = node.accounts()[0];
    let error = node.deploy(alice, Bytes::from_static(&[0x60, 0x80, 0x60, 0x40])).unwrap_err();
    assert!(error.to_string().contains("EVM"), "{error}");
    assert!(matches!(error, ContractError::Halted { .. }));
}

#[test]
fn balances_are_checked_exactly() {
    let node = Node::builder().with_base_fee(None).build().unwrap();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    expect_balance_changes(&node, &[(alice, -5), (bob, 5)], || node.transfer(alice, bob, U256::from(5)).unwrap());
}
