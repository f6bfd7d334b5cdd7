//! Reaction of a replica to a transaction that no block includes.
//!
//! A primary of PBFT that makes blocks in time but omits a client's transaction is suspected like one that makes none: "if the
//! request is not executed, the backups start a view change" (Castro and Liskov 1999, section 4.4). The pool belongs to the
//! replica, so the replica notifies the protocol. The other protocols change the author with every block or slot, or trust
//! their leader.

use super::Replica;
use crate::{
    chain::Candidates,
    consensus::{Admin, Event, Protocol},
    primitives::{B256, Gas, Height},
    sim::network::{envelope::Envelope, environment::Environment, production::Production},
};

/// Blocks that omit the pool's first transaction after which the replica broadcasts it again.
const REBROADCAST_BLOCKS: u64 = 6;
/// Blocks that omit it after which the primary is suspected. Doubles for one transaction with every suspicion.
const OVERDUE_BLOCKS: u64 = 12;
/// Bound of that doubling.
const OVERDUE_BLOCKS_MAX: u64 = 4_096;

/// First transaction of the pool, and the height since which it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) struct OldestPending {
    transaction: B256,
    since: Height,
    /// Blocks that it may wait before the primary is suspected.
    limit: u64,
}

impl Replica {
    /// Checks the pool after a new head; returns the event that reports an overdue transaction to the protocol.
    pub(super) fn check_inclusion_timeout(&mut self, env: &mut Environment) -> Option<Event> {
        let is_asked = self.protocol().info().has_inclusion_timeout && env.production == Production::Automatic;
        if !is_asked || self.pool().is_empty() {
            self.oldest_pending = None;
            return None;
        }
        let chain = self.chain();
        let gas_limit = Gas::new(chain.head().block().header().gas_limit);
        let first = self.pool().best(chain.next_base_fee().unwrap_or(0)).next();
        let head = self.protocol().head().height;
        let Some(first) = first.filter(|transaction| transaction.gas_limit() <= gas_limit) else {
            self.oldest_pending = None;
            return None;
        };
        let transaction = first.hash();
        let Some(oldest_pending) =
            self.oldest_pending.as_mut().filter(|oldest_pending| oldest_pending.transaction == transaction)
        else {
            self.oldest_pending = Some(OldestPending { transaction, since: head, limit: OVERDUE_BLOCKS });
            return None;
        };
        let blocks = head.get().saturating_sub(oldest_pending.since.get());
        let is_overdue = blocks >= oldest_pending.limit;
        if is_overdue {
            (oldest_pending.since, oldest_pending.limit) = (head, (2 * oldest_pending.limit).min(OVERDUE_BLOCKS_MAX));
        }
        if blocks == REBROADCAST_BLOCKS {
            env.broadcast(self.slot, &Envelope::Transaction(first));
        }
        is_overdue.then_some(Event::Admin(Admin::Overdue))
    }
}
