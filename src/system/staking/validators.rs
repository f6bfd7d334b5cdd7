//! Validators: joining, commission, jail, exit.

use alloy_primitives::{Address, U256};

use super::{
    interface as sol,
    layout::{STAKING, Staking, StoredParams, ValidatorEntry, part},
    params::{AMOUNT_END, BPS, PPM, StakingParams, WEIGHT_UNIT, churn_limit},
};
use crate::{
    system::address::GOVERNANCE_ADDRESS,
    vm::{
        Stop,
        abi::{self, require, revert},
        math::CheckedMath,
    },
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
        // Genesis deploys the governance contract first.
        let keeps_history = self.0.has_code(&GOVERNANCE_ADDRESS)?;
        let params = &StoredParams { params: *params, keeps_history };
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
            sum = sum.add(stake.stake)?;
        }
        for stake in stakes.iter().filter(|stake| !stake.sealingKey.is_zero() && stake.sealingKey != stake.validator) {
            self.adopt_key(stake.validator, stake.sealingKey)?;
        }
        let own = self.0.address();
        let balance = self.0.balance(&own)?;
        require(balance >= sum, sol::GenesisUnfunded { balance, stakes: sum })
    }
}

/// Actions of operators.
impl Staking<'_, '_> {
    /// Makes the caller a validator (again), with the value of the call as its own stake.
    pub(super) fn join(&mut self, commission: u16, maximum: u16, change: u16) -> Result<(), Stop> {
        let caller = self.0.caller();
        self.join_as(caller, None, [commission, maximum, change])
    }

    /// Makes an operator a validator (again), with the value of the call as its own stake, and with a new key and its proof where there
    /// are such.
    pub(super) fn join_as(
        &mut self,
        operator: Address,
        key: Option<(Address, &[u8])>,
        [commission, maximum, change]: [u16; 3],
    ) -> Result<(), Stop> {
        let params = self.load_params()?;
        let value = self.0.value();
        let mut validator = self.find(operator)?;
        require(!validator.is_tombstoned, sol::IsTombstoned { validator: operator })?;
        require(!validator.exists || validator.has_left, sol::AlreadyValidator { validator: operator })?;
        if !validator.exists {
            STAKING.keys.check_operator(self.0, operator)?;
        }
        let whole = BPS as u16;
        for (bps, bound) in [(maximum, whole), (commission, maximum), (change, whole)] {
            require(bps <= bound, sol::CommissionTooHigh { commissionBps: bps, maximum: bound })?;
        }
        let (own, minimum) = (self.worth(&validator, operator)?, params.min_self_stake);
        let self_stake = own.add(value)?;
        require(self_stake >= minimum, sol::SelfStakeTooLow { selfStake: self_stake, minimum })?;
        if let Some((key, proof)) = key {
            self.register_key(&params, &mut validator, key, proof)?;
        }
        self.admit(&params, validator, value, [commission, maximum, change])?;
        if params.churn_limit == 0 { self.activate(operator) } else { self.enqueue(STAKING.activations, operator) }
    }

    /// Makes an address that is no validator, or has left, a validator that is not active yet.
    fn admit(
        &mut self,
        params: &StoredParams,
        mut validator: ValidatorEntry,
        stake: U256,
        [commission, maximum, change]: [u16; 3],
    ) -> Result<(), Stop> {
        let maximum_count = U256::from(params.max_validators);
        require(STAKING.active.get(self.0)? < maximum_count, sol::TooManyValidators { maximum: maximum_count })?;
        STAKING.active.add(self.0, U256::from(1))?;
        if validator.place == 0 {
            self.list(&mut validator)?;
        }
        (validator.exists, validator.has_left, validator.in_queue) = (true, false, false);
        (validator.is_jailed, validator.jailed_until, validator.is_pending) = (false, 0, true);
        validator.commission_bps = commission;
        (validator.max_commission_bps, validator.max_change_bps) = (maximum, change);
        validator.commission_changed_at = self.now();
        validator.has_history = params.keeps_history;
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
        let tokens = validator.stored.tokens.get(self.0)?;
        self.announce(&validator, 0, validator.weight(tokens))
    }

