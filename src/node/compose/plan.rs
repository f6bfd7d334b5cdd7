//! A plan of a dApp: what is done, in order, and where its contracts will be.

use std::collections::BTreeMap;

use crate::{primitives::Address, templates::batch::Operation};

/// Who deploys, and when: what the addresses of new contracts follow from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deployer {
    pub(super) address: Address,
    /// Nonce of the transaction.
    pub(super) nonce: u64,
    /// Seconds that a block takes, where that is known.
    pub(super) block_time_secs: Option<u64>,
}

/// One operation, and what it is for.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) operation: Operation,
    /// The component and what is done, in words.
    pub(super) purpose: String,
}

/// What is to be done, and where the contracts will be.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    /// Addresses by name.
    pub(super) addresses: BTreeMap<String, Address>,
    /// Address of each component's contract.
    pub(super) components: Vec<Address>,
}
