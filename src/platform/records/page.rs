//! Pages of a list.

use core::num::NonZeroUsize;

use alloy_primitives::hex;

use super::Stored;
use crate::store::Order;

/// Place in a list after which the next page begins. Its text is opaque; it holds for the list that it came from, and stays valid while
/// records come and go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor(Vec<u8>);

impl Cursor {
    pub(super) const fn after(key: Vec<u8>) -> Self {
        Self(key)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Text of the cursor.
    pub fn text(&self) -> String {
        hex::encode(&self.0)
    }

    /// Reads a cursor's text; `None` for one that is none.
    pub fn from_text(text: &str) -> Option<Self> {
        hex::decode(text).ok().map(Self)
    }
}

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageStart {
    /// The page with this number, from 1. What lies before it is walked over in the index, without reading the records.
    Number(NonZeroUsize),
    /// What follows this many records, which are walked over in the index.
    Skipping(usize),
    /// What follows a cursor, at the cost of the page alone.
    After(Cursor),
}

/// Requested page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Beginning of the page.
    pub start: PageStart,
    /// Records on the page, at most.
    pub limit: NonZeroUsize,
    /// Direction of the list.
    pub order: Order,
    /// Whether the page ends with the last entry that the index counts.
    pub is_counted: bool,
}

impl PageRequest {
    /// The first page, ascending.
    pub const fn first(limit: NonZeroUsize) -> Self {
        Self { start: PageStart::Number(NonZeroUsize::MIN), limit, order: Order::Ascending, is_counted: false }
    }

    /// Returns the request for the page with this number.
    #[must_use]
    pub fn with_number(self, number: NonZeroUsize) -> Self {
        Self { start: PageStart::Number(number), ..self }
    }

    /// Returns the request for what follows this many records.
    #[must_use]
    pub fn skipping(self, records: usize) -> Self {
        Self { start: PageStart::Skipping(records), ..self }
    }

    /// Returns the request for what follows a cursor.
    #[must_use]
    pub fn after(self, cursor: Cursor) -> Self {
        Self { start: PageStart::After(cursor), ..self }
    }

    /// Returns the request in this direction.
    #[must_use]
    pub fn in_order(self, order: Order) -> Self {
        Self { order, ..self }
    }

    /// Returns the request for a page that ends with the last entry that the index counts, and looks for none behind it: there a scan passes
    /// what was deleted, for as long as the store remembers it. It may miss what is written while it is read, and a unique index counts
    /// nothing; for work that comes again.
    #[must_use]
    pub fn counted(self) -> Self {
        Self { is_counted: true, ..self }
    }

    /// Entries of the index before the page.
    pub(in crate::platform) const fn skipped(&self) -> usize {
        match &self.start {
            PageStart::Number(number) => (number.get() - 1).saturating_mul(self.limit.get()),
            PageStart::Skipping(records) => *records,
            PageStart::After(_) => 0,
        }
    }
}

/// A page of a list.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// Records of the page.
    pub items: Vec<Stored<T>>,
    /// Records of the whole list.
    pub total: u64,
    /// Place after the page; `None` at the end of the list.
    pub next: Option<Cursor>,
}
