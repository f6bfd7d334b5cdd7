//! Votes on proposals.

use std::collections::BTreeSet;

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{SolCall, SolEvent};

use super::{Proposal, ProposalId, Proposals, unreadable};
use crate::{
    chain::{CallRequest, LogFilter},
    platform::{
        PlatformError,
        blockchain::Blockchain,
        blockchains::{Outgoing, signed_call},
        context::audit,
        contract_events::EVENTS_MAX,
        principal::Principal,
    },
    system::governance::{GOVERNANCE_ADDRESS, VoteOption, interface as sol},
};

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
    /// Votes on a proposal, in place of what the voter voted before, by a transaction under the id of the request
    /// ([`Blockchains::send_as`](crate::platform::Blockchains::send_as)). Returns the voter and the hash of the transaction.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] for a proposal that takes no votes, a voter without weight, more weight than the voter has, and what else
    /// the contract refuses; as [`Proposals::get`].
    pub fn vote(
        &self,
        principal: &Principal,
        id: &ProposalId,
        request: &str,
        spec: &VoteSpec,
    ) -> Result<(Address, B256), PlatformError> {
        let (chain, proposal) = self.get(principal, id)?;
        self.governed(principal, chain.id())?;
        let make = || Ok((self.vote_call(principal, &chain, &proposal, spec)?, ()));
        let sent = self.chains.send_made(principal, (&chain, request), make, |unit, ()| {
            audit(unit, principal, "governance.vote", format!("proposal {}", id.text()))
        })?;
        Ok((sent.value.from, sent.value.hash))
    }

    /// Returns the transaction of a vote.
    fn vote_call(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        proposal: &Proposal,
        spec: &VoteSpec,
    ) -> Result<Outgoing, PlatformError> {
        let Some(number) = proposal.number else {
            let message = format!("proposal {} is in no block yet: vote when it is active", proposal.id.text());
            return Err(PlatformError::Conflict { message });
        };
        let number = U256::from(number);
        match spec {
            VoteSpec::Signed(raw) => {
                let transaction = signed_call(raw, GOVERNANCE_ADDRESS, &[sol::voteCall::SELECTOR])?;
                let call = sol::voteCall::abi_decode(transaction.input());
                if call.map_or(true, |call| call.id != number) {
                    let expected = format!("a vote on the proposal with the number {number}");
                    return Err(PlatformError::field("signedTransaction", expected, "another call"));
                }
                Ok(transaction.into())
            }
            VoteSpec::Cast { option, weight, reason, from } => {
                let (option, weight, reason) = (option.code(), weight.unwrap_or_default(), reason.clone());
                let input = sol::voteCall { id: number, option, weight, reason }.abi_encode();
                let request = CallRequest { from: *from, ..CallRequest::call(GOVERNANCE_ADDRESS, input) };
                Ok(self.with_sender(principal, chain, request)?.into())
            }
        }
    }

    /// Returns the votes on a proposal that count, in ascending order of the voters.
    ///
    /// # Errors
    /// As [`Proposals::get`]; [`PlatformError::Pruned`] where the chain has forgotten blocks since the proposal's;
    /// [`PlatformError::Conflict`] with more than 100,000 votes to look through, those that were changed among them.
    pub fn votes(&self, principal: &Principal, id: &ProposalId) -> Result<Vec<Vote>, PlatformError> {
        let (chain, proposal) = self.get(principal, id)?;
        let (Some(number), Some(voting)) = (proposal.number, proposal.voting) else { return Ok(Vec::new()) };
        let view = chain.node().view();
        let filter = LogFilter {
            from: voting.height,
            // Nobody votes after the end.
            to: voting.finalized.map_or_else(|| view.head().height(), |(height, _)| height),
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
