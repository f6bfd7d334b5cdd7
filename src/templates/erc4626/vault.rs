//! Conversions, deposits and withdrawals.

use super::{SETTINGS, fees, interface as sol};
use crate::{
    templates::common::{Erc20Base, Erc2771Context, Ownable, safe_erc20},
    vm::{
        contract::*,
        math::{Rounding, mul_div},
    },
};

storage! {
    /// State variables, in solc's order.
    pub(super) contract VaultStorage {
        pub(super) shares: Erc20Base,
        pub(super) ownable: Ownable,
    }
}

storage! {
    /// What Solidity would put into the code, and the fees.
    pub(super) contract VaultSettings layout at SETTINGS {
        settings: Slot<Settings>,
        fee_recipient: Slot<Address>,
        pub(super) context: Erc2771Context,
    }
}

record! {
    /// Asset, decimals and fees.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Settings {
        pub(super) asset: Address,
        asset_decimals: u8,
        decimals_offset: u8,
        /// In hundredths of a percent.
        pub(super) entry_fee: u16,
        /// In hundredths of a percent.
        pub(super) exit_fee: u16,
    }
}

pub(super) const VAULT: VaultStorage = VaultStorage::STATE;
pub(super) const SET: VaultSettings = VaultSettings::STATE;

/// Largest `decimalsOffset`: `10 ** 78` is above 256 bits, so that no conversion would succeed.
pub const DECIMALS_OFFSET_MAX: u8 = 77;

/// Decimals of an asset that does not tell them.
const DECIMALS_DEFAULT: u8 = 18;

pub(super) fn construct(host: &mut Host<'_>, params: sol::constructorCall) -> Result<(), Stop> {
    let asset_decimals = safe_erc20::try_decimals(host, params.asset)?.unwrap_or(DECIMALS_DEFAULT);
    VAULT.shares.construct(host, params.name, params.symbol)?;
    check_fees(params.entryFee, params.exitFee)?;
    check_recipient(params.feeRecipient)?;
    let too_high = sol::VaultDecimalsOffsetTooHigh { decimalsOffset: params.decimalsOffset, max: DECIMALS_OFFSET_MAX };
    require(params.decimalsOffset <= DECIMALS_OFFSET_MAX, too_high)?;
    let settings = Settings {
        asset: params.asset,
        asset_decimals,
        decimals_offset: params.decimalsOffset,
        entry_fee: params.entryFee,
        exit_fee: params.exitFee,
    };
    SET.settings.set(host, settings)?;
    SET.fee_recipient.overwrite(host, params.feeRecipient)?;
    SET.context.construct(host, params.trustedForwarder)?;
    if params.owner.is_zero() { Ok(()) } else { VAULT.ownable.set_owner(host, params.owner) }
}

pub(super) fn deposit(host: &mut Host<'_>, assets: U256, receiver: Address) -> Result<U256, Stop> {
    let vault = Settings::get(host)?;
    let shares = vault.preview_deposit(host, assets)?;
    vault.enter(host, receiver, assets, shares)?;
    Ok(shares)
}

pub(super) fn mint(host: &mut Host<'_>, shares: U256, receiver: Address) -> Result<U256, Stop> {
    let vault = Settings::get(host)?;
    let assets = vault.preview_mint(host, shares)?;
    vault.enter(host, receiver, assets, shares)?;
    Ok(assets)
}

pub(super) fn withdraw(host: &mut Host<'_>, assets: U256, receiver: Address, owner: Address) -> Result<U256, Stop> {
    let vault = Settings::get(host)?;
    let max = vault.max_withdraw(host, owner)?;
    require(assets <= max, sol::ERC4626ExceededMaxWithdraw { owner, assets, max })?;
    let shares = vault.preview_withdraw(host, assets)?;
    vault.leave(host, receiver, owner, assets, shares)?;
    Ok(shares)
}

pub(super) fn redeem(host: &mut Host<'_>, shares: U256, receiver: Address, owner: Address) -> Result<U256, Stop> {
    let vault = Settings::get(host)?;
    let max = VAULT.shares.balances.get(host, owner)?;
    require(shares <= max, sol::ERC4626ExceededMaxRedeem { owner, shares, max })?;
    let assets = vault.preview_redeem(host, shares)?;
    vault.leave(host, receiver, owner, assets, shares)?;
    Ok(assets)
}

pub(super) fn fee_recipient(host: &mut Host<'_>) -> Result<Address, Stop> {
    SET.fee_recipient.get(host)
}

pub(super) fn set_fees(host: &mut Host<'_>, entry_fee: u16, exit_fee: u16) -> Result<(), Stop> {
    VAULT.ownable.only_owner(host)?;
    check_fees(entry_fee, exit_fee)?;
    SET.settings.update(host, |settings| Ok(Settings { entry_fee, exit_fee, ..settings }))?;
    host.emit(&sol::FeesChanged { entryFee: entry_fee, exitFee: exit_fee })
}

pub(super) fn set_fee_recipient(host: &mut Host<'_>, recipient: Address) -> Result<(), Stop> {
    VAULT.ownable.only_owner(host)?;
    check_recipient(recipient)?;
    SET.fee_recipient.overwrite(host, recipient)?;
    host.emit(&sol::FeeRecipientChanged { recipient })
}

