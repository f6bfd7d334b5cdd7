//! Storage layout of the staking contract, and its typed access.
//!
//! | slot | what |
//! |---|---|
//! | 0 to 4 | parameters |
//! | 5, 6, 7 | stake bonded, stake unbonding, rewards owed |
//! | 8, 9 | minted and burned since genesis |
//! | 10 | proposer of the last block |
//! | 11 | list of validators: length, elements as of a dynamic array |
//! | 12 | validators that have not left |
//! | 13, 14 | exit queue: first and next position, `mapping(position => address)` |
//! | 18, 19 | activation queue, in the same way |
//! | 15 | `mapping(address => validator)`, see [`ValidatorEntry`] and the constants below |
//! | 16 | `mapping(validator => mapping(delegator => delegation))`: shares, reward ratio when last settled, rewards settled |
//! | 17 | `mapping(delegator => unbonding[])`, three slots each |

use alloy_primitives::{Address, U256, U512};

use super::{
    interface as sol,
    params::{PPM, StakingParams, WEIGHT_UNIT},
};
use crate::{
    state::{StateError, StateView},
    vm::{
        Host, Stop,
        abi::{self, PANIC_OVERFLOW},
    },
};

const fn slot(number: u64) -> U256 {
    U256::from_limbs([number, 0, 0, 0])
}

const PARAMS: U256 = slot(0);
pub(super) const BONDED: U256 = slot(5);
pub(super) const UNBONDING: U256 = slot(6);
pub(super) const REWARDS: U256 = slot(7);
pub(super) const MINTED: U256 = slot(8);
pub(super) const BURNED: U256 = slot(9);
pub(super) const LAST_PROPOSER: U256 = slot(10);
const LIST: U256 = slot(11);
pub(super) const ACTIVE: U256 = slot(12);
const VALIDATORS: U256 = slot(15);
const DELEGATIONS: U256 = slot(16);
pub(super) const UNBONDINGS: U256 = slot(17);

/// A queue of validators: the slot of its ends, followed by that of its elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue(U256);

/// Validators that wait to leave.
pub(super) const EXITS: Queue = Queue(slot(13));
/// Validators that wait to become active.
pub(super) const ACTIVATIONS: Queue = Queue(slot(18));

/// Liabilities of the contract, and amounts minted and burned since genesis, in wei, read from a state without a
/// call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StakeSums {
    /// Balance of the contract.
    pub balance: U256,
    /// Stake in pools.
    pub bonded: U256,
    /// Unbonding stake, before slashing.
    pub unbonding: U256,
    /// Rewards and commissions not claimed.
    pub rewards: U256,
    /// Amount minted since genesis.
    pub minted: U256,
    /// Amount burned since genesis.
    pub burned: U256,
}

impl StakeSums {
    /// Reads the sums; all are zero without the contract.
    ///
    /// # Errors
    /// [`StateError`] when the state cannot be read.
    pub fn read(state: &dyn StateView) -> Result<Self, StateError> {
        let sum = |slot: &U256| state.storage(&super::STAKING_ADDRESS, slot);
        Ok(Self {
            balance: state.account(&super::STAKING_ADDRESS)?.unwrap_or_default().balance,
            bonded: sum(&BONDED)?,
            unbonding: sum(&UNBONDING)?,
            rewards: sum(&REWARDS)?,
            minted: sum(&MINTED)?,
            burned: sum(&BURNED)?,
        })
    }

    /// Returns the sum of the liabilities; the rest of the balance is fees that the next block distributes.
    pub fn owed(&self) -> U256 {
        self.bonded.saturating_add(self.unbonding).saturating_add(self.rewards)
    }
}

/// Offsets from a validator's slot: flags and commission, times, then one number each.
const META: u64 = 0;
const LIFE: u64 = 1;
pub(super) const TOKENS: u64 = 2;
pub(super) const SHARES: u64 = 3;
/// Rewards per share since it joined first, times 2^128.
pub(super) const RATIO: u64 = 4;
pub(super) const COMMISSION: u64 = 5;
/// One bit per block of the downtime window, set for an absence; the lowest is for the block in [`ABSENT_AT`].
pub(super) const ABSENCES: u64 = 6;
pub(super) const ABSENT_AT: u64 = 7;
/// `mapping(index => slash)`: height of the infraction, time of the slash, fraction.
const SLASHES: u64 = 8;

const EXISTS: u64 = 1;
const IN_QUEUE: u64 = 1 << 1;
const HAS_LEFT: u64 = 1 << 2;
const JAILED: u64 = 1 << 3;
const TOMBSTONED: u64 = 1 << 4;
const PENDING: u64 = 1 << 5;

