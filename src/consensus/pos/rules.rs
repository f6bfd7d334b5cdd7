//! Header rules of proof of stake, which depend on the parent alone.

use std::sync::Arc;

use super::{
    Checkpoint, Payload, PayloadError, Pos, PosConfig, RevealChain, RevealError, SlashingEvidence,
    SlashingEvidenceError, State, Vote,
    participation::Participation,
    payload::{OFFENCES_MAX, VOTES_MAX},
    proposal::proposer_of,
    reveal::mixed,
};
use crate::{
    chain::{Block, MixHashSource, RuleError},
    consensus::{
        Authenticator, BlockId, EvidenceWindow, HeaderChainRules, HeaderFieldError, ParentContext, SealError,
        UnverifiedHeader, ValidatorSet,
        header::UnusedField,
        mutation::{self, Mutation},
    },
    primitives::{Address, B256, Bytes, Header, Height, Timestamp},
    system::{SystemCall, SystemContext, ValidatorUpdates},
};

/// State after a block that verification of its children needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderContext {
    /// The block.
    pub block: BlockId,
    /// Timestamp of the block.
    pub timestamp: Timestamp,
    /// State of the branch after the block.
    pub state: Arc<State>,
}

/// Violation of a header rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// A standard field violates a rule common to all protocols.
    #[error(transparent)]
    Field(#[from] HeaderFieldError),
    /// The slot is not after the parent's, or too far after it.
    #[error("slot is {got}; expected more than {parent} and at most {max}")]
    Slot {
        /// Slot in the payload.
        got: u64,
        /// Slot of the parent.
        parent: u64,
        /// Latest slot allowed.
        max: u64,
    },
    /// The timestamp is not within its slot.
    #[error("timestamp is {got}; expected at least {earliest} and before {end}")]
    Timestamp {
        /// Value in the header.
        got: Timestamp,
        /// Start of the slot.
        earliest: Timestamp,
        /// End of the slot, exclusive.
        end: Timestamp,
    },
    /// The author or the beneficiary is not the slot's proposer.
    #[error("{got} made the block of slot {slot} or earns its fees; expected the proposer {want}")]
    Proposer {
        /// Author or beneficiary.
        got: Address,
        /// Slot of the block.
        slot: u64,
        /// Proposer by the epoch's duties.
        want: Address,
    },
    /// The randomness reveal is not the next element of the proposer's hash chain, or the next chain is announced too early.
    #[error("randomness reveal: {0}")]
    Reveal(#[from] RevealError),
    /// `mixHash` is not the parent's randomness with the reveal mixed in.
    #[error("mixHash is {got}; expected {want}")]
    Mix {
        /// Value in the header.
        got: B256,
        /// Value expected.
        want: B256,
    },
    /// The block contains too many votes or offences.
    #[error("{got} {what}; at most {max} are allowed")]
    TooMany {
        /// What is counted.
        what: &'static str,
        /// Number in the payload.
        got: usize,
        /// Number allowed.
        max: usize,
    },
    /// A vote does not count on this branch.
    #[error("vote of {signer} for epoch {epoch}: {reason}")]
    Vote {
        /// Validator that voted.
        signer: Address,
        /// Epoch of the vote's target.
        epoch: u64,
        /// Rule that the vote violates.
        reason: VoteError,
    },
    /// The evidence proves no offence.
    #[error("evidence: {0}")]
    Offence(#[from] SlashingEvidenceError),
    /// The offender can't be punished for the offence.
    #[error("evidence against {offender}: {reason}")]
    Offender {
        /// The offender.
        offender: Address,
        /// Rule that the evidence violates.
        reason: OffenderError,
    },
    /// The payload's accounting of the epochs that ended differs from the one computed.
    #[error("epoch accounting at slot {slot} differs from the one computed")]
    EpochAccounting {
        /// Slot of the block.
        slot: u64,
    },
    /// The absent validators in the payload are not those that did not vote.
    #[error("absent validators at slot {slot} differ from those counted")]
    Absent {
        /// Slot of the block.
        slot: u64,
    },
    /// The payload does not decode.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// A seal or signature does not verify.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// Reason for which evidence does not count on a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OffenderError {
    /// The offender is slashed on this branch.
    #[error("it is slashed already")]
    Slashed,
    /// The offence is of a later epoch than the block.
    #[error("the offence is of epoch {epoch}, which has not begun; it is epoch {now}")]
    Future {
        /// Epoch of the offence.
        epoch: u64,
        /// Epoch of the block.
        now: u64,
    },
    /// The offence is too old.
    #[error("the offence is {blocks} blocks and {secs} s old; it counts up to {} blocks or {} s", window.blocks, window.secs)]
    Expired {
        /// Age in blocks.
        blocks: u64,
        /// Age in seconds.
        secs: u64,
        /// Ages up to which evidence counts.
        window: EvidenceWindow,
    },
    /// The offender has no stake that is locked.
    #[error(
        "it is no validator, and if it was one, it left {unbonding_secs} s ago or earlier, and its stake is withdrawable"
    )]
    Withdrawable {
        /// Time for which stake is locked after its validator left, in seconds.
        unbonding_secs: u64,
    },
}

