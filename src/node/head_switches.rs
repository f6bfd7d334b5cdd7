//! The head's moves to blocks that do not descend from it: reverts, resets, loaded dumps and reorgs.
//!
//! Whoever remembers a place in the canonical chain finds its way to the present one by them, although the chain itself has
//! forgotten what was reverted.

use imbl::Vector;

use crate::{
    chain::{Chain, ExecutedBlock},
    primitives::{B256, Height},
};

/// Most head switches remembered; a cursor that has missed more is told of a gap.
pub const HEAD_SWITCHES_MAX: usize = 4_096;
/// Most bytes of removed blocks (by [`Block::size`](crate::chain::Block::size)) kept for those who follow logs.
pub const REMOVED_BYTES_MAX: usize = 16 << 20;
/// Bytes for which a removed block counts beside its size: header, receipts and bookkeeping in memory.
const BLOCK_OVERHEAD_BYTES: usize = 1_024;
/// Bytes for which a log counts beside its data: address, topics and bookkeeping in memory.
const LOG_OVERHEAD_BYTES: usize = 256;

/// The last head switches of a node. Cloning is O(1).
#[derive(Clone, Debug, Default)]
pub(super) struct HeadSwitches {
    /// Number of switches so far, those forgotten included.
    count: u64,
    /// The last switches, oldest first.
    kept: Vector<HeadSwitch>,
    /// Number of the oldest switch whose removed blocks may be kept; older ones have none.
    bodies_from: u64,
    /// Bytes of removed blocks kept.
    bytes: usize,
}

/// One move of the head to a block that does not descend from it.
#[derive(Clone, Debug)]
pub(super) struct HeadSwitch {
    /// Height of the newest block that both branches share.
    pub(super) ancestor: Height,
    /// Hash of that block.
    pub(super) ancestor_hash: B256,
    /// Blocks that left the canonical chain, newest first; `None` once they take too much memory.
    pub(super) removed: Option<Vector<ExecutedBlock>>,
    bytes: usize,
}

impl HeadSwitches {
    /// Number of switches so far.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// The switches after the first `seen` ones, oldest first; `None` when some of them are forgotten.
    pub(super) fn since(&self, seen: u64) -> Option<impl Iterator<Item = &HeadSwitch>> {
        let missed = usize::try_from(self.count.saturating_sub(seen)).ok()?;
        let first = self.kept.len().checked_sub(missed)?;
        Some(self.kept.iter().skip(first))
    }

    /// Records a switch to the chain `now` that removed these blocks, newest first. Where older removed blocks are pruned, so that
    /// their number is unknown, every cursor is told of a gap.
    pub(super) fn record_to(&mut self, now: &Chain, removed: &[ExecutedBlock]) {
        match removed.last() {
            Some(oldest) if !now.is_canonical(oldest.block().parent_hash()) => self.record_gap(),
            _ => self.record(removed),
        }
    }

    /// Records a switch that removed these blocks, newest first; nothing without them. The common ancestor is the parent of the
    /// last one.
    pub(super) fn record(&mut self, removed: &[ExecutedBlock]) {
        let Some(oldest) = removed.last() else { return };
        let ancestor = oldest.height().parent().unwrap_or_default();
        let bytes = removed.iter().map(bytes_of).sum();
        let stateless = removed.iter().map(|block| {
            let mut block = block.clone();
            block.drop_state();
            block
        });
        let removed = (bytes <= REMOVED_BYTES_MAX).then(|| stateless.collect());
        let bytes = if removed.is_some() { bytes } else { 0 };
        self.count = self.count.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
        let ancestor_hash = oldest.block().parent_hash();
        self.kept.push_back(HeadSwitch { ancestor, ancestor_hash, removed, bytes });
        if self.kept.len() > HEAD_SWITCHES_MAX
            && let Some(forgotten) = self.kept.pop_front()
        {
            self.bytes = self.bytes.saturating_sub(forgotten.bytes);
        }
        self.bound_bytes();
    }

