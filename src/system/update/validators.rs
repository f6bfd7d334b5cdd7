//! Changes of the validator set by executing a block.

use std::{collections::BTreeMap, sync::Arc};

use crate::primitives::Address;

/// Bytes of one encoded change.
pub(super) const UPDATE_BYTES: usize = 28;

/// The new weight of one validator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValidatorUpdate {
    /// Address of the validator.
    pub address: Address,
    /// Weight from now on: bonded stake in gwei, or what the validators' contract says; 0 removes the validator.
    pub weight: u64,
}

/// All changes of one block, in ascending order of address, at most one each. Cloning is O(1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ValidatorUpdates(Option<Arc<[ValidatorUpdate]>>);

impl ValidatorUpdates {
    /// No change.
    pub const NONE: Self = Self(None);

    /// Collects changes in the order in which they were made: the last one of an address is kept.
    pub fn new(made: impl IntoIterator<Item = ValidatorUpdate>) -> Self {
        let last: BTreeMap<_, _> = made.into_iter().map(|update| (update.address, update.weight)).collect();
        if last.is_empty() {
            return Self::NONE;
        }
        Self(Some(last.into_iter().map(|(address, weight)| ValidatorUpdate { address, weight }).collect()))
    }

    /// Returns these changes with later ones, which replace them.
    #[must_use]
    pub fn followed_by(&self, later: &Self) -> Self {
        match (self.is_empty(), later.is_empty()) {
            (_, true) => self.clone(),
            (true, _) => later.clone(),
            _ => Self::new(self.iter().chain(later).copied()),
        }
    }

    /// Returns whether there are no changes.
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the changes, in ascending order of address.
    pub fn as_slice(&self) -> &[ValidatorUpdate] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Encodes each change as 28 bytes, address and weight (big-endian), in ascending order of address.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.iter().flat_map(|update| update.address.into_iter().chain(update.weight.to_be_bytes())).collect()
    }

    /// Decodes [`ValidatorUpdates::to_bytes`]; `None` for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (chunks, rest) = bytes.as_chunks::<UPDATE_BYTES>();
        let read = |chunk: &[u8; UPDATE_BYTES]| {
            let (address, weight) = chunk.split_first_chunk::<20>()?;
            let weight = u64::from_be_bytes(*weight.first_chunk()?);
            Some(ValidatorUpdate { address: Address::from(*address), weight })
        };
        let updates: Vec<_> = chunks.iter().map(read).collect::<Option<_>>()?;
        let is_sorted = updates.windows(2).all(|pair| pair[0].address < pair[1].address);
        (rest.is_empty() && is_sorted).then(|| Self::new(updates))
    }

    /// Returns the changes, in ascending order of address.
    pub fn iter(&self) -> core::slice::Iter<'_, ValidatorUpdate> {
        self.as_slice().iter()
    }
}

impl<'a> IntoIterator for &'a ValidatorUpdates {
    type Item = &'a ValidatorUpdate;
    type IntoIter = core::slice::Iter<'a, ValidatorUpdate>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_change_of_an_address_counts() {
        let update = |byte, weight| ValidatorUpdate { address: Address::repeat_byte(byte), weight };
        let updates = ValidatorUpdates::new([update(2, 5), update(1, 7), update(2, 0)]);
        assert_eq!(updates.as_slice(), [update(1, 7), update(2, 0)]);
        assert_eq!(ValidatorUpdates::new([]), ValidatorUpdates::NONE);
        let later = ValidatorUpdates::new([update(3, 1), update(1, 0)]);
        assert_eq!(updates.followed_by(&later).as_slice(), [update(1, 0), update(2, 0), update(3, 1)]);
        assert_eq!(updates.followed_by(&ValidatorUpdates::NONE), updates);
        assert_eq!(ValidatorUpdates::NONE.followed_by(&updates), updates);
    }

    #[test]
    fn the_stored_form_comes_back_and_nothing_else_is_read() {
        let update = |byte, weight| ValidatorUpdate { address: Address::repeat_byte(byte), weight };
        let updates = ValidatorUpdates::new([update(1, 7), update(2, u64::MAX)]);
        let bytes = updates.to_bytes();
        assert_eq!(ValidatorUpdates::from_bytes(&bytes), Some(updates));
        assert_eq!(ValidatorUpdates::from_bytes(&[]), Some(ValidatorUpdates::NONE));
        assert_eq!(ValidatorUpdates::from_bytes(&bytes[..55]), None);
        assert_eq!(ValidatorUpdates::from_bytes(&[&bytes[28..], &bytes[..28]].concat()), None, "not sorted");
        assert_eq!(ValidatorUpdates::from_bytes(&[&bytes[..28], &bytes[..28]].concat()), None, "twice");
    }
}
