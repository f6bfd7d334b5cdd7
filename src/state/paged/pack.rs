//! Packing a commit's new nodes into pages.

use std::sync::Arc;

use super::{
    codec::{Place, Stored, StoredLink, StoredNode, write_node},
    pages::Pages,
};
use crate::state::{
    CommitId,
    apply::StateSink,
    trie::{Reference, Sink},
};

/// The largest page, in bytes.
pub(super) const PAGE_BYTES: usize = 4096;

/// A page of a commit: commit and number.
pub(super) type PageId = (CommitId, u32);

/// Collects one commit's nodes.
#[derive(Debug)]
pub(super) struct Packer<'a> {
    commit: CommitId,
    pages: Vec<Vec<u8>>,
    /// Nodes in each page.
    counts: Vec<u16>,
    released: Vec<PageId>,
    store: &'a Pages,
}

/// What a commit adds and gives up.
#[derive(Debug)]
pub(super) struct Packed {
    pub(super) pages: Vec<Vec<u8>>,
    /// Nodes in each page.
    pub(super) counts: Vec<u16>,
    /// How many nodes of which older pages this version no longer has, sorted by page.
    pub(super) superseded: Vec<(PageId, u16)>,
}

impl<'a> Packer<'a> {
    pub(super) const fn new(commit: CommitId, store: &'a Pages) -> Self {
        Self { commit, pages: Vec::new(), counts: Vec::new(), released: Vec::new(), store }
    }

    pub(super) fn finish(mut self) -> Packed {
        self.released.sort_unstable();
        let groups = self.released.chunk_by(|a, b| a == b);
        // A page has fewer nodes than bytes, so a count always fits.
        let superseded = groups.map(|group| (group[0], group.len() as u16)).collect();
        Packed { pages: self.pages, counts: self.counts, superseded }
    }

    /// Appends a node's bytes and says where they went.
    fn place<V: Stored>(&mut self, node: &StoredNode<V>) -> Place {
        if self.pages.is_empty() {
            self.open_page(Vec::with_capacity(PAGE_BYTES));
        }
        let last = self.pages.len() - 1;
        let page = &mut self.pages[last];
        let at = page.len();
        write_node(node, self.commit, page);
        if page.len() > PAGE_BYTES && at > 0 {
            let mut next = Vec::with_capacity(PAGE_BYTES);
            next.extend_from_slice(&page[at..]);
            page.truncate(at);
            self.open_page(next);
        }
        let number = self.pages.len() - 1;
        self.counts[number] += 1;
        let at = if number == last { at } else { 0 };
        Place { commit: self.commit, page: number as u32, at: at as u16 }
    }

    fn open_page(&mut self, page: Vec<u8>) {
        self.pages.push(page);
        self.counts.push(0);
    }
}

impl<V: Stored> Sink<V, StoredLink> for Packer<'_> {
    fn save(&mut self, node: StoredNode<V>, reference: Reference) -> StoredLink {
        let place = self.place(&node);
        V::cache(self.store).insert(place, Arc::new(node));
        StoredLink { reference, place }
    }

    fn release(&mut self, link: &StoredLink) {
        self.released.push((link.place.commit, link.place.page));
    }
}

impl StateSink<Pages> for Packer<'_> {
    const COUNTS_RELEASED: bool = true;
}
