//! Schedules: the producer of each slot, and elections.

use std::sync::Arc;

use imbl::OrdMap;

use super::{DposConfig, Shuffle};
use crate::{
    consensus::{
        Encoder, Validator, ValidatorSet,
        encoding::Decoder,
        mutation::{self, Mutation},
    },
    primitives::{Address, B256, keccak256},
};

/// A list of elected producers and the order of their turns.
///
/// The order is a Fisher-Yates shuffle of the producers' ascending addresses. Its numbers are drawn from
/// `keccak(seed, round, n)`, first 8 bytes, big-endian, modulo the number of producers left (the bias is
/// below 2^-57); the seed is the hash of the
/// parent of the block that proposed the schedule (genesis's own hash for the first one), and the round is 0 unless
/// [`Shuffle::Round`] is configured.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Schedule {
    version: u64,
    seed: B256,
    producers: ValidatorSet,
    /// Places in `producers`, by turn, in round 0.
    order: Arc<[usize]>,
}

impl Schedule {
    /// Returns the schedule of these producers.
    pub fn new(version: u64, seed: B256, producers: ValidatorSet) -> Self {
        let order = shuffled(seed, 0, producers.len()).into();
        Self { version, seed, producers, order }
    }

    /// Returns the number of schedules before this one.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// Returns the seed of the order.
    pub const fn seed(&self) -> B256 {
        self.seed
    }

    /// Returns the producers in ascending order of address; a producer's *place* is its index here.
    pub const fn producers(&self) -> &ValidatorSet {
        &self.producers
    }

    /// Returns the producers by turn in `round`.
    pub fn turns(&self, round: u64, config: &DposConfig) -> Vec<Address> {
        let order = self.order(round, config);
        order.iter().map(|place| self.producers.members()[*place].address).collect()
    }

    /// Returns the number of slots of a round, in which every producer has one turn.
    pub fn slots_per_round(&self, config: &DposConfig) -> u64 {
        (self.producers.len() as u64).saturating_mul(u64::from(config.blocks_per_turn)).max(1)
    }

    /// Returns the round of a slot.
    pub fn round(&self, slot: u64, config: &DposConfig) -> u64 {
        slot / self.slots_per_round(config)
    }

    /// Returns the place of the producer of a slot.
    pub fn producer_at(&self, slot: u64, config: &DposConfig) -> usize {
        let turn = self.turn_of(slot, config);
        self.order(self.round(slot, config), config).get(turn).copied().unwrap_or_default()
    }

    /// Whether the producer at `place` may make the block of `slot`.
    pub fn is_turn(&self, place: usize, slot: u64, config: &DposConfig) -> bool {
        let is_own = |slot| self.producer_at(slot, config) == place;
        let after = slot.saturating_add(u64::from(config.blocks_per_turn));
        is_own(slot) || (mutation::active(Mutation::DposWrongProducer) && is_own(after))
    }

    /// Returns the first slot at or after `from` of the producer at `place`; `None` when there is none in two rounds.
    pub fn next_turn(&self, place: usize, from: u64, config: &DposConfig) -> Option<u64> {
        let two_rounds = self.slots_per_round(config).saturating_mul(2);
        (from..from.saturating_add(two_rounds)).find(|slot| self.is_turn(place, *slot, config))
    }

    /// Returns the producers that missed a slot between two blocks, in ascending order of address.
    pub fn absent(&self, parent_slot: u64, slot: u64, config: &DposConfig) -> Vec<Address> {
        let first = parent_slot.saturating_add(1);
        let end = slot.min(first.saturating_add(self.slots_per_round(config).saturating_mul(2)));
        let mut missed = vec![false; self.producers.len()];
        for slot in first..end {
            missed[self.producer_at(slot, config)] = true;
        }
        let members = self.producers.members().iter().zip(missed);
        members.filter(|(_, missed)| *missed).map(|(member, _)| member.address).collect()
    }

    /// Returns the keccak of version (8 bytes, big-endian), seed and the set's hash, which the activating block's payload contains.
    pub fn hash(&self) -> B256 {
        let version = self.version.to_be_bytes();
        keccak256([version.as_slice(), self.seed.as_slice(), self.producers.hash().as_slice()].concat())
    }

    fn turn_of(&self, slot: u64, config: &DposConfig) -> usize {
        let in_round = slot % self.slots_per_round(config);
        usize::try_from(in_round / u64::from(config.blocks_per_turn).max(1)).unwrap_or_default()
    }

    fn order(&self, round: u64, config: &DposConfig) -> Arc<[usize]> {
        match config.shuffle {
            Shuffle::Schedule => self.order.clone(),
            Shuffle::Round => shuffled(self.seed, round, self.producers.len()).into(),
        }
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        // The order follows from seed and producers.
        let Self { version, seed, producers, order: _ } = self;
        out.u64(*version);
        out.hash(seed);
        encode_set(producers, out);
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let (version, seed) = (bytes.u64()?, bytes.hash()?);
        Some(Self::new(version, seed, decode_set(bytes)?))
    }
}

