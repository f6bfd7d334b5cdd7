//! Text of calls and errors, decoded by the ABIs of the built-in templates; failed executions by those of their chain.

use alloy_primitives::Bytes;

use crate::{
    chain::{CallOutcome, CallRequest},
    node::{BlockRef, Node},
    templates,
};

/// Returns `transfer(0x..., 5)` for call data of a function in a built-in template's ABI.
pub fn decode_call(input: &[u8]) -> Option<String> {
    templates::builtin().describe_call(input)
}

/// Returns the text of revert data: `Error(string)`, `Panic(uint256)`, or an error in a built-in template's ABI.
pub fn decode_error(output: &[u8]) -> Option<String> {
    templates::builtin().describe_error(output)
}

/// Returns why a request reverted, in words: the error that its contract declares or, where the revert has no data, what is wrong with
/// the call, such as an unknown selector. `None` for other outcomes, and for reverts that say nothing.
pub fn describe_revert(node: &Node, request: &CallRequest, outcome: &CallOutcome) -> Option<String> {
    let templates = node.templates();
    let data = outcome.revert_data()?;
    if !data.is_empty() {
        return templates.describe_error(data);
    }
    let Some(to) = request.to else { return templates.describe_creation_problem(&request.input) };
    let code: Bytes = node.view().code(to, BlockRef::Latest).ok()?;
    templates.describe_call_problem(&code, &request.input)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, U256};
    use alloy_sol_types::{SolCall, SolError, sol};

    use super::*;

    sol! {
        function transfer(address to, uint256 value) external returns (bool);
        error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed);
    }

    #[test]
    fn calls_and_errors_of_the_token_are_decoded() {
        let to = Address::repeat_byte(0x11);
        let input = transferCall { to, value: U256::from(5) }.abi_encode();
        assert_eq!(decode_call(&input).unwrap(), format!("transfer({to}, 5)"));
        let error = ERC20InsufficientBalance { sender: to, balance: U256::from(1), needed: U256::from(2) };
        assert_eq!(decode_error(&error.abi_encode()).unwrap(), format!("ERC20InsufficientBalance({to}, 1, 2)"));
    }

    #[test]
    fn unknown_bytes_are_not_decoded() {
        for bytes in [&[][..], &[1, 2, 3], &[0xa9, 0x05, 0x9c, 0xbb, 1], &[0xff; 68]] {
            assert_eq!((decode_call(bytes), decode_error(bytes)), (None, None));
        }
    }
}
