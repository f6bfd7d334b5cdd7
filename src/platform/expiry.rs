//! Finding what has expired, so that it can be deleted a bounded step at a time.

use super::records::{Index, Owner, PageRequest, Record, RecordError, SortKey, Stored, Unit};

/// Returns the records that have expired, the longest first, at most as many as `request` takes. `index` has all of the service in one
/// group, in the order of `expires_at_ms`.
pub(super) fn expired<T: Record>(
    unit: &mut Unit<'_>,
    index: &Index<T>,
    request: &PageRequest,
    expires_at_ms: fn(&T) -> u64,
) -> Result<Vec<Stored<T>>, RecordError> {
    let page = unit.front(index, &Owner::Service, &SortKey::new(), request)?;
    let now_ms = unit.now_ms();
    Ok(page.items.into_iter().take_while(|stored| expires_at_ms(&stored.value) <= now_ms).collect())
}
