use core::{num::NonZeroUsize, time::Duration};
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::{
    node::ManualClock,
    platform::{
        ApiKeySpec, BlockchainSpec, ClientRegistration, DeploymentSpec, Platform, Role, maintenance, records::Unit,
        vault::MasterKey,
    },
    primitives::Timestamp,
    store::{Batch, KeyValue, MemoryStore, Table, suite},
};

fn open(store: &Arc<MemoryStore>, clock: &Arc<ManualClock>) -> Platform {
    let store: Arc<dyn KeyValue> = store.clone();
    let key = MasterKey::new([7; 32].into());
    Platform::builder(clock.clone()).with_store(store).open_with(None, key, Vec::new()).unwrap()
}

/// A workspace with resources of every type, several of one name, some changed in another order than they were made in.
fn filled() -> (Arc<MemoryStore>, Arc<ManualClock>, Platform) {
    let (store, clock) = (Arc::new(MemoryStore::new()), Arc::new(ManualClock::new(Timestamp::from_secs(1_000))));
    let platform = open(&store, &clock);
    let me = platform.service_principal();
    let mut keys = Vec::new();
    for number in 0..140_u32 {
        // Some at one moment.
        if number % 3 == 0 {
            clock.advance(Duration::from_secs(1));
        }
        let scopes = [Scope::BlockchainRead].into_iter().collect();
        let spec = ApiKeySpec { name: format!("n{}", number % 7), scopes, lifetime_ms: None };
        keys.push(platform.unit(|unit| platform.api_keys().create(unit, &me, spec)).unwrap().1.id().to_owned());
    }
    for name in ["n3", "n1"] {
        clock.advance(Duration::from_secs(1));
        let spec = BlockchainSpec::read(json!({ "name": name })).unwrap();
        let chain = platform.blockchains().create(&me, spec).unwrap();
        platform.blockchains().deploy(&me, DeploymentSpec::gold(chain.id())).unwrap();
    }
    for (number, name) in ["n2", "n0"].into_iter().enumerate() {
        clock.advance(Duration::from_secs(1));
        let client = json!({ "client_name": name, "redirect_uris": ["https://a.example/"] });
        let client = ClientRegistration::read(&client).unwrap();
        platform.unit(|unit| platform.oauth().register(unit, &me, client).map(drop)).unwrap();
        let (url, id) = (format!("https://{name}.example/"), format!("wh_{number}"));
        let webhook = Webhook { url, events: Vec::new(), is_enabled: number == 0, blockchain_id: None };
        platform.unit(|unit| platform.webhooks().create(unit, &me, &id, webhook, "0123456789abcdef")).unwrap();
        let invited = format!("{name}@example.org");
        platform.unit(|unit| platform.workspaces().members().invite(unit, &me, &invited, Role::Viewer)).unwrap();
    }
    let user = platform.unit(|unit| platform.workspaces().add_user(unit, "ann@example.org")).unwrap();
    let here = platform.workspaces().get(&me).unwrap();
    let member = |unit: &mut Unit<'_>| Ok(unit.insert(&me.owner(), user.id(), Member::of(&here, Role::Viewer))?);
    platform.unit(member).unwrap();
    for id in [&keys[90], &keys[10], &keys[50]] {
        clock.advance(Duration::from_secs(1));
        platform.unit(|unit| platform.api_keys().revoke(unit, &me, id)).unwrap();
    }
    (store, clock, platform)
}

/// A principal of another workspace.
fn stranger(platform: &Platform) -> Principal {
    let user = platform.unit(|unit| platform.workspaces().add_user(unit, "stranger@example.org")).unwrap();
    let made = platform.unit(|unit| platform.workspaces().create(unit, user.id(), Workspace::named("other"))).unwrap();
    let principal = platform.workspaces().principal(user.id(), made.owner().workspace().unwrap());
    principal.unwrap().unwrap()
}

