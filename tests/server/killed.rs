//! `kill -9` of the real binary while requests with idempotency keys come from several connections.
//!
//! What was acknowledged is there once, and its repetition gets the first response. What was accepted and not answered is run to its end at the
//! next start, once. What never arrived is run by its repetition.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use alloy_primitives::{Address, U256};
use chainbox::{
    chain::CallRequest,
    platform::BlockchainSpec,
    primitives::{Gas, KeyPair, TransactionRequest},
};
use serde_json::{Value, json};

use crate::{
    binary::{LIMIT, now},
    serving::{Answer, Serving, database, send},
};

const ROUNDS: u64 = 4;
const WRITERS: u64 = 4;
/// Writes of a round that are answered before the kill, at least.
const ANSWERED_MIN: u64 = 12;
const PAID: Address = Address::repeat_byte(0x99);

/// A sequence of draws (Knuth, MMIX).
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A write, and its answer if it got one.
#[derive(Clone, Debug)]
struct Sent {
    kind: &'static str,
    key: String,
    method: &'static str,
    path: String,
    body: Value,
    answer: Option<Answer>,
}

impl Sent {
    /// What its answer says that it has made: an id, or the hash of a transaction.
    fn made(&self, answer: &Answer) -> Value {
        let value = answer.json();
        let made = match self.kind {
            "raw" => &value["result"],
            "transaction" | "execute" => &value["result"]["transactionHash"],
            _ => &value["data"]["id"],
        };
        assert!(made.is_string(), "{self:?}: {}", answer.body);
        made.clone()
    }
}

