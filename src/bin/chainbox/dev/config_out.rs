//! `--config-out`: accounts, URLs and API key of the node for scripts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

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
    /// Absent where the disk is full and none could be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    api_key: Option<String>,
}

#[derive(Debug, Serialize)]
struct Urls {
    http: String,
    ws: String,
    rest: String,
    openapi: String,
}

impl Config {
    /// Describes a node that listens on `address`; the URLs are for programs on this machine.
    pub(crate) fn new(node: &Node, platform: &Platform, address: SocketAddr, api_key: Option<&str>) -> Self {
        let keys = node.keys();
        let address = reachable(address);
        Self {
            accounts: keys.iter().map(|key| key.address()).collect(),
            private_keys: keys.iter().map(|key| key.secret_bytes()).collect(),
            mnemonic: node.mnemonic().to_owned(),
            chain_id: node.view().chain_id(),
            blockchain_id: platform.default_blockchain().map_or_else(String::new, |chain| chain.id().to_owned()),
            genesis_hash: node.view().genesis_hash(),
            urls: Urls {
                http: format!("http://{address}"),
                ws: format!("ws://{address}"),
                rest: format!("http://{address}/v1"),
                openapi: format!("http://{address}/v1/openapi.json"),
            },
            api_key: api_key.map(str::to_owned),
        }
    }
}

/// Returns an address by which programs on this machine reach a server that listens on `address`: one that listens on all
/// addresses is reached by loopback.
pub(crate) fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_all_addresses_is_reached_by_loopback() {
        for (listen, want) in [
            ("0.0.0.0:8545", "127.0.0.1:8545"),
            ("[::]:8545", "[::1]:8545"),
            ("192.168.1.4:80", "192.168.1.4:80"),
            ("127.0.0.1:1", "127.0.0.1:1"),
        ] {
            assert_eq!(reachable(listen.parse().unwrap()).to_string(), want);
        }
    }
}
