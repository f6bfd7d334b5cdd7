//! State variables of the staking contract, and typed access to them.

use core::ops::{Deref, DerefMut};

use alloy_primitives::{Address, U256};

use super::{
    interface as sol,
    params::{PPM, StakingParams, WEIGHT_UNIT},
};
use crate::{
    state::{StateError, StateView},
    system::{address::PARAMETERS_ADDRESS, parameter::Parameter, sealing_keys::SealingKeys},
    templates::common::{Nonces, Trace208},
    vm::{
        Host, Stop,
        abi::require,
        math::{Rounding, checked_mul_div, overflow},
        storage::{Array, Mapping, Slot, record, storage},
    },
};

storage! {
    /// State variables, in solc's order.
    pub(super) contract StakingStorage {
        params: Slot<PackedParams>,
        /// Stake in pools, in wei.
        pub(super) bonded: Slot<U256>,
        /// Unbonding stake, in wei, before slashing.
        pub(super) unbonding: Slot<U256>,
        /// Rewards and commissions not claimed, in wei.
        pub(super) rewards: Slot<U256>,
        /// Amount minted since genesis, in wei.
        pub(super) minted: Slot<U256>,
        /// Amount burned since genesis, in wei.
        pub(super) burned: Slot<U256>,
        pub(super) last_proposer: Slot<Address>,
        list: Array<Address>,
        /// Number of validators that have not left.
        pub(super) active: Slot<U256>,
        /// Validators that wait to leave.
        pub(super) exits: Queue,
        pub(super) validators: Mapping<Address, Validator>,
        /// By validator and delegator.
        delegations: Mapping<Address, Mapping<Address, Delegation>>,
        /// By delegator.
        pub(super) unbondings: Mapping<Address, Array<UnbondingEntry>>,
        /// Validators that wait to become active.
        pub(super) activations: Queue,
        /// Weight of all validators by height, on chains with governance.
        pub(super) total_weights: Trace208,
        /// Sealing keys of operators.
        pub(super) keys: SealingKeys,
        /// Operators whose new key waits for its turn.
        pub(super) rotations: Queue,
        /// That key, by operator; zero for none.
        pub(super) waiting_keys: Mapping<Address, Address>,
        /// Consents that each operator gave and another used.
        pub(super) consents: Nonces,
        /// Number of the protocol's present set, from 1; 0 where the protocol does not name its sets.
        pub(super) set: Slot<U256>,
        /// Time at which each set followed the one before, in seconds since the Unix epoch, by number.
        pub(super) set_times: Mapping<u64, U256>,
    }
}

/// The variables.
pub(super) const STAKING: StakingStorage = StakingStorage::STATE;

storage! {
    /// A validator.
    pub(super) struct Validator {
        entry: Slot<PackedEntry>,
        pub(super) tokens: Slot<U256>,
        pub(super) shares: Slot<U256>,
        /// Rewards per share since it joined first, times 2^128.
        pub(super) ratio: Slot<U256>,
        pub(super) commission: Slot<U256>,
        /// One bit per block of the downtime window, set for an absence; the lowest is for the block in `absent_at`. One per turn of the
        /// validator where that is 0.
        pub(super) absences: Slot<U256>,
        pub(super) absent_at: Slot<U256>,
        slashes: Mapping<u64, Slash>,
        /// Weight by height, on chains with governance.
        pub(super) weights: Trace208,
        /// Number of the protocol's last set that has it, which may be the next one; 0 if none has.
        pub(super) last_set: Slot<U256>,
    }
}

storage! {
    /// A queue of validators.
    pub(super) struct Queue {
        ends: Slot<QueueEnds>,
        elements: Mapping<u64, Address>,
    }
}

record! {
    /// Positions of a queue.
    #[derive(Clone, Copy, Debug)]
    struct QueueEnds {
        /// The first element's.
        first: u64,
        /// That after the last element's.
        next: u64,
    }
}

