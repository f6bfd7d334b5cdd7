//! Tests of the platform as a whole: its chains and deployments, its keys, and what a restart finds.

use std::sync::Arc;

use alloy_json_abi::JsonAbi;
use serde_json::json;
use zeroize::Zeroizing;

use super::{
    entropy::testing::{CountingEntropy, FailingEntropy},
    *,
};
use crate::{
    chain::CallRequest,
    node::{BlockRef, Database, ManualClock, Node},
    platform::records::{AuditLine, Index, PageRequest, SortKey},
    store::testing::MemoryDisk,
    vm::{ParameterNote, Template, TemplateId, contract::*, storage::Place},
};

fn clock() -> Arc<dyn Clock> {
    Arc::new(ManualClock::default())
}

fn default_chain(node: Node) -> Blockchain {
    Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), named("test"), node, 0)
}

fn platform() -> Platform {
    Platform::builder(clock()).open(default_chain(Node::new())).unwrap()
}

fn named(name: &str) -> BlockchainSpec {
    BlockchainSpec::read(json!({ "name": name })).unwrap()
}

/// Pays somebody from a chain's treasury.
fn pay(platform: &Platform, principal: &Principal, chain: &Blockchain) {
    let request = CallRequest::call(Address::repeat_byte(7), []).with_from(chain.treasury().unwrap());
    let hash = platform.blockchains().send(principal, chain.id(), request.with_value(U256::from(5))).unwrap();
    assert!(chain.node().receipt(hash).unwrap().unwrap().is_success());
}

/// A principal of another workspace.
fn stranger(platform: &Platform) -> Principal {
    let user = platform.unit(|unit| platform.workspaces().add_user(unit, "stranger@example.org")).unwrap();
    let workspace =
        platform.unit(|unit| platform.workspaces().create(unit, user.id(), Workspace::named("other"))).unwrap();
    let id = workspace.owner().workspace().unwrap();
    platform.workspaces().principal(user.id(), id).unwrap().unwrap()
}

alloy_sol_types::sol! {
    #[sol(abi)]
    contract Greeter {
        constructor(string greeting, address author, uint8[] marks);
    }
}

/// A user's template.
#[derive(Debug)]
struct GreeterTemplate;

impl Template for GreeterTemplate {
    fn id(&self) -> TemplateId {
        TemplateId::new(0x8123, 1)
    }

    fn name(&self) -> &str {
        "greeter"
    }

    fn abi(&self) -> JsonAbi {
        Greeter::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        vec![ParameterNote::of("author", "Who greets.").with_default_deployer()]
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let call: Greeter::constructorCall = host.decode_constructor(params)?;
        Slot::new(Place::FIRST).set(host, call.author)?;
        Slot::new(Place::FIRST.after(1)).set(host, call.greeting)
    }

    fn call(&self, _: &mut Host<'_>, _: &[u8]) -> Result<Bytes, Stop> {
        Ok(Bytes::new())
    }
}

#[test]
fn a_users_template_is_deployed_by_its_name_and_its_parameters_names() {
    let node = Node::builder().with_template(Arc::new(GreeterTemplate)).build().unwrap();
    let platform = Platform::builder(clock()).open(default_chain(node)).unwrap();
    let (chains, me) = (platform.blockchains(), platform.service_principal());
    let greeter = |params: serde_json::Value| {
        DeploymentSpec::of_template(DEFAULT_BLOCKCHAIN_ID, "greeter", params.as_object().cloned().unwrap())
    };
    let deployment = chains.deploy(&me, greeter(json!({ "greeting": "hello", "marks": [1, 2] }))).unwrap();
    let chain = platform.default_blockchain().unwrap();
    let contract = deployment.value.contract_address(chain).unwrap();
    let stored = chain.node().view().storage(contract, U256::ZERO, BlockRef::Latest).unwrap();
    assert_eq!(Address::from_word(stored.into()), deployment.value.from);
    let refused = |spec| match chains.deploy(&me, spec) {
        Err(PlatformError::Validation { fields }) => fields,
        other => panic!("must be refused: {other:?}"),
    };
    let fields = refused(greeter(json!({ "marks": [256], "x": 1 })));
    let paths: Vec<&str> = fields.iter().map(|field| field.path.as_str()).collect();
    assert_eq!(paths, ["params.greeting", "params.marks[0]", "params.x"]);
    let fields = refused(DeploymentSpec::of_template(DEFAULT_BLOCKCHAIN_ID, "no-template", Default::default()));
    let known: Vec<_> = crate::templates::builtin().iter().map(|template| template.name()).collect();
    assert_eq!(fields[0].expected, format!("one of {}, greeter", known.join(", ")));
}

