//! Versions over any key-value store.
//!
//! A commit packs its new nodes into pages of at most 4 KiB under
//! `commit | page` in [`Table::StateNodes`]; a branch holds each child's hash and location (commit, page, offset), so
//! that a path is found without an index. Nodes never change; a bounded cache holds decoded ones. The records for
//! pruning are in [`Table::StateCommits`], see `records`.

mod cache;
mod codec;
mod pack;
mod pages;
mod prune;
mod records;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use super::{
    Commit, CommitId, StateChanges, StateError, StateStore, StateView,
    apply::{apply, state_root},
    reader::{Archive, Reader},
};
use crate::store::{Batch, KeyValue, StoreError, Table};
use codec::{ByteReader, put_varint};
use pack::Packer;
use pages::{Pages, PendingCommit};
use prune::Pruning;
use records::{CommitRecord, Info};

/// Versions of the state in a key-value store, as durable as that store.
///
/// All batches that this store filled must be written to the store it was opened with, in the order they were
/// filled, each or none; a commit whose batch is not written is read from memory until it is discarded.
#[derive(Debug)]
pub struct PagedState {
    pages: Arc<Pages>,
    versions: Mutex<PagedVersions>,
}

#[derive(Debug)]
struct PagedVersions {
    next: u64,
    /// Versions in use by views.
    held: BTreeMap<CommitId, Weak<()>>,
    /// Versions that are pruned but not deleted yet: a view uses them, or several versions were made from them.
    condemned: BTreeSet<CommitId>,
    /// Versions that will never be written and are in memory still: a view reads them, or another such version was made from them.
    discarded: BTreeSet<CommitId>,
}

impl PagedVersions {
    fn is_held(&self, commit: CommitId) -> bool {
        self.held.get(&commit).is_some_and(|held| held.strong_count() > 0)
    }
}

/// Key in [`Table::Meta`] of the smallest id that was never used, where no record shows it.
const NEXT: &[u8] = b"state-next";
/// Key in [`Table::Meta`] of the ids of condemned versions.
const CONDEMNED: &[u8] = b"state-condemned";

impl PagedState {
    /// Default number of decoded nodes of each kind in the cache: some 150 MB when the state is that large.
    pub const CACHED_NODES: usize = 400_000;

    /// Opens the versions in `store`.
    ///
    /// # Errors
    /// [`StateError::Store`] when it cannot be read or its bookkeeping does not decode.
    pub fn open(store: Arc<dyn KeyValue>) -> Result<Self, StateError> {
        Self::open_with_cache(store, Self::CACHED_NODES)
    }

    /// Opens the versions in `store`, with at most about `nodes_max` decoded nodes of accounts, and as many of
    /// storage, in memory.
    ///
    /// # Errors
    /// See [`Self::open`].
    pub fn open_with_cache(store: Arc<dyn KeyValue>, nodes_max: usize) -> Result<Self, StateError> {
        let recorded = records::last_commit(&*store)?.map_or(1, |last| last.get() + 1);
        let next = meta_numbers(&*store, NEXT)?.first().copied().unwrap_or(1).max(recorded);
        let condemned = meta_numbers(&*store, CONDEMNED)?.into_iter().map(CommitId::new).collect();
        let versions = PagedVersions { next, held: BTreeMap::new(), condemned, discarded: BTreeSet::new() };
        Ok(Self { pages: Arc::new(Pages::new(store, nodes_max)), versions: Mutex::new(versions) })
    }

    fn lock(&self) -> MutexGuard<'_, PagedVersions> {
        // Every change under the lock is one step, so a panic left nothing half-done.
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the version's record, if the version may be read.
    fn info(&self, versions: &PagedVersions, commit: CommitId) -> Result<Info, StateError> {
        if commit == CommitId::EMPTY {
            return Ok(Info::EMPTY);
        }
        if commit.get() >= versions.next {
            return Err(StateError::UnknownCommit { commit });
        }
        if versions.condemned.contains(&commit) || versions.discarded.contains(&commit) {
            return Err(StateError::Pruned { commit });
        }
        self.pages.info(commit)?.ok_or(StateError::Pruned { commit })
    }

    /// Frees the discarded versions that nothing reads any more, the children first.
    fn release(&self, versions: &mut PagedVersions) {
        loop {
            let is_free = |commit: &CommitId| !versions.is_held(*commit) && !self.pages.has_pending_child(*commit);
            let free: Vec<CommitId> = versions.discarded.iter().rev().copied().filter(is_free).collect();
            if free.is_empty() {
                return;
            }
            for commit in free {
                versions.discarded.remove(&commit);
                self.pages.remove_pending(commit);
            }
        }
    }
}

