//! The replicated log: entries by index and term, and its durable, commit and applied index.

use std::sync::{Arc, OnceLock};

use imbl::Vector;
use serde::{Deserialize, Serialize};

use crate::{
    chain::Block,
    consensus::{
        BlockId, Encoder, Record, Ticket,
        mutation::{self, Mutation},
    },
};

/// One log entry: a block, or the empty entry by which a new leader commits those before it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The term of the leader that created it.
    pub term: u64,
    /// Log index, from 1.
    pub index: u64,
    /// The block; `None` in a leader's first entry.
    pub block: Option<Arc<Block>>,
    /// What this entry's record was made for, and the record: a cache shared by clones, as most replicas write the same.
    #[serde(skip)]
    record: Arc<OnceLock<(RecordContext, Record)>>,
}

/// What an entry's record says beside the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordContext {
    /// The term of the preceding entry.
    pub(super) prev_term: u64,
    /// The commit index when the entry was written, at most the entry's own.
    pub(super) committed: u64,
}

impl Entry {
    /// Creates an entry.
    pub fn new(term: u64, index: u64, block: Option<Arc<Block>>) -> Self {
        Self { term, index, block, record: Arc::default() }
    }

    /// Returns the record of this entry in `context`: the cached one, or that of `make`.
    pub(super) fn record(&self, context: RecordContext, make: impl Fn() -> Record) -> Record {
        let (made_for, record) = self.record.get_or_init(|| (context, make()));
        // A follower that is behind may know of a later commit index than others at their write of this entry.
        if *made_for == context { record.clone() } else { make() }
    }

    pub(crate) fn encode(&self, out: &mut Encoder) {
        // The record is a cache of this entry's encoding.
        let Self { term, index, block, record: _ } = self;
        out.u64(*term);
        out.u64(*index);
        out.option(block.as_ref(), |out, block| {
            BlockId::of(block).encode(out);
            out.bytes(block.seal());
        });
    }
}

/// Position of an entry in the log.
#[derive(Clone, Copy, Debug)]
struct LogPosition {
    index: u64,
    term: u64,
    /// The newest block at or below it.
    block: BlockId,
}

/// The log. Entries up to its base are compacted: only the base's position is kept. Cloning is O(1).
#[derive(Clone, Debug)]
pub(super) struct Log {
    /// The last compacted entry.
    base: LogPosition,
    entries: Vector<Entry>,
    /// Position of the last entry, cached; the base while there is none.
    end: LogPosition,
    /// Commit index.
    committed: u64,
    /// Index of the last entry that is applied to the chain.
    applied: u64,
    /// Last index that is durable on this replica.
    durable: u64,
    /// Pending writes, in order, and the last index that each makes durable.
    writes: Vector<(Ticket, u64)>,
}

impl Log {
    /// Creates an empty log after a block that is committed, applied and durable.
    pub(super) fn starting_at(index: u64, term: u64, block: BlockId) -> Self {
        let base = LogPosition { index, term, block };
        Self {
            base,
            entries: Vector::new(),
            end: base,
            committed: index,
            applied: index,
            durable: index,
            writes: Vector::new(),
        }
    }

    pub(super) const fn committed(&self) -> u64 {
        self.committed
    }

    pub(super) const fn applied(&self) -> u64 {
        self.applied
    }

    pub(super) const fn durable(&self) -> u64 {
        self.durable
    }

    pub(super) const fn base_index(&self) -> u64 {
        self.base.index
    }

    pub(super) const fn last_index(&self) -> u64 {
        self.end.index
    }

    pub(super) const fn last_term(&self) -> u64 {
        self.end.term
    }

    /// Returns the term of an entry; `None` when it is compacted or absent.
    pub(super) fn term(&self, index: u64) -> Option<u64> {
        match index {
            _ if index == self.end.index => Some(self.end.term),
            _ if index == self.base.index => Some(self.base.term),
            _ => self.entry(index).map(|entry| entry.term),
        }
    }

    pub(super) fn entry(&self, index: u64) -> Option<&Entry> {
        self.entries.get(self.place(index)?)
    }

    /// Returns at most `max` entries from `first` on.
    pub(super) fn slice(&self, first: u64, max: usize) -> Arc<[Entry]> {
        let Some(place) = self.place(first) else { return Arc::from([]) };
        let end = place.saturating_add(max).min(self.entries.len());
        (place.min(end)..end).filter_map(|place| self.entries.get(place).cloned()).collect()
    }

