//! Projects of each template, on new chains and on those that are there; crashes, refusals, ends.

use core::num::NonZeroUsize;
use std::sync::Arc;

use alloy_sol_types::SolCall;
use serde_json::json;

use super::{
    super::{records::Record, *},
    *,
};
use crate::{
    chain::{CallRequest, StateOverrides},
    consensus::ConsensusKind,
    node::{BlockRef, Database, ManualClock, Node},
    platform::entropy::testing::SeededEntropy,
    primitives::{Address, Bytes, Gas, KeyPair, Timestamp, TransactionRequest, U256},
    store::testing::MemoryDisk,
    templates::{
        erc20::interface as erc20, governance_dao::interface as governor, lending::interface as lending,
        liquidity_router::interface as router, staking_pool::interface as staking,
    },
};

const IDS: (&str, &str) = ("prj_00000000000000aa", "bc_00000000000000aa");

/// A platform on a disk.
struct World {
    disk: Arc<MemoryDisk>,
    platform: Platform,
}

impl World {
    fn new() -> Self {
        Self::on(Arc::new(MemoryDisk::new()))
    }

    fn on(disk: Arc<MemoryDisk>) -> Self {
        let store: Arc<dyn KeyValue> = disk.clone();
        let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_750_000_000)));
        let node = Node::builder().with_database(Database::Store(store.clone())).build().unwrap();
        let spec = BlockchainSpec::read(json!({ "name": "default" })).unwrap();
        let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, node, 0);
        let builder = Platform::builder(clock).with_store(store).with_entropy(Arc::new(SeededEntropy::of_thread()));
        let builder = builder
            .with_plans(Plans::default().with(Plans::UNLIMITED, Plan { blockchains_max: 12, ..Plan::UNLIMITED }));
        let platform = builder.open_with(chain, MasterKey::new([7; 32].into()), Vec::new()).unwrap();
        Self { disk, platform }
    }

    fn me(&self) -> Principal {
        self.platform.service_principal()
    }

    fn try_create(&self, spec: &ProjectSpec) -> Result<Stored<Project>, PlatformError> {
        let ids = (self.platform.new_id("prj").unwrap(), self.platform.new_id("bc").unwrap());
        self.platform.projects().create(&self.me(), (&ids.0, &ids.1), spec)
    }

    fn state(&self, project: &Stored<Project>) -> ProjectState {
        self.platform.projects().state(&self.platform.service_principal(), project).unwrap()
    }

    fn chain(&self, project: &Stored<Project>) -> Arc<Blockchain> {
        self.platform.blockchains().writable(&self.me(), &project.value.blockchain_id).unwrap()
    }

    fn count<T: Record>(&self) -> u64 {
        self.platform.records().verify::<T>().unwrap()
    }
}

fn of(kind: ProjectKind, template: &str) -> ProjectSpec {
    ProjectSpec { kind, template: Some(template.to_owned()), ..ProjectSpec::named("Gold rush") }
}

fn ask<C: SolCall>(chain: &Blockchain, contract: Address, call: &C) -> C::Return {
    let request = CallRequest::call(contract, call.abi_encode());
    let outcome = chain.node().view().call(&request, BlockRef::Latest, &StateOverrides::default(), None).unwrap();
    C::abi_decode_returns(outcome.success_output().unwrap()).unwrap()
}

fn at(project: &Stored<Project>, name: &str) -> Address {
    project.value.contracts.iter().find(|contract| contract.name == name).unwrap().address
}

/// A key with ether on the default chain, and a project there of contracts that know each other.
fn of_somebody(world: &World) -> (KeyPair, ProjectSpec) {
    let key = KeyPair::from_seed(3, "somebody");
    let fund = CallRequest::call(key.address(), []).with_value(U256::from(10).pow(U256::from(20)));
    world.platform.blockchains().send(&world.me(), DEFAULT_BLOCKCHAIN_ID, fund).unwrap();
    let blockchain = Some(DEFAULT_BLOCKCHAIN_ID.to_owned());
    (key, ProjectSpec { blockchain, ..of(ProjectKind::Defi, "staking") })
}

