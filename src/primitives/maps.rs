//! Maps of the engine's own.

use foldhash::fast::FixedState;
use imbl::{GenericHashMap, shared_ptr::DefaultSharedPtr};

/// A map whose clone is O(1), hashed alike in every process. Its order means nothing all the same: whoever goes through it on
/// the way to anything that others see sorts first.
pub(crate) type HashedMap<K, V> = GenericHashMap<K, V, FixedState, DefaultSharedPtr>;
