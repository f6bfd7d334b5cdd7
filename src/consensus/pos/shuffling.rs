//! Draws of proposers and attestation slots from the chain's own randomness.
//!
//! A permutation is a Fisher-Yates shuffle with numbers from keccak of a seed and counters, without modulo bias. Ethereum's
//! consensus specifications use swap-or-not shuffling, which computes the place of one of a million validators without
//! the others; for a small set the whole permutation is cheaper this way. The proposer is drawn as in the specifications
//! (`compute_proposer_index`): candidates in shuffled order, each accepted with a probability of its weight over the largest
//! weight. Every validator attests once an epoch, in a slot by its place in the epoch's permutation (`compute_committee`).

use crate::{
    consensus::ValidatorSet,
    primitives::{B256, keccak256},
};

/// An endless stream of numbers from a seed.
#[derive(Clone, Debug)]
pub struct SeedStream {
    seed: B256,
    number: u64,
    counter: u64,
    block: B256,
    /// Number of words of `block` used, at most 4.
    used: usize,
}

impl SeedStream {
    /// Returns the stream with this seed and number: keccak of the seed, the number and a counter (8 bytes each, big-endian),
    /// four words each.
    pub const fn new(seed: B256, number: u64) -> Self {
        Self { seed, number, counter: 0, block: B256::ZERO, used: 4 }
    }

    fn word(&mut self) -> u64 {
        if self.used == 4 {
            let mut bytes = [0; 48];
            bytes[..32].copy_from_slice(self.seed.as_slice());
            bytes[32..40].copy_from_slice(&self.number.to_be_bytes());
            bytes[40..].copy_from_slice(&self.counter.to_be_bytes());
            (self.block, self.counter, self.used) = (keccak256(bytes), self.counter.wrapping_add(1), 0);
        }
        let place = self.used * 8;
        self.used += 1;
        let mut word = [0; 8];
        word.copy_from_slice(&self.block[place..place + 8]);
        u64::from_be_bytes(word)
    }

    /// Returns a uniform number below `bound`; 0 for a bound of 0 or 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound <= 1 {
            return 0;
        }
        // The largest multiple of the bound: words at or above it would make small numbers more probable.
        let limit = u64::MAX - u64::MAX % bound;
        loop {
            let word = self.word();
            if word < limit {
                return word % bound;
            }
        }
    }
}

/// Returns the numbers from 0 up to `count`, shuffled.
pub fn permutation(count: usize, stream: &mut SeedStream) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    for place in 0..count {
        draw(&mut places, place, stream);
    }
    places
}

/// Draws the element at `place` from those not drawn yet: the one at `place` and all after it.
fn draw(places: &mut [usize], place: usize, stream: &mut SeedStream) -> usize {
    let other = place + stream.below((places.len() - place) as u64) as usize;
    places.swap(place, other);
    places[place]
}

/// Returns the seed of one purpose: keccak of its name, a number (8 bytes, big-endian) and a mix.
pub(super) fn seed(purpose: &str, number: u64, mix: B256) -> B256 {
    keccak256([purpose.as_bytes(), &number.to_be_bytes(), mix.as_slice()].concat())
}

/// Returns the index in `set` of the proposer of `slot`; `None` for an empty set.
pub fn proposer(set: &ValidatorSet, epoch_seed: B256, slot: u64) -> Option<usize> {
    let heaviest = set.members().iter().map(|member| member.weight).max()?;
    let mut stream = SeedStream::new(epoch_seed, slot);
    let mut places: Vec<usize> = (0..set.len()).collect();
    // The validator with the largest weight is always accepted, so one pass is enough.
    (0..set.len()).find_map(|place| {
        let candidate = draw(&mut places, place, &mut stream);
        (stream.below(heaviest) < set.members()[candidate].weight).then_some(candidate)
    })
}

/// Returns the slot in the epoch, from 0, of each validator: the shuffled set is split evenly over the slots.
pub fn attestation_slots(validators: usize, epoch_seed: B256, slots: u64) -> Vec<u64> {
    let mut stream = SeedStream::new(seed("chainbox pos attesters", 0, epoch_seed), 0);
    let mut assigned = vec![0; validators];
    for (place, validator) in permutation(validators, &mut stream).into_iter().enumerate() {
        assigned[validator] = place as u64 * slots / validators as u64;
    }
    assigned
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{consensus::Validator, primitives::Address};

    fn set(weights: &[u64]) -> ValidatorSet {
        let members =
            (1..).zip(weights).map(|(byte, weight)| Validator { address: Address::repeat_byte(byte), weight: *weight });
        ValidatorSet::new(members).unwrap()
    }

    #[test]
    fn a_permutation_has_each_element_once_and_every_order_about_equally_often() {
        let mut counts = std::collections::BTreeMap::<Vec<usize>, u32>::new();
        for number in 0..6_000 {
            let order = permutation(3, &mut SeedStream::new(B256::ZERO, number));
            *counts.entry(order).or_default() += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (900..1_100).contains(count)), "{counts:?}");
        let mut all = permutation(100, &mut SeedStream::new(B256::ZERO, 0));
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn proposers_are_drawn_in_proportion_to_their_weight() {
        let set = set(&[1, 2, 3, 6]);
        let mut counts = [0_u32; 4];
        for slot in 0..12_000 {
            counts[proposer(&set, B256::repeat_byte(7), slot).unwrap()] += 1;
        }
        // Acceptance over a shuffled order favours large weights a little less than their share, as in the specifications:
        // validators before the one with the largest weight may be accepted too.
        assert!(counts.is_sorted(), "{counts:?}");
        assert!(counts[0] > 500 && counts[3] > 5_000, "{counts:?}");
        assert_eq!(proposer(&set, B256::ZERO, 5), proposer(&set, B256::ZERO, 5));
    }

    #[test]
    fn attesters_spread_over_the_slots() {
        for (validators, slots) in [(4, 4), (3, 8), (7, 4), (100, 8)] {
            let assigned = attestation_slots(validators, B256::repeat_byte(1), slots);
            let mut counts = vec![0_usize; slots as usize];
            assigned.iter().for_each(|slot| counts[*slot as usize] += 1);
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(most - least <= 1, "{validators} over {slots}: {counts:?}");
        }
    }

    #[test]
    fn numbers_below_a_bound_are_below_it() {
        let mut stream = SeedStream::new(B256::ZERO, 0);
        for bound in [1, 2, 3, 7, 1 << 40, u64::MAX] {
            assert!((0..50).all(|_| stream.below(bound) < bound), "{bound}");
        }
        assert_eq!(stream.below(0), 0);
    }
}
