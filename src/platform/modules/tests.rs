//! Tests of modules by rule, without HTTP: running chains and genesis, configurations, changes, votes, crashes.

mod changes;
mod configurations;
mod crashes;
mod not_started;
mod running;
mod votes;

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
/// One more than votes can count, and what has more digits than that.
const TOO_MANY: [&str; 2] = [
    "411376139330301510538742295639337626245683966408394965837152256",
    "0000000000000000000000000000000000000000000000000000000000000001",
];

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
