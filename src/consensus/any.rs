//! The protocols as one type, chosen by genesis.
//!
//! `protocols!` below has the one list of them. All else that differs between protocols is in their own folders, in their
//! implementations of [`ProtocolFamily`].

use core::time::Duration;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    common::{
        effect::{Effect, Rejection},
        encoding::Encoder,
        event::Event,
        family::{FutureBlocks, ProtocolFamily, ProtocolInfo, ReplicaKeys, ReplicaSetup, StakeUse},
        finality::Finality,
        id::{BlockId, ReplicaId},
        light::FollowHeaders,
        protocol::Protocol,
        records::Records,
        round::RoundStatus,
        signing::{Authenticator, Signer},
        validators::{ValidatorSet, ValidatorSetError},
    },
    dpos,
    own::{OwnProtocol, OwnReplica},
    pbft, poa, pos, raft,
};
use crate::{
    chain::{Block, HeaderRules},
    primitives::{Address, Header},
    system::staking::StakingParams,
};

/// Defines the types whose variants are the protocols, and the macros that match on them.
macro_rules! protocols {
    ($d:tt $($(#[doc = $doc:literal])* $name:ident: $module:ident($config:ident, $error:ident), aliases($($alias:literal),*);)*) => {
        /// A protocol without its parameters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ConsensusKind {
            $($(#[doc = $doc])* $name,)*
        }

        /// The protocol of a chain with its parameters. Part of genesis.
        ///
        /// In genesis: the parameters and `protocol`, which is `poa` (also `proof-of-authority` or `clique`), `pos` (also
        /// `proof-of-stake`), `dpos` (also `delegated-proof-of-stake`), `raft` or `pbft`.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "protocol", rename_all = "lowercase")]
        #[non_exhaustive]
        pub enum ConsensusConfig {
            $($(#[doc = $doc])* #[serde($(alias = $alias),*)] $name($module::$config),)*
            /// A protocol of one's own. It is written to genesis by its name alone, and is not read from there.
            #[serde(skip_deserializing)]
            Own(OwnProtocol),
        }

        /// One replica's state of its protocol.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum AnyProtocol {
            $($(#[doc = $doc])* $name(Box<$module::$name>),)*
            /// A protocol of one's own.
            Own(Box<OwnReplica>),
        }

        /// Refused parameters, validators or records of a protocol.
        #[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
        #[non_exhaustive]
        pub enum ConsensusError {
            /// Invalid list of validators.
            #[error(transparent)]
            Validators(#[from] ValidatorSetError),
            $($(#[doc = $doc])* #[error(transparent)] $name(#[from] $module::$error),)*
            /// A protocol of one's own.
            #[error("{protocol}: {reason}")]
            Own {
                /// Its name.
                protocol: &'static str,
                /// What it can't do, in its own words.
                reason: String,
            },
        }

        /// The verifiers behind a [`LightVerifier`].
        #[derive(Clone, Debug)]
        enum AnyLight {
            $($name(Box<$module::LightVerifier>),)*
        }

        /// The rule of a protocol that a header breaks. The verifier is unchanged.
        #[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
        #[non_exhaustive]
        pub enum FollowError {
            $($(#[doc = $doc])* #[error(transparent)] $name(#[from] $module::HeaderError),)*
        }

        impl ConsensusKind {
            /// Every protocol.
            pub const ALL: [Self; [$(stringify!($name)),*].len()] = [$(Self::$name),*];

            pub(crate) const fn info(self) -> &'static ProtocolInfo {
                match self {
                    $(Self::$name => &<$module::$name as ProtocolFamily>::INFO,)*
                }
            }

            /// Returns the protocol with its default parameters and blocks on demand only.
            pub fn on_demand(self) -> ConsensusConfig {
                match self {
                    $(Self::$name => ConsensusConfig::$name($module::$config::default().with_period(Duration::ZERO)),)*
                }
            }
        }

        impl ConsensusConfig {
            /// Returns the protocol; `None` for one of one's own.
            pub const fn kind(&self) -> Option<ConsensusKind> {
                match self {
                    $(Self::$name(_) => Some(ConsensusKind::$name),)*
                    Self::Own(_) => None,
                }
            }

            /// Returns the constant facts about the protocol.
            pub(crate) const fn info(&self) -> &ProtocolInfo {
                match self {
                    $(Self::$name(_) => ConsensusKind::$name.info(),)*
                    Self::Own(own) => own.info(),
                }
            }

            /// Returns the configuration with the replicas' addresses: the one at index `n` of `roster` is of replica `n`.
            /// `observers` are the replicas that never seal.
            #[must_use]
            pub fn with_roster(self, roster: &[Address], observers: Vec<ReplicaId>) -> Self {
                match self {
                    $(Self::$name(config) => Self::$name($module::$name::with_roster(config, roster, observers)),)*
                    Self::Own(own) => Self::Own(own.with_addresses(roster)),
                }
            }

            /// Returns the configuration of a chain with these parameters of stake, which are no part of the protocol's section of
            /// genesis. A network takes them from its genesis; a verifier by headers alone needs them, too.
            #[must_use]
            pub fn with_staking(self, params: &StakingParams) -> Self {
                match self {
                    $(Self::$name(config) => Self::$name($module::$name::with_staking(config, params)),)*
                    Self::Own(_) => self,
                }
            }
        }

        /// What a chain's genesis says beside the protocol's section.
        impl ConsensusConfig {
            /// Returns the configuration with the addresses of the replicas after the validators', in order, that may become some.
            #[must_use]
            pub fn with_candidates(self, candidates: &[Address]) -> Self {
                match self {
                    $(Self::$name(config) => Self::$name($module::$name::with_candidates(config, candidates)),)*
                    Self::Own(_) => self,
                }
            }

            /// Returns the configuration of a chain with the validators' contract
            /// ([`validator_registry`](crate::chain::GenesisSpec::validator_registry)), which is no part of the protocol's section of
            /// genesis. A network knows it from its genesis; a verifier by headers alone needs it, too.
            #[must_use]
            pub fn with_validator_registry(self) -> Self {
                match self {
                    $(Self::$name(config) => Self::$name($module::$name::with_validator_registry(config)),)*
                    Self::Own(_) => self,
                }
            }
        }

        impl AnyProtocol {
            /// Returns the protocol; `None` for one of one's own.
            pub const fn kind(&self) -> Option<ConsensusKind> {
                match self {
                    $(Self::$name(_) => Some(ConsensusKind::$name),)*
                    Self::Own(_) => None,
                }
            }

            /// Returns the constant facts about the protocol.
            pub(crate) const fn info(&self) -> &ProtocolInfo {
                match self {
                    $(Self::$name(_) => ConsensusKind::$name.info(),)*
                    Self::Own(own) => own.info(),
                }
            }
        }

        $(
            impl From<$module::$name> for AnyProtocol {
                fn from(protocol: $module::$name) -> Self {
                    Self::$name(Box::new(protocol))
                }
            }

            impl From<$module::LightVerifier> for AnyLight {
                fn from(light: $module::LightVerifier) -> Self {
                    Self::$name(Box::new(light))
                }
            }
        )*

        /// Evaluates an expression with the content of one of the enums above that have a protocol of one's own.
        macro_rules! with_content {
            ($d any:ident, $d value:expr, $d content:ident => $d result:expr) => {
                match $d value {
                    $($d any::$name($d content) => $d result,)*
                    $d any::Own($d content) => $d result,
                }
            };
        }

        /// Evaluates an expression with the verifier of one of the protocols.
        macro_rules! with_light {
            ($d value:expr, $d content:ident => $d result:expr) => {
                match $d value {
                    $(AnyLight::$name($d content) => $d result,)*
                }
            };
        }

        /// Evaluates an expression with a configuration's parameters and the [`ProtocolFamily`] that they are of, or the other one
        /// with a protocol of one's own.
        macro_rules! with_family {
            ($d value:expr, $d config:ident, $d family:ident => $d result:expr, $d own:ident => $d other:expr) => {
                match $d value {
                    ConsensusConfig::Own($d own) => $d other,
                    $(ConsensusConfig::$name($d config) => {
                        type $d family = $module::$name;
                        $d result
                    })*
                }
            };
        }
    };
}

protocols! {$
    /// Proof of authority: signers in turn (Clique, EIP-225).
    Poa: poa(PoaConfig, PoaError), aliases("proof-of-authority", "clique");
    /// Proof of stake: proposers drawn by stake, checkpoints by votes (Gasper).
    Pos: pos(PosConfig, PosError), aliases("proof-of-stake");
    /// Delegated proof of stake: elected producers with a last irreversible block (EOSIO's DPOS 3).
    Dpos: dpos(DposConfig, DposError), aliases("delegated-proof-of-stake");
    /// Practical Byzantine fault tolerance: immediate finality by certificates (Castro and Liskov).
    Pbft: pbft(PbftConfig, PbftError), aliases();
    /// Raft: a replicated log under an elected leader. Tolerates crashes only.
    Raft: raft(RaftConfig, RaftError), aliases();
}

// After the list: these files match on its types.
mod kind;
mod light;
mod marks;

pub use light::LightVerifier;

/// An admin command that this protocol does not support, or that does not apply now.
pub type AdminError = Rejection;

impl Default for ConsensusConfig {
    fn default() -> Self {
        Self::Poa(poa::PoaConfig::default())
    }
}

impl ConsensusConfig {
    /// Returns a replica's protocol at genesis; one without a `signer` observes.
    ///
    /// # Errors
    /// [`ConsensusError`] when the parameters are refused.
    pub fn start(
        &self,
        genesis: &Block,
        validators: ValidatorSet,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<AnyProtocol, ConsensusError> {
        with_family!(self, config, Family => {
            let keys = ReplicaKeys { authenticator, signer };
            Ok(Family::at_genesis(config, ReplicaSetup { genesis, validators, keys })?.into())
        }, own => own_replica(own, genesis, &validators, &Records::new(), &authenticator, signer.as_ref()))
    }

    /// Returns a replica's protocol at a stored head, from the record that was written with it.
    ///
    /// # Errors
    /// [`ConsensusError`] when the parameters or the record are refused.
    pub fn restore(
        &self,
        head_record: &[u8],
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<AnyProtocol, ConsensusError> {
        with_family!(self, config, Family => {
            Ok(Family::at_head(config, head_record, ReplicaKeys { authenticator, signer })?.into())
        }, own => Err(unable(own, "it starts at genesis or from all of its records")))
    }

    /// Returns a replica's protocol after a crash, from all of its durable records. Without a record of a head it starts at
    /// genesis, bound by its safety records.
    ///
    /// # Errors
    /// [`ConsensusError`] when the parameters or a record are refused.
    pub fn recover(
        &self,
        genesis: &Block,
        validators: ValidatorSet,
        records: &Records,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<AnyProtocol, ConsensusError> {
        with_family!(self, config, Family => {
            let keys = ReplicaKeys { authenticator, signer };
            Ok(Family::from_records(config, ReplicaSetup { genesis, validators, keys }, records)?.into())
        }, own => own_replica(own, genesis, &validators, records, &authenticator, signer.as_ref()))
    }

    /// Returns the rules that a chain of this protocol verifies headers by; replicas of a process share them.
    ///
    /// They continue from `head_record`, the stored one of an opened chain, or else from genesis.
    ///
    /// # Errors
    /// [`ConsensusError`] when the record is refused.
    pub fn header_rules(
        &self,
        validators: ValidatorSet,
        authenticator: Authenticator,
        head_record: Option<&[u8]>,
    ) -> Result<Arc<dyn HeaderRules>, ConsensusError> {
        with_family!(self, config, Family => {
            Ok(Family::header_rules(config, validators, authenticator, head_record)?)
        }, own => Ok(own.header_rules()))
    }

    /// Returns a light verifier at genesis.
    ///
    /// # Errors
    /// [`ConsensusError`] when the parameters are refused.
    pub fn light_verifier(
        &self,
        genesis: &Header,
        validators: ValidatorSet,
        authenticator: Authenticator,
    ) -> Result<LightVerifier, ConsensusError> {
        with_family!(self, config, Family => {
            Ok(LightVerifier::of(Family::light_verifier(config, genesis, validators, authenticator)?.into()))
        }, own => Err(unable(own, "it has no verifier by headers alone")))
    }

    /// Returns the full name, such as `proof-of-authority`.
    pub const fn name(&self) -> &'static str {
        self.info().name
    }

    /// Returns the short name, such as `poa`; the full one where there is no other.
    pub const fn short_name(&self) -> &'static str {
        self.info().short_name
    }

    /// Returns whether the protocol always has stake; see [`ConsensusKind::stake_use`] for those that may have it.
    pub const fn uses_stake(&self) -> bool {
        matches!(self.info().stake_use, StakeUse::Always)
    }

    /// Returns the labels of the protocol's messages beside blocks; one that ends in `*` is the beginning of several.
    pub const fn message_labels(&self) -> &'static [&'static str] {
        self.info().message_labels
    }

    /// Returns the number of validators that the validators' contract has to leave.
    pub(crate) const fn validators_min(&self) -> u32 {
        match self {
            Self::Pbft(config) => config.validators_min(),
            _ => 1,
        }
    }

    /// Returns the number of replicas out of `validators` whose misbehaviour the protocol tolerates: fewer than a third, or none.
    pub const fn liars_max(&self, validators: u32) -> u32 {
        if self.info().is_byzantine_tolerant { validators.saturating_sub(1) / 3 } else { 0 }
    }

    /// Returns the least time between two blocks, in whole seconds; with zero, blocks are made on demand only.
    pub const fn period(&self) -> Duration {
        Duration::from_secs(with_content!(Self, self, config => config.period))
    }

    /// Returns whether a network of this protocol never becomes idle: its timers run even when there is nothing to do.
    pub const fn never_rests(&self) -> bool {
        self.info().never_rests
    }

    /// Reads the consensus section of a genesis specification, such as `{"protocol": "poa", "period": 5}`.
    ///
    /// # Errors
    /// The first field that is unknown or malformed.
    pub fn deserialize_section(section: &serde_json::Value) -> Result<Self, serde_json::Error> {
        Self::deserialize(section)
    }

    /// Returns the section that [`ConsensusConfig::deserialize_section`] reads.
    pub fn section(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl From<OwnProtocol> for ConsensusConfig {
    fn from(own: OwnProtocol) -> Self {
        Self::Own(own)
    }
}

fn own_replica(
    own: &OwnProtocol,
    genesis: &Block,
    validators: &ValidatorSet,
    records: &Records,
    authenticator: &Authenticator,
    signer: Option<&Signer>,
) -> Result<AnyProtocol, ConsensusError> {
    match own.replica(genesis, validators, records, authenticator, signer) {
        Ok(replica) => Ok(AnyProtocol::Own(Box::new(replica))),
        Err(reason) => Err(ConsensusError::Own { protocol: own.name(), reason }),
    }
}

fn unable(own: &OwnProtocol, reason: &str) -> ConsensusError {
    ConsensusError::Own { protocol: own.name(), reason: reason.to_owned() }
}

impl AnyProtocol {
    /// Returns how many turns of others a block built on demand by this replica would skip; of several replicas that could
    /// build, the one that skips fewest does.
    pub fn turns_skipped(&self) -> u64 {
        with_content!(Self, self, protocol => protocol.turns_skipped())
    }

    /// Returns whether the replica is to be notified of a time in which its process did not run; see
    /// [`ProtocolFamily::counts_slots`].
    pub(crate) fn counts_slots(&self) -> bool {
        with_content!(Self, self, protocol => protocol.counts_slots())
    }

    /// Returns the number of the period that has one leader or plan: the view of PBFT, the term of Raft, the slot of proof of
    /// stake; of delegated proof of stake the round of the slot after the head's, of proof of authority the epoch of the
    /// next block.
    pub fn round(&self) -> u64 {
        with_content!(Self, self, protocol => protocol.round())
    }

    /// Returns whether a replica that restarted from this record still needs it; see [`ProtocolFamily::needs`].
    pub(crate) fn needs(&self, key: &[u8]) -> bool {
        with_content!(Self, self, protocol => protocol.needs(key))
    }

    /// Lets the rules of an open chain go on from this replica's head; see [`ProtocolFamily::remember_head_in`].
    pub(crate) fn remember_head_in(&self, rules: &dyn HeaderRules) {
        with_content!(Self, self, protocol => protocol.remember_head_in(rules));
    }

    /// Returns the round and the role of `replica`, which is this one, where `replica_of` tells the replica that seals as an address;
    /// `None` for a protocol without rounds. For a [`Protocol::status`] that wraps a built-in protocol.
    pub fn round_status(
        &self,
        replica: ReplicaId,
        replica_of: &dyn Fn(&Address) -> Option<ReplicaId>,
    ) -> Option<RoundStatus> {
        with_content!(Self, self, protocol => protocol.round_status(replica, replica_of))
    }

    /// Returns the bounds on blocks whose time has not come.
    pub(crate) fn future_blocks(&self) -> FutureBlocks {
        with_content!(Self, self, protocol => protocol.future_blocks())
    }

    /// Returns for how long blocks may omit a transaction; see [`ProtocolFamily::inclusion_timeout`].
    pub(crate) fn inclusion_timeout(&self) -> Option<Duration> {
        with_content!(Self, self, protocol => protocol.inclusion_timeout())
    }

    /// Returns the term in which this replica leads a replicated log; `None` for any other replica or protocol.
    pub(crate) fn leading_term(&self) -> Option<u64> {
        with_content!(Self, self, protocol => protocol.leading_term())
    }

    /// Returns whether `replica` receives blocks as a member of the replicated log; in protocols without membership, every
    /// replica does.
    pub(crate) fn is_member(&self, replica: ReplicaId) -> bool {
        with_content!(Self, self, protocol => protocol.is_member(replica))
    }
}

impl Protocol for AnyProtocol {
    fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
        with_content!(Self, self, protocol => protocol.step(event, effects));
    }

    fn encode(&self, out: &mut Encoder) {
        out.u8(self.info().number);
        with_content!(Self, self, protocol => protocol.encode(out));
    }

    fn head(&self) -> BlockId {
        with_content!(Self, self, protocol => protocol.head())
    }

    fn finality(&self) -> Finality {
        with_content!(Self, self, protocol => protocol.finality())
    }

    fn validators(&self) -> ValidatorSet {
        with_content!(Self, self, protocol => protocol.validators())
    }
}

#[cfg(test)]
mod tests {
    use super::{poa::PoaConfig, *};

    #[test]
    fn a_genesis_section_round_trips_and_wrong_ones_are_refused() {
        let config = ConsensusConfig::Poa(PoaConfig::default().with_period(Duration::from_secs(5)));
        assert_eq!(ConsensusConfig::deserialize_section(&config.section()).unwrap(), config);
        let short = serde_json::json!({"protocol": "clique", "period": 5});
        assert_eq!(ConsensusConfig::deserialize_section(&short).unwrap(), config);
        for (section, named) in [
            (serde_json::json!({"protocol": "pow"}), "pow"),
            (serde_json::json!({"protocol": "poa", "perod": 1}), "perod"),
        ] {
            let error = ConsensusConfig::deserialize_section(&section).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
