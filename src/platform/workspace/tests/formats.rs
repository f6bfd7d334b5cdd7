//! Records of former versions.

use std::collections::BTreeMap;

use super::*;
use crate::{
    platform::{check, records::Records},
    store::{Batch, Table},
};

#[test]
fn a_workspace_of_the_first_version_is_read() {
    let old = ("team", "", None::<String>, Plans::DEFAULT, Subject::User("usr_1".to_owned()));
    let old = postcard::to_allocvec(&old).unwrap();
    let read = <Workspace as Record>::upgrade(1, &old).unwrap();
    assert_eq!(read, Workspace { created_by: Subject::User("usr_1".to_owned()), ..Workspace::named("team") });
    assert_eq!(<Workspace as Record>::upgrade(0, &old), None);
}

/// Bytes before a serialised record: its version, its revision, and the times of its creation and last change.
const HEADER_BYTES: usize = 2 + 8 + 8 + 8;
/// The indices of members that format 1 had not.
const NEW_INDICES: [&str; 2] = ["user-origin", "user-creator"];

/// A key of the platform: its tag, parts that are ended by zeros, and what follows.
fn key(tag: u8, parts: &[&str], tail: &[u8]) -> Vec<u8> {
    let mut key = b"\xffplatform/".to_vec();
    key.push(tag);
    for part in parts {
        key.extend_from_slice(part.as_bytes());
        key.push(0);
    }
    key.extend_from_slice(tail);
    key
}

/// Writes the members of a store as format 1 had them: with their roles alone, in an index by user and by when they became members.
fn take_back_to_format_1(store: &MemoryStore) {
    let (mut batch, mut counts) = (Batch::new(), BTreeMap::<Vec<u8>, u64>::new());
    let new: Vec<Vec<u8>> =
        NEW_INDICES.iter().flat_map(|&index| [b'i', b'n'].map(|tag| key(tag, &["member", index], b""))).collect();
    let records = key(b'r', &["member"], b"");
    for (table, found, value) in suite::dump(store) {
        if new.iter().any(|prefix| found.starts_with(prefix)) {
            batch.delete(table, found);
        } else if let Some(place) = found.strip_prefix(&records[..]) {
            let (header, payload) = value.split_at(HEADER_BYTES);
            let (_, origin) = postcard::take_from_bytes::<Role>(payload).unwrap();
            let role = &payload[..payload.len() - origin.len()];
            batch.put(table, found.clone(), [&1_u16.to_be_bytes()[..], &header[2..], role].concat());
            let user = place.rsplit(|byte| *byte == 0).next().unwrap();
            let (group, created) = ([user, &[0, 0][..]].concat(), &header[10..18]);
            let entry = [&group[..], created, place].concat();
            batch.put(table, key(b'i', &["member", "user", ""], &entry), place.to_vec());
            *counts.entry(key(b'n', &["member", "user", ""], &group)).or_default() += 1;
        }
    }
    for (count, sum) in counts {
        batch.put(Table::Platform, count, sum.to_be_bytes());
    }
    batch.put(Table::Platform, key(b'f', &[], b""), 1_u32.to_be_bytes());
    store.write(batch).unwrap();
}

/// What the migration leaves is what this version would have written, byte by byte.
#[test]
fn members_of_format_1_are_given_the_origins_of_their_workspaces() {
    let world = World::new();
    let (owner, workspaces) = (world.workspace(), world.platform.workspaces());
    let key_of_owner = world.authenticated(&world.key(&owner, &[Scope::Admin]).0).unwrap();
    world.clock.advance(Duration::from_secs(1));
    let make = |unit: &mut Unit<'_>| workspaces.create_by(unit, &key_of_owner, Workspace::named("made"));
    let (made, _) = world.unit(make).unwrap();
    let (ann, _) = world.member(&owner, "ann", Role::Developer);
    world.clock.advance(Duration::from_secs(1));
    world.unit(|unit| workspaces.members().change_role(unit, &owner, &ann, Role::Viewer)).unwrap();
    let wanted = suite::dump(&*world.store);
    // One whose workspace is gone goes.
    let (gone, lost) = (Owner::from(&WorkspaceId::new("ws_gone").unwrap()), Member::of(&made, Role::Owner));
    world.unit(|unit| Ok(unit.insert(&gone, owner_id(&owner), lost)?)).unwrap();

    let old = Arc::new(MemoryStore::clone(&world.store));
    take_back_to_format_1(&old);
    let store: Arc<dyn KeyValue> = old.clone();
    let before = suite::dump(&*old);
    let report = check(&store, world.clock.clone(), None);
    // The chain of this store was in memory.
    let is_of_chain = |fault: &String| fault.starts_with("blockchain bc_");
    assert!(report.faults.iter().all(is_of_chain), "{:?}", report.faults);
    assert_eq!((report.format, suite::dump(&*old) == before), (Some(1), true), "the check changes nothing");
    for _ in 0..2 {
        let records = Records::open(Arc::clone(&store), world.clock.clone()).unwrap();
        assert_eq!(records.verify::<Member>().unwrap(), 3);
        assert_eq!(records.verify::<Workspace>().unwrap(), 3);
        assert!(suite::dump(&*old) == wanted, "opened again, nothing changes");
    }
}

#[test]
fn a_member_that_is_not_of_format_1_stops_its_migration() {
    let world = World::new();
    world.workspace();
    let old = Arc::new(MemoryStore::clone(&world.store));
    let mut batch = Batch::new();
    batch.put(Table::Platform, key(b'f', &[], b""), 1_u32.to_be_bytes());
    old.write(batch).unwrap();
    let before = suite::dump(&*old);
    let refused = Records::open(old.clone(), world.clock.clone()).unwrap_err().to_string();
    assert!(refused.contains("version 2 of it can't be converted"), "{refused}");
    assert!(suite::dump(&*old) == before);
}
