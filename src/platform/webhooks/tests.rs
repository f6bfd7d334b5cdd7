//! Subscriptions: their secret, their owner, their bound.

use std::sync::Arc;

use super::*;
use crate::{
    node::{ManualClock, Node},
    platform::{Blockchain, BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, Platform, records::AuditLine},
    store::{KeyValue, MemoryStore, Order, Table},
};

const CANARY: &str = "a secret that nobody finds in the store";

fn world() -> (Platform, Arc<dyn KeyValue>) {
    let store: Arc<dyn KeyValue> = Arc::new(MemoryStore::default());
    let spec = BlockchainSpec::read(serde_json::json!({ "name": "test" })).unwrap();
    let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, Node::new(), 0);
    let platform = Platform::builder(Arc::new(ManualClock::default())).with_store(Arc::clone(&store)).open(chain);
    (platform.unwrap(), store)
}

fn webhook() -> Webhook {
    let (url, events) = ("https://example.com/hook".to_owned(), vec![WebhookEvent::BlockCreated]);
    Webhook { url, events, is_enabled: true, blockchain_id: Some(DEFAULT_BLOCKCHAIN_ID.to_owned()) }
}

fn create(platform: &Platform, id: &str) -> Result<Stored<Webhook>, PlatformError> {
    let me = platform.service_principal();
    platform.unit(|unit| platform.webhooks().create(unit, &me, id, webhook(), CANARY))
}

/// Signs an event at the time of the world, 0.
fn sign(platform: &Platform, webhook: &Stored<Webhook>, body: &[u8]) -> Result<SignedDelivery, PlatformError> {
    platform.webhooks().sign(webhook, "msg_1".to_owned(), body.to_vec())
}

#[test]
fn a_secret_signs_and_is_in_no_byte_of_the_store() {
    let (platform, store) = world();
    let stored = create(&platform, "wh_1").unwrap();
    assert_eq!(sign(&platform, &stored, b"{}").unwrap().headers.len(), 4);
    for table in Table::ALL {
        let visited = store.scan(table, &[], Order::Ascending, &mut |key, value| {
            for bytes in [key, value] {
                assert!(!bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes()));
            }
            core::ops::ControlFlow::Continue(())
        });
        visited.unwrap();
    }
    let me = platform.service_principal();
    platform.unit(|unit| platform.webhooks().delete(unit, &me, "wh_1")).unwrap();
    assert!(sign(&platform, &stored, b"").is_err(), "its secret is gone");
}

#[test]
fn a_rotated_secret_alone_signs() {
    let (platform, _) = world();
    let (webhooks, me) = (platform.webhooks(), platform.service_principal());
    let made = create(&platform, "wh_1").unwrap();
    let by = |secret: &str| SignedDelivery::new("msg_1".to_owned(), 0, secret.as_bytes(), b"{}".to_vec());
    assert_eq!(sign(&platform, &made, b"{}").unwrap(), by(CANARY));
    let (first, rotated) = platform.unit(|unit| webhooks.rotate_secret(unit, &me, "wh_1")).unwrap();
    assert!(first.starts_with("whsec_"), "it has the form of a drawn one");
    assert_eq!(rotated.value, made.value, "nothing else is changed");
    assert_eq!(sign(&platform, &made, b"{}").unwrap(), by(&first));
    let (second, _) = platform.unit(|unit| webhooks.rotate_secret(unit, &me, "wh_1")).unwrap();
    assert_ne!(first, second);
    assert_eq!(sign(&platform, &made, b"{}").unwrap(), by(&second));
    let nobodys = platform.unit(|unit| webhooks.rotate_secret(unit, &me, "wh_none"));
    assert!(matches!(nobodys, Err(PlatformError::NotFound { .. })));
    let lines = platform.records().of::<AuditLine>().all(&Index::CREATED, &me.owner(), &SortKey::new()).unwrap();
    let rotations = lines.iter().filter(|line| line.value.action == "webhook.rotate-secret");
    let targets: Vec<_> = rotations.map(|line| line.value.target.as_str()).collect();
    assert_eq!(targets, ["webhook wh_1"; 2]);
}

#[test]
fn a_disabled_subscription_takes_no_deliveries() {
    let (platform, _) = world();
    let (webhooks, me) = (platform.webhooks(), platform.service_principal());
    create(&platform, "wh_1").unwrap();
    let set = |is_enabled| {
        let change = WebhookChange { is_enabled: Some(is_enabled), ..WebhookChange::default() };
        platform.unit(|unit| webhooks.update(unit, &me, "wh_1", change)).unwrap()
    };
    set(false);
    let Err(PlatformError::Conflict { message }) = webhooks.require_enabled(&me, "wh_1") else {
        panic!("must be refused")
    };
    assert_eq!(message, "webhook wh_1 is disabled, so nothing is sent to it: PATCH enabled to true first");
    assert_eq!(set(true), webhooks.require_enabled(&me, "wh_1").unwrap());
    assert!(matches!(webhooks.require_enabled(&me, "wh_none"), Err(PlatformError::NotFound { .. })));
}

#[test]
fn the_chain_of_a_subscription_is_changed_to_one_that_is_there_or_to_all() {
    let (platform, _) = world();
    let me = platform.service_principal();
    let made = create(&platform, "wh_1").unwrap();
    let change = |chain: Option<&str>| {
        let change = WebhookChange { blockchain_id: Some(chain.map(str::to_owned)), ..WebhookChange::default() };
        platform.unit(|unit| platform.webhooks().update(unit, &me, "wh_1", change))
    };
    assert!(matches!(change(Some("bc_none")), Err(PlatformError::NotFound { kind: "blockchain", .. })));
    assert_eq!(platform.webhooks().all().require(&me.owner(), "wh_1").unwrap(), made, "nothing is changed");
    assert_eq!(change(None).unwrap().value, Webhook { blockchain_id: None, ..webhook() });
    assert_eq!(change(Some(DEFAULT_BLOCKCHAIN_ID)).unwrap().value, webhook());
    let same = platform.unit(|unit| platform.webhooks().update(unit, &me, "wh_1", WebhookChange::default())).unwrap();
    assert_eq!(same.value, webhook(), "what is left out stays");
}

#[test]
fn subscriptions_are_changed_bounded_and_of_a_chain_that_is_there() {
    let (platform, _) = world();
    let me = platform.service_principal();
    create(&platform, "wh_0").unwrap();
    let off = WebhookChange { is_enabled: Some(false), ..WebhookChange::default() };
    let changed = platform.unit(|unit| platform.webhooks().update(unit, &me, "wh_0", off)).unwrap();
    assert_eq!(changed.value, Webhook { is_enabled: false, ..webhook() });
    for number in 1..WEBHOOKS_MAX {
        create(&platform, &format!("wh_{number}")).unwrap();
    }
    assert!(matches!(create(&platform, "wh_past"), Err(PlatformError::Conflict { .. })));
    let nowhere = Webhook { blockchain_id: Some("bc_none".to_owned()), ..webhook() };
    let refused = platform.unit(|unit| platform.webhooks().create(unit, &me, "wh_x", nowhere, CANARY));
    assert!(matches!(refused, Err(PlatformError::NotFound { .. })));
}
