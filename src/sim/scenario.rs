//! Named scenarios: a network, a script of events, and the outcome that it must show.
//!
//! Each is checked: its script fails unless the outcome occurs. Nearly all run on a network, into which messages that no honest
//! replica would send are injected; a few call a protocol's rules directly.

mod dpos;
mod pbft;
mod poa;
mod pos;
mod raft;
mod runner;
mod sizes;

#[cfg(test)]
mod tests;

use core::time::Duration;

use super::{
    check::invariant,
    engine::clock::SimTime,
    faults::plan::FaultPlan,
    network::{
        Network,
        builder::NetworkBuilder,
        error::{NetworkError, UnknownReplica},
        links::Latency,
    },
    trace::{Trace, TraceOutcome},
};
use crate::{
    consensus::ConsensusConfig,
    primitives::{TransactionError, near_names::near_names},
};

pub use runner::ScenarioRunner;
pub use sizes::Sizes;

/// A scenario of the library.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Name, such as `pbft-primary-crash`.
    pub name: &'static str,
    /// Protocol: `poa`, `pos`, `dpos`, `pbft` or `raft`.
    pub protocol: &'static str,
    /// Events, in one line.
    pub summary: &'static str,
    /// Expected outcome, in one line.
    pub outcome: &'static str,
    /// Script.
    pub script: Script,
}

/// Script of a scenario.
#[derive(Clone, Copy, Debug)]
pub enum Script {
    /// Runs on a network.
    Network {
        /// Allowed numbers of validators.
        validators: Sizes,
        /// Default seed.
        seed: u64,
        /// The protocol and its parameters.
        consensus: fn() -> ConsensusConfig,
        /// Changes to the network before it is built.
        setup: fn(NetworkBuilder) -> NetworkBuilder,
        /// Runs the script; returns the observed outcome.
        play: fn(&mut ScenarioRunner<'_>) -> Result<String, ScenarioError>,
    },
    /// Calls the protocol's rules directly, without a network.
    Rules {
        /// Runs the checks; returns the observed outcome.
        play: fn() -> Result<String, ScenarioError>,
    },
}

/// Options of a scenario run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScenarioOptions {
    /// Seed, in place of the default.
    pub seed: Option<u64>,
    /// Number of validators, in place of the default.
    pub validators: Option<u32>,
    /// Additional faults.
    pub plan: Option<FaultPlan>,
}

impl ScenarioOptions {
    /// Sets the seed.
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets the number of validators.
    #[must_use]
    pub const fn with_validators(mut self, validators: u32) -> Self {
        self.validators = Some(validators);
        self
    }

    /// Adds faults to the scenario's own.
    #[must_use]
    pub fn with_plan(mut self, plan: FaultPlan) -> Self {
        self.plan = Some(plan);
        self
    }
}

/// A finished run of a scenario.
#[derive(Debug)]
pub struct ScenarioRun {
    /// The observed outcome, or the reason why the expected one did not occur.
    pub outcome: Result<String, ScenarioError>,
    /// The network at the end; `None` for scenarios without a network.
    pub network: Option<Network>,
    /// The seed.
    pub seed: u64,
    /// Window of the diagram.
    pub window: Option<(SimTime, SimTime)>,
}

impl ScenarioRun {
    /// Returns the diagram of the window; empty without a network.
    #[cfg(feature = "diagram")]
    pub fn picture(&self, scenario: &Scenario) -> String {
        let mut options = super::diagram::DiagramOptions::default().with_caption(scenario.outcome);
        options.window = self.window;
        self.trace().map_or_else(String::new, |trace| super::diagram::draw(&trace, &options))
    }

    /// Returns the trace with the outcome of the script; `None` without a network. A violation that the scenario must show is among its
    /// incidents.
    pub fn trace(&self) -> Option<Trace> {
        let outcome = match &self.outcome {
            Ok(_) => TraceOutcome::Passed,
            Err(error) => TraceOutcome::Failed { reason: error.to_string() },
        };
        Some(self.network.as_ref()?.trace()?.with_outcome(outcome))
    }
}

/// Failure of a scenario.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The expected outcome did not occur.
    #[error("not shown: {what}; at {at}, {seen}")]
    NotShown {
        /// Expectation.
        what: String,
        /// Time of the failure.
        at: SimTime,
        /// State of the replicas.
        seen: String,
    },
    /// The protocol's rules gave another result.
    #[error("not shown: {what}")]
    Rules {
        /// Expectation.
        what: String,
    },
    /// An invariant was violated, or the network failed.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A transaction of the script could not be signed.
    #[error(transparent)]
    Transaction(#[from] TransactionError),
    /// The outcome cannot occur with this number of validators.
    #[error("{name} can't be played with {got} validators: give {allowed}, because {reason}")]
    Validators {
        /// Scenario.
        name: &'static str,
        /// Given number.
        got: u32,
        /// Allowed numbers.
        allowed: Sizes,
        /// Reason.
        reason: &'static str,
    },
    /// The option needs a network.
    #[error("{name} asks the protocol's rules without a network: it takes no {option}")]
    NoNetwork {
        /// Scenario.
        name: &'static str,
        /// Given option.
        option: &'static str,
    },
}

impl From<UnknownReplica> for ScenarioError {
    fn from(error: UnknownReplica) -> Self {
        Self::Network(error.into())
    }
}

impl ScenarioError {
    /// Returns whether the options were refused and nothing was run.
    pub const fn is_refusal(&self) -> bool {
        matches!(self, Self::Validators { .. } | Self::NoNetwork { .. })
    }
}

/// Iterates over every scenario, ordered by protocol.
pub fn all() -> impl Iterator<Item = &'static Scenario> {
    [poa::SCENARIOS, pos::SCENARIOS, dpos::SCENARIOS, pbft::SCENARIOS, raft::SCENARIOS].into_iter().flatten()
}

/// Returns the scenario of this name.
///
/// # Errors
/// The most similar names; none where none is similar.
pub fn find(name: &str) -> Result<&'static Scenario, Vec<&'static str>> {
    if let Some(found) = all().find(|scenario| scenario.name == name) {
        return Ok(found);
    }
    Err(near_names(name, all().map(|scenario| scenario.name)))
}

impl Scenario {
    /// Returns the allowed numbers of validators; `None` without a network.
    pub const fn sizes(&self) -> Option<Sizes> {
        match self.script {
            Script::Network { validators, .. } => Some(validators),
            Script::Rules { .. } => None,
        }
    }

    /// Runs it with a trace, and passes the network to `watch` now and then.
    ///
    /// # Errors
    /// [`ScenarioError`] when the options are refused or the network cannot be built. The result of the script is in
    /// [`ScenarioRun::outcome`].
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
        let validators = options.validators.unwrap_or(sizes.default);
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
        let mut runner = ScenarioRunner::new(builder.build()?, seed, watch);
        let outcome = play(&mut runner);
        let (network, window) = runner.leave();
        Ok(ScenarioRun { outcome, network: Some(network), seed, window })
    }
}
