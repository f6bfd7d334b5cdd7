//! Modules of chains by the service's routes: on running chains, before the start, by a vote.

use core::time::Duration;
use std::sync::Arc;

use chainbox::{node::ManualClock, primitives::Timestamp, store::testing::MemoryDisk};
use serde_json::{Value, json};

use crate::http::{Reply, Service};

async fn ok(service: &Service, method: &str, path: &str, body: Value) -> Value {
    let reply = service.rest(method, path, body).await;
    assert!(matches!(reply.status, 200 | 201), "{method} {path}: {}", reply.body);
    if reply.status == 201 {
        let found = service.rest("GET", reply.header("location").unwrap(), Value::Null).await;
        assert_eq!(found.json()["data"], reply.json()["data"], "{path}");
    }
    reply.json()["data"].clone()
}

async fn refused(service: &Service, method: &str, path: &str, body: Value) -> String {
    let reply = service.rest(method, path, body).await;
    assert_eq!(reply.status, 409, "{method} {path}: {}", reply.body);
    reply.json()["error"]["message"].as_str().unwrap().to_owned()
}

/// Makes a chain; returns its path.
async fn chain(service: &Service, body: Value) -> String {
    format!("/v1/blockchains/{}", ok(service, "POST", "/v1/blockchains", body).await["id"].as_str().unwrap())
}

