//! Going back: the whole node as it was.

use core::fmt;

use super::{Node, NodeError, clock::BlockTime};
use crate::sim::Network;

/// Names a snapshot; never used twice by one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnapshotId(u64);

impl SnapshotId {
    /// The id with this number, as a client sends it.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The plain number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for SnapshotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Blocks, state, pool, protocol, random generators; time and what was set for the next block.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    network: Network,
    time: BlockTime,
}

impl Node {
    /// Keeps the node as it is now. Costs the same at any size.
    pub fn snapshot(&self) -> SnapshotId {
        let mut writer = self.write();
        writer.snapshots_taken += 1;
        let id = SnapshotId(writer.snapshots_taken);
        let snapshot = Snapshot { network: writer.network.clone(), time: writer.time };
        writer.snapshots.insert(id, snapshot);
        id
    }

    /// Goes back to a snapshot, which is thereby used up, as are all newer ones; `false` for an unknown id.
    ///
    /// Blocks, state, pool, time and what was set for the next block are as they were; impersonations, the mining mode and
    /// subscriptions stay as they are.
    ///
    /// # Errors
    /// [`NodeError::Chain`] when a store fails; the node is then unchanged, and the snapshot is kept.
    pub fn revert(&self, id: SnapshotId) -> Result<bool, NodeError> {
        let mut writer = self.write();
        let Some(snapshot) = writer.snapshots.get(&id).cloned() else { return Ok(false) };
        writer.go_over_to(&self.shared, &snapshot.network)?;
        writer.time = snapshot.time;
        writer.snapshots.split_off(&id);
        Ok(true)
    }

    /// Goes back to how the node began: genesis, an empty pool, the clock's time; snapshots and impersonations are forgotten.
    ///
    /// # Errors
    /// As [`Node::revert`].
    pub fn reset(&self) -> Result<(), NodeError> {
        let mut writer = self.write();
        let beginning = writer.beginning.clone();
        writer.go_over_to(&self.shared, &beginning)?;
        writer.time = BlockTime::default();
        writer.snapshots.clear();
        writer.impersonated.clear();
        writer.impersonates_all = false;
        Ok(())
    }
}
