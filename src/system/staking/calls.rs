//! What a protocol says to the staking contract, and what the contract says to the protocol.

use alloy_primitives::{Address, Log, U256};
use alloy_sol_types::{SolCall, SolEvent};

use super::{STAKING_ADDRESS, interface as sol};
use crate::{
    primitives::{Height, Timestamp},
    system::{SystemCall, ValidatorUpdate},
};

/// What a validator is punished for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Offence {
    /// Two blocks, proposals or votes where one is allowed: cut, and tombstoned.
    DoubleSign,
    /// Two votes with one target epoch (Casper FFG's first rule): cut, and tombstoned.
    DoubleVote,
    /// A vote around another (Casper FFG's second rule): cut, and tombstoned.
    SurroundVote,
    /// Absent too often: a small cut, and jail for a while. The contract finds this itself from [`begin_block`].
    Downtime,
}

impl Offence {
    const ALL: [Self; 4] = [Self::DoubleSign, Self::DoubleVote, Self::SurroundVote, Self::Downtime];

    /// Its number in calls and events.
    pub const fn code(self) -> u8 {
        match self {
            Self::DoubleSign => 1,
            Self::DoubleVote => 2,
            Self::SurroundVote => 3,
            Self::Downtime => 4,
        }
    }

    /// Returns the offence with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|offence| offence.code() == code)
    }
}

/// Returns a block begins: `proposer` made it, and `absent` (in any order, at most once each) were missing before it
/// where they should have been seen, such as signatures missing from the parent's certificate or slots passed over.
///
/// The contract mints the block reward and counts the absences. Both may name addresses that are no validators (any
/// more). Once a block: the first of its calls.
pub fn begin_block(proposer: Address, absent: &[Address]) -> SystemCall {
    call(&sol::beginBlockCall { proposer, absent: absent.to_vec() })
}

/// `offender` is proved to have done `offence` at this height and time.
///
/// Evidence against somebody who is tombstoned already, is gone with all stake free, or that is past both age limits,
/// is an `EvidenceIgnored` event and nothing else: a call never fails for it.
pub fn slash(offender: Address, offence: Offence, infraction_height: Height, infraction_time: Timestamp) -> SystemCall {
    call(&sol::slashCall {
        validator: offender,
        offence: offence.code(),
        infractionHeight: infraction_height.get(),
        infractionTime: infraction_time.as_secs(),
    })
}

/// Burns so much of the pools of validators, in the smallest unit, each at most what is there: a correlation penalty,
/// an inactivity leak.
///
/// Reaches the pool alone, not what is unbonding. Tombstoned validators can be cut too.
pub fn penalize(penalties: &[(Address, U256)]) -> SystemCall {
    let (validators, amounts) = penalties.iter().copied().unzip();
    call(&sol::penalizeCall { validators, amounts })
}

/// Epoch `epoch` is over: the first validators in the exit queue leave, as many as the churn limit lets.
pub fn end_epoch(epoch: u64) -> SystemCall {
    call(&sol::endEpochCall { epoch })
}

/// What the staking contract's logs say of weights, in the order in which they were emitted; logs of others are passed
/// over.
pub fn weight_changes<'l>(logs: impl IntoIterator<Item = &'l Log>) -> impl Iterator<Item = ValidatorUpdate> {
    logs.into_iter().filter(|log| log.address == STAKING_ADDRESS).filter_map(|log| {
        let event = sol::WeightChanged::decode_log_data(&log.data).ok()?;
        Some(ValidatorUpdate { address: event.validator, weight: event.weight })
    })
}

fn call(call: &impl SolCall) -> SystemCall {
    SystemCall { to: STAKING_ADDRESS, input: call.abi_encode().into() }
}
