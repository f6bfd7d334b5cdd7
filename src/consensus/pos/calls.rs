//! Calls of the staking contract that a block makes before its first transaction.

use super::{Payload, PayloadError, PosConfig, SlashingCondition, SlashingEvidence, SlashingEvidenceError};
use crate::{
    consensus::Authenticator,
    primitives::{Address, Height, Timestamp, U256},
    system::{
        SystemCall, SystemContext,
        staking::{self, WEIGHT_UNIT},
    },
};

/// Returns the calls of a block: the proposer and the absent validators, its offences, and in the first block of an epoch one for the
/// end of the previous epoch with all rewards and penalties.
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
        // The header rules judge the age by the lengths of the slots between. What they take must not be too old here: a slot has at
        // least a second, on demand none.
        let ago = payload.slot.saturating_sub(offence.slot()).saturating_mul(config.period.min(1));
        let time = Timestamp::from_secs(context.header.timestamp.saturating_sub(ago));
        let height = offence.height().min(Height::new(context.header.number));
        calls.push(staking::slash(offender, kind_of(offence), height, time));
    }
    if let Some(accounting) = &payload.accounting {
        let in_wei = |amounts: &[(Address, u64)]| {
            let in_wei = |gwei: u64| U256::from(gwei).saturating_mul(WEIGHT_UNIT);
            amounts.iter().map(|(validator, gwei)| (*validator, in_wei(*gwei))).collect()
        };
        let deltas = staking::EpochDeltas {
            rewards: in_wei(&accounting.rewards),
            penalties: in_wei(&accounting.penalties),
            ejection_percent: config.ejection_percent,
        };
        calls.push(staking::end_epoch(config.epoch_of(payload.slot).saturating_sub(1), &deltas));
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
