//! Applies sorted changes to a trie in one descent.

use alloy_primitives::B256;
use smallvec::SmallVec;

use super::{
    Branch, Leaf, LeafValue, NodeEncoder, NodeLink, Reference, Source, StateError, TrieNode,
    node::{follows, nibble, share_path},
};

/// New value of a key.
#[derive(Clone, Debug)]
pub(crate) struct KeyChange<V> {
    pub(crate) key: B256,
    /// New value; `None` removes the key.
    pub(crate) value: Option<V>,
    /// Whether the new value takes the parts that it leaves open from the old one, see [`LeafValue::inherit`].
    pub(crate) inherit: bool,
}

/// Sink of the nodes of a new version.
pub(crate) trait Sink<V, L: NodeLink> {
    /// Stores a final node, after its children, and returns the link to it.
    fn save(&mut self, node: TrieNode<V, L>, reference: Reference) -> L;

    /// Releases a node that the new version no longer has.
    fn release(&mut self, link: &L);
}

/// Returns the root after `changes`, sorted by distinct keys; `None` when no key is left.
pub(crate) fn update<V: LeafValue, S: Source<V>, K: Sink<V, S::Link>>(
    source: &S,
    sink: &mut K,
    encoder: &mut NodeEncoder,
    root: Option<&S::Link>,
    changes: &[KeyChange<V>],
) -> Result<Option<S::Link>, StateError> {
    debug_assert!(changes.is_sorted_by(|a, b| a.key < b.key), "changes are sorted and name each key once");
    let mut update = Update { source, sink, encoder };
    let outcome = match root {
        Some(root) => update.link(root, changes, 0)?,
        None => SubtreeChange::from(update.build(changes, 0)),
    };
    Ok(match outcome {
        SubtreeChange::Same => root.cloned(),
        SubtreeChange::Empty => None,
        SubtreeChange::Fresh(node) => Some(update.save(node, 0)),
    })
}

struct Update<'a, S, K> {
    source: &'a S,
    sink: &'a mut K,
    encoder: &'a mut NodeEncoder,
}

/// Result of changing a subtree.
enum SubtreeChange<V, L: NodeLink> {
    /// Unchanged: the old node stays.
    Same,
    /// No key is left.
    Empty,
    /// A node that is not saved yet, as it may still be merged with its parent.
    Fresh(TrieNode<V, L>),
}

impl<V, L: NodeLink> From<Option<TrieNode<V, L>>> for SubtreeChange<V, L> {
    fn from(node: Option<TrieNode<V, L>>) -> Self {
        node.map_or(Self::Empty, Self::Fresh)
    }
}

/// A child of a branch under construction.
enum BranchChild<'a, V, L: NodeLink> {
    /// The old child.
    Kept(&'a L),
    /// A child that is not saved yet.
    Fresh(TrieNode<V, L>),
}

/// A branch under construction. Children are added by ascending nibble; the first is held back until there is a second,
/// as a lone child replaces its branch and is then encoded with another path.
struct BranchBuilder<'a, V, L: NodeLink> {
    /// Index of the nibble that distinguishes the children.
    at: usize,
    mask: u16,
    first: Option<BranchChild<'a, V, L>>,
    links: SmallVec<[L; 16]>,
}

impl<V, L: NodeLink> BranchBuilder<'_, V, L> {
    fn new(at: usize) -> Self {
        Self { at, mask: 0, first: None, links: SmallVec::new() }
    }
}

