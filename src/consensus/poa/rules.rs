//! Header rules of proof of authority, which depend on the parent alone (EIP-225, "Specification").

use std::sync::Arc;

use super::{Payload, PayloadError, Poa, PoaConfig, Snapshot, SnapshotError, Vote};
use crate::{
    chain::{Block, RuleError},
    consensus::{
        Authenticator, BlockId, HeaderChainRules, HeaderFieldError, ParentContext, SealError, UnverifiedHeader,
        ValidatorSet, header::UnusedField,
    },
    primitives::{Address, B256, Header, Height, Timestamp, U256},
    system::{ParameterUpdates, ValidatorUpdates},
};

/// State after a block that verification of its children needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderContext {
    /// The block.
    pub block: BlockId,
    /// Timestamp of the block.
    pub timestamp: Timestamp,
    /// Signers and votes after the block.
    pub snapshot: Arc<Snapshot>,
    /// Parameters of the chain that changed since genesis.
    pub parameters: ParameterUpdates,
    /// Changes by the validators' contract in the block's execution, which the next block takes over; `None` for who executes no blocks and
    /// takes those that a header names.
    pub pending: Option<ValidatorUpdates>,
}

impl HeaderContext {
    /// Returns the context after a genesis block that lists `signers`.
    pub fn genesis(block: BlockId, timestamp: Timestamp, signers: ValidatorSet) -> Self {
        let snapshot = Arc::new(Snapshot::new(signers, Arc::default()));
        let pending = Some(ValidatorUpdates::NONE);
        Self { block, timestamp, snapshot, parameters: ParameterUpdates::NONE, pending }
    }
}

impl HeaderContext {
    /// Returns the context after the execution of its block.
    #[must_use]
    pub(super) fn executed(mut self, updates: &ValidatorUpdates) -> Self {
        if !updates.is_empty() {
            self.pending = self.pending.map(|_| updates.clone());
        }
        self
    }
}

/// Violation of a header rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// A standard field violates a rule common to all protocols.
    #[error(transparent)]
    Field(#[from] HeaderFieldError),
    /// The difficulty is not 2 in turn or 1 out of turn.
    #[error("difficulty is {got}; expected {want} from {author}")]
    Difficulty {
        /// Difficulty in the header.
        got: U256,
        /// Difficulty by the author's turn.
        want: u64,
        /// Author of the block, by its seal.
        author: Address,
    },
    /// The signers that the payload commits to are not those after this block.
    #[error("payload commits to next signers {got:?}; expected {want:?}")]
    NextSigners {
        /// Commitment in the payload.
        got: Option<B256>,
        /// Hash of the signers after the block; `None` when they stay the same.
        want: Option<B256>,
    },
    /// The payload contains a vote, though the validators' contract decides who signs.
    #[error(
        "the block votes about {target}; on this chain the validators' contract decides who signs, and no vote counts"
    )]
    VoteByContract {
        /// Address that the vote is about.
        target: Address,
    },
    /// The payload takes over other changes of signers than the contract made.
    #[error(
        "the payload takes over {got} changes of signers, not the {want} that the validators' contract made in the parent"
    )]
    Changes {
        /// Number of changes in the payload.
        got: usize,
        /// Number of changes by the parent's execution; 0 on a chain without the contract.
        want: usize,
    },
    /// The payload does not decode.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// A rule of signers, votes or checkpoints is violated.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The seal does not verify.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// Verifies a header of `author` against its parent and returns the context for its children.
///
/// # Errors
/// [`HeaderError`] for the first rule that it violates.
pub fn check_header(
    config: &PoaConfig,
    parent: &HeaderContext,
    candidate: &UnverifiedHeader<'_>,
    author: Address,
) -> Result<HeaderContext, HeaderError> {
    let block = candidate.id();
    candidate.check_parent(parent.block)?;
    candidate.check_timestamp(config.with_parameters(&parent.parameters).earliest_after(parent.timestamp))?;
    candidate.check_unused(&[UnusedField::Nonce])?;
    candidate.check_mix_hash()?;
    // `extraData` is free without a payload.
    if candidate.has_payload() {
        candidate.check_extra_data()?;
    }
    candidate.check_beneficiary(author)?;
    let payload = Payload::decode(&candidate.payload)?;
    check_changes(config, parent, &payload)?;
    let snapshot = parent.snapshot.apply(block.height, author, &payload, config.epoch)?;
    let (got, want) = (candidate.header.difficulty, parent.snapshot.difficulty(block.height, &author));
    if got != U256::from(want) {
        return Err(HeaderError::Difficulty { got, want, author });
    }
    let want = next_signers(&parent.snapshot, &snapshot);
    if payload.next_signers != want {
        return Err(HeaderError::NextSigners { got: payload.next_signers, want });
    }
    let (timestamp, parameters) = (candidate.timestamp(), parent.parameters.followed_by(&candidate.parameters));
    let pending = parent.pending.as_ref().map(|_| ValidatorUpdates::NONE);
    Ok(HeaderContext { block, timestamp, snapshot: Arc::new(snapshot), parameters, pending })
}

/// Checks that a block changes signers by votes alone or, on a chain with the validators' contract, by what waits from it alone.
fn check_changes(config: &PoaConfig, parent: &HeaderContext, payload: &Payload) -> Result<(), HeaderError> {
    let got = payload.changes.as_slice().len();
    if !config.by_contract {
        return if got == 0 { Ok(()) } else { Err(HeaderError::Changes { got, want: 0 }) };
    }
    if let Some(Vote { target, .. }) = payload.vote {
        return Err(HeaderError::VoteByContract { target });
    }
    match &parent.pending {
        Some(pending) if payload.changes != *pending => {
            Err(HeaderError::Changes { got, want: pending.as_slice().len() })
        }
        _ => Ok(()),
    }
}

