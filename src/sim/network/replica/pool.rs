//! What happens to a replica's pool outside its protocol: transactions that a block left out, and dropped ones.

use std::sync::Arc;

use super::{Replica, building::LeftOut};
use crate::{
    primitives::{B256, Transaction},
    sim::network::error::NetworkError,
};

impl Replica {
    /// Reports to the pool what a block left out.
    pub(in crate::sim::network) fn refuse(&mut self, left_out: &LeftOut) -> Result<(), NetworkError> {
        if left_out.is_empty() || self.pool.is_empty() {
            return Ok(());
        }
        let context = self.chain.pool_context().map_err(|error| self.chain_error(error))?;
        left_out.iter().for_each(|(transaction, reason)| self.pool.refuse(transaction, reason, &context));
        Ok(())
    }

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
        (dropped, self.drop_deferred(|sim_event| sim_event.carries_transaction(hash)))
    }
}