/// Code of a contract of a module.
async fn code(service: &Service, chain: &str, module: &Value, name: &str) -> String {
    let contracts = module["contracts"].as_array().unwrap();
    let address = &contracts.iter().find(|contract| contract["name"] == name).unwrap()["address"];
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_getCode", "params": [address, "latest"] });
    let reply: Reply = service.rest("POST", &format!("{chain}/eth"), call).await;
    reply.json()["result"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn modules_are_enabled_changed_and_disabled_and_outlive_the_process() {
    let disk = Arc::new(MemoryDisk::new());
    let service = Service::stored(disk.clone()).await;
    let chain = chain(&service, json!({ "name": "x" })).await;
    let all = format!("{chain}/modules");
    let documented = json!({
        "module": "defi",
        "config": { "features": ["dex", "lending", "staking"], "swapFee": "0.3", "liquidationThreshold": "80" },
    });
    let defi = ok(&service, "POST", &all, documented.clone()).await;
    assert_eq!(
        (&defi["status"], &defi["sinceBlock"], &defi["config"]),
        (&json!("enabled"), &json!(1), &documented["config"])
    );
    for name in ["router", "factory", "lending", "price-feed", "staking", "token", "wrapped-native"] {
        assert!(code(&service, &chain, &defi, name).await.len() > 2, "{name}");
    }
    for module in ["nft", "dao"] {
        let made = ok(&service, "POST", &all, json!({ "module": module })).await;
        assert_eq!(made["status"], "enabled", "{made}");
    }
    assert!(refused(&service, "POST", &all, documented).await.contains("is enabled"));
    for module in ["bridge", "oracle", "identity", "privacy", "storage"] {
        let message = refused(&service, "POST", &all, json!({ "module": module })).await;
        assert!(message.contains("defi, nft, dao"), "{message}");
    }
    let wrong = service.rest("POST", &all, json!({ "module": "defi", "config": { "swapFee": "1" } })).await;
    assert_eq!(wrong.status, 422, "{}", wrong.body);
    let field = wrong.json()["error"]["details"]["fields"][0].clone();
    assert_eq!(field["path"], "config.swapFee");
    assert!(field["expected"].as_str().unwrap().starts_with("0.3"), "{field}");
    let off = ok(&service, "DELETE", &format!("{all}/dao"), Value::Null).await;
    assert_eq!(off["status"], "disabled");
    assert!(code(&service, &chain, &off, "governor").await.len() > 2, "its contracts stay");
    let resources = ok(&service, "GET", "/v1/resources?type=module&sort=name", Value::Null).await;
    let names: Vec<&Value> = resources.as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["dao", "defi", "nft"]);
    let before = ok(&service, "GET", &all, Value::Null).await;
    drop(service);
    let service = Service::stored(disk).await;
    assert_eq!(ok(&service, "GET", &all, Value::Null).await, before);
    ok(&service, "POST", &all, json!({ "module": "dao" })).await;
}

#[tokio::test]
async fn a_chain_that_starts_later_has_its_modules_from_block_0_on() {
    let service = Service::start().await;
    let chain = chain(&service, json!({ "name": "x", "start": false })).await;
    let path = |rest: &str| format!("{chain}/{rest}");
    let created = ok(&service, "GET", &chain, Value::Null).await;
    assert_eq!((&created["status"], &created["genesisHash"]), (&json!("created"), &Value::Null));
    assert!(refused(&service, "POST", &path("pause"), Value::Null).await.contains("created"));
    let made = ok(&service, "POST", &path("modules"), json!({ "module": "defi" })).await;
    assert_eq!((&made["status"], &made["sinceBlock"]), (&json!("pending"), &Value::Null));
    ok(&service, "POST", &path("modules"), json!({ "module": "nft" })).await;
    ok(&service, "DELETE", &path("modules/nft"), Value::Null).await;
    let started = ok(&service, "POST", &path("start"), Value::Null).await;
    assert_eq!((&started["status"], &started["currentBlock"]), (&json!("running"), &json!(0)));
    let found = ok(&service, "GET", &path("modules"), Value::Null).await;
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert_eq!((&found[0]["status"], &found[0]["sinceBlock"]), (&json!("enabled"), &json!(0)));
    assert_eq!(found[0]["contracts"], made["contracts"]);
    assert!(code(&service, &chain, &found[0], "router").await.len() > 2);
    // A chain that never starts is deleted.
    let other = self::chain(&service, json!({ "name": "y", "start": false })).await;
    ok(&service, "DELETE", &other, Value::Null).await;
    assert_eq!(service.rest("GET", &other, Value::Null).await.status, 404);
}

/// Makes a proposal, votes for it and lets its time pass: the next block counts the votes, and executes.
async fn vote_through(service: &Service, clock: &ManualClock, proposal: &Value) {
    let made = ok(service, "POST", "/v1/governance/proposals", proposal.clone()).await;
    let path = format!("/v1/governance/proposals/{}", made["id"].as_str().unwrap());
    ok(service, "POST", &format!("{path}/vote"), json!({ "vote": "yes" })).await;
    // Blocks on demand are a second apart, so that the chain may be ahead of the clock.
    clock.advance(Duration::from_secs(30));
    let id = &proposal["blockchainId"];
    let token = json!({ "blockchainId": id, "standard": "ERC20", "name": "Gold", "symbol": "GLD" });
    ok(service, "POST", "/v1/tokens", token).await;
    assert_eq!(ok(service, "GET", &path, Value::Null).await["status"], "executed");
}

#[tokio::test]
async fn where_governance_owns_the_modules_a_vote_comes_first() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_750_000_000)));
    let service = Service::timed(clock.clone()).await;
    let chain = chain(&service, json!({ "name": "x", "config": { "upgrades": "governance" } })).await;
    let (id, all) = (chain.rsplit('/').next().unwrap(), format!("{chain}/modules"));
    let config = json!({ "features": ["dex"] });
    let body = json!({ "module": "defi", "config": config });
    let message = refused(&service, "POST", &all, body.clone()).await;
    assert!(message.contains("module-enable"), "{message}");
    let proposal = json!({
        "blockchainId": id, "title": "Exchange", "type": "module-enable", "votingPeriod": "10s",
        "changes": { "module": "defi", "config": config },
    });
    for (changes, status, said) in [
        (json!({ "module": "bridge" }), 409, "this build has no module bridge"),
        (json!({ "module": "none" }), 422, "changes.module"),
        (json!({ "module": "defi", "version": 2 }), 422, "changes.version"),
        (json!({ "module": "defi", "config": { "colour": "red" } }), 422, "changes.config.colour"),
        (json!({ "module": "dao", "config": { "quorum": "101" } }), 422, "changes.config.quorum"),
    ] {
        let mut unknown = proposal.clone();
        unknown["changes"] = changes;
        let refused = service.rest("POST", "/v1/governance/proposals", unknown).await;
        assert_eq!(refused.status, status, "{}", refused.body);
        assert!(refused.body.contains(said), "{}", refused.body);
    }
    vote_through(&service, &clock, &proposal).await;
    let voted = ok(&service, "GET", &format!("{all}/defi"), Value::Null).await;
    assert_eq!((&voted["status"], &voted["contracts"]), (&json!("approved"), &json!([])), "no contract is made yet");
    let other = refused(&service, "POST", &all, json!({ "module": "defi" })).await;
    assert!(other.contains("propose"), "another configuration: {other}");
    let wired = ok(&service, "POST", &all, body.clone()).await;
    assert_eq!((&wired["status"], &wired["configHash"]), (&json!("enabled"), &voted["configHash"]));
    assert!(code(&service, &chain, &wired, "router").await.len() > 2);
    assert!(refused(&service, "POST", &all, body).await.contains("is enabled"));

    // A vote for more parts waits for their contracts.
    let (mut more, config) = (proposal.clone(), json!({ "features": ["dex", "staking"] }));
    more["changes"]["config"] = config.clone();
    vote_through(&service, &clock, &more).await;
    let voted = ok(&service, "GET", &format!("{all}/defi"), Value::Null).await;
    assert_eq!((&voted["status"], &voted["contracts"]), (&json!("approved"), &wired["contracts"]));
    assert_ne!(voted["configHash"], wired["configHash"], "that of the registry");
    let wired = ok(&service, "POST", &all, json!({ "module": "defi", "config": config })).await;
    assert_eq!((&wired["status"], &wired["configHash"]), (&json!("enabled"), &voted["configHash"]));
    let message = refused(&service, "DELETE", &format!("{all}/defi"), Value::Null).await;
    assert!(message.contains("module-disable"), "{message}");
    let off = json!({
        "blockchainId": id, "title": "No exchange", "type": "module-disable", "votingPeriod": "10s",
        "changes": { "module": "defi" },
    });
    vote_through(&service, &clock, &off).await;
    let off = ok(&service, "GET", &format!("{all}/defi"), Value::Null).await;
    assert_eq!((&off["status"], &off["contracts"]), (&json!("disabled"), &wired["contracts"]));

    // Where the treasury decides, nobody votes on modules.
    let chain = self::chain(&service, json!({ "name": "y" })).await;
    let mut proposal = proposal;
    proposal["blockchainId"] = chain.rsplit('/').next().unwrap().into();
    let message = refused(&service, "POST", "/v1/governance/proposals", proposal).await;
    assert!(message.contains("ModulesNotOwned"), "{message}");
}

