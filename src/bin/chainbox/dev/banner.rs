//! Console output at the start of the node.

use std::{fmt::Write as _, net::SocketAddr};

use anstyle::Style;
use chainbox::{
    chain::LoadSummary,
    node::{BlockRef, NodeView},
    primitives::Address,
    templates::Erc20,
    vm::{Marker, Template as _},
};

use crate::dev::{
    amounts::{self, counted},
    args::DevOptions,
    config_out::reachable,
    start::Started,
};
use crate::styles::{ERROR, FAINT, GOOD, HEADING, NOTICE};

/// Columns that no line of the banner exceeds.
const COLUMNS: usize = 80;
/// Line below a heading.
const RULE: &str = "==================";

/// Returns the banner: accounts, keys, chain and URLs, in the layout of other development nodes.
pub(crate) fn banner(started: &Started, options: &DevOptions, address: SocketAddr, api_key: Option<&str>) -> String {
    let mut text = format!("\n{HEADING}chainbox {}{HEADING:#}\n", env!("CARGO_PKG_VERSION"));
    write_accounts(&mut text, started);
    write_chain(&mut text, started, options);
    let api_key = api_key.unwrap_or("none: the disk is full; that of the start before is still valid");
    let _ = writeln!(text, "\n{HEADING}API key{HEADING:#} (X-API-Key, valid for this process only)\n{RULE}\n{api_key}");
    for warning in warnings(options, address) {
        write_wrapped(&mut text, ("\nWarning: ", ERROR), &warning);
    }
    for note in &started.notes {
        write_wrapped(&mut text, ("\nNote: ", NOTICE), note);
    }
    let reached = reachable(address);
    let _ = writeln!(text, "\n{GOOD}Listening on {address}{GOOD:#}");
    let _ = writeln!(text, "{FAINT}Ethereum JSON-RPC http://{reached} and ws://{reached}{FAINT:#}");
    let _ = writeln!(text, "{FAINT}Service API       http://{reached}/v1{FAINT:#}");
    let _ = writeln!(text, "{FAINT}{}{FAINT:#}\n", templates_line());
    text
}

/// Returns what runs here in place of compiled Solidity.
fn templates_line() -> String {
    let token = Marker(Erc20.id()).init_code(&[]);
    format!("No EVM: deploy templates, as {token} ({}); list: /v1/templates", Erc20::NAME)
}

fn write_accounts(text: &mut String, started: &Started) {
    let node = &started.node;
    if node.keys().is_empty() {
        return;
    }
    let view = node.view();
    let _ = writeln!(text, "\n{HEADING}Available Accounts{HEADING:#}\n{RULE}");
    for (index, account) in node.accounts().iter().enumerate() {
        let _ = writeln!(text, "({index}) {account} ({})", balance(&view, *account));
    }
    let _ = writeln!(text, "\n{HEADING}Private Keys{HEADING:#}\n{RULE}");
    for (index, key) in node.keys().iter().enumerate() {
        let _ = writeln!(text, "({index}) {}", key.secret_bytes());
    }
    let _ = writeln!(text, "\n{HEADING}Wallet{HEADING:#}\n{RULE}");
    write_wrapped(text, ("Mnemonic:     ", Style::new()), node.mnemonic());
    let _ = writeln!(text, "Derivation:   m/44'/60'/0'/0/(index)");
}

/// Returns an account's balance now, which is the state's and no flag's.
fn balance(view: &NodeView, account: Address) -> String {
    view.balance(account, BlockRef::Latest).map_or_else(|cause| cause.to_string(), amounts::ether)
}

