//! The rules that a header of delegated proof of stake obeys, judged from its parent alone.

use std::sync::Arc;

use super::{ConfirmError, DposConfig, Draft, Election, EvidenceError, Link, Offence, Payload, PayloadError};
use crate::{
    chain::{Ancestors, Block, HeaderRules, RuleError},
    consensus::{
        Authenticator, BlockId, SealError, ValidatorSet,
        header_rules::{Lineage, Parent, Remembered},
    },
    primitives::{Address, B64, B256, Bytes, Header, Height, Timestamp, U256},
    system::{SystemCall, SystemContext, ValidatorUpdates, staking},
};

/// Which rule a header breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// It extends another block than the one it was judged on.
    #[error("parent is {got} at height {got_height}; expected {want}")]
    Parent {
        /// The parent hash in the header.
        got: B256,
        /// The header's own height.
        got_height: Height,
        /// The block it was to extend.
        want: BlockId,
    },
    /// No slot after the parent's begins then.
    #[error("timestamp is {got}; expected {parent} and a multiple of the period of {period} s")]
    Timestamp {
        /// The header's.
        got: Timestamp,
        /// The parent's.
        parent: Timestamp,
        /// Seconds of a slot.
        period: u64,
    },
    /// A field that this protocol keeps at zero is not.
    #[error("{field} is not zero; delegated proof of stake has no use for it")]
    NotZero {
        /// Which.
        field: &'static str,
    },
    /// `extraData` is not the keccak of the payload.
    #[error("extraData is {got}; expected the keccak of the payload, {want}")]
    ExtraData {
        /// The header's.
        got: Bytes,
        /// What it has to be.
        want: Bytes,
    },
    /// Sealed by somebody who is not elected.
    #[error("{author} sealed it, who is none of the {producers} producers")]
    NotProducer {
        /// Who sealed it.
        author: Address,
        /// How many producers there are.
        producers: usize,
    },
    /// The slot belongs to another producer.
    #[error("{author} sealed a block in slot {slot}, which belongs to {want}")]
    NotItsTurn {
        /// Who sealed it.
        author: Address,
        /// When.
        slot: u64,
        /// Whose slot it is.
        want: Address,
    },
    /// The fees would go to somebody else than the author.
    #[error("beneficiary is {got}; expected the author {author}")]
    Beneficiary {
        /// The header's.
        got: Address,
        /// Who sealed it.
        author: Address,
    },
    /// The payload names other absent producers than the empty slots show.
    #[error("payload says that {got:?} missed slots; expected {want:?}")]
    Absent {
        /// The payload's.
        got: Vec<Address>,
        /// By the slots between parent and block.
        want: Vec<Address>,
    },
    /// The payload proposes other producers than were elected, out of turn, or while others are pending.
    #[error("payload proposes {got:?}; expected {want:?}")]
    Proposes {
        /// The payload's.
        got: Option<ValidatorSet>,
        /// By the election; none unless a round begins with other candidates ahead and nothing is pending.
        want: Option<ValidatorSet>,
    },
    /// The payload activates another schedule than is due.
    #[error("payload activates schedule {got:?}; expected {want:?}")]
    Activates {
        /// The payload's.
        got: Option<B256>,
        /// The pending one when the block that proposed it is irreversible.
        want: Option<B256>,
    },
    /// A range that was confirmed before.
    #[error(transparent)]
    Confirm(#[from] ConfirmError),
    /// Evidence that proves nothing new.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The payload does not decode.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The seal names nobody.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// A block as its judgement sees it.
#[derive(Clone, Copy, Debug)]
pub struct Sealed<'a> {
    /// Hash of the header.
    pub hash: B256,
    /// The header.
    pub header: &'a Header,
    /// What its `extraData` commits to.
    pub payload: &'a Bytes,
    /// Who sealed it.
    pub author: Address,
}

