//! What a replica keeps to go on after a restart.

use std::sync::Arc;

use super::{Link, Snapshot, Standing, tree::Node};
use crate::{
    consensus::{BlockId, Encoder, Record, encoding::Decoder},
    primitives::{Height, Timestamp},
};

/// Key of the head and what its successor's judgement needs; written with every head.
pub const HEAD_KEY: &[u8] = b"head";
/// Key of the newest block that the replica sealed; durable before the block is announced.
pub const SIGNED_KEY: &[u8] = b"signed";

pub(super) fn head(node: &Node, settled: BlockId) -> Record {
    let mut out = Encoder::new();
    node.link.block.encode(&mut out);
    node.parent.encode(&mut out);
    out.timestamp(node.link.timestamp);
    out.address(&node.author);
    out.u128(node.standing.total_difficulty);
    out.u64(node.standing.blocks_since_turn);
    node.link.snapshot.encode(&mut out);
    settled.encode(&mut out);
    Record { key: HEAD_KEY.to_vec(), value: out.into_bytes() }
}

/// The head's node and the settled block.
pub(super) fn decode_head(bytes: &[u8]) -> Option<(Node, BlockId)> {
    let mut bytes = Decoder::new(bytes);
    let (block, parent) = (decode_block(&mut bytes)?, decode_block(&mut bytes)?);
    let timestamp = Timestamp::from_secs(bytes.u64()?);
    let author = bytes.address()?;
    let standing = Standing { total_difficulty: bytes.u128()?, block, blocks_since_turn: bytes.u64()? };
    let snapshot = Arc::new(Snapshot::decode(&mut bytes)?);
    let settled = decode_block(&mut bytes)?;
    let node = Node { link: Link { block, timestamp, snapshot }, parent, author, standing };
    bytes.is_empty().then_some((node, settled))
}

pub(super) fn signed(block: BlockId) -> Record {
    let mut out = Encoder::new();
    block.encode(&mut out);
    Record { key: SIGNED_KEY.to_vec(), value: out.into_bytes() }
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
        let bytes = head(&node, BlockId::default()).value;
        assert_eq!(decode_head(&bytes), Some((node, BlockId::default())));
        assert_eq!(decode_head(&bytes[1..]), None);
        assert_eq!(decode_head(&[bytes.as_slice(), &[0]].concat()), None);
    }
}