record! {
    /// The parameters.
    #[derive(Clone, Copy, Debug)]
    struct PackedParams {
        unbonding_secs: u64,
        commission_change_secs: u64,
        downtime_jail_secs: u64,
        evidence_max_age_secs: u64,
        evidence_max_age_blocks: u64,
        max_validators: u32,
        churn_limit: u32,
        double_sign_slash_ppm: u32,
        downtime_slash_ppm: u32,
        downtime_min_signed_ppm: u32,
        downtime_window: u16,
        /// At most 10,000, so that the two highest bits are free: one is set where fees are shared, one where past weights are kept.
        genesis_commission_bps: u16,
        min_self_stake: U256,
        min_delegation: U256,
        block_reward: U256,
    }
}

/// Bit of [`PackedParams::genesis_commission_bps`] that is set where fees are shared.
const SHARE_FEES: u16 = 1 << 15;

/// Bit of [`PackedParams::genesis_commission_bps`] that is set where past weights are kept.
const KEEPS_HISTORY: u16 = 1 << 14;

record! {
    /// A validator's flags, commission and times, as [`ValidatorEntry`] has them apart.
    #[derive(Clone, Copy, Debug)]
    struct PackedEntry {
        flags: u16,
        commission_bps: u16,
        max_commission_bps: u16,
        max_change_bps: u16,
        commission_changed_at: u64,
        place: u64,
        slashes: u64,
        jailed_until: u64,
        unbonded_height: u64,
        unbonded_at: u64,
        start_height: u64,
    }
}

const EXISTS: u16 = 1;
const IN_QUEUE: u16 = 1 << 1;
const HAS_LEFT: u16 = 1 << 2;
const JAILED: u16 = 1 << 3;
const TOMBSTONED: u16 = 1 << 4;
const PENDING: u16 = 1 << 5;
const HAS_HISTORY: u16 = 1 << 6;
const HAS_KEY: u16 = 1 << 7;

record! {
    /// One slash, which also reduces unbondings.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Slash {
        pub(super) infraction_height: u64,
        pub(super) time: u64,
        pub(super) fraction_ppm: u64,
        /// Whether it is for an equivocation, for which all unbondings of the validator's own stake answer.
        pub(super) is_equivocation: bool,
    }
}

record! {
    /// A delegator's part of a validator's pool.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Delegation {
        pub(super) shares: U256,
        /// Ratio of the pool when rewards were last settled.
        pub(super) ratio: U256,
        /// Rewards settled and not claimed.
        pub(super) rewards: U256,
    }
}

record! {
    /// Unbonding stake.
    #[derive(Clone, Copy, Debug, Default)]
    pub(super) struct UnbondingEntry {
        pub(super) validator: Address,
        /// Index of the validator's first slash that may reduce it.
        pub(super) first_slash: u64,
        /// Amount before slashing.
        pub(super) amount: U256,
        pub(super) begun_height: u64,
        pub(super) completes_at: u64,
    }
}

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
        let sum = |variable: Slot<U256>| state.storage(&super::STAKING_ADDRESS, &variable.slot());
        Ok(Self {
            balance: state.account(&super::STAKING_ADDRESS)?.unwrap_or_default().balance,
            bonded: sum(STAKING.bonded)?,
            unbonding: sum(STAKING.unbonding)?,
            rewards: sum(STAKING.rewards)?,
            minted: sum(STAKING.minted)?,
            burned: sum(STAKING.burned)?,
        })
    }

    /// Returns the sum of the liabilities; the rest of the balance is fees that the next block distributes.
    pub fn owed(&self) -> U256 {
        self.bonded.saturating_add(self.unbonding).saturating_add(self.rewards)
    }
}

/// The parameters, and what genesis decides besides.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredParams {
    pub(super) params: StakingParams,
    /// Whether past weights are kept: on chains with governance.
    pub(super) keeps_history: bool,
}

impl Deref for StoredParams {
    type Target = StakingParams;

    fn deref(&self) -> &StakingParams {
        &self.params
    }
}

impl DerefMut for StoredParams {
    fn deref_mut(&mut self) -> &mut StakingParams {
        &mut self.params
    }
}

