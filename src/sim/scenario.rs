//! Named scenarios: a network, what happens to it, and what it must show.
//!
//! Each is checked: its script fails when the outcome does not show. Those that need a protocol's state arranged by hand, entry by
//! entry, are run by tests of the protocol alone; they are listed with the name of the test.

mod dpos;
mod pbft;
mod poa;
mod pos;
mod raft;
mod stage;

#[cfg(test)]
mod tests;

use core::time::Duration;

use super::{FaultPlan, Latency, Network, NetworkBuilder, NetworkError, SimTime, invariant, trace::Trace};
use crate::consensus::{
    ConsensusConfig, ConsensusKind, dpos::DposConfig, pbft::PbftConfig, poa::PoaConfig, pos::PosConfig,
    raft::RaftConfig,
};

pub use stage::Stage;

/// A scenario of the library.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// What it is called, such as `pbft-primary-crash`.
    pub name: &'static str,
    /// Its protocol: `poa`, `pos`, `dpos`, `pbft` or `raft`.
    pub protocol: &'static str,
    /// What happens, in one line.
    pub summary: &'static str,
    /// What it must show, in one line.
    pub outcome: &'static str,
    /// How it is run.
    pub script: Script,
}

/// How a scenario is run.
#[derive(Clone, Copy, Debug)]
pub enum Script {
    /// On a network.
    Network {
        /// How many validators, unless told otherwise.
        validators: u32,
        /// The seed, unless told otherwise.
        seed: u64,
        /// The protocol and its parameters.
        consensus: fn() -> ConsensusConfig,
        /// Changes to the network before it is built.
        setup: fn(NetworkBuilder) -> NetworkBuilder,
        /// What happens; answers what was seen.
        play: fn(&mut Stage<'_>) -> Result<String, ScenarioError>,
    },
    /// By tests of the protocol alone, of these names.
    Protocol {
        /// As `cargo test` knows them.
        tests: &'static [&'static str],
    },
}

/// What a run of a scenario may have otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScenarioOptions {
    /// Another seed.
    pub seed: Option<u64>,
    /// Another number of validators.
    pub validators: Option<u32>,
    /// Further faults.
    pub plan: Option<FaultPlan>,
}

impl ScenarioOptions {
    /// With this seed.
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// With so many validators.
    #[must_use]
    pub const fn with_validators(mut self, validators: u32) -> Self {
        self.validators = Some(validators);
        self
    }

    /// With these faults besides the scenario's own.
    #[must_use]
    pub fn with_plan(mut self, plan: FaultPlan) -> Self {
        self.plan = Some(plan);
        self
    }
}

/// A scenario that was run.
#[derive(Debug)]
pub struct Played {
    /// What was seen, or why the outcome did not show.
    pub outcome: Result<String, ScenarioError>,
    /// The network as it was left.
    pub network: Network,
    /// The seed.
    pub seed: u64,
    /// What a picture should show.
    pub window: Option<(SimTime, SimTime)>,
}

impl Played {
    /// The picture of what is worth seeing.
    #[cfg(feature = "diagram")]
    pub fn picture(&self, scenario: &Scenario) -> String {
        let mut options = super::diagram::DiagramOptions::default().with_caption(scenario.outcome);
        options.window = self.window;
        self.trace().map_or_else(String::new, |trace| super::diagram::draw(&trace, &options))
    }

    /// Everything that happened.
    pub fn trace(&self) -> Option<Trace> {
        self.network.trace()
    }
}

/// Why a scenario did not show what it must.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The outcome did not show.
    #[error("not shown: {what}; at {at}, {seen}")]
    NotShown {
        /// What was expected.
        what: String,
        /// When it was given up.
        at: SimTime,
        /// What the replicas had come to.
        seen: String,
    },
    /// An invariant did not hold, or the network could not go on.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// It is run by tests of its protocol alone.
    #[error("{name} is played by the protocol's own tests only: cargo test --lib {test}")]
    ProtocolOnly {
        /// Its name.
        name: &'static str,
        /// The first of them.
        test: &'static str,
    },
}

