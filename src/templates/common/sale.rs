//! A sale of a token: its price divided into the fee, the royalty (ERC-2981) and what the seller gets.

use self::interface::FeesExceedPrice;
use super::{
    Currency, Withdrawals,
    royalty::{FEE_DENOMINATOR, interface::IERC2981::royaltyInfoCall},
    safe_erc20::safe_transfer_from,
};
use crate::{primitives::Gas, vm::contract::*};

/// Errors.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// Fee and royalty together are above the price.
        error FeesExceedPrice(uint256 price, uint256 fee, uint256 royalty);
    }
}

/// Gas that a collection gets to say its royalty; one that needs more has none.
pub const ROYALTY_GAS: Gas = Gas::new(100_000);

/// What is sold, and for how much.
#[derive(Clone, Copy, Debug)]
pub struct Sale {
    /// Contract of the token.
    pub collection: Address,
    /// The token.
    pub token_id: U256,
    /// The price, in the currency's smallest unit.
    pub price: U256,
    /// The fee, in hundredths of a per cent of the price.
    pub fee: u16,
}

/// Parts of a price, which together are the price; in the currency's smallest unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proceeds {
    /// What the place of the sale gets.
    pub fee: U256,
    /// What the token's royalty receiver gets.
    pub royalty: U256,
    /// Who gets the royalty; zero without one.
    pub royalty_receiver: Address,
    /// What the seller gets.
    pub rest: U256,
}

/// Who gets the parts beside the royalty.
#[derive(Clone, Copy, Debug)]
pub struct Payees {
    /// Who gets the fee.
    pub fee_recipient: Address,
    /// Who gets the rest.
    pub seller: Address,
}

impl Sale {
    /// Divides the price: fee and royalty are rounded down.
    ///
    /// # Errors
    /// [`FeesExceedPrice`]; [`Stop`].
    pub fn proceeds(&self, host: &mut Host<'_>) -> Result<Proceeds, Stop> {
        let (royalty_receiver, royalty) = self.royalty(host)?;
        let fee = self.fee()?;
        let error = FeesExceedPrice { price: self.price, fee, royalty };
        self.divide(fee, royalty, royalty_receiver).ok_or_else(|| revert(&error))
    }

    /// As [`Sale::proceeds`], without the royalty where that and the fee are above the price: for a sale that has to take place, as its
    /// price was paid before.
    ///
    /// # Errors
    /// [`FeesExceedPrice`] when the fee alone is above the price; [`Stop`].
    pub fn proceeds_of_paid(&self, host: &mut Host<'_>) -> Result<Proceeds, Stop> {
        let (royalty_receiver, royalty) = self.royalty(host)?;
        let fee = self.fee()?;
        let error = FeesExceedPrice { price: self.price, fee, royalty: U256::ZERO };
        let divided = self.divide(fee, royalty, royalty_receiver);
        divided.or_else(|| self.divide(fee, U256::ZERO, Address::ZERO)).ok_or_else(|| revert(&error))
    }

    fn fee(&self) -> Result<U256, Stop> {
        mul_div(self.price, U256::from(self.fee), U256::from(FEE_DENOMINATOR), Rounding::Floor)
    }

    /// Returns the royalty and its receiver, as the collection says them; none from a collection that has none, or fails to answer, or names
    /// nobody or the running contract, which would keep it.
    fn royalty(&self, host: &mut Host<'_>) -> Result<(Address, U256), Stop> {
        let call = royaltyInfoCall { tokenId: self.token_id, salePrice: self.price };
        let answer = host.static_call_with_gas(self.collection, &call.abi_encode(), ROYALTY_GAS)?;
        let royalty = match royaltyInfoCall::abi_decode_returns_validate(&answer.output) {
            Ok(royalty) if answer.is_success() => royalty,
            _ => return Ok((Address::ZERO, U256::ZERO)),
        };
        let (receiver, amount) = (royalty.receiver, royalty.royaltyAmount);
        let is_paid = !amount.is_zero() && !receiver.is_zero() && receiver != host.address();
        Ok(if is_paid { (receiver, amount) } else { (Address::ZERO, U256::ZERO) })
    }

    fn divide(&self, fee: U256, royalty: U256, royalty_receiver: Address) -> Option<Proceeds> {
        let rest = self.price.checked_sub(fee.checked_add(royalty)?)?;
        Some(Proceeds { fee, royalty, royalty_receiver, rest })
    }
}

impl Proceeds {
    /// Pays the parts out of what the contract holds; who does not take one finds it among the withdrawals.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn pay(
        &self,
        host: &mut Host<'_>,
        currency: Currency,
        payees: Payees,
        withdrawals: Withdrawals,
    ) -> Result<(), Stop> {
        self.parts(payees).into_iter().try_for_each(|(to, amount)| withdrawals.pay(host, to, currency, amount))
    }

    /// Pays the parts of a sale whose payer pays now: out of the call's ether, or out of tokens that the payer approved.
    ///
    /// # Errors
    /// Those of [`safe_transfer_from`]; [`Stop`].
    pub fn pay_by(
        &self,
        host: &mut Host<'_>,
        currency: Currency,
        payer: Address,
        payees: Payees,
        withdrawals: Withdrawals,
    ) -> Result<(), Stop> {
        match currency {
            Currency::Native => self.pay(host, currency, payees, withdrawals),
            Currency::Token(token) => self.pay_from(host, token, payer, payees),
        }
    }

    /// Pays the parts out of tokens that their payer approved.
    ///
    /// # Errors
    /// Those of [`safe_transfer_from`].
    fn pay_from(&self, host: &mut Host<'_>, token: Address, payer: Address, payees: Payees) -> Result<(), Stop> {
        let parts = self.parts(payees).into_iter().filter(|(_, amount)| !amount.is_zero());
        parts.into_iter().try_for_each(|(to, amount)| safe_transfer_from(host, token, payer, to, amount))
    }

    const fn parts(&self, payees: Payees) -> [(Address, U256); 3] {
        let Payees { fee_recipient, seller } = payees;
        [(fee_recipient, self.fee), (self.royalty_receiver, self.royalty), (seller, self.rest)]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever is asked: the parts are the price, or there are none.
        #[test]
        fn parts_are_the_price(price: u128, fee in 0..=FEE_DENOMINATOR, royalty: u128, within: bool) {
            let royalty = if within { royalty % price.saturating_add(1) } else { royalty };
            let sale = Sale { collection: Address::ZERO, token_id: U256::ZERO, price: U256::from(price), fee };
            let (fee, royalty) = (sale.fee().unwrap(), U256::from(royalty));
            prop_assert!(fee <= sale.price);
            match sale.divide(fee, royalty, Address::ZERO) {
                Some(parts) => prop_assert_eq!(parts.fee + parts.royalty + parts.rest, sale.price),
                None => prop_assert!(fee + royalty > sale.price),
            }
        }
    }

    #[test]
    fn amounts_of_any_size_are_divided() {
        let sale = Sale { collection: Address::ZERO, token_id: U256::ZERO, price: U256::MAX, fee: 10_000 };
        assert_eq!(sale.fee(), Ok(U256::MAX));
        assert_eq!(sale.divide(U256::MAX, U256::MAX, Address::ZERO), None);
        assert!(sale.divide(U256::MAX, U256::ZERO, Address::ZERO).is_some());
    }
}
