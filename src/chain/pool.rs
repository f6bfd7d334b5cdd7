//! The pool of pending transactions.

mod best;
#[cfg(test)]
mod tests;

use core::cmp::Reverse;
use std::{collections::BTreeSet, sync::Arc};

use alloy_primitives::{Address, B256, U256};
use imbl::OrdMap;

pub use self::best::BestTransactions;
use super::{
    error::{InvalidTransaction, PoolError},
    hook::HeadChange,
    intervention::Intervention,
    validate::{self, Rules},
};
use crate::{
    primitives::{Gas, Transaction},
    state::StateView,
    vm::ForkRules,
};

/// Configuration of a pool: bounds and rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolConfig {
    /// Chain id of valid transactions.
    pub chain_id: u64,
    /// Largest number of transactions.
    pub transactions_max: usize,
    /// Largest number of transactions of one sender.
    pub per_sender_max: usize,
    /// Least increase of both fee fields in a replacement, in percent.
    pub replacement_percent: u8,
    /// Whether unsigned (impersonated) transactions are valid.
    pub allow_impersonated: bool,
}

impl PoolConfig {
    /// Returns the configuration for the chain with this id, with the bounds of a development node: 131,072 transactions,
    /// 16,384 of one sender.
    pub const fn new(chain_id: u64) -> Self {
        Self {
            chain_id,
            transactions_max: 131_072,
            per_sender_max: 16_384,
            replacement_percent: 10,
            allow_impersonated: false,
        }
    }

    /// Sets the largest number of transactions, in the pool and of one sender.
    #[must_use]
    pub const fn with_limits(self, transactions_max: usize, per_sender_max: usize) -> Self {
        Self { transactions_max, per_sender_max, ..self }
    }

    /// Sets the least increase of both fee fields in a replacement, in percent.
    #[must_use]
    pub const fn with_replacement_percent(self, replacement_percent: u8) -> Self {
        Self { replacement_percent, ..self }
    }

    /// Sets whether unsigned (impersonated) transactions are valid.
    #[must_use]
    pub const fn with_impersonated(self, allow_impersonated: bool) -> Self {
        Self { allow_impersonated, ..self }
    }
}

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
}

/// The result of [`Pool::add`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddOutcome {
    /// Whether the transaction is ready; otherwise it is queued: an earlier nonce is missing.
    pub is_ready: bool,
    /// The transaction that it replaced.
    pub replaced: Option<Arc<Transaction>>,
    /// Cheaper transactions evicted in its favour.
    pub evicted: Vec<Arc<Transaction>>,
}

/// A transaction in the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PooledTransaction {
    /// The transaction.
    pub transaction: Arc<Transaction>,
    /// Sequence number of its arrival; the lower one wins a tie.
    pub arrival: u64,
    /// Why the next block can't contain it; `None` when it can.
    pub excluded: Option<ExclusionReason>,
}

/// A reason why the next block can't contain a pooled transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExclusionReason {
    /// Earlier nonces of the sender are missing.
    #[error("nonce gap: waits for nonce {missing}")]
    NonceGap {
        /// The first missing nonce.
        missing: u64,
    },
    /// The largest fee is below the next block's base fee.
    #[error("maxFeePerGas {max_fee} is below the next block's base fee {base_fee}")]
    BaseFee {
        /// Largest fee, in the smallest unit per unit of gas.
        max_fee: u128,
        /// Base fee of the next block, in the smallest unit per unit of gas.
        base_fee: u64,
    },
    /// The sender's balance is below the transaction's largest cost.
    #[error("insufficient funds: {address} can't cover its largest cost")]
    Funds {
        /// The sender.
        address: Address,
    },
}

/// Pending transactions by sender and nonce. Cloning is O(1).
///
/// A transaction is *ready* when the pool has every nonce from its sender's next one up to its own; otherwise it is *queued*.
#[derive(Clone, Debug)]
pub struct Pool {
    config: PoolConfig,
    senders: OrdMap<Address, SenderQueue>,
    by_hash: OrdMap<B256, (Address, u64)>,
    /// Cheapest first; of two with the same fee, the later arrival first.
    by_fee: OrdMap<(u128, Reverse<u64>), B256>,
    arrivals: u64,
}

