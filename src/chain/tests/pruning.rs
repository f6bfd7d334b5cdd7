//! What a durable store gives back: reverted blocks, replaced states, what a smaller retention drops.

use core::ops::ControlFlow;
use std::sync::Arc;

use alloy_primitives::{Address, U256};

use super::{fixture::*, reopening::on};
use crate::{
    chain::{Chain, Intervention, ReadError, Retention},
    primitives::{Height, ether},
    store::{
        KeyValue, Order, Table,
        testing::{FailingStore, MemoryDisk, WriteFault},
    },
};

const BOB: Address = Address::repeat_byte(0xb0);

/// Number of records in each table.
fn records(store: &dyn KeyValue) -> Vec<(Table, usize)> {
    let count = |table| {
        let mut count = 0;
        let mut add = |_: &[u8], _: &[u8]| {
            count += 1;
            ControlFlow::Continue(())
        };
        store.scan(table, b"", Order::Ascending, &mut add).unwrap();
        (table, count)
    };
    Table::ALL.map(count).to_vec()
}

/// Extends a chain by final blocks of a transfer each.
fn extend_finally(chain: &mut Chain, count: u64, value: u64) {
    for _ in 0..count {
        let nonce = chain.latest_state().unwrap().account(&key(0).address()).unwrap().unwrap().nonce;
        extend(chain, vec![transfer(0, nonce, BOB, value)]);
        chain.set_finality(chain.head().hash(), chain.head().hash()).unwrap();
    }
}

#[test]
fn reverted_blocks_and_their_states_are_given_back() {
    let disk = Arc::new(MemoryDisk::new());
    let mut chain = on(disk.clone()).open().unwrap();
    extend_finally(&mut chain, 3, 1);
    let base = chain.clone();
    let mut grown = Vec::new();
    for round in 0..6 {
        extend_finally(&mut chain, 20, 100 + round);
        chain.restore(&base).unwrap();
        // Two blocks work the list off, and are reverted themselves.
        for value in 0..4 {
            extend(&mut chain, vec![transfer(0, 3, BOB, 1_000 + round * 10 + value)]);
            chain.restore(&base).unwrap();
        }
        grown.push(records(&*disk));
    }
    assert_eq!(grown[1], grown[5], "the store grows with every revert");
    let blocks = grown[5].iter().find(|(table, _)| *table == Table::Blocks).unwrap().1;
    assert!(blocks <= 4 + 4, "{blocks} blocks");
    assert!(chain.context.garbage.len() <= 4);

    // What a process leaves is worked off by the next one.
    extend_finally(&mut chain, 100, 7);
    chain.restore(&base).unwrap();
    drop((chain, base));
    let mut chain = on(disk.clone()).open().unwrap();
    assert_eq!(chain.context.garbage.len(), 100);
    extend_finally(&mut chain, 4, 8);
    assert_eq!(chain.context.garbage.len(), 0);
    let blocks = records(&*disk).iter().find(|(table, _)| *table == Table::Blocks).unwrap().1;
    assert_eq!(blocks, 8);
    assert_eq!(balance(&chain, chain.head(), BOB), U256::from(3 + 4 * 8));
}

#[test]
fn what_a_clone_reads_stays_until_it_is_dropped() {
    let disk = Arc::new(MemoryDisk::new());
    let mut chain = on(disk.clone()).open().unwrap();
    let base = chain.clone();
    extend_finally(&mut chain, 300, 1);
    // More than the window in memory.
    let reader = chain.clone();
    let old = chain.block_at(Height::new(7)).unwrap().hash();
    chain.restore(&base).unwrap();
    extend_finally(&mut chain, 20, 2);
    assert!(chain.contains(old));
    assert_eq!(balance(&reader, reader.head(), BOB), U256::from(300));
    assert_eq!(reader.block(old).unwrap().height().get(), 7);
    // By height it answers its own block or none, never one of the other branch.
    let other = chain.hash_at(Height::new(7)).unwrap();
    match reader.hash_at(Height::new(7)) {
        Ok(hash) => assert_eq!(hash, old, "not {other}"),
        Err(error) => assert!(matches!(error, ReadError::Pruned { what: "block", .. }), "{error}"),
    }
    // It can be gone back to, wholly.
    chain.restore(&reader).unwrap();
    assert_eq!(chain.hash_at(Height::new(7)).unwrap(), old);
    assert_eq!(balance(&chain, chain.head(), BOB), U256::from(300));
    let reopened = on(disk.crashed()).open().unwrap();
    assert_eq!((reopened.head().height().get(), reopened.hash_at(Height::new(7)).unwrap()), (300, old));

    chain.restore(&base).unwrap();
    drop(reader);
    extend_finally(&mut chain, 20, 3);
    assert!(!chain.contains(old), "nothing reads it any more");
    assert_eq!(balance(&chain, chain.head(), BOB), U256::from(60));
}

