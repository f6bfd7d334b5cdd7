//! Packs a commit's new nodes into pages.
//!
//! Leaves and branches have separate pages: branches are superseded much sooner, and a page is deleted only with all of
//! its nodes.

use std::sync::Arc;

use super::{
    codec::{NodeLocation, PageId, Stored, StoredLink, StoredNode, write_node},
    pages::{Cached, Pages},
};
use crate::state::{
    CommitId,
    apply::StateSink,
    trie::{Reference, Sink, TrieNode},
};

/// Maximum size of a page, in bytes.
pub(super) const PAGE_BYTES: usize = 4096;

/// Packs the nodes of one commit.
#[derive(Debug)]
pub(super) struct Packer<'a> {
    commit: CommitId,
    pages: Vec<Vec<u8>>,
    /// Number of nodes in each page.
    counts: Vec<u16>,
    /// Pages that take the next leaf and the next branch.
    open: [Option<usize>; 2],
    released: Vec<PageId>,
    store: &'a Pages,
}

/// Pages of a commit and the older nodes that it supersedes.
#[derive(Debug)]
pub(super) struct Packed {
    pub(super) pages: Vec<Vec<u8>>,
    /// Number of nodes in each page.
    pub(super) counts: Vec<u16>,
    /// Number of nodes in older pages that this version no longer has, sorted by page.
    pub(super) superseded: Vec<(PageId, u16)>,
}

impl<'a> Packer<'a> {
    pub(super) const fn new(commit: CommitId, store: &'a Pages) -> Self {
        Self { commit, pages: Vec::new(), counts: Vec::new(), open: [None; 2], released: Vec::new(), store }
    }

    pub(super) fn finish(mut self) -> Packed {
        self.released.sort_unstable();
        let groups = self.released.chunk_by(|a, b| a == b);
        // A page has fewer nodes than bytes, so a count always fits.
        let superseded = groups.map(|group| (group[0], group.len() as u16)).collect();
        Packed { pages: self.pages, counts: self.counts, superseded }
    }

    /// Appends a node's bytes and returns their location.
    fn place<V: Stored>(&mut self, node: &StoredNode<V>) -> NodeLocation {
        let kind = usize::from(matches!(node, TrieNode::Branch(_)));
        let mut number = match self.open[kind] {
            Some(number) => number,
            None => self.open_page(kind, Vec::with_capacity(PAGE_BYTES)),
        };
        let page = &mut self.pages[number];
        let mut at = page.len();
        write_node(node, self.commit, page);
        if page.len() > PAGE_BYTES && at > 0 {
            let mut next = Vec::with_capacity(PAGE_BYTES);
            next.extend_from_slice(&page[at..]);
            page.truncate(at);
            number = self.open_page(kind, next);
            at = 0;
        }
        self.counts[number] += 1;
        NodeLocation { commit: self.commit, page: number as u32, at: at as u16 }
    }

    fn open_page(&mut self, kind: usize, page: Vec<u8>) -> usize {
        let number = self.pages.len();
        self.pages.push(page);
        self.counts.push(0);
        self.open[kind] = Some(number);
        number
    }
}

impl<V: Cached> Sink<V, StoredLink> for Packer<'_> {
    fn save(&mut self, node: StoredNode<V>, reference: Reference) -> StoredLink {
        let place = self.place(&node);
        V::cache(self.store).insert(place, Arc::new(node));
        StoredLink { reference, place }
    }

    fn release(&mut self, link: &StoredLink) {
        self.released.push((link.place.commit, link.place.page));
        // A reader of the version before still finds it in its page.
        V::cache(self.store).remove(&link.place);
    }
}

impl StateSink<Pages> for Packer<'_> {
    const COUNTS_RELEASED: bool = true;
}
