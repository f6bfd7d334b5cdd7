//! The functions that read the validators.

use super::{
    interface::Validators as sol,
    members::validators_max,
    state::{StoredMember, VALIDATORS},
};
use crate::{templates::common::page::page, vm::contract::*};

/// Largest number of validators that one call of `validators` returns.
pub const PAGE_MAX: u64 = 100;

pub(super) fn validator(host: &mut Host<'_>, validator: Address) -> Result<sol::ValidatorInfo, Stop> {
    let StoredMember { weight, is_convicted, .. } = VALIDATORS.members.get(host, validator)?;
    let key = VALIDATORS.keys.key_of(host, validator)?;
    Ok(sol::ValidatorInfo { validator, sealingKey: key, weight, isConvicted: is_convicted })
}

pub(super) fn validators(host: &mut Host<'_>, from: U256, count: U256) -> Result<Vec<sol::ValidatorInfo>, Stop> {
    let total = VALIDATORS.listed.length().get(host)?;
    let indices: Vec<u64> = page(total, from, count.min(U256::from(PAGE_MAX))).map(|index| index.to()).collect();
    let mut infos = Vec::with_capacity(indices.len());
    for index in indices {
        let listed = VALIDATORS.listed.unchecked_at(host, index)?.get(host)?;
        infos.push(validator(host, listed)?);
    }
    Ok(infos)
}

pub(super) fn limits(host: &mut Host<'_>) -> Result<sol::Limits, Stop> {
    let bounds = VALIDATORS.bounds.get(host)?;
    let validators_max = validators_max(host)?;
    let (weight_max, validators_min) = (bounds.weight_max, bounds.validators_min.max(1));
    Ok(sol::Limits { weightMax: weight_max, validatorsMin: validators_min, validatorsMax: validators_max })
}
