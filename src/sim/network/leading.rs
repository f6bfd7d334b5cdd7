//! Who leads, as the replicas see it.

use super::Network;
use crate::{
    consensus::{ReplicaId, RoundStatus},
    primitives::Address,
};

impl Network {
    /// Returns the round that a replica is in, its role there and the leader that it knows; `None` for a protocol without rounds, or an
    /// unknown replica.
    ///
    /// ```
    /// use chainbox::{
    ///     consensus::{ConsensusConfig, PbftConfig, ReplicaId},
    ///     sim::Network,
    /// };
    /// let pbft = ConsensusConfig::Pbft(PbftConfig::default());
    /// let mut network = Network::builder().with_consensus(pbft).with_validators(4).build()?;
    /// let primary = network.round_status(ReplicaId::new(0)).and_then(|status| status.leader).expect("a view has a primary");
    /// network.crash(primary)?;
    /// # Ok::<(), chainbox::sim::NetworkError>(())
    /// ```
    pub fn round_status(&self, replica: ReplicaId) -> Option<RoundStatus> {
        let replica_of = |address: &Address| {
            self.replicas.iter().find(|replica| replica.address().as_ref() == Some(address)).map(|replica| replica.id())
        };
        let protocol = self.replicas.get(replica.index())?.protocol();
        protocol.round_status(replica, &replica_of)
    }
}
