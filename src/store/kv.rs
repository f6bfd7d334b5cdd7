//! The ordered, atomic key-value trait.

use core::{fmt::Debug, ops::ControlFlow};
use std::path::Path;

use alloy_primitives::Bytes;

use super::{StoreError, Table};

/// One change in a [`Batch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Table of the key.
    pub table: Table,
    /// Key to set or delete.
    pub key: Vec<u8>,
    /// The new value, or `None` to delete the key.
    pub value: Option<Vec<u8>>,
}

/// Changes that are applied together or not at all; the last change of a key wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    writes: Vec<Write>,
}

impl Batch {
    /// Creates an empty batch.
    pub const fn new() -> Self {
        Self { writes: Vec::new() }
    }

    /// Sets `key` to `value`.
    pub fn put(&mut self, table: Table, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        self.writes.push(Write { table, key: key.into(), value: Some(value.into()) });
    }

    /// Deletes `key`; an absent key is no error.
    pub fn delete(&mut self, table: Table, key: impl Into<Vec<u8>>) {
        self.writes.push(Write { table, key: key.into(), value: None });
    }

    /// Returns the changes, in the order they were made.
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// Returns the changes and consumes the batch.
    pub fn into_writes(self) -> Vec<Write> {
        self.writes
    }

    /// Returns whether the batch holds no changes.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }
}

/// Direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From the smallest key up.
    Ascending,
    /// From the largest key down.
    Descending,
}

/// An ordered map of bytes with atomic writes. It stays object-safe.
///
/// Keys are ordered bytewise. A reader sees a batch whole or not at all.
pub trait KeyValue: Debug + Send + Sync {
    /// Returns the value under `key`.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the medium fails.
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError>;

    /// Visits the pairs whose key starts with `prefix`, in `order`, until `visit` breaks.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the medium fails.
    fn scan(
        &self,
        table: Table,
        prefix: &[u8],
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.scan_from(table, prefix, None, order, visit)
    }

    /// As [`KeyValue::scan`], from the key `from` on: the first pair is that of `from` itself, or of the next key in `order`. What lies
    /// before it costs nothing. `from` may be any key, also one without the prefix.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the medium fails.
    fn scan_from(
        &self,
        table: Table,
        prefix: &[u8],
        from: Option<&[u8]>,
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError>;

    /// Applies every change of `batch`, or none.
    ///
    /// # Errors
    /// [`StoreError::Full`] when there is no room, [`StoreError::Io`] when the medium fails; the store is then unchanged.
    fn write(&self, batch: Batch) -> Result<(), StoreError>;

    /// Returns whether writes outlive the process; where they do not, a chain keeps decoded blocks itself.
    fn is_durable(&self) -> bool;

    /// Writes a copy of the whole store, as it is at one moment, into a folder that must not exist yet. Reads and writes go on meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the folder exists or can't be written, and always for a store that is not a database of its own: one in
    /// memory, or a part of another.
    fn back_up(&self, folder: &Path) -> Result<(), StoreError> {
        let reason = format!("{}: this store is not a database of its own", folder.display());
        Err(StoreError::Io { operation: "back up", reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compiles only while the trait is object-safe.
    const _: fn(&dyn KeyValue) = |_| {};
}
