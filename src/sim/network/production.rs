//! When blocks are made, and what a driver may choose about one that it orders.

use std::sync::Arc;

use crate::{
    chain::Intervention,
    primitives::{Gas, Timestamp, Transaction},
};

/// When blocks are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Production {
    /// As soon as the protocol requests one.
    #[default]
    Automatic,
    /// When the driver calls [`Network::produce_block`](crate::sim::Network::produce_block). The protocol's period is 0, as that
    /// of [`ConsensusKind::on_demand`](crate::consensus::ConsensusKind::on_demand).
    OnDemand,
}

/// Parameters of a block that is made on demand; the defaults are those of the protocol and the pool.
///
/// ```
/// use chainbox::{consensus::ConsensusKind, primitives::Timestamp, sim::{BlockOrder, Network, Production}};
/// let network = Network::builder().with_consensus(ConsensusKind::Poa.on_demand());
/// let mut network = network.with_production(Production::OnDemand).build()?;
/// let order = BlockOrder::new().with_timestamp(Timestamp::from_secs(60)).with_transactions([]);
/// assert_eq!(network.produce_block(&order)?.block.block().timestamp(), Timestamp::from_secs(60));
/// # Ok::<(), chainbox::sim::NetworkError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct BlockOrder {
    pub(super) timestamp: Option<Timestamp>,
    pub(super) gas_limit: Option<Gas>,
    pub(super) interventions: Vec<Intervention>,
    pub(super) transactions: Option<Vec<Arc<Transaction>>>,
}

impl BlockOrder {
    /// A block with every default.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the timestamp; by default the later of the earliest allowed one and the block clock.
    pub const fn with_timestamp(mut self, timestamp: Timestamp) -> Self {
        self.timestamp = Some(timestamp);
        self
    }

    /// Sets the gas limit that the block's moves towards.
    pub const fn with_gas_limit(mut self, gas_limit: Gas) -> Self {
        self.gas_limit = Some(gas_limit);
        self
    }

    /// Sets the interventions that the block records.
    pub fn with_interventions(mut self, interventions: impl IntoIterator<Item = Intervention>) -> Self {
        self.interventions = interventions.into_iter().collect();
        self
    }

    /// Sets the transactions and their order, in place of the pool's best.
    pub fn with_transactions(mut self, transactions: impl IntoIterator<Item = Arc<Transaction>>) -> Self {
        self.transactions = Some(transactions.into_iter().collect());
        self
    }
}
