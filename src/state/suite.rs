//! What every state store must do, as functions that each implementation's tests call.
//!
//! The heart is [`Bench`]: a store beside a model that keeps every version as plain maps. Whatever is done, each retained
//! version must read as its map says, have the root that the naive trie gives, and prove its values.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};

use super::{
    Account, AccountChange, AccountInfo, Commit, CommitId, EMPTY_CODE_HASH, EMPTY_ROOT, StateChanges, StateError,
    StateStore, StateView,
    model::{encode_account, naive_root, naive_storage_root, rebuilt_root},
    verify_proof,
};
use crate::store::{Batch, KeyValue};

/// One version as plain maps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    accounts: BTreeMap<Address, ModelAccount>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ModelAccount {
    info: AccountInfo,
    slots: BTreeMap<U256, U256>,
}

impl Model {
    fn apply(&mut self, changes: &StateChanges) {
        for (address, change) in &changes.accounts {
            let Some(info) = change.info else {
                self.accounts.remove(address);
                continue;
            };
            let fresh = || ModelAccount { info, slots: BTreeMap::new() };
            let account = self.accounts.entry(*address).or_insert_with(fresh);
            account.info = info;
            if change.clear_storage {
                account.slots.clear();
            }
            for (slot, value) in &change.storage {
                if value.is_zero() {
                    account.slots.remove(slot)
                } else {
                    account.slots.insert(*slot, *value)
                };
            }
        }
    }

    fn account(&self, address: &Address) -> Option<Account> {
        let account = self.accounts.get(address)?;
        let AccountInfo { nonce, balance, code_hash } = account.info;
        Some(Account { nonce, balance, code_hash, storage_root: naive_storage_root(&account.slots) })
    }

    fn root(&self) -> B256 {
        let pair = |address: &Address| Some((keccak256(address).to_vec(), encode_account(&self.account(address)?)));
        naive_root(&self.accounts.keys().filter_map(pair).collect())
    }
}

/// One thing done to a store. Indices are taken modulo what there is.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Makes a version from a retained one and writes it.
    Commit {
        /// Index of the parent among the retained versions, the empty one first.
        parent: usize,
        /// What changes.
        changes: StateChanges,
    },
    /// Makes a version, reads it, and gives it back unwritten.
    Discard {
        /// Index of the parent among the retained versions.
        parent: usize,
        /// What changes.
        changes: StateChanges,
    },
    /// Makes a version and prunes others in the same batch.
    CommitAndPrune {
        /// Index of the parent among the retained versions.
        parent: usize,
        /// What changes.
        changes: StateChanges,
        /// Indices of the versions that go.
        prune: Vec<usize>,
    },
    /// Prunes versions.
    Prune(Vec<usize>),
    /// Takes a view and holds it to the end.
    Hold(usize),
    /// Lets the views go.
    Release,
    /// Opens the store again; nothing where it lives in memory alone.
    Reopen,
}

/// Makes a state store over what the second half keeps; called again to reopen it.
pub type Open<'a> = &'a dyn Fn(&Arc<dyn KeyValue>) -> Arc<dyn StateStore>;

/// A store beside its model.
pub struct Bench<'a> {
    keys: Arc<dyn KeyValue>,
    open: Option<Open<'a>>,
    store: Arc<dyn StateStore>,
    versions: BTreeMap<CommitId, Model>,
    held: Vec<(Arc<dyn StateView>, Model)>,
}

impl core::fmt::Debug for Bench<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Bench").field("versions", &self.versions.len()).finish_non_exhaustive()
    }
}

impl<'a> Bench<'a> {
    /// A store that lives as long as its handle.
    pub fn volatile(store: Arc<dyn StateStore>) -> Self {
        let keys: Arc<dyn KeyValue> = Arc::new(crate::store::MemoryStore::new());
        let versions = BTreeMap::from([(CommitId::EMPTY, Model::default())]);
        Self { keys, open: None, store, versions, held: Vec::new() }
    }

    /// A store over `keys`, made by `open`.
    pub fn durable(keys: Arc<dyn KeyValue>, open: Open<'a>) -> Self {
        Self { store: open(&keys), open: Some(open), ..Self::volatile(open(&keys)) }.with_keys(keys)
    }

