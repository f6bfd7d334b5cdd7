//! Errors of changing a node: transactions, blocks, interventions, time.

use super::{EngineError, EstimateError, QueryError};
use crate::{
    chain::{self, BlockError, CallOutcome, ChainError, InvalidBlock, PoolError, ReadError},
    primitives::{Address, Gas, Height, Timestamp, TransactionError},
    sim::NetworkError,
};

/// Why an intervention in the state was not applied. The node is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterventionError {
    /// Only chains whose genesis has `allowInterventions` take them.
    #[error("genesis allows no interventions; set its field `allowInterventions`")]
    NotAllowed,
    /// The address is the caller of system calls: nothing but the chain itself acts under it.
    #[error("{address} is the caller of system calls and can't be impersonated")]
    SystemAddress {
        /// The address.
        address: Address,
    },
    /// The intervention is not valid on this chain.
    #[error("{reason}")]
    Invalid {
        /// The broken rule.
        reason: Box<BlockError>,
    },
    /// The state could not be changed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl InterventionError {
    pub(in crate::node) fn from_network(error: NetworkError) -> Self {
        match error {
            NetworkError::Chain {
                source: ChainError::Intervention(chain::InterventionError::Invalid(InvalidBlock { reason, .. })),
                ..
            } => match reason {
                BlockError::Interventions { .. } => Self::NotAllowed,
                other => Self::Invalid { reason: Box::new(other) },
            },
            other => Self::Engine(EngineError::from_network(other)),
        }
    }
}

/// Why a transaction was not sent. The pool is unchanged, except after [`SendError::Mine`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The bytes are no transaction of this chain, or the fields contradict each other.
    #[error(transparent)]
    Transaction(#[from] TransactionError),
    /// It is signed for every chain, with the form of signature before EIP-155: anyone could replay it on another one.
    #[error("only replay-protected (EIP-155) transactions are taken: sign it with the chain id {chain_id}")]
    Unprotected {
        /// The chain's id.
        chain_id: u64,
    },
    /// The pool refused it.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The node holds no key of the sender, which is not impersonated either.
    #[error("unknown account {address}: not one of the node's accounts and not impersonated")]
    UnknownAccount {
        /// The sender asked for.
        address: Address,
    },
    /// Its gas could not be estimated: it needs more than the request, the block or the sender's balance allows.
    #[error("gas required exceeds allowance ({})", allowance.get())]
    Allowance {
        /// The largest gas limit tried.
        allowance: Gas,
    },
    /// It would revert or halt with any gas limit, so its gas could not be estimated.
    #[error("{}", outcome.describe())]
    WouldFail {
        /// Outcome of the simulation.
        outcome: Box<CallOutcome>,
    },
    /// The state could not be read.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A block could not be made. When it was the first one after the transaction, the pool does not have the transaction; when it
    /// was a later one, or that of a batch, the transaction is in a block or waits in the pool.
    #[error(transparent)]
    Mine(#[from] MineError),
}

impl SendError {
    pub(in crate::node) fn from_network(error: NetworkError) -> Self {
        match error {
            NetworkError::Pool(refused) => Self::Pool(refused),
            other => Self::Mine(MineError::from_network(other)),
        }
    }
}

impl From<EngineError> for SendError {
    fn from(error: EngineError) -> Self {
        Self::Mine(error.into())
    }
}

impl From<EstimateError> for SendError {
    fn from(error: EstimateError) -> Self {
        match error {
            EstimateError::Query(error) => Self::Query(error),
            EstimateError::Allowance { allowance } => Self::Allowance { allowance },
            EstimateError::Failed(outcome) => Self::WouldFail { outcome },
        }
    }
}

/// Why no block was made. The chain, the pool and the settings of the next block are unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MineError {
    /// No validator may propose the next block.
    #[error("no block was made: no replica waits to be asked for a block at height {height}")]
    NoProposer {
        /// Height of the next block.
        height: Height,
    },
    /// The protocol allows the next block later only.
    #[error("no block was made: timestamp {got} is before {earliest}, the earliest time of the next block")]
    TooEarly {
        /// Timestamp of the block that was to be made.
        got: Timestamp,
        /// Earliest timestamp that the protocol allows.
        earliest: Timestamp,
    },
    /// A validator refused the block.
    #[error("no block was made: the block made at height {height} did not become the head: {reason}")]
    NotAdopted {
        /// Height of the block.
        height: Height,
        /// The validator with its reason.
        reason: String,
    },
    /// The chain or its store failed.
    #[error("no block was made: {0}")]
    Engine(#[from] EngineError),
    /// A block could not be made after others of the same call; those stay.
    #[error("{made} of {asked} blocks were made and stay; then {cause}")]
    Partial {
        /// Blocks made.
        made: u64,
        /// Blocks asked for.
        asked: u64,
        /// Why the next one was not made.
        cause: Box<Self>,
    },
    /// More blocks than one call makes.
    #[error("{asked} blocks asked for at once, at most {max} are made; call again for more")]
    TooMany {
        /// Blocks asked for.
        asked: u64,
        /// Most blocks of one call.
        max: u64,
    },
}

impl MineError {
    /// Returns the failure of the engine beneath an error of the pool.
    pub(in crate::node) fn from_send(error: SendError) -> Self {
        match error {
            SendError::Mine(error) => error,
            other => Self::Engine(EngineError::Internal(other.into())),
        }
    }

    /// Returns the error of a row of `asked` blocks, of which `made` were made before this error.
    pub(in crate::node) fn after(self, made: u64, asked: u64) -> Self {
        if made == 0 { self } else { Self::Partial { made, asked, cause: Box::new(self) } }
    }

    pub(in crate::node) fn from_network(error: NetworkError) -> Self {
        match error {
            NetworkError::NobodyBuilds { height } => Self::NoProposer { height },
            NetworkError::TooEarly { got, earliest } => Self::TooEarly { got, earliest },
            NetworkError::NotAdopted { height, reason } => Self::NotAdopted { height, reason },
            other => Self::Engine(EngineError::from_network(other)),
        }
    }
}

impl From<ReadError> for MineError {
    fn from(error: ReadError) -> Self {
        Self::Engine(error.into())
    }
}

/// Why a time was not set. The node is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TimeError {
    /// Blocks' time never goes back.
    #[error("timestamp {asked} is before the last block's, {parent}: time never goes back")]
    BeforeParent {
        /// Timestamp asked for.
        asked: Timestamp,
        /// Timestamp of the last block.
        parent: Timestamp,
    },
    /// A block is later than its parent, unless the node was built with
    /// [`NodeBuilder::with_equal_timestamps`](crate::node::NodeBuilder::with_equal_timestamps).
    #[error(
        "timestamp {asked} is the last block's: the next one must be later, as this node takes no equal timestamps"
    )]
    EqualsParent {
        /// Timestamp asked for, and that of the last block.
        asked: Timestamp,
    },
    /// The clock panicked.
    #[error(transparent)]
    Engine(#[from] EngineError),
}
