//! Applying sorted changes to a trie in one descent.

use alloy_primitives::B256;
use smallvec::SmallVec;

use super::{
    Branch, Encoder, Leaf, Link, Node, Reference, Source, StateError, Value,
    node::{follows, nibble, share_path},
};

/// A key's new value.
#[derive(Clone, Debug)]
pub(crate) struct Change<V> {
    pub(crate) key: B256,
    /// `None` removes the key.
    pub(crate) value: Option<V>,
    /// Whether the new value takes over what it leaves open from the old one, see [`Value::inherit`].
    pub(crate) inherit: bool,
}

/// Where the nodes of a new version go.
pub(crate) trait Sink<V, L: Link> {
    /// Takes a node that is final, after its children.
    fn save(&mut self, node: Node<V, L>, reference: Reference) -> L;

    /// Is told of a node that the new version no longer has.
    fn release(&mut self, link: &L);
}

/// Returns the root after `changes`, which are sorted by key and name each key once; `None` when nothing is left.
pub(crate) fn update<V: Value, S: Source<V>, K: Sink<V, S::Link>>(
    source: &S,
    sink: &mut K,
    encoder: &mut Encoder,
    root: Option<&S::Link>,
    changes: &[Change<V>],
) -> Result<Option<S::Link>, StateError> {
    debug_assert!(changes.is_sorted_by(|a, b| a.key < b.key), "changes are sorted and name each key once");
    let mut update = Update { source, sink, encoder };
    let outcome = match root {
        Some(root) => update.link(root, changes, 0)?,
        None => Outcome::from(update.build(changes, 0)),
    };
    Ok(match outcome {
        Outcome::Same => root.cloned(),
        Outcome::Empty => None,
        Outcome::Fresh(node) => Some(update.save(node, 0)),
    })
}

struct Update<'a, S, K> {
    source: &'a S,
    sink: &'a mut K,
    encoder: &'a mut Encoder,
}

/// What changes made of a subtree.
enum Outcome<V, L: Link> {
    /// Nothing: the old node stays.
    Same,
    /// Nothing is left.
    Empty,
    /// A node that is not saved yet, as it may still be merged with its parent.
    Fresh(Node<V, L>),
}

impl<V, L: Link> From<Option<Node<V, L>>> for Outcome<V, L> {
    fn from(node: Option<Node<V, L>>) -> Self {
        node.map_or(Self::Empty, Self::Fresh)
    }
}

/// A child of a branch in the making.
enum Child<'a, V, L: Link> {
    /// The old one.
    Kept(&'a L),
    /// One that is not saved yet.
    Fresh(Node<V, L>),
}

/// A branch in the making. Children are added by rising nibble; the first is held back until there is a second, as a lone
/// child takes the place of its branch and is then encoded with another path.
struct Making<'a, V, L: Link> {
    /// The number of the nibble that tells the children apart.
    at: usize,
    mask: u16,
    first: Option<Child<'a, V, L>>,
    links: SmallVec<[L; 16]>,
}

impl<V, L: Link> Making<'_, V, L> {
    fn new(at: usize) -> Self {
        Self { at, mask: 0, first: None, links: SmallVec::new() }
    }
}

