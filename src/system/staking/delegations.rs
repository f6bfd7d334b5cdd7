//! Delegation, undelegation and withdrawal.
//!
//! A validator's stake is a pool: a delegation is a number of shares in it, and slashing makes every share worth less.
//! Shares bought are rounded down and shares sold are rounded up, so that rounding benefits the remaining
//! delegators.

use alloy_primitives::{Address, Bytes, U256};

use super::{
    interface as sol,
    layout::{
        BONDED, BURNED, RATIO, SHARES, Staking, TOKENS, UNBONDING, UnbondingEntry, ValidatorEntry, mul_div, mul_div_up,
        overflow, part,
    },
    params::AMOUNT_END,
};
use crate::vm::{
    Stop,
    abi::{self, revert},
};

/// Maximum number of unbondings of one delegator.
pub const UNBONDINGS_MAX: u64 = 32;

/// Bonding.
impl Staking<'_, '_> {
    /// Adds the value of the call to the caller's stake with `validator`.
    pub(super) fn delegate(&mut self, validator: Address) -> Result<Bytes, Stop> {
        let minimum = self.load_params()?.min_delegation;
        let (delegator, amount) = (self.0.caller(), self.0.value());
        let validator = self.get(validator)?;
        if validator.has_left || validator.is_tombstoned {
            return Err(revert(&sol::NotAccepting { validator: validator.address }));
        }
        if amount < minimum {
            return Err(revert(&sol::DelegationTooLow { amount, minimum }));
        }
        let before = self.field(&validator, TOKENS)?;
        self.bond(&validator, delegator, amount)?;
        let after = before.saturating_add(amount);
        self.announce(validator.address, validator.weight(before), validator.weight(after))?;
        Ok(Bytes::new())
    }

    /// Buys shares of the validator's pool for an amount that the contract has received already.
    pub(super) fn bond(&mut self, validator: &ValidatorEntry, delegator: Address, amount: U256) -> Result<(), Stop> {
        let tokens = self.field(validator, TOKENS)?;
        let all_shares = self.field(validator, SHARES)?;
        let shares = if all_shares.is_zero() {
            amount
        } else if tokens.is_zero() {
            return Err(revert(&sol::PoolEmpty { validator: validator.address }));
        } else {
            mul_div(amount, all_shares, tokens).ok_or_else(overflow)?
        };
        if shares.is_zero() {
            return Err(revert(&sol::ZeroAmount {}));
        }
        let bounded = |sum: Option<U256>| sum.filter(|sum| *sum < AMOUNT_END).ok_or_else(overflow);
        let new_tokens = bounded(tokens.checked_add(amount))?;
        let new_shares = bounded(all_shares.checked_add(shares))?;
        let mut delegation = self.settled(validator, &delegator)?;
        delegation.shares = delegation.shares.checked_add(shares).ok_or_else(overflow)?;
        self.put_delegation(&delegation)?;
        self.put_field(validator, TOKENS, new_tokens)?;
        self.put_field(validator, SHARES, new_shares)?;
        self.add(BONDED, amount)?;
        self.0.emit(&sol::Delegated { delegator, validator: validator.address, amount, shares })
    }

    /// Returns the worth of so many shares, in wei.
    pub(super) fn worth_of(&mut self, validator: &ValidatorEntry, shares: U256) -> Result<U256, Stop> {
        if shares.is_zero() {
            return Ok(U256::ZERO);
        }
        let (tokens, all) = (self.field(validator, TOKENS)?, self.field(validator, SHARES)?);
        mul_div(shares, tokens, all).ok_or_else(overflow)
    }
}

/// Unbonding.
impl Staking<'_, '_> {
    /// Begins the unbonding of `amount` of the caller's stake; 2^256 - 1 means all.
    pub(super) fn undelegate(&mut self, validator: Address, amount: U256) -> Result<Bytes, Stop> {
        let params = self.load_params()?;
        let delegator = self.0.caller();
        let mut validator = self.get(validator)?;
        if amount.is_zero() {
            return Err(revert(&sol::ZeroAmount {}));
        }
        let mut delegation = self.settled(&validator, &delegator)?;
        let worth = self.worth_of(&validator, delegation.shares)?;
        let takes_all = amount == U256::MAX || amount == worth;
        if delegation.shares.is_zero() || (amount > worth && !takes_all) {
            return Err(revert(&sol::InsufficientDelegation { worth, wanted: amount }));
        }
        let tokens = self.field(&validator, TOKENS)?;
        let all_shares = self.field(&validator, SHARES)?;
        let (amount, shares) = if takes_all {
            (worth, delegation.shares)
        } else {
            (amount, mul_div_up(amount, all_shares, tokens).ok_or_else(overflow)?.min(delegation.shares))
        };
        let left = worth - amount;
        if delegator == validator.address && !validator.has_left && left < params.min_self_stake {
            return Err(revert(&sol::SelfStakeTooLow { selfStake: left, minimum: params.min_self_stake }));
        }
        let before = validator.weight(tokens);
        let rest = tokens.checked_sub(amount).ok_or_else(overflow)?;
        delegation.shares = delegation.shares.checked_sub(shares).ok_or_else(overflow)?;
        self.put_delegation(&delegation)?;
        self.put_field(&validator, TOKENS, rest)?;
        self.put_field(&validator, SHARES, all_shares.checked_sub(shares).ok_or_else(overflow)?)?;
        let (begun_height, completes_at) = if validator.is_bonded() {
            (self.height(), self.now().saturating_add(params.unbonding_secs))
        } else if self.is_unbonded(&params, &validator) {
            (self.height(), self.now())
        } else {
            (validator.unbonded_height, validator.unbonded_at.saturating_add(params.unbonding_secs))
        };
        if !amount.is_zero() {
            self.sub(BONDED, amount)?;
            self.add(UNBONDING, amount)?;
            let (validator, first_slash) = (validator.address, validator.slashes);
            self.push_unbonding(
                &delegator,
                &UnbondingEntry { validator, first_slash, amount, begun_height, completes_at },
            )?;
        }
        if validator.place != 0 && validator.has_left {
            self.unlist_when_empty(&mut validator)?;
            self.put(&validator)?;
        }
        let address = validator.address;
        self.0.emit(&sol::Undelegated { delegator, validator: address, amount, shares, completesAt: completes_at })?;
        self.announce(address, before, validator.weight(rest))?;
        Ok(Bytes::new())
    }

