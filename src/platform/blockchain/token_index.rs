//! Index of a chain's tokens: their transfers in order, and who has how many.
//!
//! Templates tell every change of a balance by an event, so that balances are what transfers add up to. The rows of a contract are
//!
//! | row | value |
//! |---|---|
//! | transfer, by its number | the transfer |
//! | balance, by account and id | the balance |
//! | order of balances, by balance, account and id | none |
//! | counts | the number of transfers, and of balances |
//!
//! and one row names the block up to which all are. A page of transfers costs what is on it; a page of holders what is on it and on the
//! pages before it; neither what the token went through.
//!
//! In a durable store a hook writes a block's rows in the block's own batch, and takes those of a block that leaves the chain back, which
//! its transfers say. A chain that was made without the index gets it when it is opened. Without a durable store the rows are in memory,
//! and are brought to the head by who reads them.

mod events;
mod rows;

use core::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use alloy_primitives::{Address, B256, U256};

use self::rows::{
    BALANCES, BY_BALANCE, Changes, Counts, NEWEST, PREFIX, TRANSFERS, holder, read_transfer, transfer_key,
};
use crate::{
    chain::{CommitHook, HeadChange},
    node::{BlockRef, Node, NodeView, QueryError},
    platform::PlatformError,
    primitives::{Height, Timestamp},
    store::{Batch, KeyValue, MemoryStore, Order, StoreError, Table},
};

/// Blocks whose rows are written at once while the index is brought to the head.
const BLOCKS_AT_ONCE: u64 = 1_000;

/// Tokens that went from one account to another; the zero address makes and destroys them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenTransfer {
    /// Whose they were.
    pub from: Address,
    /// Whose they are.
    pub to: Address,
    /// Id of the token; `None` of a fungible one.
    pub token_id: Option<U256>,
    /// How many, in the smallest unit.
    pub amount: U256,
    /// Height of the block.
    pub height: Height,
    /// Time of the block.
    pub timestamp: Timestamp,
    /// Hash of the transaction.
    pub transaction_hash: B256,
    /// Index of the event among the block's.
    pub log_index: u32,
}

/// What an account has of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The account.
    pub address: Address,
    /// Id of the token, of an ERC-1155 contract; `None` of the others.
    pub token_id: Option<U256>,
    /// How many, in the smallest unit; of an ERC-721 token how many ids.
    pub balance: U256,
}

/// By what holders are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HolderOrder {
    /// By address, then id.
    Address,
    /// By balance, then address and id.
    Balance,
}

/// Part of a sorted list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListWindow {
    /// Items before it.
    pub skipped: u64,
    /// Items in it, at most.
    pub limit: u64,
    /// The list from its end on, or from its start.
    pub order: Order,
}

/// The index of a chain's tokens.
#[derive(Debug)]
pub(in crate::platform) struct TokenIndex {
    rows: Arc<dyn KeyValue>,
    /// Whether a hook keeps it at the head.
    is_hook: bool,
    /// What came of bringing the rows of a chain with a hook to the head, when it was opened.
    opened: OnceLock<Result<(), PlatformError>>,
    /// Held by who brings rows in memory to the head, and reads them.
    turn: Mutex<()>,
}

impl TokenIndex {
    /// The index of a chain without a durable store.
    pub(in crate::platform) fn in_memory() -> Self {
        Self { rows: Arc::new(MemoryStore::default()), is_hook: false, opened: OnceLock::new(), turn: Mutex::new(()) }
    }

    /// The index in a chain's part of a durable store. It is a hook of the chain.
    pub(in crate::platform) fn stored(part: Arc<dyn KeyValue>) -> Self {
        Self { rows: part, is_hook: true, ..Self::in_memory() }
    }

    /// Brings stored rows to the head of a chain that was just opened and makes no blocks yet. Where the blocks of a former version are
    /// pruned, reading says so.
    pub(in crate::platform) fn open(&self, node: &Node) {
        if self.is_hook {
            self.opened.get_or_init(|| self.catch_up(node));
        }
    }

