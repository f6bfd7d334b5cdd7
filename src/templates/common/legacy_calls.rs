//! Calls of other contracts as Solidity before 0.8 makes them, and Uniswap's `TransferHelper`.
//!
//! What they return is decoded by ABI coder v1: bits that a type does not have are ignored, and a `bool` is any word but zero.

use self::interface::{transferCall, transferFromCall};
use super::ds_math::require_that;
use crate::vm::contract::*;

/// Functions of tokens, of which some return nothing.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        function transfer(address to, uint256 value) external returns (bool);
        function transferFrom(address from, address to, uint256 value) external returns (bool);
    }
}

/// Calls a function of a contract with so much value, in wei.
///
/// # Errors
/// What the callee reverts with; a revert without data when there is no contract or it returns too little; [`Stop`].
pub fn call<C: SolCall>(host: &mut Host<'_>, to: Address, value: U256, function: &C) -> Result<C::Return, Stop> {
    if !host.has_code(&to)? {
        return Err(empty_revert());
    }
    let answer = host.call(to, value, &function.abi_encode())?.or_revert()?;
    C::abi_decode_returns(&answer).map_err(|_| empty_revert())
}

/// Calls a `view` function of a contract.
///
/// # Errors
/// As [`call`].
pub fn view<C: SolCall>(host: &mut Host<'_>, to: Address, function: &C) -> Result<C::Return, Stop> {
    let answer = host.static_call(to, &function.abi_encode())?.or_revert()?;
    // Without a contract there is no answer, and every such function has one.
    C::abi_decode_returns(&answer).map_err(|_| empty_revert())
}

/// Transfers the contract's own tokens (`safeTransfer`).
///
/// # Errors
/// `reason` when the token fails or returns `false`; a revert without data when it returns less than a word; [`Stop`].
pub fn safe_transfer(host: &mut Host<'_>, token: Address, to: Address, value: U256, reason: &str) -> Result<(), Stop> {
    call_token(host, token, &transferCall { to, value }, reason)
}

/// Transfers tokens that their holder allows the contract to take (`safeTransferFrom`).
///
/// # Errors
/// As [`safe_transfer`].
pub fn safe_transfer_from(
    host: &mut Host<'_>,
    token: Address,
    from: Address,
    to: Address,
    value: U256,
    reason: &str,
) -> Result<(), Stop> {
    call_token(host, token, &transferFromCall { from, to, value }, reason)
}

/// Calls a token, which has to return `true` or nothing; an account without code does the latter.
fn call_token(host: &mut Host<'_>, token: Address, function: &impl SolCall, reason: &str) -> Result<(), Stop> {
    let answer = host.call(token, U256::ZERO, &function.abi_encode())?;
    let is_done = match (answer.is_success(), answer.output.first_chunk::<32>()) {
        (false, _) => false,
        (true, Some(word)) => *word != [0; 32],
        (true, None) if answer.output.is_empty() => true,
        (true, None) => return Err(empty_revert()),
    };
    require_that(is_done, reason)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use alloy_json_abi::JsonAbi;

    use super::*;
    use crate::vm::{Marker, Template, TemplateId, abi::revert_with, sandbox::Sandbox};

    alloy_sol_types::sol! {
        function doIt() external;
        function count() external view returns (uint8);
    }

    /// A token that answers with the bytes that its address says.
    #[derive(Debug)]
    struct Token;

    const ID: TemplateId = TemplateId::new(0x9000, 1);
    const TRUE: u8 = 1;
    const NOTHING: u8 = 2;
    const SHORT: u8 = 3;
    const DIRTY: u8 = 4;
    const FALSE: u8 = 5;
    const REFUSES: u8 = 6;
    const NO_CONTRACT: u8 = 7;

    impl Template for Token {
        fn id(&self) -> TemplateId {
            ID
        }

        fn name(&self) -> &str {
            "token"
        }

        fn abi(&self) -> JsonAbi {
            JsonAbi::new()
        }

        fn construct(&self, _: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
            Ok(())
        }

        fn call(&self, host: &mut Host<'_>, _: &[u8]) -> Result<Bytes, Stop> {
            match host.address().0[0] {
                TRUE => Ok(U256::ONE.abi_encode().into()),
                NOTHING => Ok(Bytes::new()),
                SHORT => Ok(Bytes::from_static(&[0; 31])),
                DIRTY => Ok(U256::from(0x1ff).abi_encode().into()),
                FALSE => Ok(U256::ZERO.abi_encode().into()),
                _ => Err(revert_with("paused")),
            }
        }
    }

    fn sandbox() -> Sandbox {
        let mut sandbox = Sandbox::new();
        sandbox.registry.register(Arc::new(Token)).unwrap();
        for token in TRUE..NO_CONTRACT {
            let token = Address::repeat_byte(token);
            sandbox.journal.create_account(&token).unwrap();
            sandbox.journal.set_code(&token, Marker(ID).to_bytes().into()).unwrap();
        }
        sandbox
    }

    #[test]
    fn a_transfer_is_done_by_any_word_but_zero_or_by_silence() {
        let mut sandbox = sandbox();
        for number in TRUE..=NO_CONTRACT {
            let (token, other) = (Address::repeat_byte(number), Address::repeat_byte(0x77));
            let sent = sandbox.run(move |host| safe_transfer(host, token, other, U256::ONE, "no"));
            let taken = sandbox.run(move |host| safe_transfer_from(host, token, other, other, U256::ONE, "no"));
            let want = match number {
                TRUE | NOTHING | DIRTY | NO_CONTRACT => Ok(()),
                SHORT => Err(empty_revert()),
                _ => Err(revert_with("no")),
            };
            assert_eq!((sent, taken), (want.clone(), want), "{number}");
        }
    }

    #[test]
    fn answers_are_cut_to_their_type_and_failures_passed_on() {
        let mut sandbox = sandbox();
        for number in TRUE..=NO_CONTRACT {
            let token = Address::repeat_byte(number);
            let viewed = sandbox.run(move |host| view(host, token, &countCall {}));
            let called = sandbox.run(move |host| call(host, token, U256::ZERO, &countCall {}));
            let done = sandbox.run(move |host| call(host, token, U256::ZERO, &doItCall {}).map(drop));
            let want = match number {
                TRUE => Ok(1),
                DIRTY => Ok(0xff),
                FALSE => Ok(0),
                REFUSES => Err(revert_with("paused")),
                _ => Err(empty_revert()),
            };
            assert_eq!((viewed, called), (want.clone(), want), "{number}");
            let want = match number {
                REFUSES => Err(revert_with("paused")),
                NO_CONTRACT => Err(empty_revert()),
                _ => Ok(()),
            };
            assert_eq!(done, want, "{number}");
        }
    }
}
