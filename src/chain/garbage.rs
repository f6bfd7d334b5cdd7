//! What a durable store holds and the chain does not need any more, as soon as no clone reads it: blocks that were reverted,
//! states that were replaced.
//!
//! The list is in the store, too, so that what a process leaves behind is deleted by the next one. Each batch works off a bounded
//! part of it.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError, Weak},
};

use alloy_primitives::B256;

use super::{cache::ExecutionCache, lease::Leases, version::Version};
use crate::{
    primitives::{Height, maps::LookupMap},
    state::CommitId,
};

/// Items looked at for one batch.
const EXAMINED_MAX: usize = 256;

/// Items deleted by one batch.
const COLLECTED_MAX: usize = 64;

/// Something to be deleted.
#[derive(Clone, Debug)]
pub(super) struct GarbageItem {
    /// The block whose body and receipts are to be deleted.
    pub(super) block: Option<B256>,
    /// The state to be deleted.
    pub(super) commit: Option<CommitId>,
    /// Height of the block or of the state's block.
    pub(super) height: Height,
    /// Whether the block may become canonical again until its height is irreversible.
    pub(super) may_return: bool,
    pub(super) holder: Holder,
}

/// Who may still need an item.
#[derive(Clone, Debug)]
pub(super) enum Holder {
    /// Clones with this very block or state at their head.
    Head,
    /// Clones made before the lease with this number whose head may descend from the block.
    Descendants {
        /// Number of the first lease that can't need it.
        before: u64,
        /// The state that the block made, which replicas may have in their trees.
        version: Weak<Version>,
    },
    /// Clones that share this version as their pending state.
    Version(Weak<Version>),
}

impl GarbageItem {
    fn is_free(&self, leases: &Leases, irreversible: Height, cache: &ExecutionCache) -> bool {
        if self.may_return && self.height > irreversible {
            return false;
        }
        let is_head = || {
            self.block.is_some_and(|hash| leases.has_block(hash))
                || self.commit.is_some_and(|commit| leases.has_state(commit))
        };
        match &self.holder {
            Holder::Head => !is_head(),
            Holder::Descendants { before, version } => {
                if leases.may_descend(self.height.get(), *before) || is_head() {
                    return false;
                }
                // The state of a deleted block must not be found by its hash.
                self.block.iter().for_each(|hash| cache.remove(self.height, *hash));
                version.strong_count() == 0
            }
            Holder::Version(version) => version.strong_count() == 0,
        }
    }
}

/// The items by number.
#[derive(Debug, Default)]
pub(super) struct Garbage(Mutex<Items>);

#[derive(Debug, Default)]
struct Items {
    by_number: BTreeMap<u64, GarbageItem>,
    by_block: LookupMap<B256, u64>,
    next: u64,
    /// Number after which the next batch looks on.
    cursor: u64,
}

/// Changes of the list, made in a batch and applied once it is written.
#[derive(Debug, Default)]
pub(super) struct GarbageChange {
    pub(super) added: Vec<(u64, GarbageItem)>,
    pub(super) removed: Vec<u64>,
}

impl Garbage {
    /// The list in a store.
    pub(super) fn stored(items: impl IntoIterator<Item = (u64, GarbageItem)>) -> Self {
        let garbage = Self::default();
        let added: Vec<_> = items.into_iter().collect();
        let next = added.iter().map(|(number, _)| number + 1).max().unwrap_or_default();
        garbage.lock().next = next;
        garbage.apply(GarbageChange { added, removed: Vec::new() });
        garbage
    }

    /// Adds an item to `change`.
    pub(super) fn add(&self, item: GarbageItem, change: &mut GarbageChange) {
        let mut items = self.lock();
        let number = items.next;
        items.next += 1;
        change.added.push((number, item));
    }

    /// Removes a block that is canonical again from the list; returns its item.
    pub(super) fn take_back(&self, hash: B256, change: &mut GarbageChange) -> Option<GarbageItem> {
        let items = self.lock();
        let number = *items.by_block.get(&hash)?;
        change.removed.push(number);
        items.by_number.get(&number).cloned()
    }

    /// Keeps a block that was inserted again, or built on, until its height is irreversible. Returns whether it would not have
    /// been.
    pub(super) fn keep(&self, hash: B256) -> bool {
        let mut items = self.lock();
        let Some(number) = items.by_block.get(&hash).copied() else { return false };
        let item = items.by_number.get_mut(&number);
        item.is_some_and(|item| !core::mem::replace(&mut item.may_return, true))
    }

    /// Returns items that can be deleted, a bounded number of them, other than those that `change` removes. Costs nothing while
    /// the list is empty.
    pub(super) fn collect(
        &self,
        leases: &Leases,
        irreversible: Height,
        cache: &ExecutionCache,
        change: &mut GarbageChange,
    ) -> Vec<GarbageItem> {
        let mut items = self.lock();
        let cursor = items.cursor;
        let turn = items.by_number.range(cursor..).chain(items.by_number.range(..cursor));
        let (mut free, mut next) = (Vec::new(), cursor);
        for (number, item) in turn.take(EXAMINED_MAX) {
            next = number + 1;
            if !change.removed.contains(number) && item.is_free(leases, irreversible, cache) {
                free.push((*number, item.clone()));
            }
            if free.len() >= COLLECTED_MAX {
                break;
            }
        }
        items.cursor = next;
        change.removed.extend(free.iter().map(|(number, _)| *number));
        free.into_iter().map(|(_, item)| item).collect()
    }

    /// Applies a change whose batch was written.
    pub(super) fn apply(&self, change: GarbageChange) {
        let mut items = self.lock();
        for number in change.removed {
            if let Some(hash) = items.by_number.remove(&number).and_then(|item| item.block) {
                items.by_block.remove(&hash);
            }
        }
        for (number, item) in change.added {
            if let Some(hash) = item.block {
                items.by_block.insert(hash, number);
            }
            items.by_number.insert(number, item);
        }
    }

    /// Number of items.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().by_number.len()
    }

    fn lock(&self) -> MutexGuard<'_, Items> {
        // Every change under the lock leaves whole items.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
