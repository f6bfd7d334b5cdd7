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
    /// When the driver calls [`Network::produce_block`](crate::sim::Network::produce_block).
    OnDemand,
}

/// Options for the next block on demand; every absent one has the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockOrder {
    /// Timestamp; by default the later of the earliest allowed one and the block clock.
    pub timestamp: Option<Timestamp>,
    /// Gas limit to move towards.
    pub gas_limit: Option<Gas>,
    /// Interventions that the block records.
    pub interventions: Vec<Intervention>,
    /// Exactly these transactions, in this order, instead of the pool's best.
    pub transactions: Option<Vec<Arc<Transaction>>>,
}