#[test]
fn platforms_draw_different_ids_and_keys() {
    let (first, second) = (platform(), platform());
    let key_of = |platform: &Platform| platform.create_api_key("ci", &[Scope::Admin]).unwrap();
    let (first_key, second_key) = (key_of(&first), key_of(&second));
    assert_ne!(first_key.text(), second_key.text());
    let made = |platform: &Platform| platform.blockchains().create(&platform.service_principal(), named("x")).unwrap();
    let (one, two) = (made(&first), made(&second));
    assert_ne!(one.id(), two.id());
    assert_ne!(one.treasury(), two.treasury(), "each treasury has a key of its own");
    let signer = |chain: &Blockchain| chain.node().view().chain().spec().validators[0].address;
    assert_ne!(signer(&one), signer(&two), "and so has each validator");
    assert_ne!(one.treasury(), first.default_blockchain().unwrap().treasury());
    assert!(first.api_keys().authenticate(first_key.text()).unwrap().is_some());
    assert_eq!(second.api_keys().authenticate(first_key.text()).unwrap(), None);
    assert!(!format!("{first:?}").contains(&first_key.text()[4..]));
}

#[test]
fn ids_and_keys_come_from_the_injected_generator() {
    let entropy = || Arc::new(CountingEntropy::starting_at(1));
    let open = || Platform::builder(clock()).with_entropy(entropy()).open(default_chain(Node::new())).unwrap();
    let (first, second) = (open(), open());
    for platform in [&first, &second] {
        platform.blockchains().create(&platform.service_principal(), named("x")).unwrap();
    }
    let drawn = |platform: &Platform| {
        let chains = platform.blockchains();
        let me = platform.service_principal();
        let page = chains.page(&me, &Index::CREATED, &PageRequest::first(10_usize.try_into().unwrap())).unwrap();
        let treasuries: Vec<_> =
            page.items.iter().map(|stored| (stored.id().to_owned(), stored.value.treasury)).collect();
        (treasuries, platform.create_api_key("ci", &[Scope::Admin]).unwrap().text().to_owned())
    };
    assert_eq!(drawn(&first), drawn(&second));
}

#[test]
fn a_failing_generator_is_a_typed_error_and_changes_nothing() {
    let failed = PlatformError::Entropy(EntropyError::new("no device"));
    assert_eq!(failed.code(), "INTERNAL_ERROR");
    let broken = Platform::builder(clock()).with_entropy(Arc::new(FailingEntropy)).open(default_chain(Node::new()));
    assert_eq!(broken.map(drop), Err(failed.clone()), "without random bytes there is no master key");

    let key = MasterKey::new([1; 32].into());
    let store: Arc<dyn KeyValue> = Arc::new(MemoryStore::new());
    let builder = || Platform::builder(clock()).with_store(store.clone());
    drop(builder().open_with(default_chain(Node::new()), MasterKey::new([1; 32].into()), Vec::new()).unwrap());
    let platform = builder().with_entropy(Arc::new(FailingEntropy)).open_with(default_chain(Node::new()), key, vec![]);
    let platform = platform.unwrap();
    let (chains, me) = (platform.blockchains(), platform.service_principal());
    assert_eq!(platform.create_api_key("ci", &[Scope::Admin]).map(drop), Err(failed.clone()));
    assert_eq!(chains.create(&me, named("x")).map(drop), Err(failed.clone()));
    assert_eq!(chains.deploy(&me, DeploymentSpec::gold(DEFAULT_BLOCKCHAIN_ID)).map(drop), Err(failed));
    assert_eq!(platform.records().verify::<BlockchainRecord>().unwrap(), 1);
    assert_eq!(platform.records().verify::<ApiKey>().unwrap(), 0);
    assert_eq!(platform.default_blockchain().unwrap().node().view().head().height().get(), 0);
}

#[test]
fn a_stranger_finds_neither_chain_nor_deployment() {
    let platform = platform();
    let (chains, me) = (platform.blockchains(), platform.service_principal());
    let mine = chains.create(&me, named("mine")).unwrap();
    let deployment = chains.deploy(&me, DeploymentSpec::gold(mine.id())).unwrap();
    let stranger = stranger(&platform);
    for id in [mine.id(), DEFAULT_BLOCKCHAIN_ID, "bc_none"] {
        assert_eq!(chains.require(&stranger, id).map(drop), Err(PlatformError::not_found("blockchain", id)));
    }
    assert!(chains.deployments().get(&stranger.owner(), deployment.id()).unwrap().is_none());
    assert_eq!(
        chains.page(&stranger, &Index::CREATED, &PageRequest::first(9_usize.try_into().unwrap())).unwrap().total,
        0
    );
    // A chain id is one across workspaces, without telling whose it is.
    let same = BlockchainSpec { chain_id: Some(mine.chain_id()), ..named("same") };
    let Err(PlatformError::Conflict { message }) = chains.create(&stranger, same.clone()) else {
        panic!("must be refused")
    };
    assert_eq!(message, format!("chain id {} is taken", mine.chain_id()));
    let Err(PlatformError::Conflict { message }) = chains.create(&me, same) else { panic!("must be refused") };
    assert!(message.ends_with(mine.id()));
}

