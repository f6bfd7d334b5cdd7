//! The console: one decoded line per transaction.
//!
//! A thread of its own writes it, from a bounded queue that the node never waits for: a slow terminal loses lines and says how many
//! blocks it lost. Reasons of failures come from where the transaction was executed; nothing is executed for the console.

use std::{
    fmt::Write as _,
    io::{self, Write},
    thread,
};

use chainbox::{
    chain::{ExecutedBlock, Receipt},
    node::{Node, NodeEvent, NodeView, Subscription},
    primitives::{Address, Transaction},
    server::{decode_call, decode_error},
};

use crate::banner::{ERROR, FAINT, GOOD, describe_load};

/// Moves of the head and loaded dumps in the console's queue; those past it are counted and not printed.
const QUEUE_MAX: usize = 1_024;
/// Bytes of text written at a time.
const WRITE_BYTES: usize = 64 << 10;

/// Starts the thread that prints mined transactions until the node is dropped.
pub(crate) fn start(node: &Node) -> io::Result<()> {
    let heads = subscribe(node);
    let output = anstream::AutoStream::auto(io::stdout());
    thread::Builder::new().name("console".to_owned()).spawn(move || follow(heads, output)).map(drop)
}

fn subscribe(node: &Node) -> Subscription {
    node.subscribe_lossy(|event| matches!(event, NodeEvent::Head { .. } | NodeEvent::Loaded { .. }), QUEUE_MAX)
}

/// Writes the blocks of `heads` until the node is dropped or the output is closed.
fn follow(mut heads: Subscription, mut output: impl Write) {
    let mut text = String::new();
    while let Ok(event) = heads.blocking_next() {
        match event {
            NodeEvent::Head { removed, added, view, .. } => {
                for block in removed.iter() {
                    let (height, hash) = (block.height(), block.hash());
                    let _ = writeln!(text, "{FAINT}block {height} {hash} was removed by a reorg{FAINT:#}");
                }
                for block in added.iter() {
                    if write_transactions(&mut text, &view, block, &mut output).is_err() {
                        return;
                    }
                }
            }
            NodeEvent::Loaded { summary } => {
                let _ = writeln!(text, "loaded a dump: {}", describe_load(&summary));
            }
            _ => {}
        }
        match heads.take_lost() {
            0 => {}
            lost => {
                let _ = writeln!(
                    text,
                    "{FAINT}({lost} changes of the head are not printed: the console is too slow){FAINT:#}"
                );
            }
        }
        if write_out(&mut text, &mut output).is_err() {
            return;
        }
    }
}

/// Appends the transactions of a block; writes `text` out when it is long.
fn write_transactions(
    text: &mut String,
    view: &NodeView,
    executed: &ExecutedBlock,
    output: &mut impl Write,
) -> io::Result<()> {
    let block = executed.block();
    for (transaction, receipt) in block.transactions().iter().zip(executed.receipts()) {
        let _ = write!(text, "block {}: {} {}", block.height(), transaction.hash(), transaction.sender());
        let _ = match transaction.to() {
            Some(to) => write!(text, " -> {to} {}", action(transaction)),
            None => write!(text, " creates {}", receipt.contract_address.unwrap_or(Address::ZERO)),
        };
        let _ = write!(text, "  {} gas  ", receipt.gas_used.get());
        let _ = match failure_reason(view, transaction, receipt) {
            None => writeln!(text, "{GOOD}ok{GOOD:#}"),
            Some(reason) => writeln!(text, "{ERROR}failed: {reason}{ERROR:#}"),
        };
        if text.len() >= WRITE_BYTES {
            write_out(text, output)?;
        }
    }
    Ok(())
}

fn write_out(text: &mut String, output: &mut impl Write) -> io::Result<()> {
    output.write_all(text.as_bytes())?;
    text.clear();
    output.flush()
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

/// Returns the reason of a failed transaction: the one kept at its execution, else what the receipt tells.
fn failure_reason(view: &NodeView, transaction: &Transaction, receipt: &Receipt) -> Option<String> {
    if receipt.is_success() {
        return None;
    }
    let Some(outcome) = view.chain().failed_outcome(transaction.hash()) else {
        let is_halt = receipt.gas_used == transaction.gas_limit();
        return Some(if is_halt { "used all of its gas" } else { "reverted" }.to_owned());
    };
    let reason = outcome.revert_data().and_then(|data| decode_error(data));
    Some(reason.unwrap_or_else(|| outcome.describe()))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use chainbox::{
        chain::CallRequest,
        primitives::{Gas, U256, hex},
        templates::Erc20Params,
    };

    use super::*;

    /// Passes on what is written, and waits for the reader.
    struct Pipe(mpsc::SyncSender<Vec<u8>>);

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_console_that_nobody_reads_holds_up_no_block_and_counts_what_it_lost() {
        let node = Node::new();
        let (sender, written) = mpsc::sync_channel(0);
        let heads = subscribe(&node);
        let console = thread::spawn(move || follow(heads, Pipe(sender)));
        let blocks = 3 * QUEUE_MAX as u64;
        let (from, to) = (node.accounts()[0], node.accounts()[1]);
        for _ in 0..blocks {
            node.transfer(from, to, U256::from(1)).unwrap();
        }
        drop(node);
        let text: Vec<u8> = written.iter().flatten().collect();
        console.join().unwrap();
        let text = String::from_utf8(text).unwrap();
        let printed = text.lines().filter(|line| line.starts_with("block ")).count() as u64;
        let lost: u64 = text
            .lines()
            .filter_map(|line| line.split_once('(')?.1.split_once(" changes of the head")?.0.parse::<u64>().ok())
            .sum();
        assert!(lost > 0 && printed >= QUEUE_MAX as u64, "{printed} printed, {lost} lost");
        assert_eq!(printed + lost, blocks);
    }

    #[test]
    fn the_reason_of_a_failure_is_that_of_its_execution() {
        let node = Node::new();
        let (owner, other) = (node.accounts()[0], node.accounts()[1]);
        let token = node.deploy(owner, Erc20Params::new("Gold", "GLD", U256::from(1), owner).init_code()).unwrap();
        let mut transfer = hex!("a9059cbb").to_vec();
        transfer.extend_from_slice(other.into_word().as_slice());
        transfer.extend_from_slice(&U256::from(5).to_be_bytes::<32>());
        let call = CallRequest::call(token.address(), transfer).with_from(other).with_gas(Gas::new(100_000));
        let hash = node.send_request(call).unwrap();
        let mined = node.receipt(hash).unwrap().unwrap();
        let mut text = String::new();
        write_transactions(&mut text, &node.view(), mined.block(), &mut io::sink()).unwrap();
        assert!(text.contains("transfer(") && text.contains("failed: ERC20InsufficientBalance("), "{text}");
    }
}
