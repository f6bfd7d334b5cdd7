//! OpenZeppelin's `Pausable`: a switch that stops what asks it.

use self::interface::{EnforcedPause, ExpectedPause, Paused, Unpaused};
use crate::vm::contract::*;

/// Events and errors.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// The contract is paused.
        error EnforcedPause();
        /// The contract is not paused.
        error ExpectedPause();
        /// An account paused the contract.
        event Paused(address account);
        /// An account lifted the pause.
        event Unpaused(address account);
    }
}

storage! {
    /// The switch.
    pub contract Pausable {
        /// Whether the contract is paused.
        pub paused: Slot<bool>,
    }
}

impl Pausable {
    /// Refuses while paused (`whenNotPaused`).
    ///
    /// # Errors
    /// [`EnforcedPause`]; [`Stop`].
    pub fn when_not_paused(self, host: &mut Host<'_>) -> Result<(), Stop> {
        require(!self.paused.get(host)?, EnforcedPause {})
    }

    /// Refuses unless paused (`whenPaused`).
    ///
    /// # Errors
    /// [`ExpectedPause`]; [`Stop`].
    pub fn when_paused(self, host: &mut Host<'_>) -> Result<(), Stop> {
        require(self.paused.get(host)?, ExpectedPause {})
    }

    /// Pauses, whoever calls (`_pause`).
    ///
    /// # Errors
    /// [`EnforcedPause`] when it is paused already; [`Stop`].
    pub fn pause(self, host: &mut Host<'_>) -> Result<(), Stop> {
        self.paused.update(host, |paused| require(!paused, EnforcedPause {}).map(|()| true))?;
        let account = host.caller();
        host.emit(&Paused { account })
    }

    /// Lifts the pause, whoever calls (`_unpause`).
    ///
    /// # Errors
    /// [`ExpectedPause`] when it is not paused; [`Stop`].
    pub fn unpause(self, host: &mut Host<'_>) -> Result<(), Stop> {
        self.paused.update(host, |paused| require(paused, ExpectedPause {}).map(|()| false))?;
        let account = host.caller();
        host.emit(&Unpaused { account })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::sandbox::Sandbox;

    const PAUSABLE: Pausable = Pausable::STATE;

    #[test]
    fn a_pause_begins_and_ends_once() {
        let mut sandbox = Sandbox::new();
        let account = sandbox.caller;
        let (enforced, expected) = (revert(&EnforcedPause {}), revert(&ExpectedPause {}));
        assert_eq!(sandbox.run(|host| PAUSABLE.unpause(host)), Err(expected.clone()));
        assert_eq!(sandbox.run(|host| PAUSABLE.when_paused(host)), Err(expected));
        sandbox.run(|host| PAUSABLE.when_not_paused(host)).unwrap();
        sandbox.run(|host| PAUSABLE.pause(host)).unwrap();
        assert_eq!(sandbox.logs()[0].data, Paused { account }.encode_log_data());
        assert_eq!(sandbox.run(|host| PAUSABLE.pause(host)), Err(enforced.clone()));
        assert_eq!(sandbox.run(|host| PAUSABLE.when_not_paused(host)), Err(enforced));
        sandbox.run(|host| PAUSABLE.when_paused(host)).unwrap();
        sandbox.run(|host| PAUSABLE.unpause(host)).unwrap();
        assert_eq!(sandbox.logs()[0].data, Unpaused { account }.encode_log_data());
        assert_eq!(EnforcedPause::SELECTOR, [0xd9, 0x3c, 0x06, 0x65]);
        assert_eq!(ExpectedPause::SELECTOR, [0x8d, 0xfc, 0x20, 0x2b]);
    }
}
