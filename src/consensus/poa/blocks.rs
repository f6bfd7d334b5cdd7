//! Blocks: judging headers, waiting for parents, adopting what was executed.

use std::sync::Arc;

use super::{
    Poa, check_header,
    fork_choice::Standing,
    record,
    tree::{Moved, Node},
};
use crate::{
    chain::Block,
    consensus::{
        BlockId, ChainEvent, Effect, Evidence, Message, Protocol, Recipients, Rejection, ReplicaId, Ticket,
        UnverifiedHeader, Verdict,
        orphans::{ORPHANS_MAX, Orphan},
    },
    primitives::Address,
};

/// Blocks being executed at once.
const PENDING_MAX: usize = 1_024;
/// How far above the head a block may be to be kept waiting.
const AHEAD_MAX: u64 = 8_192;

/// A block between header rules and verdict.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) block: Arc<Block>,
    pub(super) node: Node,
    /// Of the record that has to be durable before the block is announced; `None` for blocks of others.
    pub(super) own: Option<Ticket>,
}

impl Poa {
    pub(super) fn on_block(&mut self, from: Option<ReplicaId>, block: Arc<Block>, effects: &mut Vec<Effect>) {
        if let Err(rejection) = self.consider(from, block, None, effects) {
            effects.push(Effect::Reject(rejection));
        }
    }

    /// Judges a block's header and asks for its execution; without its parent it waits.
    pub(super) fn consider(
        &mut self,
        from: Option<ReplicaId>,
        block: Arc<Block>,
        own: Option<Ticket>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Rejection> {
        let id = BlockId::of(&block);
        if self.tree.get(&id).is_some() || self.pending.contains_key(&id) {
            return Err(Rejection::Unexpected { what: "block" });
        }
        if self.orphans.contains(&id) {
            // Whoever says it again may have what the first one did not send.
            from.into_iter().for_each(|from| self.fetch_ancestor(&block, from, effects));
            return Ok(());
        }
        let oldest = self.tree.oldest();
        if id.height <= oldest {
            return Err(Rejection::TooOld { block: id, oldest });
        }
        if self.pending.len() >= PENDING_MAX && own.is_none() {
            return Err(Rejection::Overloaded { limit: PENDING_MAX });
        }
        let author = self.authenticator.author(id.hash, block.seal())?;
        let parent = BlockId::parent_of(&block);
        let Some(parent_node) = self.tree.get(&parent).cloned() else {
            return self.keep_waiting(from, block, author, effects);
        };
        let link = check_header(&self.config, &parent_node.link, &UnverifiedHeader::from(block.as_ref()), author)
            .map_err(|error| Rejection::Header { block: id, reason: error.to_string() })?;
        let before = &parent_node.link.snapshot;
        let standing = Standing {
            total_difficulty: parent_node.standing.total_difficulty + u128::from(before.difficulty(id.height, &author)),
            block: id,
            blocks_since_turn: before.blocks_since_turn(id.height, &author).unwrap_or_default(),
        };
        let node = Node { link, parent, author, standing };
        self.pending.insert(id, Pending { block: block.clone(), node, own });
        effects.push(Effect::Validate { block });
        Ok(())
    }

    fn keep_waiting(
        &mut self,
        from: Option<ReplicaId>,
        block: Arc<Block>,
        author: Address,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Rejection> {
        let id = BlockId::of(&block);
        let head = self.tree.head().link.block;
        if id.height.get() > head.height.get().saturating_add(AHEAD_MAX) {
            return Err(Rejection::TooFarAhead { block: id, limit: AHEAD_MAX });
        }
        if self.orphans.len() >= ORPHANS_MAX {
            // The way down to the chain comes first: what is above is fetched again when its turn comes.
            let Some(highest) = self.orphans.highest().filter(|highest| highest.height > id.height) else {
                return Err(Rejection::Overloaded { limit: ORPHANS_MAX });
            };
            self.orphans.remove(&highest);
        }
        from.into_iter().for_each(|from| self.fetch_ancestor(&block, from, effects));
        self.orphans.insert(Orphan { from, author, block });
        Ok(())
    }

    /// Asks for the lowest ancestor that is not here: everything above it waits already.
    fn fetch_ancestor(&self, block: &Block, from: ReplicaId, effects: &mut Vec<Effect>) {
        let missing = self.orphans.missing_below(BlockId::parent_of(block));
        if !self.pending.contains_key(&missing) {
            effects.push(Effect::Fetch { block: missing, from });
            effects.push(Effect::Mark("poa/fetch-parent"));
        }
    }

    pub(super) fn on_judged(&mut self, id: BlockId, verdict: Verdict, effects: &mut Vec<Effect>) {
        let Some(pending) = self.pending.get(&id).cloned() else {
            return effects.push(Effect::Reject(Rejection::Unexpected { what: "verdict" }));
        };
        self.pending.remove(&id);
        match verdict {
            Verdict::Valid { .. } => self.adopt(pending, effects),
            Verdict::Invalid { reason } => {
                effects.push(Effect::Reject(Rejection::Header { block: id, reason }));
                self.orphans.drop_descendants(id);
            }
        }
    }

    fn adopt(&mut self, Pending { block, node, own }: Pending, effects: &mut Vec<Effect>) {
        let (id, author, old) = (node.link.block, node.author, self.tree.head().link.block);
        if let Some(first) = self.tree.sibling_by(&id, &author) {
            let (first, second) = (first.hash, id.hash);
            effects.push(Effect::Evidence(Evidence::DoubleSign { offender: author, height: id.height, first, second }));
        }
        let settled_before = self.tree.settled();
        let moved = self.tree.insert(node);
        effects.push(Effect::Chain(ChainEvent::Inserted(id)));
        if let Some(Moved { reorg_depth, left_settled, forgotten }) = &moved {
            let ticket = self.next_ticket.take_next();
            let new = id.height.get() + reorg_depth - old.height.get();
            let mut records = vec![record::head(&self.tree)];
            records.extend(self.tree.newest(new as usize).map(record::block));
            records.extend(forgotten.iter().copied().map(record::no_block));
            effects.push(Effect::Persist { ticket, records });
            effects.push(Effect::Chain(ChainEvent::HeadMoved { old, new: id, reorg_depth: *reorg_depth }));
            if *reorg_depth > 0 {
                effects.push(Effect::Mark("poa/reorg"));
            }
            if *left_settled {
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
            let message = Message::Block(block);
            effects.push(Effect::Send { to: Recipients::Others, message, after: Some(ticket) });
        }
        if moved.is_some() {
            self.plan(effects);
        }
        self.release_children(id, effects);
    }

    /// Looks again at the blocks that waited for `parent`.
    fn release_children(&mut self, parent: BlockId, effects: &mut Vec<Effect>) {
        for child in self.orphans.children(parent) {
            if let Some(orphan) = self.orphans.remove(&child) {
                self.on_block(orphan.from, orphan.block, effects);
            }
        }
    }
}
