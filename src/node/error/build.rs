//! Errors of building a node and of loading a dump into it.

use super::EngineError;
use crate::{
    chain::{self, ChainError, DumpError, OpenError, SpecError},
    consensus::{BlockId, ConsensusError},
    primitives::{MnemonicError, TransactionError},
    sim::{ChainOptionsError, NetworkError, StoredRecordsError},
};

/// Why [`NodeBuilder::build`](crate::node::NodeBuilder::build) made no node.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// More accounts than a node derives.
    #[error("node options: {asked} accounts asked for, at most {max} are derived")]
    TooManyAccounts {
        /// Accounts asked for.
        asked: u32,
        /// Most accounts of a node.
        max: u32,
    },
    /// The mnemonic gives no accounts.
    #[error(transparent)]
    Mnemonic(#[from] MnemonicError),
    /// The genesis names another protocol than the options.
    #[error(
        "node options: genesis is of a chain of {genesis}, {given} is asked for: leave it out, or take another genesis"
    )]
    GenesisProtocol {
        /// Protocol of the genesis.
        genesis: &'static str,
        /// Protocol of the options.
        given: &'static str,
    },
    /// A protocol of one's own, which a node does not run.
    #[error("node options: {protocol} is a protocol of one's own: run it by `Network::builder().with_protocol`")]
    OwnProtocol {
        /// Name of the protocol.
        protocol: &'static str,
    },
    /// The options of the chain contradict each other or its genesis.
    #[error(transparent)]
    Chain(#[from] ChainOptionsError),
    /// The genesis specification is not usable.
    #[error(transparent)]
    Genesis(#[from] SpecError),
    /// The protocol refuses its parameters or the validators.
    #[error(transparent)]
    Consensus(#[from] ConsensusError),
    /// The database holds a chain of another protocol.
    #[error("the store holds a chain of {stored}, {asked} is asked for: ask for {stored}, or take another store")]
    StoredProtocol {
        /// Protocol of the stored chain.
        stored: &'static str,
        /// Protocol of the options.
        asked: &'static str,
    },
    /// The database's consensus records are damaged, of an unknown format, or of another chain.
    #[error(transparent)]
    StoredRecords(StoredRecordsError),
    /// The dump could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The chain could not be opened, such as on a database with another genesis.
    #[error(transparent)]
    Open(OpenError),
    /// The opened chain or its store failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl BuildError {
    pub(in crate::node) fn from_network(error: NetworkError) -> Self {
        match error {
            NetworkError::ChainOptions(source) => Self::Chain(source),
            NetworkError::Consensus(source) => Self::Consensus(source),
            NetworkError::Chain { source: ChainError::Open(source), .. } => match source {
                OpenError::Spec(source) => Self::Genesis(source),
                other => Self::Open(other),
            },
            NetworkError::OtherProtocol { stored, asked } => Self::StoredProtocol { stored, asked },
            NetworkError::StoredRecords(source) => Self::StoredRecords(source),
            other => Self::Engine(EngineError::from_network(other)),
        }
    }
}

/// Why a dump was not loaded. The node is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The bytes are no dump of a node.
    #[error("dump: {reason}")]
    Malformed {
        /// The first part that does not decode.
        reason: String,
    },
    /// A transaction of the dump's pool is not a signed transaction.
    #[error("dump: pooled transaction {index}: {source}")]
    PooledTransaction {
        /// Index in the dump's pool.
        index: usize,
        /// The decoding error.
        source: TransactionError,
    },
    /// The dump's consensus record is of another block than its head.
    #[error("dump: its consensus record is of {got}, its head is {want}")]
    OtherHead {
        /// Block of the consensus record.
        got: BlockId,
        /// Head of the dumped chain.
        want: BlockId,
    },
    /// The protocol refuses the dump's consensus record.
    #[error(transparent)]
    Consensus(#[from] ConsensusError),
    /// The chain refuses the dump: it is of another genesis or contradicts itself.
    #[error(transparent)]
    Dump(#[from] DumpError),
    /// The chain or its store failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl LoadError {
    pub(in crate::node) fn from_network(error: NetworkError) -> Self {
        match error {
            NetworkError::StoredRecords(StoredRecordsError::OtherHead { got, want }) => Self::OtherHead { got, want },
            NetworkError::Consensus(source) => Self::Consensus(source),
            NetworkError::Chain { source: ChainError::Load(chain::LoadError::Dump(source)), .. } => Self::Dump(source),
            other => Self::Engine(EngineError::from_network(other)),
        }
    }
}
