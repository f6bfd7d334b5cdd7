//! Requests that were accepted under an idempotency key when the process ended, run to their end at the next start; and those whose end could
//! not be written, run again while the process goes on.

use core::num::NonZeroUsize;

use axum::http::Method;

use super::{
    App,
    envelope::Rendered,
    idempotency::{KeptRequest, close, id_seed},
    request::{Request, RequestId, parse_query},
    rpc_request::{self, Interface},
    service,
};
use crate::{
    platform::{
        PlatformError, Principal,
        records::{Accepted, IdempotentRequest, PageRequest},
    },
    server::{api_error::ApiError, oauth},
};

/// Runs what was accepted before the process ended, each to its end. Where that fails the rest is left open.
///
/// # Errors
/// [`PlatformError`] of reading the records, and where a response can't be kept.
pub(super) async fn resume(app: &App) -> Result<usize, PlatformError> {
    let resumed = resume_unfinished(app).await;
    if resumed.is_err() {
        app.platform().records().leave_unfinished_open()?;
    }
    resumed
}

/// Runs once more what is left open because its end could not be written. What fails again was left again by its own end.
///
/// # Errors
/// As [`resume`], of the last one that failed.
pub(super) async fn resume_left_open(app: &App) -> Result<usize, PlatformError> {
    let (mut resumed, mut failed) = (0_usize, None);
    for place in app.platform().records().open_places() {
        let Some(accepted) = app.platform().records().take_open_at(&place)? else { continue };
        match rerun(app, accepted).await {
            Ok(()) => resumed = resumed.saturating_add(1),
            Err(cause) => failed = Some(cause),
        }
    }
    failed.map_or(Ok(resumed), Err)
}

async fn resume_unfinished(app: &App) -> Result<usize, PlatformError> {
    let mut resumed = 0_usize;
    let page = PageRequest::first(NonZeroUsize::MIN);
    while let Some(accepted) = app.platform().records().unfinished_requests(&page)?.pop() {
        rerun(app, accepted).await?;
        resumed = resumed.saturating_add(1);
    }
    Ok(resumed)
}

/// Reads an accepted request and who sent it.
fn read(app: &App, accepted: &Accepted) -> Option<(Principal, Method, KeptRequest)> {
    let kept = app.platform().idempotency().request(accepted).ok()?;
    let kept: KeptRequest = postcard::from_bytes(&kept).ok()?;
    Some((Principal::of_accepted(accepted)?, Method::from_bytes(kept.method.as_bytes()).ok()?, kept))
}

fn id() -> RequestId {
    RequestId("req_resumed".to_owned())
}

/// Returns the response to a request that can't be run again, in the form that its operation speaks.
fn failure(app: &App, accepted: &Accepted, error: ApiError) -> Rendered {
    match rpc_request::is_operation(&accepted.request().value.operation) {
        true => rpc_request::refused(&error, &id()),
        false => Rendered::of(Err(error), &id(), app.now_ms()),
    }
}

/// Runs an accepted request again, and keeps its response.
async fn rerun(app: &App, accepted: Accepted) -> Result<(), PlatformError> {
    let gone = || ApiError::internal(&"the request was interrupted and this version has no such operation");
    let Some((principal, method, kept)) = read(app, &accepted) else {
        return close(app.platform(), &accepted, &failure(app, &accepted, gone()));
    };
    let path = kept.target.split_once('?').map_or(&*kept.target, |(path, _)| path);
    if oauth::is_registration(path) {
        return oauth::resume_registration(app.platform(), &principal, &accepted, &kept.body, &id());
    }
    let Some((endpoint, variables)) = app.endpoints().find(&method, path) else {
        return close(app.platform(), &accepted, &failure(app, &accepted, gone()));
    };
    let chain = variables.get("blockchainId").map(String::as_str);
    match Interface::again(app, &principal, endpoint, chain) {
        Some(Ok(interface)) => {
            let done = rpc_request::finish(app, &principal, &interface, &kept.body, &accepted, &id()).await;
            done.map(drop).map_err(|cause| PlatformError::internal(cause.message()))
        }
        Some(Err(cause)) => close(app.platform(), &accepted, &failure(app, &accepted, cause.into())),
        None => {
            let (rest, stored) = (app.clone(), accepted.clone());
            let run = move || rerun_rest(&rest, &stored, principal, &method, &kept);
            let rendered = tokio::task::spawn_blocking(run).await;
            let rendered = rendered.unwrap_or_else(|cause| Some(failure(app, &accepted, ApiError::internal(&cause))));
            rendered.map_or(Ok(()), |failed| close(app.platform(), &accepted, &failed))
        }
    }
}

