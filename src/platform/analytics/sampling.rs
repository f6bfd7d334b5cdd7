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
/// Points of a tier that a sample deletes, at most.
const DELETED_AT_ONCE: usize = 64;

/// Returns whether the sample of this moment is there.
pub(super) fn is_sampled(part: &dyn KeyValue, now_secs: u64) -> Result<bool, PlatformError> {
    let [finest, ..] = TIERS;
    let found = part.get(Table::Platform, &key(finest, start_of(finest, now_secs)));
    Ok(found.map_err(PlatformError::internal)?.is_some())
}

/// Writes the sample of this moment, unless it is there; returns whether it did.
pub(super) fn sample(part: &dyn KeyValue, now_secs: u64, figures: &ChainMetrics) -> Result<bool, PlatformError> {
    let [finest, coarser @ ..] = TIERS;
    let last = last_sample(part, finest)?;
    let start = start_of(finest, now_secs);
    // A clock that went back writes nothing until it is where it was.
    if last.as_ref().is_some_and(|(at, _)| *at >= start) {
        return Ok(false);
    }
    let sample = Sample::of(figures, last.as_ref().map(|(_, sample)| sample));
    let mut batch = Batch::new();
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

/// Deletes what was sampled after this moment, which the chain has gone back to: no point has anything of it.
pub(super) fn forget_after(part: &dyn KeyValue, now_secs: u64) -> Result<(), PlatformError> {
    let [finest, coarser @ ..] = TIERS;
    let mut batch = Batch::new();
    for tier in TIERS {
        let next = start_of(tier, now_secs).saturating_add(tier.size_secs);
        scan(part, tier, Some(next), Order::Ascending, &mut |start, _| {
            batch.delete(Table::Platform, key(tier, start));
            ControlFlow::Continue(())
        })?;
    }
    for tier in coarser {
        let (start, mut summary, mut is_there) = (start_of(tier, now_secs), Summary::default(), false);
        scan(part, finest, Some(start), Order::Ascending, &mut |at, bytes| {
            if at > now_secs {
                return ControlFlow::Break(());
            }
            if let Ok(sample) = postcard::from_bytes::<Sample>(bytes) {
                summary.add(&sample);
                is_there = true;
            }
            ControlFlow::Continue(())
        })?;
        match is_there {
            true => batch.put(Table::Platform, key(tier, start), encode(&summary)?),
            false => batch.delete(Table::Platform, key(tier, start)),
        }
    }
    part.write(batch).map_err(PlatformError::internal)
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

fn last_sample(part: &dyn KeyValue, tier: Tier) -> Result<Option<(u64, Sample)>, PlatformError> {
    let mut last = None;
    scan(part, tier, None, Order::Descending, &mut |start, bytes| {
        last = postcard::from_bytes(bytes).ok().map(|sample| (start, sample));
        ControlFlow::Break(())
    })?;
    Ok(last)
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
