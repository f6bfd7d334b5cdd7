//! Calls of contracts before they are sent: those that somebody else has signed, and whether one would succeed.

use alloy_primitives::Address;

use crate::{
    chain::{CallOutcome, CallRequest, StateOverrides},
    node::{BlockRef, NodeView},
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

/// As [`signed_call`], of the account that alone can make the call.
///
/// # Errors
/// [`PlatformError::Validation`] of `signedTransaction`.
pub(in crate::platform) fn signed_by(
    raw: &[u8],
    (account, contract): (Address, Address),
    selectors: &[[u8; 4]],
) -> Result<Transaction, PlatformError> {
    let transaction = signed_call(raw, contract, selectors)?;
    let sender = transaction.sender();
    if sender == account {
        return Ok(transaction);
    }
    let expected = format!("a transaction of {account}");
    Err(PlatformError::field("signedTransaction", expected, format!("one of {sender}")))
}

/// Tries a call on the pending block.
///
/// # Errors
/// [`PlatformError::Conflict`] with the contract's reason for one that fails; those of reading.
pub(in crate::platform) fn check_call(chain: &Blockchain, request: &CallRequest) -> Result<(), PlatformError> {
    let outcome = tried(&chain.node().view(), request)?;
    check_outcome(chain, &outcome)
}

/// Tries a transaction that somebody else has signed, as [`try_signed`] does.
///
/// # Errors
/// [`PlatformError::Conflict`] with the contract's reason for one that fails; those of reading.
pub(in crate::platform) fn check_signed(chain: &Blockchain, transaction: &Transaction) -> Result<(), PlatformError> {
    match try_signed(chain, transaction)? {
        Some((_, outcome)) => check_outcome(chain, &outcome),
        None => Ok(()),
    }
}

/// Tries a transaction that somebody else has signed on the pending block, with its own gas limit. Who pays for that is checked by the pool.
/// Returns what was tried and what came of it; `None` of one that a block or the pool has: it has been tried, and its effects may be there.
///
/// # Errors
/// [`PlatformError::Conflict`] for one that can't be executed at all; those of reading.
pub fn try_signed(
    chain: &Blockchain,
    transaction: &Transaction,
) -> Result<Option<(CallRequest, CallOutcome)>, PlatformError> {
    let view = chain.node().view();
    if view.transaction(transaction.hash()).map_err(PlatformError::from_query)?.is_some() {
        return Ok(None);
    }
    let request = request_of(transaction);
    let outcome = tried(&view, &request)?;
    Ok(Some((request, outcome)))
}

/// Returns what a signed transaction asks for.
fn request_of(transaction: &Transaction) -> CallRequest {
    CallRequest {
        from: Some(transaction.sender()),
        to: transaction.to(),
        value: transaction.value(),
        input: transaction.input().clone(),
        gas: Some(transaction.gas_limit()),
        access_list: transaction.access_list().cloned(),
        ..CallRequest::default()
    }
}

fn tried(view: &NodeView, request: &CallRequest) -> Result<CallOutcome, PlatformError> {
    let outcome = view.call(&view.as_sent(request), BlockRef::Pending, &StateOverrides::new(), None);
    outcome.map_err(PlatformError::from_query)
}

fn check_outcome(chain: &Blockchain, outcome: &CallOutcome) -> Result<(), PlatformError> {
    if outcome.is_success() {
        return Ok(());
    }
    let error = outcome.revert_data().and_then(|data| chain.node().templates().describe_error(data));
    let reason = error.unwrap_or_else(|| outcome.describe());
    Err(PlatformError::Conflict { message: format!("the chain refuses it: {reason}") })
}
