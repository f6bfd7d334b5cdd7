//! `--config-out`: accounts, URLs and API key of the node for scripts.

use std::net::SocketAddr;

use chainbox::{
    node::Node,
    platform::Platform,
    primitives::{Address, B256},
};
use serde::Serialize;

/// Content of the file.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Config {
    accounts: Vec<Address>,
    private_keys: Vec<B256>,
    mnemonic: String,
    chain_id: u64,
    blockchain_id: String,
    genesis_hash: B256,
    urls: Urls,
    api_key: String,
}

#[derive(Debug, Serialize)]
struct Urls {
    http: String,
    ws: String,
    rest: String,
    openapi: String,
}

impl Config {
    /// Describes a node that listens on `address`.
    pub(crate) fn new(node: &Node, platform: &Platform, address: SocketAddr, api_key: &str) -> Self {
        let keys = node.keys();
        Self {
            accounts: keys.iter().map(|key| key.address()).collect(),
            private_keys: keys.iter().map(|key| key.secret_bytes()).collect(),
            mnemonic: node.mnemonic().to_owned(),
            chain_id: node.view().chain_id(),
            blockchain_id: platform.default_blockchain().id().to_owned(),
            genesis_hash: node.view().genesis_hash(),
            urls: Urls {
                http: format!("http://{address}"),
                ws: format!("ws://{address}"),
                rest: format!("http://{address}/v1"),
                openapi: format!("http://{address}/v1/openapi.json"),
            },
            api_key: api_key.to_owned(),
        }
    }
}