/// Returns the `count` candidates of greatest weight; ties go to the lower address; `None` without candidates.
pub fn elect(candidates: &OrdMap<Address, u64>, count: u32) -> Option<ValidatorSet> {
    let mut by_weight: Vec<_> = candidates
        .iter()
        .filter(|(_, weight)| **weight > 0)
        .map(|(address, weight)| Validator { address: *address, weight: *weight })
        .collect();
    by_weight.sort_by_key(|candidate| (core::cmp::Reverse(candidate.weight), candidate.address));
    by_weight.truncate(count as usize);
    ValidatorSet::new(by_weight).ok()
}

pub(super) fn encode_set(set: &ValidatorSet, out: &mut Encoder) {
    out.list(set.members().iter(), |out, member| {
        out.address(&member.address);
        out.u64(member.weight);
    });
}

pub(super) fn decode_set(bytes: &mut Decoder<'_>) -> Option<ValidatorSet> {
    let members = bytes.list(|bytes| Some(Validator { address: bytes.address()?, weight: bytes.u64()? }))?;
    ValidatorSet::new(members).ok()
}

fn shuffled(seed: B256, round: u64, count: usize) -> Vec<usize> {
    let mut order: Vec<_> = (0..count).collect();
    for last in (1..count).rev() {
        let number = [seed.as_slice(), &round.to_be_bytes(), &(last as u64).to_be_bytes()].concat();
        let drawn = keccak256(number).0.first_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        order.swap(last, (drawn % (last as u64 + 1)) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn set(count: u8) -> ValidatorSet {
        ValidatorSet::equal((1..=count).map(Address::repeat_byte)).unwrap()
    }

    #[test]
    fn each_producer_has_one_turn_a_round_of_consecutive_slots() {
        let config = DposConfig::default().with_blocks_per_turn(3);
        let schedule = Schedule::new(0, B256::repeat_byte(7), set(5));
        let slots: Vec<_> = (30..45).map(|slot| schedule.producer_at(slot, &config)).collect();
        assert!(slots.chunks(3).all(|turn| turn.iter().all(|place| *place == turn[0])));
        assert_eq!(slots.iter().collect::<BTreeSet<_>>().len(), 5);
        assert_eq!((schedule.round(44, &config), schedule.round(45, &config)), (2, 3));
        let again: Vec<_> = (45..60).map(|slot| schedule.producer_at(slot, &config)).collect();
        assert_eq!(slots, again);
        for place in 0..5 {
            let next = schedule.next_turn(place, 31, &config).unwrap();
            assert!(schedule.is_turn(place, next, &config) && (31..46).contains(&next));
        }
    }

    #[test]
    fn the_seed_decides_the_order_and_rounds_may_be_shuffled_anew() {
        let config = DposConfig::default();
        let orders: BTreeSet<_> =
            (0..20).map(|seed| Schedule::new(0, B256::repeat_byte(seed), set(7)).turns(0, &config)).collect();
        assert!(orders.len() > 15, "{}", orders.len());
        let schedule = Schedule::new(0, B256::ZERO, set(7));
        let rounds = |config: DposConfig| (0..20).map(|round| schedule.turns(round, &config)).collect::<BTreeSet<_>>();
        assert_eq!(rounds(config).len(), 1);
        assert!(rounds(config.with_shuffle(Shuffle::Round)).len() > 15);
    }

    #[test]
    fn the_heaviest_are_elected_and_ties_go_to_the_lower_address() {
        let weights = [(1, 5_u64), (2, 9), (3, 5), (4, 0), (5, 5)];
        let candidates = weights.into_iter().map(|(byte, weight)| (Address::repeat_byte(byte), weight)).collect();
        let elected: Vec<_> = elect(&candidates, 3).unwrap().addresses().collect();
        assert_eq!(elected, [1, 2, 3].map(Address::repeat_byte));
        assert_eq!(elect(&candidates, 9).unwrap().len(), 4);
        assert_eq!(elect(&OrdMap::new(), 3), None);
    }

    #[test]
    fn those_who_missed_slots_are_told_once() {
        let config = DposConfig::default();
        let schedule = Schedule::new(0, B256::ZERO, set(4));
        assert!(schedule.absent(7, 8, &config).is_empty());
        let missed = schedule.absent(7, 10, &config);
        assert_eq!(missed.len(), 2);
        for slot in [8, 9] {
            let place = schedule.producer_at(slot, &config);
            assert!(missed.contains(&schedule.producers().members()[place].address));
        }
        assert_eq!(schedule.absent(7, u64::MAX, &config).len(), 4);
    }
}
