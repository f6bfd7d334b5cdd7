//! Configurations that no module can have.

use super::*;

#[test]
fn the_largest_supply_of_a_token_is_what_its_votes_can_count() {
    let world = World::new();
    for starts in [true, false] {
        let id = world.make(json!({ "name": "x", "start": starts }));
        for (module, supply) in ["defi", "nft", "dao"].into_iter().flat_map(|it| TOO_MANY.map(|many| (it, many))) {
            let refused = world.try_enable(&id, module, supplied(supply));
            let Err(PlatformError::Validation { fields }) = refused else { panic!("{module} {supply}: {refused:?}") };
            assert_eq!(fields[0].path, "config.token.totalSupply", "{module} {supply}");
        }
        let largest = "411376139330301510538742295639337626245683966408394965837152255";
        world.enable(&id, "defi", supplied(largest));
        if !starts {
            world.platform.blockchains().carry_out(&world.me(), &id, ChainCommand::Start).unwrap();
        }
        let defi = world.platform.modules().get(&world.me(), &id, "defi").unwrap();
        let supply = ask(&world.chain(&id), at(&defi, "token"), &erc20::totalSupplyCall {});
        assert_eq!((defi.state, supply.to_string().as_str()), (ModuleState::Enabled, largest));
    }
}

#[test]
fn what_a_module_needs_is_refused_by_name() {
    let world = World::new();
    let id = world.make(json!({ "name": "x" }));
    for (module, config, path) in [
        ("defi", json!({ "features": ["dex", "banking"] }), "config.features[1]"),
        ("defi", json!({ "features": ["dex", "dex"] }), "config.features[1]"),
        ("defi", json!({ "features": [] }), "config.features"),
        ("defi", json!({ "swapFee": "1" }), "config.swapFee"),
        ("defi", json!({ "liquidationThreshold": "96" }), "config.liquidationThreshold"),
        ("defi", json!({ "liquidationThreshold": "50", "ltv": "60" }), "config.ltv"),
        ("defi", json!({ "features": ["staking"], "swapFee": "0.3" }), "config.swapFee"),
        ("defi", json!({ "token": "dao" }), "config.token"),
        ("defi", json!({ "token": { "name": "Gold" } }), "config.token.symbol"),
        ("nft", json!({ "standard": "ERC1155", "collection": { "name": "Art" } }), "config.collection.name"),
        ("nft", json!({ "features": ["minting"], "marketplaceFee": 1 }), "config.marketplaceFee"),
        ("dao", json!({ "quorum": "4.5" }), "config.quorum"),
        ("dao", json!({ "votingPeriod": "1d" }), "config.votingPeriod"),
        ("bridge", json!({ "confirmations": 0 }), "config.confirmations"),
        ("oracle", json!({ "updateInterval": "soon" }), "config.updateInterval"),
        ("identity", json!({ "method": "did:x" }), "config.method"),
        ("privacy", json!({ "circuits": [1] }), "config.circuits[0]"),
        ("storage", json!({ "colour": "red" }), "config.colour"),
    ] {
        let Err(PlatformError::Validation { fields }) = world.try_enable(&id, module, config.clone()) else {
            panic!("{module} {config}")
        };
        let paths: Vec<_> = fields.iter().map(|field| field.path.as_str()).collect();
        assert_eq!(paths, [path], "{module} {config}");
    }
    for module in ["bridge", "oracle", "identity", "privacy", "storage"] {
        let refused = conflict(world.try_enable(&id, module, json!({})));
        assert!(refused.contains("it can enable defi, nft, dao"), "{refused}");
    }
    let bare = world.make(json!({ "name": "bare", "features": [] }));
    assert!(conflict(world.try_enable(&bare, "defi", json!({}))).contains("without the feature smart-contracts"));
    assert!(conflict(world.try_enable(DEFAULT_BLOCKCHAIN_ID, "defi", json!({}))).contains("without a registry"));
    assert!(conflict(world.try_enable(&id, "dao", json!({ "token": "defi" }))).contains("enable it first"));
    assert_eq!(world.platform.modules().list(&world.me(), &id).unwrap(), []);
}