/// The project with a planned transaction, signed for a chain.
fn signed_for(chain_id: u64, key: &KeyPair, spec: &ProjectSpec, planned: CallRequest) -> ProjectSpec {
    let request = TransactionRequest {
        chain_id: Some(chain_id),
        nonce: planned.nonce.unwrap(),
        to: planned.to,
        value: planned.value,
        input: planned.input,
        gas_limit: Gas::new(16_000_000),
        max_fee_per_gas: 10_000_000_000,
        ..Default::default()
    };
    ProjectSpec { signed_transaction: Some(request.sign(key).unwrap().encoded()), ..spec.clone() }
}

fn signed(world: &World, key: &KeyPair, spec: &ProjectSpec, planned: CallRequest) -> ProjectSpec {
    signed_for(world.platform.default_blockchain().unwrap().chain_id(), key, spec, planned)
}

/// What an account has of the token of a project.
fn tokens_of(world: &World, project: &Stored<Project>, account: Address) -> U256 {
    ask(&world.chain(project), at(project, "token"), &erc20::balanceOfCall { account })
}

fn paths(spec: &ProjectSpec) -> Vec<String> {
    spec.check().into_iter().map(|error| error.path).collect()
}

#[test]
fn each_template_sets_up_its_chain_and_contracts() {
    let world = World::new();
    for template in &TEMPLATES {
        let kind = template.kinds[0];
        assert!(!template.summary.is_empty());
        let options = template.options.iter().map(|option| (*option).to_owned()).collect();
        let made = world.try_create(&ProjectSpec { features: options, ..of(kind, template.name) }).unwrap();
        assert_eq!(world.state(&made), ProjectState::Active, "{}", template.name);
        let chain = world.chain(&made);
        assert!(template.chain_features.iter().all(|feature| chain.spec().has(*feature)), "{}", template.name);
        match template.name {
            "erc20-token" => {
                assert_eq!(ask(&chain, at(&made, "token"), &erc20::nameCall {}), "Gold rush");
                assert_eq!(ask(&chain, at(&made, "token"), &erc20::symbolCall {}), "GOLDR");
            }
            "defi-exchange" => {
                assert_eq!(ask(&chain, at(&made, "router"), &router::factoryCall {}), at(&made, "factory"));
            }
            "lending-market" => {
                let reserves = ask(&chain, at(&made, "lending"), &lending::getReservesListCall {});
                assert_eq!(reserves, [at(&made, "token"), at(&made, "wrapped-native")]);
            }
            "staking" => {
                assert_eq!(ask(&chain, at(&made, "staking"), &staking::stakingTokenCall {}), at(&made, "token"));
            }
            "dao" => {
                let governor = at(&made, "governor");
                assert_eq!(ask(&chain, governor, &governor::tokenCall {}), at(&made, "token"));
                assert_eq!(ask(&chain, governor, &governor::timelockCall {}), at(&made, "timelock"));
            }
            "nft-marketplace" => assert_eq!(made.value.contracts.len(), 3, "with auctions"),
            _ => {}
        }
    }
    for kind in ProjectKind::ALL {
        assert_eq!(ProjectTemplate::default_of(kind).kinds[0], kind, "each type has a default");
    }
}

