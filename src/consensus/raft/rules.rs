//! The rules that a header of Raft obeys, judged from its parent alone.

use std::sync::Arc;

use super::{ChangeError, Membership, Payload, PayloadError, RaftConfig};
use crate::{
    chain::{Ancestors, Block, HeaderRules, RuleError},
    consensus::{
        Authenticator, BlockId, Encoder, SealError,
        lineage::{Lineage, Parent, Remembered},
    },
    primitives::{Address, B64, B256, Bytes, Header, Height, Timestamp, U256},
    system::ValidatorUpdates,
};

/// What a block's judgement needs of its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The block.
    pub block: BlockId,
    /// Its time.
    pub timestamp: Timestamp,
    /// The term of its entry in the log; 0 at genesis.
    pub term: u64,
    /// The index of its entry in the log; 0 at genesis.
    pub index: u64,
    /// The members after it.
    pub membership: Arc<Membership>,
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
    /// Before the parent's time plus the period.
    #[error("timestamp is {got}; expected at least {want}")]
    Timestamp {
        /// The header's.
        got: Timestamp,
        /// The earliest allowed.
        want: Timestamp,
    },
    /// The fees would go to somebody else than the author.
    #[error("beneficiary is {got}; expected the author {author}")]
    Beneficiary {
        /// The header's.
        got: Address,
        /// Who sealed it.
        author: Address,
    },
    /// The author votes in no majority of the parent's members, and so can't have led.
    #[error("author {author} is no voter")]
    NoVoter {
        /// Who sealed it.
        author: Address,
    },
    /// The log only grows, in index and in term.
    #[error("entry {index} of term {term} does not follow entry {parent_index} of term {parent_term}")]
    Entry {
        /// The block's index.
        index: u64,
        /// Its term.
        term: u64,
        /// The parent's index.
        parent_index: u64,
        /// The parent's term.
        parent_term: u64,
    },
    /// A field that this protocol keeps at zero is not.
    #[error("{field} is not zero")]
    NotZero {
        /// Which.
        field: &'static str,
    },
    /// `extraData` is not the keccak of the payload.
    #[error("extraData is {got}; expected the keccak of the payload")]
    ExtraData {
        /// The header's.
        got: Bytes,
    },
    /// The voters that the payload commits to are not those after this block.
    #[error("payload commits to next voters {got:?}; expected {want:?}")]
    NextVoters {
        /// The payload's.
        got: Option<B256>,
        /// The right commitment; none when they stay.
        want: Option<B256>,
    },
    /// The change of members that it carries is impossible.
    #[error("change of members: {0}")]
    Change(#[from] ChangeError),
    /// The payload does not decode.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The seal names nobody.
    #[error(transparent)]
    Seal(#[from] SealError),
}

impl Link {
    /// The link of genesis.
    pub fn genesis(block: BlockId, timestamp: Timestamp, membership: Arc<Membership>) -> Self {
        Self { block, timestamp, term: 0, index: 0, membership }
    }

    /// The earliest time of the next block.
    pub const fn earliest_next(&self, config: &RaftConfig) -> Timestamp {
        self.timestamp.saturating_add_secs(config.period)
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { block, timestamp, term, index, membership } = self;
        block.encode(out);
        out.timestamp(*timestamp);
        out.u64(*term);
        out.u64(*index);
        membership.encode(out);
    }
}

/// Judges a header on its parent and gives the link for the next.
///
/// # Errors
/// [`HeaderError`]: the first rule that it breaks.
pub fn check_header(
    config: &RaftConfig,
    parent: &Link,
    hash: B256,
    header: &Header,
    payload: &Bytes,
    author: Address,
) -> Result<Link, HeaderError> {
    let is_committed_to = Block::extra_data_of(payload).is_some_and(|want| want == header.extra_data);
    check_parts(config, parent, (hash, header), (payload, is_committed_to), author)
}

/// The same for a block, which knows whether its header commits to its payload.
pub(super) fn check_block(
    config: &RaftConfig,
    parent: &Link,
    block: &Block,
    author: Address,
) -> Result<Link, HeaderError> {
    let payload = (block.payload(), block.commits_to_payload());
    check_parts(config, parent, (block.hash(), block.header()), payload, author)
}

fn check_parts(
    config: &RaftConfig,
    parent: &Link,
    (hash, header): (B256, &Header),
    (payload, is_committed_to): (&Bytes, bool),
    author: Address,
) -> Result<Link, HeaderError> {
    let height = Height::new(header.number);
    if header.parent_hash != parent.block.hash || height != parent.block.height.next() {
        let (got, got_height) = (header.parent_hash, height);
        return Err(HeaderError::Parent { got, got_height, want: parent.block });
    }
    let (timestamp, want) = (Timestamp::from_secs(header.timestamp), parent.earliest_next(config));
    if timestamp < want {
        return Err(HeaderError::Timestamp { got: timestamp, want });
    }
    check_zero_fields(header)?;
    if !is_committed_to {
        return Err(HeaderError::ExtraData { got: header.extra_data.clone() });
    }
    if header.beneficiary != author {
        return Err(HeaderError::Beneficiary { got: header.beneficiary, author });
    }
    if parent.membership.voter_of(&author).is_none() {
        return Err(HeaderError::NoVoter { author });
    }
    let decoded = Payload::decode(payload)?;
    let Payload { term, index, .. } = decoded;
    if index <= parent.index || term < parent.term.max(1) {
        let (parent_index, parent_term) = (parent.index, parent.term);
        return Err(HeaderError::Entry { index, term, parent_index, parent_term });
    }
    let (membership, want) = match &decoded.change {
        None => (parent.membership.clone(), None),
        Some(change) => {
            let after = parent.membership.after(change)?;
            let want = next_voters(&parent.membership, &after);
            (Arc::new(after), want)
        }
    };
    if decoded.next_voters != want {
        return Err(HeaderError::NextVoters { got: decoded.next_voters, want });
    }
    Ok(Link { block: BlockId { height, hash }, timestamp, term, index, membership })
}

/// What a payload says of the next voters: nothing unless they change.
pub(super) fn next_voters(before: &Membership, after: &Membership) -> Option<B256> {
    let (before, after) = (before.validators(), after.validators());
    (before != after).then(|| after.hash())
}

fn check_zero_fields(header: &Header) -> Result<(), HeaderError> {
    for (field, is_zero) in [
        ("nonce", header.nonce == B64::ZERO),
        ("mixHash", header.mix_hash == B256::ZERO),
        ("difficulty", header.difficulty == U256::ZERO),
    ] {
        if !is_zero {
            return Err(HeaderError::NotZero { field });
        }
    }
    Ok(())
}

/// The rules as the chain floor asks for them. Remembers links; replicas of a process may share one.
#[derive(Debug)]
pub struct RaftRules {
    config: RaftConfig,
    authenticator: Authenticator,
    genesis: Arc<Membership>,
    judged: Remembered<Link>,
}

impl RaftRules {
    /// Rules of a chain that starts with the members `genesis`.
    pub fn new(config: RaftConfig, genesis: Membership, authenticator: Authenticator) -> Self {
        Self { config, authenticator, genesis: Arc::new(genesis), judged: Remembered::default() }
    }

    /// Takes a link that was judged before this process began, such as a stored head's.
    pub fn remember(&self, link: Link) {
        self.judged.insert_stored(link.block.hash, link);
    }
}

impl Lineage for RaftRules {
    type Link = Link;

    fn remembered(&self) -> &Remembered<Link> {
        &self.judged
    }

    fn genesis(&self, hash: B256, header: &Header) -> Link {
        let block = BlockId { height: Height::GENESIS, hash };
        Link::genesis(block, Timestamp::from_secs(header.timestamp), self.genesis.clone())
    }

    fn judge(&self, parent: &Parent<'_, Link>, block: &Block) -> Result<Link, RuleError> {
        let author = self.authenticator.author(block.hash(), block.seal()).map_err(|error| rule_error(error.into()))?;
        check_block(&self.config, parent.link, block, author).map_err(rule_error)
    }

    fn executed(link: Link, _updates: &ValidatorUpdates) -> Link {
        link
    }
}

impl HeaderRules for RaftRules {
    fn verify(&self, block: &Block, parent: &Header, ancestors: &dyn Ancestors) -> Result<(), RuleError> {
        self.judge_once(block, parent, ancestors)
    }
}

fn rule_error(error: HeaderError) -> RuleError {
    match error {
        HeaderError::Timestamp { got, want } => {
            RuleError::Field { field: "timestamp", got: got.to_string(), want: format!("at least {want}") }
        }
        HeaderError::Beneficiary { got, author } => {
            RuleError::Field { field: "miner", got: got.to_string(), want: author.to_string() }
        }
        other => RuleError::Seal { reason: other.to_string() },
    }
}
