//! Links between replicas. Quiet: every message arrives once, after a seeded delay.

use core::time::Duration;

use imbl::OrdMap;

use super::{SimRng, clock::nanos};
use crate::consensus::ReplicaId;

/// How long a message takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Latency {
    /// Always the same.
    Constant(Duration),
    /// Any nanosecond from `min` to `max`, both included, each equally likely.
    Uniform {
        /// The shortest.
        min: Duration,
        /// The longest; below `min` it means `min`.
        max: Duration,
    },
    /// Most messages are quick and a few are slow: `floor` and an exponentially distributed rest.
    Exponential {
        /// The shortest.
        floor: Duration,
        /// Mean of what comes on top.
        mean: Duration,
    },
}

impl Latency {
    /// Nanoseconds that one message takes.
    pub fn draw_nanos(self, rng: &mut SimRng) -> u64 {
        match self {
            Self::Constant(always) => nanos(always),
            Self::Uniform { min, max } => {
                let (min, max) = (nanos(min), nanos(max));
                min.saturating_add(rng.below(max.saturating_sub(min).saturating_add(1)))
            }
            Self::Exponential { floor, mean } => nanos(floor).saturating_add(rng.exponential(nanos(mean))),
        }
    }
}

impl Default for Latency {
    /// 10 ms.
    fn default() -> Self {
        Self::Constant(Duration::from_millis(10))
    }
}

/// The directed links of a network. Cloning is O(1) in the number of links.
#[derive(Clone, Debug)]
pub struct Links {
    usual: Latency,
    special: OrdMap<(ReplicaId, ReplicaId), Latency>,
    rng: SimRng,
}

impl Links {
    /// Links that all have the latency `usual`.
    pub fn new(usual: Latency, rng: SimRng) -> Self {
        Self { usual, special: OrdMap::new(), rng }
    }

    /// Gives the link `from`, `to` its own latency.
    pub fn set(&mut self, from: ReplicaId, to: ReplicaId, latency: Latency) {
        self.special.insert((from, to), latency);
    }

    /// Nanoseconds until a message that is sent now arrives; `None` when it never does, which a quiet network has not.
    pub fn delay_nanos(&mut self, from: ReplicaId, to: ReplicaId) -> Option<u64> {
        let latency = self.special.get(&(from, to)).copied().unwrap_or(self.usual);
        Some(latency.draw_nanos(&mut self.rng))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Streams;

    #[test]
    fn delays_keep_to_their_link() {
        let (a, b) = (ReplicaId::new(0), ReplicaId::new(1));
        let mut links = Links::new(Latency::default(), Streams::new(1).stream("links"));
        let (min, max) = (Duration::from_nanos(5), Duration::from_nanos(7));
        links.set(a, b, Latency::Uniform { min, max });
        let mut seen: Vec<_> = (0..100).filter_map(|_| links.delay_nanos(a, b)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [5, 6, 7]);
        assert_eq!(links.delay_nanos(b, a), Some(10_000_000));
    }
}
