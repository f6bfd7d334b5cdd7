//! Stopping and starting a replica, as an operator does with its process.

use super::{
    Network,
    envelope::Envelope,
    error::{NetworkError, UnknownReplica},
    replica::process::ProcessState,
};
use crate::consensus::{BlockId, Records, ReplicaId};

/// Why a replica was not stopped or started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StopError {
    /// No replica has this number.
    #[error(transparent)]
    UnknownReplica(#[from] UnknownReplica),
    /// It is to be stopped, and is.
    #[error("{replica} is stopped already")]
    AlreadyStopped {
        /// The replica.
        replica: ReplicaId,
    },
    /// It is to be started, and runs or is paused.
    #[error("{replica} is not stopped")]
    NotStopped {
        /// The replica.
        replica: ReplicaId,
    },
    /// It is to be stopped, and is the primary of a durable network.
    #[error(
        "{replica} is the one whose chain is stored and can't be stopped: make an observer the primary (`NetworkBuilder::with_primary`)"
    )]
    Primary {
        /// The replica.
        replica: ReplicaId,
    },
    /// It can't go on from its records.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

impl Network {
    /// Stops a replica as [`Network::crash`] does: memory and unfinished writes are lost, durable records stay.
    ///
    /// ```
    /// use chainbox::{consensus::ReplicaId, primitives::Height, sim::{Network, StopError}};
    /// let mut network = Network::builder().with_validators(4).build()?;
    /// let last = ReplicaId::new(3);
    /// network.stop_replica(last)?;
    /// assert!(matches!(network.stop_replica(last), Err(StopError::AlreadyStopped { .. })));
    /// network.start_replica(last)?;
    /// network.run_to_height(Height::new(5))?;
    /// # Ok::<(), StopError>(())
    /// ```
    ///
    /// # Errors
    /// [`StopError::UnknownReplica`], [`StopError::AlreadyStopped`], [`StopError::Primary`], and as [`Network::step`].
    pub fn stop_replica(&mut self, replica: ReplicaId) -> Result<(), StopError> {
        let found = self.replica(replica)?;
        if found.process() == ProcessState::Down {
            return Err(StopError::AlreadyStopped { replica });
        }
        if found.durable.as_ref().is_some_and(|durable| durable.primary() == replica) {
            return Err(StopError::Primary { replica });
        }
        self.crash(replica)?;
        Ok(())
    }

    /// Starts a stopped replica from its durable records; it then catches up from the others, and the primary sends it the transactions of its
    /// pool.
    ///
    /// # Errors
    /// [`StopError::UnknownReplica`], [`StopError::NotStopped`], and as [`Network::step`].
    pub fn start_replica(&mut self, replica: ReplicaId) -> Result<(), StopError> {
        if self.replica(replica)?.process() != ProcessState::Down {
            return Err(StopError::NotStopped { replica });
        }
        self.restart(replica)?;
        self.show_pool_to(replica);
        Ok(())
    }

    /// Starts a stopped replica at the primary's head, with the primary's records of the chain, as one that trusts a checkpoint. What it had
    /// is lost, so that it must be one that has never voted or sealed: a candidate that is about to become a validator. It need not fetch the
    /// chain, of which its peers may have pruned the start, and which proof of stake refuses to one that was away for long.
    ///
    /// # Errors
    /// As [`Network::start_replica`].
    pub fn start_replica_at_primary(&mut self, replica: ReplicaId) -> Result<(), StopError> {
        if self.replica(replica)?.process() != ProcessState::Down {
            return Err(StopError::NotStopped { replica });
        }
        let (chain, records) = (self.primary().chain().detached(), self.primary().records());
        let head = BlockId::of(chain.head().block());
        let (protocol, kept) = self.setup.recovered_at(&chain, head, replica, (&Records::new(), &records))?;
        let Some((process, env)) = self.slot_mut(replica) else { return Ok(()) };
        process.start_at(chain, protocol, &kept, env)?;
        self.show_pool_to(replica);
        Ok(())
    }

    /// Sends the transactions of the primary's pool to a replica that was started, in the order of their arrival. Its own pool is empty, and who
    /// gives a transaction to the network sends it once: what came while nobody else ran would be in no pool of a validator.
    fn show_pool_to(&mut self, replica: ReplicaId) {
        let primary = self.primary();
        let from = primary.id();
        if from == replica || primary.process() != ProcessState::Running {
            return;
        }
        let mut pooled = primary.pool().content();
        pooled.sort_by_key(|pooled| pooled.arrival);
        for pooled in pooled {
            self.env.send(from, replica, Envelope::Transaction(pooled.transaction));
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::{
        consensus::{ConsensusConfig, ConsensusKind, poa::PoaConfig, raft::RaftConfig},
        primitives::{Height, KeyPair},
        sim::network::builder::NetworkBuilder,
    };

    fn config(kind: ConsensusKind) -> ConsensusConfig {
        match kind {
            ConsensusKind::Poa => ConsensusConfig::Poa(PoaConfig::default()),
            ConsensusKind::Pos => ConsensusConfig::Pos(crate::consensus::pos::PosConfig::default()),
            ConsensusKind::Dpos => ConsensusConfig::Dpos(crate::consensus::dpos::DposConfig::default()),
            ConsensusKind::Pbft => ConsensusConfig::Pbft(crate::consensus::pbft::PbftConfig::default()),
            ConsensusKind::Raft => ConsensusConfig::Raft(RaftConfig::default()),
        }
    }

    #[test]
    fn a_candidate_that_was_down_starts_at_the_primarys_head_and_follows() {
        let key = KeyPair::from_seed(9, "a key of one's own");
        let (candidate, observer) = (ReplicaId::new(4), ReplicaId::new(5));
        for kind in ConsensusKind::ALL {
            let builder = NetworkBuilder::default().with_consensus(config(kind)).with_validators(4).with_observers(1);
            let mut network = builder.with_candidate_keys([key.clone()]).with_primary(observer).build().unwrap();
            assert_eq!(network.replicas()[4].address(), Some(key.address()), "{kind:?}");
            network.stop_replica(candidate).unwrap();
            let is_at = |replica: ReplicaId, height| {
                move |network: &Network| network.replicas()[replica.index()].head().height >= Height::new(height)
            };
            network.run_until(Duration::from_secs(3_600), is_at(observer, 20)).unwrap();
            assert_eq!(network.replicas()[4].head().height, Height::GENESIS, "{kind:?}");
            network.start_replica_at_primary(candidate).unwrap();
            assert_eq!(network.replicas()[4].head(), network.primary().head(), "{kind:?}");
            network.run_until(Duration::from_secs(3_600), is_at(candidate, 30)).unwrap();
            assert!(matches!(network.start_replica_at_primary(candidate), Err(StopError::NotStopped { .. })));
            // It goes on from its own records then, as any other.
            network.stop_replica(candidate).unwrap();
            network.run_until(Duration::from_secs(3_600), is_at(observer, 35)).unwrap();
            network.start_replica(candidate).unwrap();
            network.run_until(Duration::from_secs(3_600), is_at(candidate, 40)).unwrap();
        }
    }
}
