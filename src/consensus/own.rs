//! Protocols of one's own: any implementation of [`Protocol`], in the place of one of the five.

mod block_tree;
mod erased;
mod pacemaker;
mod participant;
mod proposal;
mod votes;

use core::{fmt, time::Duration};
use std::sync::Arc;

use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::{
    Authenticator, ReplicaId, Signer, ValidatorSet,
    common::{
        family::{MembershipChange, ProtocolInfo, StakeUse},
        protocol::Protocol,
        record_class::RecordKeys,
        records::Records,
    },
};
use crate::{
    chain::{Ancestors, Block, HeaderRules, RuleError},
    primitives::{Address, Header},
};

pub use block_tree::{BlockTimers, BlockTree, RecordError};
pub use pacemaker::{NewView, Pacemaker};
pub use participant::Participant;
pub use proposal::Proposal;
pub use votes::Votes;

pub(super) use erased::OwnReplica;

/// Number of every protocol of one's own in canonical encodings; the five have the numbers from 1 on.
const OWN_NUMBER: u8 = u8::MAX;

/// The start of one replica of a protocol of one's own.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReplicaStart<'a> {
    /// The genesis block.
    pub genesis: &'a Block,
    /// Validators at genesis.
    pub validators: &'a ValidatorSet,
    /// Addresses of the validators at genesis, by replica: the one at index `n` is of replica `n`.
    pub addresses: &'a [Address],
    /// The verifier of all seals.
    pub authenticator: &'a Authenticator,
    /// The replica's own signer; a replica without one observes.
    pub signer: Option<&'a Signer>,
    /// The records on the replica's disk: none at the first start, after a crash those that were durable.
    pub records: &'a Records,
}

impl ReplicaStart<'_> {
    /// Returns the number of this replica; `None` when it was no validator at genesis.
    pub fn replica(&self) -> Option<ReplicaId> {
        self.signer.and_then(|signer| self.replica_of(&signer.address()))
    }

    /// Returns the replica that seals as `address`; `None` for an address that was no validator at genesis.
    pub fn replica_of(&self, address: &Address) -> Option<ReplicaId> {
        let place = self.addresses.iter().position(|other| other == address)?;
        u32::try_from(place).ok().map(ReplicaId::new)
    }
}

type StartReplica = dyn Fn(ReplicaStart<'_>) -> Result<OwnReplica, String> + Send + Sync;

/// A protocol that is none of this crate's: how a replica of it starts, and what a network has to know of it. Cloning is O(1).
///
/// A network runs it like any other, with faults, invariants, traces, pictures and campaigns. Its messages are
/// [`OwnMessage`](super::OwnMessage)s. The chain executes its blocks and verifies every field that execution decides; seals, votes
/// and finality are the protocol's. [`BlockTree`], [`Votes`], [`Pacemaker`] and [`Participant`] are parts that most protocols need.
///
/// ```
/// use chainbox::{
///     consensus::{
///         BlockId, Effect, Encoder, Event, Finality, FinalityKind, OwnProtocol, Protocol, ReplicaStart, ValidatorSet,
///     },
///     sim::Network,
/// };
/// use core::time::Duration;
///
/// /// Does nothing.
/// #[derive(Clone, Debug, PartialEq, Eq, Hash)]
/// struct Idle {
///     genesis: BlockId,
///     validators: ValidatorSet,
/// }
///
/// impl Protocol for Idle {
///     fn step(&mut self, _event: Event, effects: &mut Vec<Effect>) {
///         effects.push(Effect::Mark("idle-heard"));
///     }
///     fn encode(&self, out: &mut Encoder) {
///         out.hash(&self.genesis.hash);
///     }
///     fn head(&self) -> BlockId {
///         self.genesis
///     }
///     fn finality(&self) -> Finality {
///         Finality::both(self.genesis, FinalityKind::Certificate)
///     }
///     fn validators(&self) -> ValidatorSet {
///         self.validators.clone()
///     }
/// }
///
/// let idle = OwnProtocol::new("idle", |start: ReplicaStart<'_>| {
///     Ok(Idle { genesis: BlockId::of(start.genesis), validators: start.validators.clone() })
/// });
/// let mut network = Network::builder().with_protocol(idle).with_validators(4).build()?;
/// network.run_for(Duration::from_secs(10))?;
/// assert_eq!(network.primary().marks().collect::<Vec<_>>(), [("idle-heard", 1)]);
/// assert!(network.primary().own_protocol::<Idle>().is_some());
/// # Ok::<(), chainbox::sim::NetworkError>(())
/// ```
#[derive(Clone)]
pub struct OwnProtocol {
    info: ProtocolInfo,
    start: Arc<StartReplica>,
    rules: Arc<dyn HeaderRules>,
    parameters: Arc<str>,
    marks: &'static [&'static str],
    addresses: Arc<[Address]>,
    /// Whole seconds.
    pub(super) period: u64,
}

