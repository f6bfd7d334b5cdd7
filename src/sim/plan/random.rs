//! Plans drawn from a seed.

use super::{Behaviour, Delay, Fault, FaultKind, FaultPlan, LinkEffect, LinkFault, Trigger};
use crate::{
    consensus::ReplicaId,
    sim::{Profile, SimRng, Streams, Weights},
};

/// Draws the faults of one plan.
struct Draw<'a> {
    rng: SimRng,
    replicas: u32,
    profile: &'a Profile,
    /// Who may misbehave.
    suspects: Vec<ReplicaId>,
}

impl FaultPlan {
    /// The plan of a seed, for so many replicas: between one fault and the most that the profile allows.
    ///
    /// The same three always give the same plan, and it always passes [`FaultPlan::check`].
    pub fn random(seed: u64, replicas: u32, profile: &Profile) -> Self {
        let mut draw =
            Draw { rng: Streams::new(seed).stream("plan"), replicas: replicas.max(1), profile, suspects: Vec::new() };
        let budget = profile.byzantine.of(replicas);
        draw.suspects = draw.group(budget);
        let count = 1 + draw.below(profile.faults_max.max(1).into());
        let mut plan = Self::default();
        for _ in 0..count {
            plan.faults.extend(draw.fault());
        }
        plan.faults.sort_by_key(|fault| fault.at_ms);
        plan
    }
}

