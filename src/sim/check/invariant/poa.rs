//! What honest signers of proof of authority never do.

use std::collections::BTreeMap;

use super::{Invariant, Violation, honest};
use crate::{
    consensus::ReplicaId,
    primitives::{Address, B256},
    sim::network::{Network, step::SimStep},
};

/// An honest signer seals at most one block of a height.
#[derive(Clone, Debug, Default)]
pub struct NoDoubleSealing {
    sealed: BTreeMap<(u64, Address), B256>,
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
        // What only its author has seen was never said: a crash may take it back.
        if owner.is_none_or(|owner| owner.id() == replica.id() || !network.is_honest(owner.id())) {
            return Ok(());
        }
        let first = *self.sealed.entry((head.height.get(), author)).or_insert(head.hash);
        if first == head.hash {
            return Ok(());
        }
        let detail = format!("honest {author} sealed {first} and {} at height {}", head.hash, head.height);
        Err(Violation::new(self.name(), network, detail))
    }
}
