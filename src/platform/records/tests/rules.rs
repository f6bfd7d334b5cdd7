//! What a collection and a unit of work promise, one by one.

use core::num::NonZeroUsize;
use std::sync::Arc;

use super::notes::{Note, clock, in_memory, limit, open, workspace};
use crate::{
    node::Clock,
    platform::records::{Index, Owner, PageRequest, RecordError, Records, SortKey},
    store::{MemoryStore, Order, testing::FailingStore, testing::WriteFault},
};

fn insert(records: &Records, owner: &Owner, id: &str, note: Note) -> Result<(), RecordError> {
    records.unit(|unit| unit.insert(owner, id, note).map(drop))
}

fn all() -> SortKey {
    SortKey::new()
}

#[test]
fn a_strangers_look_up_is_absent() {
    let records = in_memory();
    let (mine, theirs) = (workspace("ws_a"), workspace("ws_b"));
    insert(&records, &mine, "n1", Note::titled("x")).unwrap();
    let notes = records.of::<Note>();
    assert!(notes.get(&mine, "n1").unwrap().is_some());
    assert!(notes.get(&theirs, "n1").unwrap().is_none());
    assert!(notes.find(&Note::UNIQUE_TITLE, &theirs, &SortKey::new().text("x")).unwrap().is_none());
    assert_eq!(notes.page(&Note::BY_TITLE, &theirs, &all(), &limit(9)).unwrap().total, 0);
    for id in ["", "n1\0", "../n1", "a\0ws_a\0n1", &"n".repeat(65)] {
        assert!(notes.get(&mine, id).unwrap().is_none(), "{id:?}");
        let refused = insert(&records, &mine, id, Note::titled("y")).unwrap_err();
        assert!(matches!(refused, RecordError::InvalidId { .. }), "{refused}");
    }
}

#[test]
fn a_change_of_what_was_changed_meanwhile_is_refused() {
    let records = in_memory();
    let owner = workspace("ws_a");
    insert(&records, &owner, "n1", Note::titled("first")).unwrap();
    let read = records.of::<Note>().require(&owner, "n1").unwrap();
    let retitled = |title: &str| {
        let mut changed = read.clone();
        changed.value.title = title.to_owned();
        records.unit(|unit| unit.replace(&changed))
    };
    let second = retitled("second").unwrap();
    assert_eq!((read.revision(), second.revision()), (1, 2));
    let refused = retitled("third").unwrap_err();
    assert!(matches!(refused, RecordError::Stale { expected: 1, found: 2, .. }), "{refused}");
    let refused = records.unit(|unit| unit.delete(&read)).unwrap_err();
    assert!(matches!(refused, RecordError::Stale { .. }), "{refused}");
    assert_eq!(records.of::<Note>().require(&owner, "n1").unwrap(), second);
    records.unit(|unit| unit.delete(&second)).unwrap();
    let refused = records.unit(|unit| unit.replace(&second)).unwrap_err();
    assert_eq!(refused.to_string(), "note \"n1\" was not found");
}

#[test]
fn what_must_be_unique_is_refused_and_free_again_after_deletion() {
    let records = in_memory();
    let (a, b) = (workspace("ws_a"), workspace("ws_b"));
    let numbered = |title: &str| Note { number: Some(7), ..Note::titled(title) };
    insert(&records, &a, "n1", numbered("x")).unwrap();
    let taken = |result: Result<(), RecordError>| match result.unwrap_err() {
        RecordError::Taken { index, .. } => index,
        other => panic!("{other}"),
    };
    assert_eq!(taken(insert(&records, &a, "n2", Note::titled("x"))), "unique-title");
    assert_eq!(taken(insert(&records, &b, "n2", numbered("y"))), "number", "across owners");
    insert(&records, &b, "n2", Note::titled("x")).unwrap();
    assert!(matches!(insert(&records, &b, "n2", Note::titled("z")).unwrap_err(), RecordError::Exists { .. }));
    let moved = records.unit(|unit| {
        let first = unit.of::<Note>().require(&a, "n1")?;
        unit.delete(&first)?;
        // In the same unit, by another owner.
        unit.insert(&b, "n3", numbered("y"))
    });
    assert_eq!(moved.unwrap().value.number, Some(7));
    assert_eq!(records.verify::<Note>().unwrap(), 2);
}

