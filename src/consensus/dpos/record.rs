//! Durable records from which a replica restarts.

use std::sync::Arc;

use alloy_rlp::Decodable;

use super::{
    DposConfig, DposError, HeaderContext, Infraction, Offences, Prepared, SafetyState, check_header, has_room_for,
    tree::{Node, Tree},
};
use crate::{
    consensus::{
        Authenticator, BlockId, Encoder, Record, Records, SealedHeader, UnverifiedHeader,
        common::records::{block_key, decode_record, records_under},
        encoding::Decoder,
        in_force::InForce,
    },
    primitives::{Address, Bytes, Header, Height, Timestamp},
    system::{ValidatorUpdate, ValidatorUpdates},
};

/// Key of the head with its header context, the last irreversible block and the safety state; written with every head.
pub const HEAD_KEY: &[u8] = b"head";
/// Key of the last irreversible block with its header context; written when it advances.
pub const ROOT_KEY: &[u8] = b"root";
/// Key of the safety state; durable before a block that depends on it is sent.
pub const SAFETY_STATE_KEY: &[u8] = b"promise";
/// Prefix of the key of a block above the last irreversible one; its height (8 bytes, big-endian) and hash follow.
pub const BLOCK_PREFIX: &[u8] = b"block/";

impl SafetyState {
    pub(super) fn encode(&self, out: &mut Encoder) {
        // `began`, which few chains have, ends the record.
        let Self { slot, began: _, confirmed, lock: Prepared { version, height } } = self;
        out.u64(*slot);
        out.u64(confirmed.get());
        out.u64(*version);
        out.u64(height.get());
    }

    pub(super) fn record(&self) -> Record {
        Record::written(SAFETY_STATE_KEY, 32, |out| {
            self.encode(out);
            self.began.iter().for_each(|began| out.timestamp(*began));
        })
    }

    pub(super) fn decode(record: &[u8]) -> Option<Self> {
        decode_record(record, |bytes| {
            let mut state = Self::decode_from(bytes)?;
            if !bytes.is_empty() {
                state.began = Some(Timestamp::from_secs(bytes.u64()?));
            }
            Some(state)
        })
    }

    fn decode_from(bytes: &mut Decoder<'_>) -> Option<Self> {
        let (slot, confirmed) = (bytes.u64()?, Height::new(bytes.u64()?));
        let lock = Prepared { version: bytes.u64()?, height: Height::new(bytes.u64()?) };
        Some(Self { slot, began: None, confirmed, lock })
    }
}

/// Returns the record of the head, the last irreversible block and the safety state, which decodes without other records.
pub(super) fn head(tree: &Tree, safety_state: &SafetyState) -> Record {
    let head = tree.head();
    Record::written(HEAD_KEY, 1_024, |out| {
        encode_node(head, out);
        tree.finalized().encode(out);
        safety_state.encode(out);
        let (began, in_force) = (safety_state.began, head.context.in_force.as_ref());
        if began.is_some() || in_force.is_some() {
            out.option(began, Encoder::timestamp);
            InForce::encode_at_end(in_force, out);
        }
    })
}

/// Decodes a head record to a tree of that one block and the safety state.
pub(super) fn decode_head(config: &DposConfig, bytes: &[u8]) -> Option<(Tree, SafetyState)> {
    decode_record(bytes, |bytes| {
        let (mut node, finalized) = (decode_node(bytes)?, BlockId::decode(bytes)?);
        let mut safety_state = SafetyState::decode_from(bytes)?;
        if !bytes.is_empty() {
            safety_state.began = bytes.option(Decoder::u64)?.map(Timestamp::from_secs);
        }
        node.context.in_force = InForce::decode_at_end(bytes)?;
        Some((Tree::new(config, node, finalized), safety_state))
    })
}

/// Decodes the record of the last irreversible block.
fn decode_root(bytes: &mut Decoder<'_>) -> Option<Node> {
    let mut node = decode_node(bytes)?;
    node.context.in_force = InForce::decode_at_end(bytes)?;
    Some(node)
}

/// Returns the record of the last irreversible block.
pub(super) fn root(node: &Node) -> Record {
    Record::written(ROOT_KEY, 1_024, |out| {
        encode_node(node, out);
        InForce::encode_at_end(node.context.in_force.as_ref(), out);
    })
}

