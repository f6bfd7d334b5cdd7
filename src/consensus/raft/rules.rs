//! Raft's header rules, verified from the parent alone.

use std::sync::Arc;

use super::{
    Change, ChangeError, Membership, Payload, PayloadError, Raft, RaftConfig,
    registry::{next_change, still_pending},
};
use crate::{
    chain::{Block, RuleError},
    consensus::{
        Authenticator, BlockId, Encoder, HeaderChainRules, HeaderFieldError, ParentContext, SealError,
        UnverifiedHeader, header::UnusedField,
    },
    primitives::{Address, B256, Header, Height, Timestamp},
    system::{ParameterUpdates, ValidatorUpdates, parameters::Parameter},
};

/// Context of a block for the verification of its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderContext {
    /// The block.
    pub block: BlockId,
    /// Timestamp of the block.
    pub timestamp: Timestamp,
    /// The term of its entry in the log; 0 at genesis.
    pub term: u64,
    /// The index of its entry in the log; 0 at genesis.
    pub index: u64,
    /// The configuration after it.
    pub membership: Arc<Membership>,
    /// Parameters of the chain that changed since genesis.
    pub parameters: ParameterUpdates,
    /// Changes by the validators' contract that later blocks take over; `None` for who executes no blocks and takes those that a header
    /// names.
    pub pending: Option<ValidatorUpdates>,
}

/// The rule that a header breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// A standard field breaks a rule common to all protocols.
    #[error(transparent)]
    Field(#[from] HeaderFieldError),
    /// The author is not a voter after the parent and so can't be leader.
    #[error("author {author} is no voter")]
    NoVoter {
        /// Author of the block, by its seal.
        author: Address,
    },
    /// Index does not increase, or term decreases.
    #[error("entry {index} of term {term} does not follow entry {parent_index} of term {parent_term}")]
    Entry {
        /// Index of the block's entry.
        index: u64,
        /// Term of the block's entry.
        term: u64,
        /// Index of the parent's entry.
        parent_index: u64,
        /// Term of the parent's entry.
        parent_term: u64,
    },
    /// The payload commits to other voters than those after this block.
    #[error("payload commits to next voters {got:?}; expected {want:?}")]
    NextVoters {
        /// Commitment in the payload.
        got: Option<B256>,
        /// Hash of the voters after the block; `None` when they stay the same.
        want: Option<B256>,
    },
    /// The payload changes the members otherwise than the validators' contract did.
    #[error("the payload's change of members is not the one that the validators' contract asks for, {want:?}")]
    ByContract {
        /// The change that follows from the contract.
        want: Option<Change>,
    },
    /// The payload's membership change is invalid.
    #[error("change of members: {0}")]
    Change(#[from] ChangeError),
    /// The payload does not decode.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The seal does not verify.
    #[error(transparent)]
    Seal(#[from] SealError),
}

impl HeaderContext {
    /// Creates the context of genesis.
    pub fn genesis(block: BlockId, timestamp: Timestamp, membership: Arc<Membership>) -> Self {
        let (parameters, pending) = (ParameterUpdates::NONE, Some(ValidatorUpdates::NONE));
        Self { block, timestamp, term: 0, index: 0, membership, parameters, pending }
    }

    /// Returns the context after the execution of its block.
    #[must_use]
    pub(super) fn executed(mut self, updates: &ValidatorUpdates) -> Self {
        self.pending = self.pending.map(|pending| pending.followed_by(updates));
        self
    }

    /// Returns the earliest timestamp of the next block.
    pub fn earliest_next(&self, config: &RaftConfig) -> Timestamp {
        let changed = self.parameters.value(Parameter::BlockTime);
        self.timestamp.saturating_add_secs(changed.map_or(config.period, |secs| secs as u64))
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { block, timestamp, term, index, membership, parameters, pending } = self;
        block.encode(out);
        out.timestamp(*timestamp);
        out.u64(*term);
        out.u64(*index);
        membership.encode(out);
        out.updates_at_end(pending.as_ref().unwrap_or(&ValidatorUpdates::NONE), parameters);
    }
}

/// Verifies a header of `author` against its parent and returns the context for its children.
///
/// # Errors
/// [`HeaderError`]: the first rule that it breaks.
pub fn check_header(
    config: &RaftConfig,
    parent: &HeaderContext,
    candidate: &UnverifiedHeader<'_>,
    author: Address,
) -> Result<HeaderContext, HeaderError> {
    candidate.check_parent(parent.block)?;
    candidate.check_timestamp(parent.earliest_next(config))?;
    candidate.check_unused(&[UnusedField::Nonce, UnusedField::Difficulty])?;
    candidate.check_mix_hash()?;
    candidate.check_extra_data()?;
    candidate.check_beneficiary(author)?;
    if parent.membership.voter_of(&author).is_none() {
        return Err(HeaderError::NoVoter { author });
    }
    let Payload { term, index, change, next_voters: got } = Payload::decode(&candidate.payload)?;
    if index <= parent.index || term < parent.term.max(1) {
        let (parent_index, parent_term) = (parent.index, parent.term);
        return Err(HeaderError::Entry { index, term, parent_index, parent_term });
    }
    if let Some(pending) = parent.pending.as_ref().filter(|_| config.by_contract) {
        let want = next_change(config, &parent.membership, pending);
        if change != want {
            return Err(HeaderError::ByContract { want });
        }
    }
    let (membership, want) = match &change {
        None => (parent.membership.clone(), None),
        Some(change) => {
            let after = parent.membership.after(change)?;
            let want = next_voters(&parent.membership, &after);
            (Arc::new(after), want)
        }
    };
    if got != want {
        return Err(HeaderError::NextVoters { got, want });
    }
    let (timestamp, parameters) = (candidate.timestamp(), parent.parameters.followed_by(&candidate.parameters));
    let pending = parent.pending.as_ref().map(|pending| still_pending(&parent.membership, pending));
    Ok(HeaderContext { block: candidate.id(), timestamp, term, index, membership, parameters, pending })
}

/// Returns the hash of the next voters that a payload has to commit to; `None` when they stay the same.
pub(super) fn next_voters(before: &Membership, after: &Membership) -> Option<B256> {
    let (before, after) = (before.validators(), after.validators());
    (before != after).then(|| after.hash())
}

impl HeaderChainRules for Raft {
    type Config = RaftConfig;
    type Genesis = Membership;
    type Context = HeaderContext;
    type Error = HeaderError;

    fn genesis_context(_config: &RaftConfig, members: &Membership, hash: B256, header: &Header) -> HeaderContext {
        let block = BlockId { height: Height::GENESIS, hash };
        HeaderContext::genesis(block, Timestamp::from_secs(header.timestamp), Arc::new(members.clone()))
    }

    fn verify_header(
        config: &RaftConfig,
        authenticator: &Authenticator,
        parent: &ParentContext<'_, HeaderContext>,
        block: &Block,
    ) -> Result<HeaderContext, HeaderError> {
        let candidate = UnverifiedHeader::from(block);
        check_header(config, parent.context, &candidate, candidate.author(authenticator)?)
    }

    fn with_updates(context: HeaderContext, updates: &ValidatorUpdates) -> HeaderContext {
        context.executed(updates)
    }
}

impl From<HeaderError> for RuleError {
    fn from(error: HeaderError) -> Self {
        match error {
            HeaderError::Field(error) => error.into(),
            other => Self::Seal { reason: other.to_string() },
        }
    }
}
