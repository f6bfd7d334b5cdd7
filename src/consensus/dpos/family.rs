//! Delegated proof of stake's implementation of the interface common to all protocols.

use std::sync::Arc;

use super::{
    BLOCK_PREFIX, Dpos, DposConfig, DposError, DposRules, HEAD_KEY, HeaderError, LightVerifier, SAFETY_STATE_KEY,
};
use crate::{
    chain::{Block, HeaderRules},
    consensus::{
        Authenticator, BlockId, Records, SealedHeader, Signer, ValidatorSet,
        common::{
            family::{MembershipChange, ProtocolFamily, ProtocolInfo, StakeUse},
            light::FollowHeaders,
            record_class::RecordKeys,
            records::block_of_key,
        },
    },
    primitives::Header,
};

impl ProtocolFamily for Dpos {
    type Config = DposConfig;
    type Error = DposError;
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

    fn on_demand() -> DposConfig {
        DposConfig { period: 0, ..DposConfig::default() }
    }

    fn at_genesis(
        config: &DposConfig,
        genesis: &Block,
        validators: ValidatorSet,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, DposError> {
        Self::new(*config, (BlockId::of(genesis), genesis.timestamp()), &validators, authenticator, signer)
    }

    fn at_head(
        config: &DposConfig,
        head_record: &[u8],
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, DposError> {
        Self::restore(*config, head_record, authenticator, signer)
    }

    fn from_records(
        config: &DposConfig,
        genesis: &Block,
        validators: ValidatorSet,
        records: &Records,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, DposError> {
        let root = (BlockId::of(genesis), genesis.timestamp());
        Self::recover(*config, root, &validators, records, authenticator, signer)
    }

    fn header_rules(
        config: &DposConfig,
        validators: ValidatorSet,
        authenticator: Authenticator,
        head_record: Option<&[u8]>,
    ) -> Result<Arc<dyn HeaderRules>, DposError> {
        let rules = DposRules::new(*config, validators, authenticator.clone());
        if let Some(record) = head_record {
            let dpos = Self::restore(*config, record, authenticator, None)?;
            rules.remember(dpos.head_context().block.hash, dpos.head_context().clone());
        }
        Ok(Arc::new(rules))
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