    fn with_keys(self, keys: Arc<dyn KeyValue>) -> Self {
        Self { keys, ..self }
    }

    /// Does one thing and checks what it concerns.
    pub fn run(&mut self, operation: &Operation) {
        match operation {
            Operation::Commit { parent, changes } => {
                let parent = self.pick(*parent);
                self.commit(parent, changes, &[]);
            }
            Operation::Discard { parent, changes } => {
                let parent = self.pick(*parent);
                let mut batch = Batch::new();
                let commit = self.store.commit(parent, changes, &mut batch).expect("a commit succeeds");
                let mut model = self.versions[&parent].clone();
                model.apply(changes);
                self.check_version(commit, &model);
                self.held.push((self.store.view(commit.id).expect("it can be read"), model));
                self.store.discard(commit.id);
                assert!(self.store.view(commit.id).is_err(), "a discarded version is gone");
            }
            Operation::CommitAndPrune { parent, changes, prune } => {
                let parent = self.pick(*parent);
                let prune = self.pick_all(prune);
                self.commit(parent, changes, &prune);
            }
            Operation::Prune(indices) => {
                let prune = self.pick_all(indices);
                let mut batch = Batch::new();
                self.store.prune(&prune, &mut batch).expect("pruning succeeds");
                self.keys.write(batch).expect("a write succeeds");
                self.forget(&prune);
            }
            Operation::Hold(index) => {
                let id = self.pick(*index);
                let view = self.store.view(id).expect("a retained version can be read");
                self.held.push((view, self.versions[&id].clone()));
            }
            Operation::Release => self.held.clear(),
            Operation::Reopen => {
                if let Some(open) = self.open {
                    self.held.clear();
                    self.store = open(&self.keys);
                }
            }
        }
    }

    /// Checks every version that is retained and every view that is held.
    pub fn check(&self) {
        for (id, model) in &self.versions {
            self.check_version(Commit { id: *id, root: model.root() }, model);
        }
        for (view, model) in &self.held {
            check_view(&**view, model);
        }
    }

    /// Prunes every version.
    pub fn prune_all(&mut self) {
        self.held.clear();
        self.run(&Operation::Prune((0..self.versions.len()).collect()));
        // Once more, for what had to wait.
        self.run(&Operation::Prune(Vec::new()));
    }

    /// Where the store keeps what is durable.
    pub fn keys(&self) -> &Arc<dyn KeyValue> {
        &self.keys
    }

    fn commit(&mut self, parent: CommitId, changes: &StateChanges, prune: &[CommitId]) {
        let mut batch = Batch::new();
        let commit = self.store.commit(parent, changes, &mut batch).expect("a commit succeeds");
        assert!(!self.versions.contains_key(&commit.id), "ids are never used again");
        let mut model = self.versions[&parent].clone();
        model.apply(changes);
        self.check_version(commit, &model);
        if !prune.is_empty() {
            self.store.prune(prune, &mut batch).expect("pruning succeeds");
        }
        self.keys.write(batch).expect("a write succeeds");
        self.versions.insert(commit.id, model.clone());
        self.forget(prune);
        if self.versions.contains_key(&commit.id) {
            self.check_version(commit, &model);
        }
    }

    fn forget(&mut self, pruned: &[CommitId]) {
        for id in pruned {
            self.versions.remove(id);
            let refused = self.store.view(*id).expect_err("a pruned version cannot be read");
            assert!(matches!(refused, StateError::Pruned { commit } if commit == *id), "{refused}");
        }
    }

    fn pick(&self, index: usize) -> CommitId {
        let at = index % self.versions.len();
        self.versions.keys().nth(at).copied().unwrap_or(CommitId::EMPTY)
    }

    /// The versions at `indices`, each once; the empty one is never pruned.
    fn pick_all(&self, indices: &[usize]) -> Vec<CommitId> {
        let picked: BTreeSet<CommitId> = indices.iter().map(|index| self.pick(*index)).collect();
        picked.into_iter().filter(|id| *id != CommitId::EMPTY).collect()
    }

