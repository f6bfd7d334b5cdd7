//! Weights of consensus and of stake.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Invariant, Violation, honest};
use crate::{
    chain::{Chain, ExecutedBlock, SystemViewError},
    consensus::ReplicaId,
    primitives::{Address, B256},
    sim::network::{Network, step::SimStep},
};

/// Blocks whose weights are remembered.
const KNOWN_MAX: usize = 1_024;

/// Heights between two heads without updates whose contract is read.
const READ_EVERY: u64 = 8;

/// Weights by sealing key, without those of 0.
type Weights = BTreeMap<Address, u64>;

/// On a chain with stake, the weights that the staking contract has, by the present sealing keys of its validators, are those of genesis
/// with all validator updates since: what consensus is told is what is at stake, and a key that was replaced has nothing. Of the heads of
/// honest replicas those with updates are checked, and every eighth of the others.
#[derive(Clone, Debug, Default)]
pub struct WeightsOfKeys {
    heads: BTreeMap<ReplicaId, B256>,
    /// Weights after these blocks, by their updates.
    known: BTreeMap<B256, Arc<Weights>>,
    /// Heights of those blocks, to remove the oldest.
    by_height: BTreeSet<(u64, B256)>,
}

impl Invariant for WeightsOfKeys {
    fn name(&self) -> &'static str {
        "weights-by-key"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some(replica) = honest(network, step) else { return Ok(()) };
        let (chain, head) = (replica.chain(), replica.chain().head());
        let is_same = self.heads.insert(replica.id(), head.hash()) == Some(head.hash());
        if is_same || !chain.has_stake() || self.known.contains_key(&head.hash()) {
            return Ok(());
        }
        let wrong = match self.check(chain, head) {
            Ok(None) => return Ok(()),
            Ok(Some(wrong)) => wrong,
            Err(error) => format!("the staking contract can't be read: {error}"),
        };
        let detail = format!("{} at height {}: {wrong}", replica.id(), head.height());
        Err(Violation::new(self.name(), network, detail))
    }
}

impl WeightsOfKeys {
    /// Checks the weights after a head; returns the discrepancy.
    fn check(&mut self, chain: &Chain, head: &ExecutedBlock) -> Result<Option<String>, SystemViewError> {
        let Ok(want) = self.by_updates(chain, head) else {
            // What came before is pruned, as of a chain that was joined late: from here on.
            let weights = Arc::new(weights_in(chain, head)?);
            self.remember(head, weights);
            return Ok(None);
        };
        let is_silent = chain.updates_of(head.hash()).validators.is_empty();
        if is_silent && !head.height().get().is_multiple_of(READ_EVERY) {
            return Ok(None);
        }
        let got = weights_in(chain, head)?;
        let keys = got.keys().chain(want.keys());
        let wrong = keys.copied().find(|key| got.get(key) != want.get(key));
        Ok(wrong.map(|key| {
            let [got, want] = [&got, &*want].map(|weights| weights.get(&key).copied().unwrap_or(0));
            format!("the contract gives {key} the weight {got}, the updates {want}")
        }))
    }

    /// Returns the weights after a block, by the updates since the newest ancestor that is known.
    fn by_updates(&mut self, chain: &Chain, head: &ExecutedBlock) -> Result<Arc<Weights>, SystemViewError> {
        let (mut path, mut block) = (Vec::new(), head.clone());
        let mut weights = loop {
            if let Some(known) = self.known.get(&block.hash()) {
                break known.clone();
            }
            if block.height() == chain.genesis().height() {
                break Arc::new(weights_in(chain, &block)?);
            }
            let parent = chain.block(block.parent_hash())?;
            path.push(core::mem::replace(&mut block, parent));
        };
        for block in path.iter().rev() {
            let updates = chain.updates_of(block.hash()).validators;
            if !updates.is_empty() {
                let weights = Arc::make_mut(&mut weights);
                weights.extend(updates.iter().map(|update| (update.address, update.weight)));
                weights.retain(|_, weight| *weight > 0);
            }
            self.remember(block, weights.clone());
        }
        Ok(weights)
    }

    fn remember(&mut self, block: &ExecutedBlock, weights: Arc<Weights>) {
        self.known.insert(block.hash(), weights);
        self.by_height.insert((block.height().get(), block.hash()));
        while self.known.len() > KNOWN_MAX {
            let Some((_, hash)) = self.by_height.pop_first() else { break };
            self.known.remove(&hash);
        }
    }
}

/// Returns the weights that the contract has after a block.
fn weights_in(chain: &Chain, block: &ExecutedBlock) -> Result<Weights, SystemViewError> {
    let records = chain.staked_validators(block)?;
    let bonded = records.iter().filter(|record| record.weight > 0);
    Ok(bonded.map(|record| (record.sealing_key, record.weight)).collect())
}