impl<S, K> Update<'_, S, K> {
    fn save<V: Value>(&mut self, node: Node<V, S::Link>, depth: usize) -> S::Link
    where
        S: Source<V>,
        K: Sink<V, S::Link>,
    {
        let reference = self.encoder.reference(&node, depth);
        self.sink.save(node, reference)
    }

    /// Applies `changes` to the node behind `link`, whose path starts at nibble `depth`.
    fn link<V: Value>(
        &mut self,
        link: &S::Link,
        changes: &[Change<V>],
        depth: usize,
    ) -> Result<Outcome<V, S::Link>, StateError>
    where
        S: Source<V>,
        K: Sink<V, S::Link>,
    {
        let source = self.source;
        let outcome = match &*source.load(link)? {
            Node::Leaf(leaf) => self.leaf(leaf, changes, depth)?,
            Node::Branch(branch) => {
                branch.fork(depth)?;
                S::Link::fetch(&branch.children);
                self.branch(branch, &branch.prefix, changes, depth)?
            }
        };
        if !matches!(outcome, Outcome::Same) {
            self.sink.release(link);
        }
        Ok(outcome)
    }

    fn leaf<V: Value>(
        &mut self,
        leaf: &Leaf<V>,
        changes: &[Change<V>],
        depth: usize,
    ) -> Result<Outcome<V, S::Link>, StateError>
    where
        S: Source<V>,
        K: Sink<V, S::Link>,
    {
        let found = changes.binary_search_by(|change| change.key.cmp(&leaf.key));
        let others = changes.iter().any(|change| change.value.is_some() && change.key != leaf.key);
        // What becomes of the leaf itself.
        let value = match found {
            Ok(at) => changes[at]
                .value
                .as_ref()
                .map(|value| if changes[at].inherit { value.inherit(&leaf.value) } else { value.clone() }),
            Err(_) => Some(leaf.value.clone()),
        };
        if !others {
            return Ok(match value {
                None => Outcome::Empty,
                Some(value) if value == leaf.value => Outcome::Same,
                Some(value) => Outcome::Fresh(Node::Leaf(Leaf { key: leaf.key, value })),
            });
        }
        if changes.first().is_some_and(|change| !share_path(&change.key, &leaf.key, depth)) {
            return Err(StateError::MisplacedNode);
        }
        let own = Change { key: leaf.key, value, inherit: false };
        let (before, after) = match found {
            Ok(at) => (&changes[..at], &changes[at + 1..]),
            Err(at) => changes.split_at(at),
        };
        let all = [before, &[own], after].concat();
        Ok(self.build(&all, depth).into())
    }

    /// Applies `changes` to `branch` as if its prefix were `prefix`, a tail of its own.
    fn branch<V: Value>(
        &mut self,
        branch: &Branch<S::Link>,
        prefix: &[u8],
        changes: &[Change<V>],
        depth: usize,
    ) -> Result<Outcome<V, S::Link>, StateError>
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
            let mut making = Making::new(at);
            let shorter = || Node::Branch(Branch { prefix: tail.into(), ..branch.clone() });
            let mut branch_is_due = true;
            while let Some((nibble, group)) = take_group(&mut rest, at) {
                if branch_is_due && nibble > *own {
                    self.add(&mut making, *own, Child::Fresh(shorter()));
                }
                branch_is_due &= nibble < *own;
                let child = if nibble == *own {
                    match self.branch(branch, tail, group, at + 1)? {
                        Outcome::Same => Some(shorter()),
                        Outcome::Empty => None,
                        Outcome::Fresh(node) => Some(node),
                    }
                } else {
                    self.build(group, at + 1)
                };
                if let Some(node) = child {
                    self.add(&mut making, nibble, Child::Fresh(node));
                }
            }
            if branch_is_due {
                self.add(&mut making, *own, Child::Fresh(shorter()));
            }
            return self.finish(&prefix[..common], making);
        }

        if rest.len() > 1 {
            let mut ahead = rest;
            while let Some((nibble, _)) = take_group(&mut ahead, at) {
                branch.child(nibble).inspect(|child| child.fetch_below());
            }
        }
        let mut making = Making::new(at);
        let mut changed = false;
        let mut old = (0..16).filter(|nibble| branch.mask & (1 << nibble) != 0).zip(&*branch.children).peekable();
        while let Some((nibble, group)) = take_group(&mut rest, at) {
            while let Some((nibble, child)) = old.next_if(|(old, _)| *old < nibble) {
                self.add(&mut making, nibble, Child::Kept(child));
            }
            let child = old.next_if(|(old, _)| *old == nibble).map(|(_, child)| child);
            let outcome = match child {
                Some(child) => self.link(child, group, at + 1)?,
                None => self.build(group, at + 1).map_or(Outcome::Same, Outcome::Fresh),
            };
            changed |= !matches!(outcome, Outcome::Same);
            match (outcome, child) {
                (Outcome::Fresh(node), _) => self.add(&mut making, nibble, Child::Fresh(node)),
                (Outcome::Same, Some(child)) => self.add(&mut making, nibble, Child::Kept(child)),
                (Outcome::Same, None) | (Outcome::Empty, _) => {}
            }
        }
        if !changed {
            return Ok(Outcome::Same);
        }
        for (nibble, child) in old {
            self.add(&mut making, nibble, Child::Kept(child));
        }
        self.finish(prefix, making)
    }

    /// Returns a subtree of nothing but the insertions among `changes`.
    fn build<V: Value>(&mut self, changes: &[Change<V>], depth: usize) -> Option<Node<V, S::Link>>
    where
        S: Source<V>,
        K: Sink<V, S::Link>,
    {
        let first = changes.iter().position(|change| change.value.is_some())?;
        let last = changes.iter().rposition(|change| change.value.is_some())?;
        let (key, value) = (changes[first].key, changes[first].value.as_ref()?);
        if first == last {
            return Some(Node::Leaf(Leaf { key, value: value.clone() }));
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
        Some(Node::Branch(Branch { prefix, mask, children: children.into_iter().collect() }))
    }

    /// Adds the child for `nibble`, which is above those of the children before.
    fn add<'a, V: Value>(&mut self, making: &mut Making<'a, V, S::Link>, nibble: u8, child: Child<'a, V, S::Link>)
    where
        S: Source<V>,
        K: Sink<V, S::Link>,
    {
        making.mask |= 1 << nibble;
        if making.mask.count_ones() == 1 {
            making.first = Some(child);
            return;
        }
        for child in making.first.take().into_iter().chain([child]) {
            making.links.push(match child {
                Child::Kept(link) => link.clone(),
                Child::Fresh(node) => self.save(node, making.at + 1),
            });
        }
    }

    /// Returns the node that the children make below `prefix`.
    fn finish<V: Value>(
        &mut self,
        prefix: &[u8],
        making: Making<'_, V, S::Link>,
    ) -> Result<Outcome<V, S::Link>, StateError>
    where
        S: Source<V>,
        K: Sink<V, S::Link>,
    {
        let lone = match making.first {
            None if making.mask == 0 => return Ok(Outcome::Empty),
            None => {
                let children = making.links.into_iter().collect();
                return Ok(Outcome::Fresh(Node::Branch(Branch { prefix: prefix.into(), mask: making.mask, children })));
            }
            Some(Child::Fresh(node)) => node,
            Some(Child::Kept(link)) => {
                self.sink.release(link);
                self.source.load(link)?.clone()
            }
        };
        // A lone child takes the branch's place and its path.
        Ok(Outcome::Fresh(match lone {
            Node::Leaf(leaf) => Node::Leaf(leaf),
            Node::Branch(branch) => {
                let nibble = making.mask.trailing_zeros() as u8;
                Node::Branch(Branch { prefix: [prefix, &[nibble], &branch.prefix].concat().into(), ..branch })
            }
        }))
    }
}

/// Returns the changes whose key has `prefix` from nibble `depth` on; all of them share what is before.
fn within<'a, V>(changes: &'a [Change<V>], depth: usize, prefix: &[u8]) -> &'a [Change<V>] {
    if prefix.is_empty() {
        return changes;
    }
    let path = |change: &Change<V>| (depth..depth + prefix.len()).map(|at| nibble(&change.key, at)).collect::<Vec<_>>();
    let start = changes.partition_point(|change| path(change).as_slice() < prefix);
    let end = changes.partition_point(|change| path(change).as_slice() <= prefix);
    &changes[start..end]
}

/// Takes the changes that share nibble number `at` off the front of `rest`.
fn take_group<'a, V>(rest: &mut &'a [Change<V>], at: usize) -> Option<(u8, &'a [Change<V>])> {
    let first = nibble(&rest.first()?.key, at);
    let len = rest.partition_point(|change| nibble(&change.key, at) <= first);
    let (group, others) = rest.split_at(len);
    *rest = others;
    Some((first, group))
}