/// Judges a header on its parent and gives the link for the next, whose candidates are still the parent's.
///
/// # Errors
/// [`HeaderError`]: the first rule that it breaks.
pub fn check_header(
    config: &DposConfig,
    authenticator: &Authenticator,
    parent: &Link,
    block: &Sealed<'_>,
    is_counted: bool,
) -> Result<Link, HeaderError> {
    let (header, author) = (block.header, block.author);
    let height = Height::new(header.number);
    if header.parent_hash != parent.block.hash || height != parent.block.height.next() {
        return Err(HeaderError::Parent { got: header.parent_hash, got_height: height, want: parent.block });
    }
    let timestamp = Timestamp::from_secs(header.timestamp);
    let Some(slot) = config.slot_at(timestamp, (parent.slot, parent.timestamp)) else {
        return Err(HeaderError::Timestamp { got: timestamp, parent: parent.timestamp, period: config.period });
    };
    check_fixed_fields(header, block.payload)?;
    let place = place_of(config, parent, slot, author)?;
    if header.beneficiary != author {
        return Err(HeaderError::Beneficiary { got: header.beneficiary, author });
    }
    let payload = Payload::decode(block.payload)?;
    let offences = offences(config, authenticator, parent, &payload, (slot, timestamp))?;
    let election = if is_counted { Election::Counted } else { Election::Claimed(payload.proposes.as_ref()) };
    let draft = Draft { slot, place, confirmed: payload.confirmed, offences: &offences };
    let (state, says) = parent.extend(config, &draft, election)?;
    if payload.absent != says.absent {
        return Err(HeaderError::Absent { got: payload.absent, want: says.absent });
    }
    if payload.proposes != says.proposes {
        return Err(HeaderError::Proposes { got: payload.proposes, want: says.proposes });
    }
    if payload.activates != says.activates {
        return Err(HeaderError::Activates { got: payload.activates, want: says.activates });
    }
    let id = BlockId { height, hash: block.hash };
    Ok(Link { block: id, timestamp, slot, state: Arc::new(state), candidates: parent.candidates.clone() })
}

fn place_of(config: &DposConfig, parent: &Link, slot: u64, author: Address) -> Result<usize, HeaderError> {
    let schedule = parent.state.active();
    let producers = schedule.producers();
    let Some(place) = producers.index_of(&author) else {
        return Err(HeaderError::NotProducer { author, producers: producers.len() });
    };
    if schedule.is_turn(place, slot, config) {
        return Ok(place);
    }
    let want = producers.members()[schedule.producer_at(slot, config)].address;
    Err(HeaderError::NotItsTurn { author, slot, want })
}

fn check_fixed_fields(header: &Header, payload: &Bytes) -> Result<(), HeaderError> {
    let zero = [
        ("difficulty", header.difficulty == U256::ZERO),
        ("nonce", header.nonce == B64::ZERO),
        ("mixHash", header.mix_hash == B256::ZERO),
    ];
    if let Some((field, _)) = zero.iter().find(|(_, is_zero)| !is_zero) {
        return Err(HeaderError::NotZero { field });
    }
    let want = Block::extra_data_of(payload).unwrap_or_default();
    if want == header.extra_data {
        Ok(())
    } else {
        Err(HeaderError::ExtraData { got: header.extra_data.clone(), want })
    }
}

/// What the payload's evidence proves: of producers only, each offence once.
fn offences(
    config: &DposConfig,
    authenticator: &Authenticator,
    parent: &Link,
    payload: &Payload,
    at: (u64, Timestamp),
) -> Result<Vec<Offence>, HeaderError> {
    let mut found: Vec<Offence> = Vec::with_capacity(payload.evidence.len());
    for evidence in &payload.evidence {
        let offence = evidence.check(config, at, authenticator)?;
        let (slot, offender) = (offence.slot, offence.offender);
        if !parent.state.active().producers().contains(&offender) {
            return Err(EvidenceError::Offender { first: offender, second: offender }.into());
        }
        let is_repeated = found.iter().any(|other| (other.slot, other.offender) == (slot, offender));
        if is_repeated || parent.state.was_told(&offence) {
            return Err(EvidenceError::Told { offender, slot }.into());
        }
        found.push(offence);
    }
    Ok(found)
}

