//! Public records of proposals and votes.

use alloy_primitives::{Address, Bytes};

use super::{
    action::{ProposalAction, ProposalKind},
    interface as sol,
    outcome::{Tally, VoteOption, VotingRules},
    state::ProposalState,
};
use crate::primitives::{Height, Timestamp};

/// A proposal, as the contract has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProposalRecord {
    /// Id, from 1 on.
    pub id: u64,
    /// Who proposed it.
    pub proposer: Address,
    /// What it does once it has passed.
    pub action: ProposalAction,
    /// What has become of it.
    pub state: ProposalState,
    /// Title.
    pub title: String,
    /// Description.
    pub description: String,
    /// Height of its block; votes count by the weights before that block.
    pub height: Height,
    /// Time of its block.
    pub submitted_at: Timestamp,
    /// Time from which no votes are taken.
    pub ends_at: Timestamp,
    /// What it needs.
    pub rules: VotingRules,
    /// All weight that may vote on it.
    pub total_weight: u128,
    /// Weight that voted, by option.
    pub tally: Tally,
    /// Height and time of its last transition; `None` while it is active.
    pub finalized: Option<(Height, Timestamp)>,
    /// Revert data of a failed execution, cut off after some bytes.
    pub failure: Option<Bytes>,
}

impl ProposalRecord {
    /// Reads the contract's answer; `None` for what no version of the contract answers.
    pub fn from_answer(answer: sol::Proposal) -> Option<Self> {
        let state = ProposalState::from_code(answer.state)?;
        let finalized = (answer.finalizedHeight > 0)
            .then(|| (Height::new(answer.finalizedHeight), Timestamp::from_secs(answer.finalizedAt)));
        let sol::Votes { yes, abstain, no, veto } = answer.votes;
        Some(Self {
            id: answer.id.try_into().ok()?,
            proposer: answer.proposer,
            action: ProposalAction::from_payload(ProposalKind::from_code(answer.kind)?, &answer.payload)?,
            state,
            title: answer.title,
            description: answer.description,
            height: Height::new(answer.height),
            submitted_at: Timestamp::from_secs(answer.submittedAt),
            ends_at: Timestamp::from_secs(answer.endsAt),
            rules: VotingRules {
                quorum_permille: answer.quorumPermille,
                threshold_permille: answer.thresholdPermille,
                veto_permille: answer.vetoPermille,
            },
            total_weight: answer.totalWeight,
            tally: Tally { yes, abstain, no, veto },
            finalized,
            failure: (state == ProposalState::Failed).then_some(answer.failure),
        })
    }
}

/// One voter's vote on a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VoteRecord {
    /// What it is.
    pub option: VoteOption,
    /// The part of the voter's weight that it uses.
    pub weight: u128,
    /// Height of its block.
    pub height: Height,
}

impl VoteRecord {
    /// Reads the contract's answer; `None` where the account has not voted.
    pub fn from_answer(answer: &sol::Vote) -> Option<Self> {
        let option = VoteOption::from_code(answer.option)?;
        Some(Self { option, weight: answer.weight, height: Height::new(answer.height) })
    }
}

/// The upgrade that waits for its height.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpgradePlan {
    /// The proposal that scheduled it.
    pub proposal: u64,
    /// Name of the new version.
    pub name: String,
    /// Height from which it is to run.
    pub height: Height,
    /// What operators need.
    pub info: String,
}

impl UpgradePlan {
    /// Reads the contract's answer; `None` where none waits.
    pub fn from_answer(answer: sol::Plan) -> Option<Self> {
        let sol::Plan { proposal, name, height, info } = answer;
        (height > 0).then(|| Self { proposal: proposal.saturating_to(), name, height: Height::new(height), info })
    }
}
