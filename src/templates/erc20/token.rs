//! Balances, allowances, supply, ownership and pausing.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall;

use super::{
    IMMUTABLES,
    interface::{self as sol, Erc20Token},
};
use crate::vm::{
    Host, Stop,
    abi::{self, PANIC_OVERFLOW, revert},
};

const BALANCES: U256 = U256::ZERO;
const ALLOWANCES: U256 = U256::from_limbs([1, 0, 0, 0]);
const TOTAL_SUPPLY: U256 = U256::from_limbs([2, 0, 0, 0]);
pub(super) const NAME: U256 = U256::from_limbs([3, 0, 0, 0]);
const SYMBOL: U256 = U256::from_limbs([4, 0, 0, 0]);
/// Paused in the lowest byte, the owner in the 20 bytes above it.
const PAUSED_AND_OWNER: U256 = U256::from_limbs([5, 0, 0, 0]);
const EIP712_NAME: U256 = U256::from_limbs([6, 0, 0, 0]);

const MINTABLE: usize = 8;
const BURNABLE: usize = 9;
const PAUSABLE: usize = 10;

/// The contract's functions over its storage.
pub(super) struct Token<'t, 'h>(pub(super) &'t mut Host<'h>);

/// Construction.
impl Token<'_, '_> {
    pub(super) fn construct(&mut self, params: &Erc20Token::constructorCall) -> Result<(), Stop> {
        let sol::Features { mintable, burnable, pausable } = params.features;
        let flags = [(mintable, MINTABLE), (burnable, BURNABLE), (pausable, PAUSABLE)];
        let mut immutables = U256::from(params.decimals);
        for (is_on, bit) in flags {
            immutables.set_bit(bit, is_on);
        }
        self.0.store_bytes(NAME, params.name.as_bytes())?;
        self.0.store_bytes(SYMBOL, params.symbol.as_bytes())?;
        if params.name.len() > 31 {
            self.0.store_bytes(EIP712_NAME, params.name.as_bytes())?;
        }
        if params.owner.is_zero() {
            return Err(revert(&sol::OwnableInvalidOwner { owner: Address::ZERO }));
        }
        if params.cap.is_zero() {
            return Err(revert(&sol::ERC20InvalidCap { cap: U256::ZERO }));
        }
        self.0.store(IMMUTABLES, immutables)?;
        self.0.store(IMMUTABLES.wrapping_add(U256::from(1)), params.cap)?;
        self.set_owner(Address::ZERO, params.owner)?;
        if params.totalSupply.is_zero() {
            return Ok(());
        }
        self.mint_to(params.owner, params.totalSupply)
    }
}

/// ERC-20.
impl Token<'_, '_> {
    pub(super) fn name(&mut self) -> Result<String, Stop> {
        self.0.load_bytes(NAME).map(text)
    }

    pub(super) fn symbol(&mut self) -> Result<String, Stop> {
        self.0.load_bytes(SYMBOL).map(text)
    }

    pub(super) fn decimals(&mut self) -> Result<U256, Stop> {
        Ok(self.0.load(IMMUTABLES)? & U256::from(0xff))
    }

    pub(super) fn total_supply(&mut self) -> Result<U256, Stop> {
        self.0.load(TOTAL_SUPPLY)
    }

    pub(super) fn balance_of(&mut self, account: &Address) -> Result<U256, Stop> {
        let slot = self.0.address_mapping_slot(account, BALANCES)?;
        self.0.load(slot)
    }

    pub(super) fn allowance(&mut self, owner: &Address, spender: &Address) -> Result<U256, Stop> {
        let slot = self.allowance_slot(owner, spender)?;
        self.0.load(slot)
    }

    pub(super) fn transfer(&mut self, to: Address, value: U256) -> Result<Bytes, Stop> {
        let from = self.0.caller();
        self.move_tokens(from, to, value)?;
        Ok(abi::encode_output_bool(true))
    }

    pub(super) fn approve(&mut self, spender: Address, value: U256) -> Result<Bytes, Stop> {
        let owner = self.0.caller();
        self.set_allowance(owner, spender, value)?;
        self.0.emit(&sol::Approval { owner, spender, value })?;
        Ok(abi::encode_output_bool(true))
    }

    pub(super) fn transfer_from(&mut self, from: Address, to: Address, value: U256) -> Result<Bytes, Stop> {
        self.spend_allowance(from, value)?;
        self.move_tokens(from, to, value)?;
        Ok(abi::encode_output_bool(true))
    }

