//! Headers go by the chain's parameters in force.

use std::collections::BTreeMap;

use super::{Invariant, Violation, honest};
use crate::{
    chain::{Chain, ExecutedBlock, ReadError},
    consensus::ReplicaId,
    primitives::B256,
    sim::network::{Network, step::SimStep},
    system::parameters::FeeParameters,
};

/// On a chain whose parameters may change, every head of an honest replica has the gas limit that its own state has in force, a base fee
/// that is not below the floor, and puts in force nothing but what waited after its parent.
#[derive(Clone, Debug, Default)]
pub struct ParametersInForce {
    heads: BTreeMap<ReplicaId, B256>,
    changed: u64,
}

impl ParametersInForce {
    /// Returns the number of heads that changed parameters.
    pub const fn changed(&self) -> u64 {
        self.changed
    }
}

impl Invariant for ParametersInForce {
    fn name(&self) -> &'static str {
        "parameters-in-force"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some(replica) = honest(network, step) else { return Ok(()) };
        let (chain, head) = (replica.chain(), replica.chain().head());
        if chain.spec().parameters.is_none() || self.heads.insert(replica.id(), head.hash()) == Some(head.hash()) {
            return Ok(());
        }
        self.changed += u64::from(!head.block().parameters().is_empty());
        let wrong = match difference(chain, head) {
            Ok(None) => return Ok(()),
            Ok(Some(wrong)) => wrong,
            Err(error) => format!("the head's state can't be read: {error}"),
        };
        let detail = format!("{} at height {}: {wrong}", replica.id(), head.height());
        Err(Violation::new(self.name(), network, detail))
    }
}

/// Returns what of a head is not as its state has it in force.
fn difference(chain: &Chain, head: &ExecutedBlock) -> Result<Option<String>, ReadError> {
    if head.height() == chain.genesis().height() {
        return Ok(None);
    }
    let header = head.block().header();
    let Some(fees) = FeeParameters::read(&*chain.state_of(head.hash())?)? else {
        return Ok(Some("the contract of parameters is gone".to_owned()));
    };
    if header.gas_limit != fees.gas_limit {
        return Ok(Some(format!("the gas limit is {}, in force is {}", header.gas_limit, fees.gas_limit)));
    }
    let base_fee = header.base_fee_per_gas.unwrap_or(u64::MAX);
    if base_fee < fees.base_fee_floor {
        return Ok(Some(format!("the base fee is {base_fee}, the floor in force {}", fees.base_fee_floor)));
    }
    let (put, waited) = (head.block().parameters(), chain.updates_of(head.parent_hash()).parameters);
    let is_due = put.is_empty() || *put == waited;
    Ok((!is_due).then(|| format!("it changes {put}; after its parent there waited {waited}")))
}
