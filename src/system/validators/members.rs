//! The functions that change the validators.

use super::{
    history,
    interface::Validators as sol,
    keys::{self, is_operator},
    state::{Bounds, StoredMember, VALIDATORS},
};
use crate::{
    system::{
        address::PARAMETERS_ADDRESS,
        parameter::{Parameter, VALIDATORS_MAX},
        parameters::interface::parameterCall,
        sealing_keys::KeyClaim,
    },
    templates::common::external,
    vm::contract::*,
};

/// Largest part that a slash takes, in millionths: all.
pub const PART_PPM_MAX: u32 = 1_000_000;

/// Bytes of the reason of a slash, at most.
pub const REASON_BYTES_MAX: usize = 256;

/// Sets administrator, bounds and the first validators.
pub(super) fn construct(host: &mut Host<'_>, call: &sol::constructorCall) -> Result<(), Stop> {
    VALIDATORS.ownership.ownable.construct(host, call.administrator)?;
    let bounds = Bounds { weight_max: call.weightMax, validators_min: call.validatorsMin };
    VALIDATORS.bounds.set(host, bounds)?;
    for sol::Member { validator, sealingKey: key, weight } in &call.members {
        let (validator, weight) = (*validator, *weight);
        let stored = VALIDATORS.members.get(host, validator)?;
        let is_valid = stored.place == 0 && !validator.is_zero() && (1..=bounds.weight_max).contains(&weight);
        require(is_valid, sol::InvalidGenesisMember { validator, weight })?;
        if !key.is_zero() && *key != validator {
            VALIDATORS.keys.adopt(host, KeyClaim { operator: validator, key: *key }, is_operator)?;
        }
        put(host, validator, stored, weight)?;
    }
    Ok(())
}

/// Adds a validator with a key of its own.
pub(super) fn add_validator(
    host: &mut Host<'_>,
    validator: Address,
    key: Address,
    weight: u64,
    proof: &[u8],
) -> Result<(), Stop> {
    VALIDATORS.ownership.ownable.only_owner(host)?;
    let is_there = VALIDATORS.members.get(host, validator)?.place > 0;
    require(!is_there, sol::AlreadyValidator { validator })?;
    require(weight > 0, sol::UnknownValidator { validator })?;
    keys::register(host, validator, key, proof)?;
    set_validator(host, validator, weight)
}

pub(super) fn set_validator(host: &mut Host<'_>, validator: Address, weight: u64) -> Result<(), Stop> {
    VALIDATORS.ownership.ownable.only_owner(host)?;
    require(!validator.is_zero(), sol::InvalidValidator { validator })?;
    let (bounds, stored) = (VALIDATORS.bounds.get(host)?, VALIDATORS.members.get(host, validator)?);
    require(weight <= bounds.weight_max, sol::WeightTooHigh { weight, maximum: bounds.weight_max })?;
    match (stored.place, weight) {
        (0, 0) => return Err(revert(&sol::UnknownValidator { validator })),
        (0, _) => {
            require(!stored.is_convicted, sol::IsConvicted { validator })?;
            VALIDATORS.keys.check_operator(host, validator)?;
            require_room(host)?;
        }
        (_, 0) => require_enough(host, bounds)?,
        _ => {}
    }
    put(host, validator, stored, weight)
}

/// Takes a part of a validator's weight, rounded up: at least 1, so that who weighs 1 is removed.
pub(super) fn slash(host: &mut Host<'_>, validator: Address, part_ppm: u32, reason: &str) -> Result<(), Stop> {
    VALIDATORS.ownership.ownable.only_owner(host)?;
    require((1..=PART_PPM_MAX).contains(&part_ppm), sol::InvalidPart { partPpm: part_ppm })?;
    let [length, maximum] = [reason.len(), REASON_BYTES_MAX].map(U256::from);
    require(length <= maximum, sol::ReasonTooLong { length, maximum })?;
    let stored = VALIDATORS.members.get(host, validator)?;
    require(stored.place > 0, sol::UnknownValidator { validator })?;
    let taken = u128::from(stored.weight) * u128::from(part_ppm);
    // No more than the weight.
    let taken = taken.div_ceil(u128::from(PART_PPM_MAX)) as u64;
    let (old_weight, new_weight) = (stored.weight, stored.weight - taken);
    if new_weight == 0 {
        let bounds = VALIDATORS.bounds.get(host)?;
        require_enough(host, bounds)?;
    }
    put(host, validator, stored, new_weight)?;
    let reason = reason.to_owned();
    host.emit(&sol::Slashed { validator, partPpm: part_ppm, oldWeight: old_weight, newWeight: new_weight, reason })
}

