//! Export and import.

use core::time::Duration;

use alloy_primitives::{Address, U256};
use serde_json::json;

use super::{World, of_four};
use crate::{
    consensus::ConsensusKind,
    node::{BlockRef, Dump, Node},
    platform::{Blockchain, BlockchainSpec, DeploymentSpec, PlatformError},
};

const PAID: Address = Address::repeat_byte(7);

/// What an import has to have: a balance, and a token that its owner still holds.
fn check(chain: &Node, source: &Blockchain, contract: Address) {
    let view = chain.view();
    let at = BlockRef::Latest;
    assert_eq!(view.balance(PAID, at).unwrap(), U256::from(5));
    let treasury = source.treasury().unwrap();
    let before = source.node().view();
    for account in [treasury, contract] {
        assert_eq!(view.account(account, at).unwrap(), before.account(account, at).unwrap());
    }
    assert_eq!(view.code(contract, at).unwrap(), before.code(contract, at).unwrap());
}

#[test]
fn a_state_goes_on_as_a_new_chain_with_new_keys_and_in_a_development_node() {
    for kind in ConsensusKind::ALL {
        let mut world = World::new();
        let source = world.create(of_four(kind.name()));
        let source_id = source.id().to_owned();
        let chains = world.platform.blockchains();
        world.run(&source, 3);
        world.pay(&source).unwrap();
        let deployment = chains.deploy(&world.me(), DeploymentSpec::gold(&source_id)).unwrap();
        world.run(&source, 6);
        let contract = deployment.value.contract_address(&source).unwrap();
        let dump = chains.export(&world.me(), &source_id).unwrap();
        let text = String::from_utf8(dump.as_bytes().to_vec()).unwrap().to_lowercase();
        for key in chains.keys_of(&source).validators().unwrap() {
            let hex = alloy_primitives::hex::encode(key.secret_bytes());
            assert!(!text.contains(&hex), "no key");
        }

        // As `chainbox dev --load-state`: a node of its own validators.
        let node = Node::builder().with_genesis(dump.genesis().unwrap()).build().unwrap();
        assert_eq!(node.load(&dump).unwrap().blocks, 0);
        check(&node, &source, contract);
        node.mine(1).unwrap();
        assert!(Node::new().load(&dump).is_err(), "another genesis");

        let mut spec = BlockchainSpec::read(of_four(kind.name())).unwrap();
        spec.name = "copy".to_owned();
        let copy = chains.import(&world.me(), spec, &dump).unwrap();
        check(copy.node(), &source, contract);
        assert_ne!(copy.chain_id(), source.chain_id());
        let signers = |chain: &Blockchain| chain.node().view().chain().spec().validators.clone();
        assert!(signers(&copy).iter().all(|one| signers(&source).iter().all(|other| one.address != other.address)));
        world.pay(&copy).unwrap();
        world.run(&copy, 6);
        assert_eq!(copy.node().view().balance(PAID, BlockRef::Latest).unwrap(), U256::from(10), "{kind:?}");
        let id = copy.id().to_owned();
        world = world.restarted(Duration::from_secs(2));
        let copy = world.platform.blockchains().writable(&world.me(), &id).unwrap();
        assert_eq!(copy.node().view().balance(PAID, BlockRef::Latest).unwrap(), U256::from(10), "{kind:?}");
    }
}

#[test]
fn every_crash_of_an_import_leaves_the_imported_state_or_nothing() {
    let world = World::new();
    let source = world.create(json!({ "name": "x" }));
    world.pay(&source).unwrap();
    let chains = world.platform.blockchains();
    let dump = chains.export(&world.me(), source.id()).unwrap();
    let before = world.disk.writes();
    let copy = chains.import(&world.me(), super::named("copy"), &dump).unwrap();
    for crashed in world.disk.crashes().into_iter().skip(before) {
        let world = World::on(crashed, world.clock.clone());
        if let Ok(copy) = world.platform.blockchains().writable(&world.me(), copy.id()) {
            assert_eq!(copy.node().view().balance(PAID, BlockRef::Latest).unwrap(), U256::from(5));
        }
    }
    // What is no export of a state is refused, and so is a stranger.
    for wrong in [Dump::from_bytes(b"{}".to_vec()), Node::new().dump().unwrap()] {
        let refused = chains.import(&world.me(), super::named("copy"), &wrong);
        assert!(matches!(refused, Err(PlatformError::Validation { .. })), "{refused:?}");
    }
    let stranger = world.user("s@example.org");
    assert!(matches!(chains.export(&stranger, source.id()), Err(PlatformError::NotFound { .. })));
}
