//! Tests of the vault: what it keeps apart, and where a secret is not.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::*;
use crate::{
    node::ManualClock,
    platform::{Blockchain, Platform, PlatformError, entropy::OsEntropy, records::WorkspaceId},
    store::{
        KeyValue, MemoryStore, suite,
        testing::{FailingStore, MemoryDisk, WriteFault},
    },
};

const CANARY: &[u8] = b"canary-0f1e2d3c4b5a69788796a5b4c3d2e1f0";

fn key(byte: u8) -> MasterKey {
    MasterKey::new(Zeroizing::new([byte; 32]))
}

fn vault(byte: u8) -> Vault {
    Vault::new(key(byte), Arc::new(OsEntropy))
}

fn records(store: Arc<dyn KeyValue>) -> Records {
    Records::open(store, Arc::new(ManualClock::default())).unwrap()
}

fn owner(name: &str) -> Owner {
    Owner::Workspace(WorkspaceId::new(name).unwrap())
}

fn seal(vault: &Vault, records: &Records, id: &str) {
    let sealed = records.unit(|unit| vault.seal(unit, &owner("ws_a"), id, Purpose::ChainTreasury, CANARY));
    sealed.unwrap();
}

fn open(vault: &Vault, records: &Records, id: &str) -> Result<Opened, VaultError> {
    vault.open(records, &owner("ws_a"), id, Purpose::ChainTreasury)
}

/// The error of something that has no `Debug`.
fn failure<T>(result: Result<T, VaultError>) -> VaultError {
    result.err().expect("must be refused")
}

#[test]
fn a_secret_opens_in_its_place_for_its_purpose_alone() {
    let (vault, records) = (vault(1), records(Arc::new(MemoryStore::new())));
    seal(&vault, &records, "s1");
    assert_eq!(open(&vault, &records, "s1").unwrap().bytes(), CANARY);
    let other_purpose = failure(vault.open(&records, &owner("ws_a"), "s1", Purpose::ChainValidators));
    assert!(matches!(other_purpose, VaultError::NotAuthentic { .. }), "{other_purpose}");
    let stranger = failure(vault.open(&records, &owner("ws_b"), "s1", Purpose::ChainTreasury));
    assert!(matches!(stranger, VaultError::Missing { .. }), "{stranger}");
    // A copy in another place, as somebody who can write to the store would make it.
    let sealed = records.of::<SealedSecret>().require(&owner("ws_a"), "s1").unwrap();
    for (to, id) in [(owner("ws_b"), "s1"), (owner("ws_a"), "s2")] {
        records.unit(|unit| unit.insert(&to, id, sealed.value.clone())).unwrap();
        let moved = failure(vault.open(&records, &to, id, Purpose::ChainTreasury));
        assert!(matches!(moved, VaultError::NotAuthentic { .. }), "{moved}");
    }
}

/// Bytes of a sealed secret.
type Field = fn(&mut SealedSecret) -> &mut [u8];

#[test]
fn every_changed_bit_is_noticed() {
    let (vault, records) = (vault(1), records(Arc::new(MemoryStore::new())));
    seal(&vault, &records, "s1");
    let whole = records.of::<SealedSecret>().require(&owner("ws_a"), "s1").unwrap();
    let fields: [(&str, Field); 4] = [
        ("key nonce", |sealed| &mut sealed.key_nonce),
        ("wrapped key", |sealed| &mut sealed.wrapped_key),
        ("nonce", |sealed| &mut sealed.nonce),
        ("ciphertext", |sealed| &mut sealed.ciphertext),
    ];
    for (name, field) in fields {
        let mut sealed = whole.clone();
        for index in 0..field(&mut sealed.value).len() {
            let mut changed = whole.clone();
            field(&mut changed.value)[index] ^= 1;
            let error = failure(vault.open_sealed(&changed, Purpose::ChainTreasury));
            assert!(matches!(error, VaultError::NotAuthentic { .. }), "{name} {index}: {error}");
        }
    }
}

