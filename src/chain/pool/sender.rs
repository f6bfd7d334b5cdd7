//! One sender's transactions: which of them its account can execute one after the other.

use core::cmp::Reverse;
use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use imbl::OrdMap;

use super::{PoolContext, tip_index::Offer};
use crate::{
    chain::{error::InvalidTransaction, permissions::permissions_in, validate::check_permissions},
    primitives::Transaction,
    state::{Account, EMPTY_CODE_HASH, StateError},
    system::permissions::AccountPermissions,
};

/// What the pool knows of an account: all that decides whether its transactions are ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AccountState {
    /// The next nonce.
    pub(super) nonce: u64,
    pub(super) balance: U256,
    pub(super) code_hash: B256,
    pub(super) permissions: AccountPermissions,
}

impl AccountState {
    /// Reads an account of the newest state.
    pub(super) fn read(context: &PoolContext, address: &Address) -> Result<Self, StateError> {
        let Account { nonce, balance, code_hash, .. } = context.state.account(address)?.unwrap_or_default();
        let permissions = match context.permissions {
            Some(lists) => permissions_in(&*context.state, lists, *address)?,
            None => AccountPermissions::ALL,
        };
        Ok(Self { nonce, balance, code_hash, permissions: permissions.where_deployments(context.deployments) })
    }
}

/// A pooled transaction.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) transaction: Arc<Transaction>,
    pub(super) arrival: u64,
    /// Chain time at which it was queued, in seconds; `None` while it is ready.
    pub(super) queued_since: Option<u64>,
}

impl Entry {
    /// Largest cost to the sender; the pool takes none whose cost overflows.
    fn cost(&self) -> U256 {
        self.transaction.max_cost().unwrap_or(U256::MAX)
    }

    fn place(&self) -> Place {
        (self.transaction.sender(), self.transaction.nonce())
    }
}

/// A sender and a nonce.
pub(super) type Place = (Address, u64);

/// The queued transactions of all senders.
#[derive(Clone, Debug, Default)]
pub(super) struct Queued {
    /// Cheapest first; of two with the same fee, the later arrival first.
    by_fee: OrdMap<(u128, Reverse<u64>), Place>,
    /// By time of queueing and arrival.
    by_time: OrdMap<(u64, u64), Place>,
}

impl Queued {
    fn insert(&mut self, entry: &mut Entry, since: u64) {
        entry.queued_since = Some(since);
        self.by_fee.insert(fee_key(entry), entry.place());
        self.by_time.insert((since, entry.arrival), entry.place());
    }

    /// Removes an entry, which is then as a ready one.
    fn remove(&mut self, entry: &mut Entry) {
        if let Some(since) = entry.queued_since.take() {
            self.by_fee.remove(&fee_key(entry));
            self.by_time.remove(&(since, entry.arrival));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_fee.len()
    }

    /// Returns the largest fee and the place of the cheapest one.
    pub(super) fn cheapest(&self) -> Option<(u128, Place)> {
        self.by_fee.get_min().map(|((fee, _), place)| (*fee, *place))
    }

    /// Returns the time and the place of the one that is queued for longest.
    pub(super) fn oldest(&self) -> Option<(u64, Place)> {
        self.by_time.get_min().map(|((since, _), place)| (*since, *place))
    }

    /// Returns whether no entry differs, without looking at one.
    #[cfg(test)]
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.by_fee.ptr_eq(&other.by_fee) && self.by_time.ptr_eq(&other.by_time)
    }
}

fn fee_key(entry: &Entry) -> (u128, Reverse<u64>) {
    (entry.transaction.max_fee_per_gas(), Reverse(entry.arrival))
}

/// A transaction that a block left out although it was ready, with the account as it was then.
#[derive(Debug)]
pub(super) struct Refusal {
    hash: B256,
    pub(super) reason: InvalidTransaction,
    account: AccountState,
}

/// One sender's transactions, none below the account's nonce.
///
/// Those from the account's nonce up to `ready_end` are *ready*: no nonce is missing, the balance covers the sum of their
/// largest costs, and the account may send them. All others are *queued*. The ready ones are always as many as possible.
#[derive(Clone, Debug)]
pub(super) struct SenderQueue {
    account: AccountState,
    transactions: OrdMap<u64, Entry>,
    /// The nonce after the ready transactions.
    ready_end: u64,
    /// Sum of the largest costs of the ready transactions.
    ready_cost: U256,
    refused: Option<Arc<Refusal>>,
}

