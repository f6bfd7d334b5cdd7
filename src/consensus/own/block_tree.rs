//! The blocks of a protocol of one's own: from receipt over execution to commitment, and through a crash.

mod fetching;
mod production;
mod recovery;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};

use super::{Participant, Proposal};
use crate::{
    chain::Block,
    consensus::{
        BlockId, BuildRequest, ChainEvent, ConsensusMessage, Effect, Encoder, Event, Finality, FinalityKind, Rejection,
        ReplicaId, Ticket, TimerId, Verdict,
        branch_tree::BranchTree,
        intake::{Intake, IntakePolicy, Overflow, Parked, PendingBlock},
        orphans::Orphan,
    },
    primitives::Height,
};

pub use recovery::RecordError;

/// Executed heights above the committed block: a protocol that makes more blocks without a commitment can't go on.
const AHEAD_MAX: u64 = 1_024;
/// Bounds of blocks that are not executed yet.
const INTAKE: IntakePolicy = IntakePolicy {
    pending_max: 256,
    pending_per_author_max: Some(64),
    // Of a block that is executed: a wider gap is closed by the committed blocks of a peer.
    ahead_max: Some(AHEAD_MAX),
    orphans_max: 256,
    orphans_per_author_max: Some(64),
    overflow: Overflow::CatchUp,
    gap_max: Some(64),
};
/// Blocks of one author at one height, beside those that were fetched: an honest one makes few.
const SIBLINGS_MAX: usize = 8;

/// The timers of a block tree; a protocol uses others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockTimers {
    /// Fires when the planned own block may be built.
    pub build: TimerId,
    /// Fires when missing blocks are asked for again.
    pub fetch: TimerId,
}

/// The newest committed block, the executed blocks above it, and the blocks on their way there.
///
/// It checks what holds for a block of any protocol: body, payload, and a seal by a validator, who is the beneficiary; later than its parent.
/// It asks for missing ancestors one by one, and for a peer's committed blocks from below when the gap is wider than 64 blocks. It executes
/// parents before children, bounds what others can fill, and builds, seals and sends this replica's own blocks. What the payload `T` must be is
/// the protocol's to judge, between [`BlockTree::handle`] and [`BlockTree::admit`].
///
/// It writes all records of the replica: the protocol's own state `S` with the committed block, and the blocks whose body must survive a crash.
#[derive(Clone, Debug)]
pub struct BlockTree<T: Clone + core::fmt::Debug> {
    participant: Participant,
    timers: BlockTimers,
    root: Arc<Proposal<T>>,
    branches: BranchTree<Proposal<T>>,
    intake: Intake<Proposal<T>>,
    /// Blocks that were asked for and are not executed.
    fetched: BTreeSet<BlockId>,
    /// Number of times that blocks were asked for again.
    attempts: u64,
    /// Whether the timer runs for asking again.
    is_waiting: bool,
    /// Blocks above the root that have a record.
    kept: BTreeSet<BlockId>,
    /// Blocks from before a restart, lowest first.
    restored: Vec<Arc<Block>>,
    /// The next own block.
    next: Option<BuildRequest>,
    next_ticket: Ticket,
}

