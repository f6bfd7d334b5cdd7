//! How long a validator's stake is locked: as long as what it signs may be evidence.
//!
//! A protocol takes over what changes here at a boundary of its own, or never while too few would be left. Who has a duty there has its stake
//! locked, whatever it is here: by name, in blocks and at the ends of epochs, or as a member of the protocol's present set or its next.

use alloy_primitives::{Address, U256};

use super::{
    layout::{STAKING, Staking, ValidatorEntry},
    params::StakingParams,
};
use crate::{
    primitives::mutation::{self, Mutation},
    vm::Stop,
};

impl Staking<'_, '_> {
    /// Starts the unbonding period anew of a validator that has left, or is in jail, and has a duty still.
    pub(super) fn note_duty(&mut self, mut validator: ValidatorEntry) -> Result<(), Stop> {
        let is_out = validator.exists && !validator.is_bonded() && !validator.is_tombstoned;
        if !is_out || mutation::active(Mutation::StakingFreesOnDuty) {
            return Ok(());
        }
        (validator.unbonded_height, validator.unbonded_at) = (self.height(), self.now());
        self.put(&validator)
    }

    /// Notes the members of the protocol's next set: their stake is locked from now on.
    pub(super) fn elect_set(&mut self, members: &[Address]) -> Result<(), Stop> {
        let next = self.next_set()?;
        for key in members {
            let operator = self.operator_of(*key)?;
            STAKING.validators.at(self.0, operator)?.last_set.set(self.0, next)?;
        }
        Ok(())
    }

    /// Notes that the next set is the present one, which releases who was in the one before alone.
    pub(super) fn begin_set(&mut self) -> Result<(), Stop> {
        let present = self.next_set()?;
        STAKING.set.set(self.0, present)?;
        STAKING.set_times.set(self.0, present.saturating_to(), U256::from(self.now()))
    }

    fn next_set(&mut self) -> Result<U256, Stop> {
        Ok(STAKING.set.get(self.0)?.saturating_add(U256::ONE))
    }

    /// Returns whether a validator's stake is free: it has been out of consensus, and without a duty, for longer than the unbonding period.
    pub(super) fn is_unbonded(&mut self, params: &StakingParams, validator: &ValidatorEntry) -> Result<bool, Stop> {
        Ok(self.now() >= self.locked_until(params, validator)?)
    }

    /// Returns the time, in seconds since the Unix epoch, at which a validator's stake is free, as known by now; the largest number while
    /// it is in consensus, here or in the protocol's set.
    pub(super) fn locked_until(&mut self, params: &StakingParams, validator: &ValidatorEntry) -> Result<u64, Stop> {
        if validator.is_bonded() {
            return Ok(u64::MAX);
        }
        let released_at = self.released_at(validator)?;
        Ok(released_at.map_or(u64::MAX, |time| time.max(validator.unbonded_at).saturating_add(params.unbonding_secs)))
    }

    /// Returns when a set followed the last one that has the validator; `None` while that is the present one or the next. 0 where no set had it,
    /// as where the protocol names none.
    fn released_at(&mut self, validator: &ValidatorEntry) -> Result<Option<u64>, Stop> {
        let last = validator.stored.last_set.get(self.0)?;
        if last.is_zero() || mutation::active(Mutation::StakingFreesMembers) {
            return Ok(Some(0));
        }
        let present = STAKING.set.get(self.0)?;
        if last == present || (last > present && !mutation::active(Mutation::StakingFreesElected)) {
            return Ok(None);
        }
        let next = last.saturating_add(U256::ONE).saturating_to();
        Ok(Some(STAKING.set_times.get(self.0, next)?.saturating_to()))
    }

    /// Returns [`Staking::locked_until`] of the validator under this address; 0 of who never was one.
    pub(super) fn stake_locked_until(&mut self, address: Address) -> Result<u64, Stop> {
        let params = self.load_params()?;
        let validator = self.find(address)?;
        if validator.exists { self.locked_until(&params, &validator) } else { Ok(0) }
    }
}
