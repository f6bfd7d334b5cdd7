//! The interface of one protocol to the dispatch over all of them.

use core::{any::Any, fmt::Debug, time::Duration};
use std::sync::Arc;

use super::{
    header_rules::{CachedHeaderRules, HeaderChainRules},
    id::{BlockId, ReplicaId},
    light::FollowHeaders,
    protocol::Protocol,
    record_class::RecordKeys,
    records::Records,
    round::RoundStatus,
    signing::{Authenticator, Signer},
    validators::ValidatorSet,
};
use crate::{
    chain::{Block, HeaderRules},
    primitives::{Address, B256, Header, Timestamp},
    system::staking::StakingParams,
};

/// A protocol's use of stake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StakeUse {
    /// The protocol has no stake.
    Never,
    /// Validators weigh their stake where genesis has `staking`, else one each.
    Optional,
    /// Validators weigh their stake; genesis always has `staking`.
    Always,
}

/// How the validators of a chain without staking change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MembershipChange {
    /// By votes of the signers in their blocks.
    SignerVotes,
    /// By a change that the leader proposes.
    LeaderProposal,
    /// By stake alone.
    Stake,
}

/// Constant facts about a protocol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProtocolInfo {
    /// The full name, such as `proof-of-authority`.
    pub(crate) name: &'static str,
    /// The short name, such as `poa`; equal to the full one where there is no other.
    pub(crate) short_name: &'static str,
    /// Identifies the protocol in stored records and canonical encodings. Never changes.
    pub(crate) number: u8,
    pub(crate) stake_use: StakeUse,
    pub(crate) membership_change: MembershipChange,
    /// Whether it withstands replicas that misbehave, fewer than a third of them.
    pub(crate) is_byzantine_tolerant: bool,
    /// Whether its timers run even when there is nothing to do.
    pub(crate) never_rests: bool,
    /// Whether a replica notifies the protocol of a transaction that blocks omit for longer than its inclusion timeout
    /// ([`Admin::Overdue`](super::event::Admin::Overdue)).
    pub(crate) has_inclusion_timeout: bool,
    /// Whether stake holders elect the validators by their delegations.
    pub(crate) has_elections: bool,
    /// Labels of its messages ([`ConsensusMessage::label`](super::event::ConsensusMessage::label)), and beginnings of
    /// labels that end in `*`.
    pub(crate) message_labels: &'static [&'static str],
    /// Approximate last round that a fault campaign reaches while its faults last.
    pub(crate) campaign_rounds_max: u64,
    pub(crate) record_keys: RecordKeys,
}

/// The keys of a replica.
#[derive(Clone, Debug)]
pub(crate) struct ReplicaKeys {
    /// The verifier of all signatures.
    pub(crate) authenticator: Authenticator,
    /// The replica's own signer; a replica without one observes.
    pub(crate) signer: Option<Signer>,
}

/// The start of a replica: its chain's genesis and its keys.
#[derive(Clone, Debug)]
pub(crate) struct ReplicaSetup<'a> {
    pub(crate) genesis: &'a Block,
    /// Validators at genesis.
    pub(crate) validators: ValidatorSet,
    pub(crate) keys: ReplicaKeys,
}

impl ReplicaSetup<'_> {
    /// Returns the id and the timestamp of the genesis block.
    pub(crate) fn root(&self) -> (BlockId, Timestamp) {
        (BlockId::of(self.genesis), self.genesis.timestamp())
    }
}

/// The parameters of a protocol in genesis.
pub(crate) type ConfigOf<P> = <P as HeaderChainRules>::Config;
/// The context of a block for its children.
pub(crate) type ContextOf<P> = <P as HeaderChainRules>::Context;

/// Bounds on blocks with a timestamp ahead of a replica's block clock, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FutureBlocks {
    /// Furthest ahead of a block that is judged at once. One further ahead waits until it is no more than this.
    pub(crate) judged_secs_max: u64,
    /// Furthest ahead of a block that waits; `None`: any waits.
    pub(crate) queued_secs_max: Option<u64>,
}

impl FutureBlocks {
    /// Ethereum's bound before proof of stake, in all but proof of authority (`allowedFutureBlockTimeSeconds`).
    pub(crate) const LENIENT: Self = Self { judged_secs_max: 15, queued_secs_max: None };
}

