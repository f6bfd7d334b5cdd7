//! The heads before each of the newest blocks, which a reorg goes back to.

use imbl::OrdMap;

use crate::{chain::Chain, primitives::Height, sim::EarlierHead};

/// Most blocks that a reorg or a rollback of a node removes.
pub const REORG_DEPTH_MAX: u64 = 64;

/// What the network starts again from at the newest heads, by height. Cloning is O(1).
#[derive(Clone, Debug)]
pub(super) struct Ancestors {
    kept: OrdMap<Height, EarlierHead>,
    /// Most of them: [`REORG_DEPTH_MAX`], or as many states as the chain keeps.
    kept_max: usize,
}

impl Ancestors {
    /// Of a chain that keeps this many states below its head; `None` keeps all.
    pub(super) fn new(states_kept: Option<u64>) -> Self {
        let kept_max = states_kept.unwrap_or(REORG_DEPTH_MAX).min(REORG_DEPTH_MAX);
        Self { kept: OrdMap::new(), kept_max: kept_max as usize }
    }

    /// Keeps a head that got a block upon it, in place of those of an earlier branch.
    pub(super) fn push(&mut self, head: EarlierHead) {
        while let Some((highest, _)) = self.kept.get_max().filter(|(highest, _)| *highest >= head.height()) {
            let highest = *highest;
            self.kept.remove(&highest);
        }
        self.kept.insert(head.height(), head);
        while self.kept.len() > self.kept_max {
            self.kept = self.kept.without_min().1;
        }
    }

    /// The canonical block at `height`, as a head.
    pub(super) fn at(&self, chain: &Chain, height: Height) -> Option<&EarlierHead> {
        self.kept.get(&height).filter(|head| chain.is_canonical(head.id().hash))
    }

    /// Number of blocks of `chain` that can be removed.
    pub(super) fn depth(&self, chain: &Chain) -> u64 {
        let head = chain.head().height().get();
        (0..head).rev().take_while(|height| self.at(chain, Height::new(*height)).is_some()).count() as u64
    }
}
