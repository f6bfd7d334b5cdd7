//! The ordered, atomic key-value trait.

use core::{fmt::Debug, ops::ControlFlow};

use alloy_primitives::Bytes;

use super::{StoreError, Table};

/// One change in a [`Batch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The table that it changes.
    pub table: Table,
    /// The key that it changes.
    pub key: Vec<u8>,
    /// The new value, or `None` to delete the key.
    pub value: Option<Vec<u8>>,
}

/// Changes that are applied together or not at all; a later change of a key wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    writes: Vec<Write>,
}

impl Batch {
    /// No changes yet.
    pub const fn new() -> Self {
        Self { writes: Vec::new() }
    }

    /// Sets `key` to `value`.
    pub fn put(&mut self, table: Table, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        self.writes.push(Write { table, key: key.into(), value: Some(value.into()) });
    }

    /// Deletes `key`; deleting an absent key is no error.
    pub fn delete(&mut self, table: Table, key: impl Into<Vec<u8>>) {
        self.writes.push(Write { table, key: key.into(), value: None });
    }

    /// The changes in the order they were made.
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// The changes, given away.
    pub fn into_writes(self) -> Vec<Write> {
        self.writes
    }

    /// Whether there is nothing to write.
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

/// An ordered map of bytes with atomic writes. Object-safe, and stays so.
///
/// Keys are compared as bytes. A reader sees a batch whole or not at all.
pub trait KeyValue: Debug + Send + Sync {
    /// The value under `key`.
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
    ) -> Result<(), StoreError>;

    /// Applies every change of `batch`, or none.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the medium fails; the store is then unchanged.
    fn write(&self, batch: Batch) -> Result<(), StoreError>;

    /// Whether what was written outlives the process; a chain keeps decoded blocks itself where it does not.
    fn is_durable(&self) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The promise of object safety.
    const _: fn(&dyn KeyValue) = |_| {};
}