/// Rule by which a vote does not count on a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VoteError {
    /// The target is neither in the current nor in the previous epoch.
    #[error("epoch is not counted")]
    Epoch,
    /// The slot is not between the validator's attestation slot and the block's slot.
    #[error("slot is before the attestation slot, outside its epoch, or not before the block")]
    Slot,
    /// The signer is not a validator of that epoch.
    #[error("not a validator of that epoch")]
    NotValidator,
    /// The signer is slashed on this branch.
    #[error("its validator is slashed")]
    Slashed,
    /// The vote was counted before.
    #[error("already counted")]
    Known,
    /// The source is not this branch's justified checkpoint.
    #[error("source is not this branch's justified checkpoint")]
    Source,
    /// The target is not this branch's checkpoint.
    #[error("target is not this branch's checkpoint")]
    Target,
}

/// Source of changes of stake for a verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StakeSource {
    /// Execution: the parent's state includes all validator updates.
    Executed,
    /// The payload, for verifiers without execution. Such a change is in force only once its block is final.
    FromHeader,
}

/// Verifies a header against its parent, whose context includes the validator updates of its execution, and returns the context for its
/// children.
///
/// # Errors
/// [`HeaderError`] for the first rule that it violates.
pub fn check_header(
    config: &PosConfig,
    authenticator: &Authenticator,
    parent: &HeaderContext,
    candidate: &UnverifiedHeader<'_>,
    source: StakeSource,
) -> Result<HeaderContext, HeaderError> {
    let (block, header) = (candidate.id(), candidate.header);
    candidate.check_parent(parent.block)?;
    let payload = Payload::decode(&candidate.payload)?;
    let slot = payload.slot;
    check_slot(config, &parent.state, slot)?;
    let timestamp = check_time(config, parent, slot, candidate.timestamp())?;
    candidate.check_unused(&[UnusedField::Nonce, UnusedField::Difficulty])?;
    candidate.check_extra_data()?;

    candidate.check_boundary(config.epoch_of(slot) > parent.state.epoch())?;
    let author = proposer_of(authenticator, slot, &block, candidate.seal)?;
    let (mut state, deltas) = parent.state.advanced(config, slot);
    let want = state.current.proposer(config, slot).unwrap_or_default();
    for got in [author, header.beneficiary] {
        if got != want {
            return Err(HeaderError::Proposer { got, slot, want });
        }
    }
    let epoch = state.epoch();
    let reveals = state.reveal_chain(&want).after(config, authenticator, slot, &payload.reveal)?;
    state.reveals.insert(want, reveals);
    state.mix = mixed(authenticator, state.mix, payload.reveal.element);
    if header.mix_hash != state.mix {
        return Err(HeaderError::Mix { got: header.mix_hash, want: state.mix });
    }
    let from_header = match source {
        StakeSource::Executed => None,
        StakeSource::FromHeader => {
            let elected = payload.accounting.as_ref().and_then(|accounting| accounting.elected.as_ref());
            if elected.is_some_and(|members| {
                ValidatorSet::new(members.iter().copied()).is_ok_and(|set| set.members() != members.as_slice())
                    || members.is_empty()
            }) {
                return Err(HeaderError::EpochAccounting { slot });
            }
            Some(payload.accounting.as_ref())
        }
    };
    if state.apply_epoch(deltas, from_header) != payload.accounting {
        return Err(HeaderError::EpochAccounting { slot });
    }
    if payload.absent != state.stake.absent {
        return Err(HeaderError::Absent { slot });
    }
    apply_votes(config, authenticator, &mut state, &payload)?;
    apply_offences(config, authenticator, &mut state, &payload)?;
    if !candidate.parameters.is_empty() {
        state.parameters = state.parameters.followed_by(&candidate.parameters);
        state.commit_length();
    }
    (state.latest, state.time) = (block, timestamp);
    if slot == config.start_of(epoch) {
        state.checkpoints[1] = Checkpoint { epoch, block };
    }
    Ok(HeaderContext { block, timestamp, state: Arc::new(state) })
}

