//! A full disk: writes are refused with an error that says so, reads go on, and so do writes once there is room.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicBool, Ordering},
};

use chainbox::{
    node::{Database, Node},
    primitives::{Gas, TransactionRequest, U256},
    store::{
        Batch,
        testing::{FailingStore, MemoryDisk, WriteFault},
    },
};
use serde_json::{Value, json};

use crate::http::{Reply, Service};

/// Code of the error of both JSON-RPC interfaces.
const STORAGE_FULL: i64 = -32050;

/// The server of a chain on a disk that fills up when a test wants it to.
struct FullDisk {
    service: Service,
    store: Arc<FailingStore>,
    disk: Arc<MemoryDisk>,
    node: Node,
}

impl FullDisk {
    async fn new() -> Self {
        let disk = Arc::new(MemoryDisk::new());
        let store = Arc::new(FailingStore::new(disk.clone()));
        let node = Node::builder().with_database(Database::Store(store.clone())).build().unwrap();
        Self { service: Service::over(node.clone()).await, store, disk, node }
    }

    fn account(&self, index: usize) -> String {
        self.node.accounts()[index].to_string()
    }

    fn signed(&self, nonce: u64) -> String {
        let request = TransactionRequest {
            chain_id: Some(31_337),
            nonce,
            to: Some(self.node.accounts()[1]),
            value: U256::from(1),
            gas_limit: Gas::new(21_000),
            max_fee_per_gas: 100_000_000_000,
            ..Default::default()
        };
        request.sign(&self.node.keys()[0]).unwrap().encoded().to_string()
    }

    async fn service_rpc(&self, method: &str, params: Value) -> Value {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.service.rest("POST", "/v1/rpc", call).await.json()
    }
}

fn deployment() -> Value {
    let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000" });
    json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": params })
}

#[tokio::test]
async fn writes_are_refused_reads_go_on_and_writes_do_once_there_is_room() {
    let full = FullDisk::new().await;
    let (service, node) = (&full.service, &full.node);
    let transfer = json!([{ "from": full.account(0), "to": full.account(1), "value": "0x1" }]);
    let sent = service.rpc("eth_sendTransaction", transfer.clone()).await["result"].clone();
    let token = service.rest("POST", "/v1/contracts/deploy", deployment()).await.json()["data"].clone();
    let snapshot = service.rpc("evm_snapshot", json!([])).await["result"].clone();
    node.mine(2).unwrap();
    let dump = service.rpc("anvil_dumpState", json!([])).await["result"].clone();
    let head = node.view().head().hash();

    full.store.fail(WriteFault::after(0).disk_full());
    for (method, params) in [
        ("eth_sendTransaction", transfer.clone()),
        ("eth_sendRawTransaction", json!([full.signed(1)])),
        ("evm_mine", json!([])),
        ("anvil_mine", json!(["0x3"])),
        ("anvil_setBalance", json!([full.account(3), "0x7"])),
        ("evm_revert", json!([snapshot])),
        ("anvil_reset", json!([])),
        ("anvil_loadState", json!([dump])),
    ] {
        let response = service.rpc(method, params).await;
        assert_eq!(response["error"]["code"], STORAGE_FULL, "{method}: {response}");
        let data = &response["error"]["data"];
        assert_eq!(data["code"], "UNAVAILABLE", "{method}: {response}");
        assert_eq!(data["details"]["freeBytes"], "0", "{method}: {response}");
        assert!(data["details"]["freeBytesMin"].is_string(), "{method}: {response}");
        assert!(response["error"]["message"].as_str().unwrap().contains("the disk is full"), "{method}: {response}");
    }
    let batch: Vec<Value> = (1..=2)
        .map(|nonce| json!({ "jsonrpc": "2.0", "id": nonce, "method": "eth_sendRawTransaction", "params": [full.signed(nonce)] }))
        .collect();
    let responses = service.rpc_text(&json!(batch).to_string()).await.json();
    assert_eq!(responses[1]["error"]["code"], STORAGE_FULL, "{responses}");
    node.drop_all_transactions();
    let reply = service.rest("POST", "/v1/contracts/deploy", deployment()).await;
    let error = reply.json()["error"].clone();
    assert_eq!((reply.status, &error["code"]), (503, &json!("UNAVAILABLE")), "{error}");
    assert_eq!(error["details"]["freeBytes"], "0", "{error}");
    let mint = json!({
        "blockchainId": "bc_default", "contractAddress": token["contractAddress"], "method": "transfer",
        "args": [full.account(2), "1"], "from": token["from"],
    });
    for (method, params) in [
        ("transaction.send", json!({ "blockchainId": "bc_default", "signedTransaction": full.signed(1) })),
        ("contract.execute", mint.clone()),
    ] {
        let error = full.service_rpc(method, params).await["error"].clone();
        assert_eq!((&error["code"], &error["data"]["code"]), (&json!(STORAGE_FULL), &json!("UNAVAILABLE")), "{error}");
        assert_eq!(error["data"]["details"]["freeBytes"], "0", "{error}");
    }

    // Nothing changed, and everything can be read.
    assert_eq!((node.view().head().hash(), node.view().pool().len()), (head, 0));
    assert_eq!(service.rpc("eth_blockNumber", json!([])).await["result"], "0x4");
    assert_eq!(service.rpc("eth_getTransactionReceipt", json!([sent])).await["result"]["status"], "0x1");
    assert_eq!(
        service.rpc("eth_getBalance", json!([full.account(3), "latest"])).await["result"],
        "0x21e19e0c9bab2400000"
    );
    assert!(service.rpc("eth_call", transfer.clone()).await.get("error").is_none());
    assert_eq!(service.rest("GET", "/v1/blockchains/bc_default", json!(null)).await.status, 200);
    let latest = json!({ "blockchainId": "bc_default", "blockNumber": "latest" });
    assert_eq!(full.service_rpc("blockchain.getBlock", latest).await["result"]["number"], 4);

    full.store.recover();
    let again = service.rpc("eth_sendTransaction", transfer).await;
    assert!(again["result"].is_string(), "{again}");
    assert_eq!(service.rest("POST", "/v1/contracts/deploy", deployment()).await.status, 201);
    assert_eq!(full.service_rpc("contract.execute", mint).await["result"]["status"], "success");
    assert_eq!(node.view().head().height().get(), 7);
    let reopened = Node::builder().with_database(Database::Store(full.disk.crashed())).build().unwrap();
    assert_eq!(reopened.view().head().hash(), node.view().head().hash());
}

