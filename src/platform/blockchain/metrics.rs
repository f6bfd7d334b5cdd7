//! The figures of a chain, measured on its blocks.
//!
//! A [`MetricsLog`] has sums for each of the newest blocks: transactions, prices, duties. It is a hook of the chain, which adds a block's
//! sums when the block becomes canonical, in the block's own batch, so that a figure costs what the window's two ends cost, after a
//! restart too. Sums are by block hash: a reorg needs no subtraction, and a failed write does no harm.

mod duty;

use core::ops::ControlFlow;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use alloy_primitives::B256;
use serde::{Deserialize, Serialize};

pub(in crate::platform) use self::duty::DutyRule;
use crate::{
    chain::{CommitHook, ExecutedBlock, HeadChange},
    node::{BlockRef, NodeView, QueryError},
    platform::PlatformError,
    primitives::Height,
    store::{Batch, KeyValue, Order, StoreError, Table},
};

/// Blocks over which rates are measured.
pub(in crate::platform) const WINDOW_BLOCKS: u64 = 100;
/// Heights below the newest noted one whose sums are kept: more than any protocol with all its validators reverts.
const KEPT_HEIGHTS: u64 = 512;
/// Before the keys of sums in the table `Platform` of a chain's part of the store; height (8 bytes, big-endian) and hash follow.
const PREFIX: &[u8] = b"metrics/";

/// Figures of a chain at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChainMetrics {
    /// Height of the newest block.
    pub current_block: u64,
    /// Mean time between the last 100 blocks, genesis excepted, in seconds; 0 with fewer than two blocks.
    pub block_time_secs: f64,
    /// Transactions per second over the last 100 blocks; 0 while their timestamps span no second.
    pub transactions_per_second: f64,
    /// Validators that the protocol counts now.
    pub active_validators: u64,
    /// Transactions in all blocks of the chain.
    pub total_transactions: u64,
    /// Gas used by all blocks of the chain.
    pub total_gas_used: u64,
    /// Mean price per unit of gas that the transactions of the last 100 blocks paid, in wei; without any the next block's base fee.
    pub average_gas_price: u128,
    /// Part of the validators' duties in the last 100 blocks that were done, in percent; `None` before the first duty.
    pub validator_uptime: Option<f64>,
    /// Transactions in the pool.
    pub mempool_size: u64,
}

impl ChainMetrics {
    /// Part of the validators' duties in the last 100 blocks that were done, in percent; 100 before the first duty.
    pub fn uptime_percent(&self) -> f64 {
        self.validator_uptime.unwrap_or(100.0)
    }
}

/// Sums over a chain up to a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sums {
    /// Timestamp of the block, in seconds.
    time: u64,
    transactions: u64,
    /// Gas that was used.
    gas: u64,
    /// Sum of the transactions' effective prices per unit of gas, in wei.
    prices: u128,
    /// Validators' duties, and those that were done.
    duties: u64,
    done: u64,
    /// What the rule of duties needs of the block for the next one.
    after: duty::DutyState,
}

/// The sums of a chain's newest blocks.
#[derive(Debug)]
pub(in crate::platform) struct MetricsLog {
    rule: DutyRule,
    sums: Mutex<BTreeMap<(u64, B256), Sums>>,
    /// Whether the hook's batches are kept.
    is_stored: bool,
}

impl MetricsLog {
    /// Creates the log of a chain in memory.
    pub(in crate::platform) fn new(rule: DutyRule) -> Self {
        Self { rule, sums: Mutex::default(), is_stored: false }
    }

    /// Creates the log of a chain in a store, with the sums that are in it.
    pub(in crate::platform) fn open(rule: DutyRule, store: &dyn KeyValue) -> Result<Self, PlatformError> {
        let mut sums = BTreeMap::new();
        let visited = store.scan(Table::Platform, PREFIX, Order::Ascending, &mut |key, value| {
            // What does not decode is measured again from the blocks.
            if let (Some(block), Ok(found)) = (read_key(key), postcard::from_bytes(value)) {
                sums.insert(block, found);
            }
            ControlFlow::Continue(())
        });
        visited.map_err(PlatformError::internal)?;
        Ok(Self { rule, sums: Mutex::new(sums), is_stored: true })
    }

    fn sums(&self) -> MutexGuard<'_, BTreeMap<(u64, B256), Sums>> {
        // A poisoned lock guards nothing half-done: sums are inserted and removed one by one.
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the gas that all blocks of the chain used.
    pub(in crate::platform) fn gas_used(&self, view: &NodeView) -> Result<u64, PlatformError> {
        Ok(self.sums_of(view, view.head()).map_err(PlatformError::from_query)?.gas)
    }

