//! What is wrong between replicas: cuts, and links on which messages fare badly.

use std::collections::{BTreeMap, VecDeque};

use imbl::Vector;

use super::plan::{FaultId, LinkEffect, LinkFault};
use crate::{
    consensus::ReplicaId,
    sim::{
        engine::{clock::SimTime, rng::SimRng},
        network::{envelope::Parcel, links::Latency},
    },
};

/// Most messages that a clogged link keeps; further ones are lost.
const CLOGGED_MAX: usize = 100_000;

const NANOS_PER_MILLI: u64 = 1_000_000;
const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// Everything that is wrong between replicas now.
#[derive(Clone, Debug)]
pub(crate) struct Weather {
    cuts: Vec<(FaultId, Cut)>,
    rules: Vec<(FaultId, LinkFault)>,
    /// How busy each link is under a rule that limits it.
    lines: BTreeMap<(FaultId, ReplicaId, ReplicaId), Line>,
    /// What waits for a clogged link.
    clogged: Vector<Clogged>,
    rng: SimRng,
}

/// Who does not hear whom.
#[derive(Clone, Debug)]
pub(crate) enum Cut {
    /// Replicas in different groups. By number; those beyond the list are in the last group.
    Groups { of: Vec<u32>, last: u32 },
    /// Messages of the first on their way to the second.
    OneWay { from: Vec<ReplicaId>, to: Vec<ReplicaId> },
}

/// A message that waits until its link is free again.
#[derive(Clone, Debug)]
pub(crate) struct Clogged {
    fault: FaultId,
    pub(crate) from: ReplicaId,
    pub(crate) to: ReplicaId,
    pub(crate) parcel: Parcel,
}

#[derive(Clone, Debug, Default)]
struct Line {
    free_at: SimTime,
    /// When each message that is on it arrives.
    arrivals: VecDeque<SimTime>,
}

/// What becomes of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// It arrives after so many nanoseconds; more than once with several.
    Arrives(Vec<u64>),
    /// It waits for the end of this fault.
    Waits(FaultId),
    /// Never.
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
            Self::OneWay { from: speakers, to: listeners } => speakers.contains(&from) && listeners.contains(&to),
        }
    }
}

impl Weather {
    pub(crate) fn new(rng: SimRng) -> Self {
        Self { cuts: Vec::new(), rules: Vec::new(), lines: BTreeMap::new(), clogged: Vector::new(), rng }
    }

    pub(crate) fn cut(&mut self, fault: FaultId, cut: Cut) {
        self.cuts.push((fault, cut));
    }

    pub(crate) fn rule(&mut self, fault: FaultId, rule: LinkFault) {
        self.rules.push((fault, rule));
    }

    /// A group of `size` replicas of `count`, drawn.
    pub(super) fn draw_group(&mut self, size: u32, count: u32) -> Vec<ReplicaId> {
        let mut rest: Vec<_> = (0..count).map(ReplicaId::new).collect();
        let draw = |_| {
            let place = self.rng.below(rest.len() as u64) as usize;
            rest.swap_remove(place)
        };
        (0..size.min(count)).map(draw).collect()
    }

    /// Ends a fault; answers what waited for that.
    pub(crate) fn end(&mut self, fault: FaultId) -> Vec<Clogged> {
        self.cuts.retain(|(id, _)| *id != fault);
        self.rules.retain(|(id, _)| *id != fault);
        self.lines.retain(|(id, ..), _| *id != fault);
        let (released, kept): (Vector<_>, Vector<_>) =
            core::mem::take(&mut self.clogged).into_iter().partition(|clogged| clogged.fault == fault);
        self.clogged = kept;
        released.into_iter().collect()
    }

    /// Whether a cut keeps messages of `from` away from `to`.
    pub(crate) fn is_cut(&self, from: ReplicaId, to: ReplicaId) -> bool {
        self.cuts.iter().any(|(_, cut)| cut.stops(from, to))
    }

    /// What becomes of a message that is sent now and would usually take `usual` nanoseconds.
    pub(crate) fn passage(
        &mut self,
        now: SimTime,
        (from, to): (ReplicaId, ReplicaId),
        parcel: &Parcel,
        usual: u64,
    ) -> Passage {
        if self.is_cut(from, to) {
            return Passage::Lost;
        }
        let (mut delay, mut copies) = (usual, Vec::new());
        let Self { rules, lines, rng, .. } = self;
        for (fault, rule) in rules.iter().filter(|(_, rule)| rule.concerns(from, to, parcel.kind())) {
            match rule.effect {
                LinkEffect::Loss { per_mille } => {
                    if rng.chance(per_mille) {
                        return Passage::Lost;
                    }
                }
                LinkEffect::Duplicate { per_mille } => {
                    if rng.chance(per_mille) {
                        copies.push(rng.below(2 * usual + 1));
                    }
                }
                LinkEffect::Reorder { per_mille, up_to_ms } => {
                    if rng.chance(per_mille) {
                        delay = delay.saturating_add(rng.below(up_to_ms * NANOS_PER_MILLI + 1));
                    }
                }
                LinkEffect::Replay { per_mille, up_to_ms } => {
                    if rng.chance(per_mille) {
                        copies.push(rng.below(up_to_ms * NANOS_PER_MILLI + 1));
                    }
                }
                LinkEffect::Latency(latency) => delay = Latency::from(latency).draw_nanos(rng),
                LinkEffect::Bandwidth { bytes_per_second } => {
                    let bits = parcel.size_bytes() as u128 * NANOS_PER_SECOND / u128::from(bytes_per_second.max(1));
                    let takes = u64::try_from(bits).unwrap_or(u64::MAX);
                    let line = lines.entry((*fault, from, to)).or_default();
                    line.free_at = line.free_at.max(now).plus_nanos(takes);
                    delay = delay.saturating_add(line.free_at.as_nanos() - now.as_nanos());
                }
                LinkEffect::Capacity { messages } => {
                    let line = lines.entry((*fault, from, to)).or_default();
                    line.arrivals.retain(|arrival| *arrival > now);
                    if line.arrivals.len() >= messages as usize {
                        return Passage::Lost;
                    }
                    line.arrivals.push_back(now.plus_nanos(delay));
                }
                LinkEffect::Clog => return Passage::Waits(*fault),
            }
        }
        let mut arrivals = vec![delay];
        arrivals.extend(copies.into_iter().map(|after| delay.saturating_add(after)));
        Passage::Arrives(arrivals)
    }

    /// Keeps a message until `fault` ends; `false` when too many wait, and it is lost.
    pub(crate) fn keep(&mut self, fault: FaultId, from: ReplicaId, to: ReplicaId, parcel: Parcel) -> bool {
        let has_room = self.clogged.len() < CLOGGED_MAX;
        if has_room {
            self.clogged.push_back(Clogged { fault, from, to, parcel });
        }
        has_room
    }
}
