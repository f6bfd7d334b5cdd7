//! Seals: the primary's signature beside a proposed block, a commit certificate beside a committed one.

use alloy_rlp::{Decodable, RlpDecodable, RlpEncodable};

use super::{
    Committee, Phase, View,
    vote::{pre_prepare, vote},
};
use crate::{
    consensus::{
        Authenticator, BlockId, Purpose, SealError,
        quorum::{SignerError, verify_signers},
    },
    primitives::{Address, Bytes},
};

/// The seal of a block.
///
/// Encoding: RLP of `[kind, view, signatures]`: kind 1 (proposal, one signature) or 2 (certificate).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Seal {
    /// Signature of the primary that proposed the block, which is not committed yet.
    Proposal {
        /// View of the proposal.
        view: View,
        /// Signature over view, height and block hash.
        signature: Bytes,
    },
    /// Certificate of a committed block.
    Certificate(Certificate),
}

/// Commits of a quorum in one view: proof that a block is final.
///
/// A commit signs the view, height and block hash. Signatures over the hash alone, collected in several views, would prove
/// nothing: a later view may choose another block although every signer is honest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Certificate {
    /// View of all commits.
    pub view: View,
    /// Exactly a quorum of signatures, in ascending order of the signers' addresses.
    pub signatures: Vec<Bytes>,
}

/// Invalid seal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// The seal is not the expected RLP.
    #[error("invalid pbft seal: {0}")]
    Rlp(#[from] alloy_rlp::Error),
    /// The seal is RLP but not in canonical form.
    #[error("invalid pbft seal: not in canonical form")]
    NotCanonical,
    /// The seal is a proposal's; expected a certificate.
    #[error("the block is proposed, not committed: expected a certificate as its seal")]
    NotCommitted,
    /// The number of signatures is not a quorum.
    #[error("certificate has {got} signatures; a quorum is {want}")]
    Count {
        /// Number of signatures.
        got: usize,
        /// Size of a quorum.
        want: usize,
    },
    /// A signature is malformed or has no signer.
    #[error(transparent)]
    Signature(#[from] SealError),
    /// The signer is no validator, or not the primary for a proposal.
    #[error("{signer} may not sign this seal")]
    Signer {
        /// The signer.
        signer: Address,
    },
    /// Signers are not in ascending order, or one is duplicate.
    #[error("certificate has {signer} twice or out of order")]
    Order {
        /// First signer that is not above its predecessor.
        signer: Address,
    },
}

impl From<SignerError> for CertificateError {
    fn from(error: SignerError) -> Self {
        match error {
            SignerError::Signature(error) => Self::Signature(error),
            SignerError::Stranger(signer) => Self::Signer { signer },
            SignerError::Order(signer) => Self::Order { signer },
        }
    }
}

#[derive(RlpEncodable, RlpDecodable)]
struct Fields {
    kind: u8,
    view: u64,
    signatures: Vec<Bytes>,
}

impl Seal {
    /// Returns the canonical encoding.
    pub fn encoded(&self) -> Bytes {
        let fields = match self {
            Self::Proposal { view, signature } => {
                Fields { kind: 1, view: view.get(), signatures: vec![signature.clone()] }
            }
            Self::Certificate(certificate) => {
                Fields { kind: 2, view: certificate.view.get(), signatures: certificate.signatures.clone() }
            }
        };
        alloy_rlp::encode(fields).into()
    }

    /// Decodes the canonical encoding.
    ///
    /// # Errors
    /// [`CertificateError::Rlp`], [`CertificateError::NotCanonical`].
    pub fn decode(bytes: &[u8]) -> Result<Self, CertificateError> {
        let mut rest = bytes;
        let fields = Fields::decode(&mut rest)?;
        let view = View::new(fields.view);
        let seal = match (fields.kind, fields.signatures.as_slice()) {
            (1, [signature]) => Self::Proposal { view, signature: signature.clone() },
            (2, _) => Self::Certificate(Certificate { view, signatures: fields.signatures }),
            _ => return Err(CertificateError::NotCanonical),
        };
        if rest.is_empty() && *seal.encoded() == *bytes { Ok(seal) } else { Err(CertificateError::NotCanonical) }
    }

    /// Decodes a certificate.
    ///
    /// # Errors
    /// As [`Seal::decode`], and [`CertificateError::NotCommitted`].
    pub fn certificate(bytes: &[u8]) -> Result<Certificate, CertificateError> {
        match Self::decode(bytes)? {
            Self::Certificate(certificate) => Ok(certificate),
            Self::Proposal { .. } => Err(CertificateError::NotCommitted),
        }
    }
}

impl Certificate {
    /// Verifies that a quorum of `committee` committed `block`.
    ///
    /// # Errors
    /// `CertificateError`: the first rule that the certificate breaks.
    pub fn verify(
        &self,
        block: BlockId,
        committee: &Committee,
        authenticator: &Authenticator,
    ) -> Result<(), CertificateError> {
        let (got, want) = (self.signatures.len(), committee.quorums().strong());
        if got != want {
            return Err(CertificateError::Count { got, want });
        }
        let signed = authenticator.keccak(&vote(Phase::Commit, self.view, &block));
        verify_signers(authenticator, committee.validators(), signed, &self.signatures)?;
        Ok(())
    }
}

/// Verifies that the primary of `view` signed `block`, and returns its address.
pub(super) fn verify_proposal(
    view: View,
    signature: &[u8],
    block: BlockId,
    committee: &Committee,
    authenticator: &Authenticator,
) -> Result<Address, CertificateError> {
    let signer = authenticator.author(Purpose::Message, authenticator.keccak(&pre_prepare(view, &block)), signature)?;
    if signer == committee.primary(view) { Ok(signer) } else { Err(CertificateError::Signer { signer }) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn seals_round_trip(kind in any::<bool>(), view in any::<u64>(), count in 0_usize..5, byte in any::<u8>()) {
            let signatures = vec![Bytes::from(vec![byte; 65]); count];
            let seal = match signatures.first() {
                Some(signature) if kind => Seal::Proposal { view: View::new(view), signature: signature.clone() },
                _ => Seal::Certificate(Certificate { view: View::new(view), signatures }),
            };
            prop_assert_eq!(Seal::decode(&seal.encoded()), Ok(seal));
        }

        #[test]
        fn decoded_seals_are_canonical(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(seal) = Seal::decode(&bytes) {
                prop_assert_eq!(seal.encoded(), bytes);
            }
        }
    }

    #[test]
    fn trailing_bytes_are_refused() {
        let seal = Seal::Certificate(Certificate { view: View::new(3), signatures: vec![] }).encoded();
        let longer = [seal.as_ref(), &[0]].concat();
        assert_eq!(Seal::decode(&longer), Err(CertificateError::NotCanonical));
    }
}
