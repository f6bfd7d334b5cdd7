//! Weights of consensus and of stake.

use std::collections::BTreeMap;

use super::{Invariant, Violation, honest};
use crate::{
    chain::{Chain, ExecutedBlock, ReadError, SystemViewError},
    consensus::ReplicaId,
    primitives::{Address, B256},
    sim::network::{Network, step::SimStep},
};

/// Weights by sealing key, without those of 0.
type Weights = BTreeMap<Address, u64>;

/// On a chain with stake, the weights that the staking contract has after a head, by the present sealing keys of its validators, are those
/// after the parent with the block's validator updates: what consensus is told is what is at stake, and a key that was replaced has
/// nothing. Every head of an honest replica is checked; a head whose parent's state was pruned is not.
#[derive(Clone, Debug, Default)]
pub struct WeightsOfKeys {
    heads: BTreeMap<ReplicaId, B256>,
    rotated: u64,
}

impl WeightsOfKeys {
    /// Returns the number of checked heads with validators whose key is not their own address.
    pub const fn rotated(&self) -> u64 {
        self.rotated
    }
}

impl Invariant for WeightsOfKeys {
    fn name(&self) -> &'static str {
        "weights-by-key"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some(replica) = honest(network, step) else { return Ok(()) };
        let (chain, head) = (replica.chain(), replica.chain().head());
        let is_same = self.heads.insert(replica.id(), head.hash()) == Some(head.hash());
        if is_same || !chain.has_stake() || head.height() == chain.genesis().height() {
            return Ok(());
        }
        let wrong = match self.difference(chain, head) {
            Ok(None) | Err(SystemViewError::Read(ReadError::Pruned { .. })) => return Ok(()),
            Ok(Some(wrong)) => wrong,
            Err(error) => format!("the staking contract can't be read: {error}"),
        };
        let detail = format!("{} at height {}: {wrong}", replica.id(), head.height());
        Err(Violation::new(self.name(), network, detail))
    }
}

impl WeightsOfKeys {
    fn difference(&mut self, chain: &Chain, head: &ExecutedBlock) -> Result<Option<String>, SystemViewError> {
        let got = self.weights(chain, head)?;
        let parent = chain.block(head.parent_hash()).map_err(SystemViewError::Read)?;
        let mut want = self.weights(chain, &parent)?;
        for update in &chain.updates_of(head.hash()).validators {
            want.insert(update.address, update.weight);
        }
        want.retain(|_, weight| *weight > 0);
        let keys = got.keys().chain(want.keys());
        let wrong = keys.copied().find(|key| got.get(key) != want.get(key));
        Ok(wrong.map(|key| {
            let [got, want] = [&got, &want].map(|weights| weights.get(&key).copied().unwrap_or(0));
            format!("the contract gives {key} the weight {got}, the updates {want}")
        }))
    }

    fn weights(&mut self, chain: &Chain, block: &ExecutedBlock) -> Result<Weights, SystemViewError> {
        let records = chain.staked_validators(block)?;
        let bonded = records.iter().filter(|record| record.weight > 0);
        self.rotated += u64::from(bonded.clone().any(|record| record.sealing_key != record.address));
        Ok(bonded.map(|record| (record.sealing_key, record.weight)).collect())
    }
}
