//! Invariants: properties that hold at every moment of a run, under any faults.
//!
//! An [`Invariant`] is checked after every step and inspects what the step changed. A network that was built with invariants
//! ([`NetworkBuilder::with_invariants`](crate::sim::NetworkBuilder::with_invariants)) stops at the first violation, with
//! [`NetworkError::Violated`](crate::sim::NetworkError::Violated).

mod absences;
mod accountable;
mod adopted;
mod agreement;
mod clique;
pub mod dpos;
mod governance;
mod honesty;
mod locked;
mod parameters;
pub mod pbft;
mod permissions;
pub mod poa;
mod pos;
mod pos_rewards;
pub mod raft;
mod registry;
mod state;
mod supply;
mod unique;
mod weights;

use crate::{
    consensus::{BlockId, ConsensusConfig, FinalityKind, Protocol},
    sim::network::{Network, replica::Replica, step::SimStep},
};

pub use absences::JustAbsences;
pub use accountable::AccountableSafety;
pub use agreement::{Agreement, FinalityIrreversible};
pub use governance::ProposalsDecided;
pub use honesty::NoFalseAccusation;
pub use locked::MembersAreLocked;
pub use parameters::ParametersInForce;
pub use permissions::PermissionsRespected;
pub use pos::{FairForkChoice, HonestStake, JustifiedFinality};
pub use pos_rewards::RewardedVotes;
pub use registry::MembersByContract;
pub use state::StateRoots;
pub use supply::SupplyConserved;
pub use unique::unique;
pub use weights::WeightsOfKeys;

pub use super::violation::Violation;
pub use crate::sim::network::invariant::{CloneInvariant, Invariant};

/// Returns the invariants of every protocol.
pub fn generic() -> Vec<Box<dyn Invariant>> {
    vec![
        Box::new(Agreement::default()),
        Box::new(FinalityIrreversible::default()),
        Box::new(StateRoots::default()),
        Box::new(NoFalseAccusation::default()),
        Box::new(SupplyConserved::default()),
        Box::new(ParametersInForce::default()),
        Box::new(WeightsOfKeys::default()),
        Box::new(MembersAreLocked::default()),
        Box::new(MembersByContract::default()),
        Box::new(ProposalsDecided::default()),
        Box::new(PermissionsRespected::default()),
    ]
}

/// Returns the invariants of a protocol: accountability where it applies, the generic ones, then those that only it has. Of a protocol of
/// one's own these are the generic ones.
pub fn of_protocol(config: &ConsensusConfig) -> Vec<Box<dyn Invariant>> {
    let mut all: Vec<Box<dyn Invariant>> = Vec::new();
    if let ConsensusConfig::Pos(_) = config {
        all.push(Box::new(AccountableSafety::default()));
    }
    all.extend(generic());
    all.extend(special(config));
    all
}

/// Returns the invariants that only this protocol has.
fn special(config: &ConsensusConfig) -> Vec<Box<dyn Invariant>> {
    match config {
        ConsensusConfig::Poa(_) => {
            vec![Box::new(poa::NoDoubleSealing::default()), Box::new(clique::CliqueReferenceMatch::default())]
        }
        ConsensusConfig::Raft(_) => vec![
            Box::new(raft::ElectionSafety::default()),
            Box::new(raft::LogMatching::default()),
            Box::new(raft::CommittedEntriesPersist::default()),
        ],
        ConsensusConfig::Pbft(_) => {
            vec![
                Box::new(pbft::PreparedUnique::default()),
                Box::new(pbft::Watermarks::default()),
                Box::new(JustAbsences::default()),
            ]
        }
        ConsensusConfig::Pos(_) => {
            let mut all = pos::all();
            all.push(Box::new(RewardedVotes::default()));
            all
        }
        ConsensusConfig::Dpos(_) => {
            vec![Box::new(dpos::ConfirmationsConsistent::default()), Box::new(dpos::Schedules::default())]
        }
        ConsensusConfig::Own(_) => Vec::new(),
    }
}

/// Returns the newest block that a replica never reverts. Finality by depth is advisory; there it is the block at the height below
/// which the replica reverts nothing.
pub(crate) fn promised(replica: &Replica) -> Option<BlockId> {
    let finality = replica.protocol().finality();
    match finality.kind {
        FinalityKind::Depth => {
            let height = finality.irreversible;
            Some(BlockId { height, hash: replica.chain().hash_at(height).ok()? })
        }
        _ => Some(finality.finalized),
    }
}

/// Returns the replica of a step, if it is honest.
pub(crate) fn honest<'a>(network: &'a Network, step: &SimStep) -> Option<&'a Replica> {
    let replica = network.replica(step.replica).ok()?;
    network.is_honest(step.replica).then_some(replica)
}