/// Removes the operator of a key that evidence convicts, whatever is left of the others, but never the last.
///
/// The protocol removes it from its own set as soon as enough others are left; until then the two differ by it.
pub(super) fn convict(host: &mut Host<'_>, key: Address) -> Result<(), Stop> {
    let caller = host.caller();
    require(host.is_system_call(), sol::OnlySystem { caller })?;
    let validator = VALIDATORS.keys.operator_of(host, key)?;
    let stored = VALIDATORS.members.get(host, validator)?;
    let is_last = stored.place > 0 && VALIDATORS.listed.len(host)? == 1;
    if stored.is_convicted || is_last {
        return Ok(());
    }
    let stored = StoredMember { is_convicted: true, is_known: true, ..stored };
    host.emit(&sol::Convicted { validator })?;
    if stored.place > 0 { put(host, validator, stored, 0) } else { VALIDATORS.members.set(host, validator, stored) }
}

/// Refuses one more validator than the chain may have.
fn require_room(host: &mut Host<'_>) -> Result<(), Stop> {
    let (count, maximum) = (VALIDATORS.listed.length().get(host)?, validators_max(host)?);
    let maximum = U256::from(maximum);
    require(count < maximum, sol::TooManyValidators { maximum })
}

/// Returns the largest number of validators: the parameter where the chain has it.
pub(super) fn validators_max(host: &mut Host<'_>) -> Result<u32, Stop> {
    if !host.has_code(&PARAMETERS_ADDRESS)? {
        return Ok(VALIDATORS_MAX);
    }
    let call = parameterCall { parameter: Parameter::ValidatorsMax.code() };
    let info = external::view(host, PARAMETERS_ADDRESS, &call)?;
    Ok(info.value.saturating_to())
}

/// Refuses the removal of one more validator than the protocol can spare.
fn require_enough(host: &mut Host<'_>, bounds: Bounds) -> Result<(), Stop> {
    let (count, minimum) = (VALIDATORS.listed.length().get(host)?, U256::from(bounds.validators_min.max(1)));
    require(count > minimum, sol::TooFewValidators { minimum })
}

/// Stores a validator's weight, lists it or takes it off the list, and announces what changed.
fn put(host: &mut Host<'_>, validator: Address, stored: StoredMember, weight: u64) -> Result<(), Stop> {
    if stored.weight == weight {
        return Ok(());
    }
    let place = match (stored.place, weight) {
        (0, _) => append(host, validator)?,
        (place, 0) => {
            remove(host, place)?;
            0
        }
        (place, _) => place,
    };
    VALIDATORS.members.set(host, validator, StoredMember { weight, place, is_known: true, ..stored })?;
    history::keep(host, validator, stored.weight, weight)?;
    let key = VALIDATORS.keys.key_of(host, validator)?;
    host.emit(&sol::WeightChanged { sealingKey: key, weight })
}

/// Appends a validator to the array and returns its place, from 1.
fn append(host: &mut Host<'_>, validator: Address) -> Result<u64, Stop> {
    let count = VALIDATORS.listed.len(host)?;
    VALIDATORS.listed.unchecked_at(host, count)?.overwrite(host, validator)?;
    VALIDATORS.listed.length().set(host, U256::from(count + 1))?;
    Ok(count + 1)
}

/// Removes the validator at a place of the array, into which the last one moves.
fn remove(host: &mut Host<'_>, place: u64) -> Result<(), Stop> {
    let count = VALIDATORS.listed.len(host)?;
    let last = VALIDATORS.listed.unchecked_at(host, count - 1)?;
    if place != count {
        let moved = last.get(host)?;
        VALIDATORS.listed.unchecked_at(host, place - 1)?.overwrite(host, moved)?;
        VALIDATORS.members.at(host, moved)?.update(host, |member| Ok(StoredMember { place, ..member }))?;
    }
    last.overwrite(host, Address::ZERO)?;
    VALIDATORS.listed.length().set(host, U256::from(count - 1))
}
