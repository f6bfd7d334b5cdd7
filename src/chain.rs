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

mod base_fee;
mod block;
mod cache;
mod dump;
mod error;
mod execution;
mod executor;
mod genesis;
mod head;
mod intervention;
mod persist;
mod pool;
mod receipt;
mod replica;
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
pub use block::{Block, BlockDecodeError, EXTRA_DATA_BYTES_MAX};
pub use cache::ExecutionCache;
pub use dump::{ChainDump, DumpedBlock};
pub use error::{BlockError, ChainError, InvalidTransaction, PoolError};
pub use head::{CommitHook, ExecutedBlock, HeadChange};
pub use intervention::Intervention;
pub use pool::{Added, BestTransactions, Pool, PoolConfig, PoolContext, Pooled, Waiting};
pub use receipt::Receipt;
pub use replica::{
    BuiltBlock, Candidates, Chain, ChainBuilder, Inserted, LocatedLog, LogFilter, Retention, TransactionIndex,
    TransactionLocation,
};
pub use roots::{receipts_root, transactions_root};
pub use rules::{Ancestors, AnyHeader, BlockAttributes, HeaderRules, RuleError};
pub use simulate::{AccountOverride, CallContext, CallError, CallOutcome, CallRequest, EstimateError, StateOverrides};
pub use spec::{
    BaseFee, ForkRules, GAS_LIMIT_MIN, GenesisAccount, GenesisContract, GenesisSpec, GenesisValidator, SpecError,
};

#[cfg(test)]
mod tests;
