//! What is kept of idempotent requests, and that none of it is in clear.

use core::{num::NonZeroUsize, time::Duration};
use std::sync::Arc;

use alloy_primitives::hex;
use serde_json::json;

use super::*;
use crate::{
    node::ManualClock,
    platform::{
        ClientRegistration, Parameters, Platform, PublicUrl, Scope, Subject, User, oauth::EndedToken,
        records::IdempotencyError, vault::SealedSecret,
    },
    primitives::Timestamp,
    store::{Batch, KeyValue, MemoryStore, Table, suite, testing::MemoryDisk},
};

const CANARY: &[u8] = b"cbx_canary-0f1e2d3c4b5a69788796a5b4c3d2e1f0";

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(Timestamp::from_secs(1_000)))
}

fn open(store: Arc<dyn KeyValue>, clock: Arc<ManualClock>) -> Platform {
    let key = super::super::vault::MasterKey::new(Zeroizing::new([7; 32]));
    Platform::builder(clock).with_store(store).open_with(None, key, Vec::new()).unwrap()
}

fn limit(limit: usize) -> PageRequest {
    PageRequest::first(NonZeroUsize::new(limit).unwrap())
}

fn accept(platform: &Platform, key: &str, request: &[u8]) -> Result<Begun, PlatformError> {
    accept_of(platform, &platform.service_principal(), key, request)
}

fn accept_of(platform: &Platform, sender: &Principal, key: &str, request: &[u8]) -> Result<Begun, PlatformError> {
    platform.unit(|unit| platform.idempotency().accept(unit, sender, key, "op", request))
}

fn first(platform: &Platform, key: &str, request: &[u8]) -> Accepted {
    let Begun::Run(accepted) = accept(platform, key, request).unwrap() else { panic!("{key} is the first") };
    *accepted
}

fn replay(platform: &Platform, key: &str, request: &[u8]) -> Response {
    let Begun::Replay(response) = accept(platform, key, request).unwrap() else { panic!("{key} has a response") };
    response
}

fn response() -> Response {
    let body = Zeroizing::new([b"{\"key\":\"", CANARY, b"\"}"].concat());
    Response { status: 201, body, request_id: "req_1".to_owned(), location: Some("/v1/things/1".to_owned()) }
}

fn holds(store: &dyn KeyValue, wanted: &[u8]) -> bool {
    let has = |bytes: &[u8]| bytes.windows(wanted.len()).any(|window| window == wanted);
    suite::dump(store).iter().any(|(_, key, value)| has(key) || has(value))
}

#[test]
fn requests_and_responses_are_in_no_byte_of_the_store() {
    let disk = Arc::new(MemoryDisk::new());
    let platform = open(disk.clone(), clock());
    let request = [b"{\"secret\":\"", CANARY, b"\"}"].concat();
    let accepted = first(&platform, "k", &request);
    assert_eq!(*platform.idempotency().request(&accepted).unwrap(), request, "it can be run again");
    platform.unit(|unit| platform.idempotency().respond(unit, &accepted, &response())).unwrap();
    let kept = replay(&platform, "k", &request);
    assert_eq!(kept, response());
    assert!(!format!("{kept:?} {accepted:?}").contains("canary"));
    for crashed in disk.crashes() {
        assert!(!holds(&*crashed, CANARY));
    }
    assert!(holds(&*disk, b"idempotency"), "the search finds what is there");
}

#[test]
fn what_a_former_version_kept_in_clear_is_sealed_at_the_next_start() {
    let store = Arc::new(MemoryStore::new());
    let mut batch = Batch::new();
    for line in include_str!("version-2.txt").lines() {
        let (key, value) = line.split_once(' ').unwrap();
        batch.put(Table::Platform, hex::decode(key).unwrap(), hex::decode(value).unwrap());
    }
    // Format 1, as a store of that version has it.
    batch.put(Table::Platform, b"\xffplatform/f", 1_u32.to_be_bytes());
    store.write(batch).unwrap();
    let in_clear = b"req_1";
    assert!(holds(&*store, in_clear));
    let platform = open(store.clone(), clock());
    assert!(!holds(&*store, in_clear));
    let owner = Owner::Workspace(super::super::records::WorkspaceId::new("ws_a").unwrap());
    let all = platform.records().of::<IdempotentRequest>();
    let stored = all.page(&Index::CREATED, &owner, &SortKey::new(), &limit(2)).unwrap().items.remove(0);
    let kept = platform.idempotency().response(&stored).unwrap();
    assert_eq!((kept.status, kept.body.as_slice(), kept.request_id.as_str()), (201, b"{}".as_slice(), "req_1"));
    assert_eq!(stored.value.fingerprint, platform.context.secret.hash(b"{}"));
    platform.records().verify::<IdempotentRequest>().unwrap();
    drop(platform);
    let again = open(store, clock());
    assert_eq!(again.idempotency().response(&stored).unwrap(), kept);
}