    fn check_version(&self, commit: Commit, model: &Model) {
        let view = self.store.view(commit.id).expect("a retained version can be read");
        assert_eq!(view.commit(), commit);
        check_view(&*view, model);
    }
}

fn check_view(view: &dyn StateView, model: &Model) {
    let root = view.commit().root;
    assert_eq!(root, model.root(), "the root is the naive one");
    assert_eq!(root, rebuilt_root(view), "the root is that of the leaves");
    let absent = Address::repeat_byte(0xee);
    for address in model.accounts.keys().chain([&absent]) {
        let account = model.account(address);
        assert_eq!(view.account(address).expect("it can be read"), account, "{address}");
        let slots = model.accounts.get(address).map(|account| account.slots.clone()).unwrap_or_default();
        for (slot, value) in &slots {
            assert_eq!(view.storage(address, slot).expect("it can be read"), *value, "{address} slot {slot}");
        }
        assert_eq!(view.storage(address, &U256::MAX).expect("it can be read"), U256::ZERO);

        let asked: Vec<B256> = slots.keys().chain([&U256::MAX]).map(|slot| B256::from(*slot)).collect();
        let proof = view.proof(address, &asked).expect("it can be proven");
        verify_proof(root, &proof).expect("the proof holds");
        assert_eq!(proof.account, account.unwrap_or_default());
        let values: Vec<U256> = proof.storage.iter().map(|slot| slot.value).collect();
        assert_eq!(values, slots.values().copied().chain([U256::ZERO]).collect::<Vec<_>>());
    }
}

/// A change that sets an account's balance and slots.
pub fn set(address: Address, balance: u64, slots: &[(u64, u64)]) -> (Address, AccountChange) {
    let info = AccountInfo { nonce: 1, balance: U256::from(balance), code_hash: EMPTY_CODE_HASH };
    let storage = slots.iter().map(|(slot, value)| (U256::from(*slot), U256::from(*value))).collect();
    (address, AccountChange { info: Some(info), clear_storage: false, storage })
}

/// `changes` of accounts, without code.
pub fn changes(changes: impl IntoIterator<Item = (Address, AccountChange)>) -> StateChanges {
    StateChanges { accounts: changes.into_iter().collect(), codes: BTreeMap::new() }
}

