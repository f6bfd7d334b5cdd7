//! The pool of pending transactions.
//!
//! A transaction is *ready* when its sender's account can execute it after those before it: no nonce is missing and the
//! balance covers the sum of their largest costs. All others are *queued*. The next block can contain a ready one whose
//! largest fee covers the base fee and whose gas limit fits, after those before it.
//!
//! | kind | waits for | counted by | leaves when the pool is full |
//! |---|---|---|---|
//! | ready, the next block can contain it | a block | `transactions_max`, `bytes_max` | last, the lowest effective tip first |
//! | ready, too cheap or too large for the next block | base fee or gas limit | the same | before those |
//! | queued | a nonce, a balance, a change of the account, a permission | also `queued_max`, `queued_per_sender_max` | first, the lowest fee first |
//!
//! A block costs what it changes: the accounts of its transactions, up to 64 accounts whose transactions wait for a balance, the
//! transactions whose kind differs at the new base fee. A pool of 20,000 senders that wait for a nonce makes no difference.

mod add;
mod best;
mod config;
mod content;
mod growth;
mod heads;
mod on_head;
mod sender;
#[cfg(test)]
mod tests;
mod tip_index;

use core::fmt;
use std::sync::Arc;

use alloy_primitives::{Address, B256};
use imbl::OrdMap;

pub use self::{
    add::AddOutcome,
    best::BestTransactions,
    config::PoolConfig,
    content::{ExclusionReason, PooledTransaction},
};
use self::{
    heads::ReadyHeads,
    sender::{AccountState, Entry, Place, Queued, SenderQueue, Standing},
    tip_index::TipIndex,
};
use crate::{
    primitives::{Gas, Timestamp, Transaction},
    state::StateView,
    system::permissions::PermissionLists,
    vm::ForkRules,
};

/// The head's data that the pool validates against.
#[derive(Clone, Debug)]
pub struct PoolContext {
    /// The newest state.
    pub state: Arc<dyn StateView>,
    /// Gas limit of the next block.
    pub gas_limit: Gas,
    /// Base fee of the next block; 0 when the chain has none.
    pub base_fee: u64,
    /// Rules of the fork in the next block.
    pub fork: ForkRules,
    /// Timestamp of the head, by which queued transactions expire.
    pub timestamp: Timestamp,
    /// The lists of the permissions contract that are on; `None` on a chain without it.
    pub permissions: Option<PermissionLists>,
    /// Whether genesis permits deployments.
    pub deployments: bool,
}

/// Pending transactions by sender and nonce. Cloning is O(1).
///
/// A transaction is *ready* when the pool has every nonce from its sender's next one up to its own and the balance covers them
/// all; otherwise it is *queued*.
#[derive(Clone)]
pub struct Pool {
    config: PoolConfig,
    /// Base fee of the next block.
    base_fee: u64,
    /// Gas limit of the next block.
    gas_limit: u64,
    /// Timestamp of the head, in seconds.
    now: u64,
    senders: OrdMap<Address, SenderQueue>,
    by_hash: OrdMap<B256, Place>,
    /// First ready transaction of each sender.
    heads: ReadyHeads,
    /// What each sender's ready transactions are worth to a full pool.
    tails: TipIndex,
    queued: Queued,
    /// Senders whose ready transactions may differ after a block without one of theirs.
    watched: OrdMap<Address, ()>,
    /// The watched sender from which the next head goes on.
    watch_from: Address,
    /// Senders with more queued transactions than a new one may have.
    crowded: OrdMap<Address, ()>,
    /// Number of ready transactions.
    ready: usize,
    /// Sum of the encoded lengths, in bytes.
    bytes: usize,
    arrivals: u64,
}

/// Removing, and the indices.
/// A line: how many transactions there are, how many of them are ready, of how many senders, and their bytes.
impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("transactions", &self.len())
            .field("ready", &self.ready)
            .field("senders", &self.senders.len())
            .field("bytes", &self.bytes)
            .field("base_fee", &self.base_fee)
            .finish_non_exhaustive()
    }
}

impl Pool {
    /// An empty pool.
    pub fn new(config: PoolConfig) -> Self {
        Self {
            config,
            base_fee: 0,
            gas_limit: u64::MAX,
            now: 0,
            senders: OrdMap::new(),
            by_hash: OrdMap::new(),
            heads: ReadyHeads::new(0, u64::MAX),
            tails: TipIndex::new(0),
            queued: Queued::default(),
            watched: OrdMap::new(),
            watch_from: Address::ZERO,
            crowded: OrdMap::new(),
            ready: 0,
            bytes: 0,
            arrivals: 0,
        }
    }

    /// Removes a transaction; later nonces of its sender become queued.
    pub fn remove(&mut self, hash: &B256) -> Option<Arc<Transaction>> {
        let place = *self.by_hash.get(hash)?;
        self.take(place)
    }