#[test]
fn a_repeated_request_gets_the_first_response() {
    let clock = clock();
    let platform = open(Arc::new(MemoryStore::new()), clock.clone());
    let secrets = || platform.records().verify::<SealedSecret>().unwrap();
    let before = secrets();
    let accepted = first(&platform, "k", b"1");
    assert!(matches!(accept(&platform, "k", b"1"), Err(PlatformError::Conflict { .. })), "it runs");
    let Err(PlatformError::Validation { .. }) = accept(&platform, "k", b"2") else { panic!("another request") };
    let respond = || platform.unit(|unit| platform.idempotency().respond(unit, &accepted, &response()));
    respond().unwrap();
    assert!(respond().is_err(), "there is one response");
    assert_eq!(replay(&platform, "k", b"1"), response());
    // One that was refused before it did anything is forgotten.
    let refused = first(&platform, "other", b"1");
    platform.unit(|unit| platform.idempotency().withdraw(unit, &refused)).unwrap();
    assert_eq!(secrets(), before + 1);
    clock.advance(Duration::from_secs(24 * 60 * 60 - 1));
    assert_eq!(platform.idempotency().forget_expired(&limit(9)).unwrap(), 0);
    assert_eq!(replay(&platform, "k", b"1"), response());
    clock.advance(Duration::from_secs(1));
    let anew = first(&platform, "k", b"2");
    assert_eq!(platform.idempotency().request(&anew).unwrap().as_slice(), b"2", "a day later the key is free");
    platform.unit(|unit| platform.idempotency().respond(unit, &anew, &response())).unwrap();
    clock.advance(Duration::from_secs(24 * 60 * 60));
    assert_eq!(platform.idempotency().forget_expired(&limit(9)).unwrap(), 1);
    assert_eq!(secrets(), before, "the sealed response goes with its record");
    assert_eq!(platform.records().verify::<IdempotentRequest>().unwrap(), 0);
}

/// Takes all that is left open, the oldest first.
fn take_open(platform: &Platform) -> Vec<Accepted> {
    let records = platform.records();
    records.open_places().iter().filter_map(|place| records.take_open_at(place).unwrap()).collect()
}

/// Nobody works on what is left open: the next request runs it, one of several at a time, and nothing of what has its response.
#[test]
fn what_is_left_open_is_run_again_by_one() {
    let clock = clock();
    let platform = open(Arc::new(MemoryStore::new()), clock.clone());
    let requests = platform.idempotency();
    let is_running = |key: &str| matches!(accept(&platform, key, b"1"), Err(PlatformError::Conflict { .. }));
    let accepted = first(&platform, "k", b"1");
    assert!(is_running("k"));
    requests.leave_open(&accepted);
    assert!(matches!(accept(&platform, "k", b"2"), Err(PlatformError::Validation { .. })), "another request");
    let Begun::Again(again) = accept(&platform, "k", b"1").unwrap() else { panic!("it is left open") };
    assert_eq!(*again, accepted);
    assert!(is_running("k"));
    assert_eq!(take_open(&platform), []);
    // The oldest first, and none that was ended or made anew since.
    clock.advance(Duration::from_millis(1));
    let (younger, ended, refused) =
        (first(&platform, "b", b"1"), first(&platform, "c", b"1"), first(&platform, "d", b"1"));
    for left in [&younger, &ended, &refused, &accepted] {
        requests.leave_open(left);
    }
    platform.unit(|unit| requests.respond(unit, &ended, &response())).unwrap();
    platform.unit(|unit| requests.withdraw(unit, &refused)).unwrap();
    assert_eq!(replay(&platform, "c", b"1"), response());
    clock.advance(Duration::from_millis(1));
    first(&platform, "d", b"1");
    assert!(is_running("d"));
    assert_eq!(take_open(&platform), [accepted, younger]);
    assert!(is_running("k") && is_running("b") && is_running("d"), "they are taken");
    platform.records().leave_unfinished_open().unwrap();
    assert_eq!(take_open(&platform).len(), 3);
}

