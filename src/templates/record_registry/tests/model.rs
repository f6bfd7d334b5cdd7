//! Random histories against maps, and arbitrary call data.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::vm::{HaltReason, Marker};

const ACCOUNTS: [Address; 4] = [OWNER, WRITER, ALICE, BOB];

#[derive(Clone, Debug)]
enum Step {
    CreateCollection(sol::Rules),
    SetRules(sol::Rules),
    Grant(Address),
    Revoke(Address),
    Create(Bytes),
    Update(Expected, Bytes),
    Remove(Expected),
    Transfer(Expected, Address),
}

/// Version that a change expects.
#[derive(Clone, Copy, Debug)]
enum Expected {
    Any,
    /// The one that the record has.
    Last,
    Number(u64),
}

fn access() -> impl Strategy<Value = Access> {
    prop_oneof![
        3 => Just(Access::Anyone),
        2 => Just(Access::RecordOwner),
        1 => Just(Access::Writers),
        1 => Just(Access::OwnerOrWriters),
        1 => Just(Access::Admin),
    ]
}

fn some_rules() -> impl Strategy<Value = sol::Rules> {
    (access(), access(), access(), access())
        .prop_map(|(create, update, remove, transfer)| rules(create, update, remove, transfer))
}

fn expected() -> impl Strategy<Value = Expected> {
    prop_oneof![2 => Just(Expected::Any), 4 => Just(Expected::Last), 1 => (1_u64..6).prop_map(Expected::Number)]
}

fn account() -> impl Strategy<Value = Address> {
    proptest::sample::select(&ACCOUNTS)
}

fn data() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..70).prop_map(Into::into)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => some_rules().prop_map(Step::CreateCollection),
        1 => some_rules().prop_map(Step::SetRules),
        1 => account().prop_map(Step::Grant),
        1 => account().prop_map(Step::Revoke),
        8 => data().prop_map(Step::Create),
        5 => (expected(), data()).prop_map(|(expected, data)| Step::Update(expected, data)),
        4 => expected().prop_map(Step::Remove),
        3 => (expected(), prop_oneof![8 => account(), 1 => Just(Address::ZERO)])
            .prop_map(|(expected, to)| Step::Transfer(expected, to)),
    ]
}

/// A registry in maps.
#[derive(Debug, Default)]
struct Model {
    writers: BTreeSet<Address>,
    order: Vec<B256>,
    collections: BTreeMap<B256, Collection>,
}

#[derive(Debug)]
struct Collection {
    rules: sol::Rules,
    ids: Vec<B256>,
    records: BTreeMap<B256, Record>,
}

#[derive(Debug, Default)]
struct Record {
    created_at: u64,
    history: Vec<sol::Version>,
}

/// What a step names: who does it, when, and to which record.
#[derive(Clone, Copy, Debug)]
struct Target {
    account: Address,
    at: u64,
    collection: B256,
    id: B256,
}

/// Revert data.
type Refusal = Vec<u8>;

impl Model {
    fn only_admin(&self, account: Address) -> Result<(), Refusal> {
        let refused = sol::AccessControlUnauthorizedAccount { account, neededRole: DEFAULT_ADMIN_ROLE };
        if account == OWNER { Ok(()) } else { Err(refused.abi_encode()) }
    }

    /// Does a step, or returns the error by which it is refused.
    fn apply(&mut self, step: &Step, target: Target) -> Result<(), Refusal> {
        let Target { account, collection, .. } = target;
        match step {
            Step::CreateCollection(rules) => {
                self.only_admin(account)?;
                if self.collections.contains_key(&collection) {
                    return Err(sol::CollectionExists { collection }.abi_encode());
                }
                self.order.push(collection);
                let new = Collection { rules: rules.clone(), ids: Vec::new(), records: BTreeMap::new() };
                self.collections.insert(collection, new);
            }
            Step::SetRules(rules) => {
                self.only_admin(account)?;
                self.collection(collection)?.rules = rules.clone();
            }
            Step::Grant(writer) => {
                self.only_admin(account)?;
                self.writers.insert(*writer);
            }
            Step::Revoke(writer) => {
                self.only_admin(account)?;
                self.writers.remove(writer);
            }
            Step::Create(data) => self.create(target, data)?,
            Step::Update(expected, data) => {
                let last = self.check(target, *expected, |rules| rules.update)?;
                self.append(target, Change::Updated, last.owner, data);
            }
            Step::Remove(expected) => {
                let last = self.check(target, *expected, |rules| rules.remove)?;
                let ids = &mut self.collection(collection)?.ids;
                let index = ids.iter().position(|id| *id == target.id).unwrap();
                ids.swap_remove(index);
                self.append(target, Change::Removed, last.owner, &Bytes::new());
            }
            Step::Transfer(expected, to) => {
                let last = self.check(target, *expected, |rules| rules.transfer)?;
                if to.is_zero() {
                    return Err(sol::InvalidOwner { owner: *to }.abi_encode());
                }
                self.append(target, Change::Transferred, *to, &last.data);
            }
        }
        Ok(())
    }

