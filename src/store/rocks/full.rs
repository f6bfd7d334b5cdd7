//! Tests of a full disk: refused below the watermark, and a RocksDB that has failed is opened again.

use core::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io, path::Path, process::Command, sync::Arc};

use super::{FreeSpace, RocksOptions, RocksStore};
use crate::store::{Batch, KeyValue, Order, StoreError, Table};

#[derive(Debug)]
struct SetSpace(AtomicU64);

impl FreeSpace for SetSpace {
    fn free_bytes(&self) -> io::Result<Option<u64>> {
        Ok(Some(self.0.load(Ordering::SeqCst)))
    }
}

fn put(store: &RocksStore, key: u32, bytes: usize) -> Result<(), StoreError> {
    let mut batch = Batch::new();
    // What does not compress.
    let mut state = u64::from(key) + 1;
    let value: Vec<u8> = (0..bytes)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect();
    batch.put(Table::StateNodes, key.to_be_bytes(), value);
    batch.put(Table::Meta, *b"newest", key.to_be_bytes());
    store.write(batch)
}

fn newest(store: &RocksStore) -> u32 {
    u32::from_be_bytes(store.get(Table::Meta, b"newest").unwrap().unwrap()[..].try_into().unwrap())
}

#[test]
fn writes_are_refused_below_the_watermark_and_go_on_by_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let space = Arc::new(SetSpace(AtomicU64::new(1_000)));
    let options = RocksOptions::default().with_free_bytes_min(1_000);
    let store = RocksStore::open_with_space(folder.path(), options, space.clone()).unwrap();
    put(&store, 1, 10).unwrap();
    space.0.store(999, Ordering::SeqCst);
    let refused = put(&store, 2, 10).unwrap_err();
    assert!(matches!(refused, StoreError::Full { free: 999, watermark: 1_000 }), "{refused}");
    assert_eq!(newest(&store), 1, "reads go on, and nothing is lost");
    space.0.store(1_000, Ordering::SeqCst);
    put(&store, 3, 10).unwrap();
    assert_eq!(newest(&store), 3);
}

#[test]
fn a_database_that_failed_is_opened_again_once_nobody_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = RocksStore::open(folder.path(), RocksOptions::default()).unwrap();
    put(&store, 1, 10).unwrap();
    store.fence();
    store
        .scan(Table::Meta, b"", Order::Ascending, &mut |_, _| {
            // A reader in the middle of a scan keeps the database: the write is refused, the scan goes on.
            assert!(matches!(put(&store, 2, 10), Err(StoreError::Io { .. })));
            assert_eq!(newest(&store), 1);
            core::ops::ControlFlow::Continue(())
        })
        .unwrap();
    put(&store, 3, 10).unwrap();
    assert_eq!(newest(&store), 3);
    drop(store);
    assert_eq!(newest(&RocksStore::open(folder.path(), RocksOptions::default()).unwrap()), 3);
}

/// A file system in memory, unmounted when dropped.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(path: &'a Path, mib: u32) -> Option<Self> {
        let size = format!("size={mib}m");
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(path).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(path))
    }

    fn grow(&self, mib: u32) {
        let size = format!("remount,size={mib}m");
        assert!(Command::new("mount").args(["-o", &size]).arg(self.0).status().unwrap().success());
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_stops_writes_until_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path(), 24) else {
        eprintln!("skipped: mounting a small file system needs root");
        return;
    };
    let path = folder.path().join("database");
    // Without a watermark RocksDB itself runs into the end of the disk.
    let options = RocksOptions::default().with_free_bytes_min(0).with_memtable_bytes_max(3 << 20);
    let store = RocksStore::open(&path, options).unwrap();
    let (mut acknowledged, mut failures) = (0, Vec::new());
    // Opening again after a failure may free some room, so one is not the end.
    while failures.len() < 4 {
        match put(&store, acknowledged + 1, 100_000) {
            Ok(()) => (acknowledged, failures) = (acknowledged + 1, Vec::new()),
            Err(error) => failures.push(error),
        }
        assert!(acknowledged < 1_000, "24 MiB do not hold 100 MB");
    }
    assert!(matches!(failures[0], StoreError::Full { watermark: 0, .. }), "{}", failures[0]);
    for key in [1, acknowledged / 2, acknowledged] {
        assert_eq!(store.get(Table::StateNodes, &key.to_be_bytes()).unwrap().unwrap().len(), 100_000);
    }
    disk.grow(200);
    for key in acknowledged + 1..acknowledged + 200 {
        put(&store, key, 100_000).unwrap();
    }
    drop(store);
    let store = RocksStore::open(&path, options).unwrap();
    assert_eq!(newest(&store), acknowledged + 199);
    for key in 1..acknowledged + 200 {
        assert!(store.get(Table::StateNodes, &key.to_be_bytes()).unwrap().is_some(), "{key} is lost");
    }
    assert!(fs::metadata(&path).is_ok());
    drop(store);
}
