//! Payments that wait for their recipients to take them ("pull payments"), so that nobody who refuses one holds up others.

use self::interface::{InvalidRecipient, NothingToWithdraw, PaymentCredited, PaymentWithdrawn};
use super::Currency;
use crate::vm::contract::*;

/// Events and errors.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// A payment waits for an account; the zero address as currency is the native token.
        event PaymentCredited(address indexed account, address indexed currency, uint256 amount);
        /// An account took all that waited for it.
        event PaymentWithdrawn(address indexed account, address indexed currency, address to, uint256 amount);
        /// Nothing in this currency waits for the account.
        error NothingToWithdraw(address account, address currency);
        /// A payment to the zero address, or to the contract itself, would be lost.
        error InvalidRecipient(address recipient);
    }
}

storage! {
    /// The payments.
    pub contract Withdrawals {
        /// What waits, by account and currency.
        pub pending: Mapping<Address, Mapping<Address, U256>> as "_pendingWithdrawals",
    }
}

impl Withdrawals {
    /// Returns what waits for an account, in the currency's smallest unit.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn pending(self, host: &mut Host<'_>, account: Address, currency: Address) -> Result<U256, Stop> {
        self.pending.at(host, account)?.get(host, currency)
    }

    /// Keeps a payment for an account, of what the contract holds.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn credit(self, host: &mut Host<'_>, account: Address, currency: Currency, amount: U256) -> Result<(), Stop> {
        let currency = currency.address();
        self.pending.at(host, account)?.at(host, currency)?.add(host, amount)?;
        host.emit(&PaymentCredited { account, currency, amount })
    }

    /// Pays an account at once, of what the contract holds; or keeps the payment for it, if it does not take it.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn pay(self, host: &mut Host<'_>, to: Address, currency: Currency, amount: U256) -> Result<(), Stop> {
        if amount.is_zero() || currency.try_send(host, to, amount)? {
            return Ok(());
        }
        self.credit(host, to, currency, amount)
    }

    /// Sends what waits for the caller to an account of its choice, and returns how much that is.
    ///
    /// # Errors
    /// [`NothingToWithdraw`]; [`InvalidRecipient`]; those of [`Currency::send`]; [`Stop`].
    pub fn withdraw(self, host: &mut Host<'_>, currency: Address, to: Address) -> Result<U256, Stop> {
        let account = host.caller();
        require(!to.is_zero() && to != host.address(), InvalidRecipient { recipient: to })?;
        let pending = self.pending.at(host, account)?.at(host, currency)?;
        let amount = pending.get(host)?;
        require(!amount.is_zero(), NothingToWithdraw { account, currency })?;
        pending.set(host, U256::ZERO)?;
        host.emit(&PaymentWithdrawn { account, currency, to, amount })?;
        Currency::of(currency).send(host, to, amount)?;
        Ok(amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::sandbox::Sandbox;

    const WITHDRAWALS: Withdrawals = Withdrawals::STATE;

    #[test]
    fn a_payment_that_is_refused_waits_and_is_taken_once() {
        let mut sandbox = Sandbox::new();
        let (account, other) = (sandbox.caller, Address::repeat_byte(9));
        let ten = U256::from(10);
        sandbox.run(move |host| WITHDRAWALS.pay(host, other, Currency::Native, ten)).unwrap();
        assert_eq!(sandbox.journal.balance(&other).unwrap(), ten, "paid at once");
        sandbox.run(move |host| WITHDRAWALS.credit(host, account, Currency::Native, ten)).unwrap();
        let currency = Address::ZERO;
        assert_eq!(sandbox.logs()[0].data, PaymentCredited { account, currency, amount: ten }.encode_log_data());
        let own = sandbox.run(|host| Ok(host.address())).unwrap();
        for recipient in [Address::ZERO, own] {
            let refused = sandbox.run(move |host| WITHDRAWALS.withdraw(host, currency, recipient));
            assert_eq!(refused, Err(revert(&InvalidRecipient { recipient })));
        }
        assert_eq!(sandbox.run(move |host| WITHDRAWALS.pending(host, account, currency)), Ok(ten));
        assert_eq!(sandbox.run(move |host| WITHDRAWALS.withdraw(host, currency, other)), Ok(ten));
        let event = PaymentWithdrawn { account, currency, to: other, amount: ten };
        assert_eq!(sandbox.logs()[0].data, event.encode_log_data());
        assert_eq!(sandbox.journal.balance(&other).unwrap(), U256::from(20));
        let again = sandbox.run(move |host| WITHDRAWALS.withdraw(host, currency, other));
        assert_eq!(again, Err(revert(&NothingToWithdraw { account, currency })));
    }
}