#[test]
fn another_master_key_is_named_and_its_rotation_wraps_anew() {
    let disk = Arc::new(MemoryDisk::new());
    let before = records(disk.clone());
    // More than one unit of work wraps at once.
    for number in 0..150 {
        seal(&vault(1), &before, &format!("s{number}"));
    }
    let error = failure(open(&vault(2), &before, "s1"));
    assert!(matches!(error, VaultError::UnknownMasterKey { wanted, .. } if wanted == key(1).id()), "{error}");
    let both = vault(2).with_previous(key(1));
    assert_eq!(open(&both, &before, "s1").unwrap().bytes(), CANARY);
    let ciphertext =
        |records: &Records| records.of::<SealedSecret>().require(&owner("ws_a"), "s1").unwrap().value.ciphertext;
    let old = ciphertext(&before);
    let first = disk.writes();
    assert_eq!(both.rewrap(&before).unwrap(), 150);
    assert_eq!(both.rewrap(&before).unwrap(), 0);
    assert_eq!(ciphertext(&before), old, "the secret itself stays as it is");
    assert_eq!(open(&vault(2), &before, "s1").unwrap().bytes(), CANARY);
    assert!(open(&vault(1), &before, "s1").is_err());
    // A rotation that is interrupted after any unit goes on where it was.
    for crashed in disk.crashes().split_off(first - 1) {
        let records = records(crashed);
        both.rewrap(&records).unwrap();
        for number in 0..150 {
            assert_eq!(open(&vault(2), &records, &format!("s{number}")).unwrap().bytes(), CANARY);
        }
    }
}

/// Secrets that a master key wraps.
fn count_under(records: &Records, key: &MasterKey) -> u64 {
    let group = SortKey::new().bytes(key.id().as_bytes());
    records.of::<SealedSecret>().count(&SealedSecret::BY_MASTER_KEY, &Owner::Service, &group).unwrap()
}

#[test]
fn a_change_of_the_master_key_waits_for_room_on_the_disk() {
    let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let start = |present: u8, former: Vec<MasterKey>| {
        let kept: Arc<dyn KeyValue> = store.clone();
        let builder = Platform::builder(Arc::new(ManualClock::default())).with_store(kept);
        builder.open_with(None::<Blockchain>, key(present), former)
    };
    let platform = start(1, Vec::new()).unwrap();
    for number in 0..150 {
        seal(&platform.context.vault, &platform.context.records, &format!("s{number}"));
    }
    let all = count_under(&platform.context.records, &key(1));
    assert!(all > 150, "the service's own are among {all}");
    drop(platform);
    // There is room for one unit of work.
    store.fail(WriteFault::after(1).disk_full());
    let platform = start(2, vec![key(1)]).unwrap();
    let records = &platform.context.records;
    assert_eq!([key(1), key(2)].map(|key| count_under(records, &key)), [all - 64, 64]);
    for number in 0..150 {
        assert_eq!(open(&platform.context.vault, records, &format!("s{number}")).unwrap().bytes(), CANARY);
    }
    drop(platform);
    // Another failure is none to go on with.
    store.fail(WriteFault::after(0));
    assert!(matches!(start(2, vec![key(1)]), Err(PlatformError::Internal { .. })));
    store.recover();
    let platform = start(2, vec![key(1)]).unwrap();
    assert_eq!([key(1), key(2)].map(|key| count_under(&platform.context.records, &key)), [0, all]);
    drop(platform);
    let platform = start(2, Vec::new()).unwrap();
    assert_eq!(platform.context.vault.verify(&platform.context.records).unwrap(), all);
}

