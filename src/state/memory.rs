//! Versions in memory: a version is a pointer to its root, and versions share common subtrees.

use core::hint::black_box;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use alloy_primitives::{B256, Bytes, map::HashMap};
use smallvec::SmallVec;

use super::{
    Commit, CommitId, EMPTY_ROOT, StateChanges, StateError, StateStore, StateView,
    apply::{StateSink, StateSource, apply, state_root},
    keys::KeyCache,
    leaf::{AccountLeaf, SlotLeaf},
    reader::{Archive, Reader},
    seen::Seen,
    trie::{LeafValue, NodeLink, Reference, Sink, Source, TrieNode},
};
use crate::store::Batch;

/// Versions of the state that are not durable.
///
/// Making a version costs what it changes. Dropping one frees what no other version and no view uses.
///
/// Code is kept for the lifetime of the store, each once: 6 bytes for a template, whatever is deployed of it, and the codes that
/// genesis and interventions bring, which nothing bounds but their number and length.
#[derive(Debug)]
pub struct MemoryState {
    resident: Arc<MemoryArchive>,
    versions: Mutex<MemoryVersions>,
}

#[derive(Debug)]
struct MemoryVersions {
    next: u64,
    retained: BTreeMap<CommitId, Retained>,
}

/// A version: its root, and the bytes of its parent's nodes that it does not have.
#[derive(Debug, Default)]
struct Retained {
    root: Option<AccountRoot>,
    superseded_bytes: u64,
}

type StorageRoot = Pointer<SlotLeaf>;
type AccountRoot = Pointer<AccountLeaf<StorageRoot>>;

impl MemoryState {
    /// Creates a store with no version but [`CommitId::EMPTY`].
    pub fn new() -> Self {
        let versions = MemoryVersions { next: 1, retained: BTreeMap::from([(CommitId::EMPTY, Retained::default())]) };
        Self { resident: Arc::new(MemoryArchive::default()), versions: Mutex::new(versions) }
    }

    /// Returns the number of retained versions, the empty one included.
    pub fn versions(&self) -> usize {
        self.lock().retained.len()
    }

    fn lock(&self) -> MutexGuard<'_, MemoryVersions> {
        // A thread that panicked with the lock had not begun to change anything.
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, commit: CommitId) {
        let removed = if commit == CommitId::EMPTY { None } else { self.lock().retained.remove(&commit) };
        // Freeing the nodes takes time, so it happens after the lock is released.
        drop(removed);
    }
}

impl Default for MemoryState {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryVersions {
    fn root(&self, commit: CommitId) -> Result<Option<AccountRoot>, StateError> {
        match self.retained.get(&commit) {
            Some(version) => Ok(version.root.clone()),
            None if commit.get() < self.next => Err(StateError::Pruned { commit }),
            None => Err(StateError::UnknownCommit { commit }),
        }
    }
}

impl StateStore for MemoryState {
    fn commit(&self, parent: CommitId, changes: &StateChanges, _: &mut Batch) -> Result<Commit, StateError> {
        let parent = self.lock().root(parent)?;
        let resident = &*self.resident;
        let mut sink = PointerSink::default();
        let root = apply(resident, &mut sink, &resident.keys, parent.as_ref(), changes)?;
        resident.add_codes(changes);
        resident.seen.add(changes);

        let hash = state_root(root.as_ref());
        let mut versions = self.lock();
        let id = CommitId::new(versions.next);
        versions.next += 1;
        versions.retained.insert(id, Retained { root, superseded_bytes: sink.superseded_bytes });
        Ok(Commit { id, root: hash })
    }

    fn discard(&self, commit: CommitId) {
        self.remove(commit);
    }

    fn view(&self, commit: CommitId) -> Result<Arc<dyn StateView>, StateError> {
        let root = self.lock().root(commit)?;
        let hash = root.as_ref().map_or(EMPTY_ROOT, |root| root.reference().root_hash());
        let commit = Commit { id: commit, root: hash };
        Ok(Arc::new(Reader { source: Arc::clone(&self.resident), commit, root, held: None }))
    }

    fn superseded_bytes(&self, commit: CommitId) -> u64 {
        self.lock().retained.get(&commit).map_or(0, |version| version.superseded_bytes)
    }

