//! OpenZeppelin's `SafeERC20`: calls of tokens, those that return nothing among them.

use self::interface::{SafeERC20FailedOperation, balanceOfCall, decimalsCall, transferCall, transferFromCall};
use crate::vm::contract::*;

/// Functions of tokens, and the error of one that did not do what it was asked.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// The token returned something else than `true`, or is no contract.
        error SafeERC20FailedOperation(address token);

        function balanceOf(address account) external view returns (uint256);
        function decimals() external view returns (uint8);
        function transfer(address to, uint256 value) external returns (bool);
        function transferFrom(address from, address to, uint256 value) external returns (bool);
    }
}

/// Transfers the contract's own tokens (`safeTransfer`).
///
/// # Errors
/// [`SafeERC20FailedOperation`]; what the token reverts with; [`Stop`].
pub fn safe_transfer(host: &mut Host<'_>, token: Address, to: Address, value: U256) -> Result<(), Stop> {
    call(host, token, &transferCall { to, value })
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
) -> Result<(), Stop> {
    call(host, token, &transferFromCall { from, to, value })
}

/// Transfers the contract's own tokens, and returns whether that succeeded (`trySafeTransfer`).
///
/// # Errors
/// [`Stop`]: out of gas.
pub fn try_safe_transfer(host: &mut Host<'_>, token: Address, to: Address, value: U256) -> Result<bool, Stop> {
    let answer = host.call(token, U256::ZERO, &transferCall { to, value }.abi_encode())?;
    Ok(answer.is_success() && is_done(host, token, &answer.output)?)
}

/// Returns an account's balance of a token: `token.balanceOf(account)`.
///
/// # Errors
/// What the token reverts with; a revert without data when it returns no `uint256`; [`Stop`].
pub fn balance_of(host: &mut Host<'_>, token: Address, account: Address) -> Result<U256, Stop> {
    let answer = host.static_call(token, &balanceOfCall { account }.abi_encode())?.or_revert()?;
    first_word(&answer).ok_or_else(empty_revert)
}

/// Returns the decimals of a token, if it tells them (`tryGetDecimals`).
///
/// # Errors
/// [`Stop`]: out of gas.
pub fn try_decimals(host: &mut Host<'_>, token: Address) -> Result<Option<u8>, Stop> {
    let answer = host.static_call(token, &decimalsCall {}.abi_encode())?;
    let word = if answer.is_success() { first_word(&answer.output) } else { None };
    Ok(word.and_then(|word| u8::try_from(word).ok()))
}

/// Calls a token, which has to return `true`, or nothing if it is a contract.
fn call(host: &mut Host<'_>, token: Address, function: &impl SolCall) -> Result<(), Stop> {
    let answer = host.call(token, U256::ZERO, &function.abi_encode())?.or_revert()?;
    require(is_done(host, token, &answer)?, SafeERC20FailedOperation { token })
}

/// Returns whether a token's answer means that it did what it was asked.
fn is_done(host: &mut Host<'_>, token: Address, answer: &[u8]) -> Result<bool, Stop> {
    if answer.is_empty() { host.has_code(&token) } else { Ok(first_word(answer) == Some(U256::ONE)) }
}

fn first_word(answer: &[u8]) -> Option<U256> {
    answer.first_chunk().map(|word| U256::from_be_bytes::<32>(*word))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use alloy_json_abi::JsonAbi;

    use super::*;
    use crate::vm::{Marker, Template, TemplateId, abi, sandbox::Sandbox};

    /// A token that answers as its address says.
    #[derive(Debug)]
    struct Token;

    const ID: TemplateId = TemplateId::new(0x9000, 1);
    const WORD: u8 = 1;
    const NOTHING: u8 = 2;
    const SHORT: u8 = 3;
    const LARGE: u8 = 4;
    const REFUSES: u8 = 5;
    const REFUSES_SILENTLY: u8 = 6;
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
                WORD => Ok(abi::encode_output_bool(true)),
                NOTHING => Ok(Bytes::new()),
                SHORT => Ok(Bytes::from_static(&[0; 31])),
                LARGE => Ok(abi::encode_output_u256(U256::from(256))),
                REFUSES => Err(abi::revert_with("paused")),
                _ => Err(empty_revert()),
            }
        }
    }

    fn sandbox() -> Sandbox {
        let mut sandbox = Sandbox::new();
        sandbox.registry.register(Arc::new(Token)).unwrap();
        for token in WORD..NO_CONTRACT {
            let token = Address::repeat_byte(token);
            sandbox.journal.create_account(&token).unwrap();
            sandbox.journal.set_code(&token, Marker(ID).to_bytes().into()).unwrap();
        }
        sandbox
    }

    #[test]
    fn a_transfer_is_done_by_true_or_by_silence_of_a_contract() {
        let mut sandbox = sandbox();
        for number in WORD..=NO_CONTRACT {
            let (token, other) = (Address::repeat_byte(number), Address::repeat_byte(0x77));
            let sent = sandbox.run(move |host| safe_transfer(host, token, other, U256::ONE));
            let taken = sandbox.run(move |host| safe_transfer_from(host, token, other, other, U256::ONE));
            let want = match number {
                WORD | NOTHING => Ok(()),
                REFUSES => Err(abi::revert_with("paused")),
                REFUSES_SILENTLY => Err(empty_revert()),
                _ => Err(revert(&SafeERC20FailedOperation { token })),
            };
            assert_eq!((sent, taken), (want.clone(), want), "{number}");
        }
    }

    #[test]
    fn a_balance_is_a_word_and_decimals_are_a_byte() {
        let mut sandbox = sandbox();
        for number in WORD..=NO_CONTRACT {
            let token = Address::repeat_byte(number);
            let balance = sandbox.run(move |host| balance_of(host, token, token));
            let want = match number {
                WORD => Ok(U256::ONE),
                LARGE => Ok(U256::from(256)),
                REFUSES => Err(abi::revert_with("paused")),
                _ => Err(empty_revert()),
            };
            assert_eq!(balance, want, "{number}");
            let decimals = sandbox.run(move |host| try_decimals(host, token));
            assert_eq!(decimals, Ok((number == WORD).then_some(1)), "{number}");
        }
    }

    #[test]
    fn selectors_are_the_published_ones() {
        assert_eq!(SafeERC20FailedOperation::SELECTOR, [0x52, 0x74, 0xaf, 0xe7]);
        assert_eq!(transferCall::SELECTOR, [0xa9, 0x05, 0x9c, 0xbb]);
        assert_eq!(transferFromCall::SELECTOR, [0x23, 0xb8, 0x72, 0xdd]);
    }
}