    /// Removes all transactions.
    pub fn clear(&mut self) {
        let (arrivals, base_fee, gas_limit, now) = (self.arrivals, self.base_fee, self.gas_limit, self.now);
        *self = Self { arrivals, ..Self::new(self.config) };
        self.set_next_block(base_fee, gas_limit, now);
    }

    fn take(&mut self, (sender, nonce): Place) -> Option<Arc<Transaction>> {
        let entry = self.update(sender, |queue, queued, now| queue.remove(nonce, queued, now))??;
        Some(self.forget(entry))
    }

    /// Ends the accounting of a removed transaction.
    fn forget(&mut self, entry: Entry) -> Arc<Transaction> {
        self.by_hash.remove(&entry.transaction.hash());
        self.bytes -= entry.transaction.encoded_len();
        entry.transaction
    }

    /// Changes a sender's transactions, and the indices with them; `None` when it has none.
    fn update<R>(
        &mut self,
        sender: Address,
        change: impl FnOnce(&mut SenderQueue, &mut Queued, u64) -> R,
    ) -> Option<R> {
        let queue = self.senders.get_mut(&sender)?;
        let before = queue.standing();
        let result = change(queue, &mut self.queued, self.now);
        let after = queue.standing();
        if queue.is_empty() {
            self.senders.remove(&sender);
        }
        self.reindex(sender, &before, &after);
        Some(result)
    }

    fn reindex(&mut self, sender: Address, before: &Standing, after: &Standing) {
        if before.head != after.head {
            before.head.into_iter().for_each(|(offer, gas)| self.heads.remove(offer, gas));
            after.head.into_iter().for_each(|(offer, gas)| self.heads.insert(offer, gas, sender));
        }
        if before.tail != after.tail {
            before.tail.into_iter().for_each(|offer| self.tails.remove(offer));
            after.tail.into_iter().for_each(|offer| self.tails.insert(offer, sender));
        }
        self.ready = self.ready - before.ready + after.ready;
        set_member(&mut self.watched, sender, before.is_watched, after.is_watched);
        let is_crowded = |standing: &Standing| standing.queued > self.config.queued_per_sender_max;
        set_member(&mut self.crowded, sender, is_crowded(before), is_crowded(after));
    }

    /// Orders the ready transactions for the next block. Costs what differs between the two orders.
    fn set_next_block(&mut self, base_fee: u64, gas_limit: u64, now: u64) {
        (self.base_fee, self.now) = (base_fee, now);
        self.heads.set_base_fee(base_fee);
        self.tails.set_base_fee(base_fee);
        if gas_limit != self.gas_limit {
            self.gas_limit = gas_limit;
            self.heads.set_gas_limit(gas_limit);
        }
    }
}

fn set_member(set: &mut OrdMap<Address, ()>, member: Address, was: bool, is: bool) {
    match (was, is) {
        (false, true) => drop(set.insert(member, ())),
        (true, false) => drop(set.remove(&member)),
        _ => {}
    }
}

/// Reading.
impl Pool {
    /// The pool's configuration.
    pub const fn config(&self) -> &PoolConfig {
        &self.config
    }

    /// Returns the transactions that the next block can contain, over a snapshot of the pool: highest effective tip first,
    /// ties by arrival, those of one sender by nonce.
    ///
    /// A base fee other than that of the newest [`PoolContext`] costs as much as it changes in the order.
    pub fn best(&self, base_fee: u64) -> BestTransactions {
        let mut pool = self.clone();
        pool.set_next_block(base_fee, self.gas_limit, self.now);
        BestTransactions::new(pool)
    }

    /// Returns whether the next block can contain a transaction, by one look at the best.
    pub fn has_ready(&self) -> bool {
        self.heads.has_payable()
    }

    /// Returns the transaction with this hash.
    pub fn get(&self, hash: &B256) -> Option<Arc<Transaction>> {
        let (sender, nonce) = self.by_hash.get(hash)?;
        self.by_nonce(sender, *nonce)
    }

    /// Returns the sender's transaction with this nonce.
    pub fn by_nonce(&self, sender: &Address, nonce: u64) -> Option<Arc<Transaction>> {
        Some(self.senders.get(sender)?.get(nonce)?.transaction.clone())
    }

    /// Returns the nonce after the sender's ready transactions; `None` when it has none.
    pub fn pending_nonce(&self, sender: &Address) -> Option<u64> {
        let queue = self.senders.get(sender)?;
        (queue.ready_len() > 0).then(|| queue.ready_end())
    }

    /// Number of transactions.
    pub fn len(&self) -> usize {
        self.by_hash.len()
    }

    /// Returns whether the pool has no transactions.
    pub fn is_empty(&self) -> bool {
        self.by_hash.is_empty()
    }

    /// Returns the numbers of ready and queued transactions.
    pub fn counts(&self) -> (usize, usize) {
        (self.ready, self.len() - self.ready)
    }

    /// Returns the sum of the encoded lengths of all transactions, in bytes.
    pub const fn size_bytes(&self) -> usize {
        self.bytes
    }
}
