//! The bound on invitations: how many a workspace, and a user, send within an hour, so that the service is no relay of mails to anybody.
//!
//! Each counts for both. So a user who makes workspaces, and deletes them, sends no more than in one.

use serde::{Deserialize, Serialize};

use crate::platform::{
    PlatformError,
    expiry::expired,
    records::{Index, Owner, PageRequest, Reach, Record, RecordError, SortKey, Unit},
};

/// Time for which an invitation counts after it was sent, in milliseconds: an hour.
const COUNTED_MS: u64 = 60 * 60 * 1000;

/// When a workspace or a user sent invitations, as far back as they count; its id is theirs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::platform) struct SentInvitations {
    /// Times in milliseconds since the Unix epoch, in the order of sending.
    times_ms: Vec<u64>,
}

impl SentInvitations {
    const BY_END: Index<Self> = Index::ordered(
        "end",
        Reach::Service,
        |_| Some(SortKey::new()),
        |sent| SortKey::new().number(sent.value.ends_at_ms()),
    );

    /// Returns from when on none of them counts.
    fn ends_at_ms(&self) -> u64 {
        self.times_ms.last().map_or(0, |last| last.saturating_add(COUNTED_MS))
    }
}

impl Record for SentInvitations {
    const KIND: &'static str = "sent-invitations";
    const INDICES: &'static [Index<Self>] = &[Self::BY_END];
}

/// Counts an invitation that `sender`, the id of a workspace or of a user, sends now.
///
/// # Errors
/// [`PlatformError::TooManyAttempts`] when `max` of them were sent within the hour before; it is not counted then.
pub(super) fn count(unit: &mut Unit<'_>, sender: &str, max: u64) -> Result<(), PlatformError> {
    let (now_ms, max) = (unit.now_ms(), usize::try_from(max).unwrap_or(usize::MAX));
    let kept = unit.of::<SentInvitations>().get(&Owner::Service, sender)?;
    let mut times_ms = kept.as_ref().map(|kept| kept.value.times_ms.clone()).unwrap_or_default();
    times_ms.retain(|sent| now_ms < sent.saturating_add(COUNTED_MS));
    if times_ms.len() >= max {
        // After this one fewer than `max` count.
        let last_in_the_way = times_ms.get(times_ms.len().saturating_sub(max)).copied().unwrap_or(now_ms);
        let left_ms = last_in_the_way.saturating_add(COUNTED_MS).saturating_sub(now_ms);
        return Err(PlatformError::TooManyAttempts { retry_after_secs: left_ms.div_ceil(1000) });
    }
    times_ms.push(now_ms);
    let sent = SentInvitations { times_ms };
    let Some(mut kept) = kept else {
        unit.insert(&Owner::Service, sender, sent)?;
        return Ok(());
    };
    kept.value = sent;
    unit.replace(&kept)?;
    Ok(())
}

/// Deletes what does not count any more; returns how many records.
pub(super) fn forget_ended(unit: &mut Unit<'_>, request: &PageRequest) -> Result<usize, RecordError> {
    let ended = expired(unit, &SentInvitations::BY_END, request, SentInvitations::ends_at_ms)?;
    ended.iter().try_for_each(|sent| unit.delete(sent))?;
    Ok(ended.len())
}