fn request(number: usize, limit: usize, order: Order) -> PageRequest {
    let nonzero = |number| NonZeroUsize::new(number).unwrap();
    PageRequest::first(nonzero(limit)).with_number(nonzero(number)).in_order(order)
}

#[test]
fn a_type_is_seen_with_the_scope_of_its_own_list() {
    let (_, _, platform) = filled();
    let me = platform.service_principal();
    let with = |scopes: &[Scope]| {
        Principal::new(me.subject().clone(), me.workspace().clone(), scopes.iter().copied().collect())
    };
    for kind in ResourceKind::ALL {
        let seen = |scopes: &[Scope]| {
            let page = request(1, 500, Order::Ascending);
            platform.resources(&with(scopes), Some(kind), ResourceSort::CreatedAt, &page).unwrap()
        };
        let scope = match kind {
            ResourceKind::Blockchain | ResourceKind::Contract | ResourceKind::Module | ResourceKind::Dapp => {
                Scope::BlockchainRead
            }
            ResourceKind::Validator => Scope::ValidatorRead,
            ResourceKind::Proposal => Scope::GovernanceRead,
            _ => Scope::WorkspaceRead,
        };
        let others: Vec<Scope> = Scope::ALL.into_iter().filter(|other| !with(&[*other]).may(scope)).collect();
        assert_eq!(seen(&others).1, 0, "{kind:?} without {scope:?}");
        assert_eq!(seen(&[scope]), seen(&Scope::ALL), "{kind:?} with {scope:?} alone");
    }
}

#[test]
fn every_page_of_every_order_is_that_of_the_sorted_list() {
    let (_, _, platform) = filled();
    let me = platform.service_principal();
    let page = |kind, sort, request: &PageRequest| platform.resources(&me, kind, sort, request).unwrap();
    use ResourceKind::{ApiKey as Key, Contract, Validator};
    for kind in [None, Some(Key), Some(Contract), Some(Validator), Some(ResourceKind::Webhook)] {
        let (all, total) = page(kind, ResourceSort::CreatedAt, &request(1, 1_000, Order::Ascending));
        assert_eq!(all.len() as u64, total);
        let wallets = 1 + 2;
        let validators = 2;
        assert!(kind.is_some() || total == 140 + 2 + validators + 2 + 1 + wallets + 2 + 2 + 2 + 1, "{total}");
        for sort in [ResourceSort::CreatedAt, ResourceSort::Name, ResourceSort::Kind, ResourceSort::UpdatedAt] {
            let mut sorted = all.clone();
            sorted.sort_by_key(|one| {
                let field = match sort {
                    ResourceSort::CreatedAt => format!("{:020}", one.created_at_ms),
                    ResourceSort::UpdatedAt => format!("{:020}", one.updated_at_ms),
                    ResourceSort::Name => one.name.clone(),
                    ResourceSort::Kind => one.kind.name().to_owned(),
                };
                (field, one.id.clone())
            });
            for order in [Order::Ascending, Order::Descending] {
                for limit in [1, 7, 100] {
                    let pages = all.len().div_ceil(limit);
                    for number in [1, 2, pages / 2 + 1, pages, pages + 1] {
                        let (found, of) = page(kind, sort, &request(number, limit, order));
                        let wanted = sorted.iter().skip((number - 1) * limit).take(limit);
                        assert_eq!(of, total);
                        assert_eq!(
                            found.iter().collect::<Vec<_>>(),
                            wanted.collect::<Vec<_>>(),
                            "{kind:?} {sort:?} {order:?} {limit} {number}"
                        );
                    }
                }
                sorted.reverse();
            }
        }
    }
    assert_eq!(platform.records().verify::<ApiKey>().unwrap(), 140);
}

