//! Options of a node.

use std::sync::Arc;

use super::fixture::plain_transfer;
use crate::{
    chain::{DumpError, GenesisSpec, OpenError},
    consensus::ConsensusKind,
    node::{BuildError, Database, Dump, LoadError, Node, NodeBuilder},
    primitives::{Gas, ether},
    sim::ChainOptionsError,
    store::testing::MemoryDisk,
};

#[test]
fn options_that_fit_no_node_are_refused_by_kind() {
    let build = |builder: NodeBuilder| builder.build().unwrap_err();
    let error = build(Node::builder().with_accounts(100_001));
    assert!(matches!(error, BuildError::TooManyAccounts { asked: 100_001, max: 100_000 }), "{error}");
    let error = build(Node::builder().with_mnemonic("not a phrase"));
    assert!(matches!(error, BuildError::Mnemonic(_)), "{error}");
    let malformed = GenesisSpec { consensus: serde_json::json!({ "type": "magic" }), ..GenesisSpec::new(5) };
    let error = build(Node::builder().with_genesis(malformed));
    assert!(matches!(error, BuildError::Chain(ChainOptionsError::GenesisConsensus { .. })), "{error}");
    let raft = GenesisSpec { consensus: ConsensusKind::Raft.on_demand().section(), ..GenesisSpec::new(5) };
    let error = build(Node::builder().with_genesis(raft).with_consensus(ConsensusKind::Poa.on_demand()));
    assert!(matches!(error, BuildError::GenesisProtocol { .. }), "{error}");
    let error = build(Node::builder().with_stakes([ether(1)]));
    assert!(matches!(error, BuildError::Chain(ChainOptionsError::NoStake { .. })), "{error}");
    let error = build(Node::builder().with_dump(Dump::from_bytes(b"nonsense".to_vec())));
    assert!(matches!(error, BuildError::Load(LoadError::Malformed { .. })), "{error}");
}

#[test]
fn errors_of_the_chain_are_of_the_operation() {
    let disk = Arc::new(MemoryDisk::new());
    let on = |gas_limit| {
        let genesis = GenesisSpec { gas_limit: Gas::new(gas_limit), ..GenesisSpec::new(5) };
        Node::builder().with_genesis(genesis).with_database(Database::Store(disk.clone()))
    };
    let node = on(30_000_000).build().unwrap();
    let dump = node.dump().unwrap();
    drop(node);
    let error = on(40_000_000).build().unwrap_err();
    assert!(matches!(error, BuildError::Open(OpenError::OtherGenesis { .. })), "{error}");
    let other = Node::builder().with_genesis(GenesisSpec::new(6)).build().unwrap();
    let error = other.load(&dump).unwrap_err();
    assert!(matches!(error, LoadError::Dump(DumpError::OtherGenesis { .. })), "{error}");
}

#[test]
fn two_nodes_with_the_same_options_make_the_same_bytes() {
    let run = || {
        let node = Node::builder().with_seed(5).with_validators(3).build().unwrap();
        for nonce in 0..5 {
            node.send(plain_transfer(&node, 1, nonce, nonce)).unwrap();
        }
        node.view().head().hash()
    };
    assert_eq!(run(), run());
}
