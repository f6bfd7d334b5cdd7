//! The heads that clones of a chain use: what a snapshot or a reader's view holds in a durable store.
//!
//! A clone reads blocks and states that it has not in memory from the store, which follows the one chain that writes. A lease
//! tells that chain what must stay, and the clone how far the store's canonical index still is its own.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use alloy_primitives::B256;

use super::executed_block::ExecutedBlock;
use crate::state::CommitId;

/// The leases of all clones of a chain.
#[derive(Debug, Default)]
pub(super) struct Leases(Mutex<Registry>);

#[derive(Debug, Default)]
struct Registry {
    live: BTreeMap<u64, LeasedHead>,
    taken: u64,
}

/// What a lease is for.
#[derive(Clone, Debug)]
pub(super) struct LeasedHead {
    height: u64,
    hash: B256,
    commit: CommitId,
    /// The height up to which the stored canonical index is this head's.
    agrees_to: Arc<AtomicU64>,
}

/// A clone's right to read the chain below its head; given back when the last clone with this head is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    number: u64,
    agrees_to: Arc<AtomicU64>,
    leases: Arc<Leases>,
}

impl Leases {
    /// Takes a lease on a head.
    pub(super) fn take(self: &Arc<Self>, head: &ExecutedBlock) -> Arc<Lease> {
        let agrees_to = Arc::new(AtomicU64::new(u64::MAX));
        let leased = LeasedHead {
            height: head.height().get(),
            hash: head.hash(),
            commit: head.commit().id,
            agrees_to: Arc::clone(&agrees_to),
        };
        let mut registry = self.lock();
        let number = registry.taken;
        registry.taken += 1;
        registry.live.insert(number, leased);
        Arc::new(Lease { number, agrees_to, leases: Arc::clone(self) })
    }

    /// The leases at this moment.
    pub(super) fn held(&self) -> HeldHeads {
        HeldHeads(self.lock().live.clone())
    }

    /// Returns the number that the next lease gets: those taken so far have lower ones.
    pub(super) fn next_number(&self) -> u64 {
        self.lock().taken
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        // Every change under the lock is one step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    /// Returns whether the stored canonical index may have a block of another branch at `height`. Ask after reading it.
    pub(super) fn is_stale_at(&self, height: u64) -> bool {
        height > self.agrees_to.load(Ordering::Acquire)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let removed = self.leases.lock().live.remove(&self.number);
        drop(removed);
    }
}

/// The leases of one moment.
#[derive(Debug)]
pub(super) struct HeldHeads(BTreeMap<u64, LeasedHead>);

impl HeldHeads {
    /// Returns whether some head is this block.
    pub(super) fn has_block(&self, hash: B256) -> bool {
        self.0.values().any(|head| head.hash == hash)
    }

    /// Returns whether some head has this state.
    pub(super) fn has_state(&self, commit: CommitId) -> bool {
        self.0.values().any(|head| head.commit == commit)
    }

    /// Returns whether a head whose lease has a lower number than `before` may descend from a block at `height`.
    pub(super) fn may_descend(&self, height: u64, before: u64) -> bool {
        self.0.range(..before).any(|(_, head)| head.height >= height)
    }

    /// Notes that the stored canonical index is about to change above `fork`; returns what undoes it.
    pub(super) fn limit_to(&self, fork: u64) -> Vec<(Arc<AtomicU64>, u64)> {
        let above = self.0.values().filter(|head| head.height > fork);
        above.map(|head| (head.agrees_to.clone(), head.agrees_to.fetch_min(fork, Ordering::AcqRel))).collect()
    }
}