/// A validator's flags, commission and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValidatorEntry {
    pub(super) address: Address,
    base: U256,
    /// Whether it ever joined.
    pub(super) exists: bool,
    /// Whether it waits in the exit queue.
    pub(super) in_queue: bool,
    pub(super) has_left: bool,
    pub(super) is_jailed: bool,
    pub(super) is_tombstoned: bool,
    /// Whether it waits in the activation queue.
    pub(super) is_pending: bool,
    pub(super) commission_bps: u16,
    pub(super) max_commission_bps: u16,
    pub(super) max_change_bps: u16,
    /// Time of the last change of the commission, in seconds since the Unix epoch.
    pub(super) commission_changed_at: u64,
    /// Position in the list, from 1; 0 when it is not listed.
    pub(super) place: u64,
    /// Number of slashes.
    pub(super) slashes: u64,
    pub(super) jailed_until: u64,
    /// Height at which it ceased to be bonded; the time follows.
    pub(super) unbonded_height: u64,
    pub(super) unbonded_at: u64,
    /// Height from which its absences count.
    pub(super) start_height: u64,
}

impl Queue {
    const fn elements(self) -> U256 {
        self.0.wrapping_add(slot(1))
    }
}

impl ValidatorEntry {
    /// Returns whether it is in consensus.
    pub(super) const fn is_bonded(&self) -> bool {
        self.exists && !self.is_jailed && !self.has_left && !self.is_tombstoned && !self.is_pending
    }

    /// Returns its consensus weight with this stake.
    pub(super) fn weight(&self, tokens: U256) -> u64 {
        if self.is_bonded() { (tokens / WEIGHT_UNIT).saturating_to() } else { 0 }
    }

    fn field(&self, offset: u64) -> U256 {
        self.base.wrapping_add(slot(offset))
    }
}

/// One slash, which also reduces unbondings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slash {
    pub(super) infraction_height: u64,
    pub(super) time: u64,
    pub(super) fraction_ppm: u64,
    /// Whether it is for an equivocation, for which all unbondings of the validator's own stake answer.
    pub(super) is_equivocation: bool,
}

/// A delegator's part of a validator's pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delegation {
    base: U256,
    pub(super) shares: U256,
    /// Ratio of the pool when rewards were last settled.
    pub(super) ratio: U256,
    /// Rewards settled and not claimed.
    pub(super) rewards: U256,
}

/// Unbonding stake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnbondingEntry {
    pub(super) validator: Address,
    /// Index of the validator's first slash that may reduce it.
    pub(super) first_slash: u64,
    /// Amount before slashing.
    pub(super) amount: U256,
    pub(super) begun_height: u64,
    pub(super) completes_at: u64,
}

/// The contract's functions over its storage.
pub(super) struct Staking<'s, 'h>(pub(super) &'s mut Host<'h>);

/// Numbers.
impl Staking<'_, '_> {
    pub(super) fn height(&self) -> u64 {
        self.0.block().height.get()
    }

    pub(super) fn now(&self) -> u64 {
        self.0.block().timestamp.as_secs()
    }

    pub(super) fn add(&mut self, slot: U256, amount: U256) -> Result<(), Stop> {
        let sum = self.0.load(slot)?.checked_add(amount).ok_or_else(overflow)?;
        self.0.store(slot, sum)
    }

    pub(super) fn sub(&mut self, slot: U256, amount: U256) -> Result<(), Stop> {
        let rest = self.0.load(slot)?.checked_sub(amount).ok_or_else(overflow)?;
        self.0.store(slot, rest)
    }
}

/// Parameters.
impl Staking<'_, '_> {
    pub(super) fn put_params(&mut self, params: &StakingParams) -> Result<(), Stop> {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let words = [
            U256::from_limbs([
                params.unbonding_secs,
                params.commission_change_secs,
                params.downtime_jail_secs,
                params.evidence_max_age_secs,
            ]),
            U256::from_limbs([
                params.evidence_max_age_blocks,
                pair(params.max_validators, params.churn_limit),
                pair(params.double_sign_slash_ppm, params.downtime_slash_ppm),
                u64::from(params.downtime_min_signed_ppm)
                    | u64::from(params.downtime_window) << 32
                    | u64::from(params.genesis_commission_bps) << 48
                    | u64::from(params.share_fees) << 63,
            ]),
            params.min_self_stake,
            params.min_delegation,
            params.block_reward,
        ];
        for (number, word) in (0..).zip(words) {
            self.0.store(PARAMS.wrapping_add(slot(number)), word)?;
        }
        Ok(())
    }

