//! The owner and the pause: Synthetix' Owned and Pausable, and ReentrancyGuard of OpenZeppelin 2.3.

use super::{interface as sol, reward::now, state::POOL};
use crate::{templates::common::ds_math::require_that, vm::contract::*};

pub(super) fn construct(host: &mut Host<'_>, owner: Address) -> Result<(), Stop> {
    require_that(!owner.is_zero(), "Owner address cannot be 0")?;
    POOL.owner.overwrite(host, owner)?;
    host.emit(&sol::OwnerChanged { oldOwner: Address::ZERO, newOwner: owner })?;
    POOL.guard_counter.set(host, U256::ONE)
}

/// Refuses callers other than the owner (`onlyOwner`).
pub(super) fn only_owner(host: &mut Host<'_>) -> Result<(), Stop> {
    let caller = host.caller();
    require_that(caller == POOL.owner.get(host)?, "Only the contract owner may perform this action")
}

pub(super) fn nominate_new_owner(host: &mut Host<'_>, owner: Address) -> Result<(), Stop> {
    only_owner(host)?;
    POOL.nominated_owner.overwrite(host, owner)?;
    host.emit(&sol::OwnerNominated { newOwner: owner })
}

pub(super) fn accept_ownership(host: &mut Host<'_>) -> Result<(), Stop> {
    let (caller, nominated) = (host.caller(), POOL.nominated_owner.get(host)?);
    require_that(caller == nominated, "You must be nominated before you can accept ownership")?;
    let old = POOL.owner.get(host)?;
    host.emit(&sol::OwnerChanged { oldOwner: old, newOwner: nominated })?;
    POOL.owner.overwrite(host, nominated)?;
    POOL.nominated_owner.overwrite(host, Address::ZERO)
}

/// Pauses staking, or lifts the pause; does nothing when it is so already.
pub(super) fn set_paused(host: &mut Host<'_>, paused: bool) -> Result<(), Stop> {
    only_owner(host)?;
    if paused == POOL.paused.get(host)? {
        return Ok(());
    }
    POOL.paused.set(host, paused)?;
    if paused {
        let now = now(host);
        POOL.last_pause_time.set(host, now)?;
    }
    host.emit(&sol::PauseChanged { isPaused: paused })
}

/// Refuses while paused (`notPaused`).
pub(super) fn not_paused(host: &mut Host<'_>) -> Result<(), Stop> {
    require_that(!POOL.paused.get(host)?, "This action cannot be performed while the contract is paused")
}

/// Runs a guarded function (`nonReentrant`): one inside it makes this one fail at its end, by the count of both.
pub(super) fn non_reentrant<T>(
    host: &mut Host<'_>,
    function: impl FnOnce(&mut Host<'_>) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let count = POOL.guard_counter.get(host)?.wrapping_add(U256::ONE);
    POOL.guard_counter.set(host, count)?;
    let value = function(host)?;
    require_that(count == POOL.guard_counter.get(host)?, "ReentrancyGuard: reentrant call")?;
    Ok(value)
}
