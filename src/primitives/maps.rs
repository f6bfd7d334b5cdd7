//! Hash maps with a fixed hasher.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use imbl::{GenericHashMap, shared_ptr::DefaultSharedPtr};

/// A map with the same hasher in every process, for lookups. Its order is not specified: sort before iterating into
/// anything observable.
pub(crate) type LookupMap<K, V> = HashMap<K, V, FixedState>;

/// A [`LookupMap`] with an O(1) clone.
pub(crate) type PersistentMap<K, V> = GenericHashMap<K, V, FixedState, DefaultSharedPtr>;
