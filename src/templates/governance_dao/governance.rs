//! What only proposals do: settings, and calls by the governor itself.
//!
//! A setter is called by the timelock, and only while a proposal that has this very call is executed by the governor: whoever else may
//! schedule operations of the timelock does not govern.

use alloy_primitives::aliases::U48;

use super::{
    interface as sol,
    state::{GOVERNOR, VERSION},
};
use crate::{
    templates::common::{Eip712, address::verify_call_result},
    vm::contract::*,
};

/// Refuses calls that no proposal makes, and uses up those that one makes (`onlyGovernance`).
pub(super) fn only_governance(host: &mut Host<'_>, input: &[u8]) -> Result<(), Stop> {
    let (account, executor) = (host.caller(), GOVERNOR.timelock.get(host)?);
    require(account == executor, sol::GovernorOnlyExecutor { account })?;
    if is_self(host, executor) {
        return Ok(());
    }
    let call = host.keccak(input)?;
    // Those before it were left out by whoever is their target.
    while GOVERNOR.governance_call.pop_front(host)? != call {}
    Ok(())
}

/// Returns whether the governor executes proposals itself, which it does once a proposal has made it its own timelock.
pub(super) fn is_self(host: &Host<'_>, executor: Address) -> bool {
    executor == host.address()
}

/// Refuses ether and tokens, which are the timelock's.
pub(super) fn refuse_deposit(host: &mut Host<'_>) -> Result<(), Stop> {
    let executor = GOVERNOR.timelock.get(host)?;
    require(is_self(host, executor), sol::GovernorDisabledDeposit {})
}

pub(super) fn relay(host: &mut Host<'_>, call: &sol::relayCall) -> Result<(), Stop> {
    verify_call_result(host.call(call.target, call.value, &call.data)?).map(drop)
}

/// The constructors of `Governor` and `GovernorSettings`.
pub(super) fn construct(
    host: &mut Host<'_>,
    name: String,
    delay: U48,
    period: u32,
    threshold: U256,
) -> Result<(), Stop> {
    Eip712::construct(&name, VERSION)?;
    GOVERNOR.name.set(host, name)?;
    set_voting_delay(host, delay)?;
    set_voting_period(host, period)?;
    set_proposal_threshold(host, threshold)
}

pub(super) fn set_voting_delay(host: &mut Host<'_>, delay: U48) -> Result<(), Stop> {
    let old = U256::from(GOVERNOR.voting_delay.get(host)?);
    host.emit(&sol::VotingDelaySet { oldVotingDelay: old, newVotingDelay: U256::from(delay) })?;
    GOVERNOR.voting_delay.set(host, delay)
}

pub(super) fn set_voting_period(host: &mut Host<'_>, period: u32) -> Result<(), Stop> {
    require(period != 0, sol::GovernorInvalidVotingPeriod { votingPeriod: U256::ZERO })?;
    let old = U256::from(GOVERNOR.voting_period.get(host)?);
    host.emit(&sol::VotingPeriodSet { oldVotingPeriod: old, newVotingPeriod: U256::from(period) })?;
    GOVERNOR.voting_period.set(host, period)
}

pub(super) fn set_proposal_threshold(host: &mut Host<'_>, threshold: U256) -> Result<(), Stop> {
    let old = GOVERNOR.proposal_threshold.get(host)?;
    host.emit(&sol::ProposalThresholdSet { oldProposalThreshold: old, newProposalThreshold: threshold })?;
    GOVERNOR.proposal_threshold.set(host, threshold)
}