/// A validator's flags, commission and times.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValidatorEntry {
    pub(super) address: Address,
    /// The validator in storage.
    pub(super) stored: Validator,
    /// Whether it ever joined.
    pub(super) exists: bool,
    /// Whether it waits in the exit queue.
    pub(super) in_queue: bool,
    pub(super) has_left: bool,
    pub(super) is_jailed: bool,
    pub(super) is_tombstoned: bool,
    /// Whether it waits in the activation queue.
    pub(super) is_pending: bool,
    /// Whether its past weights are kept: known here, so that a change of weight need not read the parameters.
    pub(super) has_history: bool,
    /// Whether it registered a sealing key: known here, so that a change of weight need not look for one.
    pub(super) has_key: bool,
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

impl ValidatorEntry {
    /// Returns whether it is in consensus.
    pub(super) const fn is_bonded(&self) -> bool {
        self.exists && !self.is_jailed && !self.has_left && !self.is_tombstoned && !self.is_pending
    }

    /// Returns its consensus weight with this stake.
    pub(super) fn weight(&self, tokens: U256) -> u64 {
        if self.is_bonded() { (tokens / WEIGHT_UNIT).saturating_to() } else { 0 }
    }
}

/// The contract's functions over its storage.
pub(super) struct Staking<'s, 'h>(pub(super) &'s mut Host<'h>);

/// The block, and the parameters.
impl Staking<'_, '_> {
    pub(super) fn height(&self) -> u64 {
        self.0.block().height.get()
    }

    pub(super) fn now(&self) -> u64 {
        self.0.block().timestamp.as_secs()
    }

    pub(super) fn put_params(&mut self, params: &StoredParams) -> Result<(), Stop> {
        let flags = [(params.share_fees, SHARE_FEES), (params.keeps_history, KEEPS_HISTORY)];
        let flags = flags.iter().filter(|(is_set, _)| *is_set).fold(0, |flags, (_, flag)| flags | flag);
        let packed = PackedParams {
            unbonding_secs: params.unbonding_secs,
            commission_change_secs: params.commission_change_secs,
            downtime_jail_secs: params.downtime_jail_secs,
            evidence_max_age_secs: params.evidence_max_age_secs,
            evidence_max_age_blocks: params.evidence_max_age_blocks,
            max_validators: params.max_validators,
            churn_limit: params.churn_limit,
            double_sign_slash_ppm: params.double_sign_slash_ppm,
            downtime_slash_ppm: params.downtime_slash_ppm,
            downtime_min_signed_ppm: params.downtime_min_signed_ppm,
            // At most `DOWNTIME_WINDOW_MAX`.
            downtime_window: params.downtime_window as u16,
            genesis_commission_bps: params.genesis_commission_bps | flags,
            min_self_stake: params.min_self_stake,
            min_delegation: params.min_delegation,
            block_reward: params.block_reward,
        };
        STAKING.params.set(self.0, packed)
    }

    /// Changes a parameter, as the contract of the chain's parameters puts it in force; others than its own are ignored.
    pub(super) fn set_parameter(&mut self, code: u8, value: U256) -> Result<(), Stop> {
        let caller = self.0.caller();
        require(caller == PARAMETERS_ADDRESS, sol::OnlyParameters { caller })?;
        let mut params = self.load_params()?;
        match Parameter::from_code(code) {
            Some(Parameter::ValidatorsMax) => params.max_validators = value.saturating_to(),
            Some(Parameter::MinSelfStake) => params.min_self_stake = value,
            Some(Parameter::UnbondingPeriod) => params.unbonding_secs = value.saturating_to(),
            Some(Parameter::EvidenceMaxAgeBlocks) => params.evidence_max_age_blocks = value.saturating_to(),
            Some(Parameter::EvidenceMaxAge) => params.evidence_max_age_secs = value.saturating_to(),
            _ => {}
        }
        self.put_params(&params)
    }

