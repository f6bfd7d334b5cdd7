//! Agreement on final blocks, and their permanence.

use std::collections::BTreeMap;

use super::{Invariant, Violation, accountable::SlashableConflict, honest, promised};
use crate::{
    consensus::{BlockId, ConsensusKind, ReplicaId},
    primitives::{B256, Height},
    sim::network::{Network, step::SimStep},
};

/// No two honest replicas finalise different blocks of one height. For proof of stake the report names the offenders.
#[derive(Clone, Debug, Default)]
pub struct Agreement {
    /// Final blocks by height from 0, with the first honest replica that finalised each.
    decided: Vec<(B256, ReplicaId)>,
    /// Final block of each replica at its last step.
    seen: BTreeMap<ReplicaId, BlockId>,
}

impl Invariant for Agreement {
    fn name(&self) -> &'static str {
        "agreement"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some(replica) = honest(network, step) else { return Ok(()) };
        let Some(newest) = promised(replica) else { return Ok(()) };
        let before = self.seen.insert(replica.id(), newest).unwrap_or_default();
        if before == newest {
            return Ok(());
        }
        // Earlier final blocks are compared again only when finality moved back: after a restart, or wrongly.
        let first = if newest.height > before.height { before.height.get() + 1 } else { newest.height.get() };
        for height in first..=newest.height.get() {
            let Ok(hash) = replica.chain().hash_at(Height::new(height)) else {
                let detail = format!("{} holds {newest} for final and has no block {height}", replica.id());
                return Err(Violation::new(self.name(), network, detail));
            };
            if self.decided.is_empty() {
                self.decided.push((network.primary().chain().genesis().hash(), ReplicaId::default()));
            }
            match self.decided.get(height as usize) {
                Some((other, whose)) if *other != hash => {
                    let mut detail = format!(
                        "block {height} is final as {hash} to {} and was final as {other} to {whose}",
                        replica.id()
                    );
                    if let (Some(ConsensusKind::Pos), Ok(first)) = (network.config().kind(), network.replica(*whose)) {
                        detail.push_str(&format!("; {}", SlashableConflict::of(network, [replica, first])));
                    }
                    return Err(Violation::new(self.name(), network, detail));
                }
                Some(_) => {}
                None => self.decided.push((hash, replica.id())),
            }
        }
        Ok(())
    }
}

/// A final block stays on its replica's chain as long as the replica runs.
#[derive(Clone, Debug, Default)]
pub struct FinalityIrreversible {
    seen: BTreeMap<ReplicaId, (u64, BlockId, u64)>,
}

impl Invariant for FinalityIrreversible {
    fn name(&self) -> &'static str {
        "finality-stays"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some(replica) = honest(network, step) else { return Ok(()) };
        let Some(newest) = promised(replica) else { return Ok(()) };
        let counters = replica.counters();
        let now = (counters.restarts, newest, counters.reorgs);
        let Some(before) = self.seen.insert(replica.id(), now) else { return Ok(()) };
        if before == now || before.0 != now.0 {
            return Ok(());
        }
        let held = before.1;
        if newest.height < held.height || replica.chain().hash_at(held.height).ok() != Some(held.hash) {
            let detail = format!("{} held {held} for final, and now {newest} without it", replica.id());
            return Err(Violation::new(self.name(), network, detail));
        }
        Ok(())
    }
}
