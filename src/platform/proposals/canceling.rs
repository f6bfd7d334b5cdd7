//! Withdrawal of a proposal by its proposer.

use alloy_primitives::{B256, Bytes, U256};
use alloy_sol_types::SolCall;

use super::{Proposal, ProposalId, Proposals};
use crate::{
    platform::{
        PlatformError,
        blockchain::Blockchain,
        blockchains::{Outgoing, signed_by},
        context::audit,
        principal::Principal,
    },
    system::governance::{GOVERNANCE_ADDRESS, interface as sol},
};

impl Proposals<'_> {
    /// Withdraws a proposal on which nobody has voted, by a transaction of its proposer under the id of the request
    /// ([`Blockchains::send_as`](crate::platform::Blockchains::send_as)): one that the service signs for a wallet of the workspace, or one
    /// that was signed elsewhere. Returns its hash.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] for one that is not open or has votes, and for a proposer for whom the service does not sign;
    /// [`PlatformError::Validation`] for another signed transaction, and for one of somebody else; as [`Proposals::get`].
    pub fn cancel(
        &self,
        principal: &Principal,
        id: &ProposalId,
        request: &str,
        signed: Option<&Bytes>,
    ) -> Result<B256, PlatformError> {
        let (chain, proposal) = self.get(principal, id)?;
        self.governed(principal, chain.id())?;
        let make = || Ok((self.cancellation(principal, &chain, &proposal, signed)?, ()));
        let sent = self.chains.send_made(principal, (&chain, request), make, |unit, ()| {
            audit(unit, principal, "governance.cancel", format!("proposal {}", id.text()))
        })?;
        Ok(sent.value.hash)
    }

    /// Returns the transaction that withdraws a proposal.
    fn cancellation(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        proposal: &Proposal,
        signed: Option<&Bytes>,
    ) -> Result<Outgoing, PlatformError> {
        let Some(number) = proposal.number.map(U256::from) else {
            let message = format!("proposal {} is in no block yet: cancel it when it is active", proposal.id.text());
            return Err(PlatformError::Conflict { message });
        };
        let proposer = (proposal.proposer, GOVERNANCE_ADDRESS);
        let call = sol::cancelCall { id: number }.abi_encode();
        let Some(raw) = signed else { return self.chains.call_of(principal, chain, proposer, call) };
        let transaction = signed_by(raw, proposer, &[sol::cancelCall::SELECTOR])?;
        if **transaction.input() == *call {
            return Ok(transaction.into());
        }
        let expected = format!("a call of cancel of the proposal with the number {number}");
        Err(PlatformError::field("signedTransaction", expected, "another call"))
    }
}