/// One sender's transactions.
#[derive(Clone, Debug)]
struct SenderQueue {
    /// The sender's nonce in the newest state.
    next_nonce: u64,
    transactions: OrdMap<u64, Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    transaction: Arc<Transaction>,
    arrival: u64,
}

impl SenderQueue {
    /// Returns the nonce after the ready transactions.
    fn ready_end(&self) -> u64 {
        let run = (self.next_nonce..)
            .zip(self.transactions.range(self.next_nonce..))
            .take_while(|(want, (got, _))| want == *got);
        run.last().map_or(self.next_nonce, |(nonce, _)| nonce.saturating_add(1))
    }
}

/// Adding and removing.
impl Pool {
    /// An empty pool.
    pub fn new(config: PoolConfig) -> Self {
        Self { config, senders: OrdMap::new(), by_hash: OrdMap::new(), by_fee: OrdMap::new(), arrivals: 0 }
    }

    /// Validates a transaction and adds it.
    ///
    /// # Errors
    /// [`PoolError`]; the pool is then unchanged.
    pub fn add(&mut self, transaction: Arc<Transaction>, context: &PoolContext) -> Result<AddOutcome, PoolError> {
        let (hash, sender, nonce) = (transaction.hash(), transaction.sender(), transaction.nonce());
        if self.by_hash.contains_key(&hash) {
            return Err(PoolError::AlreadyKnown { hash });
        }
        let next_nonce = self.check(&transaction, context)?;
        let queue = self.senders.get(&sender);
        let present = queue.and_then(|queue| queue.transactions.get(&nonce));
        let mut evicted = Vec::new();
        let replaced = match present {
            Some(entry) => {
                self.check_replacement(&entry.transaction, &transaction)?;
                Some(entry.transaction.clone())
            }
            None => {
                let count = queue.map_or(0, |queue| queue.transactions.len());
                if count >= self.config.per_sender_max {
                    return Err(PoolError::SenderFull { address: sender, count });
                }
                if let Some(cheapest) = self.to_evict(&transaction)? {
                    evicted.extend(self.remove(&cheapest));
                }
                None
            }
        };
        if let Some(old) = &replaced {
            self.remove(&old.hash());
        }
        self.put(transaction, next_nonce);
        let is_ready = self.senders.get(&sender).is_some_and(|queue| nonce < queue.ready_end());
        Ok(AddOutcome { is_ready, replaced, evicted })
    }

    /// Removes a transaction; later nonces of its sender become queued.
    pub fn remove(&mut self, hash: &B256) -> Option<Arc<Transaction>> {
        let (sender, nonce) = self.by_hash.remove(hash)?;
        let queue = self.senders.get_mut(&sender)?;
        let entry = queue.transactions.remove(&nonce)?;
        if queue.transactions.is_empty() {
            self.senders.remove(&sender);
        }
        self.by_fee.remove(&fee_key(&entry));
        Some(entry.transaction)
    }

    /// Removes all transactions.
    pub fn clear(&mut self) {
        let arrivals = self.arrivals;
        *self = Self { arrivals, ..Self::new(self.config) };
    }

    /// Updates the pool after a head change: removes mined transactions, adds reverted ones again.
    ///
    /// Returns the dropped transactions, which are no longer valid and in no applied block, each with the reason.
    pub fn on_head(&mut self, change: &HeadChange, context: &PoolContext) -> Vec<(Arc<Transaction>, PoolError)> {
        let mut changed = BTreeSet::new();
        let mut mined = BTreeSet::new();
        for executed in &change.applied {
            changed.extend(executed.block().interventions().iter().filter_map(account_of_nonce));
            for transaction in executed.block().transactions() {
                changed.insert(transaction.sender());
                if change.is_reorg() {
                    mined.insert(transaction.hash());
                }
                self.remove(&transaction.hash());
            }
        }
        for executed in &change.reverted {
            changed.extend(executed.block().interventions().iter().filter_map(account_of_nonce));
            changed.extend(executed.block().transactions().iter().map(|transaction| transaction.sender()));
        }
        let mut dropped = Vec::new();
        for sender in changed {
            dropped.extend(self.refresh_sender(sender, context));
        }
        for executed in change.reverted.iter().rev() {
            for transaction in executed.block().transactions().iter().filter(|t| !mined.contains(&t.hash())) {
                match self.add(transaction.clone(), context) {
                    Ok(_) | Err(PoolError::AlreadyKnown { .. }) => {}
                    Err(error) => dropped.push((transaction.clone(), error)),
                }
            }
        }
        dropped
    }

