//! Faults of links: cuts between groups of replicas, and rules that lose, delay, copy or hold messages.

use std::collections::{BTreeMap, VecDeque};

use imbl::Vector;

use super::plan::{FaultId, LinkEffect, LinkFault};
use crate::{
    consensus::ReplicaId,
    sim::{
        engine::{
            clock::{SimTime, nanos},
            rng::SimRng,
        },
        network::{envelope::Envelope, links::Latency},
    },
};

/// Most envelopes held by clogged links; further ones are lost.
const HELD_ENVELOPES_MAX: usize = 100_000;

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// Link faults in force.
#[derive(Clone, Debug)]
pub(crate) struct LinkFaults {
    cuts: Vec<(FaultId, Cut)>,
    rules: Vec<(FaultId, LinkFault)>,
    /// Load of each link under a rule that limits bandwidth or capacity.
    queues: BTreeMap<(FaultId, ReplicaId, ReplicaId), LinkQueue>,
    /// Envelopes that wait for a clogged link.
    held: Vector<HeldEnvelope>,
    rng: SimRng,
}

/// Set of links that deliver nothing.
#[derive(Clone, Debug)]
pub(crate) enum Cut {
    /// Links between groups. `of` is the group of each replica by number; those beyond the list are in group `last`.
    Groups { of: Vec<u32>, last: u32 },
    /// Links from `from` to `to`.
    OneWay { from: Vec<ReplicaId>, to: Vec<ReplicaId> },
}

/// An envelope that waits until its link's fault ends.
#[derive(Clone, Debug)]
pub(crate) struct HeldEnvelope {
    fault: FaultId,
    pub(crate) from: ReplicaId,
    pub(crate) to: ReplicaId,
    pub(crate) envelope: Envelope,
}

#[derive(Clone, Debug, Default)]
struct LinkQueue {
    free_at: SimTime,
    /// Arrival time of each message on the link.
    arrivals: VecDeque<SimTime>,
}

/// Fate of a sent envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// Arrives after each of these delays, in nanoseconds; once per entry.
    Arrives(Vec<u64>),
    /// Is held until this fault ends.
    Held(FaultId),
    /// Never arrives.
    Lost,
}

impl Cut {
    pub(crate) fn groups(groups: &[Vec<ReplicaId>]) -> Self {
        let last = u32::try_from(groups.len()).unwrap_or(u32::MAX);
        let listed = groups.iter().flatten().map(|replica| replica.index() + 1).max().unwrap_or(0);
        let mut of = vec![last; listed];
        for (number, group) in (0..).zip(groups) {
            for replica in group {
                of[replica.index()] = number;
            }
        }
        Self::Groups { of, last }
    }

    fn stops(&self, from: ReplicaId, to: ReplicaId) -> bool {
        match self {
            Self::Groups { of, last } => {
                let group = |replica: ReplicaId| of.get(replica.index()).unwrap_or(last);
                group(from) != group(to)
            }
            Self::OneWay { from: senders, to: receivers } => senders.contains(&from) && receivers.contains(&to),
        }
    }
}

impl LinkFaults {
    pub(crate) fn new(rng: SimRng) -> Self {
        Self { cuts: Vec::new(), rules: Vec::new(), queues: BTreeMap::new(), held: Vector::new(), rng }
    }

    pub(crate) fn cut(&mut self, fault: FaultId, cut: Cut) {
        self.cuts.push((fault, cut));
    }

    pub(crate) fn rule(&mut self, fault: FaultId, rule: LinkFault) {
        self.rules.push((fault, rule));
    }

    /// Draws a group of `size` replicas out of `count`.
    pub(super) fn draw_group(&mut self, size: u32, count: u32) -> Vec<ReplicaId> {
        let mut rest: Vec<_> = (0..count).map(ReplicaId::new).collect();
        let draw = |_| {
            let place = self.rng.below(rest.len() as u64) as usize;
            rest.swap_remove(place)
        };
        (0..size.min(count)).map(draw).collect()
    }