/// A token with more than votes can count, which no genesis and no transaction can make.
#[tokio::test]
async fn a_supply_that_no_votes_can_count_is_refused_before_and_after_the_start() {
    let service = Service::start().await;
    // 2^208 has 63 digits; more are refused by their number.
    let past = "411376139330301510538742295639337626245683966408394965837152256";
    for (starts, supply, expected) in
        [(false, past.to_owned(), "at most 2^208 - 1"), (true, format!("1{}", "0".repeat(70)), "^[0-9]{1,63}$")]
    {
        let chain = chain(&service, json!({ "name": "x", "start": starts })).await;
        let token = json!({ "name": "G", "symbol": "G", "totalSupply": supply });
        for module in ["defi", "nft", "dao"] {
            let body = json!({ "module": module, "config": { "token": token } });
            let refused = service.rest("POST", &format!("{chain}/modules"), body).await;
            assert_eq!(refused.status, 422, "{module}: {}", refused.body);
            let field = refused.json()["error"]["details"]["fields"][0].clone();
            assert_eq!(field["path"], "config.token.totalSupply", "{field}");
            assert!(field["expected"].as_str().unwrap().contains(expected), "{field}");
        }
        assert_eq!(ok(&service, "GET", &format!("{chain}/modules"), Value::Null).await, json!([]));
        if !starts {
            assert_eq!(ok(&service, "POST", &format!("{chain}/start"), Value::Null).await["status"], "running");
        }
    }
    let health = service.send("GET", "/v1/health", &[], "").await;
    assert_eq!(health.json()["data"]["services"]["blockchain"], "healthy", "{}", health.body);
}

