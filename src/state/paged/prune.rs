//! Deletes versions and the nodes that only they have.
//!
//! Versions form trees by parent. A node belongs to the commit that made it until a version without it is made
//! from a version with it, and never comes back, so the versions that have it are one connected part of a tree.
//! Three cases follow for a version V to delete:
//! - nothing was made from it: all nodes that belong to it are dead;
//! - one version C was made from it: of the nodes that C superseded, those that belong to V are dead, the others
//!   live on in V's parent; C inherits the nodes that belong to V, the list of what V superseded, and V's parent;
//! - several were made from it: its nodes are theirs, so it stays until at most one is left.
//!
//! Ids grow from parent to child, so the nodes that belong to V are those made by commits above V's parent: no list is read to
//! know it. What C inherits is linked, not copied: C's `absorbed` record names V, whose own records stay while they hold
//! anything. So deleting the version above a kept one costs the same however many were deleted before it.
//!
//! A page is deleted with its last live node.

use core::ops::ControlFlow;
use std::collections::{BTreeMap, BTreeSet};

use super::{
    codec::{PageId, StoredLink},
    corrupt,
    pages::Pages,
    records::{self, CommitRecord, Info},
};
use crate::{
    state::{
        CommitId, StateError,
        leaf::{AccountLeaf, SlotLeaf},
        trie::{for_each, for_each_link},
    },
    store::{Batch, Table},
};

/// Deletions of one call, added to the batch once all have succeeded.
pub(super) struct Pruning<'a> {
    pages: &'a Pages,
    /// Pending commits that are in the same batch: the only ones whose records may be rewritten.
    batched: BTreeSet<CommitId>,
    /// New values of records; `None` is deleted.
    records: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// Live nodes in the pages of commits that lost some.
    counts: BTreeMap<CommitId, Vec<u16>>,
    dead_pages: Vec<PageId>,
}

/// Result of a deletion.
#[derive(Debug, Default)]
pub(super) struct Deletions {
    /// Versions deleted by this batch.
    pub(super) deleted: BTreeSet<CommitId>,
    /// Versions that were already absent.
    pub(super) absent: BTreeSet<CommitId>,
}

impl<'a> Pruning<'a> {
    pub(super) fn new(pages: &'a Pages, batch: &Batch) -> Self {
        let infos = batch.writes().iter().filter(|write| write.table == Table::StateCommits && write.value.is_some());
        let batched = infos.filter_map(|write| records::commit_of_info_key(&write.key)).collect();
        Self { pages, batched, records: BTreeMap::new(), counts: BTreeMap::new(), dead_pages: Vec::new() }
    }

    /// Deletes those of `asked` that can be deleted now.
    pub(super) fn run(&mut self, asked: &BTreeSet<CommitId>) -> Result<Deletions, StateError> {
        let mut gone = Deletions::default();
        let mut waiting: BTreeSet<CommitId> = asked.clone();
        // From the newest down, those from which nothing was made; then, from the oldest up, the others: either way
        // little is inherited. One deletion may allow another, so this repeats while any succeeds.
        loop {
            let before = waiting.len();
            let downwards: Vec<CommitId> = waiting.iter().rev().copied().collect();
            for commit in downwards {
                if self.children(commit)?.is_some_and(|children| children.is_empty()) {
                    self.remove(commit)?.note(commit, &mut gone, &mut waiting);
                }
            }
            for commit in waiting.clone() {
                self.remove(commit)?.note(commit, &mut gone, &mut waiting);
            }
            if waiting.len() == before {
                return Ok(gone);
            }
        }
    }

    /// Adds the deletions to `batch`.
    pub(super) fn finish(mut self, batch: &mut Batch) {
        for (commit, counts) in core::mem::take(&mut self.counts) {
            let live = counts.iter().any(|count| *count > 0);
            self.records.insert(CommitRecord::Counts.key(commit), live.then(|| records::encode_counts(&counts)));
        }
        for (commit, page) in self.dead_pages {
            batch.delete(Table::StateNodes, records::page_key(commit, page));
        }
        for (key, value) in self.records {
            match value {
                Some(value) => batch.put(Table::StateCommits, key, value),
                None => batch.delete(Table::StateCommits, key),
            }
        }
    }

    fn remove(&mut self, commit: CommitId) -> Result<Removal, StateError> {
        let Some(info) = self.info(commit)? else { return Ok(Removal::Absent) };
        let Some(children) = self.children(commit)? else { return Ok(Removal::Waits) };
        let mut children = children.into_iter();
        match (children.next(), children.next()) {
            (None, _) => self.remove_last(commit, &info)?,
            (Some(child), None) => self.merge(commit, &info, child)?,
            (Some(_), Some(_)) => return Ok(Removal::Waits),
        }
        self.records.insert(CommitRecord::Info.key(commit), None);
        Ok(Removal::Deleted)
    }

