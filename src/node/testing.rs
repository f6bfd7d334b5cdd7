//! Assertions for tests over a node: events, reverts, balances. They panic with the expected and the actual value.

use core::fmt::Debug;

use alloy_sol_types::{SolError, SolEvent};

use super::{BlockRef, ContractError, MinedTransaction, Node};
use crate::primitives::{Address, U256};

/// Returns the one event of kind `E` that the transaction emitted.
///
/// # Panics
/// When there is none, or more than one.
#[track_caller]
pub fn expect_event<E: SolEvent>(mined: &MinedTransaction) -> E {
    let mut events = mined.events::<E>();
    assert!(
        events.len() == 1,
        "expected one {}, transaction {} emitted {} of them among {} logs",
        E::SIGNATURE,
        mined.transaction().hash(),
        events.len(),
        mined.logs().len(),
    );
    events.remove(0)
}

/// Returns the custom error `E` that the call reverted with.
///
/// # Panics
/// When it succeeded, or failed with another error.
#[track_caller]
pub fn expect_revert<E: SolError, T: Debug>(result: Result<T, ContractError>) -> E {
    match result {
        Ok(value) => panic!("expected a revert with {}, it succeeded: {value:?}", E::SIGNATURE),
        Err(error) => match error.decode::<E>() {
            Some(expected) => expected,
            None => panic!("expected a revert with {}, it failed otherwise: {error}", E::SIGNATURE),
        },
    }
}

/// Asserts that `action` changes each balance by the given signed amount, in the smallest unit, and returns its result.
///
/// # Panics
/// When a balance changed by another amount.
#[track_caller]
pub fn expect_balance_changes<T>(node: &Node, changes: &[(Address, i128)], action: impl FnOnce() -> T) -> T {
    let balances = |node: &Node| -> Vec<U256> {
        changes
            .iter()
            .map(|(address, _)| {
                node.view().balance(*address, BlockRef::Latest).unwrap_or_else(|error| panic!("{error}"))
            })
            .collect()
    };
    let before = balances(node);
    let result = action();
    for ((before, after), (address, change)) in before.iter().zip(balances(node)).zip(changes) {
        let amount = U256::from(change.unsigned_abs());
        let expected = if *change < 0 { before.saturating_sub(amount) } else { before.saturating_add(amount) };
        assert!(after == expected, "balance of {address}: expected {before} {change:+} = {expected}, it is {after}");
    }
    result
}
