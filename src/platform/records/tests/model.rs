//! The records against a naive model: a map of everything, sorted again for each list.

use core::num::NonZeroUsize;
use std::{collections::BTreeMap, sync::Arc};

use proptest::prelude::*;

use super::notes::{Note, open, workspace};
use crate::{
    platform::records::{Index, Owner, PageRequest, RecordError, Records, SortKey, Stored},
    store::{
        KeyValue, Order,
        testing::{FailingStore, MemoryDisk, WriteFault},
    },
};

const OWNERS: u8 = 2;
const IDS: u8 = 6;

#[derive(Clone, Debug)]
enum Change {
    Insert {
        owner: u8,
        id: u8,
        title: u8,
        number: Option<u64>,
        shelf: u8,
    },
    /// Of the record as it is, or as it was one revision ago.
    Replace {
        owner: u8,
        id: u8,
        title: u8,
        number: Option<u64>,
        shelf: u8,
        is_stale: bool,
    },
    Delete {
        owner: u8,
        id: u8,
        is_stale: bool,
    },
}

#[derive(Clone, Debug)]
enum Step {
    Unit(Vec<Change>),
    /// A unit whose batch can't be written.
    FailedUnit(Vec<Change>),
    Reopen,
    List {
        owner: u8,
        index: u8,
        limit: usize,
        descending: bool,
    },
}

fn change() -> impl Strategy<Value = Change> {
    let note = || (0..OWNERS, 0..IDS, 0..4_u8, proptest::option::weighted(0.4, 0..3_u64), 0..3_u8);
    prop_oneof![
        3 => note().prop_map(|(owner, id, title, number, shelf)| Change::Insert { owner, id, title, number, shelf }),
        2 => (note(), any::<bool>()).prop_map(|((owner, id, title, number, shelf), is_stale)| {
            Change::Replace { owner, id, title, number, shelf, is_stale }
        }),
        1 => (0..OWNERS, 0..IDS, any::<bool>()).prop_map(|(owner, id, is_stale)| Change::Delete { owner, id, is_stale }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => proptest::collection::vec(change(), 1..4).prop_map(Step::Unit),
        1 => proptest::collection::vec(change(), 1..4).prop_map(Step::FailedUnit),
        1 => Just(Step::Reopen),
        3 => (0..OWNERS, 0..4_u8, 1..4_usize, any::<bool>())
            .prop_map(|(owner, index, limit, descending)| Step::List { owner, index, limit, descending }),
    ]
}

fn owner_of(owner: u8) -> Owner {
    workspace(&format!("ws_{owner}"))
}

/// Everything by owner and id, with its revision.
type Model = BTreeMap<(u8, u8), (Note, u64)>;

/// Whether a unit is refused, and why.
#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    Missing,
    Exists,
    Stale,
    Taken,
}

fn apply(model: &mut Model, changes: &[Change]) -> Result<(), Refusal> {
    for change in changes {
        match change {
            Change::Insert { owner, id, title, number, shelf } => {
                if model.contains_key(&(*owner, *id)) {
                    return Err(Refusal::Exists);
                }
                let note = Note { title: title.to_string(), number: *number, shelf: *shelf };
                put(model, (*owner, *id), note, 1)?;
            }
            Change::Replace { owner, id, title, number, shelf, is_stale } => {
                let (_, revision) = model.get(&(*owner, *id)).ok_or(Refusal::Missing)?;
                if *is_stale && *revision > 1 {
                    return Err(Refusal::Stale);
                }
                let (note, next) =
                    (Note { title: title.to_string(), number: *number, shelf: *shelf }, revision.saturating_add(1));
                put(model, (*owner, *id), note, next)?;
            }
            Change::Delete { owner, id, is_stale } => {
                let (_, revision) = model.get(&(*owner, *id)).ok_or(Refusal::Missing)?;
                if *is_stale && *revision > 1 {
                    return Err(Refusal::Stale);
                }
                model.remove(&(*owner, *id));
            }
        }
    }
    Ok(())
}

fn put(model: &mut Model, place: (u8, u8), note: Note, revision: u64) -> Result<(), Refusal> {
    let clashes = model.iter().any(|(other, (kept, _))| {
        let same_number = note.number.is_some() && kept.number == note.number;
        *other != place && (same_number || (other.0 == place.0 && kept.title == note.title))
    });
    if clashes {
        return Err(Refusal::Taken);
    }
    model.insert(place, (note, revision));
    Ok(())
}

fn run(records: &Records, changes: &[Change]) -> Result<(), RecordError> {
    records.unit(|unit| {
        for change in changes {
            let (owner, id) = match change {
                Change::Insert { owner, id, .. }
                | Change::Replace { owner, id, .. }
                | Change::Delete { owner, id, .. } => (*owner, *id),
            };
            let (place, text) = (owner_of(owner), format!("n{id}"));
            let read = |is_stale: bool| -> Result<Stored<Note>, RecordError> {
                let now = unit.of::<Note>().require(&place, &text)?;
                let revision = now.revision();
                Ok(if is_stale && revision > 1 { now.at_revision(revision - 1) } else { now })
            };
            match change {
                Change::Insert { title, number, shelf, .. } => {
                    let note = Note { title: title.to_string(), number: *number, shelf: *shelf };
                    unit.insert(&place, &text, note)?;
                }
                Change::Replace { title, number, shelf, is_stale, .. } => {
                    let mut read = read(*is_stale)?;
                    read.value = Note { title: title.to_string(), number: *number, shelf: *shelf };
                    unit.replace(&read)?;
                }
                Change::Delete { is_stale, .. } => {
                    let read = read(*is_stale)?;
                    unit.delete(&read)?;
                }
            }
        }
        Ok(())
    })
}