fn check_slot(config: &PosConfig, parent: &State, got: u64) -> Result<(), HeaderError> {
    let parent = parent.slot;
    let max = config.last_slot_after(parent);
    if got > parent && got <= max { Ok(()) } else { Err(HeaderError::Slot { got, parent, max }) }
}

fn check_time(config: &PosConfig, parent: &HeaderContext, slot: u64, got: Timestamp) -> Result<Timestamp, HeaderError> {
    let (earliest, end) = if config.period == 0 {
        (parent.timestamp, Timestamp::from_secs(u64::MAX))
    } else {
        let times = parent.state.times_at(config, slot);
        (times.time_of(slot), times.time_of(slot.saturating_add(1)))
    };
    if earliest <= got && (got < end || config.period == 0) {
        Ok(got)
    } else {
        Err(HeaderError::Timestamp { got, earliest, end })
    }
}

fn apply_votes(
    config: &PosConfig,
    authenticator: &Authenticator,
    state: &mut State,
    payload: &Payload,
) -> Result<(), HeaderError> {
    if payload.votes.len() > VOTES_MAX {
        return Err(HeaderError::TooMany { what: "votes", got: payload.votes.len(), max: VOTES_MAX });
    }
    for vote in &payload.votes {
        let signer = vote.signer(authenticator)?;
        let epoch = vote.data.target.epoch;
        let place = state.check_vote(config, vote, &signer);
        let (place, index) = place.map_err(|reason| HeaderError::Vote { signer, epoch, reason })?;
        let slots = state.slot.saturating_sub(config.start_of(epoch));
        state.voted[place][index] = Participation::included(slots, vote.data.head == state.latest);
    }
    Ok(())
}

fn apply_offences(
    config: &PosConfig,
    authenticator: &Authenticator,
    state: &mut State,
    payload: &Payload,
) -> Result<(), HeaderError> {
    if payload.offences.len() > OFFENCES_MAX {
        return Err(HeaderError::TooMany { what: "offences", got: payload.offences.len(), max: OFFENCES_MAX });
    }
    for offence in &payload.offences {
        let offender = offence.offender(authenticator)?;
        state.check_due(config, offence, &offender).map_err(|reason| HeaderError::Offender { offender, reason })?;
        let entry = (state.epoch(), state.weight_of(&offender));
        let stake = Arc::make_mut(&mut state.stake);
        stake.slashed.insert(offender, entry);
        stake.former.remove(&offender);
    }
    Ok(())
}

impl State {
    /// Checks that a vote counts in a block at this state's slot and returns the indices of its epoch and its validator.
    pub(super) fn check_vote(
        &self,
        config: &PosConfig,
        vote: &Vote,
        signer: &Address,
    ) -> Result<(usize, usize), VoteError> {
        let data = &vote.data;
        let number = data.target.epoch;
        let place = self.counted(number).ok_or(VoteError::Epoch)?;
        let epoch = self.epoch_at(place);
        let index = epoch.set().index_of(signer).ok_or(VoteError::NotValidator)?;
        if self.is_slashed(signer) {
            return Err(VoteError::Slashed);
        }
        let duty = epoch.attestation_slot(config, signer).unwrap_or_default();
        if data.slot < duty || config.epoch_of(data.slot) != number || data.slot >= self.slot {
            return Err(VoteError::Slot);
        }
        if self.voted[place][index].has_voted() {
            return Err(VoteError::Known);
        }
        if data.source != self.source_at(place) {
            return Err(VoteError::Source);
        }
        if data.target != self.checkpoints[place] && !mutation::active(Mutation::PosCountsAnyTarget) {
            return Err(VoteError::Target);
        }
        Ok((place, index))
    }

