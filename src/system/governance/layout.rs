//! State variables of the contract.

use alloy_primitives::{Address, Bytes, U256};

use super::{
    interface as sol,
    outcome::{Tally, VotingRules},
    queue::Queue,
    state::{ProposalEvent, ProposalState},
};
use crate::vm::{
    Host, Stop,
    abi::revert,
    storage::{Mapping, Slot, record, storage},
};

storage! {
    /// State variables, in solc's order.
    pub(super) contract GovernanceStorage {
        pub(super) settings: Slot<Settings>,
        pub(super) agenda: Slot<Agenda>,
        /// Open proposals, by the end of their periods.
        pub(super) open: Queue,
        /// By id.
        pub(super) proposals: Mapping<u64, Proposal>,
        /// Validators of genesis, of a chain without stake.
        pub(super) voters: Mapping<Address, bool>,
        /// How many of them there are.
        pub(super) voter_count: Slot<u64>,
    }
}

/// The variables.
pub(super) const GOVERNANCE: GovernanceStorage = GovernanceStorage::STATE;

record! {
    /// Rules of the chain.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Settings {
        pub(super) has_stake: bool,
        pub(super) voting_period_secs: u32,
        pub(super) min_voting_period_secs: u32,
        pub(super) quorum_permille: u16,
        pub(super) threshold_permille: u16,
        pub(super) veto_permille: u16,
        pub(super) min_proposer_weight: u64,
        pub(super) max_open_proposals: u16,
    }
}

record! {
    /// What a block has to know to see that nothing is due: one slot.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Agenda {
        /// The first end of a period of the open proposals, in seconds since the Unix epoch; 0 without one.
        pub(super) next_end: u64,
        /// Height of the upgrade that waits; 0 without one.
        pub(super) upgrade_height: u64,
        /// The proposal that scheduled it.
        pub(super) upgrade: u64,
        /// Proposals so far, which is the last one's id.
        pub(super) count: u64,
    }
}

record! {
    /// A proposal's state, rules and times.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Head {
        pub(super) proposer: Address,
        pub(super) kind: u8,
        pub(super) state: u8,
        pub(super) quorum_permille: u16,
        pub(super) threshold_permille: u16,
        pub(super) veto_permille: u16,
        /// Height of its block; weights are those before.
        pub(super) height: u64,
        pub(super) submitted_at: u64,
        pub(super) ends_at: u64,
        pub(super) finalized_height: u64,
        pub(super) finalized_at: u64,
        /// All weight.
        pub(super) total: u128,
    }
}

record! {
    /// One voter's vote.
    #[derive(Clone, Copy, Debug, Default)]
    pub(super) struct Ballot {
        pub(super) weight: u128,
        pub(super) height: u64,
        /// 0 without a vote.
        pub(super) option: u8,
    }
}

storage! {
    /// A proposal.
    pub(super) struct Proposal {
        pub(super) head: Slot<Head>,
        pub(super) tally: Slot<Tally>,
        pub(super) title: Slot<String>,
        pub(super) description: Slot<String>,
        /// What its kind has besides, ABI-encoded.
        pub(super) payload: Slot<Bytes>,
        /// Revert data of a failed execution.
        pub(super) failure: Slot<Bytes>,
        /// By voter.
        pub(super) votes: Mapping<Address, Ballot>,
    }
}

impl Head {
    pub(super) fn state(&self) -> ProposalState {
        // Only states are stored.
        ProposalState::from_code(self.state).unwrap_or(ProposalState::Canceled)
    }

    pub(super) const fn rules(&self) -> VotingRules {
        let Self { quorum_permille, threshold_permille, veto_permille, .. } = *self;
        VotingRules { quorum_permille, threshold_permille, veto_permille }
    }

    /// Returns the height whose weights count.
    pub(super) const fn snapshot(&self) -> u64 {
        self.height.saturating_sub(1)
    }
}

/// A proposal in storage, with its head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) id: u64,
    pub(super) stored: Proposal,
    pub(super) head: Head,
}

impl Entry {
    /// Returns the proposal with this id.
    pub(super) fn load(host: &mut Host<'_>, id: U256) -> Result<Self, Stop> {
        let unknown = || revert(&sol::UnknownProposal { id });
        let id = u64::try_from(id).map_err(|_| unknown())?;
        let stored = GOVERNANCE.proposals.at(host, id)?;
        let head = stored.head.get(host)?;
        if head.state == 0 { Err(unknown()) } else { Ok(Self { id, stored, head }) }
    }

    /// Moves it on by an event, and stores and tells the new state.
    pub(super) fn apply(&mut self, host: &mut Host<'_>, event: ProposalEvent) -> Result<(), Stop> {
        let id = U256::from(self.id);
        let state = self.head.state;
        let to = self.head.state().after(event).ok_or_else(|| revert(&sol::NotActive { id, state }))?;
        self.head.state = to.code();
        (self.head.finalized_height, self.head.finalized_at) =
            (host.block().height.get(), host.block().timestamp.as_secs());
        self.stored.head.set(host, self.head)?;
        host.emit(&sol::ProposalStateChanged { id, from: state, to: to.code() })
    }
}

impl From<&sol::Settings> for Settings {
    fn from(settings: &sol::Settings) -> Self {
        Self {
            has_stake: settings.hasStake,
            voting_period_secs: settings.votingPeriodSecs,
            min_voting_period_secs: settings.minVotingPeriodSecs,
            quorum_permille: settings.quorumPermille,
            threshold_permille: settings.thresholdPermille,
            veto_permille: settings.vetoPermille,
            min_proposer_weight: settings.minProposerWeight,
            max_open_proposals: settings.maxOpenProposals,
        }
    }
}

impl From<Settings> for sol::Settings {
    fn from(settings: Settings) -> Self {
        Self {
            hasStake: settings.has_stake,
            votingPeriodSecs: settings.voting_period_secs,
            minVotingPeriodSecs: settings.min_voting_period_secs,
            quorumPermille: settings.quorum_permille,
            thresholdPermille: settings.threshold_permille,
            vetoPermille: settings.veto_permille,
            minProposerWeight: settings.min_proposer_weight,
            maxOpenProposals: settings.max_open_proposals,
        }
    }
}