    /// Deletes `commit`, from which nothing was made.
    fn remove_last(&mut self, commit: CommitId, info: &Info) -> Result<(), StateError> {
        let owners = self.owners(commit)?;
        owners.iter().for_each(|owner| self.drop_inheritance(*owner));
        if info.parent == CommitId::EMPTY {
            // The last version of its tree: every node that it has is dead.
            let nodes = self.nodes(info)?;
            return nodes.into_iter().try_for_each(|page| self.release(page, 1));
        }
        self.records.insert(records::child_key(info.parent, commit), None);
        for owner in owners {
            for (page, count) in self.live_pages(owner)? {
                self.release((owner, page), count)?;
            }
        }
        Ok(())
    }

    /// Merges `commit` into `child`, the only version made from it.
    fn merge(&mut self, commit: CommitId, info: &Info, child: CommitId) -> Result<(), StateError> {
        let heirs = self.owners(child)?;
        for heir in &heirs {
            let superseded = self.superseded(*heir)?;
            let (dead, kept): (Vec<_>, Vec<_>) =
                superseded.into_iter().partition(|((maker, _), _)| *maker > info.parent);
            if dead.is_empty() {
                continue;
            }
            for (page, count) in dead {
                self.release(page, count)?;
            }
            self.records.insert(CommitRecord::Superseded.key(*heir), Some(records::encode_superseded(&kept)));
        }
        if info.parent == CommitId::EMPTY {
            // All nodes of the oldest version are its own, so nothing is to be remembered.
            let absorbed = heirs.into_iter().filter(|heir| *heir != child);
            absorbed.chain(self.owners(commit)?).for_each(|owner| self.drop_inheritance(owner));
            self.records.insert(CommitRecord::Absorbed.key(child), None);
        } else {
            let inherited = self.linked(commit)?;
            let mut absorbed = self.absorbed(child)?;
            absorbed.extend(inherited);
            self.put_absorbed(child, &absorbed);
        }

        self.records.insert(records::child_key(commit, child), None);
        if info.parent != CommitId::EMPTY {
            self.records.insert(records::child_key(info.parent, commit), None);
            self.records.insert(records::child_key(info.parent, child), Some(Vec::new()));
        }
        let root = self.info(child)?.and_then(|child| child.root);
        let info = records::encode_info(&Info { parent: info.parent, root });
        self.records.insert(CommitRecord::Info.key(child), Some(info));
        Ok(())
    }

    /// Returns what a version that absorbs `commit` must name: `commit` itself, or what it absorbed when its own records
    /// hold nothing any more.
    fn linked(&mut self, commit: CommitId) -> Result<Vec<CommitId>, StateError> {
        let mut below = Vec::new();
        for absorbed in self.absorbed(commit)? {
            if self.holds_anything(absorbed)? {
                below.push(absorbed);
            } else {
                below.extend(self.absorbed(absorbed)?);
                self.drop_inheritance(absorbed);
            }
        }
        if self.holds_anything(commit)? {
            self.put_absorbed(commit, &below);
            return Ok(vec![commit]);
        }
        self.drop_inheritance(commit);
        Ok(below)
    }

    /// Returns whether some version still has a node that `commit` made, or `commit` superseded a node of a kept version.
    fn holds_anything(&self, commit: CommitId) -> Result<bool, StateError> {
        let has_live = |counts: &[u16]| counts.iter().any(|count| *count > 0);
        let is_live = match self.counts.get(&commit) {
            Some(counts) => has_live(counts),
            None => has_live(&self.decode(CommitRecord::Counts, commit, records::decode_counts)?),
        };
        Ok(is_live || !self.superseded(commit)?.is_empty())
    }

    /// Returns `commit` and those that it absorbed, whose nodes belong to it.
    fn owners(&self, commit: CommitId) -> Result<Vec<CommitId>, StateError> {
        let mut owners = vec![commit];
        let mut next = 0;
        while let Some(owner) = owners.get(next).copied() {
            // Only a damaged record names a newer commit; following it could be endless.
            owners.extend(self.absorbed(owner)?.into_iter().filter(|absorbed| *absorbed < owner));
            next += 1;
        }
        Ok(owners)
    }

    fn absorbed(&self, commit: CommitId) -> Result<Vec<CommitId>, StateError> {
        self.decode(CommitRecord::Absorbed, commit, records::decode_commits)
    }

    fn put_absorbed(&mut self, commit: CommitId, absorbed: &[CommitId]) {
        let value = (!absorbed.is_empty()).then(|| records::encode_commits(absorbed));
        self.records.insert(CommitRecord::Absorbed.key(commit), value);
    }

