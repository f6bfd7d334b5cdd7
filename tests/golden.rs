//! The same seed gives the same bytes: in every store, executed once or everywhere, in every process and build.
//! (`benches/sim.rs` checks the same constant in a release build.)

#[path = "golden/run.rs"]
mod golden;

use golden::{DIGEST, builder, run};

#[test]
fn in_memory() {
    assert_eq!(run(builder()).unwrap().digest(), Some(DIGEST));
}

#[test]
fn paranoid() {
    assert_eq!(run(builder().with_paranoid(true)).unwrap().digest(), Some(DIGEST));
}

#[test]
fn another_seed_differs() {
    assert_ne!(run(builder().with_seed(2_027)).unwrap().digest(), Some(DIGEST));
}

#[cfg(feature = "rocksdb")]
#[test]
fn on_rocksdb() {
    use std::sync::Arc;

    use chainbox::{
        state::PagedState,
        store::{KeyValue, RocksOptions, RocksStore},
    };

    let directory = tempfile::tempdir().unwrap();
    let store: Arc<dyn KeyValue> = Arc::new(RocksStore::open(directory.path(), RocksOptions::default()).unwrap());
    let state = Arc::new(PagedState::open(store.clone()).unwrap());
    assert_eq!(run(builder().with_stores(state, store)).unwrap().digest(), Some(DIGEST));
}

/// This test binary again, as a process of its own that knows nothing of this one.
#[test]
fn in_a_fresh_process() {
    let executable = std::env::current_exe().unwrap();
    let output = std::process::Command::new(executable).args(["--exact", "in_memory"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}