/// The rules as the chain floor asks for them. Remembers links; replicas of a process may share one.
#[derive(Debug)]
pub struct DposRules {
    config: DposConfig,
    authenticator: Authenticator,
    genesis_validators: ValidatorSet,
    judged: Remembered<Link>,
}

impl DposRules {
    /// Rules of a chain that starts with `genesis_validators`.
    pub fn new(config: DposConfig, genesis_validators: ValidatorSet, authenticator: Authenticator) -> Self {
        Self { config, authenticator, genesis_validators, judged: Remembered::default() }
    }

    /// Takes a link that was judged before this process began, such as a stored head's.
    pub fn remember(&self, link: Link) {
        self.judged.insert_stored(link.block.hash, link);
    }
}

impl Lineage for DposRules {
    type Link = Link;

    fn remembered(&self) -> &Remembered<Link> {
        &self.judged
    }

    fn genesis(&self, hash: B256, header: &Header) -> Link {
        let block = BlockId { height: Height::GENESIS, hash };
        Link::genesis(&self.config, block, Timestamp::from_secs(header.timestamp), &self.genesis_validators)
    }

    fn judge(&self, parent: &Parent<'_, Link>, block: &Block) -> Result<Link, RuleError> {
        let author = self.authenticator.author(block.hash(), block.seal());
        let author = author.map_err(|error| rule_error(&error.into()))?;
        let sealed = Sealed { hash: block.hash(), header: block.header(), payload: block.payload(), author };
        check_header(&self.config, &self.authenticator, parent.link, &sealed, true).map_err(|error| rule_error(&error))
    }

    fn executed(link: Link, updates: &ValidatorUpdates) -> Link {
        link.with_updates(updates)
    }
}

impl HeaderRules for DposRules {
    fn verify(&self, block: &Block, parent: &Header, ancestors: &dyn Ancestors) -> Result<(), RuleError> {
        self.judge_once(block, parent, ancestors)
    }

    /// The producer and those who missed slots, then every double production that the block tells.
    fn system_calls(&self, context: &SystemContext<'_>) -> Result<Vec<SystemCall>, RuleError> {
        let payload = Payload::decode(context.payload).map_err(|error| rule_error(&error.into()))?;
        let mut calls = vec![staking::begin_block(context.header.beneficiary, &payload.absent)];
        for evidence in &payload.evidence {
            let (hash, seal) = (evidence.first.hash_slow(), &evidence.first_seal);
            let offender = self.authenticator.author(hash, seal).map_err(|error| rule_error(&error.into()))?;
            let height = Height::new(evidence.first.number.max(evidence.second.number));
            let time = Timestamp::from_secs(evidence.first.timestamp);
            calls.push(staking::slash(offender, staking::Offence::DoubleSign, height, time));
        }
        Ok(calls)
    }
}

fn rule_error(error: &HeaderError) -> RuleError {
    let field = |field, got: &dyn ToString, want: String| RuleError::Field { field, got: got.to_string(), want };
    match error {
        HeaderError::Timestamp { got, parent, .. } => field("timestamp", got, format!("a slot after {parent}")),
        HeaderError::NotZero { field: name } => field(name, &"something", "zero".to_owned()),
        HeaderError::Beneficiary { got, author } => field("miner", got, author.to_string()),
        HeaderError::Seal(_)
        | HeaderError::Parent { .. }
        | HeaderError::NotProducer { .. }
        | HeaderError::NotItsTurn { .. } => RuleError::Seal { reason: error.to_string() },
        other => field("payload", other, "what follows from the parent".to_owned()),
    }
}
