//! System calls to the staking contract, and the validator updates in its logs. Both name validators by their sealing keys, former ones
//! too, as consensus does; the contract finds the operators.

use alloy_primitives::{Address, Log, U256};
use alloy_sol_types::{SolCall, SolEvent};

use super::interface as sol;
use crate::{
    primitives::{Height, Timestamp},
    system::{SystemCall, ValidatorUpdate, address::STAKING_ADDRESS},
};

/// Offence that a validator is punished for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Offence {
    /// Two blocks, proposals or votes where one is allowed. Slashed and tombstoned.
    DoubleSign,
    /// Two votes with one target epoch (Casper FFG, rule I). Slashed and tombstoned.
    DoubleVote,
    /// A vote that surrounds another (Casper FFG, rule II). Slashed and tombstoned.
    SurroundVote,
    /// Absence from too many blocks. Slashed slightly and jailed. The contract detects this itself in [`begin_block`].
    Downtime,
}

impl Offence {
    const ALL: [Self; 4] = [Self::DoubleSign, Self::DoubleVote, Self::SurroundVote, Self::Downtime];

    /// Returns the offence's number in calls and events.
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

/// Starts a block: `proposer` made it, and `absent` (in any order, at most once each) are the validators missing since
/// the block before, for example in the signatures of the parent's certificate.
///
/// The contract mints the block reward and counts the absences, in a window of the chain's blocks. Addresses that are no validators are
/// ignored. This, or [`begin_turn`], must be the first call of every block.
pub fn begin_block(proposer: Address, absent: &[Address]) -> SystemCall {
    call(&sol::beginBlockCall { proposer, absent: absent.to_vec() })
}

/// Starts a block of a protocol whose validators take turns: it was `proposer`'s, and `absent` did not take theirs since the block before.
///
/// As [`begin_block`], but that the window of each validator is one of its own turns: of many, each has few among the chain's blocks. A chain
/// uses one of the two.
pub fn begin_turn(proposer: Address, absent: &[Address]) -> SystemCall {
    call(&sol::beginTurnCall { proposer, absent: absent.to_vec() })
}

/// Punishes `offender` for a proven `offence` at this height and time.
///
/// Evidence against a validator that is tombstoned, or that is past both age limits, only emits `EvidenceIgnored`: the call never fails for it.
/// Who has left with all stake free is tombstoned for an equivocation, and keeps its stake.
pub fn slash(offender: Address, offence: Offence, infraction_height: Height, infraction_time: Timestamp) -> SystemCall {
    call(&sol::slashCall {
        validator: offender,
        offence: offence.code(),
        infractionHeight: infraction_height.get(),
        infractionTime: infraction_time.as_secs(),
    })
}

/// Burns these amounts of the validators' pools, in wei, each at most the pool: a correlation penalty,
/// an inactivity leak.
///
/// Affects the pool alone, not unbonding stake. Tombstoned validators are affected too.
pub fn penalize(penalties: &[(Address, U256)]) -> SystemCall {
    let (validators, amounts) = penalties.iter().copied().unzip();
    call(&sol::penalizeCall { validators, amounts })
}

/// Tells the members of the protocol's next set.
///
/// For a protocol that takes changes of weight over later, or not while too few would be left: who is in its set, or in the next, has its stake
/// locked, whatever it is in the contract, and the unbonding period of who left begins when a set is without it. Block 1 tells the set of genesis.
/// No other is told before [`begin_set`]. A protocol that makes no such call names who has duties by [`begin_block`] and [`end_epoch`].
pub fn elect_set(members: &[Address]) -> SystemCall {
    call(&sol::electSetCall { members: members.to_vec() })
}

/// Tells that the members of the last [`elect_set`] are the protocol's set from the next block on.
pub fn begin_set() -> SystemCall {
    call(&sol::beginSetCall {})
}

/// What validators earn and lose at the end of an epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EpochDeltas {
    /// Amounts minted for validators, in wei, below 2^95 each; commission and delegators share them as they share a block reward. Who had
    /// duties in the epoch and neither earned nor lost is here with 0.
    pub rewards: Vec<(Address, U256)>,
    /// Amounts burned of validators' pools, in wei, each at most the pool.
    pub penalties: Vec<(Address, U256)>,
    /// Part of [`StakingParams::min_self_stake`](super::StakingParams::min_self_stake), in percent: a validator whose pool a
    /// penalty takes to that or below is ejected. 0 ejects nobody.
    pub ejection_percent: u8,
}

/// Ends epoch `epoch`, in this order: rewards are paid, penalties are burned, who is ejected enters the exit queue, and then the
/// first validators in the activation queue become active and the first in the exit queue leave, each up to the
/// [`churn_limit`](super::churn_limit).
///
/// One call an epoch, whose cost grows with the validators named in it. Addresses that are no validators are ignored, and who is
/// tombstoned earns nothing. Penalties affect the pool alone, not unbonding stake. The unbonding period of who is named here, and has left or is
/// in jail, begins anew: it had duties.
pub fn end_epoch(epoch: u64, deltas: &EpochDeltas) -> SystemCall {
    let changes = |amounts: &[(Address, U256)]| {
        amounts.iter().map(|(validator, amount)| sol::StakeChange { validator: *validator, amount: *amount }).collect()
    };
    let EpochDeltas { rewards, penalties, ejection_percent } = deltas;
    call(&sol::endEpochCall {
        epoch,
        rewards: changes(rewards),
        penalties: changes(penalties),
        ejectionPercent: *ejection_percent,
    })
}

/// Returns the weight changes in the staking contract's logs, in the order of emission; logs of other contracts are
/// skipped.
pub fn weight_changes<'l>(logs: impl IntoIterator<Item = &'l Log>) -> impl Iterator<Item = ValidatorUpdate> {
    logs.into_iter().filter(|log| log.address == STAKING_ADDRESS).filter_map(|log| {
        let event = sol::WeightChanged::decode_log_data(&log.data).ok()?;
        Some(ValidatorUpdate { address: event.sealingKey, weight: event.weight })
    })
}

fn call(call: &impl SolCall) -> SystemCall {
    SystemCall { to: STAKING_ADDRESS, input: call.abi_encode().into() }
}
