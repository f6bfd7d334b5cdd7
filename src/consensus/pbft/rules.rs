//! PBFT's header rules, verified from the parent and its pending changes of validators.

use super::{
    Committee, CommitteeTransition, HeaderError, Payload, Pbft, PbftConfig, Seal, certificate::verify_proposal,
};
use crate::{
    chain::Block,
    consensus::{Authenticator, HeaderChainRules, ParentContext, UnverifiedHeader, header::UnusedField},
    primitives::{B256, Bytes, Header, Height, Timestamp},
    system::{SystemCall, SystemContext, ValidatorUpdates, staking, validators},
};

/// Verifies everything but parent, payload and seal.
///
/// # Errors
/// [`HeaderError`]: the first rule that the header breaks.
pub(super) fn check_fields(
    config: &PbftConfig,
    committee: &Committee,
    candidate: &UnverifiedHeader<'_>,
    parent: &Header,
) -> Result<(), HeaderError> {
    candidate.check_timestamp(config.earliest_after(Timestamp::from_secs(parent.timestamp)))?;
    candidate.check_unused(&[UnusedField::Difficulty, UnusedField::Nonce])?;
    candidate.check_mix_hash()?;
    candidate.check_extra_data()?;
    let got = candidate.header.beneficiary;
    if committee.contains(&got) { Ok(()) } else { Err(HeaderError::Beneficiary { got }) }
}

/// Verifies the seal: a certificate of the block, or the signature of the primary that proposes it.
///
/// # Errors
/// [`HeaderError::Seal`], and [`HeaderError::Field`] when a proposal pays another than its primary.
fn check_seal(
    committee: &Committee,
    authenticator: &Authenticator,
    candidate: &UnverifiedHeader<'_>,
) -> Result<(), HeaderError> {
    match Seal::decode(candidate.seal)? {
        Seal::Certificate(certificate) => Ok(certificate.verify(candidate.id(), committee, authenticator)?),
        Seal::Proposal { view, signature } => {
            let primary = verify_proposal(view, &signature, candidate.id(), committee, authenticator)?;
            Ok(candidate.check_beneficiary(primary)?)
        }
    }
}

impl HeaderChainRules for Pbft {
    type Config = PbftConfig;
    type Genesis = Committee;
    type Context = CommitteeTransition;
    type Error = HeaderError;

    fn genesis_context(
        _config: &PbftConfig,
        committee: &Committee,
        _hash: B256,
        _header: &Header,
    ) -> CommitteeTransition {
        CommitteeTransition::new(committee.clone())
    }

    fn verify_header(
        config: &PbftConfig,
        authenticator: &Authenticator,
        parent: &ParentContext<'_, CommitteeTransition>,
        block: &Block,
    ) -> Result<CommitteeTransition, HeaderError> {
        let (candidate, before) = (UnverifiedHeader::from(block), parent.context);
        check_fields(&before.config_in_force(config), before.committee(), &candidate, parent.header)?;
        let after = before.after(config, block.height(), block.protocol_payload(), authenticator)?;
        let after = after.with_parameters(config, block.height(), block.parameters());
        check_seal(before.committee(), authenticator, &candidate)?;
        Ok(after)
    }

    fn is_parameter_boundary(
        config: &PbftConfig,
        _parent: &ParentContext<'_, CommitteeTransition>,
        (child, _): (&Header, &Bytes),
    ) -> bool {
        config.is_checkpoint_height(Height::new(child.number))
    }

    fn with_updates(transition: CommitteeTransition, updates: &ValidatorUpdates) -> CommitteeTransition {
        transition.with(updates)
    }

    /// Returns `begin_block` with the proposer and the absent validators that the block reports, `elect_set` and `begin_set` where another
    /// committee follows the block, and in block 1 for that of genesis, then a `slash` for each validator that its evidence convicts. Without
    /// stake it returns a `convict` for each, where the validators' contract is.
    fn system_calls(
        _config: &PbftConfig,
        genesis: &Committee,
        authenticator: &Authenticator,
        context: &SystemContext<'_>,
    ) -> Result<Vec<SystemCall>, HeaderError> {
        if !context.has_stake && !context.has_validators {
            return Ok(Vec::new());
        }
        let payload = Payload::decode(context.payload)?;
        if !context.has_stake {
            let offenders = payload.evidence.iter().map(|proof| proof.offender(authenticator));
            return Ok(offenders.map(|offender| offender.map(validators::convict)).collect::<Result<_, _>>()?);
        }
        let time = Timestamp::from_secs(context.header.timestamp);
        let mut calls = vec![staking::begin_block(context.header.beneficiary, &payload.absent)];
        let first = (context.header.number == 1).then(|| genesis.validators());
        for set in first.into_iter().chain(&payload.successor) {
            let members: Vec<_> = set.addresses().collect();
            calls.extend([staking::elect_set(&members), staking::begin_set()]);
        }
        for proof in &payload.evidence {
            let offender = proof.offender(authenticator)?;
            calls.push(staking::slash(offender, staking::Offence::DoubleSign, proof.height(), time));
        }
        Ok(calls)
    }
}
