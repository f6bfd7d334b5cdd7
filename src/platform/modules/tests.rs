//! Modules on running chains and in genesis: contracts that are wired, the registry, dependencies, crashes.

use core::time::Duration;
use std::sync::Arc;

use alloy_primitives::keccak256;
use alloy_sol_types::SolCall;
use serde_json::{Value, json};

use super::{super::*, *};
use crate::{
    chain::{CallRequest, StateOverrides},
    node::{BlockRef, Database, ManualClock, Node, testing::run_for},
    platform::entropy::testing::SeededEntropy,
    primitives::{Address, Height, Timestamp, U256},
    store::testing::MemoryDisk,
    system::{
        ParameterUpdate,
        governance::{GOVERNANCE_ADDRESS, ProposalAction, ProposalState, VoteOption, interface as governance},
        modules::{MODULES_ADDRESS, interface as registry},
        parameters::Parameter,
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
        self.propose_for(chain, module, config, None)
    }

    /// Proposes to enable a module, with so many seconds for the votes.
    fn propose_for(
        &self,
        chain: &str,
        module: &str,
        config: Value,
        voting_period_secs: Option<u32>,
    ) -> Result<ProposalId, PlatformError> {
        let config_hash = keccak256(config.to_string());
        let action =
            ProposalAction::ModuleEnable { name: module.to_owned(), version: super::record::VERSION, config_hash };
        self.submit(chain, action, config.as_object().cloned(), voting_period_secs)
    }

    fn submit(
        &self,
        chain: &str,
        action: ProposalAction,
        module_config: Option<serde_json::Map<String, Value>>,
        voting_period_secs: Option<u32>,
    ) -> Result<ProposalId, PlatformError> {
        let proposal = ProposalSpec {
            blockchain_id: chain.to_owned(),
            action,
            module_config,
            title: "a module".to_owned(),
            description: String::new(),
            voting_period_secs,
            quorum_permille: None,
            threshold_permille: None,
            from: None,
            signed_transaction: None,
        };
        let id = self.platform.new_id("tx").unwrap();
        self.platform.proposals().submit(&self.me(), &id, &proposal)
    }

    fn vote(&self, proposal: &ProposalId) {
        let vote = VoteSpec::Cast { option: VoteOption::Yes, weight: None, reason: String::new(), from: None };
        let id = self.platform.new_id("tx").unwrap();
        self.platform.proposals().vote(&self.me(), proposal, &id, &vote).unwrap();
    }

    /// Proposes a configuration of `defi`, and votes for it.
    fn vote_for(&self, chain: &str, config: Value, secs: u32) -> ProposalId {
        let proposal = self.propose_for(chain, "defi", config, Some(secs)).unwrap();
        self.vote(&proposal);
        proposal
    }

    /// As [`World::vote_for`], by a plain transaction, of which the rules of proposals see nothing.
    fn vote_past_the_rules(&self, chain: &str, config: &Value, secs: u32) -> ProposalId {
        let terms =
            governance::Terms { title: "a module".to_owned(), votingPeriodSecs: secs, ..governance::Terms::default() };
        let (version, hash) = (super::record::VERSION, keccak256(config.to_string()));
        let call = governance::proposeModuleEnableCall { terms, name: "defi".to_owned(), version, configHash: hash };
        let request = CallRequest::call(GOVERNANCE_ADDRESS, call.abi_encode());
        let proposal = ProposalId::new(chain, self.platform.blockchains().send(&self.me(), chain, request).unwrap());
        self.vote(&proposal);
        proposal
    }

    /// Keeps the record of a module that is to be in genesis, whatever can be made of it.
    fn keep_unchecked(&self, chain: &str, config: &Value) {
        let module = unchecked(chain, config);
        let (owner, id) = (self.me().owner(), HostedModule::id(chain, module.kind));
        self.platform.records().unit(|unit| unit.insert(&owner, &id, module).map(drop)).unwrap();
    }

    /// Lets time pass on a chain on demand, and makes a block.
    fn pass(&self, chain: &str, secs: u64) {
        self.clock.advance(Duration::from_secs(secs));
        self.platform.blockchains().deploy(&self.me(), DeploymentSpec::gold(chain)).unwrap();
    }

    fn run(&self, chain: &Blockchain, secs: u64) {
        run_for(chain.network().unwrap(), &self.clock, Duration::from_secs(secs));
    }
}

/// A module with contracts that are nowhere yet.
fn unchecked(chain: &str, config: &Value) -> HostedModule {
    HostedModule {
        blockchain_id: chain.to_owned(),
        kind: ModuleKind::Defi,
        version: super::record::VERSION,
        config: config.to_string(),
        contracts: Vec::new(),
        transactions: Vec::new(),
        earlier: Vec::new(),
    }
}

/// A token of its own, with so many.
fn supplied(supply: &str) -> Value {
    json!({ "token": { "name": "G", "symbol": "G", "totalSupply": supply } })
}

/// A market of a token that is not there, so that its contract can't be made.
fn market_of_nothing() -> Value {
    json!({ "features": ["lending"], "token": Address::repeat_byte(9).to_string() })
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

/// One more than votes can count, and what has more digits than that.
const TOO_MANY: [&str; 2] = [
    "411376139330301510538742295639337626245683966408394965837152256",
    "0000000000000000000000000000000000000000000000000000000000000001",
];

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
fn a_contract_that_a_genesis_can_not_have_is_named() {
    let world = World::new();
    let id = world.make(json!({ "name": "x", "start": false }));
    let chain = world.platform.blockchains().record(&world.me(), &id).unwrap().value;
    let planned = |config: &Value| {
        let read = super::config::ModuleConfig::read(ModuleKind::Defi, config.as_object().unwrap()).unwrap();
        let (_, contracts) = super::genesis::placed(&read, ModuleKind::Defi, &chain, None).unwrap();
        HostedModule { contracts, ..unchecked(&id, config) }
    };
    let refused = conflict(super::genesis::check_in_genesis(&chain, &[&planned(&market_of_nothing())]));
    assert!(refused.contains("the contract lending of the module defi"), "{refused}");
    super::genesis::check_in_genesis(&chain, &[&planned(&json!({}))]).unwrap();
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
        ProposalAction::ModuleEnable { name, version: super::record::VERSION, config_hash }
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

    let (name, version, config_hash) = ("dao".to_owned(), super::record::VERSION, keccak256("unknown"));
    let unknown = ProposalAction::ModuleEnable { name, version, config_hash };
    let refused = conflict(world.submit(&id, unknown, None, None));
    assert!(refused.contains(&ends.text()) && refused.contains("dao may work with the token of defi"), "{refused}");

    let kept = || world.platform.records().verify::<super::proposed::ProposedModule>().unwrap();
    assert_eq!(kept(), 1);
    world.platform.blockchains().carry_out(&world.me(), &id, ChainCommand::Delete).unwrap();
    assert_eq!(kept(), 0);
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
