//! The rules that a header of PBFT obeys, verified from its parent and the changes of validators that wait there.

use super::{
    CertificateError, Council, EvidenceError, Payload, Pbft, PbftConfig, PbftError, Seal, Succession,
    certificate::verify_proposal,
};
use crate::{
    chain::{Block, RuleError},
    consensus::{
        Authenticator, CachedHeaderRules, HeaderChainRules, HeaderFieldError, ParentContext, UnverifiedHeader,
        header::UnusedField,
    },
    primitives::{Address, B256, Header, Timestamp},
    system::{SystemCall, SystemContext, ValidatorUpdates, staking},
};

/// The header rules of a PBFT chain, from the committee at genesis.
pub type PbftRules = CachedHeaderRules<Pbft>;

/// Which rule a header breaks.
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
        /// How many it names; 0 for nobody.
        got: usize,
        /// How many there are; 0 when nobody takes over.
        want: usize,
    },
    /// The payload's evidence proves nothing.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The payload names an impossible set of validators.
    #[error(transparent)]
    Council(#[from] PbftError),
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

/// Verifies everything but parent, payload and seal.
///
/// # Errors
/// [`HeaderError`]: the first rule that the header breaks.
pub(super) fn check_fields(
    config: &PbftConfig,
    council: &Council,
    candidate: &UnverifiedHeader<'_>,
    parent: &Header,
) -> Result<(), HeaderError> {
    candidate.check_timestamp(config.earliest_after(Timestamp::from_secs(parent.timestamp)))?;
    candidate.check_unused(&[UnusedField::Difficulty, UnusedField::Nonce, UnusedField::MixHash])?;
    candidate.check_extra_data()?;
    let got = candidate.header.beneficiary;
    if council.contains(&got) { Ok(()) } else { Err(HeaderError::Beneficiary { got }) }
}

/// Verifies the seal: a certificate of the block, or the signature of the primary that proposes it.
///
/// # Errors
/// [`HeaderError::Seal`], and [`HeaderFieldError::Beneficiary`] when a proposal pays another than its primary.
fn check_seal(
    council: &Council,
    authenticator: &Authenticator,
    candidate: &UnverifiedHeader<'_>,
) -> Result<(), HeaderError> {
    match Seal::decode(candidate.seal)? {
        Seal::Certificate(certificate) => Ok(certificate.verify(candidate.id(), council, authenticator)?),
        Seal::Proposal { view, signature } => {
            let primary = verify_proposal(view, &signature, candidate.id(), council, authenticator)?;
            Ok(candidate.check_beneficiary(primary)?)
        }
    }
}

impl HeaderChainRules for Pbft {
    type Config = PbftConfig;
    type Genesis = Council;
    type Context = Succession;
    type Error = HeaderError;

    fn genesis_context(_config: &PbftConfig, council: &Council, _hash: B256, _header: &Header) -> Succession {
        Succession::new(council.clone())
    }

    fn verify_header(
        config: &PbftConfig,
        authenticator: &Authenticator,
        parent: &ParentContext<'_, Succession>,
        block: &Block,
    ) -> Result<Succession, HeaderError> {
        let (candidate, before) = (UnverifiedHeader::from(block), parent.context);
        check_fields(config, before.council(), &candidate, parent.header)?;
        let after = before.after(config, block.height(), block.payload(), authenticator)?;
        check_seal(before.council(), authenticator, &candidate)?;
        Ok(after)
    }

    fn with_updates(succession: Succession, updates: &ValidatorUpdates) -> Succession {
        succession.with(updates)
    }

    /// Returns `begin_block` with the proposer, then a `slash` for each validator that the block's evidence convicts. No
    /// validator counts as absent: a certificate has exactly a quorum's signatures, so that honest ones are always missing.
    fn system_calls(
        _config: &PbftConfig,
        authenticator: &Authenticator,
        context: &SystemContext<'_>,
    ) -> Result<Vec<SystemCall>, HeaderError> {
        if !context.has_stake {
            return Ok(Vec::new());
        }
        let payload = Payload::decode(context.payload)?;
        let time = Timestamp::from_secs(context.header.timestamp);
        let mut calls = vec![staking::begin_block(context.header.beneficiary, &[])];
        for proof in &payload.evidence {
            let offender = proof.offender(authenticator)?;
            calls.push(staking::slash(offender, staking::Offence::DoubleSign, proof.height(), time));
        }
        Ok(calls)
    }
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
