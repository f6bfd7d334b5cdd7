//! Blocks: header verification, orphans, adoption after execution.

use std::sync::Arc;

use super::{Poa, check_header, fork_choice::ForkChoiceKey, record, tree::Node};
use crate::{
    chain::Block,
    consensus::{
        BlockId, ChainEvent, ConsensusMessage, Effect, Evidence, Protocol, Purpose, Recipients, Rejection, ReplicaId,
        Ticket, Verdict,
        intake::{BlockIntake, Intake, IntakePolicy, Overflow, Parked, PendingBlock},
        mutation::{self, Mutation},
        orphans::Orphan,
    },
    primitives::Address,
};

/// Bounds of the block intake.
pub(super) const INTAKE: IntakePolicy = IntakePolicy {
    pending_max: 1_024,
    pending_per_author_max: Some(16),
    ahead_max: Some(8_192),
    orphans_max: 256,
    // Depends on the number of signers: see `make_room`.
    orphans_per_author_max: None,
    overflow: Overflow::EvictHighest,
    gap_max: None,
};

/// Blocks of one author on one parent: a second one is evidence, more add nothing to it.
pub(super) const TWINS_MAX: usize = 2;
/// Blocks of one author at one height. An honest signer makes one a branch that it moves to.
pub(super) const SIBLINGS_MAX: usize = 8;
/// Smallest number of waiting blocks that an author has room for.
const ORPHANS_SHARE_MIN: usize = 4;

impl BlockIntake for Poa {
    type Verified = Node;

    fn intake(&mut self) -> &mut Intake<Node> {
        &mut self.intake
    }

    fn admit(
        &mut self,
        from: Option<ReplicaId>,
        block: Arc<Block>,
        own: Option<Ticket>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Rejection> {
        let id = BlockId::of(&block);
        if self.tree.get(&id).is_some() || self.intake.pending.contains_key(&id) {
            return Err(Rejection::Unexpected { what: "block" });
        }
        if self.intake.orphans.contains(&id) {
            if mutation::active(Mutation::PoaAnswersAskAgain) {
                fetch_ancestor(self.intake.missing_ancestor(&block), from, effects);
            }
            return Ok(());
        }
        let oldest = self.tree.oldest();
        if id.height <= oldest {
            return Err(Rejection::TooOld { block: id, oldest });
        }
        if own.is_none() {
            self.intake.check_pending()?;
        }
        let author = self.authenticator.author(Purpose::Block, id.hash, block.seal())?;
        let parent = BlockId::parent_of(&block);
        if own.is_none() {
            self.check_siblings(id, parent, author)?;
        }
        let Some(parent_node) = self.tree.get(&parent).cloned() else {
            return self.wait_for_parent(Orphan { from, author, block }, effects);
        };
        let context = check_header(&self.config, &parent_node.context, &block.as_ref().into(), author)
            .map_err(|error| Rejection::Header { block: id, reason: error.to_string() })?;
        if own.is_none() {
            self.intake.check_pending_of(author)?;
        }
        let before = &parent_node.context.snapshot;
        let fork_choice_key = ForkChoiceKey {
            total_difficulty: parent_node.fork_choice_key.total_difficulty
                + u128::from(before.difficulty(id.height, &author)),
            block: id,
            blocks_since_turn: before.blocks_since_turn(id.height, &author).unwrap_or_default(),
        };
        let verified = Node { context, parent, author, fork_choice_key };
        self.intake.pending.insert(id, PendingBlock { block: block.clone(), author, own, verified });
        effects.push(Effect::Validate { block });
        Ok(())
    }
}

/// Requests the lowest missing ancestor of an orphan; all blocks above it are orphans already.
fn fetch_ancestor(missing: Option<BlockId>, from: Option<ReplicaId>, effects: &mut Vec<Effect>) {
    if let (Some(block), Some(from)) = (missing, from) {
        effects.push(Effect::Fetch { block, from });
        effects.push(Effect::Mark("poa/fetch-parent"));
    }
}

impl Poa {
    /// Admits an announced block. For one that waits already, or has no room to wait, what is missing is requested once more: the sender
    /// may have what another one did not send. A repeated *answer* requests nothing: where messages are duplicated, requests and answers
    /// would multiply without end.
    pub(super) fn on_announced(&mut self, from: ReplicaId, block: Arc<Block>, effects: &mut Vec<Effect>) {
        if self.intake.orphans.contains(&BlockId::of(&block)) {
            return fetch_ancestor(self.intake.missing_ancestor(&block), Some(from), effects);
        }
        self.on_block(Some(from), block.clone(), effects);
        if matches!(effects.last(), Some(Effect::Reject(Rejection::Overloaded { .. })))
            && !mutation::active(Mutation::PoaFullOrphansAskNobody)
            && let Ok(author) = self.authenticator.author(Purpose::Block, block.hash(), block.seal())
            && let Some(lowest) = self.intake.orphans.lowest(|other| self.shares_room(author, other))
        {
            fetch_ancestor(self.intake.missing_ancestor(&lowest.block), Some(from), effects);
        }
    }

