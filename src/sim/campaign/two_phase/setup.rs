//! Setup of a campaign, and what each seed draws from it.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    consensus::{ConsensusConfig, ReplicaId, StakeUse},
    sim::{
        campaign::{
            governors::Governors,
            workload::{BLOCK_SECS_MAX, Workload},
        },
        check::invariant::{self, Invariant},
        engine::rng::{SimRng, Streams},
        faults::{
            plan::{Behaviour, Fault, FaultKind, FaultPlan, Trigger},
            profile::Profile,
        },
        millis::{millis_serde, whole_millis},
        network::{Network, builder::NetworkBuilder, error::NetworkError, links::Latency},
    },
    system::staking::StakingParams,
};

/// Phase with faults of a long run.
const LONG: Duration = Duration::from_secs(300);
/// Leak of a long run: a third alone becomes two thirds in ten minutes, longer than a run with its recovery takes.
const LONG_LEAK_QUOTIENT: u64 = 1 << 15;
/// Phase with faults of a run in which everybody moves.
const TURNOVER: Duration = Duration::from_secs(120);
/// Most reveals of a hash chain of proof of stake: so few that a validator uses up several in a run.
const REVEALS_MAX: u64 = 6;
/// Downtime window of a run in which everybody moves, in blocks: who is away for more than eight is jailed.
const TURNOVER_BLOCKS: u32 = 16;
/// The same where the window is one of a validator's own turns: who misses more than four, in some twenty blocks.
const TURNOVER_TURNS: u32 = 8;
/// Committed entries that Raft keeps in a long run, so that followers fall behind the log.
const LONG_LOG_KEEP: u64 = 32;

/// Setup of every seed of a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CampaignSetup {
    /// Numbers of validators; each seed draws one of them.
    pub validators: Vec<u32>,
    /// Duration of the phase with faults, in whole milliseconds of virtual time.
    #[serde(rename = "fault_ms", with = "millis_serde")]
    pub fault_phase: Duration,
    /// Longest recovery of the healed network, in whole milliseconds of virtual time.
    #[serde(rename = "heal_ms", with = "millis_serde")]
    pub recovery_max: Duration,
    /// Blocks that the healed network must add to the highest head there was.
    pub blocks_after: u64,
    /// Transfers that clients submit in the phase with faults.
    pub transactions: u32,
    /// Replicas that follow and never validate. Some stop or lose their disk, and all must catch up.
    #[serde(default)]
    pub observers: u32,
    /// Replicas with keys that are no validators at genesis; operators let them join and leave during the phase with faults.
    /// Gives the chain stake where the protocol supports it.
    #[serde(default)]
    pub candidates: u32,
    /// Whether candidates, too, may be among the replicas that misbehave.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub candidates_lie: bool,
    /// Whether validators of genesis leave and join, too.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub all_move: bool,
    /// Whether operators on chains with stake replace their sealing keys by those of other replicas.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub rotates_keys: bool,
    /// Whether a client changes the chain's parameters all the time.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub changes_parameters: bool,
    /// Whether the validators' contract decides who validates, and a client changes them all the time; for protocols without stake.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub changes_validators: bool,
    /// Whether validators govern the chain: they propose and vote, lists of who may send and deploy change, and strangers try to send.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub governs: bool,
    /// Whether every second seed of PBFT with stake has blocks that report absences.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub reports_absences: bool,
    /// Whether replicas that lost their disk or memory must catch up, too, and a transaction that a client submits after the
    /// healing must be included.
    #[serde(default)]
    pub is_strict: bool,
    /// Whether what clients read is checked, too: see [`history`](crate::sim::history).
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub checks_history: bool,
    /// Parameters of the chain's stake, where the protocol has one; by default [`StakingParams::default`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staking: Option<StakingParams>,
    /// The protocol and its parameters.
    pub consensus: ConsensusConfig,
    /// Bounds of the random faults.
    pub profile: Profile,
    /// Invariants that are checked beside those of the protocol. They are code, and are not written.
    #[serde(skip)]
    pub invariants: OwnInvariants,
}

/// Invariants of a campaign's author. Two lists are equal when their names are.
#[derive(Clone, Debug, Default)]
pub struct OwnInvariants(Vec<Box<dyn Invariant>>);