    /// Ends a fault and returns the envelopes that it held.
    pub(crate) fn end(&mut self, fault: FaultId) -> Vec<HeldEnvelope> {
        self.cuts.retain(|(id, _)| *id != fault);
        self.rules.retain(|(id, _)| *id != fault);
        self.queues.retain(|(id, ..), _| *id != fault);
        let (released, kept): (Vector<_>, Vector<_>) =
            core::mem::take(&mut self.held).into_iter().partition(|held| held.fault == fault);
        self.held = kept;
        released.into_iter().collect()
    }

    /// Returns whether a cut stops messages from `from` to `to`.
    pub(crate) fn is_cut(&self, from: ReplicaId, to: ReplicaId) -> bool {
        self.cuts.iter().any(|(_, cut)| cut.stops(from, to))
    }

    /// Decides the fate of an envelope sent at `now` whose delay without faults is `usual` nanoseconds.
    pub(crate) fn delivery(
        &mut self,
        now: SimTime,
        (from, to): (ReplicaId, ReplicaId),
        envelope: &Envelope,
        usual: u64,
    ) -> Delivery {
        if self.is_cut(from, to) {
            return Delivery::Lost;
        }
        let (mut delay, mut copies) = (usual, Vec::new());
        let Self { rules, queues, rng, .. } = self;
        for (fault, rule) in rules.iter().filter(|(_, rule)| rule.concerns(from, to, envelope.filter_label())) {
            match rule.effect {
                LinkEffect::Loss { per_mille } => {
                    if rng.chance(per_mille) {
                        return Delivery::Lost;
                    }
                }
                LinkEffect::Duplicate { per_mille } => {
                    if rng.chance(per_mille) {
                        copies.push(rng.below(2 * usual + 1));
                    }
                }
                LinkEffect::Reorder { per_mille, up_to } => {
                    if rng.chance(per_mille) {
                        delay = delay.saturating_add(rng.below(nanos(up_to).saturating_add(1)));
                    }
                }
                LinkEffect::Replay { per_mille, up_to } => {
                    if rng.chance(per_mille) {
                        copies.push(rng.below(nanos(up_to).saturating_add(1)));
                    }
                }
                LinkEffect::Latency(latency) => delay = Latency::from(latency).draw_nanos(rng),
                LinkEffect::Bandwidth { bytes_per_second } => {
                    let bits = envelope.size_bytes() as u128 * NANOS_PER_SECOND / u128::from(bytes_per_second.max(1));
                    let takes = u64::try_from(bits).unwrap_or(u64::MAX);
                    let queue = queues.entry((*fault, from, to)).or_default();
                    queue.free_at = queue.free_at.max(now).plus_nanos(takes);
                    delay = delay.saturating_add(queue.free_at.as_nanos() - now.as_nanos());
                }
                LinkEffect::Capacity { messages } => {
                    let queue = queues.entry((*fault, from, to)).or_default();
                    queue.arrivals.retain(|arrival| *arrival > now);
                    if queue.arrivals.len() >= messages as usize {
                        return Delivery::Lost;
                    }
                    queue.arrivals.push_back(now.plus_nanos(delay));
                }
                LinkEffect::Clog => return Delivery::Held(*fault),
            }
        }
        let mut arrivals = vec![delay];
        arrivals.extend(copies.into_iter().map(|after| delay.saturating_add(after)));
        Delivery::Arrives(arrivals)
    }

    /// Loses the held envelopes that pass.
    pub(crate) fn drop_held(&mut self, is_lost: impl Fn(&Envelope) -> bool) {
        self.held.retain(|held| !is_lost(&held.envelope));
    }

    /// Holds an envelope until `fault` ends; returns `false`, and loses it, when too many are held.
    pub(crate) fn hold(&mut self, fault: FaultId, from: ReplicaId, to: ReplicaId, envelope: Envelope) -> bool {
        let has_room = self.held.len() < HELD_ENVELOPES_MAX;
        if has_room {
            self.held.push_back(HeldEnvelope { fault, from, to, envelope });
        }
        has_room
    }
}