/// Every scenario, ordered by protocol.
pub fn all() -> impl Iterator<Item = &'static Scenario> {
    [poa::SCENARIOS, pos::SCENARIOS, dpos::SCENARIOS, pbft::SCENARIOS, raft::SCENARIOS].into_iter().flatten()
}

/// The protocol as simulations run it unless told otherwise: its usual parameters, a block or a slot a second, and short epochs.
pub fn usual(kind: ConsensusKind) -> ConsensusConfig {
    match kind {
        ConsensusKind::Raft => ConsensusConfig::Raft(RaftConfig::default()),
        ConsensusKind::Pbft => ConsensusConfig::Pbft(PbftConfig::default()),
        // Fewer producers than candidates, so that votes change who produces.
        ConsensusKind::Dpos => ConsensusConfig::Dpos(DposConfig::default().with_producers(4)),
        ConsensusKind::Pos => ConsensusConfig::Pos(PosConfig::default().with_period(1).with_slots_per_epoch(4)),
        // Checkpoints often enough to be met.
        ConsensusKind::Poa => ConsensusConfig::Poa(PoaConfig::default().with_period(1).with_epoch(7)),
    }
}

/// The scenario of this name.
///
/// # Errors
/// The names that are most like it.
pub fn find(name: &str) -> Result<&'static Scenario, Vec<&'static str>> {
    if let Some(found) = all().find(|scenario| scenario.name == name) {
        return Ok(found);
    }
    let mut near: Vec<_> = all().map(|scenario| (distance(name, scenario.name), scenario.name)).collect();
    near.sort_unstable();
    Err(near.into_iter().take(3).map(|(_, name)| name).collect())
}

impl Scenario {
    /// Runs it, recording everything, and tells `watch` now and then how the network stands.
    ///
    /// # Errors
    /// [`ScenarioError`] when there is nothing to run: the network can't be built, or only tests of the protocol play it. What
    /// happens on the network is in [`Played::outcome`].
    pub fn play(&self, options: &ScenarioOptions, watch: &mut dyn FnMut(&Network)) -> Result<Played, ScenarioError> {
        let (validators, own_seed, consensus, setup, play) = match self.script {
            Script::Network { validators, seed, consensus, setup, play } => (validators, seed, consensus, setup, play),
            Script::Protocol { tests } => {
                let test = tests.first().copied().unwrap_or_default();
                return Err(ScenarioError::ProtocolOnly { name: self.name, test });
            }
        };
        let seed = options.seed.unwrap_or(own_seed);
        let consensus = consensus();
        let latency = Latency::Uniform { min: Duration::from_millis(8), max: Duration::from_millis(30) };
        let invariants = invariant::of_protocol(&consensus);
        let builder = Network::builder()
            .with_consensus(consensus)
            .with_validators(options.validators.unwrap_or(validators))
            .with_seed(seed)
            .with_latency(latency)
            .with_invariants(invariants)
            .with_trace(format!("{}: {}", self.name, self.summary));
        let mut builder = setup(builder);
        if let Some(plan) = &options.plan {
            builder = builder.with_faults(plan.clone());
        }
        let mut stage = Stage::new(builder.build()?, seed, watch);
        let outcome = play(&mut stage);
        let (network, window) = stage.leave();
        Ok(Played { outcome, network, seed, window })
    }
}

/// How many letters must be changed, put in or left out to get from one word to another (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (place, letter) in from.chars().enumerate() {
        let mut before = row[0];
        row[0] = place + 1;
        for (other, column) in to.iter().zip(1..) {
            let changed = before + usize::from(letter != *other);
            before = row[column];
            row[column] = changed.min(row[column] + 1).min(row[column - 1] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}
