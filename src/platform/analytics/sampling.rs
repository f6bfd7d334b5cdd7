//! Writing samples: the sample, the points of longer times that it adds to, and what is too old, in one batch.

use core::ops::ControlFlow;

use super::{
    TIERS, Tier,
    point::{Sample, Summary},
};
use crate::{
    platform::{ChainMetrics, PlatformError},
    store::{Batch, KeyValue, Order, Table},
};

/// Before the keys of points in the table `Platform` of a chain's part of the store; the tier (1 byte) and the start (8 bytes) follow.
const PREFIX: &[u8] = b"samples/";
/// Byte, in place of a tier's, of the key of the totals that the next sample counts from in place of the last one's: those before the first
/// sample that was forgotten, or those to which the chain went back. The next sample deletes them. Byte 255 was that of totals
/// which no sample deleted, and is left alone.
const TOTALS: u8 = 254;
/// Points of a tier that a sample deletes, at most.
const DELETED_AT_ONCE: usize = 64;

/// Returns whether nothing is to be written now: the sample of this moment is there, and none of a time that the clock has left.
pub(super) fn is_sampled(part: &dyn KeyValue, now_secs: u64) -> Result<bool, PlatformError> {
    let [finest, ..] = TIERS;
    let last = end_sample(part, finest, None, Order::Descending)?;
    Ok(last.is_some_and(|(at, _)| at >= start_of(finest, now_secs) && !is_left(at, now_secs)))
}

/// Writes the sample of this moment, unless it is there; returns whether it did. What a clock that was set back has left is forgotten first.
pub(super) fn sample(part: &dyn KeyValue, now_secs: u64, figures: &ChainMetrics) -> Result<bool, PlatformError> {
    let [finest, coarser @ ..] = TIERS;
    // Before the last sample, as that which deletes them is the last one then.
    let mut set = totals(part)?;
    let mut last = end_sample(part, finest, None, Order::Descending)?;
    if last.as_ref().is_some_and(|(at, _)| is_left(*at, now_secs)) {
        forget_after(part, now_secs)?;
        set = totals(part)?;
        last = end_sample(part, finest, None, Order::Descending)?;
    }
    let start = start_of(finest, now_secs);
    if last.as_ref().is_some_and(|(at, _)| *at >= start) {
        return Ok(false);
    }
    let mut batch = Batch::new();
    if set.is_some() {
        batch.delete(Table::Platform, totals_key());
    }
    let before = set.or_else(|| last.map(|(_, sample)| sample));
    let sample = Sample::of(figures, before.as_ref());
    batch.put(Table::Platform, key(finest, start), encode(&sample)?);
    for tier in coarser {
        let key = key(tier, start_of(tier, now_secs));
        let known = part.get(Table::Platform, &key).map_err(PlatformError::internal)?;
        let mut summary: Summary = known.and_then(|bytes| postcard::from_bytes(&bytes).ok()).unwrap_or_default();
        summary.add(&sample);
        batch.put(Table::Platform, key, encode(&summary)?);
    }
    for tier in TIERS {
        delete_old(part, tier, now_secs, &mut batch)?;
    }
    part.write(batch).map_err(PlatformError::internal)?;
    Ok(true)
}

/// Deletes what was sampled after this moment, which the clock has gone back to: no point has anything of it.
pub(super) fn forget_after(part: &dyn KeyValue, now_secs: u64) -> Result<(), PlatformError> {
    let [finest, coarser @ ..] = TIERS;
    let next_of = |tier: Tier| start_of(tier, now_secs).saturating_add(tier.size_secs);
    let Some((first, sample)) = end_sample(part, finest, Some(next_of(finest)), Order::Ascending)? else {
        return Ok(());
    };
    let mut before = sample.before();
    if let Some(set) = totals(part)? {
        before = before.lower(&set);
    }
    let mut batch = Batch::new();
    batch.put(Table::Platform, totals_key(), encode(&before)?);
    for tier in TIERS {
        scan(part, tier, Some(next_of(tier)), Order::Ascending, &mut |start, _| {
            batch.delete(Table::Platform, key(tier, start));
            ControlFlow::Continue(())
        })?;
    }
    // A point that has none of what is forgotten stays: of some of its samples nothing else may be left.
    for tier in coarser.into_iter().filter(|tier| first < next_of(*tier)) {
        let start = start_of(tier, now_secs);
        match summary_until(part, start, now_secs)? {
            Some(summary) => batch.put(Table::Platform, key(tier, start), encode(&summary)?),
            None => batch.delete(Table::Platform, key(tier, start)),
        }
    }
    part.write(batch).map_err(PlatformError::internal)
}

