//! What a replica keeps to go on after a restart.
//!
//! | key | value | written |
//! |---|---|---|
//! | `head` | head, with its branch as far down as it may be left | with every head |
//! | `signed` | height and hash of the newest block that it sealed | before that block is announced |
//! | `sealed/` height | that block, until the next one is sealed | with `signed` |
//!
//! Heights are 8 bytes, big-endian. Every value begins with a checksum. On demand, blocks are not kept: nothing is said again.

use std::sync::Arc;

use super::{
    Link, Snapshot, Standing,
    tree::{KEPT_BELOW_SETTLED, Node, Tree},
};
use crate::{
    chain::Block,
    consensus::{
        BlockId, Encoder, Record, Records,
        encoding::{Decoder, check_record, checked_record},
    },
    primitives::{Height, Timestamp},
};

/// Key of the head and what its successor's judgement needs; written with every head.
pub const HEAD_KEY: &[u8] = b"head";
/// Key of the newest block that the replica sealed; durable before the block is announced.
pub const SIGNED_KEY: &[u8] = b"signed";
/// Before the height (8 bytes, big-endian) in the key of a block that the replica sealed.
pub const SEALED_PREFIX: &[u8] = b"sealed/";

/// Ancestors of the head that are kept with it at most: as many as more than half of 60 signers, and those below the
/// settled block.
const ANCESTORS_MAX: usize = 32 + KEPT_BELOW_SETTLED as usize;

/// The head, with its branch as far down as it may be left: what is settled is advice, so another branch may win that
/// parts below it, and a restart must not take that away. Signers and votes are written where they change.
pub(super) fn head(tree: &Tree) -> Record {
    let value = checked_record(512, |out| {
        encode_node(tree.head(), None, out);
        tree.settled().encode(out);
        let ancestors: Vec<_> = tree.ancestors(ANCESTORS_MAX).collect();
        let mut above: &Snapshot = &tree.head().link.snapshot;
        out.list(ancestors.into_iter(), |out, node| {
            encode_node(node, Some(above), out);
            above = &node.link.snapshot;
        });
    });
    Record { key: HEAD_KEY.to_vec(), value }
}

fn encode_node(node: &Node, above: Option<&Snapshot>, out: &mut Encoder) {
    node.link.block.encode(out);
    node.parent.encode(out);
    out.timestamp(node.link.timestamp);
    out.address(&node.author);
    out.u128(node.standing.total_difficulty);
    out.u64(node.standing.blocks_since_turn);
    match above {
        Some(above) => node.link.snapshot.encode_below(above, out),
        None => node.link.snapshot.encode(out),
    }
}

/// The tree of the head's branch.
pub(super) fn decode_head(bytes: &[u8]) -> Option<Tree> {
    let mut bytes = Decoder::new(check_record(bytes)?);
    let (head, settled) = (decode_node(&mut bytes, None)?, decode_block(&mut bytes)?);
    let mut above = head.link.snapshot.clone();
    let ancestors = bytes.list(|bytes| {
        let node = decode_node(bytes, Some(&above))?;
        above = node.link.snapshot.clone();
        Some(node)
    })?;
    bytes.is_empty().then(|| Tree::with_ancestors(head, ancestors, settled))
}

fn decode_node(bytes: &mut Decoder<'_>, above: Option<&Snapshot>) -> Option<Node> {
    let (block, parent) = (decode_block(bytes)?, decode_block(bytes)?);
    let timestamp = Timestamp::from_secs(bytes.u64()?);
    let author = bytes.address()?;
    let standing = Standing { total_difficulty: bytes.u128()?, block, blocks_since_turn: bytes.u64()? };
    let snapshot = Arc::new(match above {
        Some(above) => Snapshot::decode_below(above, bytes)?,
        None => Snapshot::decode(bytes)?,
    });
    Some(Node { link: Link { block, timestamp, snapshot }, parent, author, standing })
}

/// The newest block that was sealed.
pub(super) fn signed(block: BlockId) -> Record {
    Record { key: SIGNED_KEY.to_vec(), value: checked_record(40, |out| block.encode(out)) }
}

