//! Delegated proof of stake's implementation of the interface common to all protocols.

use super::{
    BLOCK_PREFIX, Dpos, DposConfig, DposError, HEAD_KEY, HeaderContext, HeaderError, LightVerifier, SAFETY_STATE_KEY,
};
use crate::{
    consensus::{
        Authenticator, BlockId, Records, SealedHeader, ValidatorSet,
        common::{
            family::{MembershipChange, ProtocolFamily, ProtocolInfo, ReplicaKeys, ReplicaSetup, StakeUse},
            light::FollowHeaders,
            record_class::RecordKeys,
            records::block_of_key,
        },
    },
    primitives::{B256, Header},
    system::staking::StakingParams,
};

impl ProtocolFamily for Dpos {
    type SetupError = DposError;
    type Light = LightVerifier;

    const INFO: ProtocolInfo = ProtocolInfo {
        name: "delegated-proof-of-stake",
        short_name: "dpos",
        number: 4,
        stake_use: StakeUse::Always,
        membership_change: MembershipChange::Stake,
        is_byzantine_tolerant: true,
        never_rests: false,
        has_inclusion_timeout: false,
        has_elections: true,
        message_labels: &["block"],
        campaign_rounds_max: 5,
        record_keys: RecordKeys {
            head: HEAD_KEY,
            head_prefixes: &[HEAD_KEY],
            safety_prefixes: &[SAFETY_STATE_KEY],
            attested_prefixes: &[],
        },
    };

    fn with_staking(config: DposConfig, params: &StakingParams) -> DposConfig {
        config.with_staking(params)
    }

    fn at_genesis(config: &DposConfig, setup: ReplicaSetup<'_>) -> Result<Self, DposError> {
        let (root, keys) = (setup.root(), setup.keys);
        Self::new(*config, root, &setup.validators, keys.authenticator, keys.signer)
    }

    fn at_head(config: &DposConfig, record: &[u8], keys: ReplicaKeys) -> Result<Self, DposError> {
        Self::restore(*config, record, keys.authenticator, keys.signer)
    }

    fn from_records(config: &DposConfig, setup: ReplicaSetup<'_>, records: &Records) -> Result<Self, DposError> {
        let (root, keys) = (setup.root(), setup.keys);
        Self::recover(*config, root, &setup.validators, records, keys.authenticator, keys.signer)
    }

    fn rules_genesis(_config: &DposConfig, validators: ValidatorSet) -> Result<ValidatorSet, DposError> {
        Ok(validators)
    }

    fn context_at_head(&self) -> Option<(B256, HeaderContext)> {
        Some((self.head_context().block.hash, self.head_context().clone()))
    }

    fn light_verifier(
        config: &DposConfig,
        genesis: &Header,
        validators: ValidatorSet,
        authenticator: Authenticator,
    ) -> Result<LightVerifier, DposError> {
        LightVerifier::new(*config, genesis, &validators, authenticator)
    }

    fn needs(&self, key: &[u8]) -> bool {
        !key.starts_with(BLOCK_PREFIX) || block_of_key(BLOCK_PREFIX, key).is_some_and(|id| self.tree.get(&id).is_some())
    }

    fn round(&self) -> u64 {
        self.round()
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
        self.irreversible()
    }

    fn validators(&self) -> ValidatorSet {
        self.schedule().producers().clone()
    }
}
