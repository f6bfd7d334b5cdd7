//! A list that only grows until it is taken, and never moves what it has.

/// Records of a piece.
const PIECE: usize = 256;

/// Records in the order they were added. A block makes tens of thousands, which a growing vector would copy again and again.
#[derive(Clone, Debug)]
pub(super) struct Records<T>(Vec<Vec<T>>);

impl<T> Default for Records<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Records<T> {
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, record: T) {
        match self.0.last_mut().filter(|piece| piece.len() < PIECE) {
            Some(piece) => piece.push(record),
            None => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.push(record);
                self.0.push(piece);
            }
        }
    }

    /// Takes all records, in the order they were added.
    pub(super) fn take(&mut self) -> Vec<T> {
        core::mem::take(&mut self.0).into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_taken_once_and_in_order() {
        for count in [0, 1, PIECE, PIECE + 1, 3 * PIECE + 7] {
            let mut records = Records::default();
            (0..count).for_each(|number| records.push(number));
            assert_eq!(records.is_empty(), count == 0);
            assert_eq!(records.take(), (0..count).collect::<Vec<_>>());
            assert!(records.is_empty());
        }
    }
}
