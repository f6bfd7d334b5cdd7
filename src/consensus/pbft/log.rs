//! The log between the watermarks: proposals, votes, and the P and Q entries of view-changes, by height.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use super::{InView, PbftMessage, Quorums, View};
use crate::{
    chain::Block,
    consensus::{
        BlockId, Encoder,
        mutation::{self, Mutation},
    },
    primitives::{Address, B256, Bytes, Height},
    system::ValidatorUpdates,
};

/// Pre-prepared blocks kept per height. A view adds at most one; the one of the oldest view is dropped, which can delay a
/// view change but not make it unsafe.
pub(super) const PRE_PREPARED_MAX: usize = 16;

/// Messages and votes above the stable checkpoint.
#[derive(Clone, Debug)]
pub(super) struct Log {
    /// Stable checkpoint: the low watermark (h).
    pub(super) stable: BlockId,
    /// Greatest height above the stable checkpoint (L), in blocks.
    window: u64,
    pub(super) slots: BTreeMap<Height, Slot>,
    /// This replica's own checkpoints, including the stable one (C).
    pub(super) checkpoints: BTreeMap<Height, B256>,
    /// Checkpoint votes above the stable one, by height and validator.
    pub(super) checkpoint_votes: BTreeMap<Height, BTreeMap<Address, B256>>,
}

/// The log entry of one height.
#[derive(Clone, Debug, Default)]
pub(super) struct Slot {
    /// Proposal of the current view's primary.
    pub(super) proposal: Option<Proposal>,
    /// Pre-prepare of the lowest later view whose new-view has not arrived.
    pub(super) early: Option<Arc<PbftMessage>>,
    /// Committed block, and the replica's view at that time: votes up to this view no longer count.
    pub(super) committed: Option<(View, B256)>,
    /// Bodies of proposed blocks that are not committed.
    pub(super) bodies: BTreeMap<B256, Arc<Block>>,
    /// Latest prepare of each validator.
    pub(super) prepares: Votes,
    /// Latest commit of each validator.
    pub(super) commits: Votes,
    /// Changes of the validator set by the accepted proposal's execution.
    pub(super) updates: ValidatorUpdates,
    /// Prepared block with its latest view (an entry of P).
    pub(super) prepared: Option<(View, B256)>,
    /// Pre-prepared blocks, each with its latest view (entries of Q).
    pub(super) pre_prepared: BTreeMap<B256, View>,
}

/// The latest vote of each validator, with counts by view and block.
#[derive(Clone, Debug, Default)]
pub(super) struct Votes {
    cast: BTreeMap<Address, Vote>,
    /// Number of votes by view and block; follows from `cast`.
    tally: Vec<(View, B256, usize)>,
}

/// A validator's vote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Vote {
    pub(super) view: View,
    pub(super) hash: B256,
    pub(super) signature: Bytes,
}

/// A height's proposal in the current view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Proposal {
    pub(super) hash: B256,
    pub(super) status: ProposalStatus,
    /// Whether the new-view chose it: no other proposal is accepted at its height in this view, even after a restart.
    pub(super) is_chosen: bool,
}

/// Status of a proposal at this replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProposalStatus {
    /// Its body is being fetched, or its parent is not committed here.
    Waiting,
    /// It is being executed.
    Executing,
    /// It is valid, and this replica pre-prepared it.
    Accepted,
    /// It is invalid.
    Rejected,
}

/// Outcome of counting a vote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    Yes,
    Known,
    Contradiction { first: Vote },
}

impl Log {
    /// Returns an empty log above a stable checkpoint, such as genesis.
    pub(super) fn new(stable: BlockId, window: u64) -> Self {
        Self {
            stable,
            window,
            slots: BTreeMap::new(),
            checkpoints: BTreeMap::from([(stable.height, stable.hash)]),
            checkpoint_votes: BTreeMap::new(),
        }
    }

    /// Returns the high watermark (h + L).
    pub(super) const fn high(&self) -> Height {
        Height::new(self.stable.height.get().saturating_add(self.window))
    }

