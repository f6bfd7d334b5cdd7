//! Caches shared by the replicas of a process: execution results, and blocks read from the store.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use alloy_consensus::Eip658Value;
use alloy_primitives::{B256, Bloom};

use super::{
    block::Block,
    executed_block::{ExecutedBlock, Execution},
    failed_outcomes::FailedOutcomes,
    receipt::Receipt,
    roots,
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
    /// The last receipt that was alone in its block and without logs, and the root of it.
    plain_receipt: Option<(PlainReceipt, B256)>,
}

/// What the receipts root covers of a receipt without logs: type, status, cumulative gas used.
type PlainReceipt = (u8, Eip658Value, u64);

#[derive(Debug)]
struct CachedResult {
    block: Arc<Block>,
    execution: Execution,
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
        let mut inner = self.lock();
        inner.by_height.insert(key);
        inner.bytes += execution.bytes();
        if let Some(replaced) = inner.results.insert(hash, CachedResult { block, execution }) {
            inner.bytes -= replaced.execution.bytes();
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
            inner.bytes -= removed.execution.bytes();
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

    /// Computes the receipts root and the bloom of all logs. The root of a single receipt without logs is remembered: a row of
    /// blocks of one plain transfer each has the same.
    pub(super) fn receipts_root(&self, receipts: &[Receipt]) -> (B256, Bloom) {
        let [receipt] = receipts else { return roots::receipts_root(receipts) };
        if !receipt.logs().is_empty() {
            return roots::receipts_root(receipts);
        }
        let plain = (receipt.ty, receipt.inner.status, receipt.cumulative_gas_used().get());
        let known = self.lock().plain_receipt;
        if let Some((_, root)) = known.filter(|(known, _)| *known == plain) {
            return (root, Bloom::ZERO);
        }
        let (root, bloom) = roots::receipts_root(receipts);
        self.lock().plain_receipt = Some((plain, root));
        (root, bloom)
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
            self.bytes -= removed.execution.bytes();
        }
    }
}

/// The blocks read last from the store, decoded; the newest at the end.
#[derive(Debug, Default)]
pub(super) struct DecodedBlocks(Mutex<Decoded>);

#[derive(Debug, Default)]
struct Decoded {
    blocks: VecDeque<ExecutedBlock>,
    /// Number of evictions of blocks that changed in the store.
    evictions: u64,
    /// Memory of the blocks, in bytes.
    bytes: u64,
}

impl DecodedBlocks {
    pub(super) fn get(&self, hash: B256) -> Option<ExecutedBlock> {
        self.lock().blocks.iter().find(|block| block.hash() == hash).cloned()
    }

    /// Returns a number to be given to [`DecodedBlocks::put`] for a block that is read after this call.
    pub(super) fn evictions(&self) -> u64 {
        self.lock().evictions
    }

    /// Keeps a block read since the call that returned `evictions`, unless a block has changed in the store since.
    pub(super) fn put(&self, block: ExecutedBlock, evictions: u64) {
        let mut decoded = self.lock();
        if decoded.evictions != evictions {
            return;
        }
        decoded.bytes += block.block_bytes();
        decoded.blocks.push_back(block);
        while decoded.blocks.len() > DECODED_MAX || (decoded.bytes > DECODED_BYTES_MAX && decoded.blocks.len() > 1) {
            let Some(oldest) = decoded.blocks.pop_front() else { return };
            decoded.bytes -= oldest.block_bytes();
        }
    }

    /// Evicts a block that is removed from the store, or written to it again.
    pub(super) fn remove(&self, hash: B256) {
        let Decoded { blocks, evictions, bytes } = &mut *self.lock();
        *evictions += 1;
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

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, Log};
    use proptest::prelude::*;

    use super::*;
    use crate::primitives::Gas;

    proptest! {
        /// Whatever was asked before, the root is that of these receipts.
        #[test]
        fn remembered_roots_are_those_of_the_receipts(
            blocks in prop::collection::vec(prop::collection::vec((0..3_u8, any::<bool>(), 0..3_u64, 0..2_usize), 0..3), 0..20),
        ) {
            let cache = ExecutionCache::new();
            for block in blocks {
                let receipt = |(ty, is_success, gas, logs)| Receipt {
                    ty,
                    inner: alloy_consensus::Receipt {
                        status: Eip658Value::Eip658(is_success),
                        cumulative_gas_used: gas,
                        logs: vec![Log::new_unchecked(Address::ZERO, vec![], Default::default()); logs],
                    },
                    gas_used: Gas::new(gas),
                    effective_gas_price: gas.into(),
                    contract_address: None,
                    first_log_index: 0,
                };
                let receipts: Vec<_> = block.into_iter().map(receipt).collect();
                prop_assert_eq!(cache.receipts_root(&receipts), roots::receipts_root(&receipts));
            }
        }
    }
}
