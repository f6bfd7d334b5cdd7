//! What a replica keeps to go on after a restart.
//!
//! | key | value | written |
//! |---|---|---|
//! | `head` | head and settled block | with every head |
//! | `block/` height, hash | a block of the head's branch, until it is too deep to be left | with the head that it came with |
//! | `signed` | height and hash of the newest block that it sealed | before that block is announced |
//! | `sealed/` height | that block, until the next one is sealed | with `signed` |
//!
//! Heights are 8 bytes, big-endian. Every value begins with a checksum. On demand, blocks are not kept: nothing is said again.

use std::sync::Arc;

use super::{
    Link, Snapshot, Standing,
    tree::{Node, Tree},
};
use crate::{
    chain::Block,
    consensus::{
        BlockId, Encoder, Record, Records,
        common::records::{block_key, block_of_key, check_record, checked_record, decode_record, records_under},
        encoding::Decoder,
    },
    primitives::{Bytes, Height, Timestamp},
};

/// Key of the head and what its successor's judgement needs; written with every head.
pub const HEAD_KEY: &[u8] = b"head";
/// Before height (8 bytes, big-endian) and hash in the key of a block of the head's branch.
pub const BLOCK_PREFIX: &[u8] = b"block/";
/// Key of the newest block that the replica sealed; durable before the block is announced.
pub const SIGNED_KEY: &[u8] = b"signed";
/// Before the height (8 bytes, big-endian) in the key of a block that the replica sealed.
pub const SEALED_PREFIX: &[u8] = b"sealed/";

/// The head and the settled block, whole in themselves.
pub(super) fn head(tree: &Tree) -> Record {
    let value = checked_record(512, |out| {
        encode_node(tree.head(), out);
        tree.settled().encode(out);
    });
    Record::new(HEAD_KEY, value)
}

/// A tree of the head alone.
pub(super) fn decode_head(bytes: &[u8]) -> Option<Tree> {
    decode_record(bytes, |bytes| Some(Tree::new(decode_node(bytes)?, BlockId::decode(bytes)?)))
}

/// A block of the head's branch: what is settled is advice, so another branch may win that parts below it, and a restart must
/// not take that away.
pub(super) fn block(node: &Node) -> Record {
    Record::new(block_key(BLOCK_PREFIX, node.link.block), checked_record(512, |out| encode_node(node, out)))
}

/// Forgets a block of the branch, or of one that was left.
pub(super) fn no_block(block: BlockId) -> Record {
    Record::forgotten(block_key(BLOCK_PREFIX, block))
}

/// The branch below a head, newest first, as far down as it is kept.
pub(super) fn branch_below(head: &Node, records: &Records) -> Option<Vec<Node>> {
    let mut branch = Vec::new();
    let mut parent = head.parent;
    while let Some(record) = records.get(&block_key(BLOCK_PREFIX, parent)) {
        let node = decode_record(record, decode_node).filter(|node| node.link.block == parent)?;
        parent = node.parent;
        branch.push(node);
    }
    Some(branch)
}

/// The block whose record has this key, if the key is of a block of the branch.
pub(super) fn block_of(key: &[u8]) -> Option<BlockId> {
    block_of_key(BLOCK_PREFIX, key)
}

fn encode_node(node: &Node, out: &mut Encoder) {
    node.link.block.encode(out);
    node.parent.encode(out);
    out.timestamp(node.link.timestamp);
    out.address(&node.author);
    out.u128(node.standing.total_difficulty);
    out.u64(node.standing.blocks_since_turn);
    node.link.snapshot.encode(out);
}

fn decode_node(bytes: &mut Decoder<'_>) -> Option<Node> {
    let (block, parent) = (BlockId::decode(bytes)?, BlockId::decode(bytes)?);
    let timestamp = Timestamp::from_secs(bytes.u64()?);
    let author = bytes.address()?;
    let standing = Standing { total_difficulty: bytes.u128()?, block, blocks_since_turn: bytes.u64()? };
    let snapshot = Arc::new(Snapshot::decode(bytes)?);
    Some(Node { link: Link { block, timestamp, snapshot }, parent, author, standing })
}

/// The newest block that was sealed.
pub(super) fn signed(block: BlockId) -> Record {
    Record::new(SIGNED_KEY, checked_record(40, |out| block.encode(out)))
}

pub(super) fn decode_signed(bytes: &[u8]) -> Option<BlockId> {
    decode_record(bytes, BlockId::decode)
}

/// A block that was sealed, which may have to be said again after a crash: nobody else may have it.
pub(super) fn sealed(block: &Block) -> Record {
    Record::new(sealed_key(block.height()), checked_record(block.room(), |out| out.stored_block(block)))
}

