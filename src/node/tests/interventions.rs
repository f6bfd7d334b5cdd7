//! Interventions in the state, and impersonation.

use crate::{
    chain::{CallRequest, GenesisSpec},
    node::{BlockRef, InterventionError, Node, SendError},
    primitives::{Address, U256, ether},
};

#[test]
fn interventions_are_visible_at_once_and_recorded_by_the_next_block() {
    let node = Node::new();
    let account = Address::repeat_byte(0x42);
    node.set_balance(account, ether(3)).unwrap();
    node.set_nonce(account, 9).unwrap();
    node.set_storage(account, U256::from(1), U256::from(2)).unwrap();
    let check = || {
        let view = node.view();
        assert_eq!(view.balance(account, BlockRef::Latest).unwrap(), ether(3));
        assert_eq!(view.nonce(account, BlockRef::Latest).unwrap(), 9);
        assert_eq!(view.storage(account, U256::from(1), BlockRef::Latest).unwrap(), U256::from(2));
    };
    check();
    node.mine(2).unwrap();
    check();
    assert!(matches!(
        node.send_request(CallRequest { from: Some(account), to: Some(account), ..Default::default() }),
        Err(SendError::UnknownAccount { address }) if address == account
    ));
    node.impersonate(account).unwrap();
    let mined = node.transfer(account, Address::ZERO, ether(1)).unwrap();
    assert_eq!(mined.transaction().nonce(), 9);
    node.stop_impersonating(account);
    assert!(node.transfer(account, Address::ZERO, ether(1)).is_err());
}

#[cfg(feature = "rocksdb")]
#[test]
fn interventions_on_a_durable_store_survive_reopening_before_any_block() {
    use std::sync::Arc;

    use crate::{
        node::Database,
        store::{RocksOptions, RocksStore},
    };

    let folder = tempfile::tempdir().unwrap();
    let open = || {
        let store = RocksStore::open(folder.path().join("database"), RocksOptions::default()).unwrap();
        let database = Database::Store(Arc::new(store));
        Node::builder().with_validators(3).with_database(database).build().unwrap()
    };
    let node = open();
    for n in 1..=40_u8 {
        node.set_balance(Address::repeat_byte(n), U256::from(n)).unwrap();
    }
    let root = node.view().state(BlockRef::Latest).unwrap().commit().root;
    drop(node);
    let node = open();
    assert_eq!(node.view().state(BlockRef::Latest).unwrap().commit().root, root);
    node.mine(1).unwrap();
    assert_eq!(node.view().head().block().header().state_root, root);
    assert_eq!(node.view().head().block().interventions().len(), 40);
}

#[test]
fn interventions_need_a_genesis_that_allows_them() {
    let genesis = GenesisSpec { allow_interventions: false, ..GenesisSpec::new(5) };
    let node = Node::builder().with_genesis(genesis).build().unwrap();
    let error = node.set_balance(Address::ZERO, ether(1)).unwrap_err();
    assert!(matches!(error, InterventionError::NotAllowed), "{error}");
    assert!(node.view().balance(Address::ZERO, BlockRef::Latest).unwrap().is_zero());
}
