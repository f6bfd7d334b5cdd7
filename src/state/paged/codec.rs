//! Encoding of stored nodes. Decoding is total: any bytes give a node or `None`.
//!
//! A node is a tag byte, then
//! - a leaf: its key (32 bytes) and its value: for an account the address (20), nonce (varint), balance (number), and
//!   a byte that says whether a code hash (32) and a storage root (link) follow; for a slot its number and its value;
//! - a branch: the length of its prefix (1), a byte for each nibble of it, the bitmap (2, big-endian), and a link for each child.
//!
//! A varint is LEB128. A number is the length (1) and the big-endian bytes without leading zeros. A link is the length
//! (1) and the bytes of the reference, then varints: how many commits ago the child was made, its page, its offset.

use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};

use crate::state::{
    CommitId, EMPTY_CODE_HASH,
    leaf::{AccountLeaf, ContractLeaf, SlotLeaf},
    trie::{Branch, Leaf, LeafValue, NodeLink, Reference, TrieNode},
};

/// Location of a stored node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeLocation {
    pub(super) commit: CommitId,
    pub(super) page: u32,
    /// Offset in the page, in bytes.
    pub(super) at: u16,
}

/// A page of a commit: the commit and the page's number in it.
pub(super) type PageId = (CommitId, u32);

/// A parent's link to a stored child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StoredLink {
    pub(super) reference: Reference,
    pub(super) place: NodeLocation,
}

impl NodeLink for StoredLink {
    type Children = Box<[Self]>;

    fn reference(&self) -> &Reference {
        &self.reference
    }
}

/// A node with stored children.
pub(super) type StoredNode<V> = TrieNode<V, StoredLink>;

/// A leaf value that can be stored.
pub(super) trait Stored: LeafValue {
    /// Appends the encoding; `commit` is the one that stores it.
    fn write(&self, commit: CommitId, out: &mut Vec<u8>);

    /// Reads the value at the front of `input`, which `commit` stores.
    fn read(commit: CommitId, input: &mut ByteReader<'_>) -> Option<Self>;
}

const LEAF: u8 = 0;
const BRANCH: u8 = 1;

/// Appends `node`, which `commit` stores.
pub(super) fn write_node<V: Stored>(node: &StoredNode<V>, commit: CommitId, out: &mut Vec<u8>) {
    match node {
        TrieNode::Leaf(leaf) => {
            out.push(LEAF);
            out.extend_from_slice(&leaf.key.0);
            leaf.value.write(commit, out);
        }
        TrieNode::Branch(branch) => {
            out.extend_from_slice(&[BRANCH, branch.prefix.len() as u8]);
            out.extend_from_slice(&branch.prefix);
            out.extend_from_slice(&branch.mask.to_be_bytes());
            for child in &*branch.children {
                write_link(child, commit, out);
            }
        }
    }
}

/// Reads the node at the front of `bytes`, which `commit` stores.
pub(super) fn read_node<V: Stored>(commit: CommitId, bytes: &[u8]) -> Option<StoredNode<V>> {
    let mut input = ByteReader::new(bytes);
    match input.byte()? {
        LEAF => {
            let key = B256::from(input.array()?);
            Some(TrieNode::Leaf(Leaf { key, value: V::read(commit, &mut input)? }))
        }
        BRANCH => {
            let len = input.byte()? as usize;
            let prefix: Box<[u8]> = input.take(len)?.into();
            let mask = u16::from_be_bytes(input.array()?);
            if len >= 64 || prefix.iter().any(|nibble| *nibble > 15) || mask.count_ones() < 2 {
                return None;
            }
            let children = (0..mask.count_ones()).map(|_| read_link(commit, &mut input)).collect::<Option<_>>()?;
            Some(TrieNode::Branch(Branch { prefix, mask, children }))
        }
        _ => None,
    }
}

/// Appends `link`, a field of something that `commit` stores.
pub(super) fn write_link(link: &StoredLink, commit: CommitId, out: &mut Vec<u8>) {
    let reference = link.reference.as_bytes();
    out.push(reference.len() as u8);
    out.extend_from_slice(reference);
    put_varint(out, commit.get() - link.place.commit.get());
    put_varint(out, link.place.page.into());
    put_varint(out, link.place.at.into());
}

/// Reads the link at the front of `input`, a field of something that `holder` stores.
pub(super) fn read_link(holder: CommitId, input: &mut ByteReader<'_>) -> Option<StoredLink> {
    let len = input.byte()?;
    let bytes = input.take(len.into())?;
    let reference = match <[u8; 32]>::try_from(bytes) {
        Ok(hash) => Reference::hash(hash.into()),
        Err(_) => Reference::inline(bytes)?,
    };
    let commit = CommitId::new(holder.get().checked_sub(input.varint()?)?);
    let (page, at) = (input.varint()?.try_into().ok()?, input.varint()?.try_into().ok()?);
    Some(StoredLink { reference, place: NodeLocation { commit, page, at } })
}

const PLAIN: u8 = 0;
const CODE: u8 = 1;
const CODE_AND_STORAGE: u8 = 2;

impl Stored for AccountLeaf<StoredLink> {
    fn write(&self, commit: CommitId, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.address.0.0);
        put_varint(out, self.nonce);
        put_number(out, self.balance);
        match &self.contract {
            None => out.push(PLAIN),
            Some(contract) => {
                out.push(if contract.storage.is_some() { CODE_AND_STORAGE } else { CODE });
                out.extend_from_slice(&contract.code_hash.0);
                if let Some(storage) = &contract.storage {
                    write_link(storage, commit, out);
                }
            }
        }
    }