#[test]
fn a_store_from_before_the_indices_gets_them() {
    let (store, clock, platform) = filled();
    let me = platform.service_principal();
    let names = |platform: &Platform| {
        platform.resources(&me, None, ResourceSort::Name, &request(1, 1_000, Order::Ascending)).unwrap()
    };
    let before = names(&platform);
    drop(platform);
    let mut batch = Batch::new();
    let prefix = |rest: &str| [b"\xffplatform/", rest.as_bytes()].concat();
    let mut removed = vec![prefix("c-\0resources-indexed")];
    let kinds = ["key", "workspace", "webhook", "wallet", "oauth-client", "member", "invitation"];
    let of_lists = kinds.iter().flat_map(|kind| ["name", "updated"].map(|index| format!("{kind}\0{index}\0")));
    for of in of_lists.chain(["key\0id\0".to_owned()]) {
        removed.extend([prefix(&format!("i{of}")), prefix(&format!("n{of}"))]);
    }
    for (_, key, _) in suite::dump(&*store) {
        if removed.iter().any(|prefix| key.starts_with(prefix)) {
            batch.delete(Table::Platform, key);
        }
    }
    store.write(batch).unwrap();
    let (closed, key): (Arc<dyn KeyValue>, _) = (store.clone(), MasterKey::new([7; 32].into()));
    let report = maintenance::check(&closed, clock.clone(), Some(key));
    // The chains of this store were in memory.
    let is_of_chain = |fault: &String| fault.starts_with("blockchain bc_");
    assert!(report.faults.iter().all(is_of_chain), "what an opening completes is no fault: {:?}", report.faults);
    let platform = open(&store, &clock);
    assert_eq!(platform.records().verify::<ApiKey>().unwrap(), 140);
    assert_eq!(platform.records().verify::<Workspace>().unwrap(), 1);
    assert_eq!(platform.records().verify::<Wallet>().unwrap(), 3);
    assert_eq!(platform.records().verify::<Invitation>().unwrap(), 2);
    assert_eq!(names(&platform), before);
}

#[test]
fn chains_of_others_are_listed_to_whom_may_read_them() {
    let (_, _, platform) = filled();
    let (me, stranger) = (platform.service_principal(), stranger(&platform));
    let made = |spec: serde_json::Value| {
        platform.blockchains().create(&me, BlockchainSpec::read(spec).unwrap()).unwrap().id().to_owned()
    };
    made(json!({ "name": "public", "type": "public" }));
    let closed = made(json!({ "name": "closed", "features": ["privacy"] }));
    let shown = |kind, sort| {
        let (found, total) = platform.resources(&stranger, kind, sort, &request(1, 100, Order::Ascending)).unwrap();
        assert_eq!(found.len() as u64, total);
        found.into_iter().map(|one| (one.kind.name(), one.name)).collect::<Vec<_>>()
    };
    let chain = |name: &str| ("blockchain", name.to_owned());
    assert_eq!(shown(Some(ResourceKind::Blockchain), ResourceSort::Name), [chain("public")]);
    let add =
        |unit: &mut Unit<'_>| platform.blockchains().add_participant(unit, &me, &closed, stranger.subject()).map(drop);
    platform.unit(add).unwrap();
    assert_eq!(shown(Some(ResourceKind::Blockchain), ResourceSort::Name), [chain("closed"), chain("public")]);
    let all = shown(None, ResourceSort::Kind);
    assert_eq!(all.iter().filter(|(kind, _)| *kind == "blockchain").count(), 2, "{all:?}");
    assert!(all.iter().all(|(kind, _)| *kind != "validator"), "those of the workspace's own chains alone: {all:?}");
    // In a list with chains of its own they are in one order.
    let own = BlockchainSpec::read(json!({ "name": "middle" })).unwrap();
    platform.blockchains().create(&stranger, own).unwrap();
    let names = [chain("closed"), chain("middle"), chain("public")];
    assert_eq!(shown(Some(ResourceKind::Blockchain), ResourceSort::Name), names);
    assert_eq!(shown(Some(ResourceKind::Validator), ResourceSort::Name).len(), 1);
    let mine =
        platform.resources(&me, Some(ResourceKind::Blockchain), ResourceSort::Name, &request(1, 9, Order::Ascending));
    assert_eq!(mine.unwrap().1, 4, "each once");
}
