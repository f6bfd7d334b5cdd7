//! Reading the governance contract.

use alloy_primitives::{Address, U256};
use alloy_sol_types::SolCall;

use super::{Chain, executed_block::ExecutedBlock, spec::SystemContract, system_view::SystemViewError};
use crate::system::governance::{
    ProposalRecord, UpgradePlan, VoteRecord,
    interface::{powerOfCall, proposalCall, proposalCountCall, upgradePlanCall, voteOfCall},
};

impl Chain {
    /// Returns whether the chain has a governance contract.
    pub fn has_governance(&self) -> bool {
        self.spec().governance.is_some()
    }

    /// Calls a view function of the governance contract over the state after `block`.
    ///
    /// # Errors
    /// [`ReadError::Pruned`](super::ReadError::Pruned) for a pruned state, [`SystemViewError::Absent`] on a chain without governance,
    /// [`SystemViewError::Failed`] where the function reverts, as for an unknown proposal.
    pub fn governance_view<C: SolCall>(&self, block: &ExecutedBlock, view: &C) -> Result<C::Return, SystemViewError> {
        self.system_view(block, SystemContract::Governance, view)
    }

    /// Returns the proposals after `block` with the ids from `from` on, at most `count`.
    ///
    /// # Errors
    /// As [`Chain::governance_view`].
    pub fn proposals(
        &self,
        block: &ExecutedBlock,
        from: u64,
        count: u64,
    ) -> Result<Vec<ProposalRecord>, SystemViewError> {
        let last = self.governance_view(block, &proposalCountCall {})?.saturating_to::<u64>();
        let mut records = Vec::new();
        for id in (from.max(1)..=last).take(usize::try_from(count).unwrap_or(usize::MAX)) {
            // One at a time, for a call has no more gas than a block, of which the longest texts take a good part.
            let answer = self.governance_view(block, &proposalCall { id: U256::from(id) })?;
            records.extend(ProposalRecord::from_answer(answer));
        }
        Ok(records)
    }

    /// Returns a proposal after `block`; `None` where there is none with this id.
    ///
    /// # Errors
    /// As [`Chain::governance_view`].
    pub fn proposal(&self, block: &ExecutedBlock, id: u64) -> Result<Option<ProposalRecord>, SystemViewError> {
        let page = self.proposals(block, id, 1)?;
        Ok(page.into_iter().find(|proposal| proposal.id == id))
    }

    /// Returns an account's vote on a proposal after `block`; `None` where it has not voted.
    ///
    /// # Errors
    /// As [`Chain::governance_view`].
    pub fn vote_of(
        &self,
        block: &ExecutedBlock,
        proposal: u64,
        voter: Address,
    ) -> Result<Option<VoteRecord>, SystemViewError> {
        let vote = self.governance_view(block, &voteOfCall { id: U256::from(proposal), voter })?;
        Ok(VoteRecord::from_answer(&vote))
    }

    /// Returns the weight that an account may vote with on a proposal.
    ///
    /// # Errors
    /// As [`Chain::governance_view`].
    pub fn voting_power(&self, block: &ExecutedBlock, proposal: u64, voter: Address) -> Result<u128, SystemViewError> {
        self.governance_view(block, &powerOfCall { id: U256::from(proposal), voter })
    }

    /// Returns the upgrade that waits for its height after `block`.
    ///
    /// # Errors
    /// As [`Chain::governance_view`].
    pub fn upgrade_plan(&self, block: &ExecutedBlock) -> Result<Option<UpgradePlan>, SystemViewError> {
        Ok(UpgradePlan::from_answer(self.governance_view(block, &upgradePlanCall {})?))
    }
}
