//! What every store must do, as one function that each implementation's tests call.

use core::ops::ControlFlow;

use super::{Batch, KeyValue, Order, Table};

/// Checks an empty `store` against the contract of [`KeyValue`] and leaves some pairs in it.
///
/// # Panics
/// When the store breaks the contract.
pub fn run(store: &dyn KeyValue) {
    reads_what_was_written(store);
    scans_a_prefix_in_order(store);
    scans_from_a_key(store);
    applies_a_batch_in_its_order(store);
    keeps_tables_apart(store);
    takes_large_and_empty_values(store);
    shows_a_batch_whole_or_not_at_all(store);
}

/// Every pair of `store`, by table and key.
///
/// # Panics
/// When the store cannot be read.
pub fn dump(store: &dyn KeyValue) -> Vec<(Table, Vec<u8>, Vec<u8>)> {
    let mut pairs = Vec::new();
    for table in Table::ALL {
        store
            .scan(table, b"", Order::Ascending, &mut |key, value| {
                pairs.push((table, key.to_vec(), value.to_vec()));
                ControlFlow::Continue(())
            })
            .expect("a scan succeeds");
    }
    pairs
}

fn put(store: &dyn KeyValue, table: Table, pairs: &[(&[u8], &[u8])]) {
    let mut batch = Batch::new();
    for (key, value) in pairs {
        batch.put(table, *key, *value);
    }
    store.write(batch).expect("a write succeeds");
}

fn get(store: &dyn KeyValue, table: Table, key: &[u8]) -> Option<Vec<u8>> {
    store.get(table, key).expect("a read succeeds").map(|value| value.to_vec())
}