/// One consensus protocol: its parts, its constant facts and how a replica of it is set up. Implemented by the protocol's
/// state.
pub(crate) trait ProtocolFamily:
    Protocol + HeaderChainRules<Config: Clone + 'static, Genesis: 'static, Context: 'static> + Debug + 'static
{
    /// A refused configuration or record.
    type SetupError;
    /// The verifier by headers alone.
    type Light: FollowHeaders;

    const INFO: ProtocolInfo;

    /// Returns the parameters with the replicas' addresses: the one at index `n` of `roster` is of replica `n`; `observers`
    /// never seal. By default they make no difference.
    fn with_roster(config: ConfigOf<Self>, roster: &[Address], observers: Vec<ReplicaId>) -> ConfigOf<Self> {
        let _ = (roster, observers);
        config
    }

    /// Returns the parameters of a chain with these parameters of stake. By default they make no difference.
    fn with_staking(config: ConfigOf<Self>, params: &StakingParams) -> ConfigOf<Self> {
        let _ = params;
        config
    }

    /// Returns the parameters with the addresses of the replicas that follow the validators' and are none at genesis. By default they
    /// make no difference.
    fn with_candidates(config: ConfigOf<Self>, candidates: &[Address]) -> ConfigOf<Self> {
        let _ = candidates;
        config
    }

    /// Returns the parameters of a chain whose validators the contract at
    /// [`VALIDATORS_ADDRESS`](crate::system::validators::VALIDATORS_ADDRESS) decides. By default they make no difference.
    fn with_validator_registry(config: ConfigOf<Self>) -> ConfigOf<Self> {
        config
    }

    /// Returns a replica at genesis.
    fn at_genesis(config: &ConfigOf<Self>, setup: ReplicaSetup<'_>) -> Result<Self, Self::SetupError>;

    /// Returns a replica at a stored head, from the record that was written with it.
    fn at_head(config: &ConfigOf<Self>, record: &[u8], keys: ReplicaKeys) -> Result<Self, Self::SetupError>;

    /// Returns a replica after a crash, from all of its records.
    fn from_records(
        config: &ConfigOf<Self>,
        setup: ReplicaSetup<'_>,
        records: &Records,
    ) -> Result<Self, Self::SetupError>;

    /// Returns the input of the genesis context.
    fn rules_genesis(config: &ConfigOf<Self>, validators: ValidatorSet) -> Result<Self::Genesis, Self::SetupError>;

    /// Returns the hash of the head and the context for its children; `None` while the head is not in the block tree.
    fn context_at_head(&self) -> Option<(B256, ContextOf<Self>)>;

    /// Returns the header rules, from the stored head of an opened chain or else from genesis on.
    fn header_rules(
        config: &ConfigOf<Self>,
        validators: ValidatorSet,
        authenticator: Authenticator,
        head_record: Option<&[u8]>,
    ) -> Result<Arc<dyn HeaderRules>, Self::SetupError> {
        let genesis = Self::rules_genesis(config, validators)?;
        let rules = CachedHeaderRules::<Self>::new(config.clone(), genesis, authenticator.clone());
        let keys = ReplicaKeys { authenticator, signer: None };
        let head = head_record.map(|record| Self::at_head(config, record, keys)).transpose()?;
        if let Some((hash, context)) = head.and_then(|head| head.context_at_head()) {
            rules.remember(hash, context);
        }
        Ok(Arc::new(rules))
    }

    /// Returns whether the replica counts the slots of its clock by itself, so that it is to be notified of a time in which its process
    /// did not run ([`Admin::Resumed`](super::event::Admin::Resumed)).
    fn counts_slots(&self) -> bool {
        false
    }

    /// Returns the bounds on blocks whose time has not come.
    fn future_blocks(&self) -> FutureBlocks {
        FutureBlocks::LENIENT
    }

    /// Lets the rules of an open chain go on from this replica's head, whose ancestors the chain may not have.
    fn remember_head_in(&self, rules: &dyn HeaderRules) {
        let rules: &dyn Any = rules;
        let rules = rules.downcast_ref::<CachedHeaderRules<Self>>();
        if let (Some(rules), Some((hash, context))) = (rules, self.context_at_head()) {
            rules.remember(hash, context);
        }
    }

    /// Returns a light verifier at genesis.
    fn light_verifier(
        config: &ConfigOf<Self>,
        genesis: &Header,
        validators: ValidatorSet,
        authenticator: Authenticator,
    ) -> Result<Self::Light, Self::SetupError>;

    /// Returns whether a replica that restarted from this record still needs it. A replica itself deletes the records that
    /// it knows of; this identifies those of branches and log entries that it did not restore. By default it knows all of
    /// them.
    fn needs(&self, key: &[u8]) -> bool {
        let _ = key;
        true
    }

    /// Returns the number of the period that has one leader or plan: the view of PBFT, the term of Raft, the slot of proof of
    /// stake, of delegated proof of stake the round of the slot after the head's, of proof of authority the epoch of the
    /// next block.
    fn round(&self) -> u64;

    /// Returns how many turns of others a block built on demand by this replica would skip.
    fn turns_skipped(&self) -> u64 {
        0
    }

    /// Returns the round and the role of `replica`, which is this one; `None` for a protocol without rounds. `replica_of` finds
    /// the replica that signs by an address.
    fn round_status(
        &self,
        replica: ReplicaId,
        replica_of: &dyn Fn(&Address) -> Option<ReplicaId>,
    ) -> Option<RoundStatus> {
        let _ = (replica, replica_of);
        None
    }

    /// Returns for how long blocks may omit a transaction until the replica notifies the protocol; `None` for no notice (see
    /// [`ProtocolInfo::has_inclusion_timeout`]).
    fn inclusion_timeout(&self) -> Option<Duration> {
        None
    }

    /// Returns the term in which this replica leads a replicated log; `None` for any other replica or protocol.
    fn leading_term(&self) -> Option<u64> {
        None
    }

    /// Returns whether `replica` receives blocks as a member of the replicated log; in protocols without membership, every
    /// replica does.
    fn is_member(&self, replica: ReplicaId) -> bool {
        let _ = replica;
        true
    }
}
