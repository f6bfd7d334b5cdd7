//! Random plans.

use core::time::Duration;

use super::{Behaviour, Delay, Fault, FaultKind, FaultPlan, LinkEffect, LinkFault, Trigger};
use crate::{
    consensus::ReplicaId,
    primitives::{Address, Height},
    sim::{
        engine::rng::{SimRng, Streams},
        faults::profile::{Profile, WITHHOLD_MIN, Weights},
        millis::whole_millis,
    },
};

/// Longest crash or cut during another fault, in milliseconds.
const COMPANION_MAX_MS: u64 = 2_500;
/// Longest execution of a block on a slow processor, in milliseconds: longer than a slot.
const EXECUTION_MAX_MS: u64 = 1_500;
/// Longest delay of its beginning after the end of the other fault.
const COMPANION_LATE_MS: u64 = 1_000;
/// A sleep takes less than 2^22 seconds, seven weeks; each power of two of seconds is as likely.
const SLEEP_SECS_LOG2_MAX: u64 = 22;

/// Random generator of one plan.
struct Draw<'a> {
    rng: SimRng,
    replicas: u32,
    profile: &'a Profile,
    /// Replicas that may misbehave.
    suspects: Vec<ReplicaId>,
}

impl FaultPlan {
    /// Returns the plan of a seed for `replicas` replicas: from one fault to the most that the profile allows, some of them with
    /// a short crash or cut during or right after them, since combined faults find more bugs.
    ///
    /// The same arguments always give the same plan, and it always passes [`FaultPlan::check`].
    pub fn random(seed: u64, replicas: u32, profile: &Profile) -> Self {
        Self::random_with_candidates(seed, replicas, 0, profile)
    }

