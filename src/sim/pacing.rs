//! Real time: a network's virtual clock, paced by the readings of a clock outside.
//!
//! A [`Pacer`] reads no clock: it is told the time, and says when it wants to be told next. The same network, told the same times, makes
//! the same bytes. Threads that do so by the machine's clock are a floor above.
//!
//! **Late by at most [`LATE_MAX`]** (250 ms): every event happens at its own virtual time, as if the driver had been punctual. The
//! shortest period of a protocol is a second, so that this makes at most one block.
//!
//! **Later than that** (the machine was busy for seconds, or slept for hours): nothing ran in the gap, and nothing of it is made up
//! for. The clock jumps to the present, and what came due in the gap happens there once: a timer that waited for a block's time fires,
//! so that one block is made, with the present as its timestamp; a delay, such as the timeout after which a primary is suspected, has
//! what was left of it when the gap began, as on a machine whose monotonic clock stands still while it sleeps; messages on links
//! arrive, in their order. Protocols with slots go on at the present one, and count those that they missed as empty.

use core::time::Duration;

use super::{
    engine::clock::SimTime,
    network::{Network, error::NetworkError, production::Production},
};

/// Lateness of an event up to which it happens at its own time: 250 ms.
pub const LATE_MAX: Duration = Duration::from_millis(250);
/// Events that one call of [`Pacer::advance`] processes at most; the rest is due at once.
pub const STEPS_PER_ADVANCE_MAX: u64 = 10_000;
/// Wakes are rounded up to whole milliseconds, so that events a little apart share one.
const WAKE_NANOS: u64 = 1_000_000;

/// Paces the virtual time of one network.
///
/// ```
/// use core::time::Duration;
/// use chainbox::{
///     consensus::{ConsensusConfig, PbftConfig},
///     primitives::Timestamp,
///     sim::{Network, Pacer},
/// };
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let began = Duration::from_secs(1_750_000_000);
/// let pbft = ConsensusConfig::Pbft(PbftConfig::default().with_period(Duration::from_secs(2)));
/// let network = Network::builder().with_consensus(pbft).with_validators(4);
/// let mut network = network.with_timestamp(Timestamp::from_secs(1_750_000_000)).build()?;
///
/// let mut now = began; // In place of a clock: what it would read.
/// let mut pacer = Pacer::new(&network, now)?;
/// while now < began + Duration::from_secs(60) {
///     pacer.advance(&mut network, now)?;
///     now = pacer.next_wake(&network).ok_or("a network in real time always waits for something")?;
/// }
/// assert_eq!(network.lowest_height().get(), 29);
///
/// // The lid was closed for eight hours: no block is owed for them.
/// now += Duration::from_secs(8 * 3_600);
/// pacer.advance(&mut network, now)?;
/// pacer.advance(&mut network, now + Duration::from_millis(100))?;
/// assert_eq!(network.lowest_height().get(), 30);
/// assert_eq!(network.primary().chain().head().block().timestamp(), network.timestamp());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Pacer {
    /// The reading from which it paces, and the virtual time at it.
    origin: (Duration, SimTime),
    /// Latest reading.
    now: Duration,
    counters: PacerCounters,
}

/// What a [`Pacer`] did since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PacerCounters {
    /// Events processed.
    pub steps: u64,
    /// Gaps over [`LATE_MAX`], in which nothing ran.
    pub gaps: u64,
    /// Sum of these gaps, each from its first event that was due.
    pub skipped: Duration,
}

/// Why a network can't be paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PacerError {
    /// Blocks are made on demand.
    #[error("a network whose blocks are made on demand has no pace: build it with Production::Automatic")]
    OnDemand,
}

impl Pacer {
    /// Paces a network from the time `now` on: a reading, since 1970, of a clock that does not go back. A network whose own time is
    /// earlier, such as one that was stopped for a day, goes on at the clock's; one whose time is later, by its genesis, keeps its lead.
    ///
    /// # Errors
    /// [`PacerError`].
    pub fn new(network: &Network, now: Duration) -> Result<Self, PacerError> {
        if network.production() == Production::OnDemand {
            return Err(PacerError::OnDemand);
        }
        let origin = network.time_at(now).max(network.now());
        Ok(Self { origin: (now, origin), now, counters: PacerCounters::default() })
    }

    /// Tells the time, and lets the network run up to it, by at most [`STEPS_PER_ADVANCE_MAX`] events. A reading earlier than one
    /// before counts as that. Returns whether anything happened.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub fn advance(&mut self, network: &mut Network, now: Duration) -> Result<bool, NetworkError> {
        self.now = self.now.max(now);
        let (reading, virtual_time) = self.origin;
        let mut until = virtual_time.plus(self.now.saturating_sub(reading));
        if let Some(first) = network.next_at().filter(|first| first.plus(LATE_MAX) < until) {
            self.counters.gaps += 1;
            self.counters.skipped += Duration::from_nanos(until.as_nanos() - first.as_nanos());
            until = network.skip(first, until)?;
        }
        let steps = network.run_some(until, STEPS_PER_ADVANCE_MAX)?;
        self.counters.steps += steps;
        Ok(steps > 0)
    }

    /// Returns the reading at which it wants to be told the time next, in whole milliseconds: that of the network's next event. `None`
    /// when nothing will ever happen by itself.
    pub fn next_wake(&self, network: &Network) -> Option<Duration> {
        let (reading, virtual_time) = self.origin;
        let later = network.next_at()?.as_nanos().saturating_sub(virtual_time.as_nanos());
        let wake = reading.saturating_add(Duration::from_nanos(later));
        let part = u64::from(wake.subsec_nanos()) % WAKE_NANOS;
        Some(if part == 0 { wake } else { wake.saturating_add(Duration::from_nanos(WAKE_NANOS - part)) })
    }

    /// Returns the latest reading.
    pub const fn now(&self) -> Duration {
        self.now
    }

    /// Returns what it did so far.
    pub const fn counters(&self) -> PacerCounters {
        self.counters
    }
}
