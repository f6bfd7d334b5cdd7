//! `GET /v1/health`: each part that is not well turns it `degraded`.

use core::time::Duration;
use std::sync::Arc;

use chainbox::{
    node::{Clock, ManualClock},
    platform::vault::SealedSecret,
    primitives::Timestamp,
    store::testing::{FailingStore, MemoryDisk, WriteFault},
};
use serde_json::{Value, json};

use crate::{
    binary::{LIMIT, now},
    http::Service,
};

/// The status, and the words of database, blockchain and storage.
async fn health(service: &Service) -> [String; 4] {
    let reply = service.send("GET", "/v1/health", &[], "").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let data = reply.json()["data"].clone();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let services = &data["services"];
    [word(&data["status"]), word(&services["database"]), word(&services["blockchain"]), word(&services["storage"])]
}

/// As [`health`], by a probe of now: the answer is that of the newest probe while that is less than a second old.
async fn health_now(service: &Service) -> [String; 4] {
    service.platform.probe();
    health(service).await
}

async fn create(service: &Service, body: Value) -> String {
    let reply = service.rest("POST", "/v1/blockchains", body).await;
    assert_eq!(reply.status, 201, "{}", reply.body);
    reply.json()["data"]["id"].as_str().unwrap().to_owned()
}

const WELL: [&str; 4] = ["operational", "healthy", "healthy", "healthy"];
const CHAIN_UNWELL: [&str; 4] = ["degraded", "healthy", "unhealthy", "healthy"];

#[tokio::test]
async fn a_store_that_fails_degrades_it_until_it_works_again() {
    let store = Arc::new(FailingStore::new(Arc::new(MemoryDisk::new())));
    let service = Service::stored(store.clone()).await;
    assert_eq!(health(&service).await, WELL);
    store.fail(WriteFault::after(0));
    assert_eq!(health_now(&service).await, ["degraded", "unhealthy", "healthy", "healthy"]);
    store.recover();
    assert_eq!(health_now(&service).await, WELL);
}

#[tokio::test]
async fn a_disk_without_room_degrades_it_until_there_is_some() {
    let store = Arc::new(FailingStore::new(Arc::new(MemoryDisk::new())));
    let service = Service::stored(store.clone()).await;
    store.fail(WriteFault::after(0).disk_full());
    assert_eq!(health_now(&service).await, ["degraded", "healthy", "healthy", "unhealthy"]);
    store.recover();
    assert_eq!(health_now(&service).await, WELL);
}

#[tokio::test]
async fn a_chain_that_cannot_be_opened_degrades_it_until_it_is_deleted() {
    let disk = Arc::new(MemoryDisk::new());
    let service = Service::stored(disk.clone()).await;
    let chain = create(&service, json!({ "name": "bad" })).await;
    create(&service, json!({ "name": "good" })).await;
    // Its keys are gone.
    let (records, owner) = (service.platform.records(), service.platform.service_principal().owner());
    let key = records.of::<SealedSecret>().require(&owner, &format!("{chain}-validators")).unwrap();
    records.unit(|unit| unit.delete(&key)).unwrap();
    let disk = disk.crashed();
    let service = Service::stored(disk.clone()).await;
    let path = format!("/v1/blockchains/{chain}");
    assert_eq!(service.rest("GET", &path, Value::Null).await.json()["data"]["status"], "failed");
    assert_eq!(health(&service).await, CHAIN_UNWELL);
    // It stays failed over another start, at which nobody tries to open it.
    let service = Service::stored(disk.crashed()).await;
    assert_eq!(health(&service).await, CHAIN_UNWELL);
    assert_eq!(service.rest("POST", &format!("{path}/start"), Value::Null).await.status, 500);
    assert_eq!(health_now(&service).await, CHAIN_UNWELL);
    assert_eq!(service.rest("DELETE", &path, Value::Null).await.status, 200);
    assert_eq!(health_now(&service).await, WELL);
}

#[tokio::test]
async fn a_chain_that_stands_still_by_a_failure_degrades_it_until_it_is_started() {
    let store = Arc::new(FailingStore::new(Arc::new(MemoryDisk::new())));
    let service = Service::stored(store.clone()).await;
    let chain = create(&service, json!({ "name": "x", "config": { "blockTime": "1s" } })).await;
    store.fail(WriteFault::after(0));
    let path = format!("/v1/blockchains/{chain}");
    let deadline = now() + LIMIT;
    while service.rest("GET", &path, Value::Null).await.json()["data"]["status"] != "failed" {
        assert!(now() < deadline, "it has not failed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    store.recover();
    assert_eq!(health_now(&service).await, CHAIN_UNWELL);
    for command in ["pause", "resume", "stop"] {
        let refused = service.rest("POST", &format!("{path}/{command}"), Value::Null).await;
        assert_eq!(refused.status, 409, "{command}: {}", refused.body);
    }
    let started = service.rest("POST", &format!("{path}/start"), Value::Null).await;
    assert_eq!(started.status, 200, "{}", started.body);
    assert_eq!(started.json()["data"]["status"], "running", "{}", started.body);
    assert_eq!(health_now(&service).await, WELL);
    let newest = async || {
        let block = service.rest("GET", &format!("{path}/blocks/latest"), Value::Null).await;
        assert_eq!(block.status, 200, "{}", block.body);
        block.json()["data"]["number"].as_u64().unwrap()
    };
    let (first, deadline) = (newest().await, now() + LIMIT);
    while newest().await < first + 2 {
        assert!(now() < deadline, "it makes no blocks");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_head_that_is_too_old_degrades_it() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_750_000_000)));
    let service = Service::timed(clock.clone()).await;
    let validator = |byte: u8| json!({ "address": format!("0x{}", format!("{byte:02x}").repeat(20)) });
    let validators: Vec<Value> = (1..=4).map(validator).collect();
    let body = json!({ "name": "x", "consensus": "pbft", "config": { "blockTime": "1s" }, "validators": validators });
    let chain = create(&service, body).await;
    let listed = service.rest("GET", &format!("/v1/blockchains/{chain}/validators"), Value::Null).await.json();
    // Without two of four nobody makes a block.
    for number in 0..2 {
        let id = listed["data"][number]["id"].as_str().unwrap();
        let stopped = service.rest("POST", &format!("/v1/validators/{id}/stop"), Value::Null).await;
        assert_eq!(stopped.status, 200, "{}", stopped.body);
    }
    // It is watched from the first look on, and may be late by ten blocks and half a minute.
    assert_eq!(health_now(&service).await, WELL);
    let newest = service.rest("GET", &format!("/v1/blockchains/{chain}/blocks/latest"), Value::Null).await.json();
    assert!(newest["data"]["number"].as_u64().unwrap() <= 2, "{newest}");
    clock.advance(Duration::from_secs(40));
    assert_eq!(health(&service).await, WELL, "at the bound");
    clock.advance(Duration::from_secs(3));
    assert_eq!(health(&service).await, CHAIN_UNWELL, "past it, by at most the time of the blocks that were made");
    assert!(clock.now_ms() > 1_750_000_042_000);
}