/// Lets the next sample count from no more than the totals of a chain whose blocks were taken back: what it makes anew up to the former
/// totals counts too.
pub(super) fn lower_totals(part: &dyn KeyValue, figures: &ChainMetrics) -> Result<(), PlatformError> {
    let [finest, ..] = TIERS;
    let before = match totals(part)? {
        Some(set) => Some(set),
        None => end_sample(part, finest, None, Order::Descending)?.map(|(_, sample)| sample),
    };
    let Some(lowered) = before.and_then(|before| before.lowered(figures)) else { return Ok(()) };
    let mut batch = Batch::new();
    batch.put(Table::Platform, totals_key(), encode(&lowered)?);
    part.write(batch).map_err(PlatformError::internal)
}

/// Adds up the samples from a start to a moment; `None` where there is none.
fn summary_until(part: &dyn KeyValue, start: u64, now_secs: u64) -> Result<Option<Summary>, PlatformError> {
    let [finest, ..] = TIERS;
    let mut summary = None;
    scan(part, finest, Some(start), Order::Ascending, &mut |at, bytes| {
        if at > now_secs {
            return ControlFlow::Break(());
        }
        if let Ok(sample) = postcard::from_bytes::<Sample>(bytes) {
            summary.get_or_insert_with(Summary::default).add(&sample);
        }
        ControlFlow::Continue(())
    })?;
    Ok(summary)
}

/// Whether a sample is of a time that the clock has left: not of this moment, nor of the next 15 s, to which it comes soon.
fn is_left(at: u64, now_secs: u64) -> bool {
    let [finest, ..] = TIERS;
    at > now_secs.saturating_add(finest.size_secs)
}

/// Deletes some points that are kept no longer.
fn delete_old(part: &dyn KeyValue, tier: Tier, now_secs: u64, batch: &mut Batch) -> Result<(), PlatformError> {
    let mut left = DELETED_AT_ONCE;
    scan(part, tier, None, Order::Ascending, &mut |start, _| {
        if left == 0 || start.saturating_add(tier.kept_secs) > start_of(tier, now_secs) {
            return ControlFlow::Break(());
        }
        left = left.saturating_sub(1);
        batch.delete(Table::Platform, key(tier, start));
        ControlFlow::Continue(())
    })
}

/// Returns the first sample of a tier in an order, from a start on.
fn end_sample(
    part: &dyn KeyValue,
    tier: Tier,
    from: Option<u64>,
    order: Order,
) -> Result<Option<(u64, Sample)>, PlatformError> {
    let mut found = None;
    scan(part, tier, from, order, &mut |start, bytes| {
        found = postcard::from_bytes(bytes).ok().map(|sample| (start, sample));
        ControlFlow::Break(())
    })?;
    Ok(found)
}

/// Returns the totals from which the next sample counts, where they are not those of the last one.
fn totals(part: &dyn KeyValue) -> Result<Option<Sample>, PlatformError> {
    let found = part.get(Table::Platform, &totals_key()).map_err(PlatformError::internal)?;
    Ok(found.and_then(|bytes| postcard::from_bytes(&bytes).ok()))
}

fn totals_key() -> Vec<u8> {
    [PREFIX, &[TOTALS]].concat()
}

/// Visits the points of a tier, in order from a start on.
pub(super) fn scan(
    part: &dyn KeyValue,
    tier: Tier,
    from: Option<u64>,
    order: Order,
    visit: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
) -> Result<(), PlatformError> {
    let prefix = [PREFIX, &[tier.id]].concat();
    let from = from.map(|start| key(tier, start));
    let visited = part.scan_from(Table::Platform, &prefix, from.as_deref(), order, &mut |key, value| {
        let start = key.strip_prefix(prefix.as_slice()).and_then(|start| start.try_into().ok());
        start.map_or(ControlFlow::Continue(()), |start| visit(u64::from_be_bytes(start), value))
    });
    visited.map_err(PlatformError::internal)
}

/// Start of the point of a moment.
fn start_of(tier: Tier, secs: u64) -> u64 {
    secs.saturating_sub(secs.checked_rem(tier.size_secs).unwrap_or(0))
}

fn key(tier: Tier, start: u64) -> Vec<u8> {
    [PREFIX, &[tier.id], &start.to_be_bytes()].concat()
}

fn encode(value: &impl serde::Serialize) -> Result<Vec<u8>, PlatformError> {
    postcard::to_allocvec(value).map_err(PlatformError::internal)
}
