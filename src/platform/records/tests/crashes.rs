//! What a crash leaves: whole units, in their order.

use std::sync::Arc;

use super::notes::{Note, limit, open, sender, workspace};
use crate::{
    platform::records::{Acceptance, AuditLine, Owner, Records, SortKey},
    store::testing::MemoryDisk,
};

/// One unit with a part of every kind: a note, a line of the audit log, a message and a counter.
fn add_note(records: &Records, owner: &Owner, number: u64) {
    records
        .unit(|unit| {
            unit.insert(owner, &format!("n{number}"), Note::titled(&number.to_string()))?;
            let (action, target) = ("note.create".to_owned(), format!("note n{number}"));
            unit.audit(owner, AuditLine { subject: "user:usr_1".to_owned(), action, target, client: None })?;
            unit.publish(owner, "note.created", number.to_be_bytes().to_vec())?;
            unit.add(owner, "notes", 1)
        })
        .unwrap();
}

#[test]
fn every_crash_leaves_whole_units() {
    let disk = Arc::new(MemoryDisk::new());
    let owner = workspace("ws_a");
    let records = open(disk.clone());
    for number in 1..=5 {
        add_note(&records, &owner, number);
    }
    let last = records.of::<Note>().require(&owner, "n5").unwrap();
    records.unit(|unit| unit.delete(&last)).unwrap();
    // The first write is the format's.
    let notes_left = [0, 1, 2, 3, 4, 5, 4];
    let crashes = disk.crashes();
    assert_eq!(crashes.len(), notes_left.len());
    for (crashed, left) in crashes.into_iter().zip(notes_left) {
        let records = open(crashed);
        assert_eq!(records.verify::<Note>().unwrap(), left);
        let done = records.unit(|unit| unit.counter(&owner, "notes")).unwrap();
        assert_eq!(records.verify::<AuditLine>().unwrap(), done);
        let messages = records.due_messages(&limit(9)).unwrap();
        let numbers: Vec<u64> =
            messages.iter().map(|m| u64::from_be_bytes(m.value.payload[..].try_into().unwrap())).collect();
        assert_eq!(numbers, (1..=done).collect::<Vec<_>>());
        // It goes on as if nothing had happened.
        add_note(&records, &owner, 99);
        assert_eq!(records.verify::<Note>().unwrap(), left + 1);
    }
}

#[test]
fn an_accepted_request_is_found_after_a_crash_and_run_once() {
    let disk = Arc::new(MemoryDisk::new());
    let owner = workspace("ws_a");
    let accept = |records: &Records| {
        records.unit(|unit| unit.accept(&owner, &sender("user:usr_1"), "retry me", "note.create", [1; 32]))
    };
    let finish = |records: &Records| {
        for accepted in records.unfinished_requests(&limit(9)).unwrap() {
            let finished = records.unit(|unit| {
                unit.insert(&owner, "n1", Note::titled("1"))?;
                unit.respond(&accepted)
            });
            finished.unwrap();
        }
    };
    let records = open(disk.clone());
    assert!(matches!(accept(&records).unwrap(), Acceptance::Run(_)));
    finish(&records);
    let wanted = [(0, 0), (0, 1), (1, 0)];
    let crashes = disk.crashes();
    assert_eq!(crashes.len(), wanted.len());
    for (crashed, (notes, unfinished)) in crashes.into_iter().zip(wanted) {
        let records = open(crashed);
        assert_eq!(records.verify::<Note>().unwrap(), notes);
        assert_eq!(records.unfinished_requests(&limit(9)).unwrap().len(), unfinished);
        finish(&records);
        let repeated = accept(&records);
        if notes + unfinished as u64 > 0 {
            assert!(matches!(repeated.unwrap(), Acceptance::Repeated(_)));
            assert_eq!(records.of::<Note>().count(&Note::BY_TITLE, &owner, &SortKey::new()).unwrap(), 1);
        } else {
            assert!(matches!(repeated.unwrap(), Acceptance::Run(_)));
        }
    }
}

#[cfg(feature = "rocksdb")]
#[test]
fn a_database_on_disk_holds_them_over_a_reopening() {
    use crate::store::{RocksOptions, RocksStore};

    let folder = tempfile::tempdir().unwrap();
    let owner = workspace("ws_a");
    for round in 0..3 {
        let store = RocksStore::open(folder.path(), RocksOptions::default()).unwrap();
        let records = open(Arc::new(store));
        assert_eq!(records.verify::<Note>().unwrap(), round);
        add_note(&records, &owner, round);
        let page = records.of::<Note>().page(&Note::BY_TITLE, &owner, &SortKey::new(), &limit(9)).unwrap();
        assert_eq!((page.total, page.items.len() as u64), (round + 1, round + 1));
        let refused = records.unit(|unit| unit.insert(&owner, "n0", Note::titled("again"))).unwrap_err();
        assert!(matches!(refused, crate::platform::records::RecordError::Exists { .. }));
    }
}
