//! What takes records from the front of a group finds all of them, and passes nothing that it took before.

use std::sync::Arc;

use super::notes::{Note, in_memory, limit, open, workspace};
use crate::{
    platform::records::{Owner, RecordError, Records, SortKey, Unit},
    store::{
        MemoryStore,
        testing::{FailingStore, WriteFault},
    },
};

fn insert(records: &Records, owner: &Owner, title: &str) {
    records.unit(|unit| unit.insert(owner, &format!("n{title}"), Note::titled(title)).map(drop)).unwrap();
}

/// Deletes the first `count` notes by title; returns their titles.
fn take(records: &Records, owner: &Owner, count: usize) -> Result<String, RecordError> {
    records.unit(|unit| {
        let page = unit.front(&Note::BY_TITLE, owner, &SortKey::new(), &limit(count).counted())?;
        page.items.iter().try_for_each(|note| unit.delete(note))?;
        Ok(page.items.iter().map(|note| note.value.title.as_str()).collect())
    })
}

#[test]
fn records_are_taken_from_the_front_also_where_one_is_put_before_it() {
    let records = in_memory();
    let (owner, other) = (workspace("ws_a"), workspace("ws_b"));
    for title in ["b", "c", "d", "e", "f"] {
        insert(&records, &owner, title);
    }
    insert(&records, &other, "a");
    let take = |count| take(&records, &owner, count).unwrap();
    assert_eq!(take(2), "bc");
    assert_eq!(take(1), "d");
    insert(&records, &owner, "a");
    insert(&records, &owner, "c");
    assert_eq!(take(1), "a");
    assert_eq!(take(1), "c");
    // By a change of what lies behind the front.
    let mut moved = records.of::<Note>().require(&owner, "nf").unwrap();
    moved.value.title = "b".to_owned();
    records.unit(|unit| unit.replace(&moved)).unwrap();
    assert_eq!(take(9), "be");
    assert_eq!(take(9), "");
    insert(&records, &owner, "a");
    assert_eq!(take(9), "a", "of a group that had none");
    assert_eq!(records.verify::<Note>().unwrap(), 1);
}

/// The first note by title, as a unit sees it.
fn front(unit: &mut Unit<'_>, owner: &Owner) -> Result<String, RecordError> {
    let page = unit.front(&Note::BY_TITLE, owner, &SortKey::new(), &limit(1))?;
    Ok(page.items[0].id().to_owned())
}

#[test]
fn a_unit_sees_what_it_puts_before_the_front() {
    let records = in_memory();
    let owner = workspace("ws_a");
    ["m", "n", "o"].iter().for_each(|title| insert(&records, &owner, title));
    assert_eq!(take(&records, &owner, 1).unwrap(), "m");
    assert_eq!(take(&records, &owner, 1).unwrap(), "n");
    for (title, expected) in [("k", ["no", "nk"]), ("j", ["nk", "nj"])] {
        let seen = records.unit(|unit| {
            let before = front(unit, &owner)?;
            unit.insert(&owner, &format!("n{title}"), Note::titled(title))?;
            Ok::<_, RecordError>([before, front(unit, &owner)?])
        });
        assert_eq!(seen.unwrap(), expected);
    }
    assert_eq!(take(&records, &owner, 9).unwrap(), "jko");
}

#[test]
fn what_a_failed_unit_took_is_still_at_the_front() {
    let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let records = open(store.clone());
    let owner = workspace("ws_a");
    ["a", "b", "c"].iter().for_each(|title| insert(&records, &owner, title));
    store.fail(WriteFault::after(0));
    for _ in 0..2 {
        assert!(take(&records, &owner, 2).is_err());
    }
    store.recover();
    assert_eq!(take(&records, &owner, 2).unwrap(), "ab");
    // One that is refused before it is written.
    let refused = records.unit(|unit| {
        let page = unit.front(&Note::BY_TITLE, &owner, &SortKey::new(), &limit(1))?;
        unit.delete(&page.items[0])?;
        let rest = unit.front(&Note::BY_TITLE, &owner, &SortKey::new(), &limit(1))?;
        assert!(rest.items.is_empty());
        unit.delete(&page.items[0])
    });
    assert!(matches!(refused, Err(RecordError::Missing { .. })), "{refused:?}");
    assert_eq!(take(&records, &owner, 2).unwrap(), "c");
}

/// A store remembers what was deleted for long: what walks there again costs by what once was.
#[cfg(feature = "rocksdb")]
#[test]
fn what_was_taken_is_not_passed_again() {
    use crate::store::{RocksOptions, RocksStore, deleted_keys_passed};

    let folder = tempfile::tempdir().unwrap();
    let records = open(Arc::new(RocksStore::open(folder.path(), RocksOptions::default()).unwrap()));
    let owner = workspace("ws_a");
    let (rounds, at_once) = (20_u64, 10);
    for number in 0..200 {
        insert(&records, &owner, &format!("{number:04}"));
    }
    let before = deleted_keys_passed();
    for round in 0..rounds {
        assert_eq!(take(&records, &owner, at_once).unwrap().len(), 4 * at_once, "round {round}");
    }
    let passed = deleted_keys_passed() - before;
    assert!(passed <= rounds * 2 * u64::try_from(at_once).unwrap(), "{passed} in {rounds} rounds");
}
