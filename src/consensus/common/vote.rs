//! Signed votes and certificates of them, over statements of any type.

use core::fmt::Debug;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    codec::encode_value,
    id::BlockId,
    quorum::{Quorum, SignerError, verify_signers},
    signing::{Authenticator, Purpose, SealError, Signer},
    validators::ValidatorSet,
};
use crate::primitives::{Address, B256, Bytes, keccak256};

/// What validators sign in votes, such as a view with a block.
///
/// Statements are ordered: those of a later view, round or height are greater. A collector of votes keeps the greatest.
pub trait Statement: Clone + Debug + Ord + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Name of the protocol and of the kind of vote: a signature of one domain proves nothing in another.
    const DOMAIN: &'static str;
}

/// A block in a view: what validators vote for in protocols with one proposal a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ballot {
    /// The view.
    pub view: u64,
    /// The block.
    pub block: BlockId,
}

impl Statement for Ballot {
    const DOMAIN: &'static str = "ballot";
}

/// A validator's signature over a statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Vote<S> {
    statement: S,
    signature: Bytes,
}

/// A quorum's signatures over one statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct QuorumCertificate<S> {
    statement: S,
    /// In ascending order of the signers' addresses.
    signatures: Vec<Bytes>,
}

/// An invalid vote or certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VoteError {
    /// A signature is malformed or has no signer.
    #[error(transparent)]
    Signature(#[from] SealError),
    /// The signer is no validator.
    #[error("{signer} is no validator; its vote does not count")]
    Stranger {
        /// The signer.
        signer: Address,
    },
    /// Signers are not in ascending order, or one is duplicate.
    #[error("certificate has {signer} twice or out of order")]
    Order {
        /// First signer that is not above its predecessor.
        signer: Address,
    },
    /// The signers are no quorum.
    #[error("certificate has a weight of {got}; a quorum has {want} at least")]
    Weight {
        /// Weight of the signers.
        got: u128,
        /// Least weight of a quorum.
        want: u128,
    },
}

impl From<SignerError> for VoteError {
    fn from(error: SignerError) -> Self {
        match error {
            SignerError::Signature(error) => Self::Signature(error),
            SignerError::Stranger(signer) => Self::Stranger { signer },
            SignerError::Order(signer) => Self::Order { signer },
        }
    }
}

impl<S: Statement> Vote<S> {
    /// Returns the vote of a signer.
    pub fn sign(statement: S, signer: &Signer) -> Self {
        let signature = signer.sign(Purpose::Message, keccak256(signed_bytes(&statement)));
        Self { statement, signature }
    }

    /// Verifies that a validator voted, and returns its address.
    ///
    /// # Errors
    /// [`VoteError::Signature`], [`VoteError::Stranger`].
    pub fn verify(&self, validators: &ValidatorSet, authenticator: &Authenticator) -> Result<Address, VoteError> {
        let hash = signed_hash(&self.statement, authenticator);
        let signer = authenticator.author(Purpose::Message, hash, &self.signature)?;
        if validators.contains(&signer) { Ok(signer) } else { Err(VoteError::Stranger { signer }) }
    }

    /// Returns what it is for.
    pub const fn statement(&self) -> &S {
        &self.statement
    }

    pub(in crate::consensus) fn into_signature(self) -> Bytes {
        self.signature
    }
}

impl<S: Statement> QuorumCertificate<S> {
    /// Returns a certificate without signatures, for what is known to all, such as genesis. It never verifies.
    pub const fn unsigned(statement: S) -> Self {
        Self { statement, signatures: Vec::new() }
    }

    /// Returns the certificate of votes that were verified, by signer.
    pub(in crate::consensus) fn of(statement: S, signatures: BTreeMap<Address, Bytes>) -> Self {
        Self { statement, signatures: signatures.into_values().collect() }
    }

    /// Verifies that a quorum signed the statement.
    ///
    /// # Errors
    /// [`VoteError`]: the first rule that the certificate breaks.
    pub fn verify(&self, quorum: &Quorum, authenticator: &Authenticator) -> Result<(), VoteError> {
        let hash = signed_hash(&self.statement, authenticator);
        let signers = verify_signers(authenticator, quorum.validators(), hash, &self.signatures)?;
        let (got, want) = (quorum.weight_of(&signers), quorum.weight_min());
        if quorum.is_reached_by(got) { Ok(()) } else { Err(VoteError::Weight { got, want }) }
    }

