//! A hash index from keys to cached entries.

use hashbrown::HashTable;

/// Maps hashes to positions in a vector; the owner of the vector compares keys.
///
/// A lookup of what is not there mostly ends at one byte for each of a few cells, which stay in the processor's cache where the entries do
/// not.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    table: HashTable<Cell>,
}

/// A position, with 32 bits of the hash, so that growing needs no entry.
#[derive(Clone, Copy, Debug)]
struct Cell {
    tag: u32,
    position: u32,
}

impl Index {
    /// Returns the position, among those inserted under `hash`, for which `is_it` holds.
    pub(super) fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let tag = tag(hash);
        let found = self.table.find(spread(tag), |cell| cell.tag == tag && is_it(cell.position))?;
        Some(found.position)
    }

    /// Adds a position under `hash`; it must not be there yet.
    pub(super) fn insert(&mut self, hash: u64, position: u32) {
        let tag = tag(hash);
        self.table.insert_unique(spread(tag), Cell { tag, position }, |cell| spread(cell.tag));
    }
}

const fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// Returns a hash whose lowest and highest bits, of which the table makes use, are those of a tag.
const fn spread(tag: u32) -> u64 {
    (tag as u64) << 32 | tag as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_found_through_growth_and_equal_hashes() {
        let mut index = Index::default();
        let hash = |n: u32| u64::from(n % 700).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for n in 0..2_000 {
            assert_eq!(index.find(hash(n), |position| position == n), None);
            index.insert(hash(n), n);
        }
        for n in 0..2_000 {
            assert_eq!(index.find(hash(n), |position| position == n), Some(n));
        }
        assert_eq!(index.find(hash(1), |_| false), None);
    }
}
