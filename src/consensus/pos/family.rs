//! Proof of stake's implementation of the interface common to all protocols.

use super::{
    HEAD_KEY, HeaderContext, HeaderError, LightVerifier, NODE_PREFIX, Pos, PosConfig, PosError, SLASHING_PROTECTION_KEY,
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
    system::staking::StakingParams,
};

impl ProtocolFamily for Pos {
    type SetupError = PosError;
    type Light = LightVerifier;

    const INFO: ProtocolInfo = ProtocolInfo {
        name: "proof-of-stake",
        short_name: "pos",
        number: 3,
        stake_use: StakeUse::Always,
        membership_change: MembershipChange::Stake,
        is_byzantine_tolerant: true,
        never_rests: false,
        has_inclusion_timeout: false,
        has_elections: false,
        message_labels: &["block", "vote", "offence"],
        campaign_rounds_max: 20,
        record_keys: RecordKeys {
            head: HEAD_KEY,
            head_prefixes: &[HEAD_KEY],
            safety_prefixes: &[SLASHING_PROTECTION_KEY],
            attested_prefixes: &[],
        },
    };

    fn with_staking(config: PosConfig, params: &StakingParams) -> PosConfig {
        config.with_staking(params)
    }

    fn at_genesis(config: &PosConfig, setup: ReplicaSetup<'_>) -> Result<Self, PosError> {
        let (root, keys) = (setup.genesis, setup.keys);
        Self::new(*config, root, &setup.validators, keys.authenticator, keys.signer)
    }

    fn at_head(config: &PosConfig, record: &[u8], keys: ReplicaKeys) -> Result<Self, PosError> {
        Self::restore(*config, record, keys.authenticator, keys.signer)
    }

    fn from_records(config: &PosConfig, setup: ReplicaSetup<'_>, records: &Records) -> Result<Self, PosError> {
        let (root, keys) = (setup.genesis, setup.keys);
        Self::recover(*config, root, &setup.validators, records, keys.authenticator, keys.signer)
    }

    fn rules_genesis(_config: &PosConfig, validators: ValidatorSet) -> Result<ValidatorSet, PosError> {
        Ok(validators)
    }

    fn context_at_head(&self) -> Option<(B256, HeaderContext)> {
        self.head_context().map(|context| (context.block.hash, context.clone()))
    }

    fn light_verifier(
        config: &PosConfig,
        genesis: &Header,
        validators: ValidatorSet,
        authenticator: Authenticator,
    ) -> Result<LightVerifier, PosError> {
        LightVerifier::new(*config, genesis, &validators, authenticator)
    }

    fn needs(&self, key: &[u8]) -> bool {
        let hash = key.strip_prefix(NODE_PREFIX);
        hash.is_none_or(|hash| B256::try_from(hash).is_ok_and(|hash| self.tree.get(&hash).is_some()))
    }

    fn round(&self) -> u64 {
        self.slot()
    }

    fn counts_slots(&self) -> bool {
        self.has_timers()
    }

    fn turns_skipped(&self) -> u64 {
        self.slots_skipped()
    }

    fn round_status(&self, _: ReplicaId, _: &dyn Fn(&Address) -> Option<ReplicaId>) -> Option<RoundStatus> {
        Some(RoundStatus { round: self.epoch(), role: RoundRole::Follower, leader: None })
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

    fn finalized(&self) -> BlockId {
        self.finalized().block
    }

    fn validators(&self) -> ValidatorSet {
        self.validators().clone()
    }
}
