//! `net_*`, `web3_*`, `rpc_modules`, and the `eth_*` methods about the node itself.

use alloy_primitives::{Address, B256, Bytes, U64, keccak256};

use super::{Development, Eth, Methods, params::Args};
use crate::server::jsonrpc::errors::RpcError;

pub(super) fn register(methods: &mut Methods) {
    methods.add("eth_chainId", 0, |eth, _| Ok(U64::from(eth.view().chain_id())));
    methods.add("net_version", 0, |eth, _| Ok(eth.view().chain_id().to_string()));
    methods.add("net_listening", 0, |_, _| Ok(true));
    methods.add("net_peerCount", 0, |_, _| Ok(U64::ZERO));
    methods.add("web3_clientVersion", 0, |_, _| Ok(client_version()));
    methods.add("web3_sha3", 1, sha3);
    methods.add("eth_protocolVersion", 0, |_, _| Ok(U64::from(68)));
    methods.add("eth_syncing", 0, |_, _| Ok(false));
    methods.add("eth_mining", 0, |_, _| Ok(true));
    methods.add("eth_hashrate", 0, |_, _| Ok(U64::ZERO));
    methods.add("eth_coinbase", 0, coinbase);
    methods.add("eth_accounts", 0, accounts);
    methods.add("eth_blockNumber", 0, |eth, _| Ok(U64::from(eth.view().head().height().get())));
    methods.add("rpc_modules", 0, |eth, _| Ok(modules(eth)));
}

/// Returns `chainbox/v<version>/<os>-<architecture>/rust`, the form that clients of geth parse.
pub(super) fn client_version() -> String {
    format!("chainbox/v{}/{}-{}/rust", env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH)
}

fn sha3(_: &Eth, args: &Args<'_>) -> Result<B256, RpcError> {
    Ok(keccak256(args.required::<Bytes>(0, "data")?))
}

/// Unlocked and impersonated accounts: clients refuse to send from any other. None without the methods that use them.
fn accounts(eth: &Eth, _: &Args<'_>) -> Result<Vec<Address>, RpcError> {
    if eth.development == Development::Closed {
        return Ok(Vec::new());
    }
    let mut accounts = eth.node.accounts().to_vec();
    let impersonated = eth.node.impersonated().into_iter().filter(|address| !eth.node.accounts().contains(address));
    accounts.extend(impersonated);
    Ok(accounts)
}

fn coinbase(eth: &Eth, _: &Args<'_>) -> Result<Address, RpcError> {
    Ok(eth.view().head().block().header().beneficiary)
}

fn modules(eth: &Eth) -> serde_json::Value {
    let names = ["anvil", "debug", "eth", "evm", "hardhat", "net", "rpc", "txpool", "web3"];
    let is_there = |name: &&str| eth.development.has(&format!("{name}_"));
    names
        .into_iter()
        .filter(is_there)
        .map(|name| (name.to_owned(), "1.0".into()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