impl PartialEq for OwnInvariants {
    fn eq(&self, other: &Self) -> bool {
        let names = |list: &Self| list.0.iter().map(|invariant| invariant.name()).collect::<Vec<_>>();
        names(self) == names(other)
    }
}

impl Eq for OwnInvariants {}

impl CampaignSetup {
    /// Returns the default setup of a protocol: four to seven validators, an observer and a candidate, twenty seconds of faults, and
    /// the faults that the protocol promises to tolerate. Hash chains of proof of stake have six reveals at most.
    pub fn of(consensus: ConsensusConfig) -> Self {
        let consensus = match consensus {
            ConsensusConfig::Pos(config) => ConsensusConfig::Pos(config.with_reveals_at_most(REVEALS_MAX)),
            other => other,
        };
        let validators = match &consensus {
            ConsensusConfig::Raft(_) => vec![3, 5],
            ConsensusConfig::Pbft(_) => vec![4, 4, 7],
            // Fewer than a third of four producers misbehave, whoever is elected.
            ConsensusConfig::Dpos(config) if config.producers == 4 => vec![4, 5, 6],
            _ => vec![4, 5, 7],
        };
        let profile = Profile::of(&consensus);
        Self {
            validators,
            fault_phase: profile.span,
            recovery_max: Duration::from_secs(120),
            blocks_after: 3,
            transactions: 12,
            observers: 1,
            // Of a protocol of one's own it is not known how validators change.
            candidates: u32::from(consensus.kind().is_some()),
            candidates_lie: false,
            all_move: false,
            rotates_keys: false,
            changes_parameters: false,
            changes_validators: false,
            governs: false,
            reports_absences: false,
            is_strict: true,
            checks_history: false,
            staking: None,
            consensus,
            profile,
            invariants: OwnInvariants::default(),
        }
    }

    /// Returns the setup of five minutes of faults, three hundred blocks: long enough for stake to be unbonded, penalties of a later epoch,
    /// compacted logs, a pruned tree, and evidence about validators that have left.
    ///
    /// Two candidates join and leave, and may be those who lie; stake is withdrawable after a minute. In proof of stake that is a minute
    /// after the faults, and stake leaks so slowly that none who was away needs a trusted checkpoint, which no campaign gives.
    pub fn long(consensus: ConsensusConfig) -> Self {
        let consensus = match consensus {
            ConsensusConfig::Raft(config) => ConsensusConfig::Raft(config.with_log_keep(LONG_LOG_KEEP)),
            ConsensusConfig::Pos(config) => ConsensusConfig::Pos(config.with_leak_quotient(LONG_LEAK_QUOTIENT)),
            other => other,
        };
        let has_stake = consensus.info().stake_use != StakeUse::Never;
        let is_subjective = matches!(consensus, ConsensusConfig::Pos(_));
        let unbonding_secs = if is_subjective { LONG.as_secs() + 60 } else { 60 };
        let staking = StakingParams { unbonding_secs, downtime_jail_secs: 30, ..StakingParams::default() };
        let short = Self::of(consensus);
        let profile = short.profile.clone().long(LONG);
        Self {
            fault_phase: LONG,
            recovery_max: 2 * short.recovery_max,
            transactions: 150,
            candidates: 2 * short.candidates,
            candidates_lie: true,
            reports_absences: true,
            staking: has_stake.then_some(staking),
            profile,
            ..short
        }
    }

    /// Returns the setup of two minutes of faults in which everybody leaves and joins: five candidates beside the validators, and operators
    /// that move any of them, so that a set is replaced as a whole, more than once, while replicas are down or cut off. Who is away is soon
    /// jailed, for half a minute. Nobody misbehaves, as any set may be in force.
    pub fn turnover(consensus: ConsensusConfig) -> Self {
        let long = Self::long(consensus);
        let profile = Profile::crash_only().long(TURNOVER);
        let has_turns = matches!(long.consensus, ConsensusConfig::Dpos(_));
        let downtime_window = if has_turns { TURNOVER_TURNS } else { TURNOVER_BLOCKS };
        Self {
            fault_phase: TURNOVER,
            transactions: 90,
            candidates: if long.candidates == 0 { 0 } else { 5 },
            candidates_lie: false,
            all_move: true,
            reports_absences: false,
            staking: long.staking.map(|params| StakingParams { downtime_window, ..params }),
            profile: Profile { labels: long.profile.labels.clone(), rounds_max: 0, ..profile },
            ..long
        }
    }

