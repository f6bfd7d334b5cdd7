//! One replica's chain: genesis, pool, execution, blocks and the block tree.
//!
//! [`Chain`] builds, judges and stores blocks; which of them is the head is decided above, by a protocol's fork
//! choice. [`Pool`] holds what waits to be mined. Both are persistent values: cloning one costs the same at any size,
//! which is what snapshots and readers' views are.
//!
//! ```
//! use std::sync::Arc;
//! use chainbox::{
//!     chain::{BlockAttributes, Chain, GenesisSpec},
//!     primitives::{Address, KeyPair, TransactionRequest, U256, ether},
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
//!     gas_limit: 21_000,
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
//! | [`GenesisSpec`] | what a chain starts from, as JSON |
//! | [`Block`], [`Receipt`] | Ethereum's formats, and what this engine keeps beside them |
//! | [`Chain`] | the block tree, its head and finality, execution and queries |
//! | [`Pool`] | transactions by sender and nonce, picked by fee |
//! | [`HeaderRules`] | the seam to consensus |

use core::fmt;
use std::sync::Arc;

use self::{context::Shared, header::HeaderByHand, pending::Hand, persist::Heads, tree::Tree};
use crate::{primitives::Height, vm::TemplateRegistry};

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
mod finality;
mod genesis;
mod header;
mod hook;
mod intervention;
mod logs;
mod open;
mod pending;
mod persist;
mod pool;
mod prune;
mod read;
mod receipt;
mod roots;
mod rules;
mod simulate;
mod spec;
mod staking;
mod system_calls;
mod tree;
mod validate;
mod version;

pub use base_fee::{BaseFeeParams, next_base_fee};
pub use block::{Block, BlockDecodeError, EXTRA_DATA_BYTES_MAX, TransactionIndex};
pub use cache::ExecutionCache;
pub use candidates::{BuiltBlock, Candidates};
pub use context::Retention;
pub use dump::{ChainDump, DumpedBlock};
pub use error::{BlockError, ChainError, InvalidTransaction, PoolError};
pub use executed_block::ExecutedBlock;
pub use extend::Inserted;
pub use hook::{CommitHook, HeadChange};
pub use intervention::Intervention;
pub use logs::{LocatedLog, LogFilter};
pub use open::ChainBuilder;
pub use pool::{Added, BestTransactions, Pool, PoolConfig, PoolContext, Pooled, Waiting};
pub use read::TransactionLocation;
pub use receipt::Receipt;
pub use roots::{receipts_root, transactions_root};
pub use rules::{Ancestors, AnyHeader, BlockAttributes, HeaderRules, RuleError};
pub use simulate::{AccountOverride, CallContext, CallError, CallOutcome, CallRequest, EstimateError, StateOverrides};
pub use spec::{
    BaseFee, ForkRules, GAS_LIMIT_MIN, GenesisAccount, GenesisContract, GenesisSpec, GenesisValidator, SpecError,
};

/// One replica's chain. Cloning it costs the same at any size; a clone is a snapshot.
#[derive(Clone)]
pub struct Chain {
    shared: Arc<Shared>,
    tree: Tree,
    genesis: ExecutedBlock,
    head: ExecutedBlock,
    safe: ExecutedBlock,
    finalized: ExecutedBlock,
    /// Below it nothing is ever taken back; the finalized block unless finality is advice.
    irreversible: Height,
    hand: Hand,
    /// Whether it writes its heads and blocks to the store.
    is_writer: bool,
}

impl Chain {
    /// A replica of the same chain that starts where this one stands, writes nothing to the store and calls no hooks.
    #[must_use]
    pub fn replica(&self) -> Self {
        Self { is_writer: false, ..self.clone() }
    }

    /// What the chain started from, without accounts and contracts: those are in the state of genesis.
    pub fn spec(&self) -> &Arc<GenesisSpec> {
        &self.shared.spec
    }

    /// The templates that its contracts are made of.
    pub fn registry(&self) -> &Arc<TemplateRegistry> {
        &self.shared.registry
    }

    /// The genesis block.
    pub const fn genesis(&self) -> &ExecutedBlock {
        &self.genesis
    }

    /// What changes by hand set in the next block's header.
    const fn header_by_hand(&self) -> HeaderByHand {
        self.hand.header
    }

    fn shared(&self) -> &Shared {
        &self.shared
    }

    fn heads(&self) -> Heads {
        Heads {
            head: self.head.hash(),
            safe: self.safe.hash(),
            finalized: self.finalized.hash(),
            irreversible: self.irreversible,
        }
    }

    /// Whether changes of this replica go to the store.
    fn is_persistent(&self) -> bool {
        self.is_writer && self.shared.is_durable
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain")
            .field("chain_id", &self.shared.spec.chain_id)
            .field("genesis", &self.genesis.hash())
            .field("head", &(self.head.height(), self.head.hash()))
            .field("finalized", &self.finalized.height())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