#[test]
fn networks_are_what_they_are_called() {
    let world = World::new();
    let made = |network: &str| {
        let named = ProjectSpec { network: Some(network.to_owned()), ..of(ProjectKind::Dapp, "erc20-token") };
        let made = world.try_create(&named).unwrap();
        (world.chain(&made), made)
    };
    let (chain, _) = made("testnet");
    assert_eq!(chain.spec().block_time.unwrap().as_secs(), 2);
    let (chain, project) = made("mainnet");
    let validators: Vec<Address> = chain.spec().validators.iter().map(|one| one.address).collect();
    assert_eq!((chain.spec().block_time.unwrap().as_secs(), validators.len()), (5, 4));
    let wallets = world.platform.wallets();
    let owner = world.me().owner();
    assert!(
        validators.iter().all(|one| wallets.with_address(&owner, *one).unwrap().is_some()),
        "the service signs for them"
    );
    assert_eq!(world.state(&project), ProjectState::Provisioning, "its transaction waits for a block");
    let before = world.count::<Wallet>();
    world.platform.blockchains().carry_out(&world.me(), chain.id(), ChainCommand::Delete).unwrap();
    assert_eq!(world.count::<Wallet>(), before - 5, "the operators' and the treasury");
    assert!(matches!(world.state(&project), ProjectState::Failed { reason } if reason.contains("deleted")));
    // The workspace's default, a chain that is gone.
    let mut workspace = world.platform.workspaces().get(&world.me()).unwrap();
    workspace.value.default_network = Some("moon".to_owned());
    let changed = world.platform.unit(|unit| Ok(unit.replace(&workspace)?)).unwrap();
    let Err(PlatformError::Validation { fields }) = world.try_create(&ProjectSpec::named("x")) else { panic!() };
    assert_eq!(
        (fields[0].path.as_str(), fields[0].got.as_str()),
        ("config.network", "the workspace's defaultNetwork, moon")
    );
    // A chain of the workspace, by its id or name, is the default of dApps and says nothing of projects.
    let mut workspace = changed;
    let second = BlockchainSpec::read(json!({ "name": "moonbase" })).unwrap();
    let second = world.platform.blockchains().create(&world.me(), second).unwrap();
    for (default, network) in [
        (second.id(), ProjectNetwork::Development),
        ("moonbase", ProjectNetwork::Development),
        ("testnet", ProjectNetwork::Testnet),
    ] {
        workspace.value.default_network = Some(default.to_owned());
        let changed = world.platform.unit(|unit| world.platform.workspaces().update(unit, &world.me(), &workspace));
        workspace = changed.unwrap();
        let project = world.try_create(&ProjectSpec::named(&format!("beside {default}"))).unwrap();
        assert_eq!(project.value.network, Some(network), "{default}");
    }
}

