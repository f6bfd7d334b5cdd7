//! Modules of chains that have not started: what their genesis gets, and starts that fail.

use super::*;

#[test]
fn a_chain_that_has_not_started_has_its_modules_in_block_0() {
    let world = World::new();
    let id = world.make(json!({ "name": "x", "start": false, "config": { "blockTime": "2s" } }));
    let state = |world: &World| world.platform.blockchains().record(&world.me(), &id).unwrap().value.state;
    assert_eq!(state(&world), ChainState::Created);
    assert!(conflict(world.try_enable(&id, "dao", json!({ "token": "defi" }))).contains("not enabled"));
    let [defi, _, _] = configs().map(|(name, config)| world.enable(&id, name, config));
    assert_eq!((defi.state, defi.since), (ModuleState::Pending, None));
    // Edited before the start; what others need is not taken away.
    assert!(conflict(world.try_enable(&id, "defi", json!({ "features": ["dex"] }))).contains("works with the token"));
    assert!(conflict(world.disable(&id, "defi")).contains("disable"));
    world.disable(&id, "nft").unwrap();
    assert!(matches!(world.platform.modules().get(&world.me(), &id, "nft"), Err(PlatformError::NotFound { .. })));
    let address = json!({ "token": Address::repeat_byte(9).to_string() });
    assert!(matches!(world.try_enable(&id, "dao", address), Err(PlatformError::Validation { .. })));
    world.enable(&id, "nft", configs()[1].1.clone());
    let delays = json!({ "token": "defi", "votingDelay": "1m", "votingPeriod": "1h" });
    world.enable(&id, "dao", delays);
    let world = world.restarted();
    assert_eq!(state(&world), ChainState::Created);
    let chain = world.platform.blockchains().carry_out(&world.me(), &id, ChainCommand::Start).unwrap().unwrap();
    assert_eq!(state(&world), ChainState::Running);
    assert_eq!(chain.node().view().head().height(), Height::GENESIS);
    let found = world.platform.modules().list(&world.me(), &id).unwrap();
    check_wired(&chain, &found[1], &found[2], &found[0]);
    assert_eq!(found[1].since, Some(0));
    let governor = at(&found[0], "governor");
    assert_eq!(ask(&chain, governor, &governor::votingDelayCall {}), U256::from(30), "a minute of blocks of 2 s");
    assert_eq!(ask(&chain, governor, &governor::votingPeriodCall {}), U256::from(1_800));
    assert!(found.iter().all(|module| module.transactions.is_empty()));
}

#[test]
fn a_contract_that_a_genesis_can_not_have_is_named() {
    let world = World::new();
    let id = world.make(json!({ "name": "x", "start": false }));
    let chain = world.platform.blockchains().record(&world.me(), &id).unwrap().value;
    let planned = |config: &Value| {
        let read = super::super::config::ModuleConfig::read(ModuleKind::Defi, config.as_object().unwrap()).unwrap();
        let (_, contracts) = super::super::genesis::placed(&read, ModuleKind::Defi, &chain, None).unwrap();
        HostedModule { contracts, ..unchecked(&id, config) }
    };
    let refused = conflict(super::super::genesis::check_in_genesis(&chain, &[&planned(&market_of_nothing())]));
    assert!(refused.contains("the contract lending of the module defi"), "{refused}");
    super::super::genesis::check_in_genesis(&chain, &[&planned(&json!({}))]).unwrap();
}

#[test]
fn a_start_that_fails_before_there_is_a_genesis_leaves_the_modules_to_be_changed() {
    let mut world = World::new();
    for config in [json!({}), json!({ "blockTime": "1s" })] {
        for (module, reason) in [
            (market_of_nothing(), "its constructor failed"),
            (supplied(TOO_MANY[0]), "does not take the configuration of the module defi"),
        ] {
            let id = world.make(json!({ "name": "x", "start": false, "config": config }));
            world.keep_unchecked(&id, &module);
            let start =
                |world: &World| world.platform.blockchains().carry_out(&world.me(), &id, ChainCommand::Start).map(drop);
            let state = |world: &World| world.platform.blockchains().record(&world.me(), &id).unwrap().value.state;
            for _ in 0..2 {
                let refused = conflict(start(&world));
                assert!(refused.contains(reason), "{refused}");
                assert_eq!(state(&world), ChainState::Created);
                assert!(!world.platform.blockchains().hosted.has_failed(), "{reason}");
                world = world.restarted();
            }
            assert_eq!(world.disable(&id, "defi").unwrap().state, ModuleState::Disabled);
            world.enable(&id, "nft", json!({}));
            start(&world).unwrap();
            assert_eq!(state(&world), ChainState::Running);
        }
    }
}

#[test]
fn a_chain_that_its_protocol_refuses_is_there_as_before_its_start() {
    let world = World::new();
    let validators = [1, 2].map(|byte| json!({ "address": Address::repeat_byte(byte).to_string() }));
    let id = world.make(json!({ "name": "few", "consensus": "pbft", "start": false, "validators": validators }));
    let started = world.platform.blockchains().carry_out(&world.me(), &id, ChainCommand::Start).map(drop);
    assert!(matches!(started, Err(PlatformError::Validation { .. })), "{started:?}");
    assert_eq!(world.platform.blockchains().record(&world.me(), &id).unwrap().value.state, ChainState::Created);
    world.platform.blockchains().carry_out(&world.me(), &id, ChainCommand::Delete).unwrap();
}