    /// Returns a part of the transfers of a contract, oldest first in ascending order, and the number of all.
    pub(in crate::platform) fn transfers(
        &self,
        node: &Node,
        contract: Address,
        window: ListWindow,
    ) -> Result<(Vec<TokenTransfer>, u64), PlatformError> {
        let _turn = self.bring_up(node)?;
        let counts = self.counts(contract)?;
        let ListWindow { skipped, limit, order } = window;
        if skipped >= counts.transfers {
            return Ok((Vec::new(), counts.transfers));
        }
        let first = match order {
            Order::Ascending => skipped,
            Order::Descending => counts.transfers - 1 - skipped,
        };
        let from = transfer_key(contract, first);
        let mut found = Vec::new();
        let mut failed = None;
        let visited = self.rows.scan_from(
            Table::Platform,
            &[TRANSFERS, contract.as_slice()].concat(),
            Some(&from),
            order,
            &mut |_, row| {
                if found.len() as u64 >= limit {
                    return ControlFlow::Break(());
                }
                match read_transfer(row) {
                    Ok(transfer) => found.push(transfer),
                    Err(cause) => failed = Some(cause),
                }
                if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        visited.map_err(PlatformError::internal)?;
        failed.map_or(Ok(()), |cause| Err(PlatformError::internal(cause)))?;
        Ok((found, counts.transfers))
    }

    /// Returns a part of those who have tokens of a contract, and the number of all.
    pub(in crate::platform) fn holders(
        &self,
        node: &Node,
        contract: Address,
        by: HolderOrder,
        window: ListWindow,
    ) -> Result<(Vec<Holder>, u64), PlatformError> {
        let _turn = self.bring_up(node)?;
        let counts = self.counts(contract)?;
        let ListWindow { skipped, limit, order } = window;
        let table = if by == HolderOrder::Address { BALANCES } else { BY_BALANCE };
        let prefix = [table, contract.as_slice()].concat();
        let (mut place, mut found) = (0, Vec::new());
        if skipped < counts.holders {
            let visited = self.rows.scan(Table::Platform, &prefix, order, &mut |key, value| {
                if place >= skipped {
                    found.extend(holder(by, key.get(prefix.len()..).unwrap_or_default(), value));
                }
                place += 1;
                if found.len() as u64 >= limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            visited.map_err(PlatformError::internal)?;
        }
        Ok((found, counts.holders))
    }

    fn counts(&self, contract: Address) -> Result<Counts, PlatformError> {
        Changes::new(&*self.rows).counts(contract).map_err(PlatformError::internal)
    }

    /// Brings the rows to a node's head before they are read, and keeps them there while the guard lives.
    fn bring_up(&self, node: &Node) -> Result<Option<MutexGuard<'_, ()>>, PlatformError> {
        if self.is_hook {
            return self.opened.get_or_init(|| self.catch_up(node)).clone().map(|()| None);
        }
        // A poisoned lock guards nothing half-done: the rows of a step and its block are one batch.
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.catch_up(node)?;
        Ok(Some(turn))
    }

    fn catch_up(&self, node: &Node) -> Result<(), PlatformError> {
        // No older than that of who had the turn before.
        let view = node.view();
        let head = view.head();
        let newest = self.newest().map_err(PlatformError::internal)?;
        if newest == Some((head.height().get(), head.hash())) {
            return Ok(());
        }
        let block = |height: u64| view.block(BlockRef::Number(Height::new(height))).map_err(PlatformError::from_query);
        let right = match newest {
            Some(newest) => self.step_back(&view, newest)?,
            None => None,
        };
        if right.is_none() {
            self.clear().map_err(PlatformError::internal)?;
        }
        let mut at = right.unwrap_or(0);
        while at < head.height().get() {
            let end = head.height().get().min(at.saturating_add(BLOCKS_AT_ONCE));
            let mut changes = Changes::new(&*self.rows);
            let mut newest = (head.height().get(), head.hash());
            for height in at.saturating_add(1)..=end {
                let block = block(height)?;
                changes.apply(&block).map_err(PlatformError::internal)?;
                newest = (height, block.hash());
            }
            self.rows.write(changes.finish(newest)).map_err(PlatformError::internal)?;
            at = end;
        }
        Ok(())
    }

    /// Takes back the blocks of the index that are not on a view's chain. Returns the height up to which it is right then; `None` where a
    /// block of them is known no more.
    fn step_back(&self, view: &NodeView, newest: (u64, B256)) -> Result<Option<u64>, PlatformError> {
        let of_hash = |hash| match view.block(BlockRef::Hash(hash)) {
            Ok(block) => Ok(Some(block)),
            Err(QueryError::UnknownBlock { .. } | QueryError::Pruned { .. }) => Ok(None),
            Err(cause) => Err(PlatformError::from_query(cause)),
        };
        let is_canonical = |height: u64, hash| match view.block(BlockRef::Number(Height::new(height))) {
            Ok(block) => Ok(block.hash() == hash),
            Err(QueryError::UnknownHeight { .. }) => Ok(false),
            Err(cause) => Err(PlatformError::from_query(cause)),
        };
        let (mut height, mut hash) = newest;
        let mut changes = Changes::new(&*self.rows);
        while !is_canonical(height, hash)? {
            let Some(block) = of_hash(hash)? else { return Ok(None) };
            changes.revert(&block).map_err(PlatformError::internal)?;
            (height, hash) = (height.saturating_sub(1), block.parent_hash());
        }
        self.rows.write(changes.finish((height, hash))).map_err(PlatformError::internal)?;
        Ok(Some(height))
    }

    /// Deletes all rows.
    fn clear(&self) -> Result<(), StoreError> {
        loop {
            let mut batch = Batch::new();
            self.rows.scan(Table::Platform, PREFIX, Order::Ascending, &mut |key, _| {
                batch.delete(Table::Platform, key);
                if batch.writes().len() < 10_000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            if batch.is_empty() {
                return Ok(());
            }
            self.rows.write(batch)?;
        }
    }

    /// Returns the newest block whose rows are there.
    fn newest(&self) -> Result<Option<(u64, B256)>, StoreError> {
        let row = self.rows.get(Table::Platform, NEWEST)?;
        Ok(row.and_then(|row| {
            let (height, hash) = row.split_first_chunk()?;
            Some((u64::from_be_bytes(*height), B256::try_from(hash).ok()?))
        }))
    }
}

impl CommitHook for TokenIndex {
    fn on_head(&self, change: &HeadChange, batch: &mut Batch) -> Result<(), StoreError> {
        let old = (change.old.height().get(), change.old.hash());
        let is_at_old = match self.newest()? {
            Some(newest) => newest == old,
            // Of a new chain.
            None => change.old.height() == Height::GENESIS,
        };
        // What is behind is brought to the head when the chain is opened next.
        if !is_at_old {
            return Ok(());
        }
        let mut changes = Changes::new(&*self.rows);
        change.reverted.iter().try_for_each(|block| changes.revert(block))?;
        change.applied.iter().try_for_each(|block| changes.apply(block))?;
        let newest = (change.new.height().get(), change.new.hash());
        for write in changes.finish(newest).into_writes() {
            match write.value {
                Some(value) => batch.put(write.table, write.key, value),
                None => batch.delete(write.table, write.key),
            }
        }
        Ok(())
    }
}
