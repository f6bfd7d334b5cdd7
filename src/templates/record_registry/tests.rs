//! The registry's collections, records and histories, what they cost, and all histories against a model.

mod golden;
mod model;
mod rules;

use alloy_primitives::{address, keccak256, uint};

use super::{
    interface::{self as sol, Access, Change},
    *,
};
use crate::{
    templates::test_chain::{NOW, TestChain},
    vm::{Descriptor, FrameOutcome, mapping_slot},
};

const OWNER: Address = address!("000000000000000000000000000000000000a001");
const WRITER: Address = address!("000000000000000000000000000000000000b002");
const ALICE: Address = address!("000000000000000000000000000000000000c003");
const BOB: Address = address!("000000000000000000000000000000000000d004");

const BOOKS: B256 = B256::repeat_byte(0xb0);

/// A registry.
#[derive(Clone)]
struct World {
    chain: TestChain,
    registry: Address,
}

const fn rules(create: Access, update: Access, remove: Access, transfer: Access) -> sol::Rules {
    sol::Rules { create, update, remove, transfer }
}

/// Anyone creates, owners change.
const fn owners_rules() -> sol::Rules {
    rules(Access::Anyone, Access::RecordOwner, Access::RecordOwner, Access::RecordOwner)
}

const fn id(number: u8) -> B256 {
    B256::with_last_byte(number)
}

fn create_collection(collection: B256, name: &str, rules: &sol::Rules) -> sol::createCollectionCall {
    sol::createCollectionCall { collection, name: name.to_owned(), rules: rules.clone() }
}

fn create(number: u8, data: &'static [u8]) -> sol::createCall {
    sol::createCall { collection: BOOKS, id: id(number), data: data.into() }
}

fn update(number: u8, expected: u64, data: &'static [u8]) -> sol::updateCall {
    sol::updateCall { collection: BOOKS, id: id(number), expectedVersion: expected, data: data.into() }
}

fn remove(number: u8, expected: u64) -> sol::removeCall {
    sol::removeCall { collection: BOOKS, id: id(number), expectedVersion: expected }
}

fn transfer(number: u8, expected: u64, to: Address) -> sol::transferRecordCall {
    sol::transferRecordCall { collection: BOOKS, id: id(number), expectedVersion: expected, newOwner: to }
}

fn get(number: u8) -> sol::getCall {
    sol::getCall { collection: BOOKS, id: id(number) }
}

/// A registry without collections, in which `WRITER` has the writers' role.
fn deploy() -> World {
    let mut chain = TestChain::new(&[OWNER, WRITER, ALICE, BOB]);
    let registry = chain.deploy(BOB, 0, &RecordRegistryParams::new(OWNER).init_code());
    let mut world = World { chain, registry };
    world.ok(OWNER, &sol::grantRoleCall { role: WRITER_ROLE, account: WRITER });
    world
}

/// A registry with the collection `BOOKS`.
fn library(rules: &sol::Rules) -> World {
    let mut world = deploy();
    world.ok(OWNER, &create_collection(BOOKS, "books", rules));
    world
}

impl World {
    fn ok<C: SolCall>(&mut self, from: Address, call: &C) {
        self.chain.ok(from, self.registry, call);
    }

    fn fails<C: SolCall>(&mut self, from: Address, call: &C, error: &impl SolError) {
        self.chain.fails(from, self.registry, call, error);
    }

    /// Fails from any account.
    fn view_fails<C: SolCall>(&mut self, call: &C, error: &impl SolError) {
        self.fails(BOB, call, error);
    }

    fn read<C: SolCall>(&self, call: &C) -> C::Return {
        self.chain.read(self.registry, call)
    }

    /// Asserts that the last transaction emitted this event and no other.
    fn emitted(&self, event: &impl SolEvent) {
        let logs: Vec<_> = self.chain.journal.logs().iter().map(|log| log.data.clone()).collect();
        assert_eq!(logs, [event.encode_log_data()]);
    }

    fn version_at(&self, number: u8, version: u64) -> sol::Version {
        self.read(&sol::versionAtCall { collection: BOOKS, id: id(number), version })
    }

    fn ids(&self, from: u64, count: u64) -> Vec<B256> {
        self.read(&sol::idsCall { collection: BOOKS, from: U256::from(from), count: U256::from(count) })
    }
}

