//! What has vested and is released or revoked.

use super::{
    asset::Asset,
    interface as sol,
    state::{FIXED, Terms, WALLET},
};
use crate::vm::contract::*;

pub(super) fn construct(host: &mut Host<'_>, params: sol::constructorCall) -> Result<(), Stop> {
    let sol::constructorCall { beneficiary, start, duration, cliff, revocable, revoker } = params;
    WALLET.ownable.construct(host, beneficiary)?;
    require(cliff <= duration, sol::InvalidCliffDuration { cliffSeconds: cliff, durationSeconds: duration })?;
    let start = if start == 0 { host.block().timestamp.as_secs() } else { start };
    FIXED.terms.set(host, Terms { start, duration, cliff: start.add(cliff)?, revocable })?;
    if !revocable {
        return Ok(());
    }
    require(!revoker.is_zero(), sol::VestingInvalidRevoker { revoker })?;
    FIXED.revoker.overwrite(host, revoker)
}

pub(super) fn start(host: &mut Host<'_>) -> Result<U256, Stop> {
    Ok(U256::from(FIXED.terms.get(host)?.start))
}

pub(super) fn duration(host: &mut Host<'_>) -> Result<U256, Stop> {
    Ok(U256::from(FIXED.terms.get(host)?.duration))
}

pub(super) fn end(host: &mut Host<'_>) -> Result<U256, Stop> {
    Ok(FIXED.terms.get(host)?.end())
}

pub(super) fn cliff(host: &mut Host<'_>) -> Result<U256, Stop> {
    Ok(U256::from(FIXED.terms.get(host)?.cliff))
}

pub(super) fn releasable(host: &mut Host<'_>, asset: Asset) -> Result<U256, Stop> {
    let now = host.block().timestamp.as_secs();
    let vested = vested_amount(host, asset, now)?;
    vested.sub(asset.released(host)?)
}

pub(super) fn vested_amount(host: &mut Host<'_>, asset: Asset, timestamp: u64) -> Result<U256, Stop> {
    let allocation = asset.balance(host)?.add(asset.released(host)?)?;
    let terms = FIXED.terms.get(host)?;
    if terms.revocable && asset.is_revoked(host)? { Ok(allocation) } else { terms.vested(allocation, timestamp) }
}

pub(super) fn release(host: &mut Host<'_>, asset: Asset) -> Result<(), Stop> {
    let amount = releasable(host, asset)?;
    asset.note_released(host, amount)?;
    let beneficiary = WALLET.ownable.owner.get(host)?;
    asset.send(host, beneficiary, amount)
}

pub(super) fn revocable(host: &mut Host<'_>) -> Result<bool, Stop> {
    Ok(FIXED.terms.get(host)?.revocable)
}

pub(super) fn revoker(host: &mut Host<'_>) -> Result<Address, Stop> {
    require_revocable(host)?;
    FIXED.revoker.get(host)
}

pub(super) fn revoked(host: &mut Host<'_>, asset: Asset) -> Result<bool, Stop> {
    require_revocable(host)?;
    asset.is_revoked(host)
}

/// Sends to the revoker what has not vested; the rest stays for the beneficiary.
pub(super) fn revoke(host: &mut Host<'_>, asset: Asset) -> Result<(), Stop> {
    let (revoker, account) = (revoker(host)?, host.caller());
    require(account == revoker, sol::VestingUnauthorizedRevoker { account })?;
    require(!asset.is_revoked(host)?, sol::VestingAlreadyRevoked { token: asset.token() })?;
    let unvested = asset.balance(host)?.sub(releasable(host, asset)?)?;
    asset.note_revoked(host, unvested)?;
    asset.send(host, revoker, unvested)
}

/// Refuses the functions of the revocation, as a contract without them does.
fn require_revocable(host: &mut Host<'_>) -> Result<(), Stop> {
    if FIXED.terms.get(host)?.revocable { Ok(()) } else { Err(empty_revert()) }
}
