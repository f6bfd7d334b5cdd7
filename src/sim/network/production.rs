//! When blocks are made, and what a driver may choose about one that it orders.

use std::sync::Arc;

use crate::{
    chain::Intervention,
    primitives::{Gas, Timestamp, Transaction},
};

/// Who decides when a block is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Production {
    /// The protocol: a block is built as soon as it asks.
    #[default]
    Automatic,
    /// The driver, by [`Network::produce_block`](crate::sim::Network::produce_block).
    OnDemand,
}

/// How the next block is to be made, where the driver has a wish; everything else is as usual.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockOrder {
    /// Its time; by default the later of the earliest time allowed and the block clock.
    pub timestamp: Option<Timestamp>,
    /// Gas limit to move towards.
    pub gas_limit: Option<Gas>,
    /// Changes by hand that it records.
    pub interventions: Vec<Intervention>,
    /// Only these transactions, in this order, instead of the pool's best.
    pub transactions: Option<Vec<Arc<Transaction>>>,
}