pub(super) fn decode_signed(bytes: &[u8]) -> Option<BlockId> {
    let mut bytes = Decoder::new(check_record(bytes)?);
    decode_block(&mut bytes).filter(|_| bytes.is_empty())
}

/// A block that was sealed, which may have to be said again after a crash: nobody else may have it.
pub(super) fn sealed(block: &Block) -> Record {
    Record { key: sealed_key(block.height()), value: checked_record(block.room(), |out| out.stored_block(block)) }
}

/// Forgets the block that was sealed at this height.
pub(super) fn no_sealed(height: Height) -> Record {
    Record { key: sealed_key(height), value: Vec::new() }
}

/// Every block that was sealed and is kept, by height.
pub(super) fn all_sealed(records: &Records) -> Option<Vec<Arc<Block>>> {
    let kept = records.range(SEALED_PREFIX.to_vec()..).take_while(|(key, _)| key.starts_with(SEALED_PREFIX));
    let blocks = kept.map(|(key, value)| {
        let block = Block::decode_stored(check_record(value)?).ok()?;
        (sealed_height(key) == Some(block.height())).then(|| Arc::new(block))
    });
    blocks.collect()
}

/// The height of the block that is kept under this key, if the key is of a block.
pub(in crate::consensus) fn sealed_height(key: &[u8]) -> Option<Height> {
    let height = key.strip_prefix(SEALED_PREFIX)?.try_into().ok()?;
    Some(Height::new(u64::from_be_bytes(height)))
}

fn sealed_key(height: Height) -> Vec<u8> {
    [SEALED_PREFIX, &height.get().to_be_bytes()].concat()
}

fn decode_block(bytes: &mut Decoder<'_>) -> Option<BlockId> {
    Some(BlockId { height: Height::new(bytes.u64()?), hash: bytes.hash()? })
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
    fn a_head_comes_back_whole_and_a_damaged_one_does_not() {
        let signers = ValidatorSet::equal([1, 2, 3].map(Address::repeat_byte)).unwrap();
        let payload =
            Payload { vote: Some(Vote { target: Address::repeat_byte(9), authorize: true }), ..Payload::default() };
        let author = Address::repeat_byte(2);
        let before = Snapshot::new(signers, Arc::default());
        let snapshot = Arc::new(before.apply(Height::new(1), author, &payload, 30_000).unwrap());
        let block = BlockId { height: Height::new(1), hash: B256::repeat_byte(7) };
        let node = Node {
            link: Link { block, timestamp: Timestamp::from_secs(15), snapshot },
            parent: BlockId::default(),
            author,
            standing: Standing { total_difficulty: 2, block, blocks_since_turn: 0 },
        };
        let above = BlockId { height: Height::new(2), hash: B256::repeat_byte(8) };
        let mut newer = Node { parent: block, ..node.clone() };
        (newer.link.block, newer.standing.block) = (above, above);
        newer.standing.total_difficulty = 3;
        // Without the vote that is open below.
        newer.link.snapshot = Arc::new(before);
        let mut tree = Tree::new(node, BlockId::default());
        tree.insert(newer);
        let bytes = head(&tree).value;
        assert_eq!(decode_head(&bytes), Some(tree), "with the block below");
        assert_eq!(decode_head(&bytes[1..]), None);
        assert_eq!(decode_head(&[bytes.as_slice(), &[0]].concat()), None);
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
        let mut records = Records::from([(SIGNED_KEY.to_vec(), name), (HEAD_KEY.to_vec(), vec![1])]);
        assert_eq!(all_sealed(&records), Some(Vec::new()));
        for record in [sealed(&second), sealed(&first)] {
            records.insert(record.key, record.value);
        }
        assert_eq!(all_sealed(&records), Some(vec![Arc::new(first.clone()), Arc::new(second)]));
        let value = sealed(&first).value;
        for damaged in [value[..value.len() - 1].to_vec(), [&[1], &value[1..]].concat(), Vec::new()] {
            records.insert(sealed_key(Height::new(7)), damaged);
            assert_eq!(all_sealed(&records), None);
        }
        records.insert(sealed_key(Height::new(8)), value);
        records.remove(&sealed_key(Height::new(7)));
        assert_eq!(all_sealed(&records), None, "under another height than the block's");
    }
}
