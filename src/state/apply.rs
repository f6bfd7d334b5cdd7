//! Applies [`StateChanges`] to the account trie and the storage tries.

use alloy_primitives::B256;

use super::{
    AccountChange, SortedMap, StateChanges, StateError,
    keys::KeyCache,
    leaf::{AccountLeaf, SlotLeaf},
    trie::{KeyChange, NodeEncoder, NodeLink, Sink, Source, for_each_link, get, update},
};

/// Source of the nodes of both kinds of trie.
pub(crate) trait StateSource:
    Source<AccountLeaf<Self::StorageRoot>, Link = Self::AccountRoot> + Source<SlotLeaf, Link = Self::StorageRoot>
{
    /// Link to a node of the account trie.
    type AccountRoot: NodeLink;
    /// Link to a node of a storage trie.
    type StorageRoot: NodeLink;
}

/// Sink of the new nodes of both kinds of trie.
pub(crate) trait StateSink<S: StateSource + ?Sized>:
    Sink<AccountLeaf<S::StorageRoot>, S::AccountRoot> + Sink<SlotLeaf, S::StorageRoot>
{
    /// Whether [`Sink::release`] must be called for every node that a version loses, at the price of a walk through
    /// the storage of removed accounts.
    const COUNTS_RELEASED: bool;
}

/// Returns the root of the account trie after `changes`; `None` when no account is left.
pub(crate) fn apply<S: StateSource, K: StateSink<S>>(
    source: &S,
    sink: &mut K,
    keys: &KeyCache,
    root: Option<&S::AccountRoot>,
    changes: &StateChanges,
) -> Result<Option<S::AccountRoot>, StateError> {
    let mut encoder = NodeEncoder::default();
    let mut accounts = Vec::with_capacity(changes.accounts.len());
    for (key, (address, change)) in by_key(&changes.accounts, |address| keys.address(address)) {
        let keeps_storage = change.info.is_some() && change.storage.is_empty() && !change.clear_storage;
        let value = match &change.info {
            Some(info) if keeps_storage => Some(AccountLeaf::new(*address, info, None)),
            info => {
                let old = get::<AccountLeaf<S::StorageRoot>, S>(source, root, &key)?;
                let storage = old.as_ref().and_then(AccountLeaf::storage);
                let storage = apply_storage(source, sink, &mut encoder, keys, storage, change)?;
                info.as_ref().map(|info| AccountLeaf::new(*address, info, storage))
            }
        };
        accounts.push(KeyChange { key, value, inherit: keeps_storage });
    }
    update(source, sink, &mut encoder, root, &accounts)
}

/// Returns the root of one account's storage after `change`, which removes the account, clears the storage or sets
/// slots.
fn apply_storage<S: StateSource, K: StateSink<S>>(
    source: &S,
    sink: &mut K,
    encoder: &mut NodeEncoder,
    keys: &KeyCache,
    root: Option<&S::StorageRoot>,
    change: &AccountChange,
) -> Result<Option<S::StorageRoot>, StateError> {
    let clear = change.clear_storage || change.info.is_none();
    if clear
        && K::COUNTS_RELEASED
        && let Some(root) = root
    {
        for_each_link::<SlotLeaf, S>(source, root, &mut |link| Sink::<SlotLeaf, _>::release(sink, link))?;
    }
    if change.info.is_none() {
        return Ok(None);
    }
    let slots = by_key(&change.storage, |slot| keys.slot(slot)).map(|(key, (slot, value))| KeyChange {
        key,
        value: (!value.is_zero()).then_some(SlotLeaf { slot: *slot, value: *value }),
        inherit: false,
    });
    let slots: Vec<KeyChange<SlotLeaf>> = slots.collect();
    update(source, sink, encoder, root.filter(|_| !clear), &slots)
}

/// Returns the pairs of `map` by ascending trie key. Sorts small indices, so that the large pairs stay in place.
fn by_key<K: Ord, V>(
    map: &SortedMap<K, V>,
    key_of: impl Fn(&K) -> B256,
) -> impl ExactSizeIterator<Item = (B256, &(K, V))> {
    let mut sorted: Vec<_> = map.iter().map(|pair| (key_of(&pair.0), pair)).collect();
    sorted.sort_unstable_by_key(|(key, _)| *key);
    sorted.into_iter()
}

/// Returns the state root of the trie under `root`.
pub(crate) fn state_root(root: Option<&impl NodeLink>) -> B256 {
    root.map_or(super::EMPTY_ROOT, |root| root.reference().root_hash())
}
