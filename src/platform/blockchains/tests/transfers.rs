//! Export and import.

use core::time::Duration;

use alloy_primitives::{Address, U256};
use serde_json::json;

use super::{World, of_four};
use crate::{
    consensus::ConsensusKind,
    node::{BlockRef, Dump, Node},
    platform::{Blockchain, BlockchainSpec, DeploymentSpec, PlatformError, blockchain::GAS_LIMIT_BOUNDS},
    primitives::{Gas, Height},
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

/// An export with these fields in its genesis.
fn export_with(fields: &serde_json::Value) -> Dump {
    let mut genesis = json!({ "chainId": 5, "accounts": { PAID.to_string(): { "balance": "5" } } });
    genesis.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    Dump::from_bytes(json!({ "chain": { "genesis": genesis } }).to_string().into_bytes())
}

#[test]
fn an_import_has_the_rules_of_every_chain_of_the_service() {
    let world = World::new();
    let chains = world.platform.blockchains();
    let dump = export_with(&json!({
        "transactionGasCap": false, "hardfork": "london", "gasLimit": "1000000", "baseFee": "off", "allowInterventions": true,
        "difficulty": U256::MAX.to_string(), "extraData": "0x11", "coinbase": PAID, "deployments": false,
    }));
    let copy = chains.import(&world.me(), super::named("copy"), &dump).unwrap();
    let own = world.create(json!({ "name": "own" }));
    let view = copy.node().view();
    let (imported, own) = (view.chain().spec().clone(), own.node().view().chain().spec().clone());
    assert!(imported.transaction_gas_cap && !imported.allow_interventions && imported.deployments);
    assert_eq!(imported.rules_at(Height::GENESIS).tx_gas_limit_max, Some(Gas::new(16_777_216)));
    assert_eq!((imported.forks, imported.difficulty, imported.coinbase), (own.forks, own.difficulty, own.coinbase));
    assert_eq!((imported.extra_data.len(), imported.mix_hash), (own.extra_data.len(), own.mix_hash));
    // What it takes over.
    assert_eq!((imported.gas_limit, view.next_base_fee()), (Gas::new(1_000_000), 0));
    assert_eq!(view.balance(PAID, BlockRef::Latest).unwrap(), U256::from(5));
    world.pay(&copy).unwrap();
}

#[test]
fn what_no_chain_of_the_service_has_is_not_imported() {
    let world = World::new();
    let chains = world.platform.blockchains();
    let (least, most) = (*GAS_LIMIT_BOUNDS.start(), *GAS_LIMIT_BOUNDS.end());
    let limit = |gas: u64| json!({ "gasLimit": gas.to_string() });
    let code =
        |bytes: usize| json!({ "accounts": { PAID.to_string(): { "code": format!("0x{}", "60".repeat(bytes)) } } });
    let fee = |floor: u64| json!({ "baseFee": { "initial": floor, "floor": floor } });
    for (fields, is_taken) in [
        (limit(least), true),
        (limit(least - 1), false),
        (limit(most), true),
        (limit(most + 1), false),
        (code(24_576), true),
        (code(24_577), false),
        (fee(1_000_000_000_000), true),
        (fee(1_000_000_000_001), false),
    ] {
        let staged = chains.stage_import(&chains.new_id().unwrap(), &super::named("copy"), &export_with(&fields));
        match staged {
            Ok(()) => assert!(is_taken, "{fields}"),
            Err(PlatformError::Validation { fields: refused }) => {
                assert_eq!((is_taken, refused[0].path.as_str()), (false, "state"), "{fields}: {refused:?}");
            }
            Err(other) => panic!("{fields}: {other}"),
        }
    }
    let mut spec = super::named("copy");
    spec.block_gas_limit = Some(Gas::new(least));
    chains.stage_import(&chains.new_id().unwrap(), &spec, &export_with(&limit(most + 1))).unwrap();
}

#[test]
fn what_is_left_of_an_interrupted_import_is_deleted_at_the_next_start() {
    let world = World::new();
    let kept = world.create(json!({ "name": "kept" })).id().to_owned();
    let chains = world.platform.blockchains();
    let id = chains.new_id().unwrap();
    chains.stage_import(&id, &super::named("copy"), &export_with(&json!({}))).unwrap();
    assert!(chains.hosted.staged(&id).is_ok());
    let world = world.restarted(Duration::from_secs(1));
    let chains = world.platform.blockchains();
    assert!(chains.hosted.staged(&id).is_err());
    chains.writable(&world.me(), &kept).unwrap();
}