impl StateStore for PagedState {
    fn commit(&self, parent: CommitId, changes: &StateChanges, batch: &mut Batch) -> Result<Commit, StateError> {
        self.pages.settle()?;
        let (id, base) = {
            let mut versions = self.lock();
            self.release(&mut versions);
            let base = self.info(&versions, parent)?;
            let id = CommitId::new(versions.next);
            versions.next += 1;
            (id, base)
        };
        let pages = &*self.pages;
        let mut packer = Packer::new(id, pages);
        let root = apply(pages, &mut packer, pages.keys(), base.root.as_ref(), changes)?;
        let packed = packer.finish();

        let info = Info { parent, root };
        let mut pending = PendingCommit { info, ..PendingCommit::default() };
        for (number, page) in packed.pages.into_iter().enumerate() {
            batch.put(Table::StateNodes, records::page_key(id, number as u32), page.as_slice());
            pending.pages.push(page.into());
        }
        for (hash, code) in &changes.codes {
            batch.put(Table::Code, hash.as_slice(), code.as_ref());
            pending.codes.insert(*hash, code.clone());
        }
        pending.records.insert(CommitRecord::Info.key(id), records::encode_info(&info));
        pending.records.insert(CommitRecord::Counts.key(id), records::encode_counts(&packed.counts));
        pending.records.insert(CommitRecord::Superseded.key(id), records::encode_superseded(&packed.superseded));
        if parent != CommitId::EMPTY {
            pending.records.insert(records::child_key(parent, id), Vec::new());
        }
        for (key, value) in &pending.records {
            batch.put(Table::StateCommits, key.as_slice(), value.as_slice());
        }
        pages.add_pending(id, pending);
        Ok(Commit { id, root: state_root(info.root.as_ref()) })
    }

    fn discard(&self, commit: CommitId) {
        let mut versions = self.lock();
        if self.pages.is_pending(commit) {
            versions.discarded.insert(commit);
            self.release(&mut versions);
        }
    }

    fn view(&self, commit: CommitId) -> Result<Arc<dyn StateView>, StateError> {
        let (info, held) = {
            let mut versions = self.lock();
            let info = self.info(&versions, commit)?;
            let held = versions.held.get(&commit).and_then(Weak::upgrade).unwrap_or_default();
            versions.held.insert(commit, Arc::downgrade(&held));
            if versions.held.len() > 1024 {
                versions.held.retain(|_, held| held.strong_count() > 0);
            }
            (info, held)
        };
        let commit = Commit { id: commit, root: state_root(info.root.as_ref()) };
        Ok(Arc::new(Reader { source: Arc::clone(&self.pages), commit, root: info.root, held: Some(held) }))
    }

    fn prune(&self, commits: &[CommitId], batch: &mut Batch) -> Result<(), StateError> {
        self.pages.settle()?;
        let (free, next) = {
            let mut versions = self.lock();
            self.release(&mut versions);
            let next = versions.next;
            let asked = commits.iter().filter(|commit| **commit != CommitId::EMPTY && commit.get() < next);
            versions.condemned.extend(asked);
            if versions.condemned.is_empty() {
                return Ok(());
            }
            versions.held.retain(|_, held| held.strong_count() > 0);
            let free = versions.condemned.iter().filter(|commit| !versions.held.contains_key(commit));
            (free.copied().collect(), next)
        };
        let mut pruning = Pruning::new(&self.pages, batch);
        let gone = pruning.run(&free)?;
        pruning.finish(batch);

        let mut versions = self.lock();
        // A version that was deleted before is removed; one deleted by this batch stays condemned until it is written.
        versions.condemned.retain(|commit| !gone.absent.contains(commit));
        let mut left = Vec::new();
        for commit in versions.condemned.iter().filter(|commit| !gone.deleted.contains(commit)) {
            put_varint(&mut left, commit.get());
        }
        batch.put(Table::Meta, CONDEMNED, left);
        let mut number = Vec::new();
        put_varint(&mut number, next);
        batch.put(Table::Meta, NEXT, number);
        Ok(())
    }
}

/// Returns the numbers under `key` of [`Table::Meta`].
fn meta_numbers(store: &dyn KeyValue, key: &[u8]) -> Result<Vec<u64>, StateError> {
    let Some(bytes) = store.get(Table::Meta, key)? else { return Ok(Vec::new()) };
    let mut input = ByteReader::new(&bytes);
    let mut numbers = Vec::new();
    while !input.is_empty() {
        let number = input.varint().ok_or_else(|| corrupt(Table::Meta, key, "a number is cut short"))?;
        numbers.push(number);
    }
    Ok(numbers)
}

fn corrupt(table: Table, key: &[u8], reason: &str) -> StateError {
    StoreError::Corrupt { table, key: alloy_primitives::hex::encode(key), reason: reason.to_owned() }.into()
}
