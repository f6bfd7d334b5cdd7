//! OpenZeppelin's `ERC2771Context`: a forwarder that may call in the name of others.
//!
//! A contract that has one answers `isTrustedForwarder`, and the forwarder's calls then come from whom it says: [`Host::caller`] is
//! `_msgSender()`. Nothing is appended to the input.

use crate::vm::contract::*;

storage! {
    /// The forwarder, which OpenZeppelin has in the code.
    pub contract Erc2771Context {
        /// The forwarder; zero without one.
        pub trusted_forwarder: Slot<Address>,
    }
}

impl Erc2771Context {
    /// Sets the forwarder (`constructor`); zero for none.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn construct(self, host: &mut Host<'_>, forwarder: Address) -> Result<(), Stop> {
        if forwarder.is_zero() { Ok(()) } else { self.trusted_forwarder.overwrite(host, forwarder) }
    }

    /// Returns the forwarder (`trustedForwarder`).
    ///
    /// # Errors
    /// A revert without data when there is none, as of a contract without this base; [`Stop`].
    pub fn trusted_forwarder(self, host: &mut Host<'_>) -> Result<Address, Stop> {
        let forwarder = self.trusted_forwarder.get(host)?;
        if forwarder.is_zero() { Err(empty_revert()) } else { Ok(forwarder) }
    }

    /// Returns whether this is the forwarder (`isTrustedForwarder`).
    ///
    /// # Errors
    /// As [`Erc2771Context::trusted_forwarder`].
    pub fn is_trusted_forwarder(self, host: &mut Host<'_>, forwarder: Address) -> Result<bool, Stop> {
        Ok(self.trusted_forwarder(host)? == forwarder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::sandbox::Sandbox;

    const CONTEXT: Erc2771Context = Erc2771Context::STATE;

    #[test]
    fn one_forwarder_is_trusted_or_none_is_known() {
        let mut sandbox = Sandbox::new();
        let (forwarder, other) = (Address::repeat_byte(1), Address::repeat_byte(2));
        sandbox.run(|host| CONTEXT.construct(host, Address::ZERO)).unwrap();
        for asked in [forwarder, Address::ZERO] {
            let answer = sandbox.run(move |host| CONTEXT.is_trusted_forwarder(host, asked));
            assert_eq!(answer, Err(empty_revert()));
        }
        sandbox.run(move |host| CONTEXT.construct(host, forwarder)).unwrap();
        assert_eq!(sandbox.run(|host| CONTEXT.trusted_forwarder(host)), Ok(forwarder));
        for (asked, want) in [(forwarder, true), (other, false), (Address::ZERO, false)] {
            assert_eq!(sandbox.run(move |host| CONTEXT.is_trusted_forwarder(host, asked)), Ok(want));
        }
    }
}
