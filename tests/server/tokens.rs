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

/// Calls that features allow, with the supply of 5 after each, and what goes to somebody else unless it is paused.
fn feature_calls(standard: &str, owner: &str) -> ([(Value, &'static str); 3], Value) {
    let call = |method: &str, args: Value| json!({ "method": method, "args": args });
    let (minted, burnt, moved) = match standard {
        "ERC20" => {
            let (mint, burn) = (call("mint", json!([BOB, "3"])), call("burn", json!(["1"])));
            ((mint, "8"), (burn, "7"), json!({ "to": BOB, "amount": "1" }))
        }
        "ERC721" => {
            let (mint, burn) = (call("safeMint(address,uint256)", json!([BOB, "9"])), call("burn", json!(["1"])));
            ((mint, "6"), (burn, "5"), json!({ "to": BOB, "tokenId": "2" }))
        }
        "ERC1155" => {
            let (mint, burn) = (call("mint", json!([BOB, "1", "3", "0x"])), call("burn", json!([owner, "1", "1"])));
            ((mint, "8"), (burn, "7"), json!({ "to": BOB, "tokenId": "1", "amount": "1" }))
        }
        other => panic!("say here what {other} mints and burns"),
    };
    let paused = (call("pause", json!([])), burnt.1);
    ([minted, burnt, paused], moved)
}

#[tokio::test]
async fn the_chain_enforces_which_features_a_token_has() {
    let service = Service::start().await;
    let owner = service.platform.default_blockchain().unwrap().node().accounts()[0].to_string();
    for (standard, is_on) in ["ERC20", "ERC721", "ERC1155"].into_iter().flat_map(|one| [(one, true), (one, false)]) {
        let mut body = token(standard);
        body["totalSupply"] = "5".into();
        if is_on {
            body["features"] = json!({ "mintable": true, "burnable": true, "pausable": true });
        }
        let id = made(&service, &body).await["id"].as_str().unwrap().to_owned();
        let (calls, moved) = feature_calls(standard, &owner);
        for (call, supply) in calls {
            let reply = post(&service, &format!("/v1/contracts/{id}/execute"), &call).await;
            let (status, supply) = if is_on { (200, supply) } else { (409, "5") };
            assert_eq!(reply.status, status, "{standard} {call}: {}", reply.body);
            if is_on {
                assert_eq!(reply.json()["data"]["status"], "success", "{standard} {call}");
            } else {
                assert!(reply.body.contains("the call fails"), "{standard} {call}: {}", reply.body);
            }
            let shown = get(&service, &format!("/v1/tokens/{id}")).await;
            assert_eq!(shown["data"]["totalSupply"], supply, "{standard} {call}");
        }
        let transfer = post(&service, &format!("/v1/tokens/{id}/transfers"), &moved).await;
        let status = if is_on { 409 } else { 200 };
        assert_eq!(transfer.status, status, "{standard}, paused: {is_on}: {}", transfer.body);
    }
}

/// Makes a chain whose operator is the wallet of the workspace, and lets its treasury pay a token to the wallet.
async fn chain_of_the_wallet(service: &Service, wallet: &Value) -> Value {
    let body = json!({ "name": "own", "validators": [{ "address": wallet }] });
    let made = service.rest("POST", "/v1/blockchains", body).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let chain = made.json()["data"].clone();
    assert_ne!(&chain["treasury"], wallet);
    let params = json!({
        "blockchainId": chain["id"], "contractAddress": wallet, "data": "0x", "value": "1000000000000000000", "from": chain["treasury"],
    });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "contract.execute", "params": params });
    let paid = service.rest("POST", "/v1/rpc", call).await.json();
    assert_eq!(paid["result"]["status"], "success", "{paid}");
    chain
}

#[tokio::test]
async fn who_names_no_sender_acts_by_the_workspaces_wallet() {
    let service = Service::start().await;
    let wallet = get(&service, "/v1/workspaces/ws_default").await["data"]["wallet"].clone();
    assert!(wallet.is_string());
    let chain = chain_of_the_wallet(&service, &wallet).await;
    let mut body = token("ERC20");
    body["blockchainId"] = chain["id"].clone();
    (body["totalSupply"], body["distribution"]) = ("1000".into(), json!([{ "address": BOB, "amount": "300" }]));
    let gold = made(&service, &body).await;
    assert_eq!(gold["from"], wallet);
    let holders =
        get(&service, &format!("/v1/tokens/{}/holders?sort=balance:desc", gold["id"].as_str().unwrap())).await;
    assert_eq!((&holders["data"][0]["address"], &holders["data"][0]["balance"]), (&wallet, &json!("700")));

    let note = json!({ "blockchainId": chain["id"], "title": "A note", "type": "text" });
    let note = post(&service, "/v1/governance/proposals", &note).await;
    assert_eq!(note.status, 201, "{}", note.body);
    let proposal = note.json()["data"].clone();
    assert_eq!(proposal["proposer"], wallet);
    let path = format!("/v1/governance/proposals/{}/vote", proposal["id"].as_str().unwrap());
    let vote = post(&service, &path, &json!({ "vote": "yes" })).await;
    assert!(matches!(vote.status, 200 | 201), "{}", vote.body);
    assert_eq!(vote.json()["data"]["voter"], wallet);
}

