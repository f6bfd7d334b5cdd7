//! The moves of replicas' heads, logged for nodes that show them to readers.

use imbl::Vector;

use super::Network;
use crate::{chain::Chain, consensus::ReplicaId};

/// Most moves of one replica's head that are logged; past it the oldest are forgotten.
const HEAD_LOG_MAX: usize = 1_024;

/// A replica's chain after each move of its head; nothing unless it is switched on. Cloning is O(1).
#[derive(Clone, Debug, Default)]
pub(super) struct HeadLog(Option<Vector<Chain>>);

impl HeadLog {
    /// Logs a move to the head of `chain`.
    pub(super) fn add(&mut self, chain: &Chain) {
        let Some(log) = &mut self.0 else { return };
        log.push_back(chain.detached());
        if log.len() > HEAD_LOG_MAX {
            log.pop_front();
        }
    }

    fn switch_on(&mut self) {
        self.0.get_or_insert_default();
    }

    fn take(&mut self) -> Vector<Chain> {
        self.0.as_mut().map(core::mem::take).unwrap_or_default()
    }
}

impl Network {
    /// Logs the moves of every replica's head from now on.
    pub(crate) fn log_heads(&mut self) {
        self.replicas.iter_mut().for_each(|replica| replica.head_log_mut().switch_on());
    }

    /// Returns a replica's chain after each move of its head since the last call, oldest first, and forgets them.
    pub(crate) fn take_head_log(&mut self, replica: ReplicaId) -> Vector<Chain> {
        self.replica_mut(replica).map(|replica| replica.head_log_mut().take()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{primitives::Height, sim::NetworkBuilder};

    #[test]
    fn every_move_is_logged_once_up_to_the_bound_and_none_by_default() {
        let mut network = NetworkBuilder::default().with_validators(2).build().unwrap();
        network.run_to_height(Height::new(2)).unwrap();
        assert!(network.take_head_log(ReplicaId::new(1)).is_empty());
        network.log_heads();
        network.run_to_height(Height::new(5)).unwrap();
        let heights: Vec<u64> =
            network.take_head_log(ReplicaId::new(1)).iter().map(|chain| chain.head().height().get()).collect();
        assert_eq!(heights[..3], [3, 4, 5]);
        assert!(network.take_head_log(ReplicaId::new(1)).is_empty());
        let mut log = HeadLog(Some(Vector::new()));
        (0..=HEAD_LOG_MAX).for_each(|_| log.add(network.primary().chain()));
        assert_eq!(log.take().len(), HEAD_LOG_MAX);
    }
}
