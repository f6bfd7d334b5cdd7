//! Delegation, undelegation and withdrawal.
//!
//! A validator's stake is a pool: a delegation is a number of shares in it, and slashing makes every share worth less.
//! Shares bought are rounded down and shares sold are rounded up, so that rounding benefits the remaining
//! delegators.

use alloy_primitives::{Address, U256};

use super::{
    interface as sol,
    layout::{Delegation, STAKING, Staking, UnbondingEntry, ValidatorEntry, part},
    params::{AMOUNT_END, StakingParams},
};
use crate::{
    primitives::mutation::{self, Mutation},
    vm::{
        Stop,
        abi::{require, revert},
        math::{CheckedMath, Rounding, mul_div, overflow},
        storage::Slot,
    },
};

/// Maximum number of unbondings of one delegator.
pub const UNBONDINGS_MAX: u64 = 32;

/// Bonding.
impl Staking<'_, '_> {
    /// Adds the value of the call to the caller's stake with `validator`.
    pub(super) fn delegate(&mut self, validator: Address) -> Result<(), Stop> {
        let caller = self.0.caller();
        self.delegate_as(caller, validator)
    }

    /// Adds the value of the call to a delegator's stake with `validator`.
    pub(super) fn delegate_as(&mut self, delegator: Address, validator: Address) -> Result<(), Stop> {
        let minimum = self.load_params()?.min_delegation;
        let amount = self.0.value();
        let validator = self.get(validator)?;
        let accepts = !validator.has_left && !validator.is_tombstoned;
        require(accepts, sol::NotAccepting { validator: validator.address })?;
        require(amount >= minimum, sol::DelegationTooLow { amount, minimum })?;
        let before = validator.stored.tokens.get(self.0)?;
        self.bond(&validator, delegator, amount)?;
        let after = before.saturating_add(amount);
        self.announce(&validator, validator.weight(before), validator.weight(after))?;
        Ok(())
    }

    /// Buys shares of the validator's pool for an amount that the contract has received already.
    pub(super) fn bond(&mut self, validator: &ValidatorEntry, delegator: Address, amount: U256) -> Result<(), Stop> {
        let tokens = validator.stored.tokens.get(self.0)?;
        let all_shares = validator.stored.shares.get(self.0)?;
        let shares = if all_shares.is_zero() {
            amount
        } else if tokens.is_zero() {
            return Err(revert(&sol::PoolEmpty { validator: validator.address }));
        } else {
            mul_div(amount, all_shares, tokens, Rounding::Floor)?
        };
        require(!shares.is_zero(), sol::ZeroAmount {})?;
        let bounded = |sum: Option<U256>| sum.filter(|sum| *sum < AMOUNT_END).ok_or_else(overflow);
        let new_tokens = bounded(tokens.checked_add(amount))?;
        let new_shares = bounded(all_shares.checked_add(shares))?;
        let (place, mut delegation) = self.settled(validator, delegator)?;
        delegation.shares = delegation.shares.add(shares)?;
        self.put_delegation(place, delegation)?;
        validator.stored.tokens.set(self.0, new_tokens)?;
        validator.stored.shares.set(self.0, new_shares)?;
        STAKING.bonded.add(self.0, amount)?;
        self.0.emit(&sol::Delegated { delegator, validator: validator.address, amount, shares })
    }

    /// Returns the worth of so many shares, in wei.
    pub(super) fn worth_of(&mut self, validator: &ValidatorEntry, shares: U256) -> Result<U256, Stop> {
        if shares.is_zero() {
            return Ok(U256::ZERO);
        }
        let (tokens, all) = (validator.stored.tokens.get(self.0)?, validator.stored.shares.get(self.0)?);
        mul_div(shares, tokens, all, Rounding::Floor)
    }
}

/// Unbonding.
impl Staking<'_, '_> {
    /// Begins the unbonding of `amount` of the caller's stake; 2^256 - 1 means all.
    pub(super) fn undelegate(&mut self, validator: Address, amount: U256) -> Result<(), Stop> {
        let params = self.load_params()?;
        let delegator = self.0.caller();
        let mut validator = self.get(validator)?;
        require(!amount.is_zero(), sol::ZeroAmount {})?;
        let (place, mut delegation) = self.settled(&validator, delegator)?;
        let worth = self.worth_of(&validator, delegation.shares)?;
        let takes_all = amount == U256::MAX || amount == worth;
        if delegation.shares.is_zero() || (amount > worth && !takes_all) {
            return Err(revert(&sol::InsufficientDelegation { worth, wanted: amount }));
        }
        let tokens = validator.stored.tokens.get(self.0)?;
        let all_shares = validator.stored.shares.get(self.0)?;
        let (amount, shares) = if takes_all {
            (worth, delegation.shares)
        } else {
            (amount, mul_div(amount, all_shares, tokens, Rounding::Ceil)?.min(delegation.shares))
        };
        let left = worth - amount;
        if delegator == validator.address && !validator.has_left && left < params.min_self_stake {
            return Err(revert(&sol::SelfStakeTooLow { selfStake: left, minimum: params.min_self_stake }));
        }
        let before = validator.weight(tokens);
        let rest = tokens.sub(amount)?;
        delegation.shares = delegation.shares.sub(shares)?;
        self.put_delegation(place, delegation)?;
        validator.stored.tokens.set(self.0, rest)?;
        validator.stored.shares.set(self.0, all_shares.sub(shares)?)?;
        let (begun_height, completes_at) = if validator.is_bonded() {
            (self.height(), self.now().saturating_add(params.unbonding_secs))
        } else if self.is_unbonded(&params, &validator)? {
            (self.height(), self.now())
        } else {
            (validator.unbonded_height, validator.unbonded_at.saturating_add(params.unbonding_secs))
        };
        if !amount.is_zero() {
            STAKING.bonded.sub(self.0, amount)?;
            STAKING.unbonding.add(self.0, amount)?;
            let (validator, first_slash) = (validator.address, validator.slashes);
            self.push_unbonding(
                delegator,
                UnbondingEntry { validator, first_slash, amount, begun_height, completes_at },
            )?;
        }
        if validator.place != 0 && validator.has_left {
            self.unlist_when_empty(&mut validator)?;
            self.put(&validator)?;
        }
        let address = validator.address;
        self.0.emit(&sol::Undelegated { delegator, validator: address, amount, shares, completesAt: completes_at })?;
        self.announce(&validator, before, validator.weight(rest))?;
        Ok(())
    }

