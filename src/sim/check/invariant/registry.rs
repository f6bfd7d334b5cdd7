//! The validators that count are those of the validators' contract.

use std::collections::{BTreeMap, BTreeSet};

use super::{Invariant, Violation, honest};
use crate::{
    chain::{ExecutedBlock, SystemViewError},
    consensus::{AnyProtocol, ConsensusConfig, Protocol, ReplicaId},
    primitives::{Address, B256},
    sim::network::{Network, replica::Replica, step::SimStep},
};

/// On a chain with the validators' contract, the validators after every head at the protocol's boundary are those that the contract had
/// after the block before it.
///
/// A boundary is each block in proof of authority; in Raft each one that neither enters nor leaves a joint configuration, and in PBFT each
/// checkpoint. PBFT keeps a committee that convictions would leave too small.
#[derive(Clone, Debug, Default)]
pub struct MembersByContract {
    heads: BTreeMap<ReplicaId, B256>,
    sets: BTreeSet<BTreeSet<Address>>,
}

impl MembersByContract {
    /// Returns the number of different sets that were in force.
    pub fn sets(&self) -> usize {
        self.sets.len()
    }
}

impl Invariant for MembersByContract {
    fn name(&self) -> &'static str {
        "members-by-contract"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some(replica) = honest(network, step) else { return Ok(()) };
        let head = replica.chain().head();
        let is_known = self.heads.get(&replica.id()) == Some(&head.hash());
        if !replica.chain().has_validator_registry() || is_known || replica.protocol().head().hash != head.hash() {
            return Ok(());
        }
        self.heads.insert(replica.id(), head.hash());
        if !is_boundary(network.config(), replica, head) {
            return Ok(());
        }
        let in_force: BTreeSet<_> = replica.protocol().validators().addresses().collect();
        let wrong = match registered(replica, head) {
            Ok(want) if want == in_force || is_too_small(network.config(), &want) => {
                self.sets.insert(in_force);
                return Ok(());
            }
            Ok(want) => format!("in force are {in_force:?}, the contract has {want:?}"),
            Err(error) => format!("the contract can't be read: {error}"),
        };
        let detail = format!("{} at height {}: {wrong}", replica.id(), head.height());
        Err(Violation::new(self.name(), network, detail))
    }
}

fn is_boundary(config: &ConsensusConfig, replica: &Replica, head: &ExecutedBlock) -> bool {
    if head.height() == replica.chain().genesis().height() {
        return false;
    }
    match (config, replica.protocol()) {
        (ConsensusConfig::Poa(_), _) => true,
        (ConsensusConfig::Pbft(config), _) => head.height().get().is_multiple_of(config.checkpoint_every),
        (_, AnyProtocol::Raft(raft)) => {
            let leaves = crate::consensus::raft::Change::LeaveJoint;
            let payload = crate::consensus::raft::Payload::decode(head.block().protocol_payload());
            !raft.membership().is_joint() && payload.is_ok_and(|payload| payload.change != Some(leaves))
        }
        _ => false,
    }
}

/// Returns the validators of the contract before a head.
fn registered(replica: &Replica, head: &ExecutedBlock) -> Result<BTreeSet<Address>, SystemViewError> {
    let parent = replica.chain().block(head.parent_hash())?;
    let records = replica.chain().registered_validators(&parent)?;
    Ok(records.iter().map(|record| record.sealing_key).collect())
}

fn is_too_small(config: &ConsensusConfig, registered: &BTreeSet<Address>) -> bool {
    registered.len() < config.validators_min() as usize
}
