//! The documented list of JSON-RPC methods is the list of registered ones.

use std::{collections::BTreeMap, fs};

use chainbox::{node::Node, server::EthRpc};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/rpc-methods.md");

const HEAD: &str = "\
# JSON-RPC methods

Of a development node (`chainbox dev`, `server::serve`), over HTTP and WebSocket on one port, single and in batches. Names, parameters and results are
those of the Ethereum JSON-RPC specification, and of anvil, Hardhat and geth for methods of theirs; where one can't be answered, the error says why.
`--no-dev-rpc` leaves out what changes the chain by hand, `--rpc-token` asks for a token. The same port has the service's own calls at
`/v1/rpc` and REST at `/v1`, which `/v1/openapi.json` describes; both ask for the API key that `chainbox dev` prints, as header `X-API-Key`.
";

/// The document: a paragraph for each namespace.
fn document(methods: impl Iterator<Item = &'static str>) -> String {
    let mut namespaces: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for method in methods {
        namespaces.entry(method.split('_').next().unwrap_or(method)).or_default().push(method);
    }
    let paragraphs = namespaces.into_iter().map(|(namespace, mut methods)| {
        methods.sort_unstable();
        let methods: Vec<String> = methods.iter().map(|method| format!("- `{method}`\n")).collect();
        format!("\n## {namespace}\n\n{}", methods.concat())
    });
    HEAD.to_owned() + &paragraphs.collect::<String>()
}

/// With `CHAINBOX_BLESS=1`, writes the document instead.
#[test]
fn the_document_lists_the_registered_methods() {
    let rpc = EthRpc::new(Node::new());
    let methods = document(rpc.methods().method_names());
    if std::env::var_os("CHAINBOX_BLESS").is_some() {
        fs::write(FILE, &methods).unwrap();
    }
    assert_eq!(methods, fs::read_to_string(FILE).unwrap_or_default(), "CHAINBOX_BLESS=1 writes it");
}