#[test]
fn roles_are_hashes_of_their_names() {
    assert_eq!(keccak256("WRITER_ROLE"), WRITER_ROLE);
}

#[test]
fn the_owner_of_a_new_registry_administers_and_writes() {
    let mut world = deploy();
    for role in [world.read(&sol::DEFAULT_ADMIN_ROLECall {}), world.read(&sol::WRITER_ROLECall {})] {
        assert!(world.read(&sol::hasRoleCall { role, account: OWNER }));
        assert!(!world.read(&sol::hasRoleCall { role, account: BOB }));
    }
    assert_eq!(world.read(&sol::getRoleAdminCall { role: WRITER_ROLE }), DEFAULT_ADMIN_ROLE);
    world.ok(OWNER, &sol::revokeRoleCall { role: WRITER_ROLE, account: WRITER });
    assert!(!world.read(&sol::hasRoleCall { role: WRITER_ROLE, account: WRITER }));
    world.ok(OWNER, &sol::renounceRoleCall { role: WRITER_ROLE, callerConfirmation: OWNER });
    assert!(!world.read(&sol::hasRoleCall { role: WRITER_ROLE, account: OWNER }));
    let bad = sol::AccessControlBadConfirmation {};
    world.fails(ALICE, &sol::renounceRoleCall { role: WRITER_ROLE, callerConfirmation: OWNER }, &bad);
}

#[test]
fn an_owner_that_is_no_account_is_refused() {
    let init_code = RecordRegistryParams::new(Address::ZERO).init_code();
    let (_, result) = TestChain::new(&[BOB]).create(BOB, 0, &init_code, 1_000_000);
    let want = sol::InvalidOwner { owner: Address::ZERO }.abi_encode();
    assert_eq!((result.outcome, result.output.as_ref()), (FrameOutcome::Revert, want.as_slice()));
}

#[test]
fn administrators_create_collections_and_set_their_rules() {
    let mut world = deploy();
    let films = B256::repeat_byte(0xf1);
    let everybody = rules(Access::Anyone, Access::OwnerOrWriters, Access::Admin, Access::Writers);
    world.ok(OWNER, &create_collection(BOOKS, "books", &owners_rules()));
    let created = sol::CollectionCreated { collection: BOOKS, name: "books".to_owned(), rules: owners_rules() };
    world.emitted(&created);
    world.fails(OWNER, &create_collection(BOOKS, "others", &everybody), &sol::CollectionExists { collection: BOOKS });
    world.ok(OWNER, &create_collection(films, "films in black and white, not longer than two hours", &everybody));
    assert_eq!(world.read(&sol::collectionCountCall {}), U256::from(2));
    let page = |from: u64, count| sol::collectionsCall { from: U256::from(from), count };
    assert_eq!(world.read(&page(0, U256::MAX)), [BOOKS, films]);
    assert_eq!(world.read(&page(1, U256::ONE)), [films]);
    assert!(world.read(&page(2, U256::ONE)).is_empty());
    assert_eq!(world.read(&sol::nameCall { collection: BOOKS }), "books");
    let name = world.read(&sol::nameCall { collection: films });
    assert_eq!(name, "films in black and white, not longer than two hours");
    assert_eq!(world.read(&sol::rulesCall { collection: films }), everybody);

    world.ok(OWNER, &sol::setRulesCall { collection: BOOKS, rules: everybody.clone() });
    world.emitted(&sol::RulesChanged { collection: BOOKS, rules: everybody.clone() });
    assert_eq!(world.read(&sol::rulesCall { collection: BOOKS }), everybody);

    let refused = sol::AccessControlUnauthorizedAccount { account: WRITER, neededRole: DEFAULT_ADMIN_ROLE };
    world.fails(WRITER, &create_collection(id(1), "mine", &everybody), &refused);
    world.fails(WRITER, &sol::setRulesCall { collection: BOOKS, rules: everybody }, &refused);
}

