//! What the indices of a type hold of a record.

use super::{Index, Record, Stored, key};

/// What an index holds of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IndexEntry {
    pub(super) index: &'static str,
    pub(super) is_unique: bool,
    pub(super) key: Vec<u8>,
    /// Key of the group's count; `None` in a unique index, which needs none.
    pub(super) count: Option<Vec<u8>>,
}

/// All indices of a type.
pub(super) fn indices<T: Record>() -> impl Iterator<Item = Index<T>> {
    core::iter::once(Index::CREATED).chain(T::INDICES.iter().copied())
}

/// Returns the entries of a record in all indices of its type.
pub(super) fn entries<T: Record>(stored: &Stored<T>) -> Vec<IndexEntry> {
    indices::<T>().filter_map(|index| entry(&index, stored)).collect()
}

fn entry<T: Record>(index: &Index<T>, stored: &Stored<T>) -> Option<IndexEntry> {
    let group = index.group_of(stored)?;
    let reach = index.reach_of(stored.owner());
    let mut key = key::group(T::KIND, index.name(), reach, group.as_bytes());
    let is_unique = index.is_unique();
    if !is_unique {
        key.extend_from_slice(index.order_of(stored).as_bytes());
        key.extend_from_slice(stored.owner().as_str().as_bytes());
        key.push(0);
        key.extend_from_slice(stored.id().as_bytes());
    }
    let count = (!is_unique).then(|| key::count(T::KIND, index.name(), reach, group.as_bytes()));
    Some(IndexEntry { index: index.name(), is_unique, key, count })
}