#[test]
fn a_chain_that_does_not_start_leaves_nothing_and_a_full_plan_refuses_the_next() {
    let platform = platform();
    let (chains, stranger) = (platform.blockchains(), stranger(&platform));
    let validators: Vec<_> =
        (1..=2).map(|byte| json!({ "address": format!("0x{}", format!("{byte:02x}").repeat(20)) })).collect();
    let body = json!({ "name": "few", "consensus": "pbft", "chainId": 77, "validators": validators });
    let refused = chains.create(&stranger, BlockchainSpec::read(body).unwrap()).map(drop);
    assert!(matches!(refused, Err(PlatformError::Validation { .. })), "{refused:?}");
    assert_eq!(platform.records().verify::<vault::SealedSecret>().unwrap(), 3, "the service's and two wallets'");
    assert_eq!(platform.records().verify::<BlockchainRecord>().unwrap(), 1, "the default chain");
    for number in 0..3 {
        chains.create(&stranger, BlockchainSpec { chain_id: Some(77 + number), ..named("x") }).unwrap();
    }
    let Err(PlatformError::Conflict { message }) = chains.create(&stranger, named("x")) else {
        panic!("must be refused")
    };
    assert!(message.contains("allows 3 blockchains"), "{message}");
    let lines = platform.records().of::<AuditLine>();
    let actions = lines.page(
        &Index::CREATED,
        &stranger.owner(),
        &SortKey::new(),
        &PageRequest::first(9_usize.try_into().unwrap()),
    );
    let actions: Vec<String> = actions.unwrap().items.into_iter().map(|line| line.value.action).collect();
    let create = "blockchain.create";
    assert_eq!(actions, ["workspace.create", create, "blockchain.fail", create, create, create]);
}

#[test]
fn transactions_are_counted_when_they_are_sent_and_the_plan_bounds_them() {
    let plan = Plan { transactions_max: 2, ..Plan::UNLIMITED };
    let time = Arc::new(ManualClock::default());
    let builder = Platform::builder(time.clone()).with_plans(Plans::default().with(Plans::DEFAULT, plan));
    let platform = builder.open(default_chain(Node::new())).unwrap();
    let (chains, me) = (platform.blockchains(), stranger(&platform));
    let chain = chains.create(&me, named("x")).unwrap();
    let deploy = |params: serde_json::Value| {
        let params = params.as_object().cloned().unwrap();
        chains.deploy(&me, DeploymentSpec::of_template(chain.id(), "erc20-token", params))
    };
    let token = || json!({ "name": "Gold", "symbol": "GLD" });
    let of_nobody = json!({ "name": "G", "symbol": "G", "totalSupply": "1", "owner": "0x0000000000000000000000000000000000000000" });
    assert!(deploy(of_nobody).is_err(), "its simulation fails: nothing is sent");
    deploy(token()).unwrap();
    deploy(token()).unwrap();
    let Err(PlatformError::Conflict { message }) = deploy(token()) else { panic!("must be refused") };
    assert!(message.contains("2 transactions in 30 days"), "{message}");
    assert_eq!(platform.records().verify::<DeploymentRecord>().unwrap(), 2);
    time.advance(core::time::Duration::from_secs(30 * 86_400));
    deploy(token()).unwrap();
}

/// A store on disk with the default chain and the platform in it, under master key `key`.
fn open_on(disk: &Arc<MemoryDisk>, key: u8, former: &[u8]) -> Result<Platform, PlatformError> {
    let store: Arc<dyn KeyValue> = disk.clone();
    let node = Node::builder().with_database(Database::Store(store.clone())).build().unwrap();
    let master = |byte: u8| MasterKey::new([byte; 32].into());
    let former = former.iter().map(|byte| master(*byte)).collect();
    Platform::builder(clock()).with_store(store).open_with(default_chain(node), master(key), former)
}