/// Forgets the block that was sealed at this height.
pub(super) fn no_sealed(height: Height) -> Record {
    Record::forgotten(sealed_key(height))
}

/// Every block that was sealed and is kept, by height.
pub(super) fn all_sealed(records: &Records) -> Option<Vec<Arc<Block>>> {
    let blocks = records_under(records, SEALED_PREFIX).map(|(key, value)| {
        let block = Block::decode_stored(check_record(value)?).ok()?;
        (sealed_height(key) == Some(block.height())).then(|| Arc::new(block))
    });
    blocks.collect()
}

/// The height of the block that is kept under this key, if the key is of a block.
fn sealed_height(key: &[u8]) -> Option<Height> {
    let height = key.strip_prefix(SEALED_PREFIX)?.try_into().ok()?;
    Some(Height::new(u64::from_be_bytes(height)))
}

fn sealed_key(height: Height) -> Bytes {
    [SEALED_PREFIX, &height.get().to_be_bytes()].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        consensus::{
            ValidatorSet,
            poa::{Payload, Vote},
        },
        primitives::{Address, B256},
    };

    #[test]
    fn a_head_and_its_branch_come_back_and_damaged_ones_do_not() {
        let signers = ValidatorSet::equal([1, 2, 3].map(Address::repeat_byte)).unwrap();
        let payload =
            Payload { vote: Some(Vote { target: Address::repeat_byte(9), authorize: true }), ..Payload::default() };
        let author = Address::repeat_byte(2);
        let before = Snapshot::new(signers, Arc::default());
        let snapshot = Arc::new(before.apply(Height::new(1), author, &payload, 30_000).unwrap());
        let [low, high] = [1, 2].map(|height| BlockId { height: Height::new(height), hash: B256::repeat_byte(7) });
        let below = Node {
            link: Link { block: low, timestamp: Timestamp::from_secs(15), snapshot },
            parent: BlockId::default(),
            author,
            standing: Standing { total_difficulty: 2, block: low, blocks_since_turn: 0 },
        };
        let mut newer = Node { parent: low, ..below.clone() };
        (newer.link.block, newer.standing.block) = (high, high);
        newer.standing.total_difficulty = 3;
        let mut tree = Tree::new(below.clone(), BlockId::default());
        tree.insert(newer.clone());
        let bytes = head(&tree).value;
        let kept = block(&below);
        assert_eq!(block_of(&kept.key), Some(low));
        let mut records = Records::from([(kept.key.clone(), kept.value.clone())]);
        let found = decode_head(&bytes).unwrap();
        let found = found.with_ancestors(branch_below(&newer, &records).unwrap());
        assert_eq!(found, tree, "with the block below");
        assert_eq!(decode_head(&bytes[1..]), None);
        assert_eq!(decode_head(&[bytes.as_ref(), &[0]].concat()), None);
        records.insert(kept.key.clone(), kept.value.slice(1..));
        assert_eq!(branch_below(&newer, &records), None);
        let other = block(&newer);
        records.insert(kept.key, other.value);
        assert_eq!(branch_below(&newer, &records), None, "another block than its key says");
    }

    #[test]
    fn sealed_blocks_come_back_and_damaged_ones_do_not() {
        let [first, second] = [7, 9].map(|number| {
            let header = crate::primitives::Header { number, ..Default::default() };
            Block::new(header, Vec::new(), Default::default(), Vec::new()).with_seal(vec![1, 2])
        });
        let name = signed(BlockId::of(&second)).value;
        assert_eq!(decode_signed(&name), Some(BlockId::of(&second)));
        assert_eq!(decode_signed(&name[1..]), None);
        let mut records = Records::from([(SIGNED_KEY.into(), name), (HEAD_KEY.into(), [1].into())]);
        assert_eq!(all_sealed(&records), Some(Vec::new()));
        for record in [sealed(&second), sealed(&first)] {
            records.insert(record.key, record.value);
        }
        assert_eq!(all_sealed(&records), Some(vec![Arc::new(first.clone()), Arc::new(second)]));
        let value = sealed(&first).value;
        for damaged in [&value[..value.len() - 1], &[&[1], &value[1..]].concat(), &[]] {
            records.insert(sealed_key(Height::new(7)), Bytes::copy_from_slice(damaged));
            assert_eq!(all_sealed(&records), None);
        }
        records.insert(sealed_key(Height::new(8)), value);
        records.remove(&sealed_key(Height::new(7)));
        assert_eq!(all_sealed(&records), None, "under another height than the block's");
    }
}
