//! Validators: joining, commission, jail, exit.

use alloy_primitives::{Address, Bytes, U256};

use super::{
    interface as sol,
    layout::{
        ABSENCES, ABSENT_AT, ACTIVATIONS, ACTIVE, COMMISSION, EXITS, REWARDS, SHARES, Staking, TOKENS, ValidatorEntry,
        overflow, part,
    },
    params::{AMOUNT_END, BPS, PPM, StakingParams, WEIGHT_UNIT, churn_limit},
};
use crate::vm::{
    Stop,
    abi::{self, revert},
};

/// Returns so many percent of an amount, rounded down.
fn percent(amount: U256, percent: u8) -> U256 {
    part(amount, u64::from(percent) * (PPM / 100))
}

/// Construction at genesis.
impl Staking<'_, '_> {
    /// Sets the parameters and bonds the genesis stakes, whose sum the contract must hold already.
    pub(super) fn construct(&mut self, params: &StakingParams, stakes: &[sol::GenesisStake]) -> Result<(), Stop> {
        params.check().map_err(|error| abi::revert_with(&error.to_string()))?;
        self.put_params(params)?;
        let mut sum = U256::ZERO;
        for stake in stakes {
            let validator = self.find(stake.validator)?;
            if validator.exists || stake.stake < WEIGHT_UNIT || stake.stake >= AMOUNT_END {
                return Err(revert(&sol::BadGenesisStake { validator: stake.validator, stake: stake.stake }));
            }
            let commission = params.genesis_commission_bps;
            self.admit(params, validator, stake.stake, [commission, BPS as u16, BPS as u16])?;
            self.activate(stake.validator)?;
            sum = sum.checked_add(stake.stake).ok_or_else(overflow)?;
        }
        let own = self.0.address();
        let balance = self.0.balance(&own)?;
        if balance < sum { Err(revert(&sol::GenesisUnfunded { balance, stakes: sum })) } else { Ok(()) }
    }
}

/// Actions of operators.
impl Staking<'_, '_> {
    /// Makes the caller a validator (again), with the value of the call as its own stake.
    pub(super) fn join(&mut self, commission: u16, maximum: u16, change: u16) -> Result<Bytes, Stop> {
        let params = self.load_params()?;
        let (caller, value) = (self.0.caller(), self.0.value());
        let validator = self.find(caller)?;
        if validator.is_tombstoned {
            return Err(revert(&sol::IsTombstoned { validator: caller }));
        }
        if validator.exists && !validator.has_left {
            return Err(revert(&sol::AlreadyValidator { validator: caller }));
        }
        let whole = BPS as u16;
        for (bps, bound) in [(maximum, whole), (commission, maximum), (change, whole)] {
            if bps > bound {
                return Err(revert(&sol::CommissionTooHigh { commissionBps: bps, maximum: bound }));
            }
        }
        let (own, minimum) = (self.worth(&validator, &caller)?, params.min_self_stake);
        let self_stake = own.checked_add(value).ok_or_else(overflow)?;
        if self_stake < minimum {
            return Err(revert(&sol::SelfStakeTooLow { selfStake: self_stake, minimum }));
        }
        self.admit(&params, validator, value, [commission, maximum, change])?;
        if params.churn_limit == 0 {
            self.activate(caller)?
        } else {
            self.enqueue(ACTIVATIONS, caller)?
        }
        Ok(Bytes::new())
    }

    /// Makes an address that is no validator, or has left, a validator that is not active yet.
    fn admit(
        &mut self,
        params: &StakingParams,
        mut validator: ValidatorEntry,
        stake: U256,
        [commission, maximum, change]: [u16; 3],
    ) -> Result<(), Stop> {
        let maximum_count = U256::from(params.max_validators);
        if self.0.load(ACTIVE)? >= maximum_count {
            return Err(revert(&sol::TooManyValidators { maximum: maximum_count }));
        }
        self.add(ACTIVE, U256::from(1))?;
        if validator.place == 0 {
            self.list(&mut validator)?;
        }
        (validator.exists, validator.has_left, validator.in_queue) = (true, false, false);
        (validator.is_jailed, validator.jailed_until, validator.is_pending) = (false, 0, true);
        validator.commission_bps = commission;
        (validator.max_commission_bps, validator.max_change_bps) = (maximum, change);
        validator.commission_changed_at = self.now();
        self.forget_absences(&validator)?;
        self.put(&validator)?;
        let address = validator.address;
        self.0.emit(&sol::ValidatorJoined { validator: address, stake, commissionBps: commission })?;
        if stake.is_zero() { Ok(()) } else { self.bond(&validator, address, stake) }
    }

