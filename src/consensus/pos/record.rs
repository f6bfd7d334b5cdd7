//! Durable records from which a replica restarts.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Checkpoint, HeaderContext, LatestMessage, PosConfig, SlashingEvidence, State, Vote,
    fork_choice::encode_messages,
    payload::{decode_set, encode_members},
    tree::{Node, Tree},
};
use crate::{
    consensus::{BlockId, Encoder, Record, ValidatorSet, common::records::decode_record, encoding::Decoder},
    primitives::{Address, B256, Bytes, Timestamp},
};

/// Key of the head with checkpoints, latest votes and offences; written with every head.
pub const HEAD_KEY: &[u8] = b"head";
/// Key of the newest vote and the slot of the newest proposal that the replica signed; durable before either is sent.
pub const SLASHING_PROTECTION_KEY: &[u8] = b"promises";
/// Prefix of the key of a block with its branch's state; the block's hash follows.
pub const NODE_PREFIX: &[u8] = b"node/";

/// Signed messages that this validator must not contradict: the minimal slashing protection of EIP-3076.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SlashingProtection {
    /// Newest vote. A further vote must have a later target epoch and no earlier source epoch.
    pub(super) vote: Option<Vote>,
    /// Newest slot for which it sealed a block.
    pub(super) proposed: Option<u64>,
}

impl SlashingProtection {
    /// Whether a vote from epoch `source` for epoch `target` conflicts with no earlier vote.
    pub(super) fn allows_vote(&self, source: u64, target: u64) -> bool {
        self.vote.as_ref().is_none_or(|vote| target > vote.data.target.epoch && source >= vote.data.source.epoch)
    }

    /// Whether a block for `slot` conflicts with no earlier block.
    pub(super) fn allows_block(&self, slot: u64) -> bool {
        self.proposed.is_none_or(|proposed| slot > proposed)
    }

    pub(super) fn record(&self) -> Record {
        let Self { vote, proposed } = self;
        Record::written(SLASHING_PROTECTION_KEY, 256, |out| {
            out.option(vote.as_ref(), |out, vote| vote.encode(out));
            out.option(*proposed, Encoder::u64);
        })
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        decode_record(bytes, |bytes| {
            Some(Self { vote: bytes.option(Vote::decode)?, proposed: bytes.option(Decoder::u64)? })
        })
    }
}

/// The decoded record of a head.
#[derive(Debug)]
pub(super) struct HeadRecord {
    pub(super) head: Node,
    pub(super) slot: u64,
    pub(super) next_ticket: u64,
    justified: Checkpoint,
    finalized: Checkpoint,
    weights: ValidatorSet,
    votes: Vec<(Address, LatestMessage)>,
    carried: Vec<(Address, LatestMessage)>,
    equivocators: Vec<Address>,
    pub(super) offences: Vec<(Address, SlashingEvidence)>,
}

/// Returns the record of the head; `None` when the head is not in the tree.
pub(super) fn head<'a>(
    tree: &Tree,
    slot: u64,
    next_ticket: u64,
    offences: impl ExactSizeIterator<Item = (&'a Address, &'a SlashingEvidence)>,
) -> Option<Record> {
    let head = tree.head_node()?;
    Some(Record::written(HEAD_KEY, 4_096, |out| {
        encode_node(head, out);
        out.u64(slot);
        out.u64(next_ticket);
        tree.justified.encode(out);
        tree.finalized.encode(out);
        encode_members(tree.weights.members(), out);
        encode_messages(tree.forks.votes(), out);
        encode_messages(tree.forks.carried(), out);
        out.list(tree.forks.equivocators().iter(), |out, validator| out.address(validator));
        out.list(offences, |out, (offender, offence)| {
            out.address(offender);
            offence.encode(out);
        });
    }))
}