    fn push_unbonding(&mut self, delegator: Address, entry: UnbondingEntry) -> Result<(), Stop> {
        let unbondings = STAKING.unbondings.at(self.0, delegator)?;
        let count = unbondings.len(self.0)?;
        require(count < UNBONDINGS_MAX, sol::TooManyUnbondings { maximum: U256::from(UNBONDINGS_MAX) })?;
        unbondings.unchecked_at(self.0, count)?.set(self.0, entry)?;
        unbondings.length().set(self.0, U256::from(count + 1))
    }

    /// Pays the caller's completed unbondings, less slashes since they began.
    pub(super) fn withdraw(&mut self) -> Result<U256, Stop> {
        let delegator = self.0.caller();
        let params = self.load_params()?;
        let unbondings = STAKING.unbondings.at(self.0, delegator)?;
        let mut count = unbondings.len(self.0)?;
        let (mut paid, mut cut, mut earliest, mut index) = (U256::ZERO, U256::ZERO, None, 0);
        let all = count;
        while index < count {
            let entry = unbondings.unchecked_at(self.0, index)?.get(self.0)?;
            let completes_at = self.completion(&params, delegator, &entry)?;
            if self.now() < completes_at {
                earliest = Some(earliest.unwrap_or(u64::MAX).min(completes_at));
                index += 1;
                continue;
            }
            let amount = self.payable(delegator, &entry)?;
            paid += amount;
            cut += entry.amount - amount;
            count -= 1;
            if index != count {
                let last = unbondings.unchecked_at(self.0, count)?.get(self.0)?;
                unbondings.unchecked_at(self.0, index)?.set(self.0, last)?;
            }
            unbondings.unchecked_at(self.0, count)?.set(self.0, UnbondingEntry::default())?;
        }
        require(count != all, sol::NothingToWithdraw { completesAt: earliest.unwrap_or(0) })?;
        unbondings.length().set(self.0, U256::from(count))?;
        STAKING.unbonding.sub(self.0, paid + cut)?;
        self.destroy(cut)?;
        self.0.emit(&sol::Withdrawn { delegator, amount: paid })?;
        if !paid.is_zero() {
            self.0.transfer(delegator, paid)?;
        }
        Ok(paid)
    }

    /// Returns when an unbonding completes. A validator's own is locked as long as what is left of its stake would be: it may have duties after it
    /// left, and can't take its stake before that.
    pub(super) fn completion(
        &mut self,
        params: &StakingParams,
        delegator: Address,
        entry: &UnbondingEntry,
    ) -> Result<u64, Stop> {
        if delegator != entry.validator || mutation::active(Mutation::StakingFreesOnDuty) {
            return Ok(entry.completes_at);
        }
        let validator = self.find(delegator)?;
        let free_at = if validator.is_bonded() {
            validator.unbonded_at.saturating_add(params.unbonding_secs)
        } else {
            self.locked_until(params, &validator)?
        };
        Ok(entry.completes_at.max(free_at))
    }

    /// Returns the payment of an unbonding: its amount, less the part of each slash for an infraction not after its
    /// beginning. As in the Cosmos SDK, parts are of the initial amount, and a slash after completion takes nothing. The
    /// validator's own stake answers for its equivocations whenever they were, until it is withdrawn: it keeps its vote for some epochs
    /// after it left.
    pub(super) fn payable(&mut self, delegator: Address, entry: &UnbondingEntry) -> Result<U256, Stop> {
        let validator = self.find(entry.validator)?;
        let mut cut = U256::ZERO;
        for index in entry.first_slash..validator.slashes {
            let slash = self.slash_at(&validator, index)?;
            let is_own = delegator == entry.validator;
            let is_before = slash.infraction_height <= entry.begun_height;
            if (is_own && slash.is_equivocation || is_before) && (is_own || slash.time < entry.completes_at) {
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
        STAKING.burned.add(self.0, amount)
    }

    /// Returns a delegation with its rewards settled to the current ratio, and its place.
    pub(super) fn settled(
        &mut self,
        validator: &ValidatorEntry,
        delegator: Address,
    ) -> Result<(Slot<Delegation>, Delegation), Stop> {
        let ratio = validator.stored.ratio.get(self.0)?;
        let (place, mut delegation) = self.delegation(validator, delegator)?;
        let earned = super::rewards::earned(&delegation, ratio)?;
        delegation.rewards = delegation.rewards.add(earned)?;
        delegation.ratio = ratio;
        Ok((place, delegation))
    }
}