#[test]
fn a_restart_finds_everything_where_it_was() {
    let disk = Arc::new(MemoryDisk::new());
    let platform = open_on(&disk, 1, &[]).unwrap();
    let (chains, me) = (platform.blockchains(), platform.service_principal());
    let key = platform.create_api_key("ci", &[Scope::BlockchainRead]).unwrap();
    let mut wanted = Vec::new();
    for name in ["one", "two"] {
        let chain = chains.create(&me, named(name)).unwrap();
        let deployment = chains.deploy(&me, DeploymentSpec::gold(chain.id())).unwrap();
        pay(&platform, &me, &chain);
        wanted.push((chain.id().to_owned(), chain.node().view().head().hash(), deployment));
    }
    // The default chain goes on beside them, also after commits of theirs.
    let node = platform.default_blockchain().unwrap().node();
    node.transfer(node.accounts()[0], node.accounts()[1], U256::from(1)).unwrap();
    let head = node.view().head().hash();
    drop(platform);

    assert!(open_on(&disk, 2, &[]).unwrap_err().to_string().contains("master key"));
    // The master key is changed, and then the old one is not needed any more.
    drop(open_on(&disk, 2, &[1]).unwrap());
    let platform = open_on(&disk, 2, &[]).unwrap();
    assert_eq!(platform.default_blockchain().unwrap().node().view().head().hash(), head);
    let principal = platform.api_keys().authenticate(key.text()).unwrap().unwrap();
    // The key that a process shows at its start replaces the one of the start before.
    let renewed = [(); 2].map(|()| platform.renew_api_key("dev", &[Scope::Admin]).unwrap());
    let known = renewed.each_ref().map(|key| platform.api_keys().authenticate(key.text()).unwrap().is_some());
    assert_eq!(known, [false, true]);
    assert!(principal.may(Scope::BlockchainRead) && !principal.may(Scope::BlockchainWrite));
    for (id, head, deployment) in wanted {
        let chain = platform.blockchains().require(&principal, &id).unwrap();
        assert_eq!(chain.node().view().head().hash(), head);
        let found = platform.blockchains().deployments().require(&principal.owner(), deployment.id()).unwrap();
        let settled = DeploymentRecord { is_settled: true, ..deployment.value };
        assert_eq!(found.value, settled, "it is in a block");
        assert!(found.value.contract_address(&chain).is_ok());
        // Its treasury still signs.
        pay(&platform, &platform.service_principal(), &chain);
    }
}

#[test]
fn every_crash_of_a_creation_leaves_a_chain_or_none() {
    let disk = Arc::new(MemoryDisk::new());
    let platform = open_on(&disk, 1, &[]).unwrap();
    let before = disk.writes();
    platform.blockchains().create(&platform.service_principal(), named("one")).unwrap();
    let crashes = disk.crashes();
    assert!(crashes.len() > before + 1);
    for (number, crashed) in crashes.into_iter().enumerate().skip(before - 1) {
        let platform = open_on(&crashed, 1, &[]).unwrap();
        let me = platform.service_principal();
        let chains = platform.blockchains();
        let page = chains.page(&me, &Index::CREATED, &PageRequest::first(9_usize.try_into().unwrap())).unwrap();
        assert_eq!(page.total, if number < before { 1 } else { 2 });
        for stored in page.items {
            assert_eq!(stored.value.state, ChainState::Running, "what is recorded runs");
            pay(&platform, &me, &chains.writable(&me, stored.id()).unwrap());
        }
    }
}

/// The published table is the one that is enforced.
#[test]
fn the_documented_table_of_roles_is_the_codes() {
    let docs = include_str!("../../docs/platform.md");
    for scope in Scope::ALL {
        let marks: Vec<&str> = Role::ALL.iter().map(|role| if role.cap().allows(scope) { "yes" } else { "" }).collect();
        let row = format!("| `{}` | {} |", scope.name(), marks.join(" | "));
        assert!(docs.contains(&row), "docs/platform.md lacks the row {row}");
    }
}

/// A database of a development node that the service opens without its chain: the chain is failed with the reason, and its node finds it
/// as it was.
#[test]
fn a_development_chain_stays_with_its_node() {
    let store: Arc<dyn KeyValue> = Arc::new(MemoryStore::new());
    let key = || MasterKey::new(Zeroizing::new([7; 32]));
    let open = |chain: Option<Blockchain>| {
        Platform::builder(clock()).with_store(Arc::clone(&store)).open_with(chain, key(), Vec::new()).unwrap()
    };
    drop(open(Some(default_chain(Node::new()))));
    let served = open(None);
    let (chains, me) = (served.blockchains(), served.service_principal());
    let record = chains.record(&me, DEFAULT_BLOCKCHAIN_ID).unwrap();
    assert_eq!(chains.state(&record).name(), "failed");
    let PlatformError::Conflict { message } = chains.writable(&me, DEFAULT_BLOCKCHAIN_ID).unwrap_err() else {
        panic!()
    };
    assert!(message.contains("under `chainbox dev`"), "{message}");
    drop(served);
    let again = open(Some(default_chain(Node::new())));
    assert!(again.blockchains().writable(&again.service_principal(), DEFAULT_BLOCKCHAIN_ID).is_ok());
}
