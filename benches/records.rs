//! The platform's records: what a look-up, a page and a unit of work cost, by how many records there are.

#![allow(missing_docs, reason = "criterion's macros")]

use std::{hint::black_box, num::NonZeroUsize, sync::Arc};

use chainbox::{
    node::{Clock, ManualClock},
    platform::records::{AuditLine, Index, Owner, PageRequest, Records, SortKey, WorkspaceId},
    store::{KeyValue, MemoryStore, Order},
};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

/// Records in one workspace.
const SIZES: [u64; 3] = [1_000, 10_000, 100_000];
/// Records that one unit of work adds while a store is filled.
const AT_ONCE: u64 = 1_000;

fn owner() -> Owner {
    Owner::Workspace(WorkspaceId::new("ws_bench").expect("an id"))
}

fn line(number: u64) -> AuditLine {
    AuditLine {
        subject: "user:usr_0123456789abcdef".to_owned(),
        action: "blockchain.create".to_owned(),
        target: format!("blockchain bc_{number:016x}"),
        client: None,
    }
}

fn filled(store: Arc<dyn KeyValue>, size: u64) -> Records {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::default());
    let records = Records::open(store, clock).expect("an empty store");
    for first in (0..size).step_by(AT_ONCE as usize) {
        let added =
            records.unit(|unit| (first..first + AT_ONCE).try_for_each(|number| unit.audit(&owner(), line(number))));
        added.expect("a unit of work");
    }
    records
}

fn run(criterion: &mut Criterion, medium: &str, store: impl Fn(u64) -> Arc<dyn KeyValue>) {
    let mut group = criterion.benchmark_group(format!("records_{medium}"));
    for size in SIZES {
        let (records, owner, all) = (filled(store(size), size), owner(), SortKey::new());
        let lines = records.of::<AuditLine>();
        let newest = PageRequest::first(NonZeroUsize::new(20).expect("not zero")).in_order(Order::Descending);
        let page = |request: &PageRequest| lines.page(&Index::CREATED, &owner, &all, request).expect("a page");
        let first = page(&newest);
        assert_eq!((first.total, first.items.len()), (size, 20));
        let second = newest.clone().after(first.next.expect("a second page"));
        let id = format!("aud_{:016x}", size / 2);
        group.bench_function(BenchmarkId::new("get", format!("records={size}")), |bencher| {
            bencher.iter(|| lines.require(&owner, black_box(&id)).expect("a record"));
        });
        group.bench_function(BenchmarkId::new("first_page", format!("records={size}")), |bencher| {
            bencher.iter(|| page(black_box(&newest)));
        });
        group.bench_function(BenchmarkId::new("page_after_cursor", format!("records={size}")), |bencher| {
            bencher.iter(|| page(black_box(&second)));
        });
        group.bench_function(BenchmarkId::new("unit_of_work", format!("records={size}")), |bencher| {
            let mut number = 0;
            bencher.iter(|| {
                number += 1;
                records.unit(|unit| unit.audit(&owner, line(number))).expect("a unit of work");
            });
        });
    }
    group.finish();
}

fn in_memory(criterion: &mut Criterion) {
    run(criterion, "memory", |_| Arc::new(MemoryStore::new()));
}

#[cfg(feature = "rocksdb")]
fn on_disk(criterion: &mut Criterion) {
    use chainbox::store::{RocksOptions, RocksStore};

    let folder = tempfile::tempdir().expect("a folder");
    run(criterion, "rocksdb", |size| {
        let path = folder.path().join(size.to_string());
        Arc::new(RocksStore::open(path, RocksOptions::default()).expect("a database"))
    });
}

#[cfg(not(feature = "rocksdb"))]
fn on_disk(_: &mut Criterion) {}

criterion_group!(benches, in_memory, on_disk);
criterion_main!(benches);
