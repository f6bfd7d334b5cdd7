//! The rules that a header of proof of stake obeys, judged from its parent alone.

use std::sync::Arc;

use super::{
    Checkpoint, Offence, OffenceError, Payload, PayloadError, PosConfig, State, Vote,
    message::{proposer_of, revealer_of},
    payload::{OFFENCES_MAX, VOTES_MAX},
};
use crate::{
    chain::{Ancestors, Block, HeaderRules, RuleError},
    consensus::{
        Authenticator, BlockId, SealError, ValidatorSet,
        header_rules::{Lineage, Parent, Remembered},
        mutation::{self, Mutation},
    },
    primitives::{Address, B64, B256, Bytes, Header, Height, Timestamp, U256},
    system::{SystemCall, SystemContext, ValidatorUpdates},
};

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
    /// A field that this protocol keeps at zero is not.
    #[error("{field} is not zero")]
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

/// Who finds out what stake changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stakes {
    /// The checker executes blocks: the parent's state has all updates.
    Executed,
    /// The checker has headers only and takes the payload's word, which binds nobody until it is final.
    Claimed,
}

/// Judges a header on its parent, whose link has the updates of its execution, and gives the link for the next.
///
/// # Errors
/// [`HeaderError`]: the first rule that it breaks.
pub fn check_header(
    config: &PosConfig,
    authenticator: &Authenticator,
    parent: &Link,
    hash: B256,
    header: &Header,
    payload: &Bytes,
    seal: &Bytes,
) -> Result<Link, HeaderError> {
    judge(config, authenticator, parent, &Candidate::new(hash, header, payload, seal), Stakes::Executed)
}

/// A header with what is beside it.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    hash: B256,
    header: &'a Header,
    payload: &'a Bytes,
    seal: &'a Bytes,
    /// Whether `extraData` is the payload's keccak.
    commits_to_payload: bool,
}

impl<'a> Candidate<'a> {
    pub(super) fn new(hash: B256, header: &'a Header, payload: &'a Bytes, seal: &'a Bytes) -> Self {
        let commits_to_payload = Block::extra_data_of(payload).is_some_and(|want| want == header.extra_data);
        Self { hash, header, payload, seal, commits_to_payload }
    }

    /// The header of a block, which knows what it commits to.
    pub(super) fn of(block: &'a Block) -> Self {
        Self {
            hash: block.hash(),
            header: block.header(),
            payload: block.payload(),
            seal: block.seal(),
            commits_to_payload: block.commits_to_payload(),
        }
    }
}

pub(super) fn judge(
    config: &PosConfig,
    authenticator: &Authenticator,
    parent: &Link,
    candidate: &Candidate<'_>,
    stakes: Stakes,
) -> Result<Link, HeaderError> {
    let Candidate { hash, header, .. } = *candidate;
    let block = BlockId { height: Height::new(header.number), hash };
    if header.parent_hash != parent.block.hash || block.height != parent.block.height.next() {
        return Err(HeaderError::Parent { got: header.parent_hash, got_height: block.height, want: parent.block });
    }
    let payload = Payload::decode(candidate.payload)?;
    let slot = payload.slot;
    check_slot(config, &parent.state, slot)?;
    let timestamp = check_time(config, parent, slot, header)?;
    check_fixed_fields(candidate)?;

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

fn check_time(config: &PosConfig, parent: &Link, slot: u64, header: &Header) -> Result<Timestamp, HeaderError> {
    let got = Timestamp::from_secs(header.timestamp);
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

fn check_fixed_fields(candidate: &Candidate<'_>) -> Result<(), HeaderError> {
    let header = candidate.header;
    if header.nonce != B64::ZERO {
        return Err(HeaderError::NotZero { field: "nonce" });
    }
    if header.difficulty != U256::ZERO {
        return Err(HeaderError::NotZero { field: "difficulty" });
    }
    if !candidate.commits_to_payload {
        let want = Block::extra_data_of(candidate.payload).unwrap_or_default();
        return Err(HeaderError::ExtraData { got: header.extra_data.clone(), want });
    }
    Ok(())
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

/// The rules as the chain floor asks for them. Remembers links; replicas of a process may share one.
#[derive(Debug)]
pub struct PosRules {
    config: PosConfig,
    authenticator: Authenticator,
    genesis_validators: ValidatorSet,
    judged: Remembered<Link>,
}

impl PosRules {
    /// Rules of a chain that starts with `genesis_validators`.
    pub fn new(config: PosConfig, genesis_validators: ValidatorSet, authenticator: Authenticator) -> Self {
        Self { config, authenticator, genesis_validators, judged: Remembered::default() }
    }

    /// Takes a link that was judged before this process began, such as a stored head's.
    pub fn remember(&self, link: Link) {
        self.judged.insert_stored(link.block.hash, link);
    }
}

/// The link of genesis.
pub(super) fn genesis_link(config: &PosConfig, hash: B256, header: &Header, validators: &ValidatorSet) -> Link {
    let (block, timestamp) = (BlockId { height: Height::GENESIS, hash }, Timestamp::from_secs(header.timestamp));
    let state = State::genesis(config, block, timestamp, validators);
    Link { block, timestamp, state: Arc::new(state) }
}

impl Lineage for PosRules {
    type Link = Link;

    fn remembered(&self) -> &Remembered<Link> {
        &self.judged
    }

    fn genesis(&self, hash: B256, header: &Header) -> Link {
        genesis_link(&self.config, hash, header, &self.genesis_validators)
    }

    fn judge(&self, parent: &Parent<'_, Link>, block: &Block) -> Result<Link, RuleError> {
        judge(&self.config, &self.authenticator, parent.link, &Candidate::of(block), Stakes::Executed)
            .map_err(|error| rule_error(&error))
    }

    fn executed(link: Link, updates: &ValidatorUpdates) -> Link {
        if updates.is_empty() { link } else { Link { state: Arc::new(link.state.with_updates(updates)), ..link } }
    }
}

impl HeaderRules for PosRules {
    fn verify(&self, block: &Block, parent: &Header, ancestors: &dyn Ancestors) -> Result<(), RuleError> {
        self.judge_once(block, parent, ancestors)
    }

    fn system_calls(&self, context: &SystemContext<'_>) -> Result<Vec<SystemCall>, RuleError> {
        super::calls::system_calls(&self.config, &self.authenticator, context).map_err(|error| rule_error(&error))
    }
}

fn rule_error(error: &HeaderError) -> RuleError {
    let field = |field, got: String, want: String| RuleError::Field { field, got, want };
    match error {
        HeaderError::Timestamp { got, earliest, end } => {
            field("timestamp", got.to_string(), format!("at least {earliest} and before {end}"))
        }
        HeaderError::Mix { got, want } => field("mixHash", got.to_string(), want.to_string()),
        HeaderError::NotZero { field: name } => field(name, "something".to_owned(), "zero".to_owned()),
        HeaderError::Seal(_) | HeaderError::Proposer { .. } => RuleError::Seal { reason: error.to_string() },
        other => field("payload", other.to_string(), "see the rules of proof of stake".to_owned()),
    }
}
