//! Checkpoints: going back to an earlier state of the same network after a failure, without the store.

use super::{Network, records::Waiting};

/// A network at one moment, with the records that wait to be written. Taken in constant time.
#[derive(Debug)]
pub(crate) struct NetworkCheckpoint {
    network: Network,
    waiting: Option<Waiting>,
}

impl NetworkCheckpoint {
    /// The network as it was.
    pub(crate) const fn network(&self) -> &Network {
        &self.network
    }
}

impl Network {
    /// Returns whether the primary's chain and all replicas' records are kept on a durable store.
    pub(crate) fn is_durable(&self) -> bool {
        self.primary().durable.is_some()
    }

    pub(crate) fn checkpoint(&self) -> NetworkCheckpoint {
        let waiting = self.primary().durable.as_ref().map(|durable| durable.waiting_now());
        NetworkCheckpoint { network: self.clone(), waiting }
    }

    /// Goes back to a checkpoint, in memory alone, and returns the network as it was. What that one has written stays written
    /// until [`Network::restore`] takes the store back, too.
    pub(crate) fn roll_back(&mut self, checkpoint: NetworkCheckpoint) -> Self {
        let NetworkCheckpoint { network, waiting } = checkpoint;
        if let (Some(durable), Some(waiting)) = (&self.primary().durable, waiting) {
            durable.roll_back(waiting);
        }
        core::mem::replace(self, network)
    }
}
