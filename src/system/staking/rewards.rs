//! Rewards of a block and of an epoch, and their distribution.
//!
//! Every pool keeps its cumulative rewards per share (F1 fee distribution, Ojha and Goes 2019): a delegation earns its
//! shares times the growth since it was settled. Slashing changes no shares and so needs no entry here. Rounding is
//! down; the remainder, less than one wei per settlement, stays in the contract.

use alloy_primitives::{Address, U256};

use super::{
    interface as sol,
    layout::{Delegation, STAKING, Staking, ValidatorEntry},
    params::{BPS, StakingParams},
};
use crate::vm::{
    Stop,
    abi::require,
    math::{CheckedMath, Rounding, checked_mul_div, mul_div},
};

/// The ratio one: 2^128.
const ONE: U256 = U256::from_limbs([0, 0, 1, 0]);

/// Returns the rewards of a delegation since it was settled.
pub(super) fn earned(delegation: &Delegation, ratio: U256) -> Result<U256, Stop> {
    if delegation.shares.is_zero() {
        return Ok(U256::ZERO);
    }
    let growth = ratio.sub(delegation.ratio)?;
    mul_div(delegation.shares, growth, ONE, Rounding::Floor)
}

impl Staking<'_, '_> {
    /// Distributes fees received by the contract to the previous proposer, and the block reward to this one.
    pub(super) fn reward_proposer(&mut self, params: &StakingParams, proposer: &ValidatorEntry) -> Result<(), Stop> {
        let last = STAKING.last_proposer.get(self.0)?;
        let own = self.0.address();
        let mut owed = U256::ZERO;
        for sum in [STAKING.bonded, STAKING.unbonding, STAKING.rewards] {
            owed = owed.add(sum.get(self.0)?)?;
        }
        let fees = self.0.balance(&own)?.saturating_sub(owed);
        if !fees.is_zero() {
            let last = self.find(last)?;
            self.reward(&last, fees)?;
        }
        let reward = params.block_reward;
        if !reward.is_zero() && self.reward(proposer, reward)? {
            self.issue(reward)?;
        }
        if last != proposer.address {
            STAKING.last_proposer.overwrite(self.0, proposer.address)?;
        }
        Ok(())
    }

    /// Mints rewards and distributes each to its validator and the validator's pool; all that are named had duties.
    pub(super) fn reward_all(&mut self, rewards: &[sol::StakeChange]) -> Result<(), Stop> {
        let mut issued = U256::ZERO;
        for sol::StakeChange { validator, amount } in rewards {
            let operator = self.operator_of(*validator)?;
            let validator = self.find(operator)?;
            if !amount.is_zero() && self.reward(&validator, *amount)? {
                issued = issued.add(*amount)?;
            }
            self.note_duty(validator)?;
        }
        if issued.is_zero() { Ok(()) } else { self.issue(issued) }
    }

    fn issue(&mut self, amount: U256) -> Result<(), Stop> {
        self.0.mint(amount)?;
        STAKING.minted.add(self.0, amount)
    }

    /// Distributes `amount` to a validator and its pool; returns `false` without a change when the pool has no shares.
    fn reward(&mut self, validator: &ValidatorEntry, amount: U256) -> Result<bool, Stop> {
        if !validator.exists || validator.is_tombstoned {
            return Ok(false);
        }
        let shares = validator.stored.shares.get(self.0)?;
        let commission = U256::from(validator.commission_bps);
        let commission = mul_div(amount, commission, U256::from(BPS), Rounding::Floor)?;
        let ratio = validator.stored.ratio.get(self.0)?;
        let growth = checked_mul_div(amount - commission, ONE, shares, Rounding::Floor);
        let grown = growth.and_then(|growth| ratio.checked_add(growth));
        let Some(grown) = grown else { return Ok(false) };
        validator.stored.ratio.set(self.0, grown)?;
        if !commission.is_zero() {
            let owed = validator.stored.commission.get(self.0)?.add(commission)?;
            validator.stored.commission.set(self.0, owed)?;
        }
        STAKING.rewards.add(self.0, amount)?;
        Ok(true)
    }

    /// Pays the caller the rewards of its delegation to `validator`.
    pub(super) fn claim_rewards(&mut self, validator: Address) -> Result<U256, Stop> {
        let delegator = self.0.caller();
        let validator = self.get(validator)?;
        let (place, mut delegation) = self.settled(&validator, delegator)?;
        let amount = core::mem::take(&mut delegation.rewards);
        require(!amount.is_zero(), sol::NothingToClaim {})?;
        self.put_delegation(place, delegation)?;
        STAKING.rewards.sub(self.0, amount)?;
        self.0.emit(&sol::RewardsClaimed { delegator, validator: validator.address, amount })?;
        self.0.transfer(delegator, amount)?;
        Ok(amount)
    }
}
