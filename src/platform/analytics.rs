//! Figures of chains over time: sampled every 15 s of the platform's clock, kept as sampled for a day, in points of 5 minutes for a week, and
//! of an hour for 90 days. A sample costs a few small writes, a chain's samples at most 2 MiB, and they are in the chain's own part of the
//! store, so that they survive a restart and end with the chain.

mod point;
mod sampling;
mod series;
#[cfg(test)]
mod tests;

pub use self::{
    point::Metric,
    series::{SeriesPoint, SeriesRequest},
};
use super::{
    PlatformError,
    blockchains::{Blockchains, Hosted},
    context::Context,
    principal::Principal,
};

/// Time between two samples, in seconds.
pub const SAMPLE_SECS: u64 = 15;

/// A size of points, and how long they are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tier {
    /// Byte of its keys.
    id: u8,
    /// Time that a point covers, in seconds.
    size_secs: u64,
    /// Time for which a point is kept, in seconds.
    kept_secs: u64,
}

const DAY_SECS: u64 = 86_400;
/// From the finest to the coarsest.
const TIERS: [Tier; 3] = [
    Tier { id: 0, size_secs: SAMPLE_SECS, kept_secs: DAY_SECS },
    Tier { id: 1, size_secs: 300, kept_secs: 7 * DAY_SECS },
    Tier { id: 2, size_secs: 3_600, kept_secs: 90 * DAY_SECS },
];

/// Rules of figures over time.
#[derive(Clone, Copy, Debug)]
pub struct Analytics<'a> {
    pub(super) context: &'a Context,
    pub(super) hosted: &'a Hosted,
}

impl Analytics<'_> {
    /// Samples every chain in memory whose sample of the present 15 s is not there yet; returns how many it sampled.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails. A chain that can't be measured is left out.
    pub fn sample(&self) -> Result<usize, PlatformError> {
        let now_secs = self.context.records.clock().now_ms() / 1_000;
        let mut sampled = 0;
        for chain in self.hosted.all_open() {
            let part = self.hosted.part_of(chain.id());
            if sampling::is_sampled(&part, now_secs)? {
                continue;
            }
            let Ok(figures) = chain.metrics_log().measure(&chain.node().view()) else { continue };
            sampled += usize::from(sampling::sample(&part, now_secs, &figures)?);
        }
        Ok(sampled)
    }

    /// Deletes what was sampled of the chains in memory after the present moment, which a revert to a snapshot has gone back to: all go by
    /// one clock. Sampling goes on from here, with what other chains did meanwhile. One that is not in memory forgets when it is sampled next.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn forget_later(&self) -> Result<(), PlatformError> {
        let now_secs = self.context.records.clock().now_ms() / 1_000;
        let mut chains = self.hosted.all_open().into_iter();
        chains.try_for_each(|chain| sampling::forget_after(&self.hosted.part_of(chain.id()), now_secs))
    }

    /// Lets the next sample of a chain in memory count from where its blocks were taken back to: what it makes anew counts, also before it has
    /// as many transactions as it had. One that can't be measured is left as it is, and so is one that is not in memory.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn recount(&self, blockchain_id: &str) -> Result<(), PlatformError> {
        let Some(chain) = self.hosted.get(blockchain_id) else { return Ok(()) };
        let Ok(figures) = chain.metrics_log().measure(&chain.node().view()) else { return Ok(()) };
        sampling::lower_totals(&self.hosted.part_of(blockchain_id), &figures)
    }

    /// Returns the points of a figure of a chain, in order. Times without a sample have no point.
    ///
    /// # Errors
    /// As [`Blockchains::readable`]; [`PlatformError::BadRequest`] for points that are not kept, or more than 2,000 of them.
    pub fn series(
        &self,
        principal: &Principal,
        blockchain_id: &str,
        request: &SeriesRequest,
    ) -> Result<Vec<SeriesPoint>, PlatformError> {
        let chain = Blockchains { context: self.context, hosted: self.hosted }.readable(principal, blockchain_id)?;
        let now_secs = self.context.records.clock().now_ms() / 1_000;
        series::read(&self.hosted.part_of(chain.id()), now_secs, request)
    }
}
