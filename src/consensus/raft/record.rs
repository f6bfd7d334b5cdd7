//! The durable records of a replica, from which it recovers after a crash.
//!
//! | key | value | written |
//! |---|---|---|
//! | `head`, `head/copy` | newest applied block, its term and index, the configuration after it | with every head |
//! | `hard-state`, `hard-state/copy` | term and vote | before any message that depends on them |
//! | `entry/` index | term, the term before it, commit index at the time, block | before it is acknowledged |
//!
//! Indexes are 8 bytes, big-endian. Every value begins with a checksum: one that a crash cut short counts as not written.
//! Records that are overwritten have a copy, which is written first, so that one of the two is always complete. An entry
//! whose preceding term does not match is of a truncated suffix, and so are those after it.
//!
//! The commit index is in the entry's own record, so that neither is ever durable without the other. A leader proposes a
//! block when all before it are committed and says so in the message that carries it: whoever has two membership changes
//! in its durable log also knows, after any crash, that the first of them is committed (`docs/protocols/raft.md`).

use std::sync::Arc;

use super::{Entry, HeaderContext, Membership, log::RecordContext};
use crate::{
    chain::Block,
    consensus::{
        BlockId, Record, Records, ReplicaId,
        common::records::{check_record, decode_content},
        encoding::Decoder,
    },
    primitives::{Bytes, Timestamp},
};

/// Key of the newest applied block with its term and index and the configuration after it; written with every head.
pub const HEAD_KEY: &[u8] = b"head";
/// Key of term and vote; durable before any message that depends on them.
pub const HARD_STATE_KEY: &[u8] = b"hard-state";
/// Key prefix of entries, before their index, 8 bytes big-endian. An empty value: compacted.
pub const ENTRY_PREFIX: &[u8] = b"entry/";

const HEAD_COPY_KEY: &[u8] = b"head/copy";
const HARD_STATE_COPY_KEY: &[u8] = b"hard-state/copy";

/// Persistent state beside the log (Raft, figure 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HardState {
    pub(super) term: u64,
    pub(super) vote: Option<ReplicaId>,
}

pub(super) fn head(context: &HeaderContext) -> [Record; 2] {
    with_copy(HEAD_COPY_KEY, Record::written(HEAD_KEY, 504, |out| context.encode(out)))
}

/// Returns the newest head, if one was written; the inner `None`: its record is complete and does not decode.
pub(super) fn find_head(records: &Records) -> Option<Option<HeaderContext>> {
    let content = newest(records, HEAD_COPY_KEY, HEAD_KEY)?;
    Some(decode_context(content))
}

/// Decodes a record under [`HEAD_KEY`].
pub(super) fn decode_head(record: &[u8]) -> Option<HeaderContext> {
    decode_context(check_record(record)?)
}

fn decode_context(content: &[u8]) -> Option<HeaderContext> {
    decode_content(content, |bytes| {
        let (block, timestamp) = (BlockId::decode(bytes)?, Timestamp::from_secs(bytes.u64()?));
        let (term, index) = (bytes.u64()?, bytes.u64()?);
        let membership = Arc::new(Membership::decode(bytes)?);
        let (pending, parameters) = bytes.updates_at_end()?;
        Some(HeaderContext { block, timestamp, term, index, membership, parameters, pending: Some(pending) })
    })
}

pub(super) fn hard_state(state: HardState) -> [Record; 2] {
    let record = Record::written(HARD_STATE_KEY, 17, |out| {
        out.u64(state.term);
        out.bool(state.vote.is_some());
        out.u64(state.vote.map_or(0, |vote| u64::from(vote.get())));
    });
    with_copy(HARD_STATE_COPY_KEY, record)
}

/// Returns term and vote, if they were written; the inner `None`: the record is complete and does not decode.
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

/// Returns the record of an entry that follows one of `prev_term`, written when the commit index is `committed`.
pub(super) fn entry(entry: &Entry, prev_term: u64, committed: u64) -> Record {
    let context = RecordContext { prev_term, committed: committed.min(entry.index) };
    entry.record(context, || {
        let room = entry.block.as_ref().map_or(0, |block| block.encoded_bytes_max());
        Record::written(entry_key(entry.index), 24 + room, |out| {
            out.u64(entry.term);
            out.u64(context.prev_term);
            out.u64(context.committed);
            entry.block.iter().for_each(|block| out.stored_block(block));
        })
    })
}

/// Returns the record that deletes a compacted entry.
pub(super) fn delete_entry(index: u64) -> Record {
    Record::forgotten(entry_key(index))
}

/// Returns the entry at `index`, with the commit index in its record, if that is complete and follows an entry of
/// `prev_term`; the inner `None`: its block does not decode.
pub(super) fn find_entry(records: &Records, index: u64, prev_term: u64) -> Option<Option<(Entry, u64)>> {
    let content = check_record(records.get(&entry_key(index))?)?;
    let (numbers, block) = content.split_first_chunk::<24>()?;
    let mut numbers = Decoder::new(numbers);
    let (term, before, committed) = (numbers.u64()?, numbers.u64()?, numbers.u64()?);
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
    Some(Some((Entry::new(term, index, block), committed)))
}

fn with_copy(copy: &'static [u8], record: Record) -> [Record; 2] {
    [Record { key: copy.into(), ..record.clone() }, record]
}

/// Returns the newest complete record: the copy, which is written first, or else the original.
fn newest<'a>(records: &'a Records, copy: &[u8], key: &[u8]) -> Option<&'a [u8]> {
    let whole = |key| records.get(key).and_then(|record| check_record(record));
    whole(copy).or_else(|| whole(key))
}

fn entry_key(index: u64) -> Bytes {
    [ENTRY_PREFIX, &index.to_be_bytes()].concat().into()
}
