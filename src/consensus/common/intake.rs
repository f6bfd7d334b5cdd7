//! Blocks between their receipt and their adoption: pending execution, waiting for parents, requested from peers.
//!
//! Bounds and what happens beyond them are a protocol's [`IntakePolicy`]; header rules and adoption are the protocol's own.

use std::sync::Arc;

use imbl::OrdMap;

use super::{
    effect::{Effect, Rejection},
    encoding::Encoder,
    event::Verdict,
    id::{BlockId, ReplicaId, Ticket},
    orphans::{Orphan, Orphans},
};
use crate::{
    chain::Block,
    primitives::{Address, B256, Height},
    system::ValidatorUpdates,
};

/// Bounds of a block intake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::consensus) struct IntakePolicy {
    /// Blocks of others pending execution at once.
    pub(in crate::consensus) pending_max: usize,
    /// Of them, blocks of one author.
    pub(in crate::consensus) pending_per_author_max: Option<usize>,
    /// How far above the head an orphan may be, in blocks.
    pub(in crate::consensus) ahead_max: Option<u64>,
    /// Blocks that wait for their parents.
    pub(in crate::consensus) orphans_max: usize,
    /// Of them, blocks of one author.
    pub(in crate::consensus) orphans_per_author_max: Option<usize>,
    /// Handling of an orphan beyond these bounds.
    pub(in crate::consensus) overflow: Overflow,
    /// Widest gap between head and orphan, in blocks, that is closed by requests for missing parents, beyond which a peer's chain is
    /// requested from below; `None` requests missing parents one by one, however many.
    pub(in crate::consensus) gap_max: Option<u64>,
}

/// Handling of an orphan for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::consensus) enum Overflow {
    /// It replaces the highest orphan if that one is higher: blocks near the chain are needed first.
    EvictHighest,
    /// It is rejected.
    Reject,
    /// It is dropped, and its sender's chain is requested from below.
    CatchUp,
}

/// Blocks requested from one peer's canonical chain, one after the other: the first peer that is far ahead, until the target is
/// reached; other peers only raise the target. Blocks adopted above the requested height count as progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::consensus) struct CatchUp {
    pub(in crate::consensus) from: ReplicaId,
    /// Height requested.
    pub(in crate::consensus) next: Height,
    /// Highest block that the peer is known to have.
    pub(in crate::consensus) target: Height,
    /// Slot of the last progress.
    pub(in crate::consensus) progress_slot: u64,
}

impl CatchUp {
    /// The request for the next block.
    pub(in crate::consensus) const fn request(&self) -> Effect {
        Effect::Fetch { block: BlockId { height: self.next, hash: B256::ZERO }, from: self.from }
    }

    pub(in crate::consensus) fn encode(&self, out: &mut Encoder) {
        // Only proof of stake has a progress slot, and encodes it itself.
        let Self { from, next, target, progress_slot: _ } = self;
        out.u32(from.get());
        out.u64(next.get());
        out.u64(target.get());
    }
}

/// A block that obeys the header rules and is being executed.
#[derive(Clone, Debug)]
pub(in crate::consensus) struct PendingBlock<T> {
    pub(in crate::consensus) block: Arc<Block>,
    pub(in crate::consensus) author: Address,
    /// Record that has to be durable before the block is sent; `None` for blocks of others.
    pub(in crate::consensus) own: Option<Ticket>,
    /// What the protocol derived from the header.
    pub(in crate::consensus) verified: T,
}

/// Outcome for a block without a known parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::consensus) enum Parked {
    /// It waits; this ancestor is missing, unless it is pending.
    Waiting { missing: Option<BlockId> },
    /// It was dropped: its sender's chain has to be requested from below.
    TooFar,
}

/// Blocks that are not adopted yet.
#[derive(Clone, Debug)]
pub(in crate::consensus) struct Intake<T> {
    pub(in crate::consensus) policy: IntakePolicy,
    pub(in crate::consensus) pending: OrdMap<BlockId, PendingBlock<T>>,
    pub(in crate::consensus) orphans: Orphans,
    pub(in crate::consensus) catch_up: Option<CatchUp>,
}

impl<T: Clone> Intake<T> {
    pub(in crate::consensus) fn new(policy: IntakePolicy) -> Self {
        Self { policy, pending: OrdMap::new(), orphans: Orphans::default(), catch_up: None }
    }

    /// Returns what a state's canonical encoding covers: all but the policy, which is constant.
    pub(in crate::consensus) const fn encoded_parts(
        &self,
    ) -> (&OrdMap<BlockId, PendingBlock<T>>, &Orphans, Option<&CatchUp>) {
        let Self { policy: _, pending, orphans, catch_up } = self;
        (pending, orphans, catch_up.as_ref())
    }

