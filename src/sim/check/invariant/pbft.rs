//! What must hold of PBFT at every moment (Castro and Liskov, section 4).

use std::collections::BTreeMap;

use super::{Invariant, Violation, honest};
use crate::{
    consensus::{
        BlockId, ConsensusConfig, Machine, Protocol, ReplicaId,
        pbft::{Pbft, View},
    },
    primitives::{B256, Height},
    sim::network::{Network, step::SimStep},
};

/// The PBFT of the replica that a step was of.
fn stepped<'a>(network: &'a Network, step: &SimStep) -> Option<(ReplicaId, &'a Pbft)> {
    let replica = honest(network, step)?;
    match replica.protocol() {
        Machine::Pbft(pbft) => Some((replica.id(), pbft)),
        _ => None,
    }
}

/// No two honest replicas prepare different blocks of one height in one view, and none prepares another block than the
/// committed one in a view after that in which it was prepared by those who committed it.
#[derive(Clone, Debug, Default)]
pub struct PreparedUnique {
    prepared: BTreeMap<(Height, View), (B256, ReplicaId)>,
    /// What is committed at each height, and in which view at the latest.
    committed: BTreeMap<Height, (B256, View)>,
    seen: BTreeMap<ReplicaId, (Height, Option<(Height, View)>)>,
}

impl Invariant for PreparedUnique {
    fn name(&self) -> &'static str {
        "pbft-prepared-unique"
    }

    fn names(&self) -> Vec<&'static str> {
        vec!["pbft-prepared-unique", "pbft-committed-survives"]
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some((id, pbft)) = stepped(network, step) else { return Ok(()) };
        let head = pbft.head();
        let newest = pbft.prepared(head.height.next()).or_else(|| pbft.prepared(head.height));
        let now = (head.height, newest.map(|prepared| (prepared.block.height, prepared.view)));
        if self.seen.insert(id, now) == Some(now) {
            return Ok(());
        }
        if let Some(prepared) = pbft.prepared(head.height).filter(|prepared| prepared.block.hash == head.hash) {
            self.committed.entry(head.height).or_insert((head.hash, prepared.view));
        }
        let Some(prepared) = newest else { return Ok(()) };
        let (height, hash) = (prepared.block.height, prepared.block.hash);
        let (first, whose) = *self.prepared.entry((height, prepared.view)).or_insert((hash, id));
        if first != hash {
            let detail =
                format!("{whose} prepared {first} and {id} {hash}, both at height {height} in {}", prepared.view);
            return Err(Violation::new(self.name(), network, detail));
        }
        match self.committed.get(&height) {
            Some((committed, view)) if *committed != hash && prepared.view > *view => {
                let detail = format!(
                    "{id} prepared {hash} at height {height} in {}, after {committed} was committed in {view}",
                    prepared.view
                );
                Err(Violation::new("pbft-committed-survives", network, detail))
            }
            _ => Ok(()),
        }
    }
}

/// What is logged, prepared and committed is between the watermarks (`h < n <= h + L`, section 4.2), and the low one is the
/// height of the stable checkpoint: a block of the replica's own chain, at a multiple of K or genesis (section 4.3).
#[derive(Clone, Debug, Default)]
pub struct Watermarks {
    /// The stable checkpoint of each replica as it was last seen.
    stable: BTreeMap<ReplicaId, BlockId>,
}

impl Invariant for Watermarks {
    fn name(&self) -> &'static str {
        "pbft-watermarks"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some((id, pbft)) = stepped(network, step) else { return Ok(()) };
        let broken = |detail: String| Err(Violation::new("pbft-watermarks", network, format!("{id} {detail}")));
        let (low, high) = pbft.watermarks();
        let head = pbft.head().height;
        if head < low || head > high {
            return broken(format!("has its head at height {head}, not between the watermarks {low} and {high}"));
        }
        if let Some((lowest, highest)) = pbft.logged().filter(|(lowest, highest)| *lowest <= low || *highest > high) {
            return broken(format!("logs heights {lowest} to {highest}, above {low} and up to {high} it may"));
        }
        if let Some(prepared) = pbft.highest_prepared().filter(|prepared| prepared.block.height > high) {
            return broken(format!("prepared {} above the high watermark {high}", prepared.block));
        }
        let stable = pbft.stable_checkpoint();
        if self.stable.insert(id, stable) == Some(stable) {
            return Ok(());
        }
        let ConsensusConfig::Pbft(config) = network.config() else { return Ok(()) };
        if stable.height != low || !config.is_checkpoint(&stable) {
            return broken(format!("holds {stable} for a stable checkpoint, with a low watermark of {low}"));
        }
        let own = network.replica(id).ok().and_then(|replica| replica.chain().hash_at(low).ok());
        if own != Some(stable.hash) {
            return broken(format!("holds {stable} for a stable checkpoint and has {own:?} there"));
        }
        Ok(())
    }
}
