//! Packing a commit's new nodes into pages.
//!
//! Leaves and branches have pages of their own: branches are superseded much sooner, and a page can be deleted only when all of
//! its nodes are.

use std::sync::Arc;

use super::{
    codec::{PageId, Place, Stored, StoredLink, StoredNode, write_node},
    pages::{Cached, Pages},
};
use crate::state::{
    CommitId,
    apply::StateSink,
    trie::{Node, Reference, Sink},
};

/// The largest page, in bytes.
pub(super) const PAGE_BYTES: usize = 4096;

/// Collects one commit's nodes.
#[derive(Debug)]
pub(super) struct Packer<'a> {
    commit: CommitId,
    pages: Vec<Vec<u8>>,
    /// Nodes in each page.
    counts: Vec<u16>,
    /// The pages that take the next leaf and the next branch.
    open: [Option<usize>; 2],
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
        Self { commit, pages: Vec::new(), counts: Vec::new(), open: [None; 2], released: Vec::new(), store }
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
        let kind = usize::from(matches!(node, Node::Branch(_)));
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
        Place { commit: self.commit, page: number as u32, at: at as u16 }
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
        // Whoever still reads the version before finds it in its page.
        V::cache(self.store).remove(&link.place);
    }
}

impl StateSink<Pages> for Packer<'_> {
    const COUNTS_RELEASED: bool = true;
}