    fn wait_for_parent(&mut self, orphan: Orphan, effects: &mut Vec<Effect>) -> Result<(), Rejection> {
        let (from, head) = (orphan.from, self.tree.head().context.block.height);
        self.intake.check_ahead(BlockId::of(&orphan.block), head)?;
        self.make_room(&orphan)?;
        if let Parked::Waiting { missing } = self.intake.park(orphan, head)? {
            fetch_ancestor(missing, from, effects);
        }
        Ok(())
    }

    /// Checks that an author has not too many blocks beside this one: a signer could make any number. One that a block of
    /// another author waits for is needed all the same, as that may be the chain.
    fn check_siblings(&self, id: BlockId, parent: BlockId, author: Address) -> Result<(), Rejection> {
        let adopted = self.tree.at_height(id.height).map(|node| (node.author, node.parent));
        let pending = self
            .intake
            .pending
            .range(BlockId::range_at(id.height))
            .map(|(_, pending)| (pending.author, pending.verified.parent));
        let orphans = self.intake.orphans.at_height(id.height);
        let orphans = orphans.map(|orphan| (orphan.author, BlockId::parent_of(&orphan.block)));
        let (mut siblings, mut twins) = (0, 0);
        for (_, other) in adopted.chain(pending).chain(orphans).filter(|(other, _)| *other == author) {
            siblings += 1;
            twins += usize::from(other == parent);
        }
        let limit = if twins >= TWINS_MAX { TWINS_MAX } else { SIBLINGS_MAX };
        let is_unbounded = mutation::active(Mutation::PoaKeepsEverySibling);
        if is_unbounded
            || (twins < TWINS_MAX && siblings < SIBLINGS_MAX)
            || self.intake.orphans.is_awaited_by_another(id, author)
        {
            return Ok(());
        }
        Err(Rejection::TooManySiblings { block: id, author, limit })
    }

    /// Makes room for one more waiting block of an author, within its share: each signer has the same, and all others, who may
    /// be signers by votes that this replica has not seen, have one together. A lower block replaces the highest of its share.
    fn make_room(&mut self, orphan: &Orphan) -> Result<(), Rejection> {
        let (author, height) = (orphan.author, orphan.block.height());
        let signers = self.snapshot().signers();
        let share = (INTAKE.orphans_max / (signers.len() + 1)).max(ORPHANS_SHARE_MIN);
        let (count, highest) = self.intake.orphans.count_and_highest(|other| self.shares_room(author, other));
        if count < share || mutation::active(Mutation::PoaSharesOrphans) {
            return Ok(());
        }
        let highest =
            highest.filter(|highest| highest.height > height).ok_or(Rejection::Overloaded { limit: share })?;
        self.intake.orphans.remove(&highest);
        Ok(())
    }

    /// Whether waiting blocks of these authors share their room.
    fn shares_room(&self, author: Address, other: &Address) -> bool {
        let signers = self.snapshot().signers();
        if signers.contains(&author) { *other == author } else { !signers.contains(other) }
    }

    pub(super) fn on_judged(&mut self, id: BlockId, verdict: Verdict, effects: &mut Vec<Effect>) {
        match self.intake.resolve(id, verdict) {
            Ok((mut pending, updates)) => {
                pending.verified.context = pending.verified.context.executed(&updates);
                self.adopt(pending, effects);
            }
            Err(rejection) => effects.push(Effect::Reject(rejection)),
        }
    }

    fn adopt(&mut self, pending: PendingBlock<Node>, effects: &mut Vec<Effect>) {
        let PendingBlock { block, author, own, verified: node } = pending;
        let id = node.context.block;
        if let Some(first) = self.tree.twin_of(&node) {
            let (first, second) = (first.hash, id.hash);
            effects.push(Effect::Evidence(Evidence::DoubleSign { offender: author, height: id.height, first, second }));
        }
        let settled_before = self.tree.settled();
        let moved = self.tree.insert(node);
        effects.push(Effect::Chain(ChainEvent::Inserted(id)));
        if let Some(head_move) = &moved {
            let ticket = self.next_ticket.take_next();
            let new = id.height.get() - head_move.fork_height().get();
            let mut records = vec![record::head(&self.tree)];
            records.extend(self.tree.newest(new as usize).map(record::block));
            records.extend(head_move.forgotten.iter().copied().map(record::no_block));
            effects.push(Effect::Persist { ticket, records });
            head_move.report("poa/reorg", effects);
            if head_move.fork_height() < settled_before.height {
                effects.push(Effect::Mark("poa/left-settled"));
            }
            if self.tree.settled() != settled_before {
                effects.push(Effect::Chain(ChainEvent::Final { finality: self.finality(), proof: None }));
            }
        }
        if moved.is_some() {
            self.newest = Some(block.clone());
        }
        if let Some(ticket) = own {
            let message = ConsensusMessage::Block(block);
            effects.push(Effect::Send { to: Recipients::Others, message, after: Some(ticket) });
        }
        if moved.is_some() {
            self.plan(effects);
        }
        self.release_children(id, effects);
    }
}