    /// Returns whether `height` is between the watermarks: `h < n <= h + L`.
    pub(super) fn contains(&self, height: Height) -> bool {
        self.stable.height < height && height <= self.high()
    }

    pub(super) fn slot(&self, height: Height) -> Option<&Slot> {
        self.slots.get(&height)
    }

    /// Returns the slot of a height between the watermarks, created on demand.
    pub(super) fn slot_mut(&mut self, height: Height) -> Option<&mut Slot> {
        self.contains(height).then(|| self.slots.entry(height).or_default())
    }

    /// Iterates over this replica's own checkpoints, the stable one first.
    pub(super) fn own_checkpoints(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.checkpoints.iter().map(|(height, hash)| BlockId { height: *height, hash: *hash })
    }

    /// Raises the low watermark and drops all entries at and below it.
    pub(super) fn make_stable(&mut self, checkpoint: BlockId) {
        let height = checkpoint.height;
        self.stable = checkpoint;
        self.slots.retain(|slot, _| *slot > height);
        self.checkpoint_votes.retain(|voted, _| *voted > height);
        self.checkpoints.retain(|own, _| *own > height);
        self.checkpoints.insert(height, checkpoint.hash);
    }

    /// Drops proposals and votes of views before `view`.
    pub(super) fn begin_view(&mut self, view: View) {
        for slot in self.slots.values_mut() {
            slot.proposal = None;
            slot.prepares.retain(|_, vote| vote.view >= view);
            slot.commits.retain(|_, vote| vote.view >= view);
            slot.updates = ValidatorUpdates::NONE;
            let pre_prepared = &slot.pre_prepared;
            slot.bodies.retain(|hash, _| pre_prepared.contains_key(hash));
        }
    }

    /// Returns the entries of P: prepared blocks above the stable checkpoint.
    pub(super) fn prepared(&self) -> Vec<InView> {
        let entry = |(height, slot): (&Height, &Slot)| {
            slot.prepared.map(|(view, hash)| InView { block: BlockId { height: *height, hash }, view })
        };
        self.slots.iter().filter_map(entry).collect()
    }

    /// Returns the entries of Q: pre-prepared blocks above the stable checkpoint.
    pub(super) fn pre_prepared(&self) -> Vec<InView> {
        let entries = |(height, slot): (&Height, &Slot)| {
            let height = *height;
            let entry =
                move |(hash, view): (&B256, &View)| InView { block: BlockId { height, hash: *hash }, view: *view };
            slot.pre_prepared.iter().map(entry).collect::<Vec<_>>()
        };
        self.slots.iter().flat_map(entries).collect()
    }

    /// Returns uncommitted blocks that this replica accepted, or the new-view chose, in the current view.
    pub(super) fn bound(&self) -> Vec<BlockId> {
        let entry = |(height, slot): (&Height, &Slot)| {
            let binding = |proposal: &Proposal| proposal.is_chosen || proposal.status == ProposalStatus::Accepted;
            let proposal = slot.proposal.filter(|proposal| slot.committed.is_none() && binding(proposal))?;
            Some(BlockId { height: *height, hash: proposal.hash })
        };
        self.slots.iter().filter_map(entry).collect()
    }

    /// Begins the log of a new committee, above the block that put it in force: drops proposals, which are of former primaries, votes of
    /// former members, and prepares of validators that are now the primary of the vote's view. Nothing was pre-prepared here, since
    /// that needs the block below.
    pub(super) fn begin_committee(&mut self, may_vote: impl Fn(&Address) -> bool, primary: impl Fn(View) -> Address) {
        for slot in self.slots.values_mut() {
            if !mutation::active(Mutation::PbftAccusesWithoutProof) {
                (slot.proposal, slot.early) = (None, None);
                slot.bodies.clear();
            }
            slot.prepares.retain(|who, vote| may_vote(who) && *who != primary(vote.view));
            slot.commits.retain(|who, _| may_vote(who));
        }
        self.checkpoint_votes.values_mut().for_each(|votes| votes.retain(|who, _| may_vote(who)));
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { stable, window, slots, checkpoints, checkpoint_votes } = self;
        stable.encode(out);
        out.u64(*window);
        out.list(slots.iter(), |out, (height, slot)| {
            out.u64(height.get());
            slot.encode(out);
        });
        out.list(checkpoints.iter(), |out, (height, hash)| {
            out.u64(height.get());
            out.hash(hash);
        });
        out.list(checkpoint_votes.iter(), |out, (height, votes)| {
            out.u64(height.get());
            out.list(votes.iter(), |out, (validator, hash)| {
                out.address(validator);
                out.hash(hash);
            });
        });
    }
}

