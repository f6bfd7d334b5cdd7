//! The last irreversible block, by two rounds of confirmations in blocks.
//!
//! The rules, for one branch under one schedule of `n` producers with quorums of `2n/3 + 1`:
//!
//! 1. The block at height `h` of a producer confirms the newest `confirmed` heights of its branch, including `h`: its *range*. No
//!    producer confirms a height twice, on any branch.
//! 2. A height with a quorum of confirmations is *prepared*. A confirming block *implies* the height that is prepared at its parent.
//! 3. A producer's ranges on a branch that follow each other without a gap are its *run*. A block whose implied height is not below
//!    the start of its producer's run is a *vote* for all heights between the two; it replaces the producer's earlier vote.
//! 4. A height that a quorum's votes include is irreversible, and everything below it too.
//!
//! Rules 1 and 2 are EOSIO's (`block_header_state` of its `chain` library, "pipelined" DPOS 3), whose field `confirmed` excludes
//! the block itself; here it is included, so that a block with 0 confirms nothing. In EOSIO an implied height counts whatever its
//! producer confirmed elsewhere in between: [`FinalityRule::Classic`]. Where nobody leaves the branch, both rules agree.

use crate::{
    consensus::{
        Encoder,
        encoding::Decoder,
        mutation::{self, Mutation},
    },
    primitives::Height,
};

use super::FinalityRule;

/// Most heights whose confirmations are counted; older ones become irreversible only together with a newer one (as in
/// EOSIO, `maximum_tracked_dpos_confirmations`).
pub const TRACKED_MAX: usize = 1_024;

/// Confirmations and irreversibility of one branch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Irreversibility {
    rule: FinalityRule,
    height: Height,
    prepared: Height,
    irreversible: Height,
    /// Confirmations of the newest heights that are not prepared yet, the oldest first; the last is of `height`.
    counts: Vec<u16>,
    /// State of each producer, by its place in the schedule.
    confirmers: Vec<Confirmer>,
}

/// A producer's confirmations on a branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Confirmer {
    /// Newest height that it confirmed, or the height from which it was elected.
    pub last: Height,
    /// Lowest height of its run: it confirmed all from here to `last`.
    pub since: Height,
    /// Its newest vote under this schedule.
    pub vote: Option<Vote>,
}

/// Heights that a producer voted for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Vote {
    /// Lowest height: the start of the producer's run.
    pub from: Height,
    /// Highest height: the implied one.
    pub to: Height,
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

/// Returns the number of confirmations that prepare a block: `2n/3 + 1` of `producers`.
pub fn quorum(producers: usize) -> usize {
    let one = if mutation::active(Mutation::DposQuorumOneShort) { 0 } else { 1 };
    producers * 2 / 3 + one
}

/// Returns the number of votes that make a block irreversible: all but `(n - 1) / 3` of `producers`, which is `2n/3 + 1` too.
fn vote_quorum(producers: usize) -> usize {
    let others = producers.saturating_sub(1) / 3;
    producers - if mutation::active(Mutation::DposIrreversibleIndex) { producers / 2 } else { others }
}

/// Returns the highest height that at least `quorum` votes include.
fn highest_common(votes: &[Vote], quorum: usize) -> Option<Height> {
    let (mut froms, mut tos): (Vec<_>, Vec<_>) = votes.iter().map(|vote| (vote.from, vote.to)).unzip();
    froms.sort_unstable_by(|one, other| other.cmp(one));
    tos.sort_unstable_by(|one, other| other.cmp(one));
    let mut above = 0;
    for (place, to) in tos.iter().enumerate() {
        while froms.get(above).is_some_and(|from| from > to) {
            above += 1;
        }
        if place + 1 - above >= quorum {
            return Some(*to);
        }
    }
    None
}

impl FinalityRule {
    /// Whether a vote needs a run of confirmations without a gap, and a producer implies no lower height than before.
    pub(super) fn is_locked(self) -> bool {
        self == Self::Locked && !mutation::active(Mutation::DposImpliedForEver)
    }
}

impl Irreversibility {
    /// Returns a branch of one irreversible block at `height`.
    pub fn new(rule: FinalityRule, height: Height, producers: usize) -> Self {
        let confirmers = vec![Confirmer::elected_at(height); producers];
        Self { rule, height, prepared: height, irreversible: height, counts: Vec::new(), confirmers }
    }

    /// Returns the height of the newest block.
    pub const fn height(&self) -> Height {
        self.height
    }

    /// Returns the newest height with a quorum of confirmations of the schedule in force.
    pub const fn prepared(&self) -> Height {
        self.prepared
    }

    /// Returns the last irreversible height.
    pub const fn irreversible(&self) -> Height {
        self.irreversible
    }