impl<T> BlockTree<T>
where
    T: Clone + core::fmt::Debug + Serialize + DeserializeOwned,
{
    /// A block was asked for.
    pub const FETCHED: &'static str = "block-tree/fetched";
    /// A peer's committed blocks are asked for from below.
    pub const CAUGHT_UP: &'static str = "block-tree/caught-up";

    /// Returns the newest committed block.
    pub fn root(&self) -> BlockId {
        self.root.id
    }

    /// Returns the finality in which the committed block is final by certificates.
    pub fn finality(&self) -> Finality {
        Finality::both(self.root.id, FinalityKind::Certificate)
    }

    /// Returns the root or an executed block above it.
    pub fn get(&self, id: BlockId) -> Option<&Proposal<T>> {
        self.branches.get(&id).map(Arc::as_ref)
    }

    /// Returns a block and its ancestors down to the root, newest first; nothing for a block that is not executed.
    pub fn branch(&self, tip: BlockId) -> impl Iterator<Item = &Proposal<T>> {
        self.get(tip).into_iter().flat_map(|tip| self.branches.branch(tip))
    }

    /// Returns the executed children of a block, in ascending order of hash.
    pub fn children(&self, parent: BlockId) -> impl Iterator<Item = &Proposal<T>> {
        self.at_height(parent.height.next()).filter(move |child| child.parent == parent)
    }

    /// Handles an event that is of blocks: blocks of messages and answers, built and judged ones, its timers, and the start, at which the
    /// blocks that were kept before a crash are executed again. Ignores others. An own block that was built is sealed, and sent once
    /// `state`, the protocol's, is durable.
    ///
    /// Returns the block that the protocol has to judge, and to admit if it is valid ([`BlockTree::admit`]). What holds in every protocol was
    /// checked.
    ///
    /// # Errors
    /// [`Rejection`]: the block is known, below the root, breaks a rule of every protocol, or was judged invalid.
    pub fn handle<S: Serialize>(
        &mut self,
        event: &Event,
        state: &S,
        effects: &mut Vec<Effect>,
    ) -> Result<Option<Proposal<T>>, Rejection> {
        match event {
            Event::Start => self.restore(effects),
            Event::Message { from, message: ConsensusMessage::Block(block) } => {
                self.ask_for_ancestor_of(block, *from, effects);
                return self.read(Some(*from), block.clone(), effects).map(Some);
            }
            Event::BlockSynced { from, block } => return self.read(Some(*from), block.clone(), effects).map(Some),
            Event::BlockBuilt { block, .. } => {
                let sealed = self.publish(block, state, effects)?;
                return self.read(None, sealed, effects).map(Some);
            }
            Event::BlockJudged { block, verdict } => self.judged(*block, verdict.clone(), effects)?,
            Event::Timer(timer) if *timer == self.timers.build => effects.extend(self.next.take().map(Effect::Build)),
            Event::Timer(timer) if *timer == self.timers.fetch => self.fetch_again(effects),
            _ => {}
        }
        Ok(None)
    }

    /// Admits the blocks that were kept before a crash: they were valid then.
    fn restore(&mut self, effects: &mut Vec<Effect>) {
        for block in core::mem::take(&mut self.restored) {
            let restored = self.read(None, block, effects).and_then(|restored| self.admit(restored, effects));
            effects.extend(restored.err().map(Effect::Reject));
        }
    }

    /// Asks the sender of an announced block for what is missing below it, if it waits already: whoever sent it first may have lied, or the answer
    /// was lost. Answers ask for nothing more: where messages are duplicated, requests and answers would multiply with each block.
    fn ask_for_ancestor_of(&mut self, announced: &Arc<Block>, from: ReplicaId, effects: &mut Vec<Effect>) {
        if self.intake.orphans.contains(&BlockId::of(announced)) {
            self.ask(self.intake.missing_ancestor(announced), Some(from), effects);
        }
    }

    /// Reads a block without keeping it, and checks what holds in every protocol. `from` is the sender, `None` for an own or restored block.
    fn read(
        &mut self,
        from: Option<ReplicaId>,
        block: Arc<Block>,
        effects: &mut Vec<Effect>,
    ) -> Result<Proposal<T>, Rejection> {
        let id = BlockId::of(&block);
        if self.branches.get(&id).is_some() {
            effects.extend(self.intake.continue_catch_up(id.height, 0));
        }
        if self.is_here(id) {
            return Err(Rejection::Unexpected { what: "block" });
        }
        if id.height <= self.root.id.height {
            return Err(Rejection::TooOld { block: id, oldest: self.root.id.height.next() });
        }
        block.check_body().map_err(|source| Rejection::Body { block: id, source })?;
        let author = self.participant.author(&block)?;
        let (commits, beneficiary) = (block.commits_to_payload(), block.header().beneficiary);
        let proposal = Proposal::read(from, block, author)?;
        if !commits {
            return Err(proposal.rejected("its extraData is not the keccak-256 of its payload"));
        }
        if !self.participant.validators().contains(&author) || beneficiary != author {
            return Err(proposal.rejected(format!("{author} is no validator, or not its beneficiary")));
        }
        Ok(proposal)
    }

    /// Takes a block whose payload the protocol finds valid: it is executed once its parent is.
    ///
    /// # Errors
    /// [`Rejection`]: the block is not later than its parent, or there is no room for it; nothing has changed then.
    pub fn admit(&mut self, proposal: Proposal<T>, effects: &mut Vec<Effect>) -> Result<(), Rejection> {
        let Proposal { id, parent, author, from, .. } = proposal;
        let Some(block) = proposal.block.clone().filter(|_| !self.is_here(id)) else {
            return Err(Rejection::Unexpected { what: "block" });
        };
        let is_fetched = self.fetched.contains(&id);
        if !is_fetched {
            self.check_siblings(&proposal)?;
        }
        let Some(known) = self.get(parent) else {
            if parent.height <= self.root.id.height {
                return Err(proposal.rejected("it does not descend from the committed block"));
            }
            match self.intake.park(Orphan { from, author, block }, self.root.id.height)? {
                Parked::Waiting { missing } => self.ask(missing, from, effects),
                Parked::TooFar => self.catch_up(from, id.height, effects),
            }
            return Ok(());
        };
        if proposal.timestamp <= known.timestamp {
            return Err(proposal.rejected(format!("its time is not later than its parent's, {}", known.timestamp)));
        }
        self.intake.check_ahead(id, self.root.id.height)?;
        if !is_fetched {
            self.intake.check_pending_of(author)?;
        }
        self.fetched.remove(&id);
        let pending = PendingBlock { block: block.clone(), author, own: None, verified: proposal };
        self.intake.pending.insert(id, pending);
        effects.push(Effect::Validate { block });
        Ok(())
    }

    /// Takes the verdict on an admitted block. A valid one joins the tree, and the blocks that waited for it are executed.
    fn judged(&mut self, id: BlockId, verdict: Verdict, effects: &mut Vec<Effect>) -> Result<(), Rejection> {
        let (PendingBlock { verified, .. }, _) = self.intake.resolve(id, verdict)?;
        if self.get(verified.parent).is_none() {
            // Another branch was committed meanwhile.
            return Ok(());
        }
        self.branches.insert(Arc::new(verified));
        effects.push(Effect::Chain(ChainEvent::Inserted(id)));
        effects.extend(self.intake.continue_catch_up(id.height, 0));
        for Orphan { from, author, block } in self.intake.orphans.take_children(id) {
            let admitted = Proposal::read(from, block, author).and_then(|child| self.admit(child, effects));
            effects.extend(admitted.err().map(Effect::Reject));
        }
        Ok(())
    }

    /// Commits an executed block and its ancestors: it becomes the root, the head and final, and branches that do not descend from it are
    /// forgotten. Writes the protocol's state with it. Returns `false`, and does nothing, for a block that is not above the root.
    pub fn commit<S: Serialize>(&mut self, block: BlockId, state: &S, effects: &mut Vec<Effect>) -> bool {
        let old = self.root.id;
        let is_above = self.branch(block).skip(1).any(|ancestor| ancestor.id == old);
        let Some(root) = self.branches.get(&block).filter(|_| is_above).cloned() else { return false };
        let above = self.branches.nodes.values().filter(|node| node.id.height > block.height);
        let mut branches = BranchTree::new(root.clone());
        for node in above {
            if branches.get(&node.parent).is_some() {
                branches.insert(node.clone());
            }
        }
        (self.root, self.branches) = (root, branches);
        self.intake.orphans.keep_above(block.height);
        self.fetched.retain(|id| id.height > block.height);
        self.persist(state, effects);
        effects.push(Effect::Chain(ChainEvent::HeadMoved { old, new: block, reorg_depth: 0 }));
        effects.push(Effect::Chain(ChainEvent::Final { finality: self.finality(), proof: None }));
        true
    }

    /// Writes the state, without what block hashes fix.
    pub fn encode(&self, out: &mut Encoder) {
        let Self {
            participant: _,
            timers: _,
            root,
            branches,
            intake,
            fetched,
            attempts,
            is_waiting,
            kept,
            restored,
            next,
            next_ticket,
        } = self;
        let (pending, orphans, catch_up) = intake.encoded_parts();
        root.id.encode(out);
        out.list(branches.nodes.keys(), |out, id| id.encode(out));
        out.list(pending.keys(), |out, id| id.encode(out));
        orphans.encode(out);
        out.option(catch_up, |out, catch_up| catch_up.encode(out));
        out.list(fetched.iter(), |out, id| id.encode(out));
        out.u64(*attempts);
        out.bool(*is_waiting);
        out.list(kept.iter(), |out, id| id.encode(out));
        out.list(restored.iter(), |out, block| BlockId::of(block).encode(out));
        out.option(next.as_ref(), |out, next| {
            out.u64(next.ticket.get());
            next.parent.encode(out);
            out.bytes(&next.payload);
        });
        out.u64(next_ticket.get());
    }

    fn at_height(&self, height: Height) -> impl Iterator<Item = &Proposal<T>> {
        self.branches.nodes.range(BlockId::range_at(height)).map(|(_, node)| node.as_ref())
    }

    /// Returns whether a block is executed, being executed, or waits for its parent.
    fn is_here(&self, id: BlockId) -> bool {
        self.branches.get(&id).is_some() || self.intake.contains(&id)
    }

    fn check_siblings(&self, proposal: &Proposal<T>) -> Result<(), Rejection> {
        let Proposal { id, author, .. } = *proposal;
        let executed = self.at_height(id.height).map(|other| other.author);
        let pending = self.intake.pending.range(BlockId::range_at(id.height)).map(|(_, pending)| pending.author);
        let orphans = self.intake.orphans.at_height(id.height).map(|orphan| orphan.author);
        if executed.chain(pending).chain(orphans).filter(|other| *other == author).count() < SIBLINGS_MAX {
            return Ok(());
        }
        Err(Rejection::TooManySiblings { block: id, author, limit: SIBLINGS_MAX })
    }
}
