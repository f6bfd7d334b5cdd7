//! The audit log, the outbox and idempotent requests.

use core::time::Duration;
use std::sync::Arc;

use super::notes::{clock, limit, sender, workspace};
use crate::{
    platform::{
        Scope, ScopeSet,
        records::{
            Acceptance, AuditLine, IdempotencyError, IdempotentRequest, Index, OutboxEntry, Owner, PageRequest, Record,
            Records, SortKey, WorkspaceId,
        },
    },
    store::MemoryStore,
};

#[test]
fn lines_of_one_moment_keep_their_order() {
    let records = Records::open(Arc::new(MemoryStore::new()), clock()).unwrap();
    let owner = workspace("ws_a");
    for number in 0..20 {
        let line = AuditLine {
            subject: "user:u".to_owned(),
            action: "test".to_owned(),
            target: format!("note n{number}"),
            client: None,
        };
        records.unit(|unit| unit.audit(&owner, line)).unwrap();
    }
    let page = records.of::<AuditLine>().page(&Index::CREATED, &owner, &SortKey::new(), &limit(100)).unwrap();
    let targets: Vec<&str> = page.items.iter().map(|line| line.value.target.as_str()).collect();
    assert_eq!(targets, (0..20).map(|number| format!("note n{number}")).collect::<Vec<_>>());
}

#[test]
fn messages_are_due_in_their_order_and_postponed_after_a_failure() {
    let clock = clock();
    let records = Records::open(Arc::new(MemoryStore::new()), clock.clone()).unwrap();
    for word in ["one", "two"] {
        records.unit(|unit| unit.publish(&Owner::Service, "mail", word.as_bytes().to_vec())).unwrap();
    }
    let due = || -> Vec<Vec<u8>> {
        records.due_messages(&limit(9)).unwrap().into_iter().map(|message| message.value.payload).collect()
    };
    assert_eq!(due(), [b"one", b"two"]);
    let first = records.due_messages(&limit(1)).unwrap().remove(0);
    records.unit(|unit| unit.postpone(&first, unit.now_ms() + 5_000)).unwrap();
    assert_eq!(due(), [b"two"]);
    clock.advance(Duration::from_secs(5));
    assert_eq!(due(), [b"two", b"one"]);
    let failed = records.of::<OutboxEntry>().require(&Owner::Service, first.id()).unwrap();
    assert_eq!(failed.value.failures, 1);
    records.unit(|unit| unit.delete(&failed)).unwrap();
    assert!(records.unit(|unit| unit.postpone(&failed, 0)).is_err(), "it was delivered meanwhile");
    assert_eq!(due(), [b"two"]);
}

#[test]
fn a_repeated_request_gets_the_first_response() {
    let clock = clock();
    let records = Records::open(Arc::new(MemoryStore::new()), clock.clone()).unwrap();
    let owner = workspace("ws_a");
    let accept = |subject: &str, key: &str, fingerprint: u8| {
        records.unit(|unit| unit.accept(&owner, &sender(subject), key, "op", [fingerprint; 32]))
    };
    let is_repeated = |fingerprint| matches!(accept("user:a", "k", fingerprint), Ok(Acceptance::Repeated(_)));
    let Acceptance::Run(accepted) = accept("user:a", "k", 1).unwrap() else { panic!("it is the first") };
    assert!(matches!(accept("user:a", "k", 1), Err(IdempotencyError::Running)));
    assert!(matches!(accept("user:a", "k", 2), Err(IdempotencyError::OtherRequest)));
    assert!(matches!(accept("user:b", "k", 2), Ok(Acceptance::Run(_))), "another caller's key is another key");
    records.unit(|unit| unit.respond(&accepted)).unwrap();
    assert!(records.unit(|unit| unit.respond(&accepted)).is_err(), "there is one response");
    assert!(is_repeated(1));
    // One that was refused before it did anything is forgotten.
    let Acceptance::Run(refused) = accept("user:a", "other", 1).unwrap() else { panic!("it is the first") };
    records.unit(|unit| unit.withdraw(&refused)).unwrap();
    assert!(matches!(accept("user:a", "other", 2), Ok(Acceptance::Run(_))));
    clock.advance(Duration::from_secs(24 * 60 * 60 - 1));
    assert!(is_repeated(1));
    assert_eq!(forget(&records, &limit(9)), 0);
    clock.advance(Duration::from_secs(1));
    assert!(matches!(accept("user:a", "k", 2), Ok(Acceptance::Run(_))), "a day later the key is free");
    assert_eq!(records.verify::<IdempotentRequest>().unwrap(), 3);
}

