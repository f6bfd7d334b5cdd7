//! PBFT's implementation of the interface common to all protocols.

use std::sync::Arc;

use super::{Committee, HeaderError, LightVerifier, Pbft, PbftConfig, PbftError, PbftRules, record};
use crate::{
    chain::{Block, HeaderRules},
    consensus::{
        Authenticator, BlockId, Records, ReplicaId, SealedHeader, Signer, ValidatorSet,
        common::{
            family::{MembershipChange, ProtocolFamily, ProtocolInfo, RoundRole, RoundStatus, StakeUse},
            light::FollowHeaders,
        },
    },
    primitives::{Address, Header},
};

impl ProtocolFamily for Pbft {
    type Config = PbftConfig;
    type Error = PbftError;
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
        message_labels: &["pre-prepare", "prepare", "commit", "checkpoint", "view-change", "new-view"],
        campaign_rounds_max: 6,
        record_keys: record::RECORD_KEYS,
    };

    fn on_demand() -> PbftConfig {
        PbftConfig { period: 0, ..PbftConfig::default() }
    }

    fn at_genesis(
        config: &PbftConfig,
        genesis: &Block,
        validators: ValidatorSet,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, PbftError> {
        Self::new(*config, (BlockId::of(genesis), genesis.timestamp()), validators, authenticator, signer)
    }

    fn at_head(
        config: &PbftConfig,
        head_record: &[u8],
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, PbftError> {
        Self::restore(*config, head_record, authenticator, signer)
    }

    fn from_records(
        config: &PbftConfig,
        genesis: &Block,
        validators: ValidatorSet,
        records: &Records,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, PbftError> {
        let root = (BlockId::of(genesis), genesis.timestamp());
        Self::recover(*config, root, validators, records, authenticator, signer)
    }

    fn header_rules(
        config: &PbftConfig,
        validators: ValidatorSet,
        authenticator: Authenticator,
        head_record: Option<&[u8]>,
    ) -> Result<Arc<dyn HeaderRules>, PbftError> {
        let rules = PbftRules::new(*config, Committee::new(config, validators)?, authenticator);
        if let Some(record) = head_record {
            let (hash, transition) = Self::recorded_transition(config, record)?;
            rules.remember(hash, transition);
        }
        Ok(Arc::new(rules))
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

    fn finalized(&self) -> BlockId {
        self.head()
    }

    fn validators(&self) -> ValidatorSet {
        self.validators().clone()
    }
}