#[test]
fn pages_are_counted_sorted_and_continued() {
    let records = in_memory();
    let owner = workspace("ws_a");
    for (id, title, shelf) in [("n1", "d", 1), ("n2", "b", 2), ("n3", "a", 1), ("n4", "c", 1), ("n5", "e", 1)] {
        insert(&records, &owner, id, Note { shelf, ..Note::titled(title) }).unwrap();
    }
    let titles = |page: &crate::platform::records::Page<Note>| -> String {
        page.items.iter().map(|note| note.value.title.as_str()).collect()
    };
    let page = |index: &Index<Note>, group: SortKey, request| {
        records.of::<Note>().page(index, &owner, &group, &request).unwrap()
    };
    let number = |number| limit(2).with_number(NonZeroUsize::new(number).unwrap());
    let third = page(&Note::BY_TITLE, all(), number(3));
    assert_eq!((titles(&third).as_str(), third.total, third.next), ("e", 5, None));
    assert!(page(&Note::BY_TITLE, all(), number(4)).items.is_empty());
    assert!(page(&Note::BY_TITLE, all(), number(usize::MAX)).items.is_empty(), "no overflow");
    let down = page(&Note::BY_TITLE, all(), limit(2).in_order(Order::Descending));
    assert_eq!(titles(&down), "ed");
    let cursor = down.next.unwrap();
    assert_eq!(crate::platform::records::Cursor::from_text(&cursor.text()).as_ref(), Some(&cursor));
    // What came and went meanwhile neither repeats nor hides a record.
    insert(&records, &owner, "n6", Note::titled("z")).unwrap();
    records.unit(|unit| unit.delete(&unit.of::<Note>().require(&owner, "n1")?)).unwrap();
    assert_eq!(titles(&page(&Note::BY_TITLE, all(), limit(9).in_order(Order::Descending).after(cursor))), "cba");
    let shelf = page(&Note::BY_SHELF, SortKey::new().number(1), limit(9));
    assert_eq!((titles(&shelf).as_str(), shelf.total), ("ace", 3));
}

/// The place of one more record among those of a group is found in every order and on every page, also before the first and after the last.
#[test]
fn a_page_with_one_more_is_the_part_of_the_list_that_has_it() {
    let records = in_memory();
    let owner = workspace("ws_a");
    for (id, title) in [("n1", "b"), ("n2", "d"), ("n3", "f"), ("n5", "h")] {
        insert(&records, &owner, id, Note { shelf: 1, ..Note::titled(title) }).unwrap();
    }
    for (id, title) in [("n0", "a"), ("n4", "e"), ("n6", "g"), ("n7", "i")] {
        insert(&records, &owner, id, Note { shelf: 2, ..Note::titled(title) }).unwrap();
    }
    let (notes, group) = (records.of::<Note>(), SortKey::new().number(1));
    let page = |more: Option<&str>, request: &PageRequest| {
        let more = more.map(|id| notes.require(&owner, id).unwrap());
        let (items, total) = notes.page_with(&Note::BY_SHELF, &owner, &group, more, request).unwrap();
        (items.iter().map(|note| note.id().to_owned()).collect::<Vec<_>>(), total)
    };
    for (more, mut whole) in [
        (Some("n0"), vec!["n0", "n1", "n2", "n3", "n5"]),
        (Some("n4"), vec!["n1", "n2", "n4", "n3", "n5"]),
        (Some("n6"), vec!["n1", "n2", "n3", "n6", "n5"]),
        (Some("n7"), vec!["n1", "n2", "n3", "n5", "n7"]),
        (Some("n2"), vec!["n1", "n2", "n3", "n5"]),
        (None, vec!["n1", "n2", "n3", "n5"]),
    ] {
        for order in [Order::Ascending, Order::Descending] {
            for (size, number) in (1..=6).flat_map(|size| (1..=7).map(move |number| (size, number))) {
                let request = limit(size).with_number(NonZeroUsize::new(number).unwrap()).in_order(order);
                let part: Vec<String> =
                    whole.iter().skip((number - 1) * size).take(size).map(|&id| id.to_owned()).collect();
                assert_eq!(page(more, &request), (part, whole.len() as u64), "{more:?} {order:?} {size} {number}");
            }
            whole.reverse();
        }
    }
}

