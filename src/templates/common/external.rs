//! Calls of another contract's functions as Solidity makes them: `contract.function(arguments)`.

use crate::vm::contract::*;

/// Calls a `view` or `pure` function, and returns what it returns.
///
/// # Errors
/// What the contract reverts with; a revert without data when it has no code or returns something else; [`Stop`].
pub fn view<C: SolCall>(host: &mut Host<'_>, contract: Address, call: &C) -> Result<C::Return, Stop> {
    let answer = host.static_call(contract, &call.abi_encode())?.or_revert()?;
    C::abi_decode_returns_validate(&answer).map_err(|_| empty_revert())
}

/// Calls a function that returns nothing, with so many wei.
///
/// # Errors
/// What the contract reverts with; a revert without data when it has no code; [`Stop`].
pub fn call<C: SolCall>(host: &mut Host<'_>, contract: Address, value: U256, call: &C) -> Result<(), Stop> {
    if !host.has_code(&contract)? {
        return Err(empty_revert());
    }
    host.call(contract, value, &call.abi_encode())?.or_revert().map(drop)
}
