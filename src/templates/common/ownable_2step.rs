//! OpenZeppelin's `Ownable2Step`: an owner that hands over to an account which has to accept, so that no wrong address becomes one.

use self::interface::OwnershipTransferStarted;
use super::ownable::{Ownable, interface::OwnableUnauthorizedAccount};
use crate::vm::contract::*;

/// The event that [`Ownable`] does not have.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// Another account becomes the owner once it accepts; zero withdraws the offer.
        event OwnershipTransferStarted(address indexed previousOwner, address indexed newOwner);
    }
}

storage! {
    /// The owner, and who is to be the next.
    pub contract Ownable2Step {
        /// The owner.
        pub ownable: Ownable,
        /// Who may accept; zero for nobody.
        pub pending_owner: Slot<Address>,
    }
}

impl Ownable2Step {
    /// Offers the ownership to another account; the zero address withdraws an offer (`transferOwnership`).
    ///
    /// # Errors
    /// [`OwnableUnauthorizedAccount`]; [`Stop`].
    pub fn transfer_ownership(self, host: &mut Host<'_>, new_owner: Address) -> Result<(), Stop> {
        self.ownable.only_owner(host)?;
        self.pending_owner.set(host, new_owner)?;
        let previous = self.ownable.owner.get(host)?;
        host.emit(&OwnershipTransferStarted { previousOwner: previous, newOwner: new_owner })
    }

    /// Makes the caller the owner, if it is whom the owner offered that (`acceptOwnership`).
    ///
    /// # Errors
    /// [`OwnableUnauthorizedAccount`]; [`Stop`].
    pub fn accept_ownership(self, host: &mut Host<'_>) -> Result<(), Stop> {
        let account = host.caller();
        let pending = self.pending_owner.get(host)?;
        require(pending == account, OwnableUnauthorizedAccount { account })?;
        self.pending_owner.set(host, Address::ZERO)?;
        self.ownable.set_owner(host, account)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::ownable::interface::OwnershipTransferred, *};
    use crate::vm::sandbox::Sandbox;

    const OWNABLE: Ownable2Step = Ownable2Step::STATE;

    #[test]
    fn the_next_owner_accepts_what_the_owner_offers() {
        let mut sandbox = Sandbox::new();
        let (first, second) = (sandbox.caller, Address::repeat_byte(2));
        let stranger = |account| Err(revert(&OwnableUnauthorizedAccount { account }));
        sandbox.run(move |host| OWNABLE.ownable.construct(host, first)).unwrap();
        assert_eq!(sandbox.run(|host| OWNABLE.accept_ownership(host)), stranger(first), "nothing is offered");
        sandbox.run(move |host| OWNABLE.transfer_ownership(host, second)).unwrap();
        let event = OwnershipTransferStarted { previousOwner: first, newOwner: second };
        assert_eq!(sandbox.logs()[0].data, event.encode_log_data());
        assert_eq!(sandbox.run(|host| OWNABLE.ownable.owner.get(host)), Ok(first), "until it accepts");
        sandbox.run(|host| OWNABLE.transfer_ownership(host, Address::ZERO)).unwrap();
        sandbox.caller = second;
        assert_eq!(sandbox.run(|host| OWNABLE.accept_ownership(host)), stranger(second), "it was withdrawn");
        assert_eq!(sandbox.run(move |host| OWNABLE.transfer_ownership(host, second)), stranger(second));
        sandbox.caller = first;
        sandbox.run(move |host| OWNABLE.transfer_ownership(host, second)).unwrap();
        sandbox.caller = second;
        sandbox.run(|host| OWNABLE.accept_ownership(host)).unwrap();
        let event = OwnershipTransferred { previousOwner: first, newOwner: second };
        assert_eq!(sandbox.logs()[0].data, event.encode_log_data());
        assert_eq!(sandbox.run(|host| OWNABLE.pending_owner.get(host)), Ok(Address::ZERO));
        assert_eq!(sandbox.run(|host| OWNABLE.accept_ownership(host)), stranger(second), "once");
    }

    #[test]
    fn variables_are_where_openzeppelin_has_them() {
        let layout = StorageLayout::of::<Ownable2Step>();
        let places: Vec<_> = layout.storage.iter().map(|v| (v.label.as_str(), v.slot.as_str())).collect();
        assert_eq!(places, [("_owner", "0"), ("_pendingOwner", "1")]);
        assert_eq!(OwnershipTransferStarted::SIGNATURE, "OwnershipTransferStarted(address,address)");
    }
}