/// Returns the hash of the next signers that a payload has to commit to; `None` when they stay the same.
pub(super) fn next_signers(before: &Snapshot, after: &Snapshot) -> Option<B256> {
    (before.signers() != after.signers()).then(|| after.signers().hash())
}

impl HeaderChainRules for Poa {
    type Config = PoaConfig;
    type Genesis = ValidatorSet;
    type Context = HeaderContext;
    type Error = HeaderError;

    fn genesis_context(_config: &PoaConfig, signers: &ValidatorSet, hash: B256, header: &Header) -> HeaderContext {
        let block = BlockId { height: Height::GENESIS, hash };
        HeaderContext::genesis(block, Timestamp::from_secs(header.timestamp), signers.clone())
    }

    fn verify_header(
        config: &PoaConfig,
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
            HeaderError::Difficulty { got, want, .. } => {
                Self::Field { field: "difficulty", got: got.to_string(), want: want.to_string() }
            }
            HeaderError::Seal(_) | HeaderError::Snapshot(_) => Self::Seal { reason: error.to_string() },
            other => Self::Field { field: "payload", got: other.to_string(), want: "see EIP-225".to_owned() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{consensus::SealedHeader, primitives::Bytes, system::ValidatorUpdate};

    const SIGNERS: [Address; 3] = [Address::repeat_byte(1), Address::repeat_byte(2), Address::repeat_byte(3)];

    fn parent(pending: Option<&[(Address, u64)]>) -> HeaderContext {
        let block = BlockId { height: Height::new(4), hash: B256::repeat_byte(7) };
        let genesis = HeaderContext::genesis(block, Timestamp::from_secs(60), ValidatorSet::equal(SIGNERS).unwrap());
        HeaderContext { pending: pending.map(changes), ..genesis }
    }

    fn changes(list: &[(Address, u64)]) -> ValidatorUpdates {
        ValidatorUpdates::new(
            list.iter().map(|(address, weight)| ValidatorUpdate { address: *address, weight: *weight }),
        )
    }

    /// A header in turn with this payload, which commits to the signers after it.
    fn check(config: &PoaConfig, parent: &HeaderContext, payload: Payload) -> Result<HeaderContext, HeaderError> {
        let (height, author) = (parent.block.height.next(), SIGNERS[2]);
        let after = parent.snapshot.apply(height, author, &payload, config.epoch);
        let next_signers = after.ok().and_then(|after| next_signers(&parent.snapshot, &after));
        let payload = Payload { next_signers, ..payload }.encoded();
        let header = Header {
            parent_hash: parent.block.hash,
            number: height.get(),
            timestamp: parent.timestamp.as_secs() + 15,
            beneficiary: author,
            difficulty: U256::from(parent.snapshot.difficulty(height, &author)),
            extra_data: Block::extra_data_of(&payload).unwrap_or_default(),
            ..Header::default()
        };
        let sealed = SealedHeader { header, payload, seal: Bytes::new() };
        check_header(config, parent, &(&sealed).into(), author)
    }

    #[test]
    fn where_the_contract_decides_its_changes_and_no_others_are_taken_over() {
        let config = PoaConfig::default().with_validator_registry();
        let newcomer = Address::repeat_byte(9);
        let waiting = [(SIGNERS[0], 0), (newcomer, 1)];
        let by = |list: &[(Address, u64)]| Payload { changes: changes(list), ..Payload::default() };
        let after = check(&config, &parent(Some(&waiting)), by(&waiting)).unwrap();
        let signers: Vec<_> = after.snapshot.signers().addresses().collect();
        assert_eq!((signers, after.pending), (vec![SIGNERS[1], SIGNERS[2], newcomer], Some(ValidatorUpdates::NONE)));
        for (waiting, named) in [(&waiting[..], &[][..]), (&waiting, &waiting[1..]), (&[], &waiting[1..])] {
            let refused = check(&config, &parent(Some(waiting)), by(named));
            assert_eq!(refused.unwrap_err(), HeaderError::Changes { got: named.len(), want: waiting.len() });
        }
        // Who executes no blocks takes what the header names, if someone is left.
        let light = check(&config, &parent(None), by(&waiting[1..])).unwrap();
        assert_eq!((light.snapshot.signers().len(), light.pending), (4, None));
        let nobody = SIGNERS.map(|signer| (signer, 0));
        let refused = check(&config, &parent(None), by(&nobody));
        assert_eq!(refused.unwrap_err(), HeaderError::Snapshot(SnapshotError::NoSigners));
    }

    #[test]
    fn votes_count_where_there_is_no_contract_and_are_refused_where_it_is() {
        let vote = Vote { target: Address::repeat_byte(9), authorize: true };
        let voting = || Payload { vote: Some(vote), ..Payload::default() };
        let clique = PoaConfig::default();
        assert_eq!(check(&clique, &parent(Some(&[])), voting()).unwrap().snapshot.votes().len(), 1);
        let refused = check(&clique.with_validator_registry(), &parent(Some(&[])), voting()).unwrap_err();
        assert_eq!(refused, HeaderError::VoteByContract { target: vote.target });
        assert!(refused.to_string().contains("the validators' contract decides"));
        let foreign = Payload { changes: changes(&[(vote.target, 1)]), ..Payload::default() };
        let refused = check(&clique, &parent(Some(&[])), foreign).unwrap_err();
        assert_eq!(refused, HeaderError::Changes { got: 1, want: 0 });
    }
}
