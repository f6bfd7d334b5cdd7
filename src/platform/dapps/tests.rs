//! dApps: their chain, their components, their page and its readers, their domain.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::{
    chain::CallRequest,
    node::{BlockRef, ComponentKind, DappDeployer, ManualClock, Node},
    platform::{
        BlockchainSpec, Platform, TransactionState, check, records::WorkspaceId, scope::ScopeSet, vault::MasterKey,
    },
    primitives::{Gas, KeyPair, Transaction, TransactionRequest, U256},
    store::{Batch, KeyValue, MemoryStore, Table, suite},
};

fn platform() -> Platform {
    let spec = BlockchainSpec::read(json!({ "name": "test" })).unwrap();
    let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, Node::new(), 0);
    Platform::builder(Arc::new(ManualClock::default())).open(chain).unwrap()
}

fn spec(components: Value) -> DappSpec {
    DappSpec { components: components.as_array().unwrap().clone(), ..DappSpec::named("Shop") }
}

/// All eight components, the ones that are needed last.
fn all() -> Value {
    let owners = [format!("{}", Address::repeat_byte(1)), format!("{}", Address::repeat_byte(2))];
    json!([
        { "type": "staking", "config": { "stakingToken": "GLD", "rewardRate": "10", "lockPeriod": "30d", "fund": "6000" } },
        { "type": "liquidity-pool", "config": { "token0": "GLD", "token1": "SLV" } },
        { "type": "lending", "config": { "token": "SLV", "collateral": "GLD", "oracle": { "answer": "200000000" } } },
        { "type": "governance", "config": { "name": "Council", "token": "GLD", "ownsToken": true } },
        { "type": "nft-marketplace", "config": { "fee": "2.5", "token": "GLD" } },
        { "type": "auction", "config": { "token": "SLV" } },
        { "type": "multisig", "name": "Owners", "config": { "owners": owners, "threshold": 2 } },
        { "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "100000", "features": ["mintable", "votes"] } },
        { "type": "token", "config": { "name": "Silver", "symbol": "SLV", "totalSupply": "500" } },
    ])
}

fn create(platform: &Platform, id: &str, spec: &DappSpec) -> Result<Stored<DappRecord>, PlatformError> {
    platform.dapps().create(&platform.service_principal(), id, spec, &["service.example".to_owned()])
}

fn paths(result: Result<Stored<DappRecord>, PlatformError>) -> Vec<String> {
    match result {
        Err(PlatformError::Validation { fields }) => fields.into_iter().map(|field| field.path).collect(),
        other => panic!("{other:?}"),
    }
}

fn claim(platform: &Platform, id: &str, domain: &str) -> Result<Stored<DappRecord>, PlatformError> {
    let change = DappChange { domain: Some(Some(domain.to_owned())), ..DappChange::default() };
    update(platform, id, change)
}

fn update(platform: &Platform, id: &str, change: DappChange) -> Result<Stored<DappRecord>, PlatformError> {
    let me = platform.service_principal();
    platform.unit(|unit| platform.dapps().update(unit, &me, id, change, &["service.example".to_owned()]))
}

/// The service in another workspace.
fn elsewhere(platform: &Platform) -> Principal {
    let workspace = platform.unit(|unit| {
        let id = WorkspaceId::drawn("ws_other".to_owned());
        unit.insert(&Owner::from(&id), "ws_other", Workspace::named("other"))?;
        Ok(id)
    });
    Principal::new(Subject::Service, workspace.unwrap(), platform.service_principal().scopes().clone())
}

/// A page for everybody, with a domain.
fn page_at(domain: &str) -> DappSpec {
    DappSpec { is_public: true, domain: Some(domain.to_owned()), ..DappSpec::named("page") }
}

/// The domain of a dApp, as whoever proves it reads it.
fn domain_of(platform: &Platform, me: &Principal, id: &str) -> CustomDomain {
    platform.dapps().unproved(me, id).unwrap().1
}

fn prove(
    platform: &Platform,
    me: &Principal,
    id: &str,
    domain: &CustomDomain,
) -> Result<Stored<DappRecord>, PlatformError> {
    platform.unit(|unit| platform.dapps().note_proof(unit, me, id, domain))
}

/// Id of the dApp that is served under a domain.
fn served(platform: &Platform, domain: &str) -> Option<String> {
    platform.dapps().site_of_domain(domain).unwrap().map(|dapp| dapp.id().to_owned())
}

#[test]
fn all_eight_components_are_one_transaction_and_tell_their_state() {
    let platform = platform();
    let chain = platform.default_blockchain().unwrap();
    let before = chain.node().view().head().height().get();
    let stored = create(&platform, "dapp_1", &spec(all())).unwrap();
    assert_eq!(chain.node().view().head().height().get(), before + 1);
    let again = create(&platform, "dapp_1", &spec(all())).unwrap();
    assert_eq!((chain.node().view().head().height().get(), again), (before + 1, stored.clone()));
    let state = platform.dapps().state(&stored.value).unwrap().unwrap();
    let kinds: Vec<_> = stored.value.components.iter().map(|component| component.kind.as_str()).collect();
    for kind in ComponentKind::ALL {
        assert!(kinds.contains(&kind.name()), "{}", kind.name());
    }
    let figure = |index: usize, label: &str| {
        let found = state.components[index].figures.iter().find(|figure| figure.label == label);
        found.unwrap_or_else(|| panic!("{label}: {:?}", state.components[index])).value.clone()
    };
    assert!(state.components.iter().all(|component| component.is_deployed));
    let of = |index: usize| stored.value.components[index].address.to_string();
    for (index, label, value) in [
        (0, "Staked", "0"),
        (0, "Reward a second", "10"),
        (0, "Lock period, in seconds", "2592000"),
        (0, "Staked token", of(7).as_str()),
        (1, "Reserve of the first", "0"),
        (2, "Asset", of(8).as_str()),
        (2, "Supplied", "0"),
        (2, "Borrowed", "0"),
        (3, "Proposals", "0"),
        (3, "Voting token", of(7).as_str()),
        (4, "Listings", "0"),
        (4, "Fee", "2.50 %"),
        (5, "Auctions", "0"),
        (6, "Threshold", "2 of 2"),
        (7, "Supply, in the smallest unit", "100000"),
        (8, "Symbol", "SLV"),
    ] {
        assert_eq!(figure(index, label), value, "{index} {label}");
    }
    assert!(figure(3, "Quorum").contains(" of "), "{}", figure(3, "Quorum"));
    // The state is live.
    let me = platform.service_principal();
    let burn = crate::templates::erc20::interface::transferCall { to: Address::repeat_byte(7), value: U256::from(1) };
    let call = CallRequest::call(stored.value.components[8].address, alloy_sol_types::SolCall::abi_encode(&burn));
    platform.blockchains().send(&me, DEFAULT_BLOCKCHAIN_ID, call).unwrap();
    assert!(platform.dapps().state(&stored.value).unwrap().unwrap().height > state.height);
}

#[test]
fn what_is_wrong_with_components_is_named_and_nothing_is_kept() {
    let platform = platform();
    let gold = json!({ "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "9" } });
    let deep = (0..9).fold(json!(1), |inner, _| json!([inner]));
    let long = "x".repeat(65 << 10);
    for (components, path) in [
        (json!([{ "type": "bank" }]), "components[0].type"),
        (
            json!([gold, { "type": "staking", "config": { "stakingToken": "SLV" } }]),
            "components[1].config.stakingToken",
        ),
        (json!([gold, { "type": "multisig", "config": { "owners": ["GLD"], "threshold": 2 } }]), "components[1]"),
        (
            json!([gold, { "type": "staking", "config": { "stakingToken": "GLD", "rewardRate": "1", "fund": "10" } }]),
            "components[1]",
        ),
        (json!([{ "type": "token", "config": { "name": deep } }]), "components[0].config"),
        (json!([{ "type": "token", "config": { "name": long } }]), "components"),
    ] {
        assert_eq!(paths(create(&platform, "dapp_1", &spec(components))), [path]);
    }
    let unknown = DappSpec { template: Some("bank".to_owned()), ..DappSpec::named("Shop") };
    assert_eq!(paths(create(&platform, "dapp_1", &unknown)), ["template"]);
    // What the dApp's own component breaks in one of the template is the template's.
    let own = json!([{ "type": "token", "name": "token", "config": { "features": [] } }]);
    let broken = DappSpec { template: Some("dao".to_owned()), ..spec(own) };
    assert_eq!(paths(create(&platform, "dapp_1", &broken)), ["template"]);
    assert_eq!(platform.records().verify::<DappRecord>().unwrap(), 0);
}

#[test]
fn a_dapp_has_the_named_the_default_or_the_only_chain() {
    let platform = platform();
    let me = platform.service_principal();
    let token = json!([{ "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "9" } }]);
    let on = |id: &str| create(&platform, id, &spec(token.clone())).unwrap().value.blockchain_id.unwrap();
    assert_eq!(on("dapp_1"), DEFAULT_BLOCKCHAIN_ID);
    let second =
        platform.blockchains().create(&me, BlockchainSpec::read(json!({ "name": "second" })).unwrap()).unwrap();
    assert_eq!(on("dapp_2"), DEFAULT_BLOCKCHAIN_ID);
    let prefer = |network: &str| {
        platform
            .unit(|unit| {
                let mut workspace = unit.of::<Workspace>().require(&me.owner(), me.owner().as_str())?;
                workspace.value.default_network = Some(network.to_owned());
                Ok(unit.replace(&workspace)?)
            })
            .unwrap();
    };
    prefer("second");
    assert_eq!(on("dapp_3"), second.id());
    // A network of projects says nothing of dApps.
    prefer("testnet");
    assert_eq!(on("dapp_6"), DEFAULT_BLOCKCHAIN_ID);
    let named = DappSpec { blockchain_id: Some(DEFAULT_BLOCKCHAIN_ID.to_owned()), ..spec(token.clone()) };
    assert_eq!(create(&platform, "dapp_4", &named).unwrap().value.blockchain_id.unwrap(), DEFAULT_BLOCKCHAIN_ID);
    assert_eq!(create(&platform, "dapp_5", &DappSpec::named("page")).unwrap().value.blockchain_id, None);
}

/// A key with ether, and the body of a dApp of two components that it deploys.
fn of_somebody(platform: &Platform) -> (KeyPair, DappSpec) {
    let key = KeyPair::from_seed(3, "somebody");
    let fund = CallRequest::call(key.address(), []).with_value(U256::from(10).pow(U256::from(20)));
    platform.blockchains().send(&platform.service_principal(), DEFAULT_BLOCKCHAIN_ID, fund).unwrap();
    let body = DappSpec { from: Some(key.address()), ..spec(all().as_array().unwrap()[7..].to_vec().into()) };
    (key, body)
}

/// The body with its planned transaction, signed, with so much gas.
fn signed(platform: &Platform, key: &KeyPair, body: &DappSpec, plan: &PlannedDapp, gas_limit: Gas) -> DappSpec {
    let request = TransactionRequest {
        chain_id: Some(platform.default_blockchain().unwrap().chain_id()),
        nonce: plan.nonce,
        to: Some(plan.to),
        input: plan.data.clone(),
        gas_limit,
        max_fee_per_gas: 10_000_000_000,
        ..Default::default()
    };
    DappSpec { signed_transaction: Some(request.sign(key).unwrap().encoded()), ..body.clone() }
}

#[test]
fn a_signed_transaction_must_be_the_planned_one() {
    let platform = platform();
    let (key, body) = of_somebody(&platform);
    let plan = platform.dapps().plan(&platform.service_principal(), &body).unwrap();
    assert_eq!((plan.nonce, plan.components.len()), (0, 2));
    let wrong = PlannedDapp { data: vec![1, 2, 3].into(), ..plan.clone() };
    let gas = Gas::new(10_000_000);
    assert_eq!(paths(create(&platform, "dapp_1", &signed(&platform, &key, &body, &wrong, gas))), ["signedTransaction"]);
    let stored = create(&platform, "dapp_1", &signed(&platform, &key, &body, &plan, gas)).unwrap();
    assert_eq!(stored.value.deployment.as_ref().unwrap().from, key.address());
    let addresses: Vec<_> = stored.value.components.iter().map(|component| component.address).collect();
    assert_eq!(addresses, plan.components.iter().map(|(_, address)| *address).collect::<Vec<_>>());
    assert!(platform.dapps().state(&stored.value).unwrap().unwrap().components.iter().all(|one| one.is_deployed));
}

/// The planned one of these components, signed, whether it would succeed or not.
fn signed_untried(platform: &Platform, key: &KeyPair, body: &DappSpec) -> DappSpec {
    let chain = platform.default_blockchain().unwrap();
    let components = Component::read_list(&Value::from(body.components.clone())).unwrap();
    let request = chain.node().plan_dapp(DappDeployer::new(key.address()), &components).unwrap().request();
    let plan = PlannedDapp {
        blockchain_id: chain.id().to_owned(),
        from: key.address(),
        nonce: request.nonce.unwrap(),
        to: request.to.unwrap(),
        data: request.input,
        components: Vec::new(),
    };
    signed(platform, key, body, &plan, Gas::new(10_000_000))
}

/// Its pool would be paid more than there is of the token: the addresses and the data of the plan don't show that.
#[test]
fn a_signed_transaction_that_would_fail_is_not_sent() {
    let platform = platform();
    let (key, _) = of_somebody(&platform);
    let body = spec(json!([
        { "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "9" } },
        { "type": "staking", "config": { "stakingToken": "GLD", "rewardRate": "1", "fund": "10" } },
    ]));
    let refused = create(&platform, "dapp_1", &signed_untried(&platform, &key, &body));
    assert_eq!(paths(refused), ["components[1]"]);
    assert!(matches!(
        platform.dapps().require(&platform.service_principal(), "dapp_1"),
        Err(PlatformError::NotFound { .. })
    ));
    let view = platform.default_blockchain().unwrap().node().view();
    assert_eq!(view.nonce(key.address(), BlockRef::Pending).unwrap(), 0);
}

/// Tried again it would fail, for its contracts are there.
#[test]
fn a_signed_transaction_that_somebody_else_has_sent_makes_its_dapp() {
    let platform = platform();
    let (key, body) = of_somebody(&platform);
    let signed = signed_untried(&platform, &key, &body);
    let sent = Transaction::decode(signed.signed_transaction.as_ref().unwrap()).unwrap();
    platform.default_blockchain().unwrap().node().send(sent).unwrap();
    let made = create(&platform, "dapp_1", &signed).unwrap();
    assert_eq!(platform.dapps().deployed(&made.value).unwrap().unwrap().state, TransactionState::Success);
}

#[test]
fn a_dapp_whose_transaction_runs_out_of_gas_has_failed_and_is_made_again() {
    let platform = platform();
    let me = platform.service_principal();
    let (key, body) = of_somebody(&platform);
    let plan = platform.dapps().plan(&me, &body).unwrap();
    let failed = create(&platform, "dapp_1", &signed(&platform, &key, &body, &plan, Gas::new(200_000))).unwrap();
    let state = |dapp: &DappRecord| platform.dapps().deployed(dapp).unwrap().unwrap().state;
    assert_eq!(state(&failed.value), TransactionState::Failed);
    assert!(platform.dapps().state(&failed.value).unwrap().unwrap().components.iter().all(|one| !one.is_deployed));
    // The nonce is used up, so the next plan has other addresses.
    let plan = platform.dapps().plan(&me, &body).unwrap();
    assert_eq!(plan.nonce, 1);
    let made = create(&platform, "dapp_2", &signed(&platform, &key, &body, &plan, Gas::new(10_000_000))).unwrap();
    assert_eq!(state(&made.value), TransactionState::Success);
    platform.records().unit(|unit| platform.dapps().delete(unit, &me, "dapp_1")).unwrap();
    assert!(platform.dapps().require(&me, "dapp_1").is_err());
}

#[test]
fn a_revert_of_the_chain_deletes_the_dapps_made_since() {
    let platform = platform();
    let token = json!([{ "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "9" } }]);
    create(&platform, "dapp_1", &spec(token.clone())).unwrap();
    platform.blockchains().keep_snapshot(1).unwrap();
    create(&platform, "dapp_2", &spec(token)).unwrap();
    create(&platform, "dapp_3", &DappSpec::named("page")).unwrap();
    let renamed = DappChange { name: Some("Renamed".to_owned()), ..DappChange::default() };
    update(&platform, "dapp_1", renamed).unwrap();
    let me = platform.service_principal();
    assert!(platform.dapps().require(&me, "dapp_1").unwrap().value.deployment.unwrap().is_settled);
    platform.blockchains().revert_to_snapshot(1).unwrap();
    let first = platform.dapps().require(&me, "dapp_1").unwrap().value;
    assert_eq!((first.name.as_str(), first.deployment.unwrap().is_settled), ("Renamed", false));
    assert!(platform.dapps().require(&me, "dapp_2").is_err(), "its contracts are gone");
    assert!(platform.dapps().require(&me, "dapp_3").is_ok(), "it has none");
    assert_eq!(platform.records().verify::<DappRecord>().unwrap(), 2);
}

#[test]
fn a_page_is_read_by_whom_it_is_for() {
    let platform = platform();
    let token = json!([{ "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "9" } }]);
    create(&platform, "dapp_1", &spec(token)).unwrap();
    create(&platform, "dapp_2", &DappSpec::named("page")).unwrap();
    let (me, dapps) = (platform.service_principal(), platform.dapps());
    let stranger = Principal::new(
        Subject::User("usr_stranger".to_owned()),
        elsewhere(&platform).workspace().clone(),
        me.scopes().clone(),
    );
    let powerless = Principal::new(Subject::Service, me.workspace().clone(), ScopeSet::default());
    for id in ["dapp_1", "dapp_2"] {
        assert!(dapps.site(Some(&me), id).is_ok());
        assert!(matches!(dapps.site(None, id), Err(PlatformError::NotFound { .. })));
        assert!(matches!(dapps.site(Some(&stranger), id), Err(PlatformError::NotFound { .. })));
        assert!(matches!(dapps.site(Some(&powerless), id), Err(PlatformError::MissingScope { .. })));
        update(&platform, id, DappChange { is_public: Some(true), ..DappChange::default() }).unwrap();
        for reader in [None, Some(&stranger), Some(&powerless)] {
            assert!(dapps.site(reader, id).is_ok());
        }
    }
    platform.unit(|unit| dapps.delete(unit, &me, "dapp_1")).unwrap();
    assert!(matches!(dapps.site(Some(&me), "dapp_1"), Err(PlatformError::NotFound { .. })));
}

#[test]
fn a_domain_is_proved_and_starts_again_when_it_changes() {
    let platform = platform();
    let (me, dapps) = (platform.service_principal(), platform.dapps());
    let public = |name: &str| DappSpec { is_public: true, ..DappSpec::named(name) };
    create(&platform, "dapp_1", &DappSpec { domain: Some("Shop.Example".to_owned()), ..public("one") }).unwrap();
    create(&platform, "dapp_2", &public("two")).unwrap();
    assert!(matches!(claim(&platform, "dapp_2", "shop.example"), Err(PlatformError::Conflict { .. })));
    assert_eq!(paths(claim(&platform, "dapp_2", "service.example")), ["frontend.customDomain"]);
    assert!(dapps.site_of_domain("shop.example").unwrap().is_none(), "not proved");
    let (_, domain) = dapps.unproved(&me, "dapp_1").unwrap();
    assert_eq!((domain.token.len(), domain.is_verified), (2 * TOKEN_BYTES, false));
    prove(&platform, &me, "dapp_1", &domain).unwrap();
    assert_eq!(dapps.site_of_domain("shop.example").unwrap().unwrap().id(), "dapp_1");
    // It is nobody else's to claim.
    assert!(matches!(claim(&platform, "dapp_2", "shop.example"), Err(PlatformError::Conflict { .. })));
    assert!(matches!(create(&platform, "dapp_3", &page_at("shop.example")), Err(PlatformError::Conflict { .. })));
    // The same name stays proved, a page that is not public is not served.
    assert!(claim(&platform, "dapp_1", "SHOP.example").unwrap().value.frontend.domain.unwrap().is_verified);
    update(&platform, "dapp_1", DappChange { is_public: Some(false), ..DappChange::default() }).unwrap();
    assert!(dapps.site_of_domain("shop.example").unwrap().is_none());
    assert!(matches!(dapps.unproved(&me, "dapp_1"), Err(PlatformError::Conflict { .. })));
    update(&platform, "dapp_1", DappChange { is_public: Some(true), ..DappChange::default() }).unwrap();
    let moved = claim(&platform, "dapp_1", "other.example").unwrap().value.frontend.domain.unwrap();
    assert!(!moved.is_verified && moved.token != domain.token);
    let late = prove(&platform, &me, "dapp_1", &domain);
    assert!(matches!(late, Err(PlatformError::Conflict { .. })), "{late:?}");
    assert!(claim(&platform, "dapp_2", "shop.example").is_ok(), "free again");
    let without = update(&platform, "dapp_2", DappChange { domain: Some(None), ..DappChange::default() }).unwrap();
    assert_eq!(without.value.frontend.domain, None);
    assert!(matches!(dapps.unproved(&me, "dapp_2"), Err(PlatformError::Conflict { .. })));
}

#[test]
fn a_claim_blocks_nobody_and_the_newest_proof_has_the_name() {
    const NAME: &str = "shop.example";
    let platform = platform();
    let (me, other, dapps) = (platform.service_principal(), elsewhere(&platform), platform.dapps());
    for (claimant, id) in [(&me, "dapp_1"), (&other, "dapp_2")] {
        dapps.create(claimant, id, &page_at(NAME), &[]).unwrap();
    }
    let (first, second) = (domain_of(&platform, &me, "dapp_1"), domain_of(&platform, &other, "dapp_2"));
    assert_ne!(first.token, second.token);
    let with_the_others = prove(&platform, &me, "dapp_1", &second);
    assert!(matches!(with_the_others, Err(PlatformError::Conflict { .. })), "{with_the_others:?}");
    assert_eq!(served(&platform, NAME), None);

    prove(&platform, &other, "dapp_2", &second).unwrap();
    assert_eq!(served(&platform, NAME).as_deref(), Some("dapp_2"));
    assert_eq!(domain_of(&platform, &me, "dapp_1"), first, "its claim stays as it was");
    // What is no new claim is not refused.
    let renamed = DappChange {
        name: Some("renamed".to_owned()),
        domain: Some(Some("Shop.Example".to_owned())),
        ..DappChange::default()
    };
    assert_eq!(update(&platform, "dapp_1", renamed).unwrap().value.frontend.domain.as_ref(), Some(&first));
    assert!(matches!(create(&platform, "dapp_3", &page_at(NAME)), Err(PlatformError::Conflict { .. })));

    prove(&platform, &me, "dapp_1", &first).unwrap();
    assert_eq!(served(&platform, NAME).as_deref(), Some("dapp_1"));
    let lost = domain_of(&platform, &other, "dapp_2");
    assert!(!lost.is_verified && lost.token != second.token, "{lost:?}");
    // A request that read the domain while it was proved looks nothing up.
    let late = prove(&platform, &other, "dapp_2", &CustomDomain { is_verified: true, ..second });
    assert!(matches!(late, Err(PlatformError::Conflict { .. })), "{late:?}");
    assert_eq!(served(&platform, NAME).as_deref(), Some("dapp_1"));
    let lines = platform.records().of::<AuditLine>().all(&Index::CREATED, &other.owner(), &SortKey::new()).unwrap();
    let line = &lines.last().unwrap().value;
    assert_eq!((line.subject.as_str(), line.action.as_str()), ("service", "dapp.lose-domain"));
    assert_eq!(line.target, "dapp dapp_2: shop.example");

    prove(&platform, &other, "dapp_2", &lost).unwrap();
    assert_eq!(served(&platform, NAME).as_deref(), Some("dapp_2"), "with its new token");
    platform.unit(|unit| dapps.delete(unit, &other, "dapp_2")).unwrap();
    assert_eq!(served(&platform, NAME), None);
    let twice = create(&platform, "dapp_3", &page_at(NAME));
    assert!(matches!(twice, Err(PlatformError::Conflict { .. })), "a name has one dApp of a workspace: {twice:?}");
    dapps.create(&other, "dapp_3", &page_at(NAME), &[]).unwrap();
    let third = domain_of(&platform, &other, "dapp_3");
    prove(&platform, &other, "dapp_3", &third).unwrap();
    assert_eq!(served(&platform, NAME).as_deref(), Some("dapp_3"));
    assert_eq!(platform.records().verify::<DappRecord>().unwrap(), 2);
}

#[test]
fn a_store_from_before_the_indices_of_domains_is_served_and_without_faults() {
    let store: Arc<dyn KeyValue> = Arc::new(MemoryStore::new());
    let open = || {
        let builder = Platform::builder(Arc::new(ManualClock::default())).with_store(store.clone());
        builder.open_with(None, MasterKey::new([1; 32].into()), Vec::new()).unwrap()
    };
    let faults = || check(&store, Arc::new(ManualClock::default()), None).faults;
    let platform = open();
    let me = platform.service_principal();
    create(&platform, "dapp_1", &page_at("proved.example")).unwrap();
    create(&platform, "dapp_2", &page_at("claimed.example")).unwrap();
    prove(&platform, &me, "dapp_1", &domain_of(&platform, &me, "dapp_1")).unwrap();
    drop(platform);

    // Its index `domain` has the claims as well.
    let mut batch = Batch::new();
    let mut entries = suite::dump(&*store);
    let is_new = |name: &str, key: &[u8]| key.starts_with(format!("platform/idapp\0{name}\0").as_bytes());
    entries.retain(|(_, key, _)| {
        key.strip_prefix(b"\xff").is_some_and(|key| is_new("proved-domain", key) || is_new("claimed-domain", key))
    });
    assert_eq!(entries.len(), 3);
    entries.into_iter().for_each(|(table, key, _)| batch.delete(table, key));
    batch.delete(Table::Platform, [b"\xffplatform/c-\0".as_slice(), INDEXED.as_bytes()].concat());
    for (name, id) in [("proved.example", "dapp_1"), ("claimed.example", "dapp_2")] {
        let key = [b"\xffplatform/idapp\0domain\0\0".as_slice(), name.as_bytes(), b"\0\0"].concat();
        batch.put(Table::Platform, key, format!("ws_default\0{id}"));
    }
    store.write(batch).unwrap();

    assert_eq!(faults(), [""; 0]);
    let platform = open();
    assert_eq!(served(&platform, "proved.example").as_deref(), Some("dapp_1"));
    assert!(matches!(create(&platform, "dapp_3", &page_at("proved.example")), Err(PlatformError::Conflict { .. })));
    assert!(matches!(create(&platform, "dapp_3", &page_at("claimed.example")), Err(PlatformError::Conflict { .. })));
    let other = elsewhere(&platform);
    platform.dapps().create(&other, "dapp_3", &page_at("claimed.example"), &[]).unwrap();
    prove(&platform, &other, "dapp_3", &domain_of(&platform, &other, "dapp_3")).unwrap();
    assert_eq!(served(&platform, "claimed.example").as_deref(), Some("dapp_3"));
    platform.unit(|unit| platform.dapps().delete(unit, &me, "dapp_1")).unwrap();
    create(&platform, "dapp_4", &page_at("proved.example")).unwrap();
    drop(platform);
    assert_eq!(faults(), [""; 0]);
}
