//! `chainbox serve` finishes what it has accepted when it is asked to end.

#![cfg(feature = "rocksdb")]

use std::time::Duration;

use chainbox::{chain::CallRequest, platform::BlockchainSpec, primitives::U256};
use serde_json::{Value, json};

use crate::{
    binary::{LIMIT, now},
    serving::{Serving, database},
};

/// A state of thousands of accounts is imported, which takes longer than the signal to arrive: its answer comes, and the chain is there at the next
/// start. A connection after the signal is refused.
#[test]
fn what_was_accepted_is_answered_after_sigterm() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let key = database(&data, |platform| {
        let spec = BlockchainSpec::read(json!({ "name": "ledger" })).unwrap();
        let chain = platform.blockchains().create(&platform.service_principal(), spec).unwrap();
        let request = CallRequest::call(chainbox::primitives::Address::repeat_byte(3), []).with_value(U256::from(1));
        let request = request.with_from(chain.treasury().unwrap());
        platform.blockchains().send(&platform.service_principal(), chain.id(), request).unwrap();
    });
    let service = Serving::start(&["--db-path", data.to_str().unwrap()]);
    let accounts: serde_json::Map<String, Value> =
        (0..60_000_u64).map(|number| (format!("0x11{number:038x}"), json!({ "balance": "1" }))).collect();
    let state = json!({ "chain": { "genesis": { "chainId": 5, "accounts": accounts } } }).to_string();
    let body = json!({ "blockchain": { "name": "large" }, "state": state });
    let imported = std::thread::scope(|scope| {
        let request = scope.spawn(|| service.request(&key, "POST", "/v1/blockchains/import", &body));
        // It is being worked on once the chain is on the list.
        let deadline = now() + LIMIT;
        while !service.all(&key, "/v1/blockchains").iter().any(|chain| chain["name"] == "large") {
            assert!(!request.is_finished() && now() < deadline, "the import has not begun within {LIMIT:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(!request.is_finished(), "the request must be longer than that to show anything");
        service.terminate();
        request.join().unwrap()
    });
    let id = imported.data()["id"].as_str().unwrap().to_owned();
    service.stop_after_signal();
    let service = Serving::start(&["--db-path", data.to_str().unwrap()]);
    assert_eq!(service.get(&key, &format!("/v1/blockchains/{id}"))["status"], "running");
    service.stop();
}
