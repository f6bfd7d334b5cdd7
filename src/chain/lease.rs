//! The heads that clones of a chain use: what a snapshot or a reader's view holds in a durable store.
//!
//! A clone reads blocks and states that it has not in memory from the store, which follows the one chain that writes. A lease
//! tells that chain what must stay, and the clone how far the store's canonical index still is its own.

use std::{
    collections::{BTreeMap, hash_map::Entry},
    hash::Hash,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use alloy_primitives::B256;

use super::executed_block::ExecutedBlock;
use crate::{primitives::maps::LookupMap, state::CommitId};

/// The leases of all clones of a chain. What it answers costs the same with any number of leases, but for
/// [`Leases::may_descend`] and [`Leases::limit_to`], which look at those above a height.
#[derive(Debug, Default)]
pub(super) struct Leases(Mutex<Registry>);

#[derive(Debug, Default)]
struct Registry {
    /// Leases by height and number.
    by_height: BTreeMap<(u64, u64), Weak<Lease>>,
    /// Number of leases on each block.
    blocks: LookupMap<B256, u64>,
    /// Number of leases on each state.
    states: LookupMap<CommitId, u64>,
    taken: u64,
}

/// A clone's right to read the chain below its head; given back when the last clone with this head is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    number: u64,
    height: u64,
    hash: B256,
    commit: CommitId,
    /// The height up to which the stored canonical index is this head's.
    agrees_to: AtomicU64,
    leases: Arc<Leases>,
}

impl Leases {
    /// Takes a lease on a head.
    pub(super) fn take(self: &Arc<Self>, head: &ExecutedBlock) -> Arc<Lease> {
        self.take_on(head.height().get(), head.hash(), head.commit().id)
    }

    fn take_on(self: &Arc<Self>, height: u64, hash: B256, commit: CommitId) -> Arc<Lease> {
        let mut registry = self.lock();
        let number = registry.taken;
        registry.taken += 1;
        let agrees_to = AtomicU64::new(u64::MAX);
        let lease = Arc::new(Lease { number, height, hash, commit, agrees_to, leases: Arc::clone(self) });
        registry.by_height.insert((height, number), Arc::downgrade(&lease));
        *registry.blocks.entry(hash).or_default() += 1;
        *registry.states.entry(commit).or_default() += 1;
        lease
    }

    /// Returns the number that the next lease gets: those taken so far have lower ones.
    pub(super) fn next_number(&self) -> u64 {
        self.lock().taken
    }

    /// Returns whether some head is this block.
    pub(super) fn has_block(&self, hash: B256) -> bool {
        self.lock().blocks.contains_key(&hash)
    }

    /// Returns whether some head has this state.
    pub(super) fn has_state(&self, commit: CommitId) -> bool {
        self.lock().states.contains_key(&commit)
    }

    /// Returns whether a head whose lease has a lower number than `before` may descend from a block at `height`.
    pub(super) fn may_descend(&self, height: u64, before: u64) -> bool {
        self.lock().by_height.range((height, 0)..).any(|((_, number), _)| *number < before)
    }

    /// Notes that the stored canonical index is about to change above `fork`; returns the leases that it limits, and their
    /// limits before.
    pub(super) fn limit_to(&self, fork: u64) -> Vec<(Arc<Lease>, u64)> {
        let registry = self.lock();
        let above = registry.by_height.range((fork.saturating_add(1), 0)..);
        // Returned, as a lease that is dropped here would wait for the lock.
        let limited = above.filter_map(|(_, lease)| lease.upgrade());
        let limit = |lease: Arc<Lease>| {
            let before = lease.agrees_to.fetch_min(fork, Ordering::AcqRel);
            (lease, before)
        };
        limited.map(limit).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        // A holder that panics leaves at worst a lease that is never given back.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    /// Returns whether the stored canonical index may have a block of another branch at `height`. Ask after reading it.
    pub(super) fn is_stale_at(&self, height: u64) -> bool {
        height > self.agrees_to.load(Ordering::Acquire)
    }

    /// Undoes [`Leases::limit_to`]: the index stays as it was.
    pub(super) fn set_limit(&self, height: u64) {
        self.agrees_to.store(height, Ordering::Release);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut registry = self.leases.lock();
        registry.by_height.remove(&(self.height, self.number));
        count_down(&mut registry.blocks, self.hash);
        count_down(&mut registry.states, self.commit);
    }
}

fn count_down<K: Hash + Eq>(counts: &mut LookupMap<K, u64>, key: K) {
    if let Entry::Occupied(mut count) = counts.entry(key) {
        *count.get_mut() -= 1;
        if *count.get() == 0 {
            count.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Operation {
        Take { height: u64, block: u8, commit: u64 },
        Drop(prop::sample::Index),
        Limit(u64),
    }

    fn operation() -> impl Strategy<Value = Operation> {
        prop_oneof![
            (0..8_u64, any::<bool>(), 0..4_u64).prop_map(|(height, other, commit)| {
                Operation::Take { height, block: height as u8 * 2 + u8::from(other), commit }
            }),
            any::<prop::sample::Index>().prop_map(Operation::Drop),
            (0..8_u64).prop_map(Operation::Limit),
        ]
    }

    proptest! {
        /// The answers are those of a walk over the leases that are left.
        #[test]
        fn leases_answer_as_a_list_of_them(operations in prop::collection::vec(operation(), 0..60)) {
            let leases = Arc::new(Leases::default());
            let mut held: Vec<(Arc<Lease>, u64)> = Vec::new();
            for operation in operations {
                match operation {
                    Operation::Take { height, block, commit } => {
                        let lease = leases.take_on(height, B256::repeat_byte(block), CommitId::new(commit));
                        held.push((lease, u64::MAX));
                    }
                    Operation::Drop(index) if !held.is_empty() => drop(held.swap_remove(index.index(held.len()))),
                    Operation::Drop(_) => {}
                    Operation::Limit(fork) => {
                        let limited = leases.limit_to(fork);
                        for (lease, limit) in held.iter_mut().filter(|(lease, _)| lease.height > fork) {
                            let known = limited.iter().find(|(other, _)| Arc::ptr_eq(other, lease));
                            prop_assert_eq!(known.map(|(_, before)| *before), Some(*limit));
                            *limit = fork.min(*limit);
                        }
                    }
                }
                for height in 0..8 {
                    for before in 0..=leases.next_number() {
                        let want = held.iter().any(|(lease, _)| lease.height >= height && lease.number < before);
                        prop_assert_eq!(leases.may_descend(height, before), want);
                    }
                }
                for block in 0..16 {
                    let hash = B256::repeat_byte(block);
                    prop_assert_eq!(leases.has_block(hash), held.iter().any(|(lease, _)| lease.hash == hash));
                }
                for commit in (0..4).map(CommitId::new) {
                    prop_assert_eq!(leases.has_state(commit), held.iter().any(|(lease, _)| lease.commit == commit));
                }
                for (lease, limit) in &held {
                    prop_assert!(lease.is_stale_at(limit.saturating_add(1)) != (*limit == u64::MAX));
                    prop_assert!(!lease.is_stale_at(*limit));
                }
            }
            drop(held);
            let registry = leases.lock();
            prop_assert!(registry.by_height.is_empty() && registry.blocks.is_empty() && registry.states.is_empty());
        }
    }
}
