//! Types of events that are delivered.

use serde::{Deserialize, Serialize};

/// Type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum WebhookEvent {
    /// A block was added to a chain.
    BlockCreated,
    /// A transaction is in a block.
    TransactionConfirmed,
    /// A contract was deployed.
    ContractDeployed,
    /// A contract emitted an event.
    ContractEvent,
    /// A validator joined, left or changed its status.
    ValidatorStatusChanged,
    /// A proposal was made.
    ProposalCreated,
}

impl WebhookEvent {
    /// Every type.
    pub const ALL: [Self; 6] = [
        Self::BlockCreated,
        Self::TransactionConfirmed,
        Self::ContractDeployed,
        Self::ContractEvent,
        Self::ValidatorStatusChanged,
        Self::ProposalCreated,
    ];

    /// Name of the type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BlockCreated => "blockchain.block.created",
            Self::TransactionConfirmed => "blockchain.transaction.confirmed",
            Self::ContractDeployed => "contract.deployed",
            Self::ContractEvent => "contract.event.emitted",
            Self::ValidatorStatusChanged => "validator.status.changed",
            Self::ProposalCreated => "governance.proposal.created",
        }
    }
}
