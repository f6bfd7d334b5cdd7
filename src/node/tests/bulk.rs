//! Several operations as one transaction.

use crate::{
    node::{BulkError, Node},
    primitives::{Address, U256},
    templates::{Erc20Params, batch::Operation, erc20::interface as erc20},
};

#[test]
fn operations_create_transfer_and_call_as_the_signer() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let gold = Erc20Params::new("Gold", "GLD", U256::from(9), alice).init_code();
    let mined = node.bulk(alice, &[Operation::transfer(bob, U256::from(3)), Operation::create(gold)]).unwrap();
    let gold = node.contract(mined.created(1).unwrap(), alice);
    assert_eq!(gold.call(erc20::balanceOfCall { account: alice }).unwrap(), U256::from(9));
    assert_eq!((mined.results().len(), mined.created(0)), (2, None));
}

#[test]
fn the_zero_address_is_not_taken_for_a_recipient() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let one = U256::from(1);
    let head = node.view().head().height();
    let error = node.bulk(alice, &[Operation::transfer(bob, one), Operation::transfer(Address::ZERO, one)]);
    assert!(matches!(error, Err(BulkError::NoInitCode { index: 1 })), "{error:?}");
    assert_eq!(node.view().head().height(), head, "nothing was sent");
}
