//! One replica's chain: genesis, transaction pool, execution, blocks and the block tree.
//!
//! [`Chain`] builds, verifies and stores blocks. It does not choose the head: a protocol's fork choice does, in the floor
//! above. [`Pool`] holds pending transactions. Both are persistent data structures: cloning one is O(1), which is how
//! snapshots and readers' views are made.
//!
//! ```
//! use std::sync::Arc;
//! use chainbox::{
//!     chain::{BlockAttributes, Chain, GenesisSpec},
//!     primitives::{Address, Gas, KeyPair, TransactionRequest, U256, ether},
//!     state::MemoryState,
//!     store::MemoryStore,
//! };
//! let (alice, bob) = (KeyPair::from_seed(1, "alice"), Address::repeat_byte(0xb0));
//! let spec = GenesisSpec::new(1337).with_balance(alice.address(), ether(1));
//! let mut chain = Chain::builder(spec, Arc::new(MemoryState::new()), Arc::new(MemoryStore::new())).open()?;
//!
//! let transfer = TransactionRequest {
//!     chain_id: Some(1337),
//!     to: Some(bob),
//!     value: U256::from(5),
//!     gas_limit: Gas::new(21_000),
//!     max_fee_per_gas: 2_000_000_000,
//!     ..Default::default()
//! };
//! let candidates = vec![Arc::new(transfer.sign(&alice)?)];
//! let built = chain.build(chain.head().hash(), &BlockAttributes::default(), &mut candidates.into_iter())?;
//! let hash = built.block.hash();
//! chain.insert(Arc::new(built.block))?;
//! chain.set_head(hash)?;
//! assert_eq!(chain.latest_state()?.account(&bob)?.unwrap_or_default().balance, U256::from(5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | type | what it is |
//! |---|---|
//! | [`GenesisSpec`] | the genesis specification, as JSON |
//! | [`Block`], [`Receipt`] | Ethereum's formats, and the data that this engine keeps beside them |
//! | [`Chain`] | the block tree, its head and finality, execution and queries |
//! | [`Pool`] | pending transactions by sender and nonce, selected by fee |
//! | [`HeaderRules`] | the header rules of a consensus protocol |
//! | [`CommitHook`] | writes in the batch of a head or finality change |

use core::fmt;
use std::sync::Arc;

use self::{context::ChainContext, header::HeaderOverrides, lease::Lease, pending::PendingInterventions, tree::Tree};
use crate::vm::TemplateRegistry;

mod base_fee;
mod block;
mod cache;
mod candidates;
mod context;
mod dump;
mod error;
mod executed_block;
mod execution;
mod executor;
mod extend;
mod failed_outcomes;
mod fee_recipient;
mod fee_rules;
mod finality;
mod fork_fields;
mod garbage;
mod genesis;
mod governance;
mod header;
mod hook;
mod intervention;
mod lease;
mod load;
mod logs;
mod memory;
mod modules;
mod open;
mod parameters;
mod pending;
mod permissions;
mod permissions_view;
mod persist;
mod pool;
mod prune;
mod prune_stored;
mod read;
mod receipt;
mod retention;
mod roots;
mod rules;
mod simulate;
mod spec;
mod staking;
mod system_calls;
mod system_view;
mod tree;
mod used_templates;
mod validate;
mod validators;
mod version;

pub use crate::vm::{ForkRules, Hardfork};
pub use base_fee::{BaseFeeParams, next_base_fee};
pub use block::{Block, BlockDecodeError, BodyError, EXTRA_DATA_BYTES_MAX, TransactionIndex, split_parameters};
pub use cache::ExecutionCache;
pub use candidates::{BuiltBlock, Candidates};
#[cfg(feature = "platform")]
pub(crate) use dump::is_of_system;
pub use dump::{ChainDump, DumpedBlock};
pub use error::{
    BlockError, BlockExecutionError, ChainError, DumpError, HeadError, InsertError, InterventionError, InvalidBlock,
    InvalidTransaction, LoadError, LogsError, OpenDumpError, OpenError, PoolError, PrevRandaoRefusal, ReadError,
    RestoreError,
};
pub use executed_block::ExecutedBlock;
pub use extend::InsertOutcome;
pub use fork_fields::predictable_mix_hash;
pub use hook::{CommitHook, Finality, FinalityChange, HeadChange};
pub use intervention::Intervention;
pub use load::LoadSummary;
pub use logs::{LocatedLog, LogFilter};
pub use open::{ChainBuilder, OpeningChain};
pub use parameters::ParameterRecord;
pub use pool::{AddOutcome, BestTransactions, ExclusionReason, Pool, PoolConfig, PoolContext, PooledTransaction};
pub use read::TransactionLocation;
pub use receipt::Receipt;
pub use retention::Retention;
pub use roots::{receipts_root, transactions_root};
pub use rules::{Ancestors, AnyHeader, BlockAttributes, HeaderRules, MixHashSource, RuleError};
pub use simulate::{
    AccountDifference, AccountOverride, CallContext, CallError, CallOutcome, CallRequest, Difference, EstimateError,
    SimulateError, SimulatedBlock, Simulation, SlotDifference, StateOverrides, TraceError, ValueDifference,
};
pub use spec::{
    BaseFee, Forks, GAS_LIMIT_MIN, GenesisAccount, GenesisContract, GenesisSpec, GenesisValidator, GethGenesis,
    IgnoredField, SpecError,
};
pub use system_view::SystemViewError;

/// One replica's chain. Cloning is O(1); a clone is a snapshot.
#[derive(Clone)]
pub struct Chain {
    context: Arc<ChainContext>,
    tree: Tree,
    genesis: ExecutedBlock,
    head: ExecutedBlock,
    finality: Finality,
    pending: PendingInterventions,
    /// Whether it writes to the store and calls commit hooks.
    is_writer: bool,
    /// Its right to read what is below its head from a durable store.
    lease: Option<Arc<Lease>>,
}

impl Chain {
    /// Returns a clone that writes nothing to the store and calls no hooks: another replica's chain over the same store.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self { is_writer: false, ..self.clone() }
    }

    /// The genesis specification without accounts and contracts, which are in the genesis state.
    pub fn spec(&self) -> &Arc<GenesisSpec> {
        &self.context.spec
    }

    /// The contract templates that the chain executes.
    pub fn registry(&self) -> &Arc<TemplateRegistry> {
        &self.context.registry
    }

    /// The protocol's rules for headers.
    pub(crate) fn rules(&self) -> &dyn HeaderRules {
        &*self.context.rules
    }

    /// The genesis block.
    pub const fn genesis(&self) -> &ExecutedBlock {
        &self.genesis
    }

    /// Header fields that pending interventions set in the next block.
    const fn header_overrides(&self) -> HeaderOverrides {
        self.pending.overrides
    }

    fn context(&self) -> &ChainContext {
        &self.context
    }

    /// Whether this chain's changes are written to the store.
    fn is_persistent(&self) -> bool {
        self.is_writer && self.context.is_durable
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain")
            .field("chain_id", &self.context.spec.chain_id)
            .field("genesis", &self.genesis.hash())
            .field("head", &(self.head.height(), self.head.hash()))
            .field("finalized", &self.finality.finalized.height())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