/// Two grants of one user may be of two clients: neither is shown what the other was. All tokens of a grant are one sender.
#[test]
fn a_key_is_of_one_grant() {
    let platform = open(Arc::new(MemoryStore::new()), clock());
    let user = platform.service_principal();
    let under = |grant: &str| user.clone().under_grant(grant.to_owned());
    let [ours, others] = ["gnt_a", "gnt_b"].map(under);
    let Begun::Run(accepted) = accept_of(&platform, &ours, "k", b"1").unwrap() else { panic!("it is the first") };
    platform.idempotency().leave_open(&accepted);
    for sender in [&others, &user] {
        let Ok(Begun::Run(_)) = accept_of(&platform, sender, "k", b"1") else {
            panic!("another sender's key is another")
        };
    }
    assert!(matches!(accept_of(&platform, &ours, "k", b"1"), Ok(Begun::Again(again)) if again == accepted));
    platform.unit(|unit| platform.idempotency().respond(unit, &accepted, &response())).unwrap();
    let Ok(Begun::Replay(kept)) = accept_of(&platform, &under("gnt_a"), "k", b"1") else {
        panic!("it is the same grant")
    };
    assert_eq!(kept, response());
    assert!(
        matches!(accept_of(&platform, &others, "k", b"1"), Err(PlatformError::Conflict { .. })),
        "its own still runs"
    );
}

/// Former versions kept a key under the subject alone, with the grant in the record.
#[test]
fn a_key_of_a_former_version_is_found_by_its_grant() {
    let platform = open(Arc::new(MemoryStore::new()), clock());
    let (user, requests) = (platform.service_principal(), platform.idempotency());
    let accepted = first(&platform, "k", b"1");
    platform.unit(|unit| requests.respond(unit, &accepted, &response())).unwrap();
    let kept = accepted.request();
    let mut former = platform.records().of::<IdempotentRequest>().require(kept.owner(), kept.id()).unwrap();
    (former.value.grant, former.value.workspace) = (Some("gnt_a".to_owned()), None);
    platform.unit(|unit| Ok(unit.replace(&former)?)).unwrap();
    let of = |grant: &str| accept_of(&platform, &user.clone().under_grant(grant.to_owned()), "k", b"1").unwrap();
    assert!(matches!(of("gnt_b"), Begun::Run(_)), "another grant's key is another");
    let Begun::Replay(replayed) = of("gnt_a") else { panic!("it has a response") };
    assert_eq!(replayed, response());
}

/// A sender in other workspaces than its own.
fn in_workspaces<const N: usize>(sender: &Principal, ids: [&str; N]) -> [Principal; N] {
    ids.map(|id| sender.in_workspace(WorkspaceId::new(id).unwrap(), sender.scopes().clone()))
}

/// Another request is refused in whatever workspace it is sent. The first one is run again in the workspace that it was sent in.
#[test]
fn a_key_stands_for_one_request_in_all_workspaces() {
    let platform = open(Arc::new(MemoryStore::new()), clock());
    let (at_home, requests) = (platform.service_principal(), platform.idempotency());
    let [one, two] = in_workspaces(&at_home, ["ws_one", "ws_two"]);
    let check_others = || {
        for sender in [&at_home, &one, &two] {
            let other = accept_of(&platform, sender, "k", b"2");
            let id = sender.workspace().as_str();
            assert!(matches!(other, Err(PlatformError::Validation { .. })), "another request in {id}");
        }
    };
    let Begun::Run(accepted) = accept_of(&platform, &one, "k", b"1").unwrap() else { panic!("it is the first") };
    check_others();
    assert_eq!(Principal::of_accepted(&accepted), Some(one.clone()));
    requests.leave_open(&accepted);
    check_others();
    assert!(matches!(accept_of(&platform, &one, "k", b"1"), Ok(Begun::Again(again)) if again == accepted));
    platform.unit(|unit| requests.respond(unit, &accepted, &response())).unwrap();
    check_others();
    let Ok(Begun::Replay(kept)) = accept_of(&platform, &one, "k", b"1") else { panic!("it has a response") };
    assert_eq!(kept, response());
    assert_eq!(platform.records().verify::<IdempotentRequest>().unwrap(), 1);
}

