//! Votes.

use alloy_primitives::U256;

use super::{
    interface as sol,
    layout::{Ballot, Entry, GOVERNANCE},
    outcome::VoteOption,
    power,
    proposing::check_length,
    state::ProposalState,
};
use crate::{
    primitives::mutation::{self, Mutation},
    vm::{
        Host, Stop,
        abi::{require, revert},
        math::CheckedMath,
    },
};

/// Maximum length of a vote's reason, in bytes.
pub const REASON_BYTES_MAX: usize = 1_024;

/// Counts the caller's vote, in place of an earlier one.
pub(super) fn vote(host: &mut Host<'_>, call: &sol::voteCall) -> Result<(), Stop> {
    let sol::voteCall { id, option, weight, reason } = call;
    let (id, voter) = (*id, host.caller());
    let proposal = Entry::load(host, id)?;
    let (state, ends_at) = (proposal.head.state, proposal.head.ends_at);
    require(proposal.head.state() == ProposalState::Active, sol::NotActive { id, state })?;
    require(host.block().timestamp.as_secs() < ends_at, sol::VotingClosed { id, endsAt: ends_at })?;
    let option = VoteOption::from_code(*option).ok_or_else(|| revert(&sol::UnknownOption { option: *option }))?;
    check_length("reason", reason, REASON_BYTES_MAX, false)?;
    let settings = GOVERNANCE.settings.get(host)?;
    let height = proposal.head.snapshot();
    let power = power::weight_at(host, &settings, voter, height)?;
    require(power > 0, sol::NoVotingPower { voter, height })?;
    let weight = part_of(power, *weight)?;
    let ballot = proposal.stored.votes.at(host, voter)?;
    let previous = ballot.get(host)?;
    proposal.stored.tally.update(host, |mut tally| {
        let keeps = mutation::active(Mutation::GovernanceKeepsFormerVotes);
        if let Some(option) = VoteOption::from_code(previous.option).filter(|_| !keeps) {
            let counted = tally.of(option);
            *counted = counted.sub(previous.weight)?;
        }
        let counted = tally.of(option);
        *counted = counted.add(weight)?;
        Ok(tally)
    })?;
    ballot.set(host, Ballot { weight, height: host.block().height.get(), option: option.code() })?;
    host.emit(&sol::VoteCast {
        id,
        voter,
        option: option.code(),
        weight,
        previousOption: previous.option,
        previousWeight: previous.weight,
        reason: reason.clone(),
    })
}

/// Returns the weight that a vote uses; 0 and 2^256 - 1 mean all.
fn part_of(power: u128, weight: U256) -> Result<u128, Stop> {
    if weight.is_zero() || weight == U256::MAX {
        return Ok(power);
    }
    require(weight <= U256::from(power), sol::WeightAbovePower { weight, power: U256::from(power) })?;
    Ok(weight.saturating_to())
}
