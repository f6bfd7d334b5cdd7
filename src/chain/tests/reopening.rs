//! Durable chains: reopening, failing writes, retention.

use core::ops::ControlFlow;
use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};

use super::fixture::*;
use crate::{
    chain::{Chain, ChainBuilder, GenesisSpec, HeadError, Intervention, OpenError, ReadError, Retention},
    primitives::{Height, ether},
    state::{PagedState, StateView},
    store::{
        KeyValue, MemoryStore,
        testing::{FailingStore, MemoryDisk, WriteFault},
    },
};

const BOB: Address = Address::repeat_byte(0xb0);

pub(super) fn on(store: Arc<dyn KeyValue>) -> ChainBuilder {
    Chain::builder(spec(), Arc::new(PagedState::open(store.clone()).unwrap()), store)
}

/// The root of a new state with the same leaves.
fn rebuilt_root(state: &dyn StateView) -> B256 {
    let mut spec = GenesisSpec::new(1);
    state
        .for_each_account(&mut |address, account| {
            let entry = spec.accounts.entry(address).or_default();
            (entry.balance, entry.nonce) = (account.balance, account.nonce);
            ControlFlow::Continue(())
        })
        .unwrap();
    builder_of(spec).open().unwrap().head().commit().root
}

/// The blocks of the branch are canonical in between, so that restoring the snapshot reverts them.
#[test]
fn a_branch_that_a_snapshot_has_outlives_its_restoration() {
    let disk = Arc::new(MemoryDisk::new());
    let mut chain = on(disk.clone()).open().unwrap();
    let genesis = chain.genesis().hash();
    let branch: Vec<B256> =
        (0..2).map(|nonce| extend(&mut chain, vec![transfer(0, nonce, BOB, 1)]).new.hash()).collect();
    let other = build_on(&chain, genesis, 7, vec![]).block;
    adopt(&mut chain, other);
    let snapshot = chain.clone();
    chain.set_head(branch[1]).unwrap();
    let reverted = extend(&mut chain, vec![]).new.hash();
    chain.restore(&snapshot).unwrap();
    let head = chain.head().hash();
    chain.set_head(head).unwrap();
    chain.set_head(branch[0]).unwrap();
    let mut chain = on(disk.crashed()).open().unwrap();
    assert_eq!(chain.head().hash(), branch[0]);
    chain.set_head(branch[1]).unwrap();
    assert_eq!(balance(&chain, chain.head(), BOB), U256::from(2));
    assert!(!chain.contains(reverted), "the snapshot did not have it");
}

#[test]
fn reopening_restores_everything() {
    let disk = Arc::new(MemoryDisk::new());
    let mut chain = on(disk.clone()).open().unwrap();
    let transactions: Vec<_> = (0..300).map(|nonce| transfer(0, nonce, BOB, 1)).collect();
    for transaction in &transactions {
        extend(&mut chain, vec![transaction.clone()]);
        extend(&mut chain, vec![]);
    }
    let final_block = chain.hash_at(Height::new(590)).unwrap();
    chain.set_finality(chain.hash_at(Height::new(595)).unwrap(), final_block).unwrap();
    chain.intervene(Intervention::Balance { address: BOB, balance: ether(1) }).unwrap();
    chain.intervene(Intervention::Nonce { address: BOB, nonce: 2 }).unwrap();
    let before = chain.clone();
    drop(chain);

    let mut chain = on(disk.crashed()).open().unwrap();
    assert_eq!(chain.head().hash(), before.head().hash());
    assert_eq!((chain.safe().height().get(), chain.finalized().height().get()), (595, 590));
    assert_eq!(chain.pending_interventions().count(), 2);
    assert_eq!(chain.latest_state().unwrap().account(&BOB).unwrap().unwrap().nonce, 2);
    for height in [1, 2, 77, 300, 599, 600] {
        let block = chain.block_at(Height::new(height)).unwrap();
        let known = before.block_at(Height::new(height)).unwrap();
        assert_eq!((block.block(), block.receipts()), (known.block(), known.receipts()));
        assert_eq!(balance(&chain, &block, BOB), U256::from(height.div_ceil(2)));
    }
    let place = chain.transaction(transactions[10].hash()).unwrap().unwrap();
    assert_eq!((place.block.height().get(), place.index), (21, 0));
    let receipt = chain.receipt(transactions[10].hash()).unwrap().unwrap();
    assert_eq!(receipt, before.block_at(Height::new(21)).unwrap().receipts()[0]);
    let change = extend(&mut chain, vec![transfer(0, 300, BOB, 1)]);
    assert_eq!(change.new.block().interventions().len(), 2);
    assert_eq!(balance(&chain, chain.head(), BOB), ether(1) + U256::from(1));
    assert!(matches!(chain.set_head(final_block), Ok(change) if change.reverted.len() == 11));
}

#[test]
fn a_reorg_and_a_snapshot_are_durable_too() {
    let disk = Arc::new(MemoryDisk::new());
    let mut chain = on(disk.clone()).open().unwrap();
    let snapshot = chain.clone();
    let (left, right) = (transfer(0, 0, BOB, 1), transfer(0, 0, BOB, 2));
    let first = extend(&mut chain, vec![left.clone()]).new;
    let side = build_on(&chain, chain.genesis().hash(), 9, vec![right.clone()]).block;
    adopt(&mut chain, side.clone());
    let reopened = on(disk.crashed()).open().unwrap();
    assert_eq!(reopened.head().hash(), side.hash());
    assert!(reopened.transaction(left.hash()).unwrap().is_none());
    assert!(reopened.transaction(right.hash()).unwrap().is_some());
    assert!(reopened.contains(first.hash()) && !reopened.is_canonical(first.hash()));
    chain.restore(&snapshot).unwrap();
    let mut reopened = on(disk.crashed()).open().unwrap();
    assert_eq!(reopened.head().hash(), chain.genesis().hash());
    assert!(reopened.transaction(right.hash()).unwrap().is_none());
    assert!(matches!(reopened.block_at(Height::new(1)), Err(ReadError::UnknownHeight { .. })));
    reopened.set_head(first.hash()).unwrap();
    assert_eq!(balance(&reopened, reopened.head(), BOB), U256::from(1));
}