#[test]
fn a_record_is_created_read_updated_and_removed() {
    let mut world = library(&owners_rules());
    world.ok(ALICE, &create(1, b"one"));
    let (collection, one, author) = (BOOKS, id(1), ALICE);
    world.emitted(&sol::RecordCreated { collection, id: one, author, version: 1, data: b"one".into() });
    let exists = sol::existsCall { collection, id: one };
    assert!(world.read(&exists));
    let record = sol::Record { id: one, owner: ALICE, createdAt: NOW, updatedAt: NOW, version: 1, data: b"one".into() };
    assert_eq!(world.read(&get(1)), record);
    world.fails(BOB, &create(1, b"mine"), &sol::RecordExists { collection, id: one });

    world.chain.at(NOW + 12);
    let long: &[u8] = &[7; 100];
    world.ok(ALICE, &sol::updateCall { collection, id: one, expectedVersion: 1, data: long.to_vec().into() });
    let data = Bytes::from(long.to_vec());
    world.emitted(&sol::RecordUpdated { collection, id: one, author, version: 2, data: data.clone() });
    assert_eq!(world.read(&get(1)), sol::Record { updatedAt: NOW + 12, version: 2, data, ..record });

    world.ok(ALICE, &remove(1, 2));
    world.emitted(&sol::RecordRemoved { collection, id: one, author, version: 3 });
    assert!(!world.read(&exists));
    assert_eq!(world.read(&sol::countCall { collection }), U256::ZERO);
    let gone = sol::NonexistentRecord { collection, id: one };
    world.view_fails(&get(1), &gone);
    world.fails(ALICE, &update(1, 0, b""), &gone);
    world.fails(ALICE, &remove(1, 0), &gone);
    world.fails(ALICE, &transfer(1, 0, BOB), &gone);
}

#[test]
fn a_change_of_another_version_than_expected_is_refused() {
    let mut world = library(&owners_rules());
    world.ok(ALICE, &create(1, b"one"));
    world.ok(ALICE, &update(1, 0, b"two"));
    for expected in [1, 3, u64::MAX] {
        let mismatch = sol::VersionMismatch { expected, actual: 2 };
        world.fails(ALICE, &update(1, expected, b"three"), &mismatch);
        world.fails(ALICE, &remove(1, expected), &mismatch);
        world.fails(ALICE, &transfer(1, expected, BOB), &mismatch);
    }
    world.ok(ALICE, &update(1, 2, b"three"));
    world.ok(ALICE, &transfer(1, 3, BOB));
    world.ok(BOB, &remove(1, 4));
}

#[test]
fn a_record_goes_to_another_owner_with_its_data() {
    let mut world = library(&owners_rules());
    world.ok(ALICE, &create(1, b"one"));
    world.chain.at(NOW + 5);
    world.fails(ALICE, &transfer(1, 1, Address::ZERO), &sol::InvalidOwner { owner: Address::ZERO });
    world.ok(ALICE, &transfer(1, 1, BOB));
    let (collection, id, author) = (BOOKS, id(1), ALICE);
    let moved = sol::RecordTransferred { collection, id, author, version: 2, previousOwner: ALICE, newOwner: BOB };
    world.emitted(&moved);
    let record = sol::Record { id, owner: BOB, createdAt: NOW, updatedAt: NOW + 5, version: 2, data: b"one".into() };
    assert_eq!(world.read(&get(1)), record);
    let needed = Access::RecordOwner;
    let refused = sol::RecordUnauthorizedAccount { collection, id, account: ALICE, needed };
    world.fails(ALICE, &update(1, 0, b"two"), &refused);
    world.ok(BOB, &update(1, 2, b"two"));
}

#[test]
fn a_history_stays_and_goes_on_when_a_removed_record_is_created_again() {
    let mut world = library(&owners_rules());
    let versions = sol::versionsCall { collection: BOOKS, id: id(1) };
    assert_eq!(world.read(&versions), 0);
    world.ok(ALICE, &create(1, b"one"));
    world.chain.at(NOW + 1);
    world.ok(ALICE, &update(1, 0, b"two"));
    world.chain.at(NOW + 2);
    world.ok(ALICE, &transfer(1, 0, BOB));
    world.chain.at(NOW + 3);
    world.ok(BOB, &remove(1, 0));
    world.chain.at(NOW + 4);
    world.ok(WRITER, &create(1, b"three"));
    assert_eq!(world.read(&versions), 5);
    let version = |change, author, seconds: u64, owner, data: &'static [u8]| sol::Version {
        change,
        author,
        at: NOW + seconds,
        owner,
        data: data.into(),
    };
    let want = [
        version(Change::Created, ALICE, 0, ALICE, b"one"),
        version(Change::Updated, ALICE, 1, ALICE, b"two"),
        version(Change::Transferred, ALICE, 2, BOB, b"two"),
        version(Change::Removed, BOB, 3, BOB, b""),
        version(Change::Created, WRITER, 4, WRITER, b"three"),
    ];
    for (number, want) in (1..).zip(want) {
        assert_eq!(world.version_at(1, number), want);
    }
    for version in [0, 6, u64::MAX] {
        let (collection, id) = (BOOKS, id(1));
        let unknown = sol::NonexistentVersion { collection, id, version };
        world.view_fails(&sol::versionAtCall { collection, id, version }, &unknown);
    }
    let record = world.read(&get(1));
    assert_eq!((record.createdAt, record.version), (NOW + 4, 5));
}