    fn collection(&mut self, collection: B256) -> Result<&mut Collection, Refusal> {
        self.collections.get_mut(&collection).ok_or_else(|| sol::NonexistentCollection { collection }.abi_encode())
    }

    fn create(&mut self, target: Target, data: &Bytes) -> Result<(), Refusal> {
        let Target { account, at, collection, id } = target;
        let needed = self.collection(collection)?.rules.create;
        self.require(needed, target, account)?;
        let stored = self.collection(collection)?;
        if stored.ids.contains(&id) {
            return Err(sol::RecordExists { collection, id }.abi_encode());
        }
        stored.ids.push(id);
        stored.records.entry(id).or_default().created_at = at;
        self.append(target, Change::Created, account, data);
        Ok(())
    }

    /// Returns the last version of a record that the caller may change.
    fn check(
        &mut self,
        target: Target,
        expected: Expected,
        rule: fn(&sol::Rules) -> Access,
    ) -> Result<sol::Version, Refusal> {
        let Target { collection, id, .. } = target;
        let stored = self.collection(collection)?;
        if !stored.ids.contains(&id) {
            return Err(sol::NonexistentRecord { collection, id }.abi_encode());
        }
        let (needed, history) = (rule(&stored.rules), &stored.records[&id].history);
        let (last, actual) = (history.last().unwrap().clone(), history.len() as u64);
        self.require(needed, target, last.owner)?;
        match expected {
            Expected::Number(expected) if expected != actual => {
                Err(sol::VersionMismatch { expected, actual }.abi_encode())
            }
            _ => Ok(last),
        }
    }

    fn require(&self, needed: Access, target: Target, owner: Address) -> Result<(), Refusal> {
        let Target { account, collection, id, .. } = target;
        let (is_owner, is_writer) = (account == owner, self.writers.contains(&account));
        let is_allowed = [true, is_owner, is_writer, is_owner || is_writer, account == OWNER][needed as usize];
        let refused = sol::RecordUnauthorizedAccount { collection, id, account, needed };
        if is_allowed { Ok(()) } else { Err(refused.abi_encode()) }
    }

    fn append(&mut self, target: Target, change: Change, owner: Address, data: &Bytes) {
        let Target { account: author, at, collection, id } = target;
        let record = self.collections.get_mut(&collection).unwrap().records.get_mut(&id).unwrap();
        record.history.push(sol::Version { change, author, at, owner, data: data.clone() });
    }

    fn version(&self, target: Target) -> u64 {
        let record = self.collections.get(&target.collection).and_then(|stored| stored.records.get(&target.id));
        record.map_or(0, |record| record.history.len() as u64)
    }
}

impl World {
    /// Sends the call of a step, and returns the data with which it reverts.
    fn apply(&mut self, step: &Step, target: Target, last: u64) -> Result<(), Refusal> {
        let Target { account: from, collection, id, .. } = target;
        let number = |expected: Expected| match expected {
            Expected::Any => 0,
            Expected::Last => last,
            Expected::Number(number) => number,
        };
        let input = match step.clone() {
            Step::CreateCollection(rules) => create_collection(collection, "some", &rules).abi_encode(),
            Step::SetRules(rules) => sol::setRulesCall { collection, rules }.abi_encode(),
            Step::Grant(account) => sol::grantRoleCall { role: WRITER_ROLE, account }.abi_encode(),
            Step::Revoke(account) => sol::revokeRoleCall { role: WRITER_ROLE, account }.abi_encode(),
            Step::Create(data) => sol::createCall { collection, id, data }.abi_encode(),
            Step::Update(expected, data) => {
                sol::updateCall { collection, id, expectedVersion: number(expected), data }.abi_encode()
            }
            Step::Remove(expected) => {
                sol::removeCall { collection, id, expectedVersion: number(expected) }.abi_encode()
            }
            Step::Transfer(expected, to) => {
                sol::transferRecordCall { collection, id, expectedVersion: number(expected), newOwner: to }.abi_encode()
            }
        };
        let result = self.chain.send(from, self.registry, 0, &input, 5_000_000);
        match result.outcome {
            FrameOutcome::Success => Ok(()),
            FrameOutcome::Revert => Err(result.output.to_vec()),
            FrameOutcome::Halt(reason) => panic!("{reason:?}"),
        }
    }

