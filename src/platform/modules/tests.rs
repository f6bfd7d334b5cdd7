//! Modules on running chains and in genesis: contracts that are wired, the registry, dependencies, crashes.

use core::time::Duration;
use std::sync::Arc;

use alloy_primitives::keccak256;
use alloy_sol_types::SolCall;
use serde_json::{Value, json};

use super::{super::*, *};
use crate::{
    chain::{CallRequest, StateOverrides},
    node::{BlockRef, Clock, Database, ManualClock, Node},
    platform::entropy::testing::SeededEntropy,
    primitives::{Address, Height, Timestamp, U256},
    store::testing::MemoryDisk,
    system::{
        governance::ProposalAction,
        modules::{MODULES_ADDRESS, interface as registry},
    },
    templates::{
        erc20::interface as erc20, erc721::interface as erc721, erc1155::interface as erc1155,
        governance_dao::interface as governor, lending::interface as lending, liquidity_router::interface as router,
        marketplace::interface as marketplace, staking_pool::interface as staking,
    },
};

const ID: &str = "tx_00000000000000aa";

/// A platform on a disk.
struct World {
    disk: Arc<MemoryDisk>,
    clock: Arc<ManualClock>,
    platform: Platform,
}

impl World {
    fn new() -> Self {
        Self::on(Arc::new(MemoryDisk::new()), Arc::new(ManualClock::new(Timestamp::from_secs(1_750_000_000))))
    }

    fn on(disk: Arc<MemoryDisk>, clock: Arc<ManualClock>) -> Self {
        let store: Arc<dyn KeyValue> = disk.clone();
        let node = Node::builder().with_database(Database::Store(store.clone())).build().unwrap();
        let spec = BlockchainSpec::read(json!({ "name": "default" })).unwrap();
        let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, node, 0);
        let builder =
            Platform::builder(clock.clone()).with_store(store).with_entropy(Arc::new(SeededEntropy::of_thread()));
        let platform = builder.open_with(chain, MasterKey::new([7; 32].into()), Vec::new()).unwrap();
        Self { disk, clock, platform }
    }

    fn restarted(self) -> Self {
        let (disk, clock) = (self.disk.crashed(), self.clock.clone());
        drop(self.platform);
        Self::on(disk, clock)
    }

    fn me(&self) -> Principal {
        self.platform.service_principal()
    }

    /// Makes a chain, which may not start.
    fn make(&self, body: Value) -> String {
        let chains = self.platform.blockchains();
        let id = chains.new_id().unwrap();
        let spec = BlockchainSpec::read(body).unwrap();
        self.platform.unit(|unit| chains.provision(unit, &self.me(), &id, spec).map(drop)).unwrap();
        chains.bring_up(&self.me(), &id).unwrap();
        id
    }

    fn chain(&self, id: &str) -> Arc<Blockchain> {
        self.platform.blockchains().writable(&self.me(), id).unwrap()
    }

    fn try_enable(&self, chain: &str, module: &str, config: Value) -> Result<Module, PlatformError> {
        let id = self.platform.new_id("tx").unwrap();
        self.platform.modules().enable(&self.me(), &id, &spec(chain, module, config))
    }

    fn enable(&self, chain: &str, module: &str, config: Value) -> Module {
        self.try_enable(chain, module, config).unwrap()
    }

    fn disable(&self, chain: &str, module: &str) -> Result<Module, PlatformError> {
        let id = self.platform.new_id("tx").unwrap();
        self.platform.modules().disable(&self.me(), &id, chain, module)
    }

    /// Proposes to enable a module.
    fn propose(&self, chain: &str, module: &str, config: Value) -> Result<ProposalId, PlatformError> {
        let config_hash = keccak256(config.to_string());
        let name = module.to_owned();
        let proposal = ProposalSpec {
            blockchain_id: chain.to_owned(),
            action: ProposalAction::ModuleEnable { name, version: super::record::VERSION, config_hash },
            module_config: config.as_object().cloned(),
            title: "a module".to_owned(),
            description: String::new(),
            voting_period_secs: None,
            quorum_permille: None,
            threshold_permille: None,
            from: None,
            signed_transaction: None,
        };
        let id = self.platform.new_id("tx").unwrap();
        self.platform.proposals().submit(&self.me(), &id, &proposal)
    }

    fn run(&self, chain: &Blockchain, secs: u64) {
        let end = self.clock.now_ms() + secs * 1000;
        let network = chain.network().unwrap();
        while let Some(wake) = network.next_wake().map(|at| u64::try_from(at.as_millis()).unwrap()) {
            let wake = wake.max(self.clock.now_ms());
            if wake > end {
                break;
            }
            self.clock.advance_to(Duration::from_millis(wake));
            network.advance(Duration::from_millis(wake)).unwrap();
        }
        self.clock.advance_to(Duration::from_millis(end));
        network.advance(Duration::from_millis(end)).unwrap();
    }
}

