//! Votes on proposals.

use std::collections::BTreeSet;

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{SolCall, SolEvent};

use super::{ProposalId, Proposals, unreadable};
use crate::{
    chain::{CallRequest, LogFilter},
    platform::{
        PlatformError,
        blockchains::{check_call, signed_call},
        context::audit,
        principal::Principal,
    },
    system::governance::{GOVERNANCE_ADDRESS, VoteOption, interface as sol},
};

/// Votes, with those that were changed, that are looked through for voters.
const EVENTS_MAX: usize = 10_000;

/// A vote to cast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VoteSpec {
    /// One that the service signs.
    Cast {
        /// What it is.
        option: VoteOption,
        /// The part of the voter's weight that it uses; all of it by default.
        weight: Option<U256>,
        /// Why; may be empty.
        reason: String,
        /// The voter; the default sender by default.
        from: Option<Address>,
    },
    /// One that somebody else has signed.
    Signed(Bytes),
}

/// A vote, as the chain has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Vote {
    /// Who voted.
    pub voter: Address,
    /// What it is.
    pub option: VoteOption,
    /// The part of the voter's weight that it uses.
    pub weight: u128,
    /// Height of its block.
    pub height: u64,
    /// Why; empty without a reason.
    pub reason: String,
    /// Hash of its transaction.
    pub transaction: B256,
}

impl Proposals<'_> {
    /// Votes on a proposal, in place of what the voter voted before. Returns the voter and the hash of the transaction.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] for a proposal that takes no votes, a voter without weight, more weight than the voter has, and what else
    /// the contract refuses; as [`Proposals::get`].
    pub fn vote(
        &self,
        principal: &Principal,
        id: &ProposalId,
        spec: &VoteSpec,
    ) -> Result<(Address, B256), PlatformError> {
        let (chain, proposal) = self.get(principal, id)?;
        self.governed(principal, chain.id())?;
        let Some(number) = proposal.number else {
            let message = format!("proposal {} is in no block yet: vote when it is active", id.text());
            return Err(PlatformError::Conflict { message });
        };
        let number = U256::from(number);
        let (option, weight, reason, from) = match spec {
            VoteSpec::Signed(raw) => {
                let selectors = [sol::voteCall::SELECTOR];
                let transaction = signed_call(raw, GOVERNANCE_ADDRESS, &selectors)?;
                let call = sol::voteCall::abi_decode(transaction.input());
                if call.map_or(true, |call| call.id != number) {
                    let expected = format!("a vote on the proposal with the number {number}");
                    return Err(PlatformError::field("signedTransaction", expected, "another call"));
                }
                let hash = self.chains.send_signed(principal, chain.id(), raw, (GOVERNANCE_ADDRESS, &selectors))?;
                return Ok((transaction.sender(), hash));
            }
            VoteSpec::Cast { option, weight, reason, from } => (*option, *weight, reason.clone(), *from),
        };
        let weight = weight.unwrap_or_default();
        let input = sol::voteCall { id: number, option: option.code(), weight, reason }.abi_encode();
        let request = CallRequest { from, ..CallRequest::call(GOVERNANCE_ADDRESS, input) };
        let request = self.with_sender(principal, &chain, request)?;
        let voter = request.sender();
        check_call(&chain, &request)?;
        let hash = self.chains.send_with(principal, chain.id(), request, |unit| {
            audit(unit, principal, "governance.vote", format!("proposal {}", id.text()))
        })?;
        Ok((voter, hash))
    }

    /// Returns the votes on a proposal that count, in ascending order of the voters.
    ///
    /// # Errors
    /// As [`Proposals::get`]; [`PlatformError::Pruned`] where the chain has forgotten blocks since the proposal's.
    pub fn votes(&self, principal: &Principal, id: &ProposalId) -> Result<Vec<Vote>, PlatformError> {
        let (chain, proposal) = self.get(principal, id)?;
        let (Some(number), Some(voting)) = (proposal.number, proposal.voting) else { return Ok(Vec::new()) };
        let view = chain.node().view();
        let filter = LogFilter {
            from: voting.height,
            to: view.head().height(),
            addresses: vec![GOVERNANCE_ADDRESS],
            topics: vec![vec![sol::VoteCast::SIGNATURE_HASH], vec![U256::from(number).into()]],
        };
        let logs = view.logs(&filter, EVENTS_MAX).map_err(PlatformError::from_query)?;
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        // The newest of each voter counts.
        for located in logs.iter().rev() {
            let Ok(cast) = sol::VoteCast::decode_log(&located.log) else { continue };
            if !seen.insert(cast.voter) {
                continue;
            }
            let vote = view.chain().vote_of(view.head(), number, cast.voter).map_err(unreadable)?;
            if let Some(vote) = vote {
                found.push(Vote {
                    voter: cast.voter,
                    option: vote.option,
                    weight: vote.weight,
                    height: vote.height.get(),
                    reason: cast.reason.clone(),
                    transaction: located.transaction_hash,
                });
            }
        }
        found.sort_unstable_by_key(|vote| vote.voter);
        Ok(found)
    }
}