/// Checks a new `store` against the contract of [`StateStore`], step by step; `keys` is where its batches go.
///
/// # Panics
/// When the store breaks the contract.
pub fn run(store: &dyn StateStore, keys: &dyn KeyValue) {
    let write = |batch: Batch| keys.write(batch).expect("a write succeeds");
    let commit = |parent: CommitId, changes: &StateChanges| {
        let mut batch = Batch::new();
        let commit = store.commit(parent, changes, &mut batch).expect("a commit succeeds");
        write(batch);
        commit
    };
    let [a, b] = [Address::repeat_byte(0xa), Address::repeat_byte(0xb)];
    let read = |id: CommitId, address: &Address| {
        store.view(id).expect("it is retained").account(address).expect("it can be read")
    };

    // The empty version is there, and no other.
    assert_eq!(store.view(CommitId::EMPTY).expect("it is there").commit().root, EMPTY_ROOT);
    let unknown = CommitId::new(77);
    assert!(matches!(store.view(unknown), Err(StateError::UnknownCommit { commit }) if commit == unknown));
    let refused = store.commit(unknown, &StateChanges::default(), &mut Batch::new());
    assert!(matches!(refused, Err(StateError::UnknownCommit { commit }) if commit == unknown));

    // Nothing changed is a new version with the old root.
    let first = commit(CommitId::EMPTY, &changes([set(a, 100, &[])]));
    let same = commit(first.id, &StateChanges::default());
    assert_eq!(same.root, first.root);
    assert!(same.id > first.id);

    // Two versions from one parent do not see each other.
    let left = commit(first.id, &changes([set(a, 1, &[(1, 10)])]));
    let right = commit(first.id, &changes([set(b, 2, &[])]));
    assert_eq!(read(left.id, &b), None);
    assert_eq!(read(right.id, &a), read(first.id, &a));

    // Removing what was added leads back, with slots and without.
    let removal = |address| (address, AccountChange { info: None, ..AccountChange::default() });
    assert_eq!(commit(right.id, &changes([removal(b)])).root, first.root);
    assert_eq!(commit(left.id, &changes([set(a, 100, &[(1, 0)])])).root, first.root);
    assert_eq!(commit(left.id, &changes([removal(a)])).root, EMPTY_ROOT);

    // An account made anew has nothing of the old storage.
    let (address, mut anew) = set(a, 1, &[(2, 20)]);
    anew.clear_storage = true;
    let anew = commit(left.id, &changes([(address, anew)]));
    let only = commit(CommitId::EMPTY, &changes([set(a, 1, &[(2, 20)])]));
    assert_eq!(anew.root, only.root);

    // Code is found in the version that brought it and in its descendants.
    let code = Bytes::from_static(b"\xef\xcb\x00\x01");
    let hash = keccak256(&code);
    let info = AccountInfo { nonce: 1, balance: U256::ZERO, code_hash: hash };
    let mut deploy = changes([(b, AccountChange { info: Some(info), ..AccountChange::default() })]);
    deploy.codes.insert(hash, code.clone());
    let mut batch = Batch::new();
    let deployed = store.commit(left.id, &deploy, &mut batch).expect("a commit succeeds");
    let view = store.view(deployed.id).expect("it is there before it is written");
    assert_eq!(view.code(&hash).expect("it is there before it is written"), code);
    write(batch);
    let later = store.view(commit(deployed.id, &changes([set(a, 5, &[])])).id).expect("it is retained");
    assert_eq!(later.code(&hash).expect("it is there"), code);
    assert_eq!(later.account(&b).expect("it can be read").expect("it is there").code_hash, hash);
    assert_eq!(later.code(&EMPTY_CODE_HASH).expect("no code is always there"), Bytes::new());
    let missing = B256::repeat_byte(1);
    assert!(matches!(later.code(&missing), Err(StateError::MissingCode { hash }) if hash == missing));

    // A version made of an unwritten version; then both are given back.
    let child = store.commit(later.commit().id, &changes([set(b, 1, &[])]), &mut Batch::new()).expect("it succeeds");
    let grandchild = store.commit(child.id, &changes([set(b, 2, &[(7, 7)])]), &mut Batch::new()).expect("it succeeds");
    assert_eq!(read(grandchild.id, &b).map(|account| account.balance), Some(U256::from(2)));
    let view = store.view(grandchild.id).expect("it can be read");
    store.discard(child.id);
    store.discard(grandchild.id);
    assert!(store.view(child.id).is_err() && store.view(grandchild.id).is_err());
    let mut batch = Batch::new();
    store.prune(&[later.commit().id], &mut batch).expect("pruning succeeds");
    drop(later);
    write(batch);
    write({
        let mut batch = Batch::new();
        store.prune(&[], &mut batch).expect("pruning succeeds");
        batch
    });
    // What a view reads stays while it lives, also where it was never written.
    assert_eq!(view.account(&b).expect("it can be read").map(|account| account.balance), Some(U256::from(2)));
    assert_eq!(view.account(&a).expect("it can be read").map(|account| account.balance), Some(U256::from(5)));
    drop(view);

    // A view outlives the pruning of its version; a new one is refused.
    let held = store.view(left.id).expect("it is retained");
    let mut batch = Batch::new();
    store.prune(&[left.id, same.id, CommitId::EMPTY], &mut batch).expect("pruning succeeds");
    write(batch);
    assert!(matches!(store.view(left.id), Err(StateError::Pruned { commit }) if commit == left.id));
    let refused = store.commit(left.id, &StateChanges::default(), &mut Batch::new());
    assert!(matches!(refused, Err(StateError::Pruned { .. })));
    assert_eq!(held.storage(&a, &U256::from(1)).expect("it can be read"), U256::from(10));
    assert!(store.view(CommitId::EMPTY).is_ok(), "the empty version stays");
    assert_eq!(read(first.id, &a).map(|account| account.balance), Some(U256::from(100)));
    assert_eq!(rebuilt_root(&*store.view(deployed.id).expect("it is retained")), deployed.root);

    // Ids are never used again.
    assert!(commit(first.id, &StateChanges::default()).id > grandchild.id);
}
