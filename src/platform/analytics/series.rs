//! Reading points: from the coarsest size that the asked one is a multiple of.

use core::ops::ControlFlow;
use std::collections::BTreeMap;

use super::{
    TIERS, Tier,
    point::{Figure, Metric, Sample, Summary},
    sampling::scan,
};
use crate::{
    platform::PlatformError,
    store::{KeyValue, Order},
};

/// Points of one answer.
const POINTS_MAX: u64 = 2_000;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesRequest {
    /// The figure.
    pub metric: Metric,
    /// Begin, in seconds since the Unix epoch, inclusive. The point that it is in is told whole.
    pub from_secs: u64,
    /// End, exclusive; likewise.
    pub to_secs: u64,
    /// Time that a point covers, in seconds: a multiple of 15 s. Points begin at its multiples since the Unix epoch.
    pub step_secs: u64,
}

impl SeriesRequest {
    /// Begin of the first point of the time, and end of the last one: of this time an answer tells all, and of no other anything. Ranges whose
    /// bounds these are have no point in common.
    pub fn bounds_secs(&self) -> (u64, u64) {
        let into = |secs: u64| secs.checked_rem(self.step_secs).unwrap_or(0);
        let left = |secs: u64| if into(secs) == 0 { 0 } else { self.step_secs.saturating_sub(into(secs)) };
        (self.from_secs.saturating_sub(into(self.from_secs)), self.to_secs.saturating_add(left(self.to_secs)))
    }
}

/// A figure over a time in which it was sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SeriesPoint {
    /// Begin of the time, in seconds since the Unix epoch.
    pub start_secs: u64,
    /// Sum of transactions and gas; mean of the others.
    pub value: f64,
    /// Least value of a sample.
    pub least: f64,
    /// Greatest value of a sample.
    pub greatest: f64,
    /// Value of the last sample.
    pub last: f64,
    /// Number of samples.
    pub samples: u32,
}

/// Reads the points.
pub(super) fn read(
    part: &dyn KeyValue,
    now_secs: u64,
    request: &SeriesRequest,
) -> Result<Vec<SeriesPoint>, PlatformError> {
    let tier = tier_of(now_secs, request)?;
    let step = request.step_secs;
    let aligned = |secs: u64| secs.saturating_sub(secs.checked_rem(step).unwrap_or(0));
    let (from, to) = request.bounds_secs();
    let mut points: BTreeMap<u64, Summary> = BTreeMap::new();
    scan(part, tier, Some(from), Order::Ascending, &mut |start, bytes| {
        if start >= to {
            return ControlFlow::Break(());
        }
        if let Some(summary) = decode(tier, bytes) {
            points.entry(aligned(start)).or_default().join(&summary);
        }
        ControlFlow::Continue(())
    })?;
    Ok(points.into_iter().map(|(start, summary)| shown(request.metric, start, &summary)).collect())
}

/// Returns the coarsest points of which the asked ones are made.
fn tier_of(now_secs: u64, request: &SeriesRequest) -> Result<Tier, PlatformError> {
    let wrong = |message: String| PlatformError::BadRequest { message };
    let SeriesRequest { from_secs, to_secs, step_secs, .. } = *request;
    let (first_secs, end_secs) = request.bounds_secs();
    if from_secs >= to_secs {
        return Err(wrong("from must be before to".to_owned()));
    }
    let fits = |tier: &&Tier| step_secs > 0 && step_secs.is_multiple_of(tier.size_secs);
    let Some(tier) = TIERS.iter().rev().find(fits) else {
        return Err(wrong(format!("granularity must be a multiple of 15s, got {step_secs}s")));
    };
    let points = end_secs.saturating_sub(first_secs).div_ceil(step_secs);
    if points > POINTS_MAX {
        return Err(wrong(format!(
            "at most {POINTS_MAX} points in one answer, these are {points}: ask for longer ones"
        )));
    }
    let is_last = Some(tier) == TIERS.last();
    if !is_last && from_secs.saturating_add(tier.kept_secs) < now_secs {
        let coarser = TIERS.iter().find(|coarser| from_secs.saturating_add(coarser.kept_secs) >= now_secs);
        let size = coarser.or(TIERS.last()).map_or(0, |tier| tier.size_secs);
        let days = tier.kept_secs / super::DAY_SECS;
        return Err(wrong(format!(
            "points of {step_secs}s are kept for {days} d: of that time ask for multiples of {size}s"
        )));
    }
    Ok(*tier)
}

fn decode(tier: Tier, bytes: &[u8]) -> Option<Summary> {
    if Some(&tier) != TIERS.first() {
        return postcard::from_bytes(bytes).ok();
    }
    let sample: Sample = postcard::from_bytes(bytes).ok()?;
    let mut summary = Summary::default();
    summary.add(&sample);
    Some(summary)
}

fn shown(metric: Metric, start_secs: u64, summary: &Summary) -> SeriesPoint {
    let Figure { least, greatest, last, sum } = summary.figures[metric as usize];
    let samples = summary.samples;
    let value = if metric.is_sum() { sum as f64 } else { sum as f64 / f64::from(samples.max(1)) };
    let [value, least, greatest, last] =
        [value, least as f64, greatest as f64, last as f64].map(|kept| metric.shown(kept));
    SeriesPoint { start_secs, value, least, greatest, last, samples }
}
