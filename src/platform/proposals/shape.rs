//! What is shown of a proposal.

use alloy_primitives::Address;

use super::{id::ProposalId, spec};
use crate::{
    primitives::{Height, Timestamp, Transaction},
    system::governance::{ProposalAction, ProposalRecord, ProposalState, Tally},
};

/// State of a proposal: one that no block has is pending, all others have the contract's states.
///
/// | from | by | to |
/// |---|---|---|
/// | pending | a block | active |
/// | active | the end of its period, by the votes | passed, rejected, vetoed, expired |
/// | active | its proposer, before the first vote | canceled |
/// | passed | its execution, in the same block | executed, failed |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProposalStatus {
    /// Its transaction waits in the pool.
    Pending,
    /// What the contract says.
    OnChain(ProposalState),
}

impl ProposalStatus {
    /// Name of the state.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::OnChain(state) => state.name(),
        }
    }
}

/// A proposal at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Proposal {
    /// Its id.
    pub id: ProposalId,
    /// Its number in the contract; `None` while it is pending.
    pub number: Option<u64>,
    /// Its state.
    pub status: ProposalStatus,
    /// Who proposed it.
    pub proposer: Address,
    /// What it does once it has passed.
    pub action: ProposalAction,
    /// Title.
    pub title: String,
    /// Description.
    pub description: String,
    /// What the contract says of its votes; `None` while it is pending.
    pub voting: Option<Voting>,
}

/// The votes on a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Voting {
    /// Height of its block.
    pub height: Height,
    /// Time of its block.
    pub submitted_at: Timestamp,
    /// Time from which no votes are taken.
    pub ends_at: Timestamp,
    /// Part of all weight that must vote, in thousandths.
    pub quorum_permille: u16,
    /// Part of the votes without abstentions above which those in favour must be, in thousandths.
    pub threshold_permille: u16,
    /// Weight that voted, by option.
    pub tally: Tally,
    /// All weight that may vote.
    pub total_weight: u128,
    /// Height and time of its last transition; `None` while it is active.
    pub finalized: Option<(Height, Timestamp)>,
    /// Revert data of a failed execution.
    pub failure: Option<alloy_primitives::Bytes>,
}

impl Proposal {
    pub(super) fn of(id: ProposalId, record: ProposalRecord) -> Self {
        let voting = Voting {
            height: record.height,
            submitted_at: record.submitted_at,
            ends_at: record.ends_at,
            quorum_permille: record.rules.quorum_permille,
            threshold_permille: record.rules.threshold_permille,
            tally: record.tally,
            total_weight: record.total_weight,
            finalized: record.finalized,
            failure: record.failure,
        };
        Self {
            id,
            number: Some(record.id),
            status: ProposalStatus::OnChain(record.state),
            proposer: record.proposer,
            action: record.action,
            title: record.title,
            description: record.description,
            voting: Some(voting),
        }
    }

    /// Reads a transaction that waits; `None` for one that proposes nothing.
    pub(super) fn pending(id: ProposalId, transaction: &Transaction) -> Option<Self> {
        let (terms, action) = spec::read_call(transaction.input())?;
        Some(Self {
            id,
            number: None,
            status: ProposalStatus::Pending,
            proposer: transaction.sender(),
            action,
            title: terms.title,
            description: terms.description,
            voting: None,
        })
    }
}