    /// Asserts that all views return what the model has.
    fn is_as(&self, model: &Model) {
        let (from, all) = (U256::ZERO, U256::MAX);
        assert_eq!(self.read(&sol::collectionCountCall {}), U256::from(model.order.len()));
        assert_eq!(self.read(&sol::collectionsCall { from, count: all }), model.order);
        for (&collection, stored) in &model.collections {
            assert_eq!(self.read(&sol::rulesCall { collection }), stored.rules);
            assert_eq!(self.read(&sol::countCall { collection }), U256::from(stored.ids.len()));
            assert_eq!(self.read(&sol::idsCall { collection, from, count: all }), stored.ids);
            let records: Vec<_> = stored.ids.iter().map(|id| stored.record(*id)).collect();
            assert_eq!(self.read(&sol::recordsCall { collection, from, count: all }), records);
            for (index, id) in stored.ids.iter().enumerate() {
                assert_eq!(self.read(&sol::idAtCall { collection, index: U256::from(index) }), *id);
            }
            for (&id, record) in &stored.records {
                assert_eq!(self.read(&sol::existsCall { collection, id }), stored.ids.contains(&id));
                assert_eq!(self.read(&sol::versionsCall { collection, id }), record.history.len() as u64);
                for (version, want) in (1..).zip(&record.history) {
                    assert_eq!(self.read(&sol::versionAtCall { collection, id, version }), *want);
                }
            }
        }
    }
}

impl Collection {
    fn record(&self, id: B256) -> sol::Record {
        let Record { created_at, history } = &self.records[&id];
        let sol::Version { at, owner, data, .. } = history.last().unwrap().clone();
        sol::Record { id, owner, createdAt: *created_at, updatedAt: at, version: history.len() as u64, data }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_registry_is_what_maps_are(
        first in some_rules(),
        steps in vec((step(), account(), 0_u8..2, 1_u8..4, 0_u64..9), 1..50),
    ) {
        let mut world = deploy();
        let mut model = Model { writers: [OWNER, WRITER].into(), ..Model::default() };
        let mut at = NOW;
        let start = (Step::CreateCollection(first), OWNER, 0, 0, 0);
        for (step, account, collection, number, later) in [start].into_iter().chain(steps) {
            at += later;
            world.chain.at(at);
            let target = Target { account, at, collection: B256::repeat_byte(collection), id: id(number) };
            let last = model.version(target);
            prop_assert_eq!(world.apply(&step, target, last), model.apply(&step, target), "{:?} {:?}", step, target);
        }
        world.is_as(&model);
    }

    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..27, words in vec(prop_oneof![Just(B256::ZERO), Just(BOOKS), (0_u8..200).prop_map(id), any::<[u8; 32]>().prop_map(B256::from)], 0..9), tail: Vec<u8>, value in 0_u64..9) {
        let mut world = library(&owners_rules());
        world.ok(OWNER, &create(1, b"one"));
        let known = sol::RecordRegistryCalls::selectors().nth(selector).unwrap_or([1; 4]);
        let words: Vec<u8> = words.into_iter().flatten().collect();
        let input = [known.as_slice(), &words, &tail].concat();
        for gas in [1_000_000, 20_000] {
            let result = world.chain.clone().send(OWNER, world.registry, u64::from(value == 8), &input, gas);
            prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
        }
        let init_code = Marker(RecordRegistry::ID).init_code(&tail);
        let (_, result) = TestChain::new(&[BOB]).create(BOB, 0, &init_code, 1_000_000);
        prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
    }
}