fn check_fees(entry_fee: u16, exit_fee: u16) -> Result<(), Stop> {
    let fee = entry_fee.max(exit_fee);
    require(fee <= fees::FEE_MAX, sol::VaultInvalidFee { fee })
}

fn check_recipient(recipient: Address) -> Result<(), Stop> {
    require(!recipient.is_zero(), sol::VaultInvalidFeeRecipient { recipient })
}

impl Settings {
    pub(super) fn get(host: &mut Host<'_>) -> Result<Self, Stop> {
        SET.settings.get(host)
    }

    pub(super) fn decimals(self) -> Result<u8, Stop> {
        self.asset_decimals.add(self.decimals_offset)
    }

    pub(super) fn total_assets(self, host: &mut Host<'_>) -> Result<U256, Stop> {
        let vault = host.address();
        safe_erc20::balance_of(host, self.asset, vault)
    }

    /// Returns what assets are in shares, without fee (`_convertToShares`).
    pub(super) fn to_shares(self, host: &mut Host<'_>, assets: U256, rounding: Rounding) -> Result<U256, Stop> {
        let (supply, total) = (self.virtual_supply(host)?, self.virtual_assets(host)?);
        mul_div(assets, supply, total, rounding)
    }

    /// Returns what shares are in assets, without fee (`_convertToAssets`).
    pub(super) fn to_assets(self, host: &mut Host<'_>, shares: U256, rounding: Rounding) -> Result<U256, Stop> {
        let (total, supply) = (self.virtual_assets(host)?, self.virtual_supply(host)?);
        mul_div(shares, total, supply, rounding)
    }

    fn virtual_supply(self, host: &mut Host<'_>) -> Result<U256, Stop> {
        let shares = U256::from(10).power(u32::from(self.decimals_offset))?;
        VAULT.shares.total_supply.get(host)?.add(shares)
    }

    fn virtual_assets(self, host: &mut Host<'_>) -> Result<U256, Stop> {
        self.total_assets(host)?.add(U256::ONE)
    }

    pub(super) fn max_withdraw(self, host: &mut Host<'_>, owner: Address) -> Result<U256, Stop> {
        let shares = VAULT.shares.balances.get(host, owner)?;
        self.preview_redeem(host, shares)
    }

    pub(super) fn preview_deposit(self, host: &mut Host<'_>, assets: U256) -> Result<U256, Stop> {
        let kept = assets.sub(fees::included(assets, self.entry_fee)?)?;
        self.to_shares(host, kept, Rounding::Floor)
    }

    pub(super) fn preview_mint(self, host: &mut Host<'_>, shares: U256) -> Result<U256, Stop> {
        let assets = self.to_assets(host, shares, Rounding::Ceil)?;
        assets.add(fees::on_top(assets, self.entry_fee)?)
    }

    pub(super) fn preview_withdraw(self, host: &mut Host<'_>, assets: U256) -> Result<U256, Stop> {
        let taken = assets.add(fees::on_top(assets, self.exit_fee)?)?;
        self.to_shares(host, taken, Rounding::Ceil)
    }

    pub(super) fn preview_redeem(self, host: &mut Host<'_>, shares: U256) -> Result<U256, Stop> {
        let assets = self.to_assets(host, shares, Rounding::Floor)?;
        assets.sub(fees::included(assets, self.exit_fee)?)
    }

    /// Takes assets of the caller and mints shares for them (`_deposit`).
    ///
    /// The assets come first: a token that calls its sender does so while the shares are what they were.
    fn enter(self, host: &mut Host<'_>, receiver: Address, assets: U256, shares: U256) -> Result<(), Stop> {
        let (sender, vault) = (host.caller(), host.address());
        safe_erc20::safe_transfer_from(host, self.asset, sender, vault, assets)?;
        VAULT.shares.mint(host, receiver, shares)?;
        host.emit(&sol::Deposit { sender, owner: receiver, assets, shares })?;
        self.pay(host, fees::included(assets, self.entry_fee)?)
    }

    /// Burns shares and gives assets for them (`_withdraw`).
    ///
    /// The assets go last: a token that calls their receiver does so when the shares are gone.
    fn leave(
        self,
        host: &mut Host<'_>,
        receiver: Address,
        owner: Address,
        assets: U256,
        shares: U256,
    ) -> Result<(), Stop> {
        let sender = host.caller();
        if sender != owner {
            VAULT.shares.spend_allowance(host, owner, shares)?;
        }
        VAULT.shares.burn(host, owner, shares)?;
        safe_erc20::safe_transfer(host, self.asset, receiver, assets)?;
        host.emit(&sol::Withdraw { sender, receiver, owner, assets, shares })?;
        self.pay(host, fees::on_top(assets, self.exit_fee)?)
    }

    /// Pays a fee to its recipient.
    fn pay(self, host: &mut Host<'_>, fee: U256) -> Result<(), Stop> {
        if fee.is_zero() {
            return Ok(());
        }
        let recipient = fee_recipient(host)?;
        if recipient == host.address() { Ok(()) } else { safe_erc20::safe_transfer(host, self.asset, recipient, fee) }
    }
}
