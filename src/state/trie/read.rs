//! Reads of a trie: one value, all values, proofs.

use core::ops::ControlFlow;

use alloy_primitives::{B256, Bytes};

use super::{
    LeafValue, NodeEncoder, Reference, Source, StateError, TrieNode,
    node::{follows, nibble},
};

/// Returns the value under `key`.
pub(crate) fn get<V: LeafValue, S: Source<V>>(
    source: &S,
    root: Option<&S::Link>,
    key: &B256,
) -> Result<Option<V>, StateError> {
    root.map_or(Ok(None), |root| get_below(source, root, key, 0))
}

fn get_below<V: LeafValue, S: Source<V>>(
    source: &S,
    link: &S::Link,
    key: &B256,
    depth: usize,
) -> Result<Option<V>, StateError> {
    match &*source.load(link)? {
        TrieNode::Leaf(leaf) => Ok((leaf.key == *key).then(|| leaf.value.clone())),
        TrieNode::Branch(branch) => {
            let at = branch.fork(depth)?;
            if follows(key, depth, &branch.prefix) < branch.prefix.len() {
                return Ok(None);
            }
            branch.child(nibble(key, at)).map_or(Ok(None), |child| get_below(source, child, key, at + 1))
        }
    }
}

/// Visits the values by ascending key until `visit` breaks, and returns that break.
pub(crate) fn for_each<V: LeafValue, S: Source<V>>(
    source: &S,
    root: &S::Link,
    visit: &mut dyn FnMut(&B256, &V) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, StateError> {
    for_each_below(source, root, 0, visit)
}

fn for_each_below<V: LeafValue, S: Source<V>>(
    source: &S,
    link: &S::Link,
    depth: usize,
    visit: &mut dyn FnMut(&B256, &V) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, StateError> {
    match &*source.load(link)? {
        TrieNode::Leaf(leaf) => return Ok(visit(&leaf.key, &leaf.value)),
        TrieNode::Branch(branch) => {
            let at = branch.fork(depth)?;
            for child in &*branch.children {
                if for_each_below(source, child, at + 1, visit)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Visits the link to every node, children after their parent.
pub(crate) fn for_each_link<V: LeafValue, S: Source<V>>(
    source: &S,
    root: &S::Link,
    visit: &mut dyn FnMut(&S::Link),
) -> Result<(), StateError> {
    for_each_link_below(source, root, 0, visit)
}

fn for_each_link_below<V: LeafValue, S: Source<V>>(
    source: &S,
    link: &S::Link,
    depth: usize,
    visit: &mut dyn FnMut(&S::Link),
) -> Result<(), StateError> {
    visit(link);
    if let TrieNode::Branch(branch) = &*source.load(link)? {
        let at = branch.fork(depth)?;
        branch.children.iter().try_for_each(|child| for_each_link_below(source, child, at + 1, visit))?;
    }
    Ok(())
}

/// Returns the RLP of the nodes from the root towards `key`, as far as they go; inline nodes are in their parents.
pub(crate) fn prove<V: LeafValue, S: Source<V>>(
    source: &S,
    root: Option<&S::Link>,
    key: &B256,
) -> Result<Vec<Bytes>, StateError> {
    let mut nodes = Vec::new();
    if let Some(root) = root {
        prove_below(source, root, key, 0, &mut nodes)?;
    }
    Ok(nodes)
}

fn prove_below<V: LeafValue, S: Source<V>>(
    source: &S,
    link: &S::Link,
    key: &B256,
    depth: usize,
    nodes: &mut Vec<Bytes>,
) -> Result<(), StateError> {
    let mut encoder = NodeEncoder::default();
    // The root is referenced by its hash whatever its length.
    let mut push = |rlp: &[u8]| {
        if rlp.len() >= 32 || nodes.is_empty() {
            nodes.push(Bytes::copy_from_slice(rlp));
        }
    };
    match &*source.load(link)? {
        TrieNode::Leaf(leaf) => push(encoder.leaf(leaf, depth)),
        TrieNode::Branch(branch) => {
            let at = branch.fork(depth)?;
            if !branch.prefix.is_empty() {
                let reference = Reference::to(encoder.branch(branch));
                push(encoder.extension(branch, &reference));
            }
            if follows(key, depth, &branch.prefix) == branch.prefix.len() {
                push(encoder.branch(branch));
                if let Some(child) = branch.child(nibble(key, at)) {
                    prove_below(source, child, key, at + 1, nodes)?;
                }
            }
        }
    }
    Ok(())
}
