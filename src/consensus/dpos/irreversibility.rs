//! When a block becomes irreversible: two rounds of confirmations, both carried by blocks.
//!
//! EOSIO's rules (`block_header_state` of its `chain` library, "pipelined" DPOS 3), as a pure model of one branch:
//!
//! 1. The block at height `h` of a producer confirms the newest `confirmed` heights of its branch, itself among them. No
//!    producer ever confirms a height twice, on whatever branch.
//! 2. A height with `2n/3 + 1` confirmations is *proposed* irreversible, and everything below it too.
//! 3. A producer's block *implies* what its parent had proposed. The last irreversible block is the value at index
//!    `(n - 1) / 3` of all producers' implied values in ascending order: two thirds imply it or more.
//!
//! EOSIO's field `confirmed` leaves the block itself out; here it counts, so that 0 is a block that confirms nothing.

use crate::{
    consensus::{
        Encoder,
        encoding::Decoder,
        mutation::{self, Mutation},
    },
    primitives::Height,
};

/// Heights whose confirmations are still counted; older ones become irreversible with a later one only (as in EOSIO,
/// `maximum_tracked_dpos_confirmations`).
pub const TRACKED_MAX: usize = 1_024;

/// What one branch says of its own irreversibility.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Irreversibility {
    height: Height,
    proposed: Height,
    irreversible: Height,
    /// Confirmations of the newest heights that are not proposed yet, the oldest first; the last is of `height`.
    counts: Vec<u16>,
    /// By producer.
    standings: Vec<Confirmer>,
}

/// What a producer has said on a branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Confirmer {
    /// The newest height that it confirmed, or the last irreversible one when it was elected.
    pub last: Height,
    /// The highest block that it implied to be proposed.
    pub implied: Height,
}

/// Why a block may not confirm what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfirmError {
    /// The schedule has fewer producers.
    #[error("producer {place} is none of {producers}")]
    NoProducer {
        /// Its place.
        place: usize,
        /// How many there are.
        producers: usize,
    },
    /// The range reaches what is irreversible, or what the producer has confirmed before.
    #[error(
        "{confirmed} blocks up to height {height} are confirmed; expected none at or below height {confirmed_before}"
    )]
    Twice {
        /// Length of the range.
        confirmed: u16,
        /// Its newest height.
        height: Height,
        /// Up to here it is confirmed or irreversible.
        confirmed_before: Height,
    },
}

/// How many of `producers` confirmations propose a block: `2n/3 + 1`.
pub fn quorum(producers: usize) -> usize {
    let one = if mutation::active(Mutation::DposQuorumOneShort) { 0 } else { 1 };
    producers * 2 / 3 + one
}

/// The value that two thirds of all reach: index `(n - 1) / 3` of the values in ascending order.
fn two_thirds(values: impl Iterator<Item = Height>) -> Height {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable();
    let third = values.len().saturating_sub(1) / 3;
    let index = if mutation::active(Mutation::DposIrreversibleIndex) { values.len() / 2 } else { third };
    values.get(index).copied().unwrap_or_default()
}

impl Irreversibility {
    /// A branch of one irreversible block at `height`, with so many producers.
    pub fn new(height: Height, producers: usize) -> Self {
        let standing = Confirmer { last: height, implied: height };
        let standings = vec![standing; producers];
        Self { height, proposed: height, irreversible: height, counts: Vec::new(), standings }
    }

    /// The newest block.
    pub const fn height(&self) -> Height {
        self.height
    }

    /// The newest block that enough producers confirmed.
    pub const fn proposed(&self) -> Height {
        self.proposed
    }

    /// The last irreversible block.
    pub const fn irreversible(&self) -> Height {
        self.irreversible
    }

    /// What each producer has said.
    pub fn confirmers(&self) -> &[Confirmer] {
        &self.standings
    }

    /// The newest height that the producer at `place` may not confirm any more, as far as this branch shows.
    pub fn confirmed_before(&self, place: usize) -> Height {
        self.standings.get(place).map_or(self.irreversible, |standing| standing.last.max(self.irreversible))
    }

