//! The index of transactions, and of old blocks, by hash: sorted runs, merged as they grow (a log-structured merge tree).
//!
//! A block adds one run of its transactions; a run is merged into the one before it unless that is twice as long. So there are
//! few runs, each entry is moved O(log n) times, and clones share every run. Entries are not removed one by one: the caller of
//! `find` verifies a match, a merge drops the entries of pruned blocks, and a run of nothing else is dropped.

use std::sync::Arc;

use alloy_primitives::B256;

use crate::chain::block::TransactionIndex;

/// A run of this length is not merged into another, which bounds the time of an insertion.
const RUN_MAX: usize = 1 << 19;

/// Entries by hash prefix, the newest run at the end.
#[derive(Clone, Debug, Default)]
pub(super) struct SortedRuns(Vec<Run>);

#[derive(Clone, Debug)]
struct Run {
    /// By prefix, then height.
    entries: Arc<[Entry]>,
    /// The highest height of an entry.
    newest: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    /// The first bytes of the hash.
    prefix: u64,
    height: u64,
    index: TransactionIndex,
}

impl SortedRuns {
    /// Adds the transactions of the block at `height`, in order; entries below the height `oldest` may be dropped.
    pub(super) fn add(&mut self, height: u64, hashes: impl Iterator<Item = B256>, oldest: u64) {
        let entry = |(index, hash): (TransactionIndex, B256)| Entry { prefix: prefix(&hash), height, index };
        self.add_run((0..).zip(hashes).map(entry).collect(), oldest);
    }

    /// Adds blocks, each a hash and its height.
    pub(super) fn add_blocks(&mut self, blocks: impl Iterator<Item = (B256, u64)>, oldest: u64) {
        let entry = |(hash, height): (B256, u64)| Entry { prefix: prefix(&hash), height, index: 0 };
        self.add_run(blocks.map(entry).collect(), oldest);
    }

    fn add_run(&mut self, mut run: Vec<Entry>, oldest: u64) {
        if run.is_empty() {
            return;
        }
        run.sort_unstable();
        let is_short = |before: &Run, len: usize| before.entries.len() < 2 * len && before.entries.len() < RUN_MAX;
        while let Some(before) = self.0.pop_if(|before| is_short(before, run.len())) {
            run.extend(before.entries.iter().filter(|entry| entry.height >= oldest));
            // The sort merges two consecutive sorted runs.
            run.sort();
            run.dedup();
        }
        let newest = run.iter().map(|entry| entry.height).max().unwrap_or_default();
        self.0.push(Run { entries: run.into(), newest });
    }

    /// Drops the runs of which every entry is below the height `oldest`.
    pub(super) fn drop_below(&mut self, oldest: u64) {
        if self.0.iter().any(|run| run.newest < oldest) {
            self.0.retain(|run| run.newest >= oldest);
        }
    }

    /// Returns the newest entry of `hash` for which `is_match` holds; other hashes may have the same prefix.
    pub(super) fn find(
        &self,
        hash: &B256,
        is_match: impl Fn(u64, TransactionIndex) -> bool,
    ) -> Option<(u64, TransactionIndex)> {
        let prefix = prefix(hash);
        let entries = self.0.iter().rev().flat_map(|run| {
            let start = run.entries.partition_point(|entry| entry.prefix < prefix);
            run.entries[start..].iter().take_while(move |entry| entry.prefix == prefix)
        });
        entries.map(|entry| (entry.height, entry.index)).find(|(height, index)| is_match(*height, *index))
    }
}

fn prefix(hash: &B256) -> u64 {
    hash.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;

    /// Hashes of which pairs have the same prefix.
    fn hash(number: u64) -> B256 {
        let mut hash = keccak256((number / 2).to_be_bytes());
        hash.0[31] = number as u8;
        hash
    }

    #[test]
    fn entries_are_found_through_merges_until_they_are_too_old() {
        let mut runs = SortedRuns::default();
        let count = |height: u64| if height.is_multiple_of(10) { 300 } else { height % 3 };
        let mut held = Vec::new();
        let mut next = 0;
        for height in 1..400 {
            let hashes: Vec<B256> = (next..next + count(height)).map(hash).collect();
            next += count(height);
            held.extend((0..).zip(&hashes).map(|(index, hash)| (*hash, (height, index))));
            runs.add(height, hashes.into_iter(), height.saturating_sub(100));
        }
        assert!(runs.0.len() < 20, "{} runs", runs.0.len());
        assert!(runs.0.iter().map(|run| run.entries.len()).sum::<usize>() < held.len(), "nothing was dropped");
        for (hash, entry) in held.iter().filter(|(_, (height, _))| *height >= 300) {
            assert_eq!(runs.find(hash, |height, index| (height, index) == *entry), Some(*entry));
        }
        assert_eq!(runs.find(&held[held.len() - 1].0, |_, _| false), None);
        assert_eq!(runs.find(&B256::ZERO, |_, _| true), None);
    }

    #[test]
    fn a_run_too_long_to_be_merged_is_dropped_with_its_newest_block() {
        let mut runs = SortedRuns::default();
        let block = RUN_MAX as u64;
        for height in 1..=4 {
            runs.add(height, (0..block).map(|number| hash(height * block + number)), 0);
        }
        assert_eq!(runs.0.len(), 4);
        runs.drop_below(3);
        assert_eq!(runs.0.len(), 2);
        assert_eq!(runs.find(&hash(2 * block + 7), |_, _| true), None);
        assert_eq!(runs.find(&hash(3 * block + 7), |_, index| index == 7), Some((3, 7)));
    }
}
