//! Stopping and starting a replica, as an operator does with its process.

use super::{
    Network,
    error::{NetworkError, UnknownReplica},
    replica::process::ProcessState,
};
use crate::consensus::ReplicaId;

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

    /// Starts a stopped replica from its durable records; it then catches up from the others.
    ///
    /// # Errors
    /// [`StopError::UnknownReplica`], [`StopError::NotStopped`], and as [`Network::step`].
    pub fn start_replica(&mut self, replica: ReplicaId) -> Result<(), StopError> {
        if self.replica(replica)?.process() != ProcessState::Down {
            return Err(StopError::NotStopped { replica });
        }
        self.restart(replica)?;
        Ok(())
    }
}
