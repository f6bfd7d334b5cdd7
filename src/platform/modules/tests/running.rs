//! Modules of running chains: contracts that know each other, the registry, tokens of other modules.

use super::*;

#[test]
fn modules_of_a_running_chain_are_wired_and_stay_after_a_restart() {
    let world = World::new();
    let id = world.make(json!({ "name": "x", "features": ["smart-contracts", "permissions"] }));
    let chain = world.chain(&id);
    assert_eq!(world.platform.modules().list(&world.me(), &id).unwrap(), []);
    let [defi, nft, dao] = configs().map(|(name, config)| world.enable(&id, name, config));
    check_wired(&chain, &defi, &nft, &dao);
    // One block each: contracts and registry are changed together.
    assert_eq!(chain.node().view().head().height(), Height::new(3));
    assert_eq!((defi.since, defi.transactions.len()), (Some(1), 1));
    drop(chain);
    let world = world.restarted();
    let found = world.platform.modules().list(&world.me(), &id).unwrap();
    assert_eq!(found.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["dao", "defi", "nft"]);
    check_wired(&world.chain(&id), &found[1], &found[2], &found[0]);
    assert_eq!(world.platform.records().verify::<HostedModule>().unwrap(), 3);
}

/// Governance changes the time between blocks, by which times are converted into blocks from then on.
#[test]
fn times_of_a_dao_are_blocks_by_the_block_time_in_force() {
    let world = World::new();
    let id = world.make(json!({ "name": "x", "config": { "blockTime": "2s" } }));
    let chain = world.chain(&id);
    world.run(&chain, 6);
    let slower = ProposalAction::ParameterChange(vec![ParameterUpdate { parameter: Parameter::BlockTime, value: 4 }]);
    let proposal = world.submit(&id, slower, None, Some(20)).unwrap();
    world.run(&chain, 6);
    world.vote(&proposal);
    let in_force = || chain.block_time_secs().unwrap() == Some(4);
    for _ in 0..60 {
        if in_force() {
            break;
        }
        world.run(&chain, 10);
    }
    assert!(in_force());
    world.enable(&id, "dao", json!({ "votingDelay": "1m", "votingPeriod": "1h" }));
    world.run(&chain, 12);
    let dao = world.platform.modules().get(&world.me(), &id, "dao").unwrap();
    assert_eq!(dao.state, ModuleState::Enabled, "{dao:?}");
    let governor = at(&dao, "governor");
    assert_eq!(ask(&chain, governor, &governor::votingDelayCall {}), U256::from(15), "a minute of blocks of 4 s");
    assert_eq!(ask(&chain, governor, &governor::votingPeriodCall {}), U256::from(900));
}

#[test]
fn tokens_are_those_of_other_modules_or_named_by_their_addresses() {
    let world = World::new();
    let id = world.make(json!({ "name": "x", "config": { "blockTime": "2s" } }));
    let chain = world.chain(&id);
    let enabled = |module: &str, config: Value| {
        assert_eq!(world.enable(&id, module, config).state, ModuleState::Pending);
        assert!(conflict(world.try_enable(&id, module, json!({}))).contains("waits for a block"));
        world.run(&chain, 6);
        let module = world.platform.modules().get(&world.me(), &id, module).unwrap();
        assert_eq!(module.state, ModuleState::Enabled, "{module:?}");
        module
    };
    let dao = enabled("dao", json!({ "votingDelay": 3, "votingPeriod": "1h", "timelockDelay": "1d" }));
    let governor = at(&dao, "governor");
    assert_eq!(ask(&chain, governor, &governor::votingDelayCall {}), U256::from(3));
    assert_eq!(ask(&chain, governor, &governor::votingPeriodCall {}), U256::from(1_800));
    let votes = at(&dao, "token");
    let multi =
        json!({ "standard": "ERC1155", "collection": { "uri": "ipfs://{id}" }, "royalty": "5", "token": "dao" });
    let nft = enabled("nft", multi);
    let uri = erc1155::uriCall { id: U256::ONE };
    assert_eq!(ask(&chain, at(&nft, "collection"), &uri), "ipfs://{id}");
    assert!(nft.contracts.iter().all(|contract| contract.name != "token"), "it makes none of its own");
    assert!(conflict(world.disable(&id, "dao")).contains("disable nft first"));
    let nobodys = world.try_enable(&id, "defi", json!({ "token": Address::repeat_byte(9).to_string() }));
    assert!(matches!(nobodys, Err(PlatformError::Validation { .. })), "{nobodys:?}");
    let defi = enabled("defi", json!({ "features": ["staking"], "token": votes.to_string() }));
    assert_eq!(ask(&chain, at(&defi, "staking"), &staking::stakingTokenCall {}), votes);
    assert!(conflict(world.try_enable(&id, "dao", json!({ "token": "defi" }))).contains("which stays"));
}
