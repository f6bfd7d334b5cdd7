//! Errors of the node, one type for each kind of operation.

use core::error::Error;

use crate::{
    chain::{BlockError, CallError, CallOutcome, ChainError, InvalidTransaction, PoolError, SpecError},
    consensus::{BlockId, ConsensusError},
    primitives::{Address, B256, Gas, Height, MnemonicError, Timestamp, TransactionError},
    sim::{ChainOptionsError, NetworkError, StoredRecordsError},
    state::StateError,
    store::StoreError,
};

/// A failure below the node that the caller's arguments do not cause, such as a failed write to the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The chain or its state could not be read or extended.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The command panicked: a bug, of the node or of a commit hook. The node is as before.
    #[error("internal error of the node: the command panicked and was undone: {message}")]
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// A replica broke a rule of the engine: a bug.
    #[error("internal error of the node: {0}")]
    Internal(#[source] Box<dyn Error + Send + Sync>),
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

/// Why [`NodeBuilder::build`](super::NodeBuilder::build) made no node.
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
    Engine(#[from] EngineError),
}

impl BuildError {
    pub(super) fn from_network(error: NetworkError) -> Self {
        match error {
            NetworkError::ChainOptions(source) => Self::Chain(source),
            NetworkError::Consensus(source) => Self::Consensus(source),
            NetworkError::Chain { source: ChainError::Spec(source), .. } => Self::Genesis(source),
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
    /// The chain refuses the dump ([`ChainError::Dump`]: it is of another genesis or contradicts itself), or the store failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl LoadError {
    pub(super) fn from_network(error: NetworkError) -> Self {
        match error {
            NetworkError::StoredRecords(StoredRecordsError::OtherHead { got, want }) => Self::OtherHead { got, want },
            NetworkError::Consensus(source) => Self::Consensus(source),
            other => Self::Engine(EngineError::from_network(other)),
        }
    }
}

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
    pub(super) fn from_network(error: NetworkError) -> Self {
        match error {
            NetworkError::Chain { source: ChainError::InvalidBlock { reason, .. }, .. } => match reason {
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
    pub(super) fn from_network(error: NetworkError) -> Self {
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
    /// The chain could not be read.
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

impl From<crate::chain::EstimateError> for EstimateError {
    fn from(error: crate::chain::EstimateError) -> Self {
        match error {
            crate::chain::EstimateError::Call(error) => Self::Query(error.into()),
            crate::chain::EstimateError::Allowance { allowance } => Self::Allowance { allowance },
            crate::chain::EstimateError::Failed(outcome) => Self::Failed(outcome),
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
    /// Returns the error of a row of `asked` blocks, of which `made` were made before this error.
    pub(super) fn after(self, made: u64, asked: u64) -> Self {
        if made == 0 { self } else { Self::Partial { made, asked, cause: Box::new(self) } }
    }

    pub(super) fn from_network(error: NetworkError) -> Self {
        match error {
            NetworkError::NobodyBuilds { height } => Self::NoProposer { height },
            NetworkError::TooEarly { got, earliest } => Self::TooEarly { got, earliest },
            NetworkError::NotAdopted { height, reason } => Self::NotAdopted { height, reason },
            other => Self::Engine(EngineError::from_network(other)),
        }
    }
}

impl From<ChainError> for MineError {
    fn from(error: ChainError) -> Self {
        Self::Engine(error.into())
    }
}

/// Why a time was not set. The node is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TimeError {
    /// Blocks' time never goes back.
    #[error("timestamp {asked} is before the last block's, {parent}: the next one may equal it or be later")]
    BeforeParent {
        /// Timestamp asked for.
        asked: Timestamp,
        /// Timestamp of the last block.
        parent: Timestamp,
    },
    /// The clock panicked.
    #[error(transparent)]
    Engine(#[from] EngineError),
}