    /// Returns the rule by which blocks become irreversible.
    pub const fn rule(&self) -> FinalityRule {
        self.rule
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
    /// height that it confirmed on any branch. A range longer than [`CONFIRMED_MAX`](super::CONFIRMED_MAX) is cut at its oldest
    /// heights.
    pub fn confirmable(&self, place: usize, watermark: Height) -> u16 {
        let next = self.height.get().saturating_add(1);
        let before = self.confirmed_before(place).max(watermark).get();
        u16::try_from(next.saturating_sub(before)).unwrap_or(u16::MAX).min(super::CONFIRMED_MAX)
    }

    /// Returns the branch with one more block, by the producer at `place`, that confirms the newest `confirmed` heights. Nothing
    /// above `limit` becomes irreversible: the height of the block that proposed the pending schedule, because what is above that
    /// is left to the producers of that schedule.
    ///
    /// # Errors
    /// [`ConfirmError`] for a range that was confirmed before, or a producer that does not exist.
    pub fn extend(&self, place: usize, confirmed: u16, limit: Option<Height>) -> Result<Self, ConfirmError> {
        let Some(confirmer) = self.confirmers.get(place).copied() else {
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
            let confirmer = confirmer.confirm(height, confirmed);
            next.confirmers[place] = confirmer.imply(self.rule, self.prepared);
            next.settle(limit);
        }
        Ok(next)
    }

    /// Counts a confirmation of each of the newest heights; the highest with a quorum is prepared.
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
            self.prepared = Height::new(self.height.get() - (tracked - 1 - place) as u64);
            self.counts.drain(..=place);
        }
    }

    /// Advances the last irreversible height by the votes.
    fn settle(&mut self, limit: Option<Height>) {
        let votes: Vec<_> = self.confirmers.iter().filter_map(|confirmer| confirmer.vote).collect();
        let Some(common) = highest_common(&votes, vote_quorum(self.confirmers.len())) else { return };
        let limit = limit.filter(|_| self.rule.is_locked()).unwrap_or(common);
        self.irreversible = self.irreversible.max(common.min(limit));
    }

    /// Returns the branch under the schedule that the block at `proposed_at` proposed; `origin` is each new producer's place in the
    /// old one.
    ///
    /// Counts and votes start anew at that block: those of the old schedule's producers say nothing of the new one's. What they
    /// confirmed remains confirmed.
    #[must_use]
    pub fn reelect(&self, origin: impl IntoIterator<Item = Option<usize>>, proposed_at: Height) -> Self {
        let is_locked = self.rule.is_locked();
        let prepared = if is_locked { proposed_at } else { self.prepared };
        let base = if is_locked { proposed_at } else { self.irreversible };
        let confirmer = |place: Option<usize>| match place.and_then(|place| self.confirmers.get(place)).copied() {
            Some(kept) if is_locked && !mutation::active(Mutation::DposVotesOutliveSchedule) => {
                Confirmer { vote: None, ..kept }
            }
            Some(kept) => kept,
            None => Confirmer::elected_at(base),
        };
        let confirmers = origin.into_iter().map(confirmer).collect();
        Self { prepared, counts: Vec::new(), confirmers, ..self.clone() }
    }

    /// Returns the branch with its producers in another order: the one at `order[place]` moves to `place`.
    #[cfg(test)]
    pub(super) fn permuted(&self, order: &[usize]) -> Self {
        Self { confirmers: order.iter().map(|place| self.confirmers[*place]).collect(), ..self.clone() }
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { rule, height, prepared, irreversible, counts, confirmers } = self;
        out.bool(*rule == FinalityRule::Classic);
        out.u64(height.get());
        out.u64(prepared.get());
        out.u64(irreversible.get());
        out.list(counts.iter(), |out, count| out.u32(u32::from(*count)));
        out.list(confirmers.iter(), |out, Confirmer { last, since, vote }| {
            out.u64(last.get());
            out.u64(since.get());
            out.option(vote.as_ref(), |out, Vote { from, to }| {
                out.u64(from.get());
                out.u64(to.get());
            });
        });
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let height = |bytes: &mut Decoder<'_>| bytes.u64().map(Height::new);
        let rule = if bytes.bool()? { FinalityRule::Classic } else { FinalityRule::Locked };
        let (top, prepared, irreversible) = (height(bytes)?, height(bytes)?, height(bytes)?);
        let counts = bytes.list(|bytes| u16::try_from(bytes.u32()?).ok())?;
        let confirmers = bytes.list(|bytes| {
            let (last, since) = (height(bytes)?, height(bytes)?);
            let vote = bytes.option(|bytes| Some(Vote { from: height(bytes)?, to: height(bytes)? }))?;
            Some(Confirmer { last, since, vote })
        })?;
        let is_valid = irreversible <= prepared && prepared <= top && !confirmers.is_empty();
        is_valid.then_some(Self { rule, height: top, prepared, irreversible, counts, confirmers })
    }
}

impl Confirmer {
    /// Returns a producer that has confirmed nothing above `height`, from which it was elected.
    const fn elected_at(height: Height) -> Self {
        Self { last: height, since: height.next(), vote: None }
    }

    /// Adds a range that ends at `height`; a gap below it starts a new run.
    fn confirm(self, height: Height, confirmed: u16) -> Self {
        let first = Height::new(height.get() - u64::from(confirmed) + 1);
        let since = if first > self.last.next() { first } else { self.since };
        Self { last: height, since, ..self }
    }

    /// Adds what the block implies: a vote, once its run reaches down to that height.
    fn imply(self, rule: FinalityRule, prepared: Height) -> Self {
        if !rule.is_locked() {
            let before = self.vote.map_or(Height::GENESIS, |vote| vote.to);
            return Self { vote: Some(Vote { from: Height::GENESIS, to: before.max(prepared) }), ..self };
        }
        let from = if mutation::active(Mutation::DposVotesAcrossGaps) { Height::GENESIS } else { self.since };
        if prepared < from { self } else { Self { vote: Some(Vote { from, to: prepared }), ..self } }
    }
}