impl<S, K> Update<'_, S, K> {
    fn save<V: LeafValue>(&mut self, node: TrieNode<V, S::Link>, depth: usize) -> S::Link
    where
        S: Source<V>,
        K: Sink<V, S::Link>,
    {
        let reference = self.encoder.reference(&node, depth);
        self.sink.save(node, reference)
    }

    /// Applies `changes` to the node behind `link`, whose path starts at nibble `depth`.
    fn link<V: LeafValue>(
        &mut self,
        link: &S::Link,
        changes: &[KeyChange<V>],
        depth: usize,
    ) -> Result<SubtreeChange<V, S::Link>, StateError>
    where
        S: Source<V>,
        K: Sink<V, S::Link>,
    {
        let source = self.source;
        let outcome = match &*source.load(link)? {
            TrieNode::Leaf(leaf) => self.leaf(leaf, changes, depth)?,
            TrieNode::Branch(branch) => {
                branch.fork(depth)?;
                S::Link::fetch(&branch.children);
                self.branch(branch, &branch.prefix, changes, depth)?
            }
        };
        if !matches!(outcome, SubtreeChange::Same) {
            self.sink.release(link);
        }
        Ok(outcome)
    }

    fn leaf<V: LeafValue>(
        &mut self,
        leaf: &Leaf<V>,
        changes: &[KeyChange<V>],
        depth: usize,
    ) -> Result<SubtreeChange<V, S::Link>, StateError>
    where
        S: Source<V>,
        K: Sink<V, S::Link>,
    {
        let found = changes.binary_search_by(|change| change.key.cmp(&leaf.key));
        let others = changes.iter().any(|change| change.value.is_some() && change.key != leaf.key);
        // Result for the leaf itself.
        let value = match found {
            Ok(at) => changes[at]
                .value
                .as_ref()
                .map(|value| if changes[at].inherit { value.inherit(&leaf.value) } else { value.clone() }),
            Err(_) => Some(leaf.value.clone()),
        };
        if !others {
            return Ok(match value {
                None => SubtreeChange::Empty,
                Some(value) if value == leaf.value => SubtreeChange::Same,
                Some(value) => SubtreeChange::Fresh(TrieNode::Leaf(Leaf { key: leaf.key, value })),
            });
        }
        if changes.first().is_some_and(|change| !share_path(&change.key, &leaf.key, depth)) {
            return Err(StateError::MisplacedNode);
        }
        let own = KeyChange { key: leaf.key, value, inherit: false };
        let (before, after) = match found {
            Ok(at) => (&changes[..at], &changes[at + 1..]),
            Err(at) => changes.split_at(at),
        };
        let all = [before, &[own], after].concat();
        Ok(self.build(&all, depth).into())
    }

    /// Applies `changes` to `branch` as if its prefix were `prefix`, a suffix of its own.
    fn branch<V: LeafValue>(
        &mut self,
        branch: &Branch<S::Link>,
        prefix: &[u8],
        changes: &[KeyChange<V>],
        depth: usize,
    ) -> Result<SubtreeChange<V, S::Link>, StateError>
    where
        S: Source<V>,
        K: Sink<V, S::Link>,
    {
        let common = if prefix.is_empty() {
            0
        } else {
            let insertions = changes.iter().filter(|change| change.value.is_some());
            insertions.map(|change| follows(&change.key, depth, prefix)).min().unwrap_or(prefix.len())
        };
        // Removals that leave the common path concern no key of this subtree.
        let mut rest = within(changes, depth, &prefix[..common]);
        let at = depth + common;

        if let Some((own, tail)) = prefix[common..].split_first() {
            // A fork in the prefix: the branch, with a shorter one, is a child of a new branch.
            let mut builder = BranchBuilder::new(at);
            let shorter = || TrieNode::Branch(Branch { prefix: tail.into(), ..branch.clone() });
            let mut branch_is_due = true;
            while let Some((nibble, group)) = take_group(&mut rest, at) {
                if branch_is_due && nibble > *own {
                    self.add(&mut builder, *own, BranchChild::Fresh(shorter()));
                }
                branch_is_due &= nibble < *own;
                let child = if nibble == *own {
                    match self.branch(branch, tail, group, at + 1)? {
                        SubtreeChange::Same => Some(shorter()),
                        SubtreeChange::Empty => None,
                        SubtreeChange::Fresh(node) => Some(node),
                    }
                } else {
                    self.build(group, at + 1)
                };
                if let Some(node) = child {
                    self.add(&mut builder, nibble, BranchChild::Fresh(node));
                }
            }
            if branch_is_due {
                self.add(&mut builder, *own, BranchChild::Fresh(shorter()));
            }
            return self.finish(&prefix[..common], builder);
        }

        if rest.len() > 1 {
            let mut ahead = rest;
            while let Some((nibble, _)) = take_group(&mut ahead, at) {
                branch.child(nibble).inspect(|child| child.fetch_below());
            }
        }
        let mut builder = BranchBuilder::new(at);
        let mut changed = false;
        let mut old = (0..16).filter(|nibble| branch.mask & (1 << nibble) != 0).zip(&*branch.children).peekable();
        while let Some((nibble, group)) = take_group(&mut rest, at) {
            while let Some((nibble, child)) = old.next_if(|(old, _)| *old < nibble) {
                self.add(&mut builder, nibble, BranchChild::Kept(child));
            }
            let child = old.next_if(|(old, _)| *old == nibble).map(|(_, child)| child);
            let outcome = match child {
                Some(child) => self.link(child, group, at + 1)?,
                None => self.build(group, at + 1).map_or(SubtreeChange::Same, SubtreeChange::Fresh),
            };
            changed |= !matches!(outcome, SubtreeChange::Same);
            match (outcome, child) {
                (SubtreeChange::Fresh(node), _) => self.add(&mut builder, nibble, BranchChild::Fresh(node)),
                (SubtreeChange::Same, Some(child)) => self.add(&mut builder, nibble, BranchChild::Kept(child)),
                (SubtreeChange::Same, None) | (SubtreeChange::Empty, _) => {}
            }
        }
        if !changed {
            return Ok(SubtreeChange::Same);
        }
        for (nibble, child) in old {
            self.add(&mut builder, nibble, BranchChild::Kept(child));
        }
        self.finish(prefix, builder)
    }

    /// Builds a subtree of the insertions among `changes` alone.
    fn build<V: LeafValue>(&mut self, changes: &[KeyChange<V>], depth: usize) -> Option<TrieNode<V, S::Link>>
    where
        S: Source<V>,
        K: Sink<V, S::Link>,
    {
        let first = changes.iter().position(|change| change.value.is_some())?;
        let last = changes.iter().rposition(|change| change.value.is_some())?;
        let (key, value) = (changes[first].key, changes[first].value.as_ref()?);
        if first == last {
            return Some(TrieNode::Leaf(Leaf { key, value: value.clone() }));
        }
        let end = &changes[last].key;
        let prefix: Box<[u8]> = (depth..)
            .map(|at| nibble(&key, at))
            .zip(depth..)
            .take_while(|(own, at)| *own == nibble(end, *at))
            .map(|(own, _)| own)
            .collect();
        let at = depth + prefix.len();
        let mut rest = &changes[first..=last];
        let mut mask = 0;
        let mut children = SmallVec::<[S::Link; 16]>::new();
        while let Some((nibble, group)) = take_group(&mut rest, at) {
            if let Some(node) = self.build(group, at + 1) {
                mask |= 1 << nibble;
                children.push(self.save(node, at + 1));
            }
        }
        Some(TrieNode::Branch(Branch { prefix, mask, children: children.into_iter().collect() }))
    }

    /// Adds the child for `nibble`, which is above those of the children before.
    fn add<'a, V: LeafValue>(
        &mut self,
        builder: &mut BranchBuilder<'a, V, S::Link>,
        nibble: u8,
        child: BranchChild<'a, V, S::Link>,
    ) where
        S: Source<V>,
        K: Sink<V, S::Link>,
    {
        builder.mask |= 1 << nibble;
        if builder.mask.count_ones() == 1 {
            builder.first = Some(child);
            return;
        }
        for child in builder.first.take().into_iter().chain([child]) {
            builder.links.push(match child {
                BranchChild::Kept(link) => link.clone(),
                BranchChild::Fresh(node) => self.save(node, builder.at + 1),
            });
        }
    }

    /// Returns the node of the children below `prefix`.
    fn finish<V: LeafValue>(
        &mut self,
        prefix: &[u8],
        builder: BranchBuilder<'_, V, S::Link>,
    ) -> Result<SubtreeChange<V, S::Link>, StateError>
    where
        S: Source<V>,
        K: Sink<V, S::Link>,
    {
        let lone = match builder.first {
            None if builder.mask == 0 => return Ok(SubtreeChange::Empty),
            None => {
                let children = builder.links.into_iter().collect();
                return Ok(SubtreeChange::Fresh(TrieNode::Branch(Branch {
                    prefix: prefix.into(),
                    mask: builder.mask,
                    children,
                })));
            }
            Some(BranchChild::Fresh(node)) => node,
            Some(BranchChild::Kept(link)) => {
                self.sink.release(link);
                self.source.load(link)?.clone()
            }
        };
        // A lone child takes the branch's place and its path.
        Ok(SubtreeChange::Fresh(match lone {
            TrieNode::Leaf(leaf) => TrieNode::Leaf(leaf),
            TrieNode::Branch(branch) => {
                let nibble = builder.mask.trailing_zeros() as u8;
                TrieNode::Branch(Branch { prefix: [prefix, &[nibble], &branch.prefix].concat().into(), ..branch })
            }
        }))
    }
}

/// Returns the changes whose key has `prefix` from nibble `depth` on; all of them share the nibbles before.
fn within<'a, V>(changes: &'a [KeyChange<V>], depth: usize, prefix: &[u8]) -> &'a [KeyChange<V>] {
    if prefix.is_empty() {
        return changes;
    }
    let path =
        |change: &KeyChange<V>| (depth..depth + prefix.len()).map(|at| nibble(&change.key, at)).collect::<Vec<_>>();
    let start = changes.partition_point(|change| path(change).as_slice() < prefix);
    let end = changes.partition_point(|change| path(change).as_slice() <= prefix);
    &changes[start..end]
}

/// Takes the changes that share nibble `at` off the front of `rest`.
fn take_group<'a, V>(rest: &mut &'a [KeyChange<V>], at: usize) -> Option<(u8, &'a [KeyChange<V>])> {
    let first = nibble(&rest.first()?.key, at);
    let len = rest.partition_point(|change| nibble(&change.key, at) <= first);
    let (group, others) = rest.split_at(len);
    *rest = others;
    Some((first, group))
}
