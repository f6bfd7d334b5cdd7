//! What has vested and is released or revoked.

use super::{IMMUTABLES, asset::Asset, interface as sol};
use crate::{templates::common::Ownable, vm::contract::*};

storage! {
    /// State variables, in solc's order.
    pub(super) contract WalletStorage {
        pub(super) ownable: Ownable,
        pub(super) released: Slot<U256>,
        pub(super) erc20_released: Mapping<Address, U256>,
        pub(super) revoked: Slot<bool>,
        pub(super) erc20_revoked: Mapping<Address, bool>,
    }
}

storage! {
    /// What Solidity would put into the code.
    pub(super) contract WalletImmutables layout at IMMUTABLES {
        terms: Slot<Terms>,
        revoker: Slot<Address>,
    }
}

record! {
    /// When assets vest, in seconds since the Unix epoch, and whether the revoker may stop that.
    #[derive(Clone, Copy, Debug)]
    struct Terms {
        start: u64,
        /// In seconds.
        duration: u64,
        /// Moment before which nothing has vested, not before the start.
        cliff: u64,
        revocable: bool,
    }
}

pub(super) const WALLET: WalletStorage = WalletStorage::STATE;
const FIXED: WalletImmutables = WalletImmutables::STATE;

pub(super) fn construct(host: &mut Host<'_>, params: sol::constructorCall) -> Result<(), Stop> {
    let sol::constructorCall { beneficiary, start, duration, cliff, revocable, revoker } = params;
    WALLET.ownable.construct(host, beneficiary)?;
    require(cliff <= duration, sol::InvalidCliffDuration { cliffSeconds: cliff, durationSeconds: duration })?;
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

impl Terms {
    fn end(self) -> U256 {
        U256::from(u128::from(self.start) + u128::from(self.duration))
    }

    /// Returns how much of `allocation` has vested at a time (`_vestingSchedule`).
    fn vested(self, allocation: U256, timestamp: u64) -> Result<U256, Stop> {
        if timestamp < self.cliff {
            Ok(U256::ZERO)
        } else if U256::from(timestamp) >= self.end() {
            Ok(allocation)
        } else {
            let elapsed = timestamp.sub(self.start)?;
            allocation.mul(U256::from(elapsed))?.div(U256::from(self.duration))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Nothing before the cliff, all at the end, never less than before, never above the straight line.
        #[test]
        fn what_has_vested_grows_along_a_line(
            start in 0_u64..1_000,
            (duration, cliff) in (0_u64..1_000).prop_flat_map(|duration| (Just(duration), 0..=duration)),
            allocation: u64,
            times in proptest::array::uniform2(0_u64..2_500),
        ) {
            let terms = Terms { start, duration, cliff: start + cliff, revocable: false };
            let vested = |time| terms.vested(U256::from(allocation), time).unwrap().to::<u64>();
            let (early, late) = (times[0].min(times[1]), times[0].max(times[1]));
            prop_assert!(vested(early) <= vested(late));
            for time in times {
                let want = match time {
                    _ if time < start + cliff => 0,
                    _ if time >= start + duration => allocation,
                    _ => (u128::from(allocation) * u128::from(time - start) / u128::from(duration)) as u64,
                };
                prop_assert_eq!(vested(time), want);
            }
        }
    }
}