impl Draw<'_> {
    fn below(&mut self, bound: u64) -> u64 {
        self.rng.below(bound)
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.rng.below(most.saturating_sub(least) + 1)
    }

    fn replica(&mut self) -> ReplicaId {
        ReplicaId::new(self.rng.below(self.replicas.into()) as u32)
    }

    /// Some distinct replicas.
    fn group(&mut self, size: u32) -> Vec<ReplicaId> {
        let mut rest: Vec<_> = (0..self.replicas).map(ReplicaId::new).collect();
        let taken = (0..size.min(self.replicas)).map(|_| {
            let place = self.rng.below(rest.len() as u64) as usize;
            rest.swap_remove(place)
        });
        taken.collect()
    }

    fn some_group(&mut self) -> Vec<ReplicaId> {
        let size = 1 + self.below(u64::from(self.replicas.saturating_sub(1)).max(1)) as u32;
        self.group(size)
    }

    fn fault(&mut self) -> Option<Fault> {
        let what = self.kind()?;
        let span = self.profile.span_ms.max(1);
        let at_ms = self.below(span);
        let longest = self.profile.fault_max_ms.min(span - at_ms).max(1);
        // Short ones more often than long ones.
        let longest = self.between(1, longest);
        let for_ms = self.between(1, longest);
        // Misbehaviour that outlives the healing is what a protocol has to live with.
        let is_lasting = matches!(what, FaultKind::Byzantine { .. } | FaultKind::Twins { .. }) && self.rng.chance(500);
        Some(Fault { at_ms, for_ms: (!is_lasting).then_some(for_ms), what })
    }

    /// `None` when all weights are zero.
    fn kind(&mut self) -> Option<FaultKind> {
        let Weights { link, partition, crash, pause, clock, disk, byzantine, twins, amnesia } = self.profile.weights;
        let suspect = |weight| if self.suspects.is_empty() { 0 } else { weight };
        let clock = if self.profile.clock_max_ms == 0 { 0 } else { clock };
        let weights =
            [link, partition, crash, pause, clock, disk, suspect(byzantine), suspect(twins), suspect(amnesia)];
        let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        let mut drawn = self.below(total);
        let chosen = weights.iter().position(|weight| {
            let is_it = drawn < u64::from(*weight);
            drawn = drawn.saturating_sub((*weight).into());
            is_it
        })?;
        Some(match chosen {
            0 => FaultKind::Link(self.link()),
            1 => self.cut(),
            2 => FaultKind::Crash { replica: self.replica() },
            3 => FaultKind::Pause { replica: self.replica() },
            4 => self.clock(),
            5 => {
                let mean_ms = self.between(5, 400);
                FaultKind::Disk { replica: self.replica(), delay: Delay::Exponential { floor_ms: 1, mean_ms } }
            }
            6 => self.byzantine(),
            7 => FaultKind::Twins { replica: self.suspect(), group: self.some_group() },
            _ if self.rng.chance(500) => FaultKind::Wipe { replica: self.suspect() },
            _ => FaultKind::Amnesia { replica: self.suspect() },
        })
    }

    fn suspect(&mut self) -> ReplicaId {
        let place = self.rng.below(self.suspects.len() as u64) as usize;
        self.suspects.get(place).copied().unwrap_or_default()
    }

    fn link(&mut self) -> LinkFault {
        let latency_max = self.profile.latency_max_ms.max(1);
        let per_mille = self.between(10, 400) as u16;
        let effect = match self.below(8) {
            0 => LinkEffect::Loss { per_mille },
            1 => LinkEffect::Duplicate { per_mille },
            2 => LinkEffect::Reorder { per_mille, up_to_ms: self.between(1, latency_max) },
            3 => LinkEffect::Replay { per_mille, up_to_ms: self.between(1, 4 * latency_max) },
            4 => {
                let (one, other) = (self.below(latency_max), self.below(latency_max));
                LinkEffect::Latency(Delay::Uniform { min_ms: one.min(other), max_ms: one.max(other) })
            }
            5 => LinkEffect::Latency(Delay::Exponential { floor_ms: 1, mean_ms: 1 + self.below(latency_max / 3 + 1) }),
            6 if self.rng.chance(500) => LinkEffect::Bandwidth { bytes_per_second: self.between(2_000, 200_000) },
            6 => LinkEffect::Capacity { messages: self.between(1, 16) as u32 },
            _ => LinkEffect::Clog,
        };
        let (from, to) = match self.below(3) {
            0 => (Vec::new(), Vec::new()),
            1 => (vec![self.replica()], Vec::new()),
            _ => (self.some_group(), self.some_group()),
        };
        LinkFault { from, to, labels: Vec::new(), effect }
    }

    fn cut(&mut self) -> FaultKind {
        match self.below(4) {
            0 => FaultKind::Isolate { replica: self.replica() },
            1 => FaultKind::OneWay { from: self.some_group(), to: self.some_group() },
            2 => FaultKind::Split { size: self.some_group().len() as u32 },
            _ => FaultKind::Partition { groups: vec![self.some_group()] },
        }
    }

    fn clock(&mut self) -> FaultKind {
        let most = self.profile.clock_max_ms;
        let offset_ms = self.below(2 * most + 1).cast_signed() - most.cast_signed();
        let drift_ppm = self.below(100_001).cast_signed() - 50_000;
        FaultKind::Clock { replica: self.replica(), offset_ms, drift_ppm }
    }

    fn byzantine(&mut self) -> FaultKind {
        let behaviour = match self.below(8) {
            0 => Behaviour::Silent,
            1 => Behaviour::SelectiveSend { to: self.some_group() },
            2 | 3 => Behaviour::Equivocate,
            4 => Behaviour::Invalid,
            5 => Behaviour::Replay,
            6 => Behaviour::FutureSpam,
            _ if self.rng.chance(500) => Behaviour::Withhold { ms: self.between(50, 3_000) },
            _ => Behaviour::Censor { senders: Vec::new() },
        };
        let when = if self.rng.chance(500) {
            Trigger::Always
        } else {
            Trigger::Chance { per_mille: self.between(100, 900) as u16 }
        };
        FaultKind::Byzantine { replica: self.suspect(), behaviour, when }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn plans_are_possible_keep_their_budget_and_use_every_kind() {
        let mut kinds = BTreeSet::new();
        for seed in 0..600 {
            let n = 4 + (seed % 4) as u32;
            let plan = FaultPlan::random(seed, n, &Profile::byzantine());
            plan.check(n as usize).unwrap();
            assert_eq!(plan, FaultPlan::random(seed, n, &Profile::byzantine()));
            assert!(plan.byzantine().len() as u32 <= (n - 1) / 3 && !plan.is_empty());
            assert!(plan.faults.iter().all(|fault| fault.at_ms + fault.for_ms.unwrap_or(0) <= 20_000));
            kinds.extend(plan.faults.iter().map(|fault| fault.what.label()));
            assert!(FaultPlan::random(seed, n, &Profile::crash_only()).byzantine().is_empty());
            assert_eq!(FaultPlan::from_toml(&plan.to_toml()).unwrap(), plan);
        }
        assert_eq!(kinds.len(), 27, "{kinds:?}");
        assert_ne!(FaultPlan::random(1, 4, &Profile::crash_only()), FaultPlan::random(2, 4, &Profile::crash_only()));
    }
}
