//! The rules that a header of proof of authority obeys, judged from its parent alone (EIP-225, "Specification").

use std::sync::Arc;

use super::{Payload, PayloadError, PoaConfig, Snapshot, SnapshotError};
use crate::{
    chain::{Ancestors, Block, HeaderRules, RuleError},
    consensus::{
        Authenticator, BlockId, SealError, ValidatorSet,
        header_rules::{Lineage, Parent, Remembered},
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
    /// What it leaves for the next one.
    pub snapshot: Arc<Snapshot>,
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
    /// Not 2 in turn or 1 out of turn.
    #[error("difficulty is {got}; expected {want} from {author}")]
    Difficulty {
        /// The header's.
        got: U256,
        /// By the author's turn.
        want: u64,
        /// Who sealed it.
        author: Address,
    },
    /// The fees would go to somebody else than the author.
    #[error("beneficiary is {got}; expected the author {author}")]
    Beneficiary {
        /// The header's.
        got: Address,
        /// Who sealed it.
        author: Address,
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
    /// The set that the payload commits to is not the one after this block.
    #[error("payload commits to next signers {got:?}; expected {want:?}")]
    NextSigners {
        /// The payload's.
        got: Option<B256>,
        /// The right commitment; none when the set stays.
        want: Option<B256>,
    },
    /// The payload does not decode.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// Seal, recency, checkpoint.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The seal names nobody.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// Judges a header on its parent and gives the link for the next.
///
/// # Errors
/// [`HeaderError`]: the first rule that it breaks.
pub fn check_header(
    config: &PoaConfig,
    parent: &Link,
    hash: B256,
    header: &Header,
    payload: &Bytes,
    author: Address,
) -> Result<Link, HeaderError> {
    let height = Height::new(header.number);
    if header.parent_hash != parent.block.hash || height != parent.block.height.next() {
        let (got, got_height) = (header.parent_hash, height);
        return Err(HeaderError::Parent { got, got_height, want: parent.block });
    }
    let (got, want) = (Timestamp::from_secs(header.timestamp), config.earliest_after(parent.timestamp));
    if got < want {
        return Err(HeaderError::Timestamp { got, want });
    }
    check_fixed_fields(header, payload)?;
    if header.beneficiary != author {
        return Err(HeaderError::Beneficiary { got: header.beneficiary, author });
    }
    let decoded = Payload::decode(payload)?;
    let snapshot = parent.snapshot.apply(height, author, &decoded, config.epoch)?;
    let want = parent.snapshot.difficulty(height, &author);
    if header.difficulty != U256::from(want) {
        return Err(HeaderError::Difficulty { got: header.difficulty, want, author });
    }
    let want = next_signers(&parent.snapshot, &snapshot);
    if decoded.next_signers != want {
        return Err(HeaderError::NextSigners { got: decoded.next_signers, want });
    }
    Ok(Link { block: BlockId { height, hash }, timestamp: got, snapshot: Arc::new(snapshot) })
}

/// What a payload says of the next set: nothing unless it changes.
pub(super) fn next_signers(before: &Snapshot, after: &Snapshot) -> Option<B256> {
    (before.signers() != after.signers()).then(|| after.signers().hash())
}

fn check_fixed_fields(header: &Header, payload: &Bytes) -> Result<(), HeaderError> {
    if header.nonce != B64::ZERO {
        return Err(HeaderError::NotZero { field: "nonce" });
    }
    if header.mix_hash != B256::ZERO {
        return Err(HeaderError::NotZero { field: "mixHash" });
    }
    match Block::extra_data_of(payload) {
        Some(want) if want != header.extra_data => Err(HeaderError::ExtraData { got: header.extra_data.clone(), want }),
        _ => Ok(()),
    }
}

/// The rules as the chain floor asks for them. Remembers snapshots; replicas of a process may share one.
#[derive(Debug)]
pub struct PoaRules {
    config: PoaConfig,
    authenticator: Authenticator,
    genesis_signers: ValidatorSet,
    judged: Remembered<Link>,
}

impl PoaRules {
    /// Rules of a chain that starts with `genesis_signers`.
    pub fn new(config: PoaConfig, genesis_signers: ValidatorSet, authenticator: Authenticator) -> Self {
        Self { config, authenticator, genesis_signers, judged: Remembered::default() }
    }

    /// Takes a link that was judged before this process began, such as a stored head's.
    pub fn remember(&self, link: Link) {
        self.judged.insert_stored(link.block.hash, link);
    }
}

impl Lineage for PoaRules {
    type Link = Link;

    fn remembered(&self) -> &Remembered<Link> {
        &self.judged
    }

    fn genesis(&self, hash: B256, header: &Header) -> Link {
        Link {
            block: BlockId { height: Height::GENESIS, hash },
            timestamp: Timestamp::from_secs(header.timestamp),
            snapshot: Arc::new(Snapshot::new(self.genesis_signers.clone(), Arc::default())),
        }
    }

    fn judge(&self, parent: &Parent<'_, Link>, block: &Block) -> Result<Link, RuleError> {
        let (hash, header, payload) = (block.hash(), block.header(), block.payload());
        let author = self.authenticator.author(hash, block.seal()).map_err(|error| rule_error(error.into()))?;
        check_header(&self.config, parent.link, hash, header, payload, author).map_err(rule_error)
    }

    fn executed(link: Link, _updates: &ValidatorUpdates) -> Link {
        link
    }
}

impl HeaderRules for PoaRules {
    fn verify(&self, block: &Block, parent: &Header, ancestors: &dyn Ancestors) -> Result<(), RuleError> {
        self.judge_once(block, parent, ancestors)
    }
}

fn rule_error(error: HeaderError) -> RuleError {
    match error {
        HeaderError::Timestamp { got, want } => {
            RuleError::Field { field: "timestamp", got: got.to_string(), want: format!("at least {want}") }
        }
        HeaderError::Difficulty { got, want, .. } => {
            RuleError::Field { field: "difficulty", got: got.to_string(), want: want.to_string() }
        }
        HeaderError::Beneficiary { got, author } => {
            RuleError::Field { field: "miner", got: got.to_string(), want: author.to_string() }
        }
        HeaderError::Seal(_) | HeaderError::Snapshot(_) => RuleError::Seal { reason: error.to_string() },
        other => RuleError::Field { field: "payload", got: other.to_string(), want: "see EIP-225".to_owned() },
    }
}