    pub(super) fn load_params(&mut self) -> Result<StakingParams, Stop> {
        let mut words = [U256::ZERO; 5];
        for (number, word) in (0..).zip(&mut words) {
            *word = self.0.load(PARAMS.wrapping_add(slot(number)))?;
        }
        let [times, limits, min_self_stake, min_delegation, block_reward] = words;
        let [unbonding_secs, commission_change_secs, downtime_jail_secs, evidence_max_age_secs] = times.into_limbs();
        let [evidence_max_age_blocks, counts, cuts, downtime] = limits.into_limbs();
        let (low, high) = (|pair: u64| pair as u32, |pair: u64| (pair >> 32) as u32);
        Ok(StakingParams {
            unbonding_secs,
            min_self_stake,
            min_delegation,
            max_validators: low(counts),
            block_reward,
            share_fees: downtime >> 63 == 1,
            // At most 10,000, so that the highest bit is free.
            genesis_commission_bps: (downtime >> 48) as u16 & 0x7fff,
            commission_change_secs,
            double_sign_slash_ppm: low(cuts),
            downtime_slash_ppm: high(cuts),
            downtime_window: high(downtime) & 0xffff,
            downtime_min_signed_ppm: low(downtime),
            downtime_jail_secs,
            evidence_max_age_blocks,
            evidence_max_age_secs,
            churn_limit: high(counts),
        })
    }
}

/// Validators.
impl Staking<'_, '_> {
    /// Returns the validator under this address, joined or not.
    pub(super) fn find(&mut self, address: Address) -> Result<ValidatorEntry, Stop> {
        let base = self.0.address_mapping_slot(&address, VALIDATORS)?;
        let [meta, commission_changed_at, place, slashes] = self.0.load(base)?.into_limbs();
        let [jailed_until, unbonded_height, unbonded_at, start_height] =
            self.0.load(base.wrapping_add(slot(LIFE)))?.into_limbs();
        Ok(ValidatorEntry {
            address,
            base,
            exists: meta & EXISTS != 0,
            in_queue: meta & IN_QUEUE != 0,
            has_left: meta & HAS_LEFT != 0,
            is_jailed: meta & JAILED != 0,
            is_tombstoned: meta & TOMBSTONED != 0,
            is_pending: meta & PENDING != 0,
            commission_bps: (meta >> 16) as u16,
            max_commission_bps: (meta >> 32) as u16,
            max_change_bps: (meta >> 48) as u16,
            commission_changed_at,
            place,
            slashes,
            jailed_until,
            unbonded_height,
            unbonded_at,
            start_height,
        })
    }

    /// Returns the validator under this address, which must have joined.
    pub(super) fn get(&mut self, address: Address) -> Result<ValidatorEntry, Stop> {
        let validator = self.find(address)?;
        if validator.exists { Ok(validator) } else { Err(abi::revert(&sol::UnknownValidator { validator: address })) }
    }

    pub(super) fn put(&mut self, validator: &ValidatorEntry) -> Result<(), Stop> {
        let flags = [
            (validator.exists, EXISTS),
            (validator.in_queue, IN_QUEUE),
            (validator.has_left, HAS_LEFT),
            (validator.is_jailed, JAILED),
            (validator.is_tombstoned, TOMBSTONED),
            (validator.is_pending, PENDING),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set).fold(0, |word, (_, bit)| word | bit);
        let meta = flags
            | u64::from(validator.commission_bps) << 16
            | u64::from(validator.max_commission_bps) << 32
            | u64::from(validator.max_change_bps) << 48;
        let meta = U256::from_limbs([meta, validator.commission_changed_at, validator.place, validator.slashes]);
        self.0.store(validator.field(META), meta)?;
        let ValidatorEntry { jailed_until, unbonded_height, unbonded_at, start_height, .. } = *validator;
        let life = U256::from_limbs([jailed_until, unbonded_height, unbonded_at, start_height]);
        self.0.store(validator.field(LIFE), life)
    }

    pub(super) fn field(&mut self, validator: &ValidatorEntry, offset: u64) -> Result<U256, Stop> {
        self.0.load(validator.field(offset))
    }

    pub(super) fn put_field(&mut self, validator: &ValidatorEntry, offset: u64, value: U256) -> Result<(), Stop> {
        self.0.store(validator.field(offset), value)
    }

    /// Appends a slash; the caller stores the validator.
    pub(super) fn push_slash(&mut self, validator: &mut ValidatorEntry, slash: Slash) -> Result<(), Stop> {
        let place = self.0.mapping_slot(slot(validator.slashes), validator.field(SLASHES))?;
        validator.slashes += 1;
        self.0.store(
            place,
            U256::from_limbs([slash.infraction_height, slash.time, slash.fraction_ppm, slash.is_equivocation.into()]),
        )
    }

