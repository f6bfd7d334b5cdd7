//! Named scenarios: a network, what happens to it, and what it must show.
//!
//! Each is checked: its script fails when the outcome does not show. Nearly all are played on a network, where what no honest
//! replica would say is injected; a few ask a protocol's rules directly.

mod dpos;
mod pbft;
mod poa;
mod pos;
mod raft;
mod sizes;
mod stage;

#[cfg(test)]
mod tests;

use core::time::Duration;

use super::{
    check::invariant,
    engine::clock::SimTime,
    faults::plan::FaultPlan,
    network::{Network, builder::NetworkBuilder, error::NetworkError, links::Latency},
    trace::Trace,
};
use crate::consensus::ConsensusConfig;

pub use sizes::Sizes;
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
        /// How many validators, and how many else it may have.
        validators: Sizes,
        /// The seed, unless told otherwise.
        seed: u64,
        /// The protocol and its parameters.
        consensus: fn() -> ConsensusConfig,
        /// Changes to the network before it is built.
        setup: fn(NetworkBuilder) -> NetworkBuilder,
        /// What happens; answers what was seen.
        play: fn(&mut Stage<'_>) -> Result<String, ScenarioError>,
    },
    /// Without a network: the protocol's rules, asked directly. The outcome is all that there is to see.
    Rules {
        /// What is asked; answers what was seen.
        play: fn() -> Result<String, ScenarioError>,
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
pub struct ScenarioRun {
    /// What was seen, or why the outcome did not show.
    pub outcome: Result<String, ScenarioError>,
    /// The network as it was left; `None` when rules alone were asked.
    pub network: Option<Network>,
    /// The seed.
    pub seed: u64,
    /// What a picture should show.
    pub window: Option<(SimTime, SimTime)>,
}

impl ScenarioRun {
    /// The picture of what is worth seeing; empty without a network.
    #[cfg(feature = "diagram")]
    pub fn picture(&self, scenario: &Scenario) -> String {
        let mut options = super::diagram::DiagramOptions::default().with_caption(scenario.outcome);
        options.window = self.window;
        self.trace().map_or_else(String::new, |trace| super::diagram::draw(&trace, &options))
    }

    /// Everything that happened; `None` without a network.
    pub fn trace(&self) -> Option<Trace> {
        self.network.as_ref()?.trace()
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
    /// The protocol's rules say otherwise.
    #[error("not shown: {what}")]
    Rules {
        /// What was expected.
        what: String,
    },
    /// An invariant did not hold, or the network could not go on.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// What it must show can't show with so many validators.
    #[error("{name} can't be played with {got} validators: give {allowed}, because {reason}")]
    Validators {
        /// Its name.
        name: &'static str,
        /// As wished.
        got: u32,
        /// What is allowed.
        allowed: Sizes,
        /// Why.
        reason: &'static str,
    },
    /// Only a network has validators, a seed and faults to choose.
    #[error("{name} asks the protocol's rules without a network: it takes no {option}")]
    NoNetwork {
        /// Its name.
        name: &'static str,
        /// What was wished.
        option: &'static str,
    },
}

impl ScenarioError {
    /// Whether what was asked for can't be, so that nothing was run.
    pub const fn is_refusal(&self) -> bool {
        matches!(self, Self::Validators { .. } | Self::NoNetwork { .. })
    }
}

/// Every scenario, ordered by protocol.
pub fn all() -> impl Iterator<Item = &'static Scenario> {
    [poa::SCENARIOS, pos::SCENARIOS, dpos::SCENARIOS, pbft::SCENARIOS, raft::SCENARIOS].into_iter().flatten()
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
    /// How many validators it can be played with; `None` without a network.
    pub const fn sizes(&self) -> Option<Sizes> {
        match self.script {
            Script::Network { validators, .. } => Some(validators),
            Script::Rules { .. } => None,
        }
    }

    /// Runs it, recording everything, and tells `watch` now and then how the network stands.
    ///
    /// # Errors
    /// [`ScenarioError`] when there is nothing to run: options that it can't be played with, or a network that can't be built.
    /// What happens on the network is in [`ScenarioRun::outcome`].
    pub fn play(
        &self,
        options: &ScenarioOptions,
        watch: &mut dyn FnMut(&Network),
    ) -> Result<ScenarioRun, ScenarioError> {
        let name = self.name;
        let (sizes, own_seed, consensus, setup, play) = match self.script {
            Script::Network { validators, seed, consensus, setup, play } => (validators, seed, consensus, setup, play),
            Script::Rules { play } => {
                let options = [
                    (options.seed.is_some(), "seed"),
                    (options.validators.is_some(), "number of validators"),
                    (options.plan.is_some(), "plan"),
                ];
                if let Some((_, option)) = options.into_iter().find(|(is_given, _)| *is_given) {
                    return Err(ScenarioError::NoNetwork { name, option });
                }
                return Ok(ScenarioRun { outcome: play(), network: None, seed: 0, window: None });
            }
        };
        let validators = options.validators.unwrap_or(sizes.usual);
        if !sizes.allows(validators) {
            return Err(ScenarioError::Validators { name, got: validators, allowed: sizes, reason: sizes.reason });
        }
        let seed = options.seed.unwrap_or(own_seed);
        let consensus = consensus();
        let latency = Latency::Uniform { min: Duration::from_millis(8), max: Duration::from_millis(30) };
        let invariants = invariant::of_protocol(&consensus);
        let builder = Network::builder()
            .with_consensus(consensus)
            .with_validators(validators)
            .with_seed(seed)
            .with_latency(latency)
            .with_invariants(invariants)
            .with_trace(format!("{name}: {}", self.summary));
        let mut builder = setup(builder);
        if let Some(plan) = &options.plan {
            builder = builder.with_faults(plan.clone());
        }
        let mut stage = Stage::new(builder.build()?, seed, watch);
        let outcome = play(&mut stage);
        let (network, window) = stage.leave();
        Ok(ScenarioRun { outcome, network: Some(network), seed, window })
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
