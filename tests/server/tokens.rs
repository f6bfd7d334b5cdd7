//! Tokens and calls of contracts by the service's routes.

use serde_json::{Value, json};

use crate::http::{Reply, Service};

const BOB: &str = "0x1111111111111111111111111111111111111111";

async fn post(service: &Service, path: &str, body: &Value) -> Reply {
    let bearer = format!("Bearer {}", service.api_key);
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    service.send("POST", path, &headers, &body.to_string()).await
}

async fn get(service: &Service, path: &str) -> Value {
    let bearer = format!("Bearer {}", service.api_key);
    let reply = service.send("GET", path, &[("authorization", bearer.as_str())], "").await;
    assert_eq!(reply.status, 200, "{path}: {}", reply.body);
    reply.json()
}

async fn made(service: &Service, body: &Value) -> Value {
    let reply = post(service, "/v1/tokens", body).await;
    assert_eq!(reply.status, 201, "{}", reply.body);
    assert_eq!(
        reply.header("location"),
        Some(format!("/v1/tokens/{}", reply.json()["data"]["id"].as_str().unwrap()).as_str())
    );
    reply.json()["data"].clone()
}

fn token(standard: &str) -> Value {
    json!({ "blockchainId": "bc_default", "standard": standard, "name": "Gold", "symbol": "GLD" })
}

#[tokio::test]
async fn a_token_is_made_distributed_transferred_and_listed() {
    let service = Service::start().await;
    let mut body = token("ERC20");
    (body["totalSupply"], body["distribution"]) = ("1000".into(), json!([{ "address": BOB, "amount": "300" }]));
    let gold = made(&service, &body).await;
    assert_eq!((gold["status"].as_str(), gold["totalSupply"].as_str()), (Some("deployed"), Some("1000")));
    let id = gold["id"].as_str().unwrap();
    let holders = get(&service, &format!("/v1/tokens/{id}/holders?sort=balance:desc")).await;
    let balances: Vec<_> = holders["data"].as_array().unwrap().iter().map(|one| one["balance"].clone()).collect();
    assert_eq!(balances, ["700", "300"]);

    // The token is a contract: it is called and executed by its functions' names.
    let call = json!({ "method": "balanceOf", "args": [BOB] });
    let answer = post(&service, &format!("/v1/contracts/{id}/call"), &call).await;
    assert_eq!(answer.json()["data"]["result"], "300", "{}", answer.body);
    let transfer = json!({ "method": "transfer", "args": [BOB, "50"] });
    let sent = post(&service, &format!("/v1/contracts/{id}/execute"), &transfer).await;
    assert_eq!((sent.status, sent.json()["data"]["status"].as_str().unwrap()), (200, "success"), "{}", sent.body);
    let transfers = get(&service, &format!("/v1/tokens/{id}/transfers?sort=blockNumber:desc&limit=1")).await;
    assert_eq!((&transfers["data"][0]["amount"], &transfers["pagination"]["total"]), (&json!("50"), &json!(3)));
    let events = get(&service, &format!("/v1/contracts/{id}/events?limit=100")).await;
    let last = events["data"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["event"], &last["args"]["value"]), (&json!("Transfer(address,address,uint256)"), &json!("50")));
    let names = |abi: &Value| abi["data"]["abi"].as_array().unwrap().iter().any(|item| item["name"] == "transfer");
    assert!(names(&get(&service, &format!("/v1/contracts/{id}/abi")).await));

    // What would fail is not sent.
    let before = get(&service, &format!("/v1/tokens/{id}/transfers")).await["pagination"]["total"].clone();
    let too_much = json!({ "method": "transfer", "args": [BOB, "100000"] });
    let refused = post(&service, &format!("/v1/contracts/{id}/execute"), &too_much).await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert!(refused.body.contains("ERC20InsufficientBalance"), "{}", refused.body);
    assert_eq!(get(&service, &format!("/v1/tokens/{id}/transfers")).await["pagination"]["total"], before);
}

