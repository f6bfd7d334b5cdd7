//! What must hold at every moment of a run, whatever goes wrong.
//!
//! An [`Invariant`] is asked after every step and looks at what the step changed. A network that was built with invariants
//! ([`NetworkBuilder::with_invariants`](crate::sim::NetworkBuilder::with_invariants)) stops at the first that does not hold, with
//! [`NetworkError::Violated`](crate::sim::NetworkError::Violated).

mod accountable;
mod agreement;
mod clique;
pub mod dpos;
mod honesty;
pub mod pbft;
pub mod poa;
mod pos;
pub mod raft;
mod state;
mod supply;

use core::fmt;
use std::borrow::Cow;

use crate::{
    consensus::{BlockId, ConsensusConfig, FinalityKind, Protocol},
    sim::network::{Network, replica::Replica, step::SimStep},
};

pub use accountable::AccountableSafety;
pub use agreement::{Agreement, FinalityIrreversible};
pub use honesty::NoFalseAccusation;
pub use pos::{FairForkChoice, HonestStake, JustifiedFinality};
pub use state::StateRoots;
pub use supply::SupplyConserved;

pub use super::violation::Violation;

/// Something that must always hold.
///
/// Its cost must follow what a step changed, never the length of the chain. It judges honest replicas only
/// ([`Network::is_honest`]): those that misbehave may claim anything.
pub trait Invariant: CloneInvariant + fmt::Debug + Send + Sync {
    /// Its name, in kebab case, as reports and regression files have it.
    fn name(&self) -> &'static str;

    /// Every name that its violations may have: its own, unless it checks several things at one go.
    fn names(&self) -> Vec<&'static str> {
        vec![self.name()]
    }

    /// Looks at what `step` changed.
    ///
    /// # Errors
    /// A [`Violation`] when it does not hold.
    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation>;
}

/// Lets boxed invariants be cloned with their network; implemented for every invariant that is `Clone`.
pub trait CloneInvariant {
    /// A clone in a box.
    fn boxed(&self) -> Box<dyn Invariant>;
}

impl<T: Invariant + Clone + 'static> CloneInvariant for T {
    fn boxed(&self) -> Box<dyn Invariant> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Invariant> {
    fn clone(&self) -> Self {
        self.as_ref().boxed()
    }
}

impl Violation {
    /// `invariant` is broken now, in the way that `detail` says.
    pub fn new(invariant: &'static str, network: &Network, detail: impl Into<String>) -> Self {
        Self { invariant: Cow::Borrowed(invariant), at: network.now(), step: network.steps(), detail: detail.into() }
    }
}

/// What must hold of every protocol.
pub fn generic() -> Vec<Box<dyn Invariant>> {
    vec![
        Box::new(Agreement::default()),
        Box::new(FinalityIrreversible::default()),
        Box::new(StateRoots::default()),
        Box::new(NoFalseAccusation::default()),
        Box::new(SupplyConserved::default()),
    ]
}

/// What must hold of this protocol: what explains a broken agreement, the generic ones, then its own.
pub fn of_protocol(config: &ConsensusConfig) -> Vec<Box<dyn Invariant>> {
    let mut all: Vec<Box<dyn Invariant>> = Vec::new();
    if let ConsensusConfig::Pos(_) = config {
        all.push(Box::new(AccountableSafety::default()));
    }
    all.extend(generic());
    all.extend(special(config));
    all
}

/// What must hold of this protocol beside what holds of all.
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
            vec![Box::new(pbft::PreparedUnique::default()), Box::new(pbft::Watermarks::default())]
        }
        ConsensusConfig::Pos(_) => pos::all(),
        ConsensusConfig::Dpos(_) => {
            vec![Box::new(dpos::ConfirmationsConsistent::default()), Box::new(dpos::Schedules::default())]
        }
    }
}

/// The newest block that a replica promises never to take back. Finality by depth is advice; what counts there is the
/// height below which the replica takes nothing back.
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

/// The replica that a step was of, when it is honest and runs.
pub(crate) fn honest<'a>(network: &'a Network, step: &SimStep) -> Option<&'a Replica> {
    let replica = network.replica(step.replica).ok()?;
    network.is_honest(step.replica).then_some(replica)
}
