//! Time, votes and quorum, as the token tells them.

use alloy_primitives::aliases::U48;

use super::{
    interface::{self as sol, votes},
    state::{FIXED, GOVERNOR},
};
use crate::{
    templates::common::{
        external,
        votes::{CLOCK_MODE, clock as block_clock, interface::ERC6372InconsistentClock},
    },
    vm::{contract::*, math::downcast},
};

/// Share of which a quorum is given in parts.
pub(super) const QUORUM_DENOMINATOR: U256 = U256::from_limbs([100, 0, 0, 0]);

/// The constructors of `GovernorVotes` and `GovernorVotesQuorumFraction`.
pub(super) fn construct(host: &mut Host<'_>, token: Address, quorum: U256) -> Result<(), Stop> {
    FIXED.token.overwrite(host, token)?;
    update_quorum_numerator(host, quorum)
}

/// Returns the token's time; the block's number of one that has none (`clock`).
pub(super) fn clock(host: &mut Host<'_>) -> Result<U48, Stop> {
    let token = FIXED.token.get(host)?;
    let answer = host.static_call(token, &votes::clockCall {}.abi_encode())?;
    if !answer.is_success() {
        return block_clock(host);
    }
    votes::clockCall::abi_decode_returns_validate(&answer.output).map_err(|_| empty_revert())
}

/// Returns the text of what the time is (`CLOCK_MODE`).
pub(super) fn clock_mode(host: &mut Host<'_>) -> Result<Bytes, Stop> {
    let token = FIXED.token.get(host)?;
    let answer = host.static_call(token, &votes::CLOCK_MODECall {}.abi_encode())?;
    if answer.is_success() {
        return votes::CLOCK_MODECall::abi_decode_returns_validate(&answer.output).map_err(|_| empty_revert());
    }
    require(clock(host)? == block_clock(host)?, ERC6372InconsistentClock {})?;
    Ok(Bytes::from_static(CLOCK_MODE.as_bytes()))
}

/// Returns the votes that an account had at a past time (`getVotes`).
pub(super) fn get_votes(host: &mut Host<'_>, account: Address, timepoint: U256) -> Result<U256, Stop> {
    let token = FIXED.token.get(host)?;
    external::view(host, token, &votes::getPastVotesCall { account, timepoint })
}

/// Returns the votes that a proposal of that time needs (`quorum`).
pub(super) fn quorum(host: &mut Host<'_>, timepoint: U256) -> Result<U256, Stop> {
    let token = FIXED.token.get(host)?;
    let supply = external::view(host, token, &votes::getPastTotalSupplyCall { timepoint })?;
    let numerator = past_quorum_numerator(host, timepoint)?;
    mul_div(supply, numerator, QUORUM_DENOMINATOR, Rounding::Floor)
}

pub(super) fn quorum_numerator(host: &mut Host<'_>) -> Result<U256, Stop> {
    GOVERNOR.quorum_numerator_history.latest(host).map(U256::from)
}

pub(super) fn past_quorum_numerator(host: &mut Host<'_>, timepoint: U256) -> Result<U256, Stop> {
    let history = GOVERNOR.quorum_numerator_history;
    match history.latest_checkpoint(host)? {
        Some(last) if U256::from(last.key) > timepoint => {
            history.upper_lookup_recent(host, downcast(timepoint)?).map(U256::from)
        }
        last => Ok(last.map_or(U256::ZERO, |last| U256::from(last.value))),
    }
}

pub(super) fn update_quorum_numerator(host: &mut Host<'_>, numerator: U256) -> Result<(), Stop> {
    let denominator = QUORUM_DENOMINATOR;
    let error = sol::GovernorInvalidQuorumFraction { quorumNumerator: numerator, quorumDenominator: denominator };
    require(numerator <= denominator, error)?;
    let old = quorum_numerator(host)?;
    let now = clock(host)?;
    GOVERNOR.quorum_numerator_history.push(host, now, downcast(numerator)?)?;
    host.emit(&sol::QuorumNumeratorUpdated { oldQuorumNumerator: old, newQuorumNumerator: numerator })
}
