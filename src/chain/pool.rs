//! Transactions that wait to be mined.

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
};

/// Bounds and rules of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// The chain that transactions must be signed for.
    pub chain_id: u64,
    /// Most transactions in the pool.
    pub transactions_max: usize,
    /// Most transactions of one sender.
    pub per_sender_max: usize,
    /// How much more a replacement pays on both fee fields, in percent.
    pub replacement_percent: u8,
    /// Whether unsigned (impersonated) transactions are taken.
    pub allow_impersonated: bool,
}

impl PoolConfig {
    /// A pool of the chain with this id, with bounds that suit a development node.
    pub const fn new(chain_id: u64) -> Self {
        Self {
            chain_id,
            transactions_max: 131_072,
            per_sender_max: 16_384,
            replacement_percent: 10,
            allow_impersonated: false,
        }
    }
}

/// What the pool looks at when it takes a transaction or follows the head.
#[derive(Clone, Debug)]
pub struct PoolContext {
    /// The newest state.
    pub state: Arc<dyn StateView>,
    /// Gas limit of the next block.
    pub gas_limit: Gas,
    /// Base fee of the next block; 0 when the chain has none.
    pub base_fee: u64,
    /// Whether London's rules hold in the next block (EIP-1559).
    pub is_london: bool,
}

/// What became of a transaction that the pool took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// Whether it can be mined in the next block; otherwise an earlier nonce is missing.
    pub is_ready: bool,
    /// The transaction that it replaced.
    pub replaced: Option<Arc<Transaction>>,
    /// Cheaper transactions that made room for it.
    pub evicted: Vec<Arc<Transaction>>,
}

/// A transaction in the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pooled {
    /// The transaction.
    pub transaction: Arc<Transaction>,
    /// Number of its arrival; earlier ones win ties.
    pub arrival: u64,
    /// Why it is not ready, when it is not.
    pub waiting: Option<Waiting>,
}

/// Why a transaction waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Waiting {
    /// Earlier nonces of its sender are missing.
    #[error("nonce gap: waits for nonce {missing}")]
    NonceGap {
        /// The first that is missing.
        missing: u64,
    },
    /// It pays less than the next block's base fee.
    #[error("maxFeePerGas {max_fee} is below the next block's base fee {base_fee}")]
    BaseFee {
        /// What it offers.
        max_fee: u128,
        /// What the next block asks.
        base_fee: u64,
    },
    /// Its sender can't pay for it any more.
    #[error("insufficient funds: {address} can't cover its largest cost")]
    Funds {
        /// The sender.
        address: Address,
    },
}

/// Transactions by sender and nonce. Cloning costs the same at any size.
///
/// A transaction is *ready* when every nonce from its sender's next one up to it is here; otherwise it is *queued*.
#[derive(Clone, Debug)]
pub struct Pool {
    config: PoolConfig,
    senders: OrdMap<Address, Queue>,
    by_hash: OrdMap<B256, (Address, u64)>,
    /// Cheapest first; of two that pay the same, the younger goes first.
    by_fee: OrdMap<(u128, Reverse<u64>), B256>,
    arrivals: u64,
}

/// One sender's transactions.
#[derive(Clone, Debug)]
struct Queue {
    /// The sender's transaction count in the newest state.
    next_nonce: u64,
    transactions: OrdMap<u64, Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    transaction: Arc<Transaction>,
    arrival: u64,
}

impl Queue {
    /// The nonce after the ready ones.
    fn ready_end(&self) -> u64 {
        let run = (self.next_nonce..)
            .zip(self.transactions.range(self.next_nonce..))
            .take_while(|(want, (got, _))| want == *got);
        run.last().map_or(self.next_nonce, |(nonce, _)| nonce.saturating_add(1))
    }
}

/// Coming and going.
impl Pool {
    /// An empty pool.
    pub fn new(config: PoolConfig) -> Self {
        Self { config, senders: OrdMap::new(), by_hash: OrdMap::new(), by_fee: OrdMap::new(), arrivals: 0 }
    }

    /// Takes a transaction that came from a client or another replica.
    ///
    /// # Errors
    /// [`PoolError`]; the pool is then unchanged.
    pub fn add(&mut self, transaction: Arc<Transaction>, context: &PoolContext) -> Result<Added, PoolError> {
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
        Ok(Added { is_ready, replaced, evicted })
    }

    /// Takes a transaction out; later nonces of its sender wait then.
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

    /// Takes everything out.
    pub fn clear(&mut self) {
        let arrivals = self.arrivals;
        *self = Self { arrivals, ..Self::new(self.config) };
    }

