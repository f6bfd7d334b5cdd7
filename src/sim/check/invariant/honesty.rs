//! No evidence against honest replicas.

use std::collections::BTreeMap;

use super::{Invariant, Violation, honest};
use crate::{
    consensus::ReplicaId,
    sim::network::{Network, step::SimStep},
};

/// No honest replica has evidence against an honest one, under any crash, delay or torn write.
#[derive(Clone, Debug, Default)]
pub struct NoFalseAccusation {
    /// Pieces of evidence already checked, by replica.
    seen: BTreeMap<ReplicaId, usize>,
}

impl Invariant for NoFalseAccusation {
    fn name(&self) -> &'static str {
        "honesty-unblamed"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some(replica) = honest(network, step) else { return Ok(()) };
        let seen = self.seen.entry(replica.id()).or_default();
        if replica.counters().evidence == *seen as u64 {
            return Ok(());
        }
        let new: Vec<_> = replica.evidence().skip(*seen).collect();
        *seen += new.len();
        for evidence in new {
            let offender = evidence.offender();
            let named = network.replicas().iter().find(|replica| replica.address() == Some(offender));
            if named.is_some_and(|named| network.is_honest(named.id())) {
                let detail = format!("{} holds evidence against honest {offender}: {evidence}", replica.id());
                return Err(Violation::new(self.name(), network, detail));
            }
        }
        Ok(())
    }
}
