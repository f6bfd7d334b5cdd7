//! Verifies a proof against the state root alone: no store, no trie, no code shared with the prover.

use alloy_primitives::{B256, Bytes, U256, keccak256};
use alloy_rlp::{Encodable, Header};

use super::{Account, AccountProof, EMPTY_ROOT, StorageProof};

/// Error of an invalid proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// A node is not the one referenced by the root or by the node before it.
    #[error("proof: node {index} does not have the hash {expected}")]
    WrongNode {
        /// Index in the list of nodes.
        index: usize,
        /// Expected hash.
        expected: B256,
    },
    /// A node is not the RLP of a trie node, or its path is longer than the key.
    #[error("proof: node {index} is no trie node")]
    Malformed {
        /// Index in the list of nodes, of an inline node that of the node around it.
        index: usize,
    },
    /// The nodes end before the path does.
    #[error("proof: it ends after {nodes} nodes, before the path does")]
    Incomplete {
        /// Number of nodes in the proof.
        nodes: usize,
    },
    /// Nodes are left when the path ends.
    #[error("proof: {extra} nodes are not on the path")]
    Excess {
        /// Number of nodes left.
        extra: usize,
    },
    /// The nodes prove other values of the account.
    #[error("proof: the account's values are not those under the root")]
    WrongAccount,
    /// The nodes prove another value of a slot.
    #[error("proof: the value of slot {slot} is not the one under the storage root")]
    WrongValue {
        /// Number of the slot.
        slot: B256,
    },
}

/// Verifies that the account and the slots of `proof` are those under the state root `root` (EIP-1186).
///
/// Absence is verified too: an absent account must be claimed as [`Account::default`], an absent slot as zero.
///
/// # Errors
/// [`ProofError`] when anything in the proof is not covered by the root.
pub fn verify_proof(root: B256, proof: &AccountProof) -> Result<(), ProofError> {
    let found = value_under(root, &keccak256(proof.address), &proof.nodes)?;
    let claimed = match &found {
        Some(value) => *value == encoded(&proof.account),
        None => proof.account == Account::default(),
    };
    if !claimed {
        return Err(ProofError::WrongAccount);
    }
    proof.storage.iter().try_for_each(|slot| verify_slot(proof.account.storage_root, slot))
}

/// Verifies that a slot's value is the one under the storage root `root`.
///
/// # Errors
/// See [`verify_proof`].
pub fn verify_slot(root: B256, proof: &StorageProof) -> Result<(), ProofError> {
    let claimed = match value_under(root, &keccak256(proof.slot), &proof.nodes)? {
        Some(value) => !proof.value.is_zero() && value == encoded(&proof.value),
        None => proof.value == U256::ZERO,
    };
    if claimed { Ok(()) } else { Err(ProofError::WrongValue { slot: proof.slot }) }
}

fn encoded(value: &impl Encodable) -> Vec<u8> {
    alloy_rlp::encode(value)
}

/// A parent's reference to a child.
enum ChildReference<'a> {
    Absent,
    Hash(B256),
    Inline(&'a [u8]),
}

/// Returns the value under `key` in the trie with this root, or `None` when the nodes prove its absence.
fn value_under(root: B256, key: &B256, nodes: &[Bytes]) -> Result<Option<Vec<u8>>, ProofError> {
    let path: Vec<u8> = key.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]).collect();
    let mut path = &path[..];
    let mut used = 0;
    let mut child = if root == EMPTY_ROOT { ChildReference::Absent } else { ChildReference::Hash(root) };
    let value = loop {
        let rlp = match child {
            ChildReference::Absent => break None,
            ChildReference::Inline(rlp) => rlp,
            ChildReference::Hash(expected) => {
                let node = nodes.get(used).ok_or(ProofError::Incomplete { nodes: nodes.len() })?;
                if keccak256(node) != expected {
                    return Err(ProofError::WrongNode { index: used, expected });
                }
                used += 1;
                node
            }
        };
        match step(rlp, path).ok_or(ProofError::Malformed { index: used - 1 })? {
            PathStep::Value(value) => break value.map(<[u8]>::to_vec),
            PathStep::Down { nibbles, to } => {
                path = &path[nibbles..];
                child = to;
            }
        }
    };
    match nodes.len() - used {
        0 => Ok(value),
        extra => Err(ProofError::Excess { extra }),
    }
}

enum PathStep<'a> {
    /// The path ends here, with a value or without.
    Value(Option<&'a [u8]>),
    /// The path continues in a child, after so many nibbles.
    Down { nibbles: usize, to: ChildReference<'a> },
}

/// Follows `path` through one node; `None` when the bytes are not a node.
fn step<'a>(rlp: &'a [u8], path: &[u8]) -> Option<PathStep<'a>> {
    let items = list(rlp)?;
    match items[..] {
        [first, second] => {
            let (nibbles, is_leaf) = decode_path(string(first)?)?;
            let matches = path.starts_with(&nibbles);
            if is_leaf {
                // Keys have one length, so a leaf that matches ends the path, and no other leaf is that long.
                let value = string(second)?;
                return (nibbles.len() == path.len()).then(|| PathStep::Value(matches.then_some(value)));
            }
            if nibbles.is_empty() || nibbles.len() >= path.len() {
                return None;
            }
            let to = if matches { decode_child(second)? } else { ChildReference::Absent };
            Some(PathStep::Down { nibbles: nibbles.len(), to })
        }
        _ if items.len() == 17 => {
            let nibble = *path.first()?;
            Some(PathStep::Down { nibbles: 1, to: decode_child(items[nibble as usize])? })
        }
        _ => None,
    }
}

/// Returns the items of a list, each with its header.
fn list(rlp: &[u8]) -> Option<Vec<&[u8]>> {
    let mut rest = rlp;
    let header = Header::decode(&mut rest).ok()?;
    if !header.list || rest.len() != header.payload_length {
        return None;
    }
    let mut items = Vec::new();
    while !rest.is_empty() {
        let mut payload = rest;
        let header = Header::decode(&mut payload).ok()?;
        let len = rest.len() - payload.len() + header.payload_length;
        let (item, others) = rest.split_at_checked(len)?;
        items.push(item);
        rest = others;
    }
    Some(items)
}

fn string(mut item: &[u8]) -> Option<&[u8]> {
    let header = Header::decode(&mut item).ok()?;
    (!header.list).then_some(item)
}

fn decode_child(item: &[u8]) -> Option<ChildReference<'_>> {
    // A list is the child itself.
    if item.first().is_some_and(|first| *first >= 0xc0) {
        return (item.len() < 32).then_some(ChildReference::Inline(item));
    }
    match string(item)? {
        [] => Some(ChildReference::Absent),
        hash => B256::try_from(hash).ok().map(ChildReference::Hash),
    }
}

/// Returns the nibbles and whether they end at a leaf (hex-prefix encoding, Yellow Paper, appendix C).
fn decode_path(bytes: &[u8]) -> Option<(Vec<u8>, bool)> {
    let (first, rest) = bytes.split_first()?;
    let flags = first >> 4;
    let odd = flags & 1 == 1;
    if flags > 3 || (!odd && first & 0x0f != 0) {
        return None;
    }
    let odd_nibble = odd.then_some(first & 0x0f);
    let nibbles = odd_nibble.into_iter().chain(rest.iter().flat_map(|byte| [byte >> 4, byte & 0x0f])).collect();
    Some((nibbles, flags & 2 == 2))
}
