//! Votes that are cast, and counted in favour, against or in abstention.

use alloy_primitives::{LogData, b256};

use super::{
    interface::{self as sol, ProposalState},
    proposals::expect_state,
    state::{GOVERNOR, domain},
    voting_power::get_votes,
};
use crate::{templates::common::signature_checker::is_valid_signature_now, vm::contract::*};

/// `Ballot(uint256 proposalId,uint8 support,address voter,uint256 nonce)`
pub(super) const BALLOT_TYPE: B256 = b256!("f2aad550cf55f045cb27e9c559f9889fdfb6e6cdaa032301d6ea397784ae51d7");

/// `ExtendedBallot(uint256 proposalId,uint8 support,address voter,uint256 nonce,string reason,bytes params)`
pub(super) const EXTENDED_BALLOT_TYPE: B256 = b256!("3e83946653575f9a39005e1545185629e92736b7528ab20ca3816f315424a811");

/// A vote: on what, by whom, and how.
#[derive(Clone, Debug)]
pub(super) struct Ballot {
    pub(super) proposal_id: U256,
    pub(super) voter: Address,
    /// 0 against, 1 in favour, 2 abstaining.
    pub(super) support: u8,
    /// Text, which need not be UTF-8.
    pub(super) reason: Bytes,
    /// Bytes that this way of counting has no use for, and events repeat.
    pub(super) params: Bytes,
}

impl Ballot {
    /// Creates a ballot without reason and further parameters.
    pub(super) const fn plain(proposal_id: U256, voter: Address, support: u8) -> Self {
        Self { proposal_id, voter, support, reason: Bytes::new(), params: Bytes::new() }
    }

    /// Counts the vote and returns its weight (`_castVote`).
    pub(super) fn cast(&self, host: &mut Host<'_>) -> Result<U256, Stop> {
        let head = expect_state(host, self.proposal_id, &[ProposalState::Active])?;
        let weight = get_votes(host, self.voter, U256::from(head.vote_start))?;
        self.count(host, weight)?;
        self.emit(host, weight)?;
        Ok(weight)
    }

    /// `_countVote(proposalId, account, support, totalWeight, params)`
    fn count(&self, host: &mut Host<'_>, weight: U256) -> Result<(), Stop> {
        let votes = GOVERNOR.proposal_votes.at(host, self.proposal_id)?;
        let has_voted = votes.has_voted.at(host, self.voter)?;
        require(!has_voted.get(host)?, sol::GovernorAlreadyCastVote { voter: self.voter })?;
        has_voted.overwrite(host, true)?;
        match self.support {
            0 => votes.against_votes.add(host, weight),
            1 => votes.for_votes.add(host, weight),
            2 => votes.abstain_votes.add(host, weight),
            _ => Err(revert(&sol::GovernorInvalidVoteType {})),
        }
    }

    fn emit(&self, host: &mut Host<'_>, weight: U256) -> Result<(), Stop> {
        let Self { proposal_id, voter, reason, params, .. } = self.clone();
        let support = U256::from(self.support);
        let (topic, data) = if params.is_empty() {
            (sol::VoteCast::SIGNATURE_HASH, (proposal_id, support, weight, reason).abi_encode_params())
        } else {
            let data = (proposal_id, support, weight, reason, params).abi_encode_params();
            (sol::VoteCastWithParams::SIGNATURE_HASH, data)
        };
        host.log(LogData::new_unchecked(vec![topic, voter.into_word()], data.into()))
    }

    /// Refuses a signature that is not the voter's, whose nonce it uses (`_validateVoteSig`).
    pub(super) fn check_signature(&self, host: &mut Host<'_>, signature: &Bytes) -> Result<(), Stop> {
        let nonce = GOVERNOR.nonces.use_nonce(host, self.voter)?;
        let message = (BALLOT_TYPE, self.proposal_id, U256::from(self.support), self.voter, nonce).abi_encode();
        self.check_signed(host, &message, signature)
    }

    /// As [`Ballot::check_signature`], of a signature that covers reason and parameters too (`_validateExtendedVoteSig`).
    pub(super) fn check_extended_signature(&self, host: &mut Host<'_>, signature: &Bytes) -> Result<(), Stop> {
        let nonce = GOVERNOR.nonces.use_nonce(host, self.voter)?;
        let (reason, params) = (host.keccak(&self.reason)?, host.keccak(&self.params)?);
        let support = U256::from(self.support);
        let message = (EXTENDED_BALLOT_TYPE, self.proposal_id, support, self.voter, nonce, reason, params);
        self.check_signed(host, &message.abi_encode(), signature)
    }

    fn check_signed(&self, host: &mut Host<'_>, message: &[u8], signature: &Bytes) -> Result<(), Stop> {
        let message = host.keccak(message)?;
        let hash = domain(host)?.hash_typed_data(host, message)?;
        let is_valid = is_valid_signature_now(host, self.voter, hash, signature)?;
        require(is_valid, sol::GovernorInvalidSignature { voter: self.voter })
    }
}
