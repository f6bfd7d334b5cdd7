//! Following the canonical chain by a cursor instead of a queue.
//!
//! A cursor is a place in the chain. Blocks are read from the newest view when they are asked for, so a slow reader holds no
//! memory and misses none, and the writer does nothing for it.

use tokio::sync::watch;

use super::{BlockRef, Node, NodeView, QueryError};
use crate::{
    chain::ExecutedBlock,
    primitives::{B256, Height},
};

/// The newest canonical block that a reader has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadCursor {
    height: Height,
    hash: B256,
    /// Head switches of the node up to this place.
    switches: u64,
}

/// The blocks between two places of a cursor.
#[derive(Clone, Debug, Default)]
pub struct HeadChanges {
    /// Blocks that the reader had seen and that left the canonical chain, in the order of leaving: newest first in each switch.
    pub removed: Vec<ExecutedBlock>,
    /// Number of further removed blocks that are not kept any more; see [`REMOVED_BYTES_MAX`](super::REMOVED_BYTES_MAX).
    pub removed_missing: u64,
    /// Blocks that joined it, oldest first.
    pub added: Vec<ExecutedBlock>,
}

impl HeadChanges {
    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.removed_missing == 0 && self.added.is_empty()
    }
}

/// Why a cursor can't move on from its place. It is at the head then, so that the reader can go on with a gap.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeadCursorError {
    /// The head has switched branches more often since than the node remembers, or further back than blocks are kept.
    #[error(
        "the place in the chain is lost: since block {height} the head switched branches more than {max} times, or further back \
         than blocks are kept"
    )]
    Lost {
        /// Height of the newest block seen.
        height: Height,
        /// Most switches remembered.
        max: usize,
    },
    /// A block that joined the chain can't be read, such as one that was pruned.
    #[error("blocks were missed after block {height}: {source}")]
    Missed {
        /// Height of the newest block seen.
        height: Height,
        /// The failed read.
        #[source]
        source: QueryError,
    },
    /// The node was dropped.
    #[error("the node was dropped")]
    Closed,
}

impl HeadCursor {
    /// Returns a cursor that has seen the head of `view`.
    pub fn at_head(view: &NodeView) -> Self {
        let head = view.head();
        Self { height: head.height(), hash: head.hash(), switches: view.switches().count() }
    }

    /// Height of the newest block seen.
    pub const fn height(&self) -> Height {
        self.height
    }

    /// Hash of the newest block seen.
    pub const fn hash(&self) -> B256 {
        self.hash
    }

    /// Moves towards the head of `view` by at most `blocks_max` added blocks (at least 1), and returns the changes on the way. A
    /// view that is older than the cursor changes nothing.
    ///
    /// # Errors
    /// [`HeadCursorError::Lost`], [`HeadCursorError::Missed`]; the cursor is at the head then.
    pub fn advance(&mut self, view: &NodeView, blocks_max: usize) -> Result<HeadChanges, HeadCursorError> {
        let switches = view.switches();
        if switches.count() < self.switches {
            return Ok(HeadChanges::default());
        }
        let seen = self.height;
        let Some(mut changes) = self.follow_switches(view) else {
            *self = Self::at_head(view);
            return Err(HeadCursorError::Lost { height: seen, max: super::HEAD_SWITCHES_MAX });
        };
        let last = view.head().height().get().min(self.height.get().saturating_add(blocks_max.max(1) as u64));
        for number in self.height.get().saturating_add(1)..=last {
            match view.block(BlockRef::Number(Height::new(number))) {
                Ok(block) => changes.added.push(block),
                Err(source) => {
                    *self = Self::at_head(view);
                    return Err(HeadCursorError::Missed { height: seen, source });
                }
            }
        }
        if let Some(block) = changes.added.last() {
            (self.height, self.hash) = (block.height(), block.hash());
        }
        debug_assert!(
            self.height > view.head().height()
                || view.block(BlockRef::Number(self.height)).map_or(true, |block| block.hash() == self.hash),
            "a cursor is at a canonical block"
        );
        Ok(changes)
    }

