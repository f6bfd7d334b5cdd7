//! The view of one replica of a network.

use std::sync::Arc;

use super::{Clock, ManualClock, Mining, NodeView, QueryError, head_switches::HeadSwitches, view::Settings};
use crate::{
    chain::{Chain, ReadError},
    consensus::{Protocol as _, ReplicaId},
    sim::{Network, Replica},
};

/// A replica as its readers see it.
pub(super) struct ReplicaView<'a> {
    pub(super) network: &'a Network,
    pub(super) replica: &'a Replica,
    pub(super) settings: Settings,
    pub(super) switches: HeadSwitches,
    pub(super) clock: Arc<dyn Clock>,
}

impl ReplicaView<'_> {
    /// The view of the replica's present chain.
    pub(super) fn now(self) -> Result<NodeView, ReadError> {
        let chain = self.replica.chain().clone();
        self.of(chain)
    }

    /// The view of a chain that the replica has or had.
    pub(super) fn of(self, chain: Chain) -> Result<NodeView, ReadError> {
        let Self { network, replica, settings, switches, clock } = self;
        let context = chain.pool_context()?;
        let validators = replica.protocol().validators();
        let next = network.next_attributes().unwrap_or_else(|| network.assumed_attributes(replica));
        let pool = replica.pool().clone();
        Ok(NodeView::new(chain, pool, context, validators, settings, switches, clock).with_next(next))
    }
}

impl Network {
    /// Returns what a replica has at this moment: balances, code, blocks, receipts, logs, calls and the rest of what a node's view
    /// reads. [`SharedNetwork`](crate::node::SharedNetwork) has nodes of replicas, which also send, and follow the network.
    ///
    /// ```
    /// use chainbox::{consensus::ReplicaId, node::BlockRef, primitives::{Height, ether}, sim::Network};
    /// let mut network = Network::builder().with_validators(4).with_dev_accounts(1).build()?;
    /// let alice = network.accounts().next().ok_or("there is one")?;
    /// network.run_to_height(Height::new(2))?;
    /// let view = network.view(ReplicaId::new(3))?;
    /// assert_eq!(view.balance(alice, BlockRef::Latest)?, ether(10_000));
    /// assert_eq!(view.block(BlockRef::Number(Height::new(2)))?.transactions().len(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`QueryError::UnknownReplica`]; [`QueryError::Chain`] when the state can't be read.
    pub fn view(&self, replica: ReplicaId) -> Result<NodeView, QueryError> {
        let replica = self.replica(replica)?;
        let settings = Settings { mining: Mining::Manual, ..Settings::default() };
        let clock = Arc::new(ManualClock::new(self.timestamp()));
        let view = ReplicaView { network: self, replica, settings, switches: HeadSwitches::default(), clock };
        Ok(view.now()?)
    }
}