    /// Lets a validator that is pending take part in consensus.
    fn activate(&mut self, address: Address) -> Result<(), Stop> {
        let mut validator = self.find(address)?;
        if !validator.is_pending || validator.has_left {
            return Ok(());
        }
        (validator.is_pending, validator.start_height) = (false, self.height());
        self.put(&validator)?;
        let tokens = self.field(&validator, TOKENS)?;
        self.announce(address, 0, validator.weight(tokens))
    }

    pub(super) fn set_commission(&mut self, new: u16) -> Result<Bytes, Stop> {
        let params = self.load_params()?;
        let caller = self.0.caller();
        let mut validator = self.get(caller)?;
        let (old, maximum) = (validator.commission_bps, validator.max_commission_bps);
        if new > maximum {
            return Err(revert(&sol::CommissionTooHigh { commissionBps: new, maximum }));
        }
        let (rise, maximum) = (new.saturating_sub(old), validator.max_change_bps);
        if rise > maximum {
            return Err(revert(&sol::CommissionChangeTooLarge { changeBps: rise, maximum }));
        }
        let earliest = validator.commission_changed_at.saturating_add(params.commission_change_secs);
        if self.now() < earliest {
            return Err(revert(&sol::CommissionChangedRecently { earliest }));
        }
        (validator.commission_bps, validator.commission_changed_at) = (new, self.now());
        self.put(&validator)?;
        self.0.emit(&sol::CommissionChanged { validator: caller, oldBps: old, newBps: new })?;
        Ok(Bytes::new())
    }

    pub(super) fn claim_commission(&mut self) -> Result<Bytes, Stop> {
        let caller = self.0.caller();
        let validator = self.get(caller)?;
        let amount = self.field(&validator, COMMISSION)?;
        if amount.is_zero() {
            return Err(revert(&sol::NothingToClaim {}));
        }
        self.put_field(&validator, COMMISSION, U256::ZERO)?;
        self.sub(REWARDS, amount)?;
        self.0.emit(&sol::CommissionClaimed { validator: caller, amount })?;
        self.0.transfer(caller, amount)?;
        Ok(abi::encode_output_u256(amount))
    }

    pub(super) fn unjail(&mut self) -> Result<Bytes, Stop> {
        let params = self.load_params()?;
        let caller = self.0.caller();
        let mut validator = self.get(caller)?;
        if validator.is_tombstoned {
            return Err(revert(&sol::IsTombstoned { validator: caller }));
        }
        if validator.has_left {
            return Err(revert(&sol::AlreadyExiting { validator: caller }));
        }
        if !validator.is_jailed {
            return Err(revert(&sol::NotJailed { validator: caller }));
        }
        if self.now() < validator.jailed_until {
            return Err(revert(&sol::JailedUntil { until: validator.jailed_until }));
        }
        let (self_stake, minimum) = (self.worth(&validator, &caller)?, params.min_self_stake);
        if self_stake < minimum {
            return Err(revert(&sol::SelfStakeTooLow { selfStake: self_stake, minimum }));
        }
        (validator.is_jailed, validator.jailed_until, validator.is_pending) = (false, 0, true);
        self.put(&validator)?;
        self.0.emit(&sol::Unjailed { validator: caller })?;
        if params.churn_limit == 0 {
            self.activate(caller)?
        } else {
            self.enqueue(ACTIVATIONS, caller)?
        }
        Ok(Bytes::new())
    }

    /// Lets the caller leave: at once, or through the exit queue where there is one and it is in consensus.
    pub(super) fn exit(&mut self) -> Result<Bytes, Stop> {
        let params = self.load_params()?;
        let caller = self.0.caller();
        let validator = self.get(caller)?;
        if validator.is_tombstoned {
            return Err(revert(&sol::IsTombstoned { validator: caller }));
        }
        if validator.has_left || validator.in_queue {
            return Err(revert(&sol::AlreadyExiting { validator: caller }));
        }
        self.0.emit(&sol::ExitRequested { validator: caller })?;
        self.begin_exit(&params, validator)?;
        Ok(Bytes::new())
    }

    fn begin_exit(&mut self, params: &StakingParams, mut validator: ValidatorEntry) -> Result<(), Stop> {
        if params.churn_limit == 0 || !validator.is_bonded() {
            return self.leave(validator);
        }
        validator.in_queue = true;
        self.put(&validator)?;
        self.enqueue(EXITS, validator.address)
    }
}

/// Changes of validators by the protocol.
impl Staking<'_, '_> {
    /// Ends an epoch: pays and burns what validators earned and lost, ejects, and lets the first validators in the exit queue leave
    /// and the first in the activation queue become active.
    pub(super) fn end_epoch(
        &mut self,
        rewards: &[sol::StakeChange],
        penalties: &[sol::StakeChange],
        ejection_percent: u8,
    ) -> Result<Bytes, Stop> {
        let params = self.load_params()?;
        self.reward_all(rewards)?;
        for sol::StakeChange { validator, amount } in penalties {
            let (validator, left) = self.penalize_one(*validator, *amount)?;
            if ejection_percent > 0 && left <= percent(params.min_self_stake, ejection_percent) {
                self.eject(&params, validator, left)?;
            }
        }
        self.advance_queues(params.churn_limit)?;
        Ok(Bytes::new())
    }