impl HeadRecord {
    pub(super) fn decode(config: &PosConfig, bytes: &[u8]) -> Option<Self> {
        decode_record(bytes, |bytes| {
            Some(Self {
                head: decode_node_from(config, bytes)?,
                slot: bytes.u64()?,
                next_ticket: bytes.u64()?,
                justified: Checkpoint::decode(bytes)?,
                finalized: Checkpoint::decode(bytes)?,
                weights: decode_set(bytes)?,
                votes: bytes.list(decode_message)?,
                carried: bytes.list(decode_message)?,
                equivocators: bytes.list(Decoder::address)?,
                offences: bytes.list(|bytes| Some((bytes.address()?, SlashingEvidence::decode(bytes)?)))?,
            })
        })
    }

    /// Returns the tree of the head and its ancestors from the final checkpoint on, or of the head alone when an ancestor is missing.
    /// Blocks of other branches are fetched again when a peer sends a descendant or a vote; until then the checkpoints that only
    /// they would justify at the epoch's end are unknown.
    pub(super) fn tree(&self, config: &PosConfig, nodes: &BTreeMap<B256, Node>) -> Tree {
        let mut branch = vec![self.head.clone()];
        while let Some(node) = branch.last().filter(|node| node.context.block != self.finalized.block)
            && let Some(parent) = nodes.get(&node.parent)
        {
            branch.push(parent.clone());
        }
        if branch.last().is_none_or(|root| root.context.block != self.finalized.block) {
            branch.truncate(1);
        }
        let mut oldest_first = branch.into_iter().rev();
        let root = oldest_first.next().unwrap_or_else(|| self.head.clone());
        let mut tree = Tree::new(root);
        oldest_first.for_each(|node| tree.insert(config, node, self.slot));
        (tree.justified, tree.finalized) = (self.justified, self.finalized);
        tree.weights = self.weights.clone();
        self.carried
            .iter()
            .for_each(|(validator, message)| tree.vote_in_block(*validator, message.epoch, message.block));
        self.votes.iter().for_each(|(validator, message)| tree.vote(*validator, message.epoch, message.block));
        self.equivocators.iter().for_each(|validator| tree.discount(*validator));
        tree.set_head(self.head.context.block);
        tree
    }
}

/// Returns the record of a block with its branch's state.
pub(super) fn node(node: &Node) -> Record {
    Record::written(node_key(&node.context.block.hash), 2_048, |out| encode_node(node, out))
}

/// Returns the deletion of a block's record.
pub(super) fn no_node(block: &BlockId) -> Record {
    Record::forgotten(node_key(&block.hash))
}

pub(super) fn decode_node(config: &PosConfig, bytes: &[u8]) -> Option<Node> {
    decode_record(bytes, |bytes| decode_node_from(config, bytes))
}

fn decode_message(bytes: &mut Decoder<'_>) -> Option<(Address, LatestMessage)> {
    Some((bytes.address()?, LatestMessage { epoch: bytes.u64()?, block: bytes.hash()? }))
}

fn node_key(hash: &B256) -> Bytes {
    [NODE_PREFIX, hash.as_slice()].concat().into()
}

fn encode_node(node: &Node, out: &mut Encoder) {
    // The unrealized checkpoints follow from the state.
    let Node { context: HeaderContext { block, timestamp, state }, parent, unrealized: _ } = node;
    block.encode(out);
    out.timestamp(*timestamp);
    out.hash(parent);
    state.encode(out);
}

fn decode_node_from(config: &PosConfig, bytes: &mut Decoder<'_>) -> Option<Node> {
    let (block, timestamp) = (BlockId::decode(bytes)?, Timestamp::from_secs(bytes.u64()?));
    let parent = bytes.hash()?;
    let state = Arc::new(State::decode(config, bytes)?);
    // Justified epochs are not in the future: a damaged record must not advance a branch to an arbitrary epoch.
    if state.casper.justified.epoch.max(state.casper.finalized.epoch) > state.epoch() {
        return None;
    }
    Some(Node::new(HeaderContext { block, timestamp, state }, parent))
}
