//! Lines of the console for what a node does.

use std::sync::mpsc as std_mpsc;

use chainbox::{
    chain::CallRequest,
    primitives::{Gas, U256, ether, hex},
    server::EthRpc,
    templates::Erc20Params,
};
use serde_json::json;

use super::*;

/// Passes on what is written, and waits for the reader.
struct Pipe(std_mpsc::SyncSender<Vec<u8>>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a console over `output` until its node is dropped.
fn follow(console: Console, output: impl Write, width: fn() -> Option<usize>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (_stop, stopped) = oneshot::channel();
    let mut printer = Printer::new(Screen::new(output, width), console.names);
    drop(console.monitor);
    let _ = runtime.block_on(printer.follow(console.sources, stopped));
}

/// Returns what the console prints of what `act` does, without colours.
fn printed(width: fn() -> Option<usize>, act: impl FnOnce(&Node, &Console)) -> String {
    let node = Node::new();
    let console = Console::new(&node);
    act(&node, &console);
    drop(node);
    let mut text = Vec::new();
    follow(console, &mut text, width);
    anstream::adapter::strip_str(&String::from_utf8(text).unwrap()).to_string()
}

#[test]
fn a_console_that_nobody_reads_holds_up_no_block_and_counts_what_it_lost() {
    let node = Node::new();
    let (sender, written) = std_mpsc::sync_channel(0);
    let console = Console::new(&node);
    let thread = thread::spawn(move || follow(console, Pipe(sender), || None));
    let blocks = 3 * QUEUE_MAX as u64;
    let (from, to) = (node.accounts()[0], node.accounts()[1]);
    for _ in 0..blocks {
        node.transfer(from, to, U256::from(1)).unwrap();
    }
    drop(node);
    let text: Vec<u8> = written.iter().flatten().collect();
    thread.join().unwrap();
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
fn names_stand_for_known_addresses_and_failures_have_their_reason() {
    let text = printed(
        || None,
        |node, _| {
            let (owner, other) = (node.accounts()[0], node.accounts()[1]);
            let token = node.deploy(owner, Erc20Params::new("Gold", "GLD", U256::from(1), owner).init_code()).unwrap();
            let mut transfer = hex!("a9059cbb").to_vec();
            transfer.extend_from_slice(other.into_word().as_slice());
            transfer.extend_from_slice(&U256::from(5).to_be_bytes::<32>());
            for input in [transfer, hex!("12345678").to_vec()] {
                let call = CallRequest::call(token.address(), input).with_from(other).with_gas(Gas::new(100_000));
                node.send_request(call).unwrap();
            }
            node.transfer(owner, other, ether(1)).unwrap();
        },
    );
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("block 1: 0x") && lines[0].contains(" (0) creates erc20-token#1  "), "{text}");
    assert!(lines[1].starts_with("  erc20-token#1 is at 0x5FbDB2315678afecb367f032d93F642f64180aa3"), "{text}");
    assert!(lines[2].contains("(1) -> erc20-token#1 transfer((1), 5)  "), "{text}");
    assert!(lines[2].ends_with("failed: ERC20InsufficientBalance((1), 0, 5)"), "{text}");
    assert!(lines[3].ends_with("failed: erc20-token has no function with selector 0x12345678"), "{text}");
    assert!(lines[4].contains(" (0) -> (1) 1 ETH  21000 gas  ok"), "{text}");
}

#[test]
fn a_revert_is_one_line_and_so_is_a_row_of_empty_blocks() {
    let text = printed(
        || None,
        |node, _| {
            let (from, to) = (node.accounts()[0], node.accounts()[1]);
            node.mine(2).unwrap();
            let snapshot = node.snapshot();
            node.transfer(from, to, U256::from(7)).unwrap();
            node.mine(9).unwrap();
            node.revert(snapshot).unwrap();
            node.mine(1).unwrap();
            node.reorg(1, []).unwrap();
        },
    );
    let text = text.replace("block 1: empty\nblock 2: empty", "blocks 1 to 2: empty");
    assert!(text.contains("7 wei  21000 gas  ok\nblocks 4 to 12: empty\n"), "{text}");
    assert!(text.contains("back to block 2: 3 to 12 left the chain\nblock 3: empty\n"), "{text}");
    assert!(text.contains("reorg: 3 left the chain, 3 joined it\nblock 3: empty\n"), "{text}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [(|| Some(80)) as fn() -> Option<usize>, || Some(120), || Some(40)] {
        let text = printed(width, |node, _| {
            let owner = node.accounts()[0];
            let symbol = "a symbol of a token that is so long that nobody would ever type it into a wallet by hand";
            let token = node.deploy(owner, Erc20Params::new("Gold", symbol, U256::MAX, owner).init_code()).unwrap();
            let call = CallRequest::call(token.address(), vec![0xff; 500]).with_from(owner).with_gas(Gas::new(100_000));
            node.send_request(call).unwrap();
            node.transfer(owner, node.accounts()[1], U256::from(10).pow(U256::from(21)) + U256::from(1)).unwrap();
            node.mine(3).unwrap();
        });
        let columns = width().unwrap();
        for line in text.split(['\n', '\r']) {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
        assert!(text.contains("is at 0x"), "{text}");
    }
}

#[test]
fn what_development_methods_change_is_told_in_words() {
    let text = printed(
        || None,
        |node, console| {
            let tell = |method: &str, params: Value, result: Value| {
                let (view, params) = (node.view(), params.to_string());
                console.monitor().on_call(&MonitoredCall::new(method, &params, Ok(&result), &view));
            };
            let account = node.accounts()[1].to_string();
            tell("anvil_setBalance", json!([account, "0x14d1120d7b160000"]), Value::Null);
            tell("evm_increaseTime", json!(["0xe10"]), json!(3_600));
            tell("evm_snapshot", json!([]), json!("0x1"));
            tell("hardhat_setCode", json!([account, "0x6001"]), Value::Null);
            tell("evm_setNextBlockTimestamp", json!([1_735_689_600]), Value::Null);
            tell("anvil_impersonateAccount", json!([account]), Value::Null);
        },
    );
    for line in [
        "(1): balance set to 1.5 ETH",
        "time moved by 3600 s, to 2025-01-01T00:00:00Z",
        "snapshot 0x1 at block 0",
        "(1): code set, 2 bytes",
        "time of the next block set to 2025-01-01T00:00:00Z",
        "(1): impersonated",
    ] {
        assert!(text.lines().any(|printed| printed == line), "{line}: {text}");
    }
}

#[test]
fn failed_calls_over_json_rpc_are_told_with_their_reason() {
    let node = Node::new();
    let owner = node.accounts()[0];
    let token = node.deploy(owner, Erc20Params::new("Gold", "GLD", U256::from(1), owner).init_code()).unwrap();
    let console = Console::new(&node);
    let rpc = EthRpc::new(node.clone()).with_monitor(console.monitor());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let call = json!({ "from": owner, "to": token.address(), "data": "0x12345678" });
    let failed =
        runtime.block_on(rpc.methods().call::<_, Value>("eth_call", json!([call]).as_array().unwrap().clone()));
    assert!(failed.is_err());
    drop((rpc, node, token));
    let mut text = Vec::new();
    follow(console, &mut text, || None);
    let text = anstream::adapter::strip_str(&String::from_utf8(text).unwrap()).to_string();
    assert_eq!(
        text,
        "eth_call (0) -> erc20-token#1 4 bytes of call data  failed: erc20-token has no function with selector 0x12345678\n"
    );
}

#[test]
fn a_mail_is_shown_with_its_link_in_one_line() {
    let url = PublicUrl::new("http://127.0.0.1:8545").unwrap();
    let link = format!("{url}/oauth/confirm?token={}", "ab".repeat(60));
    let mail = Mail {
        to: "ada@example.org".to_owned(),
        subject: "Confirm your address of e-mail".to_owned(),
        body: format!("Somebody signed up on {url}.\n\nFollow this link:\n\n{link}\n").into(),
    };
    let text = printed(|| Some(60), |_, console| drop(console.mails().try_send(ShownMail::of(&mail, &url))));
    assert_eq!(text, format!("mail to ada@example.org: Confirm your address of e-mail\n  {link}\n"));
}
