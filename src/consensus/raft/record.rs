//! What a replica keeps to go on after a restart.

use std::{collections::BTreeMap, sync::Arc};

use super::{Entry, Link, Membership};
use crate::{
    chain::Block,
    consensus::{BlockId, Encoder, Record, ReplicaId, encoding::Decoder},
    primitives::{Height, Timestamp},
};

/// Key of the newest applied block with its place in the log and the members after it; written with every head.
pub const HEAD_KEY: &[u8] = b"head";
/// Key of term, vote and the log's last index; durable before any message that depends on them.
pub const HARD_STATE_KEY: &[u8] = b"hard-state";
/// Entries are under this and their index, 8 bytes big-endian. An empty value: compacted.
pub const ENTRY_PREFIX: &[u8] = b"entry/";

/// What must survive of a replica's promises (Raft, figure 2, "persistent state").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HardState {
    pub(super) term: u64,
    pub(super) vote: Option<ReplicaId>,
    /// Entries after it are of a dropped tail.
    pub(super) last_index: u64,
}

pub(super) fn head(link: &Link) -> Record {
    let mut out = Encoder::with_capacity(512);
    link.encode(&mut out);
    Record { key: HEAD_KEY.to_vec(), value: out.into_bytes() }
}

pub(super) fn decode_head(bytes: &[u8]) -> Option<Link> {
    let mut bytes = Decoder::new(bytes);
    let block = BlockId { height: Height::new(bytes.u64()?), hash: bytes.hash()? };
    let timestamp = Timestamp::from_secs(bytes.u64()?);
    let (term, index) = (bytes.u64()?, bytes.u64()?);
    let membership = Arc::new(Membership::decode(&mut bytes)?);
    bytes.is_empty().then_some(Link { block, timestamp, term, index, membership })
}

pub(super) fn hard_state(state: HardState) -> Record {
    let mut out = Encoder::with_capacity(25);
    out.u64(state.term);
    out.bool(state.vote.is_some());
    out.u64(state.vote.map_or(0, |vote| u64::from(vote.get())));
    out.u64(state.last_index);
    Record { key: HARD_STATE_KEY.to_vec(), value: out.into_bytes() }
}

pub(super) fn decode_hard_state(bytes: &[u8]) -> Option<HardState> {
    let mut bytes = Decoder::new(bytes);
    let (term, voted, vote, last_index) = (bytes.u64()?, bytes.bool()?, bytes.u64()?, bytes.u64()?);
    let vote = if voted { Some(ReplicaId::new(u32::try_from(vote).ok()?)) } else { None };
    bytes.is_empty().then_some(HardState { term, vote, last_index })
}

pub(super) fn entry(entry: &Entry) -> Record {
    let mut value = entry.term.to_be_bytes().to_vec();
    if let Some(block) = &entry.block {
        value.extend_from_slice(&block.encode_stored());
    }
    Record { key: entry_key(entry.index), value }
}

/// Forgets a compacted entry.
pub(super) fn no_entry(index: u64) -> Record {
    Record { key: entry_key(index), value: Vec::new() }
}

pub(super) fn decode_entry(records: &BTreeMap<Vec<u8>, Vec<u8>>, index: u64) -> Option<Entry> {
    let (term, block) = records.get(&entry_key(index))?.split_first_chunk::<8>()?;
    let block = if block.is_empty() { None } else { Some(Arc::new(Block::decode_stored(block).ok()?)) };
    Some(Entry { term: u64::from_be_bytes(*term), index, block })
}

fn entry_key(index: u64) -> Vec<u8> {
    [ENTRY_PREFIX, index.to_be_bytes().as_slice()].concat()
}