    fn read(commit: CommitId, input: &mut ByteReader<'_>) -> Option<Self> {
        let address = Address::from(input.array()?);
        let (nonce, balance) = (input.varint()?, input.number()?);
        let contract = match input.byte()? {
            PLAIN => None,
            kind @ (CODE | CODE_AND_STORAGE) => {
                let code_hash = B256::from(input.array()?);
                let storage = if kind == CODE { None } else { Some(read_link(commit, input)?) };
                if storage.is_none() && code_hash == EMPTY_CODE_HASH {
                    return None;
                }
                Some(Arc::new(ContractLeaf { code_hash, storage }))
            }
            _ => return None,
        };
        Some(Self { address, nonce, balance, contract })
    }
}

impl Stored for SlotLeaf {
    fn write(&self, _: CommitId, out: &mut Vec<u8>) {
        put_number(out, self.slot);
        put_number(out, self.value);
    }

    fn read(_: CommitId, input: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self { slot: input.number()?, value: input.number()? })
    }
}

/// Appends a LEB128 number.
pub(super) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_number(out: &mut Vec<u8>, number: U256) {
    let bytes: [u8; 32] = number.to_be_bytes();
    let zeros = number.leading_zeros() / 8;
    out.push(32 - zeros as u8);
    out.extend_from_slice(&bytes[zeros..]);
}

/// A reader of stored bytes.
#[derive(Debug)]
pub(super) struct ByteReader<'a>(&'a [u8]);

