//! OpenZeppelin's `Address`: ether sent to accounts, and calls of any contract.

use self::interface::{FailedCall, InsufficientBalance};
use crate::vm::{FrameResult, contract::*};

/// Errors.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// The contract has less ether, in wei, than it is to send.
        error InsufficientBalance(uint256 balance, uint256 needed);
        /// The account that was called refused without a reason.
        error FailedCall();
    }
}

/// Sends `amount` wei to an account, whose code runs (`sendValue`).
///
/// # Errors
/// [`InsufficientBalance`]; what the recipient reverts with, or [`FailedCall`] where that is nothing; [`Stop`].
pub fn send_value(host: &mut Host<'_>, recipient: Address, amount: U256) -> Result<(), Stop> {
    let own = host.address();
    let balance = host.balance(&own)?;
    require(balance >= amount, InsufficientBalance { balance, needed: amount })?;
    verify_call_result(host.call(recipient, amount, &[])?).map(drop)
}

/// Returns what a call returned (`verifyCallResult`).
///
/// # Errors
/// What the callee reverted with, or [`FailedCall`] where that is nothing.
pub fn verify_call_result(answer: FrameResult) -> Result<Bytes, Stop> {
    match answer.is_success() {
        true => Ok(answer.output),
        false if answer.output.is_empty() => Err(revert(&FailedCall {})),
        false => Err(Stop::Revert(answer.output)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use alloy_json_abi::JsonAbi;

    use super::*;
    use crate::vm::{Marker, Template, TemplateId, abi, sandbox::Sandbox};

    /// Refuses ether: an even number of wei with a reason.
    #[derive(Debug)]
    struct Refuser;

    const ID: TemplateId = TemplateId::new(0x9000, 1);
    const REFUSER: Address = Address::repeat_byte(0x77);

    impl Template for Refuser {
        fn id(&self) -> TemplateId {
            ID
        }

        fn name(&self) -> &str {
            "refuser"
        }

        fn abi(&self) -> JsonAbi {
            JsonAbi::new()
        }

        fn construct(&self, _: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
            Ok(())
        }

        fn call(&self, host: &mut Host<'_>, _: &[u8]) -> Result<Bytes, Stop> {
            Err(if host.value().bit(0) { empty_revert() } else { abi::revert_with("even") })
        }
    }

    #[test]
    fn ether_is_sent_or_refused_with_the_recipients_reason() {
        let mut sandbox = Sandbox::new();
        sandbox.registry.register(Arc::new(Refuser)).unwrap();
        sandbox.journal.create_account(&REFUSER).unwrap();
        sandbox.journal.set_code(&REFUSER, Marker(ID).to_bytes().into()).unwrap();
        let plain = Address::repeat_byte(0x78);
        let send = |to, amount: u64| move |host: &mut Host<'_>| send_value(host, to, U256::from(amount));
        assert_eq!(sandbox.run(send(plain, 1_000_000)), Ok(()));
        assert_eq!(sandbox.journal.balance(&plain).unwrap(), U256::from(1_000_000));
        let short = InsufficientBalance { balance: U256::ZERO, needed: U256::ONE };
        assert_eq!(sandbox.run(send(plain, 1)), Err(revert(&short)));
        let mut sandbox = Sandbox { value: U256::from(5), ..sandbox };
        assert_eq!(sandbox.run(send(REFUSER, 1)), Err(revert(&FailedCall {})));
        assert_eq!(sandbox.run(send(REFUSER, 2)), Err(abi::revert_with("even")));
    }

    #[test]
    fn selectors_are_the_published_ones() {
        assert_eq!(InsufficientBalance::SELECTOR, [0xcf, 0x47, 0x91, 0x81]);
        assert_eq!(FailedCall::SELECTOR, [0xd6, 0xbd, 0xa2, 0x75]);
    }
}