    pub(super) fn set_commission(&mut self, new: u16) -> Result<(), Stop> {
        let params = self.load_params()?;
        let caller = self.0.caller();
        let mut validator = self.get(caller)?;
        let (old, maximum) = (validator.commission_bps, validator.max_commission_bps);
        require(new <= maximum, sol::CommissionTooHigh { commissionBps: new, maximum })?;
        let (rise, maximum) = (new.saturating_sub(old), validator.max_change_bps);
        require(rise <= maximum, sol::CommissionChangeTooLarge { changeBps: rise, maximum })?;
        let earliest = validator.commission_changed_at.saturating_add(params.commission_change_secs);
        require(self.now() >= earliest, sol::CommissionChangedRecently { earliest })?;
        (validator.commission_bps, validator.commission_changed_at) = (new, self.now());
        self.put(&validator)?;
        self.0.emit(&sol::CommissionChanged { validator: caller, oldBps: old, newBps: new })?;
        Ok(())
    }

    pub(super) fn claim_commission(&mut self) -> Result<U256, Stop> {
        let caller = self.0.caller();
        let validator = self.get(caller)?;
        let amount = validator.stored.commission.get(self.0)?;
        require(!amount.is_zero(), sol::NothingToClaim {})?;
        validator.stored.commission.set(self.0, U256::ZERO)?;
        STAKING.rewards.sub(self.0, amount)?;
        self.0.emit(&sol::CommissionClaimed { validator: caller, amount })?;
        self.0.transfer(caller, amount)?;
        Ok(amount)
    }

    pub(super) fn unjail(&mut self) -> Result<(), Stop> {
        let params = self.load_params()?;
        let caller = self.0.caller();
        let mut validator = self.get(caller)?;
        require(!validator.is_tombstoned, sol::IsTombstoned { validator: caller })?;
        require(!validator.has_left, sol::AlreadyExiting { validator: caller })?;
        require(validator.is_jailed, sol::NotJailed { validator: caller })?;
        require(self.now() >= validator.jailed_until, sol::JailedUntil { until: validator.jailed_until })?;
        let (self_stake, minimum) = (self.worth(&validator, caller)?, params.min_self_stake);
        require(self_stake >= minimum, sol::SelfStakeTooLow { selfStake: self_stake, minimum })?;
        (validator.is_jailed, validator.jailed_until, validator.is_pending) = (false, 0, true);
        self.put(&validator)?;
        self.0.emit(&sol::Unjailed { validator: caller })?;
        if params.churn_limit == 0 {
            self.activate(caller)?
        } else {
            self.enqueue(STAKING.activations, caller)?
        }
        Ok(())
    }

    /// Lets the caller leave: at once, or through the exit queue where there is one and it is in consensus.
    pub(super) fn exit(&mut self) -> Result<(), Stop> {
        let params = self.load_params()?;
        let caller = self.0.caller();
        let validator = self.get(caller)?;
        require(!validator.is_tombstoned, sol::IsTombstoned { validator: caller })?;
        require(!validator.has_left && !validator.in_queue, sol::AlreadyExiting { validator: caller })?;
        self.0.emit(&sol::ExitRequested { validator: caller })?;
        self.begin_exit(&params, validator)?;
        Ok(())
    }

    /// Lets governance remove a validator: it leaves as if it had asked to, and may join again as any other.
    pub(super) fn remove_validator(&mut self, address: Address) -> Result<(), Stop> {
        let caller = self.0.caller();
        require(caller == GOVERNANCE_ADDRESS, sol::OnlyGovernance { caller })?;
        let params = self.load_params()?;
        let validator = self.get(address)?;
        require(!validator.is_tombstoned, sol::IsTombstoned { validator: address })?;
        require(!validator.has_left && !validator.in_queue, sol::AlreadyExiting { validator: address })?;
        let tokens = validator.stored.tokens.get(self.0)?;
        let others = self.total_weight()?.saturating_sub(validator.weight(tokens).into());
        require(others > 0, sol::LastValidator { validator: address })?;
        self.0.emit(&sol::Removed { validator: address })?;
        self.begin_exit(&params, validator)
    }

    fn begin_exit(&mut self, params: &StakingParams, mut validator: ValidatorEntry) -> Result<(), Stop> {
        if params.churn_limit == 0 || !validator.is_bonded() {
            return self.leave(validator);
        }
        validator.in_queue = true;
        self.put(&validator)?;
        self.enqueue(STAKING.exits, validator.address)
    }
}

/// Changes of validators by the protocol.
impl Staking<'_, '_> {
    /// Ends an epoch: pays and burns what validators earned and lost, ejects, and lets the first validators in the exit queue leave,
    /// the first in the activation queue become active, and the first in the queue of rotations change their keys.
    pub(super) fn end_epoch(
        &mut self,
        epoch: u64,
        rewards: &[sol::StakeChange],
        penalties: &[sol::StakeChange],
        ejection_percent: u8,
    ) -> Result<(), Stop> {
        let params = self.load_params()?;
        self.reward_all(rewards)?;
        for sol::StakeChange { validator, amount } in penalties {
            let (validator, left) = self.penalize_one(*validator, *amount)?;
            if ejection_percent > 0 && left <= percent(params.min_self_stake, ejection_percent) {
                self.eject(&params, validator, left)?;
            }
            self.note_duty(validator)?;
        }
        self.advance_queues(epoch, params.churn_limit)
    }

