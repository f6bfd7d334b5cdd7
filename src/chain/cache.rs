//! Execution results shared by the replicas of a process.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use alloy_primitives::B256;

use super::{
    block::Block,
    executed_block::{ExecutedBlock, Execution},
};
use crate::{
    primitives::maps::LookupMap,
    state::{CommitId, Journal},
};

/// Most results kept; the oldest heights go first.
const RESULTS_MAX: usize = 256;

/// Heights below a finalized block whose results are kept for replicas that are a little behind.
const HEIGHTS_BEHIND_MAX: u64 = 8;

/// Blocks read back and kept decoded.
const DECODED_MAX: usize = 64;

/// From block hash to post-state and receipts. Clones share one cache.
///
/// A replica uses a result only for a body equal to the one that gave it, on a parent that it holds; results die at
/// finality.
#[derive(Clone, Debug, Default)]
pub struct ExecutionCache {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    results: LookupMap<B256, (Arc<Block>, Execution)>,
    by_height: BTreeSet<(u64, B256)>,
    /// The journal that made the newest version, with what it read: the next block goes on with it.
    warm: Option<(CommitId, Journal)>,
}

impl ExecutionCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many results it holds.
    pub fn len(&self) -> usize {
        self.lock().results.len()
    }

    /// Whether it holds no results.
    pub fn is_empty(&self) -> bool {
        self.lock().results.is_empty()
    }

    /// The result of a block equal to `block` but for the seal.
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

    /// Forgets what finality at `height` makes useless.
    pub(super) fn finalize(&self, height: u64) {
        let mut inner = self.lock();
        let below = height.saturating_sub(HEIGHTS_BEHIND_MAX);
        while inner.by_height.first().is_some_and(|(lowest, _)| *lowest < below) {
            inner.remove_lowest();
        }
    }

    /// The warm journal, when it stands at this version.
    pub(super) fn take_journal(&self, at: CommitId) -> Option<Journal> {
        let mut inner = self.lock();
        let (_, journal) = inner.warm.take_if(|(commit, _)| *commit == at)?;
        Some(journal)
    }

    pub(super) fn put_journal(&self, at: CommitId, journal: Journal) {
        self.lock().warm = Some((at, journal));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // What a panicking holder leaves is whole entries: results that are right or missing.
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

/// The last blocks that were read back, the newest at the end.
#[derive(Debug, Default)]
pub(super) struct Decoded(Mutex<VecDeque<ExecutedBlock>>);

impl Decoded {
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

    /// Forgets all, after something stored was removed.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