    fn allowance_slot(&mut self, owner: &Address, spender: &Address) -> Result<U256, Stop> {
        let of_owner = self.0.address_mapping_slot(owner, ALLOWANCES)?;
        self.0.address_mapping_slot(spender, of_owner)
    }

    pub(super) fn set_allowance(&mut self, owner: Address, spender: Address, value: U256) -> Result<(), Stop> {
        if owner.is_zero() {
            return Err(revert(&sol::ERC20InvalidApprover { approver: owner }));
        }
        if spender.is_zero() {
            return Err(revert(&sol::ERC20InvalidSpender { spender }));
        }
        let slot = self.allowance_slot(&owner, &spender)?;
        self.0.store(slot, value)
    }

    /// Subtracts from the caller's allowance; one of 2^256 - 1 is unlimited. Emits no event, as OpenZeppelin 5.
    fn spend_allowance(&mut self, owner: Address, value: U256) -> Result<(), Stop> {
        let spender = self.0.caller();
        let allowance = self.allowance(&owner, &spender)?;
        if allowance == U256::MAX {
            return Ok(());
        }
        match allowance.checked_sub(value) {
            Some(rest) => self.set_allowance(owner, spender, rest),
            None => Err(revert(&sol::ERC20InsufficientAllowance { spender, allowance, needed: value })),
        }
    }

    fn move_tokens(&mut self, from: Address, to: Address, value: U256) -> Result<(), Stop> {
        if from.is_zero() {
            return Err(revert(&sol::ERC20InvalidSender { sender: from }));
        }
        if to.is_zero() {
            return Err(revert(&sol::ERC20InvalidReceiver { receiver: to }));
        }
        self.require_not_paused()?;
        self.take(from, value)?;
        let slot = self.0.address_mapping_slot(&to, BALANCES)?;
        let balance = self.0.load(slot)?;
        // The sum of all balances is the total supply, which fits.
        self.0.store(slot, balance.wrapping_add(value))?;
        self.0.emit(&sol::Transfer { from, to, value })
    }

    fn take(&mut self, from: Address, value: U256) -> Result<(), Stop> {
        let slot = self.0.address_mapping_slot(&from, BALANCES)?;
        let balance = self.0.load(slot)?;
        match balance.checked_sub(value) {
            Some(rest) => self.0.store(slot, rest),
            None => Err(revert(&sol::ERC20InsufficientBalance { sender: from, balance, needed: value })),
        }
    }
}

/// Minting, burning, the cap.
impl Token<'_, '_> {
    pub(super) fn mint(&mut self, to: Address, amount: U256) -> Result<Bytes, Stop> {
        self.require_feature(MINTABLE)?;
        self.require_owner()?;
        if to.is_zero() {
            return Err(revert(&sol::ERC20InvalidReceiver { receiver: to }));
        }
        self.require_not_paused()?;
        self.mint_to(to, amount)?;
        Ok(Bytes::new())
    }

    pub(super) fn burn(&mut self, value: U256) -> Result<Bytes, Stop> {
        self.require_feature(BURNABLE)?;
        let from = self.0.caller();
        self.burn_tokens(from, value)
    }

    pub(super) fn burn_from(&mut self, from: Address, value: U256) -> Result<Bytes, Stop> {
        self.require_feature(BURNABLE)?;
        self.spend_allowance(from, value)?;
        self.burn_tokens(from, value)
    }

    pub(super) fn cap(&mut self) -> Result<U256, Stop> {
        self.0.load(IMMUTABLES.wrapping_add(U256::from(1)))
    }

    fn mint_to(&mut self, to: Address, value: U256) -> Result<(), Stop> {
        let supply = self.total_supply()?.checked_add(value).ok_or_else(|| abi::panic(PANIC_OVERFLOW))?;
        self.0.store(TOTAL_SUPPLY, supply)?;
        let slot = self.0.address_mapping_slot(&to, BALANCES)?;
        let balance = self.0.load(slot)?;
        self.0.store(slot, balance.wrapping_add(value))?;
        self.0.emit(&sol::Transfer { from: Address::ZERO, to, value })?;
        let cap = self.cap()?;
        if supply > cap {
            return Err(revert(&sol::ERC20ExceededCap { increasedSupply: supply, cap }));
        }
        Ok(())
    }

    fn burn_tokens(&mut self, from: Address, value: U256) -> Result<Bytes, Stop> {
        if from.is_zero() {
            return Err(revert(&sol::ERC20InvalidSender { sender: from }));
        }
        self.require_not_paused()?;
        self.take(from, value)?;
        let supply = self.total_supply()?;
        self.0.store(TOTAL_SUPPLY, supply.wrapping_sub(value))?;
        self.0.emit(&sol::Transfer { from, to: Address::ZERO, value })?;
        Ok(Bytes::new())
    }
}

