//! OpenZeppelin's `Nonces`: a counter an account, so that a signature counts once.

use self::interface::InvalidAccountNonce;
use crate::vm::contract::*;

/// Errors.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// The nonce is not the account's current one.
        error InvalidAccountNonce(address account, uint256 currentNonce);
    }
}

storage! {
    /// The counters.
    pub contract Nonces {
        /// Next nonce by account.
        pub nonces: Mapping<Address, U256>,
    }
}

impl Nonces {
    /// Returns the current nonce of an account and moves on to the next (`_useNonce`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn use_nonce(self, host: &mut Host<'_>, owner: Address) -> Result<U256, Stop> {
        let mut current = U256::ZERO;
        self.nonces.at(host, owner)?.update(host, |nonce| {
            current = nonce;
            // It counts up from zero by one and so never ends.
            Ok(nonce.wrapping_add(U256::ONE))
        })?;
        Ok(current)
    }

    /// As [`Nonces::use_nonce`], for a nonce that the caller names (`_useCheckedNonce`).
    ///
    /// # Errors
    /// [`InvalidAccountNonce`] when it is not the current one; [`Stop`].
    pub fn use_checked_nonce(self, host: &mut Host<'_>, owner: Address, nonce: U256) -> Result<(), Stop> {
        let current = self.use_nonce(host, owner)?;
        require(nonce == current, InvalidAccountNonce { account: owner, currentNonce: current })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::sandbox::Sandbox;

    #[test]
    fn a_nonce_is_used_once_and_in_turn() {
        let mut sandbox = Sandbox::new();
        let owner = Address::repeat_byte(5);
        let nonces = Nonces::STATE;
        for n in 0..3_u64 {
            assert_eq!(sandbox.run(move |host| nonces.use_nonce(host, owner)), Ok(U256::from(n)));
        }
        sandbox.run(move |host| nonces.use_checked_nonce(host, owner, U256::from(3))).unwrap();
        let stale = InvalidAccountNonce { account: owner, currentNonce: U256::from(4) };
        let used = sandbox.run(move |host| nonces.use_checked_nonce(host, owner, U256::from(3)));
        assert_eq!(used, Err(revert(&stale)));
        assert_eq!(sandbox.run(move |host| nonces.nonces.get(host, owner)), Ok(U256::from(4)));
        assert_eq!(InvalidAccountNonce::SELECTOR, [0x75, 0x2d, 0x88, 0xc0]);
    }
}