    pub(super) fn slash_at(&mut self, validator: &ValidatorEntry, index: u64) -> Result<Slash, Stop> {
        let place = self.0.mapping_slot(slot(index), validator.field(SLASHES))?;
        let [infraction_height, time, fraction_ppm, is_equivocation] = self.0.load(place)?.into_limbs();
        Ok(Slash { infraction_height, time, fraction_ppm, is_equivocation: is_equivocation != 0 })
    }

    /// Emits the new weight if it changed.
    pub(super) fn announce(&mut self, validator: Address, old: u64, new: u64) -> Result<(), Stop> {
        if old == new { Ok(()) } else { self.0.emit(&sol::WeightChanged { validator, weight: new }) }
    }
}

/// The list of validators, and the queues.
impl Staking<'_, '_> {
    pub(super) fn listed(&mut self) -> Result<u64, Stop> {
        Ok(self.0.load(LIST)?.saturating_to())
    }

    pub(super) fn listed_at(&mut self, index: u64) -> Result<Address, Stop> {
        let place = self.list_slot(index)?;
        Ok(address_of(self.0.load(place)?))
    }

    /// Appends a validator to the list; the caller stores the validator.
    pub(super) fn list(&mut self, validator: &mut ValidatorEntry) -> Result<(), Stop> {
        let length = self.listed()?;
        let place = self.list_slot(length)?;
        self.0.store(place, word_of(validator.address))?;
        self.0.store(LIST, slot(length + 1))?;
        validator.place = length + 1;
        Ok(())
    }

    /// Removes a validator from the list, moving the last one to its position; the caller stores the validator.
    pub(super) fn unlist(&mut self, validator: &mut ValidatorEntry) -> Result<(), Stop> {
        let Some(index) = validator.place.checked_sub(1) else { return Ok(()) };
        let last = self.listed()?.checked_sub(1).ok_or_else(overflow)?;
        let last_slot = self.list_slot(last)?;
        if index != last {
            let mut moved = {
                let address = address_of(self.0.load(last_slot)?);
                self.find(address)?
            };
            moved.place = validator.place;
            self.put(&moved)?;
            let own_slot = self.list_slot(index)?;
            self.0.store(own_slot, word_of(moved.address))?;
        }
        self.0.store(last_slot, U256::ZERO)?;
        self.0.store(LIST, slot(last))?;
        validator.place = 0;
        Ok(())
    }

    fn list_slot(&mut self, index: u64) -> Result<U256, Stop> {
        Ok(self.0.array_slot(LIST)?.wrapping_add(slot(index)))
    }

    /// Returns the first and the next position of a queue.
    pub(super) fn ends_of(&mut self, Queue(base): Queue) -> Result<(u64, u64), Stop> {
        let [first, next, ..] = self.0.load(base)?.into_limbs();
        Ok((first, next))
    }

    pub(super) fn enqueue(&mut self, queue: Queue, validator: Address) -> Result<(), Stop> {
        let (first, next) = self.ends_of(queue)?;
        let place = self.0.mapping_slot(slot(next), queue.elements())?;
        self.0.store(place, word_of(validator))?;
        self.0.store(queue.0, U256::from_limbs([first, next + 1, 0, 0]))
    }

    /// Removes the first validator of a queue.
    pub(super) fn dequeue(&mut self, queue: Queue) -> Result<Option<Address>, Stop> {
        let (first, next) = self.ends_of(queue)?;
        if first == next {
            return Ok(None);
        }
        let place = self.0.mapping_slot(slot(first), queue.elements())?;
        let validator = address_of(self.0.load(place)?);
        self.0.store(place, U256::ZERO)?;
        self.0.store(queue.0, U256::from_limbs([first + 1, next, 0, 0]))?;
        Ok(Some(validator))
    }
}

/// Delegations and unbondings.
impl Staking<'_, '_> {
    pub(super) fn delegation(&mut self, validator: &ValidatorEntry, delegator: &Address) -> Result<Delegation, Stop> {
        let of_validator = self.0.address_mapping_slot(&validator.address, DELEGATIONS)?;
        let base = self.0.address_mapping_slot(delegator, of_validator)?;
        let shares = self.0.load(base)?;
        let ratio = self.0.load(base.wrapping_add(slot(1)))?;
        let rewards = self.0.load(base.wrapping_add(slot(2)))?;
        Ok(Delegation { base, shares, ratio, rewards })
    }