impl Slot {
    /// Records that a block was pre-prepared in `view`.
    pub(super) fn pre_prepare(&mut self, view: View, hash: B256) {
        self.pre_prepared.insert(hash, view);
        while self.pre_prepared.len() > PRE_PREPARED_MAX {
            let oldest = self.pre_prepared.iter().min_by_key(|(_, view)| **view).map(|(hash, _)| *hash);
            oldest.and_then(|hash| self.pre_prepared.remove(&hash));
        }
    }

    /// Returns whether another block than `hash` was pre-prepared in `view`, also when only its record is left.
    pub(super) fn has_other_in(&self, view: View, hash: B256) -> bool {
        self.pre_prepared.iter().any(|(other, at)| *at == view && *other != hash)
    }

    /// Returns whether enough backups prepared the proposal in `view`: one fewer than a quorum, since the pre-prepare is the
    /// primary's vote and prepares of the primary are refused.
    pub(super) fn is_prepared(&self, view: View, hash: B256, quorums: &Quorums) -> bool {
        self.prepares.agreeing(view, hash) + 1 >= quorums.strong()
    }

    /// Returns a quorum's commits of a block in `view`, in ascending order of signers; `None` without a quorum.
    pub(super) fn commits_of(&self, view: View, hash: B256, quorums: &Quorums) -> Option<Vec<Bytes>> {
        let strong = quorums.strong();
        if self.commits.agreeing(view, hash) < strong {
            return None;
        }
        let agreeing = self.commits.cast.values().filter(|vote| vote.is(view, hash));
        Some(agreeing.take(strong).map(|vote| vote.signature.clone()).collect())
    }

    /// Returns whether the height is committed, so that votes of `view` no longer count.
    pub(super) fn is_settled(&self, view: View) -> bool {
        self.committed.is_some_and(|(settled, _)| view <= settled)
    }

    fn encode(&self, out: &mut Encoder) {
        let Self { proposal, early, committed, bodies, prepares, commits, updates, prepared, pre_prepared } = self;
        out.option(proposal.as_ref(), |out, Proposal { hash, status, is_chosen }| {
            out.hash(hash);
            out.u8(*status as u8);
            out.bool(*is_chosen);
        });
        out.option(early.as_ref(), |out, message| message.encode(out));
        out.option(committed.as_ref(), |out, (view, hash)| {
            out.u64(view.get());
            out.hash(hash);
        });
        out.list(bodies.iter(), |out, (hash, body)| {
            out.hash(hash);
            out.bytes(body.seal());
        });
        // The tally counts the votes.
        for Votes { cast, tally: _ } in [prepares, commits] {
            out.list(cast.iter(), |out, (validator, vote)| {
                out.address(validator);
                let Vote { view, hash, signature } = vote;
                out.u64(view.get());
                out.hash(hash);
                out.bytes(signature);
            });
        }
        out.option(prepared.as_ref(), |out, (view, hash)| {
            out.u64(view.get());
            out.hash(hash);
        });
        out.list(pre_prepared.iter(), |out, (hash, view)| {
            out.hash(hash);
            out.u64(view.get());
        });
        out.list(updates.iter(), |out, update| {
            out.address(&update.address);
            out.u64(update.weight);
        });
    }
}

