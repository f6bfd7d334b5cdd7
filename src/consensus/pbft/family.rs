//! PBFT's implementation of the interface common to all protocols.

use core::time::Duration;

use super::{Committee, CommitteeTransition, HeaderError, LightVerifier, Pbft, PbftConfig, PbftError, record};
use crate::{
    consensus::{
        Authenticator, BlockId, Records, ReplicaId, RoundRole, RoundStatus, SealedHeader, ValidatorSet,
        common::{
            family::{MembershipChange, ProtocolFamily, ProtocolInfo, ReplicaKeys, ReplicaSetup, StakeUse},
            light::FollowHeaders,
        },
    },
    primitives::{Address, B256, Header},
    system::staking::StakingParams,
};

impl ProtocolFamily for Pbft {
    type SetupError = PbftError;
    type Light = LightVerifier;

    const INFO: ProtocolInfo = ProtocolInfo {
        name: "pbft",
        short_name: "pbft",
        number: 2,
        stake_use: StakeUse::Optional,
        membership_change: MembershipChange::Stake,
        is_byzantine_tolerant: true,
        never_rests: false,
        has_inclusion_timeout: true,
        has_elections: false,
        message_labels: &["pre-prepare", "prepare", "commit", "checkpoint", "view-change", "new-view", "suspicion"],
        campaign_rounds_max: 6,
        record_keys: record::RECORD_KEYS,
    };

    fn with_staking(config: PbftConfig, params: &StakingParams) -> PbftConfig {
        config.with_staking(params)
    }

    fn at_genesis(config: &PbftConfig, setup: ReplicaSetup<'_>) -> Result<Self, PbftError> {
        let (root, keys) = (setup.root(), setup.keys);
        Self::new(*config, root, setup.validators, keys.authenticator, keys.signer)
    }

    fn at_head(config: &PbftConfig, record: &[u8], keys: ReplicaKeys) -> Result<Self, PbftError> {
        Self::restore(*config, record, keys.authenticator, keys.signer)
    }

    fn from_records(config: &PbftConfig, setup: ReplicaSetup<'_>, records: &Records) -> Result<Self, PbftError> {
        let (root, keys) = (setup.root(), setup.keys);
        Self::recover(*config, root, setup.validators, records, keys.authenticator, keys.signer)
    }

    fn rules_genesis(config: &PbftConfig, validators: ValidatorSet) -> Result<Committee, PbftError> {
        Committee::new(config, validators)
    }

    fn context_at_head(&self) -> Option<(B256, CommitteeTransition)> {
        Some((self.head.hash, self.transition.clone()))
    }

    fn light_verifier(
        config: &PbftConfig,
        genesis: &Header,
        validators: ValidatorSet,
        authenticator: Authenticator,
    ) -> Result<LightVerifier, PbftError> {
        LightVerifier::new(*config, genesis, validators, authenticator)
    }

    fn round(&self) -> u64 {
        self.view().get()
    }

    fn inclusion_timeout(&self) -> Option<Duration> {
        Some(self.transition.config_in_force(&self.config).inclusion_timeout())
    }

    fn round_status(
        &self,
        replica: ReplicaId,
        replica_of: &dyn Fn(&Address) -> Option<ReplicaId>,
    ) -> Option<RoundStatus> {
        let leader = replica_of(&self.primary());
        let role = match self.is_changing() {
            true => RoundRole::Seeking,
            false if leader == Some(replica) => RoundRole::Leader,
            false => RoundRole::Follower,
        };
        Some(RoundStatus { round: self.view().get(), role, leader })
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
        self.validators().clone()
    }
}
