//! OpenZeppelin's `ERC20` without extensions: balances, allowances, supply, name and symbol of a fungible token.

use self::interface::{
    Approval, ERC20InsufficientAllowance, ERC20InsufficientBalance, ERC20InvalidApprover, ERC20InvalidReceiver,
    ERC20InvalidSender, ERC20InvalidSpender, Transfer,
};
use crate::vm::contract::*;

/// Events and errors.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// Tokens moved; minted from and burnt to the zero address.
        event Transfer(address indexed from, address indexed to, uint256 value);
        /// A spender was allowed to move so many tokens of an owner.
        event Approval(address indexed owner, address indexed spender, uint256 value);

        /// The sender has fewer tokens than are needed.
        error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed);
        /// The sender is no valid account, such as the zero address.
        error ERC20InvalidSender(address sender);
        /// The receiver is no valid account, such as the zero address.
        error ERC20InvalidReceiver(address receiver);
        /// The spender is allowed fewer tokens than are needed.
        error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed);
        /// The owner is no valid account, such as the zero address.
        error ERC20InvalidApprover(address approver);
        /// The spender is no valid account, such as the zero address.
        error ERC20InvalidSpender(address spender);
    }
}

storage! {
    /// State variables of a fungible token.
    pub contract Erc20Base {
        /// Tokens of each holder, in the smallest unit.
        pub balances: Mapping<Address, U256>,
        /// What an owner, the first key, allows a spender, the second.
        pub allowances: Mapping<Address, Mapping<Address, U256>>,
        /// Sum of all balances.
        pub total_supply: Slot<U256>,
        /// Name of the token.
        pub name: Slot<String>,
        /// Symbol of the token.
        pub symbol: Slot<String>,
    }
}

