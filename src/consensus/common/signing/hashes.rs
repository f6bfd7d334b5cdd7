//! Cached hashes of signed messages: the votes of all validators on a block are over the same few bytes.

use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;

use crate::primitives::{B256, keccak256};

/// Number of cached hashes: more than the messages that are voted on at one time.
const PLACES: usize = 64;

/// Keccak of recently signed messages. It is a pure function, so replicas of one process share the cache, and so do clones.
#[derive(Clone, Default)]
pub(super) struct SharedHashes {
    /// Direct-mapped: each message has one slot, where it replaces the previous one.
    places: Arc<Mutex<Vec<Place>>>,
}

#[derive(Clone, Default)]
struct Place {
    message: SmallVec<[u8; 64]>,
    hash: B256,
}

impl SharedHashes {
    /// Returns the keccak of `message`, which is not empty.
    pub(super) fn keccak(&self, message: &[u8]) -> B256 {
        let place = place_of(message);
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.is_empty() {
            places.resize(PLACES, Place::default());
        }
        let known = &mut places[place];
        if known.message.as_slice() != message {
            *known = Place { message: SmallVec::from_slice(message), hash: keccak256(message) };
        }
        known.hash
    }
}

/// Returns the slot of a message. Signed messages differ in a few numbers and in hashes, so a sum of their words spreads
/// them well enough; a collision costs a second hash and nothing else.
fn place_of(message: &[u8]) -> usize {
    let (words, rest) = message.as_chunks::<8>();
    let last = rest.iter().fold(0, |word: u64, byte| (word << 8) | u64::from(*byte));
    let words = words.iter().map(|word| u64::from_be_bytes(*word));
    let mixed = words.fold(last, |sum, word| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
    (mixed % PLACES as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_right_whatever_was_asked_before() {
        let hashes = SharedHashes::default();
        for round in 0..2 {
            for number in 0..500_u64 {
                let message = number.to_be_bytes();
                assert_eq!(hashes.keccak(&message), keccak256(message), "round {round}");
                assert_eq!(hashes.clone().keccak(&message), keccak256(message));
            }
        }
    }
}
