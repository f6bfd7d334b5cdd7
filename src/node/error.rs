//! Errors of the node, one type for each kind of operation.

mod build;
mod command;
mod query;
mod reorg;

use core::error::Error;

use crate::{
    chain::{ChainError, ReadError},
    sim::NetworkError,
    store::StoreError,
};

pub use self::{
    build::{BuildError, LoadError},
    command::{InterventionError, MineError, SendError, TimeError},
    query::{EstimateError, QueryError, SimulateError},
    reorg::ReorgError,
};

/// A failure below the node that the caller's arguments do not cause, such as a failed write to the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The chain or its state could not be read or extended.
    #[error(transparent)]
    Chain(ChainError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The command panicked: a bug, of the node or of a commit hook. The node is as before.
    #[error("internal error of the node: the command panicked and was undone: {message}")]
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// The node is one of a shared network, whose blocks, time and state are the network's own.
    #[error(
        "this node shows a replica of a network, which makes its blocks itself: let the network run, or change it, by \
         SharedNetwork::lock"
    )]
    SharedNetwork,
    /// The network runs in real time: time passes by itself.
    #[error("this network runs in real time, which passes by itself: wait for it")]
    PacedNetwork,
    /// The network, in real time, has failed and stands still.
    #[error("this network has failed and stands still: {reason}")]
    NetworkFailed {
        /// What failed.
        reason: String,
    },
    /// Its owner has it take no commands: [`Node::halt`](super::Node::halt).
    #[error("this chain takes no commands: {reason}")]
    Halted {
        /// Why, as the owner said.
        reason: String,
    },
    /// A replica broke a rule of the engine: a bug.
    #[error("internal error of the node: {0}")]
    Internal(#[source] Box<dyn Error + Send + Sync>),
}

impl From<ReadError> for EngineError {
    fn from(error: ReadError) -> Self {
        Self::Chain(error.into())
    }
}

impl EngineError {
    pub(super) fn from_network(error: NetworkError) -> Self {
        match error {
            NetworkError::Chain { source, .. } => Self::Chain(source),
            NetworkError::Store(source) => Self::Store(source),
            other => Self::Internal(other.into()),
        }
    }
}