fn write_chain(text: &mut String, started: &Started, options: &DevOptions) {
    let node = &started.node;
    let view = node.view();
    let (spec, head) = (view.chain().spec(), view.head());
    let protocol = format!("{}, {}", node.consensus().name(), counted(node.validator_count(), "validator"));
    let genesis_time = spec.timestamp;
    let mut lines: Vec<(&str, String)> = vec![
        ("Chain ID:", view.chain_id().to_string()),
        ("Consensus:", protocol),
        ("Fork:", spec.forks.at(head.height()).to_string()),
        ("Blockchain:", chainbox::platform::DEFAULT_BLOCKCHAIN_ID.to_owned()),
        ("Genesis Hash:", view.genesis_hash().to_string()),
        ("Genesis Time:", format!("{} ({})", genesis_time.as_secs(), amounts::date(genesis_time))),
        ("Base Fee:", amounts::gwei(view.next_base_fee())),
        ("Gas Limit:", view.pool_context().gas_limit.get().to_string()),
    ];
    if head.height().get() > 0 {
        lines.push(("Head:", format!("block {}", head.height())));
    }
    if let Some((path, summary)) = &started.loaded {
        lines.push(("Loaded State:", format!("{}: {}", path.display(), describe_load(summary))));
    }
    if let Some(path) = options.state.as_ref().or(options.dump_state.as_ref()) {
        lines.push(("Will Write:", path.display().to_string()));
    }
    let _ = writeln!(text, "\n{HEADING}Chain{HEADING:#}\n{RULE}");
    for (label, content) in lines {
        write_wrapped(text, (&format!("{label:<14}"), Style::new()), &content);
    }
}

/// Writes a label and words behind it, in lines of at most [`COLUMNS`] where the words allow it; later lines are indented by two.
fn write_wrapped(text: &mut String, (label, style): (&str, Style), content: &str) {
    let _ = write!(text, "{style}{label}{style:#}");
    let mut column = label.trim_start_matches('\n').chars().count();
    for (index, word) in content.split(' ').enumerate() {
        let width = word.chars().count();
        if index > 0 && column + 1 + width > COLUMNS {
            text.push_str("\n  ");
            column = 2;
        } else if index > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += width;
    }
    text.push('\n');
}

/// Returns what a dump had, with a word on transactions that nobody signed.
pub(crate) fn describe_load(summary: &LoadSummary) -> String {
    let (blocks, transactions) = (counted(summary.blocks, "block"), counted(summary.transactions, "transaction"));
    let mut text = format!("{blocks}, {transactions}");
    if summary.impersonated > 0 {
        let _ = write!(
            text,
            ", {} of them impersonated: recorded without a signature of their sender",
            summary.impersonated
        );
    }
    text
}

/// Returns what is open to whom.
fn warnings(options: &DevOptions, address: SocketAddr) -> Vec<String> {
    if address.ip().is_loopback() {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    if options.rpc_token.is_none() {
        let open = match options.no_dev_rpc {
            true => "Ethereum JSON-RPC is open to every machine that reaches this address".to_owned(),
            false => "every machine that reaches this address can spend from the accounts above, set balances and code, and reset the \
                      chain"
                .to_owned(),
        };
        let mut advice = vec!["--rpc-token TOKEN asks clients for a token"];
        if !options.no_dev_rpc {
            advice.push("--no-dev-rpc leaves out anvil_*, evm_*, hardhat_* and the unlocked accounts");
        }
        warnings.push(format!("listening on {}: {open}. {}", address.ip(), advice.join("; ")));
    }
    if options.listen.allow_origin.iter().any(|origin| origin == "*") {
        warnings.push(
            "--allow-origin *: pages of every site may call this server from a browser that reaches it".to_owned(),
        );
    }
    warnings
}

#[cfg(test)]
mod tests {
    use chainbox::node::Node;
    use clap::Parser as _;

    use super::*;
    use crate::args::{Cli, Command};

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        let flags = ["chainbox", "dev", "--host", "0.0.0.0", "--allow-origin", "*", "--state", "a.dump"];
        let Command::Dev(options) = Cli::parse_from(flags).command else { panic!("dev was asked for") };
        let notes = vec![
            "not taken over: extraData: signers of another protocol; this chain's validators are its own".to_owned(),
        ];
        let loaded = Some(("a.dump".into(), LoadSummary::default()));
        let started = Started { node: Node::new(), store: None, loaded, notes };
        let text = banner(&started, &options, ([0, 0, 0, 0], 65_535).into(), Some(&*format!("cbx_{}", "0".repeat(56))));
        for line in anstream::adapter::strip_str(&text).to_string().lines() {
            assert!(line.chars().count() <= COLUMNS, "{line}");
        }
        for part in ["(10000 ETH)", "0.875 gwei", "2025-01-01T00:00:00Z", "0xefcb00010002", "a.dump: 0 blocks"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
