//! What a replica keeps to go on after a restart.

use std::sync::Arc;

use alloy_rlp::Decodable;

use super::{
    DposConfig, DposError, Link, check_header,
    tree::{Node, Tree},
};
use crate::{
    consensus::{
        Authenticator, BlockId, Encoder, Record, Records, SealedHeader, UnverifiedHeader,
        common::records::{block_key, checked_record, decode_record, records_under},
        encoding::Decoder,
    },
    primitives::{Address, Bytes, Header, Height},
    system::{ValidatorUpdate, ValidatorUpdates},
};

/// Key of the head and what its successor's judgement needs; written with every head.
pub const HEAD_KEY: &[u8] = b"head";
/// Key of the last irreversible block and what its successor's judgement needs; written when it moves.
pub const ROOT_KEY: &[u8] = b"root";
/// Key of what this replica may never contradict; durable before a block is announced.
pub const PROMISE_KEY: &[u8] = b"promise";
/// First bytes of the key of a block above the last irreversible one; its height (8 bytes, big-endian) and hash follow.
pub const BLOCK_PREFIX: &[u8] = b"block/";

/// What a producer may never contradict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Promise {
    /// The newest slot in which it produced.
    pub slot: u64,
    /// The newest height that it confirmed, on any branch: its *watermark*.
    pub confirmed: Height,
    /// The newest proposed block that it implied.
    pub lock: Option<Lock>,
}

/// A proposed block that a producer implied. Where it is not, the producer confirms nothing, unless a block above `at` is
/// proposed there: by then two thirds had confirmed the other branch later than this producer implied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lock {
    /// The proposed block.
    pub block: BlockId,
    /// Height of the producer's own newest block above it that confirmed something.
    pub at: Height,
}

impl Promise {
    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { slot, confirmed, lock } = self;
        out.u64(*slot);
        out.u64(confirmed.get());
        out.option(lock.as_ref(), |out, lock| {
            lock.block.encode(out);
            out.u64(lock.at.get());
        });
    }

    pub(super) fn record(&self) -> Record {
        Record::new(PROMISE_KEY, checked_record(96, |out| self.encode(out)))
    }

    pub(super) fn decode(record: &[u8]) -> Option<Self> {
        decode_record(record, Self::decode_from)
    }

    fn decode_from(bytes: &mut Decoder<'_>) -> Option<Self> {
        let (slot, confirmed) = (bytes.u64()?, Height::new(bytes.u64()?));
        let lock =
            bytes.option(|bytes| Some(Lock { block: BlockId::decode(bytes)?, at: Height::new(bytes.u64()?) }))?;
        Some(Self { slot, confirmed, lock })
    }
}

/// The head with the last irreversible block and the promise, whole in itself.
pub(super) fn head(tree: &Tree, promise: &Promise) -> Record {
    let head = tree.head();
    let value = checked_record(1_024, |out| {
        encode_node(head, out);
        tree.finalized().encode(out);
        promise.encode(out);
    });
    Record::new(HEAD_KEY, value)
}

/// A tree of the head alone, and the promise.
pub(super) fn decode_head(bytes: &[u8]) -> Option<(Tree, Promise)> {
    decode_record(bytes, |bytes| {
        let (node, finalized) = (decode_node(bytes)?, BlockId::decode(bytes)?);
        Some((Tree::new(node, finalized), Promise::decode_from(bytes)?))
    })
}

/// The last irreversible block.
pub(super) fn root(node: &Node) -> Record {
    Record::new(ROOT_KEY, checked_record(1_024, |out| encode_node(node, out)))
}

/// Writes a node without its sealed header: nothing below it is verified again.
fn encode_node(node: &Node, out: &mut Encoder) {
    let Node { link, parent, author, sealed: _ } = node;
    link.encode(out);
    parent.encode(out);
    out.address(author);
}

fn decode_node(bytes: &mut Decoder<'_>) -> Option<Node> {
    let (link, parent, author) = (Link::decode(bytes)?, BlockId::decode(bytes)?, bytes.address()?);
    Some(Node { link, parent, author, sealed: None })
}

/// A judged block, to be judged again after a restart.
pub(super) fn judged(id: BlockId, sealed: &SealedHeader, updates: &ValidatorUpdates) -> Record {
    let value = checked_record(1_024, |out| {
        out.bytes(&alloy_rlp::encode(&sealed.header));
        out.bytes(&sealed.payload);
        out.bytes(&sealed.seal);
        out.list(updates.iter(), |out, update| {
            out.address(&update.address);
            out.u64(update.weight);
        });
    });
    Record::new(block_key(BLOCK_PREFIX, id), value)
}

fn decode_judged(bytes: &[u8]) -> Option<(SealedHeader, ValidatorUpdates)> {
    decode_record(bytes, |bytes| {
        let header = Header::decode(&mut bytes.bytes()?).ok()?;
        let (payload, seal) = (Bytes::copy_from_slice(bytes.bytes()?), Bytes::copy_from_slice(bytes.bytes()?));
        let updates = bytes.list(|bytes| Some(ValidatorUpdate { address: bytes.address()?, weight: bytes.u64()? }))?;
        Some((SealedHeader { header, payload, seal }, ValidatorUpdates::new(updates)))
    })
}

/// A block that is not needed any more.
pub(super) fn forgotten(id: BlockId) -> Record {
    Record::forgotten(block_key(BLOCK_PREFIX, id))
}

/// The head's branch from the last irreversible block up, every block judged again. Blocks whose parent is missing are left
/// out, and so are other branches: a chain that lost its newest blocks may not have them any more, and peers do.
pub(super) fn rebuild(
    config: &DposConfig,
    authenticator: &Authenticator,
    genesis: Node,
    records: &Records,
) -> Result<Tree, DposError> {
    let root = match records.get(ROOT_KEY) {
        Some(bytes) => decode_record(bytes, decode_node).ok_or(DposError::Record { key: "root" })?,
        None => genesis,
    };
    let block = root.link.block;
    let mut tree = Tree::new(root, block);
    // Keys are ordered by height: parents come first.
    for (_, bytes) in records_under(records, BLOCK_PREFIX) {
        let (sealed, updates) = decode_judged(bytes).ok_or(DposError::Record { key: "block" })?;
        if let Some(node) = judge_again(config, authenticator, &tree, sealed, &updates) {
            tree.insert(node);
        }
    }
    tree.drop_side_blocks();
    Ok(tree)
}

fn judge_again(
    config: &DposConfig,
    authenticator: &Authenticator,
    tree: &Tree,
    sealed: SealedHeader,
    updates: &ValidatorUpdates,
) -> Option<Node> {
    let candidate = UnverifiedHeader::from(&sealed);
    let parent_height = Height::new(sealed.header.number.checked_sub(1)?);
    let parent = BlockId { height: parent_height, hash: sealed.header.parent_hash };
    let before = tree.get(&parent)?;
    let author: Address = candidate.author(authenticator).ok()?;
    let link = check_header(config, authenticator, &before.link, &candidate, author, true).ok()?;
    let link = link.with_updates(updates);
    Some(Node { link, parent, author, sealed: Some(Arc::new(sealed)) })
}
