//! Invariants of honest signers of proof of authority.

use std::collections::BTreeMap;

use super::{Invariant, Violation, honest};
use crate::{
    consensus::ReplicaId,
    primitives::{Address, B256},
    sim::network::{Network, step::SimStep},
};

/// An honest signer seals at most one block on a parent. On another branch it may seal a height again, as in Clique.
#[derive(Clone, Debug, Default)]
pub struct NoDoubleSealing {
    sealed: BTreeMap<(B256, Address), B256>,
    seen: BTreeMap<ReplicaId, B256>,
}

impl Invariant for NoDoubleSealing {
    fn name(&self) -> &'static str {
        "poa-seals-once"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some(replica) = honest(network, step) else { return Ok(()) };
        let head = replica.head();
        if self.seen.insert(replica.id(), head.hash) == Some(head.hash) {
            return Ok(());
        }
        let block = replica.chain().head().block();
        let author = block.header().beneficiary;
        let owner = network.replicas().iter().find(|replica| replica.address() == Some(author));
        // A block that its author never sent may be lost in a crash.
        if owner.is_none_or(|owner| owner.id() == replica.id() || !network.is_honest(owner.id())) {
            return Ok(());
        }
        let first = *self.sealed.entry((block.parent_hash(), author)).or_insert(head.hash);
        if first == head.hash {
            return Ok(());
        }
        let detail =
            format!("honest {author} sealed {first} and {} on one parent at height {}", head.hash, head.height);
        Err(Violation::new(self.name(), network, detail))
    }
}
