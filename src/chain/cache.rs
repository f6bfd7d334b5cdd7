//! Caches shared by the replicas of a process: execution results, and blocks read from the store.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use alloy_primitives::B256;

use super::{
    block::Block,
    executed_block::{ExecutedBlock, Execution},
    failed_outcomes::FailedOutcomes,
};
use crate::{
    primitives::{Height, maps::LookupMap},
    state::{CommitId, Journal},
};

/// Largest number of cached results; the lowest heights are evicted first.
const RESULTS_MAX: usize = 256;

/// Heights below a finalized block whose results are kept for replicas behind it.
const HEIGHTS_BEHIND_MAX: u64 = 8;

/// Largest number of decoded blocks kept.
const DECODED_MAX: usize = 64;

/// Execution results by block hash: post-state and receipts. Clones share one cache.
///
/// A replica uses a result only for an equal body on a parent version that it holds. Finality evicts results.
#[derive(Clone, Debug, Default)]
pub struct ExecutionCache {
    inner: Arc<Mutex<Inner>>,
    failed: FailedOutcomes,
}

#[derive(Debug, Default)]
struct Inner {
    results: LookupMap<B256, (Arc<Block>, Execution)>,
    by_height: BTreeSet<(u64, B256)>,
    /// The journal that produced the newest version, with its read cache, for the next block.
    warm: Option<(CommitId, Journal)>,
}

impl ExecutionCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of cached results.
    pub fn len(&self) -> usize {
        self.lock().results.len()
    }

    /// Returns whether no result is cached.
    pub fn is_empty(&self) -> bool {
        self.lock().results.is_empty()
    }

    /// Returns the result of a block that equals `block` except for the seal.
    pub(super) fn get(&self, block: &Block) -> Option<Execution> {
        let (known, execution) = self.lock().results.get(&block.hash()).cloned()?;
        known.has_same_body(block).then_some(execution)
    }

    pub(super) fn insert(&self, block: Arc<Block>, execution: Execution) {
        let mut inner = self.lock();
        inner.by_height.insert((block.height().get(), block.hash()));
        inner.results.insert(block.hash(), (block, execution));
        while inner.results.len() > RESULTS_MAX {
            inner.remove_lowest();
        }
    }

    /// Evicts the results that are not needed once the block at `height` is final.
    pub(super) fn prune_finalized(&self, height: Height) {
        let mut inner = self.lock();
        let below = height.get().saturating_sub(HEIGHTS_BEHIND_MAX);
        while inner.by_height.first().is_some_and(|(lowest, _)| *lowest < below) {
            inner.remove_lowest();
        }
    }

    /// Outcomes of the failed transactions of blocks built in this process.
    pub(super) const fn failed(&self) -> &FailedOutcomes {
        &self.failed
    }

    /// Takes the cached journal when it is over this version.
    pub(super) fn take_journal(&self, at: CommitId) -> Option<Journal> {
        let mut inner = self.lock();
        let (_, journal) = inner.warm.take_if(|(commit, _)| *commit == at)?;
        Some(journal)
    }

    pub(super) fn put_journal(&self, at: CommitId, journal: Journal) {
        self.lock().warm = Some((at, journal));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A holder that panics leaves whole entries: correct results or none.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn remove_lowest(&mut self) {
        if let Some((_, hash)) = self.by_height.pop_first() {
            self.results.remove(&hash);
        }
    }
}

/// The blocks read last from the store, decoded; the newest at the end.
#[derive(Debug, Default)]
pub(super) struct DecodedBlocks(Mutex<VecDeque<ExecutedBlock>>);

impl DecodedBlocks {
    pub(super) fn get(&self, hash: B256) -> Option<ExecutedBlock> {
        let blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.iter().find(|block| block.hash() == hash).cloned()
    }

    pub(super) fn put(&self, block: ExecutedBlock) {
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if blocks.len() >= DECODED_MAX {
            blocks.pop_front();
        }
        blocks.push_back(block);
    }

    /// Evicts all, after stored blocks were removed.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
