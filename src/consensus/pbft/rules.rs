//! The rules that a header of PBFT obeys, judged from its parent alone.

use super::{CertificateError, PbftConfig, Quorums, Seal, certificate::verify_proposal};
use crate::{
    chain::{Ancestors, Block, HeaderRules, RuleError},
    consensus::{Authenticator, BlockId, ValidatorSet},
    primitives::{Address, B64, B256, Bytes, Header, Height, Timestamp, U256},
};

/// Which rule a header breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// It extends another block than the one it was judged on.
    #[error("parent is {got} at height {got_height}; expected {want}")]
    Parent {
        /// The parent hash in the header.
        got: B256,
        /// The header's own height.
        got_height: Height,
        /// The block it was to extend.
        want: BlockId,
    },
    /// Before the parent's time plus the period.
    #[error("timestamp is {got}; expected at least {want}")]
    Timestamp {
        /// The header's.
        got: Timestamp,
        /// The earliest allowed.
        want: Timestamp,
    },
    /// A field that PBFT has no use for is not empty or zero.
    #[error("{field} is not zero or empty; pbft has no use for it")]
    NotZero {
        /// Which field.
        field: &'static str,
    },
    /// The fees go to somebody who proposes no blocks.
    #[error("beneficiary {got} is no validator, or not the one that proposed the block")]
    Beneficiary {
        /// The header's.
        got: Address,
    },
    /// The seal proves nothing.
    #[error(transparent)]
    Seal(#[from] CertificateError),
}

/// What a chain's headers are judged by; never changes, for the validators don't.
#[derive(Clone, Debug)]
pub struct PbftRules {
    pub(super) config: PbftConfig,
    pub(super) validators: ValidatorSet,
    pub(super) quorums: Quorums,
    pub(super) authenticator: Authenticator,
}

impl PbftRules {
    /// Rules of a chain with these validators.
    ///
    /// # Errors
    /// [`super::PbftError`] for parameters or a number of validators that PBFT refuses.
    pub fn new(
        config: PbftConfig,
        validators: ValidatorSet,
        authenticator: Authenticator,
    ) -> Result<Self, super::PbftError> {
        let quorums = config.quorums(&validators)?;
        Ok(Self { config, validators, quorums, authenticator })
    }

    /// Judges everything but the seal.
    ///
    /// # Errors
    /// [`HeaderError`]: the first rule that the header breaks.
    pub fn check_fields(&self, header: &Header, payload: &Bytes, parent: &Header) -> Result<(), HeaderError> {
        let (got, want) = (
            Timestamp::from_secs(header.timestamp),
            self.config.earliest_after(Timestamp::from_secs(parent.timestamp)),
        );
        if got < want {
            return Err(HeaderError::Timestamp { got, want });
        }
        let zero = [
            ("difficulty", header.difficulty == U256::ZERO),
            ("nonce", header.nonce == B64::ZERO),
            ("mixHash", header.mix_hash == B256::ZERO),
            ("extraData", header.extra_data.is_empty()),
            ("payload", payload.is_empty()),
        ];
        if let Some((field, _)) = zero.iter().find(|(_, is_zero)| !is_zero) {
            return Err(HeaderError::NotZero { field });
        }
        let got = header.beneficiary;
        if self.validators.contains(&got) { Ok(()) } else { Err(HeaderError::Beneficiary { got }) }
    }

    /// Judges the seal: a certificate of the block, or the word of the primary that made it.
    ///
    /// # Errors
    /// [`HeaderError::Seal`], and [`HeaderError::Beneficiary`] when a proposal pays another than its primary.
    pub fn check_seal(&self, block: BlockId, header: &Header, seal: &[u8]) -> Result<(), HeaderError> {
        match Seal::decode(seal)? {
            Seal::Certificate(certificate) => {
                Ok(certificate.verify(block, &self.validators, &self.quorums, &self.authenticator)?)
            }
            Seal::Proposal { view, signature } => {
                let primary = verify_proposal(view, &signature, block, &self.validators, &self.authenticator)?;
                let got = header.beneficiary;
                if primary == got { Ok(()) } else { Err(HeaderError::Beneficiary { got }) }
            }
        }
    }
}

impl HeaderRules for PbftRules {
    fn verify(&self, block: &Block, parent: &Header, _ancestors: &dyn Ancestors) -> Result<(), RuleError> {
        self.check_fields(block.header(), block.payload(), parent).map_err(|error| rule_error(&error))?;
        let id = BlockId::of(block);
        self.check_seal(id, block.header(), block.seal()).map_err(|error| rule_error(&error))
    }
}

fn rule_error(error: &HeaderError) -> RuleError {
    let field = |field, got: &dyn ToString, want: String| RuleError::Field { field, got: got.to_string(), want };
    match error {
        HeaderError::Timestamp { got, want } => field("timestamp", got, format!("at least {want}")),
        HeaderError::NotZero { field: name } => field(name, &"something", "nothing".to_owned()),
        HeaderError::Beneficiary { got } => field("miner", got, "the proposing validator".to_owned()),
        HeaderError::Seal(_) | HeaderError::Parent { .. } => RuleError::Seal { reason: error.to_string() },
    }
}
