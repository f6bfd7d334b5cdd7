//! The check finds what is wrong, and changes nothing; pruning deletes what it says and nothing else.

use core::time::Duration;
use std::{path::Path, sync::Arc};

use serde_json::json;

use super::{check::KINDS, *};
use crate::{
    chain::CallRequest,
    node::{Clock, ManualClock},
    platform::{
        BlockchainRecord, BlockchainSpec, DeploymentSpec, Platform, PlatformError, Principal, Scope, ScopeSet, Subject,
        records::{Index, PageRequest, SortKey, WorkspaceId},
        vault::MasterKey,
    },
    primitives::U256,
    store::{Batch, KeyValue, Table, suite, testing::MemoryDisk},
};

fn key(byte: u8) -> MasterKey {
    MasterKey::new([byte; 32].into())
}

fn open(store: &Arc<MemoryDisk>, clock: &Arc<ManualClock>) -> Platform {
    let (store, clock): (Arc<dyn KeyValue>, Arc<dyn Clock>) = (store.clone(), clock.clone());
    Platform::builder(clock).with_store(store).open_with(None, key(1), Vec::new()).unwrap()
}

/// A store with two chains, one of them with a token, an API key and a response to an idempotent request.
fn filled(clock: &Arc<ManualClock>) -> Arc<MemoryDisk> {
    let store = Arc::new(MemoryDisk::new());
    let platform = open(&store, clock);
    let me = platform.service_principal();
    let chains = platform.blockchains();
    for name in ["one", "two"] {
        chains.create(&me, BlockchainSpec::read(json!({ "name": name })).unwrap()).unwrap();
    }
    let id = platform.records().of::<BlockchainRecord>();
    let page = PageRequest::first(core::num::NonZeroUsize::MIN);
    let id = id.page(&Index::CREATED, &me.owner(), &SortKey::new(), &page).unwrap().items[0].id().to_owned();
    chains.deploy(&me, DeploymentSpec::gold(&id)).unwrap();
    platform.create_api_key("one", &[Scope::Admin]).unwrap();
    store
}

fn report(store: &Arc<MemoryDisk>, master: Option<MasterKey>) -> CheckReport {
    let store: Arc<dyn KeyValue> = store.clone();
    check(&store, Arc::new(ManualClock::default()), master)
}

#[test]
fn a_whole_store_has_no_faults_and_stays_as_it_is() {
    let store = filled(&Arc::default());
    let before = suite::dump(&*store);
    let report = report(&store, Some(key(1)));
    assert_eq!(report.faults, [""; 0]);
    assert_eq!(report.format, Some(2));
    assert!(report.secrets.unwrap() >= 5, "{report:?}");
    let heights: Vec<_> = report.chains.iter().map(|chain| (chain.state, chain.height)).collect();
    assert!(heights.contains(&("running", Some(0))) && heights.contains(&("running", Some(1))), "{heights:?}");
    assert!(report.chains.iter().all(|chain| chain.accounts > 0));
    let count = |kind: &str| report.records.iter().find(|(name, _)| *name == kind).unwrap().1;
    assert_eq!((count("blockchain"), count("workspace"), count("deployment")), (2, 1, 1));
    assert_eq!(suite::dump(&*store), before);
}

#[test]
fn without_the_master_key_secrets_are_not_judged() {
    let store = filled(&Arc::default());
    let without = report(&store, None);
    assert_eq!((without.secrets, without.faults.len()), (None, 0));
    let other = report(&store, Some(key(2)));
    assert!(other.faults.len() == 1 && other.faults[0].contains("master key"), "{:?}", other.faults);
}

#[test]
fn each_fault_is_told() {
    let whole = filled(&Arc::default());
    let pairs = suite::dump(&*whole);
    let spoiled = |spoil: &dyn Fn(&mut Batch)| {
        let (store, mut batch) = (whole.crashed(), Batch::new());
        spoil(&mut batch);
        store.write(batch).unwrap();
        report(&store, Some(key(1))).faults
    };
    let find = |table: Table, part: &[u8]| {
        let found = pairs.iter().find(|(of, key, _)| *of == table && key.windows(part.len()).any(|some| some == part));
        found.unwrap_or_else(|| panic!("{table:?} {part:?}")).1.clone()
    };
    let deleted = |table: Table, part: &[u8]| {
        let key = find(table, part);
        spoiled(&|batch| batch.delete(table, key.clone()))
    };
    for (what, faults, says) in [
        ("an index entry", deleted(Table::Platform, b"platform/ideployment\0"), "index"),
        ("a count", deleted(Table::Platform, b"platform/nblockchain\0"), "count"),
        ("a record", deleted(Table::Platform, b"platform/rwallet\0"), "wallet"),
        ("a block", deleted(Table::Blocks, b"chain/"), "blockchain bc_"),
        (
            "an unknown kind",
            spoiled(&|batch| batch.put(Table::Platform, *b"\xffplatform/rpet\0-\0rex", *b"")),
            "\"pet\"",
        ),
        ("bytes", spoiled(&|batch| batch.put(Table::Platform, *b"\xffplatform/rkey\0-\0x", *b"1")), "x"),
        ("a newer format", spoiled(&|batch| batch.put(Table::Platform, *b"\xffplatform/f", [0, 0, 0, 9])), "9"),
    ] {
        assert!(!faults.is_empty() && faults[0].contains(says), "{what}: {faults:?}");
    }
    let states: Vec<_> = pairs.iter().filter(|(table, ..)| *table == Table::StateNodes).collect();
    let gone = spoiled(&|batch| states.iter().for_each(|(table, key, _)| batch.delete(*table, key.clone())));
    assert_eq!(gone.len(), 2, "the states of both chains: {gone:?}");
}