/// What modules need of each other holds for votes as it does where the treasury decides, and about one module there is one vote at a time.
#[tokio::test]
async fn votes_on_modules_keep_what_others_need_and_come_one_after_the_other() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_750_000_000)));
    let service = Service::timed(clock.clone()).await;
    let chain = chain(&service, json!({ "name": "x", "config": { "upgrades": "governance" } })).await;
    let (id, modules, proposals) =
        (chain.rsplit('/').next().unwrap(), format!("{chain}/modules"), "/v1/governance/proposals");
    let proposal = |kind: &str, changes: Value| {
        let mut body = json!({ "blockchainId": id, "title": "A module", "type": kind, "votingPeriod": "10s" });
        body["changes"] = changes;
        body
    };
    let enabling =
        |module: &str, config: &Value| proposal("module-enable", json!({ "module": module, "config": config }));
    let disabling = |module: &str| proposal("module-disable", json!({ "module": module }));
    let market = json!({ "features": ["marketplace"], "token": "defi" });
    let message = refused(&service, "POST", proposals, enabling("nft", &market)).await;
    assert!(message.contains("the module defi, which is not enabled"), "{message}");
    for module in ["defi", "none"] {
        let message = refused(&service, "POST", proposals, disabling(module)).await;
        assert!(message.contains(&format!("no module {module} is enabled")), "{message}");
    }
    let nowhere = json!({ "token": "0x1111111111111111111111111111111111111111" });
    for (config, path) in
        [(nowhere, "changes.config.token"), (json!({ "votingPeriod": "1d" }), "changes.config.votingPeriod")]
    {
        let wrong = service.rest("POST", proposals, enabling("dao", &config)).await;
        assert_eq!(wrong.status, 422, "{}", wrong.body);
        assert_eq!(wrong.json()["error"]["details"]["fields"][0]["path"], path, "{}", wrong.body);
    }
    for (module, config) in [("defi", &json!({ "features": ["staking"] })), ("nft", &market)] {
        vote_through(&service, &clock, &enabling(module, config)).await;
        let made = ok(&service, "POST", &modules, json!({ "module": module, "config": config })).await;
        assert_eq!(made["status"], "enabled", "{made}");
    }
    let message = refused(&service, "POST", proposals, disabling("defi")).await;
    assert!(message.contains("the module nft works with the token of defi"), "{message}");

    let open = ok(&service, "POST", proposals, disabling("nft")).await;
    let (name, more) = (open["id"].as_str().unwrap(), json!({ "token": "defi" }));
    for second in [disabling("nft"), enabling("nft", &more)] {
        let message = refused(&service, "POST", proposals, second).await;
        assert!(message.contains(name) && message.contains("about the module nft"), "{message}");
    }
    ok(&service, "POST", proposals, proposal("text", json!({}))).await;
    let canceled = ok(&service, "POST", &format!("{proposals}/{name}/cancel"), json!({})).await;
    assert_eq!(canceled["proposal"]["status"], "canceled", "{canceled}");
    ok(&service, "POST", proposals, enabling("nft", &more)).await;
    // The end of this one's time is not seen before the next block.
    clock.advance(Duration::from_secs(30));
    let token = json!({ "blockchainId": id, "standard": "ERC20", "name": "Gold", "symbol": "GLD" });
    ok(&service, "POST", "/v1/tokens", token).await;
    for module in ["nft", "defi"] {
        vote_through(&service, &clock, &disabling(module)).await;
    }
}

#[tokio::test]
async fn a_repeated_request_enables_once() {
    let service = Service::start().await;
    let chain = chain(&service, json!({ "name": "x" })).await;
    let headers =
        [("x-api-key", service.api_key.as_str()), ("content-type", "application/json"), ("idempotency-key", "defi")];
    let body = json!({ "module": "defi" }).to_string();
    let first = service.send("POST", &format!("{chain}/modules"), &headers, &body).await;
    let again = service.send("POST", &format!("{chain}/modules"), &headers, &body).await;
    assert_eq!((first.status, again.status, &first.body), (201, 201, &again.body));
    assert_eq!(ok(&service, "GET", &chain, Value::Null).await["currentBlock"], 1);
}
