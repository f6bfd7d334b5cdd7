//! Following the chain: a new head, an intervention, a transaction that a block left out.

use core::ops::Bound;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use alloy_primitives::{Address, B256};

use super::{AccountState, Place, Pool, PoolContext};
use crate::{
    chain::{
        error::{InvalidTransaction, PoolError},
        executed_block::ExecutedBlock,
        hook::HeadChange,
    },
    primitives::Transaction,
    system::permissions::{self, PERMISSIONS_ADDRESS, PermissionChange},
};

/// Most accounts read again at a head although no transaction of the block is theirs.
const WATCHED_PER_HEAD_MAX: usize = 64;

/// Transactions that left the pool, each with the reason.
type Dropped = Vec<(Arc<Transaction>, PoolError)>;

/// What a change of the head means for a pool.
#[derive(Debug, Default)]
pub(super) struct HeadUpdate {
    /// Accounts that the change names, with the transactions of applied blocks.
    pub(super) changed: BTreeMap<Address, Vec<B256>>,
    /// Transactions of reverted blocks that no applied block has, in the order of their blocks.
    pub(super) reverted: Vec<Arc<Transaction>>,
    /// Whether any account may differ: blocks were reverted, or a list of permissions was switched.
    pub(super) is_of_all: bool,
}

impl HeadUpdate {
    fn of(change: &HeadChange, pool: &Pool, has_permissions: bool) -> Self {
        let is_reorg = change.is_reorg();
        let mut update = Self { is_of_all: is_reorg, ..Self::default() };
        let mut mined = BTreeSet::new();
        for block in change.applied.iter().map(|executed| executed.block()) {
            for address in block.interventions().iter().filter_map(|intervention| intervention.address()) {
                update.changed.entry(address).or_default();
            }
            for transaction in block.transactions() {
                update.changed.entry(transaction.sender()).or_default().push(transaction.hash());
                if let Some(to) = transaction.to().filter(|to| pool.watched.contains_key(to)) {
                    update.changed.entry(to).or_default();
                }
                if is_reorg {
                    mined.insert(transaction.hash());
                }
            }
        }
        if has_permissions {
            update.follow_permissions(change);
        }
        let reverted = change.reverted.iter().rev().flat_map(|executed| executed.block().transactions());
        update.reverted = reverted.filter(|transaction| !mined.contains(&transaction.hash())).cloned().collect();
        update
    }

    /// Adds the accounts whose permissions the applied blocks may have changed.
    fn follow_permissions(&mut self, change: &HeadChange) {
        self.is_of_all |= self.changed.contains_key(&PERMISSIONS_ADDRESS);
        let logs = change.applied.iter().flat_map(ExecutedBlock::receipts).flat_map(|receipt| &receipt.inner.logs);
        for change in permissions::changes(logs) {
            match change {
                PermissionChange::Account(account) => drop(self.changed.entry(account).or_default()),
                PermissionChange::Everybody => self.is_of_all = true,
            }
        }
    }
}

impl Pool {
    /// Updates the pool after a head change: removes mined transactions, adds reverted ones again, and applies the bounds.
    ///
    /// Returns the dropped transactions, which are in no applied block, each with the reason: no longer valid, queued for too
    /// long, or too many.
    pub fn on_head(&mut self, change: &HeadChange, context: &PoolContext) -> Vec<(Arc<Transaction>, PoolError)> {
        let update = HeadUpdate::of(change, self, context.permissions.is_some());
        self.on_update(update, context)
    }

    pub(super) fn on_update(&mut self, update: HeadUpdate, context: &PoolContext) -> Dropped {
        self.follow(context);
        let mut dropped = Dropped::new();
        for (sender, mined) in &update.changed {
            // What is forgotten before its account is read leaves without a reason.
            let places: Vec<Place> = mined.iter().filter_map(|hash| self.by_hash.remove(hash)).collect();
            dropped.extend(self.read_again(*sender, context));
            // An intervention may have lowered the nonce again.
            for place in places {
                drop(self.take_if(place, |pool, hash| !pool.by_hash.contains_key(hash)));
            }
        }
        let others: Vec<Address> = match update.is_of_all {
            true => self.senders.keys().copied().collect(),
            false => self.next_watched(),
        };
        for sender in others.iter().filter(|sender| !update.changed.contains_key(*sender)) {
            dropped.extend(self.read_again(*sender, context));
        }
        dropped.extend(self.put_back(update.reverted, context));
        self.apply_bounds(&mut dropped);
        dropped
    }

    /// Reads a sender's account again, after something other than a block changed it; every account after a change of the permissions
    /// contract's.
    ///
    /// Returns the dropped transactions, whose nonces are below the account's, each with the reason.
    pub fn refresh_sender(&mut self, sender: Address, context: &PoolContext) -> Vec<(Arc<Transaction>, PoolError)> {
        self.follow(context);
        if context.permissions.is_none() || sender != PERMISSIONS_ADDRESS {
            return self.read_again(sender, context);
        }
        let senders: Vec<Address> = self.senders.keys().copied().collect();
        senders.into_iter().flat_map(|sender| self.read_again(sender, context)).collect()
    }

    /// Takes over base fee and gas limit of the next block, and the head's time.
    pub fn follow(&mut self, context: &PoolContext) {
        self.set_next_block(context.base_fee, context.gas_limit.get(), context.timestamp.as_secs());
    }

    /// Adds transactions that another pool had, in the order of their arrival there. Leaves out the invalid ones, and applies
    /// the bounds once all are in.
    pub fn refill(&mut self, transactions: Vec<Arc<Transaction>>, context: &PoolContext) {
        self.follow(context);
        let mut dropped = self.put_back(transactions, context);
        self.apply_bounds(&mut dropped);
    }