    fn push_unbonding(&mut self, delegator: &Address, entry: &UnbondingEntry) -> Result<(), Stop> {
        let (count, list) = self.unbonding_count(delegator)?;
        if count >= UNBONDINGS_MAX {
            return Err(revert(&sol::TooManyUnbondings { maximum: U256::from(UNBONDINGS_MAX) }));
        }
        self.put_unbonding(list, count, Some(entry))?;
        self.put_unbonding_count(list, count + 1)
    }

    /// Pays the caller's completed unbondings, less slashes since they began.
    pub(super) fn withdraw(&mut self) -> Result<Bytes, Stop> {
        let delegator = self.0.caller();
        let (mut count, list) = self.unbonding_count(&delegator)?;
        let (mut paid, mut cut, mut earliest, mut index) = (U256::ZERO, U256::ZERO, None, 0);
        let all = count;
        while index < count {
            let entry = self.unbonding(list, index)?;
            if self.now() < entry.completes_at {
                earliest = Some(earliest.unwrap_or(u64::MAX).min(entry.completes_at));
                index += 1;
                continue;
            }
            let amount = self.payable(&delegator, &entry)?;
            paid += amount;
            cut += entry.amount - amount;
            count -= 1;
            if index != count {
                let last = self.unbonding(list, count)?;
                self.put_unbonding(list, index, Some(&last))?;
            }
            self.put_unbonding(list, count, None)?;
        }
        if count == all {
            return Err(revert(&sol::NothingToWithdraw { completesAt: earliest.unwrap_or(0) }));
        }
        self.put_unbonding_count(list, count)?;
        self.sub(UNBONDING, paid + cut)?;
        self.destroy(cut)?;
        self.0.emit(&sol::Withdrawn { delegator, amount: paid })?;
        if !paid.is_zero() {
            self.0.transfer(delegator, paid)?;
        }
        Ok(abi::encode_output_u256(paid))
    }

    /// Returns the payment of an unbonding: its amount, less the part of each slash for an infraction not after its
    /// beginning. As in the Cosmos SDK, parts are of the initial amount, and a slash after completion takes nothing. The
    /// validator's own stake answers for its equivocations whenever they were: it keeps its vote for some epochs after it
    /// left.
    pub(super) fn payable(&mut self, delegator: &Address, entry: &UnbondingEntry) -> Result<U256, Stop> {
        let validator = self.find(entry.validator)?;
        let mut cut = U256::ZERO;
        for index in entry.first_slash..validator.slashes {
            let slash = self.slash_at(&validator, index)?;
            let is_own = slash.is_equivocation && *delegator == entry.validator;
            if (is_own || slash.infraction_height <= entry.begun_height) && slash.time < entry.completes_at {
                cut = cut.saturating_add(part(entry.amount, slash.fraction_ppm));
            }
        }
        Ok(entry.amount.saturating_sub(cut))
    }

    /// Burns balance of the contract.
    pub(super) fn destroy(&mut self, amount: U256) -> Result<(), Stop> {
        if amount.is_zero() {
            return Ok(());
        }
        self.0.burn(amount)?;
        self.add(BURNED, amount)
    }

    /// Returns a delegation with its rewards settled to the current ratio.
    pub(super) fn settled(
        &mut self,
        validator: &ValidatorEntry,
        delegator: &Address,
    ) -> Result<super::layout::Delegation, Stop> {
        let ratio = self.field(validator, RATIO)?;
        let mut delegation = self.delegation(validator, delegator)?;
        let earned = super::rewards::earned(&delegation, ratio)?;
        delegation.rewards = delegation.rewards.checked_add(earned).ok_or_else(overflow)?;
        delegation.ratio = ratio;
        Ok(delegation)
    }
}