/// Former versions kept a key in the workspace that the request's path named.
#[test]
fn a_key_of_a_former_version_is_found_in_the_workspace_of_its_path() {
    let clock = clock();
    let platform = open(Arc::new(MemoryStore::new()), clock.clone());
    let (user, requests) = (platform.service_principal(), platform.idempotency());
    let secrets = || platform.records().verify::<SealedSecret>().unwrap();
    let before = secrets();
    let [one, two] = in_workspaces(&user, ["ws_one", "ws_two"]);
    let former = Principal::new(user.subject().clone(), one.workspace().clone(), user.scopes().clone());
    let Begun::Run(accepted) = accept_of(&platform, &former, "k", b"1").unwrap() else { panic!("it is the first") };
    let mut stored = accepted.request().clone();
    (stored.value.home, stored.value.workspace) = (Some(user.workspace().clone()), None);
    platform.unit(|unit| Ok(unit.replace(&stored)?)).unwrap();

    requests.leave_open(&accepted);
    let Ok(Begun::Again(open)) = accept_of(&platform, &one, "k", b"1") else { panic!("it is left open") };
    assert_eq!(Principal::of_accepted(&open), Some(one.clone()));
    assert!(matches!(accept_of(&platform, &one, "k", b"2"), Err(PlatformError::Validation { .. })), "another request");
    platform.unit(|unit| requests.respond(unit, &open, &response())).unwrap();
    let Ok(Begun::Replay(kept)) = accept_of(&platform, &one, "k", b"1") else { panic!("it has a response") };
    assert_eq!(kept, response());
    for (sender, is_found) in [(&one, true), (&two, false)] {
        let id = sender.workspace().as_str();
        let found = requests.answered(&user, Some(id), "k", "op", b"1").unwrap();
        assert_eq!(found.is_some(), is_found, "{id}");
    }

    clock.advance(Duration::from_secs(24 * 60 * 60));
    assert!(matches!(accept_of(&platform, &one, "k", b"2"), Ok(Begun::Run(_))), "a day later the key is free");
    assert_eq!(requests.forget_expired(&limit(9)).unwrap(), 1);
    assert_eq!(secrets(), before + 1, "the sealed response goes with its record");
}

/// What a response shows may need what its request was permitted.
#[test]
fn a_response_is_shown_to_who_may_do_as_much() {
    let platform = open(Arc::new(MemoryStore::new()), clock());
    let whole = platform.service_principal();
    let accepted = first(&platform, "k", b"1");
    platform.unit(|unit| platform.idempotency().respond(unit, &accepted, &response())).unwrap();
    let scopes = [Scope::WorkspaceWrite].into_iter().collect();
    let narrow = Principal::new(whole.subject().clone(), whole.workspace().clone(), scopes);
    let Err(PlatformError::Forbidden { message }) = accept_of(&platform, &narrow, "k", b"1") else {
        panic!("it may do less")
    };
    assert!(message.contains("was permitted admin, this one is not"), "{message}");
    assert_eq!(replay(&platform, "k", b"1"), response());
}

#[test]
fn a_key_has_a_length() {
    let platform = open(Arc::new(MemoryStore::new()), clock());
    for (key, is_fine) in [("", false), (&"é".repeat(255), true), (&"é".repeat(256), false)] {
        let accepted = accept(&platform, key, b"1");
        assert_eq!(accepted.is_ok(), is_fine, "{key}");
        if let Err(refused) = accepted {
            let characters = key.chars().count();
            assert_eq!(refused, IdempotencyError::KeyLength { characters }.into());
        }
    }
}

/// The sender of a request that ends its own access is still known by what it sends, and gets the response to that request alone.
#[test]
fn who_has_ended_its_own_access_gets_the_response_again() {
    let clock = clock();
    let platform = open(Arc::new(MemoryStore::new()), clock.clone());
    let requests = platform.idempotency();
    let (value, other) = (platform.create_api_key("a", &[Scope::Admin]), platform.create_api_key("b", &[Scope::Admin]));
    let (value, other) = (value.unwrap(), other.unwrap());
    let keys = platform.api_keys();
    let key = keys.authenticate(value.text()).unwrap().unwrap();
    let Ok(Begun::Run(accepted)) = accept_of(&platform, &key, "k", b"1") else { panic!("it is the first") };
    let known = || keys.identify(value.text()).unwrap().unwrap();
    let answered = |sender: &Principal, key: &str, operation: &str, request: &[u8]| {
        requests.answered(sender, None, key, operation, request).unwrap()
    };
    assert_eq!(answered(&known(), "k", "op", b"1"), None, "it still runs");
    let Subject::ApiKey(id) = key.subject() else { panic!("it is a key") };
    platform
        .unit(|unit| {
            keys.revoke(unit, &key, id)?;
            requests.respond(unit, &accepted, &response())
        })
        .unwrap();
    assert_eq!(keys.authenticate(value.text()).unwrap(), None);
    assert!(known().scopes().is_empty(), "it may do nothing");
    assert_eq!(answered(&known(), "k", "op", b"1"), Some(response()));
    for (key, operation, request) in [("other", "op", b"1"), ("k", "other", b"1"), ("k", "op", b"2")] {
        assert_eq!(answered(&known(), key, operation, request), None, "{key} {operation}");
    }
    let stranger = keys.identify(other.text()).unwrap().unwrap();
    assert_eq!(answered(&stranger, "k", "op", b"1"), None, "keys of two callers never meet");
    for workspace in ["ws_default", "ws_other", "no id"] {
        let found = requests.answered(&known(), Some(workspace), "k", "op", b"1").unwrap();
        assert_eq!(found, Some(response()), "a key is its sender's, whatever workspace is named: {workspace}");
    }
    assert!(keys.identify("cbx_wrong").unwrap().is_none());
    clock.advance(Duration::from_secs(24 * 60 * 60));
    assert_eq!(answered(&known(), "k", "op", b"1"), None, "it is kept for a day");
}

