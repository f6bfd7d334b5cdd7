//! The same seed gives the same bytes: in every store, executed once or everywhere, in every process and build.
//! (`benches/sim.rs` checks the same constant in a release build.)

#[path = "golden/faults.rs"]
mod faults;
#[path = "golden/run.rs"]
mod golden;
#[path = "golden/identities.rs"]
mod identities;

use chainbox::consensus::ConsensusKind;
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

/// With `CHAINBOX_BLESS=1`, rewrites the digests instead.
#[test]
fn every_protocol_under_faults() {
    let digests = ConsensusKind::ALL.map(|kind| (kind, faults::run(kind, faults::SEED, |builder| builder).unwrap()));
    if std::env::var_os("CHAINBOX_BLESS").is_some() {
        let lines = digests.map(|(kind, digest)| format!("{:5} {digest}\n", kind.short_name()));
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/faults.txt"), lines.concat()).unwrap();
        return;
    }
    for (kind, digest) in digests {
        assert_eq!(digest, faults::golden(kind), "{}", kind.name());
    }
}

#[test]
fn every_protocol_paranoid_under_faults() {
    for kind in ConsensusKind::ALL {
        let digest = faults::run(kind, faults::SEED, |builder| builder.with_paranoid(true)).unwrap();
        assert_eq!(digest, faults::golden(kind), "{}", kind.name());
        let other = faults::run(kind, faults::SEED + 1, |builder| builder).unwrap();
        assert_ne!(digest, other, "{}: another seed", kind.name());
    }
}

/// Runs this test binary again, in a process of its own.
#[test]
fn in_a_fresh_process() {
    let executable = std::env::current_exe().unwrap();
    let tests = ["--exact", "in_memory", "every_protocol_under_faults"];
    let output = std::process::Command::new(executable).args(tests).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("2 passed"));
}