/// What the pool's indices hold of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// Fees and gas limit of the first ready transaction.
    pub(super) head: Option<(Offer, u64)>,
    /// The lower fees of the first and the last ready transaction: the last one is worth no more than what must be mined
    /// before it.
    pub(super) tail: Option<Offer>,
    /// Number of ready transactions.
    pub(super) ready: usize,
    /// Number of queued transactions.
    pub(super) queued: usize,
    /// Whether a block without transactions of this sender can change which of them are ready.
    pub(super) is_watched: bool,
}

impl SenderQueue {
    pub(super) fn new(account: AccountState) -> Self {
        let ready_end = account.nonce;
        Self { account, transactions: OrdMap::new(), ready_end, ready_cost: U256::ZERO, refused: None }
    }

    pub(super) const fn account(&self) -> &AccountState {
        &self.account
    }

    pub(super) const fn ready_end(&self) -> u64 {
        self.ready_end
    }

    pub(super) const fn ready_cost(&self) -> U256 {
        self.ready_cost
    }

    pub(super) const fn is_ready(&self, nonce: u64) -> bool {
        self.account.nonce <= nonce && nonce < self.ready_end
    }

    pub(super) fn get(&self, nonce: u64) -> Option<&Entry> {
        self.transactions.get(&nonce)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.transactions.values()
    }

    pub(super) fn len(&self) -> usize {
        self.transactions.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.transactions.is_empty()
    }

    /// Number of ready transactions.
    pub(super) fn ready_len(&self) -> usize {
        usize::try_from(self.ready_end.saturating_sub(self.account.nonce)).unwrap_or(usize::MAX)
    }

    pub(super) fn queued_len(&self) -> usize {
        self.transactions.len().saturating_sub(self.ready_len())
    }

    /// Returns the highest nonce.
    pub(super) fn last_nonce(&self) -> Option<u64> {
        self.transactions.get_max().map(|(nonce, _)| *nonce)
    }

    pub(super) fn standing(&self) -> Standing {
        let head = self.get(self.account.nonce).filter(|_| self.ready_len() > 0);
        let offer = head.map(|entry| Offer::of(&entry.transaction, entry.arrival));
        let last = self.ready_end.checked_sub(1).and_then(|last| self.get(last));
        let has_code = self.account.code_hash != EMPTY_CODE_HASH;
        Standing {
            head: head.zip(offer).map(|(entry, offer)| (offer, entry.transaction.gas_limit().get())),
            tail: offer.zip(last).map(|(offer, last)| offer.lower_of(&last.transaction)),
            ready: self.ready_len(),
            queued: self.queued_len(),
            is_watched: !self.is_empty() && (has_code || self.transactions.contains_key(&self.ready_end)),
        }
    }

    /// Returns why the transaction at `ready_end` is not ready; `None` when there is none.
    pub(super) fn obstacle(&self) -> Option<(&Entry, Obstacle)> {
        let entry = self.get(self.ready_end)?;
        let refused = self.refused.as_ref().filter(|refusal| refusal.hash == entry.transaction.hash());
        let obstacle = match refused {
            Some(refusal) => Obstacle::Refused(refusal.clone()),
            None if !self.is_of_sender(&entry.transaction) => Obstacle::SenderCode,
            None => match check_permissions(&entry.transaction, self.account.permissions) {
                Err(reason) => Obstacle::NotAllowed(reason),
                Ok(()) => Obstacle::Funds,
            },
        };
        Some((entry, obstacle))
    }

    /// Adds a transaction, in place of one with the same nonce, which it returns.
    pub(super) fn insert(&mut self, mut entry: Entry, queued: &mut Queued, now: u64) -> Option<Entry> {
        let nonce = entry.transaction.nonce();
        // Those after a ready one stay ready, if the balance still covers them.
        let freed = self.get(nonce).filter(|_| self.is_ready(nonce)).map(Entry::cost);
        if let Some(cost) = freed.and_then(|freed| self.cost_with(&entry, freed)) {
            self.ready_cost = cost;
            let old = self.transactions.insert(nonce, entry);
            self.extend(queued);
            return old;
        }
        let old = self.remove(nonce, queued, now);
        if nonce == self.ready_end
            && let Some((cost, end)) = self.cost_with(&entry, U256::ZERO).zip(nonce.checked_add(1))
        {
            (self.ready_cost, self.ready_end) = (cost, end);
        } else {
            queued.insert(&mut entry, now);
        }
        self.transactions.insert(nonce, entry);
        self.extend(queued);
        old
    }

    /// Removes a transaction; later ones are then queued.
    pub(super) fn remove(&mut self, nonce: u64, queued: &mut Queued, now: u64) -> Option<Entry> {
        if self.is_ready(nonce) {
            self.shrink_to(nonce, queued, now);
        }
        let mut entry = self.transactions.remove(&nonce)?;
        queued.remove(&mut entry);
        Some(entry)
    }