    /// Goes back to the common ancestor at every switch since; `None` when some of them are forgotten.
    fn follow_switches(&mut self, view: &NodeView) -> Option<HeadChanges> {
        let mut changes = HeadChanges::default();
        for switch in view.switches().since(self.switches)? {
            // What is above the cursor was added and removed unseen.
            if switch.ancestor < self.height {
                let count = self.height.get().saturating_sub(switch.ancestor.get());
                match &switch.removed {
                    Some(removed) => {
                        changes.removed.extend(removed.iter().filter(|block| block.height() <= self.height).cloned());
                    }
                    None => changes.removed_missing = changes.removed_missing.saturating_add(count),
                }
                (self.height, self.hash) = (switch.ancestor, switch.ancestor_hash);
            }
        }
        self.switches = view.switches().count();
        Some(changes)
    }
}

/// Follows the canonical chain of a node; made by [`Node::follow_heads`].
///
/// ```
/// use chainbox::node::Node;
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let node = Node::new();
/// let mut heads = node.follow_heads();
/// node.mine(2)?;
/// let changes = heads.next(100).await?;
/// assert_eq!(changes.added.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct HeadFollower {
    node: Node,
    cursor: HeadCursor,
    published: watch::Receiver<u64>,
}

impl HeadFollower {
    pub(super) fn new(node: Node, published: watch::Receiver<u64>) -> Self {
        let cursor = HeadCursor::at_head(&node.view());
        Self { node, cursor, published }
    }

    /// The newest block seen.
    pub const fn cursor(&self) -> &HeadCursor {
        &self.cursor
    }

