//! Applying sorted changes to a trie in one descent.

use alloy_primitives::B256;

use super::{
    Branch, Encoder, Leaf, Node, Reference, Source, StateError, Value,
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
pub(crate) trait Sink<V, L> {
    /// Takes a node that is final, after its children.
    fn save(&mut self, node: Node<V, L>, reference: Reference) -> L;

    /// Is told of a node that the new version no longer has.
    fn release(&mut self, link: &L);
}

/// The root after `changes`, which are sorted by key and name each key once; `None` when nothing is left.
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
enum Outcome<V, L> {
    /// Nothing: the old node stays.
    Same,
    /// Nothing is left.
    Empty,
    /// A node that is not saved yet, as it may still be merged with its parent.
    Fresh(Node<V, L>),
}

impl<V, L> From<Option<Node<V, L>>> for Outcome<V, L> {
    fn from(node: Option<Node<V, L>>) -> Self {
        node.map_or(Self::Empty, Self::Fresh)
    }
}

/// The children of a branch in the making.
struct Children<'a, V, L> {
    /// A branch whose children are kept where `kept` has their bit.
    old: Option<&'a Branch<L>>,
    kept: u16,
    fresh: [Option<Node<V, L>>; 16],
}

impl<'a, V, L> Children<'a, V, L> {
    fn new(old: Option<&'a Branch<L>>) -> Self {
        Self { old, kept: old.map_or(0, |old| old.mask), fresh: [const { None }; 16] }
    }

    fn mask(&self) -> u16 {
        (0..16).filter(|nibble| self.fresh[*nibble].is_some()).fold(self.kept, |mask, nibble| mask | 1 << nibble)
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
            let mut children = Children::new(None);
            let shortened = || Node::Branch(Branch { prefix: tail.into(), ..branch.clone() });
            let mut shorter = Some(());
            while let Some((nibble, group)) = take_group(&mut rest, at) {
                children.fresh[nibble as usize] = if nibble == *own {
                    shorter = None;
                    match self.branch(branch, tail, group, at + 1)? {
                        Outcome::Same => Some(shortened()),
                        Outcome::Empty => None,
                        Outcome::Fresh(node) => Some(node),
                    }
                } else {
                    self.build(group, at + 1)
                };
            }
            if shorter.is_some() {
                children.fresh[*own as usize] = Some(shortened());
            }
            return self.assemble(&prefix[..common], at, children);
        }

        let mut children = Children::new(Some(branch));
        let mut changed = false;
        while let Some((nibble, group)) = take_group(&mut rest, at) {
            let outcome = match branch.child(nibble) {
                Some(child) => self.link(child, group, at + 1)?,
                None => self.build(group, at + 1).map_or(Outcome::Same, Outcome::Fresh),
            };
            match outcome {
                Outcome::Same => continue,
                Outcome::Empty => {}
                Outcome::Fresh(node) => children.fresh[nibble as usize] = Some(node),
            }
            children.kept &= !(1 << nibble);
            changed = true;
        }
        if changed { self.assemble(prefix, at, children) } else { Ok(Outcome::Same) }
    }

    /// A subtree of nothing but the insertions among `changes`.
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
        let mut children = Vec::with_capacity(16.min(rest.len()));
        while let Some((nibble, group)) = take_group(&mut rest, at) {
            if let Some(node) = self.build(group, at + 1) {
                mask |= 1 << nibble;
                children.push(self.save(node, at + 1));
            }
        }
        Some(Node::Branch(Branch { prefix, mask, children: children.into() }))
    }

    /// The node that `children` make below `prefix`; the nibble that tells them apart is number `at`.
    fn assemble<V: Value>(
        &mut self,
        prefix: &[u8],
        at: usize,
        mut children: Children<'_, V, S::Link>,
    ) -> Result<Outcome<V, S::Link>, StateError>
    where
        S: Source<V>,
        K: Sink<V, S::Link>,
    {
        let mask = children.mask();
        let kept = |nibble: u8| children.old.filter(|_| children.kept & (1 << nibble) != 0)?.child(nibble);
        if mask.count_ones() > 1 {
            let mut links = Vec::with_capacity(mask.count_ones() as usize);
            for nibble in 0..16 {
                if let Some(link) = kept(nibble) {
                    links.push(link.clone());
                } else if let Some(node) = children.fresh[nibble as usize].take() {
                    links.push(self.save(node, at + 1));
                }
            }
            return Ok(Outcome::Fresh(Node::Branch(Branch { prefix: prefix.into(), mask, children: links.into() })));
        }
        if mask == 0 {
            return Ok(Outcome::Empty);
        }
        // A lone child takes the branch's place and its path.
        let nibble = mask.trailing_zeros() as u8;
        let lone = match (children.fresh[nibble as usize].take(), kept(nibble)) {
            (Some(node), _) => node,
            (None, Some(link)) => {
                self.sink.release(link);
                self.source.load(link)?.clone()
            }
            (None, None) => return Ok(Outcome::Empty),
        };
        Ok(Outcome::Fresh(match lone {
            Node::Leaf(leaf) => Node::Leaf(leaf),
            Node::Branch(branch) => {
                Node::Branch(Branch { prefix: [prefix, &[nibble], &branch.prefix].concat().into(), ..branch })
            }
        }))
    }
}

/// The changes whose key has `prefix` from nibble `depth` on; all of them share what is before.
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
