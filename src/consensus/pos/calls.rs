//! What a block tells the staking contract before its first transaction.

use super::{Offence, OffenceError, OffenceKind, Payload, PayloadError, PosConfig};
use crate::{
    consensus::Authenticator,
    primitives::{Height, Timestamp, U256},
    system::{
        SystemCall, SystemContext,
        staking::{self, WEIGHT_UNIT},
    },
};

/// The calls of a block: who proposed it and who was absent, the offences it proves, and where an epoch ended, the penalties
/// and the end of that epoch.
///
/// Everything follows from the header and the payload, whose rules have checked it against the branch.
pub(super) fn system_calls<E: From<PayloadError> + From<OffenceError>>(
    config: &PosConfig,
    authenticator: &Authenticator,
    context: &SystemContext<'_>,
) -> Result<Vec<SystemCall>, E> {
    let payload = Payload::decode(context.payload)?;
    let mut calls = vec![staking::begin_block(context.header.beneficiary, &payload.absent)];
    for offence in &payload.offences {
        let offender = offence.offender(authenticator)?;
        let slots_ago = payload.slot.saturating_sub(offence.slot());
        let ago = slots_ago.saturating_mul(config.period);
        let time = Timestamp::from_secs(context.header.timestamp.saturating_sub(ago));
        let height = height_of(offence).min(Height::new(context.header.number));
        calls.push(staking::slash(offender, kind_of(offence), height, time));
    }
    if let Some(accounts) = &payload.accounts {
        let penalties = accounts.penalties.iter();
        let penalties: Vec<_> =
            penalties.map(|(validator, gwei)| (*validator, U256::from(*gwei).saturating_mul(WEIGHT_UNIT))).collect();
        if !penalties.is_empty() {
            calls.push(staking::penalize(&penalties));
        }
        calls.push(staking::end_epoch(config.epoch_of(payload.slot).saturating_sub(1)));
    }
    Ok(calls)
}

const fn kind_of(offence: &Offence) -> staking::Offence {
    match offence.kind() {
        OffenceKind::DoubleProposal => staking::Offence::DoubleSign,
        OffenceKind::DoubleVote => staking::Offence::DoubleVote,
        OffenceKind::SurroundVote => staking::Offence::SurroundVote,
    }
}

/// The height that the chain had when the offence was complete, as the signatures say.
fn height_of(offence: &Offence) -> Height {
    match offence {
        Offence::Votes { first, second } => first.data.head.height.max(second.data.head.height),
        Offence::Proposals { first, second } => first.block.height.max(second.block.height),
    }
}
