//! Proof of stake's implementation of the interface common to all protocols.

use std::sync::Arc;

use super::{
    HEAD_KEY, HeaderError, LightVerifier, NODE_PREFIX, Pos, PosConfig, PosError, PosRules, SLASHING_PROTECTION_KEY,
};
use crate::{
    chain::{Block, HeaderRules},
    consensus::{
        Authenticator, BlockId, Records, ReplicaId, SealedHeader, Signer, ValidatorSet,
        common::{
            family::{MembershipChange, ProtocolFamily, ProtocolInfo, RoundRole, RoundStatus, StakeUse},
            light::FollowHeaders,
            record_class::RecordKeys,
        },
    },
    primitives::{Address, B256, Header},
};

impl ProtocolFamily for Pos {
    type Config = PosConfig;
    type Error = PosError;
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

    fn on_demand() -> PosConfig {
        PosConfig { period: 0, ..PosConfig::default() }
    }

    fn at_genesis(
        config: &PosConfig,
        genesis: &Block,
        validators: ValidatorSet,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, PosError> {
        Self::new(*config, genesis, &validators, authenticator, signer)
    }

    fn at_head(
        config: &PosConfig,
        head_record: &[u8],
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, PosError> {
        Self::restore(*config, head_record, authenticator, signer)
    }

    fn from_records(
        config: &PosConfig,
        genesis: &Block,
        validators: ValidatorSet,
        records: &Records,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, PosError> {
        Self::recover(*config, genesis, &validators, records, authenticator, signer)
    }

    fn header_rules(
        config: &PosConfig,
        validators: ValidatorSet,
        authenticator: Authenticator,
        head_record: Option<&[u8]>,
    ) -> Result<Arc<dyn HeaderRules>, PosError> {
        let rules = PosRules::new(*config, validators, authenticator.clone());
        if let Some(record) = head_record
            && let Some(context) = Self::restore(*config, record, authenticator, None)?.head_context()
        {
            rules.remember(context.block.hash, context.clone());
        }
        Ok(Arc::new(rules))
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