impl OwnProtocol {
    /// Returns the protocol whose replicas `start` makes, at genesis and, with the records of its disk, after a crash. An error of
    /// `start` ends the run.
    ///
    /// It tolerates crashes alone, and its blocks need one second at least, until the setters say otherwise.
    pub fn new<P: Protocol + 'static>(
        name: &'static str,
        start: impl Fn(ReplicaStart<'_>) -> Result<P, String> + Send + Sync + 'static,
    ) -> Self {
        let info = ProtocolInfo {
            name,
            short_name: name,
            number: OWN_NUMBER,
            stake_use: StakeUse::Never,
            membership_change: MembershipChange::Stake,
            is_byzantine_tolerant: false,
            never_rests: true,
            has_inclusion_timeout: false,
            has_elections: false,
            message_labels: &[],
            campaign_rounds_max: 0,
            record_keys: RecordKeys { head: &[], head_prefixes: &[], safety_prefixes: &[&[]], attested_prefixes: &[] },
        };
        Self {
            info,
            start: Arc::new(move |at: ReplicaStart<'_>| start(at).map(|protocol| OwnReplica::new(protocol, info))),
            rules: Arc::new(PayloadRules),
            parameters: Arc::from(""),
            marks: &[],
            addresses: Arc::from([]),
            period: 1,
        }
    }

    /// Sets the least time between two blocks, in whole seconds; zero for a protocol whose blocks are made on demand only.
    #[must_use]
    pub const fn with_period(mut self, period: Duration) -> Self {
        self.period = period.as_secs();
        self
    }

    /// Sets the labels of its messages, to which random link faults may be limited.
    #[must_use]
    pub const fn with_labels(mut self, labels: &'static [&'static str]) -> Self {
        self.info.message_labels = labels;
        self
    }

    /// Sets that it tolerates replicas that misbehave, fewer than a third of them; campaigns then have some.
    #[must_use]
    pub const fn with_byzantine_tolerance(mut self) -> Self {
        self.info.is_byzantine_tolerant = true;
        self
    }

    /// Sets the greatest round in which campaigns let replicas misbehave; rounds are those of [`Protocol::status`].
    #[must_use]
    pub const fn with_rounds_max(mut self, rounds: u64) -> Self {
        self.info.campaign_rounds_max = rounds;
        self
    }

    /// Sets the names of its [marks](super::Effect::Mark); a campaign reports those that no seed passed.
    #[must_use]
    pub const fn with_marks(mut self, marks: &'static [&'static str]) -> Self {
        self.marks = marks;
        self
    }

    /// Sets the parameters in words, which distinguish traces and results of two variants of one name.
    #[must_use]
    pub fn with_parameters(mut self, parameters: impl fmt::Display) -> Self {
        self.parameters = parameters.to_string().into();
        self
    }

    /// Sets rules by which a chain verifies headers beside the protocol. By default `extraData` must commit to the payload.
    #[must_use]
    pub fn with_header_rules(mut self, rules: Arc<dyn HeaderRules>) -> Self {
        self.rules = rules;
        self
    }

    /// Returns the name.
    pub const fn name(&self) -> &'static str {
        self.info.name
    }

    /// Returns the names of its marks.
    pub const fn marks(&self) -> &'static [&'static str] {
        self.marks
    }

    pub(super) const fn info(&self) -> &ProtocolInfo {
        &self.info
    }

    pub(super) fn with_addresses(mut self, addresses: &[Address]) -> Self {
        self.addresses = addresses.into();
        self
    }

    pub(super) fn header_rules(&self) -> Arc<dyn HeaderRules> {
        self.rules.clone()
    }

    pub(super) fn replica(
        &self,
        genesis: &Block,
        validators: &ValidatorSet,
        records: &Records,
        authenticator: &Authenticator,
        signer: Option<&Signer>,
    ) -> Result<OwnReplica, String> {
        let addresses = &self.addresses;
        (self.start)(ReplicaStart { genesis, validators, addresses, authenticator, signer, records })
    }
}

impl fmt::Debug for OwnProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("OwnProtocol");
        text.field("name", &self.info.name).field("period", &self.period).field("parameters", &self.parameters);
        text.finish_non_exhaustive()
    }
}

/// Name, period and parameters are equal.
impl PartialEq for OwnProtocol {
    fn eq(&self, other: &Self) -> bool {
        let key = |of: &Self| (of.info.name, of.period, of.parameters.clone());
        key(self) == key(other)
    }
}

impl Eq for OwnProtocol {}

/// For readers and to tell results apart; what it does is code, and is not written.
impl Serialize for OwnProtocol {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("OwnProtocol", 3)?;
        fields.serialize_field("name", self.info.name)?;
        fields.serialize_field("period", &self.period)?;
        fields.serialize_field("parameters", self.parameters.as_ref())?;
        fields.end()
    }
}

/// `extraData` commits to the payload; everything else is the protocol's or the chain's.
#[derive(Clone, Copy, Debug)]
struct PayloadRules;

impl HeaderRules for PayloadRules {
    fn verify(&self, block: &Block, _parent: &Header, _ancestors: &dyn Ancestors) -> Result<(), RuleError> {
        if block.payload().is_empty() || block.commits_to_payload() {
            return Ok(());
        }
        let got = block.header().extra_data.to_string();
        Err(RuleError::Field { field: "extraData", got, want: "the keccak-256 of the payload".to_owned() })
    }
}