#[test]
fn a_reverted_block_can_be_made_again() {
    let disk = Arc::new(MemoryDisk::new());
    let mut chain = on(disk.clone()).open().unwrap();
    let base = chain.clone();
    let block = extend(&mut chain, vec![transfer(0, 0, BOB, 5)]).new.block().clone();
    for deletes_first in [false, true] {
        chain.restore(&base).unwrap();
        if deletes_first {
            extend_finally(&mut chain, 3, 9);
            chain.restore(&base).unwrap();
            assert!(!chain.contains(block.hash()));
        }
        chain.insert(block.clone()).unwrap();
        chain.set_head(block.hash()).unwrap();
        extend(&mut chain, vec![transfer(0, 1, BOB, 1)]);
        extend(&mut chain, vec![]);
        assert_eq!(balance(&chain, chain.head(), BOB), U256::from(6));
        let reopened = on(disk.crashed()).open().unwrap();
        assert_eq!(balance(&reopened, reopened.head(), BOB), U256::from(6));
        assert_eq!(reopened.block_at(Height::new(1)).unwrap().block().hash(), block.hash());
    }
}

#[test]
fn a_block_on_reverted_ones_keeps_them() {
    let disk = Arc::new(MemoryDisk::new());
    let mut chain = on(disk.clone()).open().unwrap();
    let base = chain.clone();
    for (is_empty, value) in [(false, 7), (true, 8)] {
        let transfers = |nonce| if is_empty { Vec::new() } else { vec![transfer(0, nonce, BOB, 1)] };
        let reverted: Vec<_> = (0..3).map(|nonce| extend(&mut chain, transfers(nonce)).new.hash()).collect();
        chain.restore(&base).unwrap();
        let child = build_on(&chain, reverted[2], 1_000, transfers(3)).block;
        chain.insert(Arc::new(child.clone())).unwrap();
        // It is collected with a head change.
        extend(&mut chain, vec![transfer(0, 0, BOB, value)]);
        extend(&mut chain, vec![transfer(0, 1, BOB, value)]);
        assert!(reverted.iter().all(|hash| chain.contains(*hash)));
        let change = chain.set_head(child.hash()).unwrap();
        assert_eq!(change.applied.len(), 4);
        assert_eq!(balance(&chain, chain.head(), BOB), U256::from(if is_empty { 0 } else { 4 }));
        chain.restore(&base).unwrap();
    }
    // Once another branch is irreversible they are given back.
    extend_finally(&mut chain, 8, 9);
    assert_eq!(chain.context.garbage.len(), 0);
    let blocks = records(&*disk).iter().find(|(table, _)| *table == Table::Blocks).unwrap().1;
    assert_eq!(blocks, 1 + 8);
}

#[test]
fn a_replaced_state_is_given_back_unless_a_snapshot_has_it() {
    let disk = Arc::new(MemoryDisk::new());
    let mut chain = on(disk.clone()).open().unwrap();
    let set = |chain: &mut Chain, balance: u64| {
        chain.intervene(Intervention::Balance { address: BOB, balance: ether(balance) }).unwrap();
    };
    let state = || {
        let records = records(&*disk);
        records
            .iter()
            .filter(|(table, _)| matches!(table, Table::StateNodes | Table::StateCommits))
            .map(|(_, n)| n)
            .sum()
    };
    set(&mut chain, 1);
    set(&mut chain, 2);
    let few: usize = state();
    let snapshot = chain.clone();
    (0..300).for_each(|round| set(&mut chain, round));
    let many: usize = state();
    assert!(many <= few + 16, "{few} records, then {many}");
    chain.restore(&snapshot).unwrap();
    assert_eq!(chain.latest_state().unwrap().account(&BOB).unwrap().unwrap().balance, ether(2));
    drop(snapshot);
    set(&mut chain, 3);
    extend(&mut chain, vec![]);
    extend(&mut chain, vec![]);
    extend(&mut chain, vec![]);
    assert_eq!(balance(&chain, chain.head(), BOB), ether(3));
    assert_eq!(chain.context.garbage.len(), 0);
    let reopened = on(disk.crashed()).open().unwrap();
    assert_eq!(balance(&reopened, reopened.head(), BOB), ether(3));
}

#[test]
fn a_snapshot_holds_its_state_under_retention() {
    let disk = Arc::new(MemoryDisk::new());
    let mut chain = on(disk.clone()).with_retention(Retention::new(Some(2), None)).open().unwrap();
    extend_finally(&mut chain, 5, 1);
    extend(&mut chain, vec![]);
    let snapshot = chain.clone();
    extend(&mut chain, vec![]);
    extend_finally(&mut chain, 30, 1);
    let of_five = chain.hash_at(Height::new(3)).unwrap();
    assert!(matches!(chain.state_of(of_five), Err(ReadError::Pruned { what: "state", .. })));
    chain.restore(&snapshot).unwrap();
    assert_eq!(balance(&chain, chain.head(), BOB), U256::from(5));
    extend_finally(&mut chain, 30, 1);
    let reopened = on(disk.crashed()).open().unwrap();
    assert_eq!(balance(&reopened, reopened.head(), BOB), U256::from(35));
    // Without the snapshot its state goes, too.
    let (hash, height) = (snapshot.head().hash(), snapshot.head().height());
    drop(snapshot);
    extend_finally(&mut chain, 4, 1);
    assert_eq!(chain.hash_at(height).unwrap(), hash);
    assert!(matches!(chain.state_of(hash), Err(ReadError::Pruned { what: "state", .. })));
}

