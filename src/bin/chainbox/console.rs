//! The console: one decoded line per transaction.

use std::fmt::Write as _;

use chainbox::{
    chain::{ExecutedBlock, Receipt},
    node::{Node, NodeEvent, SubscriptionError},
    primitives::{Address, Transaction},
    server::{decode_call, decode_error},
    vm::CallTracer,
};

use crate::banner::{ERROR, FAINT, GOOD};

/// Prints mined transactions until the node is dropped.
pub(crate) async fn follow(node: Node) {
    let mut events = node.subscribe();
    loop {
        match events.next().await {
            Ok(NodeEvent::Head { removed, added, .. }) => {
                let mut text = String::new();
                for block in removed.iter() {
                    let _ = writeln!(
                        text,
                        "{FAINT}block {} {} was removed by a reorg{FAINT:#}",
                        block.height(),
                        block.hash()
                    );
                }
                for block in added.iter() {
                    write_transactions(&mut text, &node, block);
                }
                anstream::print!("{text}");
            }
            Ok(_) => {}
            Err(SubscriptionError::Lagged { .. }) => {
                anstream::println!("{FAINT}(some transactions are not printed: there were too many){FAINT:#}");
                events = node.subscribe();
            }
            Err(_) => return,
        }
    }
}

fn write_transactions(text: &mut String, node: &Node, executed: &ExecutedBlock) {
    let block = executed.block();
    for (transaction, receipt) in block.transactions().iter().zip(executed.receipts()) {
        let _ = write!(text, "block {}: {} {}", block.height(), transaction.hash(), transaction.sender());
        let _ = match transaction.to() {
            Some(to) => write!(text, " -> {to} {}", action(transaction)),
            None => write!(text, " creates {}", receipt.contract_address.unwrap_or(Address::ZERO)),
        };
        let _ = write!(text, "  {} gas  ", receipt.gas_used.get());
        let _ = match failure_reason(node, transaction, receipt) {
            None => writeln!(text, "{GOOD}ok{GOOD:#}"),
            Some(reason) => writeln!(text, "{ERROR}failed: {reason}{ERROR:#}"),
        };
    }
}

/// Returns the decoded call, the amount of a transfer, or the length of unknown call data.
fn action(transaction: &Transaction) -> String {
    let input = transaction.input();
    match decode_call(input) {
        Some(call) => call,
        None if input.is_empty() => format!("{} wei", transaction.value()),
        None => format!("{} bytes of call data", input.len()),
    }
}

/// Returns the reason of a failed transaction by replaying it, as its receipt does not contain it.
fn failure_reason(node: &Node, transaction: &Transaction, receipt: &Receipt) -> Option<String> {
    if receipt.is_success() {
        return None;
    }
    let Ok(outcome) = node.view().replay(transaction.hash(), &mut CallTracer::new()) else {
        return Some("reverted".to_owned());
    };
    let reason = outcome.revert_data().and_then(|data| decode_error(data));
    Some(reason.unwrap_or_else(|| outcome.describe()))
}