impl Vote {
    pub(super) fn is(&self, view: View, hash: B256) -> bool {
        self.view == view && self.hash == hash
    }
}

impl Votes {
    /// Counts a validator's vote; one of a later view replaces an earlier one.
    pub(super) fn count(&mut self, validator: Address, vote: Vote) -> Counted {
        let (view, hash) = (vote.view, vote.hash);
        match self.cast.entry(validator) {
            Entry::Vacant(place) => {
                place.insert(vote);
            }
            Entry::Occupied(mut place) => {
                let earlier = place.get();
                if earlier.view == view && earlier.hash != hash {
                    return Counted::Contradiction { first: earlier.clone() };
                }
                if earlier.view >= view {
                    return Counted::Known;
                }
                let earlier = place.insert(vote);
                self.tally_up(earlier.view, earlier.hash, false);
            }
        }
        self.tally_up(view, hash, true);
        Counted::Yes
    }

    /// Returns the number of votes for this block in this view.
    pub(super) fn agreeing(&self, view: View, hash: B256) -> usize {
        let same = self.tally.iter().find(|(at, block, _)| *at == view && *block == hash);
        same.map_or(0, |(_, _, count)| *count)
    }

    /// Returns a validator's latest vote.
    pub(super) fn of(&self, validator: &Address) -> Option<&Vote> {
        self.cast.get(validator)
    }

    /// Iterates over the validators whose latest vote is for this block, in any view.
    pub(super) fn voters_of(&self, hash: B256) -> impl Iterator<Item = Address> + '_ {
        self.cast.iter().filter(move |(_, vote)| vote.hash == hash).map(|(validator, _)| *validator)
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&Address, &Vote) -> bool) {
        self.cast.retain(|validator, vote| keep(validator, vote));
        self.tally.clear();
        let kept: Vec<_> = self.cast.values().map(|vote| (vote.view, vote.hash)).collect();
        kept.into_iter().for_each(|(view, hash)| self.tally_up(view, hash, true));
    }

    pub(super) fn clear(&mut self) {
        self.cast.clear();
        self.tally.clear();
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.cast.len()
    }

    fn tally_up(&mut self, view: View, hash: B256, more: bool) {
        match self.tally.iter().position(|(at, block, _)| *at == view && *block == hash) {
            Some(place) if more => self.tally[place].2 += 1,
            Some(place) => {
                self.tally[place].2 -= 1;
                if self.tally[place].2 == 0 {
                    self.tally.swap_remove(place);
                }
            }
            None => self.tally.push((view, hash, 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watermarks_bound_the_log() {
        let id = |height| BlockId { height: Height::new(height), hash: B256::repeat_byte(height as u8) };
        let mut log = Log::new(id(4), 8);
        let inside = |log: &Log| (0..40).filter(|height| log.contains(Height::new(*height))).collect::<Vec<_>>();
        assert_eq!(inside(&log), (5..=12).collect::<Vec<_>>());
        assert!(log.slot_mut(Height::new(4)).is_none() && log.slot_mut(Height::new(13)).is_none());
        for height in 5..=12 {
            log.slot_mut(Height::new(height)).unwrap().pre_prepare(View::new(0), id(height).hash);
        }
        log.make_stable(id(8));
        assert_eq!(log.slots.keys().map(|height| height.get()).collect::<Vec<_>>(), [9, 10, 11, 12]);
        assert_eq!(inside(&log), (9..=16).collect::<Vec<_>>());
        assert_eq!(log.checkpoints.keys().map(|height| height.get()).collect::<Vec<_>>(), [8]);
    }

    #[test]
    fn pre_prepared_blocks_are_bounded_and_the_latest_views_stay() {
        let mut slot = Slot::default();
        for view in 0..100_u8 {
            slot.pre_prepare(View::new(view.into()), B256::repeat_byte(view));
        }
        assert_eq!(slot.pre_prepared.len(), PRE_PREPARED_MAX);
        assert!(slot.pre_prepared.values().all(|view| view.get() >= 84));
    }
}
