//! Validating and adding a transaction, and making room for it.

use std::sync::Arc;

use alloy_primitives::U256;

use super::{AccountState, Entry, Pool, PoolConfig, PoolContext, SenderQueue, tip_index::Offer};
use crate::{
    chain::{
        error::{InvalidTransaction, PoolError},
        validate::{self, Rules},
    },
    primitives::Transaction,
    vm,
};

/// The result of [`Pool::add`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddOutcome {
    /// Whether the transaction is ready; otherwise it is queued: an earlier nonce is missing.
    pub is_ready: bool,
    /// The transaction that it replaced.
    pub replaced: Option<Arc<Transaction>>,
    /// Transactions evicted in its favour.
    pub evicted: Vec<Arc<Transaction>>,
}

impl Pool {
    /// Validates a transaction and adds it.
    ///
    /// As in geth, the balance must cover it together with the sender's ready transactions. A full pool evicts queued
    /// transactions for a ready one, the cheapest first, then the last ones of the senders that pay least; a queued one evicts
    /// cheaper queued ones only. A replacement evicts nothing.
    ///
    /// # Errors
    /// [`PoolError`]; the pool's transactions are then unchanged.
    pub fn add(&mut self, transaction: Arc<Transaction>, context: &PoolContext) -> Result<AddOutcome, PoolError> {
        self.follow(context);
        let hash = transaction.hash();
        if self.by_hash.contains_key(&hash) {
            return Err(PoolError::AlreadyKnown { hash });
        }
        let account = self.check(&transaction, context)?;
        self.follow_account(&transaction, account);
        let is_ready = self.check_place(&transaction, &account)?;
        let evicted = self.make_room(&transaction, is_ready)?;
        let (is_ready, replaced) = self.put(transaction, account);
        Ok(AddOutcome { is_ready, replaced, evicted })
    }

    /// Takes over the account's state where a block changed it that had no transaction of it.
    fn follow_account(&mut self, transaction: &Transaction, account: AccountState) {
        let sender = transaction.sender();
        if self.senders.get(&sender).is_some_and(|queue| *queue.account() != account) {
            drop(self.set_account(sender, account));
        }
    }

    /// Adds a valid transaction in place of one with the same nonce; returns whether it is ready, and the replaced one.
    pub(super) fn put(
        &mut self,
        transaction: Arc<Transaction>,
        account: AccountState,
    ) -> (bool, Option<Arc<Transaction>>) {
        let (hash, sender, nonce) = (transaction.hash(), transaction.sender(), transaction.nonce());
        self.bytes += transaction.encoded_len();
        let entry = Entry { transaction, arrival: self.arrivals, queued_since: None };
        self.arrivals += 1;
        if !self.senders.contains_key(&sender) {
            self.senders.insert(sender, SenderQueue::new(account));
        }
        let put = self.update(sender, |queue, queued, now| {
            let old = queue.insert(entry, queued, now);
            (queue.is_ready(nonce), old)
        });
        let (is_ready, old) = put.unwrap_or_default();
        let replaced = old.map(|old| self.forget(old));
        self.by_hash.insert(hash, (sender, nonce));
        (is_ready, replaced)
    }

    /// Checks the validity rules that need no execution; returns the sender's account.
    pub(super) fn check(&self, transaction: &Transaction, context: &PoolContext) -> Result<AccountState, PoolError> {
        let PoolConfig { chain_id, allow_impersonated, transaction_bytes_max: limit, .. } = self.config;
        let size = transaction.encoded_len();
        if size > limit {
            return Err(PoolError::Oversized { size, limit });
        }
        validate::check_fields(
            transaction,
            &Rules {
                chain_id,
                allow_impersonated,
                fork: context.fork,
                tips_to: None,
                has_permissions: false,
                has_deployments: true,
            },
        )?;
        check_init_code(transaction)?;
        let (have, limit) = (transaction.gas_limit(), context.gas_limit);
        if have > limit {
            return Err(InvalidTransaction::GasLimitAboveBlock { have, limit }.into());
        }
        let address = transaction.sender();
        let account =
            AccountState::read(context, &address).map_err(|error| PoolError::State { reason: error.to_string() })?;
        let (got, want) = (transaction.nonce(), account.nonce);
        if got < want {
            return Err(InvalidTransaction::NonceTooLow { address, got, want }.into());
        }
        validate::check_sender_code(transaction, account.code_hash)?;
        validate::check_permissions(transaction, account.permissions)?;
        validate::check_funds(transaction, account.balance)?;
        Ok(account)
    }

    /// Checks a transaction against those of its sender: replacement, count, cumulative cost. Returns whether it would be
    /// ready.
    fn check_place(&self, new: &Transaction, account: &AccountState) -> Result<bool, PoolError> {
        let (address, nonce) = (new.sender(), new.nonce());
        let Some(queue) = self.senders.get(&address) else { return Ok(nonce == account.nonce) };
        let present = queue.get(nonce);
        let count = queue.len();
        match present {
            Some(entry) => self.check_replacement(&entry.transaction, new)?,
            None if count >= self.config.per_sender_max => return Err(PoolError::SenderFull { address, count }),
            None => {}
        }
        let freed = present.filter(|_| queue.is_ready(nonce)).and_then(|entry| entry.transaction.max_cost());
        let pooled = queue.ready_cost().saturating_sub(freed.unwrap_or_default());
        let (have, cost) = (account.balance, new.max_cost().unwrap_or(U256::MAX));
        if pooled.checked_add(cost).is_none_or(|want| want > have) {
            return Err(PoolError::Overdraft { address, have, pooled, cost });
        }
        Ok(nonce <= queue.ready_end())
    }

