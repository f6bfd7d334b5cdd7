//! Subscriptions: their secret, their owner, their bound.

use std::sync::Arc;

use super::*;
use crate::{
    node::{ManualClock, Node},
    platform::{Blockchain, BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, Platform},
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

#[test]
fn a_secret_signs_and_is_in_no_byte_of_the_store() {
    let (platform, store) = world();
    let stored = create(&platform, "wh_1").unwrap();
    let signed = platform.webhooks().sign(&stored, b"{}".to_vec()).unwrap();
    assert_eq!(signed.headers.len(), 4);
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
    assert!(platform.webhooks().sign(&stored, Vec::new()).is_err(), "its secret is gone");
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