/// An access token of a user who has consented in its first workspace, for a client of the service's own.
fn access_token(platform: &Platform, user: &Stored<User>) -> String {
    let (oauth, service) = (platform.oauth(), platform.service_principal());
    let metadata =
        json!({ "client_name": "App", "redirect_uris": ["https://app.example/cb"], "scope": "workspace:write" });
    let registration = ClientRegistration::read(&metadata).unwrap();
    let (client, _) = platform.unit(|unit| oauth.register(unit, &service, registration)).unwrap();
    let url = PublicUrl::new("https://chain.example").unwrap();
    let query = format!("client_id={}&response_type=code&state=s", client.id());
    let request = oauth.read_authorization(&Parameters::read(query.as_bytes()), &url).unwrap();
    let home = user.value.home.as_ref().unwrap();
    let location = oauth.authorize(&request, user.id(), home, &url).ok().unwrap().location;
    let code = location.split("code=").nth(1).unwrap().split('&').next().unwrap();
    let form = format!("grant_type=authorization_code&code={code}");
    oauth.token(&client, &Parameters::read(form.as_bytes())).unwrap().access_token.text().to_owned()
}

/// A token that is gone with its grant is known by the one request that ended it, until it would have expired, and by nothing else.
#[test]
fn who_has_ended_its_own_grant_gets_the_response_again() {
    let (clock, store) = (clock(), Arc::new(MemoryStore::new()));
    let platform = open(store.clone(), clock.clone());
    let [ann, bob] = ["ann", "bob"].map(|name| {
        let email = format!("{name}@example.org");
        platform.users().by_identity("https://id.example", name, Some(&email)).unwrap()
    });
    let (token, others) = (access_token(&platform, &ann), access_token(&platform, &bob));
    let sender = platform.oauth().authenticate(&token).unwrap().unwrap();
    let Ok(Begun::Run(accepted)) = accept_of(&platform, &sender, "k", b"1") else { panic!("it is the first") };
    let deleted = platform.unit(|unit| {
        platform.workspaces().delete(unit, &sender)?;
        platform.idempotency().respond(unit, &accepted, &response())
    });
    deleted.unwrap();
    drop(platform);

    let platform = open(store, clock.clone());
    let (oauth, home) = (platform.oauth(), ann.value.home.unwrap());
    let answered = |sender: &Principal, key: &str, request: &[u8]| {
        platform.idempotency().answered(sender, Some(home.as_str()), key, "op", request).unwrap()
    };
    assert_eq!(oauth.authenticate(&token).unwrap(), None);
    let known = oauth.identify(&token).unwrap().unwrap();
    assert!(known.scopes().is_empty(), "it may do nothing");
    assert_eq!(answered(&known, "k", b"1"), Some(response()));
    for (key, request) in [("other", b"1"), ("k", b"2")] {
        assert_eq!(answered(&known, key, request), None, "{key}");
    }
    let stranger = oauth.identify(&others).unwrap().unwrap();
    assert_eq!(answered(&stranger, "k", b"1"), None, "keys of two callers never meet");

    clock.advance(Duration::from_secs(3_599));
    assert_eq!(oauth.forget_expired(&limit(9)).unwrap(), 0);
    assert_eq!(oauth.identify(&token).unwrap(), Some(known));
    clock.advance(Duration::from_secs(1));
    assert_eq!(oauth.identify(&token).unwrap(), None);
    assert_eq!(oauth.forget_expired(&limit(9)).unwrap(), 2, "it, and the other's access token");
    assert_eq!(platform.records().verify::<EndedToken>().unwrap(), 0);
}
