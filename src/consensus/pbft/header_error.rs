//! Errors of header and payload verification.

use super::{CertificateError, EvidenceError, PbftError};
use crate::{chain::RuleError, consensus::HeaderFieldError, primitives::Address};

/// The rule that a header breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// A standard field breaks a rule common to all protocols.
    #[error(transparent)]
    Field(#[from] HeaderFieldError),
    /// The payload is not in canonical form.
    #[error("payload of {bytes} bytes is malformed; expected a set of validators and evidence in canonical form")]
    Payload {
        /// Length of the payload, in bytes.
        bytes: usize,
    },
    /// The payload does not name the validators of the next committee.
    #[error("payload names a next committee of {got} validators; expected another one of {want}")]
    Successor {
        /// Number of validators that it names; 0 for no change.
        got: usize,
        /// Number of validators of the next committee; 0 for no change.
        want: usize,
    },
    /// The payload names absent validators where none are reported, too many, or others than members in ascending order.
    #[error(
        "payload names {got} absent validators; expected at most {max}, members of the committee in ascending order"
    )]
    Absent {
        /// Number of validators that it names.
        got: usize,
        /// Largest number: as many as a quorum leaves; 0 where absences are not reported.
        max: usize,
    },
    /// The payload's evidence is invalid.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The payload names an invalid committee.
    #[error(transparent)]
    Committee(#[from] PbftError),
    /// The beneficiary is no validator.
    #[error("beneficiary is {got}; expected a validator")]
    Beneficiary {
        /// Beneficiary in the header.
        got: Address,
    },
    /// The seal is invalid.
    #[error(transparent)]
    Seal(#[from] CertificateError),
}

impl From<HeaderError> for RuleError {
    fn from(error: HeaderError) -> Self {
        match error {
            HeaderError::Field(error) => error.into(),
            HeaderError::Beneficiary { got } => {
                Self::Field { field: "miner", got: got.to_string(), want: "a validator".to_owned() }
            }
            other => Self::Seal { reason: other.to_string() },
        }
    }
}
