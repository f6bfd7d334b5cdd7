//! Snapshots of the whole node, and reverting to them.

use core::fmt;

use super::{EngineError, Node, ancestors::Ancestors, clock::BlockTime, view::Settings};
use crate::{primitives::Height, sim::Network};

/// Identifies a snapshot. A node uses no id twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnapshotId(u64);

impl SnapshotId {
    /// The id with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The id as a number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for SnapshotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Blocks, state, pool, protocol and random generators; time, and the timestamp set for the next block; the heads to which a reorg may go back.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    network: Network,
    time: BlockTime,
    ancestors: Ancestors,
}

impl Node {
    /// Takes a snapshot of the node, in constant time.
    pub fn snapshot(&self) -> SnapshotId {
        let mut writer = self.write();
        // A node takes fewer than 2^64 snapshots.
        writer.snapshots_taken = writer.snapshots_taken.saturating_add(1);
        let id = SnapshotId(writer.snapshots_taken);
        let (network, ancestors) = (writer.network.clone(), writer.ancestors.clone());
        let snapshot = Snapshot { network, time: writer.settings.time, ancestors };
        writer.snapshots.insert(id, snapshot);
        id
    }

    /// Reverts to a snapshot, and removes it and all newer ones; `false` for an unknown id.
    ///
    /// Restores blocks, state, pool, time and the timestamp set for the next block; impersonations, the mining mode and
    /// subscriptions are unchanged.
    ///
    /// # Errors
    /// [`EngineError`] when the store fails; the node is then unchanged, and the snapshot is kept.
    pub fn revert(&self, id: SnapshotId) -> Result<bool, EngineError> {
        let mut writer = self.write();
        let Some(snapshot) = writer.snapshots.get(&id).cloned() else { return Ok(false) };
        writer.command(&self.inner, |writer| writer.switch_to(&self.inner, &snapshot.network, snapshot.time))?;
        writer.ancestors = snapshot.ancestors;
        writer.snapshots.split_off(&id);
        Ok(true)
    }

    /// Reverts to genesis, also where the node was built on a database with blocks, with an empty pool and the clock's time, or the
    /// interval that the node was built with; removes snapshots and impersonations.
    ///
    /// # Errors
    /// As [`Node::revert`].
    pub fn reset(&self) -> Result<(), EngineError> {
        let mut writer = self.write();
        let initial = match writer.initial.primary().head().height {
            Height::GENESIS => writer.initial.clone(),
            _ => writer.initial.at_genesis().map_err(EngineError::from_network)?,
        };
        writer.command(&self.inner, |writer| {
            let Settings { mining, timestamps, .. } = writer.settings;
            writer.settings = Settings { mining, timestamps, ..Settings::default() };
            writer.switch_to(&self.inner, &initial, writer.initial_time)
        })?;
        writer.snapshots.clear();
        Ok(())
    }
}
