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
    memory,
};
use crate::{
    primitives::{Height, maps::LookupMap},
    state::{CommitId, Journal},
};

/// Largest number of cached results; the lowest heights are evicted first.
const RESULTS_MAX: usize = 256;

/// Memory of the cached results, in bytes, above which the lowest heights are evicted; the newest result always stays.
const RESULT_BYTES_MAX: u64 = 64 << 20;

/// Heights below a finalized block whose results are kept for replicas behind it.
const HEIGHTS_BEHIND_MAX: u64 = 8;

/// Largest number of decoded blocks kept.
const DECODED_MAX: usize = 64;

/// Memory of the decoded blocks kept, in bytes; one larger block is kept alone.
const DECODED_BYTES_MAX: u64 = 64 << 20;

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
    results: LookupMap<B256, CachedResult>,
    /// Memory of the results, in bytes.
    bytes: u64,
    by_height: BTreeSet<(u64, B256)>,
    /// The journal that produced the newest version, with its read cache, for the next block.
    warm: Option<(CommitId, Journal)>,
}

#[derive(Debug)]
struct CachedResult {
    block: Arc<Block>,
    execution: Execution,
    bytes: u64,
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
        let (known, execution) = {
            let inner = self.lock();
            let result = inner.results.get(&block.hash())?;
            (result.block.clone(), result.execution.clone())
        };
        known.has_same_body(block).then_some(execution)
    }

    pub(super) fn insert(&self, block: Arc<Block>, execution: Execution) {
        let (key, hash) = ((block.height().get(), block.hash()), block.hash());
        let bytes = memory::block_bytes(&block, &execution.receipts) as u64 + execution.version.superseded_bytes();
        let mut inner = self.lock();
        inner.by_height.insert(key);
        inner.bytes += bytes;
        if let Some(replaced) = inner.results.insert(hash, CachedResult { block, execution, bytes }) {
            inner.bytes -= replaced.bytes;
        }
        while inner.results.len() > RESULTS_MAX || (inner.bytes > RESULT_BYTES_MAX && inner.results.len() > 1) {
            inner.remove_lowest();
        }
    }

    /// Evicts the result of a block whose state is about to be deleted.
    pub(super) fn remove(&self, height: Height, hash: B256) {
        let mut inner = self.lock();
        inner.by_height.remove(&(height.get(), hash));
        if let Some(removed) = inner.results.remove(&hash) {
            inner.bytes -= removed.bytes;
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
        if let Some((_, hash)) = self.by_height.pop_first()
            && let Some(removed) = self.results.remove(&hash)
        {
            self.bytes -= removed.bytes;
        }
    }
}

/// The blocks read last from the store, decoded; the newest at the end.
#[derive(Debug, Default)]
pub(super) struct DecodedBlocks(Mutex<Decoded>);

#[derive(Debug, Default)]
struct Decoded {
    blocks: VecDeque<ExecutedBlock>,
    /// Memory of the blocks, in bytes.
    bytes: u64,
}

impl DecodedBlocks {
    pub(super) fn get(&self, hash: B256) -> Option<ExecutedBlock> {
        self.lock().blocks.iter().find(|block| block.hash() == hash).cloned()
    }

    pub(super) fn put(&self, block: ExecutedBlock) {
        let mut decoded = self.lock();
        decoded.bytes += block.block_bytes();
        decoded.blocks.push_back(block);
        while decoded.blocks.len() > DECODED_MAX || (decoded.bytes > DECODED_BYTES_MAX && decoded.blocks.len() > 1) {
            let Some(oldest) = decoded.blocks.pop_front() else { return };
            decoded.bytes -= oldest.block_bytes();
        }
    }

    /// Evicts a block that is removed from the store.
    pub(super) fn remove(&self, hash: B256) {
        let Decoded { blocks, bytes } = &mut *self.lock();
        // Two readers may have put the same block.
        while let Some(position) = blocks.iter().position(|block| block.hash() == hash) {
            *bytes -= blocks.remove(position).map_or(0, |removed| removed.block_bytes());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Decoded> {
        // A holder that panics leaves whole blocks; at worst their bytes are counted twice.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
