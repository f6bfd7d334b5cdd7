//! Header rules of delegated proof of stake, which depend on the parent alone.

use std::sync::Arc;

use super::{
    BlockInputs, ConfirmError, Confirmation, Dpos, DposConfig, Election, EvidenceError, HeaderContext, Infraction,
    Payload, PayloadError, Prepared, state::first_producers,
};
use crate::{
    chain::{Block, RuleError},
    consensus::{
        Authenticator, BlockId, HeaderChainRules, HeaderFieldError, ParentContext, Purpose, SealError,
        UnverifiedHeader, ValidatorSet,
        header::UnusedField,
        in_force::InForce,
        mutation::{self, Mutation},
        slot_clock::SlotClock,
    },
    primitives::{Address, B64, B256, Bytes, Header, Height, Timestamp},
    system::{SystemCall, SystemContext, ValidatorUpdates, staking},
};

/// Violation of a header rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// A standard field violates a rule common to all protocols.
    #[error(transparent)]
    Field(#[from] HeaderFieldError),
    /// No slot after the parent's starts at the timestamp.
    #[error("timestamp is {got}; expected {parent} and a multiple of the period of {period} s")]
    Timestamp {
        /// Timestamp in the header.
        got: Timestamp,
        /// Timestamp of the parent.
        parent: Timestamp,
        /// Length of a slot, in seconds.
        period: u64,
    },
    /// The author is not a producer.
    #[error("author {author} is none of the {producers} producers")]
    NotProducer {
        /// Author of the block, by its seal.
        author: Address,
        /// Number of producers in the active schedule.
        producers: usize,
    },
    /// The slot belongs to another producer.
    #[error("slot {slot} belongs to {want}; the author is {author}")]
    NotItsTurn {
        /// Author of the block, by its seal.
        author: Address,
        /// Slot of the block.
        slot: u64,
        /// Producer of the slot.
        want: Address,
    },
    /// The absent producers in the payload are not those of the empty slots.
    #[error("payload lists {got:?} as producers that missed slots; expected {want:?}")]
    Absent {
        /// Value in the payload.
        got: Vec<Address>,
        /// Producers of the empty slots between parent and block.
        want: Vec<Address>,
    },
    /// The payload proposes other producers than were elected, or proposes them when no election is due.
    #[error("payload proposes {got:?}; expected {want:?}")]
    Proposes {
        /// Value in the payload.
        got: Option<ValidatorSet>,
        /// Result of the election; `None` unless a round begins, the producers change and no schedule is pending.
        want: Option<ValidatorSet>,
    },
    /// The schedule that the payload activates is not the one that is due.
    #[error("payload activates schedule {got:?}; expected {want:?}")]
    Activates {
        /// Value in the payload.
        got: Option<B256>,
        /// Hash of the pending schedule, once the block that proposed it is irreversible.
        want: Option<B256>,
    },
    /// The nonce is no vote that a block of this height can have.
    #[error(
        "nonce is {got}; expected zero, or a vote of {height}: heights confirmed, schedule, distance of the implied height"
    )]
    Vote {
        /// Nonce in the header.
        got: B64,
        /// Height of the header.
        height: Height,
    },
    /// The block implies another height than the one that is prepared at its parent.
    #[error("the block implies height {} under schedule {}; expected {} under {}", got.height, got.version, want.height, want.version)]
    Implied {
        /// Value in the nonce.
        got: Prepared,
        /// What is prepared at the parent.
        want: Prepared,
    },
    /// The block confirms a range that was confirmed before.
    #[error(transparent)]
    Confirm(#[from] ConfirmError),
    /// The evidence proves no new offence.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The payload does not decode.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The seal does not verify.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// Verifies a header of `author` against its parent and returns the context for its children, with the parent's candidates. With
/// `is_counted` the election is computed; otherwise it is taken from the header.
///
/// # Errors
/// [`HeaderError`] for the first rule that it violates.
pub fn check_header(
    config: &DposConfig,
    authenticator: &Authenticator,
    parent: &HeaderContext,
    candidate: &UnverifiedHeader<'_>,
    author: Address,
    is_counted: bool,
) -> Result<HeaderContext, HeaderError> {
    let genesis = SlotClock::at_genesis(config.period);
    let config = &parent.config(config);
    candidate.check_parent(parent.block)?;
    let timestamp = candidate.timestamp();
    let Some(slot) = config.slot_at(timestamp, (parent.slot, parent.timestamp)) else {
        return Err(HeaderError::Timestamp { got: timestamp, parent: parent.timestamp, period: config.period });
    };
    candidate.check_unused(&[UnusedField::Difficulty])?;
    candidate.check_mix_hash()?;
    candidate.check_extra_data()?;
    candidate.check_boundary(parent.begins_round(config, slot))?;
    let place = place_of(config, parent, slot, author)?;
    candidate.check_beneficiary(author)?;
    let confirmed = confirmed(parent, candidate.header)?;
    let payload = Payload::decode(&candidate.payload)?;
    let offences = offences(config, authenticator, &payload, (slot, timestamp))?;
    check_new(parent, &offences)?;
    // Who has stake, as who is elected, is known by execution alone.
    let election = match is_counted {
        true => {
            check_accountable(config, parent, &offences)?;
            Election::Counted
        }
        false => Election::FromHeader(payload.proposes.as_ref()),
    };
    let inputs = BlockInputs { slot, place, confirmed, offences: &offences };
    let (state, derived) = parent.extend(config, &inputs, election)?;
    if payload.absent != derived.absent {
        return Err(HeaderError::Absent { got: payload.absent, want: derived.absent });
    }
    if payload.proposes != derived.proposes {
        return Err(HeaderError::Proposes { got: payload.proposes, want: derived.proposes });
    }
    if payload.activates != derived.activates {
        return Err(HeaderError::Activates { got: payload.activates, want: derived.activates });
    }
    let (block, candidates) = (candidate.id(), parent.candidates.clone());
    let on_duty = core::iter::once(author).chain(payload.absent);
    let former = parent.former_after(config, (block.height, timestamp), &state, on_duty);
    let in_force = InForce::after(parent.in_force.as_ref(), genesis, slot, &candidate.parameters);
    Ok(HeaderContext { block, timestamp, slot, state: Arc::new(state), candidates, former, in_force })
}

fn place_of(config: &DposConfig, parent: &HeaderContext, slot: u64, author: Address) -> Result<usize, HeaderError> {
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

/// Returns the number of heights that the header confirms; what it implies must be what is prepared at its parent.
fn confirmed(parent: &HeaderContext, header: &Header) -> Result<u16, HeaderError> {
    let vote =
        Confirmation::of_header(header).map_err(|got| HeaderError::Vote { got, height: Height::new(header.number) })?;
    let Some(Confirmation { confirmed, implied }) = vote else { return Ok(0) };
    let want = parent.state.prepared();
    if implied == want { Ok(confirmed) } else { Err(HeaderError::Implied { got: implied, want }) }
}

/// Returns the offences that the payload's evidence proves.
fn offences(
    config: &DposConfig,
    authenticator: &Authenticator,
    payload: &Payload,
    at: (u64, Timestamp),
) -> Result<Vec<Infraction>, EvidenceError> {
    payload.evidence.iter().map(|evidence| evidence.check(config, at, authenticator)).collect()
}

/// Checks that no offence is reported twice, here or on the parent's branch.
fn check_new(parent: &HeaderContext, offences: &[Infraction]) -> Result<(), EvidenceError> {
    for (index, offence) in offences.iter().enumerate() {
        let (slot, offender) = (offence.slot, offence.offender);
        let is_repeated = offences[..index].iter().any(|other| (other.slot, other.offender) == (slot, offender));
        if is_repeated || parent.state.is_reported(offence) {
            return Err(EvidenceError::AlreadyReported { offender, slot });
        }
    }
    Ok(())
}

/// Checks that the offences are of candidates, or of who was a producer.
fn check_accountable(
    config: &DposConfig,
    parent: &HeaderContext,
    offences: &[Infraction],
) -> Result<(), EvidenceError> {
    let other = offences.iter().find(|offence| !parent.is_accountable(config, &offence.offender));
    other.map_or(Ok(()), |offence| Err(EvidenceError::Unaccountable { offender: offence.offender }))
}

impl HeaderChainRules for Dpos {
    type Config = DposConfig;
    type Genesis = ValidatorSet;
    type Context = HeaderContext;
    type Error = HeaderError;

    fn genesis_context(config: &DposConfig, validators: &ValidatorSet, hash: B256, header: &Header) -> HeaderContext {
        let block = BlockId { height: Height::GENESIS, hash };
        HeaderContext::genesis(config, block, Timestamp::from_secs(header.timestamp), validators)
    }

    fn verify_header(
        config: &DposConfig,
        authenticator: &Authenticator,
        parent: &ParentContext<'_, HeaderContext>,
        block: &Block,
    ) -> Result<HeaderContext, HeaderError> {
        let candidate = UnverifiedHeader::from(block);
        let author = candidate.author(authenticator)?;
        check_header(config, authenticator, parent.context, &candidate, author, true)
    }

    fn is_parameter_boundary(
        config: &DposConfig,
        parent: &ParentContext<'_, HeaderContext>,
        (child, _): (&Header, &Bytes),
    ) -> bool {
        let context = parent.context;
        let config = context.config(config);
        let slot = config.slot_at(Timestamp::from_secs(child.timestamp), (context.slot, context.timestamp));
        slot.is_some_and(|slot| context.begins_round(&config, slot))
    }

    fn with_updates(context: HeaderContext, updates: &ValidatorUpdates) -> HeaderContext {
        context.with_updates(updates)
    }

    /// Returns `begin_turn` with the producer and the absent producers, `elect_set` where the block proposes producers and `begin_set` where it
    /// activates a schedule, both in block 1 for that of genesis, then a `slash` for each infraction that the payload proves.
    fn system_calls(
        config: &DposConfig,
        genesis: &ValidatorSet,
        authenticator: &Authenticator,
        context: &SystemContext<'_>,
    ) -> Result<Vec<SystemCall>, HeaderError> {
        let payload = Payload::decode(context.payload)?;
        let begin = match mutation::active(Mutation::DposCountsOthersTurns) {
            true => staking::begin_block,
            false => staking::begin_turn,
        };
        let mut calls = vec![begin(context.header.beneficiary, &payload.absent)];
        let elect_set = |producers: &ValidatorSet| staking::elect_set(&producers.addresses().collect::<Vec<_>>());
        if context.header.number == 1 {
            calls.extend([elect_set(&first_producers(config, genesis)), staking::begin_set()]);
        }
        calls.extend(payload.proposes.as_ref().map(elect_set));
        calls.extend(payload.activates.map(|_| staking::begin_set()));
        for evidence in &payload.evidence {
            let offender = authenticator.author(Purpose::Block, evidence.first.hash_slow(), &evidence.first_seal)?;
            let height = Height::new(evidence.first.number.max(evidence.second.number));
            let time = Timestamp::from_secs(evidence.first.timestamp.max(evidence.second.timestamp));
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
            HeaderError::Vote { got, .. } => field("nonce", got.to_string(), "zero or a vote".to_owned()),
            HeaderError::Implied { .. } | HeaderError::Confirm(_) => {
                field("nonce", error.to_string(), "a vote that follows from the parent".to_owned())
            }
            HeaderError::Seal(_) | HeaderError::NotProducer { .. } | HeaderError::NotItsTurn { .. } => {
                Self::Seal { reason: error.to_string() }
            }
            other => field("payload", other.to_string(), "the payload derived from the parent".to_owned()),
        }
    }
}