    /// Follows the head: drops what was mined, takes back what a reorg reverted.
    ///
    /// Answers the transactions that can't be mined any more and are in no applied block, with the reason.
    pub fn on_head(&mut self, change: &HeadChange, context: &PoolContext) -> Vec<(Arc<Transaction>, PoolError)> {
        let mut changed = BTreeSet::new();
        let mut mined = BTreeSet::new();
        for executed in &change.applied {
            changed.extend(executed.block().interventions().iter().filter_map(nonce_owner));
            for transaction in executed.block().transactions() {
                changed.insert(transaction.sender());
                if change.is_reorg() {
                    mined.insert(transaction.hash());
                }
                self.remove(&transaction.hash());
            }
        }
        for executed in &change.reverted {
            changed.extend(executed.block().interventions().iter().filter_map(nonce_owner));
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

    /// Looks at a sender's account again, after something other than a block changed its nonce.
    ///
    /// Answers the transactions whose nonces are used up.
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
        let queue = self.senders.entry(sender).or_insert_with(|| Queue { next_nonce, transactions: OrdMap::new() });
        queue.next_nonce = next_nonce;
        queue.transactions.insert(nonce, entry);
    }

    /// What can be judged without executing; answers the sender's next nonce.
    fn check(&self, transaction: &Transaction, context: &PoolContext) -> Result<u64, PoolError> {
        let PoolConfig { chain_id, allow_impersonated, .. } = self.config;
        validate::check_fields(
            transaction,
            &Rules { chain_id, allow_impersonated, is_london: context.is_london, tips_to: None },
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

    /// The cheapest transaction when the pool is full and it pays less than `newcomer`.
    fn to_evict(&self, newcomer: &Transaction) -> Result<Option<B256>, PoolError> {
        let count = self.by_hash.len();
        match self.by_fee.get_min() {
            Some(((cheapest, _), hash)) if count >= self.config.transactions_max => {
                let pays_more = newcomer.max_fee_per_gas() > *cheapest;
                pays_more.then_some(Some(*hash)).ok_or(PoolError::Full { count, cheapest: *cheapest })
            }
            _ => Ok(None),
        }
    }
}

/// Reading.
impl Pool {
    /// The bounds and rules.
    pub const fn config(&self) -> &PoolConfig {
        &self.config
    }

    /// Ready transactions, best tip first; ties by arrival. The iterator keeps the pool as it is now.
    pub fn best(&self, base_fee: u64) -> BestTransactions {
        BestTransactions::new(self.clone(), base_fee)
    }

    /// The transaction with this hash.
    pub fn get(&self, hash: &B256) -> Option<Arc<Transaction>> {
        let (sender, nonce) = self.by_hash.get(hash)?;
        self.by_nonce(sender, *nonce)
    }

    /// The sender's transaction with this nonce.
    pub fn by_nonce(&self, sender: &Address, nonce: u64) -> Option<Arc<Transaction>> {
        Some(self.senders.get(sender)?.transactions.get(&nonce)?.transaction.clone())
    }

    /// The nonce that follows the sender's ready transactions; `None` when it has none ready.
    pub fn pending_nonce(&self, sender: &Address) -> Option<u64> {
        let queue = self.senders.get(sender)?;
        let end = queue.ready_end();
        (end > queue.next_nonce).then_some(end)
    }

    /// Transactions in the pool.
    pub fn len(&self) -> usize {
        self.by_hash.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.by_hash.is_empty()
    }

    /// How many are ready and how many are queued. Costs what the pool holds.
    pub fn counts(&self) -> (usize, usize) {
        let ready_of = |queue: &Queue| usize::try_from(queue.ready_end() - queue.next_nonce).unwrap_or(usize::MAX);
        let ready = self.senders.values().map(ready_of).sum();
        (ready, self.len() - ready)
    }

    /// Everything in the pool with why it waits, by sender and nonce.
    pub fn content(&self, context: &PoolContext) -> Vec<Pooled> {
        let of_queue = |(sender, queue): (&Address, &Queue)| {
            let end = queue.ready_end();
            let balance = context.state.account(sender).ok().flatten().unwrap_or_default().balance;
            let pooled = |entry: &Entry| Pooled {
                transaction: entry.transaction.clone(),
                arrival: entry.arrival,
                waiting: why_it_waits(&entry.transaction, end, balance, context.base_fee),
            };
            queue.transactions.values().map(pooled).collect::<Vec<_>>()
        };
        self.senders.iter().flat_map(of_queue).collect()
    }
}

fn why_it_waits(transaction: &Transaction, ready_end: u64, balance: U256, base_fee: u64) -> Option<Waiting> {
    let max_fee = transaction.max_fee_per_gas();
    if transaction.nonce() >= ready_end {
        return Some(Waiting::NonceGap { missing: ready_end });
    }
    if max_fee < u128::from(base_fee) {
        return Some(Waiting::BaseFee { max_fee, base_fee });
    }
    let is_covered = transaction.max_cost().is_some_and(|cost| cost <= balance);
    (!is_covered).then(|| Waiting::Funds { address: transaction.sender() })
}

fn fee_key(entry: &Entry) -> (u128, Reverse<u64>) {
    (entry.transaction.max_fee_per_gas(), Reverse(entry.arrival))
}

const fn nonce_owner(intervention: &Intervention) -> Option<Address> {
    match intervention {
        Intervention::Nonce { address, .. } => Some(*address),
        _ => None,
    }
}
