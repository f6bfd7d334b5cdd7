//! The part of the platform's store that is a chain's.

use std::sync::Arc;

use crate::store::{KeyValue, PrefixedStore};

/// Before the keys of a chain's part of the store, with the chain's id after it. No key of the default chain begins with it: hashes and
/// heights don't, and ids have one length.
pub(super) const PART: &[u8] = b"\xffchain/";

/// Returns a chain's part of the store.
pub(in crate::platform) fn part_of(store: &Arc<dyn KeyValue>, id: &str) -> PrefixedStore {
    PrefixedStore::new(Arc::clone(store), [PART, id.as_bytes()].concat())
}
