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
    /// [`WebhookEvent::TransactionConfirmed`], under its short name: subscribers get the name under which they subscribed.
    ShortTransactionConfirmed,
}

impl WebhookEvent {
    /// Every type, each under one name.
    pub const ALL: [Self; 6] = [
        Self::BlockCreated,
        Self::TransactionConfirmed,
        Self::ContractDeployed,
        Self::ContractEvent,
        Self::ValidatorStatusChanged,
        Self::ProposalCreated,
    ];

    /// Returns the type under the name that it has in [`WebhookEvent::ALL`].
    #[must_use]
    pub const fn canonical(self) -> Self {
        match self {
            Self::ShortTransactionConfirmed => Self::TransactionConfirmed,
            other => other,
        }
    }

    /// Name of the type, as a subscription spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BlockCreated => "blockchain.block.created",
            Self::TransactionConfirmed => "blockchain.transaction.confirmed",
            Self::ContractDeployed => "contract.deployed",
            Self::ContractEvent => "contract.event.emitted",
            Self::ValidatorStatusChanged => "validator.status.changed",
            Self::ProposalCreated => "governance.proposal.created",
            Self::ShortTransactionConfirmed => "transaction.confirmed",
        }
    }
}
