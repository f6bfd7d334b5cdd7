//! Dumps: deterministic bytes, loaded without executing, rejected when inconsistent.

use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};

use super::fixture::*;
use crate::{
    chain::{Chain, ChainDump, ChainError, GenesisSpec, Intervention},
    primitives::{Gas, Height, TransactionRequest, ether},
    templates::Erc20Params,
};

const BOB: Address = Address::repeat_byte(0xb0);

fn grown() -> Chain {
    let mut chain = chain();
    extend(&mut chain, vec![transfer(0, 0, BOB, 7)]);
    let init_code = Erc20Params::new("Gold", "GLD", U256::from(1_000), BOB).init_code();
    let request =
        TransactionRequest { to: None, input: init_code, gas_limit: Gas::new(3_000_000), ..request(1, BOB, 0) };
    extend(&mut chain, vec![Arc::new(request.sign(&key(0)).unwrap())]);
    extend(&mut chain, vec![]);
    let first = chain.hash_at(Height::new(1)).unwrap();
    chain.set_finality(chain.head().hash(), first).unwrap();
    chain.intervene(Intervention::Balance { address: BOB, balance: ether(3) }).unwrap();
    chain
}

#[test]
fn a_dump_round_trips() {
    let chain = grown();
    let bytes = chain.dump().unwrap().to_json();
    assert_eq!(bytes, chain.dump().unwrap().to_json(), "two dumps are byte-equal");
    let dump = ChainDump::from_json(&bytes).unwrap();
    let mut loaded = builder_of(GenesisSpec::new(1)).open_dump(&dump).unwrap();
    assert_eq!(loaded.dump().unwrap().to_json(), bytes);
    assert_eq!(loaded.head().receipts(), chain.head().receipts());
    assert_eq!(loaded.finalized().height(), Height::new(1));
    assert_eq!(loaded.latest_state().unwrap().account(&BOB).unwrap().unwrap().balance, ether(3));
    let mined = chain.block_at(Height::new(1)).unwrap().block().transactions()[0].hash();
    assert_eq!(loaded.transaction(mined).unwrap().unwrap().block.height(), Height::new(1));
    let early = loaded.state_of(loaded.hash_at(Height::new(1)).unwrap()).unwrap_err();
    assert!(matches!(early, ChainError::Pruned { what: "state", .. }), "{early}");
    let change = extend(&mut loaded, vec![transfer(0, 2, BOB, 1)]);
    assert_eq!(change.new.height(), Height::new(4));
    assert_eq!(balance(&loaded, loaded.head(), BOB), ether(3) + U256::from(1));
}

#[test]
fn an_empty_chain_can_be_dumped() {
    let chain = chain();
    let dump = chain.dump().unwrap();
    let loaded = builder().open_dump(&dump).unwrap();
    assert_eq!(loaded.head().hash(), chain.head().hash());
}

#[test]
fn a_running_chain_loads_a_dump_of_its_genesis() {
    let dump = grown().dump().unwrap();
    let mut other = chain();
    extend(&mut other, vec![transfer(2, 0, BOB, 1)]);
    other.load(&dump).unwrap();
    assert_eq!(other.dump().unwrap(), dump);
}

#[test]
fn an_inconsistent_dump_changes_nothing() {
    let honest = grown().dump().unwrap();
    let mut missing = honest.clone();
    missing.blocks.remove(1);
    let mut poor = honest.clone();
    poor.accounts.pop_first();
    let wrong_head = ChainDump { head: B256::ZERO, ..honest.clone() };
    let mut garbage = honest.clone();
    garbage.blocks[0].block = vec![1, 2, 3].into();
    for (name, dump) in [("missing", missing), ("poor", poor), ("head", wrong_head), ("garbage", garbage)] {
        let mut chain = chain();
        extend(&mut chain, vec![]);
        let before = chain.head().hash();
        let error = chain.load(&dump).unwrap_err();
        assert!(matches!(error, ChainError::Dump { .. }), "{name}: {error}");
        assert_eq!(chain.head().hash(), before, "{name}");
    }
    let other = ChainDump { format: 2, ..honest };
    assert!(ChainDump::from_json(&other.to_json()).unwrap_err().to_string().contains("format 2"));
    assert!(ChainDump::from_json(b"{").is_err());
}
