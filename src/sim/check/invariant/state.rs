//! Heads and their states belong together.

use std::collections::BTreeMap;

use super::{Invariant, Violation, honest};
use crate::{
    consensus::ReplicaId,
    primitives::B256,
    sim::network::{Network, step::SimStep},
};

/// A replica's chain follows its protocol, and the state of its head is the one that the header names.
#[derive(Clone, Debug, Default)]
pub struct StateRoots {
    seen: BTreeMap<ReplicaId, B256>,
}

impl Invariant for StateRoots {
    fn name(&self) -> &'static str {
        "state-roots"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some(replica) = honest(network, step) else { return Ok(()) };
        let head = replica.head();
        if self.seen.insert(replica.id(), head.hash) == Some(head.hash) {
            return Ok(());
        }
        let adopted = replica.chain().head();
        if adopted.hash() != head.hash {
            let detail = format!("{}'s protocol is at {head} and its chain at {}", replica.id(), adopted.hash());
            return Err(Violation::new(self.name(), network, detail));
        }
        let (named, own) = (adopted.block().header().state_root, adopted.commit().root);
        if named != own {
            let detail = format!("{} executed {head} to state root {own}, its header names {named}", replica.id());
            return Err(Violation::new(self.name(), network, detail));
        }
        Ok(())
    }
}