    pub(super) fn load_params(&mut self) -> Result<StoredParams, Stop> {
        let packed = STAKING.params.get(self.0)?;
        let has = |flag| packed.genesis_commission_bps & flag != 0;
        let params = StakingParams {
            unbonding_secs: packed.unbonding_secs,
            min_self_stake: packed.min_self_stake,
            min_delegation: packed.min_delegation,
            max_validators: packed.max_validators,
            block_reward: packed.block_reward,
            share_fees: has(SHARE_FEES),
            genesis_commission_bps: packed.genesis_commission_bps & !(SHARE_FEES | KEEPS_HISTORY),
            commission_change_secs: packed.commission_change_secs,
            double_sign_slash_ppm: packed.double_sign_slash_ppm,
            downtime_slash_ppm: packed.downtime_slash_ppm,
            downtime_window: packed.downtime_window.into(),
            downtime_min_signed_ppm: packed.downtime_min_signed_ppm,
            downtime_jail_secs: packed.downtime_jail_secs,
            evidence_max_age_blocks: packed.evidence_max_age_blocks,
            evidence_max_age_secs: packed.evidence_max_age_secs,
            churn_limit: packed.churn_limit,
        };
        Ok(StoredParams { params, keeps_history: has(KEEPS_HISTORY) })
    }
}

/// Validators.
impl Staking<'_, '_> {
    /// Returns the validator under this address, joined or not.
    pub(super) fn find(&mut self, address: Address) -> Result<ValidatorEntry, Stop> {
        let stored = STAKING.validators.at(self.0, address)?;
        let packed = stored.entry.get(self.0)?;
        let has = |flag| packed.flags & flag != 0;
        Ok(ValidatorEntry {
            address,
            stored,
            exists: has(EXISTS),
            in_queue: has(IN_QUEUE),
            has_left: has(HAS_LEFT),
            is_jailed: has(JAILED),
            is_tombstoned: has(TOMBSTONED),
            is_pending: has(PENDING),
            has_history: has(HAS_HISTORY),
            has_key: has(HAS_KEY),
            commission_bps: packed.commission_bps,
            max_commission_bps: packed.max_commission_bps,
            max_change_bps: packed.max_change_bps,
            commission_changed_at: packed.commission_changed_at,
            place: packed.place,
            slashes: packed.slashes,
            jailed_until: packed.jailed_until,
            unbonded_height: packed.unbonded_height,
            unbonded_at: packed.unbonded_at,
            start_height: packed.start_height,
        })
    }

    /// Returns the validator under this address, which must have joined.
    pub(super) fn get(&mut self, address: Address) -> Result<ValidatorEntry, Stop> {
        let validator = self.find(address)?;
        require(validator.exists, sol::UnknownValidator { validator: address })?;
        Ok(validator)
    }

    pub(super) fn put(&mut self, validator: &ValidatorEntry) -> Result<(), Stop> {
        let flags = [
            (validator.exists, EXISTS),
            (validator.in_queue, IN_QUEUE),
            (validator.has_left, HAS_LEFT),
            (validator.is_jailed, JAILED),
            (validator.is_tombstoned, TOMBSTONED),
            (validator.is_pending, PENDING),
            (validator.has_history, HAS_HISTORY),
            (validator.has_key, HAS_KEY),
        ];
        let packed = PackedEntry {
            flags: flags.iter().filter(|(is_set, _)| *is_set).fold(0, |flags, (_, flag)| flags | flag),
            commission_bps: validator.commission_bps,
            max_commission_bps: validator.max_commission_bps,
            max_change_bps: validator.max_change_bps,
            commission_changed_at: validator.commission_changed_at,
            place: validator.place,
            slashes: validator.slashes,
            jailed_until: validator.jailed_until,
            unbonded_height: validator.unbonded_height,
            unbonded_at: validator.unbonded_at,
            start_height: validator.start_height,
        };
        validator.stored.entry.set(self.0, packed)
    }

    /// Appends a slash; the caller stores the validator.
    pub(super) fn push_slash(&mut self, validator: &mut ValidatorEntry, slash: Slash) -> Result<(), Stop> {
        let index = validator.slashes;
        validator.slashes += 1;
        validator.stored.slashes.set(self.0, index, slash)
    }