/// Deletes what has expired; returns how many.
fn forget(records: &Records, page: &PageRequest) -> usize {
    let forgotten = records.unit(|unit| {
        let expired = unit.expired_requests(page)?;
        expired.iter().try_for_each(|accepted| unit.withdraw(accepted))?;
        Ok::<_, crate::platform::records::RecordError>(expired.len())
    });
    forgotten.unwrap()
}

#[test]
fn keys_have_a_length_and_old_responses_are_forgotten() {
    let clock = clock();
    let records = Records::open(Arc::new(MemoryStore::new()), clock.clone()).unwrap();
    let owner = workspace("ws_a");
    let accept = |key: &str| records.unit(|unit| unit.accept(&owner, &sender("user:a"), key, "op", [0; 32]));
    assert!(matches!(accept(""), Err(IdempotencyError::KeyLength { characters: 0 })));
    assert!(matches!(accept(&"é".repeat(256)), Err(IdempotencyError::KeyLength { characters: 256 })));
    for key in [&"é".repeat(255), "\0/any characters \u{1f600}", "k"] {
        let Acceptance::Run(accepted) = accept(key).unwrap() else { panic!("it is the first") };
        if key != "k" {
            records.unit(|unit| unit.respond(&accepted)).unwrap();
        }
    }
    clock.advance(Duration::from_secs(24 * 60 * 60));
    assert_eq!(forget(&records, &limit(1)), 1);
    assert_eq!(forget(&records, &limit(9)), 1);
    assert_eq!(records.unfinished_requests(&limit(9)).unwrap().len(), 1, "what runs is never forgotten");
}

#[test]
fn a_request_of_the_first_version_is_read() {
    let old = ("user:u", "note.create", b"{}".to_vec(), Some((201_u16, b"done".to_vec())), 5_u64);
    let read = <IdempotentRequest as Record>::upgrade(1, &postcard::to_allocvec(&old).unwrap()).unwrap();
    let former = read.former.unwrap();
    let response = former.response.unwrap();
    assert_eq!((read.subject.as_str(), read.is_answered, read.expires_at_ms), ("user:u", true, 5));
    assert_eq!((former.request.as_slice(), response.status), (b"{}".as_slice(), 201));
    assert_eq!(response.body.as_slice(), b"done");
    assert_eq!(<IdempotentRequest as Record>::upgrade(0, &[]), None);
}

#[test]
fn a_request_of_the_third_version_is_read_without_home_and_grant() {
    let scopes: ScopeSet = [Scope::BlockchainRead].into_iter().collect();
    let old = ("key:k", &scopes, "note.create", [7_u8; 32], false, 5_u64);
    let read = <IdempotentRequest as Record>::upgrade(3, &postcard::to_allocvec(&old).unwrap()).unwrap();
    assert_eq!((read.subject.as_str(), &read.scopes, read.operation.as_str()), ("key:k", &scopes, "note.create"));
    assert_eq!((read.fingerprint, read.is_answered, read.expires_at_ms), ([7; 32], false, 5));
    assert_eq!((read.home, read.grant, read.workspace, read.former), (None, None, None, None));
}

#[test]
fn a_request_of_the_fourth_version_is_read_without_the_workspace_that_its_sender_acts_in() {
    let (scopes, home) = ([Scope::BlockchainRead].into_iter().collect::<ScopeSet>(), WorkspaceId::new("ws_a"));
    let old = ("user:u", &scopes, "note.create", [7_u8; 32], true, 5_u64, &home, Some("gnt_a"));
    let read = <IdempotentRequest as Record>::upgrade(4, &postcard::to_allocvec(&old).unwrap()).unwrap();
    assert_eq!((read.subject.as_str(), &read.scopes, read.operation.as_str()), ("user:u", &scopes, "note.create"));
    assert_eq!((read.fingerprint, read.is_answered, read.expires_at_ms), ([7; 32], true, 5));
    assert_eq!((read.home, read.grant.as_deref()), (home, Some("gnt_a")));
    assert_eq!((read.workspace, read.former), (None, None));
}
