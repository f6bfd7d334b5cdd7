//! The rules that a header of proof of stake obeys, verified from its parent alone.

use std::sync::Arc;

use super::{
    Checkpoint, Offence, OffenceError, Payload, PayloadError, Pos, PosConfig, State, Vote,
    message::{proposer_of, revealer_of},
    payload::{OFFENCES_MAX, VOTES_MAX},
};
use crate::{
    chain::{Block, RuleError},
    consensus::{
        Authenticator, BlockId, CachedHeaderRules, HeaderChainRules, HeaderFieldError, ParentContext, SealError,
        UnverifiedHeader, ValidatorSet,
        header::UnusedField,
        mutation::{self, Mutation},
    },
    primitives::{Address, B256, Header, Height, Timestamp},
    system::{SystemCall, SystemContext, ValidatorUpdates},
};

/// The header rules of a proof-of-stake chain, from the validators of its genesis.
pub type PosRules = CachedHeaderRules<Pos>;

/// What a block's judgement needs of its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The block.
    pub block: BlockId,
    /// Its time.
    pub timestamp: Timestamp,
    /// The branch after it.
    pub state: Arc<State>,
}

/// Which rule a header breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// A standard field breaks a rule common to all protocols.
    #[error(transparent)]
    Field(#[from] HeaderFieldError),
    /// Not after the parent's slot, or too far after it.
    #[error("slot is {got}; expected more than {parent} and at most {max}")]
    Slot {
        /// The payload's.
        got: u64,
        /// The parent's.
        parent: u64,
        /// The latest allowed.
        max: u64,
    },
    /// Not within its slot.
    #[error("timestamp is {got}; expected at least {earliest} and before {end}")]
    Timestamp {
        /// The header's.
        got: Timestamp,
        /// When the slot begins.
        earliest: Timestamp,
        /// When it ends.
        end: Timestamp,
    },
    /// Sealed by another than the slot's proposer, or the fees would go to another.
    #[error("{got} made the block of slot {slot}; expected {want}")]
    Proposer {
        /// The author or beneficiary.
        got: Address,
        /// Which slot.
        slot: u64,
        /// By the epoch's duties.
        want: Address,
    },
    /// The reveal is by another than the proposer, or of another epoch.
    #[error("randomness reveal is not the proposer's for epoch {epoch}")]
    Reveal {
        /// Which epoch.
        epoch: u64,
    },
    /// `mixHash` is not the parent's randomness with the reveal mixed in.
    #[error("mixHash is {got}; expected {want}")]
    Mix {
        /// The header's.
        got: B256,
        /// What it has to be.
        want: B256,
    },
    /// More than a block may carry.
    #[error("{got} {what}; at most {max} are allowed")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        got: usize,
        /// How many are allowed.
        max: usize,
    },
    /// A vote that may not be counted here.
    #[error("vote of {signer} for epoch {epoch}: {reason}")]
    Vote {
        /// Who voted.
        signer: Address,
        /// The target's epoch.
        epoch: u64,
        /// Why not.
        reason: VoteError,
    },
    /// An offence without proof.
    #[error("evidence: {0}")]
    Offence(#[from] OffenceError),
    /// An offence that costs nothing any more: of a stranger, known on this branch, or too old.
    #[error("evidence against {offender} is out of place: known, too old, or not a validator")]
    Offender {
        /// Who.
        offender: Address,
    },
    /// What the payload says of the epochs that ended is not what became of them.
    #[error("accounts of the epoch before slot {slot} are not as they came out")]
    Accounts {
        /// The block's slot.
        slot: u64,
    },
    /// The payload lists others for absent than those who did not vote.
    #[error("absent validators at slot {slot} are not as counted")]
    Absent {
        /// The block's slot.
        slot: u64,
    },
    /// The payload does not decode.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// A seal or signature names nobody.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// Why a vote does not count on a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VoteError {
    /// Neither this epoch nor the one before.
    #[error("epoch is not counted")]
    Epoch,
    /// Not between its validator's duty and the block.
    #[error("slot is before its duty, outside its epoch, or not before the block")]
    Slot,
    /// By nobody who votes in that epoch.
    #[error("not a validator of that epoch")]
    NotValidator,
    /// By an offender, after this branch found it out.
    #[error("its validator is slashed")]
    Slashed,
    /// Counted before.
    #[error("already counted")]
    Known,
    /// From another checkpoint than this branch has justified.
    #[error("source is not what this branch has justified")]
    Source,
    /// For another checkpoint than this branch has.
    #[error("target is not this branch's checkpoint")]
    Target,
}

/// Where a verifier takes changes of stake from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stakes {
    /// Execution: the parent's state has all validator updates.
    Executed,
    /// The payload: the verifier has headers only. Such a change is in force only once its block is final.
    Claimed,
}

