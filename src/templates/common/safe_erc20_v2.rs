//! OpenZeppelin 2's `SafeERC20`, of contracts of Solidity before 0.8: calls of tokens, those that return nothing among them.

use super::{
    ds_math::require_that,
    legacy_calls::interface::{transferCall, transferFromCall},
};
use crate::vm::contract::*;

/// Transfers the contract's own tokens (`safeTransfer`).
///
/// # Errors
/// `SafeERC20: call to non-contract`; `SafeERC20: low-level call failed` when the token reverts, whatever with;
/// `SafeERC20: ERC20 operation did not succeed` when it returns `false`; a revert without data when it returns less than a word; [`Stop`].
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

/// Calls a token (`callOptionalReturn`).
fn call(host: &mut Host<'_>, token: Address, function: &impl SolCall) -> Result<(), Stop> {
    require_that(host.has_code(&token)?, "SafeERC20: call to non-contract")?;
    let answer = host.call(token, U256::ZERO, &function.abi_encode())?;
    require_that(answer.is_success(), "SafeERC20: low-level call failed")?;
    if answer.output.is_empty() {
        return Ok(());
    }
    let word = answer.output.first_chunk::<32>().ok_or_else(empty_revert)?;
    require_that(*word != [0; 32], "SafeERC20: ERC20 operation did not succeed")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use alloy_json_abi::JsonAbi;

    use super::*;
    use crate::vm::{Marker, Template, TemplateId, abi::revert_with, sandbox::Sandbox};

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

    #[test]
    fn a_transfer_is_done_by_any_word_but_zero_or_by_silence_of_a_contract() {
        let mut sandbox = Sandbox::new();
        sandbox.registry.register(Arc::new(Token)).unwrap();
        for token in TRUE..NO_CONTRACT {
            let token = Address::repeat_byte(token);
            sandbox.journal.create_account(&token).unwrap();
            sandbox.journal.set_code(&token, Marker(ID).to_bytes().into()).unwrap();
        }
        for number in TRUE..=NO_CONTRACT {
            let (token, other) = (Address::repeat_byte(number), Address::repeat_byte(0x77));
            let sent = sandbox.run(move |host| safe_transfer(host, token, other, U256::ONE));
            let taken = sandbox.run(move |host| safe_transfer_from(host, token, other, other, U256::ONE));
            let want = match number {
                TRUE | NOTHING | DIRTY => Ok(()),
                SHORT => Err(empty_revert()),
                FALSE => Err(revert_with("SafeERC20: ERC20 operation did not succeed")),
                REFUSES => Err(revert_with("SafeERC20: low-level call failed")),
                _ => Err(revert_with("SafeERC20: call to non-contract")),
            };
            assert_eq!((sent, taken), (want.clone(), want), "{number}");
        }
    }
}