    /// Follows the account; returns the transactions below its nonce, which are removed.
    pub(super) fn set_account(&mut self, account: AccountState, queued: &mut Queued, now: u64) -> Vec<Entry> {
        let had_code = self.account.code_hash != EMPTY_CODE_HASH;
        let had_other_permissions = self.account.permissions != account.permissions;
        if self.refused.as_ref().is_some_and(|refusal| refusal.account != account) {
            self.refused = None;
        }
        let mut used = Vec::new();
        if account.nonce < self.account.nonce {
            self.shrink_to(self.account.nonce, queued, now);
            self.ready_end = account.nonce;
        } else {
            let nonces: Vec<u64> = self.transactions.range(..account.nonce).map(|(nonce, _)| *nonce).collect();
            for nonce in nonces {
                let Some(mut entry) = self.transactions.remove(&nonce) else { continue };
                if self.is_ready(nonce) {
                    self.ready_cost = self.ready_cost.saturating_sub(entry.cost());
                }
                queued.remove(&mut entry);
                used.push(entry);
            }
            self.ready_end = self.ready_end.max(account.nonce);
        }
        self.account = account;
        if had_other_permissions || (!had_code && account.code_hash != EMPTY_CODE_HASH) {
            self.shrink_to(account.nonce, queued, now);
        }
        self.shrink_to_balance(queued, now);
        self.extend(queued);
        used
    }

    /// Queues a transaction that a block left out, with those after it, until the account changes.
    pub(super) fn refuse(&mut self, nonce: u64, reason: InvalidTransaction, queued: &mut Queued, now: u64) {
        if let Some(hash) = self.get(nonce).map(|entry| entry.transaction.hash())
            && self.is_ready(nonce)
        {
            self.refused = Some(Arc::new(Refusal { hash, reason, account: self.account }));
            self.shrink_to(nonce, queued, now);
        }
    }

    /// Whether the sender's account may send it: as one without code (EIP-3607), and by the chain's lists.
    fn may_send(&self, transaction: &Transaction) -> bool {
        self.is_of_sender(transaction) && check_permissions(transaction, self.account.permissions).is_ok()
    }

    /// Whether the sender's account is one that sends transactions (EIP-3607).
    fn is_of_sender(&self, transaction: &Transaction) -> bool {
        self.account.code_hash == EMPTY_CODE_HASH || transaction.is_impersonated()
    }

    /// Queues the ready transactions from `end` on.
    fn shrink_to(&mut self, end: u64, queued: &mut Queued, now: u64) {
        while self.ready_end > end {
            self.ready_end -= 1;
            let Some(entry) = self.transactions.get_mut(&self.ready_end) else { continue };
            self.ready_cost = self.ready_cost.saturating_sub(entry.cost());
            queued.insert(entry, now);
        }
    }

    fn shrink_to_balance(&mut self, queued: &mut Queued, now: u64) {
        while self.ready_cost > self.account.balance && self.ready_end > self.account.nonce {
            self.shrink_to(self.ready_end - 1, queued, now);
        }
    }

    /// Makes queued transactions ready, as many as possible.
    fn extend(&mut self, queued: &mut Queued) {
        while let Some(cost) = self.get(self.ready_end).and_then(|next| self.cost_with(next, U256::ZERO)) {
            let Some(end) = self.ready_end.checked_add(1) else { return };
            if let Some(entry) = self.transactions.get_mut(&self.ready_end) {
                queued.remove(entry);
            }
            (self.ready_cost, self.ready_end) = (cost, end);
        }
    }

    /// Returns the cost of the ready transactions with one more, in place of one that costs `freed`; `None` when it can't be
    /// ready.
    fn cost_with(&self, entry: &Entry, freed: U256) -> Option<U256> {
        let is_refused = self.refused.as_ref().is_some_and(|refusal| refusal.hash == entry.transaction.hash());
        let cost = self.ready_cost.saturating_sub(freed).checked_add(entry.cost())?;
        let is_covered = cost <= self.account.balance;
        (is_covered && !is_refused && self.may_send(&entry.transaction)).then_some(cost)
    }
}

/// Why the first queued transaction is not ready although no nonce is missing before it.
#[derive(Clone, Debug)]
pub(super) enum Obstacle {
    /// The balance does not cover it together with the ready ones.
    Funds,
    /// The account has code (EIP-3607).
    SenderCode,
    /// The account may not send it, by the chain's lists.
    NotAllowed(InvalidTransaction),
    /// A block left it out.
    Refused(Arc<Refusal>),
}