    /// Reads a sender's nonce again, after something other than a block changed it.
    ///
    /// Returns the dropped transactions, whose nonces are below it, each with the reason.
    pub fn refresh_sender(&mut self, sender: Address, context: &PoolContext) -> Vec<(Arc<Transaction>, PoolError)> {
        let Some(queue) = self.senders.get_mut(&sender) else { return Vec::new() };
        let Ok(account) = context.state.account(&sender) else { return Vec::new() };
        let want = account.map_or(0, |account| account.nonce);
        queue.next_nonce = want;
        let used: Vec<B256> = queue.transactions.range(..want).map(|(_, entry)| entry.transaction.hash()).collect();
        let removed = used.iter().filter_map(|hash| self.remove(hash));
        let with_reason = removed.map(|transaction| {
            let reason = InvalidTransaction::NonceTooLow { address: sender, got: transaction.nonce(), want };
            (transaction, PoolError::Invalid(reason))
        });
        with_reason.collect()
    }

    fn put(&mut self, transaction: Arc<Transaction>, next_nonce: u64) {
        let (hash, sender, nonce) = (transaction.hash(), transaction.sender(), transaction.nonce());
        let entry = Entry { transaction, arrival: self.arrivals };
        self.arrivals += 1;
        self.by_hash.insert(hash, (sender, nonce));
        self.by_fee.insert(fee_key(&entry), hash);
        let queue =
            self.senders.entry(sender).or_insert_with(|| SenderQueue { next_nonce, transactions: OrdMap::new() });
        queue.next_nonce = next_nonce;
        queue.transactions.insert(nonce, entry);
    }

    /// Checks the validity rules that need no execution; returns the sender's next nonce.
    fn check(&self, transaction: &Transaction, context: &PoolContext) -> Result<u64, PoolError> {
        let PoolConfig { chain_id, allow_impersonated, .. } = self.config;
        validate::check_fields(
            transaction,
            &Rules { chain_id, allow_impersonated, fork: context.fork, tips_to: None },
        )?;
        let (have, limit) = (transaction.gas_limit(), context.gas_limit);
        if have > limit {
            return Err(InvalidTransaction::GasLimitAboveBlock { have, limit }.into());
        }
        let address = transaction.sender();
        let account =
            context.state.account(&address).map_err(|error| PoolError::State { reason: error.to_string() })?;
        let account = account.unwrap_or_default();
        let (got, want) = (transaction.nonce(), account.nonce);
        if got < want {
            return Err(InvalidTransaction::NonceTooLow { address, got, want }.into());
        }
        validate::check_sender_code(transaction, account.code_hash)?;
        validate::check_funds(transaction, account.balance)?;
        Ok(want)
    }

    fn check_replacement(&self, old: &Transaction, new: &Transaction) -> Result<(), PoolError> {
        let raised = |fee: u128| {
            let percent = u128::from(self.config.replacement_percent);
            fee.saturating_add(fee.saturating_mul(percent).div_ceil(100)).max(fee.saturating_add(1))
        };
        let fee_needed = raised(old.max_fee_per_gas());
        let tip_needed = raised(old.max_priority_fee_per_gas());
        if new.max_fee_per_gas() >= fee_needed && new.max_priority_fee_per_gas() >= tip_needed {
            return Ok(());
        }
        Err(PoolError::ReplacementUnderpriced { fee_needed, tip_needed })
    }