fn spec(chain: &str, module: &str, config: Value) -> ModuleSpec {
    let kind = ModuleKind::from_name(module).unwrap();
    ModuleSpec { blockchain_id: chain.to_owned(), kind, config: config.as_object().cloned().unwrap() }
}

fn ask<C: SolCall>(chain: &Blockchain, contract: Address, call: &C) -> C::Return {
    let request = CallRequest::call(contract, call.abi_encode());
    let view = chain.node().view();
    let outcome = view.call(&request, BlockRef::Latest, &StateOverrides::default(), None).unwrap();
    C::abi_decode_returns(outcome.success_output().unwrap_or_else(|| panic!("{}", outcome.describe()))).unwrap()
}

fn at(module: &Module, name: &str) -> Address {
    let found = module.contracts.iter().find(|contract| contract.name == name);
    found.unwrap_or_else(|| panic!("{name}: {module:?}")).address
}

fn conflict<T>(result: Result<T, PlatformError>) -> String {
    match result.map(drop) {
        Err(PlatformError::Conflict { message }) => message,
        other => panic!("{other:?}"),
    }
}

/// The contracts of all three modules know each other as their configurations say.
fn check_wired(chain: &Blockchain, defi: &Module, nft: &Module, dao: &Module) {
    let (token, wrapped) = (at(defi, "token"), at(defi, "wrapped-native"));
    assert_eq!(ask(chain, at(defi, "router"), &router::factoryCall {}), at(defi, "factory"));
    assert_eq!(ask(chain, at(defi, "router"), &router::WETHCall {}), wrapped);
    assert_eq!(ask(chain, at(defi, "staking"), &staking::stakingTokenCall {}), token);
    let data = ask(chain, at(defi, "lending"), &lending::getReservesListCall {});
    assert_eq!(data, [token, wrapped]);
    assert_eq!(ask(chain, token, &erc20::nameCall {}), "Gold");
    assert_eq!(ask(chain, at(nft, "collection"), &erc721::nameCall {}), "Art");
    assert_eq!(ask(chain, at(nft, "marketplace"), &marketplace::totalListingsCall {}), U256::ZERO);
    assert_eq!(ask(chain, at(dao, "governor"), &governor::tokenCall {}), token, "the DAO is of defi's token");
    assert_eq!(ask(chain, at(dao, "governor"), &governor::timelockCall {}), at(dao, "timelock"));
    for module in [defi, nft, dao] {
        assert_eq!(module.state, ModuleState::Enabled, "{module:?}");
        let entry = ask(chain, MODULES_ADDRESS, &registry::moduleCall { name: module.name.clone() });
        assert!(entry.enabled);
        assert_eq!(entry.configHash, module.config_hash);
    }
}

fn configs() -> [(&'static str, Value); 3] {
    let defi =
        json!({ "swapFee": "0.30%", "liquidationThreshold": "82.5", "token": { "name": "Gold", "symbol": "GLD" } });
    [
        ("defi", defi),
        ("nft", json!({ "collection": { "name": "Art", "symbol": "ART" }, "marketplaceFee": "2.5", "token": "defi" })),
        ("dao", json!({ "token": "defi", "quorum": "10" })),
    ]
}

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

#[test]
fn every_crash_of_an_enabling_leaves_a_module_that_comes_or_nothing() {
    for body in [json!({ "name": "x" }), json!({ "name": "x", "config": { "blockTime": "1s" } })] {
        let is_paced = body["config"].is_object();
        let world = World::new();
        let id = world.make(body);
        let before = world.disk.writes();
        let modules = world.platform.modules();
        let made = modules.enable(&world.me(), ID, &spec(&id, "defi", json!({}))).unwrap();
        assert_eq!(made.state, if is_paced { ModuleState::Pending } else { ModuleState::Enabled });
        let (crashes, mut kept) = (world.disk.crashes(), 0);
        assert!(crashes.len() > before);
        for crashed in crashes.into_iter().skip(before.saturating_sub(1)) {
            let world = World::on(crashed, world.clock.clone());
            let chain = world.chain(&id);
            if is_paced {
                world.run(&chain, 8);
            }
            let modules = world.platform.modules();
            let found = modules.list(&world.me(), &id).unwrap();
            let on_chain = chain.node().view().chain().modules(chain.node().view().head()).unwrap();
            assert_eq!((found.len(), on_chain.len()), if found.is_empty() { (0, 0) } else { (1, 1) });
            if let Some(module) = found.first() {
                kept += 1;
                assert_eq!((module.state, &module.contracts), (ModuleState::Enabled, &made.contracts));
            }
            // Run again under its id, it is done once.
            let again = modules.enable(&world.me(), ID, &spec(&id, "defi", json!({}))).unwrap();
            if is_paced {
                world.run(&chain, 8);
            }
            assert_eq!(again.transactions.len(), 1);
            let found = modules.list(&world.me(), &id).unwrap();
            assert_eq!((found.len(), found[0].state), (1, ModuleState::Enabled));
        }
        assert!(kept > 0);
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