fn keys(store: &dyn KeyValue, table: Table, prefix: &[u8], order: Order, most: usize) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    store
        .scan(table, prefix, order, &mut |key, _| {
            keys.push(key.to_vec());
            if keys.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .expect("a scan succeeds");
    keys
}

fn reads_what_was_written(store: &dyn KeyValue) {
    assert_eq!(get(store, Table::Meta, b"absent"), None);
    put(store, Table::Meta, &[(b"one", b"1"), (b"two", b"2")]);
    assert_eq!(get(store, Table::Meta, b"one").as_deref(), Some(&b"1"[..]));
    put(store, Table::Meta, &[(b"one", b"uno")]);
    assert_eq!(get(store, Table::Meta, b"one").as_deref(), Some(&b"uno"[..]));
    assert_eq!(get(store, Table::Meta, b"two").as_deref(), Some(&b"2"[..]));
    store.write(Batch::new()).expect("an empty batch is fine");
}

fn scans_a_prefix_in_order(store: &dyn KeyValue) {
    let table = Table::Canonical;
    put(
        store,
        table,
        &[(b"b", b""), (b"a\xff", b""), (b"a", b""), (b"a\xff\xff\x01", b""), (b"\xff", b""), (b"\xff\xff", b"")],
    );
    let all: [&[u8]; 6] = [b"a", b"a\xff", b"a\xff\xff\x01", b"b", b"\xff", b"\xff\xff"];
    assert_eq!(keys(store, table, b"", Order::Ascending, 99), all);
    assert_eq!(keys(store, table, b"", Order::Descending, 2), [&b"\xff\xff"[..], b"\xff"]);
    assert_eq!(keys(store, table, b"a", Order::Ascending, 99), all[..3]);
    assert_eq!(keys(store, table, b"a\xff", Order::Descending, 99), [&b"a\xff\xff\x01"[..], b"a\xff"]);
    assert_eq!(keys(store, table, b"a", Order::Ascending, 1), all[..1]);
    assert_eq!(keys(store, table, b"\xff", Order::Descending, 99), [&b"\xff\xff"[..], b"\xff"]);
    assert!(keys(store, table, b"c", Order::Ascending, 99).is_empty());
    assert!(keys(store, table, b"c", Order::Descending, 99).is_empty());
}

/// The keys are those that `scans_a_prefix_in_order` has written.
fn scans_from_a_key(store: &dyn KeyValue) {
    let (up, down) = (Order::Ascending, Order::Descending);
    let (a1, a2, a3): (&[u8], &[u8], &[u8]) = (b"a", b"a\xff", b"a\xff\xff\x01");
    for (prefix, from, order, want) in [
        (&b"a"[..], &b"a"[..], up, &[a1, a2, a3][..]),
        (b"a", b"a\x01", up, &[a2, a3]),
        (b"a", b"a\xff", up, &[a2, a3]),
        (b"a", b"a\xff", down, &[a2, a1]),
        (b"a", b"a\xfe", down, &[a1]),
        (b"a", b"a\xff\xff\xff", up, &[]),
        (b"a", b"a\xff\xff\xff", down, &[a3, a2, a1]),
        (b"a", b"", up, &[a1, a2, a3]),
        (b"a", b"", down, &[]),
        (b"a", b"b", up, &[]),
        (b"a", b"b", down, &[a3, a2, a1]),
        (b"", b"b", up, &[b"b", b"\xff", b"\xff\xff"]),
        (b"\xff", b"\xff\xff\xff", down, &[b"\xff\xff", b"\xff"]),
    ] {
        let mut found = Vec::new();
        store
            .scan_from(Table::Canonical, prefix, Some(from), order, &mut |key, _| {
                found.push(key.to_vec());
                ControlFlow::Continue(())
            })
            .expect("a scan succeeds");
        assert_eq!(found, want, "{prefix:?} from {from:?}, {order:?}");
    }
}

fn applies_a_batch_in_its_order(store: &dyn KeyValue) {
    let mut batch = Batch::new();
    batch.put(Table::Blocks, *b"kept", *b"first");
    batch.delete(Table::Blocks, *b"kept");
    batch.put(Table::Blocks, *b"kept", *b"last");
    batch.put(Table::Blocks, *b"gone", *b"x");
    batch.delete(Table::Blocks, *b"gone");
    batch.delete(Table::Blocks, *b"never there");
    store.write(batch).expect("a write succeeds");
    assert_eq!(get(store, Table::Blocks, b"kept").as_deref(), Some(&b"last"[..]));
    assert_eq!(get(store, Table::Blocks, b"gone"), None);
}

fn keeps_tables_apart(store: &dyn KeyValue) {
    for (number, table) in Table::ALL.into_iter().enumerate() {
        put(store, table, &[(b"same key", number.to_string().as_bytes())]);
    }
    for (number, table) in Table::ALL.into_iter().enumerate() {
        assert_eq!(get(store, table, b"same key"), Some(number.to_string().into_bytes()), "{table:?}");
    }
}

fn takes_large_and_empty_values(store: &dyn KeyValue) {
    let large = vec![0xab; 1 << 20];
    put(store, Table::Receipts, &[(b"large", &large), (b"empty", b""), (b"", b"the empty key")]);
    assert_eq!(get(store, Table::Receipts, b"large"), Some(large));
    assert_eq!(get(store, Table::Receipts, b"empty"), Some(Vec::new()));
    assert_eq!(get(store, Table::Receipts, b"").as_deref(), Some(&b"the empty key"[..]));
}

/// A reader that runs beside a writer sees only whole batches.
fn shows_a_batch_whole_or_not_at_all(store: &dyn KeyValue) {
    const ROUNDS: u32 = 200;
    let table = Table::Platform;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..ROUNDS {
                let mut batch = Batch::new();
                for key in 0..10_u8 {
                    batch.put(table, [b'w', key], round.to_be_bytes());
                }
                store.write(batch).expect("a write succeeds");
            }
        });
        loop {
            let mut values = Vec::new();
            store
                .scan(table, b"w", Order::Ascending, &mut |_, value| {
                    values.push(value.to_vec());
                    ControlFlow::Continue(())
                })
                .expect("a scan succeeds");
            assert!(values.is_empty() || values.len() == 10, "half a batch");
            assert!(values.windows(2).all(|pair| pair[0] == pair[1]), "two batches mixed: {values:?}");
            if values.first().is_some_and(|value| value[..] == (ROUNDS - 1).to_be_bytes()) {
                break;
            }
        }
    });
}