/// Every type of record of the platform is in the list.
#[test]
fn every_kind_is_checked() {
    fn count(folder: &Path) -> usize {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let counts = entries.filter(|path| !path.ends_with("tests") && !path.ends_with("tests.rs")).map(|path| {
            if path.is_dir() {
                return count(&path);
            }
            std::fs::read_to_string(&path).unwrap().matches("\nimpl Record for ").count()
        });
        counts.sum()
    }
    assert_eq!(count(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/platform"))), KINDS.len());
}

#[test]
fn pruning_deletes_what_has_expired_and_old_states() {
    let clock = Arc::new(ManualClock::default());
    let store = filled(&clock);
    let platform = open(&store, &clock);
    let me = platform.service_principal();
    platform.users().sign_up("ann@example.org", &crate::platform::Password::new("correct horse battery")).unwrap();
    let page = PageRequest::first(core::num::NonZeroUsize::MIN);
    let records = platform.records().of::<BlockchainRecord>();
    let chain = records.page(&Index::CREATED, &me.owner(), &SortKey::new(), &page).unwrap().items[0].id().to_owned();
    let open_chain = platform.running_blockchain(&chain).unwrap();
    // Empty blocks have their parents' states: each of these has one of its own.
    let (paid, treasury) = (alloy_primitives::Address::repeat_byte(5), open_chain.treasury().unwrap());
    for _ in 0..STATES_KEPT_MIN + 64 {
        let request = CallRequest::call(paid, []).with_from(treasury).with_value(U256::from(1));
        platform.blockchains().send(&me, &chain, request).unwrap();
    }
    let head = open_chain.node().view().head().height().get();
    drop((open_chain, platform));

    clock.advance(Duration::from_secs(3 * 24 * 3_600));
    let shared: Arc<dyn KeyValue> = store.clone();
    let size = |table: Table| suite::dump(&*store).iter().filter(|(of, ..)| *of == table).count();
    let before = size(Table::Blocks);
    let pruned = prune(&shared, clock.clone(), key(1), Some(0)).unwrap();
    assert!(pruned.records >= 1, "the token of the sign-up: {pruned:?}");
    assert_eq!(pruned.skipped, []);
    let heights = pruned.states.iter().find(|(id, _)| *id == chain).unwrap().1;
    assert!(heights > 0 && heights < head - STATES_KEPT_MIN + 1, "{heights} of {head}");
    assert_eq!(size(Table::Blocks), before, "blocks stay");
    assert_eq!(report(&store, Some(key(1))).faults, [""; 0]);
    let again = prune(&shared, clock.clone(), key(1), Some(0)).unwrap();
    assert_eq!((again.records, again.states.iter().map(|(_, heights)| heights).sum::<u64>()), (0, 0));
    assert!(prune(&shared, clock.clone(), key(2), None).is_err(), "another master key");

    let platform = open(&store, &clock);
    let chain = platform.running_blockchain(&chain).unwrap();
    let at = |height| chain.node().view().balance(chain.treasury().unwrap(), crate::node::BlockRef::Number(height));
    assert!(matches!(at(crate::primitives::Height::new(5)), Err(crate::node::QueryError::Pruned { .. })));
    assert!(at(crate::primitives::Height::new(0)).is_ok(), "genesis keeps its own");
    assert!(at(crate::primitives::Height::new(head)).is_ok());
    chain.node().mine(3).unwrap();
}

#[test]
fn only_operators_back_up_and_only_where_there_is_a_folder() {
    let store = Arc::new(MemoryDisk::new());
    let platform = open(&store, &Arc::default());
    let me = platform.service_principal();
    let refused = platform.back_up(&me, "backup_1").unwrap_err();
    assert!(matches!(&refused, PlatformError::Conflict { message } if message.contains("--backup-path")), "{refused}");
    let admin: ScopeSet = [Scope::Admin].into_iter().collect();
    let stranger = Principal::new(Subject::Service, WorkspaceId::new("ws_other").unwrap(), admin);
    assert!(matches!(platform.back_up(&stranger, "backup_1"), Err(PlatformError::Forbidden { .. })));
    let reader = [Scope::WorkspaceRead].into_iter().collect();
    let reader = Principal::new(Subject::Service, me.workspace().clone(), reader);
    assert!(matches!(platform.back_up(&reader, "backup_1"), Err(PlatformError::MissingScope { .. })));
}
