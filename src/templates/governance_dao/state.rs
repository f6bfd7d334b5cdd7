//! State variables.

use alloy_primitives::aliases::U48;

use super::IMMUTABLES;
use crate::{
    templates::common::{Bytes32Deque, Domain, Eip712, Nonces, Trace208},
    vm::contract::*,
};

storage! {
    /// State variables, in solc's order.
    pub(super) contract GovernorStorage {
        eip712: Eip712,
        pub(super) nonces: Nonces,
        pub(super) name: Slot<String>,
        pub(super) proposals: Mapping<U256, ProposalCore>,
        /// Hashes of the calls of the governor itself in the proposal that is executed.
        pub(super) governance_call: Bytes32Deque,
        pub(super) proposal_threshold: Slot<U256>,
        pub(super) voting_delay: Slot<U48>,
        pub(super) voting_period: Slot<u32>,
        pub(super) proposal_votes: Mapping<U256, ProposalVote>,
        /// In the order of their creation.
        pub(super) proposal_ids: Array<U256>,
        pub(super) proposal_details: Mapping<U256, ProposalDetails>,
        pub(super) quorum_numerator_history: Trace208,
        pub(super) timelock: Slot<Address>,
        /// Ids that queued proposals have in the timelock.
        pub(super) timelock_ids: Mapping<U256, B256>,
    }
}

storage! {
    /// What Solidity would put into the code.
    pub(super) contract GovernorImmutables layout at IMMUTABLES {
        pub(super) token: Slot<Address>,
    }
}

storage! {
    /// A proposal.
    pub(super) struct ProposalCore {
        pub(super) proposer: Slot<Address>,
        vote_start: Slot<U48>,
        vote_duration: Slot<u32>,
        executed: Slot<bool>,
        canceled: Slot<bool>,
        pub(super) eta_seconds: Slot<U48>,
    }
}

record! {
    /// The first slot of a proposal.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Head {
        pub(super) proposer: Address,
        /// Moment at which votes are counted, after which voting starts; 0 for a proposal that there is not.
        pub(super) vote_start: U48,
        pub(super) vote_duration: u32,
        pub(super) executed: bool,
        pub(super) canceled: bool,
    }
}

storage! {
    /// Votes that were cast.
    pub(super) struct ProposalVote {
        pub(super) against_votes: Slot<U256>,
        pub(super) for_votes: Slot<U256>,
        pub(super) abstain_votes: Slot<U256>,
        pub(super) has_voted: Mapping<Address, bool>,
    }
}

storage! {
    /// What a proposal is to do.
    pub(super) struct ProposalDetails {
        pub(super) targets: Array<Address>,
        pub(super) values: Array<U256>,
        pub(super) calldatas: Array<Bytes>,
        pub(super) description_hash: Slot<B256>,
    }
}

pub(super) const GOVERNOR: GovernorStorage = GovernorStorage::STATE;
pub(super) const FIXED: GovernorImmutables = GovernorImmutables::STATE;

/// Version of the governor and of its domain.
pub(super) const VERSION: &str = "1";

impl ProposalCore {
    /// The variables of the first slot at once.
    pub(super) const fn head(self) -> Slot<Head> {
        Slot::new(self.proposer.place())
    }
}

impl Head {
    /// Returns the last moment of voting (`proposalDeadline`).
    pub(super) fn deadline(self) -> Result<U48, Stop> {
        self.vote_start.add(U48::from(self.vote_duration))
    }
}

pub(super) fn domain(host: &mut Host<'_>) -> Result<Domain, Stop> {
    Ok(Domain { name: GOVERNOR.name.get(host)?, version: VERSION })
}
