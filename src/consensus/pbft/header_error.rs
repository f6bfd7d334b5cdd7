//! Errors of header verification.

use super::{CertificateError, EvidenceError, PbftError};
use crate::{chain::RuleError, consensus::HeaderFieldError, primitives::Address};

/// The rule that a header breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// A standard field breaks a rule common to all protocols.
    #[error(transparent)]
    Field(#[from] HeaderFieldError),
    /// The payload names no set of validators in its canonical form.
    #[error("payload of {bytes} bytes names no set of validators")]
    Payload {
        /// Its length.
        bytes: usize,
    },
    /// The payload does not name the validators who take over with this block.
    #[error("payload names {got} validators who take over; expected {want} others")]
    Successor {
        /// Number of validators that it names; 0 for none.
        got: usize,
        /// Number of validators that take over; 0 for none.
        want: usize,
    },
    /// The payload's evidence proves nothing.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The payload names an impossible set of validators.
    #[error(transparent)]
    Committee(#[from] PbftError),
    /// The fees go to an account that is no validator.
    #[error("beneficiary is {got}; expected a validator")]
    Beneficiary {
        /// Beneficiary in the header.
        got: Address,
    },
    /// The seal is no certificate or proposal that verifies.
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