fn call(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// What a writer has made for itself.
#[derive(Clone)]
struct Writer {
    number: u64,
    api_key: String,
    chain: String,
    /// A token of the workspace's wallet.
    token: String,
    /// A workspace that it alone changes.
    workspace: String,
    signer: KeyPair,
    /// Transactions that were sent, which is the next one's nonce.
    transactions: u64,
}

impl Writer {
    fn next(&mut self, round: u64, number: u64, draws: &mut Draws) -> Sent {
        let key = format!("r{round}-w{}-{number}", self.number);
        let (kind, method, path, body) = match draws.below(7) {
            0 => ("workspace", "POST", "/v1/workspaces".to_owned(), json!({ "name": key })),
            1 => ("update", "PATCH", format!("/v1/workspaces/{}", self.workspace), json!({ "description": key })),
            2 => ("key", "POST", "/v1/auth/api-keys".to_owned(), json!({ "name": key, "scopes": ["workspace:read"] })),
            3 => {
                let params = json!({ "name": key, "symbol": "GLD", "totalSupply": "1" });
                let body = json!({ "blockchainId": self.chain, "template": "erc20-token", "params": params });
                ("deployment", "POST", "/v1/contracts/deploy".to_owned(), body)
            }
            // The service signs it, so that nothing but the key keeps its repetition from being a second one.
            4 => {
                let args = json!([PAID, "1"]);
                let params = json!({ "blockchainId": self.chain, "contractAddress": self.token, "method": "transfer", "args": args });
                ("execute", "POST", "/v1/rpc".to_owned(), call("contract.execute", params))
            }
            other => {
                let signed = TransactionRequest {
                    chain_id: Some(4_242),
                    nonce: self.transactions,
                    to: Some(PAID),
                    value: U256::from(1),
                    gas_limit: Gas::new(21_000),
                    max_fee_per_gas: 100_000_000_000,
                    ..Default::default()
                };
                self.transactions += 1;
                let raw = signed.sign(&self.signer).unwrap().encoded();
                match other {
                    5 => {
                        let path = format!("/v1/blockchains/{}/eth", self.chain);
                        ("raw", "POST", path, call("eth_sendRawTransaction", json!([raw])))
                    }
                    _ => {
                        let params = json!({ "blockchainId": self.chain, "signedTransaction": raw });
                        ("transaction", "POST", "/v1/rpc".to_owned(), call("transaction.send", params))
                    }
                }
            }
        };
        Sent { kind, key, method, path, body, answer: None }
    }

    fn send(&self, address: &str, sent: &Sent) -> std::io::Result<Answer> {
        let headers = format!(
            "authorization: Bearer {}\r\ncontent-type: application/json\r\nidempotency-key: {}\r\n",
            self.api_key, sent.key
        );
        send(address, sent.method, &sent.path, &headers, &sent.body.to_string())
    }

    /// Writes until the service is gone; counts the answers.
    fn write(mut self, address: &str, round: u64, answered: &AtomicU64) -> (Self, Vec<Sent>) {
        let mut draws = Draws(1_000 * round + self.number);
        let mut all = Vec::new();
        for number in 0.. {
            let mut sent = self.next(round, number, &mut draws);
            let answer = self.send(address, &sent).ok();
            let is_gone = answer.is_none();
            sent.answer = answer;
            all.push(sent);
            if is_gone {
                break;
            }
            answered.fetch_add(1, Ordering::Relaxed);
        }
        (self, all)
    }
}

#[test]
fn each_acknowledged_write_is_there_once_after_kills() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let signers: Vec<KeyPair> = (0..WRITERS).map(|number| KeyPair::from_seed(number, "writer")).collect();
    let mut chain = String::new();
    let api_key = database(&data, |platform| {
        let me = platform.service_principal();
        let spec = BlockchainSpec::read(json!({ "name": "ledger", "chainId": 4_242 })).unwrap();
        let made = platform.blockchains().create(&me, spec).unwrap();
        chain = made.id().to_owned();
        for signer in &signers {
            let request = CallRequest::call(signer.address(), []).with_from(made.treasury().unwrap());
            let value = U256::from(10).pow(U256::from(20));
            platform.blockchains().send(&me, &chain, request.with_value(value)).unwrap();
        }
    });
    let flags = ["--db-path", data.to_str().unwrap(), "--requests-per-minute", "1000000"];
    let mut service = Serving::start(&flags);
    let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000000" });
    let body = json!({ "blockchainId": chain, "template": "erc20-token", "params": params });
    let deployed = service.request(&api_key, "POST", "/v1/contracts/deploy", &body).data();
    let token = deployed["contractAddress"].as_str().unwrap().to_owned();
    let mut executed = 0;
    let mut writers: Vec<Writer> = (0..WRITERS)
        .zip(signers)
        .map(|(number, signer)| {
            let made = service.request(&api_key, "POST", "/v1/workspaces", &json!({ "name": format!("own {number}") }));
            let workspace = made.data()["id"].as_str().unwrap().to_owned();
            let (api_key, chain, token) = (api_key.clone(), chain.clone(), token.clone());
            Writer { number, api_key, chain, token, workspace, signer, transactions: 0 }
        })
        .collect();
    let mut draws = Draws(17);
    // Ids that each key's write has made, over all rounds.
    let mut made: BTreeMap<(&'static str, String), Value> = BTreeMap::new();
    let (mut acknowledged, mut unanswered, mut resumed) = (0, 0, 0);
    for round in 0..ROUNDS {
        let delay = Duration::from_millis(150 + draws.below(700));
        let (address, answered) = (service.address.clone(), AtomicU64::new(0));
        let written: Vec<(Writer, Vec<Sent>)> = std::thread::scope(|scope| {
            let handles: Vec<_> =
                writers.drain(..).map(|writer| scope.spawn(|| writer.write(&address, round, &answered))).collect();
            std::thread::sleep(delay);
            // A slow machine takes longer for as many.
            let deadline = now() + LIMIT;
            while answered.load(Ordering::Relaxed) < ANSWERED_MIN && now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
            }
            service.kill();
            handles.into_iter().map(|handle| handle.join().unwrap()).collect()
        });
        service = Serving::start(&flags);
        for (writer, all) in written {
            let mut newest = None;
            for sent in &all {
                let again = writer.send(&service.address, sent).unwrap();
                let is_replayed = again.head.contains("idempotent-replayed: true");
                assert!(again.is_success(), "{sent:?}: {again:?}");
                match &sent.answer {
                    Some(first) => {
                        acknowledged += 1;
                        assert!(first.is_success(), "{sent:?}");
                        assert_eq!(
                            (again.status, &again.body, is_replayed),
                            (first.status, &first.body, true),
                            "{sent:?}"
                        );
                    }
                    None => {
                        unanswered += 1;
                        resumed += u32::from(is_replayed);
                    }
                }
                made.insert((sent.kind, sent.key.clone()), sent.made(&again));
                executed += u64::from(sent.kind == "execute");
                newest = if sent.kind == "update" { Some(sent.key.clone()) } else { newest };
            }
            if let Some(newest) = newest {
                let own = service.get(&api_key, &format!("/v1/workspaces/{}", writer.workspace));
                assert_eq!(own["description"], newest, "the last change of {}", writer.workspace);
            }
            writers.push(writer);
        }
    }
    assert!(acknowledged >= ROUNDS * ANSWERED_MIN, "{acknowledged}");
    assert!(unanswered >= ROUNDS, "{unanswered}");
    println!("{acknowledged} writes were acknowledged, {unanswered} not; {resumed} of these were run at the start");

    // Names are the keys: each is there once, with the id that its response named.
    for (kind, path) in [("workspace", "/v1/workspaces"), ("key", "/v1/auth/api-keys")] {
        let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for item in service.all(&api_key, path) {
            found.entry(item["name"].as_str().unwrap().to_owned()).or_default().push(item["id"].clone());
        }
        for ((_, key), id) in made.iter().filter(|((of, _), _)| *of == kind) {
            assert_eq!(found.get(key), Some(&vec![id.clone()]), "{kind} {key}");
        }
    }
    let deployments = service.all(&api_key, "/v1/contracts");
    let ids = |of: &'static str| made.iter().filter(move |((kind, _), _)| *kind == of).map(|(_, id)| id);
    assert_eq!(deployments.len(), ids("deployment").count() + 1, "each once, and the token that was made first");
    for id in ids("deployment") {
        let found = deployments.iter().find(|one| one["id"] == *id).unwrap_or_else(|| panic!("{id} is gone"));
        assert_eq!(found["status"], "deployed", "{found}");
    }
    for hash in ids("transaction").chain(ids("raw")).chain(ids("execute")) {
        let params = json!({ "blockchainId": chain, "transactionHash": hash });
        let call = call("blockchain.getTransaction", params);
        let found = service.request(&api_key, "POST", "/v1/rpc", &call).json();
        assert_eq!(found["result"]["status"], "success", "{hash}: {found}");
    }
    let params = json!({ "blockchainId": chain, "address": PAID });
    let balance = call("blockchain.getBalance", params);
    let paid = service.request(&api_key, "POST", "/v1/rpc", &balance).json()["result"]["balance"].clone();
    let sent: u64 = writers.iter().map(|writer| writer.transactions).sum();
    assert_eq!(paid, sent.to_string(), "each transfer once");
    let params = json!({ "blockchainId": chain, "contractAddress": token, "method": "balanceOf", "args": [PAID] });
    let given = service.request(&api_key, "POST", "/v1/rpc", &call("contract.call", params)).json();
    assert_eq!(given["result"]["result"], executed.to_string(), "each call that the service signed once");
    assert!(executed > 1, "{executed}");
    service.stop();
}
