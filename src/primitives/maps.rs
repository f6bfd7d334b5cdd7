//! Maps of the engine's own.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use imbl::{GenericHashMap, shared_ptr::DefaultSharedPtr};

/// A map hashed alike in every process, for looking up. Its order means nothing all the same: whoever goes through it on the
/// way to anything that others see sorts first.
pub(crate) type LookupMap<K, V> = HashMap<K, V, FixedState>;

/// The same with a clone that is O(1).
pub(crate) type PersistentMap<K, V> = GenericHashMap<K, V, FixedState, DefaultSharedPtr>;