/// A store remembers what was moved for long: each unit of work begins behind what those before it have moved.
#[cfg(feature = "rocksdb")]
#[test]
fn a_change_of_the_master_key_passes_nothing_that_it_has_moved() {
    use crate::store::{RocksOptions, RocksStore, deleted_keys_passed};

    let folder = tempfile::tempdir().unwrap();
    let records = records(Arc::new(RocksStore::open(folder.path(), RocksOptions::default()).unwrap()));
    let (former, count) = (vault(1), 640);
    let sealed = records.unit(|unit| {
        (0..count).try_for_each(|number| {
            former.seal(unit, &owner("ws_a"), &format!("s{number}"), Purpose::ChainTreasury, CANARY)
        })
    });
    sealed.unwrap();
    let before = deleted_keys_passed();
    assert_eq!(vault(2).with_previous(key(1)).rewrap(&records).unwrap(), count);
    let passed = deleted_keys_passed() - before;
    assert!(passed <= 2 * count, "{passed} of {count}");
}

#[test]
fn a_canary_is_nowhere_but_in_the_opened_secret() {
    let store = Arc::new(MemoryStore::new());
    let (vault, records) = (vault(0xa7), records(store.clone()));
    seal(&vault, &records, "s1");
    let sealed = records.of::<SealedSecret>().require(&owner("ws_a"), "s1").unwrap();
    let mut shown = format!("{vault:?}{records:?}{sealed:?}{:?}", key(0xa7).id());
    let mut changed = sealed.clone();
    changed.value.ciphertext[0] ^= 1;
    for error in [
        failure(vault.open_sealed(&changed, Purpose::ChainTreasury)),
        failure(vault.open_sealed(&sealed, Purpose::ChainValidators)),
        failure(open(&self::vault(2), &records, "s1")),
        failure(open(&vault, &records, "s2")),
        failure(MasterKey::from_hex(core::str::from_utf8(CANARY).unwrap(), "$KEY")),
        failure(records.unit(|unit| vault.seal(unit, &owner("ws_a"), "s1", Purpose::ChainTreasury, CANARY))),
    ] {
        shown.push_str(&format!("{error}{error:?}"));
    }
    let mut bytes = shown.into_bytes();
    for (_, key, value) in suite::dump(&*store) {
        bytes.extend(key.into_iter().chain(value));
    }
    let hex = alloy_primitives::hex::encode(CANARY).into_bytes();
    let master = [0xa7_u8; 32];
    let decimal = format!("{CANARY:?}").into_bytes();
    let canaries =
        [CANARY, &CANARY[..12], &CANARY[20..32], &hex, &decimal, &master[..8], b"a7a7a7a7", b"167, 167, 167, 167"];
    for canary in canaries {
        assert!(!bytes.windows(canary.len()).any(|window| window == canary), "{canary:?}");
    }
    // The search itself finds what is there.
    bytes.extend_from_slice(open(&vault, &records, "s1").unwrap().bytes());
    assert!(bytes.windows(CANARY.len()).any(|window| window == CANARY));
}

#[test]
fn a_master_key_comes_from_a_file_that_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("master.key");
    let made = MasterKey::from_file_or_new(&path, &OsEntropy).unwrap();
    assert!(MasterKey::from_file_or_new(&path, &OsEntropy).unwrap().id() == made.id());
    assert!(MasterKey::generate(&OsEntropy).unwrap().id() != made.id());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    std::fs::write(&path, "not a key").unwrap();
    let error = failure(MasterKey::from_file_or_new(&path, &OsEntropy));
    assert!(error.to_string().ends_with("expected 64 hex digits, got 9 characters that are not"), "{error}");
    assert!(failure(MasterKey::from_file(&folder.path().join("none"))).to_string().contains("none"));
    assert!(MasterKey::from_env("CHAINBOX_NO_SUCH_KEY").unwrap().is_none());
    assert!(MasterKey::from_hex(&format!("0x{}\n", "01".repeat(32)), "test").unwrap().id() == key(1).id());
}

#[test]
fn the_services_own_secret_is_drawn_once() {
    let store = Arc::new(MemoryStore::new());
    let drawn = vault(1).own_secret::<32>(&records(store.clone()), Purpose::TokenHashes).unwrap();
    let again = vault(1).own_secret::<32>(&records(store), Purpose::TokenHashes).unwrap();
    assert!(*drawn == *again && *drawn != [0; 32]);
}