    /// Returns the entries after `index`, oldest first.
    pub(super) fn after(&self, index: u64) -> impl Iterator<Item = &Entry> {
        let place = self.place(index + 1).unwrap_or(0).min(self.entries.len());
        (place..self.entries.len()).filter_map(|place| self.entries.get(place))
    }

    /// Returns whether a log with this last index and term is at least as up-to-date as this one (Raft, section 5.4.1).
    pub(super) fn is_up_to_date(&self, last_index: u64, last_term: u64) -> bool {
        (last_term, last_index) >= (self.last_term(), self.last_index())
    }

    /// Returns the newest block at or below `index`.
    pub(super) fn block_at_or_below(&self, index: u64) -> BlockId {
        if index >= self.end.index {
            return self.end.block;
        }
        let places = self.place(index).map_or(0, |place| (place + 1).min(self.entries.len()));
        let block = (0..places).rev().find_map(|place| self.entries.get(place)?.block.as_ref());
        block.map_or(self.base.block, |block| BlockId::of(block))
    }

    /// Returns the last index up to `index` whose term is at most `term`, and its term if known: where a leader and a
    /// follower may agree, found without one message per entry.
    pub(super) fn find_conflict_by_term(&self, index: u64, term: u64) -> (u64, u64) {
        let mut index = index.min(self.last_index());
        while index > self.base.index && self.term(index).is_some_and(|own| own > term) {
            index -= 1;
        }
        (index, self.term(index).unwrap_or_default())
    }

    /// Appends the missing ones of `entries`, which follow a matching entry; a conflicting suffix is truncated first.
    /// Returns the first index that changed.
    pub(super) fn merge(&mut self, entries: &[Entry]) -> Option<u64> {
        let first_new = entries.iter().position(|entry| self.term(entry.index) != Some(entry.term))?;
        let first = entries[first_new].index;
        if first <= self.committed {
            return None;
        }
        if mutation::active(Mutation::RaftKeepsConflicts) && first <= self.last_index() {
            return None;
        }
        self.truncate(first);
        entries[first_new..].iter().for_each(|entry| self.append(entry.clone()));
        Some(first)
    }

    pub(super) fn append(&mut self, entry: Entry) {
        let block = entry.block.as_ref().map_or(self.end.block, |block| BlockId::of(block));
        self.end = LogPosition { index: entry.index, term: entry.term, block };
        self.entries.push_back(entry);
    }

    /// Truncates the entries from `first` on. Their completed and pending writes no longer count: the write of another
    /// entry at the same index has its own ticket.
    fn truncate(&mut self, first: u64) {
        if let Some(place) = self.place(first) {
            self.entries.truncate(place.min(self.entries.len()));
        }
        let last = first.saturating_sub(1);
        if last < self.end.index {
            self.end = match self.entries.last() {
                None => self.base,
                Some(Entry { index, term, .. }) => {
                    LogPosition { index: *index, term: *term, block: self.block_at_or_below(*index) }
                }
            };
        }
        self.durable = self.durable.min(last);
        for write in &mut self.writes {
            write.1 = write.1.min(last);
        }
    }

    /// Records that a write of all entries up to the end began.
    pub(super) fn begin_write(&mut self, ticket: Ticket) {
        let last = self.last_index();
        self.writes.push_back((ticket, last));
    }

    /// Records that a write without entries began.
    pub(super) fn begin_record_write(&mut self, ticket: Ticket) {
        self.writes.push_back((ticket, self.durable));
    }

    /// Marks all entries as durable: they were read from the disk.
    pub(super) fn mark_all_durable(&mut self) {
        self.durable = self.last_index();
    }

    /// Returns the newest pending write.
    pub(super) fn newest_write(&self) -> Option<Ticket> {
        self.writes.last().map(|(ticket, _)| *ticket)
    }

    /// Completes a write and those before it. Returns whether there was such a write.
    pub(super) fn finish_write(&mut self, ticket: Ticket) -> bool {
        let Some(place) = self.writes.iter().position(|(writing, _)| *writing == ticket) else { return false };
        for _ in 0..=place {
            if let Some((_, last)) = self.writes.pop_front() {
                self.durable = self.durable.max(last);
            }
        }
        true
    }

    /// Advances the commit index, never back and never past the end. Returns whether it advanced.
    pub(super) fn commit(&mut self, index: u64) -> bool {
        let index = index.min(self.last_index());
        let advanced = index > self.committed;
        self.committed = self.committed.max(index);
        advanced
    }