/// Encodes a node without its sealed header, which is not verified again, and without what is in force, which ends its record.
fn encode_node(node: &Node, out: &mut Encoder) {
    let Node { context, parent, author, sealed: _ } = node;
    context.encode(out);
    parent.encode(out);
    out.address(author);
}

fn decode_node(bytes: &mut Decoder<'_>) -> Option<Node> {
    let (context, parent, author) = (HeaderContext::decode(bytes)?, BlockId::decode(bytes)?, bytes.address()?);
    Some(Node { context, parent, author, sealed: None })
}

/// Returns the record of a valid block, to verify again after a restart.
pub(super) fn block(id: BlockId, sealed: &SealedHeader, updates: &ValidatorUpdates) -> Record {
    Record::written(block_key(BLOCK_PREFIX, id), 1_024, |out| {
        let SealedHeader { header, payload, seal } = sealed;
        out.bytes(&alloy_rlp::encode(header));
        out.bytes(payload);
        out.bytes(seal);
        out.list(updates.iter(), |out, ValidatorUpdate { address, weight }| {
            out.address(address);
            out.u64(*weight);
        });
    })
}

fn decode_block(bytes: &[u8]) -> Option<(SealedHeader, ValidatorUpdates)> {
    decode_record(bytes, |bytes| {
        let header = Header::decode(&mut bytes.bytes()?).ok()?;
        let (payload, seal) = (Bytes::copy_from_slice(bytes.bytes()?), Bytes::copy_from_slice(bytes.bytes()?));
        let updates = bytes.list(|bytes| Some(ValidatorUpdate { address: bytes.address()?, weight: bytes.u64()? }))?;
        Some((SealedHeader { header, payload, seal }, ValidatorUpdates::new(updates)))
    })
}

/// Returns the deletion of a block's record.
pub(super) fn no_block(id: BlockId) -> Record {
    Record::forgotten(block_key(BLOCK_PREFIX, id))
}

/// Rebuilds the head's branch from the last irreversible block up; every block is verified again. Blocks whose parent is missing
/// and other branches are dropped: the chain may have lost those blocks, and peers have them. Returns also the evidence that the
/// blocks of all branches are.
pub(super) fn rebuild(
    config: &DposConfig,
    authenticator: &Authenticator,
    genesis: Node,
    records: &Records,
) -> Result<(Tree, Offences), DposError> {
    let root = match records.get(ROOT_KEY) {
        Some(bytes) => decode_record(bytes, decode_root).ok_or(DposError::Record { key: "root" })?,
        None => genesis,
    };
    let (block, reported) = (root.context.block, root.context.state.clone());
    let (mut tree, mut offences) = (Tree::new(config, root, block), Offences::new());
    // Keys are ordered by height: parents come first.
    for (_, bytes) in records_under(records, BLOCK_PREFIX) {
        let (sealed, updates) = decode_block(bytes).ok_or(DposError::Record { key: "block" })?;
        if let Some(node) = verify_again(config, authenticator, &tree, sealed, &updates) {
            let proof = tree.conflicting_block(&node).and_then(|(known, _)| tree.proof_of(known, &node));
            let is_open = |(slot, offender): (u64, Address)| {
                let infraction = Infraction { slot, offender, height: node.context.block.height };
                !reported.is_reported(&infraction) && has_room_for(&offences, offender)
            };
            offences.extend(proof.filter(|(infraction, _)| is_open(*infraction)));
            tree.insert(node);
        }
    }
    tree.drop_side_blocks();
    Ok((tree, offences))
}

fn verify_again(
    config: &DposConfig,
    authenticator: &Authenticator,
    tree: &Tree,
    sealed: SealedHeader,
    updates: &ValidatorUpdates,
) -> Option<Node> {
    let candidate = UnverifiedHeader::from(&sealed);
    let parent_height = Height::new(sealed.header.number.checked_sub(1)?);
    let parent = BlockId { height: parent_height, hash: sealed.header.parent_hash };
    let parent_node = tree.get(&parent)?;
    let author: Address = candidate.author(authenticator).ok()?;
    let context = check_header(config, authenticator, &parent_node.context, &candidate, author, true).ok()?;
    let context = context.with_updates(updates);
    Some(Node { context, parent, author, sealed: Some(Arc::new(sealed)) })
}