/// Ownership and pausing.
impl Token<'_, '_> {
    pub(super) fn owner(&mut self) -> Result<Address, Stop> {
        Ok(owner_in(self.0.load(PAUSED_AND_OWNER)?))
    }

    pub(super) fn transfer_ownership(&mut self, to: Address) -> Result<Bytes, Stop> {
        let owner = self.require_owner()?;
        if to.is_zero() {
            return Err(revert(&sol::OwnableInvalidOwner { owner: to }));
        }
        self.set_owner(owner, to)?;
        Ok(Bytes::new())
    }

    pub(super) fn renounce_ownership(&mut self) -> Result<Bytes, Stop> {
        let owner = self.require_owner()?;
        self.set_owner(owner, Address::ZERO)?;
        Ok(Bytes::new())
    }

    pub(super) fn paused(&mut self) -> Result<bool, Stop> {
        self.require_feature(PAUSABLE)?;
        Ok(is_paused(self.0.load(PAUSED_AND_OWNER)?))
    }

    pub(super) fn set_paused(&mut self, pause: bool) -> Result<Bytes, Stop> {
        self.require_feature(PAUSABLE)?;
        let account = self.require_owner()?;
        let word = self.0.load(PAUSED_AND_OWNER)?;
        match (is_paused(word), pause) {
            (true, true) => return Err(revert(&sol::EnforcedPause {})),
            (false, false) => return Err(revert(&sol::ExpectedPause {})),
            _ => {}
        }
        self.0.store(PAUSED_AND_OWNER, pack(pause, owner_in(word)))?;
        if pause {
            self.0.emit(&sol::Paused { account })?
        } else {
            self.0.emit(&sol::Unpaused { account })?
        }
        Ok(Bytes::new())
    }

    fn set_owner(&mut self, previous: Address, new: Address) -> Result<(), Stop> {
        let word = self.0.load(PAUSED_AND_OWNER)?;
        self.0.store(PAUSED_AND_OWNER, pack(is_paused(word), new))?;
        self.0.emit(&sol::OwnershipTransferred { previousOwner: previous, newOwner: new })
    }

    fn require_owner(&mut self) -> Result<Address, Stop> {
        let (owner, account) = (self.owner()?, self.0.caller());
        if owner == account { Ok(owner) } else { Err(revert(&sol::OwnableUnauthorizedAccount { account })) }
    }

    fn require_not_paused(&mut self) -> Result<(), Stop> {
        if is_paused(self.0.load(PAUSED_AND_OWNER)?) { Err(revert(&sol::EnforcedPause {})) } else { Ok(()) }
    }

    fn require_feature(&mut self, bit: usize) -> Result<(), Stop> {
        if self.0.load(IMMUTABLES)?.bit(bit) { Ok(()) } else { Err(abi::empty_revert()) }
    }
}

/// ERC-165: itself, ERC-20, its metadata, EIP-2612 and EIP-5267.
pub(super) fn supports_interface(id: [u8; 4]) -> bool {
    let xor = |selectors: &[[u8; 4]]| selectors.iter().fold(0, |id, selector| id ^ u32::from_be_bytes(*selector));
    let erc20 = [
        sol::totalSupplyCall::SELECTOR,
        sol::balanceOfCall::SELECTOR,
        sol::transferCall::SELECTOR,
        sol::allowanceCall::SELECTOR,
        sol::approveCall::SELECTOR,
        sol::transferFromCall::SELECTOR,
    ];
    let metadata = [sol::nameCall::SELECTOR, sol::symbolCall::SELECTOR, sol::decimalsCall::SELECTOR];
    let permit = [sol::permitCall::SELECTOR, sol::noncesCall::SELECTOR, sol::DOMAIN_SEPARATORCall::SELECTOR];
    let id = u32::from_be_bytes(id);
    let itself = [sol::supportsInterfaceCall::SELECTOR];
    let domain = [sol::eip712DomainCall::SELECTOR];
    [itself.as_slice(), &erc20, &metadata, &permit, &domain].iter().any(|selectors| xor(selectors) == id)
}

fn is_paused(word: U256) -> bool {
    word.byte(0) != 0
}

fn owner_in(word: U256) -> Address {
    Address::from_slice(&word.to_be_bytes::<32>()[11..31])
}

fn pack(is_paused: bool, owner: Address) -> U256 {
    (U256::from_be_slice(owner.as_slice()) << 8) | U256::from(is_paused)
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
