//! Errors of reading a node and of estimating gas.

use crate::{
    chain::{
        self, BlockExecutionError, CallError, CallOutcome, InvalidBlock, InvalidTransaction, LogsError, ReadError,
        SystemViewError, TraceError,
    },
    primitives::{Address, B256, Gas, Height},
    sim::UnknownReplica,
    state::StateError,
};

/// Why a query has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The canonical chain has no block at this height yet.
    #[error("unknown block: the chain has no block {height}; its head is {head}")]
    UnknownHeight {
        /// Height asked for.
        height: Height,
        /// Height of the head.
        head: Height,
    },
    /// No block has this hash.
    #[error("unknown block: the chain has no block with hash {hash}")]
    UnknownBlock {
        /// Hash asked for.
        hash: B256,
    },
    /// No transaction has this hash.
    #[error("unknown transaction: {hash} is in no canonical block")]
    UnknownTransaction {
        /// Hash asked for.
        hash: B256,
    },
    /// The network has no such replica.
    #[error(transparent)]
    UnknownReplica(#[from] UnknownReplica),
    /// It was pruned by the retention policy.
    #[error("PRUNED: {what} at height {height} is gone; the oldest kept is {oldest}")]
    Pruned {
        /// `state` or `block`.
        what: &'static str,
        /// Height asked for.
        height: Height,
        /// Oldest height that can be read.
        oldest: Height,
    },
    /// The request can't be executed at all.
    #[error(transparent)]
    Invalid(#[from] InvalidTransaction),
    /// State overrides contradict each other.
    #[error("account {address} has both state and stateDiff; give one")]
    Override {
        /// Account with both.
        address: Address,
    },
    /// More logs match than the bound.
    #[error("query returned more than {max} results; narrow the range")]
    TooManyResults {
        /// Largest number of results.
        max: usize,
    },
    /// The pending block, or the block of a transaction to be traced, can't be executed.
    #[error(transparent)]
    InvalidBlock(#[from] InvalidBlock),
    /// A system contract could not be read.
    #[error(transparent)]
    SystemContract(SystemViewError),
    /// The chain could not be read.
    #[error(transparent)]
    Chain(ReadError),
}

/// Why operations could not be simulated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulateError {
    /// The block is unknown, or its state can't be read.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A state override has both the whole storage and a difference; no operation was run.
    #[error("state override: account {address} has both state and stateDiff; give one")]
    Override {
        /// Account with both.
        address: Address,
    },
    /// An operation can't be executed at all.
    #[error("operation {index}: {source}")]
    Operation {
        /// Its index in the list.
        index: usize,
        /// Reason for which it can't be executed.
        #[source]
        source: QueryError,
    },
}

impl From<chain::SimulateError> for SimulateError {
    fn from(error: chain::SimulateError) -> Self {
        match error {
            chain::SimulateError::Override { address } => Self::Override { address },
            chain::SimulateError::State(error) => Self::Query(error.into()),
            chain::SimulateError::Operation { index, source } => Self::Operation { index, source: source.into() },
        }
    }
}

impl From<CallError> for QueryError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Invalid(reason) => Self::Invalid(reason),
            CallError::Override { address } => Self::Override { address },
            CallError::State(error) => error.into(),
        }
    }
}

impl From<TraceError> for QueryError {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::UnknownTransaction { hash } => Self::UnknownTransaction { hash },
            TraceError::InvalidBlock(error) => Self::InvalidBlock(error),
            TraceError::InvalidTransaction(reason) => Self::Invalid(reason),
            TraceError::Read(error) => error.into(),
        }
    }
}

impl From<BlockExecutionError> for QueryError {
    fn from(error: BlockExecutionError) -> Self {
        match error {
            BlockExecutionError::Invalid(error) => Self::InvalidBlock(error),
            BlockExecutionError::Read(error) => error.into(),
        }
    }
}

impl From<LogsError> for QueryError {
    fn from(error: LogsError) -> Self {
        match error {
            LogsError::TooManyResults { max } => Self::TooManyResults { max },
            LogsError::Read(error) => error.into(),
        }
    }
}

impl From<SystemViewError> for QueryError {
    fn from(error: SystemViewError) -> Self {
        match error {
            SystemViewError::Call(error) => error.into(),
            SystemViewError::Read(error) => error.into(),
            other => Self::SystemContract(other),
        }
    }
}

impl From<ReadError> for QueryError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::UnknownHeight { height, head } => Self::UnknownHeight { height, head },
            ReadError::UnknownBlock { hash } => Self::UnknownBlock { hash },
            ReadError::Pruned { what, height, oldest } => Self::Pruned { what, height, oldest },
            other => Self::Chain(other),
        }
    }
}

impl From<StateError> for QueryError {
    fn from(error: StateError) -> Self {
        Self::Chain(error.into())
    }
}

/// Why gas could not be estimated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EstimateError {
    /// The block or state could not be read, or the request can't be executed at all.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The request needs more gas than its own limit, the block's, or what the sender can pay.
    #[error("gas required exceeds allowance ({})", allowance.get())]
    Allowance {
        /// The largest gas limit tried.
        allowance: Gas,
    },
    /// The request fails with any gas limit.
    #[error("{}", .0.describe())]
    Failed(Box<CallOutcome>),
}

impl From<chain::EstimateError> for EstimateError {
    fn from(error: chain::EstimateError) -> Self {
        match error {
            chain::EstimateError::Call(error) => Self::Query(error.into()),
            chain::EstimateError::Allowance { allowance } => Self::Allowance { allowance },
            chain::EstimateError::Failed(outcome) => Self::Failed(outcome),
        }
    }
}
