//! An open-addressing hash index from keys to cached entries.
//!
//! A lookup touches one cache line here and then the entry itself.

/// Maps hashes to positions in a vector; the owner of the vector compares keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// Upper half: 32 bits of the hash. Lower half: position plus one; zero is an empty cell.
    table: Vec<u64>,
    len: usize,
}

/// Cells of the first table.
const PLACES_MIN: usize = 64;

impl Index {
    /// Returns the position, among those inserted under `hash`, for which `is_it` holds.
    pub(super) fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.table.len().checked_sub(1)?;
        let tag = hash >> 32;
        let mut place = tag as usize & mask;
        loop {
            let word = self.table[place];
            if word == 0 {
                return None;
            }
            let position = (word as u32).wrapping_sub(1);
            if word >> 32 == tag && is_it(position) {
                return Some(position);
            }
            place = (place + 1) & mask;
        }
    }

    /// Adds a position under `hash`; it must not be there yet.
    pub(super) fn insert(&mut self, hash: u64, position: u32) {
        if (self.len + 1) * 4 > self.table.len() * 3 {
            self.grow();
        }
        self.len += 1;
        self.put((hash >> 32) << 32 | u64::from(position + 1));
    }

    fn put(&mut self, word: u64) {
        let mask = self.table.len() - 1;
        let mut place = (word >> 32) as usize & mask;
        while self.table[place] != 0 {
            place = (place + 1) & mask;
        }
        self.table[place] = word;
    }

    fn grow(&mut self) {
        let places = (self.table.len() * 2).max(PLACES_MIN);
        let words = core::mem::replace(&mut self.table, vec![0; places]);
        for word in words.into_iter().filter(|word| *word != 0) {
            self.put(word);
        }
    }
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