#[test]
fn ids_and_records_come_in_pages() {
    let mut world = library(&owners_rules());
    for number in 1..=5 {
        world.ok(ALICE, &create(number, b"data"));
    }
    let numbers = |ids: Vec<B256>| ids.into_iter().map(|id| id[31]).collect::<Vec<_>>();
    assert_eq!(numbers(world.ids(0, 2)), [1, 2]);
    assert_eq!(numbers(world.ids(2, 2)), [3, 4]);
    assert_eq!(numbers(world.ids(4, 2)), [5]);
    assert!(world.ids(5, 2).is_empty());
    world.ok(ALICE, &remove(2, 0));
    assert_eq!(numbers(world.ids(0, 9)), [1, 5, 3, 4], "the last one is moved");
    world.ok(ALICE, &remove(4, 0));
    assert_eq!(numbers(world.ids(0, 9)), [1, 5, 3]);
    world.ok(ALICE, &remove(5, 0));
    world.ok(ALICE, &create(2, b"again"));
    assert_eq!(numbers(world.ids(0, 9)), [1, 3, 2]);
    let (collection, from, count) = (BOOKS, U256::ONE, U256::MAX);
    let records = world.read(&sol::recordsCall { collection, from, count });
    assert_eq!(records, [world.read(&get(3)), world.read(&get(2))]);
    assert!(world.read(&sol::idsCall { collection, from: U256::MAX, count }).is_empty());
    assert_eq!(world.read(&sol::countCall { collection }), U256::from(3));
    assert_eq!(world.read(&sol::idAtCall { collection, index: U256::from(2) }), id(2));
    for index in [U256::from(3), U256::MAX] {
        let beyond = sol::OutOfBoundsIndex { collection, index, count: U256::from(3) };
        world.view_fails(&sol::idAtCall { collection, index }, &beyond);
    }
}

#[test]
fn nothing_is_found_in_a_collection_that_is_not_there() {
    let mut world = library(&owners_rules());
    let collection = B256::repeat_byte(0xee);
    let unknown = sol::NonexistentCollection { collection };
    let (id, index, from, count) = (id(1), U256::ZERO, U256::ZERO, U256::ONE);
    world.fails(OWNER, &sol::setRulesCall { collection, rules: owners_rules() }, &unknown);
    world.fails(OWNER, &sol::createCall { collection, id, data: Bytes::new() }, &unknown);
    world.fails(OWNER, &sol::updateCall { collection, id, expectedVersion: 0, data: Bytes::new() }, &unknown);
    world.fails(OWNER, &sol::removeCall { collection, id, expectedVersion: 0 }, &unknown);
    world.fails(OWNER, &sol::transferRecordCall { collection, id, expectedVersion: 0, newOwner: BOB }, &unknown);
    world.view_fails(&sol::nameCall { collection }, &unknown);
    world.view_fails(&sol::rulesCall { collection }, &unknown);
    world.view_fails(&sol::existsCall { collection, id }, &unknown);
    world.view_fails(&sol::getCall { collection, id }, &unknown);
    world.view_fails(&sol::versionsCall { collection, id }, &unknown);
    world.view_fails(&sol::versionAtCall { collection, id, version: 1 }, &unknown);
    world.view_fails(&sol::countCall { collection }, &unknown);
    world.view_fails(&sol::idAtCall { collection, index }, &unknown);
    world.view_fails(&sol::idsCall { collection, from, count }, &unknown);
    world.view_fails(&sol::recordsCall { collection, from, count }, &unknown);
}

#[test]
fn interfaces_are_told() {
    let world = deploy();
    let supports = |id: [u8; 4]| world.read(&sol::supportsInterfaceCall { interfaceId: id.into() });
    for id in [[0x01, 0xff, 0xc9, 0xa7], [0x79, 0x65, 0xdb, 0x0b], INTERFACE_ID] {
        assert!(supports(id), "{id:02x?}");
    }
    for id in [[0xff; 4], [0; 4]] {
        assert!(!supports(id), "{id:02x?}");
    }
}

