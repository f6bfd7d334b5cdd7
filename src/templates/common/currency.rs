//! What is paid in: the chain's native token, or an ERC-20 token.

use self::interface::{IncompletePayment, IncorrectValue};
use super::{address::send_value, safe_erc20};
use crate::{primitives::Gas, vm::contract::*};

/// Errors.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// The call came with other ether than is to be paid, in wei; none is needed where tokens are paid.
        error IncorrectValue(uint256 value, uint256 needed);
        /// A token took another amount from the payer than it gave, as one with a fee on transfers does.
        error IncompletePayment(address token, uint256 received, uint256 needed);
    }
}

/// Gas for an account that is sent ether it did not ask for at that moment: enough for what wallets do, too little to stop the sender.
pub const PAYOUT_GAS: Gas = Gas::new(100_000);

/// The native token, or an ERC-20 token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Currency {
    /// The chain's native token, in wei.
    Native,
    /// An ERC-20 token, in its smallest unit.
    Token(Address),
}

impl Currency {
    /// Returns the currency of an address in an ABI: the zero address is the native token.
    pub fn of(address: Address) -> Self {
        if address.is_zero() { Self::Native } else { Self::Token(address) }
    }

    /// Returns its address in an ABI.
    pub const fn address(self) -> Address {
        match self {
            Self::Native => Address::ZERO,
            Self::Token(token) => token,
        }
    }

    /// Refuses a call with other ether than `amount` if that is to be paid in the native token, and with any if not.
    ///
    /// # Errors
    /// [`IncorrectValue`].
    pub fn check_value(self, host: &Host<'_>, amount: U256) -> Result<(), Stop> {
        let (value, needed) = (host.value(), if self == Self::Native { amount } else { U256::ZERO });
        require(value == needed, IncorrectValue { value, needed })
    }

    /// Takes a payment of the caller, which the contract then holds: the call's ether, or tokens that the caller approved.
    ///
    /// # Errors
    /// [`IncorrectValue`]; [`IncompletePayment`]; those of [`safe_erc20::safe_transfer_from`]; [`Stop`].
    pub fn collect(self, host: &mut Host<'_>, amount: U256) -> Result<(), Stop> {
        self.check_value(host, amount)?;
        let Self::Token(token) = self else { return Ok(()) };
        let (payer, own) = (host.caller(), host.address());
        let before = safe_erc20::balance_of(host, token, own)?;
        safe_erc20::safe_transfer_from(host, token, payer, own, amount)?;
        let received = safe_erc20::balance_of(host, token, own)?.saturating_sub(before);
        require(received == amount, IncompletePayment { token, received, needed: amount })
    }

    /// Sends what the contract holds.
    ///
    /// # Errors
    /// Those of [`send_value`] and [`safe_erc20::safe_transfer`]; [`Stop`].
    pub fn send(self, host: &mut Host<'_>, to: Address, amount: U256) -> Result<(), Stop> {
        match self {
            Self::Native => send_value(host, to, amount),
            Self::Token(token) => safe_erc20::safe_transfer(host, token, to, amount),
        }
    }

    /// Sends what the contract holds, if the recipient takes it: ether with at most [`PAYOUT_GAS`]. Returns whether it did.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn try_send(self, host: &mut Host<'_>, to: Address, amount: U256) -> Result<bool, Stop> {
        match self {
            Self::Native => Ok(host.call_with_gas(to, amount, &[], PAYOUT_GAS)?.is_success()),
            Self::Token(token) => safe_erc20::try_safe_transfer(host, token, to, amount),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zero_address_is_the_native_token() {
        let token = Address::repeat_byte(7);
        assert_eq!([Currency::of(Address::ZERO), Currency::of(token)], [Currency::Native, Currency::Token(token)]);
        assert_eq!([Currency::Native.address(), Currency::Token(token).address()], [Address::ZERO, token]);
    }

    #[test]
    fn errors_have_the_documented_selectors() {
        let selector = |text: &str| *alloy_primitives::keccak256(text).first_chunk::<4>().unwrap();
        assert_eq!(IncorrectValue::SELECTOR, selector("IncorrectValue(uint256,uint256)"));
        assert_eq!(IncompletePayment::SELECTOR, selector("IncompletePayment(address,uint256,uint256)"));
    }
}