    /// Returns the reveals of `validator` on this branch.
    pub(super) fn reveal_chain(&self, validator: &Address) -> RevealChain {
        self.reveals.get(validator).copied().unwrap_or_default()
    }

    /// Checks that the next block of this branch may include evidence against `offender`.
    pub(super) fn check_due(
        &self,
        config: &PosConfig,
        offence: &SlashingEvidence,
        offender: &Address,
    ) -> Result<(), OffenderError> {
        let (epoch, now) = (config.epoch_of(offence.slot()), self.epoch());
        if epoch > now {
            return Err(OffenderError::Future { epoch, now });
        }
        if self.is_slashed(offender) {
            return Err(OffenderError::Slashed);
        }
        if !self.is_accountable(offender) {
            return Err(OffenderError::Withdrawable { unbonding_secs: self.evidence(config).unbonding_secs });
        }
        let (blocks, secs) = offence.age(&self.times, self.latest.height, self.slot);
        let window = self.evidence(config);
        if window.is_expired(blocks, secs) {
            return Err(OffenderError::Expired { blocks, secs, window });
        }
        Ok(())
    }
}

impl HeaderChainRules for Pos {
    type Config = PosConfig;
    type Genesis = ValidatorSet;
    type Context = HeaderContext;
    type Error = HeaderError;

    /// The validators' reveals.
    fn mix_hash_source() -> MixHashSource {
        MixHashSource::Protocol
    }

    fn genesis_context(config: &PosConfig, validators: &ValidatorSet, hash: B256, header: &Header) -> HeaderContext {
        let (block, timestamp) = (BlockId { height: Height::GENESIS, hash }, Timestamp::from_secs(header.timestamp));
        let state = State::genesis(config, block, timestamp, validators);
        HeaderContext { block, timestamp, state: Arc::new(state) }
    }

    fn verify_header(
        config: &PosConfig,
        authenticator: &Authenticator,
        parent: &ParentContext<'_, HeaderContext>,
        block: &Block,
    ) -> Result<HeaderContext, HeaderError> {
        check_header(config, authenticator, parent.context, &block.into(), StakeSource::Executed)
    }

    fn is_parameter_boundary(
        config: &PosConfig,
        parent: &ParentContext<'_, HeaderContext>,
        (_, payload): (&Header, &Bytes),
    ) -> bool {
        let state = &parent.context.state;
        Payload::slot_of(payload).is_some_and(|slot| config.epoch_of(slot) > state.epoch())
    }

    fn with_updates(context: HeaderContext, updates: &ValidatorUpdates) -> HeaderContext {
        if updates.is_empty() {
            context
        } else {
            HeaderContext { state: Arc::new(context.state.with_updates(updates)), ..context }
        }
    }

    fn system_calls(
        config: &PosConfig,
        _genesis: &ValidatorSet,
        authenticator: &Authenticator,
        context: &SystemContext<'_>,
    ) -> Result<Vec<SystemCall>, HeaderError> {
        super::calls::system_calls(config, authenticator, context)
    }
}

impl From<HeaderError> for RuleError {
    fn from(error: HeaderError) -> Self {
        let field = |field, got: String, want: String| Self::Field { field, got, want };
        match error {
            HeaderError::Field(error) => error.into(),
            HeaderError::Timestamp { got, earliest, end } => {
                field("timestamp", got.to_string(), format!("at least {earliest} and before {end}"))
            }
            HeaderError::Mix { got, want } => field("mixHash", got.to_string(), want.to_string()),
            HeaderError::Seal(_) | HeaderError::Proposer { .. } => Self::Seal { reason: error.to_string() },
            other => field("payload", other.to_string(), "see the rules of proof of stake".to_owned()),
        }
    }
}
