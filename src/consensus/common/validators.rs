//! Sets of validators and thresholds over them.

use std::sync::Arc;

use crate::primitives::{Address, B256, keccak256};

/// A member of a validator set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Validator {
    /// Address whose key seals its blocks.
    pub address: Address,
    /// Weight in thresholds: gwei of stake, or 1 for each validator where no stake exists.
    pub weight: u64,
}

/// Validators in ascending order of address, none twice, none without weight. Cloning is O(1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValidatorSet {
    members: Arc<[Validator]>,
    total_weight: u128,
}

/// Invalid list of validators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValidatorSetError {
    /// No member is listed.
    #[error("a chain needs at least one validator; none is listed")]
    Empty,
    /// A validator is listed twice.
    #[error("validator {address} is listed more than once; list each address once")]
    Duplicate {
        /// The address listed twice.
        address: Address,
    },
    /// A validator has no weight.
    #[error("validator {address} has weight 0; give it at least 1 (a stake of one gwei), or leave it out")]
    ZeroWeight {
        /// The address without weight.
        address: Address,
    },
}

impl ValidatorSet {
    /// Returns the set of `members`, given in any order.
    ///
    /// # Errors
    /// [`ValidatorSetError`] for no member, a member twice, or a weight of zero.
    pub fn new(members: impl IntoIterator<Item = Validator>) -> Result<Self, ValidatorSetError> {
        let mut members: Vec<_> = members.into_iter().collect();
        members.sort_unstable();
        if members.is_empty() {
            return Err(ValidatorSetError::Empty);
        }
        if let Some(pair) = members.windows(2).find(|pair| pair[0].address == pair[1].address) {
            return Err(ValidatorSetError::Duplicate { address: pair[0].address });
        }
        if let Some(idle) = members.iter().find(|member| member.weight == 0) {
            return Err(ValidatorSetError::ZeroWeight { address: idle.address });
        }
        Ok(Self::from_sorted(members))
    }

    /// Returns a set in which each address weighs 1.
    ///
    /// # Errors
    /// As [`ValidatorSet::new`].
    pub fn equal(addresses: impl IntoIterator<Item = Address>) -> Result<Self, ValidatorSetError> {
        Self::new(addresses.into_iter().map(|address| Validator { address, weight: 1 }))
    }

    /// Returns a set of sorted and distinct members; may be empty (Clique's last signer can vote itself out).
    pub(in crate::consensus) fn from_sorted(members: Vec<Validator>) -> Self {
        let total_weight = members.iter().map(|member| u128::from(member.weight)).sum();
        Self { members: members.into(), total_weight }
    }

    /// Returns the members in ascending order of address.
    pub fn members(&self) -> &[Validator] {
        &self.members
    }

    /// Returns the addresses in ascending order.
    pub fn addresses(&self) -> impl ExactSizeIterator<Item = Address> + '_ {
        self.members.iter().map(|member| member.address)
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns whether the set has no member.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the sum of all weights.
    pub const fn total_weight(&self) -> u128 {
        self.total_weight
    }

    /// Returns the index of `address` in ascending order.
    pub fn index_of(&self, address: &Address) -> Option<usize> {
        self.members.binary_search_by_key(address, |member| member.address).ok()
    }

    /// Returns whether `address` is a member.
    pub fn contains(&self, address: &Address) -> bool {
        self.index_of(address).is_some()
    }

    /// Returns the weight of `address`; 0 when it is no member.
    pub fn weight_of(&self, address: &Address) -> u64 {
        self.index_of(address).map_or(0, |index| self.members[index].weight)
    }

    /// Returns whether `weight` is more than `numerator / denominator` of the total, in integer arithmetic.
    pub const fn exceeds(&self, weight: u128, numerator: u128, denominator: u128) -> bool {
        weight.saturating_mul(denominator) > self.total_weight.saturating_mul(numerator)
    }

    /// Returns the keccak of the members' addresses and weights (8 bytes, big-endian), in order: what a header commits to.
    pub fn hash(&self) -> B256 {
        let mut bytes = Vec::with_capacity(self.members.len() * 28);
        for member in self.members.iter() {
            bytes.extend_from_slice(member.address.as_slice());
            bytes.extend_from_slice(&member.weight.to_be_bytes());
        }
        keccak256(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(byte: u8) -> Address {
        Address::repeat_byte(byte)
    }

    #[test]
    fn order_does_not_matter_and_bad_lists_are_told() {
        let set = ValidatorSet::equal([address(3), address(1)]).unwrap();
        assert_eq!(set, ValidatorSet::equal([address(1), address(3)]).unwrap());
        assert_eq!(set.index_of(&address(3)), Some(1));
        assert_eq!((set.weight_of(&address(3)), set.weight_of(&address(2))), (1, 0));
        assert_eq!(ValidatorSet::equal([]), Err(ValidatorSetError::Empty));
        let twice = ValidatorSet::equal([address(1), address(1)]);
        assert_eq!(twice, Err(ValidatorSetError::Duplicate { address: address(1) }));
        let idle = ValidatorSet::new([Validator { address: address(1), weight: 0 }]);
        assert_eq!(idle, Err(ValidatorSetError::ZeroWeight { address: address(1) }));
    }

    #[test]
    fn two_thirds_is_strict() {
        let set = ValidatorSet::equal((1..=3).map(address)).unwrap();
        assert!(!set.exceeds(2, 2, 3));
        assert!(set.exceeds(3, 2, 3));
    }
}
