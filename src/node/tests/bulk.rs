//! Bulks of one account: what each operation gave, and why one failed.

use crate::{
    node::{BulkError, ContractError, Node},
    primitives::{Address, Bytes, U256},
    templates::{Erc20Params, batch::Operation, erc20::interface as erc20, multicall::Multicall},
};

fn ether(amount: u64) -> U256 {
    U256::from(amount) * U256::from(10).pow(U256::from(18))
}

#[test]
fn a_creation_alone_has_created_something() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let gold = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(100), alice).init_code()).unwrap();
    let operations = [
        Operation::call(gold.address(), &erc20::transferCall { to: bob, value: U256::from(40) }),
        Operation::create(Multicall::init_code()),
        Operation::call(gold.address(), &erc20::balanceOfCall { account: bob }),
    ];
    let bulk = node.bulk(alice, &operations).unwrap();
    let created: Vec<_> = (0..4).map(|index| bulk.created(index).is_some()).collect();
    assert_eq!(created, [false, true, false, false], "neither `true` nor a balance is an address");
    let address = bulk.created(1).unwrap();
    assert!(!node.view().code(address, crate::node::BlockRef::Latest).unwrap().is_empty());
}

fn failure_of(operation: Operation) -> BulkError {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let gift = Operation::transfer(bob, U256::from(1));
    let before = node.view().balance(bob, crate::node::BlockRef::Latest).unwrap();
    let error = node.bulk(alice, &[gift, operation]).unwrap_err();
    assert_eq!(node.view().balance(bob, crate::node::BlockRef::Latest).unwrap(), before);
    error
}

#[test]
fn why_an_operation_halts_is_told() {
    let stranger = Address::repeat_byte(0xdd);
    let halted = [
        (Operation::transfer(stranger, ether(1_000_000)), "insufficient balance for transfer"),
        (Operation::create(Bytes::from_static(&[0x60, 0, 0x60, 0])), "EVM bytecode is not supported"),
    ];
    for (operation, want) in halted {
        let error = failure_of(operation);
        let BulkError::Operation { index: 1, source: ContractError::Halted { reason } } = &error else {
            panic!("{error}");
        };
        assert!(reason.contains(want), "{reason}");
    }
}

#[test]
fn ether_is_not_locked_under_the_zero_address() {
    let error = failure_of(Operation::transfer(Address::ZERO, U256::from(5)));
    assert!(matches!(error, BulkError::NoInitCode { index: 1 }), "{error}");
}