    /// Reports that a block built on the newest state left a transaction out, although it was ready.
    ///
    /// It is queued with those after it until the sender's account changes; nothing happens where it waits already, or only did
    /// not fit any more.
    pub fn refuse(&mut self, transaction: &Transaction, reason: &InvalidTransaction, context: &PoolContext) {
        let (sender, nonce) = (transaction.sender(), transaction.nonce());
        drop(self.refresh_sender(sender, context));
        let is_of_block = matches!(
            reason,
            InvalidTransaction::BlockFull { .. }
                | InvalidTransaction::BlockSizeFull { .. }
                | InvalidTransaction::GasLimitAboveBlock { .. }
                | InvalidTransaction::FeeBelowBaseFee { .. }
        );
        let is_pooled = self.by_hash.get(&transaction.hash()) == Some(&(sender, nonce));
        if is_pooled && !is_of_block {
            self.update(sender, |queue, queued, now| queue.refuse(nonce, reason.clone(), queued, now));
        }
    }

    fn read_again(&mut self, sender: Address, context: &PoolContext) -> Dropped {
        let Some(queue) = self.senders.get(&sender) else { return Dropped::new() };
        let Ok(account) = AccountState::read(context, &sender) else { return Dropped::new() };
        if *queue.account() == account { Dropped::new() } else { self.set_account(sender, account) }
    }

    /// Sets a sender's account; returns the transactions whose nonces are used.
    pub(super) fn set_account(&mut self, sender: Address, account: AccountState) -> Dropped {
        let used = self.update(sender, |queue, queued, now| queue.set_account(account, queued, now));
        let with_reason = used.unwrap_or_default().into_iter().filter_map(|entry| {
            let is_known = self.by_hash.contains_key(&entry.transaction.hash());
            let transaction = self.forget(entry);
            let (got, want) = (transaction.nonce(), account.nonce);
            let reason = InvalidTransaction::NonceTooLow { address: sender, got, want };
            is_known.then_some((transaction, PoolError::Invalid(reason)))
        });
        with_reason.collect()
    }

    /// Removes the transaction at a place if its hash passes.
    fn take_if(&mut self, place: Place, is_wanted: impl Fn(&Self, &B256) -> bool) -> Option<Arc<Transaction>> {
        let (sender, nonce) = place;
        let hash = self.by_nonce(&sender, nonce)?.hash();
        is_wanted(self, &hash).then(|| self.take(place)).flatten()
    }

    /// Returns the watched senders whose turn it is.
    fn next_watched(&mut self) -> Vec<Address> {
        let from = (Bound::Excluded(self.watch_from), Bound::Unbounded);
        let after = self.watched.range(from).map(|(sender, ())| *sender);
        let turn: Vec<Address> = after
            .chain(self.watched.range(..=self.watch_from).map(|(sender, ())| *sender))
            .take(WATCHED_PER_HEAD_MAX)
            .collect();
        if let Some(last) = turn.last() {
            self.watch_from = *last;
        }
        turn
    }

    /// Adds transactions of the past again, without the bounds that hold for new ones.
    fn put_back(&mut self, transactions: Vec<Arc<Transaction>>, context: &PoolContext) -> Dropped {
        let mut dropped = Dropped::new();
        for transaction in transactions {
            if self.by_hash.contains_key(&transaction.hash()) {
                continue;
            }
            let present = self.by_nonce(&transaction.sender(), transaction.nonce());
            let checked = self.check(&transaction, context).and_then(|account| match present {
                Some(old) => self.check_replacement(&old, &transaction).map(|()| account),
                None => Ok(account),
            });
            match checked {
                Ok(account) => drop(self.put(transaction, account)),
                Err(error) => dropped.push((transaction, error)),
            }
        }
        dropped
    }

    /// Drops what is queued for too long and what is over a bound.
    fn apply_bounds(&mut self, dropped: &mut Dropped) {
        let limit_secs = self.config.queued_lifetime.as_secs();
        while let Some((since, place)) = self.queued.oldest() {
            let secs = self.now.saturating_sub(since);
            if secs <= limit_secs {
                break;
            }
            let expired = self.take(place).map(|transaction| (transaction, PoolError::Expired { secs, limit_secs }));
            dropped.extend(expired);
        }
        while let Some((address, ())) = self.crowded.get_min().copied() {
            let queue = self.senders.get(&address);
            let count = queue.map_or(0, |queue| queue.queued_len());
            let Some(last) = queue.and_then(|queue| queue.last_nonce()) else { break };
            let error = PoolError::SenderQueueFull { address, count };
            dropped.extend(self.take((address, last)).map(|transaction| (transaction, error)));
        }
        while let Some((cheapest, place)) =
            self.queued.cheapest().filter(|_| self.queued.len() > self.config.queued_max)
        {
            let error = PoolError::QueueFull { count: self.queued.len(), cheapest };
            dropped.extend(self.take(place).map(|transaction| (transaction, error)));
        }
        while self.len() > self.config.transactions_max || self.bytes > self.config.bytes_max {
            let worst = self.tails.worst().and_then(|(_, sender)| {
                let last = self.senders.get(&sender)?.ready_end().checked_sub(1)?;
                Some((sender, last))
            });
            let Some(place) = self.queued.cheapest().map(|(_, place)| place).or(worst) else { break };
            let count = self.len();
            let with_reason = |transaction: Arc<Transaction>| {
                let cheapest = transaction.max_fee_per_gas();
                (transaction, PoolError::Full { count, cheapest })
            };
            dropped.extend(self.take(place).map(with_reason));
        }
    }
}
