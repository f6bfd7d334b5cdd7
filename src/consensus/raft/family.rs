//! Raft's implementation of the protocol family.

use super::{
    ENTRY_PREFIX, HARD_STATE_KEY, HEAD_KEY, HeaderContext, HeaderError, LightVerifier, Membership, Raft, RaftConfig,
    RaftError,
};
use crate::{
    consensus::{
        Authenticator, BlockId, Records, ReplicaId, RoundRole, RoundStatus, SealedHeader, ValidatorSet,
        common::{
            family::{MembershipChange, ProtocolFamily, ProtocolInfo, ReplicaKeys, ReplicaSetup, StakeUse},
            light::FollowHeaders,
            record_class::RecordKeys,
        },
    },
    primitives::{Address, B256, Header},
};

impl ProtocolFamily for Raft {
    type SetupError = RaftError;
    type Light = LightVerifier;

    const INFO: ProtocolInfo = ProtocolInfo {
        name: "raft",
        short_name: "raft",
        number: 5,
        stake_use: StakeUse::Never,
        membership_change: MembershipChange::LeaderProposal,
        is_byzantine_tolerant: false,
        never_rests: true,
        has_inclusion_timeout: false,
        has_elections: false,
        message_labels: &[
            "raft-pre-vote*",
            "raft-vote*",
            "raft-append*",
            "raft-pre-vote-request",
            "raft-vote-request",
            "raft-pre-vote",
            "raft-vote",
            "raft-append",
            "raft-appended",
            "raft-append-rejected",
            "raft-heartbeat",
            "raft-heartbeat-answer",
            "raft-snapshot",
            "raft-timeout-now",
        ],
        campaign_rounds_max: 6,
        record_keys: RecordKeys {
            head: HEAD_KEY,
            // The copy's key has the same prefix.
            head_prefixes: &[HEAD_KEY],
            safety_prefixes: &[HARD_STATE_KEY, ENTRY_PREFIX],
            attested_prefixes: &[],
        },
    };

    fn with_roster(config: RaftConfig, roster: &[Address], observers: Vec<ReplicaId>) -> RaftConfig {
        config.with_roster(roster.to_vec(), observers)
    }

    fn with_candidates(config: RaftConfig, candidates: &[Address]) -> RaftConfig {
        config.with_candidates(candidates.to_vec())
    }

    fn with_validator_registry(config: RaftConfig) -> RaftConfig {
        config.with_validator_registry()
    }

    fn at_genesis(config: &RaftConfig, setup: ReplicaSetup<'_>) -> Result<Self, RaftError> {
        let members = first_members(config, &setup.validators);
        let (root, keys) = (setup.root(), setup.keys);
        Self::new(config.clone(), root, members, keys.authenticator, keys.signer)
    }

    fn at_head(config: &RaftConfig, record: &[u8], keys: ReplicaKeys) -> Result<Self, RaftError> {
        Self::restore(config.clone(), record, keys.authenticator, keys.signer)
    }

    fn from_records(config: &RaftConfig, setup: ReplicaSetup<'_>, records: &Records) -> Result<Self, RaftError> {
        let members = first_members(config, &setup.validators);
        let (root, keys) = (setup.root(), setup.keys);
        Self::recover(config.clone(), root, members, records, keys.authenticator, keys.signer)
    }

    fn rules_genesis(config: &RaftConfig, validators: ValidatorSet) -> Result<Membership, RaftError> {
        Ok(first_members(config, &validators))
    }

    fn context_at_head(&self) -> Option<(B256, HeaderContext)> {
        Some((self.head_context().block.hash, self.head_context().clone()))
    }

    fn light_verifier(
        config: &RaftConfig,
        genesis: &Header,
        validators: ValidatorSet,
        authenticator: Authenticator,
    ) -> Result<LightVerifier, RaftError> {
        let members = first_members(config, &validators);
        Ok(LightVerifier::new(config.clone(), genesis, members, authenticator))
    }

    fn needs(&self, key: &[u8]) -> bool {
        let index = key.strip_prefix(ENTRY_PREFIX);
        let index = index.map(|index| index.try_into().map(u64::from_be_bytes));
        index.is_none_or(|index| index.is_ok_and(|index| self.log.entry(index).is_some()))
    }

    fn round(&self) -> u64 {
        self.term()
    }

    fn round_status(&self, _: ReplicaId, _: &dyn Fn(&Address) -> Option<ReplicaId>) -> Option<RoundStatus> {
        let role = match self.leader() {
            _ if self.is_leader() => RoundRole::Leader,
            Some(_) => RoundRole::Follower,
            None => RoundRole::Seeking,
        };
        Some(RoundStatus { round: self.term(), role, leader: self.leader() })
    }

    fn leading_term(&self) -> Option<u64> {
        self.is_leader().then_some(self.term())
    }

    fn is_member(&self, replica: ReplicaId) -> bool {
        self.membership().is_member(replica)
    }
}

impl FollowHeaders for LightVerifier {
    type Error = HeaderError;

    fn follow(&mut self, next: &SealedHeader) -> Result<BlockId, HeaderError> {
        self.follow(next)
    }

    fn head(&self) -> BlockId {
        self.head()
    }

    fn validators(&self) -> ValidatorSet {
        self.members().validators()
    }
}

/// Returns the members at genesis: voters in the order of the roster or, without one, of their addresses.
fn first_members(config: &RaftConfig, validators: &ValidatorSet) -> Membership {
    let by_address: Vec<_> = validators.addresses().collect();
    let roster = if config.roster.is_empty() { &by_address } else { &config.roster };
    let voters = (0..).map(ReplicaId::new).zip(roster.iter().copied());
    Membership::new(voters, config.observers.iter().copied())
}