    pub(super) fn check_replacement(&self, old: &Transaction, new: &Transaction) -> Result<(), PoolError> {
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
}

/// Refuses a creation whose init code no chain runs. In a block it would fail and use all of its gas.
fn check_init_code(transaction: &Transaction) -> Result<(), PoolError> {
    let init_code = transaction.input();
    if transaction.to().is_some() || init_code.is_empty() {
        return Ok(());
    }
    vm::split_code(init_code).map(drop).map_err(|reason| PoolError::NoTemplate { reason })
}

/// Eviction.
impl Pool {
    /// Evicts what a new transaction needs room of; the pool is unchanged when that would be too much.
    fn make_room(&mut self, new: &Transaction, is_ready: bool) -> Result<Vec<Arc<Transaction>>, PoolError> {
        let mut evicted = Vec::new();
        if self.has_room(new, is_ready) {
            return Ok(evicted);
        }
        let before = self.clone();
        let made = self.evict_for(new, is_ready, &mut evicted);
        if made.is_err() {
            *self = before;
        }
        made.map(|()| evicted)
    }

    fn has_room(&self, new: &Transaction, is_ready: bool) -> bool {
        let queue = self.senders.get(&new.sender());
        let is_new = queue.is_none_or(|queue| queue.get(new.nonce()).is_none());
        let queued = queue.map_or(0, SenderQueue::queued_len);
        let has_queue = queued < self.config.queued_per_sender_max && self.queued.len() < self.config.queued_max;
        self.fits(new) && (is_ready || !is_new || has_queue)
    }

    /// Whether the pool's count and bytes have room.
    fn fits(&self, new: &Transaction) -> bool {
        let old = self.senders.get(&new.sender()).and_then(|queue| queue.get(new.nonce()));
        let old_bytes = old.map_or(0, |old| old.transaction.encoded_len());
        let bytes = (self.bytes - old_bytes).saturating_add(new.encoded_len());
        let count = self.len() + usize::from(old.is_none());
        count <= self.config.transactions_max && bytes <= self.config.bytes_max
    }

    fn evict_for(
        &mut self,
        new: &Transaction,
        is_ready: bool,
        evicted: &mut Vec<Arc<Transaction>>,
    ) -> Result<(), PoolError> {
        let (address, nonce) = (new.sender(), new.nonce());
        if self.by_nonce(&address, nonce).is_some() {
            return if self.fits(new) { Ok(()) } else { Err(self.full(new.max_fee_per_gas())) };
        }
        let queue = self.senders.get(&address);
        if let Some(queue) = queue.filter(|_| !is_ready)
            && queue.queued_len() >= self.config.queued_per_sender_max
        {
            // The transaction that waits for most others leaves.
            let last = queue.last_nonce().filter(|last| *last > nonce && !queue.is_ready(*last));
            let count = queue.queued_len();
            let last = last.ok_or(PoolError::SenderQueueFull { address, count })?;
            evicted.extend(self.take((address, last)));
        }
        while !is_ready && self.queued.len() >= self.config.queued_max {
            let count = self.queued.len();
            let (cheapest, place) = self.queued.cheapest().unwrap_or((u128::MAX, (address, nonce)));
            if new.max_fee_per_gas() <= cheapest {
                return Err(PoolError::QueueFull { count, cheapest });
            }
            evicted.extend(self.take(place));
        }
        while !self.fits(new) {
            let victim = match self.queued.cheapest() {
                Some((fee, place)) if is_ready || new.max_fee_per_gas() > fee => place,
                Some((fee, _)) => return Err(self.full(fee)),
                None => self.worst_ready(new, is_ready)?,
            };
            evicted.extend(self.take(victim));
        }
        Ok(())
    }

    /// Returns the last ready transaction of the sender that pays least, if `new` pays more.
    fn worst_ready(&self, new: &Transaction, is_ready: bool) -> Result<super::Place, PoolError> {
        let (sender, base_fee) = (new.sender(), self.base_fee);
        let Some((worst, victim)) = self.tails.worst() else { return Err(self.full(0)) };
        let own = self.senders.get(&sender).and_then(|queue| queue.standing().head);
        let offer = own.map_or_else(|| Offer::of(new, self.arrivals), |(head, _)| head.lower_of(new));
        let pays_more = is_ready && offer.rank(base_fee) > worst.rank(base_fee) && victim != sender;
        let last = self.senders.get(&victim).and_then(|queue| queue.ready_end().checked_sub(1));
        last.filter(|_| pays_more).map(|last| (victim, last)).ok_or_else(|| self.full(worst.fee_cap))
    }

    fn full(&self, cheapest: u128) -> PoolError {
        PoolError::Full { count: self.len(), cheapest }
    }
}