impl Erc20Base {
    /// Sets name and symbol (`constructor`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn construct(self, host: &mut Host<'_>, name: String, symbol: String) -> Result<(), Stop> {
        self.name.set(host, name)?;
        self.symbol.set(host, symbol)
    }

    /// Returns what an owner allows a spender (`allowance`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn allowance(self, host: &mut Host<'_>, owner: Address, spender: Address) -> Result<U256, Stop> {
        self.allowances.at(host, owner)?.get(host, spender)
    }

    /// Moves tokens of the caller (`transfer`).
    ///
    /// # Errors
    /// [`ERC20InvalidSender`], [`ERC20InvalidReceiver`], [`ERC20InsufficientBalance`]; [`Stop`].
    pub fn transfer(self, host: &mut Host<'_>, to: Address, value: U256) -> Result<bool, Stop> {
        let from = host.caller();
        self.move_tokens(host, from, to, value)?;
        Ok(true)
    }

    /// Allows a spender to move so many tokens of the caller (`approve`).
    ///
    /// # Errors
    /// [`ERC20InvalidApprover`], [`ERC20InvalidSpender`]; [`Stop`].
    pub fn approve(self, host: &mut Host<'_>, spender: Address, value: U256) -> Result<bool, Stop> {
        let owner = host.caller();
        self.set_allowance(host, owner, spender, value)?;
        host.emit(&Approval { owner, spender, value })?;
        Ok(true)
    }

    /// Moves tokens that their owner allows the caller to move (`transferFrom`).
    ///
    /// # Errors
    /// As [`Erc20Base::spend_allowance`] and [`Erc20Base::transfer`].
    pub fn transfer_from(self, host: &mut Host<'_>, from: Address, to: Address, value: U256) -> Result<bool, Stop> {
        self.spend_allowance(host, from, value)?;
        self.move_tokens(host, from, to, value)?;
        Ok(true)
    }

    /// Subtracts from what `owner` allows the caller (`_spendAllowance`); an allowance of 2^256 - 1 is unlimited. Emits no event.
    ///
    /// # Errors
    /// [`ERC20InsufficientAllowance`], [`ERC20InvalidApprover`], [`ERC20InvalidSpender`]; [`Stop`].
    pub fn spend_allowance(self, host: &mut Host<'_>, owner: Address, value: U256) -> Result<(), Stop> {
        let spender = host.caller();
        let allowance = self.allowance(host, owner, spender)?;
        if allowance == U256::MAX {
            return Ok(());
        }
        match allowance.checked_sub(value) {
            Some(rest) => self.set_allowance(host, owner, spender, rest),
            None => Err(revert(&ERC20InsufficientAllowance { spender, allowance, needed: value })),
        }
    }

    /// Makes new tokens (`_mint`).
    ///
    /// # Errors
    /// [`ERC20InvalidReceiver`]; `Panic(0x11)` when the supply would exceed 2^256 - 1; [`Stop`].
    pub fn mint(self, host: &mut Host<'_>, to: Address, value: U256) -> Result<(), Stop> {
        require(!to.is_zero(), ERC20InvalidReceiver { receiver: to })?;
        self.total_supply.add(host, value)?;
        self.give(host, to, value)?;
        host.emit(&Transfer { from: Address::ZERO, to, value })
    }

    /// Destroys tokens (`_burn`).
    ///
    /// # Errors
    /// [`ERC20InvalidSender`], [`ERC20InsufficientBalance`]; [`Stop`].
    pub fn burn(self, host: &mut Host<'_>, from: Address, value: U256) -> Result<(), Stop> {
        require(!from.is_zero(), ERC20InvalidSender { sender: from })?;
        self.take(host, from, value)?;
        self.total_supply.sub(host, value)?;
        host.emit(&Transfer { from, to: Address::ZERO, value })
    }

    fn set_allowance(self, host: &mut Host<'_>, owner: Address, spender: Address, value: U256) -> Result<(), Stop> {
        require(!owner.is_zero(), ERC20InvalidApprover { approver: owner })?;
        require(!spender.is_zero(), ERC20InvalidSpender { spender })?;
        self.allowances.at(host, owner)?.set(host, spender, value)
    }

    fn move_tokens(self, host: &mut Host<'_>, from: Address, to: Address, value: U256) -> Result<(), Stop> {
        require(!from.is_zero(), ERC20InvalidSender { sender: from })?;
        require(!to.is_zero(), ERC20InvalidReceiver { receiver: to })?;
        self.take(host, from, value)?;
        self.give(host, to, value)?;
        host.emit(&Transfer { from, to, value })
    }

    fn take(self, host: &mut Host<'_>, from: Address, value: U256) -> Result<(), Stop> {
        self.balances.at(host, from)?.update(host, |balance| {
            let error = || revert(&ERC20InsufficientBalance { sender: from, balance, needed: value });
            balance.checked_sub(value).ok_or_else(error)
        })
    }

    fn give(self, host: &mut Host<'_>, to: Address, value: U256) -> Result<(), Stop> {
        // The sum of all balances is the total supply, which fits.
        self.balances.at(host, to)?.update(host, |balance| Ok(balance.wrapping_add(value)))
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::LogData;

    use super::*;
    use crate::vm::{math::overflow, sandbox::Sandbox};

    const TOKEN: Erc20Base = Erc20Base::STATE;
    const BOB: Address = Address::repeat_byte(2);

    fn amount(value: u64) -> U256 {
        U256::from(value)
    }

    fn event(sandbox: &Sandbox) -> &LogData {
        &sandbox.logs()[0].data
    }

    #[test]
    fn tokens_are_minted_moved_and_burnt() {
        let mut sandbox = Sandbox::new();
        let (caller, zero) = (sandbox.caller, Address::ZERO);
        sandbox.run(move |host| TOKEN.mint(host, caller, amount(10))).unwrap();
        assert_eq!(event(&sandbox), &Transfer { from: zero, to: caller, value: amount(10) }.encode_log_data());
        assert_eq!(sandbox.run(|host| TOKEN.transfer(host, BOB, amount(4))), Ok(true));
        assert_eq!(event(&sandbox), &Transfer { from: caller, to: BOB, value: amount(4) }.encode_log_data());
        let short = ERC20InsufficientBalance { sender: caller, balance: amount(6), needed: amount(7) };
        assert_eq!(sandbox.run(|host| TOKEN.transfer(host, BOB, amount(7))), Err(revert(&short)));
        assert_eq!(sandbox.run(move |host| TOKEN.burn(host, caller, amount(7))), Err(revert(&short)));
        sandbox.run(|host| TOKEN.burn(host, BOB, amount(3))).unwrap();
        assert_eq!(event(&sandbox), &Transfer { from: BOB, to: zero, value: amount(3) }.encode_log_data());
        assert_eq!(sandbox.run(|host| TOKEN.total_supply.get(host)), Ok(amount(7)));
        assert_eq!(sandbox.run(|host| TOKEN.balances.get(host, BOB)), Ok(amount(1)));
        assert_eq!(sandbox.run(|host| TOKEN.mint(host, BOB, U256::MAX)), Err(overflow()));
        let (receiver, sender) = (ERC20InvalidReceiver { receiver: zero }, ERC20InvalidSender { sender: zero });
        assert_eq!(sandbox.run(move |host| TOKEN.mint(host, zero, amount(1))), Err(revert(&receiver)));
        assert_eq!(sandbox.run(move |host| TOKEN.transfer(host, zero, amount(1))), Err(revert(&receiver)));
        assert_eq!(sandbox.run(move |host| TOKEN.burn(host, zero, amount(0))), Err(revert(&sender)));
    }

    #[test]
    fn allowances_are_used_up_unless_unlimited() {
        let mut sandbox = Sandbox::new();
        let (owner, zero) = (sandbox.caller, Address::ZERO);
        sandbox.run(move |host| TOKEN.mint(host, owner, amount(10))).unwrap();
        assert_eq!(sandbox.run(|host| TOKEN.approve(host, BOB, amount(5))), Ok(true));
        assert_eq!(event(&sandbox), &Approval { owner, spender: BOB, value: amount(5) }.encode_log_data());
        let spender = ERC20InvalidSpender { spender: zero };
        assert_eq!(sandbox.run(move |host| TOKEN.approve(host, zero, amount(5))), Err(revert(&spender)));
        sandbox.caller = BOB;
        assert_eq!(sandbox.run(move |host| TOKEN.transfer_from(host, owner, BOB, amount(2))), Ok(true));
        assert_eq!(sandbox.run(move |host| TOKEN.allowance(host, owner, BOB)), Ok(amount(3)));
        let short = ERC20InsufficientAllowance { spender: BOB, allowance: amount(3), needed: amount(4) };
        assert_eq!(sandbox.run(move |host| TOKEN.transfer_from(host, owner, BOB, amount(4))), Err(revert(&short)));
        let approver = ERC20InvalidApprover { approver: zero };
        assert_eq!(sandbox.run(move |host| TOKEN.transfer_from(host, zero, BOB, amount(0))), Err(revert(&approver)));
        sandbox.caller = owner;
        sandbox.run(|host| TOKEN.approve(host, BOB, U256::MAX)).unwrap();
        sandbox.caller = BOB;
        sandbox.run(move |host| TOKEN.transfer_from(host, owner, BOB, amount(2))).unwrap();
        assert_eq!(sandbox.run(move |host| TOKEN.allowance(host, owner, BOB)), Ok(U256::MAX));
    }
}
