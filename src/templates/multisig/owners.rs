//! The owners and how many of them have to confirm: the construction, and what the wallet alone may change.

use super::{
    interface as sol,
    state::{WALLET, require_no_owner, require_owner, require_that},
};
use crate::{templates::common::ds_math::invalid, vm::contract::*};

/// Most owners of a wallet.
pub const MAX_OWNER_COUNT: u64 = 50;

pub(super) fn construct(host: &mut Host<'_>, params: sol::constructorCall) -> Result<(), Stop> {
    let required = U256::from(params.threshold);
    require_valid_requirement(params.owners.len() as u64, required)?;
    for owner in &params.owners {
        require_that(!owner.is_zero())?;
        let is_owner = WALLET.is_owner.at(host, *owner)?;
        require_that(!is_owner.get(host)?)?;
        is_owner.set(host, true)?;
    }
    WALLET.owners.extend(host, params.owners)?;
    WALLET.required.set(host, required)
}

/// Returns the owner at an index; one past the end is INVALID.
pub(super) fn at(host: &mut Host<'_>, index: U256) -> Result<Address, Stop> {
    let length = WALLET.owners.len(host)?;
    let index = u64::try_from(index).ok().filter(|index| *index < length).ok_or_else(invalid)?;
    WALLET.owners.unchecked_at(host, index)?.get(host)
}

pub(super) fn add(host: &mut Host<'_>, owner: Address) -> Result<(), Stop> {
    only_wallet(host)?;
    require_no_owner(host, owner)?;
    require_that(!owner.is_zero())?;
    let required = WALLET.required.get(host)?;
    require_valid_requirement(WALLET.owners.len(host)? + 1, required)?;
    WALLET.is_owner.set(host, owner, true)?;
    WALLET.owners.push(host, owner)?;
    host.emit(&sol::OwnerAddition { owner })
}

/// The last owner takes the place of the one removed. A requirement that the rest could not meet becomes all of them.
pub(super) fn remove(host: &mut Host<'_>, owner: Address) -> Result<(), Stop> {
    only_wallet(host)?;
    require_owner(host, owner)?;
    WALLET.is_owner.set(host, owner, false)?;
    let last = WALLET.owners.len(host)?.saturating_sub(1);
    for index in 0..last {
        let place = WALLET.owners.unchecked_at(host, index)?;
        if place.get(host)? == owner {
            let successor = WALLET.owners.unchecked_at(host, last)?.get(host)?;
            place.overwrite(host, successor)?;
            break;
        }
    }
    WALLET.owners.pop(host)?;
    if WALLET.required.get(host)? > U256::from(last) {
        change_requirement(host, U256::from(last))?;
    }
    host.emit(&sol::OwnerRemoval { owner })
}

pub(super) fn replace(host: &mut Host<'_>, owner: Address, new_owner: Address) -> Result<(), Stop> {
    only_wallet(host)?;
    require_owner(host, owner)?;
    require_no_owner(host, new_owner)?;
    for index in 0..WALLET.owners.len(host)? {
        let place = WALLET.owners.unchecked_at(host, index)?;
        if place.get(host)? == owner {
            place.overwrite(host, new_owner)?;
            break;
        }
    }
    WALLET.is_owner.set(host, owner, false)?;
    WALLET.is_owner.set(host, new_owner, true)?;
    host.emit(&sol::OwnerRemoval { owner })?;
    host.emit(&sol::OwnerAddition { owner: new_owner })
}

pub(super) fn change_requirement(host: &mut Host<'_>, required: U256) -> Result<(), Stop> {
    only_wallet(host)?;
    require_valid_requirement(WALLET.owners.len(host)?, required)?;
    WALLET.required.set(host, required)?;
    host.emit(&sol::RequirementChange { required })
}

/// Refuses callers other than the wallet (`onlyWallet`).
fn only_wallet(host: &Host<'_>) -> Result<(), Stop> {
    require_that(host.caller() == host.address())
}

/// Refuses a requirement that so many owners cannot meet, and one of nobody (`validRequirement`).
fn require_valid_requirement(owners: u64, required: U256) -> Result<(), Stop> {
    require_that(owners <= MAX_OWNER_COUNT && required <= U256::from(owners) && !required.is_zero() && owners != 0)
}
