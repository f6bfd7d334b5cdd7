//! Durable records from which a replica restarts.
//!
//! | key | value | written |
//! |---|---|---|
//! | `head` | head and settled block | with every head |
//! | `block/` height, hash | a block of the head's branch, until it is too deep to be reverted | with the head that includes it |
//! | `sealed/` height | the newest block sealed by this replica | before that block is sent |
//! | `signed` | its height, hash, total difficulty and distance from its author's turn | with it, and after it |
//!
//! Heights are 8 bytes, big-endian. Every value begins with a checksum. With a period of 0 there are no `sealed/` records: blocks
//! are not rebroadcast.

use std::sync::Arc;

use super::{
    ForkChoiceKey, HeaderContext, Snapshot,
    tree::{Node, Tree},
};
use crate::{
    chain::Block,
    consensus::{
        BlockId, Encoder, Record, Records,
        common::records::{block_key, block_of_key, check_record, decode_record, records_under},
        encoding::Decoder,
    },
    primitives::{Bytes, Height, Timestamp},
    system::{ParameterUpdates, ValidatorUpdates},
};

/// Key of the head block, its header context and the settled block; written with every head.
pub const HEAD_KEY: &[u8] = b"head";
/// Prefix of the key of a block of the head's branch; height (8 bytes, big-endian) and hash follow.
pub const BLOCK_PREFIX: &[u8] = b"block/";
/// Key of the newest block sealed by the replica and its weight; durable before the block is sent.
pub const SIGNED_KEY: &[u8] = b"signed";
/// Prefix of the key of a block sealed by the replica; its height (8 bytes, big-endian) follows.
pub const SEALED_PREFIX: &[u8] = b"sealed/";

/// Returns the record of the head and the settled block, which decodes without other records.
pub(super) fn head(tree: &Tree) -> Record {
    Record::written(HEAD_KEY, 512, |out| {
        encode_node(tree.head(), out);
        tree.settled().encode(out);
        encode_changes(tree.head(), out);
    })
}

/// Decodes a head record to a tree of that one block.
pub(super) fn decode_head(bytes: &[u8]) -> Option<Tree> {
    decode_record(bytes, |bytes| {
        let (head, settled) = (decode_node(bytes)?, BlockId::decode(bytes)?);
        Some(Tree::new(with_changes(head, bytes)?, settled))
    })
}

/// Returns the record of a block of the head's branch. A branch that forks below the settled block may still win, also after a
/// restart.
pub(super) fn block(node: &Node) -> Record {
    Record::written(block_key(BLOCK_PREFIX, node.context.block), 512, |out| {
        encode_node(node, out);
        encode_changes(node, out);
    })
}

/// Returns the deletion of a block's record.
pub(super) fn no_block(block: BlockId) -> Record {
    Record::forgotten(block_key(BLOCK_PREFIX, block))
}

/// Decodes the recorded ancestors of a head, newest first; `None` when one does not decode.
pub(super) fn branch_below(head: &Node, records: &Records) -> Option<Vec<Node>> {
    let mut branch = Vec::new();
    let mut parent = head.parent;
    while let Some(record) = records.get(&block_key(BLOCK_PREFIX, parent)) {
        let node = decode_record(record, decode_block).filter(|node| node.context.block == parent)?;
        parent = node.parent;
        branch.push(node);
    }
    Some(branch)
}

/// Returns the block whose record has this key; `None` for a key of another kind.
pub(super) fn block_of(key: &[u8]) -> Option<BlockId> {
    block_of_key(BLOCK_PREFIX, key)
}

fn decode_block(bytes: &mut Decoder<'_>) -> Option<Node> {
    let node = decode_node(bytes)?;
    with_changes(node, bytes)
}

/// Encodes the changes of signers that wait, and of parameters: no bytes in most blocks.
fn encode_changes(node: &Node, out: &mut Encoder) {
    let HeaderContext { parameters, pending, .. } = &node.context;
    out.updates_at_end(pending.as_ref().unwrap_or(&ValidatorUpdates::NONE), parameters);
}

fn with_changes(mut node: Node, bytes: &mut Decoder<'_>) -> Option<Node> {
    let (pending, parameters) = bytes.updates_at_end()?;
    (node.context.pending, node.context.parameters) = (Some(pending), parameters);
    Some(node)
}

/// Encodes a node without the changes that end its record.
fn encode_node(node: &Node, out: &mut Encoder) {
    let Node { context, parent, author, fork_choice_key } = node;
    let HeaderContext { block, timestamp, snapshot, parameters: _, pending: _ } = context;
    let ForkChoiceKey { total_difficulty, block: _, blocks_since_turn } = fork_choice_key;
    block.encode(out);
    parent.encode(out);
    out.timestamp(*timestamp);
    out.address(author);
    out.u128(*total_difficulty);
    out.u64(*blocks_since_turn);
    snapshot.encode(out);
}