/// Runs an accepted request of REST again; returns the response that is still to be kept.
fn rerun_rest(
    app: &App,
    accepted: &Accepted,
    principal: Principal,
    method: &Method,
    kept: &KeptRequest,
) -> Option<Rendered> {
    let stored = accepted.request();
    let (path, query) = kept.target.split_once('?').unwrap_or((&kept.target, ""));
    let (endpoint, variables) = app.endpoints().find(method, path)?;
    let request = Request {
        id: id(),
        principal: Some(principal),
        path: variables,
        query: parse_query(query),
        id_seed: Some(id_seed(accepted)),
    };
    let body = serde_json::from_slice(&kept.body).unwrap_or_default();
    let rendered = service::execute(app, endpoint, &request, body, Some(accepted));
    // A response that is kept already is no failure; what can't be read may be open.
    let now = app.platform().records().of::<IdempotentRequest>().get(stored.owner(), stored.id());
    let is_closed = now.is_ok_and(|now| now.is_none_or(|now| now.value.is_answered));
    (!is_closed).then_some(rendered)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::server::rest::Outside;
    use crate::{
        node::{BlockRef, Node},
        platform::{
            ApiKeySpec, Blockchain, BlockchainSpec, ChainCommand, ClientRegistration, DEFAULT_BLOCKCHAIN_ID,
            Parameters, Platform, PublicUrl, Scope, Subject, Workspace,
        },
        primitives::{Gas, TransactionRequest, U256},
        server::{
            chains::Chains,
            clock::WallClock,
            limits::ServerLimits,
            rest::idempotency::{Begin, accept},
        },
        store::testing::{FailingStore, MemoryDisk, WriteFault},
    };

    fn app() -> App {
        let spec = BlockchainSpec::read(json!({ "name": "test" })).unwrap();
        let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, Node::new(), 0);
        let platform = Platform::builder(Arc::new(WallClock)).open(chain).unwrap();
        App::new(Chains::new(Arc::new(platform)), ServerLimits::default(), Outside::default())
    }

    fn kept(method: &str, target: &str, body: Value) -> KeptRequest {
        KeptRequest { method: method.to_owned(), target: target.to_owned(), body: body.to_string().into_bytes() }
    }

    /// The process dies after the request was accepted and before its effect: at the next start it runs to its end, once.
    #[tokio::test]
    async fn what_was_accepted_is_run_to_its_end_at_the_next_start() {
        let app = app();
        let principal = app.platform().service_principal();
        let default = format!("/v1/workspaces/{}", principal.owner().as_str());
        let requests = [
            ("create", kept("POST", "/v1/workspaces", json!({ "name": "resumed" })), 201),
            ("delete", kept("DELETE", &default, Value::Null), 409),
            ("gone", kept("POST", "/v1/nothing", Value::Null), 500),
        ];
        let accepted = |key: &str, kept: &KeptRequest| accept(app.platform(), &principal, key, "op", kept);
        for (key, kept, _) in &requests {
            assert!(matches!(accepted(key, kept), Ok(Begin::Run(_))));
            assert_eq!(accepted(key, kept).err().unwrap().status(), 409, "it still runs");
        }
        assert_eq!(resume(&app).await.unwrap(), 3);
        assert_eq!(resume(&app).await.unwrap(), 0);
        for (key, kept, status) in &requests {
            let Ok(Begin::Replay(rendered)) = accepted(key, kept) else { panic!("{key} has a response") };
            assert_eq!(rendered.status().as_u16(), *status, "{key}");
        }
        let names: Vec<String> = app
            .platform()
            .workspaces()
            .of_caller(&principal)
            .unwrap()
            .into_iter()
            .map(|found| found.value.name)
            .collect();
        assert_eq!(names, ["default", "resumed"]);
    }

    /// A user who owns a workspace.
    fn owner(platform: &Platform, email: &str) -> Principal {
        let workspaces = platform.workspaces();
        let user = platform.unit(|unit| workspaces.add_user(unit, email)).unwrap();
        let home = platform.unit(|unit| workspaces.create(unit, user.id(), Workspace::named("home"))).unwrap();
        workspaces.principal(user.id(), home.owner().workspace().unwrap()).unwrap().unwrap()
    }

    /// An API key of a user.
    fn key_of(platform: &Platform, user: &Principal) -> Principal {
        let scopes = [Scope::Admin].into_iter().collect();
        let spec = ApiKeySpec { name: "ci".to_owned(), scopes, lifetime_ms: None };
        let (value, _) = platform.unit(|unit| platform.api_keys().create(unit, user, spec)).unwrap();
        platform.api_keys().authenticate(value.text()).unwrap().unwrap()
    }

    /// An access token that a user has granted in its workspace.
    fn token_of(platform: &Platform, user: &Principal) -> Principal {
        let Subject::User(id) = user.subject() else { panic!("a user consents") };
        let (oauth, issuer) = (platform.oauth(), PublicUrl::new("https://chain.example").unwrap());
        let registration = ClientRegistration::read(&json!({
            "client_name": "App", "redirect_uris": ["https://app.example/cb"],
            "token_endpoint_auth_method": "client_secret_post", "scope": "workspace:read workspace:write",
        }));
        let (client, _) = platform.unit(|unit| oauth.register(unit, user, registration.unwrap())).unwrap();
        let query = format!("client_id={}&response_type=code&state=s", client.id());
        let request = oauth.read_authorization(&Parameters::read(query.as_bytes()), &issuer).unwrap();
        let location = oauth.authorize(&request, id, user.workspace(), &issuer).ok().unwrap().location;
        let code = location.split_once("code=").unwrap().1.split('&').next().unwrap();
        let form = format!("grant_type=authorization_code&code={code}");
        let tokens = oauth.token(&client, &Parameters::read(form.as_bytes())).ok().unwrap();
        oauth.authenticate(tokens.access_token.text()).unwrap().unwrap()
    }

    /// Their sender is who it was: an API key in a workspace that it made, an access token under its grant. What a path has in
    /// percent-encoding is read as the router reads it.
    #[tokio::test]
    async fn what_keys_and_tokens_were_accepted_for_is_run_as_theirs_at_the_next_start() {
        let app = app();
        let platform = app.platform();
        let (workspaces, chains) = (platform.workspaces(), platform.blockchains());
        let (ann, ben) = (owner(platform, "ann@example.org"), owner(platform, "ben@example.org"));
        let (key, token) = (key_of(platform, &ann), token_of(platform, &ann));
        let made = platform.unit(|unit| workspaces.create_by(unit, &key, Workspace::named("made"))).unwrap().0;
        let acting = workspaces.acting_in(&key, made.id()).unwrap();
        let spec = BlockchainSpec::read(json!({ "name": "private", "features": ["privacy"] })).unwrap();
        let chain = chains.create(&key, spec).unwrap();
        platform.unit(|unit| chains.add_participant(unit, &key, chain.id(), ben.subject())).unwrap();
        let participant = ben.subject().to_string().replace(':', "%3A");
        let participant = format!("/v1/blockchains/{}/participants/{participant}", chain.id());
        let requests = [
            (&acting, kept("PATCH", &format!("/v1/workspaces/{}", made.id()), json!({ "name": "renamed" })), 200),
            (&key, kept("DELETE", &participant, Value::Null), 200),
            (&token, kept("POST", "/v1/workspaces", json!({ "name": "granted" })), 201),
        ];
        for (sender, kept, _) in &requests {
            assert!(matches!(accept(platform, sender, &kept.method, "op", kept), Ok(Begin::Run(_))));
        }
        assert_eq!(resume(&app).await.unwrap(), 3);
        for (sender, kept, status) in &requests {
            let replayed = accept(platform, sender, &kept.method, "op", kept);
            let Ok(Begin::Replay(rendered)) = replayed else { panic!("{} has a response", kept.target) };
            assert_eq!(rendered.status().as_u16(), *status, "{}", kept.target);
        }
        assert_eq!(workspaces.get(&acting).unwrap().value.name, "renamed");
        let participants = chains.record(&key, chain.id()).unwrap().value.participants;
        assert_eq!(participants, [ann.subject().clone()]);
        let reached = workspaces.of_caller(&token).unwrap();
        let mut names: Vec<&str> = reached.iter().map(|found| found.value.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["granted", "home"], "what was made is within reach of the grant");
    }

    /// Neither effect nor response can be written: the next request with the key runs it again, or the service by itself, once there is room.
    #[tokio::test]
    async fn what_was_left_open_is_run_again_without_a_start() {
        let disk = Arc::new(MemoryDisk::new());
        let store = Arc::new(FailingStore::new(disk));
        let platform = Platform::builder(Arc::new(WallClock)).with_store(store.clone()).open(None).unwrap();
        let app = App::new(Chains::new(Arc::new(platform)), ServerLimits::default(), Outside::default());
        let principal = app.platform().service_principal();
        let requests = [
            ("first", kept("POST", "/v1/workspaces", json!({ "name": "first" }))),
            ("second", kept("POST", "/v1/workspaces", json!({ "name": "second" }))),
        ];
        let accepted = |(key, kept): &(&str, KeptRequest)| accept(app.platform(), &principal, key, "op", kept);
        let leave = |request| {
            let (Begin::Run(begun) | Begin::Again(begun)) =
                accepted(request).unwrap_or_else(|cause| panic!("{cause:?}"))
            else {
                panic!("it has no response yet")
            };
            store.fail(WriteFault::after(0).disk_full());
            let full = failure(&app, &begun, ApiError::internal(&"the disk is full"));
            assert!(close(app.platform(), &begun, &full).is_err());
        };
        let is_running = |request| accepted(request).is_err_and(|refused| refused.status() == 409);
        leave(&requests[0]);
        leave(&requests[0]);
        assert!(resume_left_open(&app).await.is_err(), "the disk is still full");
        store.recover();
        leave(&requests[1]);
        store.recover();
        assert!(matches!(accepted(&requests[0]), Ok(Begin::Again(_))), "the next request runs it");
        assert!(is_running(&requests[0]), "one of them does");
        assert_eq!(resume_left_open(&app).await.unwrap(), 1, "the service runs the other");
        assert_eq!(resume_left_open(&app).await.unwrap(), 0);
        assert!(matches!(accepted(&requests[1]), Ok(Begin::Replay(_))));
        // As at a start that finds the disk full, and room later.
        store.fail(WriteFault::after(0).disk_full());
        assert!(resume(&app).await.is_err());
        store.recover();
        assert_eq!(resume_left_open(&app).await.unwrap(), 1);
        assert!(matches!(accepted(&requests[0]), Ok(Begin::Replay(_))));
        let made = app.platform().workspaces().of_caller(&principal).unwrap();
        let mut names: Vec<&str> = made.iter().map(|found| found.value.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["default", "first", "second"], "each is made once");
    }

    /// The process dies after the calls had their effect and before their response was kept: at the next start each has it still once.
    #[tokio::test]
    async fn calls_that_were_accepted_have_their_effect_once() {
        let app = app();
        let principal = app.platform().service_principal();
        let node = app.platform().default_blockchain().unwrap().node().clone();
        let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
        let signed = |nonce| {
            let request = TransactionRequest {
                chain_id: Some(31_337),
                nonce,
                to: Some(bob),
                value: U256::from(1),
                gas_limit: Gas::new(21_000),
                max_fee_per_gas: 100_000_000_000,
                ..Default::default()
            };
            request.sign(&node.keys()[2]).unwrap().encoded()
        };
        let call =
            |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let execute = json!({ "contractAddress": bob, "data": "0x", "value": "1", "from": alice });
        let rpc = json!([
            call("contract.execute", execute.clone()),
            call("blockchain.getBlock", json!({})),
            call("contract.execute", execute),
            call("transaction.send", json!({ "signedTransaction": signed(0) })),
        ]);
        let unsigned = json!([{ "from": alice, "to": bob, "value": "0x1" }]);
        let eth = json!([call("eth_sendRawTransaction", json!([signed(1)])), call("eth_sendTransaction", unsigned)]);
        let path = "/v1/blockchains/bc_default/eth";
        let requests = [("rpc", kept("POST", "/v1/rpc", rpc)), ("ethereumRpc", kept("POST", path, eth))];
        let before = node.view().balance(bob, BlockRef::Latest).unwrap();
        let paid = || node.view().balance(bob, BlockRef::Latest).unwrap().saturating_sub(before).to::<u64>();
        for (operation, kept) in &requests {
            let begun = accept(app.platform(), &principal, operation, operation, kept);
            let Ok(Begin::Run(accepted)) = begun else { panic!("{operation} is the first") };
            // What runs before the process dies.
            if *operation == "rpc" {
                let seed = Some(id_seed(&accepted));
                let answered = app.service_rpc.execute(principal.clone(), 10, &kept.body, seed).await;
                assert!(!answered.json.unwrap().get().contains("error"));
            } else {
                let rpc = app.chains.readable_rpc(&principal, DEFAULT_BLOCKCHAIN_ID).unwrap();
                assert!(rpc.http_service().execute(&kept.body, Default::default()).await.is_some());
            }
        }
        assert_eq!(paid(), 5);
        assert_eq!(resume(&app).await.unwrap(), 2);
        assert_eq!(paid(), 5, "nothing is sent twice");
        for (operation, kept) in &requests {
            let Ok(Begin::Replay(rendered)) = accept(app.platform(), &principal, operation, operation, kept) else {
                panic!("{operation} has a response")
            };
            let responses: Value = serde_json::from_slice(&rendered.kept().body).unwrap();
            let responses = responses.as_array().unwrap();
            if *operation == "rpc" {
                for response in [&responses[0], &responses[2], &responses[3]] {
                    assert_eq!(response["result"]["status"], "success", "{response}");
                }
            } else {
                assert!(responses[0]["result"].is_string(), "{responses:?}");
                let message = responses[1]["error"]["message"].as_str().unwrap();
                assert!(message.contains("eth_sendTransaction can't be told from its repetition"), "{message}");
            }
        }
    }

    /// What can't be run again is answered to a repetition in the form that its endpoint speaks: JSON-RPC has no envelope.
    #[tokio::test]
    async fn a_kept_failure_has_the_form_of_its_endpoint() {
        let disk = Arc::new(MemoryDisk::new());
        let platform = Platform::builder(Arc::new(WallClock)).with_store(disk).open(None).unwrap();
        let app = App::new(Chains::new(Arc::new(platform)), ServerLimits::default(), Outside::default());
        let (platform, principal) = (app.platform(), app.platform().service_principal());
        let chains = platform.blockchains();
        let chain = chains.create(&principal, BlockchainSpec::new("stopped")).unwrap().id().to_owned();
        platform.unit(|unit| chains.command(unit, &principal, &chain, ChainCommand::Stop)).unwrap();
        chains.bring_up(&principal, &chain).unwrap();
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": [] });
        let stopped = kept("POST", &format!("/v1/blockchains/{chain}/eth"), call.clone());
        let gone = kept("POST", "/v0/gone", call);
        for (key, operation, kept, status, code) in [
            ("stopped", "ethereumRpc", &stopped, 409, Some("CONFLICT")),
            ("gone", "rpc", &gone, 500, Some("INTERNAL_ERROR")),
            ("rest", "createWorkspace", &gone, 500, None),
        ] {
            assert!(matches!(accept(platform, &principal, key, operation, kept), Ok(Begin::Run(_))), "{key}");
            assert_eq!(resume(&app).await.unwrap(), 1, "{key}");
            let Ok(Begin::Replay(rendered)) = accept(platform, &principal, key, operation, kept) else {
                panic!("{key} has a response")
            };
            let body: Value = serde_json::from_slice(&rendered.kept().body).unwrap();
            assert_eq!(rendered.status().as_u16(), status, "{key}: {body}");
            match code {
                Some(code) => {
                    assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &Value::Null), "{key}: {body}");
                    assert!(body["error"]["code"].is_i64(), "{key}: {body}");
                    assert_eq!(body["error"]["data"]["code"], code, "{key}: {body}");
                }
                None => assert_eq!(body["success"], false, "{key}: {body}"),
            }
        }
    }

    /// What was accepted and had no effect yet has it at the next start.
    #[tokio::test]
    async fn calls_and_registrations_that_were_accepted_are_run_at_the_next_start() {
        let app = app();
        let principal = app.platform().service_principal();
        let node = app.platform().default_blockchain().unwrap().node().clone();
        let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
        let execute = json!({ "contractAddress": bob, "data": "0x", "value": "1", "from": alice });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "contract.execute", "params": execute });
        let client = json!({ "client_name": "App", "redirect_uris": ["https://app.example/back"] });
        let requests = [
            ("rpc", kept("POST", "/v1/rpc", call), 200),
            ("register", kept("POST", "/v1/oauth/register", client), 201),
            ("chain", kept("POST", "/v1/blockchains/bc_none/eth", json!({})), 0),
        ];
        for (key, kept, _) in &requests {
            assert!(matches!(accept(app.platform(), &principal, key, "op", kept), Ok(Begin::Run(_))));
        }
        let before = node.view().balance(bob, BlockRef::Latest).unwrap();
        assert_eq!(resume(&app).await.unwrap(), 3);
        assert_eq!(node.view().balance(bob, BlockRef::Latest).unwrap(), before + U256::from(1));
        for (key, kept, status) in &requests {
            match accept(app.platform(), &principal, key, "op", kept) {
                Ok(Begin::Replay(rendered)) => assert_eq!(rendered.status().as_u16(), *status, "{key}"),
                Ok(Begin::Run(_)) => assert_eq!(*status, 0, "{key}: nothing was begun, the key is free"),
                Ok(Begin::Again(_)) => panic!("{key}: nothing was left open"),
                Err(cause) => panic!("{key}: {cause:?}"),
            }
        }
    }
}