fn refusal(error: &RecordError) -> Option<Refusal> {
    match error {
        RecordError::Missing { .. } => Some(Refusal::Missing),
        RecordError::Exists { .. } => Some(Refusal::Exists),
        RecordError::Stale { .. } => Some(Refusal::Stale),
        RecordError::Taken { .. } => Some(Refusal::Taken),
        _ => None,
    }
}

/// The list by pages of `limit`, once by number and once by cursor.
fn listed(
    records: &Records,
    index: &Index<Note>,
    owner: &Owner,
    group: &SortKey,
    limit: NonZeroUsize,
    order: Order,
) -> [Vec<String>; 2] {
    let place = |note: &Stored<Note>| format!("{}/{}", note.owner().as_str(), note.id());
    let (mut by_number, mut by_cursor) = (Vec::new(), Vec::new());
    let mut request = PageRequest::first(limit).in_order(order);
    loop {
        let page = records.of::<Note>().page(index, owner, group, &request).unwrap();
        assert!(page.items.len() <= limit.get());
        by_cursor.extend(page.items.iter().map(place));
        assert_eq!(page.next.is_some(), (by_cursor.len() as u64) < page.total);
        let Some(next) = page.next else { break };
        request = request.after(next);
    }
    for number in 1.. {
        let request = PageRequest::first(limit).in_order(order).with_number(NonZeroUsize::new(number).unwrap());
        let page = records.of::<Note>().page(index, owner, group, &request).unwrap();
        if page.items.is_empty() {
            break;
        }
        by_number.extend(page.items.iter().map(place));
    }
    [by_number, by_cursor]
}

/// Whether a list has a note of an owner.
type Belongs = Box<dyn Fn(u8, &Note) -> bool>;

fn check_list(records: &Records, model: &Model, owner: u8, index: u8, limit: usize, order: Order) {
    let limit = NonZeroUsize::new(limit).unwrap();
    let (index, group, belongs): (_, _, Belongs) = match index {
        0 => (Note::BY_TITLE, SortKey::new(), Box::new(move |own, _| own == owner)),
        1 => (Note::BY_SHELF, SortKey::new().number(1), Box::new(move |own, note| own == owner && note.shelf == 1)),
        2 => (Note::ALL, SortKey::new(), Box::new(|_, _| true)),
        _ => (Index::CREATED, SortKey::new(), Box::new(move |own, _| own == owner)),
    };
    let mut wanted: Vec<(bool, String, String)> = Vec::new();
    for ((own, id), (note, _)) in model {
        if belongs(*own, note) {
            let place = format!("ws_{own}/n{id}");
            wanted.push(match index.name() {
                "all" => (note.number.is_some(), note.title.clone(), place),
                // The clock stands still: all are as old as one another.
                "created" => (false, String::new(), place),
                _ => (false, note.title.clone(), place),
            });
        }
    }
    wanted.sort();
    if order == Order::Descending {
        wanted.reverse();
    }
    let wanted: Vec<String> = wanted.into_iter().map(|(_, _, place)| place).collect();
    let [by_number, by_cursor] = listed(records, &index, &owner_of(owner), &group, limit, order);
    assert_eq!(by_number, wanted, "{} by number", index.name());
    assert_eq!(by_cursor, wanted, "{} by cursor", index.name());
}

fn check(records: &Records, model: &Model) {
    assert_eq!(records.verify::<Note>().unwrap(), model.len() as u64);
    for owner in 0..OWNERS {
        for id in 0..IDS {
            let found = records.of::<Note>().get(&owner_of(owner), &format!("n{id}")).unwrap();
            let found = found.map(|stored| (stored.value.clone(), stored.revision()));
            assert_eq!(found.as_ref(), model.get(&(owner, id)));
        }
    }
    for number in 0..3 {
        let found = records.of::<Note>().find(&Note::NUMBER, &Owner::Service, &SortKey::new().number(number)).unwrap();
        let wanted = model.values().find(|(note, _)| note.number == Some(number));
        assert_eq!(found.map(|stored| stored.value), wanted.map(|(note, _)| note.clone()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn records_behave_as_a_map(steps in proptest::collection::vec(step(), 1..30)) {
        let disk = Arc::new(MemoryDisk::new());
        let store = Arc::new(FailingStore::new(disk.clone()));
        let mut records = open(store.clone());
        let mut model = Model::new();
        for step in steps {
            match step {
                Step::Unit(changes) => {
                    let mut next = model.clone();
                    let wanted = apply(&mut next, &changes);
                    let found = run(&records, &changes);
                    match (wanted, found) {
                        (Ok(()), Ok(())) => model = next,
                        (Err(wanted), Err(found)) => {
                            prop_assert_eq!(refusal(&found), Some(wanted), "{}", found);
                        }
                        (wanted, found) => prop_assert!(false, "{wanted:?} against {found:?}"),
                    }
                }
                Step::FailedUnit(changes) => {
                    store.fail(WriteFault::after(0));
                    prop_assert!(run(&records, &changes).is_err());
                    store.recover();
                }
                Step::Reopen => {
                    let crashed: Arc<dyn KeyValue> = disk.crashed();
                    check(&open(crashed), &model);
                    drop(records);
                    records = open(store.clone());
                }
                Step::List { owner, index, limit, descending } => {
                    let order = if descending { Order::Descending } else { Order::Ascending };
                    check_list(&records, &model, owner, index, limit, order);
                }
            }
            check(&records, &model);
        }
    }
}