    pub(super) fn slash_at(&mut self, validator: &ValidatorEntry, index: u64) -> Result<Slash, Stop> {
        validator.stored.slashes.get(self.0, index)
    }
}

/// The list of validators, and the queues.
impl Staking<'_, '_> {
    pub(super) fn listed(&mut self) -> Result<u64, Stop> {
        STAKING.list.len(self.0)
    }

    pub(super) fn listed_at(&mut self, index: u64) -> Result<Address, Stop> {
        STAKING.list.unchecked_at(self.0, index)?.get(self.0)
    }

    /// Appends a validator to the list; the caller stores the validator.
    pub(super) fn list(&mut self, validator: &mut ValidatorEntry) -> Result<(), Stop> {
        let length = self.listed()?;
        STAKING.list.unchecked_at(self.0, length)?.overwrite(self.0, validator.address)?;
        STAKING.list.length().set(self.0, U256::from(length + 1))?;
        validator.place = length + 1;
        Ok(())
    }

    /// Removes a validator from the list, moving the last one to its position; the caller stores the validator.
    pub(super) fn unlist(&mut self, validator: &mut ValidatorEntry) -> Result<(), Stop> {
        let Some(index) = validator.place.checked_sub(1) else { return Ok(()) };
        let last = self.listed()?.checked_sub(1).ok_or_else(overflow)?;
        let last_element = STAKING.list.unchecked_at(self.0, last)?;
        if index != last {
            let moved = last_element.get(self.0)?;
            let mut moved = self.find(moved)?;
            moved.place = validator.place;
            self.put(&moved)?;
            STAKING.list.unchecked_at(self.0, index)?.overwrite(self.0, moved.address)?;
        }
        last_element.overwrite(self.0, Address::ZERO)?;
        STAKING.list.length().set(self.0, U256::from(last))?;
        validator.place = 0;
        Ok(())
    }

    /// Returns the number of validators in a queue.
    pub(super) fn length_of(&mut self, queue: Queue) -> Result<U256, Stop> {
        let QueueEnds { first, next } = queue.ends.get(self.0)?;
        Ok(U256::from(next.saturating_sub(first)))
    }

    pub(super) fn enqueue(&mut self, queue: Queue, validator: Address) -> Result<(), Stop> {
        let QueueEnds { first, next } = queue.ends.get(self.0)?;
        queue.elements.at(self.0, next)?.overwrite(self.0, validator)?;
        queue.ends.set(self.0, QueueEnds { first, next: next + 1 })
    }

    /// Removes the first validator of a queue.
    pub(super) fn dequeue(&mut self, queue: Queue) -> Result<Option<Address>, Stop> {
        let QueueEnds { first, next } = queue.ends.get(self.0)?;
        if first == next {
            return Ok(None);
        }
        let element = queue.elements.at(self.0, first)?;
        let validator = element.get(self.0)?;
        element.overwrite(self.0, Address::ZERO)?;
        queue.ends.set(self.0, QueueEnds { first: first + 1, next })?;
        Ok(Some(validator))
    }
}

/// Delegations and unbondings.
impl Staking<'_, '_> {
    /// Returns a delegation and its place.
    pub(super) fn delegation(
        &mut self,
        validator: &ValidatorEntry,
        delegator: Address,
    ) -> Result<(Slot<Delegation>, Delegation), Stop> {
        let place = STAKING.delegations.at(self.0, validator.address)?.at(self.0, delegator)?;
        Ok((place, place.get(self.0)?))
    }

    pub(super) fn put_delegation(&mut self, place: Slot<Delegation>, delegation: Delegation) -> Result<(), Stop> {
        // Without shares the ratio is zero too, so that an ended delegation frees its slots.
        let ratio = if delegation.shares.is_zero() { U256::ZERO } else { delegation.ratio };
        place.set(self.0, Delegation { ratio, ..delegation })
    }
}

/// Returns `amount * fraction`, rounded down, the fraction in millionths.
pub(super) fn part(amount: U256, fraction_ppm: u64) -> U256 {
    checked_mul_div(amount, U256::from(fraction_ppm), U256::from(PPM), Rounding::Floor).unwrap_or(amount)
}
