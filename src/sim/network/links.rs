//! Links between replicas as they are by nature: a message arrives once, after a seeded delay, or is lost. What goes wrong for a
//! while is a fault's business.

use core::time::Duration;

use imbl::OrdMap;

use crate::{
    consensus::ReplicaId,
    sim::engine::{clock::nanos, rng::SimRng},
};

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

/// All of a thousand messages.
pub(super) const PER_MILLE_MAX: u16 = 1_000;

/// The directed links of a network. Cloning is O(1) in the number of links.
#[derive(Clone, Debug)]
pub struct Links {
    usual: Link,
    special: OrdMap<(ReplicaId, ReplicaId), Link>,
    rng: SimRng,
}

/// What one link is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link {
    latency: Latency,
    /// Of a thousand messages, those that never arrive.
    loss_per_mille: u16,
}

impl Links {
    /// Links that all have the latency `usual`.
    pub fn new(usual: Latency, rng: SimRng) -> Self {
        Self { usual: Link { latency: usual, loss_per_mille: 0 }, special: OrdMap::new(), rng }
    }

    /// The same, losing so many of a thousand messages wherever no link has its own loss.
    #[must_use]
    pub fn with_loss(mut self, per_mille: u16) -> Self {
        self.usual.loss_per_mille = per_mille;
        self
    }

    /// Gives the link `from`, `to` its own latency.
    pub fn set(&mut self, from: ReplicaId, to: ReplicaId, latency: Latency) {
        self.link_mut(from, to).latency = latency;
    }

    /// Gives the link `from`, `to` its own loss: so many of a thousand messages.
    pub fn set_loss(&mut self, from: ReplicaId, to: ReplicaId, per_mille: u16) {
        self.link_mut(from, to).loss_per_mille = per_mille;
    }

    /// Nanoseconds until a message that is sent now arrives; `None` when it never does.
    pub fn delay_nanos(&mut self, from: ReplicaId, to: ReplicaId) -> Option<u64> {
        let link = self.special.get(&(from, to)).copied().unwrap_or(self.usual);
        let is_lost = link.loss_per_mille > 0 && self.rng.below(PER_MILLE_MAX.into()) < link.loss_per_mille.into();
        (!is_lost).then(|| link.latency.draw_nanos(&mut self.rng))
    }

    fn link_mut(&mut self, from: ReplicaId, to: ReplicaId) -> &mut Link {
        let usual = self.usual;
        self.special.entry((from, to)).or_insert(usual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::engine::rng::Streams;

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

    #[test]
    fn some_messages_are_lost_by_nature() {
        let (a, b, c) = (ReplicaId::new(0), ReplicaId::new(1), ReplicaId::new(2));
        let mut links = Links::new(Latency::default(), Streams::new(1).stream("links")).with_loss(100);
        links.set_loss(a, c, 1_000);
        links.set_loss(c, a, 0);
        let mut arrived = |from, to| (0..10_000).filter_map(|_| links.delay_nanos(from, to)).count();
        assert!((8_900..9_100).contains(&arrived(a, b)));
        assert_eq!((arrived(a, c), arrived(c, a)), (0, 10_000));
    }
}