fn decode_node(bytes: &mut Decoder<'_>) -> Option<Node> {
    let (block, parent) = (BlockId::decode(bytes)?, BlockId::decode(bytes)?);
    let timestamp = Timestamp::from_secs(bytes.u64()?);
    let author = bytes.address()?;
    let fork_choice_key = ForkChoiceKey { total_difficulty: bytes.u128()?, block, blocks_since_turn: bytes.u64()? };
    let snapshot = Arc::new(Snapshot::decode(bytes)?);
    let (parameters, pending) = (ParameterUpdates::NONE, None);
    let context = HeaderContext { block, timestamp, snapshot, parameters, pending };
    Some(Node { context, parent, author, fork_choice_key })
}

/// Returns the record of the newest sealed block and its weight.
pub(super) fn signed(block: &ForkChoiceKey) -> Record {
    Record::written(SIGNED_KEY, 64, |out| block.encode(out))
}

pub(super) fn decode_signed(bytes: &[u8]) -> Option<ForkChoiceKey> {
    decode_record(bytes, ForkChoiceKey::decode)
}

/// Returns the record of a sealed block, to rebroadcast after a crash if no other replica received it.
pub(super) fn sealed(block: &Block) -> Record {
    Record::written(sealed_key(block.height()), block.encoded_bytes_max(), |out| out.stored_block(block))
}

/// Returns the deletion of the sealed block's record at this height.
pub(super) fn no_sealed(height: Height) -> Record {
    Record::forgotten(sealed_key(height))
}

/// Decodes all recorded sealed blocks, by height; `None` when one does not decode.
pub(super) fn all_sealed(records: &Records) -> Option<Vec<Arc<Block>>> {
    let blocks = records_under(records, SEALED_PREFIX).map(|(key, value)| {
        let block = Block::decode_stored(check_record(value)?).ok()?;
        (sealed_height(key) == Some(block.height())).then(|| Arc::new(block))
    });
    blocks.collect()
}

/// Returns the height in the key of a sealed block; `None` for a key of another kind.
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
            ApplyRecords, ValidatorSet,
            poa::{Payload, Vote},
        },
        primitives::{Address, B256},
        system::{ParameterUpdate, ValidatorUpdate, parameters::Parameter},
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
        let change = ParameterUpdate { parameter: Parameter::BlockTime, value: 3 };
        let parameters = ParameterUpdates::new([change]);
        let below = Node {
            context: HeaderContext {
                block: low,
                timestamp: Timestamp::from_secs(15),
                snapshot,
                parameters,
                pending: Some(ValidatorUpdates::new([ValidatorUpdate { address: author, weight: 0 }])),
            },
            parent: BlockId::default(),
            author,
            fork_choice_key: ForkChoiceKey { total_difficulty: 2, block: low, blocks_since_turn: 0 },
        };
        let mut newer = Node { parent: low, ..below.clone() };
        (newer.context.block, newer.fork_choice_key.block) = (high, high);
        newer.fork_choice_key.total_difficulty = 3;
        let mut tree = Tree::new(below.clone(), BlockId::default());
        tree.insert(newer.clone());
        let bytes = head(&tree).value().unwrap();
        let kept = block(&below);
        assert_eq!(block_of(&kept.key), Some(low));
        let mut records = Records::new();
        records.apply([kept.clone()]);
        let found = decode_head(&bytes).unwrap();
        let found = found.with_ancestors(branch_below(&newer, &records).unwrap());
        assert_eq!(found, tree, "with the block below");
        assert_eq!(decode_head(&bytes[1..]), None);
        assert_eq!(decode_head(&[bytes.as_ref(), &[0]].concat()), None);
        records.insert(kept.key.clone(), kept.value().unwrap().slice(1..));
        assert_eq!(branch_below(&newer, &records), None);
        records.apply([Record { key: kept.key, ..block(&newer) }]);
        assert_eq!(branch_below(&newer, &records), None, "another block than in its key");
    }

    #[test]
    fn sealed_blocks_are_restored_and_damaged_ones_are_not() {
        let [first, second] = [7, 9].map(|number| {
            let header = crate::primitives::Header { number, ..Default::default() };
            Block::new(header, Vec::new(), Default::default(), Vec::new()).with_seal(vec![1, 2])
        });
        let key = ForkChoiceKey { total_difficulty: 17, block: BlockId::of(&second), blocks_since_turn: 2 };
        let name = signed(&key).value().unwrap();
        assert_eq!(decode_signed(&name), Some(key));
        assert_eq!(decode_signed(&name[1..]), None);
        let mut records = Records::from([(SIGNED_KEY.into(), name), (HEAD_KEY.into(), [1].into())]);
        assert_eq!(all_sealed(&records), Some(Vec::new()));
        records.apply([sealed(&second), sealed(&first)]);
        assert_eq!(all_sealed(&records), Some(vec![Arc::new(first.clone()), Arc::new(second)]));
        let value = sealed(&first).value().unwrap();
        for damaged in [&value[..value.len() - 1], &[&[1], &value[1..]].concat(), &[]] {
            records.insert(sealed_key(Height::new(7)), Bytes::copy_from_slice(damaged));
            assert_eq!(all_sealed(&records), None);
        }
        records.insert(sealed_key(Height::new(8)), value);
        records.remove(&sealed_key(Height::new(7)));
        assert_eq!(all_sealed(&records), None, "under another height than the block's");
    }
}
