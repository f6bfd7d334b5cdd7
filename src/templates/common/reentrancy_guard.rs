//! OpenZeppelin's `ReentrancyGuard`: a function that cannot be called again while it runs. As of OpenZeppelin 5.5 its variable lies at a slot
//! of its own (ERC-7201), so that a contract names it beside its variables, not among them.

use alloy_primitives::uint;

use self::interface::ReentrancyGuardReentrantCall;
use crate::vm::contract::*;

/// Errors.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// A guarded function was called while one runs.
        error ReentrancyGuardReentrantCall();
    }
}

const NOT_ENTERED: U256 = U256::ONE;
const ENTERED: U256 = U256::from_limbs([2, 0, 0, 0]);

/// Slot of the guard: that of `openzeppelin.storage.ReentrancyGuard` (ERC-7201).
pub const REENTRANCY_GUARD: U256 = uint!(0x9b779b17422d0df92223018b32b4d1fa46e071723d6817e2486d003becc55f00_U256);

storage! {
    /// The guard.
    pub contract ReentrancyGuard layout at REENTRANCY_GUARD {
        /// 1, and 2 while a guarded function runs: neither is zero, so that a write is cheap.
        pub status: Slot<U256>,
    }
}

impl ReentrancyGuard {
    /// Makes the guard ready (`constructor`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn construct(self, host: &mut Host<'_>) -> Result<(), Stop> {
        self.status.set(host, NOT_ENTERED)
    }

    /// Runs a guarded function (`nonReentrant`).
    ///
    /// # Errors
    /// [`ReentrancyGuardReentrantCall`] inside another; those of `function`; [`Stop`].
    pub fn non_reentrant<T>(
        self,
        host: &mut Host<'_>,
        function: impl FnOnce(&mut Host<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        self.status.update(host, |status| {
            require(status != ENTERED, ReentrancyGuardReentrantCall {})?;
            Ok(ENTERED)
        })?;
        let value = function(host)?;
        self.status.set(host, NOT_ENTERED)?;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;
    use crate::vm::sandbox::Sandbox;

    const GUARD: ReentrancyGuard = ReentrancyGuard::STATE;

    #[test]
    fn its_slot_is_that_of_its_namespace() {
        let name = U256::from_be_bytes(keccak256("openzeppelin.storage.ReentrancyGuard").0) - U256::ONE;
        let root = U256::from_be_bytes(keccak256(name.to_be_bytes::<32>()).0);
        assert_eq!(root & !U256::from(0xff), REENTRANCY_GUARD);
    }

    #[test]
    fn a_guarded_function_is_refused_inside_another_only() {
        let mut sandbox = Sandbox::new();
        sandbox.run(|host| GUARD.construct(host)).unwrap();
        for _ in 0..2 {
            assert_eq!(sandbox.run(|host| GUARD.non_reentrant(host, |_| Ok(5))), Ok(5));
        }
        let again = sandbox.run(|host| GUARD.non_reentrant(host, |host| GUARD.non_reentrant(host, |_| Ok(()))));
        assert_eq!(again, Err(revert(&ReentrancyGuardReentrantCall {})));
        assert_eq!(sandbox.slot(REENTRANCY_GUARD), NOT_ENTERED);
        assert_eq!(ReentrancyGuardReentrantCall::SELECTOR, [0x3e, 0xe5, 0xae, 0xb5]);
    }
}
