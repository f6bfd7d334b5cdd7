//! Indices of a type of record, and the order of their keys.

use core::fmt;

use super::{Stored, key::Owner};

/// Bytes that sort as the values that they are made of: the first value first, then the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SortKey(Vec<u8>);

impl SortKey {
    /// Creates the key of no value.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a text, which sorts by its UTF-8 bytes.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    /// Adds bytes. A zero is written as 0x00FF and the end as 0x0000, so that no key is the beginning of another.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        for byte in bytes {
            self.0.push(*byte);
            if *byte == 0 {
                self.0.push(0xff);
            }
        }
        self.0.extend_from_slice(&[0, 0]);
        self
    }

    /// Adds a number.
    #[must_use]
    pub fn number(mut self, number: u64) -> Self {
        self.0.extend_from_slice(&number.to_be_bytes());
        self
    }

    /// Adds a truth value; false sorts first.
    #[must_use]
    pub fn flag(mut self, flag: bool) -> Self {
        self.0.push(u8::from(flag));
        self
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Records that an index spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Those of one owner: each has an index of its own.
    Owner,
    /// Those of all owners. For rules of the service, such as a chain id that no other chain has; never for what a caller reads.
    Service,
}

/// What an index does with two records in one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entries {
    /// Refuses the second.
    Unique,
    /// Sorts them by the order, then by owner and id.
    Ordered,
}

/// An index of a type of record. Its name is part of keys and never changes; a new one needs a [`Migration`](super::Migration), or
/// [`Records::complete_indices`](super::Records::complete_indices) before the type is first used.
pub struct Index<T: 'static> {
    name: &'static str,
    reach: Reach,
    entries: Entries,
    group: fn(&Stored<T>) -> Option<SortKey>,
    order: fn(&Stored<T>) -> SortKey,
}

impl<T> Clone for Index<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Index<T> {}

impl<T> fmt::Debug for Index<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Index");
        debug
            .field("name", &self.name)
            .field("reach", &self.reach)
            .field("entries", &self.entries)
            .finish_non_exhaustive()
    }
}

fn updated<T>(stored: &Stored<T>) -> SortKey {
    SortKey::new().number(stored.updated_at_ms())
}

/// The index that every type has: an owner's records in the order of their creation.
fn created<T>(stored: &Stored<T>) -> SortKey {
    SortKey::new().number(stored.created_at_ms())
}

impl<T> Index<T> {
    /// All records of an owner, by time of creation. Every type has it beside those that it declares.
    pub const CREATED: Self = Self::ordered("created", Reach::Owner, |_| Some(SortKey::new()), created::<T>);

    /// All records of an owner, by time of their last change; of the types that declare it.
    pub const UPDATED: Self = Self::ordered("updated", Reach::Owner, |_| Some(SortKey::new()), updated::<T>);

    /// Declares an index with at most one record in a group. A record without a group is not in it.
    pub const fn unique(name: &'static str, reach: Reach, group: fn(&Stored<T>) -> Option<SortKey>) -> Self {
        Self { name, reach, entries: Entries::Unique, group, order: |_| SortKey::new() }
    }

    /// Declares an index that sorts the records of each group by `order`, then by id. A record without a group is not in it.
    pub const fn ordered(
        name: &'static str,
        reach: Reach,
        group: fn(&Stored<T>) -> Option<SortKey>,
        order: fn(&Stored<T>) -> SortKey,
    ) -> Self {
        Self { name, reach, entries: Entries::Ordered, group, order }
    }

    /// Name of the index.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn is_unique(&self) -> bool {
        self.entries == Entries::Unique
    }

    pub(super) fn group_of(&self, stored: &Stored<T>) -> Option<SortKey> {
        (self.group)(stored)
    }

    pub(super) fn order_of(&self, stored: &Stored<T>) -> SortKey {
        (self.order)(stored)
    }

    pub(super) fn reach_of<'a>(&self, owner: &'a Owner) -> &'a str {
        match self.reach {
            Reach::Owner => owner.as_str(),
            Reach::Service => "",
        }
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn keys_sort_as_their_values() {
        let text = |text: &str| SortKey::new().text(text);
        assert!(text("a") < text("a\0") && text("a\0") < text("a\u{1}") && text("a\u{1}") < text("ab"));
        assert!(text("") < text("\0"));
        let pair = |word: &str, number| SortKey::new().text(word).number(number);
        assert!(pair("a", 300) < pair("ab", 2) && pair("a", 2) < pair("a", 300));
        assert!(SortKey::new().flag(false) < SortKey::new().flag(true));
    }

    #[test]
    fn no_text_begins_another() {
        for (one, other) in [("a", "ab"), ("a", "a\0"), ("", "a")] {
            let (one, other) = (SortKey::new().text(one), SortKey::new().text(other));
            assert!(!other.as_bytes().starts_with(one.as_bytes()));
        }
    }
}