#[test]
fn a_chain_that_is_there_gets_the_contracts() {
    let world = World::new();
    let on = |chain: &str| ProjectSpec { blockchain: Some(chain.to_owned()), ..of(ProjectKind::Token, "erc20-token") };
    let chains = world.count::<BlockchainRecord>();
    let made = world.try_create(&on(DEFAULT_BLOCKCHAIN_ID)).unwrap();
    assert_eq!((world.state(&made), world.count::<BlockchainRecord>()), (ProjectState::Active, chains));
    assert_eq!(made.value.network, None);
    let owner = world.chain(&made).treasury().unwrap();
    let supply = ask(&world.chain(&made), at(&made, "token"), &erc20::balanceOfCall { account: owner });
    assert_eq!(supply, U256::from(10).pow(U256::from(24)));
    let bare = BlockchainSpec::read(json!({ "name": "bare", "features": [] })).unwrap();
    let bare = world.platform.blockchains().create(&world.me(), bare).unwrap();
    for (chain, words) in [(bare.id(), "smart-contracts"), ("bc_nobody", "not found")] {
        let refused = world.try_create(&on(chain)).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
    assert_eq!(world.count::<Project>(), 1);
}

#[test]
fn a_signed_transaction_makes_the_contracts_and_they_are_its_signers() {
    let world = World::new();
    let (key, spec) = of_somebody(&world);
    let (me, projects) = (world.me(), world.platform.projects());
    let plan = |spec: &ProjectSpec, from| projects.plan(&me, spec, from).unwrap();
    let (planned, placed) = plan(&spec, key.address());
    assert_eq!((planned.from, planned.nonce), (Some(key.address()), Some(0)));
    let renamed = ProjectSpec { name: "Silver rush".to_owned(), ..spec.clone() };
    for wrong in [
        CallRequest { to: Some(Address::repeat_byte(7)), ..planned.clone() },
        planned.clone().with_value(U256::from(1)),
        planned.clone().with_nonce(1),
        plan(&renamed, key.address()).0,
        plan(&spec, Address::repeat_byte(7)).0,
    ] {
        let wrong = signed(&world, &key, &spec, wrong);
        let Err(PlatformError::Validation { fields }) = world.try_create(&wrong) else { panic!("{wrong:?}") };
        assert_eq!(fields[0].path, "signedTransaction", "{fields:?}");
    }
    let height = || world.platform.default_blockchain().unwrap().node().view().head().height().get();
    assert_eq!((world.count::<Project>(), height()), (0, 1), "the ether alone was sent");

    let body = signed(&world, &key, &spec, planned);
    let made = projects.create(&me, IDS, &body).unwrap();
    assert_eq!((world.state(&made), &made.value.contracts), (ProjectState::Active, &placed));
    let staked = ask(&world.chain(&made), at(&made, "staking"), &staking::stakingTokenCall {});
    assert_eq!(staked, at(&made, "token"));
    assert_eq!(tokens_of(&world, &made, key.address()), U256::from(10).pow(U256::from(24)));
    // Run again under its id, it is there once.
    assert_eq!(projects.create(&me, IDS, &body).unwrap().value, made.value);
    assert_eq!((world.count::<Project>(), height()), (1, 2));
}

#[test]
fn of_requests_with_one_transaction_one_makes_the_project() {
    let world = World::new();
    let (key, spec) = of_somebody(&world);
    let (planned, _) = world.platform.projects().plan(&world.me(), &spec, key.address()).unwrap();
    let body = signed(&world, &key, &spec, planned);
    let made = std::thread::scope(|scope| {
        let requests: Vec<_> = (0..4).map(|_| scope.spawn(|| world.try_create(&body).is_ok())).collect();
        requests.into_iter().map(|request| request.join().unwrap()).filter(|is_made| *is_made).count()
    });
    assert_eq!((made, world.count::<Project>()), (1, 1));
}

#[test]
fn a_signed_transaction_that_the_chain_refuses_leaves_no_project() {
    let world = World::new();
    let (key, spec) = of_somebody(&world);
    let (me, projects) = (world.me(), world.platform.projects());
    let poor = KeyPair::from_seed(3, "nobody");
    let (planned, _) = projects.plan(&me, &spec, poor.address()).unwrap();
    let refused = world.try_create(&signed(&world, &poor, &spec, planned));
    assert!(matches!(refused, Err(PlatformError::InsufficientBalance { .. })), "{refused:?}");
    let (planned, _) = projects.plan(&me, &spec, key.address()).unwrap();
    let refused = world.try_create(&signed_for(7, &key, &spec, planned));
    assert!(matches!(refused, Err(PlatformError::Conflict { .. })), "{refused:?}");
    assert_eq!(world.count::<Project>(), 0);
}

#[test]
fn nothing_is_signed_for_a_chain_that_is_not_there_or_without_contracts() {
    let world = World::new();
    let known = Some(DEFAULT_BLOCKCHAIN_ID.to_owned());
    let with = |blockchain: Option<String>, template: &str| ProjectSpec {
        blockchain,
        signed_transaction: Some(Bytes::from_static(&[2])),
        ..of(ProjectKind::Dapp, template)
    };
    for (spec, words, planned) in [
        (with(None, "dao"), "new chain", "config.blockchain"),
        (with(Some("raft".to_owned()), "dao"), "new chain", "config.blockchain"),
        (with(known.clone(), "blank"), "has no contracts", "template"),
    ] {
        assert_eq!(paths(&spec), ["signedTransaction"], "{spec:?}");
        assert!(spec.check()[0].expected.contains(words), "{:?}", spec.check());
        let unsigned = ProjectSpec { signed_transaction: None, ..spec };
        let refused = world.platform.projects().plan(&world.me(), &unsigned, Address::repeat_byte(7));
        let Err(PlatformError::Validation { fields }) = refused else { panic!("{unsigned:?}") };
        assert_eq!(fields[0].path, planned, "{unsigned:?}");
    }
    assert!(paths(&with(known, "dao")).is_empty());
}

#[test]
fn every_crash_of_a_signed_project_leaves_nothing_or_all_of_it() {
    let world = World::new();
    let (key, spec) = of_somebody(&world);
    let (planned, _) = world.platform.projects().plan(&world.me(), &spec, key.address()).unwrap();
    let body = signed(&world, &key, &spec, planned);
    let before = world.disk.writes();
    world.platform.projects().create(&world.me(), IDS, &body).unwrap();
    let (mut kept, supply) = (0, U256::from(10).pow(U256::from(24)));
    for crashed in world.disk.crashes().into_iter().skip(before.saturating_sub(1)) {
        let world = World::on(crashed);
        let projects = world.platform.projects();
        if let Some(found) = projects.all().get(&world.me().owner(), IDS.0).unwrap() {
            kept += 1;
            assert_eq!(world.state(&found), ProjectState::Active);
            assert_eq!(tokens_of(&world, &found, key.address()), supply);
        }
        let again = projects.create(&world.me(), IDS, &body).unwrap();
        assert_eq!((world.state(&again), world.count::<Project>()), (ProjectState::Active, 1));
        assert_eq!(tokens_of(&world, &again, key.address()), supply, "nobody else has made them");
    }
    assert!(kept > 1, "{kept}");
}

#[test]
fn what_a_project_can_t_be_is_refused_with_what_it_can() {
    let (dapp, known) = (of(ProjectKind::Dapp, "dao"), Some(DEFAULT_BLOCKCHAIN_ID.to_owned()));
    let some = |text: &str| Some(text.to_owned());
    for (spec, path, words) in [
        (of(ProjectKind::Token, "dao"), "template", "one of erc20-token"),
        (ProjectSpec { blockchain: some("proof-of-work"), ..dapp.clone() }, "config.blockchain", "proof-of-stake"),
        (ProjectSpec { network: some("moon"), ..dapp.clone() }, "config.network", "development, testnet, mainnet"),
        (
            ProjectSpec { blockchain: known.clone(), network: some("testnet"), ..dapp.clone() },
            "config.network",
            "no value",
        ),
        (
            ProjectSpec { features: vec!["privacy".into(), "auctions".into()], ..dapp.clone() },
            "config.features[1]",
            "mintable",
        ),
        (ProjectSpec { blockchain: known, features: vec!["privacy".into()], ..dapp }, "config.features[0]", "mintable"),
    ] {
        assert_eq!(paths(&spec), [path], "{spec:?}");
        assert!(spec.check()[0].expected.contains(words), "{:?}", spec.check());
    }
    let world = World::new();
    let readers = [Scope::WorkspaceWrite, Scope::BlockchainWrite].into_iter().collect();
    let me = world.me();
    let short = Principal::new(me.subject().clone(), me.workspace().clone(), readers);
    let refused = world.platform.projects().create(&short, IDS, &ProjectSpec::named("x"));
    assert_eq!(refused, Err(PlatformError::MissingScope { scope: Scope::BlockchainDeploy }));
}

#[test]
fn a_full_plan_leaves_nothing() {
    let world = World::new();
    let workspace = world.platform.workspaces().get(&world.me()).unwrap();
    let has = world.count::<BlockchainRecord>();
    for _ in has..12 {
        world.try_create(&ProjectSpec::named("x")).unwrap();
    }
    let (projects, wallets) = (world.count::<Project>(), world.count::<Wallet>());
    let refused = world.try_create(&ProjectSpec { network: Some("mainnet".to_owned()), ..ProjectSpec::named("x") });
    assert!(refused.unwrap_err().to_string().contains("12 blockchains"), "{}", workspace.value.billing_plan);
    assert_eq!((world.count::<Project>(), world.count::<Wallet>()), (projects, wallets));
}

#[test]
fn every_crash_of_a_project_leaves_nothing_or_what_the_next_start_finishes() {
    let of_service = World::new().me();
    every_crash_is_finished(&of_service, &of(ProjectKind::Defi, "staking"));
    // On a chain that its maker alone may read, beside the service.
    let named = |id: &str| {
        let user = Subject::User(id.to_owned());
        Principal::new(user, of_service.workspace().clone(), of_service.scopes().clone())
    };
    let features = vec!["smart-contracts".to_owned(), "privacy".to_owned()];
    let world =
        every_crash_is_finished(&named("usr_ann"), &ProjectSpec { features, ..of(ProjectKind::Defi, "staking") });
    let chains = world.platform.blockchains();
    assert!(matches!(chains.readable(&named("usr_bob"), IDS.1), Err(PlatformError::Forbidden { .. })));
}

/// Makes a project with a crash after each write; returns the last world, in which it is finished.
fn every_crash_is_finished(me: &Principal, spec: &ProjectSpec) -> World {
    let world = World::new();
    let before = world.disk.writes();
    world.platform.projects().create(me, IDS, spec).unwrap();
    let (crashes, mut kept, mut last) = (world.disk.crashes(), 0, None);
    assert!(crashes.len() > before + 2);
    for crashed in crashes.into_iter().skip(before.saturating_sub(1)) {
        let world = World::on(crashed);
        let (projects, chains) = (world.platform.projects(), world.platform.blockchains());
        let found = projects.all().get(&me.owner(), IDS.0).unwrap();
        assert_eq!(found.is_some(), chains.record(me, IDS.1).is_ok(), "both or neither");
        if let Some(found) = found {
            kept += 1;
            assert_eq!(projects.state(me, &found).unwrap(), ProjectState::Active);
            let chain = chains.writable(me, IDS.1).unwrap();
            let staked = ask(&chain, at(&found, "staking"), &staking::stakingTokenCall {});
            assert_eq!(staked, at(&found, "token"));
        }
        // Run again under its id, it is there once.
        let again = projects.create(me, IDS, spec).unwrap();
        assert_eq!((projects.state(me, &again).unwrap(), world.count::<Project>()), (ProjectState::Active, 1));
        let height = chains.writable(me, IDS.1).unwrap().node().view().head().height().get();
        assert_eq!(height, 1, "one transaction");
        last = Some(world);
    }
    assert!(kept > 2, "{kept}");
    last.unwrap()
}

#[test]
fn a_project_is_in_the_state_of_its_chain_and_so_is_what_it_has_in_the_list() {
    let world = World::new();
    let made = world.try_create(&of(ProjectKind::Token, "erc20-token")).unwrap();
    let of_type = |kind: ResourceKind| {
        let request = PageRequest::first(NonZeroUsize::MIN);
        let listed = world.platform.resources(&world.me(), Some(kind), ResourceSort::CreatedAt, &request);
        listed.unwrap().0.pop().unwrap().status
    };
    assert_eq!(world.state(&made), ProjectState::Active);
    let spec = DeploymentSpec::gold(&made.value.blockchain_id);
    world.platform.blockchains().deploy(&world.me(), spec).unwrap();
    assert_eq!(of_type(ResourceKind::Contract), "deployed");
    let command = |command| {
        world.platform.blockchains().carry_out(&world.me(), &made.value.blockchain_id, command).unwrap();
        let states = (world.state(&made), of_type(ResourceKind::Project), of_type(ResourceKind::Contract));
        (states.0.name(), states.1, states.2)
    };
    let states = |project: &'static str, contract: &str| (project, project.to_owned(), contract.to_owned());
    assert_eq!(command(ChainCommand::Pause), states("paused", "deployed"));
    assert_eq!(command(ChainCommand::Resume), states("active", "deployed"));
    // Nobody can look for a transaction of a chain that is stopped.
    assert_eq!(command(ChainCommand::Stop), states("stopped", "unavailable"));
    assert_eq!(command(ChainCommand::Start), states("active", "deployed"));
}

#[test]
fn a_project_is_changed_and_deleted_and_its_workspace_is_kept_while_it_has_one() {
    let world = World::new();
    let made = world.try_create(&ProjectSpec::named("x")).unwrap();
    let projects = world.platform.projects();
    let change = (Some("y".to_owned()), None);
    let changed = world.platform.unit(|unit| projects.update(unit, &world.me(), made.id(), change)).unwrap();
    assert_eq!((changed.value.name.as_str(), changed.value.description.as_str()), ("y", ""));
    world.platform.blockchains().carry_out(&world.me(), &made.value.blockchain_id, ChainCommand::Delete).unwrap();
    let kept = world.platform.unit(|unit| world.platform.workspaces().delete(unit, &world.me()));
    assert!(kept.unwrap_err().to_string().contains("1 project"));
    world.platform.unit(|unit| projects.delete(unit, &world.me(), made.id())).unwrap();
    assert!(matches!(projects.require(&world.me(), made.id()), Err(PlatformError::NotFound { .. })));
    assert_eq!(ProjectChain::read("raft"), Some(ProjectChain::New(ConsensusKind::Raft)));
}
