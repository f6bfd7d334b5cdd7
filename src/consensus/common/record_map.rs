//! Maps of records by key, and what a write does to them.

use std::collections::BTreeMap;

use super::effect::Record;
use crate::primitives::{Bytes, maps::PersistentMap};

/// A map of records by key: a disk's, or what a test keeps in place of one.
pub(crate) trait RecordMap {
    /// Sets the value under `key`, over an earlier one.
    fn set(&mut self, key: Bytes, value: Bytes);

    /// Deletes the value under `key`, if there is one.
    fn delete(&mut self, key: &[u8]);

    /// Applies one write; a record without a value deletes its key.
    fn apply(&mut self, records: impl IntoIterator<Item = Record>) {
        for Record { key, value } in records {
            if value.is_empty() {
                self.delete(&key);
            } else {
                self.set(key, value);
            }
        }
    }
}

impl RecordMap for BTreeMap<Bytes, Bytes> {
    fn set(&mut self, key: Bytes, value: Bytes) {
        self.insert(key, value);
    }

    fn delete(&mut self, key: &[u8]) {
        self.remove(key);
    }
}

impl RecordMap for PersistentMap<Bytes, Bytes> {
    fn set(&mut self, key: Bytes, value: Bytes) {
        self.insert(key, value);
    }

    fn delete(&mut self, key: &[u8]) {
        self.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_without_a_value_deletes_its_key() {
        let record = |key: u8, value: &[u8]| Record::new(vec![key], value.to_vec());
        let writes = [record(1, b"a"), record(2, b"b"), record(1, b""), record(3, b""), record(2, b"c")];
        let mut ordered = BTreeMap::new();
        ordered.apply(writes.clone());
        assert_eq!(ordered, BTreeMap::from([(Bytes::from([2]), Bytes::from_static(b"c"))]));
        let mut hashed = PersistentMap::default();
        hashed.apply(writes);
        assert_eq!(hashed.into_iter().collect::<BTreeMap<_, _>>(), ordered);
    }
}
