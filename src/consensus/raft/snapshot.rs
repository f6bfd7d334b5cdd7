//! Catching up with a compacted log: the leader names a committed block, and the follower fetches it and its ancestors,
//! down to its own head. Every block's payload has its term, log index and membership change, so that no other state
//! has to be sent. A follower that is far behind does so in parts, from below.

use std::sync::Arc;

use imbl::OrdMap;

use super::{Body, Output, Raft, ServerState};
use crate::{
    chain::Block,
    consensus::{
        BlockId, Effect, Encoder, Rejection, ReplicaId,
        mutation::{self, Mutation},
    },
    primitives::{B256, Height},
};

/// Largest number of blocks held in one sync. A replica further behind asks for the block so many above its head first,
/// and again when it has reached that one.
const SYNC_BLOCKS_MAX: u64 = 512;

/// A block sync in progress, from the newest block down.
#[derive(Clone, Debug)]
pub(super) struct BlockSync {
    from: ReplicaId,
    /// Without a hash: the sender's block of that height, which is committed, as all of its chain.
    target: BlockId,
    blocks: OrdMap<Height, Arc<Block>>,
    /// The next block to fetch; `None` when all have arrived.
    missing: Option<BlockId>,
}

impl Raft {
    /// Sends the head's id to a follower that lacks compacted entries.
    pub(super) fn send_snapshot(&self, to: ReplicaId, output: &mut Output<'_>) {
        let (index, entry_term, block) = (self.head.index, self.head.term, self.head.block);
        output.send(to, self.term, Body::Snapshot { index, entry_term, block });
    }

    pub(super) fn check_snapshot(&self, index: u64, block: BlockId) -> Result<(), String> {
        let head = self.head.block.height.get();
        if index <= self.log.committed() {
            return Ok(());
        }
        if mutation::active(Mutation::RaftSyncsAtOnce) && block.height.get() > head + SYNC_BLOCKS_MAX {
            return Err(format!("{block} is more than {SYNC_BLOCKS_MAX} above the head"));
        }
        if block.height.get() <= head {
            return Err(format!("{block} is not above the head at height {head}"));
        }
        Ok(())
    }

    pub(super) fn on_snapshot(
        &mut self,
        from: ReplicaId,
        index: u64,
        entry_term: u64,
        block: BlockId,
        output: &mut Output<'_>,
    ) {
        if index <= self.log.committed() {
            return output.send_after_write(from, self.term, Body::Appended { index: self.log.committed() });
        }
        if self.log.term(index) == Some(entry_term) {
            self.log.commit(index);
            output.send_after_write(from, self.term, Body::Appended { index });
            return self.apply(output);
        }
        let head = self.head.block.height;
        let sync = self.sync.get_or_insert_with(|| {
            output.effects.push(Effect::Mark("raft/block-sync"));
            let highest = Height::new(head.get() + SYNC_BLOCKS_MAX);
            let is_far = block.height > highest;
            let target = if is_far { BlockId { height: highest, hash: B256::ZERO } } else { block };
            BlockSync { from, target, blocks: OrdMap::new(), missing: Some(target) }
        });
        // Requested again with every snapshot message: an earlier request may be lost.
        sync.from = from;
        if let Some(missing) = sync.missing {
            output.effects.push(Effect::Fetch { block: missing, from });
        }
    }

    pub(super) fn on_block_synced(&mut self, from: ReplicaId, block: Arc<Block>, output: &mut Output<'_>) {
        let head = self.head.block;
        let Some(sync) = &mut self.sync else { return output.reject(Rejection::Unexpected { what: "block" }) };
        if sync.missing.is_none_or(|missing| !is_wanted(missing, BlockId::of(&block))) {
            return output.reject(Rejection::Unexpected { what: "block" });
        }
        let parent = BlockId::parent_of(&block);
        if parent.height < head.height || (parent.height == head.height && parent != head) {
            let reason = format!("it does not descend from the committed head {head}");
            return output.reject(Rejection::Header { block: BlockId::of(&block), reason });
        }
        sync.blocks.insert(block.height(), block);
        sync.missing = (parent != head).then_some(parent);
        match sync.missing {
            Some(block) => output.effects.push(Effect::Fetch { block, from }),
            None => self.continue_sync(output),
        }
    }

    /// Executes the next fetched block; after the last one, acknowledges to the leader.
    pub(super) fn continue_sync(&mut self, output: &mut Output<'_>) {
        let (head, leader) = (self.head.block, self.leader);
        let Some(sync) = &mut self.sync else { return };
        // Some of the blocks may have arrived in entries meanwhile.
        sync.blocks.remove(&head.height);
        if head.height >= sync.target.height {
            self.sync = None;
            if let Some(leader) = leader.filter(|_| matches!(self.state, ServerState::Follower)) {
                output.send_after_write(leader, self.term, Body::Appended { index: self.log.committed() });
            }
            return;
        }
        if sync.missing.is_some_and(|missing| missing.height <= head.height) {
            sync.missing = None;
        }
        if sync.missing.is_none()
            && self.applying.is_none()
            && let Some(block) = sync.blocks.get(&head.height.next()).cloned()
        {
            let checked = self.check_block(&block);
            self.execute(block, checked, output);
        }
    }
}

/// Returns whether a block is the one that was asked for; without a hash, any of that height is.
fn is_wanted(wanted: BlockId, block: BlockId) -> bool {
    wanted.height == block.height && (wanted.hash.is_zero() || wanted.hash == block.hash)
}

impl BlockSync {
    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { from, target, blocks, missing } = self;
        out.u32(from.get());
        target.encode(out);
        out.list(blocks.iter(), |out, (_, block)| {
            BlockId::of(block).encode(out);
            out.bytes(block.seal());
        });
        out.option(missing.as_ref(), |out, block| block.encode(out));
    }
}
