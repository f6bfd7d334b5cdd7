//! Whether a pool only grew at the end of its order, so that a block of its transactions goes on where that of the smaller pool ends.

use std::{collections::BTreeMap, sync::Arc};

use imbl::ordmap::DiffItem;

use super::{Pool, sender::Entry};
use crate::primitives::Transaction;

impl Pool {
    /// Returns the transactions since `before` that the next block can contain, where all of them come after those of `before` in the
    /// order of [`Pool::best`]; `None` where the pool changed in another way. `tip_min` is the lowest effective tip of those of
    /// `before` that a block tried; `None` where it tried none.
    ///
    /// Costs what differs between the two pools, if both are clones of one.
    pub(crate) fn appended_since(&self, before: &Self, tip_min: Option<u128>) -> Option<Vec<Arc<Transaction>>> {
        if (self.base_fee, self.gas_limit, self.now) != (before.base_fee, before.gas_limit, before.now) {
            return None;
        }
        let mut ready: Vec<&Entry> = Vec::new();
        for change in before.by_hash.diff(&self.by_hash) {
            let DiffItem::Add(_, (sender, nonce)) = change else { return None };
            let queue = self.senders.get(sender)?;
            if queue.is_ready(*nonce) {
                ready.push(queue.get(*nonce)?);
            }
        }
        // A transaction that fills a gap makes earlier ones ready, whose place may be anywhere.
        if self.ready != before.ready + ready.len() {
            return None;
        }
        ready.sort_unstable_by_key(|entry| entry.arrival);
        let mut lowest = tip_min.unwrap_or(u128::MAX);
        let (mut nonces, mut appended) = (BTreeMap::new(), Vec::with_capacity(ready.len()));
        for Entry { transaction, .. } in ready {
            let is_too_large = transaction.gas_limit().get() > self.gas_limit;
            let Some(tip) = transaction.effective_tip_per_gas(self.base_fee).filter(|_| !is_too_large) else {
                continue;
            };
            // Of equal tips the earlier arrival comes first, unless a sender's nonces arrived out of order.
            let is_after_all = tip <= lowest;
            let last = nonces.insert(transaction.sender(), transaction.nonce());
            if !is_after_all || last.is_some_and(|last| last > transaction.nonce()) {
                return None;
            }
            lowest = tip;
            appended.push(Arc::clone(transaction));
        }
        Some(appended)
    }
}
