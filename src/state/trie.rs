//! The copy-on-write hexary Merkle-Patricia trie (Yellow Paper, appendix D) over keys of 32 bytes.
//!
//! A branch is a bitmap, its children and the nibbles that lead to it, so that an extension is never a node of
//! its own; a leaf holds its whole key. Changes are applied sorted, in one descent, and each new node is
//! encoded and hashed once, when it is final. What a link to a child is (a pointer, a location in a database) and where
//! new nodes go is defined by [`Source`] and [`Sink`].
//! nodes go is the business of [`Source`] and [`Sink`].

mod encode;
mod node;
mod read;
mod update;

pub(crate) use encode::NodeEncoder;
pub(crate) use node::{Branch, Leaf, LeafValue, NodeLink, Reference, TrieNode};
pub(crate) use read::{for_each, for_each_link, get, prove};
pub(crate) use update::{KeyChange, Sink, update};

use core::ops::Deref;

use super::StateError;

/// Source of the nodes of a trie.
pub(crate) trait Source<V> {
    /// Link of a branch to a child.
    type Link: NodeLink;
    /// A node while it is read.
    type Guard<'a>: Deref<Target = TrieNode<V, Self::Link>>
    where
        Self: 'a;

    /// Returns the node that `link` leads to.
    fn load<'a>(&'a self, link: &'a Self::Link) -> Result<Self::Guard<'a>, StateError>;
}

#[cfg(test)]
mod tests;
