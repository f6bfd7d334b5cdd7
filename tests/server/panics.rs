//! A panic below the server: its call is answered, it is counted, and everything goes on.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use chainbox::{
    node::{Clock, Mining, Node},
    primitives::Timestamp,
    server::{EthRpc, drive},
};
use serde_json::json;

use crate::{http::Service, websocket::Socket};

/// Panics while it is broken; a block can't be made without the time.
#[derive(Debug, Default)]
struct BrittleClock(AtomicBool);

impl BrittleClock {
    fn set_broken(&self, is_broken: bool) {
        self.0.store(is_broken, Ordering::Release);
    }
}

impl Clock for BrittleClock {
    fn now(&self) -> Timestamp {
        assert!(!self.0.load(Ordering::Acquire), "the clock is broken");
        Timestamp::from_secs(1_800_000_000)
    }
}

#[tokio::test]
async fn a_panicking_handler_is_an_internal_error_and_is_counted() {
    let clock = Arc::new(BrittleClock::default());
    let node = Node::builder().with_clock(clock.clone()).build().unwrap();
    let service = Service::over(node.clone()).await;
    let mut socket = Socket::connect(&service, "/").await;
    clock.set_broken(true);
    // Making a block and setting the time are commands of the node, which undoes and counts a panic itself.
    let response = service.rpc("evm_mine", json!([])).await;
    assert_eq!((&response["error"]["code"], service.counters.panics()), (&json!(-32603), 0), "{response}");
    let time = json!([1_900_000_000]);
    let response = service.rpc("evm_setTime", time.clone()).await;
    assert_eq!(response["error"]["code"], -32603, "{response}");
    assert!(response["error"]["message"].as_str().unwrap().contains("the clock is broken"), "{response}");
    assert_eq!(socket.call("evm_setTime", time).await["error"]["code"], -32603);
    assert_eq!((node.panic_count(), service.counters.panics()), (3, 0));
    let params = json!({ "name": "Gold", "symbol": "GLD" });
    let deploy = json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": params });
    let reply = service.rest("POST", "/v1/contracts/deploy", deploy).await;
    assert_eq!((reply.status, reply.json()["error"]["code"].as_str()), (500, Some("INTERNAL_ERROR")));
    assert!(reply.header("x-request-id").is_some(), "it is in the envelope");
    // Estimating the deployment is a read.
    assert_eq!((node.panic_count(), service.counters.panics()), (3, 1));
    clock.set_broken(false);
    assert_eq!(service.rest("GET", "/v1/blockchains/bc_default", json!(null)).await.status, 200);
    assert_eq!(socket.call("evm_mine", json!([])).await["result"], "0x0");
}

#[tokio::test]
async fn interval_mining_goes_on_after_a_panic() {
    let clock = Arc::new(BrittleClock::default());
    clock.set_broken(true);
    let interval = Mining::Interval(Duration::from_millis(10));
    let node = Node::builder().with_clock(clock.clone()).with_mining(interval).build().unwrap();
    let timer = tokio::spawn(drive(EthRpc::new(node.clone())));
    let wait = async |what: &str, holds: &dyn Fn() -> bool| {
        let waiting = async {
            while !holds() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), waiting).await.expect(what);
    };
    wait("a panic is counted", &|| node.panic_count() > 0).await;
    clock.set_broken(false);
    wait("a block is made", &|| node.view().head().height().get() > 0).await;
    timer.abort();
}