    /// Records a switch of unknown extent: every cursor is told of a gap.
    pub(super) fn record_gap(&mut self) {
        let count = self.count.saturating_add(1);
        *self = Self { count, bodies_from: count, ..Self::default() };
    }

    /// Forgets the removed blocks of the oldest switches, down to [`REMOVED_BYTES_MAX`].
    fn bound_bytes(&mut self) {
        let first = self.count.saturating_sub(self.kept.len() as u64);
        self.bodies_from = self.bodies_from.max(first);
        while self.bytes > REMOVED_BYTES_MAX && self.bodies_from < self.count {
            let index = self.bodies_from.saturating_sub(first) as usize;
            if let Some(switch) = self.kept.get_mut(index)
                && switch.removed.take().is_some()
            {
                self.bytes = self.bytes.saturating_sub(core::mem::take(&mut switch.bytes));
            }
            self.bodies_from = self.bodies_from.saturating_add(1);
        }
    }
}

/// Bytes for which a block without its state counts.
fn bytes_of(block: &ExecutedBlock) -> usize {
    let logs = block.receipts().iter().flat_map(|receipt| receipt.logs());
    let of_logs = logs.map(|log| log.data.data.len().saturating_add(LOG_OVERHEAD_BYTES)).sum();
    block.block().size().saturating_add(BLOCK_OVERHEAD_BYTES).saturating_add(of_logs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Node;

    fn mined(count: u64) -> (Vec<ExecutedBlock>, ExecutedBlock) {
        let node = Node::new();
        let mut blocks = node.mine_all(count);
        blocks.reverse();
        let genesis = node.view().chain().genesis().clone();
        (blocks, genesis)
    }

    #[test]
    fn switches_up_to_the_bound_are_found_and_older_ones_are_a_gap() {
        let (removed, genesis) = mined(1);
        let mut switches = HeadSwitches::default();
        switches.record(&[]);
        assert_eq!(switches.count(), 0, "a chain that only grew has not switched");
        for _ in 0..HEAD_SWITCHES_MAX {
            switches.record(&removed);
        }
        assert_eq!(switches.since(0).unwrap().count(), HEAD_SWITCHES_MAX);
        switches.record(&removed);
        assert!(switches.since(0).is_none());
        let last = switches.since(HEAD_SWITCHES_MAX as u64).unwrap().collect::<Vec<_>>();
        assert_eq!((last.len(), last[0].ancestor, last[0].ancestor_hash), (1, Height::new(0), genesis.hash()));
        assert!(!last[0].removed.as_ref().unwrap()[0].has_state(), "removed blocks keep no state alive");
        let seen = switches.count();
        switches.record_gap();
        assert!(switches.since(seen).is_none());
        assert_eq!(switches.since(seen + 1).unwrap().count(), 0);
        switches.record(&removed);
        assert_eq!(switches.since(seen + 1).unwrap().count(), 1);
    }

    #[test]
    fn removed_blocks_are_kept_up_to_the_bound_in_bytes() {
        let (removed, _) = mined(1_000);
        let each: usize = removed.iter().map(bytes_of).sum();
        let fits = REMOVED_BYTES_MAX / each;
        let mut switches = HeadSwitches::default();
        let with_bodies =
            |switches: &HeadSwitches| switches.since(0).unwrap().filter(|switch| switch.removed.is_some()).count();
        for _ in 0..fits {
            switches.record(&removed);
        }
        assert_eq!((with_bodies(&switches), switches.bytes), (fits, fits * each));
        switches.record(&removed);
        assert_eq!((with_bodies(&switches), switches.bytes), (fits, fits * each));
        let kept: Vec<bool> = switches.since(0).unwrap().map(|switch| switch.removed.is_some()).collect();
        assert!(!kept[0] && kept[1..].iter().all(|kept| *kept), "the oldest is forgotten");
    }
}
