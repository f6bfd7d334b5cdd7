//! Slashing: evidence, absence, and penalties that a protocol orders.

use alloy_primitives::{Address, U256};

use super::{
    Offence, interface as sol,
    layout::{STAKING, Slash, Staking, ValidatorEntry, part},
    params::StakingParams,
};
use crate::{
    primitives::mutation::{self, Mutation},
    vm::{Stop, abi::empty_revert, math::CheckedMath},
};

/// What the places of a downtime window stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Places {
    /// The last blocks of the chain: whoever is not absent from one has been there.
    Blocks,
    /// The validator's own last turns.
    Turns,
}

impl Staking<'_, '_> {
    /// Starts a block: distributes its reward, counts the absences since the block before, and keeps the stake locked of those whom the
    /// protocol counts on though they are out of consensus here.
    pub(super) fn begin_block(&mut self, proposer: Address, absent: &[Address]) -> Result<(), Stop> {
        let params = self.load_params()?;
        self.start(&params, proposer)?;
        self.note_absences(&params, absent, Places::Blocks)
    }

    /// Starts a block that the proposer made in its turn, as [`Staking::begin_block`], where `absent` did not take theirs.
    pub(super) fn begin_turn(&mut self, proposer: Address, absent: &[Address]) -> Result<(), Stop> {
        let params = self.load_params()?;
        let operator = self.start(&params, proposer)?;
        let absences = self.find(operator)?.stored.absences;
        let noted = absences.get(self.0)?;
        if !noted.is_zero() {
            absences.set(self.0, within_window(&params, noted << 1))?;
        }
        self.note_absences(&params, absent, Places::Turns)
    }

    /// Distributes the reward of a block, and returns its proposer's operator.
    fn start(&mut self, params: &StakingParams, proposer: Address) -> Result<Address, Stop> {
        let operator = self.operator_of(proposer)?;
        let validator = self.find(operator)?;
        self.reward_proposer(params, &validator)?;
        self.note_duty(validator)?;
        Ok(operator)
    }

    fn note_absences(&mut self, params: &StakingParams, absent: &[Address], places: Places) -> Result<(), Stop> {
        for key in absent {
            let validator = self.operator_of(*key)?;
            self.note_absence(params, validator, places)?;
        }
        Ok(())
    }

    /// Counts an absence in the window and punishes when there are too many. As in the Cosmos SDK, a validator is not
    /// punished within a window, in blocks, after it joined or left jail, and jail clears the count.
    fn note_absence(&mut self, params: &StakingParams, address: Address, places: Places) -> Result<(), Stop> {
        let mut validator = self.find(address)?;
        if !validator.is_bonded() {
            return self.note_duty(validator);
        }
        let before = self.absences(params, &validator)?;
        let absences = match places {
            Places::Blocks => before,
            Places::Turns => within_window(params, before << 1),
        } | U256::from(1);
        let missed = absences.count_ones() as u64;
        let window = u64::from(params.downtime_window);
        let counts = self.height() > validator.start_height.saturating_add(window);
        if counts && missed > params.absences_max() {
            let infraction_height = self.height().saturating_sub(1);
            self.slash_stake(&mut validator, Offence::Downtime, infraction_height, params.downtime_slash_ppm)?;
            return self.jail(&mut validator, self.now().saturating_add(params.downtime_jail_secs));
        }
        validator.stored.absences.set(self.0, absences)?;
        match places {
            Places::Blocks => validator.stored.absent_at.set(self.0, U256::from(self.height())),
            Places::Turns => Ok(()),
        }
    }

    /// Returns the window: shifted to this block, whose bit is the lowest, or as the validator's last turn left it.
    pub(super) fn absences(&mut self, params: &StakingParams, validator: &ValidatorEntry) -> Result<U256, Stop> {
        let absences = validator.stored.absences.get(self.0)?;
        let noted_at: u64 = validator.stored.absent_at.get(self.0)?.saturating_to();
        if noted_at == 0 {
            return Ok(absences);
        }
        let passed = self.height().saturating_sub(noted_at).min(256) as usize;
        // A shift by the full width clears the window.
        let shifted = if passed == 256 { U256::ZERO } else { absences << passed };
        Ok(within_window(params, shifted))
    }

