//! What the owner of a place of sales sets: its fee, who gets it, and what may be paid in.

use self::interface::{CurrencyChanged, CurrencyNotAccepted, FeeChanged, InvalidFee, InvalidFeeRecipient};
use super::royalty::FEE_DENOMINATOR;
use crate::vm::contract::*;

/// Events and errors.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// The fee of orders made from now on, in hundredths of a per cent, and who gets all fees.
        event FeeChanged(uint16 fee, address indexed recipient);
        /// Whether orders made from now on may be in this currency; the zero address is the native token.
        event CurrencyChanged(address indexed currency, bool accepted);
        /// The fee would be above the price.
        error InvalidFee(uint16 fee, uint16 max);
        /// The fees would be lost: the recipient is the zero address or the contract itself.
        error InvalidFeeRecipient(address recipient);
        /// Nothing may be sold for this currency; the zero address is the native token.
        error CurrencyNotAccepted(address currency);
    }
}

record! {
    /// The fee and its recipient.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FeeInfo {
        /// Who gets the fees.
        pub recipient: Address,
        /// Part of the price, in hundredths of a per cent.
        pub fee: u16,
    }
}

storage! {
    /// The settings.
    pub contract SaleSettings {
        /// The fee.
        pub fee_info: Slot<FeeInfo>,
        /// Currencies that may be paid in.
        pub accepted_currencies: Mapping<Address, bool>,
    }
}

impl SaleSettings {
    /// Sets the fee, and accepts the native token and, if it is not the zero address, another one.
    ///
    /// # Errors
    /// Those of [`SaleSettings::set_fee`]; [`Stop`].
    pub fn construct(self, host: &mut Host<'_>, info: FeeInfo, token: Address) -> Result<(), Stop> {
        self.set_fee(host, info)?;
        self.set_currency(host, Address::ZERO, true)?;
        if token.is_zero() { Ok(()) } else { self.set_currency(host, token, true) }
    }

    /// Sets the fee and its recipient, whoever calls.
    ///
    /// # Errors
    /// [`InvalidFee`] above the whole price; [`InvalidFeeRecipient`]; [`Stop`].
    pub fn set_fee(self, host: &mut Host<'_>, info: FeeInfo) -> Result<(), Stop> {
        let FeeInfo { recipient, fee } = info;
        require(fee <= FEE_DENOMINATOR, InvalidFee { fee, max: FEE_DENOMINATOR })?;
        require(!recipient.is_zero() && recipient != host.address(), InvalidFeeRecipient { recipient })?;
        self.fee_info.set(host, info)?;
        host.emit(&FeeChanged { fee, recipient })
    }

    /// Accepts a currency or does so no longer, whoever calls.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn set_currency(self, host: &mut Host<'_>, currency: Address, accepted: bool) -> Result<(), Stop> {
        self.accepted_currencies.at(host, currency)?.overwrite(host, accepted)?;
        host.emit(&CurrencyChanged { currency, accepted })
    }

    /// Refuses currencies that are not accepted.
    ///
    /// # Errors
    /// [`CurrencyNotAccepted`]; [`Stop`].
    pub fn check_currency(self, host: &mut Host<'_>, currency: Address) -> Result<(), Stop> {
        require(self.accepted_currencies.get(host, currency)?, CurrencyNotAccepted { currency })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::sandbox::Sandbox;

    const SETTINGS: SaleSettings = SaleSettings::STATE;

    #[test]
    fn a_fee_is_at_most_the_price_and_not_lost() {
        let mut sandbox = Sandbox::new();
        let (recipient, token) = (sandbox.caller, Address::repeat_byte(9));
        let own = sandbox.run(|host| Ok(host.address())).unwrap();
        let construct = |info| move |host: &mut Host<'_>| SETTINGS.construct(host, info, token);
        let too_much = sandbox.run(construct(FeeInfo { recipient, fee: 10_001 }));
        assert_eq!(too_much, Err(revert(&InvalidFee { fee: 10_001, max: 10_000 })));
        for recipient in [Address::ZERO, own] {
            let lost = sandbox.run(construct(FeeInfo { recipient, fee: 0 }));
            assert_eq!(lost, Err(revert(&InvalidFeeRecipient { recipient })));
        }
        let info = FeeInfo { recipient, fee: 10_000 };
        sandbox.run(construct(info)).unwrap();
        assert_eq!(sandbox.logs().len(), 3);
        assert_eq!(sandbox.run(|host| SETTINGS.fee_info.get(host)), Ok(info));
    }

    #[test]
    fn currencies_are_accepted_one_by_one() {
        let mut sandbox = Sandbox::new();
        let (recipient, token) = (sandbox.caller, Address::repeat_byte(9));
        let info = FeeInfo { recipient, fee: 0 };
        sandbox.run(move |host| SETTINGS.construct(host, info, Address::ZERO)).unwrap();
        sandbox.run(|host| SETTINGS.check_currency(host, Address::ZERO)).unwrap();
        let refused = sandbox.run(move |host| SETTINGS.check_currency(host, token));
        assert_eq!(refused, Err(revert(&CurrencyNotAccepted { currency: token })));
        sandbox.run(move |host| SETTINGS.set_currency(host, token, true)).unwrap();
        sandbox.run(move |host| SETTINGS.check_currency(host, token)).unwrap();
        sandbox.run(move |host| SETTINGS.set_currency(host, token, false)).unwrap();
        assert!(sandbox.run(move |host| SETTINGS.check_currency(host, token)).is_err());
    }
}