/// Verifies a header against its parent, whose context has the updates of its execution, and returns the context for its
/// children.
///
/// # Errors
/// [`HeaderError`]: the first rule that it breaks.
pub fn check_header(
    config: &PosConfig,
    authenticator: &Authenticator,
    parent: &Link,
    candidate: &UnverifiedHeader<'_>,
    stakes: Stakes,
) -> Result<Link, HeaderError> {
    let (block, header) = (candidate.id(), candidate.header);
    candidate.check_parent(parent.block)?;
    let payload = Payload::decode(candidate.payload)?;
    let slot = payload.slot;
    check_slot(config, &parent.state, slot)?;
    let timestamp = check_time(config, parent, slot, candidate.timestamp())?;
    candidate.check_unused(&[UnusedField::Nonce, UnusedField::Difficulty])?;
    candidate.check_extra_data()?;

    let (mut state, dues) = parent.state.advanced(config, slot);
    let want = state.current.proposer(config, slot).unwrap_or_default();
    let author = proposer_of(authenticator, slot, &block, candidate.seal)?;
    for got in [author, header.beneficiary] {
        if got != want {
            return Err(HeaderError::Proposer { got, slot, want });
        }
    }
    let epoch = state.epoch();
    if revealer_of(authenticator, epoch, &payload.reveal)? != want {
        return Err(HeaderError::Reveal { epoch });
    }
    state.mix = mixed(authenticator, state.mix, &payload.reveal);
    if header.mix_hash != state.mix {
        return Err(HeaderError::Mix { got: header.mix_hash, want: state.mix });
    }
    let claimed = match stakes {
        Stakes::Executed => None,
        Stakes::Claimed => {
            let elected = payload.accounts.as_ref().and_then(|accounts| accounts.elected.as_ref());
            if elected.is_some_and(|members| {
                ValidatorSet::new(members.iter().copied()).is_ok_and(|set| set.members() != members.as_slice())
                    || members.is_empty()
            }) {
                return Err(HeaderError::Accounts { slot });
            }
            Some(payload.accounts.as_ref())
        }
    };
    if state.settle(dues, claimed) != payload.accounts {
        return Err(HeaderError::Accounts { slot });
    }
    if payload.absent != state.stake.absent {
        return Err(HeaderError::Absent { slot });
    }
    take_votes(config, authenticator, &mut state, &payload)?;
    take_offences(config, authenticator, &mut state, &payload)?;
    state.latest = block;
    if slot == config.start_of(epoch) {
        state.checkpoints[1] = Checkpoint { epoch, block };
    }
    Ok(Link { block, timestamp, state: Arc::new(state) })
}

/// The randomness after a reveal.
pub(super) fn mixed(authenticator: &Authenticator, mix: B256, reveal: &[u8]) -> B256 {
    mix ^ authenticator.keccak(reveal)
}

fn check_slot(config: &PosConfig, parent: &State, got: u64) -> Result<(), HeaderError> {
    let parent = parent.slot;
    let max = parent.saturating_add(config.reach());
    if got > parent && got <= max { Ok(()) } else { Err(HeaderError::Slot { got, parent, max }) }
}

fn check_time(config: &PosConfig, parent: &Link, slot: u64, got: Timestamp) -> Result<Timestamp, HeaderError> {
    let (earliest, end) = if config.period == 0 {
        (parent.timestamp, Timestamp::from_secs(u64::MAX))
    } else {
        let genesis = parent.state.genesis_time;
        (config.time_of(genesis, slot), config.time_of(genesis, slot.saturating_add(1)))
    };
    if earliest <= got && (got < end || config.period == 0) {
        Ok(got)
    } else {
        Err(HeaderError::Timestamp { got, earliest, end })
    }
}

fn take_votes(
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
        let place = state.judge_vote(config, vote, &signer);
        let (place, index) = place.map_err(|reason| HeaderError::Vote { signer, epoch, reason })?;
        state.voted[place][index] = true;
    }
    Ok(())
}

fn take_offences(
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
        if !state.is_due(config, offence, &offender) {
            return Err(HeaderError::Offender { offender });
        }
        let entry = (state.epoch(), state.weight_of(&offender));
        Arc::make_mut(&mut state.stake).slashed.insert(offender, entry);
    }
    Ok(())
}

impl State {
    /// Whether a vote counts in a block at this state's slot: its epoch's place and its validator's index.
    pub(super) fn judge_vote(
        &self,
        config: &PosConfig,
        vote: &Vote,
        signer: &Address,
    ) -> Result<(usize, usize), VoteError> {
        let data = &vote.data;
        let number = data.target.epoch;
        let place = self.counted(number).ok_or(VoteError::Epoch)?;
        let epoch = self.epoch_at(place);
        let index = epoch.set.index_of(signer).ok_or(VoteError::NotValidator)?;
        if self.is_slashed(signer) {
            return Err(VoteError::Slashed);
        }
        let duty = epoch.attestation_slot(config, signer).unwrap_or_default();
        if data.slot < duty || config.epoch_of(data.slot) != number || data.slot >= self.slot {
            return Err(VoteError::Slot);
        }
        if self.voted[place][index] {
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

    /// Whether evidence against `offender` belongs into a block of this branch.
    pub(super) fn is_due(&self, config: &PosConfig, offence: &Offence, offender: &Address) -> bool {
        let epoch = config.epoch_of(offence.slot());
        let is_recent = epoch.saturating_add(config.unbonding_epochs) >= self.epoch() && epoch <= self.epoch();
        is_recent && self.is_slashable(offender)
    }
}

impl HeaderChainRules for Pos {
    type Config = PosConfig;
    type Genesis = ValidatorSet;
    type Context = Link;
    type Error = HeaderError;

    fn genesis_context(config: &PosConfig, validators: &ValidatorSet, hash: B256, header: &Header) -> Link {
        let (block, timestamp) = (BlockId { height: Height::GENESIS, hash }, Timestamp::from_secs(header.timestamp));
        let state = State::genesis(config, block, timestamp, validators);
        Link { block, timestamp, state: Arc::new(state) }
    }

    fn verify_header(
        config: &PosConfig,
        authenticator: &Authenticator,
        parent: &ParentContext<'_, Link>,
        block: &Block,
    ) -> Result<Link, HeaderError> {
        check_header(config, authenticator, parent.context, &block.into(), Stakes::Executed)
    }

    fn with_updates(link: Link, updates: &ValidatorUpdates) -> Link {
        if updates.is_empty() { link } else { Link { state: Arc::new(link.state.with_updates(updates)), ..link } }
    }

    fn system_calls(
        config: &PosConfig,
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
