//! Finding transactions, and old blocks, by hash: sorted runs of places, merged as they grow.
//!
//! A block adds one run of its transactions; a run is merged into the one before it unless that is twice as long. So there are few runs, each
//! transaction is moved a few times in all, and cloning shares every run. Nothing is taken out: who asks checks what is found, and
//! places in blocks that are gone fall out of the next merge.

use std::sync::Arc;

use alloy_primitives::B256;

use crate::chain::block::TransactionIndex;

/// A run of this length is not merged into another, so that no block waits long for it.
const RUN_MAX: usize = 1 << 19;

/// Where things with a hash are, or were.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs(Vec<Arc<[Place]>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// The first bytes of the hash.
    prefix: u64,
    height: u64,
    index: TransactionIndex,
}

impl Runs {
    /// Adds the transactions of the block at `height`, in order; places below height `oldest` may be forgotten.
    pub(super) fn add(&mut self, height: u64, hashes: impl Iterator<Item = B256>, oldest: u64) {
        let place = |(index, hash): (TransactionIndex, B256)| Place { prefix: prefix(&hash), height, index };
        self.add_run((0..).zip(hashes).map(place).collect(), oldest);
    }

    /// Adds many blocks at once, each a hash and its height.
    pub(super) fn add_blocks(&mut self, blocks: impl Iterator<Item = (B256, u64)>, oldest: u64) {
        let place = |(hash, height): (B256, u64)| Place { prefix: prefix(&hash), height, index: 0 };
        self.add_run(blocks.map(place).collect(), oldest);
    }

    fn add_run(&mut self, mut run: Vec<Place>, oldest: u64) {
        if run.is_empty() {
            return;
        }
        run.sort_unstable();
        while let Some(before) = self.0.pop_if(|before| before.len() < 2 * run.len() && before.len() < RUN_MAX) {
            run.extend(before.iter().filter(|place| place.height >= oldest));
            // Two sorted runs one after the other: the sort merges them.
            run.sort();
            run.dedup();
        }
        self.0.push(run.into());
    }

    /// The newest place under `hash` that `is_it`; hashes may share what is compared here.
    pub(super) fn find(
        &self,
        hash: &B256,
        is_it: impl Fn(u64, TransactionIndex) -> bool,
    ) -> Option<(u64, TransactionIndex)> {
        let prefix = prefix(hash);
        let places = self.0.iter().rev().flat_map(|run| {
            let start = run.partition_point(|place| place.prefix < prefix);
            run[start..].iter().take_while(move |place| place.prefix == prefix)
        });
        places.map(|place| (place.height, place.index)).find(|(height, index)| is_it(*height, *index))
    }
}

fn prefix(hash: &B256) -> u64 {
    hash.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;

    /// Hashes of which some share their first bytes.
    fn hash(number: u64) -> B256 {
        let mut hash = keccak256((number / 2).to_be_bytes());
        hash.0[31] = number as u8;
        hash
    }

    #[test]
    fn places_are_found_through_merges_until_they_are_too_old() {
        let mut runs = Runs::default();
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
        assert!(runs.0.iter().map(|run| run.len()).sum::<usize>() < held.len(), "nothing was forgotten");
        for (hash, place) in held.iter().filter(|(_, (height, _))| *height >= 300) {
            assert_eq!(runs.find(hash, |height, index| (height, index) == *place), Some(*place));
        }
        assert_eq!(runs.find(&held[held.len() - 1].0, |_, _| false), None);
        assert_eq!(runs.find(&B256::ZERO, |_, _| true), None);
    }
}