    /// Returns [`CampaignSetup::turnover`] in which validators also hand their sealing on to other replicas, by a new key. Without stake, where
    /// keys are fixed, it is the same.
    pub fn rotation(consensus: ConsensusConfig) -> Self {
        let turnover = Self::turnover(consensus);
        // More replicas to hand it to: who has joined has a key of its own.
        let candidates = if turnover.candidates == 0 { 0 } else { 8 };
        Self { rotates_keys: true, candidates, ..turnover }
    }

    /// Returns the setup of two minutes of faults in which a client changes every parameter of the chain, again and again: block time, gas
    /// limit, base fee, bounds of validators, stake and evidence.
    pub fn parameters(consensus: ConsensusConfig) -> Self {
        let short = Self::of(consensus);
        let profile = short.profile.clone().long(TURNOVER);
        let recovery_max = recovery_of_slots(&short, TURNOVER);
        let changing = Self { changes_parameters: true, reports_absences: true, recovery_max, ..short };
        Self { fault_phase: TURNOVER, transactions: 90, profile, ..changing }
    }

    /// Returns the setup of two minutes of faults in which validators govern the chain: proposals about its parameters and modules, votes that
    /// change, lists of who may send and deploy. Strangers try to send, to honest replicas and by a Byzantine proposer's blocks.
    pub fn governance(consensus: ConsensusConfig) -> Self {
        let short = Self::of(consensus);
        let profile = short.profile.clone().long(TURNOVER);
        let recovery_max = recovery_of_slots(&short, TURNOVER);
        let governed = Self { governs: true, reports_absences: true, recovery_max, ..short };
        Self { fault_phase: TURNOVER, transactions: 200, profile, ..governed }
    }

    /// Returns the setup of two minutes of faults in which the validators' contract decides who validates, and a client adds and removes
    /// any replica. Nobody misbehaves, as any set may be in force. For proof of authority, Raft and PBFT without stake.
    pub fn registry(consensus: ConsensusConfig) -> Self {
        Self { changes_validators: true, staking: None, ..Self::turnover(consensus) }
    }

    /// Adds invariants that are checked beside those of the protocol.
    #[must_use]
    pub fn with_invariants(mut self, invariants: impl IntoIterator<Item = Box<dyn Invariant>>) -> Self {
        self.invariants.0.extend(invariants);
        self
    }

    /// Returns the number of validators of this seed.
    pub fn validators_of(&self, seed: u64) -> u32 {
        let choice = Streams::new(seed).stream("validators").below(self.validators.len() as u64);
        self.validators.get(choice as usize).copied().unwrap_or(1)
    }

    /// Returns the faults of this seed.
    pub fn plan_of(&self, seed: u64) -> FaultPlan {
        let validators = self.validators_of(seed);
        let liars = if self.candidates_lie { self.candidates } else { 0 };
        let mut plan = FaultPlan::random_with_candidates(seed, validators, liars, &self.profile);
        self.add_misbehaviour(seed, &mut plan);
        let followers = self.candidates.saturating_add(self.observers);
        if followers > 0 {
            let mut rng = Streams::new(seed).stream("followers");
            let faults = (0..followers).filter_map(|place| self.fault_of_follower(place, validators, &mut rng));
            plan.faults.extend(faults);
            plan.faults.sort_by_key(|fault| fault.at);
        }
        plan
    }

    /// Returns whether the blocks of this seed report absences.
    fn reports_absences_in(&self, seed: u64) -> bool {
        let has_stake = self.staking.is_some() || self.candidates > 0;
        let may = self.reports_absences && has_stake && matches!(self.consensus, ConsensusConfig::Pbft(_));
        may && Streams::new(seed).stream("absences").chance(500)
    }

    /// Lets those that misbehave do so in what this setup has beside the protocol, every second time.
    fn add_misbehaviour(&self, seed: u64, plan: &mut FaultPlan) {
        let mut kinds = Vec::new();
        kinds.extend(self.governs.then_some(Behaviour::ForbiddenTransaction));
        kinds.extend(self.reports_absences_in(seed).then_some(Behaviour::FalseAbsences));
        if kinds.is_empty() {
            return;
        }
        let mut rng = Streams::new(seed).stream("misbehaviour");
        for fault in &mut plan.faults {
            if let FaultKind::Byzantine { behaviour, when, .. } = &mut fault.kind
                && rng.chance(500)
            {
                *behaviour = kinds[rng.below(kinds.len() as u64) as usize].clone();
                *when = if rng.chance(500) { Trigger::Always } else { Trigger::Chance { per_mille: 300 } };
            }
        }
    }