    fn prune(&self, commits: &[CommitId], _: &mut Batch) -> Result<(), StateError> {
        for commit in commits {
            self.remove(*commit);
        }
        Ok(())
    }
}

/// Codes, keys and what there may be, shared by all versions.
#[derive(Debug, Default)]
pub(super) struct MemoryArchive {
    keys: KeyCache,
    seen: Seen,
    codes: RwLock<HashMap<B256, Bytes>>,
}

impl MemoryArchive {
    fn add_codes(&self, changes: &StateChanges) {
        if !changes.codes.is_empty() {
            let mut codes = self.codes.write().unwrap_or_else(PoisonError::into_inner);
            codes.extend(changes.codes.iter().map(|(hash, code)| (*hash, code.clone())));
        }
    }
}

impl Archive for MemoryArchive {
    fn code(&self, hash: &B256) -> Result<Option<Bytes>, StateError> {
        Ok(self.codes.read().unwrap_or_else(PoisonError::into_inner).get(hash).cloned())
    }

    fn keys(&self) -> &KeyCache {
        &self.keys
    }

    fn seen(&self) -> Option<&Seen> {
        Some(&self.seen)
    }
}

impl StateSource for MemoryArchive {
    type AccountRoot = AccountRoot;
    type StorageRoot = StorageRoot;
}

/// A shared node and its reference. Tries are at most 64 deep, and so is the recursion that frees one.
#[derive(Debug)]
pub(crate) struct Pointer<V: LeafValue>(Arc<PointerTarget<V>>);

/// The reference comes first, beside the counters of the [`Arc`]: a new version of a branch counts and encodes every
/// sibling of what changed, and should touch one cache line for each.
#[derive(Debug)]
#[repr(C)]
struct PointerTarget<V: LeafValue> {
    reference: Reference,
    node: TrieNode<V, Pointer<V>>,
}

impl<V: LeafValue> Clone for Pointer<V> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<V: LeafValue> NodeLink for Pointer<V> {
    /// Inline capacity, in the space that a leaf takes anyway.
    type Children = SmallVec<[Self; 8]>;

    fn reference(&self) -> &Reference {
        &self.0.reference
    }

    /// Reads a byte of each: these reads wait for memory together, while the counting that follows would wait for each.
    fn fetch(links: &[Self]) {
        black_box(links.iter().fold(0, |sum, link| sum ^ link.0.reference.tag()));
    }

    fn fetch_below(&self) {
        match &self.0.node {
            TrieNode::Leaf(leaf) => _ = black_box(leaf.key.0[31]),
            TrieNode::Branch(branch) => Self::fetch(&branch.children),
        }
    }
}

/// Dropping a branch counts its children down one after the other, so they are fetched first.
impl<V: LeafValue> Drop for PointerTarget<V> {
    fn drop(&mut self) {
        if let TrieNode::Branch(branch) = &self.node {
            Pointer::<V>::fetch(&branch.children);
        }
    }
}

impl<V: LeafValue> Source<V> for MemoryArchive {
    type Link = Pointer<V>;
    type Guard<'a> = &'a TrieNode<V, Pointer<V>>;

    fn load<'a>(&'a self, link: &'a Pointer<V>) -> Result<Self::Guard<'a>, StateError> {
        Ok(&link.0.node)
    }
}

/// Makes pointers; released nodes are freed by counting references.
#[derive(Debug, Default)]
pub(super) struct PointerSink {
    /// Bytes of the nodes released.
    superseded_bytes: u64,
}

impl<V: LeafValue> Sink<V, Pointer<V>> for PointerSink {
    fn save(&mut self, node: TrieNode<V, Pointer<V>>, reference: Reference) -> Pointer<V> {
        Pointer(Arc::new(PointerTarget { reference, node }))
    }

    fn release(&mut self, link: &Pointer<V>) {
        // The counters, and the children that are not inline.
        let shared = 2 * size_of::<usize>();
        let spilled = match &link.0.node {
            TrieNode::Branch(branch) if branch.children.spilled() => size_of_val(branch.children.as_slice()),
            _ => 0,
        };
        self.superseded_bytes += (size_of::<PointerTarget<V>>() + shared + spilled) as u64;
    }
}

impl StateSink<MemoryArchive> for PointerSink {
    const COUNTS_RELEASED: bool = false;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A leaf, and a third of a branch with its pointers, for each account.
    #[test]
    fn an_account_takes_less_than_400_bytes() {
        let node = size_of::<PointerTarget<AccountLeaf<StorageRoot>>>() + 2 * size_of::<usize>();
        assert!(node <= 168, "{node} bytes");
    }
}
