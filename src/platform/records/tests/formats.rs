//! Formats: of the whole, and of a type of record.

use std::{fs, path::PathBuf, sync::Arc};

use alloy_primitives::hex;
use serde::{Deserialize, Serialize};

use super::notes::{Note, clock, limit, open, sender, workspace};
use crate::{
    platform::records::{
        AuditLine, Index, Migration, Owner, Reach, Record, RecordError, Records, SortKey, rewritten,
        verify::{found_pairs, wanted_pairs},
        view::View,
    },
    store::{Batch, KeyValue, MemoryStore, Table, suite},
};

fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/platform/records/tests/fixtures/format-1.txt")
}

/// A store as format 1 was written, one `key value` a line, in hex.
fn format_1() -> Arc<MemoryStore> {
    let store = MemoryStore::new();
    let mut batch = Batch::new();
    for line in fs::read_to_string(fixture()).unwrap().lines() {
        let (key, value) = line.split_once(' ').unwrap();
        batch.put(Table::Platform, hex::decode(key).unwrap(), hex::decode(value).unwrap());
    }
    store.write(batch).unwrap();
    Arc::new(store)
}

/// Writes a part of every kind. The fixture is made by it: it stays as it is for as long as format 1 is read.
fn fill(records: &Records) {
    let (owner, other) = (workspace("ws_a"), workspace("ws_b"));
    records
        .unit(|unit| {
            unit.insert(&owner, "n1", Note { number: Some(7), ..Note::titled("first") })?;
            unit.insert(&other, "n1", Note { shelf: 3, ..Note::titled("zero \0 in it") })?;
            unit.audit(
                &owner,
                AuditLine {
                    subject: "user:u".into(),
                    action: "note.create".into(),
                    target: "note n1".into(),
                    client: None,
                },
            )?;
            unit.publish(&Owner::Service, "mail", b"hello".to_vec())?;
            unit.add(&owner, "transactions", 258)
        })
        .unwrap();
    let accepted = records.unit(|unit| unit.accept(&owner, &sender("user:u"), "key", "note.create", [7; 32])).unwrap();
    let crate::platform::records::Acceptance::Run(accepted) = accepted else { panic!("it is the first") };
    records.unit(|unit| unit.respond(&accepted)).unwrap();
}

#[test]
fn the_format_is_that_of_the_fixture() {
    let store = Arc::new(MemoryStore::new());
    fill(&open_as(store.clone(), 1, &[]).unwrap());
    let lines: Vec<String> = suite::dump(&*store)
        .iter()
        .map(|(_, key, value)| format!("{} {}\n", hex::encode(key), hex::encode(value)))
        .collect();
    if std::env::var_os("CHAINBOX_BLESS").is_some() {
        fs::write(fixture(), lines.concat()).unwrap();
    }
    assert_eq!(
        lines.concat(),
        fs::read_to_string(fixture()).unwrap(),
        "a changed format needs a number and a migration"
    );
}

/// What format 2 changed is in members of workspaces alone.
#[test]
fn a_store_is_opened_in_the_present_format_and_stays_in_it() {
    for store in [format_1(), Arc::new(MemoryStore::new())] {
        drop(open(store.clone()));
        let opened = suite::dump(&*store);
        assert_eq!(Records::format_of(&*store).unwrap(), Some(2));
        drop(open(store.clone()));
        assert_eq!(suite::dump(&*store), opened);
        Records::check_format(&*store).unwrap();
        let older = Records::check_format_with(&*store, 1, &[]).unwrap_err();
        assert!(matches!(older, RecordError::NewerFormat { found: 2, supported: 1 }), "{older}");
    }
    Records::check_format(&*format_1()).unwrap();
    let unmigrated = Records::check_format_with(&*format_1(), 2, &[]).unwrap_err();
    assert!(matches!(unmigrated, RecordError::NoMigration { found: 1, supported: 2 }), "{unmigrated}");
}

/// The second version of a note: it has a colour, its shelf is gone, and so is the index by shelf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ColouredNote {
    title: String,
    number: Option<u64>,
    colour: String,
}

impl ColouredNote {
    const BY_COLOUR: Index<Self> = Index::ordered(
        "colour",
        Reach::Owner,
        |note| Some(SortKey::new().text(&note.value.colour)),
        |_| SortKey::new(),
    );
}

impl Record for ColouredNote {
    const KIND: &'static str = "note";
    const VERSION: u16 = 2;
    const INDICES: &'static [Index<Self>] = &[Self::BY_COLOUR];

    fn upgrade(version: u16, bytes: &[u8]) -> Option<Self> {
        let old: Note = (version == 1).then(|| postcard::from_bytes(bytes).ok())??;
        Some(Self { title: old.title, number: old.number, colour: format!("shelf {}", old.shelf) })
    }
}

/// Deletes the entries of the old indices and writes those of the new one.
fn to_format_2(store: &dyn KeyValue) -> Result<Batch, RecordError> {
    let mut batch = Batch::new();
    let view = View::stored(store);
    for (key, _) in found_pairs::<Note>(&view)? {
        batch.delete(Table::Platform, key);
    }
    for (key, value) in wanted_pairs::<ColouredNote>(&view)?.1 {
        batch.put(Table::Platform, key, value);
    }
    Ok(batch)
}

const TO_2: Migration = Migration { from: 1, changes: to_format_2 };

fn open_as(store: Arc<dyn KeyValue>, format: u32, migrations: &[Migration]) -> Result<Records, RecordError> {
    Records::open_with(store, clock(), format, migrations)
}