    /// Measures the chain that a view shows.
    pub(in crate::platform) fn measure(&self, view: &NodeView) -> Result<ChainMetrics, PlatformError> {
        let head = self.sums_of(view, view.head()).map_err(PlatformError::from_query)?;
        let height = view.head().height().get();
        // Genesis may be years older than the first block: rates start at block 1.
        let first_height = height.saturating_sub(WINDOW_BLOCKS).max(1).min(height);
        let first = view.block(BlockRef::Number(Height::new(first_height))).map_err(PlatformError::from_query)?;
        let first_sums = self.sums_of(view, &first).map_err(PlatformError::from_query)?;
        // Transactions and duties of the first block count while the window begins with the chain.
        let before = if first_height <= 1 { Sums::default() } else { first_sums };
        let secs = head.time.saturating_sub(first_sums.time) as f64;
        let blocks = height.saturating_sub(first_height) as f64;
        let transactions = head.transactions.saturating_sub(before.transactions);
        let duties = head.duties.saturating_sub(before.duties);
        let done = head.done.saturating_sub(before.done);
        let records = view.validators().map_err(PlatformError::from_query)?;
        let paid = head.prices.saturating_sub(before.prices).checked_div(u128::from(transactions));
        Ok(ChainMetrics {
            current_block: height,
            block_time_secs: if blocks > 0.0 { secs / blocks } else { 0.0 },
            transactions_per_second: if secs > 0.0 { transactions as f64 / secs } else { 0.0 },
            active_validators: records.iter().filter(|record| record.validates).count() as u64,
            total_transactions: head.transactions,
            total_gas_used: head.gas,
            average_gas_price: paid.unwrap_or_else(|| u128::from(view.next_base_fee())),
            validator_uptime: (duties > 0).then(|| 100.0 * done as f64 / duties as f64),
            mempool_size: view.pool().len() as u64,
        })
    }

    /// Returns the sums of a canonical block: noted ones, else those of the blocks since the newest noted one below it.
    fn sums_of(&self, view: &NodeView, block: &ExecutedBlock) -> Result<Sums, QueryError> {
        let mut missing = Vec::new();
        let mut next = block.clone();
        let mut known = loop {
            if let Some(known) = self.noted(next.height(), next.hash()) {
                break known;
            }
            if next.height() == Height::GENESIS {
                break self.rule.at_genesis(&next);
            }
            let parent = next.parent_hash();
            missing.push(next);
            next = match view.block(BlockRef::Hash(parent)) {
                Ok(parent) => parent,
                // What was pruned before anybody asked is in no sum.
                Err(QueryError::Pruned { .. } | QueryError::UnknownBlock { .. }) => break Sums::default(),
                Err(cause) => return Err(cause),
            };
        };
        for block in missing.iter().rev() {
            known = self.rule.with_block(&known, block);
            self.note(block, known);
        }
        Ok(known)
    }

    fn noted(&self, height: Height, hash: B256) -> Option<Sums> {
        self.sums().get(&(height.get(), hash)).copied()
    }

    /// Notes the sums of a block, and forgets those far below it, which are returned.
    fn note(&self, block: &ExecutedBlock, of_block: Sums) -> Vec<(u64, B256)> {
        let height = block.height().get();
        let mut sums = self.sums();
        sums.insert((height, block.hash()), of_block);
        let oldest = (height.saturating_sub(KEPT_HEIGHTS), B256::ZERO);
        let kept = sums.split_off(&oldest);
        core::mem::replace(&mut *sums, kept).into_keys().collect()
    }

    /// Returns the sums of a block's parent as far as they are noted; the nearest ones below it where they are not.
    fn below(&self, block: &ExecutedBlock) -> Sums {
        let parent = (block.height().get().saturating_sub(1), block.parent_hash());
        let sums = self.sums();
        let nearest = || sums.range(..(parent.0, B256::ZERO)).next_back().map(|(_, found)| *found);
        sums.get(&parent).copied().or_else(nearest).unwrap_or_default()
    }
}

impl CommitHook for MetricsLog {
    fn on_head(&self, change: &HeadChange, batch: &mut Batch) -> Result<(), StoreError> {
        let genesis = [&change.old, &change.new].into_iter().find(|block| block.height() == Height::GENESIS);
        if let Some(genesis) = genesis {
            self.note(genesis, self.rule.at_genesis(genesis));
        }
        for block in &change.applied {
            let sums = self.rule.with_block(&self.below(block), block);
            let forgotten = self.note(block, sums);
            if !self.is_stored {
                continue;
            }
            forgotten.into_iter().for_each(|block| batch.delete(Table::Platform, key(block)));
            if let Ok(bytes) = postcard::to_allocvec(&sums) {
                batch.put(Table::Platform, key((block.height().get(), block.hash())), bytes);
            }
        }
        Ok(())
    }
}

fn key((height, hash): (u64, B256)) -> Vec<u8> {
    [PREFIX, &height.to_be_bytes(), hash.as_slice()].concat()
}

fn read_key(key: &[u8]) -> Option<(u64, B256)> {
    let (height, hash) = key.strip_prefix(PREFIX)?.split_first_chunk()?;
    Some((u64::from_be_bytes(*height), B256::try_from(hash).ok()?))
}

impl DutyRule {
    fn at_genesis(&self, genesis: &ExecutedBlock) -> Sums {
        Sums { time: genesis.timestamp().as_secs(), after: self.first(), ..Sums::default() }
    }

    fn with_block(&self, parent: &Sums, block: &ExecutedBlock) -> Sums {
        let base_fee = block.block().base_fee().unwrap_or(0);
        let prices = block.transactions().iter().map(|transaction| transaction.effective_gas_price(base_fee));
        let is_first = block.height().get() == 1;
        let (duties, done, after) = self.duties(&parent.after, is_first, block.block());
        Sums {
            time: block.timestamp().as_secs(),
            transactions: parent.transactions.saturating_add(block.transactions().len() as u64),
            gas: parent.gas.saturating_add(block.block().header().gas_used),
            prices: prices.fold(parent.prices, u128::saturating_add),
            duties: parent.duties.saturating_add(duties),
            done: parent.done.saturating_add(done),
            after,
        }
    }
}

/// Shared by the chain as its hook, and by whoever measures.
pub(in crate::platform) type SharedMetrics = Arc<MetricsLog>;
