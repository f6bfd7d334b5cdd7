//! The rules that a header of delegated proof of stake obeys, verified from its parent alone.

use std::sync::Arc;

use super::{ConfirmError, Dpos, DposConfig, Draft, Election, EvidenceError, Link, Offence, Payload, PayloadError};
use crate::{
    chain::{Block, RuleError},
    consensus::{
        Authenticator, BlockId, CachedHeaderRules, HeaderChainRules, HeaderFieldError, ParentContext, SealError,
        UnverifiedHeader, ValidatorSet, header::UnusedField,
    },
    primitives::{Address, B256, Header, Height, Timestamp},
    system::{SystemCall, SystemContext, ValidatorUpdates, staking},
};

/// The header rules of a chain of delegated proof of stake, from the validators of its genesis.
pub type DposRules = CachedHeaderRules<Dpos>;

/// Which rule a header breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// A standard field breaks a rule common to all protocols.
    #[error(transparent)]
    Field(#[from] HeaderFieldError),
    /// No slot after the parent's begins at the timestamp.
    #[error("timestamp is {got}; expected {parent} and a multiple of the period of {period} s")]
    Timestamp {
        /// Timestamp in the header.
        got: Timestamp,
        /// Timestamp of the parent.
        parent: Timestamp,
        /// Length of a slot, in seconds.
        period: u64,
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

/// Verifies a header of `author` against its parent and returns the context for its children, with the parent's candidates.
///
/// # Errors
/// [`HeaderError`]: the first rule that it breaks.
pub fn check_header(
    config: &DposConfig,
    authenticator: &Authenticator,
    parent: &Link,
    candidate: &UnverifiedHeader<'_>,
    author: Address,
    is_counted: bool,
) -> Result<Link, HeaderError> {
    candidate.check_parent(parent.block)?;
    let timestamp = candidate.timestamp();
    let Some(slot) = config.slot_at(timestamp, (parent.slot, parent.timestamp)) else {
        return Err(HeaderError::Timestamp { got: timestamp, parent: parent.timestamp, period: config.period });
    };
    candidate.check_unused(&[UnusedField::Difficulty, UnusedField::Nonce, UnusedField::MixHash])?;
    candidate.check_extra_data()?;
    let place = place_of(config, parent, slot, author)?;
    candidate.check_beneficiary(author)?;
    let payload = Payload::decode(candidate.payload)?;
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
    let (block, candidates) = (candidate.id(), parent.candidates.clone());
    Ok(Link { block, timestamp, slot, state: Arc::new(state), candidates })
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

impl HeaderChainRules for Dpos {
    type Config = DposConfig;
    type Genesis = ValidatorSet;
    type Context = Link;
    type Error = HeaderError;

    fn genesis_context(config: &DposConfig, validators: &ValidatorSet, hash: B256, header: &Header) -> Link {
        let block = BlockId { height: Height::GENESIS, hash };
        Link::genesis(config, block, Timestamp::from_secs(header.timestamp), validators)
    }

    fn verify_header(
        config: &DposConfig,
        authenticator: &Authenticator,
        parent: &ParentContext<'_, Link>,
        block: &Block,
    ) -> Result<Link, HeaderError> {
        let candidate = UnverifiedHeader::from(block);
        let author = candidate.author(authenticator)?;
        check_header(config, authenticator, parent.context, &candidate, author, true)
    }

    fn with_updates(link: Link, updates: &ValidatorUpdates) -> Link {
        link.with_updates(updates)
    }

    /// Returns `begin_block` with the producer and those who missed slots, then a `slash` for each double production that the
    /// payload proves.
    fn system_calls(
        _config: &DposConfig,
        authenticator: &Authenticator,
        context: &SystemContext<'_>,
    ) -> Result<Vec<SystemCall>, HeaderError> {
        let payload = Payload::decode(context.payload)?;
        let mut calls = vec![staking::begin_block(context.header.beneficiary, &payload.absent)];
        for evidence in &payload.evidence {
            let offender = authenticator.author(evidence.first.hash_slow(), &evidence.first_seal)?;
            let height = Height::new(evidence.first.number.max(evidence.second.number));
            let time = Timestamp::from_secs(evidence.first.timestamp);
            calls.push(staking::slash(offender, staking::Offence::DoubleSign, height, time));
        }
        Ok(calls)
    }
}

impl From<HeaderError> for RuleError {
    fn from(error: HeaderError) -> Self {
        let field = |field, got: String, want: String| Self::Field { field, got, want };
        match error {
            HeaderError::Field(error) => error.into(),
            HeaderError::Timestamp { got, parent, .. } => {
                field("timestamp", got.to_string(), format!("a slot after {parent}"))
            }
            HeaderError::Seal(_) | HeaderError::NotProducer { .. } | HeaderError::NotItsTurn { .. } => {
                Self::Seal { reason: error.to_string() }
            }
            other => field("payload", other.to_string(), "what follows from the parent".to_owned()),
        }
    }
}
