//! The rules that a header of PBFT obeys, verified from its parent and the changes of validators that wait there.

use super::{Council, HeaderError, Payload, Pbft, PbftConfig, Seal, Succession, certificate::verify_proposal};
use crate::{
    chain::Block,
    consensus::{
        Authenticator, CachedHeaderRules, HeaderChainRules, ParentContext, UnverifiedHeader, header::UnusedField,
    },
    primitives::{B256, Header, Timestamp},
    system::{SystemCall, SystemContext, ValidatorUpdates, staking},
};

/// The header rules of a PBFT chain, from the committee at genesis.
pub type PbftRules = CachedHeaderRules<Pbft>;

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
/// [`HeaderError::Seal`], and [`HeaderError::Field`] when a proposal pays another than its primary.
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
