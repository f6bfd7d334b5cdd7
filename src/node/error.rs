//! Why the node could not do what it was asked.

use crate::{
    chain::{CallError, CallOutcome, ChainError, InvalidTransaction, PoolError, SpecError},
    primitives::{Address, B256, Height, MnemonicError, Timestamp, TransactionError},
    sim::NetworkError,
    state::StateError,
};

/// Why a node could not be built or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The options contradict each other.
    #[error("node options: {reason}")]
    Options {
        /// Which, and what to do.
        reason: String,
    },
    /// The mnemonic gives no accounts.
    #[error(transparent)]
    Mnemonic(#[from] MnemonicError),
    /// The genesis specification is not usable.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The network could not be built.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The chain refused.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The bytes are no dump of a node.
    #[error("dump: {reason}")]
    Dump {
        /// What is wrong with them.
        reason: String,
    },
}

/// Why a transaction was not taken. Nothing is changed then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The bytes are no transaction of this chain, or the fields contradict each other.
    #[error(transparent)]
    Transaction(#[from] TransactionError),
    /// The pool refused it.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The node holds no key of the sender, who is not impersonated either.
    #[error("unknown account {address}: not one of the node's accounts and not impersonated")]
    UnknownAccount {
        /// The sender asked for.
        address: Address,
    },
    /// It would revert; its gas could not be estimated.
    #[error("{}", outcome.describe())]
    WouldFail {
        /// What running it gave.
        outcome: Box<CallOutcome>,
    },
    /// The state could not be read.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// It was taken, and the block that was to include it could not be made; it waits in the pool.
    #[error(transparent)]
    Mine(#[from] MineError),
}

impl From<NetworkError> for SendError {
    fn from(error: NetworkError) -> Self {
        match error {
            NetworkError::Pool(refused) => Self::Pool(refused),
            other => Self::Mine(other.into()),
        }
    }
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// No block has this number yet.
    #[error("unknown block: the chain has no block {height}; its head is {head}")]
    UnknownHeight {
        /// What was asked for.
        height: Height,
        /// The newest there is.
        head: Height,
    },
    /// No block has this hash.
    #[error("unknown block: the chain has no block with hash {hash}")]
    UnknownBlock {
        /// What was asked for.
        hash: B256,
    },
    /// No transaction has this hash.
    #[error("unknown transaction: {hash} is in no canonical block")]
    UnknownTransaction {
        /// What was asked for.
        hash: B256,
    },
    /// It existed and is no longer kept.
    #[error("PRUNED: {what} at height {height} is gone; the oldest kept is {oldest}")]
    Pruned {
        /// `state` or `block`.
        what: &'static str,
        /// What was asked for.
        height: Height,
        /// The oldest that can be read.
        oldest: Height,
    },
    /// The request can't be run at all.
    #[error(transparent)]
    Invalid(#[from] InvalidTransaction),
    /// Overrides contradict each other.
    #[error("account {address} has both state and stateDiff; give one")]
    Override {
        /// The account.
        address: Address,
    },
    /// The chain failed.
    #[error(transparent)]
    Chain(ChainError),
}

impl From<CallError> for QueryError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Invalid(reason) => Self::Invalid(reason),
            CallError::Override { address } => Self::Override { address },
            CallError::UnknownTransaction { hash } => Self::UnknownTransaction { hash },
            CallError::Chain(error) => error.into(),
        }
    }
}

impl From<ChainError> for QueryError {
    fn from(error: ChainError) -> Self {
        match error {
            ChainError::UnknownHeight { height, head } => Self::UnknownHeight { height, head },
            ChainError::UnknownBlock { hash } => Self::UnknownBlock { hash },
            ChainError::Pruned { what, height, oldest } => Self::Pruned { what, height, oldest },
            other => Self::Chain(other),
        }
    }
}

impl From<StateError> for QueryError {
    fn from(error: StateError) -> Self {
        Self::Chain(ChainError::State(error))
    }
}

/// Why no block was made. The chain, the pool and what was set for the next block are as before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MineError {
    /// The network made no block.
    #[error("no block was made: {0}")]
    Network(#[from] NetworkError),
    /// The chain can't be read.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// More blocks at once than one call may ask for.
    #[error("{asked} blocks asked for at once, at most {max} are made; call again for more")]
    TooMany {
        /// How many were asked for.
        asked: u64,
        /// The bound.
        max: u64,
    },
}

/// Why a time can't be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimeError {
    /// Time never goes back.
    #[error("timestamp {asked} is before the last block's, {parent}: the next one may equal it or be later")]
    BeforeParent {
        /// What was asked for.
        asked: Timestamp,
        /// The last block's.
        parent: Timestamp,
    },
}