    /// Waits until the chain has changed, and returns the changes with at most `blocks_max` added blocks; from any async runtime.
    /// Dropping the future loses nothing.
    ///
    /// # Errors
    /// As [`HeadCursor::advance`]; the next call goes on from the head.
    pub async fn next(&mut self, blocks_max: usize) -> Result<HeadChanges, HeadCursorError> {
        loop {
            self.published.mark_unchanged();
            let changes = self.cursor.advance(&self.node.view(), blocks_max)?;
            if !changes.is_empty() {
                return Ok(changes);
            }
            self.published.changed().await.map_err(|_| HeadCursorError::Closed)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hashes(blocks: &[ExecutedBlock]) -> Vec<B256> {
        blocks.iter().map(ExecutedBlock::hash).collect()
    }

    #[test]
    fn blocks_come_in_steps_and_none_is_missed() {
        let node = Node::new();
        let mut cursor = HeadCursor::at_head(&node.view());
        let blocks = node.mine_all(5);
        let first = cursor.advance(&node.view(), 2).unwrap();
        assert_eq!((hashes(&first.added), cursor.height()), (hashes(&blocks[..2]), Height::new(2)));
        assert_eq!(hashes(&cursor.advance(&node.view(), 100).unwrap().added), hashes(&blocks[2..]));
        assert!(cursor.advance(&node.view(), 100).unwrap().is_empty());
    }

    #[test]
    fn a_revert_tells_what_was_seen_and_then_the_new_blocks() {
        let node = Node::new();
        node.mine(1).unwrap();
        let snapshot = node.snapshot();
        let mut cursor = HeadCursor::at_head(&node.view());
        let seen = node.mine_all(2);
        cursor.advance(&node.view(), 100).unwrap();
        let unseen = node.mine(1).unwrap();
        assert!(node.revert(snapshot).unwrap());
        node.increase_time(core::time::Duration::from_secs(9));
        let old_view = node.view();
        let added = node.mine_all(1);
        let changes = cursor.advance(&node.view(), 100).unwrap();
        assert_eq!(hashes(&changes.removed), [seen[1].hash(), seen[0].hash()], "not {}", unseen.hash());
        assert_eq!((hashes(&changes.added), changes.removed_missing), (hashes(&added), 0));
        assert!(cursor.advance(&old_view, 100).unwrap().is_empty(), "an older view changes nothing");
    }

    /// Panics at the times when it is asked for the time after `fuse` more askings.
    #[derive(Debug)]
    struct BrittleClock(core::sync::atomic::AtomicI64);

    impl crate::node::Clock for BrittleClock {
        fn now(&self) -> crate::primitives::Timestamp {
            let left = self.0.fetch_sub(1, core::sync::atomic::Ordering::Relaxed);
            assert!(left != 0, "as asked");
            crate::primitives::Timestamp::from_secs(1_800_000_000)
        }
    }

    #[test]
    fn blocks_of_a_failed_command_are_taken_back() {
        use core::sync::atomic::Ordering;
        let mut seen_undone = 0;
        // Whichever asking for the time fails, a reader that applies the changes has the canonical chain afterwards.
        for fuse in 0..20 {
            let clock = std::sync::Arc::new(BrittleClock(core::sync::atomic::AtomicI64::new(i64::MAX)));
            let node = Node::builder().with_clock(clock.clone()).build().unwrap();
            let mut cursor = HeadCursor::at_head(&node.view());
            let mut chain = vec![node.view().genesis_hash()];
            clock.0.store(fuse, Ordering::Relaxed);
            let (from, to) = (node.accounts()[0], node.accounts()[1]);
            // Some of them are in a read before the command, where the panic is the caller's.
            let transfer = || node.transfer(from, to, crate::primitives::U256::from(1)).is_err();
            let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(transfer)).unwrap_or(true);
            seen_undone += u64::from(failed);
            clock.0.store(i64::MAX, Ordering::Relaxed);
            node.mine(2).unwrap();
            let changes = cursor.advance(&node.view(), usize::MAX).unwrap();
            chain.truncate(chain.len() - changes.removed.len());
            chain.extend(changes.added.iter().map(ExecutedBlock::hash));
            assert_eq!(chain.last().copied(), Some(node.view().head().hash()), "fuse {fuse}");
        }
        assert!(seen_undone > 0, "some command failed");
    }

    #[derive(Clone, Debug)]
    enum Step {
        Mine(u64),
        Snapshot,
        Revert(usize),
        Advance(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (1..5_u64).prop_map(Step::Mine),
            Just(Step::Snapshot),
            (0..4_usize).prop_map(Step::Revert),
            (1..7_usize).prop_map(Step::Advance),
        ];
        prop::collection::vec(step, 1..40)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// A reader that applies the changes to a list of hashes always has the canonical chain.
        #[test]
        fn what_a_reader_applies_is_the_canonical_chain(steps in steps()) {
            let node = Node::new();
            let mut cursor = HeadCursor::at_head(&node.view());
            let mut chain = vec![node.view().genesis_hash()];
            let mut snapshots = Vec::new();
            for step in steps.into_iter().chain([Step::Advance(usize::MAX)]) {
                match step {
                    Step::Mine(count) => {
                        node.increase_time(core::time::Duration::from_secs(1));
                        node.mine(count).unwrap();
                    }
                    Step::Snapshot => snapshots.push(node.snapshot()),
                    Step::Revert(back) => {
                        if let Some(index) = snapshots.len().checked_sub(back + 1) {
                            prop_assert!(node.revert(snapshots[index]).unwrap());
                            snapshots.truncate(index);
                        }
                    }
                    Step::Advance(blocks_max) => {
                        let changes = cursor.advance(&node.view(), blocks_max).unwrap();
                        for block in &changes.removed {
                            prop_assert_eq!(chain.pop(), Some(block.hash()));
                        }
                        for block in &changes.added {
                            prop_assert_eq!(chain.last().copied(), Some(block.block().parent_hash()));
                            chain.push(block.hash());
                        }
                    }
                }
            }
            prop_assert_eq!(chain.last().copied(), Some(node.view().head().hash()));
        }
    }
}
