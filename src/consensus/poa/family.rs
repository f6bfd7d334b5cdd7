//! Proof of authority's implementation of the interface common to all protocols.

use std::sync::Arc;

use super::{
    HEAD_KEY, HeaderError, LightVerifier, Poa, PoaConfig, PoaError, PoaRules, SEALED_PREFIX, SIGNED_KEY, record,
};
use crate::{
    chain::{Block, HeaderRules},
    consensus::{
        Authenticator, BlockId, Records, SealedHeader, Signer, ValidatorSet,
        common::{
            family::{MembershipChange, ProtocolFamily, ProtocolInfo, StakeUse},
            light::FollowHeaders,
            record_class::RecordKeys,
        },
    },
    primitives::Header,
};

impl ProtocolFamily for Poa {
    type Config = PoaConfig;
    type Error = PoaError;
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

    fn on_demand() -> PoaConfig {
        PoaConfig { period: 0, ..PoaConfig::default() }
    }

    fn at_genesis(
        config: &PoaConfig,
        genesis: &Block,
        validators: ValidatorSet,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, PoaError> {
        Self::new(*config, (BlockId::of(genesis), genesis.timestamp()), validators, authenticator, signer)
    }

    fn at_head(
        config: &PoaConfig,
        head_record: &[u8],
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, PoaError> {
        Self::restore(*config, head_record, authenticator, signer)
    }

    fn from_records(
        config: &PoaConfig,
        genesis: &Block,
        validators: ValidatorSet,
        records: &Records,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, PoaError> {
        let root = (BlockId::of(genesis), genesis.timestamp());
        Self::recover(*config, root, validators, records, authenticator, signer)
    }

    fn header_rules(
        config: &PoaConfig,
        validators: ValidatorSet,
        authenticator: Authenticator,
        head_record: Option<&[u8]>,
    ) -> Result<Arc<dyn HeaderRules>, PoaError> {
        let rules = PoaRules::new(*config, validators, authenticator.clone());
        if let Some(record) = head_record {
            let poa = Self::restore(*config, record, authenticator, None)?;
            rules.remember(poa.head_context().block.hash, poa.head_context().clone());
        }
        Ok(Arc::new(rules))
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
