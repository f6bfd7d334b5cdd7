//! Blocks that honest replicas adopted and that were not checked before.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    chain::{Chain, ExecutedBlock, ReadError},
    consensus::ReplicaId,
    primitives::B256,
    sim::network::replica::Replica,
};

/// Checked blocks that are remembered.
const CHECKED_MAX: usize = 1_024;

/// The blocks that were checked, and the heads of replicas.
#[derive(Clone, Debug, Default)]
pub(super) struct Adopted {
    heads: BTreeMap<ReplicaId, B256>,
    checked: BTreeSet<(u64, B256)>,
}

impl Adopted {
    /// Returns the blocks on a replica's branch, with their parents, that were not returned before: oldest first, those of a fetched
    /// branch too. None whose parent's state is gone.
    pub(super) fn new_of(&mut self, replica: &Replica) -> Result<Vec<(ExecutedBlock, ExecutedBlock)>, ReadError> {
        let chain = replica.chain();
        let mut block = chain.head().clone();
        let mut found = Vec::new();
        if self.heads.insert(replica.id(), block.hash()) == Some(block.hash()) {
            return Ok(found);
        }
        while block.height() > chain.genesis().height() && self.checked.insert((block.height().get(), block.hash())) {
            let Some(parent) = with_state(chain, block.parent_hash())? else { break };
            found.push((parent.clone(), block));
            block = parent;
        }
        while self.checked.len() > CHECKED_MAX {
            self.checked.pop_first();
        }
        found.reverse();
        Ok(found)
    }
}

/// Returns a block; `None` where it or its state was pruned.
fn with_state(chain: &Chain, hash: B256) -> Result<Option<ExecutedBlock>, ReadError> {
    match chain.block(hash).and_then(|block| chain.state_of(hash).map(|_| block)) {
        Ok(block) => Ok(Some(block)),
        Err(ReadError::Pruned { .. } | ReadError::UnknownBlock { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
