//! Dropping transactions that no block has: from the pools, and from wherever they are under way.

use std::sync::Arc;

use super::Network;
use crate::primitives::{B256, Transaction};

impl Network {
    /// Removes a transaction from every pool and every link, so that no later block includes it; returns it if the primary
    /// had it.
    pub fn drop_transaction(&mut self, hash: &B256) -> Option<Arc<Transaction>> {
        self.drop_transactions(Some(hash))
    }

    /// Removes all transactions from every pool and every link.
    pub fn drop_all_transactions(&mut self) {
        self.drop_transactions(None);
    }

    fn drop_transactions(&mut self, hash: Option<&B256>) -> Option<Arc<Transaction>> {
        let mut of_primary = None;
        for (index, replica) in self.replicas.iter_mut().chain(&mut self.twins).enumerate() {
            let (dropped, deferred) = replica.drop_transactions(hash);
            self.env.on_transactions_gone(deferred);
            if index == 0 {
                of_primary = dropped;
            }
        }
        self.env.drop_transactions(hash);
        of_primary
    }
}
