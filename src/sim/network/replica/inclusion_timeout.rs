//! Reaction of a replica to a transaction that no block includes.
//!
//! A primary of PBFT that makes blocks in time but omits a client's transaction is suspected like one that makes none: "if the
//! request is not executed, the backups start a view change" (Castro and Liskov 1999, section 4.4). The pool belongs to the
//! replica, so the replica watches its transactions, each for itself and by time, and notifies the protocol. The other protocols
//! change the author with every block or slot, or trust their leader.
//!
//! A transaction counts as omitted by a block that had room for it although it could be executed: it was ready, paid the base fee,
//! and needed no more gas than the block left. One that a full block leaves out is not watched any less, but does not count.

use std::sync::Arc;

use imbl::{OrdMap, Vector};

use super::Replica;
use crate::{
    chain::{Candidates, Pool},
    consensus::{
        Admin, Event,
        mutation::{self, Mutation},
    },
    primitives::{B256, Transaction},
    sim::{
        engine::clock::SimTime,
        network::{envelope::Envelope, environment::Environment, production::Production},
    },
};

/// Times that the wait for one transaction doubles at most.
const DOUBLINGS_MAX: u32 = 6;
/// Transactions that are checked after one block at most; those due after them are checked after the next one.
const CHECKED_PER_BLOCK_MAX: usize = 1_024;
/// Transactions that are sent again after one block at most.
const REBROADCAST_PER_BLOCK_MAX: usize = 8;
/// Watched transactions, beyond twice those of the pool, from which those that left the pool are forgotten.
const FORGOTTEN_MAX: usize = 1_024;

/// The transactions of a pool, watched for inclusion. Cloning is O(1).
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct InclusionWatch {
    /// Added since the last block.
    added: Vector<B256>,
    /// By the time at which they are checked next.
    due: OrdMap<(SimTime, B256), Watched>,
}

/// What is known of a watched transaction.
#[derive(Clone, Copy, Debug, Default)]
struct Watched {
    /// Whether it was omitted when it was checked last; it has waited since then or longer.
    was_omitted: bool,
    /// Times that the primary was suspected for it.
    suspicions: u32,
}

impl InclusionWatch {
    /// Watches a transaction that entered the pool.
    pub(super) fn add(&mut self, transaction: B256, pool: &Pool) {
        self.added.push_back(transaction);
        if self.added.len() + self.due.len() > 2 * pool.len() + FORGOTTEN_MAX {
            self.added.retain(|hash| pool.get(hash).is_some());
            let due = core::mem::take(&mut self.due);
            self.due = due.into_iter().filter(|((_, hash), _)| pool.get(hash).is_some()).collect();
        }
    }

    /// Takes the transaction that is due first, if it is due.
    fn take_due(&mut self, now: SimTime) -> Option<(B256, Watched)> {
        let (key, watched) = self.due.get_min().map(|(key, watched)| (*key, *watched))?;
        if key.0 > now {
            return None;
        }
        self.due.remove(&key);
        Some((key.1, watched))
    }
}

impl Replica {
    /// Checks the pool after a new head; returns the event that reports an overdue transaction to the protocol.
    ///
    /// A transaction is overdue when it is omitted by the newest block and was omitted half the timeout ago already. Then it is sent
    /// again too, since others suspect the primary only for transactions that they have.
    pub(super) fn check_inclusion_timeout(&mut self, env: &mut Environment) -> Option<Event> {
        let timeout = self.protocol().inclusion_timeout().filter(|_| env.production == Production::Automatic);
        let Some(timeout) = timeout.filter(|_| !self.pool().is_empty()) else {
            self.inclusion_watch = InclusionWatch::default();
            return None;
        };
        let now = env.scheduler.now();
        let check_at = |watched: Watched| {
            let doublings = watched.suspicions.min(DOUBLINGS_MAX);
            now.plus((timeout / 2).saturating_mul(1 << doublings))
        };
        for hash in core::mem::take(&mut self.inclusion_watch.added) {
            self.inclusion_watch.due.insert((check_at(Watched::default()), hash), Watched::default());
        }
        let (mut is_overdue, mut sent) = (false, 0);
        for _ in 0..CHECKED_PER_BLOCK_MAX {
            let Some((hash, mut watched)) = self.inclusion_watch.take_due(now) else { break };
            let Some(transaction) = self.pool().get(&hash) else { continue };
            let is_omitted = self.is_omitted(&transaction);
            if is_omitted && watched.was_omitted {
                is_overdue = true;
                watched.suspicions = watched.suspicions.saturating_add(1);
            } else if is_omitted && sent < REBROADCAST_PER_BLOCK_MAX {
                env.broadcast(self.slot, &Envelope::Transaction(transaction));
                sent += 1;
            }
            watched.was_omitted = is_omitted;
            self.inclusion_watch.due.insert((check_at(watched), hash), watched);
        }
        is_overdue.then_some(Event::Admin(Admin::Overdue))
    }

    /// Returns whether the newest block had room for a transaction that could be executed.
    fn is_omitted(&self, transaction: &Arc<Transaction>) -> bool {
        let (pool, head) = (self.pool(), self.chain().head());
        let base_fee = self.chain().next_base_fee().unwrap_or(0);
        if mutation::active(Mutation::PbftWatchesFirstTransaction) {
            return pool.best(base_fee).next().is_some_and(|first| first.hash() == transaction.hash());
        }
        let room = head.block().header().gas_limit.saturating_sub(head.block().gas_used().get());
        let is_ready = pool.pending_nonce(&transaction.sender()).is_some_and(|next| transaction.nonce() < next);
        is_ready && transaction.max_fee_per_gas() >= u128::from(base_fee) && transaction.gas_limit().get() <= room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_left_the_pool_is_forgotten() {
        let (mut watch, pool) = (InclusionWatch::default(), Pool::new(crate::chain::PoolConfig::new(1)));
        for number in 0..10 * FORGOTTEN_MAX {
            watch.add(crate::primitives::keccak256(number.to_be_bytes()), &pool);
            assert!(watch.added.len() <= FORGOTTEN_MAX);
        }
    }

    #[test]
    fn transactions_are_due_in_order_of_time() {
        let mut watch = InclusionWatch::default();
        let hash = B256::repeat_byte;
        for (at, byte) in [(5, 1), (3, 2), (5, 3)] {
            watch.due.insert((SimTime::from_nanos(at), hash(byte)), Watched::default());
        }
        let mut due = |now| watch.take_due(SimTime::from_nanos(now)).map(|(hash, _)| hash);
        assert_eq!([due(2), due(3), due(4)], [None, Some(hash(2)), None]);
        assert_eq!([due(5), due(5), due(5)], [Some(hash(1)), Some(hash(3)), None]);
    }
}