    /// The longest range that the producer at `place` may confirm with the next block, when the newest height that it ever
    /// confirmed on any branch is `watermark`. Never wraps: a range longer than `u16::MAX` loses its oldest heights.
    pub fn confirmable(&self, place: usize, watermark: Height) -> u16 {
        let next = self.height.get().saturating_add(1);
        let before = self.confirmed_before(place).max(watermark).get();
        u16::try_from(next.saturating_sub(before)).unwrap_or(u16::MAX)
    }

    /// The branch with one more block, by the producer at `place`, that confirms the newest `confirmed` heights.
    ///
    /// # Errors
    /// [`ConfirmError`] for a range that was confirmed before, or a producer that does not exist.
    pub fn extend(&self, place: usize, confirmed: u16) -> Result<Self, ConfirmError> {
        let Some(standing) = self.standings.get(place) else {
            return Err(ConfirmError::NoProducer { place, producers: self.standings.len() });
        };
        let height = self.height.next();
        let confirmed_before = standing.last.max(self.irreversible);
        if height.get() - confirmed_before.get().min(height.get()) < u64::from(confirmed) {
            return Err(ConfirmError::Twice { confirmed, height, confirmed_before });
        }
        let mut next = Self { height, ..self.clone() };
        next.counts.push(0);
        if next.counts.len() > TRACKED_MAX {
            next.counts.remove(0);
        }
        if confirmed > 0 {
            next.count(confirmed);
            let said = &mut next.standings[place];
            *said = Confirmer { last: height, implied: said.implied.max(self.proposed) };
            let reached = two_thirds(next.standings.iter().map(|standing| standing.implied));
            next.irreversible = next.irreversible.max(reached);
        }
        Ok(next)
    }

    /// Counts a confirmation of each of the newest heights; the highest that has enough is proposed.
    fn count(&mut self, confirmed: u16) {
        let quorum = quorum(self.standings.len());
        let tracked = self.counts.len();
        let mut reached = None;
        for (place, count) in self.counts.iter_mut().enumerate().rev().take(usize::from(confirmed)) {
            *count += 1;
            if reached.is_none() && usize::from(*count) >= quorum {
                reached = Some(place);
            }
        }
        if let Some(place) = reached {
            self.proposed = Height::new(self.height.get() - (tracked - 1 - place) as u64);
            self.counts.drain(..=place);
        }
    }

    /// The same branch under another schedule: `origin` tells each new producer's place in the old one.
    ///
    /// Those who stay keep what they implied; those who join start at the last irreversible block. Confirmations of heights that
    /// are not proposed yet are forgotten: a mix of old and new producers could reach a quorum on two branches.
    #[must_use]
    pub fn reelect(&self, origin: impl IntoIterator<Item = Option<usize>>) -> Self {
        let fresh = Confirmer { last: self.irreversible, implied: self.irreversible };
        let stay = |place: Option<usize>| place.and_then(|place| self.standings.get(place)).copied().unwrap_or(fresh);
        Self { counts: Vec::new(), standings: origin.into_iter().map(stay).collect(), ..self.clone() }
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { height, proposed, irreversible, counts, standings } = self;
        out.u64(height.get());
        out.u64(proposed.get());
        out.u64(irreversible.get());
        out.list(counts.iter(), |out, count| out.u32(u32::from(*count)));
        out.list(standings.iter(), |out, standing| {
            out.u64(standing.last.get());
            out.u64(standing.implied.get());
        });
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let height = |bytes: &mut Decoder<'_>| bytes.u64().map(Height::new);
        let (top, proposed, irreversible) = (height(bytes)?, height(bytes)?, height(bytes)?);
        let counts = bytes.list(|bytes| u16::try_from(bytes.u32()?).ok())?;
        let standings = bytes.list(|bytes| Some(Confirmer { last: height(bytes)?, implied: height(bytes)? }))?;
        let is_sound = irreversible <= proposed && proposed <= top && !standings.is_empty();
        is_sound.then_some(Self { height: top, proposed, irreversible, counts, standings })
    }
}
