//! Which writes of a failing store fail, and how.

use crate::store::{Batch, StoreError, Table};

/// The writes that a [`FailingStore`](super::FailingStore) fails, and how.
///
/// Writes are counted from the call of [`FailingStore::fail`](super::FailingStore::fail) on; the next one is number 1. A write
/// that fails changes nothing and returns [`StoreError::Io`], or [`StoreError::Full`] where the [disk is full](Self::disk_full), unless
/// it is [`dropped`](Self::dropped).
///
/// | fault | writes that fail |
/// |---|---|
/// | [`every(3)`](Self::every) | 3, 6, 9, ... |
/// | [`only(3)`](Self::only) | 3 |
/// | [`after(3)`](Self::after) | 4, 5, 6, ...: the disk is gone |
/// | [`full_after_bytes(100)`](Self::full_after_bytes) | those that 100 bytes have no room for |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteFault {
    rule: Rule,
    effect: Effect,
    table: Option<Table>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Every(u64),
    Only(u64),
    After(u64),
    AboveBytes(u64),
}

/// What becomes of a write that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Error,
    DiskFull,
    Dropped,
}

impl WriteFault {
    const fn of(rule: Rule) -> Self {
        Self { rule, effect: Effect::Error, table: None }
    }

    /// Fails every `period`th write; none when `period` is 0.
    pub const fn every(period: u64) -> Self {
        Self::of(Rule::Every(period))
    }

    /// Fails the write with this number, from 1 on, and no other.
    pub const fn only(number: u64) -> Self {
        Self::of(Rule::Only(number))
    }

    /// Fails all writes after the next `count`; with 0 all of them.
    pub const fn after(count: u64) -> Self {
        Self::of(Rule::After(count))
    }

    /// Fails writes that the disk has no room for, with [`StoreError::Full`]. It has room for `bytes` more of keys and
    /// values; a deletion needs none and makes none.
    pub const fn full_after_bytes(bytes: u64) -> Self {
        Self { effect: Effect::DiskFull, ..Self::of(Rule::AboveBytes(bytes)) }
    }

    /// Returns the fault with [`StoreError::Full`], as a disk without room gives: its free bytes, and those that the write needs.
    #[must_use]
    pub const fn disk_full(self) -> Self {
        Self { effect: Effect::DiskFull, ..self }
    }

    /// Returns the fault with writes that are acknowledged but not kept, as by a disk that lies about its cache. Later reads do
    /// not see them.
    #[must_use]
    pub const fn dropped(self) -> Self {
        Self { effect: Effect::Dropped, ..self }
    }

    /// Returns the fault for writes alone that change something in `table`: others neither fail nor count.
    #[must_use]
    pub const fn in_table(self, table: Table) -> Self {
        Self { table: Some(table), ..self }
    }
}

/// A fault in force: it knows what was written since.
#[derive(Debug)]
pub(super) struct ActiveFault {
    fault: WriteFault,
    writes: u64,
    bytes: u64,
}

/// What a store does with a write.
#[derive(Debug)]
pub(super) enum Fate {
    Kept,
    Dropped,
    Failed(StoreError),
}

impl ActiveFault {
    pub(super) const fn new(fault: WriteFault) -> Self {
        Self { fault, writes: 0, bytes: 0 }
    }

    /// Counts a write and decides about it.
    pub(super) fn decide(&mut self, batch: &Batch) -> Fate {
        let is_meant = self.fault.table.is_none_or(|table| batch.writes().iter().any(|write| write.table == table));
        if !is_meant {
            return Fate::Kept;
        }
        self.writes += 1;
        let bytes = bytes_of(batch);
        let fails = match self.fault.rule {
            Rule::Every(period) => period != 0 && self.writes.is_multiple_of(period),
            Rule::Only(number) => self.writes == number,
            Rule::After(count) => self.writes > count,
            Rule::AboveBytes(room) => bytes > 0 && self.bytes.saturating_add(bytes) > room,
        };
        if !fails {
            self.bytes = self.bytes.saturating_add(bytes);
            return Fate::Kept;
        }
        match self.fault.effect {
            Effect::Dropped => Fate::Dropped,
            Effect::Error => {
                let reason = format!("write {} fails on purpose", self.writes);
                Fate::Failed(StoreError::Io { operation: "write", reason })
            }
            Effect::DiskFull => {
                let room = if let Rule::AboveBytes(room) = self.fault.rule { room } else { 0 };
                let free = room.saturating_sub(self.bytes);
                Fate::Failed(StoreError::Full { free, watermark: bytes.max(free.saturating_add(1)) })
            }
        }
    }
}

/// Returns the bytes of the keys and values that a batch puts.
fn bytes_of(batch: &Batch) -> u64 {
    let put = batch.writes().iter().filter_map(|write| Some(write.key.len() + write.value.as_ref()?.len()));
    put.map(|bytes| bytes as u64).sum()
}
