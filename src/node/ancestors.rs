//! The network as it was before each of the newest blocks, which a reorg goes back to.

use std::collections::BTreeMap;

use crate::{
    chain::Chain,
    primitives::{B256, Height},
    sim::Network,
};

/// Most blocks that a reorg or a rollback of a node removes.
pub const REORG_DEPTH_MAX: u64 = 64;

/// Clones of the network at the newest heads, by height. Each is made in constant time; it keeps its head's state in memory.
#[derive(Debug)]
pub(super) struct Ancestors {
    kept: BTreeMap<Height, (B256, Network)>,
    /// Most clones: [`REORG_DEPTH_MAX`], or as many states as the chain keeps.
    kept_max: usize,
}

impl Ancestors {
    /// Of a chain that keeps this many states below its head; `None` keeps all.
    pub(super) fn new(states_kept: Option<u64>) -> Self {
        let kept_max = states_kept.unwrap_or(REORG_DEPTH_MAX).min(REORG_DEPTH_MAX);
        Self { kept: BTreeMap::new(), kept_max: kept_max as usize }
    }

    /// Keeps `network` as it is before its next block, in place of those of an earlier branch.
    pub(super) fn push(&mut self, network: Network) {
        let head = network.primary().head();
        drop(self.kept.split_off(&head.height));
        self.kept.insert(head.height, (head.hash, network));
        while self.kept.len() > self.kept_max {
            self.kept.pop_first();
        }
    }

    /// The network when the canonical block at `height` was the head.
    pub(super) fn at(&self, chain: &Chain, height: Height) -> Option<&Network> {
        let (hash, network) = self.kept.get(&height)?;
        chain.is_canonical(*hash).then_some(network)
    }

    /// Number of blocks of `chain` that can be removed.
    pub(super) fn depth(&self, chain: &Chain) -> u64 {
        let head = chain.head().height().get();
        let found = self.kept.iter().find(|(_, (hash, _))| chain.is_canonical(*hash));
        found.map_or(0, |(height, _)| head.saturating_sub(height.get()))
    }
}
