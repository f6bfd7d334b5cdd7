//! Reads nodes, records and code: from the cache, from pending commits, from the store.

use core::ops::ControlFlow;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, PoisonError, RwLock},
};

use alloy_primitives::{B256, Bytes};

use super::{
    cache::ShardedCache,
    codec::{NodeLocation, Stored, StoredLink, StoredNode, read_node},
    corrupt,
    records::{self, CommitRecord, Info},
};
use crate::{
    state::{
        CommitId, StateError,
        apply::StateSource,
        keys::KeyCache,
        leaf::{AccountLeaf, SlotLeaf},
        reader::Archive,
        trie::Source,
    },
    store::{KeyValue, Order, Table},
};

/// Cache of decoded nodes.
pub(super) type NodeCache<V> = ShardedCache<NodeLocation, Arc<StoredNode<V>>>;

/// A value whose decoded nodes are cached.
pub(super) trait Cached: Stored {
    /// Returns the cache of nodes with such values.
    fn cache(pages: &Pages) -> &NodeCache<Self>;
}

impl Cached for AccountLeaf<StoredLink> {
    fn cache(pages: &Pages) -> &NodeCache<Self> {
        &pages.accounts
    }
}

impl Cached for SlotLeaf {
    fn cache(pages: &Pages) -> &NodeCache<Self> {
        &pages.slots
    }
}

/// Number of codes in the cache.
const CACHED_CODES: usize = 1024;

/// Everything that is read of a store.
#[derive(Debug)]
pub(super) struct Pages {
    pub(super) store: Arc<dyn KeyValue>,
    accounts: NodeCache<AccountLeaf<StoredLink>>,
    slots: NodeCache<SlotLeaf>,
    codes: ShardedCache<B256, Bytes>,
    keys: KeyCache,
    pending: RwLock<BTreeMap<CommitId, PendingCommit>>,
}

/// Additions of a commit to its batch, until that batch is seen in the store.
#[derive(Debug, Default)]
pub(super) struct PendingCommit {
    pub(super) info: Info,
    pub(super) pages: Vec<Bytes>,
    pub(super) codes: BTreeMap<B256, Bytes>,
    /// Records by key.
    pub(super) records: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Pages {
    pub(super) fn new(store: Arc<dyn KeyValue>, nodes_max: usize) -> Self {
        Self {
            store,
            accounts: ShardedCache::new(nodes_max),
            slots: ShardedCache::new(nodes_max),
            codes: ShardedCache::new(CACHED_CODES),
            keys: KeyCache::default(),
            pending: RwLock::default(),
        }
    }

    pub(super) fn info(&self, commit: CommitId) -> Result<Option<Info>, StateError> {
        if let Some(pending) = self.pending().get(&commit) {
            return Ok(Some(pending.info));
        }
        let key = CommitRecord::Info.key(commit);
        let Some(bytes) = self.store.get(Table::StateCommits, &key)? else { return Ok(None) };
        let info = records::decode_info(commit, &bytes);
        info.map(Some).ok_or_else(|| corrupt(Table::StateCommits, &key, "it is no commit's record"))
    }

    /// Returns a record of a written or pending commit.
    pub(super) fn record(&self, commit: CommitId, key: &[u8]) -> Result<Option<Bytes>, StateError> {
        if let Some(record) = self.pending().get(&commit).and_then(|pending| pending.records.get(key)) {
            return Ok(Some(record.clone().into()));
        }
        Ok(self.store.get(Table::StateCommits, key)?)
    }

    /// Returns the commits made from `parent`: those written, and those pending.
    pub(super) fn children(&self, parent: CommitId) -> Result<(BTreeSet<CommitId>, BTreeSet<CommitId>), StateError> {
        let mut written = BTreeSet::new();
        let prefix = CommitRecord::Child.key(parent);
        self.store.scan(Table::StateCommits, &prefix, Order::Ascending, &mut |key, _| {
            written.extend(records::child_of_key(key));
            ControlFlow::Continue(())
        })?;
        let pending = self.pending();
        let pending = pending.iter().filter(|(_, pending)| pending.info.parent == parent).map(|(commit, _)| *commit);
        Ok((written, pending.collect()))
    }

    pub(super) fn add_pending(&self, commit: CommitId, pending: PendingCommit) {
        self.pending.write().unwrap_or_else(PoisonError::into_inner).insert(commit, pending);
    }

    pub(super) fn remove_pending(&self, commit: CommitId) {
        self.pending.write().unwrap_or_else(PoisonError::into_inner).remove(&commit);
    }

    pub(super) fn is_pending(&self, commit: CommitId) -> bool {
        self.pending().contains_key(&commit)
    }

    pub(super) fn has_pending_child(&self, commit: CommitId) -> bool {
        self.pending().values().any(|pending| pending.info.parent == commit)
    }

    /// Drops pending commits whose batch was written.
    pub(super) fn settle(&self) -> Result<(), StateError> {
        let mut settled = Vec::new();
        for commit in self.pending().keys() {
            if self.store.get(Table::StateCommits, &CommitRecord::Info.key(*commit))?.is_some() {
                settled.push(*commit);
            }
        }
        settled.into_iter().for_each(|commit| self.remove_pending(commit));
        Ok(())
    }

    fn pending(&self) -> std::sync::RwLockReadGuard<'_, BTreeMap<CommitId, PendingCommit>> {
        self.pending.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn page(&self, place: NodeLocation) -> Result<Bytes, StateError> {
        let pending =
            self.pending().get(&place.commit).and_then(|pending| pending.pages.get(place.page as usize)).cloned();
        if let Some(page) = pending {
            return Ok(page);
        }
        let key = records::page_key(place.commit, place.page);
        let page = self.store.get(Table::StateNodes, &key)?;
        page.ok_or_else(|| corrupt(Table::StateNodes, &key, "the page is missing"))
    }
}

impl<V: Cached> Source<V> for Pages {
    type Link = StoredLink;
    type Guard<'a> = Arc<StoredNode<V>>;

    fn load<'a>(&'a self, link: &'a StoredLink) -> Result<Self::Guard<'a>, StateError> {
        let place = link.place;
        if let Some(node) = V::cache(self).get(&place) {
            return Ok(node);
        }
        let page = self.page(place)?;
        let node = page.get(place.at as usize..).and_then(|bytes| read_node(place.commit, bytes)).ok_or_else(|| {
            let key = records::page_key(place.commit, place.page);
            corrupt(Table::StateNodes, &key, &format!("there is no node at offset {}", place.at))
        })?;
        let node = Arc::new(node);
        V::cache(self).insert(place, Arc::clone(&node));
        Ok(node)
    }
}

impl StateSource for Pages {
    type AccountRoot = StoredLink;
    type StorageRoot = StoredLink;
}

impl Archive for Pages {
    fn code(&self, hash: &B256) -> Result<Option<Bytes>, StateError> {
        if let Some(code) = self.codes.get(hash) {
            return Ok(Some(code));
        }
        let pending = self.pending().values().find_map(|pending| pending.codes.get(hash)).cloned();
        let code = match pending {
            Some(code) => Some(code),
            None => self.store.get(Table::Code, hash.as_slice())?,
        };
        if let Some(code) = &code {
            self.codes.insert(*hash, code.clone());
        }
        Ok(code)
    }

    fn keys(&self) -> &KeyCache {
        &self.keys
    }
}
