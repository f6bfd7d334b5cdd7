//! Quorums by weight, and the verification of several signatures over one hash.

use std::collections::BTreeSet;

use super::{
    signing::{Authenticator, Purpose, SealError},
    validators::ValidatorSet,
};
use crate::primitives::{Address, B256, Bytes};

/// A validator set with the weight of its quorums. Cloning is O(1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Quorum {
    validators: ValidatorSet,
    weight_min: u128,
}

impl Quorum {
    /// Returns the quorums of more than two thirds of the weight: any two share an honest validator while validators with less than a
    /// third of the weight misbehave (PBFT, HotStuff).
    pub const fn two_thirds(validators: ValidatorSet) -> Self {
        let weight_min = validators.total_weight() * 2 / 3 + 1;
        Self { validators, weight_min }
    }

    /// Returns the quorums of more than half of the weight: any two share a validator (Raft).
    pub const fn majority(validators: ValidatorSet) -> Self {
        let weight_min = validators.total_weight() / 2 + 1;
        Self { validators, weight_min }
    }

    /// Returns the quorums of at least `weight_min`, for other thresholds; 0 counts as 1.
    #[must_use]
    pub const fn with_weight_min(mut self, weight_min: u128) -> Self {
        self.weight_min = if weight_min == 0 { 1 } else { weight_min };
        self
    }

    /// Returns the quorums that may weigh so much less, down to 1: a planted bug, for tests that must find it.
    #[must_use]
    pub const fn lowered_by(self, weight: u128) -> Self {
        let weight_min = self.weight_min.saturating_sub(weight);
        self.with_weight_min(weight_min)
    }

    /// Returns the validators.
    pub const fn validators(&self) -> &ValidatorSet {
        &self.validators
    }

    /// Returns the least weight of a quorum.
    pub const fn weight_min(&self) -> u128 {
        self.weight_min
    }

    /// Returns whether validators of this weight are a quorum.
    pub const fn is_reached_by(&self, weight: u128) -> bool {
        weight >= self.weight_min
    }

    /// Returns whether one at least of validators of this weight is in every quorum: it is honest while a quorum is (`f + 1` of
    /// `3f + 1`).
    pub const fn is_blocked_by(&self, weight: u128) -> bool {
        weight > self.validators.total_weight().saturating_sub(self.weight_min)
    }

    /// Returns the weight of those of `signers` that are validators.
    pub fn weight_of<'a>(&self, signers: impl IntoIterator<Item = &'a Address>) -> u128 {
        let signers: BTreeSet<_> = signers.into_iter().collect();
        signers.into_iter().map(|signer| u128::from(self.validators.weight_of(signer))).sum()
    }
}

/// A signature that does not count beside others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::consensus) enum SignerError {
    /// Malformed, or has no signer.
    Signature(SealError),
    /// The signer is no validator.
    Stranger(Address),
    /// Not above its predecessor, or the same.
    Order(Address),
}

/// Verifies signatures over `hash`, in ascending order of the signers' addresses, and returns the signers.
///
/// # Errors
/// [`SignerError`]: the first that does not count.
pub(in crate::consensus) fn verify_signers(
    authenticator: &Authenticator,
    validators: &ValidatorSet,
    hash: B256,
    signatures: &[Bytes],
) -> Result<Vec<Address>, SignerError> {
    let mut signers: Vec<Address> = Vec::with_capacity(signatures.len().min(validators.len()));
    for signature in signatures {
        let signer = authenticator.author(Purpose::Message, hash, signature).map_err(SignerError::Signature)?;
        if !validators.contains(&signer) {
            return Err(SignerError::Stranger(signer));
        }
        if signers.last().is_some_and(|last| *last >= signer) {
            return Err(SignerError::Order(signer));
        }
        signers.push(signer);
    }
    Ok(signers)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{consensus::Validator, primitives::KeyPair};

    #[test]
    fn thresholds_are_those_of_the_papers() {
        for (count, two_thirds, blocking, majority) in
            [(1, 1, 1, 1), (3, 3, 1, 2), (4, 3, 2, 3), (6, 5, 2, 4), (7, 5, 3, 4)]
        {
            let set = ValidatorSet::equal((1..=count).map(Address::repeat_byte)).unwrap();
            let quorum = Quorum::two_thirds(set.clone());
            assert_eq!(quorum.weight_min(), two_thirds, "{count}");
            assert!(quorum.is_reached_by(two_thirds) && !quorum.is_reached_by(two_thirds - 1));
            assert!(quorum.is_blocked_by(blocking) && !quorum.is_blocked_by(blocking - 1));
            assert_eq!(Quorum::majority(set.clone()).weight_min(), majority);
            assert_eq!(Quorum::majority(set.clone()).with_weight_min(9).weight_min(), 9);
            assert_eq!(Quorum::two_thirds(set).lowered_by(1).weight_min(), (two_thirds - 1).max(1));
        }
    }

    #[test]
    fn strangers_and_repetition_have_no_weight() {
        let [one, two, stranger] = [1, 2, 9].map(Address::repeat_byte);
        let members = [(one, 5), (two, 7)].map(|(address, weight)| Validator { address, weight });
        let quorum = Quorum::two_thirds(ValidatorSet::new(members).unwrap());
        assert_eq!(quorum.weight_of([&one, &stranger, &one]), 5);
        assert_eq!(quorum.weight_of([&one, &two]), 12);
        assert_eq!(quorum.validators().total_weight(), 12);
    }

    proptest! {
        #[test]
        fn two_thirds_is_what_the_validator_set_says(weights in proptest::collection::vec(1..u64::MAX, 1..9), weight in any::<u128>()) {
            let members = weights.iter().zip(1..).map(|(weight, byte)| {
                Validator { address: Address::repeat_byte(byte), weight: *weight }
            });
            let set = ValidatorSet::new(members).unwrap();
            let weight = weight % (set.total_weight() + 1);
            let quorum = Quorum::two_thirds(set.clone());
            prop_assert_eq!(quorum.is_reached_by(weight), set.exceeds(weight, 2, 3));
            // What is left out of a quorum can't block one.
            prop_assert_eq!(quorum.is_blocked_by(set.total_weight() - weight), !quorum.is_reached_by(weight));
        }
    }

    #[test]
    fn signatures_count_in_ascending_order_of_validators() {
        let authenticator = Authenticator::symbolic(1);
        let mut keys: Vec<_> = (0..4).map(|seed| KeyPair::from_seed(seed, "validator")).collect();
        keys.sort_by_key(KeyPair::address);
        let hash = B256::repeat_byte(3);
        let sign = |key: &KeyPair| authenticator.signer(key).sign(Purpose::Message, hash);
        let set = ValidatorSet::equal(keys[..3].iter().map(KeyPair::address)).unwrap();
        let verify = |signatures: &[Bytes]| verify_signers(&authenticator, &set, hash, signatures);
        let [one, two, _, stranger] = [0, 1, 2, 3].map(|index: usize| sign(&keys[index]));
        assert_eq!(verify(&[one.clone(), two.clone()]), Ok(vec![keys[0].address(), keys[1].address()]));
        assert_eq!(verify(&[two, one.clone()]), Err(SignerError::Order(keys[0].address())));
        assert_eq!(verify(&[one.clone(), one.clone()]), Err(SignerError::Order(keys[0].address())));
        assert_eq!(verify(&[one.clone(), stranger]), Err(SignerError::Stranger(keys[3].address())));
        assert!(matches!(verify(&[one.slice(1..)]), Err(SignerError::Signature(SealError::Length { .. }))));
    }
}
