//! The canonical chain by height.

use alloy_primitives::B256;
use imbl::Vector;

/// Hashes of the canonical blocks in memory: genesis and a contiguous range of heights. Cloning is O(1).
#[derive(Clone, Debug, Default)]
pub(super) struct Canonical {
    genesis: Option<B256>,
    /// Height of the first of `hashes`.
    first: u64,
    hashes: Vector<B256>,
}

impl Canonical {
    pub(super) fn get(&self, height: u64) -> Option<B256> {
        if height == 0 { self.genesis } else { self.hashes.get(self.position(height)?).copied() }
    }

    /// Returns the lowest height above genesis.
    pub(super) fn lowest(&self) -> Option<u64> {
        (!self.hashes.is_empty()).then_some(self.first)
    }

    /// Number of hashes, including genesis.
    pub(super) fn len(&self) -> usize {
        self.hashes.len() + usize::from(self.genesis.is_some())
    }

    /// Sets the block of a height in the range or next above it. Any other height starts a new range.
    pub(super) fn put(&mut self, height: u64, hash: B256) {
        match self.position(height) {
            _ if height == 0 => self.genesis = Some(hash),
            Some(position) if position < self.hashes.len() => drop(self.hashes.set(position, hash)),
            Some(position) if position == self.hashes.len() && position > 0 => self.hashes.push_back(hash),
            _ => (self.first, self.hashes) = (height, Vector::unit(hash)),
        }
    }

    /// Removes the lowest height, or a higher one and all above it.
    pub(super) fn remove(&mut self, height: u64) {
        match self.position(height) {
            _ if height == 0 => self.genesis = None,
            Some(0) if self.hashes.pop_front().is_some() => self.first += 1,
            Some(position) if position < self.hashes.len() => self.hashes.truncate(position),
            _ => {}
        }
    }

    fn position(&self, height: u64) -> Option<usize> {
        usize::try_from(height.checked_sub(self.first)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: u64) -> B256 {
        B256::with_last_byte(number as u8)
    }

    #[test]
    fn a_range_grows_at_its_end_and_shrinks_at_both() {
        let mut canonical = Canonical::default();
        canonical.put(0, hash(9));
        assert_eq!((canonical.lowest(), canonical.len()), (None, 1));
        (5..10).for_each(|height| canonical.put(height, hash(height)));
        assert_eq!((canonical.lowest(), canonical.len()), (Some(5), 6));
        canonical.put(8, hash(80));
        assert_eq!((canonical.get(8), canonical.get(4), canonical.get(10)), (Some(hash(80)), None, None));
        canonical.remove(5);
        canonical.remove(9);
        canonical.remove(4);
        assert_eq!((canonical.lowest(), canonical.get(6), canonical.len()), (Some(6), Some(hash(6)), 4));
        canonical.remove(7);
        assert_eq!(
            (canonical.get(7), canonical.get(8), canonical.len()),
            (None, None, 2),
            "the heights above are removed too"
        );
        canonical.remove(6);
        assert_eq!((canonical.lowest(), canonical.get(0)), (None, Some(hash(9))));
        canonical.put(3, hash(3));
        assert_eq!((canonical.lowest(), canonical.get(3)), (Some(3), Some(hash(3))));
        canonical.put(7, hash(7));
        assert_eq!((canonical.lowest(), canonical.get(3), canonical.len()), (Some(7), None, 2), "a new range");
    }
}
