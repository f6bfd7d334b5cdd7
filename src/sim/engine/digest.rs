//! A fingerprint of a whole run.

use crate::{consensus::Encoder, primitives::B256};

/// Bytes that are hashed at once.
const BUFFER_LEN: usize = 8_192;

/// Chained BLAKE3 over (label, payload) pairs: two runs with equal digests did the same in the same order.
///
/// Pairs are collected and hashed together with the digest so far, a few thousand bytes at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDigest {
    chained: [u8; 32],
    buffer: Encoder,
    pairs: u64,
}

impl Default for RunDigest {
    fn default() -> Self {
        Self { chained: *blake3::hash(b"chainbox run").as_bytes(), buffer: Encoder::new(), pairs: 0 }
    }
}

impl RunDigest {
    /// The digest of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a pair; `payload` writes what distinguishes it.
    pub fn record(&mut self, label: &str, payload: impl FnOnce(&mut Encoder)) {
        self.buffer.bytes(label.as_bytes());
        self.buffer.framed(payload);
        self.pairs += 1;
        if self.buffer.as_bytes().len() >= BUFFER_LEN {
            self.chained = self.hash();
            self.buffer.clear();
        }
    }

    /// How many pairs were added.
    pub const fn pairs(&self) -> u64 {
        self.pairs
    }

    /// The digest so far; goes on unchanged.
    pub fn value(&self) -> B256 {
        B256::new(self.hash())
    }

    fn hash(&self) -> [u8; 32] {
        *blake3::keyed_hash(&self.chained, self.buffer.as_bytes()).as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(pairs: impl IntoIterator<Item = (&'static str, u64)>) -> B256 {
        let mut digest = RunDigest::new();
        for (label, number) in pairs {
            digest.record(label, |out| out.u64(number));
        }
        digest.value()
    }

    #[test]
    fn order_labels_and_payloads_all_count() {
        let one = digest([("a", 1), ("b", 2)]);
        assert_eq!(one, digest([("a", 1), ("b", 2)]));
        for other in [vec![("b", 2), ("a", 1)], vec![("a", 1), ("c", 2)], vec![("a", 1), ("b", 3)], vec![("a", 1)]] {
            assert_ne!(one, digest(other));
        }
    }

    #[test]
    fn what_was_hashed_early_still_counts() {
        let long = |first| digest(core::iter::once(("x", first)).chain((0..1_000).map(|number| ("y", number))));
        assert_ne!(long(1), long(2));
    }
}
