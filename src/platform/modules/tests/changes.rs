//! Changing, disabling and deleting modules.

use super::*;

#[test]
fn parts_are_added_and_what_is_there_stays_as_it_is() {
    let world = World::new();
    let id = world.make(json!({ "name": "x" }));
    let chain = world.chain(&id);
    let first = world.enable(&id, "defi", json!({ "features": ["staking"], "rewardRate": "5" }));
    assert!(
        conflict(world.try_enable(&id, "defi", json!({ "features": ["staking"], "rewardRate": "5" })))
            .contains("is enabled")
    );
    let changed = world.try_enable(&id, "defi", json!({ "features": ["staking", "dex"], "rewardRate": "6" }));
    assert!(conflict(changed).contains("\"rewardRate\":\"5\""));
    assert!(conflict(world.try_enable(&id, "defi", json!({ "features": ["dex"] }))).contains("which stays"));
    let more = world.enable(&id, "defi", json!({ "features": ["dex", "staking"], "rewardRate": "5" }));
    assert_eq!((more.state, more.transactions.len()), (ModuleState::Enabled, 2));
    assert_eq!(at(&more, "staking"), at(&first, "staking"));
    assert_eq!(ask(&chain, at(&more, "router"), &router::factoryCall {}), at(&more, "factory"));
    assert_ne!(more.config_hash, first.config_hash);
    // Off and on again: the contracts stay.
    world.enable(&id, "dao", json!({ "token": "defi" }));
    assert!(conflict(world.disable(&id, "defi")).contains("disable dao first"));
    assert_eq!(world.disable(&id, "dao").unwrap().state, ModuleState::Disabled);
    assert!(conflict(world.disable(&id, "dao")).contains("nothing to disable"));
    let off = world.disable(&id, "defi").unwrap();
    assert_eq!((off.state, &off.contracts), (ModuleState::Disabled, &more.contracts));
    assert!(conflict(world.try_enable(&id, "dao", json!({ "token": "defi" }))).contains("not enabled"));
    let height = chain.node().view().head().height();
    let on = world.enable(&id, "defi", json!({ "features": ["dex", "staking"], "rewardRate": "5" }));
    assert_eq!((on.state, on.contracts), (ModuleState::Enabled, more.contracts));
    assert_eq!(chain.node().view().head().height(), height.next());
    assert!(matches!(world.disable(&id, "nft"), Err(PlatformError::NotFound { .. })));
}

/// Before the block nothing is sent twice, also for a module that the registry alone knows.
#[test]
fn a_module_is_disabled_once() {
    let world = World::new();
    let id = world.make(json!({ "name": "x", "config": { "blockTime": "1s" } }));
    let chain = world.chain(&id);
    world.run(&chain, 3);
    world.enable(&id, "nft", json!({}));
    let own = registry::enableCall { name: "own".to_owned(), version: 1, configHash: keccak256("own") };
    let request = CallRequest::call(MODULES_ADDRESS, own.abi_encode()).with_from(chain.treasury().unwrap());
    world.platform.blockchains().send(&world.me(), &id, request).unwrap();
    world.run(&chain, 5);
    let state = |module: &str| world.platform.modules().get(&world.me(), &id, module).unwrap().state;
    for (sent, module) in ["nft", "own"].into_iter().enumerate() {
        assert_eq!(state(module), ModuleState::Enabled, "{module}");
        world.disable(&id, module).unwrap();
        let refused = conflict(world.disable(&id, module));
        assert!(refused.contains("its transaction waits for a block"), "{module}: {refused}");
        assert_eq!(chain.node().view().pooled().len(), sent + 1, "{module}");
    }
    world.run(&chain, 5);
    for module in ["nft", "own"] {
        assert_eq!(state(module), ModuleState::Disabled, "{module}");
        assert!(conflict(world.disable(&id, module)).contains("nothing to disable"), "{module}");
    }
}

#[test]
fn a_deleted_chain_takes_its_modules_along() {
    let world = World::new();
    let started = world.make(json!({ "name": "x" }));
    let waiting = world.make(json!({ "name": "y", "start": false }));
    for id in [&started, &waiting] {
        world.enable(id, "nft", json!({}));
        world.platform.blockchains().carry_out(&world.me(), id, ChainCommand::Delete).unwrap();
    }
    assert_eq!(world.platform.records().verify::<HostedModule>().unwrap(), 0);
}