#[test]
fn a_snapshot_below_pruned_blocks_is_restored_or_refused_wholly() {
    let disk = Arc::new(MemoryDisk::new());
    let mut chain = on(disk.clone()).with_retention(Retention::new(Some(2), Some(4))).open().unwrap();
    extend_finally(&mut chain, 5, 1);
    let snapshot = chain.clone();
    extend_finally(&mut chain, 400, 1);
    let change = chain.restore(&snapshot).unwrap();
    assert!(change.reverted.len() >= 4 && change.applied.is_empty());
    assert_eq!((chain.head().height().get(), balance(&chain, chain.head(), BOB)), (5, U256::from(5)));
    extend_finally(&mut chain, 10, 1);
    let reopened = on(disk.crashed()).open().unwrap();
    assert_eq!((reopened.head().height().get(), balance(&reopened, reopened.head(), BOB)), (15, U256::from(15)));
    let blocks = records(&*disk).iter().find(|(table, _)| *table == Table::Canonical).unwrap().1;
    assert!(blocks <= 8, "{blocks} canonical blocks");
}

#[test]
fn a_smaller_retention_prunes_what_was_there_in_steps() {
    let disk = Arc::new(MemoryDisk::new());
    let mut chain = on(disk.clone()).open().unwrap();
    extend_finally(&mut chain, 300, 1);
    drop(chain);
    let retention = Retention::new(Some(5), Some(10));
    let mut chain = on(disk.clone()).with_retention(retention).open().unwrap();
    let before = records(&*disk);
    extend_finally(&mut chain, 1, 1);
    let count = |records: &[(Table, usize)], of| records.iter().find(|(table, _)| *table == of).unwrap().1;
    let after = records(&*disk);
    assert!(count(&after, Table::Blocks) > count(&before, Table::Blocks) - 100, "a step is bounded");
    extend_finally(&mut chain, 6, 1);
    let after = records(&*disk);
    assert!(count(&after, Table::Blocks) <= 14, "{after:?}");
    assert!(count(&after, Table::StateCommits) < count(&before, Table::StateCommits) / 10, "{after:?}");
    assert_eq!(balance(&chain, chain.head(), BOB), U256::from(307));
    let oldest = chain.oldest_block();
    drop(chain);

    // Opened with all again, it knows what is gone.
    let chain = on(disk.clone()).open().unwrap();
    assert_eq!(chain.oldest_block(), oldest);
    assert!(chain.block_at(oldest).is_ok());
    let below = chain.block_at(oldest.parent().unwrap()).unwrap_err();
    assert!(matches!(below, ReadError::Pruned { what: "block", oldest: named, .. } if named == oldest), "{below}");
}

#[test]
fn failed_writes_lose_nothing_that_is_needed() {
    for period in 2..=5 {
        let disk = Arc::new(MemoryDisk::new());
        drop(on(disk.clone()).open().unwrap());
        let failing = Arc::new(FailingStore::new(disk.clone()).with_fault(WriteFault::every(period)));
        let open =
            |store: Arc<dyn KeyValue>| on(store).with_retention(Retention::new(Some(3), Some(6))).open().unwrap();
        let mut chain = open(failing);
        let mut snapshots = vec![chain.clone()];
        for round in 0..120_u64 {
            let _ = chain.intervene(Intervention::Balance { address: BOB, balance: U256::from(round) });
            let nonce = chain.latest_state().unwrap().account(&key(0).address()).unwrap().unwrap().nonce;
            let timestamp = chain.head().block().header().timestamp + 1 + round;
            let built = build_on(&chain, chain.head().hash(), timestamp, vec![transfer(0, nonce, BOB, 1)]).block;
            chain.insert(Arc::new(built.clone())).unwrap();
            let _ = chain.set_head(built.hash());
            let head = chain.head().hash();
            let _ = chain.set_finality(head, head);
            match round % 7 {
                2 => snapshots.push(chain.clone()),
                5 => {
                    let snapshot = snapshots[snapshots.len() - 1].clone();
                    let _ = chain.restore(&snapshot);
                }
                6 if snapshots.len() > 3 => drop(snapshots.pop()),
                _ => {}
            }
            let reopened = open(disk.crashed());
            assert_eq!(reopened.head().hash(), chain.head().hash(), "period {period}, round {round}");
            let state = reopened.latest_state().unwrap();
            assert!(state.account(&key(0).address()).unwrap().is_some());
            let mut accounts = 0;
            let mut count = |_, _| {
                accounts += 1;
                ControlFlow::Continue(())
            };
            state.for_each_account(&mut count).unwrap();
            assert!(accounts >= 3);
        }
    }
}