/// The sender has a little more with each attempt: while it can't pay vault and token, nothing is made.
#[tokio::test]
async fn a_vault_that_its_sender_can_t_pay_leaves_no_token() {
    let service = Service::start().await;
    let wallet = get(&service, "/v1/workspaces/ws_default").await["data"]["wallet"].clone();
    let account = service.platform.default_blockchain().unwrap().node().accounts()[0].to_string();
    let mut vault = token("ERC4626");
    vault["from"] = wallet.clone();
    let mut refused = 0;
    loop {
        let made = post(&service, "/v1/tokens", &vault).await;
        let listed = get(&service, "/v1/tokens").await["pagination"]["total"].clone();
        if made.status == 201 {
            assert_eq!(listed, 2, "the vault and its asset");
            break;
        }
        assert_eq!(made.json()["error"]["code"], "INSUFFICIENT_BALANCE", "{}", made.body);
        assert_eq!(listed, 0, "after {refused} more");
        refused += 1;
        assert!(refused < 400, "{}", made.body);
        let params = json!({
            "blockchainId": "bc_default", "contractAddress": wallet, "data": "0x", "value": "50000000000000", "from": account,
        });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "contract.execute", "params": params });
        let paid = service.rest("POST", "/v1/rpc", call).await.json();
        assert_eq!(paid["result"]["status"], "success", "{paid}");
    }
    assert!(refused > 2, "{refused}");
}

/// A struct is an object with its members by name, or an array of their values; an integer is decimal.
#[tokio::test]
async fn a_token_is_listed_on_a_marketplace_by_a_struct_in_both_forms() {
    let service = Service::start().await;
    let mut body = token("ERC721");
    body["totalSupply"] = "2".into();
    let art = made(&service, &body).await;
    let deployment = json!({ "blockchainId": "bc_default", "template": "marketplace", "params": {} });
    let market = post(&service, "/v1/contracts/deploy", &deployment).await;
    assert_eq!(market.status, 201, "{}", market.body);
    let market = market.json()["data"].clone();
    let execute = async |contract: &Value, method: &str, args: Value| {
        let path = format!("/v1/contracts/{}/execute", contract["id"].as_str().unwrap());
        post(&service, &path, &json!({ "method": method, "args": args })).await
    };
    let approved = execute(&art, "setApprovalForAll", json!([market["contractAddress"], true])).await;
    assert_eq!(approved.status, 200, "{}", approved.body);
    let (native, collection) = (format!("0x{}", "0".repeat(40)), art["contractAddress"].clone());
    let by_name = json!({
        "assetContract": collection, "tokenId": "1", "quantity": 1, "currency": native, "pricePerToken": "1000",
        "startTimestamp": 0, "endTimestamp": "0", "reservedFor": native,
    });
    let by_place = json!([collection, 2, "1", native, 1000, "0", 0, native]);
    for listing in [&by_name, &by_place] {
        let listed = execute(&market, "createListing", json!([listing])).await;
        assert_eq!((listed.status, &listed.json()["data"]["status"]), (200, &json!("success")), "{}", listed.body);
    }
    let path = format!("/v1/contracts/{}/call", market["id"].as_str().unwrap());
    let total = post(&service, &path, &json!({ "method": "totalListings" })).await;
    assert_eq!(total.json()["data"]["result"], "2", "{}", total.body);

    for (member, value, refused) in [
        ("tokenId", json!(""), "args[0].tokenId"),
        ("pricePerToken", json!("1_000"), "args[0].pricePerToken"),
        ("colour", json!(1), "args[0].colour"),
    ] {
        let mut wrong = by_name.clone();
        wrong[member] = value;
        let reply = execute(&market, "createListing", json!([wrong])).await;
        assert_eq!(reply.status, 422, "{}", reply.body);
        assert_eq!(reply.json()["error"]["details"]["fields"][0]["path"], refused, "{}", reply.body);
    }
    let reply = execute(&art, "approve", json!([BOB, ""])).await;
    assert_eq!(reply.status, 422, "{}", reply.body);
    assert_eq!(reply.json()["error"]["details"]["fields"][0]["path"], "args[1]", "{}", reply.body);
}
