//! What a replica makes durable, and how it goes on from it after a crash.
//!
//! | key | value | written |
//! |---|---|---|
//! | `head`, `head/copy` | newest applied block, its place in the log, the members after it | with every head |
//! | `hard-state`, `hard-state/copy` | term and vote | before any message that depends on them |
//! | `entry/` index | term, the term before it, block | before it is acknowledged |
//!
//! Indexes are 8 bytes, big-endian. Every value begins with a checksum: one that a crash cut short counts as not written. What
//! is written over has a copy, which is written first, so that one of the two is always whole. An entry that does not follow
//! on the one before it is of a dropped tail, and so are those after it.

use std::sync::Arc;

use super::{Entry, Link, Membership};
use crate::{
    chain::Block,
    consensus::{
        BlockId, Record, Records, ReplicaId,
        common::records::{check_record, checked_record, decode_content},
        encoding::Decoder,
    },
    primitives::{Bytes, Timestamp},
};

/// Key of the newest applied block with its place in the log and the members after it; written with every head.
pub const HEAD_KEY: &[u8] = b"head";
/// Key of term and vote; durable before any message that depends on them.
pub const HARD_STATE_KEY: &[u8] = b"hard-state";
/// Entries are under this and their index, 8 bytes big-endian. An empty value: compacted.
pub const ENTRY_PREFIX: &[u8] = b"entry/";

const HEAD_COPY_KEY: &[u8] = b"head/copy";
const HARD_STATE_COPY_KEY: &[u8] = b"hard-state/copy";

/// What must survive of a replica's promises beside its log (Raft, figure 2, "persistent state").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HardState {
    pub(super) term: u64,
    pub(super) vote: Option<ReplicaId>,
}

pub(super) fn head(link: &Link) -> [Record; 2] {
    let value = checked_record(504, |out| link.encode(out));
    twice(HEAD_COPY_KEY, HEAD_KEY, value)
}

/// The newest head, if one was written; the inner `None`: it is whole and no head.
pub(super) fn find_head(records: &Records) -> Option<Option<Link>> {
    let content = newest(records, HEAD_COPY_KEY, HEAD_KEY)?;
    Some(decode_link(content))
}

/// Reads a record under [`HEAD_KEY`].
pub(super) fn decode_head(record: &[u8]) -> Option<Link> {
    decode_link(check_record(record)?)
}

fn decode_link(content: &[u8]) -> Option<Link> {
    decode_content(content, |bytes| {
        let (block, timestamp) = (BlockId::decode(bytes)?, Timestamp::from_secs(bytes.u64()?));
        let (term, index) = (bytes.u64()?, bytes.u64()?);
        let membership = Arc::new(Membership::decode(bytes)?);
        Some(Link { block, timestamp, term, index, membership })
    })
}

pub(super) fn hard_state(state: HardState) -> [Record; 2] {
    let value = checked_record(17, |out| {
        out.u64(state.term);
        out.bool(state.vote.is_some());
        out.u64(state.vote.map_or(0, |vote| u64::from(vote.get())));
    });
    twice(HARD_STATE_COPY_KEY, HARD_STATE_KEY, value)
}

/// Term and vote, if they were written; the inner `None`: the record is whole and holds neither.
pub(super) fn find_hard_state(records: &Records) -> Option<Option<HardState>> {
    let content = newest(records, HARD_STATE_COPY_KEY, HARD_STATE_KEY)?;
    Some(decode_hard_state(content))
}

fn decode_hard_state(content: &[u8]) -> Option<HardState> {
    decode_content(content, |bytes| {
        let (term, voted, vote) = (bytes.u64()?, bytes.bool()?, bytes.u64()?);
        let vote = if voted { Some(ReplicaId::new(u32::try_from(vote).ok()?)) } else { None };
        Some(HardState { term, vote })
    })
}

/// An entry that follows on one of `prev_term`.
pub(super) fn entry(entry: &Entry, prev_term: u64) -> Record {
    entry.record(prev_term, || {
        let room = entry.block.as_ref().map_or(0, |block| block.room());
        let value = checked_record(16 + room, |out| {
            out.u64(entry.term);
            out.u64(prev_term);
            entry.block.iter().for_each(|block| out.stored_block(block));
        });
        Record::new(entry_key(entry.index), value)
    })
}

/// Forgets a compacted entry.
pub(super) fn no_entry(index: u64) -> Record {
    Record::forgotten(entry_key(index))
}

/// The entry at `index` if it was written whole and follows on one of `prev_term`; the inner `None`: it holds no block.
pub(super) fn find_entry(records: &Records, index: u64, prev_term: u64) -> Option<Option<Entry>> {
    let content = check_record(records.get(&entry_key(index))?)?;
    let (terms, block) = content.split_first_chunk::<16>()?;
    let mut terms = Decoder::new(terms);
    let (term, before) = (terms.u64()?, terms.u64()?);
    if before != prev_term {
        return None;
    }
    let block = match block {
        [] => None,
        bytes => match Block::decode_stored(bytes) {
            Ok(block) => Some(Arc::new(block)),
            Err(_) => return Some(None),
        },
    };
    Some(Some(Entry::new(term, index, block)))
}

fn twice(copy: &'static [u8], key: &'static [u8], value: Vec<u8>) -> [Record; 2] {
    let value = Bytes::from(value);
    [Record::new(copy, value.clone()), Record::new(key, value)]
}

/// The copy is written first: when it is whole, it is at least as new.
fn newest<'a>(records: &'a Records, copy: &[u8], key: &[u8]) -> Option<&'a [u8]> {
    let whole = |key| records.get(key).and_then(|record| check_record(record));
    whole(copy).or_else(|| whole(key))
}

fn entry_key(index: u64) -> Bytes {
    [ENTRY_PREFIX, &index.to_be_bytes()].concat().into()
}
