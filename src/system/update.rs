//! What executing a block changed in the set of validators.

use std::{collections::BTreeMap, sync::Arc};

use crate::primitives::Address;

/// The new weight of one validator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValidatorUpdate {
    /// Who.
    pub address: Address,
    /// Bonded stake in gwei from now on; 0: no validator any more.
    pub weight: u64,
}

/// All changes that one block made, in ascending order of address, at most one each. Cloning is O(1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ValidatorUpdates(Option<Arc<[ValidatorUpdate]>>);

impl ValidatorUpdates {
    /// No change.
    pub const NONE: Self = Self(None);

    /// The changes in the order in which they were made: the last of an address counts.
    pub fn new(made: impl IntoIterator<Item = ValidatorUpdate>) -> Self {
        let last: BTreeMap<_, _> = made.into_iter().map(|update| (update.address, update.weight)).collect();
        if last.is_empty() {
            return Self::NONE;
        }
        Self(Some(last.into_iter().map(|(address, weight)| ValidatorUpdate { address, weight }).collect()))
    }

    /// Whether nothing changed.
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The changes, in ascending order of address.
    pub fn as_slice(&self) -> &[ValidatorUpdate] {
        self.0.as_deref().unwrap_or_default()
    }

    /// The changes, in ascending order of address.
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
    }
}