#[tokio::test]
async fn every_standard_is_made_and_what_it_can_t_have_is_refused_by_name() {
    let service = Service::start().await;
    for (standard, supply) in [("ERC20", "5"), ("ERC721", "5"), ("ERC1155", "5"), ("ERC4626", "0")] {
        let mut body = token(standard);
        body["totalSupply"] = supply.into();
        let token = made(&service, &body).await;
        assert_eq!((&token["standard"], &token["totalSupply"]), (&json!(standard), &json!(supply)));
    }
    let list = get(&service, "/v1/tokens").await;
    assert_eq!(list["pagination"]["total"], 5, "a vault has an asset of its own: {list}");
    for (standard, field, value, path) in [
        ("ERC721", "decimals", json!(18), "decimals"),
        ("ERC1155", "asset", json!(BOB), "asset"),
        ("ERC4626", "totalSupply", json!("1"), "totalSupply"),
        ("ERC20", "distribution", json!([{ "address": BOB, "amount": "1" }]), "distribution"),
        ("ERC20", "name", json!("a name of more than thirty-one bytes"), "name"),
    ] {
        let mut body = token(standard);
        body[field] = value;
        let refused = post(&service, "/v1/tokens", &body).await;
        assert_eq!(refused.status, 422, "{}", refused.body);
        assert_eq!(refused.json()["error"]["details"]["fields"][0]["path"], path, "{}", refused.body);
    }
    assert_eq!(get(&service, "/v1/tokens").await["pagination"]["total"], 5);
}

#[tokio::test]
async fn a_repeated_execution_is_sent_once() {
    let service = Service::start().await;
    let mut body = token("ERC20");
    body["totalSupply"] = "1000".into();
    let id = made(&service, &body).await["id"].as_str().unwrap().to_owned();
    let bearer = format!("Bearer {}", service.api_key);
    let headers =
        [("authorization", bearer.as_str()), ("content-type", "application/json"), ("idempotency-key", "one-transfer")];
    let transfer = json!({ "method": "transfer", "args": [BOB, "50"] }).to_string();
    let path = format!("/v1/contracts/{id}/execute");
    let first = service.send("POST", &path, &headers, &transfer).await;
    let second = service.send("POST", &path, &headers, &transfer).await;
    assert_eq!((first.status, first.json()["data"].clone()), (200, second.json()["data"].clone()));
    let call = json!({ "method": "balanceOf", "args": [BOB] });
    let balance = post(&service, &format!("/v1/contracts/{id}/call"), &call).await;
    assert_eq!(balance.json()["data"]["result"], "50");
}

#[tokio::test]
async fn tokens_of_every_standard_are_given_once_by_one_key() {
    let service = Service::start().await;
    for (standard, supply, given, wrong) in [
        ("ERC20", "5", json!({ "amount": "2" }), json!({ "amount": "2", "tokenId": "1" })),
        ("ERC721", "5", json!({ "tokenId": "2" }), json!({ "tokenId": "2", "amount": "1" })),
        ("ERC1155", "5", json!({ "tokenId": "1", "amount": "2" }), json!({ "amount": "2" })),
        ("ERC4626", "0", json!({ "amount": "0" }), json!({})),
    ] {
        let mut body = token(standard);
        body["totalSupply"] = supply.into();
        let id = made(&service, &body).await["id"].as_str().unwrap().to_owned();
        let path = format!("/v1/tokens/{id}/transfers");
        let to_bob = |mut moved: Value| {
            moved["to"] = BOB.into();
            moved
        };
        let refused = post(&service, &path, &to_bob(wrong)).await;
        assert_eq!(refused.status, 422, "{standard}: {}", refused.body);
        let field = &refused.json()["error"]["details"]["fields"][0];
        let named = if standard == "ERC721" || standard == "ERC4626" { "amount" } else { "tokenId" };
        assert_eq!(field["path"], named, "{standard}");
        assert_eq!(post(&service, &path, &given).await.status, 422, "{standard}: nobody gets it");
        let before = get(&service, &path).await["pagination"]["total"].as_u64().unwrap();
        let key = format!("give-{standard}");
        let headers = [
            ("x-api-key", service.api_key.as_str()),
            ("content-type", "application/json"),
            ("idempotency-key", key.as_str()),
        ];
        let text = to_bob(given.clone()).to_string();
        let first = service.send("POST", &path, &headers, &text).await;
        let again = service.send("POST", &path, &headers, &text).await;
        assert_eq!((first.status, &first.json()["data"]["status"]), (200, &json!("success")), "{}", first.body);
        assert_eq!((again.status, &again.body), (200, &first.body));
        let after = get(&service, &format!("{path}?sort=blockNumber:desc&limit=1")).await;
        assert_eq!(after["pagination"]["total"].as_u64().unwrap(), before + 1, "{standard}");
        let last = &after["data"][0];
        assert_eq!(last["to"].as_str().unwrap().to_lowercase(), BOB);
        if standard != "ERC721" {
            assert_eq!(last["amount"], given["amount"]);
        }
        assert_eq!(last["tokenId"], given["tokenId"], "{standard}");
        // What would fail is not sent.
        let mut too_much = to_bob(given);
        let field = if standard == "ERC721" { "tokenId" } else { "amount" };
        too_much[field] = "100000".into();
        let refused = post(&service, &path, &too_much).await;
        assert_eq!(refused.status, 409, "{standard}: {}", refused.body);
    }
}