#[test]
fn malformed_calls_are_refused() {
    let mut world = library(&owners_rules());
    let mut bad_rule = sol::setRulesCall { collection: BOOKS, rules: owners_rules() }.abi_encode();
    *bad_rule.last_mut().unwrap() = 5;
    let mut bad_name = create_collection(id(1), "name", &owners_rules()).abi_encode();
    let text = bad_name.windows(4).position(|bytes| bytes == b"name").unwrap();
    bad_name[text] = 0xff;
    let cases = [
        ("a rule that is none", 0, bad_rule),
        ("a name that is no UTF-8", 0, bad_name),
        ("value", 1, create(1, b"").abi_encode()),
        ("ether alone", 1, Vec::new()),
        ("no function", 0, vec![1, 2, 3, 4]),
    ];
    for (name, value, input) in cases {
        let result = world.chain.send(OWNER, world.registry, value, &input, 1_000_000);
        assert_eq!((result.outcome, result.output.len()), (FrameOutcome::Revert, 0), "{name}");
    }
}

#[test]
fn storage_is_laid_out_as_documented() {
    let layout = RecordRegistry.storage_layout();
    let mut lines: Vec<_> = layout.storage.iter().map(|entry| format!("{} {}", entry.label, entry.slot)).collect();
    for name in ["Collection", "Settings", "Record", "Head", "Version", "Summary"] {
        let members = layout.types[&format!("t_struct({name})_storage")].members.as_ref().unwrap();
        let members = members.iter().map(|member| format!("{} {}:{}", member.label, member.slot, member.offset));
        lines.push(format!("{name}: {}", members.collect::<Vec<_>>().join(", ")));
    }
    let want = [
        "_roles 0",
        "_collectionIds 1",
        "_collections 2",
        "Collection: name 0:0, settings 1:0, ids 2:0, records 3:0",
        "Settings: exists 0:0, create 0:1, update 0:2, remove 0:3, transfer 0:4",
        "Record: head 0:0, versions 1:0",
        "Head: version 0:0, createdAt 0:8, position 0:16",
        "Version: summary 0:0, data 2:0",
        "Summary: author 0:0, at 0:20, change 0:28, owner 1:0, dataVersion 1:20",
    ];
    assert_eq!(lines, want);

    let mut world = library(&rules(Access::Anyone, Access::RecordOwner, Access::Writers, Access::Admin));
    world.ok(ALICE, &create(1, b"one"));
    world.ok(ALICE, &update(1, 0, b"two"));
    let mut slot = |slot| world.chain.slot(world.registry, slot);
    let books = mapping_slot(BOOKS.into(), U256::from(2));
    assert_eq!(slot(books + U256::ONE), uint!(0x0402010001_U256));
    let record = mapping_slot(id(1).into(), books + U256::from(3));
    assert_eq!(slot(record).as_limbs(), &[2, NOW, 1, 0]);
    let second = mapping_slot(U256::from(2), record + U256::ONE);
    let author = U256::from_be_bytes(ALICE.into_word().0);
    let shifted = |number: u64, bytes: usize| U256::from(number) << (8 * bytes);
    assert_eq!(slot(second), author | shifted(NOW, 20) | shifted(1, 28));
    assert_eq!(slot(second + U256::ONE), author | shifted(2, 20));
    assert_eq!(slot(second + U256::from(2)).to_be_bytes::<32>()[..3], *b"two");
}

#[test]
fn a_registry_is_described_and_encoded_by_names() {
    let descriptor = Descriptor::of(&RecordRegistry);
    let encoded = descriptor.encode(&serde_json::Map::new(), ALICE).unwrap();
    assert_eq!(encoded, RecordRegistryParams::new(ALICE).init_code(), "the deployer owns it");
}

#[test]
fn the_abi_is_complete() {
    let abi = RecordRegistry.abi();
    assert_eq!((abi.functions().count(), abi.events().count(), abi.errors().count()), (26, 9, 11));
    assert!(abi.receive.is_none() && abi.fallback.is_none());
    let rules = &abi.functions["setRules"][0].inputs[1];
    assert_eq!(rules.selector_type(), "(uint8,uint8,uint8,uint8)");
}