    /// Punishes for evidence, unless it is too old. Whose stake is free is not slashed, but never validates again: protocols take evidence once,
    /// so that one who came back later would have got rid of it.
    pub(super) fn slash(
        &mut self,
        key: Address,
        offence: u8,
        infraction_height: u64,
        infraction_time: u64,
    ) -> Result<(), Stop> {
        let params = self.load_params()?;
        let offence = Offence::from_code(offence).ok_or_else(empty_revert)?;
        let address = self.operator_of(key)?;
        let mut validator = self.find(address)?;
        let is_expired = self.height().saturating_sub(infraction_height) > params.evidence_max_age_blocks
            && self.now().saturating_sub(infraction_time) > params.evidence_age_secs();
        let has_free_stake = self.is_unbonded(&params, &validator)?;
        let is_moot =
            has_free_stake && (offence == Offence::Downtime || mutation::active(Mutation::StakingWastesEvidence));
        if !validator.exists || validator.is_tombstoned || is_expired || is_moot {
            let (validator, offence) = (address, offence.code());
            self.0.emit(&sol::EvidenceIgnored { validator, offence, infractionHeight: infraction_height })?;
            return Ok(());
        }
        if has_free_stake {
            self.tombstone(&mut validator)?;
        } else if offence == Offence::Downtime {
            self.slash_stake(&mut validator, offence, infraction_height, params.downtime_slash_ppm)?;
            self.jail(&mut validator, self.now().saturating_add(params.downtime_jail_secs))?;
        } else {
            self.slash_stake(&mut validator, offence, infraction_height, params.double_sign_slash_ppm)?;
            self.tombstone(&mut validator)?;
        }
        Ok(())
    }

    /// Burns a part of the pool now, and of the unbondings begun since the infraction when they are withdrawn. The
    /// caller stores the validator.
    fn slash_stake(
        &mut self,
        validator: &mut ValidatorEntry,
        offence: Offence,
        infraction_height: u64,
        fraction_ppm: u32,
    ) -> Result<(), Stop> {
        let amount = part(validator.stored.tokens.get(self.0)?, fraction_ppm.into());
        let is_equivocation = offence != Offence::Downtime;
        let slash = Slash { infraction_height, time: self.now(), fraction_ppm: fraction_ppm.into(), is_equivocation };
        self.push_slash(validator, slash)?;
        self.put(validator)?;
        self.take_from_pool(validator, amount)?;
        self.0.emit(&sol::Slashed {
            validator: validator.address,
            offence: offence.code(),
            infractionHeight: infraction_height,
            fractionPpm: fraction_ppm,
            burned: amount,
        })
    }

    /// Burns amounts of pools as the protocol orders, each at most the pool.
    pub(super) fn penalize(&mut self, validators: &[Address], amounts: &[U256]) -> Result<(), Stop> {
        if validators.len() != amounts.len() {
            return Err(empty_revert());
        }
        for (key, amount) in validators.iter().zip(amounts) {
            self.penalize_one(*key, *amount)?;
        }
        Ok(())
    }

    /// Burns an amount of a pool, at most the pool, and returns the validator and what its pool has left.
    pub(super) fn penalize_one(&mut self, key: Address, amount: U256) -> Result<(ValidatorEntry, U256), Stop> {
        let address = self.operator_of(key)?;
        let validator = self.find(address)?;
        let tokens = validator.stored.tokens.get(self.0)?;
        let burned = tokens.min(amount);
        if !burned.is_zero() {
            self.take_from_pool(&validator, burned)?;
            self.0.emit(&sol::Penalized { validator: address, burned })?;
        }
        Ok((validator, tokens - burned))
    }

    fn take_from_pool(&mut self, validator: &ValidatorEntry, amount: U256) -> Result<(), Stop> {
        let tokens = validator.stored.tokens.get(self.0)?;
        let rest = tokens.sub(amount)?;
        validator.stored.tokens.set(self.0, rest)?;
        STAKING.bonded.sub(self.0, amount)?;
        self.destroy(amount)?;
        self.announce(validator, validator.weight(tokens), validator.weight(rest))
    }
}

/// Returns the places that the window has.
fn within_window(params: &StakingParams, absences: U256) -> U256 {
    absences & (U256::MAX >> (256 - params.downtime_window.clamp(1, 256) as usize))
}