    /// Makes a validator in consensus leave, as if it had asked to (`process_registry_updates` of phase 0).
    fn eject(&mut self, params: &StakingParams, validator: ValidatorEntry, tokens: U256) -> Result<(), Stop> {
        if !validator.is_bonded() || validator.in_queue {
            return Ok(());
        }
        self.0.emit(&sol::Ejected { validator: validator.address, tokens })?;
        self.begin_exit(params, validator)
    }

    /// Advances the queues. A rotation is an address that joins and one that leaves, so it counts against both limits; it comes before
    /// the others in every second epoch and after them in the rest, so that neither can keep the other waiting for ever.
    fn advance_queues(&mut self, epoch: u64, least: u32) -> Result<(), Stop> {
        if least == 0 {
            return Ok(());
        }
        let limit = churn_limit(least, STAKING.active.get(self.0)?.saturating_to());
        if epoch.is_multiple_of(2) {
            let rotated = self.rotate_first(limit)?;
            self.join_and_leave(limit - rotated).map(drop)
        } else {
            let changed = self.join_and_leave(limit)?;
            self.rotate_first(limit - changed).map(drop)
        }
    }

    /// Lets the first `limit` validators of the activation queue become active, and as many of the exit queue leave; returns the larger
    /// number of both.
    fn join_and_leave(&mut self, limit: u64) -> Result<u64, Stop> {
        let (mut joined, mut left) = (0, 0);
        while joined < limit {
            let Some(address) = self.dequeue(STAKING.activations)? else { break };
            self.activate(address)?;
            joined += 1;
        }
        while left < limit {
            let Some(address) = self.dequeue(STAKING.exits)? else { break };
            let validator = self.find(address)?;
            if validator.in_queue && !validator.has_left {
                self.leave(validator)?;
            }
            left += 1;
        }
        Ok(joined.max(left))
    }

    fn leave(&mut self, mut validator: ValidatorEntry) -> Result<(), Stop> {
        let tokens = validator.stored.tokens.get(self.0)?;
        let weight = validator.weight(tokens);
        self.unbond_from_now(&mut validator);
        (validator.has_left, validator.in_queue, validator.is_pending) = (true, false, false);
        STAKING.active.sub(self.0, U256::from(1))?;
        self.unlist_when_empty(&mut validator)?;
        self.put(&validator)?;
        self.0.emit(&sol::Left { validator: validator.address })?;
        self.announce(&validator, weight, 0)
    }

    /// Excludes a validator from consensus until `until`, in seconds since the Unix epoch.
    pub(super) fn jail(&mut self, validator: &mut ValidatorEntry, until: u64) -> Result<(), Stop> {
        let tokens = validator.stored.tokens.get(self.0)?;
        let weight = validator.weight(tokens);
        self.unbond_from_now(validator);
        validator.is_jailed = true;
        validator.jailed_until = validator.jailed_until.max(until);
        self.forget_absences(validator)?;
        self.put(validator)?;
        self.0.emit(&sol::Jailed { validator: validator.address, until: validator.jailed_until })?;
        self.announce(validator, weight, 0)
    }

    /// Excludes a validator permanently; it counts as one that left.
    pub(super) fn tombstone(&mut self, validator: &mut ValidatorEntry) -> Result<(), Stop> {
        self.jail(validator, u64::MAX)?;
        if !validator.has_left {
            STAKING.active.sub(self.0, U256::from(1))?;
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
        validator.stored.absences.set(self.0, U256::ZERO)?;
        validator.stored.absent_at.set(self.0, U256::ZERO)
    }

    /// Removes a validator that left from the list when its pool has no shares; the caller stores the validator.
    pub(super) fn unlist_when_empty(&mut self, validator: &mut ValidatorEntry) -> Result<(), Stop> {
        if validator.has_left && validator.stored.shares.get(self.0)?.is_zero() {
            self.unlist(validator)
        } else {
            Ok(())
        }
    }

    /// Returns the current worth of a delegator's shares, in wei.
    pub(super) fn worth(&mut self, validator: &ValidatorEntry, delegator: Address) -> Result<U256, Stop> {
        let (_, delegation) = self.delegation(validator, delegator)?;
        self.worth_of(validator, delegation.shares)
    }
}
