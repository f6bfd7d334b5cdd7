//! A small chain with three funded accounts.

use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};

use crate::{
    chain::{
        Block, BlockAttributes, BuiltBlock, Chain, ChainBuilder, ExecutedBlock, GenesisSpec, HeadChange, InsertOutcome,
    },
    primitives::{Gas, KeyPair, Timestamp, Transaction, TransactionRequest, ether},
    state::MemoryState,
    store::MemoryStore,
};

pub(in crate::chain) const CHAIN_ID: u64 = 31_337;

pub(in crate::chain) fn key(index: u64) -> KeyPair {
    KeyPair::from_seed(index, "chain test")
}

pub(in crate::chain) fn spec() -> GenesisSpec {
    let mut spec = GenesisSpec { allow_interventions: true, ..GenesisSpec::new(CHAIN_ID) };
    (0..3).for_each(|index| spec.fund(key(index).address(), ether(100)));
    spec
}

pub(in crate::chain) fn builder() -> ChainBuilder {
    builder_of(spec())
}

pub(in crate::chain) fn builder_of(spec: GenesisSpec) -> ChainBuilder {
    Chain::builder(spec, Arc::new(MemoryState::new()), Arc::new(MemoryStore::new()))
}

pub(in crate::chain) fn chain() -> Chain {
    builder().open().unwrap()
}

pub(in crate::chain) fn request(nonce: u64, to: Address, value: u64) -> TransactionRequest {
    TransactionRequest {
        chain_id: Some(CHAIN_ID),
        nonce,
        to: Some(to),
        value: U256::from(value),
        gas_limit: Gas::new(21_000),
        max_fee_per_gas: 10_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        ..Default::default()
    }
}

pub(in crate::chain) fn transfer(from: u64, nonce: u64, to: Address, value: u64) -> Arc<Transaction> {
    Arc::new(request(nonce, to, value).sign(&key(from)).unwrap())
}

pub(in crate::chain) fn attributes(timestamp: u64) -> BlockAttributes {
    BlockAttributes {
        timestamp: Timestamp::from_secs(timestamp),
        beneficiary: Address::repeat_byte(0xfe),
        ..Default::default()
    }
}

pub(in crate::chain) fn build_on(
    chain: &Chain,
    parent: B256,
    timestamp: u64,
    transactions: Vec<Arc<Transaction>>,
) -> BuiltBlock {
    chain.build(parent, &attributes(timestamp), &mut transactions.into_iter()).unwrap()
}

/// Builds a block on the head and makes it the head.
pub(in crate::chain) fn extend(chain: &mut Chain, transactions: Vec<Arc<Transaction>>) -> HeadChange {
    let timestamp = chain.head().block().header().timestamp + 1;
    let built = build_on(chain, chain.head().hash(), timestamp, transactions);
    assert!(built.left_out.is_empty(), "{:?}", built.left_out);
    adopt(chain, built.block)
}

/// Inserts a block and makes it the head.
pub(in crate::chain) fn adopt(chain: &mut Chain, block: Block) -> HeadChange {
    let hash = block.hash();
    assert_eq!(chain.insert(Arc::new(block)).unwrap(), InsertOutcome::New);
    chain.set_head(hash).unwrap()
}

pub(in crate::chain) fn balance(chain: &Chain, block: &ExecutedBlock, address: Address) -> U256 {
    chain.state_of(block.hash()).unwrap().account(&address).unwrap().unwrap_or_default().balance
}

pub(in crate::chain) const fn gas(units: u64) -> Gas {
    Gas::new(units)
}