    /// As [`FaultPlan::random`]; the replicas that misbehave may also be among the `candidates` that follow the validators.
    pub(in crate::sim) fn random_with_candidates(seed: u64, replicas: u32, candidates: u32, profile: &Profile) -> Self {
        let mut draw =
            Draw { rng: Streams::new(seed).stream("plan"), replicas: replicas.max(1), profile, suspects: Vec::new() };
        let budget = profile.byzantine.of(replicas);
        draw.suspects = draw.group_of(replicas.saturating_add(candidates), budget);
        let count = 1 + draw.below(profile.faults_max.max(1).into());
        let mut plan = Self::default();
        for _ in 0..count {
            let Some(fault) = draw.fault() else { break };
            let companion = draw.companion(&fault);
            plan.faults.push(fault);
            plan.faults.extend(companion);
        }
        draw.rng = Streams::new(seed).stream("sleep");
        plan.faults.extend(draw.sleep());
        plan.faults.sort_by_key(|fault| fault.at);
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

    /// Draws distinct replicas.
    fn group(&mut self, size: u32) -> Vec<ReplicaId> {
        self.group_of(self.replicas, size)
    }

    /// Draws `size` of the first `replicas`.
    fn group_of(&mut self, replicas: u32, size: u32) -> Vec<ReplicaId> {
        let mut rest: Vec<_> = (0..replicas).map(ReplicaId::new).collect();
        let taken = (0..size.min(replicas)).map(|_| {
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
        let kind = self.kind()?;
        let span = whole_millis(self.profile.span).max(1);
        let at = self.below(span);
        let longest = whole_millis(self.profile.fault_max).min(span - at).max(1);
        // Short faults more often than long ones.
        let longest = self.between(1, longest);
        let duration = Duration::from_millis(self.between(1, longest));
        // Misbehaviour that outlasts the healing must be tolerated.
        let is_lasting = match kind {
            FaultKind::Byzantine { .. } | FaultKind::Twins { .. } => self.rng.chance(500),
            // A long outage: down until the network is healed.
            FaultKind::Crash { .. } => self.rng.chance(self.profile.outage_per_mille),
            _ => false,
        };
        Some(Fault { at: Duration::from_millis(at), duration: (!is_lasting).then_some(duration), kind })
    }

    /// Draws a sleep of all processes, from a second to weeks.
    fn sleep(&mut self) -> Option<Fault> {
        if !self.rng.chance(self.profile.sleep_per_mille) {
            return None;
        }
        let at = Duration::from_millis(self.below(whole_millis(self.profile.span).max(1)));
        let secs = 1 << self.below(SLEEP_SECS_LOG2_MAX);
        let duration = Duration::from_millis(self.between(1_000 * secs, 2_000 * secs));
        Some(Fault { at, duration: Some(duration), kind: FaultKind::Sleep })
    }

    /// Draws a short crash or cut during or right after another fault, for one fault in three.
    fn companion(&mut self, fault: &Fault) -> Option<Fault> {
        let Weights { partition, crash, .. } = self.profile.weights;
        let (is_wanted, is_cut) = (self.rng.chance(333), self.rng.chance(333));
        if !is_wanted || (if is_cut { partition } else { crash }) == 0 {
            return None;
        }
        let span = whole_millis(self.profile.span).max(1);
        let window = whole_millis(fault.duration.unwrap_or(self.profile.fault_max)).saturating_add(COMPANION_LATE_MS);
        let at = (whole_millis(fault.at) + self.below(window)).min(span - 1);
        let duration = Duration::from_millis(self.between(1, COMPANION_MAX_MS).min(span - at));
        let kind = match fault.kind.replica() {
            _ if is_cut => self.cut(),
            Some(replica) if self.rng.chance(500) => FaultKind::Crash { replica },
            _ => FaultKind::Crash { replica: self.replica() },
        };
        Some(Fault { at: Duration::from_millis(at), duration: Some(duration), kind })
    }

    /// Returns `None` when all weights are zero.
    fn kind(&mut self) -> Option<FaultKind> {
        let Weights { link, partition, crash, pause, clock, disk, execution, byzantine, twins, amnesia } =
            self.profile.weights;
        let suspect = |weight| if self.suspects.is_empty() { 0 } else { weight };
        let clock = if whole_millis(self.profile.clock_max) == 0 { 0 } else { clock };
        let (byzantine, twins, amnesia) = (suspect(byzantine), suspect(twins), suspect(amnesia));
        let weights = [link, partition, crash, pause, clock, disk, execution, byzantine, twins, amnesia];
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
            5 => FaultKind::Disk { replica: self.replica(), delay: self.delay(400) },
            6 => FaultKind::SlowExecution { replica: self.replica(), delay: self.delay(EXECUTION_MAX_MS) },
            7 => self.byzantine(),
            8 => FaultKind::Twins { replica: self.suspect(), group: self.some_group() },
            _ => match self.below(3) {
                0 => FaultKind::Wipe { replica: self.suspect() },
                1 => FaultKind::Corrupt { replica: self.suspect() },
                _ => FaultKind::Amnesia { replica: self.suspect() },
            },
        })
    }

    fn suspect(&mut self) -> ReplicaId {
        let place = self.rng.below(self.suspects.len() as u64) as usize;
        self.suspects.get(place).copied().unwrap_or_default()
    }

    fn link(&mut self) -> LinkFault {
        let latency_max = whole_millis(self.profile.latency_max).max(1);
        let per_mille = self.between(10, 400) as u16;
        let effect = match self.below(8) {
            0 => LinkEffect::Loss { per_mille },
            1 => LinkEffect::Duplicate { per_mille },
            2 => LinkEffect::Reorder { per_mille, up_to: Duration::from_millis(self.between(1, latency_max)) },
            3 => LinkEffect::Replay { per_mille, up_to: Duration::from_millis(self.between(1, 4 * latency_max)) },
            4 | 5 => LinkEffect::Latency(self.delay(latency_max)),
            6 if self.rng.chance(500) => LinkEffect::Bandwidth { bytes_per_second: self.between(2_000, 200_000) },
            6 => LinkEffect::Capacity { messages: self.between(1, 16) as u32 },
            _ => LinkEffect::Clog,
        };
        let (from, to) = match self.below(3) {
            0 => (Vec::new(), Vec::new()),
            1 => (vec![self.replica()], Vec::new()),
            _ => (self.some_group(), self.some_group()),
        };
        LinkFault { from, to, labels: self.labels(), effect }
    }

    /// Draws the labels that a link fault is limited to; empty for all messages.
    fn labels(&mut self) -> Vec<String> {
        let known = &self.profile.labels;
        if known.is_empty() || self.rng.chance(700) {
            return Vec::new();
        }
        let count = 1 + self.rng.below(3);
        let mut labels: Vec<_> =
            (0..count).map(|_| known[self.rng.below(known.len() as u64) as usize].clone()).collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    /// Draws a delay of at most about `most` milliseconds.
    fn delay(&mut self, most: u64) -> Delay {
        match self.below(4) {
            0 => Delay::Constant { delay: Duration::from_millis(self.below(most)) },
            1 => {
                let (one, other) = (self.below(most), self.below(most));
                Delay::Uniform {
                    min: Duration::from_millis(one.min(other)),
                    max: Duration::from_millis(one.max(other)),
                }
            }
            _ => {
                let mean = Duration::from_millis(1 + self.below(most / 3 + 1));
                Delay::Exponential { floor: Duration::from_millis(1), mean }
            }
        }
    }

    /// Draws some close numbers up to `most`: misbehaviour for a short time, at a random moment.
    fn numbers(&mut self, most: u64) -> Vec<u64> {
        let first = self.below(most + 1);
        let mut numbers: Vec<_> = (0..1 + self.below(4)).map(|_| first + self.below(4)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
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
        let most = whole_millis(self.profile.clock_max);
        let offset_ms = self.below(2 * most + 1).cast_signed() - most.cast_signed();
        let drift_ppm = self.below(100_001).cast_signed() - 50_000;
        FaultKind::Clock { replica: self.replica(), offset_ms, drift_ppm }
    }

    fn byzantine(&mut self) -> FaultKind {
        let behaviour = match self.below(11) {
            0 => Behaviour::Silent,
            1 => Behaviour::SelectiveSend { to: self.some_group() },
            2 | 3 => Behaviour::Equivocate,
            4 => Behaviour::Invalid,
            5 => Behaviour::Replay,
            6 => Behaviour::FutureSpam,
            7 | 8 => Behaviour::LyingAnswers,
            9 => Behaviour::AlteredRelays,
            _ if self.rng.chance(500) => {
                let [least, most] = [WITHHOLD_MIN, self.profile.withhold_max].map(whole_millis);
                Behaviour::Withhold { delay: Duration::from_millis(self.between(least, most)) }
            }
            _ => Behaviour::Censor { senders: self.senders() },
        };
        let (heights_max, rounds_max) = (self.profile.heights_max.get(), self.profile.rounds_max);
        let when = match self.below(20) {
            0..9 => Trigger::Always,
            // The trigger may never apply.
            9 => Trigger::Never,
            10..12 if heights_max > 0 => {
                Trigger::Heights { heights: self.numbers(heights_max).into_iter().map(Height::new).collect() }
            }
            12..15 if rounds_max > 0 => Trigger::Rounds { rounds: self.numbers(rounds_max) },
            _ => Trigger::Chance { per_mille: self.between(100, 900) as u16 },
        };
        FaultKind::Byzantine { replica: self.suspect(), behaviour, when }
    }

    /// Draws the senders of censored transactions; empty for all.
    fn senders(&mut self) -> Vec<Address> {
        let known = &self.profile.senders;
        if known.is_empty() || self.rng.chance(300) {
            return Vec::new();
        }
        let first = self.rng.below(known.len() as u64) as usize;
        let second = self.rng.below(known.len() as u64) as usize;
        let mut senders = vec![known[first]];
        senders.extend((second != first).then(|| known[second]));
        senders
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        consensus::{ConsensusConfig, ConsensusKind, pbft::PbftConfig},
        sim::default_sim_config,
    };

    /// Every variant in a plan and every field that may be left out, as paths into its JSON form; of lists whether they are
    /// empty.
    fn forms(value: &serde_json::Value, path: &str, found: &mut BTreeSet<String>) {
        match value {
            serde_json::Value::Object(fields) => {
                for (name, field) in fields {
                    forms(field, &format!("{path}/{name}"), found);
                }
            }
            serde_json::Value::Array(items) => {
                let some = if items.is_empty() { "none" } else { "some" };
                found.insert(format!("{path} {some}"));
            }
            serde_json::Value::String(name) => drop(found.insert(format!("{path} {name}"))),
            _ => drop(found.insert(path.to_owned())),
        }
    }

    /// The same of one fault, with what it leaves out.
    fn forms_of(fault: &Fault) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        forms(&serde_json::to_value(&fault.kind).unwrap(), "", &mut found);
        let lasts = if fault.duration.is_some() { "for" } else { "lasting" };
        found.insert(format!("{} {lasts}", fault.kind.label()));
        if let FaultKind::Link(link) = &fault.kind {
            let named = |list: bool| if list { "some" } else { "none" };
            found.insert(format!("from {}", named(!link.from.is_empty())));
            found.insert(format!("to {}", named(!link.to.is_empty())));
            found.insert(format!("labels {}", named(!link.labels.is_empty())));
        }
        found
    }

    #[test]
    fn plans_are_possible_keep_their_budget_and_use_every_variant_and_field() {
        let profile = Profile::of(&ConsensusConfig::Pbft(PbftConfig::default()));
        let mut found = BTreeSet::new();
        for seed in 0..1_500 {
            let n = 4 + (seed % 4) as u32;
            let plan = FaultPlan::random(seed, n, &profile);
            plan.check(n as usize).unwrap();
            assert_eq!(plan, FaultPlan::random(seed, n, &profile));
            assert!(plan.byzantine().len() as u32 <= (n - 1) / 3 && !plan.is_empty());
            let ends = |fault: &Fault| {
                fault.at + fault.duration.filter(|_| fault.kind != FaultKind::Sleep).unwrap_or_default()
            };
            assert!(plan.faults.iter().all(|fault| ends(fault) <= profile.span));
            plan.faults.iter().for_each(|fault| found.extend(forms_of(fault)));
            assert!(FaultPlan::random(seed, n, &Profile::crash_only()).byzantine().is_empty());
            assert_eq!(FaultPlan::from_toml(&plan.to_toml()).unwrap(), plan);
        }
        let byzantine = |field: &str| format!("/byzantine/{field}");
        let mut wanted: BTreeSet<String> = ["labels", "from", "to"]
            .iter()
            .flat_map(|field| ["some", "none"].map(|some| format!("{field} {some}")))
            .collect();
        wanted.extend(profile.labels.iter().map(|_| "/link/labels some".to_owned()));
        for kind in ["crash", "twins", "silent", "equivocate", "censor"] {
            wanted.extend(["for", "lasting"].map(|lasts| format!("{kind} {lasts}")));
        }
        for delay in ["constant/ms", "uniform/min_ms", "uniform/max_ms", "exponential/floor_ms", "exponential/mean_ms"]
        {
            wanted.extend([format!("/link/effect/latency/{delay}"), format!("/disk/delay/{delay}")]);
            wanted.insert(format!("/slow_execution/delay/{delay}"));
        }
        for effect in [
            "loss/per_mille",
            "duplicate/per_mille",
            "reorder/per_mille",
            "reorder/up_to_ms",
            "replay/per_mille",
            "replay/up_to_ms",
            "bandwidth/bytes_per_second",
            "capacity/messages",
        ] {
            wanted.insert(format!("/link/effect/{effect}"));
        }
        wanted.extend(["/link/effect clog", " sleep", "sleep for"].map(str::to_owned));
        wanted.extend(
            ["silent", "equivocate", "invalid", "replay", "future_spam", "lying_answers", "altered_relays"]
                .map(|how| byzantine(&format!("behaviour {how}"))),
        );
        wanted.extend(["behaviour/selective_send/to some", "behaviour/withhold/ms"].map(byzantine));
        wanted.extend(["behaviour/censor/senders some", "behaviour/censor/senders none"].map(byzantine));
        wanted.extend(["when never", "when always", "when/chance/per_mille"].map(byzantine));
        wanted.extend(["when/heights/heights some", "when/rounds/rounds some"].map(byzantine));
        wanted.extend(
            ["isolate", "crash", "wipe", "pause", "amnesia", "corrupt", "twins", "clock", "disk", "slow_execution"]
                .map(|kind| format!("/{kind}/replica")),
        );
        wanted.extend(
            ["/clock/offset_ms", "/clock/drift_ppm", "/split/size", "/partition/groups some"].map(str::to_owned),
        );
        wanted.extend(["/one_way/from some", "/one_way/to some", "/twins/group some"].map(str::to_owned));
        let missing: Vec<_> = wanted.difference(&found).collect();
        assert!(missing.is_empty(), "{missing:?}");
        // Labels of kinds and how long they last are made above; every other form is known here too.
        let unknown: Vec<_> = found.iter().filter(|form| form.starts_with('/') && !wanted.contains(*form)).collect();
        let known = ["/byzantine/replica", "/link/from some", "/link/to some"];
        assert!(unknown.iter().all(|form| known.contains(&form.as_str())), "{unknown:?}");
        assert_ne!(FaultPlan::random(1, 4, &Profile::crash_only()), FaultPlan::random(2, 4, &Profile::crash_only()));
    }

    #[test]
    fn filters_heights_and_rounds_are_of_the_protocol() {
        for kind in ConsensusKind::ALL {
            let config = default_sim_config(kind);
            let profile = Profile::of(&config);
            assert!(!profile.labels.is_empty() && profile.rounds_max > 0 && !profile.senders.is_empty(), "{kind:?}");
            let mut used = BTreeSet::new();
            for seed in 0..400 {
                for fault in FaultPlan::random(seed, 4, &profile).faults {
                    if let FaultKind::Link(link) = fault.kind {
                        used.extend(link.labels);
                    }
                }
            }
            assert_eq!(used, profile.labels.into_iter().collect(), "{kind:?}");
        }
    }
}