    /// Returns whether a block is pending or waits for its parent.
    pub(in crate::consensus) fn contains(&self, id: &BlockId) -> bool {
        self.pending.contains_key(id) || self.orphans.contains(id)
    }

    /// Checks that one more block of another replica may be executed.
    pub(in crate::consensus) fn check_pending(&self) -> Result<(), Rejection> {
        at_most(self.pending.len() + 1, self.policy.pending_max)
    }

    /// Checks that one more block of `author`, another replica, may be executed.
    pub(in crate::consensus) fn check_pending_of(&self, author: Address) -> Result<(), Rejection> {
        self.check_pending()?;
        let Some(max) = self.policy.pending_per_author_max else { return Ok(()) };
        at_most(self.pending.values().filter(|pending| pending.author == author).count() + 1, max)
    }

    /// Checks that a block is not too far above the head to wait for its parent.
    pub(in crate::consensus) fn check_ahead(&self, block: BlockId, head: Height) -> Result<(), Rejection> {
        match self.policy.ahead_max {
            Some(limit) if is_above(block.height, head, limit) => Err(Rejection::TooFarAhead { block, limit }),
            _ => Ok(()),
        }
    }

    /// Returns whether the gap between the head and a block is too wide to request missing parents one by one.
    pub(in crate::consensus) fn is_far(&self, block: Height, head: Height) -> bool {
        self.policy.gap_max.is_some_and(|gap_max| is_above(block, head, gap_max))
    }

    /// Keeps a block until its parent is adopted.
    ///
    /// # Errors
    /// [`Rejection::Overloaded`] when there is no room and the policy is to reject.
    pub(in crate::consensus) fn park(&mut self, orphan: Orphan, head: Height) -> Result<Parked, Rejection> {
        let height = orphan.block.height();
        if self.is_far(height, head) {
            return Ok(Parked::TooFar);
        }
        if !self.has_room_for(orphan.author) {
            let highest = self.orphans.highest().filter(|highest| highest.height > height);
            match (self.policy.overflow, highest) {
                (Overflow::EvictHighest, Some(highest)) => drop(self.orphans.remove(&highest)),
                (Overflow::CatchUp, _) => return Ok(Parked::TooFar),
                _ => return Err(Rejection::Overloaded { limit: self.policy.orphans_max }),
            }
        }
        let missing = self.missing_ancestor(&orphan.block);
        self.orphans.insert(orphan);
        Ok(Parked::Waiting { missing })
    }

    fn has_room_for(&self, author: Address) -> bool {
        let per_author_max = self.policy.orphans_per_author_max;
        self.orphans.len() < self.policy.orphans_max
            && per_author_max.is_none_or(|max| self.orphans.count_of(author) < max)
    }

    /// Returns the lowest ancestor that neither waits nor is pending; `None` when it is pending.
    pub(in crate::consensus) fn missing_ancestor(&self, block: &Block) -> Option<BlockId> {
        let missing = self.orphans.missing_below(BlockId::parent_of(block));
        (!self.pending.contains_key(&missing)).then_some(missing)
    }

    /// Removes a pending block by its verdict. The orphans above an invalid block are dropped.
    ///
    /// # Errors
    /// [`Rejection::Unexpected`] for a block that is not pending, [`Rejection::Header`] for an invalid one.
    pub(in crate::consensus) fn resolve(
        &mut self,
        id: BlockId,
        verdict: Verdict,
    ) -> Result<(PendingBlock<T>, ValidatorUpdates), Rejection> {
        let Some(pending) = self.pending.remove(&id) else {
            return Err(Rejection::Unexpected { what: "verdict" });
        };
        match verdict {
            Verdict::Valid { updates } => Ok((pending, updates)),
            Verdict::Invalid { reason } => {
                self.orphans.drop_descendants(id);
                Err(Rejection::Header { block: id, reason })
            }
        }
    }

    /// Starts to request the chain of a peer up to `target`, or adds to what is requested already. `start` is the lowest
    /// height missing, `slot` the present slot. Returns the request to make.
    pub(in crate::consensus) fn start_catch_up(
        &mut self,
        from: ReplicaId,
        start: Height,
        target: Height,
        slot: u64,
    ) -> Option<Effect> {
        if let Some(running) = &mut self.catch_up {
            running.target = running.target.max(target);
            return None;
        }
        let catch_up = CatchUp { from, next: start, target, progress_slot: slot };
        self.catch_up = Some(catch_up);
        Some(catch_up.request())
    }

