//! Choices of a random case.

use crate::sim::{SimRng, Streams};

/// Choices of a case, drawn from a seed.
pub(super) struct Choices(SimRng);

impl Choices {
    pub(super) fn new(seed: u64) -> Self {
        Self(Streams::new(seed).stream("operations"))
    }

    pub(super) fn next(&mut self, below: usize) -> usize {
        self.0.below(below as u64) as usize
    }

    pub(super) fn one_of<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.next(items.len())].clone()
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            items.swap(index, self.next(index + 1));
        }
    }
}
