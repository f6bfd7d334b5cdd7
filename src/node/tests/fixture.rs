//! Transactions and nodes that the tests share.

use core::ops::ControlFlow;

use crate::{
    chain::ExecutedBlock,
    consensus::ConsensusKind,
    node::{Node, NodeBuilder},
    primitives::{Address, Gas, Transaction, TransactionRequest, U256},
};

pub(super) fn plain_transfer(node: &Node, from: usize, nonce: u64, value: u64) -> Transaction {
    let request = TransactionRequest {
        chain_id: Some(node.view().chain_id()),
        nonce,
        to: Some(Address::repeat_byte(0x77)),
        value: U256::from(value),
        gas_limit: Gas::new(21_000),
        max_fee_per_gas: 10_000_000_000,
        ..Default::default()
    };
    request.sign(&node.keys()[from]).unwrap()
}

pub(super) fn request(node: &Node, nonce: u64) -> TransactionRequest {
    TransactionRequest {
        chain_id: Some(node.view().chain_id()),
        nonce,
        to: Some(Address::repeat_byte(0x77)),
        gas_limit: Gas::new(21_000),
        max_fee_per_gas: 10_000_000_000,
        ..Default::default()
    }
}

impl Node {
    /// As [`Node::mine`]; returns all the blocks, oldest first.
    pub(crate) fn mine_all(&self, count: u64) -> Vec<ExecutedBlock> {
        let mut blocks = Vec::new();
        let keep = |block: &ExecutedBlock| {
            blocks.push(block.clone());
            ControlFlow::Continue(())
        };
        assert_eq!(self.mine_each(count, None, keep).unwrap(), count);
        blocks
    }
}

/// Every protocol with one validator and with several.
pub(super) fn protocols() -> impl Iterator<Item = (ConsensusKind, u32)> {
    ConsensusKind::ALL.into_iter().flat_map(|kind| [(kind, 1), (kind, 4)])
}

pub(super) fn node_of((kind, validators): (ConsensusKind, u32)) -> NodeBuilder {
    Node::builder().with_validators(validators).with_consensus(kind.on_demand())
}