    /// Returns the protocol of this seed, and the parameters of its stake.
    fn protocol_of(&self, seed: u64) -> (ConsensusConfig, Option<StakingParams>) {
        match &self.consensus {
            ConsensusConfig::Pbft(config) if self.reports_absences_in(seed) => {
                // A small window, so that reports count much, and nobody is jailed by it: with honest validators that were away out of the
                // committee, those that misbehave would be too many.
                let counted = |staking| StakingParams { downtime_window: 24, downtime_min_signed_ppm: 0, ..staking };
                let staking = counted(self.staking.unwrap_or_default());
                (ConsensusConfig::Pbft(config.with_reported_absences()), Some(staking))
            }
            other => (other.clone(), self.staking),
        }
    }

    /// Returns a fault of every second follower: a pause or crash, or for an observer, which has no safety records, a lost disk.
    fn fault_of_follower(&self, place: u32, validators: u32, rng: &mut SimRng) -> Option<Fault> {
        if rng.chance(500) {
            return None;
        }
        let replica = ReplicaId::new(validators.saturating_add(place));
        let kind = match rng.below(3) {
            0 => FaultKind::Pause { replica },
            1 if place >= self.candidates => FaultKind::Wipe { replica },
            _ => FaultKind::Crash { replica },
        };
        let span = whole_millis(self.profile.span);
        let at = rng.below(span.max(1));
        let longest = whole_millis(self.profile.fault_max).min(span - at).max(1);
        let duration = Duration::from_millis(1 + rng.below(longest));
        Some(Fault { at: Duration::from_millis(at), duration: Some(duration), kind })
    }

    /// Builds the network of this seed with `plan` and all invariants of the protocol.
    ///
    /// # Errors
    /// [`NetworkError`] for a protocol that refuses its parameters, or a plan that does not fit.
    pub fn network(&self, seed: u64, plan: &FaultPlan) -> Result<Network, NetworkError> {
        self.builder(seed, plan).build()
    }

    /// Returns the builder of that network.
    pub fn builder(&self, seed: u64, plan: &FaultPlan) -> NetworkBuilder {
        let latency = Latency::Uniform { min: Duration::from_millis(5), max: Duration::from_millis(60) };
        let genesis = if self.is_strict { Workload::genesis_with_late_client() } else { Workload::genesis() };
        let genesis = if self.changes_parameters { genesis.with_parameters(Workload::parameters()) } else { genesis };
        let genesis = match self.changes_validators {
            true => genesis.with_validator_registry(Workload::registry()),
            false => genesis,
        };
        let validators = self.validators_of(seed);
        let genesis =
            if self.governs { Governors::genesis(genesis, seed, validators + self.candidates) } else { genesis };
        let (consensus, staking) = self.protocol_of(seed);
        let builder = Network::builder();
        let builder = match (consensus.info().stake_use, staking) {
            (_, Some(staking)) => builder.with_staking(staking),
            (StakeUse::Optional, None) if self.candidates > 0 && !self.changes_validators => {
                builder.with_staking(StakingParams::default())
            }
            _ => builder,
        };
        builder
            .with_candidates(self.candidates)
            .with_observers(self.observers)
            .with_genesis(genesis)
            .with_consensus(consensus)
            .with_validators(validators)
            .with_seed(seed)
            .with_latency(latency)
            .with_faults(plan.clone())
            .with_invariants(invariant::of_protocol(&self.consensus))
            .with_invariants(self.invariants.0.iter().cloned())
    }
}

/// Returns the longest recovery where the block time changes. In proof of stake, validators that were cut off with shorter slots vote again once
/// the others' slots have caught up with the numbers that they gave: at most one for each second of faults, each as long as the longest.
fn recovery_of_slots(setup: &CampaignSetup, faults: Duration) -> Duration {
    match setup.consensus {
        ConsensusConfig::Pos(_) => setup.recovery_max + faults * BLOCK_SECS_MAX,
        _ => setup.recovery_max,
    }
}