    /// Returns the next entry to apply.
    pub(super) fn next_to_apply(&self) -> Option<&Entry> {
        if self.applied < self.committed { self.entry(self.applied + 1) } else { None }
    }

    /// Marks the next entry as applied.
    pub(super) const fn mark_applied(&mut self) {
        self.applied += 1;
    }

    /// Marks the block of the entry `index` as applied. When the log has another entry there, or none, the log is
    /// replaced by an empty one after that block.
    ///
    /// That loses no acknowledged entry that could be committed: entries before `index` are committed with it, and those
    /// after a different entry at `index` never can be.
    pub(super) fn adopt(&mut self, index: u64, term: u64, block: BlockId) {
        if index > self.base.index && self.term(index) == Some(term) {
            self.committed = self.committed.max(index);
            self.applied = index;
            return;
        }
        let mut writes = core::mem::take(&mut self.writes);
        for write in &mut writes {
            write.1 = index;
        }
        *self = Self { writes, ..Self::starting_at(index, term, block) };
    }

    /// Compacts applied entries up to a block, keeping at least `keep` of them. Returns the compacted indexes.
    pub(super) fn compact(&mut self, keep: u64) -> core::ops::Range<u64> {
        let first = self.base.index + 1;
        let limit = self.applied.saturating_sub(keep);
        let mut target = limit;
        while target > self.base.index && self.entry(target).is_none_or(|entry| entry.block.is_none()) {
            target -= 1;
        }
        if target <= self.base.index {
            return first..first;
        }
        for index in self.base.index + 1..=target {
            if let Some(Entry { term, block, .. }) = self.entries.pop_front() {
                let block = block.map_or(self.base.block, |block| BlockId::of(&block));
                self.base = LogPosition { index, term, block };
            }
        }
        first..target + 1
    }

    fn place(&self, index: u64) -> Option<usize> {
        usize::try_from(index.checked_sub(self.base.index + 1)?).ok()
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        // The end is derived from the last entry, or the base.
        let Self { base: LogPosition { index, term, block }, entries, end: _, committed, applied, durable, writes } =
            self;
        out.u64(*index);
        out.u64(*term);
        block.encode(out);
        out.list(entries.iter(), |out, entry| entry.encode(out));
        out.u64(*committed);
        out.u64(*applied);
        out.u64(*durable);
        out.list(writes.iter(), |out, (ticket, last)| {
            out.u64(ticket.get());
            out.u64(*last);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(terms: &[u64]) -> Log {
        let mut log = Log::starting_at(0, 0, BlockId::default());
        for (index, term) in (1..).zip(terms) {
            log.append(Entry::new(*term, index, None));
        }
        log
    }

    fn entries(first: u64, terms: &[u64]) -> Vec<Entry> {
        (first..).zip(terms).map(|(index, term)| Entry::new(*term, index, None)).collect()
    }

    #[test]
    fn a_conflict_drops_the_tail_and_agreement_changes_nothing() {
        let mut log = log(&[1, 1, 2, 2]);
        assert_eq!(log.merge(&entries(2, &[1, 2])), None);
        assert_eq!(log.last_index(), 4);
        assert_eq!(log.merge(&entries(3, &[3])), Some(3));
        assert_eq!((log.last_index(), log.last_term()), (3, 3));
        assert!(log.commit(9) && !log.commit(2));
        assert_eq!((log.committed(), log.merge(&entries(3, &[4]))), (3, None), "what is committed stays");
    }

    #[test]
    fn a_write_of_a_dropped_entry_makes_nothing_durable() {
        let mut log = log(&[1, 1]);
        log.begin_write(Ticket::new(1));
        log.merge(&entries(2, &[2]));
        log.merge(&entries(2, &[3]));
        log.begin_write(Ticket::new(2));
        assert!(log.finish_write(Ticket::new(1)));
        assert_eq!(log.durable(), 1);
        assert!(log.finish_write(Ticket::new(2)) && !log.finish_write(Ticket::new(2)));
        assert_eq!(log.durable(), 2);
    }

    #[test]
    fn agreement_skips_whole_terms() {
        let log = log(&[1, 1, 1, 4, 4, 5, 5]);
        assert_eq!(log.find_conflict_by_term(7, 4), (5, 4));
        assert_eq!(log.find_conflict_by_term(7, 3), (3, 1));
        assert_eq!(log.find_conflict_by_term(9, 9), (7, 5));
        assert_eq!(log.find_conflict_by_term(3, 0), (0, 0));
    }
}
