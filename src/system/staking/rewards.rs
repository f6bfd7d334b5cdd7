//! Rewards: what a block brings, and claiming one's part.
//!
//! Every pool keeps the rewards per share since it began (the way of F1, Ojha and Goes 2019): a delegation earned its
//! shares times the growth since it was settled. Slashing changes no shares and so needs no record here. Rounding is
//! down; what it leaves stays in the contract, less than one unit for a settlement.

use alloy_primitives::{Address, Bytes, U256};

use super::{
    interface as sol,
    layout::{
        BONDED, COMMISSION, Delegation, LAST_PROPOSER, MINTED, RATIO, REWARDS, SHARES, Staking, UNBONDING, address_of,
        mul_div, overflow, word_of,
    },
    params::{BPS, StakingParams},
};
use crate::vm::{
    Stop,
    abi::{self, revert},
};

/// A ratio of one: 2^128.
const ONE: U256 = U256::from_limbs([0, 0, 1, 0]);

/// Rewards of a delegation since it was settled.
pub(super) fn earned(delegation: &Delegation, ratio: U256) -> Result<U256, Stop> {
    if delegation.shares.is_zero() {
        return Ok(U256::ZERO);
    }
    let growth = ratio.checked_sub(delegation.ratio).ok_or_else(overflow)?;
    mul_div(delegation.shares, growth, ONE).ok_or_else(overflow)
}

impl Staking<'_, '_> {
    /// Returns a block begins: fees that reached the contract go to the proposer before, the block reward to this one.
    pub(super) fn reward_proposer(&mut self, params: &StakingParams, proposer: Address) -> Result<(), Stop> {
        let last = address_of(self.0.load(LAST_PROPOSER)?);
        let own = self.0.address();
        let mut owed = U256::ZERO;
        for sum in [BONDED, UNBONDING, REWARDS] {
            owed = owed.checked_add(self.0.load(sum)?).ok_or_else(overflow)?;
        }
        let fees = self.0.balance(&own)?.saturating_sub(owed);
        if !fees.is_zero() {
            self.reward(last, fees)?;
        }
        let reward = params.block_reward;
        if !reward.is_zero() && self.reward(proposer, reward)? {
            self.0.mint(reward)?;
            self.add(MINTED, reward)?;
        }
        if last != proposer {
            self.0.store(LAST_PROPOSER, word_of(proposer))?;
        }
        Ok(())
    }

    /// Shares `amount` between a validator and its pool; `false`, and nothing done, when nobody has a share in it.
    fn reward(&mut self, validator: Address, amount: U256) -> Result<bool, Stop> {
        let validator = self.find(validator)?;
        if !validator.exists || validator.is_tombstoned {
            return Ok(false);
        }
        let shares = self.field(&validator, SHARES)?;
        let commission = U256::from(validator.commission_bps);
        let commission = mul_div(amount, commission, U256::from(BPS)).ok_or_else(overflow)?;
        let ratio = self.field(&validator, RATIO)?;
        let grown = mul_div(amount - commission, ONE, shares).and_then(|growth| ratio.checked_add(growth));
        let Some(grown) = grown else { return Ok(false) };
        self.put_field(&validator, RATIO, grown)?;
        if !commission.is_zero() {
            let owed = self.field(&validator, COMMISSION)?.checked_add(commission).ok_or_else(overflow)?;
            self.put_field(&validator, COMMISSION, owed)?;
        }
        self.add(REWARDS, amount)?;
        Ok(true)
    }

    /// Pays the caller what its delegation to `validator` earned.
    pub(super) fn claim_rewards(&mut self, validator: Address) -> Result<Bytes, Stop> {
        let delegator = self.0.caller();
        let validator = self.get(validator)?;
        let mut delegation = self.settled(&validator, &delegator)?;
        let amount = core::mem::take(&mut delegation.rewards);
        if amount.is_zero() {
            return Err(revert(&sol::NothingToClaim {}));
        }
        self.put_delegation(&delegation)?;
        self.sub(REWARDS, amount)?;
        self.0.emit(&sol::RewardsClaimed { delegator, validator: validator.address, amount })?;
        self.0.transfer(delegator, amount)?;
        Ok(abi::answer_u256(amount))
    }
}
