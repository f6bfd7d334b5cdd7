//! Dumps: deterministic bytes, loaded without executing, rejected when inconsistent.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Log, U256};

use super::{fixture::*, reopening::on};
use crate::{
    chain::{
        Block, Chain, ChainDump, GenesisSpec, Intervention, LoadError, ReadError, Receipt,
        receipt::{decode_receipts, encode_receipts},
        transactions_root,
    },
    primitives::{Gas, Height, Transaction, TransactionRequest, ether},
    store::testing::MemoryDisk,
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
    assert!(matches!(early, ReadError::Pruned { what: "state", .. }), "{early}");
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

/// An earlier dump brings a block without its state; another ends in it, above, at or below the head.
#[test]
fn a_dump_that_ends_in_a_block_without_a_state_brings_the_state() {
    let mut origin = chain();
    let dumps: Vec<_> = (0..4)
        .map(|nonce| {
            extend(&mut origin, vec![transfer(0, nonce, BOB, 1)]);
            origin.dump().unwrap()
        })
        .collect();
    for end in 0..dumps.len() {
        let disk = Arc::new(MemoryDisk::new());
        let mut loaded = on(disk.clone()).open().unwrap();
        loaded.load(&dumps[2]).unwrap();
        loaded.load(&dumps[end]).unwrap();
        extend(&mut loaded, vec![transfer(1, 0, BOB, 10)]);
        let head = extend(&mut loaded, vec![transfer(1, 1, BOB, 10)]).new;
        loaded.load(&dumps[end]).unwrap();
        loaded.set_head(head.block().parent_hash()).unwrap();
        for chain in [&loaded, &on(disk.crashed()).open().unwrap()] {
            let dumped = chain.hash_at(Height::new(end as u64 + 1)).unwrap();
            assert_eq!(dumped, dumps[end].head);
            let bob = chain.state_of(dumped).unwrap().account(&BOB).unwrap().unwrap().balance;
            assert_eq!(bob, U256::from(end + 1));
            assert_eq!(balance(chain, chain.head(), BOB), U256::from(end + 11));
        }
    }
}

/// A block that a dump brought without its state is made again: it is executed.
#[test]
fn a_block_without_a_state_that_is_inserted_again_gets_one() {
    let mut origin = chain();
    let first = extend(&mut origin, vec![transfer(0, 0, BOB, 1)]).new;
    extend(&mut origin, vec![]);
    let disk = Arc::new(MemoryDisk::new());
    let mut loaded = on(disk.clone()).open().unwrap();
    let empty = loaded.dump().unwrap();
    loaded.load(&origin.dump().unwrap()).unwrap();
    loaded.load(&empty).unwrap();
    loaded.insert(first.block().clone()).unwrap();
    loaded.set_head(first.hash()).unwrap();
    extend(&mut loaded, vec![transfer(0, 1, BOB, 1)]);
    for chain in [&loaded, &on(disk.crashed()).open().unwrap()] {
        assert_eq!(balance(chain, &chain.block(first.hash()).unwrap(), BOB), U256::from(1));
        assert_eq!(balance(chain, chain.head(), BOB), U256::from(2));
    }
}

/// The head of a dump may have the state of genesis; when it is reverted, genesis keeps it.
#[test]
fn a_loaded_block_with_the_state_of_genesis_does_not_take_it_along() {
    let mut origin = chain();
    extend(&mut origin, vec![]);
    extend(&mut origin, vec![]);
    let disk = Arc::new(MemoryDisk::new());
    let mut loaded = on(disk.clone()).open().unwrap();
    let empty = loaded.dump().unwrap();
    for value in 1..4_u64 {
        loaded.load(&origin.dump().unwrap()).unwrap();
        loaded.load(&empty).unwrap();
        drop(loaded);
        loaded = on(disk.clone()).open().unwrap();
        extend(&mut loaded, vec![transfer(0, 0, BOB, value)]);
        extend(&mut loaded, vec![]);
        extend(&mut loaded, vec![]);
        assert_eq!(balance(&loaded, &loaded.genesis().clone(), key(0).address()), ether(100));
        loaded.load(&empty).unwrap();
        extend(&mut loaded, vec![]);
    }
}

/// Returns the first block's receipts with one of them changed.
fn with_receipt(dump: &ChainDump, change: impl FnOnce(&mut Receipt)) -> ChainDump {
    let mut dump = dump.clone();
    let mut receipts = decode_receipts(&dump.blocks[0].receipts).unwrap();
    change(&mut receipts[0]);
    dump.blocks[0].receipts = encode_receipts(&receipts).into();
    dump
}

/// Returns the dump with its first block rebuilt of changed parts, and all hashes made to fit.
fn with_first_block(dump: &ChainDump, change: impl FnOnce(&mut Header, &mut Vec<Arc<Transaction>>)) -> ChainDump {
    let mut dump = dump.clone();
    let mut change = Some(change);
    let mut parent = dump.genesis_hash;
    for dumped in &mut dump.blocks {
        let old = Block::decode_stored(&dumped.block).unwrap();
        let (mut header, mut transactions) = (old.header().clone(), old.transactions().to_vec());
        header.parent_hash = parent;
        if let Some(change) = change.take() {
            change(&mut header, &mut transactions);
        }
        let block = Block::new(header, transactions, old.payload().clone(), old.interventions().to_vec());
        parent = block.hash();
        dumped.block = block.encode_stored().into();
    }
    (dump.head, dump.safe, dump.finalized) = (parent, parent, dump.genesis_hash);
    dump
}

#[test]
fn what_can_be_checked_without_execution_is_checked() {
    let honest = grown().dump().unwrap();
    chain().load(&with_first_block(&honest, |_, _| ())).expect("the same blocks");
    let other_sender = |transactions: &mut Vec<Arc<Transaction>>| {
        let raw = transactions[0].encoded();
        transactions[0] = Arc::new(Transaction::decode_stored(&raw, BOB).unwrap());
    };
    let impersonated = |header: &mut Header, transactions: &mut Vec<Arc<Transaction>>| {
        transactions[0] = Arc::new(request(0, BOB, 7).impersonate(key(0).address()).unwrap());
        header.transactions_root = transactions_root(transactions);
    };
    let forged = [
        ("sender", with_first_block(&honest, |_, transactions| other_sender(transactions))),
        ("transactions root", with_first_block(&honest, |_, transactions| transactions.clear())),
        ("gas used", with_first_block(&honest, |header, _| header.gas_used += 1)),
        ("receipts root", with_first_block(&honest, |header, _| header.receipts_root = B256::ZERO)),
        ("bloom", with_first_block(&honest, |header, _| header.logs_bloom = [1; 256].into())),
        ("number", with_first_block(&honest, |header, _| header.number += 1)),
        ("base fee", with_first_block(&honest, |header, _| header.base_fee_per_gas = Some(1))),
        ("ommers", with_first_block(&honest, |header, _| header.ommers_hash = B256::ZERO)),
        ("gas limit", with_first_block(&honest, |header, _| header.gas_limit *= 2)),
        ("status", with_receipt(&honest, |receipt| receipt.inner.status = false.into())),
        ("log", with_receipt(&honest, |receipt| receipt.inner.logs.push(Log::default()))),
        ("gas of a receipt", with_receipt(&honest, |receipt| receipt.gas_used = Gas::ZERO)),
        ("cumulative gas", with_receipt(&honest, |receipt| receipt.inner.cumulative_gas_used += 1)),
        ("price", with_receipt(&honest, |receipt| receipt.effective_gas_price += 1)),
        ("contract", with_receipt(&honest, |receipt| receipt.contract_address = Some(BOB))),
        ("log index", with_receipt(&honest, |receipt| receipt.first_log_index = 1)),
        ("type", with_receipt(&honest, |receipt| receipt.ty = 1)),
    ];
    for (name, dump) in forged {
        let mut chain = chain();
        let error = chain.load(&dump).expect_err(name);
        assert!(matches!(error, LoadError::Dump { .. }), "{name}: {error}");
        assert_eq!(chain.head().hash(), chain.genesis().hash(), "{name}");
    }
    // A development chain takes the record of an impersonated transaction, and says so; another refuses it.
    let summary = chain().load(&with_first_block(&honest, impersonated)).unwrap();
    assert_eq!((summary.blocks, summary.transactions, summary.impersonated), (3, 2, 1));
    let strict = GenesisSpec { allow_interventions: false, ..spec() };
    let mut chain = builder_of(strict).open().unwrap();
    extend(&mut chain, vec![transfer(0, 0, BOB, 7)]);
    let honest = chain.dump().unwrap();
    let error = chain.load(&with_first_block(&honest, impersonated)).unwrap_err();
    assert!(error.to_string().contains("unsigned"), "{error}");
    let mut pending = honest;
    pending.interventions = alloy_rlp::encode(vec![Intervention::Balance { address: BOB, balance: ether(3) }]).into();
    let error = chain.load(&pending).unwrap_err();
    assert!(error.to_string().contains("interventions"), "{error}");
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
        assert!(matches!(error, LoadError::Dump { .. }), "{name}: {error}");
        assert_eq!(chain.head().hash(), before, "{name}");
    }
    let other = ChainDump { format: 1, ..honest };
    assert!(ChainDump::from_json(&other.to_json()).unwrap_err().to_string().contains("format 1"));
    assert!(ChainDump::from_json(b"{").is_err());
}