    /// Returns what is certified.
    pub const fn statement(&self) -> &S {
        &self.statement
    }
}

/// Returns the bytes whose keccak a vote signs: the domain after its length, then the statement.
fn signed_bytes<S: Statement>(statement: &S) -> Vec<u8> {
    encode_value(&(S::DOMAIN, statement))
}

fn signed_hash<S: Statement>(statement: &S, authenticator: &Authenticator) -> B256 {
    authenticator.keccak(&signed_bytes(statement))
}

#[cfg(test)]
pub(in crate::consensus) mod tests {
    use super::*;
    use crate::primitives::KeyPair;

    /// A statement of tests.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub(in crate::consensus) struct Round(pub(in crate::consensus) u64);

    impl Statement for Round {
        const DOMAIN: &'static str = "test round";
    }

    /// The same content in another domain.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    struct Height(u64);

    impl Statement for Height {
        const DOMAIN: &'static str = "test height";
    }

    fn keys() -> Vec<KeyPair> {
        let mut keys: Vec<_> = (0..5).map(|seed| KeyPair::from_seed(seed, "validator")).collect();
        keys.sort_by_key(KeyPair::address);
        keys
    }

    #[test]
    fn a_vote_counts_for_its_statement_and_domain_alone() {
        for authenticator in [Authenticator::symbolic(1), Authenticator::secp256k1()] {
            let keys = keys();
            let set = ValidatorSet::equal(keys[..4].iter().map(KeyPair::address)).unwrap();
            let signer = authenticator.signer(&keys[0]);
            let vote = Vote::sign(Round(3), &signer);
            assert_eq!(vote.verify(&set, &authenticator), Ok(keys[0].address()));
            assert_eq!(vote.statement(), &Round(3));
            let other = Vote { statement: Round(4), signature: vote.signature.clone() };
            assert_ne!(other.verify(&set, &authenticator), Ok(keys[0].address()));
            let other = Vote { statement: Height(3), signature: vote.signature };
            assert_ne!(other.verify(&set, &authenticator), Ok(keys[0].address()));
            let stranger = Vote::sign(Round(3), &authenticator.signer(&keys[4]));
            let error = VoteError::Stranger { signer: keys[4].address() };
            assert_eq!(stranger.verify(&set, &authenticator), Err(error));
        }
    }

    #[test]
    fn a_certificate_needs_a_quorum_in_order() {
        let (authenticator, keys) = (Authenticator::symbolic(1), keys());
        let quorum = Quorum::two_thirds(ValidatorSet::equal(keys[..4].iter().map(KeyPair::address)).unwrap());
        let signature = |index: usize| Vote::sign(Round(3), &authenticator.signer(&keys[index])).signature;
        let verify = |signers: &[usize]| {
            let signatures = signers.iter().map(|index| signature(*index)).collect();
            QuorumCertificate { statement: Round(3), signatures }.verify(&quorum, &authenticator)
        };
        assert_eq!(verify(&[0, 1, 2]), Ok(()));
        assert_eq!(verify(&[0, 1, 2, 3]), Ok(()), "more than a quorum");
        assert_eq!(verify(&[0, 3]), Err(VoteError::Weight { got: 2, want: 3 }));
        assert_eq!(verify(&[0, 2, 1]), Err(VoteError::Order { signer: keys[1].address() }));
        assert_eq!(verify(&[0, 1, 1]), Err(VoteError::Order { signer: keys[1].address() }));
        assert_eq!(verify(&[0, 1, 4]), Err(VoteError::Stranger { signer: keys[4].address() }));

        let by: BTreeMap<_, _> = [2, 0, 3].into_iter().map(|at| (keys[at].address(), signature(at))).collect();
        let certificate = QuorumCertificate::of(Round(3), by);
        assert_eq!(certificate.verify(&quorum, &authenticator), Ok(()));
        let forged = QuorumCertificate { statement: Round(4), ..certificate };
        assert!(matches!(forged.verify(&quorum, &authenticator), Err(VoteError::Signature(_))));
        let unsigned = QuorumCertificate::unsigned(Round(0));
        let lowest = quorum.with_weight_min(0);
        assert_eq!(unsigned.verify(&lowest, &authenticator), Err(VoteError::Weight { got: 0, want: 1 }));
    }
}
