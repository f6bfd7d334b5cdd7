//! Calls in the name of another account, by a forwarder that their target trusts (ERC-2771).

use alloy_primitives::{Address, U256};
use alloy_sol_types::{SolCall, sol};

use super::{FrameResult, Host, Stop, abi};
use crate::primitives::Gas;

sol! {
    function isTrustedForwarder(address forwarder) external view returns (bool);
}

/// A contract that has answered that it trusts the running one, a forwarder, to say in whose name it calls.
///
/// Nobody else can make one, so that no contract speaks for an account to another that did not agree.
#[derive(Debug)]
pub struct TrustingTarget {
    target: Address,
    forwarder: Address,
}

/// Relayed calls.
impl Host<'_> {
    /// Asks `target` whether it trusts the running contract as a forwarder (`isTrustedForwarder`): it has to return a word that is not
    /// zero. So a template that answers calls of functions that it does not have with such words trusts every forwarder.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn ask_trust(&mut self, target: Address) -> Result<Option<TrustingTarget>, Stop> {
        let forwarder = self.address();
        let answer = self.static_call(target, &isTrustedForwarderCall { forwarder }.abi_encode())?;
        let word = answer.output.first_chunk::<32>().map(|word| U256::from_be_bytes(*word));
        let is_trusted = answer.is_success() && word.is_some_and(|word| !word.is_zero());
        Ok(is_trusted.then_some(TrustingTarget { target, forwarder }))
    }

    /// Calls a contract that trusts the running one, with at most `gas`: its [`Host::caller`] is `sender`, as long as its frame lasts
    /// and in no frame that it opens. The value is the running contract's.
    ///
    /// # Errors
    /// As [`Host::call`]; a revert without data when `target` trusts another contract.
    pub fn call_relayed(
        &mut self,
        target: &TrustingTarget,
        sender: Address,
        value: U256,
        input: &[u8],
        gas: Gas,
    ) -> Result<FrameResult, Stop> {
        if target.forwarder != self.address() {
            return Err(abi::empty_revert());
        }
        self.call_for(Some(sender), target.target, value, input, gas)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use alloy_json_abi::JsonAbi;
    use alloy_primitives::Bytes;
    use alloy_sol_types::SolValue;

    use super::*;
    use crate::vm::{Marker, Template, TemplateId, sandbox::Sandbox};

    const ID: TemplateId = TemplateId::new(0x9000, 1);
    const TRUSTING: Address = Address::repeat_byte(1);
    const WARY: Address = Address::repeat_byte(2);
    const NOBODY: Address = Address::repeat_byte(3);
    const SENDER: Address = Address::repeat_byte(0x77);

    /// Returns caller and direct caller, and those that it is to a contract that it calls.
    #[derive(Debug)]
    struct Mirror;

    impl Template for Mirror {
        fn id(&self) -> TemplateId {
            ID
        }

        fn name(&self) -> &str {
            "mirror"
        }

        fn abi(&self) -> JsonAbi {
            JsonAbi::new()
        }

        fn construct(&self, _: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
            Ok(())
        }

        fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
            if let Ok(call) = isTrustedForwarderCall::abi_decode(input) {
                let is_trusted = host.address() == TRUSTING && call.forwarder == Sandbox::CONTRACT;
                return Ok(abi::encode_output_bool(is_trusted));
            }
            let mut callers = (host.caller(), host.direct_caller()).abi_encode();
            if host.address() == TRUSTING {
                callers.extend_from_slice(&host.call(WARY, U256::ZERO, &[])?.or_revert()?);
            }
            Ok(callers.into())
        }
    }

    fn sandbox() -> Sandbox {
        let mut sandbox = Sandbox::new();
        sandbox.registry.register(Arc::new(Mirror)).unwrap();
        for contract in [TRUSTING, WARY] {
            sandbox.journal.create_account(&contract).unwrap();
            sandbox.journal.set_code(&contract, Marker(ID).to_bytes().into()).unwrap();
        }
        sandbox
    }

    #[test]
    fn a_target_that_trusts_sees_the_sender_in_one_frame() {
        let got = sandbox().run(|host| {
            let target = host.ask_trust(TRUSTING)?.unwrap();
            host.call_relayed(&target, SENDER, U256::ZERO, &[], Gas::MAX)?.or_revert()
        });
        let want = [(SENDER, Sandbox::CONTRACT).abi_encode(), (TRUSTING, TRUSTING).abi_encode()].concat();
        assert_eq!(got.unwrap(), want);
        let got = sandbox().run(|host| host.call(TRUSTING, U256::ZERO, &[])?.or_revert());
        assert_eq!(got.unwrap()[..64], (Sandbox::CONTRACT, Sandbox::CONTRACT).abi_encode());
    }

    #[test]
    fn who_does_not_answer_does_not_trust() {
        for target in [WARY, NOBODY] {
            assert!(sandbox().run(move |host| host.ask_trust(target)).unwrap().is_none(), "{target}");
        }
    }

    #[test]
    fn trust_in_another_contract_is_of_no_use() {
        let got = sandbox().run(|host| {
            let target = TrustingTarget { target: TRUSTING, forwarder: WARY };
            host.call_relayed(&target, SENDER, U256::ZERO, &[], Gas::MAX)
        });
        assert_eq!(got, Err(abi::empty_revert()));
    }
}