#[test]
fn an_old_store_is_migrated_and_its_records_converted() {
    let store = format_1();
    assert_eq!(open_as(store.clone(), 1, &[]).unwrap().verify::<Note>().unwrap(), 2, "this build reads it");
    let records = open_as(store.clone(), 2, &[TO_2]).unwrap();
    assert_eq!(records.verify::<ColouredNote>().unwrap(), 2);
    let page = records
        .of::<ColouredNote>()
        .page(&ColouredNote::BY_COLOUR, &workspace("ws_b"), &SortKey::new().text("shelf 3"), &limit(9))
        .unwrap();
    assert_eq!((page.total, page.items[0].value.title.as_str()), (1, "zero \0 in it"));
    // What is changed is written in the new version.
    let changed = records.unit(|unit| unit.replace(&page.items[0])).unwrap();
    assert_eq!(records.of::<ColouredNote>().require(&workspace("ws_b"), "n1").unwrap(), changed);
    drop(records);
    open_as(store.clone(), 2, &[TO_2]).unwrap();
    let newer = open_as(store.clone(), 1, &[]).unwrap_err();
    assert!(matches!(newer, RecordError::NewerFormat { found: 2, supported: 1 }));
    assert_eq!(
        newer.to_string(),
        "the platform's records have format 2, this build reads formats up to 1; use the newer chainbox that wrote them, or \
         restore a backup from before"
    );
    let newer = open_as(store, 2, &[]).unwrap().of::<Note>().get(&workspace("ws_b"), "n1").unwrap_err();
    assert!(matches!(newer, RecordError::NewerRecord { found: 2, supported: 1, .. }), "{newer}");
}

/// The notes of format 1 with colours, all but that of one owner.
fn recoloured(store: &dyn KeyValue) -> Result<Batch, RecordError> {
    rewritten::<ColouredNote>(store, &["shelf", "title", "unique-title", "number", "all"], |former| {
        let Note { title, number, shelf } = former.read(1)?;
        let is_kept = *former.owner == workspace("ws_b");
        Ok(is_kept.then(|| ColouredNote { title, number, colour: format!("shelf {shelf}") }))
    })
}

#[test]
fn rewritten_records_keep_their_times_and_no_dropped_index_is_left() {
    let store = format_1();
    let before = open_as(store.clone(), 1, &[]).unwrap().of::<Note>().require(&workspace("ws_b"), "n1").unwrap();
    let records = open_as(store.clone(), 2, &[Migration { from: 1, changes: recoloured }]).unwrap();
    assert_eq!(records.verify::<ColouredNote>().unwrap(), 1);
    let after = records.of::<ColouredNote>().require(&workspace("ws_b"), "n1").unwrap();
    let told = |note: &ColouredNote| (note.title.clone(), note.colour.clone());
    assert_eq!(told(&after.value), (before.value.title.clone(), "shelf 3".to_owned()));
    assert_eq!(
        (after.revision(), after.created_at_ms(), after.updated_at_ms()),
        (before.revision(), before.created_at_ms(), before.updated_at_ms())
    );
    assert_eq!(records.of::<ColouredNote>().get(&workspace("ws_a"), "n1").unwrap(), None);
    let is_of_notes = |key: &[u8]| key.windows(5).any(|part| part == b"note\0");
    let left = suite::dump(&*store).into_iter().filter(|(_, key, _)| is_of_notes(key)).count();
    assert_eq!(left, 1 + 2 * 2, "the record, and an entry and a count in each of two indices");
    // What is not of the former version stops it.
    let again = recoloured(&*store).unwrap_err();
    assert!(matches!(&again, RecordError::Corrupt { id, .. } if id == "n1"), "{again}");
}

#[test]
fn a_migration_that_is_missing_or_interrupted_changes_nothing() {
    let store = format_1();
    let before = suite::dump(&*store);
    let refused = open_as(store.clone(), 3, &[Migration { from: 2, changes: to_format_2 }]).unwrap_err();
    assert!(matches!(refused, RecordError::NoMigration { found: 1, supported: 3 }), "{refused}");
    let failing =
        crate::store::testing::FailingStore::new(store.clone()).with_fault(crate::store::testing::WriteFault::after(0));
    assert!(open_as(Arc::new(failing), 2, &[TO_2]).is_err());
    assert_eq!(suite::dump(&*store), before);
    open_as(store, 2, &[TO_2]).unwrap();
}

#[test]
fn damaged_bytes_are_an_error_that_names_the_record() {
    let store = format_1();
    let key = crate::platform::records::key::record("note", &workspace("ws_a"), "n1");
    let whole = store.get(Table::Platform, &key).unwrap().unwrap().to_vec();
    let mut longer = whole.clone();
    longer.push(0);
    let records = open(store.clone());
    for damaged in (0..whole.len()).map(|length| whole[..length].to_vec()).chain([longer]) {
        let mut batch = Batch::new();
        batch.put(Table::Platform, key.clone(), damaged);
        store.write(batch).unwrap();
        let error = records.of::<Note>().get(&workspace("ws_a"), "n1").unwrap_err();
        assert!(matches!(&error, RecordError::Corrupt { kind: "note", id, .. } if id == "n1"), "{error}");
    }
    let mut batch = Batch::new();
    batch.put(Table::Platform, key, whole);
    batch.delete(Table::Platform, crate::platform::records::key::count("note", "title", "ws_a", b""));
    store.write(batch).unwrap();
    assert!(records.verify::<Note>().is_err(), "a lost count is found");
}
