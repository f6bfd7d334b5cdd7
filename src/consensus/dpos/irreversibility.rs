//! The last irreversible block, by two rounds of confirmations in blocks.
//!
//! The rules are EOSIO's (`block_header_state` of its `chain` library, "pipelined" DPOS 3), for one branch:
//!
//! 1. The block at height `h` of a producer confirms the newest `confirmed` heights of its branch, including `h`. No
//!    producer confirms a height twice, on any branch.
//! 2. A height with `2n/3 + 1` confirmations is *proposed* irreversible, and everything below it too.
//! 3. A producer's block *implies* the height that is proposed at its parent. The last irreversible block is the value at index
//!    `(n - 1) / 3` of all producers' implied values in ascending order: two thirds imply it or more.
//!
//! EOSIO's field `confirmed` excludes the block itself; here it is included, so that a block with 0 confirms nothing.

use crate::{
    consensus::{
        Encoder,
        encoding::Decoder,
        mutation::{self, Mutation},
    },
    primitives::Height,
};

/// Most heights whose confirmations are counted; older ones become irreversible only together with a newer one (as in
/// EOSIO, `maximum_tracked_dpos_confirmations`).
pub const TRACKED_MAX: usize = 1_024;

/// Confirmations and irreversibility of one branch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Irreversibility {
    height: Height,
    proposed: Height,
    irreversible: Height,
    /// Confirmations of the newest heights that are not proposed yet, the oldest first; the last is of `height`.
    counts: Vec<u16>,
    /// State of each producer, by its place in the schedule.
    confirmers: Vec<Confirmer>,
}

/// A producer's confirmations on a branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Confirmer {
    /// Newest height that it confirmed, or the last irreversible height when it was elected.
    pub last: Height,
    /// Highest proposed height that it implied.
    pub implied: Height,
}

/// Violation of the confirmation rules by a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfirmError {
    /// No producer of the schedule has this index.
    #[error("producer {place} is none of {producers}")]
    NoProducer {
        /// Place of the producer.
        place: usize,
        /// Number of producers.
        producers: usize,
    },
    /// The range includes heights that are irreversible or that the producer confirmed before.
    #[error(
        "{confirmed} blocks up to height {height} are confirmed; expected none at or below height {confirmed_before}"
    )]
    Twice {
        /// Length of the range.
        confirmed: u16,
        /// Newest height of the range.
        height: Height,
        /// Newest height that is confirmed or irreversible.
        confirmed_before: Height,
    },
}

/// Returns the number of confirmations that propose a block: `2n/3 + 1` of `producers`.
pub fn quorum(producers: usize) -> usize {
    let one = if mutation::active(Mutation::DposQuorumOneShort) { 0 } else { 1 };
    producers * 2 / 3 + one
}

/// Returns the greatest value that two thirds of all values reach: index `(n - 1) / 3` of the values in ascending order.
fn two_thirds(values: impl Iterator<Item = Height>) -> Height {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable();
    let third = values.len().saturating_sub(1) / 3;
    let index = if mutation::active(Mutation::DposIrreversibleIndex) { values.len() / 2 } else { third };
    values.get(index).copied().unwrap_or_default()
}

impl Irreversibility {
    /// Returns a branch of one irreversible block at `height`.
    pub fn new(height: Height, producers: usize) -> Self {
        let confirmer = Confirmer { last: height, implied: height };
        let confirmers = vec![confirmer; producers];
        Self { height, proposed: height, irreversible: height, counts: Vec::new(), confirmers }
    }

    /// Returns the height of the newest block.
    pub const fn height(&self) -> Height {
        self.height
    }

    /// Returns the newest height with a quorum of confirmations.
    pub const fn proposed(&self) -> Height {
        self.proposed
    }

    /// Returns the last irreversible height.
    pub const fn irreversible(&self) -> Height {
        self.irreversible
    }

    /// Returns the state of each producer, by place.
    pub fn confirmers(&self) -> &[Confirmer] {
        &self.confirmers
    }

    /// Returns the newest height on this branch that the producer at `place` may not confirm again.
    pub fn confirmed_before(&self, place: usize) -> Height {
        self.confirmers.get(place).map_or(self.irreversible, |confirmer| confirmer.last.max(self.irreversible))
    }

    /// Returns the longest range that the producer at `place` may confirm with the next block, when `watermark` is the newest
    /// height that it confirmed on any branch. A range longer than `u16::MAX` is cut at its oldest heights.
    pub fn confirmable(&self, place: usize, watermark: Height) -> u16 {
        let next = self.height.get().saturating_add(1);
        let before = self.confirmed_before(place).max(watermark).get();
        u16::try_from(next.saturating_sub(before)).unwrap_or(u16::MAX)
    }

    /// Returns the branch with one more block, by the producer at `place`, that confirms the newest `confirmed` heights.
    ///
    /// # Errors
    /// [`ConfirmError`] for a range that was confirmed before, or a producer that does not exist.
    pub fn extend(&self, place: usize, confirmed: u16) -> Result<Self, ConfirmError> {
        let Some(confirmer) = self.confirmers.get(place) else {
            return Err(ConfirmError::NoProducer { place, producers: self.confirmers.len() });
        };
        let height = self.height.next();
        let confirmed_before = confirmer.last.max(self.irreversible);
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
            let confirmer = &mut next.confirmers[place];
            *confirmer = Confirmer { last: height, implied: confirmer.implied.max(self.proposed) };
            let reached = two_thirds(next.confirmers.iter().map(|confirmer| confirmer.implied));
            next.irreversible = next.irreversible.max(reached);
        }
        Ok(next)
    }

    /// Counts a confirmation of each of the newest heights; the highest with a quorum is proposed.
    fn count(&mut self, confirmed: u16) {
        let quorum = quorum(self.confirmers.len());
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

    /// Returns the branch under another schedule; `origin` is each new producer's place in the old one.
    ///
    /// Producers of both schedules keep their confirmer; new ones start at the last irreversible block. Confirmations of heights
    /// that are not proposed yet are dropped, because a mix of old and new producers could reach a quorum on two branches.
    #[must_use]
    pub fn reelect(&self, origin: impl IntoIterator<Item = Option<usize>>) -> Self {
        let initial = Confirmer { last: self.irreversible, implied: self.irreversible };
        let confirmer = |place: Option<usize>| place.and_then(|place| self.confirmers.get(place)).copied();
        let confirmers = origin.into_iter().map(|place| confirmer(place).unwrap_or(initial)).collect();
        Self { counts: Vec::new(), confirmers, ..self.clone() }
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { height, proposed, irreversible, counts, confirmers } = self;
        out.u64(height.get());
        out.u64(proposed.get());
        out.u64(irreversible.get());
        out.list(counts.iter(), |out, count| out.u32(u32::from(*count)));
        out.list(confirmers.iter(), |out, Confirmer { last, implied }| {
            out.u64(last.get());
            out.u64(implied.get());
        });
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let height = |bytes: &mut Decoder<'_>| bytes.u64().map(Height::new);
        let (top, proposed, irreversible) = (height(bytes)?, height(bytes)?, height(bytes)?);
        let counts = bytes.list(|bytes| u16::try_from(bytes.u32()?).ok())?;
        let confirmers = bytes.list(|bytes| Some(Confirmer { last: height(bytes)?, implied: height(bytes)? }))?;
        let is_valid = irreversible <= proposed && proposed <= top && !confirmers.is_empty();
        is_valid.then_some(Self { height: top, proposed, irreversible, counts, confirmers })
    }
}