impl<'a> ByteReader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn array<const LEN: usize>(&mut self) -> Option<[u8; LEN]> {
        self.take(LEN)?.try_into().ok()
    }

    pub(super) fn varint(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn number(&mut self) -> Option<U256> {
        let len = self.byte()?;
        let bytes = self.take(len.into())?;
        (len <= 32).then(|| U256::from_be_slice(bytes))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COMMIT: CommitId = CommitId::new(9);

    fn link() -> impl Strategy<Value = StoredLink> {
        let reference = prop_oneof![
            any::<[u8; 32]>().prop_map(|hash| Reference::hash(hash.into())),
            proptest::collection::vec(any::<u8>(), 0..32).prop_filter_map("short", |rlp| Reference::inline(&rlp)),
        ];
        (reference, 0..9_u64, any::<u32>(), any::<u16>()).prop_map(|(reference, commit, page, at)| StoredLink {
            reference,
            place: NodeLocation { commit: CommitId::new(commit), page, at },
        })
    }

    fn number() -> impl Strategy<Value = U256> {
        (any::<[u64; 4]>(), 0..256_usize).prop_map(|(limbs, shift)| U256::from_limbs(limbs) >> shift)
    }

    fn account() -> impl Strategy<Value = AccountLeaf<StoredLink>> {
        let contract = (any::<[u8; 32]>(), proptest::option::of(link()))
            .prop_map(|(hash, storage)| Arc::new(ContractLeaf { code_hash: hash.into(), storage }));
        (any::<[u8; 20]>(), any::<u64>(), number(), proptest::option::of(contract)).prop_map(
            |(address, nonce, balance, contract)| AccountLeaf { address: address.into(), nonce, balance, contract },
        )
    }

    fn node<V: Stored>(value: impl Strategy<Value = V>) -> impl Strategy<Value = StoredNode<V>> {
        let leaf = (any::<[u8; 32]>(), value).prop_map(|(key, value)| TrieNode::Leaf(Leaf { key: key.into(), value }));
        let links = proptest::collection::vec(link(), 16);
        let branch = (proptest::collection::vec(0..16_u8, 0..63), any::<u16>(), links)
            .prop_filter("a branch has two children", |(_, mask, _)| mask.count_ones() > 1)
            .prop_map(|(prefix, mask, links)| {
                let children = links[..mask.count_ones() as usize].into();
                TrieNode::Branch(Branch { prefix: prefix.into(), mask, children })
            });
        prop_oneof![leaf, branch]
    }

    fn returns<V: Stored>(node: &StoredNode<V>) {
        let mut bytes = Vec::new();
        write_node(node, COMMIT, &mut bytes);
        let back = read_node::<V>(COMMIT, &bytes).expect("it decodes");
        assert_eq!(format!("{back:?}"), format!("{node:?}"));
        for len in 0..bytes.len() {
            assert!(read_node::<V>(COMMIT, &bytes[..len]).is_none(), "cut at {len}");
        }
    }

    proptest! {
        #[test]
        fn a_node_returns(account in node(account()), slot in node((number(), number()).prop_map(|(slot, value)| SlotLeaf { slot, value }))) {
            returns(&account);
            returns(&slot);
        }

        #[test]
        fn any_bytes_decode_or_not(mut bytes in proptest::collection::vec(any::<u8>(), 0..400), tag in 0..3_u8) {
            let _ = read_node::<SlotLeaf>(COMMIT, &bytes);
            if let Some(first) = bytes.first_mut() {
                *first = tag;
            }
            let _ = read_node::<SlotLeaf>(COMMIT, &bytes);
            let _ = read_node::<AccountLeaf<StoredLink>>(COMMIT, &bytes);
        }

        #[test]
        fn a_varint_returns(number in any::<u64>()) {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, number);
            prop_assert_eq!(ByteReader::new(&bytes).varint(), Some(number));
        }
    }

    #[test]
    fn a_child_is_no_newer_than_its_parent() {
        let mut bytes = Vec::new();
        let place = NodeLocation { commit: COMMIT, page: 4, at: 300 };
        let link = StoredLink { reference: Reference::hash(B256::ZERO), place };
        write_link(&link, COMMIT, &mut bytes);
        assert_eq!(read_link(COMMIT, &mut ByteReader::new(&bytes)), Some(link));
        bytes[33] = COMMIT.get() as u8 + 1;
        assert_eq!(read_link(COMMIT, &mut ByteReader::new(&bytes)), None, "made before the first commit");
    }

    #[test]
    fn a_varint_past_64_bits_is_refused() {
        let mut bytes = [0xff; 10];
        bytes[9] = 0x01;
        assert_eq!(ByteReader::new(&bytes).varint(), Some(u64::MAX));
        bytes[9] = 0x02;
        assert_eq!(ByteReader::new(&bytes).varint(), None);
    }
}
