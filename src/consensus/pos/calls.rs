//! Calls of the staking contract that a block makes before its first transaction.

use super::{Payload, PayloadError, PosConfig, SlashingCondition, SlashingEvidence, SlashingEvidenceError};
use crate::{
    consensus::Authenticator,
    primitives::{Height, Timestamp, U256},
    system::{
        SystemCall, SystemContext,
        staking::{self, WEIGHT_UNIT},
    },
};

/// Returns the calls of a block: the proposer and the absent validators, its offences, and in the first block of an epoch the
/// penalties and the end of the previous epoch.
///
/// They follow from the header and the payload, which the header rules have verified.
pub(super) fn system_calls<E: From<PayloadError> + From<SlashingEvidenceError>>(
    config: &PosConfig,
    authenticator: &Authenticator,
    context: &SystemContext<'_>,
) -> Result<Vec<SystemCall>, E> {
    let payload = Payload::decode(context.payload)?;
    let mut calls = vec![staking::begin_block(context.header.beneficiary, &payload.absent)];
    for offence in &payload.offences {
        let offender = offence.offender(authenticator)?;
        let ago = config.secs_since(offence.slot(), payload.slot);
        let time = Timestamp::from_secs(context.header.timestamp.saturating_sub(ago));
        let height = offence.height().min(Height::new(context.header.number));
        calls.push(staking::slash(offender, kind_of(offence), height, time));
    }
    if let Some(accounting) = &payload.accounting {
        let penalties = accounting.penalties.iter();
        let penalties: Vec<_> =
            penalties.map(|(validator, gwei)| (*validator, U256::from(*gwei).saturating_mul(WEIGHT_UNIT))).collect();
        if !penalties.is_empty() {
            calls.push(staking::penalize(&penalties));
        }
        calls.push(staking::end_epoch(config.epoch_of(payload.slot).saturating_sub(1)));
    }
    Ok(calls)
}

const fn kind_of(offence: &SlashingEvidence) -> staking::Offence {
    match offence.condition() {
        SlashingCondition::DoubleProposal => staking::Offence::DoubleSign,
        SlashingCondition::DoubleVote => staking::Offence::DoubleVote,
        SlashingCondition::SurroundVote => staking::Offence::SurroundVote,
    }
}
