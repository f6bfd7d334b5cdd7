//! One decoded line a transaction.

use std::fmt::Write as _;

use chainbox::{
    chain::{ExecutedBlock, Receipt},
    node::{Node, NodeEvent, SubscriptionError},
    primitives::{Address, Transaction},
    server::{decode_call, decode_error},
    vm::CallTracer,
};

use crate::banner::{ERROR, FAINT, GOOD};

/// Prints what is mined until the node is gone.
pub(crate) async fn follow(node: Node) {
    let mut news = node.subscribe();
    loop {
        match news.next().await {
            Ok(NodeEvent::Head { removed, added, .. }) => {
                let mut text = String::new();
                for block in removed.iter() {
                    let _ = writeln!(text, "{FAINT}block {} {} left the chain{FAINT:#}", block.height(), block.hash());
                }
                for block in added.iter() {
                    describe(&mut text, &node, block);
                }
                anstream::print!("{text}");
            }
            Ok(_) => {}
            Err(SubscriptionError::Lagged { .. }) => {
                anstream::println!("{FAINT}(too many transactions to print them all){FAINT:#}");
                news = node.subscribe();
            }
            Err(_) => return,
        }
    }
}

fn describe(text: &mut String, node: &Node, executed: &ExecutedBlock) {
    let block = executed.block();
    for (transaction, receipt) in block.transactions().iter().zip(executed.receipts()) {
        let _ = write!(text, "block {}: {} {}", block.height(), transaction.hash(), transaction.sender());
        let _ = match transaction.to() {
            Some(to) => write!(text, " -> {to} {}", what(transaction)),
            None => write!(text, " creates {}", receipt.contract_address.unwrap_or(Address::ZERO)),
        };
        let _ = write!(text, "  {} gas  ", receipt.gas_used.get());
        let _ = match outcome(node, transaction, receipt) {
            None => writeln!(text, "{GOOD}ok{GOOD:#}"),
            Some(reason) => writeln!(text, "{ERROR}failed: {reason}{ERROR:#}"),
        };
    }
}

/// The call, decoded by the templates' ABIs, or the amount moved.
fn what(transaction: &Transaction) -> String {
    let input = transaction.input();
    match decode_call(input) {
        Some(call) => call,
        None if input.is_empty() => format!("{} wei", transaction.value()),
        None => format!("{} bytes of call data", input.len()),
    }
}

/// Why it failed; running it again tells, as receipts do not.
fn outcome(node: &Node, transaction: &Transaction, receipt: &Receipt) -> Option<String> {
    if receipt.is_success() {
        return None;
    }
    let Ok(outcome) = node.view().replay(transaction.hash(), &mut CallTracer::new()) else {
        return Some("reverted".to_owned());
    };
    let reason = outcome.revert_data().and_then(|data| decode_error(data));
    Some(reason.unwrap_or_else(|| outcome.describe()))
}
