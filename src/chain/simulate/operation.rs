//! Whole simulations: what a list of operations would do, one after another, in a block.

use alloy_primitives::{Address, B256, Log, U64};

use super::{
    AccountDifference, CallContext, CallError, CallOutcome, CallPurpose, CallRequest, StateOverrides, difference,
    estimate::{EXACT, UsedGas},
    request::{self, OverrideError},
};
use crate::{
    chain::{Chain, error::InvalidTransaction},
    primitives::Gas,
    state::{Journal, StateError},
    vm::{CallTrace, CallTracer, Decoded, FrameResult, Inspector, Message, storage::SlotPreimages},
};

/// Bytes of a hashed input that is kept for the names of slots.
const PREIMAGE_MAX: usize = 1_024;

/// What an operation would do as a transaction.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Simulation {
    /// Success, revert or halt; output, gas used, logs, created contract.
    pub outcome: CallOutcome,
    /// Smallest gas limit with which the operation has the same outcome, output and logs; `None` when it fails.
    ///
    /// With one unit less it fails or does something else. Of a contract that counts its gas there may be smaller limits with which it does the
    /// same.
    pub gas_estimate: Option<Gas>,
    /// Reason of a revert: Solidity's `Error` or `Panic`, or an error in the ABI of a template.
    pub error: Option<Decoded>,
    /// Events of the logs, in their order; `None` for a log that no template's ABI has.
    pub events: Vec<Option<Decoded>>,
    /// Accounts that differ afterwards, by address, with the sender's fee and nonce and the author's tip.
    pub changes: Vec<AccountDifference>,
    /// All frames with the gas of each; the outermost has the gas of the whole transaction.
    pub trace: CallTrace,
}

/// Why operations could not be simulated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulateError {
    /// An override has both the whole storage and a difference; no operation was run.
    #[error("state override: account {address} has both state and stateDiff; give one")]
    Override {
        /// The account.
        address: Address,
    },
    /// The state could not be read when the overrides were applied.
    #[error(transparent)]
    State(#[from] StateError),
    /// An operation can't be run as a transaction.
    #[error("operation {index}: {source}")]
    Operation {
        /// Its index in the list.
        index: usize,
        /// Reason for which it can't be one.
        #[source]
        source: CallError,
    },
}

impl From<OverrideError> for SimulateError {
    fn from(error: OverrideError) -> Self {
        match error {
            OverrideError::Contradiction { address } => Self::Override { address },
            OverrideError::State(error) => Self::State(error),
        }
    }
}

impl Chain {
    /// Runs operations one after another, each on the state that those before it left, and discards all changes.
    ///
    /// Each is run as [`Chain::call`] runs a message, by senders that may send and deploy, in the same block: their gas together is bounded by the block's, and by default an
    /// operation has what is left of it. One that reverts or halts is a result, and those after it are run.
    ///
    /// # Errors
    /// [`SimulateError::Operation`] for the first operation that could not be a transaction at all, see [`Chain::call`];
    /// [`SimulateError::Override`], [`SimulateError::State`].
    pub fn simulate(
        &self,
        context: &CallContext,
        operations: &[CallRequest],
        overrides: &StateOverrides,
    ) -> Result<Vec<Simulation>, SimulateError> {
        let mut journal = request::journal(context, overrides)?;
        // Overrides are no changes of an operation.
        let _overridden = journal.take_changes();
        let mut left = context.block.gas_limit;
        let mut simulations = Vec::with_capacity(operations.len());
        for (index, operation) in operations.iter().enumerate() {
            let simulation = self.simulate_one(context, &mut journal, operation, left);
            let simulation = simulation.map_err(|source| SimulateError::Operation { index, source })?;
            left = left.saturating_sub(simulation.outcome.gas_used);
            simulations.push(simulation);
        }
        Ok(simulations)
    }

    /// Runs one operation with at most `left` gas over a journal, which keeps its changes.
    fn simulate_one(
        &self,
        context: &CallContext,
        journal: &mut Journal,
        operation: &CallRequest,
        left: Gas,
    ) -> Result<Simulation, CallError> {
        if let Some(want) = operation.gas.filter(|want| *want > left) {
            return Err(InvalidTransaction::BlockFull { left, want }.into());
        }
        let gas = operation.price(&context.block)?.gas_limit(operation, journal, &context.block)?.min(left);
        let mut before = journal.clone();
        let mut recorder = Recorder::default();
        let outcome =
            self.run_call(journal, context, operation, (gas, CallPurpose::Transaction), Some(&mut recorder))?;
        let mut trace = recorder.tracer.into_trace().expect("a message that ran has an outermost frame, which ended");
        (trace.gas, trace.gas_used) = (U64::from(gas.get()), U64::from(outcome.gas_used.get()));
        let gas_estimate = match outcome.is_success() {
            true => {
                let same = |got: &CallOutcome| {
                    (&got.outcome, &got.output, &got.logs) == (&outcome.outcome, &outcome.output, &outcome.logs)
                };
                let used = UsedGas::of(gas, &outcome, journal);
                Some(self.search_gas(&before, context, operation, used, EXACT, &same)?)
            }
            false => None,
        };
        let changes = journal.take_changes();
        let registry = self.registry();
        let changes = difference::of(&changes, &mut before, journal, registry, &recorder.preimages)?;
        Ok(Simulation {
            gas_estimate,
            error: outcome.revert_data().and_then(|data| registry.decode_error(data)),
            events: outcome.logs.iter().map(|log| registry.decode_event(log)).collect(),
            changes,
            trace,
            outcome,
        })
    }
}

/// Keeps the frames and the hashes of a message.
#[derive(Debug)]
struct Recorder {
    tracer: CallTracer,
    preimages: SlotPreimages,
}

impl Default for Recorder {
    fn default() -> Self {
        Self { tracer: CallTracer::new().with_logs(true), preimages: SlotPreimages::default() }
    }
}

impl Inspector for Recorder {
    fn enter(&mut self, message: &Message<'_>) {
        self.tracer.enter(message);
    }

    fn log(&mut self, log: &Log) {
        self.tracer.log(log);
    }

    /// Slots are made of keys and their slots: what is longer is no key that a table of variables could show.
    fn hash(&mut self, preimage: &[u8], hash: B256) {
        if preimage.len() <= PREIMAGE_MAX {
            self.preimages.insert(hash, preimage);
        }
    }

    fn exit(&mut self, result: &FrameResult) {
        self.tracer.exit(result);
    }
}