#[test]
fn a_counted_page_is_the_same_page() {
    let records = in_memory();
    let owner = workspace("ws_a");
    let page = |request: PageRequest| {
        let page = records.of::<Note>().page(&Note::BY_TITLE, &owner, &all(), &request).unwrap();
        (page.items.iter().map(|note| note.id().to_owned()).collect::<Vec<_>>(), page.total)
    };
    assert_eq!(page(limit(3).counted()), (Vec::new(), 0));
    for number in 0..5 {
        insert(&records, &owner, &format!("n{number}"), Note::titled(&format!("title {number}"))).unwrap();
    }
    for order in [Order::Ascending, Order::Descending] {
        for (number, records_at_once) in [(1, 1), (1, 3), (2, 3), (3, 3), (1, 5), (1, 9), (2, 5)] {
            let request = limit(records_at_once).with_number(NonZeroUsize::new(number).unwrap()).in_order(order);
            assert_eq!(page(request.clone().counted()), page(request), "{order:?}, page {number} of {records_at_once}");
        }
    }
}

#[test]
fn a_unit_that_fails_or_cannot_be_written_changes_nothing() {
    let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let records = open(store.clone());
    let owner = workspace("ws_a");
    let two = |fails: bool| {
        records.unit(|unit| {
            unit.insert(&owner, "n1", Note::titled("x"))?;
            unit.insert(&owner, "n2", Note::titled(if fails { "x" } else { "y" }))?;
            unit.add(&owner, "notes", 2)
        })
    };
    assert!(two(true).is_err(), "the second has the first one's title");
    store.fail(WriteFault::after(0).disk_full());
    assert!(two(false).unwrap_err().to_string().contains("store failed"));
    assert_eq!(records.verify::<Note>().unwrap(), 0);
    store.recover();
    assert_eq!(two(false).unwrap(), 2, "the counter was not moved by what failed");
    let panicked = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
        records.unit(|unit| -> Result<(), RecordError> {
            unit.insert(&owner, "n3", Note::titled("z"))?;
            panic!("as asked")
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(records.verify::<Note>().unwrap(), 2);
    insert(&records, &owner, "n3", Note::titled("z")).unwrap();
}

#[test]
fn a_unit_reads_its_own_changes_in_every_list() {
    let records = in_memory();
    let owner = workspace("ws_a");
    for (id, title) in [("n1", "b"), ("n2", "d"), ("n3", "f")] {
        insert(&records, &owner, id, Note::titled(title)).unwrap();
    }
    let seen = records.unit(|unit| {
        unit.delete(&unit.of::<Note>().require(&owner, "n2")?)?;
        for (id, title) in [("n4", "a"), ("n5", "c"), ("n6", "g")] {
            unit.insert(&owner, id, Note::titled(title))?;
        }
        let mut lists = Vec::new();
        for order in [Order::Ascending, Order::Descending] {
            let mut titles = String::new();
            let mut request = limit(2).in_order(order);
            loop {
                let page = unit.of::<Note>().page(&Note::BY_TITLE, &owner, &all(), &request)?;
                assert_eq!(page.total, 5);
                titles.extend(page.items.iter().map(|note| note.value.title.as_str()));
                let Some(next) = page.next else { break };
                request = request.after(next);
            }
            lists.push(titles);
        }
        Ok::<_, RecordError>(lists)
    });
    assert_eq!(seen.unwrap(), ["abcfg", "gfcba"]);
}

#[test]
fn times_are_the_clocks_and_never_before_creation() {
    let clock = clock();
    let records = Records::open(Arc::new(MemoryStore::new()), clock.clone()).unwrap();
    let owner = workspace("ws_a");
    insert(&records, &owner, "n1", Note::titled("x")).unwrap();
    clock.advance(core::time::Duration::from_secs(5));
    let first = records.of::<Note>().require(&owner, "n1").unwrap();
    let second = records.unit(|unit| unit.replace(&first)).unwrap();
    assert_eq!((second.created_at_ms(), second.updated_at_ms()), (1_000_000, 1_005_000));
    assert_eq!(clock.now_ms(), 1_005_000);
}

#[test]
fn writers_of_several_threads_lose_nothing() {
    let records = in_memory();
    let owner = workspace("ws_a");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (records, owner) = (&records, &owner);
            scope.spawn(move || {
                for number in 0..50 {
                    let id = format!("n{thread}-{number}");
                    records
                        .unit(|unit| {
                            unit.insert(owner, &id, Note::titled(&id))?;
                            unit.add(owner, "notes", 1)
                        })
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(records.verify::<Note>().unwrap(), 200);
    assert_eq!(records.unit(|unit| unit.counter(&owner, "notes")).unwrap(), 200);
}
