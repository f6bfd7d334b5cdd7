//! Reading the governance contract.

use alloy_primitives::{Address, U256};
use alloy_sol_types::SolCall;

use super::{Chain, executed_block::ExecutedBlock, spec::SystemContract, system_view::SystemViewError};
use crate::system::governance::{
    PAGE_MAX, ProposalRecord, UpgradePlan, VoteRecord,
    interface::{powerOfCall, proposalsCall, upgradePlanCall, voteOfCall},
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

    /// Returns the proposals after `block` with the ids from `from` on, at most `count` and [`PAGE_MAX`].
    ///
    /// # Errors
    /// As [`Chain::governance_view`].
    pub fn proposals(
        &self,
        block: &ExecutedBlock,
        from: u64,
        count: u64,
    ) -> Result<Vec<ProposalRecord>, SystemViewError> {
        let call = proposalsCall { from: U256::from(from), count: U256::from(count.min(PAGE_MAX)) };
        let answers = self.governance_view(block, &call)?;
        Ok(answers.into_iter().filter_map(ProposalRecord::from_answer).collect())
    }

    /// Returns a proposal after `block`; `None` where there is none with this id.
    ///
    /// # Errors
    /// As [`Chain::governance_view`].
    pub fn proposal(&self, block: &ExecutedBlock, id: u64) -> Result<Option<ProposalRecord>, SystemViewError> {
        let page = self.proposals(block, id.max(1), 1)?;
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