    /// Makes a validator in consensus leave, as if it had asked to (`process_registry_updates` of phase 0).
    fn eject(&mut self, params: &StakingParams, validator: ValidatorEntry, tokens: U256) -> Result<(), Stop> {
        if !validator.is_bonded() || validator.in_queue {
            return Ok(());
        }
        self.0.emit(&sol::Ejected { validator: validator.address, tokens })?;
        self.begin_exit(params, validator)
    }

    fn advance_queues(&mut self, least: u32) -> Result<(), Stop> {
        if least == 0 {
            return Ok(());
        }
        let limit = churn_limit(least, self.0.load(ACTIVE)?.saturating_to());
        for _ in 0..limit {
            let Some(address) = self.dequeue(ACTIVATIONS)? else { break };
            self.activate(address)?;
        }
        for _ in 0..limit {
            let Some(address) = self.dequeue(EXITS)? else { break };
            let validator = self.find(address)?;
            if validator.in_queue && !validator.has_left {
                self.leave(validator)?;
            }
        }
        Ok(())
    }

    fn leave(&mut self, mut validator: ValidatorEntry) -> Result<(), Stop> {
        let tokens = self.field(&validator, TOKENS)?;
        let weight = validator.weight(tokens);
        self.unbond_from_now(&mut validator);
        (validator.has_left, validator.in_queue, validator.is_pending) = (true, false, false);
        self.sub(ACTIVE, U256::from(1))?;
        self.unlist_when_empty(&mut validator)?;
        self.put(&validator)?;
        self.0.emit(&sol::Left { validator: validator.address })?;
        self.announce(validator.address, weight, 0)
    }

    /// Excludes a validator from consensus until `until`, in seconds since the Unix epoch.
    pub(super) fn jail(&mut self, validator: &mut ValidatorEntry, until: u64) -> Result<(), Stop> {
        let tokens = self.field(validator, TOKENS)?;
        let weight = validator.weight(tokens);
        self.unbond_from_now(validator);
        validator.is_jailed = true;
        validator.jailed_until = validator.jailed_until.max(until);
        self.forget_absences(validator)?;
        self.put(validator)?;
        self.0.emit(&sol::Jailed { validator: validator.address, until: validator.jailed_until })?;
        self.announce(validator.address, weight, 0)
    }

    /// Excludes a validator permanently; it counts as one that left.
    pub(super) fn tombstone(&mut self, validator: &mut ValidatorEntry) -> Result<(), Stop> {
        self.jail(validator, u64::MAX)?;
        if !validator.has_left {
            self.sub(ACTIVE, U256::from(1))?;
        }
        (validator.is_tombstoned, validator.has_left, validator.in_queue) = (true, true, false);
        validator.is_pending = false;
        self.unlist_when_empty(validator)?;
        self.put(validator)?;
        self.0.emit(&sol::Tombstoned { validator: validator.address })
    }

    fn unbond_from_now(&self, validator: &mut ValidatorEntry) {
        if validator.is_bonded() {
            (validator.unbonded_height, validator.unbonded_at) = (self.height(), self.now());
        }
    }

    fn forget_absences(&mut self, validator: &ValidatorEntry) -> Result<(), Stop> {
        self.put_field(validator, ABSENCES, U256::ZERO)?;
        self.put_field(validator, ABSENT_AT, U256::ZERO)
    }

    /// Removes a validator that left from the list when its pool has no shares; the caller stores the validator.
    pub(super) fn unlist_when_empty(&mut self, validator: &mut ValidatorEntry) -> Result<(), Stop> {
        if validator.has_left && self.field(validator, SHARES)?.is_zero() { self.unlist(validator) } else { Ok(()) }
    }

    /// Returns whether a validator's stake is free: it has been out of consensus for longer than the unbonding period.
    pub(super) fn is_unbonded(&self, params: &StakingParams, validator: &ValidatorEntry) -> bool {
        !validator.is_bonded() && self.now() >= validator.unbonded_at.saturating_add(params.unbonding_secs)
    }

    /// Returns the current worth of a delegator's shares, in wei.
    pub(super) fn worth(&mut self, validator: &ValidatorEntry, delegator: &Address) -> Result<U256, Stop> {
        let delegation = self.delegation(validator, delegator)?;
        self.worth_of(validator, delegation.shares)
    }
}
