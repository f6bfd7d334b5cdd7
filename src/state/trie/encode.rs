//! RLP of nodes (Yellow Paper, appendices B to D), into reused buffers.

use super::{Branch, Leaf, LeafValue, NodeLink, Reference, TrieNode, node::NIBBLES};

/// Maximum length of a list header, in bytes; it is written when the length of the payload is known.
const HEADER_MAX: usize = 9;

/// Encodes nodes. A returned slice lives until the next call.
#[derive(Debug, Default)]
pub(crate) struct NodeEncoder {
    node: Vec<u8>,
    value: Vec<u8>,
}

impl NodeEncoder {
    /// Returns the reference to `node` whose path starts at nibble `depth`.
    pub(crate) fn reference<V: LeafValue, L: NodeLink>(&mut self, node: &TrieNode<V, L>, depth: usize) -> Reference {
        match node {
            TrieNode::Leaf(leaf) => Reference::to(self.leaf(leaf, depth)),
            TrieNode::Branch(branch) => {
                let reference = Reference::to(self.branch(branch));
                if branch.prefix.is_empty() { reference } else { Reference::to(self.extension(branch, &reference)) }
            }
        }
    }

    /// Returns the RLP of a leaf: the rest of its path and its value.
    pub(crate) fn leaf<V: LeafValue>(&mut self, leaf: &Leaf<V>, depth: usize) -> &[u8] {
        self.begin();
        let bytes = &leaf.key.0;
        if depth.is_multiple_of(2) {
            self.path(0x20, &bytes[depth / 2..]);
        } else {
            self.path(0x30 | (bytes[depth / 2] & 0x0f), &bytes[depth / 2 + 1..]);
        }
        self.value.clear();
        leaf.value.encode(&mut self.value);
        string(&mut self.node, &self.value);
        self.finish()
    }

    /// Returns the RLP of a branch without the extension before it: 16 children, and no value as keys have one length.
    pub(crate) fn branch<L: NodeLink>(&mut self, branch: &Branch<L>) -> &[u8] {
        self.begin();
        let mut children = branch.children.iter();
        for nibble in 0..16 {
            match if branch.mask & (1 << nibble) == 0 { None } else { children.next() } {
                Some(child) => self.child(child.reference()),
                None => self.node.push(0x80),
            }
        }
        self.node.push(0x80);
        self.finish()
    }

    /// Returns the RLP of the extension before `branch`, whose own reference is `reference`.
    pub(crate) fn extension<L: NodeLink>(&mut self, branch: &Branch<L>, reference: &Reference) -> &[u8] {
        self.begin();
        let (first, rest) = match branch.prefix.split_first() {
            Some((odd, rest)) if !branch.prefix.len().is_multiple_of(2) => (0x10 | odd, rest),
            _ => (0, &branch.prefix[..]),
        };
        let mut packed = [0; NIBBLES / 2];
        for (byte, pair) in packed.iter_mut().zip(rest.chunks_exact(2)) {
            *byte = pair[0] << 4 | pair[1];
        }
        self.path(first, &packed[..rest.len() / 2]);
        self.child(reference);
        self.finish()
    }

    fn begin(&mut self) {
        self.node.clear();
        self.node.extend_from_slice(&[0; HEADER_MAX]);
    }

    /// Appends a path in hex-prefix encoding: `first` holds the flags and an odd nibble, `rest` the pairs after it.
    fn path(&mut self, first: u8, rest: &[u8]) {
        // A lone byte below 0x80 is its own RLP; the flags never reach that.
        if !rest.is_empty() {
            self.node.push(0x80 + 1 + rest.len() as u8);
        }
        self.node.push(first);
        self.node.extend_from_slice(rest);
    }

    fn child(&mut self, reference: &Reference) {
        match reference.as_hash() {
            Some(hash) => {
                self.node.push(0x80 + 32);
                self.node.extend_from_slice(hash);
            }
            None => self.node.extend_from_slice(reference.as_bytes()),
        }
    }

    /// Writes the list header before what was encoded since [`Self::begin`] and returns the list.
    fn finish(&mut self) -> &[u8] {
        let len = self.node.len() - HEADER_MAX;
        let start = if len < 56 {
            self.node[HEADER_MAX - 1] = 0xc0 + len as u8;
            HEADER_MAX - 1
        } else {
            let digits = (len as u64).to_be_bytes();
            let zeros = len.leading_zeros() as usize / 8;
            let start = HEADER_MAX - (8 - zeros);
            self.node[start..HEADER_MAX].copy_from_slice(&digits[zeros..]);
            self.node[start - 1] = 0xf7 + (8 - zeros) as u8;
            start - 1
        };
        &self.node[start..]
    }
}

/// Appends the RLP of a byte string.
fn string(out: &mut Vec<u8>, bytes: &[u8]) {
    alloy_rlp::Encodable::encode(bytes, out);
}
