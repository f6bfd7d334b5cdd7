//! Proof of authority's implementation of the interface common to all protocols.

use super::{
    HEAD_KEY, HeaderContext, HeaderError, LightVerifier, Poa, PoaConfig, PoaError, SEALED_PREFIX, SIGNED_KEY, record,
};
use crate::{
    consensus::{
        Authenticator, BlockId, Records, SealedHeader, ValidatorSet,
        common::{
            family::{
                FutureBlocks, MembershipChange, ProtocolFamily, ProtocolInfo, ReplicaKeys, ReplicaSetup, StakeUse,
            },
            light::FollowHeaders,
            record_class::RecordKeys,
        },
        mutation::{self, Mutation},
    },
    primitives::{B256, Header},
};

impl ProtocolFamily for Poa {
    type SetupError = PoaError;
    type Light = LightVerifier;

    const INFO: ProtocolInfo = ProtocolInfo {
        name: "proof-of-authority",
        short_name: "poa",
        number: 1,
        stake_use: StakeUse::Never,
        membership_change: MembershipChange::SignerVotes,
        is_byzantine_tolerant: false,
        never_rests: false,
        has_inclusion_timeout: false,
        has_elections: false,
        message_labels: &["block"],
        campaign_rounds_max: 3,
        record_keys: RecordKeys {
            head: HEAD_KEY,
            head_prefixes: &[HEAD_KEY],
            safety_prefixes: &[SIGNED_KEY, SEALED_PREFIX],
            attested_prefixes: &[SEALED_PREFIX],
        },
    };

    fn with_validator_registry(config: PoaConfig) -> PoaConfig {
        config.with_validator_registry()
    }

    fn at_genesis(config: &PoaConfig, setup: ReplicaSetup<'_>) -> Result<Self, PoaError> {
        let (root, keys) = (setup.root(), setup.keys);
        Self::new(*config, root, setup.validators, keys.authenticator, keys.signer)
    }

    fn at_head(config: &PoaConfig, record: &[u8], keys: ReplicaKeys) -> Result<Self, PoaError> {
        Self::restore(*config, record, keys.authenticator, keys.signer)
    }

    fn from_records(config: &PoaConfig, setup: ReplicaSetup<'_>, records: &Records) -> Result<Self, PoaError> {
        let (root, keys) = (setup.root(), setup.keys);
        Self::recover(*config, root, setup.validators, records, keys.authenticator, keys.signer)
    }

    fn rules_genesis(_config: &PoaConfig, validators: ValidatorSet) -> Result<ValidatorSet, PoaError> {
        Ok(validators)
    }

    fn context_at_head(&self) -> Option<(B256, HeaderContext)> {
        Some((self.head_context().block.hash, self.head_context().clone()))
    }

    fn light_verifier(
        config: &PoaConfig,
        genesis: &Header,
        validators: ValidatorSet,
        authenticator: Authenticator,
    ) -> Result<LightVerifier, PoaError> {
        Ok(LightVerifier::new(*config, genesis, validators, authenticator))
    }

    fn needs(&self, key: &[u8]) -> bool {
        record::block_of(key).is_none_or(|block| self.tree.get(&block).is_some())
    }

    /// geth keeps a block from the future for up to 30 s (`maxTimeFutureBlocks`), and drops one further ahead.
    fn future_blocks(&self) -> FutureBlocks {
        if mutation::active(Mutation::PoaJudgesEarlyBlocks) {
            return FutureBlocks::LENIENT;
        }
        let judged_secs_max = self.config.future_secs;
        FutureBlocks { judged_secs_max, queued_secs_max: Some(judged_secs_max.max(30)) }
    }

    fn round(&self) -> u64 {
        self.epoch()
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
        self.settled()
    }

    fn validators(&self) -> ValidatorSet {
        self.signers().clone()
    }
}