    pub(super) fn put_delegation(&mut self, delegation: &Delegation) -> Result<(), Stop> {
        let Delegation { base, shares, ratio, rewards } = *delegation;
        // Without shares the ratio is zero too, so that an ended delegation frees its slots.
        let ratio = if shares.is_zero() { U256::ZERO } else { ratio };
        for (number, word) in (0..).zip([shares, ratio, rewards]) {
            self.0.store(base.wrapping_add(slot(number)), word)?;
        }
        Ok(())
    }

    /// Returns the number of unbondings of a delegator, and the slot of that number.
    pub(super) fn unbonding_count(&mut self, delegator: &Address) -> Result<(u64, U256), Stop> {
        let base = self.0.address_mapping_slot(delegator, UNBONDINGS)?;
        Ok((self.0.load(base)?.saturating_to(), base))
    }

    pub(super) fn unbonding(&mut self, list: U256, index: u64) -> Result<UnbondingEntry, Stop> {
        let base = self.0.array_slot(list)?.wrapping_add(slot(3 * index));
        let who = self.0.load(base)?;
        let amount = self.0.load(base.wrapping_add(slot(1)))?;
        let [begun_height, completes_at, ..] = self.0.load(base.wrapping_add(slot(2)))?.into_limbs();
        let first_slash = (who >> 160_usize).saturating_to();
        Ok(UnbondingEntry { validator: address_of(who), first_slash, amount, begun_height, completes_at })
    }

    pub(super) fn put_unbonding(&mut self, list: U256, index: u64, entry: Option<&UnbondingEntry>) -> Result<(), Stop> {
        let base = self.0.array_slot(list)?.wrapping_add(slot(3 * index));
        let words = entry.map_or([U256::ZERO; 3], |entry| {
            let who = word_of(entry.validator) | slot(entry.first_slash) << 160_usize;
            [who, entry.amount, U256::from_limbs([entry.begun_height, entry.completes_at, 0, 0])]
        });
        for (number, word) in (0..).zip(words) {
            self.0.store(base.wrapping_add(slot(number)), word)?;
        }
        Ok(())
    }

    pub(super) fn put_unbonding_count(&mut self, list: U256, count: u64) -> Result<(), Stop> {
        self.0.store(list, slot(count))
    }
}

pub(super) fn word_of(address: Address) -> U256 {
    address.into_word().into()
}

pub(super) fn address_of(word: U256) -> Address {
    Address::from_word(word.into())
}

pub(super) fn overflow() -> Stop {
    abi::panic(PANIC_OVERFLOW)
}

/// Returns `a * b / c`, rounded down; `None` for division by zero or a result of more than 256 bits.
pub(super) fn mul_div(a: U256, b: U256, c: U256) -> Option<U256> {
    divide(a, b, c).map(|(quotient, _)| quotient)
}

/// Returns `a * b / c`, rounded up.
pub(super) fn mul_div_up(a: U256, b: U256, c: U256) -> Option<U256> {
    let (quotient, is_exact) = divide(a, b, c)?;
    if is_exact { Some(quotient) } else { quotient.checked_add(U256::from(1)) }
}

fn divide(a: U256, b: U256, c: U256) -> Option<(U256, bool)> {
    if c.is_zero() {
        return None;
    }
    let product: U512 = a.widening_mul(b);
    let (quotient, rest) = product.div_rem(U512::from(c));
    let (low, high) = quotient.as_limbs().split_at(4);
    high.iter().all(|limb| *limb == 0).then(|| (U256::from_limbs_slice(low), rest.is_zero()))
}

/// Returns `amount * fraction`, rounded down, the fraction in millionths.
pub(super) fn part(amount: U256, fraction_ppm: u64) -> U256 {
    mul_div(amount, U256::from(fraction_ppm), U256::from(PPM)).unwrap_or(amount)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_more_than_256_bits_are_divided() {
        let big = U256::from(1) << 200_usize;
        assert_eq!(mul_div(big, big, big), Some(big));
        assert_eq!(mul_div(big, big, U256::from(1)), None);
        assert_eq!(mul_div(big, big, U256::ZERO), None);
        assert_eq!(mul_div(U256::from(7), U256::from(3), U256::from(2)), Some(U256::from(10)));
        assert_eq!(mul_div_up(U256::from(7), U256::from(3), U256::from(2)), Some(U256::from(11)));
        assert_eq!(mul_div_up(U256::from(7), U256::from(4), U256::from(2)), Some(U256::from(14)));
        assert_eq!(part(U256::from(999), 50_000), U256::from(49));
    }
}
