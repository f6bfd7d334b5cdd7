//! Votes for and against modules.

use super::*;

#[test]
fn nobody_votes_on_a_configuration_that_contradicts_the_contracts() {
    let world = World::new();
    let id = world.make(json!({ "name": "x", "start": false, "config": { "upgrades": "governance" } }));
    let staking = |rate: &str| json!({ "features": ["staking"], "rewardRate": rate });
    world.enable(&id, "defi", staking("5"));
    let chain = world.platform.blockchains().carry_out(&world.me(), &id, ChainCommand::Start).unwrap().unwrap();
    let proposed = || world.platform.proposals().list(&world.me(), &id, (0, 10, false)).unwrap().1;
    let refused = |config: Value| conflict(world.propose(&id, "defi", config));
    assert!(refused(staking("5")).contains("is enabled with this configuration"));
    assert!(refused(staking("6")).contains("\"rewardRate\":\"5\""));
    assert!(refused(json!({ "features": ["dex"] })).contains("which stays"));
    assert!(conflict(world.propose(&id, "bridge", json!({}))).contains("this build has no module bridge"));
    let invalid = world.propose(&id, "defi", json!({ "features": [] }));
    assert!(matches!(invalid, Err(PlatformError::Validation { .. })), "{invalid:?}");
    assert_eq!((proposed(), chain.node().view().head().height()), (0, Height::GENESIS));
    // More parts beside those that are there, and a module that is new.
    world.propose(&id, "defi", json!({ "features": ["dex", "staking"], "rewardRate": "5" })).unwrap();
    world.propose(&id, "nft", json!({})).unwrap();
    assert_eq!(proposed(), 2);
}

/// Of two votes at once the chain has the hashes of configurations alone, so that both are executed, and the contracts of the first are in the
/// way of the second. The service makes no second proposal; others may.
#[test]
fn a_vote_that_contradicts_contracts_made_since_is_told_and_another_vote_ends_it() {
    let world = World::new();
    let id = world.make(json!({ "name": "x", "config": { "upgrades": "governance" } }));
    let staking = |rate: &str| json!({ "features": ["staking"], "rewardRate": rate });
    let first = world.vote_for(&id, staking("5"), 60);
    let refused = conflict(world.propose(&id, "defi", staking("6")));
    assert!(refused.contains(&first.text()) && refused.contains("about the module defi"), "{refused}");
    let end = ProposalAction::ModuleDisable { name: "defi".to_owned() };
    assert!(conflict(world.submit(&id, end, None, None)).contains("nothing to disable"));
    world.propose(&id, "nft", json!({})).unwrap();
    let second = world.vote_past_the_rules(&id, &staking("6"), 600);
    let status = |proposal: &ProposalId| world.platform.proposals().get(&world.me(), proposal).unwrap().1.status;
    let module = || world.platform.modules().get(&world.me(), &id, "defi").unwrap();
    let (active, executed) =
        (ProposalStatus::OnChain(ProposalState::Active), ProposalStatus::OnChain(ProposalState::Executed));
    world.pass(&id, 120);
    assert_eq!((status(&first), status(&second)), (executed, active));
    let made = world.enable(&id, "defi", staking("5"));
    assert_eq!((made.state, module().state), (ModuleState::Enabled, ModuleState::Enabled));

    world.pass(&id, 600);
    assert_eq!(status(&second), executed);
    let voted = module();
    assert_eq!((voted.state, &voted.contracts), (ModuleState::Approved, &made.contracts));
    assert_eq!(voted.config_hash, keccak256(staking("6").to_string()));
    let refused = conflict(world.try_enable(&id, "defi", staking("6")));
    assert!(refused.contains("which stays") && refused.contains("\"rewardRate\":\"5\""), "{refused}");
    let refused = conflict(world.try_enable(&id, "defi", staking("5")));
    assert!(refused.contains("propose `module-enable`"), "{refused}");

    let third = world.vote_for(&id, staking("5"), 60);
    world.pass(&id, 120);
    let back = module();
    assert_eq!((status(&third), back.state, &back.contracts), (executed, ModuleState::Enabled, &made.contracts));
}

/// Of two votes at once both are carried out: neither takes from the other what its module works with.
#[test]
fn no_two_votes_at_once_take_a_token_from_a_module_that_needs_it() {
    let world = World::new();
    let id = world.make(json!({ "name": "x", "start": false, "config": { "upgrades": "governance" } }));
    world.enable(&id, "defi", json!({}));
    world.platform.blockchains().carry_out(&world.me(), &id, ChainCommand::Start).unwrap();
    let ending = || ProposalAction::ModuleDisable { name: "defi".to_owned() };
    let market = json!({ "features": ["marketplace"], "token": "defi" });
    let enables = world.propose_for(&id, "nft", market.clone(), Some(60)).unwrap();
    let refused = conflict(world.submit(&id, ending(), None, None));
    assert!(refused.contains(&enables.text()) && refused.contains("nft may work with the token of defi"), "{refused}");
    world.pass(&id, 120);
    let ends = world.submit(&id, ending(), None, Some(600)).unwrap();
    let refused = conflict(world.propose(&id, "nft", market.clone()));
    assert!(refused.contains(&ends.text()) && refused.contains("would disable the module defi"), "{refused}");
    // Of what is signed elsewhere there is the hash alone.
    let action = |config: &Value| {
        let (name, config_hash) = ("nft".to_owned(), keccak256(config.to_string()));
        ProposalAction::ModuleEnable { name, version: super::super::record::VERSION, config_hash }
    };
    assert!(conflict(world.submit(&id, action(&market), None, None)).contains(&ends.text()));
    world.propose(&id, "nft", json!({})).unwrap();
}

/// What the service has proposed is judged by its configuration, also after a restart; of what comes from elsewhere there is the hash alone.
#[test]
fn a_vote_needs_what_its_configuration_needs() {
    let world = World::new();
    let id = world.make(json!({ "name": "x", "start": false, "config": { "upgrades": "governance" } }));
    world.enable(&id, "defi", json!({}));
    world.platform.blockchains().carry_out(&world.me(), &id, ChainCommand::Start).unwrap();
    let open = world.propose_for(&id, "nft", json!({}), Some(600)).unwrap();
    let world = world.restarted();
    let ending = ProposalAction::ModuleDisable { name: "defi".to_owned() };
    let ends = world.submit(&id, ending, None, Some(600)).unwrap();
    assert_eq!(world.platform.proposals().get(&world.me(), &open).unwrap().1.status.name(), "active");

    let (name, version, config_hash) = ("dao".to_owned(), super::super::record::VERSION, keccak256("unknown"));
    let unknown = ProposalAction::ModuleEnable { name, version, config_hash };
    let refused = conflict(world.submit(&id, unknown, None, None));
    assert!(refused.contains(&ends.text()) && refused.contains("dao may work with the token of defi"), "{refused}");

    let kept = || world.platform.records().verify::<super::super::proposed::ProposedModule>().unwrap();
    assert_eq!(kept(), 1);
    world.platform.blockchains().carry_out(&world.me(), &id, ChainCommand::Delete).unwrap();
    assert_eq!(kept(), 0);
}