    fn drop_inheritance(&mut self, commit: CommitId) {
        for record in [CommitRecord::Superseded, CommitRecord::Absorbed] {
            self.records.insert(record.key(commit), None);
        }
    }

    /// Subtracts `count` live nodes from a page.
    fn release(&mut self, (commit, page): PageId, count: u16) -> Result<(), StateError> {
        let counts = self.counts(commit)?;
        let left = counts.get_mut(page as usize).filter(|left| **left >= count);
        let left = left
            .ok_or_else(|| corrupt(Table::StateCommits, &CommitRecord::Counts.key(commit), "live nodes miscounted"))?;
        *left -= count;
        if *left == 0 {
            self.dead_pages.push((commit, page));
        }
        Ok(())
    }

    fn superseded(&self, commit: CommitId) -> Result<Vec<(PageId, u16)>, StateError> {
        self.decode(CommitRecord::Superseded, commit, records::decode_superseded)
    }

    fn live_pages(&mut self, commit: CommitId) -> Result<Vec<(u32, u16)>, StateError> {
        let counts = self.counts(commit)?.iter().enumerate();
        Ok(counts.filter(|(_, count)| **count > 0).map(|(page, count)| (page as u32, *count)).collect())
    }

    fn counts(&mut self, commit: CommitId) -> Result<&mut Vec<u16>, StateError> {
        if !self.counts.contains_key(&commit) {
            let counts = self.decode(CommitRecord::Counts, commit, records::decode_counts)?;
            self.counts.insert(commit, counts);
        }
        Ok(self.counts.entry(commit).or_default())
    }

    fn info(&self, commit: CommitId) -> Result<Option<Info>, StateError> {
        let key = CommitRecord::Info.key(commit);
        match self.records.get(&key) {
            Some(None) => Ok(None),
            Some(Some(bytes)) => Ok(records::decode_info(commit, bytes)),
            None => self.pages.info(commit),
        }
    }

    /// Returns the versions made from `commit`, or `None` when one of them is in neither the store nor this batch, so
    /// that it may still be discarded.
    fn children(&self, commit: CommitId) -> Result<Option<BTreeSet<CommitId>>, StateError> {
        let (mut children, pending) = self.pages.children(commit)?;
        if pending.iter().any(|child| !children.contains(child) && !self.batched.contains(child)) {
            return Ok(None);
        }
        children.extend(pending);
        let prefix = CommitRecord::Child.key(commit);
        for (key, value) in self.records.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix)) {
            let Some(child) = records::child_of_key(key) else { continue };
            if value.is_some() {
                children.insert(child)
            } else {
                children.remove(&child)
            };
        }
        Ok(Some(children))
    }

    fn decode<T: Default>(
        &self,
        record: CommitRecord,
        commit: CommitId,
        decode: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<T, StateError> {
        let key = record.key(commit);
        let bytes = match self.records.get(&key) {
            Some(staged) => staged.clone().map(Into::into),
            None => self.pages.record(commit, &key)?,
        };
        let Some(bytes) = bytes else { return Ok(T::default()) };
        decode(&bytes).ok_or_else(|| corrupt(Table::StateCommits, &key, "the record does not decode"))
    }

    /// Returns the pages of every node that a version has, one entry a node.
    fn nodes(&self, info: &Info) -> Result<Vec<PageId>, StateError> {
        type Account = AccountLeaf<StoredLink>;
        let mut nodes = Vec::new();
        let Some(root) = &info.root else { return Ok(nodes) };
        let mut visit = |link: &StoredLink| nodes.push((link.place.commit, link.place.page));
        for_each_link::<Account, Pages>(self.pages, root, &mut visit)?;
        let mut storages = Vec::new();
        let _: ControlFlow<()> = for_each(self.pages, root, &mut |_, account: &Account| {
            storages.extend(account.storage().copied());
            ControlFlow::Continue(())
        })?;
        for storage in storages {
            for_each_link::<SlotLeaf, Pages>(self.pages, &storage, &mut visit)?;
        }
        Ok(nodes)
    }
}

enum Removal {
    Deleted,
    Absent,
    Waits,
}

impl Removal {
    fn note(self, commit: CommitId, gone: &mut Deletions, waiting: &mut BTreeSet<CommitId>) {
        match self {
            Self::Deleted => gone.deleted.insert(commit),
            Self::Absent => gone.absent.insert(commit),
            Self::Waits => return,
        };
        waiting.remove(&commit);
    }
}

impl core::fmt::Debug for Pruning<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Pruning").field("records", &self.records.len()).finish_non_exhaustive()
    }
}
