//! Calls of contracts before they are sent: those that somebody else has signed, and whether one would succeed.

use alloy_primitives::Address;

use crate::{
    chain::{CallRequest, StateOverrides},
    node::BlockRef,
    platform::{PlatformError, blockchain::Blockchain},
    primitives::Transaction,
};

/// Reads a signed transaction that calls one of these functions.
///
/// # Errors
/// [`PlatformError::Validation`] of `signedTransaction`.
pub(in crate::platform) fn signed_call(
    raw: &[u8],
    contract: Address,
    selectors: &[[u8; 4]],
) -> Result<Transaction, PlatformError> {
    let wrong = |got: String| {
        let expected =
            format!("a signed transaction that calls the function of this operation at {contract} (EIP-2718)");
        PlatformError::field("signedTransaction", expected, got)
    };
    let transaction = Transaction::decode(raw).map_err(|cause| wrong(cause.to_string()))?;
    if transaction.to() != Some(contract) {
        return Err(wrong(transaction.to().map_or_else(|| "a creation".to_owned(), |to| format!("a call of {to}"))));
    }
    let selector = transaction.input().first_chunk::<4>();
    if selector.is_none_or(|selector| !selectors.contains(selector)) {
        return Err(wrong("a call of another function".to_owned()));
    }
    Ok(transaction)
}

/// Tries a call on the pending block.
///
/// # Errors
/// [`PlatformError::Conflict`] with the contract's reason for one that fails; those of reading.
pub(in crate::platform) fn check_call(chain: &Blockchain, request: &CallRequest) -> Result<(), PlatformError> {
    let view = chain.node().view();
    let outcome = view.call(&view.as_sent(request), BlockRef::Pending, &StateOverrides::new(), None);
    let outcome = outcome.map_err(PlatformError::from_query)?;
    if outcome.is_success() {
        return Ok(());
    }
    let error = outcome.revert_data().and_then(|data| chain.node().templates().describe_error(data));
    let reason = error.unwrap_or_else(|| outcome.describe());
    Err(PlatformError::Conflict { message: format!("the chain refuses it: {reason}") })
}
