//! What a replica does about a transaction that nobody takes.
//!
//! A primary of PBFT that makes blocks in time, and leaves a client's transaction out of all of them, is suspected like one that
//! makes none: "if the request is not executed, the backups start a view change" (Castro and Liskov, section 4.4 of the
//! paper of 1999). Only the replica knows its pool, so it tells the protocol. The other protocols change the author
//! with every block or slot, or trust their leader.

use super::Replica;
use crate::{
    chain::Candidates,
    consensus::{Admin, Event, Machine, Protocol},
    primitives::{B256, Gas, Height},
    sim::network::{envelope::Parcel, environment::World, production::Production},
};

/// Blocks without a transaction that came first in the pool all the while, after which the replica shows it to the others again.
const SHOW_AGAIN_BLOCKS: u64 = 6;
/// The same, after which whoever leads is suspected. Doubles for one transaction with every time.
const OVERDUE_BLOCKS: u64 = 12;
/// The bound of that.
const OVERDUE_BLOCKS_MAX: u64 = 4_096;

/// The transaction that comes first in the pool, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) struct Waiting {
    transaction: B256,
    since: Height,
    /// Blocks that it may wait.
    limit: u64,
}

impl Replica {
    /// Looks at the pool after a new head; answers what to tell the protocol.
    pub(super) fn lose_patience(&mut self, world: &mut World) -> Option<Event> {
        let is_asked = matches!(self.machine(), Machine::Pbft(_)) && world.production == Production::Automatic;
        if !is_asked || self.pool().is_empty() {
            self.waiting = None;
            return None;
        }
        let chain = self.chain();
        let gas_limit = Gas::new(chain.head().block().header().gas_limit);
        let first = self.pool().best(chain.next_base_fee().unwrap_or(0)).next();
        let head = self.machine().head().height;
        let Some(first) = first.filter(|transaction| transaction.gas_limit() <= gas_limit) else {
            self.waiting = None;
            return None;
        };
        let transaction = first.hash();
        let Some(waiting) = self.waiting.as_mut().filter(|waiting| waiting.transaction == transaction) else {
            self.waiting = Some(Waiting { transaction, since: head, limit: OVERDUE_BLOCKS });
            return None;
        };
        let blocks = head.get().saturating_sub(waiting.since.get());
        let is_overdue = blocks >= waiting.limit;
        if is_overdue {
            (waiting.since, waiting.limit) = (head, (2 * waiting.limit).min(OVERDUE_BLOCKS_MAX));
        }
        if blocks == SHOW_AGAIN_BLOCKS {
            world.broadcast(self.slot, &Parcel::Transaction(first));
        }
        is_overdue.then_some(Event::Admin(Admin::Overdue))
    }
}