    /// Records that a block is in the tree now. Returns the request for the one after it, when it was the one requested.
    pub(in crate::consensus) fn continue_catch_up(&mut self, adopted: Height, slot: u64) -> Option<Effect> {
        let catch_up = self.catch_up?;
        if adopted < catch_up.next {
            return None;
        }
        let next = CatchUp { next: adopted.next(), progress_slot: slot, ..catch_up };
        self.catch_up = (next.next <= next.target).then_some(next);
        self.catch_up.map(|next| next.request())
    }
}

fn at_most(count: usize, limit: usize) -> Result<(), Rejection> {
    if count <= limit { Ok(()) } else { Err(Rejection::Overloaded { limit }) }
}

const fn is_above(block: Height, head: Height, limit: u64) -> bool {
    block.get() > head.get().saturating_add(limit)
}

/// A replica that takes blocks in any order.
pub(in crate::consensus) trait BlockIntake {
    /// What the protocol derives from a header that obeys its rules.
    type Verified: Clone;

    fn intake(&mut self) -> &mut Intake<Self::Verified>;

    /// Verifies a block's header and requests its execution; without its parent the block waits. `own` is the record that has
    /// to be durable before an own block is sent.
    ///
    /// # Errors
    /// [`Rejection`]: why the block is not taken; nothing has changed then.
    fn admit(
        &mut self,
        from: Option<ReplicaId>,
        block: Arc<Block>,
        own: Option<Ticket>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Rejection>;

    /// Admits a block of another replica. A body that is not the header's never takes the place of the author's own, whose hash
    /// it has, and counts for nothing against the author.
    ///
    /// # Errors
    /// [`Rejection`]: why the block is not taken; nothing has changed then.
    fn take_block(
        &mut self,
        from: Option<ReplicaId>,
        block: Arc<Block>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Rejection> {
        block.check_body().map_err(|source| Rejection::Body { block: BlockId::of(&block), source })?;
        self.admit(from, block, None, effects)
    }

    /// Admits a block of another replica or reports its rejection.
    fn on_block(&mut self, from: Option<ReplicaId>, block: Arc<Block>, effects: &mut Vec<Effect>) {
        if let Err(rejection) = self.take_block(from, block, effects) {
            effects.push(Effect::Reject(rejection));
        }
    }

    /// Admits the blocks that waited for `parent`.
    fn release_children(&mut self, parent: BlockId, effects: &mut Vec<Effect>) {
        for orphan in self.intake().orphans.take_children(parent) {
            self.on_block(orphan.from, orphan.block, effects);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::{Bytes, Header};

    const HEAD: Height = Height::new(10);
    const POLICY: IntakePolicy = IntakePolicy {
        pending_max: 3,
        pending_per_author_max: Some(2),
        ahead_max: Some(20),
        orphans_max: 3,
        orphans_per_author_max: Some(2),
        overflow: Overflow::Reject,
        gap_max: Some(5),
    };

    fn block(number: u64, parent_hash: B256) -> Arc<Block> {
        let header = Header { number, parent_hash, ..Header::default() };
        Arc::new(Block::new(header, Vec::new(), Bytes::new(), Vec::new()))
    }

    /// Returns a block of `author` whose parent is not known.
    fn orphan(number: u64, author: u8) -> Orphan {
        let block = block(number, B256::repeat_byte(author));
        Orphan { from: Some(ReplicaId::new(0)), author: Address::repeat_byte(author), block }
    }

    fn intake(overflow: Overflow) -> Intake<()> {
        Intake::new(IntakePolicy { overflow, ..POLICY })
    }

    fn pend(intake: &mut Intake<()>, number: u64, author: u8) -> BlockId {
        let Orphan { block, author, .. } = orphan(number, author);
        let id = BlockId::of(&block);
        intake.pending.insert(id, PendingBlock { block, author, own: None, verified: () });
        id
    }

    #[test]
    fn pending_blocks_are_bounded_in_all_and_by_author() {
        let mut intake = intake(Overflow::Reject);
        let [one, other] = [1, 2].map(Address::repeat_byte);
        pend(&mut intake, 11, 1);
        assert_eq!(intake.check_pending_of(one), Ok(()), "at the author's bound");
        pend(&mut intake, 12, 1);
        assert_eq!(intake.check_pending_of(one), Err(Rejection::Overloaded { limit: 2 }), "past it");
        assert_eq!(intake.check_pending_of(other), Ok(()), "at the bound of all");
        pend(&mut intake, 13, 2);
        assert_eq!(intake.check_pending(), Err(Rejection::Overloaded { limit: 3 }), "past it");
    }

    #[test]
    fn distances_above_the_head_are_bounded() {
        let mut intake = intake(Overflow::Reject);
        let at = |height| BlockId { height: Height::new(height), hash: B256::ZERO };
        assert_eq!(intake.check_ahead(at(30), HEAD), Ok(()));
        assert_eq!(intake.check_ahead(at(31), HEAD), Err(Rejection::TooFarAhead { block: at(31), limit: 20 }));
        assert!(matches!(intake.park(orphan(15, 1), HEAD), Ok(Parked::Waiting { .. })));
        assert_eq!(intake.park(orphan(16, 1), HEAD), Ok(Parked::TooFar));
        assert_eq!(intake.orphans.len(), 1);
    }

    #[test]
    fn orphans_beyond_their_bounds_are_handled_by_policy() {
        let overloaded = Err(Rejection::Overloaded { limit: 3 });
        for (overflow, low, high) in [
            (Overflow::Reject, overloaded.clone(), overloaded.clone()),
            (Overflow::CatchUp, Ok(false), Ok(false)),
            (Overflow::EvictHighest, Ok(true), overloaded),
        ] {
            let mut intake = intake(overflow);
            let mut park = |number, author| {
                let parked = intake.park(orphan(number, author), HEAD);
                (parked.map(|parked| parked != Parked::TooFar), intake.orphans.highest().map(|id| id.height.get()))
            };
            assert_eq!(park(13, 1), (Ok(true), Some(13)));
            assert_eq!(park(15, 1), (Ok(true), Some(15)), "at the author's bound");
            let after = if overflow == Overflow::EvictHighest { 13 } else { 15 };
            assert_eq!(park(12, 1), (low, Some(after)), "past it");
            if overflow != Overflow::EvictHighest {
                assert_eq!(park(14, 2), (Ok(true), Some(15)), "at the bound of all");
                assert_eq!(park(15, 3), (high, Some(15)), "past it");
            } else {
                assert_eq!(park(13, 1), (high, Some(13)), "past it, and not lower than the highest");
            }
        }
    }

    #[test]
    fn the_lowest_missing_ancestor_is_requested_and_children_are_released() {
        let mut intake = intake(Overflow::Reject);
        let parent = block(11, B256::repeat_byte(9));
        let child = block(12, parent.hash());
        let (author, from) = (Address::repeat_byte(1), None);
        let parked = intake.park(Orphan { from, author, block: child.clone() }, HEAD);
        assert_eq!(parked, Ok(Parked::Waiting { missing: Some(BlockId::of(&parent)) }));
        let id = BlockId::of(&parent);
        intake.pending.insert(id, PendingBlock { block: parent, author, own: None, verified: () });
        assert_eq!(intake.missing_ancestor(&child), None, "the parent is pending");
        let verdict = Verdict::Valid { updates: ValidatorUpdates::NONE };
        assert!(intake.resolve(id, verdict.clone()).is_ok());
        assert!(intake.resolve(id, verdict).is_err(), "a second verdict");
        assert_eq!(intake.orphans.take_children(id).len(), 1);
        assert_eq!(intake.orphans.len(), 0);
    }

    #[test]
    fn descendants_of_an_invalid_block_are_dropped() {
        let mut intake = intake(Overflow::Reject);
        let id = pend(&mut intake, 11, 1);
        let child = block(12, id.hash);
        let grandchild = block(13, child.hash());
        for block in [child, grandchild] {
            intake.park(Orphan { from: None, author: Address::ZERO, block }, HEAD).unwrap();
        }
        let reason = "state root".to_owned();
        let rejected = intake.resolve(id, Verdict::Invalid { reason: reason.clone() }).err();
        assert_eq!(rejected, Some(Rejection::Header { block: id, reason }));
        assert_eq!((intake.pending.len(), intake.orphans.len()), (0, 0));
    }

    #[test]
    fn a_chain_is_requested_from_the_first_peer() {
        let height = Height::new;
        let [one, other] = [1, 2].map(ReplicaId::new);
        let requested = |effect: Option<Effect>| match effect {
            Some(Effect::Fetch { block, from }) if block.hash == B256::ZERO => Some((block.height.get(), from)),
            Some(other) => panic!("{other:?}"),
            None => None,
        };

        let mut first = intake(Overflow::Reject);
        let mut start = |from, target| requested(first.start_catch_up(from, height(11), height(target), 0));
        assert_eq!(start(one, 13), Some((11, one)));
        assert_eq!(start(other, 14), None, "only the target rises");
        let mut adopt = |adopted, slot| requested(first.continue_catch_up(height(adopted), slot));
        assert_eq!(adopt(10, 1), None);
        assert_eq!(adopt(12, 1), Some((13, one)), "a block above counts");
        assert_eq!(first.catch_up.map(|catch_up| catch_up.progress_slot), Some(1));
        assert_eq!(requested(first.continue_catch_up(height(14), 2)), None);
        assert_eq!(first.catch_up, None);
    }
}
