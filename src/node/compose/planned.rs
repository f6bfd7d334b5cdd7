//! A plan of a dApp as callers have it: the transaction that deploys it, and where its contracts will be.

use std::collections::BTreeMap;

use alloy_sol_types::SolCall;

use super::{error::ComposeError, plan::Plan};
use crate::{
    chain::CallRequest,
    node::BulkError,
    primitives::Address,
    templates::{
        BATCH_ADDRESS,
        batch::{Operation, interface::Batch},
    },
};

/// Who deploys a dApp, and what the addresses and times of its contracts follow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DappDeployer {
    pub(super) address: Address,
    pub(super) nonce: Option<u64>,
    pub(super) block_time_secs: Option<u64>,
}

impl DappDeployer {
    /// An account that deploys by its next transaction, with the block time that the chain's last blocks show.
    pub const fn new(address: Address) -> Self {
        Self { address, nonce: None, block_time_secs: None }
    }

    /// Deploys by the transaction with this nonce.
    #[must_use]
    pub const fn with_nonce(self, nonce: u64) -> Self {
        Self { nonce: Some(nonce), ..self }
    }

    /// Counts times in blocks of so many seconds.
    #[must_use]
    pub const fn with_block_time(self, secs: u64) -> Self {
        Self { block_time_secs: Some(secs), ..self }
    }
}

/// What deploys a dApp, and where its contracts will be. It holds for one sender and nonce.
#[derive(Clone, Debug)]
pub struct DappPlan {
    pub(super) from: Address,
    pub(super) nonce: u64,
    pub(super) plan: Plan,
}

impl DappPlan {
    /// Address of each component's contract, in their order.
    pub fn components(&self) -> &[Address] {
        &self.plan.components
    }

    /// Addresses by name: of components, and of price feeds by their path.
    pub const fn addresses(&self) -> &BTreeMap<String, Address> {
        &self.plan.addresses
    }

    /// Returns the transaction that deploys all of it: a call of the contract `batch`, with sender and nonce.
    pub fn request(&self) -> CallRequest {
        let input = Batch::executeCall { operations: self.operations() }.abi_encode();
        CallRequest { nonce: Some(self.nonce), ..CallRequest::call(BATCH_ADDRESS, input).with_from(self.from) }
    }

    pub(super) fn operations(&self) -> Vec<Operation> {
        self.plan.steps.iter().map(|step| step.operation.clone()).collect()
    }

    /// Names the step that failed.
    pub(super) fn failure(&self, error: BulkError) -> ComposeError {
        match error {
            BulkError::Operation { index, source } => {
                let step = self.plan.steps.get(index).map(|step| step.purpose.clone()).unwrap_or_default();
                ComposeError::Step { step, source }
            }
            other => ComposeError::Bulk(other),
        }
    }
}