/// A store that is full as soon as the next request under an idempotency key is accepted, once `is_armed`.
fn full_after_acceptance(is_armed: Arc<AtomicBool>) -> Arc<FailingStore> {
    Arc::new_cyclic(|this: &Weak<FailingStore>| {
        let this = this.clone();
        FailingStore::new(Arc::new(MemoryDisk::new())).with_observer(move |batch: &Batch| {
            let mut records = batch.writes().iter().filter(|write| write.value.is_some());
            let accepts = records.any(|write| write.key.starts_with(b"\xffplatform/ridempotency\0"));
            if accepts && is_armed.swap(false, Ordering::SeqCst) {
                this.upgrade().unwrap().fail(WriteFault::after(1).disk_full());
            }
        })
    })
}

/// The disk is full when a request was accepted, so that neither its effect nor its refusal is written: it needs no restart to be repeated.
#[tokio::test]
async fn an_accepted_request_has_its_effect_once_there_is_room() {
    let is_armed = Arc::new(AtomicBool::new(false));
    let store = full_after_acceptance(is_armed.clone());
    let service = Service::stored(store.clone()).await;
    let headers =
        [("x-api-key", service.api_key.as_str()), ("content-type", "application/json"), ("idempotency-key", "once")];
    let make = async || -> Reply {
        // The service itself may be at it, for a moment.
        for _ in 0..500 {
            let reply = service.send("POST", "/v1/workspaces", &headers, r#"{"name":"kept"}"#).await;
            if reply.status != 409 {
                return reply;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("it stays accepted and is not run");
    };
    is_armed.store(true, Ordering::SeqCst);
    for _ in 0..2 {
        let refused = make().await;
        assert_eq!(
            (refused.status, &refused.json()["error"]["code"]),
            (503, &json!("UNAVAILABLE")),
            "{}",
            refused.body
        );
    }
    assert!(!is_armed.load(Ordering::SeqCst), "it was accepted");
    store.recover();
    let made = make().await;
    assert_eq!(made.status, 201, "{}", made.body);
    let again = make().await;
    assert_eq!((again.status, again.header("idempotent-replayed")), (201, Some("true")), "{}", again.body);
    assert_eq!(again.body, made.body);
    let all = service.rest("GET", "/v1/workspaces", Value::Null).await.json();
    let made = all["data"].as_array().unwrap().iter().filter(|workspace| workspace["name"] == "kept").count();
    assert_eq!(made, 1, "{all}");
}
