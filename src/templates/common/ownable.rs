//! OpenZeppelin's `Ownable`: one account that may do what others may not.

use self::interface::{OwnableInvalidOwner, OwnableUnauthorizedAccount, OwnershipTransferred};
use crate::vm::contract::*;

/// Events and errors.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// The caller is not the owner.
        error OwnableUnauthorizedAccount(address account);
        /// The owner is no valid account, such as the zero address.
        error OwnableInvalidOwner(address owner);
        /// The owner changed.
        event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);
    }
}

storage! {
    /// The owner.
    pub contract Ownable {
        /// The owner; zero without one.
        pub owner: Slot<Address>,
    }
}

impl Ownable {
    /// Sets the first owner (`constructor`).
    ///
    /// # Errors
    /// [`OwnableInvalidOwner`] for the zero address; [`Stop`].
    pub fn construct(self, host: &mut Host<'_>, owner: Address) -> Result<(), Stop> {
        Self::check_owner(owner)?;
        self.set_owner(host, owner)
    }

    /// Refuses the zero address as an owner.
    ///
    /// # Errors
    /// [`OwnableInvalidOwner`].
    pub fn check_owner(owner: Address) -> Result<(), Stop> {
        require(!owner.is_zero(), OwnableInvalidOwner { owner })
    }

    /// Refuses callers other than the owner (`onlyOwner`).
    ///
    /// # Errors
    /// [`OwnableUnauthorizedAccount`]; [`Stop`].
    pub fn only_owner(self, host: &mut Host<'_>) -> Result<(), Stop> {
        let (owner, account) = (self.owner.get(host)?, host.caller());
        require(owner == account, OwnableUnauthorizedAccount { account })
    }

    /// Makes another account the owner (`transferOwnership`).
    ///
    /// # Errors
    /// [`OwnableUnauthorizedAccount`]; [`OwnableInvalidOwner`] for the zero address; [`Stop`].
    pub fn transfer_ownership(self, host: &mut Host<'_>, new_owner: Address) -> Result<(), Stop> {
        self.only_owner(host)?;
        Self::check_owner(new_owner)?;
        self.set_owner(host, new_owner)
    }

    /// Leaves the contract without owner (`renounceOwnership`).
    ///
    /// # Errors
    /// [`OwnableUnauthorizedAccount`]; [`Stop`].
    pub fn renounce_ownership(self, host: &mut Host<'_>) -> Result<(), Stop> {
        self.only_owner(host)?;
        self.set_owner(host, Address::ZERO)
    }

    /// Sets the owner, whoever calls (`_transferOwnership`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn set_owner(self, host: &mut Host<'_>, new_owner: Address) -> Result<(), Stop> {
        let mut previous = Address::ZERO;
        self.owner.update(host, |owner| {
            previous = owner;
            Ok(new_owner)
        })?;
        host.emit(&OwnershipTransferred { previousOwner: previous, newOwner: new_owner })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::sandbox::Sandbox;

    const OWNABLE: Ownable = Ownable::STATE;

    #[test]
    fn ownership_is_taken_passed_on_and_given_up() {
        let mut sandbox = Sandbox::new();
        let (first, second) = (sandbox.caller, Address::repeat_byte(2));
        let zero = revert(&OwnableInvalidOwner { owner: Address::ZERO });
        assert_eq!(sandbox.run(|host| OWNABLE.construct(host, Address::ZERO)), Err(zero.clone()));
        sandbox.run(move |host| OWNABLE.construct(host, first)).unwrap();
        let event = OwnershipTransferred { previousOwner: Address::ZERO, newOwner: first };
        assert_eq!(sandbox.logs()[0].data, event.encode_log_data());
        assert_eq!(sandbox.run(|host| OWNABLE.transfer_ownership(host, Address::ZERO)), Err(zero));
        sandbox.run(move |host| OWNABLE.transfer_ownership(host, second)).unwrap();
        let stranger = revert(&OwnableUnauthorizedAccount { account: first });
        assert_eq!(sandbox.run(|host| OWNABLE.only_owner(host)), Err(stranger.clone()));
        assert_eq!(sandbox.run(|host| OWNABLE.renounce_ownership(host)), Err(stranger));
        sandbox.caller = second;
        sandbox.run(|host| OWNABLE.renounce_ownership(host)).unwrap();
        let event = OwnershipTransferred { previousOwner: second, newOwner: Address::ZERO };
        assert_eq!(sandbox.logs()[0].data, event.encode_log_data());
        assert_eq!(sandbox.run(|host| OWNABLE.owner.get(host)), Ok(Address::ZERO));
    }

    #[test]
    fn errors_have_the_published_selectors() {
        assert_eq!(OwnableUnauthorizedAccount::SELECTOR, [0x11, 0x8c, 0xda, 0xa7]);
        assert_eq!(OwnableInvalidOwner::SELECTOR, [0x1e, 0x4f, 0xbd, 0xf7]);
    }
}
