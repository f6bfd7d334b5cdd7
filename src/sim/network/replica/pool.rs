//! What happens to a replica's pool outside its protocol.

use std::sync::Arc;

use super::Replica;
use crate::{
    primitives::{B256, Transaction},
    sim::network::environment::SimEvent,
};

impl Replica {
    /// Removes a transaction, or all with `None`, from the pool and from what the paused process deferred. Returns the one
    /// from the pool, and the number of deferred arrivals.
    pub(in crate::sim::network) fn drop_transactions(
        &mut self,
        hash: Option<&B256>,
    ) -> (Option<Arc<Transaction>>, usize) {
        let dropped = match hash {
            Some(hash) => self.pool.remove(hash),
            None => {
                self.pool.clear();
                None
            }
        };
        let deferred = self.deferred.len();
        self.deferred.retain(|sim_event: &SimEvent| !sim_event.carries_transaction(hash));
        (dropped, deferred - self.deferred.len())
    }
}
