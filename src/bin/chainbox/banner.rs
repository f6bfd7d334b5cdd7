//! Console output at the start of the node, and the console's styles.

use std::{fmt::Write as _, net::SocketAddr};

use anstyle::{AnsiColor, Style};
use chainbox::{chain::LoadSummary, node::Node};

use crate::{args::DevOptions, config_out::reachable};

/// Style of headings.
pub(crate) const HEADING: Style = Style::new().bold();
/// Style of success.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Style of secondary text.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// Style of errors.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Returns the banner: accounts, keys, chain and URLs, in the layout of other development nodes.
pub(crate) fn banner(
    node: &Node,
    options: &DevOptions,
    loaded: Option<LoadSummary>,
    address: SocketAddr,
    api_key: &str,
) -> String {
    let view = node.view();
    let genesis = view.chain().genesis().block().clone();
    let mut text = String::new();
    let mut line = |content: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{content}");
    };
    line(format_args!("\n{HEADING}chainbox {}{HEADING:#}\n", env!("CARGO_PKG_VERSION")));
    if !node.keys().is_empty() {
        line(format_args!("{HEADING}Available Accounts{HEADING:#}\n=================="));
        for (index, key) in node.keys().iter().enumerate() {
            line(format_args!("({index}) {} ({} ETH)", key.address(), options.balance));
        }
        line(format_args!("\n{HEADING}Private Keys{HEADING:#}\n=================="));
        for (index, key) in node.keys().iter().enumerate() {
            line(format_args!("({index}) {}", key.secret_bytes()));
        }
        line(format_args!("\n{HEADING}Wallet{HEADING:#}\n=================="));
        line(format_args!("Mnemonic:          {}", node.mnemonic()));
        line(format_args!("Derivation path:   m/44'/60'/0'/0/"));
    }
    line(format_args!("\n{HEADING}Chain{HEADING:#}\n=================="));
    line(format_args!("Chain ID:          {}", view.chain_id()));
    line(format_args!(
        "Consensus:         {}, {}",
        node.consensus().name(),
        counted(node.validator_count(), "validator")
    ));
    line(format_args!("Fork:              {}", view.chain().spec().forks.at(view.head().height())));
    line(format_args!("Blockchain ID:     {}", chainbox::platform::DEFAULT_BLOCKCHAIN_ID));
    line(format_args!("Genesis Hash:      {}", view.genesis_hash()));
    line(format_args!("Genesis Timestamp: {}", genesis.timestamp().as_secs()));
    line(format_args!("Base Fee:          {}", view.next_base_fee()));
    line(format_args!("Gas Limit:         {}", genesis.header().gas_limit));
    if let Some(summary) = loaded {
        line(format_args!("Loaded State:      {}", describe_load(&summary)));
    }
    line(format_args!("\n{HEADING}API key{HEADING:#} (X-API-Key, valid for this process only)\n=================="));
    line(format_args!("{api_key}"));
    for warning in warnings(options, address) {
        line(format_args!("\n{ERROR}Warning:{ERROR:#} {warning}"));
    }
    line(format_args!("\n{GOOD}Listening on {address}{GOOD:#}"));
    let address = reachable(address);
    line(format_args!(
        "{FAINT}Ethereum JSON-RPC http://{address} and ws://{address}, service API http://{address}/v1{FAINT:#}\n"
    ));
    text
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
    if options.allow_origin.iter().any(|origin| origin == "*") {
        warnings.push(
            "--allow-origin *: pages of every site may call this server from a browser that reaches it".to_owned(),
        );
    }
    warnings
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