#[test]
fn advisory_finality_falls_back_also_after_reopening() {
    let disk = Arc::new(MemoryDisk::new());
    let mut chain = on(disk.clone()).open().unwrap();
    let heads: Vec<_> = (0..4).map(|_| extend(&mut chain, vec![]).new.hash()).collect();
    chain.set_advisory_finality(heads[3], heads[2], Height::new(1)).unwrap();
    let mut reopened = on(disk.crashed()).open().unwrap();
    for chain in [&mut chain, &mut reopened] {
        let side = build_on(chain, heads[0], 50, vec![]).block;
        let change = adopt(chain, side);
        assert_eq!((change.reverted.len(), chain.safe().hash(), chain.finalized().hash()), (3, heads[0], heads[0]));
        let below = build_on(chain, chain.genesis().hash(), 60, vec![]).block;
        chain.insert(Arc::new(below.clone())).unwrap();
        assert!(matches!(chain.set_head(below.hash()), Err(HeadError::BelowFinality { .. })));
    }
}

#[test]
fn a_failed_write_leaves_everything_as_before() {
    for period in 1..=5 {
        let disk = Arc::new(MemoryDisk::new());
        drop(on(disk.clone()).open().unwrap());
        let failing = Arc::new(FailingStore::new(disk.clone()).with_fault(WriteFault::every(period)));
        let mut chain = on(failing).open().unwrap();
        let (mut failures, mut nonce) = (0, 0);
        for round in 0..40 {
            let before = chain.head().hash();
            let built = build_on(&chain, before, round, vec![transfer(0, nonce, BOB, 1)]);
            let hash = built.block.hash();
            chain.insert(Arc::new(built.block)).unwrap();
            let moved = chain.set_head(hash).map(drop);
            assert_eq!(chain.head().hash(), if moved.is_ok() { hash } else { before });
            nonce += u64::from(moved.is_ok());
            for result in [moved, chain.set_finality(chain.head().hash(), chain.head().hash())] {
                match result {
                    Ok(()) => {}
                    Err(HeadError::Write(_)) => failures += 1,
                    Err(other) => panic!("{other}"),
                }
            }
            let acknowledged = chain.head().hash();
            let reopened = on(disk.crashed()).open().unwrap();
            assert_eq!(reopened.head().hash(), acknowledged, "period {period}, round {round}");
            let state = reopened.latest_state().unwrap();
            assert_eq!(rebuilt_root(&*state), reopened.head().block().header().state_root);
            assert_eq!(balance(&chain, chain.head(), BOB), U256::from(nonce));
        }
        assert!(failures > 0);
        assert_eq!(nonce == 0, period == 1);
    }
}

#[test]
fn another_chain_is_refused_and_the_specification_is_kept() {
    let disk = Arc::new(MemoryDisk::new());
    drop(on(disk.clone()).open().unwrap());
    let stored = Chain::stored_spec(&*disk).unwrap().unwrap();
    assert_eq!((stored.chain_id, stored.accounts.len()), (CHAIN_ID, 0));
    let open = |spec| {
        let store = disk.crashed();
        Chain::builder(spec, Arc::new(PagedState::open(store.clone()).unwrap()), store).open()
    };
    assert_eq!(open(stored.clone()).unwrap().head().hash(), on(disk.clone()).open().unwrap().head().hash());
    let refused = open(GenesisSpec { gas_limit: gas(6_000), ..stored.clone() }).unwrap_err();
    assert!(matches!(refused, OpenError::OtherGenesis { .. }));
    let refused = open(GenesisSpec { chain_id: CHAIN_ID + 1, ..stored.clone() }).unwrap_err();
    assert!(matches!(refused, OpenError::OtherChainId { got: CHAIN_ID, .. }));
    assert!(Chain::stored_spec(&MemoryStore::new()).unwrap().is_none());
}

#[test]
fn retention_prunes_the_store() {
    let disk = Arc::new(MemoryDisk::new());
    let retention = Retention::new(Some(2), Some(4));
    let mut chain = on(disk.clone()).with_retention(retention).open().unwrap();
    for nonce in 0..20 {
        extend(&mut chain, vec![transfer(0, nonce, BOB, 1)]);
        chain.set_finality(chain.head().hash(), chain.head().hash()).unwrap();
    }
    let reopened = on(disk.crashed()).with_retention(retention).open().unwrap();
    for chain in [&chain, &reopened] {
        let oldest = |error: ReadError| match error {
            ReadError::Pruned { what, oldest, .. } => (what, oldest.get()),
            other => panic!("{other}"),
        };
        assert_eq!(oldest(chain.block_at(Height::new(15)).unwrap_err()), ("block", 16));
        let state_at = |height| chain.state_of(chain.hash_at(Height::new(height)).unwrap());
        assert_eq!(oldest(state_at(16).unwrap_err()), ("state", 18));
        assert!(state_at(18).is_ok() && state_at(0).is_ok());
    }
}