    /// Returns the cheapest transaction when the pool is full; an error when `new` does not pay more.
    fn to_evict(&self, new: &Transaction) -> Result<Option<B256>, PoolError> {
        let count = self.by_hash.len();
        match self.by_fee.get_min() {
            Some(((cheapest, _), hash)) if count >= self.config.transactions_max => {
                let pays_more = new.max_fee_per_gas() > *cheapest;
                pays_more.then_some(Some(*hash)).ok_or(PoolError::Full { count, cheapest: *cheapest })
            }
            _ => Ok(None),
        }
    }
}

/// Reading.
impl Pool {
    /// The pool's configuration.
    pub const fn config(&self) -> &PoolConfig {
        &self.config
    }

    /// Returns the ready transactions, highest tip first, ties by arrival, over a snapshot of the pool.
    pub fn best(&self, base_fee: u64) -> BestTransactions {
        BestTransactions::new(self.clone(), base_fee)
    }

    /// Returns the transaction with this hash.
    pub fn get(&self, hash: &B256) -> Option<Arc<Transaction>> {
        let (sender, nonce) = self.by_hash.get(hash)?;
        self.by_nonce(sender, *nonce)
    }

    /// Returns the sender's transaction with this nonce.
    pub fn by_nonce(&self, sender: &Address, nonce: u64) -> Option<Arc<Transaction>> {
        Some(self.senders.get(sender)?.transactions.get(&nonce)?.transaction.clone())
    }

    /// Returns the nonce after the sender's ready transactions; `None` when it has none.
    pub fn pending_nonce(&self, sender: &Address) -> Option<u64> {
        let queue = self.senders.get(sender)?;
        let end = queue.ready_end();
        (end > queue.next_nonce).then_some(end)
    }

    /// Number of transactions.
    pub fn len(&self) -> usize {
        self.by_hash.len()
    }

    /// Returns whether the pool has no transactions.
    pub fn is_empty(&self) -> bool {
        self.by_hash.is_empty()
    }

    /// Returns the numbers of ready and queued transactions, in time linear in the pool's size.
    pub fn counts(&self) -> (usize, usize) {
        let ready_of =
            |queue: &SenderQueue| usize::try_from(queue.ready_end() - queue.next_nonce).unwrap_or(usize::MAX);
        let ready = self.senders.values().map(ready_of).sum();
        (ready, self.len() - ready)
    }

    /// Returns all transactions in the order of sender and nonce.
    pub fn content(&self, context: &PoolContext) -> Vec<PooledTransaction> {
        let of_queue = |(sender, queue): (&Address, &SenderQueue)| {
            let end = queue.ready_end();
            let balance = context.state.account(sender).ok().flatten().unwrap_or_default().balance;
            let pooled = |entry: &Entry| PooledTransaction {
                transaction: entry.transaction.clone(),
                arrival: entry.arrival,
                excluded: exclusion_reason(&entry.transaction, end, balance, context.base_fee),
            };
            queue.transactions.values().map(pooled).collect::<Vec<_>>()
        };
        self.senders.iter().flat_map(of_queue).collect()
    }
}

fn exclusion_reason(
    transaction: &Transaction,
    ready_end: u64,
    balance: U256,
    base_fee: u64,
) -> Option<ExclusionReason> {
    let max_fee = transaction.max_fee_per_gas();
    if transaction.nonce() >= ready_end {
        return Some(ExclusionReason::NonceGap { missing: ready_end });
    }
    if max_fee < u128::from(base_fee) {
        return Some(ExclusionReason::BaseFee { max_fee, base_fee });
    }
    let is_covered = transaction.max_cost().is_some_and(|cost| cost <= balance);
    (!is_covered).then(|| ExclusionReason::Funds { address: transaction.sender() })
}

fn fee_key(entry: &Entry) -> (u128, Reverse<u64>) {
    (entry.transaction.max_fee_per_gas(), Reverse(entry.arrival))
}

/// Returns the account whose nonce the intervention sets.
const fn account_of_nonce(intervention: &Intervention) -> Option<Address> {
    match intervention {
        Intervention::Nonce { address, .. } => Some(*address),
        _ => None,
    }
}
