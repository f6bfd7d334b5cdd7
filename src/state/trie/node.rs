//! The nodes of a trie.

use core::{fmt::Debug, ops::Deref};

use alloy_primitives::{B256, keccak256};

use super::StateError;

/// A leaf, or a branch together with the extension that leads to it.
#[derive(Clone, Debug)]
pub(crate) enum TrieNode<V, L: NodeLink> {
    Leaf(Leaf<V>),
    Branch(Branch<L>),
}

/// A key and its value. Its encoding holds only the nibbles below its parent.
#[derive(Clone, Debug)]
pub(crate) struct Leaf<V> {
    pub(crate) key: B256,
    pub(crate) value: V,
}

/// At least two children, distinguished by the nibble that follows `prefix`.
#[derive(Clone, Debug)]
pub(crate) struct Branch<L: NodeLink> {
    /// Nibbles between the parent's nibble and this branch, a byte each: the path of an extension node.
    pub(crate) prefix: Box<[u8]>,
    /// Bitmap: bit n is set when there is a child for nibble n.
    pub(crate) mask: u16,
    /// Children, by ascending nibble.
    pub(crate) children: L::Children,
}

impl<L: NodeLink> Branch<L> {
    /// Returns the index of the nibble that distinguishes the children of a branch whose path starts at nibble `depth`.
    ///
    /// Descents check it, so that none is deeper than a key, even in a damaged store.
    pub(crate) fn fork(&self, depth: usize) -> Result<usize, StateError> {
        let at = depth + self.prefix.len();
        if at < NIBBLES { Ok(at) } else { Err(StateError::MisplacedNode) }
    }

    /// Returns the child for `nibble`.
    pub(crate) fn child(&self, nibble: u8) -> Option<&L> {
        if self.mask & (1 << nibble) == 0 {
            return None;
        }
        let below = self.mask & ((1 << nibble) - 1);
        self.children.get(below.count_ones() as usize)
    }
}

/// A value in a leaf.
pub(crate) trait LeafValue: Clone + PartialEq + Debug + Send + Sync + 'static {
    /// Appends the encoding of the value.
    fn encode(&self, out: &mut Vec<u8>);

    /// Returns this value with the parts that it leaves open taken from `old`, the value that it replaces.
    fn inherit(&self, old: &Self) -> Self;
}

/// A parent's link to a child.
pub(crate) trait NodeLink: Clone + Debug + Send + Sync + 'static {
    /// Container of a branch's children.
    type Children: Deref<Target = [Self]> + FromIterator<Self> + Clone + Debug + Send + Sync;

    /// Returns the reference to the child in its parent's encoding.
    fn reference(&self) -> &Reference;

    /// Prefetches the nodes behind a branch's links, where that is cheaper at once than one after the other.
    fn fetch(_: &[Self]) {}

    /// Prefetches the nodes below this link's node.
    fn fetch_below(&self) {}
}

/// A node's reference in its parent's encoding: the keccak of its RLP, or the RLP itself when shorter than a hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Reference {
    /// Length of the RLP, or 32 for a hash.
    len: u8,
    bytes: [u8; 32],
}

impl Reference {
    /// Returns the reference to the node with this RLP.
    pub(crate) fn to(rlp: &[u8]) -> Self {
        Self::inline(rlp).unwrap_or_else(|| Self::hash(keccak256(rlp)))
    }

    /// Returns the reference to a node with this hash.
    pub(crate) const fn hash(hash: B256) -> Self {
        Self { len: 32, bytes: hash.0 }
    }

    /// Returns the reference to a node whose RLP is shorter than a hash; `None` for longer RLP.
    pub(crate) fn inline(rlp: &[u8]) -> Option<Self> {
        let mut bytes = [0; 32];
        bytes.get_mut(..rlp.len()).filter(|_| rlp.len() < 32)?.copy_from_slice(rlp);
        Some(Self { len: rlp.len() as u8, bytes })
    }

    /// Returns some byte of the reference, to touch its memory.
    pub(crate) const fn tag(&self) -> u8 {
        self.len
    }

    /// Returns whether the node's RLP is inlined in its parent.
    pub(crate) const fn is_inline(&self) -> bool {
        self.len < 32
    }

    /// Returns the hash; `None` for an inline node.
    pub(crate) const fn as_hash(&self) -> Option<&[u8; 32]> {
        if self.is_inline() { None } else { Some(&self.bytes) }
    }

    /// Returns the hash, or the RLP of an inline node.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len as usize]
    }

    /// Returns the hash of the node as a root, which is never inline.
    pub(crate) fn root_hash(&self) -> B256 {
        if self.is_inline() { keccak256(self.as_bytes()) } else { B256::new(self.bytes) }
    }
}

impl Debug for Reference {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&alloy_primitives::hex::encode(self.as_bytes()))
    }
}

/// Number of nibbles in a key.
pub(crate) const NIBBLES: usize = 64;

/// Returns nibble `at` of `key`, counted from the front; `at` is below [`NIBBLES`].
pub(crate) fn nibble(key: &B256, at: usize) -> u8 {
    let byte = key.0[at / 2];
    if at.is_multiple_of(2) { byte >> 4 } else { byte & 0x0f }
}

/// Returns whether two keys share their first `len` nibbles.
pub(crate) fn share_path(a: &B256, b: &B256, len: usize) -> bool {
    a.0[..len / 2] == b.0[..len / 2] && (len.is_multiple_of(2) || nibble(a, len - 1) == nibble(b, len - 1))
}

/// Returns how many nibbles of `prefix` the key has from nibble `depth` on.
pub(crate) fn follows(key: &B256, depth: usize, prefix: &[u8]) -> usize {
    prefix.iter().enumerate().take_while(|(at, want)| nibble(key, depth + at) == **want).count()
}
