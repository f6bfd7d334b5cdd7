//! Assertions for tests over a node: events, reverts, balances. They panic with the expected and the actual value. Beside them, time that a test
//! lets pass.

use core::{fmt::Debug, time::Duration};

use alloy_sol_types::{SolError, SolEvent};

use super::{BlockRef, Clock, ContractError, ManualClock, MinedTransaction, Node, NodeView, PacedNetwork};
use crate::primitives::{Address, Height, U256};

/// Lets time pass on a clock that a test moves, and a network run in it as a punctual pool would let it: the clock stops whenever the network
/// wants to be told the time.
///
/// # Panics
/// When the network fails.
///
/// ```
/// use core::time::Duration;
/// use chainbox::{
///     consensus::{ConsensusConfig, PbftConfig},
///     node::{ManualClock, testing::run_for},
///     primitives::Timestamp,
///     sim::Network,
/// };
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let began = Timestamp::from_secs(1_750_000_000);
/// let network = Network::builder().with_consensus(ConsensusConfig::Pbft(PbftConfig::default())).with_validators(4);
/// let network = network.with_timestamp(began).build()?.share()?.pace(Duration::from_secs(began.as_secs()))?;
/// run_for(&network, &ManualClock::new(began), Duration::from_secs(10));
/// assert!(network.nodes()[0].view().head().height().get() > 5);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn run_for(network: &PacedNetwork, clock: &ManualClock, time: Duration) {
    let now = || Duration::from_millis(clock.now_ms());
    let end = now().saturating_add(time);
    loop {
        let wake = network.next_wake().map(|wake| wake.max(now())).filter(|wake| *wake <= end);
        let at = wake.unwrap_or(end);
        clock.advance_to(at);
        network.advance(at).unwrap_or_else(|cause| panic!("the network failed: {cause}"));
        if wake.is_none() {
            return;
        }
    }
}

/// Returns the one event of kind `E` that the transaction emitted.
///
/// # Panics
/// When there is none, or more than one.
#[track_caller]
pub fn expect_event<E: SolEvent>(mined: &MinedTransaction) -> E {
    let mut events = mined.events::<E>();
    assert!(
        events.len() == 1,
        "expected one {}, transaction {} emitted {} of them; its logs: {}",
        E::SIGNATURE,
        mined.transaction().hash(),
        events.len(),
        list_text(&mined.describe_logs()),
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

/// Asserts that `action` changes each balance by the given signed amount, in the smallest unit, and returns its result. Fees that an
/// account paid for its own transactions are left out; see [`expect_balance_changes_with_fees`].
///
/// # Panics
/// When a balance changed by another amount.
///
/// ```
/// use chainbox::{node::{Node, testing::expect_balance_changes}, primitives::U256};
/// let node = Node::new();
/// let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
/// let mined = expect_balance_changes(&node, &[(alice, -5), (bob, 5)], || node.transfer(alice, bob, U256::from(5)));
/// assert!(mined?.is_success());
/// # Ok::<(), chainbox::node::ContractError>(())
/// ```
#[track_caller]
pub fn expect_balance_changes<T>(node: &Node, changes: &[(Address, i128)], action: impl FnOnce() -> T) -> T {
    check_balances(node, changes, action, true)
}

/// As [`expect_balance_changes`], where fees count as any other change.
///
/// # Panics
/// When a balance changed by another amount.
#[track_caller]
pub fn expect_balance_changes_with_fees<T>(node: &Node, changes: &[(Address, i128)], action: impl FnOnce() -> T) -> T {
    check_balances(node, changes, action, false)
}

#[track_caller]
fn check_balances<T>(node: &Node, changes: &[(Address, i128)], action: impl FnOnce() -> T, leaves_fees_out: bool) -> T {
    let balance = |view: &NodeView, address| {
        view.balance(address, BlockRef::Latest).unwrap_or_else(|error| panic!("balance of {address}: {error}"))
    };
    let before = node.view();
    let result = action();
    let after = node.view();
    for (address, change) in changes {
        let (old, new) = (balance(&before, *address), balance(&after, *address));
        let fees = if leaves_fees_out { fees_of(*address, &before, &after) } else { U256::ZERO };
        let got = new.saturating_add(fees);
        let amount = U256::from(change.unsigned_abs());
        let expected = if *change < 0 { old.saturating_sub(amount) } else { old.saturating_add(amount) };
        let note = if leaves_fees_out { format!(" (with {fees} of fees added again)") } else { String::new() };
        assert!(got == expected, "balance of {address}: expected {old} {change:+} = {expected}, it is {got}{note}");
    }
    result
}

/// Fees that `payer` paid in the blocks from `before` to `after`.
fn fees_of(payer: Address, before: &NodeView, after: &NodeView) -> U256 {
    let first = before.head().height().get().saturating_add(1);
    let mut fees = U256::ZERO;
    for height in first..=after.head().height().get() {
        let block = after.block(BlockRef::Number(Height::new(height)));
        let block = block.unwrap_or_else(|error| panic!("block {height}: {error}"));
        for (transaction, receipt) in block.transactions().iter().zip(block.receipts()) {
            if transaction.sender() == payer {
                let price = U256::from(receipt.effective_gas_price);
                fees = fees.saturating_add(price.saturating_mul(U256::from(receipt.gas_used.get())));
            }
        }
    }
    fees
}

fn list_text(texts: &[String]) -> String {
    if texts.is_empty() { "none".to_owned() } else { texts.join("; ") }
}
